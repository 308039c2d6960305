"""The selection of a walk among the listed URLs: its filters, `unique`, `sample`.

The filters are `scope`, `include`, `exclude`, `since`, `until` and `unique`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from functools import partial
from hashlib import blake2b
from itertools import compress, repeat
from typing import TYPE_CHECKING

from sitemapreader._types.patterns import is_chosen
from sitemapreader._types.rows import (
    Rows,
    count_odd,
    get_column,
    is_recent,
    select_rows,
)
from sitemapreader._types.urls import may_climb, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sitemapreader._types.models import UrlEntry
    from sitemapreader._walk.context import WalkContext
    from sitemapreader._walk.report import Report
    from sitemapreader._walk.selection import Selection


_NO_LANGUAGE = "und"
"""The code for a language that is not known: ISO 639-2, RFC 5646, section 4.1."""


class EntryFilter:
    """The filters of one walk; each works only if the caller sets it.

    Attributes:
        without_language: how many entries `language` has left out, because they name none.
    """

    def __init__(self, selection: Selection) -> None:
        self._include = selection.include
        self._exclude = selection.exclude
        self._since = selection.since
        self._until = selection.until
        self._keep_undated = selection.undated == "keep"
        self._keep_outside = selection.scope == "keep"
        self._codes = set(selection.language)
        self._prefixes = tuple(f"{code}-" for code in selection.language)
        self.without_language = 0
        self._seen = SeenKeys() if selection.unique else None
        self.sample: DrawnSample | None = None
        drawn = selection.sample
        if drawn is not None:
            self.sample = DrawnSample(drawn.number, drawn.seed)

    @property
    def has_since(self) -> bool:
        """True if entries before a moment are dropped."""
        return self._since is not None

    def remember(self, locs: Iterable[str]) -> None:
        """Remember URLs that were delivered before, for `unique`."""
        if self._seen is None:
            return
        for loc in locs:
            self._seen.add(url_key(loc))

    def count_delivered(self, report: Report, entries: Rows) -> None:
        """Count entries that are delivered."""
        report.entries += len(entries)
        report.tally.note_entries(entries)
        has_bounds = self._since is not None or self._until is not None
        if has_bounds:
            undated, future = count_odd(entries)
            report.undated += undated
            report.future += future

    async def deliver_sample(self, context: WalkContext) -> None:
        """Deliver the sample of the entries of all documents."""
        if self.sample is None:
            return
        report = context.report
        report.sampled_from = self.sample.total
        drawn = self.sample.list_entries()
        entries = [entry for _, entry in drawn]
        documents = {document.final_url: document for document in report.documents}
        for entry in entries:
            document = documents.get(entry.sitemap)
            if document is not None:
                document.entries += 1
                document.filtered -= 1
        if entries:
            self.count_delivered(report, entries)
            await context.emit(entries)

    def deduplicate(self, rows: Rows) -> Rows:
        """With `unique`, return the entries whose URL has not been delivered; else all."""
        if self._seen is None:
            return rows
        add = self._seen.add
        locs = get_column(rows, "loc")
        marks = [add(url_key(loc)) for loc in locs]
        return select_rows(rows, marks)

    def select(
        self,
        rows: Rows,
        scope: tuple[str, ...],
    ) -> tuple[Rows, int]:
        """Return the entries that pass all filters but `unique`, and a count.

        The count is that of entries outside `scope`, which are URL prefixes as `folder_of` makes
        them; with scope="keep" these entries pass.
        """
        locs = get_column(rows, "loc")
        outside = _find_outside(locs, scope)
        if outside and not self._keep_outside:
            dropped = set(outside)
            marks = [loc not in dropped for loc in locs]
            rows = select_rows(rows, marks)
            locs = get_column(rows, "loc")
        if self._include or self._exclude:
            marks = [is_chosen(loc, self._include, self._exclude) for loc in locs]
            rows = select_rows(rows, marks)
        if self._codes:
            # rows by columns have no extensions, and so no languages
            rows = [row for row in rows if self._has_language(row)]
        return self._select_dates(rows), len(outside)

    def _select_dates(self, rows: Rows) -> Rows:
        """Return the entries that pass `since` and `until`."""
        keep = self._keep_undated
        since = self._since
        until = self._until
        if since is not None:
            rows = [row for row in rows if is_recent(row, since, keep_undated=keep)]
        if until is not None:
            rows = [row for row in rows if _is_until(row, until, keep_undated=keep)]
        return rows

    def _has_language(self, row: UrlEntry) -> bool:
        """Return whether a record is in one of the wanted languages."""
        codes = list_languages(row)
        if not codes:
            codes = [_NO_LANGUAGE]
            if _NO_LANGUAGE not in self._codes:
                self.without_language += 1
        for code in codes:
            written = code.lower().replace("_", "-")
            if written in self._codes or written.startswith(self._prefixes):
                return True
        return False


def _is_until(entry: UrlEntry, until: datetime, *, keep_undated: bool) -> bool:
    """Return whether an entry passes `until`."""
    if entry.date is None:
        return keep_undated
    return entry.date <= until


def list_languages(entry: UrlEntry) -> list[str]:
    """Return the languages that a record gives itself: in its alternates, else by its news.

    A page may be for several regions, and its own links may spell its URL otherwise.
    """
    named: list[str] = []
    if entry.alternates:
        key = url_key(entry.loc)
        for alternate in entry.alternates:
            code = alternate.hreflang
            if not code or code.lower() == "x-default":
                continue
            if url_key(alternate.href) == key:
                named.append(code)
    if not named and (language := entry.language):
        named.append(language)
    return named


def _find_outside(locs: list[str], scope: tuple[str, ...]) -> list[str]:
    """Return the URLs that do not lie in the scope, in any spelling.

    That is the folder of their sitemap, on the same scheme, host and port
    (https://www.sitemaps.org/protocol.html#location), which a `..` may leave again.
    """
    suspects = []
    if not all(map(str.startswith, locs, repeat(scope))):
        suspects = [loc for loc in locs if not loc.startswith(scope)]
    # nothing climbs out of an origin, and most sitemaps lie at its root
    has_folder = any(prefix.count("/") > 3 for prefix in scope)
    if has_folder and may_climb("".join(locs)):
        suspects = [loc for loc in locs if may_climb(loc) or not loc.startswith(scope)]
    # The keys of URLs, which have one spelling, take long to make: for foreign hosts none is made.
    begins = {loc[: loc.find("/", 8) + 1] for loc in suspects}
    foreign = tuple(begin for begin in begins if _is_foreign(begin, scope))
    return [
        loc
        for loc in suspects
        if loc.startswith(foreign) or not url_key(loc).startswith(scope)
    ]


def _is_foreign(begin: str, scope: tuple[str, ...]) -> bool:
    """Return whether no URL with this beginning, up to a slash, can be in scope."""
    is_origin = begin.count("/") == 3 and url_key(begin) == begin
    return is_origin and not any(prefix.startswith(begin) for prefix in scope)


# -- URLs that were seen, in 9 to 14 bytes each, where a set of Python's takes 150

_SHARD_BITS = 12
"""The first bits of a hash choose its table: so that each stays short, which is kept sorted."""
_WORD = 2**64 - 1


class SeenKeys:
    """A set of texts, kept as 64-bit hashes that Python keys (PEP 456).

    Two different texts collide with a probability of n²/2⁶⁵: 1 in 370,000 for ten million. Each
    process draws a key of its own, so nobody can write texts that collide.
    """

    def __init__(self) -> None:
        self._tables: defaultdict[int, array[int]] = defaultdict(partial(array, "Q"))

    def add(self, text: str) -> bool:
        """Add `text`; return whether it is new."""
        # Two, as one has 32 bits in some builds of Python.
        value = (hash(text) << 32 ^ hash(f"{text}#")) & _WORD
        shard = value >> (64 - _SHARD_BITS)
        table = self._tables[shard]
        place = bisect_left(table, value)
        is_known = place < len(table) and table[place] == value
        if is_known:
            return False
        table.insert(place, value)
        return True


# -- a uniform sample of URLs, the same in whatever order they come

_MOST_KEY_BYTES = 64
_NO_RANK = 2**64


class DrawnSample:
    """The URLs of the smallest keyed hashes, each once.

    The hash of a URL is its rank. So each set of as many URLs is as likely as any other, a sample
    of samples is one of the whole, and the first of a sample are a smaller one.

    Attributes:
        total: how many URLs it was drawn from; those that are listed twice count twice.
    """

    def __init__(self, number: int, seed: int) -> None:
        self.total = 0
        self._number = number
        key = str(seed).encode()
        self._hash = blake2b(digest_size=8, key=key[:_MOST_KEY_BYTES])
        self._most = _NO_RANK
        self._kept: dict[int, tuple[str, UrlEntry]] = {}

    def add(self, rows: Rows, site: str = "") -> None:
        """Draw from further entries."""
        self.total += len(rows)
        locs = get_column(rows, "loc")
        ranks = list(map(self._rank, locs))
        marks = [rank < self._most for rank in ranks]
        if not any(marks):
            return
        low = compress(ranks, marks)
        entries = list(select_rows(rows, marks))
        for rank, entry in zip(low, entries, strict=True):
            self._keep(rank, site, entry)
        if len(self._kept) > 2 * self._number:
            self._trim()

    def _keep(self, rank: int, site: str, entry: UrlEntry) -> None:
        """Keep an entry, in the place of another record of its URL that comes after it."""
        if rank in self._kept:
            _, known = self._kept[rank]
            if _order(entry) >= _order(known):
                return
        self._kept[rank] = (site, entry)

    def _rank(self, loc: str) -> int:
        """Return the rank of a URL: its keyed hash."""
        key = url_key(loc)
        digest = self._hash.copy()
        digest.update(key.encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest(), "big")

    def _trim(self) -> None:
        """Keep the URLs of the lowest ranks, no more than the number."""
        ranks = sorted(self._kept)
        ranks = ranks[: self._number]
        self._kept = {rank: self._kept[rank] for rank in ranks}
        if len(ranks) == self._number:
            self._most = ranks[-1] + 1

    def list_entries(self) -> list[tuple[str, UrlEntry]]:
        """Return the sample, each entry with its site, in the order of their ranks."""
        self._trim()
        return list(self._kept.values())


def _order(entry: UrlEntry) -> tuple[str, str, str]:
    """Return the key by which one of several records of a URL is chosen."""
    return entry.sitemap, entry.loc, entry.lastmod_text or ""
