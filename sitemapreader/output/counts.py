"""Counts of URLs by a common value, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from sitemapreader._columns import Column
from sitemapreader._types.fields import one_of
from sitemapreader._types.rows import Rows, get_column
from sitemapreader._types.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

CountBy: TypeAlias = Literal[
    "sitemap",
    "folder",
    "folder:2",
    "folder:3",
    "host",
    "month",
    "language",
    "extension",
]
MAX_COUNTED = 1_000
"""Largest number of values that are listed; the rarer ones share one row."""
_MAX_KEPT = 100_000
"""Largest number of values in memory (15 MB); above it the rarer half joins the others."""
OTHERS = "(others)"
"""The value of the last row, which counts the rarer values together."""
_FOLDERS = re.compile(r"[^/]*//[^/?#]*(?:/[^/?#]*(?=/)){0,3}")
_FILE_EXTENSION = re.compile(r"[^/]*//[^?#]*/[^/?#]*(\.[^\W_]{1,9})(?=[?#]|$)")


@attrs.frozen
class UrlCount:
    """The number of URLs with a value; `None` is the value of URLs that have none."""

    value: str | None
    urls: int


def _find_folder(loc: str, depth: int = 1) -> str:
    match = _FOLDERS.match(loc)
    if match is None:
        return f"{loc}/"
    parts = match[0].split("/")
    folder = "/".join(parts[: 3 + depth])
    return f"{folder}/"


def _find_extension(loc: str) -> str | None:
    match = _FILE_EXTENSION.match(loc)
    if match is None:
        return None
    return match[1].lower()


def _find_host(loc: str) -> str:
    host = loc.split("/", 3)[2]
    return host_of(f"https://{host}") or host


def _find_month(day: date | None) -> str | None:
    if day is None:
        return None
    return f"{day.year}-{day.month:02}"


def _get_text(text: str | None) -> str | None:
    return text or None


_CUTS: dict[CountBy, tuple[str, Callable[[Any], Any]]] = {
    "sitemap": ("sitemap", _get_text),
    "folder": ("loc", _find_folder),
    "folder:2": ("loc", partial(_find_folder, depth=2)),
    "folder:3": ("loc", partial(_find_folder, depth=3)),
    "host": ("loc", _find_host),
    "month": ("date", _find_month),
    "language": ("language", _get_text),
    "extension": ("loc", _find_extension),
}
"""The attribute that is read, and the function that cuts the counted value from it."""


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

    The folder is the first one of the path, with "folder:2" the first two; the month is that of
    `date`. Raises ValueError for another word.
    """

    by: CountBy = attrs.field(validator=one_of(CountBy))
    _counts: Counter[str | None] = attrs.field(factory=Counter, init=False)
    _others: int = attrs.field(default=0, init=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows, for `open_output`."""
        name = self.by.partition(":")[0]
        is_url = name in ("sitemap", "folder")
        value = Column(
            name,
            str | None,
            always=True,
            is_url=is_url,
            get=attrgetter("value"),
        )
        return value, Column("urls", int, always=True)

    def add(self, rows: Rows) -> None:
        """Count entries."""
        name, cut = _CUTS[self.by]
        values = get_column(rows, name)
        self._counts.update(map(cut, values))
        if len(self._counts) > _MAX_KEPT:
            frequent = self._counts.most_common(_MAX_KEPT // 2)
            kept = Counter(dict(frequent))
            self._others += self._counts.total() - kept.total()
            self._counts = kept

    def list_rows(self) -> list[UrlCount]:
        """Return the most frequent values, and the others as one.

        Of more than 100,000 values, rare ones may have been counted among the others.
        """
        counts = [UrlCount(value, urls) for value, urls in self._counts.items()]
        counts.sort(key=lambda count: (-count.urls, count.value or ""))
        rare = counts[MAX_COUNTED:]
        counts = counts[:MAX_COUNTED]
        others = self._others
        others += sum(count.urls for count in rare)
        if others:
            counts.append(UrlCount(OTHERS, others))
        return counts
