"""The columns of every output: one table for each class of records, used by all formats.

Types come from the fields of the records, so a new field of `UrlEntry` needs only a row here, and
an extension not even that.
"""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

from sitemapreader._types.habits import suggest
from sitemapreader._types.models import EXTENSIONS, UrlEntry
from sitemapreader._types.outcomes import SiteOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemapreader._types.rows import OutputRows
__all__ = ["ISSUE_COLUMNS", "OUTCOME_COLUMNS", "Column"]

SCHEMA_VERSION = 1
"""Raised when a column, or a field in one, is renamed, removed or changes its type.

A new column does not raise it, because readers that pick columns by name do not notice.
"""


ABSENT: tuple[object, ...] = (None, (), {})
"""Value of a field that the record does not have."""


@attrs.frozen
class Column:
    """One column of an output, for records of any kind.

    Attributes:
        name: of the column.
        type: of its values, as annotations have it: texts, numbers, moments, optional or not.
        meaning: what it holds, in words.
        always: whether JSON lines have its key even where a record has nothing for it.
        is_url: whether it holds a URL, which is percent-encoded where a line needs that.
        is_repetitive: whether it has few different values, which a dictionary makes small.
        get: returns the value of a record; without it, the attribute of that name.
        base: the class of the values that are not absent; `str` for an enum of words.
    """

    name: str
    type: Any
    meaning: str = ""
    always: bool = False
    is_url: bool = False
    is_repetitive: bool = False
    get: Callable[[Any], Any] = attrs.field(eq=False)
    base: Any = attrs.field(init=False, eq=False)

    @get.default
    def _get_attribute(self) -> Callable[[Any], Any]:
        return attrgetter(self.name)

    @base.default
    def _find_base(self) -> Any:
        base = self.type
        classes = {*get_args(base)} - {NoneType}
        if len(classes) == 1:
            (base,) = classes
        if isinstance(base, type) and issubclass(base, str):
            return str
        return base

    def read(self, rows: OutputRows) -> list[Any]:
        """Return the values of records."""
        if isinstance(rows, list):
            return list(map(self.get, rows))
        return rows.get(self.name)


_TYPES = get_type_hints(UrlEntry) | {
    "has_zone": bool | None,
    "date": datetime | None,
    "date_source": str | None,  # the words of an enum are text
    "language": str | None,
    "change": str | None,
    "site": str,
}


def _entry(
    name: str,
    meaning: str,
    flags: str = "",
) -> Column:
    """Return a column of entries; flags are names of attributes that are True."""
    marks: dict[str, Any] = dict.fromkeys(flags.split(), True)
    return Column(name, _TYPES[name], meaning, **marks)


COLUMNS = (
    _entry("loc", "the URL, absolute, as its author wrote it", "always is_url"),
    _entry(
        "lastmod",
        "when it was last changed; a text without a zone is UTC",
        "always",
    ),
    _entry(
        "changefreq",
        "how often it changes: one of the protocol's seven words",
        "always is_repetitive",
    ),
    _entry(
        "priority",
        "0.0 to 1.0; absent where the record has none",
        "always is_repetitive",
    ),
    _entry(
        "sitemap",
        "URL of the document that lists it",
        "always is_url is_repetitive",
    ),
    _entry(
        "lastmod_text",
        "lastmod as written, to distinguish `2026` from `2026-01-01`",
    ),
    _entry(
        "title",
        "title of the page, where its record has one: items of feeds, news",
    ),
    *(_entry(field.name, field.metadata["meaning"]) for field in EXTENSIONS),
    _entry("alternates", "`xhtml:link`: the page for other languages and media"),
    _entry("extras", "elements of unknown extensions"),
    _entry(
        "change",
        "`new`, `changed`, `unlisted` or `gone` since the previous walk, with `changes`; else what "
        "the record says (ResourceSync)",
    ),
)
"""The columns that are written unless others are chosen, in their order."""

# Not in every row: nearly always `date` repeats lastmod, and `priority_text` repeats priority.
SITE_COLUMN = _entry(
    "site",
    "the site that lists it, as it was given; first, where there are several",
    "always is_url is_repetitive",
)
DERIVED_COLUMNS = (
    _entry("changefreq_text", "changefreq as written, also where it is no such word"),
    _entry("priority_text", "priority as written, also where it is no such number"),
    _entry(
        "has_zone",
        "whether lastmod is written with a time zone; absent where there is no lastmod",
    ),
    _entry("date", "lastmod, else the publication date of news; used by `since`"),
    _entry(
        "language",
        "language of the record: from its own alternates, else from its news",
    ),
    _entry("date_source", "where `date` is taken from: `lastmod` or `news`"),
)
"""Columns that add little to the others, so they are written only if they are chosen."""

SITE_COLUMNS = (SITE_COLUMN, *COLUMNS)
"""Columns of entries of several sites."""
OUTCOME_COLUMNS = tuple(
    Column(name, hint, always=True, is_url=name == "site", is_repetitive=True)
    for name, hint in get_type_hints(SiteOutcome).items()
)
"""The columns of outcomes of sites: their fields."""
ISSUE_COLUMNS = (
    Column("site", str, always=True, is_url=True, is_repetitive=True),
    Column("sitemap", str, always=True, is_url=True, is_repetitive=True),
    Column("line", int | None, always=True),
    Column("dropped", bool, always=True),
    Column(
        "code", str, always=True, is_repetitive=True, get=lambda issue: str(issue.code)
    ),
    Column(
        "severity",
        str,
        always=True,
        is_repetitive=True,
        get=lambda issue: issue.severity.name.lower(),
    ),
    Column("url", str | None, always=True, is_url=True),
    Column("value", str | None, always=True),
    Column("message", str, always=True, is_repetitive=True),
)
"""The columns of Issues: first where each was found, then what it is."""


def has_nothing(values: list[Any]) -> bool:
    """Return whether a column is empty in all records."""
    first = values[0]
    return first in ABSENT and values.count(first) == len(values)


def choose_columns(
    names: Sequence[str] | None,
    *,
    has_sites: bool,
) -> tuple[Column, ...]:
    """Return the columns of these names, in this order; `COLUMNS` for `None`.

    With several sites there is also the column `site`, which comes first for `None`.

    A column that is named is never left out. Raises ValueError for unknown or repeated names.
    """
    if names is None and has_sites:
        return SITE_COLUMNS
    if names is None:
        return COLUMNS
    # the site comes last in the message
    columns = {column.name: column for column in (*COLUMNS, *DERIVED_COLUMNS)}
    if has_sites:
        columns[SITE_COLUMN.name] = SITE_COLUMN
    choices = f"choose from {', '.join(columns)}"
    if not names:
        raise ValueError(f"no field is chosen: {choices}")
    for name in names:
        if name not in columns:
            hint = suggest(name, columns)
            raise ValueError(f"there is no field {name!r}:{hint} {choices}")
    if len(set(names)) < len(names):
        raise ValueError(
            f"a field is named twice: write each field once in {','.join(names)}"
        )
    return tuple(attrs.evolve(columns[name], always=True) for name in names)
