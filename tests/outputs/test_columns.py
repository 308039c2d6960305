"""The schema: one table, complete, and its documentation is made from it."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import attrs

from sitemapreader import UrlEntry
from sitemapreader._columns import COLUMNS, DERIVED_COLUMNS, SCHEMA_VERSION
from tests.support import package

DOCUMENT = package.ROOT / "docs" / "columns.md"
WORDS = {
    str: "text",
    float: "number",
    int: "number",
    bool: "yes or no",
    datetime: "moment",
}


def parts(kind: Any) -> list[Any]:
    return [part for part in get_args(kind) if part not in {NoneType, Ellipsis}]


def in_words(kind: Any) -> str:
    """Name a type as the documentation does."""
    if get_origin(kind) is dict:
        return "names with their text"
    if get_origin(kind) is tuple:
        return f"list of {in_words(parts(kind)[0])}"
    if parts(kind):
        return in_words(parts(kind)[0])
    return WORDS.get(kind) or f"[{kind.__name__}](#objects)"


def classes(kind: Any, around: Any = None) -> list[Any]:
    """List the classes that a type is made of, and those that these are made of."""
    if parts(kind):
        return classes(parts(kind)[0], around)
    if kind in WORDS or kind is around:
        return []
    return [
        kind,
        *(c for hint in get_type_hints(kind).values() for c in classes(hint, kind)),
    ]


def describe_version() -> str:
    return f"This is version {SCHEMA_VERSION}."


def describe_columns() -> str:
    """Write the table of columns, and one with a row for each class in them."""
    lines = ["| column | type | in JSON lines | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{column.name}` | {in_words(column.type)} | "
        f"{'always' if column.always else 'if present'} | {column.meaning} |"
        for column in COLUMNS
    ]
    lines += ["", "## Objects", "", "Fields without a type are text.", ""]
    lines += ["| object | fields, in this order |", "|---|---|"]
    for kind in dict.fromkeys(c for column in COLUMNS for c in classes(column.type)):
        words = {name: in_words(hint) for name, hint in get_type_hints(kind).items()}
        fields = [
            f"`{n}`" + (f" ({t})" if t != "text" else "") for n, t in words.items()
        ]
        lines.append(f"| {kind.__name__} | {', '.join(fields)} |")
    return "\n".join(lines)


def describe_derived() -> str:
    """Write the table of the columns that follow from others."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    lines += [
        f"| `{c.name}` | {in_words(c.type)} | {c.meaning} |" for c in DERIVED_COLUMNS
    ]
    return "\n".join(lines)


def test_every_field_is_a_column() -> None:
    """What an entry has, each output has: a new field of `UrlEntry` needs its row in a table."""
    fields = {field.name for field in attrs.fields(UrlEntry)}
    always = {column.name for column in COLUMNS}
    on_request = {column.name for column in DERIVED_COLUMNS}
    assert always <= fields <= always | on_request


def test_the_documentation_is_made_from_the_table(*, regenerate: bool) -> None:
    """docs/columns.md has the version, every column and every field, with their types."""
    text = DOCUMENT.read_text(encoding="utf-8")
    made = text
    parts_of_it = (
        ("version", describe_version()),
        ("columns", describe_columns()),
        ("derived", describe_derived()),
    )
    for mark, content in parts_of_it:
        start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
        before, _, rest = made.partition(start)
        made = f"{before}{start}\n{content}\n{end}{rest.partition(end)[2]}"
    if regenerate:
        DOCUMENT.write_text(made, encoding="utf-8")
    else:
        assert text == made
