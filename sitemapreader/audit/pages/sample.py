"""The choice of the pages that an audit visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.database import read_queries

if TYPE_CHECKING:
    from sitemapreader.audit.database import AuditDatabase


def draw_sample(database: AuditDatabase, number: int, seed: int = 0) -> int:
    """Fill the table `sample` with pages to visit; return how many there are.

    They stand in their turn. Any prefix of the turns is a sample as well, so that visits may end at
    any time.

    Args:
        database: with the URLs of the walk.
        number: how many pages, at least 1; all of them if the site has no more.
        seed: another one gives another sample.
    """
    database.ask("DELETE FROM sample")
    database.ask(read_queries("sample")["draw"], number=number, seed=str(seed))
    return int(database.ask("SELECT count(*) FROM sample")[0][0])
