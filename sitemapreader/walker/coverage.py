"""Which entries of a document a walk delivers, and whether an earlier walk delivered them all.

A document that has not changed is left unread only if every entry that passes now was handed over
before: if nothing of it was kept back then, or if the filters of that time pass all that the
present ones do. The law in full: docs/state.md.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from sitemapreader.walker.config import WalkConfig

Patterns = frozenset[tuple[str, int]]
"""Regular expressions with their flags."""


@attrs.frozen(kw_only=True)
class Coverage:
    """The filters that entries of one document have to pass.

    Attributes:
        since: the moment before which entries are left out.
        keeps_undated: whether those without a date pass.
        include: one of these is found in what passes; everything passes if there are none.
        exclude: none of these is.
        folders: where the locs of entries have to lie; `None` if they may lie anywhere.
        unique: whether a URL is left out that was handed over before.
    """

    since: datetime | None
    keeps_undated: bool
    include: Patterns
    exclude: Patterns
    folders: frozenset[str] | None
    unique: bool

    @classmethod
    def of(cls, config: WalkConfig, folders: Sequence[str] = ()) -> Self:
        """Return the filters of a walk; `folders` are those that are proven for a document."""
        return cls(
            since=config.since,
            keeps_undated=config.undated == "keep" or config.since is None,
            include=_patterns(config.include),
            exclude=_patterns(config.exclude),
            folders=frozenset(folders) if config.scope == "drop" else None,
            unique=config.unique,
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote."""
        values = json.loads(text)
        since, folders = values["since"], values["folders"]
        return cls(
            since=None if since is None else datetime.fromisoformat(since),
            keeps_undated=values["keeps_undated"],
            include=frozenset((pattern, flags) for pattern, flags in values["include"]),
            exclude=frozenset((pattern, flags) for pattern, flags in values["exclude"]),
            folders=None if folders is None else frozenset(folders),
            unique=values["unique"],
        )

    def to_text(self) -> str:
        """Write it down, in the same way each time."""
        values = {
            "since": self.since and self.since.astimezone(UTC).isoformat(),
            "keeps_undated": self.keeps_undated,
            "include": sorted(self.include),
            "exclude": sorted(self.exclude),
            "folders": None if self.folders is None else sorted(self.folders),
            "unique": self.unique,
        }
        return json.dumps(values, separators=(",", ":"))

    def covers(self, other: Coverage) -> bool:
        """Tell whether all that passes the other filters passes these."""
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
        # A `since` that moves on with the days passes less each day: nothing has to be read anew.
        if self.since is None:
            return True
        return (
            other.since is not None
            and other.since >= self.since
            and (self.keeps_undated or not other.keeps_undated)
        )


def _patterns(values: Sequence[re.Pattern[str]]) -> Patterns:
    return frozenset((value.pattern, value.flags) for value in values)
