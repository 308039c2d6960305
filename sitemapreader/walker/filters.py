"""The filters of a walk, those of an earlier one, and the URLs for `unique`.

The filters are `scope`, `include`, `exclude`, `since`, `until` and `unique`. A document that has
not changed stays unread only if all entries that pass now were delivered before: if no filter kept
any of them back then, or if the filters of that time pass all that the present ones pass
(docs/state.md).
"""

from __future__ import annotations

import json
import sys
from array import array
from datetime import UTC, datetime
from hashlib import blake2b
from secrets import token_bytes
from typing import TYPE_CHECKING, Self, TypeAlias

import attrs

from sitemapreader.dates import select_recent, select_until
from sitemapreader.models import Change
from sitemapreader.rows import Rows, get_column, select_rows
from sitemapreader.urls import may_climb, url_key

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from sitemapreader.walker.config import WalkConfig

_PatternTexts: TypeAlias = frozenset[tuple[str, int]]
"""Regular expressions with their flags."""


class EntryFilter:
    """The filters of one walk; each works only if it was asked for."""

    def __init__(self, config: WalkConfig) -> None:
        self._include, self._exclude = config.include, config.exclude
        self._since, self._until = config.since, config.until
        self._keep_undated = config.undated == "keep"
        self._keep_outside = config.scope == "keep"
        self._codes = set(config.language)
        self._prefixes = tuple(f"{code}-" for code in config.language)
        self._seen = SeenKeys() if config.unique or config.expand else None

    def remember(self, locs: list[str]) -> None:
        """Remember URLs that were delivered before, for `unique`."""
        if self._seen is not None:
            for loc in locs:
                self._seen.add(url_key(loc))

    def deduplicate(self, rows: Rows) -> Rows:
        """With `unique`, return the entries whose URL has not been delivered; else all."""
        if self._seen is None:
            return rows
        add = self._seen.add
        pairs = zip(get_column(rows, "loc"), get_column(rows, "change"), strict=True)
        marks = [change is Change.REMOVED or add(url_key(loc)) for loc, change in pairs]
        return select_rows(rows, marks)

    def select(self, rows: Rows, scope: tuple[str, ...]) -> tuple[Rows, int]:
        """Return the entries that pass the filters of places and languages, and a count.

        The count is that of entries outside `scope`, which are URL prefixes as `folder_of` makes
        them; with scope="keep" these entries pass.
        """
        outside = _find_outside(get_column(rows, "loc"), scope)
        if outside and not self._keep_outside:
            dropped = set(outside)
            rows = select_rows(rows, [loc not in dropped for loc in get_column(rows, "loc")])
        if self._include or self._exclude:
            rows = select_rows(rows, [self._is_wanted(loc) for loc in get_column(rows, "loc")])
        if self._codes:
            rows = select_rows(
                rows, [self._has_code(code) for code in get_column(rows, "language")]
            )
        return rows, len(outside)

    def select_dates(self, rows: Rows) -> Rows:
        """Return the entries that pass `since` and `until`."""
        if self._since is not None:
            rows = select_recent(list(rows), self._since, keep_undated=self._keep_undated)
        if self._until is not None:
            rows = select_until(rows, self._until, keep_undated=self._keep_undated)
        return rows

    def _has_code(self, code: str | None) -> bool:
        code = (code or "").lower()
        return code in self._codes or code.startswith(self._prefixes)

    def _is_wanted(self, loc: str) -> bool:
        if self._include and not any(pattern.search(loc) for pattern in self._include):
            return False
        return not any(pattern.search(loc) for pattern in self._exclude)


def _find_outside(locs: list[str], scope: tuple[str, ...]) -> list[str]:
    """Return the URLs that do not lie in the scope, in any spelling.

    That is the folder of their sitemap, on the same scheme, host and port
    (https://www.sitemaps.org/protocol.html#location), which a `..` may leave again.
    """
    outside = [loc for loc in locs if not loc.startswith(scope)]
    # nothing climbs out of an origin, and most sitemaps lie at its root
    if any(prefix.count("/") > 3 for prefix in scope) and may_climb("".join(locs)):
        outside = [loc for loc in locs if may_climb(loc) or not loc.startswith(scope)]
    begins = [loc[: loc.find("/", 8) + 1] for loc in outside]
    foreign = {begin for begin in set(begins) if _is_foreign(begin, scope)}
    near = {loc for loc, begin in zip(outside, begins, strict=True) if begin not in foreign}
    spelled = {loc for loc in near if url_key(loc).startswith(scope)}
    return [loc for loc in outside if loc not in spelled] if spelled else outside


def _is_foreign(begin: str, scope: tuple[str, ...]) -> bool:
    """Return whether no URL with this beginning, up to a slash, can be in scope."""
    is_origin = begin.count("/") == 3 and url_key(begin) == begin
    return is_origin and not any(prefix.startswith(begin) for prefix in scope)


@attrs.frozen(kw_only=True)
class Coverage:
    """The filters that entries of one document have to pass."""

    since: datetime | None
    until: datetime | None
    keeps_undated: bool
    include: _PatternTexts
    exclude: _PatternTexts
    folders: frozenset[str] | None
    unique: bool
    language: frozenset[str] = frozenset()

    @classmethod
    def of(cls, config: WalkConfig, folders: Sequence[str] = ()) -> Self:
        """Return the filters of a walk; `folders` are the proven scope of a document."""
        return cls(
            since=config.since,
            until=config.until,
            keeps_undated=config.undated == "keep" or (config.since or config.until) is None,
            include=_write_patterns(config.include),
            exclude=_write_patterns(config.exclude),
            folders=frozenset(folders) if config.scope == "drop" else None,
            unique=config.unique,
            language=frozenset(config.language),
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote."""
        values = json.loads(text)
        folders = values["folders"]
        return cls(
            since=values["since"] and datetime.fromisoformat(values["since"]),
            until=(until := values.get("until")) and datetime.fromisoformat(until),
            keeps_undated=values["keeps_undated"],
            include=frozenset((pattern, flags) for pattern, flags in values["include"]),
            exclude=frozenset((pattern, flags) for pattern, flags in values["exclude"]),
            folders=None if folders is None else frozenset(folders),
            unique=values["unique"],
            language=frozenset(values.get("language", ())),
        )

    def to_text(self) -> str:
        """Return the filters as JSON; equal filters give equal texts."""
        values = {
            "since": self.since and self.since.astimezone(UTC).isoformat(),
            "until": self.until and self.until.astimezone(UTC).isoformat(),
            "keeps_undated": self.keeps_undated,
            "include": sorted(self.include),
            "exclude": sorted(self.exclude),
            "folders": None if self.folders is None else sorted(self.folders),
            "unique": self.unique,
        }
        if self.language:
            values["language"] = sorted(self.language)
        return json.dumps(values, separators=(",", ":"))

    def covers(self, other: Coverage) -> bool:
        """Return whether all entries that pass the other filters pass these."""
        return (
            self._covers_dates(other)
            and (not self.include or bool(other.include and other.include <= self.include))
            and self.exclude <= other.exclude
            and (not self.language or bool(other.language and other.language <= self.language))
            and (
                self.folders is None
                or (other.folders is not None and other.folders <= self.folders)
            )
            and (other.unique or not self.unique)
        )

    def _covers_dates(self, other: Coverage) -> bool:
        # A later `since` passes less, so one that moves with the days needs nothing read again.
        covers_since = self.since is None or (other.since is not None and other.since >= self.since)
        covers_until = self.until is None or (other.until is not None and other.until <= self.until)
        return covers_since and covers_until and (self.keeps_undated or not other.keeps_undated)


def _write_patterns(values: Sequence[re.Pattern[str]]) -> _PatternTexts:
    return frozenset((value.pattern, value.flags) for value in values)


# -- URLs that were seen, in 11 to 16 bytes each, where a set of Python's takes 150

_SHARDS = 1_024
"""Tables. Each grows by itself, so that no step takes long: 3 ms at ten million URLs."""
_FIRST_SLOTS = 8
_EMPTY = array("Q", (0,))
"""A table in which nothing is yet, of all sets: most walks see few texts."""
_MOST_RECENT = 5_000_000
_WORD = 2**64 - 1


class SeenKeys:
    """A set of texts, kept as keyed 64-bit hashes.

    Two different texts collide with a probability of n²/2⁶⁵: 1 in 370,000 for ten million. Each
    process draws a key of its own, so nobody can write texts that collide.
    """

    def __init__(self) -> None:
        self._hash = _choose_hash()
        self._tables = [_EMPTY] * _SHARDS
        self._sizes = [0] * _SHARDS

    def __len__(self) -> int:
        return sum(self._sizes)

    def __contains__(self, text: str) -> bool:
        value = self._hash(text) & _WORD or 1
        table = self._tables[value % _SHARDS]
        slot = value // _SHARDS % len(table)
        while present := table[slot]:
            if present == value:
                return True
            slot = (slot + 1) % len(table)
        return False

    def add(self, text: str) -> bool:
        """Add `text`; return whether it is new."""
        value = self._hash(text) & _WORD or 1  # 0 marks a free slot
        shard = value % _SHARDS
        table = self._tables[shard]
        slots = len(table)
        slot = value // _SHARDS % slots
        while present := table[slot]:
            if present == value:
                return False
            slot = (slot + 1) % slots
        if table is _EMPTY:
            table = self._tables[shard] = array("Q", bytes(8 * _FIRST_SLOTS))
            slots, slot = _FIRST_SLOTS, value // _SHARDS % _FIRST_SLOTS
        table[slot] = value
        self._sizes[shard] += 1
        if 4 * self._sizes[shard] > 3 * slots:
            self._tables[shard] = _enlarged(table)
        return True


class RecentKeys:
    """The last five to ten million texts of an endless list, in up to 160 MB."""

    def __init__(self) -> None:
        self._keys = SeenKeys()
        self._before = SeenKeys()
        self._left = _MOST_RECENT

    def add(self, text: str) -> bool:
        """Add `text`; return whether it is not among the last ones."""
        if text in self._before or not self._keys.add(text):
            return False
        self._left -= 1
        if not self._left:
            self._before, self._keys, self._left = self._keys, SeenKeys(), _MOST_RECENT
        return True


def _enlarged(table: array[int]) -> array[int]:
    """Return a copy with half as many slots again: 50 to 75 % of slots are used."""
    slots = len(table) * 3 // 2
    larger = array("Q", bytes(8 * slots))
    for value in table:
        if value:
            slot = value // _SHARDS % slots
            while larger[slot]:
                slot = (slot + 1) % slots
            larger[slot] = value
    return larger


def _choose_hash() -> Callable[[str], int]:
    """Return a keyed 64-bit hash: Python's own (PEP 456) if it is one, else BLAKE2b."""
    if sys.hash_info.width >= 64 and sys.hash_info.algorithm.startswith("siphash"):
        return hash
    key = token_bytes(16)

    def digest(text: str) -> int:
        data = text.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(data, digest_size=8, key=key).digest(), "big")

    return digest
