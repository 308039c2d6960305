"""Entries by columns: the values of many records at once, one field after the other.

The pattern and the tree find the texts. A record that needs an Issue is odd, and left to
`read_record`, but not if that Issue is only counted, as all are behind the first of their code.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import compress, count, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader._read.vocabulary import parse_changefreq, parse_priority
from sitemapreader._read.xml.markup import (
    decode_many,
    find_odd_references,
    mend_references,
)
from sitemapreader._types.dates import parse_column
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Format, SitemapEntry, Via
from sitemapreader._types.rows import EntryColumns
from sitemapreader._types.urls import (
    PLAIN_URL,
    are_clean_urls,
    has_web_scheme,
    read_loc,
    trim,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Sequence,
    )

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._types.models import Image
    from sitemapreader._types.options import Limits
    from sitemapreader._types.rows import Events

    Column: TypeAlias = Sequence[Any]
    Repairs: TypeAlias = dict[int, set[IssueCode]]
    """Place of a record in a batch -> what was repaired in it."""
    Stretch: TypeAlias = tuple[Events, slice | None]
    """Entries (columns where none has extensions), and the places of odd records behind them."""

_LEAST = {
    "attributes": 8,
    "record_depth": 32,
    "record_elements": 8_192,
    "field_chars": 65_536,
}
"""Limits below which records are read one by one, which keeps them; no text has more elements."""


def are_low(limits: Limits) -> bool:
    """Return whether common records may break a limit."""
    return any(getattr(limits, name) < least for name, least in _LEAST.items())


@attrs.define
class RecordTexts:
    """The texts of the records of a batch, a column for each field.

    Attributes:
        size: the number of records.
        fields: the fields of the protocol, in the order of `PROTOCOL_FIELDS`; an empty column if no
            record has the field.
        odd: the places of the records that are read one by one.
        runs: the elements of each extension that occurs, by its prefix.
        extras: the elements of other namespaces.
        titles: the titles of a feed's records.
        images: the images of the records of a feed that have some, by their places.
    """

    size: int
    fields: list[list[str]]
    odd: set[int]
    runs: dict[str, list[str]] = attrs.field(factory=dict)
    extras: list[str] = attrs.field(factory=list)
    titles: list[str] = attrs.field(factory=list)
    images: dict[int, tuple[Image, ...]] = attrs.field(factory=dict)

    def blame(self, marks: Iterable[object]) -> None:
        """Mark records as odd."""
        self.odd.update(compress(count(), marks))

    def blank_odd(self) -> None:
        """Remove the texts of odd records, which may be no XML."""
        for column in filter(None, [*self.fields, *self.runs.values(), self.extras]):
            for place in self.odd:
                column[place] = ""

    def mend_references(self) -> Repairs:
        """Mend the references in fields; return the codes of each record.

        Records with a reference that is no character are odd, and so are ones with an odd reference
        in an extension.
        """
        repairs: defaultdict[int, set[IssueCode]] = defaultdict(set)
        for column in self.fields:
            for place in find_odd_references(column):
                column[place] = mend_references(column[place], repairs[place])
        for column in [*self.fields, *self.runs.values(), self.extras]:
            self.odd.update(find_odd_references(column))
        self.blank_odd()
        return repairs

    def check_element_runs(
        self, runs: Sequence[str], are_clean: Callable[[list[str]], bool]
    ) -> None:
        """Mark the records with a run of elements that needs an Issue as odd."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)


class Columns:
    """The values of a batch by columns; `repairs` are the ones of each record.

    `is_marked` says that references and sections are not decoded yet.
    """

    def __init__(
        self,
        stats: ReadStats,
        texts: RecordTexts,
        repairs: Repairs,
        *,
        is_marked: bool = False,
    ) -> None:
        self._stats = stats
        self._texts = texts
        self._is_marked = is_marked
        self._counted: list[tuple[IssueCode, set[int]]] = []
        for place, codes in repairs.items():
            for code in codes:
                self._note(code, [place])

    def make_entries(self, format_: Format) -> Events:
        """Make the entry of each record; the ones of odd records mean nothing."""
        loc, lastmod, changefreq, priority = self._texts.fields
        locs = self._decode(loc) or [""] * self._texts.size
        lastmods = self._decode(lastmod)
        self._check_locs(locs)
        moments = self._parse_dates(lastmods)
        written: Column | None = None
        if moments:
            written = lastmods
            if not all(lastmods):
                written = [text or None for text in lastmods]
        sitemaps = [self._stats.sitemap] * len(locs)
        if format_ is Format.INDEX:
            none = repeat(None)
            vias = repeat(Via.INDEX)
            return list(
                map(
                    SitemapEntry, locs, moments or none, vias, sitemaps, written or none
                )
            )
        changefreqs = self._parse_repeated(
            changefreq, parse_changefreq, IssueCode.CHANGEFREQ
        )
        priorities = self._parse_repeated(priority, parse_priority, IssueCode.PRIORITY)
        entries = EntryColumns(
            locs, sitemaps, moments, changefreqs[0], priorities[0], written
        )
        entries.changefreq_text = changefreqs[1]
        entries.priority_text = priorities[1]
        if any(self._texts.titles):
            entries.title = [text.strip() or None for text in self._texts.titles]
        if not self._texts.images:
            return entries
        given: list[Any] = list(entries)
        for place, images in self._texts.images.items():
            given[place].images = images
        return given

    def settle(self) -> set[int]:
        """Count the Issues that are not shown; return the places of odd records."""
        for code, places in self._counted:
            self._stats.counts[code] += len(places - self._texts.odd)
        return self._texts.odd

    def _note(self, code: IssueCode, places: Iterable[int]) -> None:
        """Note an Issue of each of some records: to be counted, if it is not shown."""
        if self._stats.shows(code):
            self._texts.odd.update(places)
        else:
            self._counted.append((code, set(places)))

    # -- values

    def _decode(self, column: list[str]) -> list[str]:
        """Decode texts, and trim them."""
        if self._is_marked:
            column = decode_many(column)
        return list(map(str.strip, column))

    def _check_locs(self, locs: list[str]) -> None:
        """Check all URLs, and make the ones that need a closer look."""
        if all(locs) and are_clean_urls(locs):
            return
        for place, loc in enumerate(locs):
            if PLAIN_URL.fullmatch(loc) or are_clean_urls([loc]):
                continue
            if "<" in loc or not has_web_scheme(trim(loc)):
                self._texts.odd.add(place)
                continue
            locs[place], codes = read_loc(loc, "")
            if not locs[place]:
                self._texts.odd.add(place)
            for code in codes:
                self._note(code, [place])

    def _parse_dates(self, texts: list[str]) -> Column | None:
        if not any(texts):
            return None
        values = parse_column(texts)
        if not all(values):
            unread = [
                value is None and bool(text)
                for value, text in zip(values, texts, strict=True)
            ]
            self._note(IssueCode.LASTMOD, compress(count(), unread))
        return values

    def _parse_repeated(
        self,
        column: list[str],
        parse: Callable[[str], Any],
        code: IssueCode,
    ) -> tuple[Column | None, Column | None]:
        """Parse a column of few different texts, each once; return values and texts.

        The same text is one object, so that it takes no memory.
        """
        different = set(column)
        if self._is_marked and any("&" in text or "<" in text for text in different):
            column = self._decode(column)
            different = set(column)
        texts = {raw: text for raw in different if (text := raw.strip())}
        values = {raw: parse(text) for raw, text in texts.items()}
        if not values:
            return None, None
        parsed = list(map(values.get, column))
        if values == texts:
            return parsed, parsed
        if None in values.values():
            unread = {raw for raw, value in values.items() if value is None}
            self._note(code, compress(count(), map(unread.__contains__, column)))
        return parsed, list(map(texts.get, column))


# -- stretches


def cut_into_stretches(entries: Events, odd: set[int]) -> list[Stretch]:
    """Cut a batch into stretches, each up to the end of its odd records."""
    if not odd:
        return [(entries, None)]
    given = list(entries)
    stretches: list[Stretch] = []
    start = 0
    for first in sorted(odd):
        if first >= start:
            end = first
            while end in odd:
                end += 1
            stretches.append((given[start:first], slice(first, end)))
            start = end
    if start < len(given):
        stretches.append((given[start:], None))
    return stretches
