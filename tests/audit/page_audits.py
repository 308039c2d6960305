"""Sites whose pages are visited, live or as built folders, and what an audit says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from sitemapreader._types.options import FetchOptions
from sitemapreader.audit import AuditOptions, audit
from tests.support.grouping import grouped
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.audit import Audit, Finding
    from tests.support.serving import Site

WORDS = " ".join(f"word{number}" for number in range(40))
OPTIONS = FetchOptions(max_attempts=1, host_pause_seconds=0.05)
FIGURES = AuditOptions(slow_page_seconds=1, page_seconds=60)


def page(head: str = "", text: str = WORDS) -> str:
    """Write a page with some text."""
    return f"<!doctype html><title>T</title>{head}<body><main><p>{text}</main>"


def list_pages(base: str, *paths: str, **lastmods: str) -> str:
    """Write a sitemap of some paths."""
    dated = ((base + path, date) for path, date in lastmods.items())
    return urlset(*(base + path for path in paths), *dated).decode()


def publish(server: Site, *paths: str, robots: str = "", **lastmods: str) -> None:
    """Serve a sitemap with some pages, and the robots.txt that names it."""
    sitemap = list_pages(server.base, *paths, **lastmods)
    server.pages["/sitemap.xml"] = lambda _: web.Response(
        text=sitemap, content_type="application/xml"
    )
    named = f"{robots}\nSitemap: {server.base}sitemap.xml\n"
    server.pages["/robots.txt"] = lambda _: web.Response(text=named)


def fix_name(server: Site) -> dict[str, Any]:
    """Let a server have a name of its own, so that samples do not depend on its port.

    Returns the arguments by which an audit finds it there.
    """
    there, server.base = server.base, "http://www.shop.example/"
    return {"map_hosts": {server.base.rstrip("/"): there.rstrip("/")}}


async def judge(source: str | Path, pages: Any = "all", **arguments: Any) -> Audit:
    """Audit the pages of a site."""
    found = {
        "options": OPTIONS,
        "figures": FIGURES,
        "select": ["pages", "lastmod-false"],
    }
    return await audit(source, pages=pages, **grouped({**found, **arguments}))


def hits(result: Audit) -> dict[str, list[tuple[str, str]]]:
    """Return path and detail of each hit, by the code of its rule."""
    return {
        each.rule.code: sorted(
            (hit.url.partition("//")[2].partition("/")[2], hit.detail)
            for hit in each.examples
        )
        for each in result.findings
    }


def finding_of(result: Audit, code: str) -> Finding:
    """Return the finding of a rule."""
    return next(finding for finding in result.findings if finding.rule.code == code)


def build(folder: Path, **texts: str) -> Path:
    """Write the files of a folder."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
