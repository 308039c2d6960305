"""An audit that is cancelled while its database works: it ends at once, and leaves nothing."""

from __future__ import annotations

import asyncio
import tempfile
from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import audit
from sitemapreader.audit.database import AuditDatabase
from tests.support.auditing import HOST, page, urlset

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = "FROM range(1000000000000) AS numbers (n) WHERE n % 7 = 8"
"""Hours of work that find nothing."""
RULE = f"""-- title: Endless
-- severity: info
SELECT n::VARCHAR AS url, '' AS detail, NULL::UINTEGER AS document {ENDLESS}
"""


def list_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("step", "database"),
    [("insert", None), ("list", "kept.duckdb"), ("rule", "kept.duckdb")],
)
async def test_an_audit_that_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, database: str | None
) -> None:
    """The query is interrupted, the audit is cancelled, and its database is deleted."""
    site, rules, temporary = (
        tmp_path / name for name in ("site", "rules", "temporary")
    )
    for folder in (site, rules, temporary):
        folder.mkdir()
    (site / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml")
    (site / "s.xml").write_bytes(urlset(page("/a")))
    (rules / "endless.sql").write_text(RULE)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    loop, works = asyncio.get_running_loop(), asyncio.Event()
    ask = AuditDatabase.ask

    def ask_and_tell(self: AuditDatabase, query: str, **parameters: object) -> object:
        if ENDLESS in query:
            loop.call_soon_threadsafe(works.set)
        return ask(self, query, **parameters)

    def load(self: AuditDatabase, _: object, queries: list[str]) -> None:
        if {"insert": "url_row", "list": "arrived"}.get(step, "none") in queries[0]:
            self.ask(f"SELECT count(*) {ENDLESS}")

    monkeypatch.setattr(AuditDatabase, "ask", ask_and_tell)
    if step != "rule":
        monkeypatch.setattr(AuditDatabase, "load", load)
    task = asyncio.create_task(
        audit(
            site,
            rules=rules,
            select=["endless"],
            urls=[f"{HOST}/b"] if step == "list" else None,
            database=database and tmp_path / database,
        )
    )
    await works.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list_names(tmp_path) == {"site", "rules", "temporary"}
    assert list_names(temporary) == set()
