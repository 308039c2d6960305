"""The robots.txt of each origin whose URLs an audit judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.documents.download import is_absent
from sitemapreader.errors import FetchError
from sitemapreader.fetch.body import read_body
from sitemapreader.options import ROBOTS_MAX_BYTES
from sitemapreader.outcomes import Role, Status
from sitemapreader.readers.robots.parser import parse_robots
from sitemapreader.readers.robots.rules import Robots
from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.fetch import Fetcher
    from sitemapreader.walker.walk import Walk

MAX_FETCHED = 20
"""Origins whose robots.txt is fetched besides those of the walk: the ones with most URLs."""
_ORIGINS = """
SELECT origin FROM (
    SELECT scheme || '://' || host AS origin FROM url
    UNION ALL
    SELECT regexp_extract(lower(loc), '^https?://[^/?#@]+') FROM image
) WHERE origin <> '' GROUP BY origin ORDER BY count(*) DESC, origin LIMIT $limit
"""


def list_known_robots(walk: Walk, *, is_http: bool) -> dict[str, Robots]:
    """Return what a walk knows: origin -> its robots.txt, if it was read to its end.

    A server without one allows everything; a folder without one says nothing about the site.
    """
    known = {}
    for document in walk.report.documents:
        if document.role is Role.ROBOTS and (is_http or document.status is Status.COMPLETE):
            robots = walk.robots_of(document.url)
            if robots is not None and robots.complete:
                known[origin_of(document.url)] = robots
    return known


async def fetch_robots(
    database: AuditDatabase, fetcher: Fetcher, known: dict[str, Robots]
) -> dict[str, Robots]:
    """Return the robots.txt of other origins with URLs or images, unless it fails."""
    fetched: dict[str, Robots] = {}
    for (origin,) in database.ask(_ORIGINS, limit=MAX_FETCHED + len(known)):
        if origin not in known and len(fetched) < MAX_FETCHED:
            robots = await _fetch(f"{origin}/robots.txt", fetcher)
            if robots is not None:
                fetched[origin] = robots
    return fetched


async def _fetch(url: str, fetcher: Fetcher) -> Robots | None:
    """Return a robots.txt, empty where there is none; `None` if that is unknown."""
    try:
        async with fetcher.open(url) as response:
            body = await read_body(response, 2 * ROBOTS_MAX_BYTES)
            return parse_robots(body, response.url)
    except FetchError as error:
        return Robots(url) if is_absent(error) else None
