"""The columns of every output: one table, from which each format is derived.

Types come from the fields of `UrlEntry`, so a new one needs a row here and nothing else.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, get_type_hints

import attrs

from sitemapreader.models import UrlEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCHEMA_VERSION = 1
"""Raised when a column, or a field in one, is renamed, removed or changes its type.

It is not raised for a new one, which readers that pick columns by name never notice.
"""


ABSENT: tuple[object, ...] = (None, (), {})
"""What a field holds where the record has nothing for it."""


@attrs.frozen
class Column:
    """One column of the output.

    Attributes:
        name: of the column, and of the attribute of `UrlEntry` that it holds.
        meaning: what it holds, in words.
        always: whether JSON lines have its key even where a record has nothing for it.
        is_url: whether it holds a URL, which is percent-encoded where a line needs that.
    """

    name: str
    meaning: str
    always: bool = False
    is_url: bool = False

    @property
    def type(self) -> object:
        """The type of its values, as `UrlEntry` has it."""
        return _TYPES[self.name]


_TYPES = get_type_hints(UrlEntry) | {
    "date": datetime | None,
    "date_source": str | None,  # the words of an enum are text
    "change": str | None,
    "site": str,
}

COLUMNS = (
    Column("loc", "the URL, absolute, as its author wrote it", always=True, is_url=True),
    Column("lastmod", "when it was last changed; a text without a zone is UTC", always=True),
    Column("changefreq", "how often it changes: one of the protocol's seven words", always=True),
    Column("priority", "0.0 to 1.0; absent where the record has none", always=True),
    Column("sitemap", "URL of the document that lists it", always=True, is_url=True),
    Column("lastmod_text", "lastmod as written, which tells `2026` from `2026-01-01`"),
    Column("title", "title of the page, where its record has one: items of feeds, news"),
    Column("images", "Google's image extension, all of a record"),
    Column("videos", "Google's video extension, all of a record"),
    Column("news", "Google's news extension"),
    Column("alternates", "`xhtml:link`: the page for other languages and media"),
    Column("extras", "elements that no table of ours knows"),
    Column(
        "change",
        "`new`, `changed` or `removed` since the walk before, where that was asked for; else what "
        "the record says (ResourceSync)",
    ),
)
"""The columns that are written unless others are chosen, in their order."""

# Not in every row: nearly always `date` says once more what lastmod says.
SITE_COLUMN = Column(
    "site",
    "the site that lists it, as it was given; first, where there are several",
    always=True,
    is_url=True,
)
DERIVED_COLUMNS = (
    Column("date", "lastmod, else the publication date of news: what `since` goes by"),
    Column("date_source", "where `date` is taken from: `lastmod` or `news`"),
)
"""Derived columns, which are written only if they are chosen."""


def has_nothing(values: list[Any]) -> bool:
    """Return whether a column is empty in all records."""
    return values.count(values[0]) == len(values) and values[0] in ABSENT


def write_values(values: list[Any], write: Callable[[Any], str]) -> list[str]:
    """Write a column; write equal values only once where they have a hash."""
    try:
        texts = {value: write(value) for value in set(values)}
    except TypeError:  # images and the like have no hash
        return [write(value) for value in values]
    return [texts[value] for value in values]


def choose_columns(names: Sequence[str] | None, *, has_sites: bool = False) -> tuple[Column, ...]:
    """Return the columns of these names, in this order; `COLUMNS` for `None`.

    With several sites there is the column `site` besides, which comes first for `None`.

    A column that is asked for is always there. Raises ValueError for names that cannot be meant.
    """
    if names is None:
        return (SITE_COLUMN, *COLUMNS) if has_sites else COLUMNS
    known = {column.name: column for column in (*COLUMNS, *DERIVED_COLUMNS)}
    if has_sites:
        known[SITE_COLUMN.name] = SITE_COLUMN
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        said = f"there is no field {unknown[0]!r}" if unknown else "no field is chosen"
        raise ValueError(f"{said}: choose from {', '.join(known)}")
    if len(set(names)) < len(names):
        raise ValueError(f"a field is chosen twice: write each once in {','.join(names)}")
    return tuple(attrs.evolve(known[name], always=True) for name in names)
