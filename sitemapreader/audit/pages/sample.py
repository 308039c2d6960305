"""The choice of the pages that an audit visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.database import read_queries

if TYPE_CHECKING:
    from sitemapreader.audit.database import AuditDatabase

_QUERIES = read_queries("sample")
_TABLES = {"listed": "url", "old": "(SELECT rowid AS id, * FROM old)"}


def draw_sample(
    database: AuditDatabase, number: int | None, seed: int = 0, kind: str = "listed"
) -> int:
    """Fill the table `sample` with pages to visit; return how many there are.

    They stand in their turn. Any prefix of the turns is a sample as well, so that visits may end at
    any time.

    Args:
        database: with the URLs of the walk.
        number: how many pages; all of them if the site has no more, or it is `None`.
        seed: another one gives another sample.
        kind: "listed" pages, or "old" ones.
    """
    is_old = kind == "old"
    database.ask("DELETE FROM sample WHERE is_old = $is_old", is_old=is_old)
    if number != 0:
        draw = _QUERIES["draw"].format(_QUERIES[kind], _TABLES[kind])
        most = 2**31 - 1 if number is None else number
        database.ask(draw, number=most, seed=str(seed), is_old=is_old)
    counted = database.ask("SELECT count(*) FROM sample WHERE is_old = $is_old", is_old=is_old)
    return int(counted[0][0])
