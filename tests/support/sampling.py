"""Sites of many pages in the database of an audit, and what samples of them say."""

from __future__ import annotations

import random
from contextlib import closing
from typing import TYPE_CHECKING

from sitemapreader.audit.database import AuditDatabase
from sitemapreader.audit.models import estimate_rate
from sitemapreader.audit.visits import draw_sample

if TYPE_CHECKING:
    from collections.abc import Sequence


def fill(sizes: Sequence[int], *, extra: int = 0) -> AuditDatabase:
    """Return a database with a sitemap of each size, and some more URLs in the last one."""
    database = AuditDatabase()
    first = 0
    for number, size in enumerate(sizes):
        more = extra if number == len(sizes) - 1 else 0
        database.ask(
            "INSERT INTO document BY NAME"
            " SELECT $id AS id, 'https://e.example/' || $id || '.xml' AS url, $id AS rank",
            id=number,
        )
        database.ask(
            "INSERT INTO url_row BY NAME SELECT $first + i AS id, $document AS document,"
            " i AS position, 'https://e.example/folder-' || i % 3 || '/' || ($first + i) AS loc,"
            " true AS is_simple FROM range(0, $size) t(i)",
            first=first,
            document=number,
            size=size + more,
        )
        first += size + more
    return database


def choose_bad(sizes: Sequence[int], share: float, *, where: str) -> set[int]:
    """Return the pages that a rule hits, spread over the site or in its first sitemap."""
    total = sum(sizes)
    pool = range(sizes[0]) if where == "first" else range(total)
    return set(random.Random(9).sample(pool, k=min(len(pool), max(1, round(share * total)))))


def measure_coverage(sizes: Sequence[int], bad: set[int], number: int, draws: int) -> float:
    """Return the share of samples whose interval holds the true rate."""
    truth, held = len(bad) / sum(sizes), 0
    with closing(fill(sizes)) as database:
        for seed in range(draws):
            draw_sample(database, number, seed)
            rows = database.ask("SELECT size, list(url) FROM sample GROUP BY stratum, size")
            rate = estimate_rate(
                (size, len(urls), sum(url in bad for url in urls)) for size, urls in rows
            )
            held += rate is not None and rate.low - 1e-9 <= truth <= rate.high + 1e-9
    return held / draws
