"""The filters of a walk, those of an earlier one, and the URLs for `unique`.

The filters are `scope`, `include`, `exclude`, `since`, `until` and `unique`. A document that has
not changed stays unread only if all entries that pass now were delivered before: if no filter kept
any of them back then, or if the filters are the same ones (docs/state.md).
"""

from __future__ import annotations

import sys
from array import array
from datetime import UTC, datetime
from hashlib import blake2b
from secrets import token_bytes
from typing import TYPE_CHECKING

from sitemapreader.dates import is_recent
from sitemapreader.rows import Rows, get_column, select_rows
from sitemapreader.urls import may_climb, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sitemapreader.walker.config import WalkConfig


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

    def remember(self, locs: Iterable[str]) -> None:
        """Remember URLs that were delivered before, for `unique`."""
        if self._seen is not None:
            for loc in locs:
                self._seen.add(url_key(loc))

    def deduplicate(self, rows: Rows) -> Rows:
        """With `unique`, return the entries whose URL has not been delivered; else all."""
        if self._seen is None:
            return rows
        add = self._seen.add
        return select_rows(rows, [add(url_key(loc)) for loc in get_column(rows, "loc")])

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
        keep, since, until = self._keep_undated, self._since, self._until
        if since is not None:
            rows = [row for row in rows if is_recent(row, since, keep_undated=keep)]
        if until is not None:
            dated = ((row, row.date) for row in rows)
            rows = [row for row, day in dated if (keep if day is None else day <= until)]
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


def mark_filters(config: WalkConfig, folders: Iterable[str]) -> str:
    """Return the filters of a document as text: `since`, and a hash of all others.

    `folders` are its proven scope.
    """
    parts = (
        config.until,
        config.undated,
        [(each.pattern, each.flags) for each in config.include],
        [(each.pattern, each.flags) for each in config.exclude],
        sorted(folders) if config.scope == "drop" else None,
        config.unique,
        config.language,
    )
    digest = blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{config.since.astimezone(UTC).isoformat() if config.since else ''} {digest}"


def covers(earlier: str, present: str) -> bool:
    """Return whether all that passes the present filters passed the earlier ones."""
    # A later `since` passes less, so one that moves with the days needs nothing read again.
    (before, others), (now, same) = earlier.split(" "), present.split(" ")
    is_later = not before or (
        bool(now) and datetime.fromisoformat(now) >= datetime.fromisoformat(before)
    )
    return others == same and is_later


# -- URLs that were seen, in 11 to 16 bytes each, where a set of Python's takes 150

_SHARDS = 1_024
"""Tables. Each grows by itself, so that no step takes long: 3 ms at ten million URLs."""
_FIRST_SLOTS = 8
_EMPTY = array("Q", (0,))
"""A table in which nothing is yet, of all sets: most walks see few texts."""
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
