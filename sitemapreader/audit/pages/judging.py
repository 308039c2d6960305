"""What visits say together, and whether they say enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.database import read_queries
from sitemapreader.audit.models import MAX_OLD_FOLDERS, OldFolder, PageTally

if TYPE_CHECKING:
    from sitemapreader.audit.database import AuditDatabase

_QUERIES = read_queries("pages")


def judge_pages(database: AuditDatabase) -> None:
    """Find what visits say together: gates, silent hosts, faults and fates."""
    for name in (
        *("join_sample", "add_crawled", "join_listed", "mark_gates", "mark_languages"),
        *("mark_refused", "mark_network", "distrust_probes", "find_soft_errors", "find_faults"),
        *("find_fates", "forget_alike"),
    ):
        database.ask(_QUERIES[name])


def describe_doubt(database: AuditDatabase, kind: str = "listed") -> str:
    """Return why the rules about pages cannot be run, or "" if half could be judged."""
    tally = count_pages(database, kind)
    if tally is None or 2 * tally.judged >= tally.visited:
        return ""
    said = ", ".join(f"{reason} {count}" for reason, count in tally.not_judged.items())
    return f"only {tally.judged} of {tally.visited} pages could be judged ({said})"


def count_pages(database: AuditDatabase, kind: str = "listed") -> PageTally | None:
    """Return how many "listed" or "old" pages were visited; `None` if none was."""
    query = _QUERIES["tally"].format(f"is_{kind}")
    visited, judged, reasons = database.ask(query)[0]
    if not visited:
        return None
    (total,) = database.ask(_QUERIES[kind])[0]
    return PageTally(int(total), visited, judged, reasons or {}, exact=judged == total)


def count_compared(database: AuditDatabase) -> int:
    """Return how many pages have a text in this audit and in the earlier one."""
    return int(database.ask(_QUERIES["compared"])[0][0])


def count_fates(database: AuditDatabase) -> tuple[OldFolder, ...]:
    """Return what became of the pages in each folder of the old site."""
    rows = database.ask(_QUERIES["fates"], limit=MAX_OLD_FOLDERS)
    return tuple(OldFolder(*row) for row in rows)
