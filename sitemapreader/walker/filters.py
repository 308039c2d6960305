"""Which entries of a walk go to the consumer, a list at a time.

The filters are `scope`, `include`, `exclude`, `since` and `unique`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sitemapreader.dates import select_recent
from sitemapreader.urls import url_key
from sitemapreader.walker.seen import SeenKeys

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from datetime import datetime

    from sitemapreader.models import UrlEntry


class EntryFilter:
    """The filters of one walk, each only at work if it was asked for."""

    def __init__(
        self,
        *,
        since: datetime | None = None,
        keep_undated: bool = True,
        keep_outside: bool = True,
        include: Sequence[re.Pattern[str]] = (),
        exclude: Sequence[re.Pattern[str]] = (),
        unique: bool = False,
    ) -> None:
        self._include = include
        self._exclude = exclude
        self._since = since
        self._keep_undated = keep_undated
        self._keep_outside = keep_outside
        self._seen = SeenKeys() if unique else None

    def remember(self, locs: list[str]) -> None:
        """Take note of URLs that were given already."""
        if self._seen is not None:
            for loc in locs:
                self._seen.add(url_key(loc))

    def apply(self, entries: list[UrlEntry], scope: tuple[str, ...]) -> tuple[list[UrlEntry], int]:
        """Return the entries that pass, each URL once if so asked; and the count of `select`."""
        entries, outside = self.select(entries, scope)
        return self.deduplicate(entries), outside

    def deduplicate(self, entries: list[UrlEntry]) -> list[UrlEntry]:
        """Return the entries whose URL has not been given, if each is wanted once."""
        if self._seen is None:
            return entries
        add = self._seen.add
        return [entry for entry in entries if add(url_key(entry.loc))]

    def select(self, entries: list[UrlEntry], scope: tuple[str, ...]) -> tuple[list[UrlEntry], int]:
        """Return the entries that pass, and how many lie outside `scope`, passed or not.

        `scope` are URL prefixes, as `folder_of` makes them. What passes may have been given before.
        """
        outside = [entry for entry in entries if not entry.loc.startswith(scope)]
        if outside:
            outside = [entry for entry in outside if not _lies_within(entry.loc, scope)]
        if outside and not self._keep_outside:
            out_of_scope = {id(entry) for entry in outside}
            entries = [entry for entry in entries if id(entry) not in out_of_scope]
        if self._include or self._exclude:
            entries = [entry for entry in entries if self._is_wanted(entry.loc)]
        if self._since is not None:
            entries = select_recent(entries, self._since, keep_undated=self._keep_undated)
        return entries, len(outside)

    def _is_wanted(self, loc: str) -> bool:
        if self._include and not any(pattern.search(loc) for pattern in self._include):
            return False
        return not any(pattern.search(loc) for pattern in self._exclude)


def _lies_within(loc: str, scope: tuple[str, ...]) -> bool:
    """Tell whether a URL that does not look so lies in the scope, in another spelling."""
    begin = loc[: loc.find("/", 8) + 1]
    plain = "%" not in loc and "/." not in loc and len(begin) < 300 and _is_origin(begin)
    if plain and not any("%" in prefix for prefix in scope):
        return False  # it has no other spelling that could
    return url_key(loc).startswith(scope)


@lru_cache(maxsize=256)
def _is_origin(text: str) -> bool:
    """Tell whether a text is scheme, host and port, and a slash, spelled as `url_key` does it."""
    return url_key(text) == text and text.count("/") == 3
