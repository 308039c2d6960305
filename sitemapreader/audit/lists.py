"""The comparison of two lists of URLs, and its formats."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.counts import count_units
from sitemapreader._types.dates import parse_lastmod
from sitemapreader.audit.database import AuditDatabase, read_queries
from sitemapreader.audit.report import show_text, write_code
from sitemapreader.audit.sources import load_known, load_listed
from sitemapreader.audit.values import SCHEMA, DateChange, ListDifference
from sitemapreader.output import format_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader._types.arguments import FilePath

_QUERIES = read_queries("known")
_LISTS = ("listed_before", "listed_after")
_MAX_IN_MARKDOWN = 100
"""URLs of a kind that Markdown names; the other formats have all."""


def compare_lists(
    before: FilePath,
    after: FilePath,
    *,
    was: FilePath | None = None,
) -> ListDifference:
    """Compare two lists of URLs: tables, texts or sitemaps.

    Args:
        before: the earlier list.
        after: the later one.
        was: a list of URLs that have moved, with columns `old` and `new`.

    Raises:
        ValueError: a file cannot be read, or has no URL.
    """
    with closing(AuditDatabase()) as database:
        for table, path in zip(_LISTS, (before, after), strict=True):
            load_listed(database, path, table)
        if was is not None:
            site = database.ask_value("SELECT any_value(loc) FROM listed_after")
            load_known(database, was, "old", site)
            database.ask(_QUERIES["move_listed"])
        dated = [
            database.ask_value(f"SELECT count(lastmod) FROM {table}")
            for table in _LISTS
        ]
        total = database.ask_value("SELECT count(*) FROM listed_after")
        found = ListDifference(has_dates=all(dated))
        for url, was_listed, is_listed, earlier, later in database.ask(
            _QUERIES["differences"]
        ):
            if not was_listed:
                found.new.append(url)
            elif not is_listed:
                found.unlisted.append(url)
            elif found.has_dates and _is_other_date(earlier, later):
                found.changed.append(DateChange(url=url, before=earlier, after=later))
            if was_listed != is_listed and (date := earlier or later):
                found.dates[url] = date
        found.same = total - len(found.new) - len(found.changed)
        return found


def _is_other_date(earlier: str | None, later: str | None) -> bool:
    """Return whether two dates differ, however they are written."""
    if earlier is None or later is None:
        return True
    moment = parse_lastmod(earlier)
    return moment is None or moment != parse_lastmod(later)


def format_list(name: str, found: ListDifference) -> str:
    """Return the difference of two lists as "text", "markdown", "csv" or "json"."""
    if name == "json":
        content = {"schema": SCHEMA, "urls": attrs.asdict(found)}
        return json.dumps(content, indent=2) + "\n"
    rows = [
        *(("new", url, "", found.dates.get(url, "")) for url in found.new),
        *(("unlisted", url, found.dates.get(url, ""), "") for url in found.unlisted),
        *(
            ("changed", each.url, each.before or "", each.after or "")
            for each in found.changed
        ),
    ]
    if name == "csv":
        names = ("change", "url", "lastmod_before", "lastmod_after")
        return format_table(names, rows)
    if name == "markdown":
        return _write_markdown(found, rows)
    lines = [_show_row(row, show_text, f"{row[0]:<8}  ") for row in rows]
    return "\n".join([*lines, "", _count(found)] if lines else [_count(found)]) + "\n"


def _write_markdown(
    found: ListDifference, rows: list[tuple[str, str, str, str]]
) -> str:
    lines = [f"{_count(found)}."]
    for word in ("new", "unlisted", "changed"):
        named = [row for row in rows if row[0] == word]
        if not named:
            continue
        lines += ["", f"## {word.capitalize()}", ""]
        lines += [_show_row(row, write_code, "- ") for row in named[:_MAX_IN_MARKDOWN]]
        if len(named) > _MAX_IN_MARKDOWN:
            lines.append(f"- and {len(named) - _MAX_IN_MARKDOWN:,} more")
    return "\n".join(lines) + "\n"


def _show_row(
    row: tuple[str, str, str, str],
    show: Callable[[str], str],
    start: str,
) -> str:
    word, url, earlier, later = row
    line = f"{start}{show(url)}"
    if word != "changed":
        return line
    dates = " -> ".join(show(date) if date else "none" for date in (earlier, later))
    return f"{line} ({dates})"


def _count(found: ListDifference) -> str:
    """Return the numbers in a line: "1 new, 2 unlisted, 3 changed, 4 the same"."""
    changed = f"{len(found.changed):,} changed"
    if not found.has_dates:
        changed = "no dates to compare"
    return (
        f"{count_units(len(found.new), 'URLs')} new, {len(found.unlisted):,} unlisted, "
        f"{changed}, {found.same:,} the same"
    )
