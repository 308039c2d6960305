"""Counts of URLs by a common value, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from sitemapreader._columns import Column
from sitemapreader._types.options import one_of
from sitemapreader._types.rows import Rows, get_column
from sitemapreader._types.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

CountBy: TypeAlias = Literal[
    "sitemap", "folder", "host", "month", "language", "extension"
]
MAX_COUNTED = 1_000
"""Values that are listed; the others are one row."""
_MAX_KEPT = 100_000
"""Values that are counted at once, in 15 MB; then the rarer half joins the others."""
OTHERS = "(others)"
"""The value of the last row, which has the rarer ones together."""
_FIRST_FOLDER = re.compile(r"[^/]*//[^/?#]*(?:/[^/?#]*(?=/))?")
_FILE_EXTENSION = re.compile(r"[^/]*//[^?#]*/[^/?#]*(\.[^\W_]{1,9})(?=[?#]|$)")


@attrs.frozen
class UrlCount:
    """The number of URLs with a value; `None` is the value of URLs that have none."""

    value: str | None
    urls: int


def _find_folder(loc: str) -> str:
    found = _FIRST_FOLDER.match(loc)
    return f"{found[0] if found else loc}/"


def _find_extension(loc: str) -> str | None:
    found = _FILE_EXTENSION.match(loc)
    return found[1].lower() if found else None


def _match_host(host: str) -> str:
    return host_of(f"https://{host}") or host


_CUTS: dict[CountBy, tuple[str, Callable[[Any], Any]]] = {
    "sitemap": ("sitemap", lambda url: url or None),
    "folder": ("loc", _find_folder),
    "host": ("loc", lambda loc: _match_host(loc.split("/", 3)[2])),
    "month": ("date", lambda day: day and f"{day.year}-{day.month:02}"),
    "language": ("language", lambda code: code),
    "extension": ("loc", _find_extension),
}
"""The attribute whose values are counted, and what is cut from each."""


@attrs.define(eq=False)
class UrlCounts:
    """Counts of URLs by sitemap, folder, host, month, language or extension.

    ```python
    counts = UrlCounts("folder")
    for batch in entries.batches():
        counts.add(batch)
    for row in counts.list_rows():
        print(row.value, row.urls)
    ```

    The folder is the first of the path, the month that of `date`. Raises ValueError for a word that
    is none of these.
    """

    by: CountBy = attrs.field(validator=one_of(CountBy))
    _counts: Counter[str | None] = attrs.field(factory=Counter, init=False)
    _others: int = attrs.field(default=0, init=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows, for `open_output`."""
        is_url = self.by in ("sitemap", "folder")
        value = Column(
            self.by, str | None, always=True, is_url=is_url, get=attrgetter("value")
        )
        return value, Column("urls", int, always=True)

    def add(self, rows: Rows) -> None:
        """Count entries."""
        name, cut = _CUTS[self.by]
        self._counts.update(map(cut, get_column(rows, name)))
        if len(self._counts) > _MAX_KEPT:
            kept = Counter(dict(self._counts.most_common(_MAX_KEPT // 2)))
            self._others += self._counts.total() - kept.total()
            self._counts = kept

    def list_rows(self) -> list[UrlCount]:
        """Return the most frequent values, and the others as one.

        Of more than 100,000 values, rare ones may have been counted among the others.
        """
        ranked = sorted(
            self._counts.items(), key=lambda pair: (-pair[1], pair[0] or "")
        )
        others = self._others + sum(number for _, number in ranked[MAX_COUNTED:])
        last = [UrlCount(OTHERS, others)] if others else []
        return [UrlCount(*pair) for pair in ranked[:MAX_COUNTED]] + last
