"""Rows of entries: as objects, or by columns, which need no objects."""

from __future__ import annotations

from datetime import UTC, datetime, time
from itertools import chain, compress, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast

import attrs

from sitemapreader._types.dates import TOLERANCE, is_since
from sitemapreader._types.models import DateSource, Event, UrlEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader._types.models import Change

_Item = TypeVar("_Item", bound=Event)
_EMPTY_VALUES: dict[str, Any] = {
    field.name: field.default for field in attrs.fields(UrlEntry)
}
"""Attribute of an entry -> its value where there is none."""
_LAST_BY_POSITION = "priority_text"
_PLACE_BY_POSITION = 14
if [*_EMPTY_VALUES].index(_LAST_BY_POSITION) != _PLACE_BY_POSITION:
    raise TypeError(
        "EntryColumns makes entries by position: put new rows at the end of UrlEntry, after "
        f"{_LAST_BY_POSITION}"
    )


@attrs.define(eq=False, weakref_slot=False)
class EntryColumns:
    """Entries without extensions: the values of each field, `None` if no entry has it.

    Iterate it to make the entries one after another.
    """

    loc: Sequence[str]
    sitemap: Sequence[str]
    lastmod: Sequence[datetime | None] | None = None
    changefreq: Sequence[str | None] | None = None
    priority: Sequence[float | None] | None = None
    lastmod_text: Sequence[str | None] | None = None
    title: Sequence[str | None] | None = None
    change: Sequence[Change | None] | None = None
    changefreq_text: Sequence[str | None] | None = None
    priority_text: Sequence[str | None] | None = None

    def __len__(self) -> int:
        return len(self.loc)

    def __iter__(self) -> Iterator[UrlEntry]:
        # by position: `map` makes the rows without a function of Python in between
        none = repeat(None)
        empty = repeat(())
        return map(
            UrlEntry,
            self.loc,
            self.lastmod or none,
            self.changefreq or none,
            self.priority or none,
            *(empty, empty, none, empty, empty),
            self.sitemap,
            self.lastmod_text or none,
            self.title or none,
            self.change or none,
            self.changefreq_text or none,
            self.priority_text or none,
        )

    def get(self, name: str) -> list[Any]:
        """Return the values of an attribute of the entries."""
        if name == "date_source":
            return [day and DateSource.LASTMOD for day in self.get("lastmod")]
        if name == "has_zone":
            return list(map(attrgetter(name), self))
        if name == "date":
            name = "lastmod"
        column = getattr(self, name, None)
        if column is None:
            return [_EMPTY_VALUES.get(name)] * len(self)
        return list(column)

    def select(self, marks: Sequence[bool]) -> Self:
        """Return the entries that have a mark."""
        columns = self._list_columns()
        return type(self)(
            *(column and list(compress(column, marks)) for column in columns)
        )

    def __getitem__(self, part: slice) -> Self:
        columns = self._list_columns()
        return type(self)(*(column and column[part] for column in columns))

    def _list_columns(self) -> list[Any]:
        return [getattr(self, name) for name in _COLUMN_NAMES]

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the entries of several parts."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {}
        for name in _COLUMN_NAMES:
            if any(getattr(part, name) for part in parts):
                values = (part.get(name) for part in parts)
                columns[name] = list(chain.from_iterable(values))
            else:
                columns[name] = None
        return cls(**columns)


_COLUMN_NAMES = [field.name for field in attrs.fields(EntryColumns)]

Rows: TypeAlias = list[UrlEntry] | EntryColumns
"""Entries, as objects or by columns."""
Events: TypeAlias = list[Event] | EntryColumns
"""Events of one document; where they are all entries, perhaps by columns."""


@attrs.frozen
class SiteRows:
    """Entries of several sites, for outputs, which also have the column `site`.

    Attributes:
        parts: each site with its entries.
    """

    parts: list[tuple[str, Rows]]

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self.parts)

    @property
    def columns(self) -> EntryColumns | None:
        """The entries by columns; `None` unless all of them are stored so."""
        parts = [rows for _, rows in self.parts if isinstance(rows, EntryColumns)]
        if parts and len(parts) == len(self.parts):
            return EntryColumns.join(parts)
        return None

    def get(self, name: str) -> list[Any]:
        """Return the values of a column."""
        values: list[Any] = []
        for site, rows in self.parts:
            if name == "site":
                values += repeat(site, len(rows))
            else:
                values += get_column(rows, name)
        return values


OutputRows: TypeAlias = list[Any] | EntryColumns | SiteRows
"""Rows that an output takes."""


def get_column(rows: OutputRows, name: str) -> list[Any]:
    """Return the values of an attribute of entries."""
    if isinstance(rows, list):
        return list(map(attrgetter(name), rows))
    return rows.get(name)


def join_output(parts: Sequence[OutputRows]) -> OutputRows:
    """Return all rows of several parts; either all parts have a site, or none has one."""
    site_parts: list[tuple[str, Rows]] = []
    plain_parts: list[Rows] = []
    for part in parts:
        if isinstance(part, SiteRows):
            site_parts += part.parts
        else:
            plain_parts.append(part)
    if site_parts:
        return SiteRows(site_parts)
    return join_rows(plain_parts)


def select_rows(rows: Rows, marks: Sequence[bool]) -> Rows:
    """Return the entries that have a mark."""
    if all(marks):
        return rows
    if isinstance(rows, EntryColumns):
        return rows.select(marks)
    return list(compress(rows, marks))


def join_rows(
    parts: Sequence[list[_Item] | EntryColumns],
) -> list[_Item] | EntryColumns:
    """Return all entries, or events, of several parts."""
    if len(parts) == 1:
        return parts[0]
    columns = [part for part in parts if isinstance(part, EntryColumns)]
    if columns and len(columns) == len(parts):
        return EntryColumns.join(columns)
    return list(chain.from_iterable(cast("Sequence[Iterable[_Item]]", parts)))


BATCH_ROWS = 8_192
"""Entries, of one or many sites, that are collected into one batch; about 3 MB."""


# -- dates


def is_recent(
    entry: UrlEntry,
    since: datetime,
    *,
    keep_undated: bool = True,
) -> bool:
    """Return whether an entry passes `since`: by its lastmod, else by its news date.

    An entry without a date passes if `keep_undated`.
    """
    moment = entry.lastmod or entry.date
    if moment is None:
        return keep_undated
    if moment >= since:
        return True
    text = entry.lastmod_text
    if entry.lastmod is None:
        # The entry does not have the text of its publication date. A date without a time is read
        # as midnight in UTC.
        text = None
        if moment.tzinfo is not UTC or moment.time() != time.min:
            text = moment.isoformat()
    return is_since(moment, text, since)


def count_odd(entries: Iterable[UrlEntry]) -> tuple[int, int]:
    """Return how many entries have no date, and how many have a date in the future."""
    limit = datetime.now(UTC) + TOLERANCE
    dates = [entry.date for entry in entries]
    future = [day for day in dates if day is not None and day > limit]
    return dates.count(None), len(future)
