"""An audit compares the texts of pages with those of an earlier one: which dates are false?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from sitemapreader.audit import audit
from sitemapreader.audit.models import AuditInputError
from tests.audit.page_audits import WORDS, build, hits, judge, list_pages, page, publish
from tests.support.serving import serve_pages

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_newer_date_of_the_same_text_is_false(tmp_path: Path) -> None:
    """Text that is the same since an earlier audit, with a newer lastmod, has a false date."""
    text = f"{WORDS} of its own"
    texts = {
        "same": text,
        "form": f"{text} form",
        "new": f"{text} new",
        "old": f"{text} old",
    }
    texts |= {"alike": WORDS, "alike-too": WORDS}
    answers: dict[str, Any] = {path: page(text=each) for path, each in texts.items()}
    answers["empty"] = "<!doctype html><title>T</title><body><script>fill()</script>"
    async with serve_pages(**answers) as server:
        publish(server, **dict.fromkeys(answers, "2026-01-05"))
        with await judge(server.base, database=tmp_path / "last.duckdb") as result:
            assert "lastmod-false" not in hits(result)
            assert result.facts.compared_pages is None
        server.pages["/new"] = page(text="another text")
        server.pages["/form"] = page(
            "<meta name=nonce content=1>", f"{text}  form <!-- 2 -->"
        )
        newer = dict.fromkeys(answers, "2026-02-01T10:00:00Z")
        publish(server, **newer | {"old": "2026-01-05T23:00:00Z"})
        earlier = tmp_path / "last.duckdb"
        with await judge(server.base, since_audit=earlier) as result:
            assert hits(result)["lastmod-false"] == [
                ("form", "2026-02-01, with the text of 2026-01-05"),
                ("same", "2026-02-01, with the text of 2026-01-05"),
            ]
            assert result.facts.compared_pages == 4
            assert "4 texts compared with an earlier audit" in result.format("text")
            assert "The texts of 4 pages were compared" in result.format("html")


async def test_the_texts_of_a_built_folder_are_compared(tmp_path: Path) -> None:
    """A folder's audit that keeps its database keeps the texts; the next one compares them."""
    base, earlier = "https://example.org/", tmp_path / "last.duckdb"
    texts = {"a.html": page(text=f"{WORDS} a"), "b.html": page(text=f"{WORDS} b")}
    site = build(tmp_path / "public", **texts)
    for date, database in (("2026-01-05", earlier), ("2026-01-06", None)):
        build(site, **{"sitemap.xml": list_pages(base, a=date, b="2026-01-05")})
        since = None if database else earlier
        with await judge(site, None, database=database, since_audit=since) as result:
            expected = (
                [] if database else [("a", "2026-01-06, with the text of 2026-01-05")]
            )
            assert hits(result).get("lastmod-false", []) == expected
            if since:  # nobody holds it any more
                duckdb.connect(str(since)).close()


@pytest.mark.parametrize("content", [None, b"no database", "foreign", "cut"])
async def test_an_earlier_audit_that_is_none(
    tmp_path: Path, content: bytes | str | None
) -> None:
    """What is no database of an audit is refused before a request, and left as it is."""
    path = tmp_path / "it's last.duckdb"
    if content == "foreign":
        with duckdb.connect(str(path)) as foreign:
            foreign.execute("CREATE TABLE page (key VARCHAR)")
    elif content == "cut":
        site = build(
            tmp_path / "site", **{"sitemap.xml": list_pages("https://a.example/", "a")}
        )
        (await judge(site, database=path)).close()
        path.write_bytes(path.read_bytes()[:20_000])
    elif isinstance(content, bytes):
        path.write_bytes(content)
    before = path.read_bytes() if path.exists() else None
    async with serve_pages() as server:
        with pytest.raises(AuditInputError, match="not a readable audit database"):
            await audit(server.base, since_audit=path)
        assert not server.times
    assert (path.read_bytes() if path.exists() else None) == before


async def test_the_earlier_audit_is_not_overwritten(tmp_path: Path) -> None:
    """One file as the earlier audit and as the new database is refused, by any name of it."""
    path = tmp_path / "last.duckdb"
    site = build(
        tmp_path / "site", **{"sitemap.xml": list_pages("https://a.example/", "a")}
    )
    (await judge(site, None, database=path)).close()
    before = path.read_bytes()
    with pytest.raises(AuditInputError, match="the new `database`: rename one"):
        await judge(
            site, None, database=path, since_audit=tmp_path / "site" / ".." / path.name
        )
    assert path.read_bytes() == before
