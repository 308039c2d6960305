"""All hits of an audit as a file - Parquet, CSV or JSON lines - in bounded memory."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sitemapreader.audit.formats import find_hits_suffix
from sitemapreader.output import open_output
from sitemapreader.output.columns import Column

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from sitemapreader.audit.database.connection import AuditDatabase

_ROWS_AT_ONCE = 20_000


def _text_at(place: int) -> Callable[[Any], Any]:
    get = itemgetter(place)
    return lambda row: get(row) or ""


COLUMNS = tuple(
    Column(
        name,
        str | None,
        always=True,
        is_url=name in {"url", "document"},
        is_repetitive=name != "url",
        get=_text_at(place),
    )
    for place, name in enumerate(("code", "url", "detail", "document"))
)


def write_hits(path: str | os.PathLike[str], database: AuditDatabase, codes: Iterable[str]) -> int:
    """Write the hits of rules, and return how many there are; raise OSError.

    Args:
        path: of the file; its suffix names the format.
        database: after the rules have run.
        codes: of rules that were run.
    """
    find_hits_suffix(path)
    number = 0
    with open_output(path, columns=COLUMNS) as output:
        for code in codes:
            rows = database.connection.execute(*database.hit_queries[code])
            while batch := rows.fetchmany(_ROWS_AT_ONCE):
                output.write_records(batch)
                number += len(batch)
    return number
