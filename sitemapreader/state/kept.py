"""Answers that are kept for a day: robots.txt, start pages, guesses that fail."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

from sitemapreader.fetch.local import StoredResponse

if TYPE_CHECKING:
    import sqlite3

    from sitemapreader.state.rows import Run

_KEPT_SECONDS = 24 * 3600
"""How long a robots.txt may be used (RFC 9309, section 2.4)."""
_ERROR, _ABSENT = 400, 404
_HEADERS = ("content-type", "link")


def make_refusal(url: str, status: int | None) -> StoredResponse:
    """Return that nothing is at a URL, whatever page the server sent in its place."""
    return StoredResponse(url, status=status if status and status >= _ERROR else _ABSENT)


def save_kept(
    db: sqlite3.Connection, run: Run, url: str, now: float, answer: StoredResponse
) -> None:
    """Keep an answer of this run, in a transaction."""
    headers = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
    body = zlib.compress(answer.body)
    asked = (run.site, url, run.stamp, int(now))
    values = (*asked, answer.status, answer.url, json.dumps(headers), body)
    db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)


def load_kept(
    db: sqlite3.Connection, run: Run, url: str, now: float
) -> tuple[StoredResponse, int] | None:
    """Return an answer of the last day, and its run.

    `None` for a URL that the state knows as a document: the schedule says when to ask for it.
    """
    row = db.execute(
        "SELECT * FROM kept WHERE site = :site AND url = :url"
        " AND NOT EXISTS (SELECT 1 FROM document WHERE site = :site AND url = :url)",
        {"site": run.site, "url": url},
    ).fetchone()
    if row is None or not 0 <= now - row[3] < _KEPT_SECONDS:
        return None
    _, _, asked, _, status, final_url, headers, body = row
    answer = StoredResponse(final_url, zlib.decompress(body), status, json.loads(headers), tries=0)
    return answer, asked
