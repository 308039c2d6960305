"""What visits say together, and whether they say enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.database import read_queries
from sitemapreader.audit.models import PageTally

if TYPE_CHECKING:
    from sitemapreader.audit.database import AuditDatabase

_QUERIES = read_queries("pages")


def judge_pages(database: AuditDatabase) -> None:
    """Find what visits say together: gates, hosts that hardly answer, and faults."""
    for name in (
        *("add_crawled", "join_sample", "join_listed", "mark_gates", "mark_languages"),
        *("mark_refused", "mark_network", "distrust_probes", "find_faults"),
    ):
        database.ask(_QUERIES[name])


def describe_doubt(database: AuditDatabase) -> str:
    """Return why the rules about pages cannot be run, or "" if half could be judged."""
    tally = count_pages(database)
    if tally is None or 2 * tally.judged >= tally.visited:
        return ""
    said = ", ".join(f"{reason} {count}" for reason, count in tally.not_judged.items())
    return f"only {tally.judged} of {tally.visited} pages could be judged ({said})"


def count_pages(database: AuditDatabase) -> PageTally | None:
    """Return how many pages were visited; `None` if none was."""
    visited, judged, reasons = database.ask(_QUERIES["tally"])[0]
    if not visited:
        return None
    (listed,) = database.ask(_QUERIES["listed"])[0]
    return PageTally(int(listed), visited, judged, reasons or {}, exact=judged == listed)
