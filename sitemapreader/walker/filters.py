"""The filters of a walk: applied to entries, compared with an earlier walk's.

The filters are `scope`, `include`, `exclude`, `since`, `until` and `unique`. A document that has
not changed stays unread only if all entries that pass now were delivered before: if no filter kept
any of them back then, or if the filters of that time pass all that the present ones pass
(docs/state.md).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, TypeAlias

import attrs

from sitemapreader.dates import select_recent, select_until
from sitemapreader.models import Change
from sitemapreader.rows import get_column, select_rows
from sitemapreader.urls import url_key
from sitemapreader.walker.seen import SeenKeys

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from sitemapreader.rows import Rows
    from sitemapreader.walker.config import WalkConfig


_PatternTexts: TypeAlias = frozenset[tuple[str, int]]
"""Regular expressions with their flags."""


class EntryFilter:
    """The filters of one walk; each works only if it was asked for."""

    def __init__(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        keep_undated: bool = True,
        keep_outside: bool = True,
        include: Sequence[re.Pattern[str]] = (),
        exclude: Sequence[re.Pattern[str]] = (),
        unique: bool = False,
    ) -> None:
        self._include = include
        self._exclude = exclude
        self._since = since
        self._until = until
        self._keep_undated = keep_undated
        self._keep_outside = keep_outside
        self._seen = SeenKeys() if unique else None

    @property
    def has_dates(self) -> bool:
        """Whether entries are selected by their dates."""
        return (self._since or self._until) is not None

    def remember(self, locs: list[str]) -> None:
        """Remember URLs that were delivered before, for `unique`."""
        if self._seen is not None:
            for loc in locs:
                self._seen.add(url_key(loc))

    def apply(self, rows: Rows, scope: tuple[str, ...]) -> tuple[Rows, int]:
        """Return the entries that pass all filters, and the count of `select`."""
        rows, outside = self.select(rows, scope)
        return self.deduplicate(rows), outside

    def deduplicate(self, rows: Rows) -> Rows:
        """With `unique`, return the entries whose URL has not been delivered; else all."""
        if self._seen is None:
            return rows
        add = self._seen.add
        pairs = zip(get_column(rows, "loc"), get_column(rows, "change"), strict=True)
        marks = [change is Change.REMOVED or add(url_key(loc)) for loc, change in pairs]
        return select_rows(rows, marks)

    def select(self, rows: Rows, scope: tuple[str, ...]) -> tuple[Rows, int]:
        """Return the entries that pass all filters but `unique`, and a count.

        The count is that of entries outside `scope`, which are URL prefixes as `folder_of` makes
        them; with scope="keep" these entries pass.
        """
        outside = _find_outside(get_column(rows, "loc"), scope)
        if outside and not self._keep_outside:
            dropped = set(outside)
            rows = select_rows(rows, [loc not in dropped for loc in get_column(rows, "loc")])
        if self._include or self._exclude:
            rows = select_rows(rows, [self._is_wanted(loc) for loc in get_column(rows, "loc")])
        if self._since is not None:
            rows = select_recent(list(rows), self._since, keep_undated=self._keep_undated)
        if self._until is not None:
            rows = select_until(rows, self._until, keep_undated=self._keep_undated)
        return rows, len(outside)

    def _is_wanted(self, loc: str) -> bool:
        if self._include and not any(pattern.search(loc) for pattern in self._include):
            return False
        return not any(pattern.search(loc) for pattern in self._exclude)


def _find_outside(locs: list[str], scope: tuple[str, ...]) -> list[str]:
    """Return the URLs that do not lie in the scope, in any spelling."""
    outside = [loc for loc in locs if not loc.startswith(scope)]
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
    """The filters that entries of one document have to pass.

    Attributes:
        since: entries before this moment do not pass.
        until: entries after this moment do not pass.
        keeps_undated: whether entries without a date pass.
        include: an entry passes if one of these is found in its loc, or if there are none.
        exclude: an entry does not pass if one of these is found in its loc.
        folders: prefixes that locs must have; `None` if they may have any.
        unique: whether a URL that was delivered before does not pass again.
    """

    since: datetime | None
    until: datetime | None
    keeps_undated: bool
    include: _PatternTexts
    exclude: _PatternTexts
    folders: frozenset[str] | None
    unique: bool

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
        return json.dumps(values, separators=(",", ":"))

    def covers(self, other: Coverage) -> bool:
        """Return whether all entries that pass the other filters pass these."""
        return (
            self._covers_dates(other)
            and (not self.include or bool(other.include and other.include <= self.include))
            and self.exclude <= other.exclude
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
