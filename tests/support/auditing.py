"""Audits of small sites in memory: documents in, the hits of one rule out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit import database
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from tests.support import walking

if TYPE_CHECKING:
    import pytest

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOST = "https://www.shop.example"
XML = {"content-type": "application/xml", "etag": '"1"'}
_NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
Pages = Mapping[str, "bytes | StoredResponse"]


@attrs.define
class TimedResponse(StoredResponse):
    """A response of a server that took its time."""

    wait_seconds: float = 0.0


def page(loc: str, lastmod: str = "", more: str = "") -> str:
    """Write one record; a loc without a host is one of the site."""
    loc = loc if loc.startswith("http") else HOST + loc
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"<url><loc>{loc}</loc>{date}{more}</url>"


def pages(number: int, lastmod: str = "", more: str = "", folder: str = "/") -> str:
    """Write some records; `{}` in a lastmod is a number that differs."""
    return "".join(
        page(f"{folder}{n}", lastmod.format(1 + n % 28), more)
        for n in range(1, number + 1)
    )


def urlset(records: str) -> bytes:
    """Write a sitemap."""
    return f"<urlset {_NAMESPACES}>{records}</urlset>".encode()


def index(*children: str | tuple[str, str]) -> bytes:
    """Write an index of sitemaps, each with its lastmod or without."""
    named = ((child, "") if isinstance(child, str) else child for child in children)
    return walking.index(*((HOST + name, date) for name, date in named))


def image(loc: str, more: str = "") -> str:
    """Write an image."""
    return f"<image:image><image:loc>{loc}</image:loc>{more}</image:image>"


def link(hreflang: str, href: str) -> str:
    """Write a link to another language."""
    href = href if href.startswith("http") else HOST + href
    return f'<xhtml:link rel="alternate" hreflang="{hreflang}" href="{href}"/>'


def news(**fields: str) -> str:
    """Write the news of a record; a field that is empty is left out."""
    values = {"name": "The Shop", "language": "en", "publication_date": "2026-11-22"}
    values |= {"title": "Boots", **fields}
    parts = {
        name: f"<news:{name}>{v}</news:{name}>" if v else ""
        for name, v in values.items()
    }
    publication = (
        f"<news:publication>{parts['name']}{parts['language']}</news:publication>"
    )
    return f"<news:news>{publication}{parts['publication_date']}{parts['title']}</news:news>"


def video(**fields: str) -> str:
    """Write a video; a field that is empty is left out."""
    values = {
        "thumbnail_loc": f"{HOST}/t.jpg",
        "title": "Boots",
        "description": "How to lace them",
    }
    values |= {"content_loc": f"{HOST}/v.mp4", **fields}
    parts = [f"<video:{name}>{v}</video:{name}>" for name, v in values.items() if v]
    return f"<video:video>{''.join(parts)}</video:video>"


def served(body: bytes, **headers: str) -> StoredResponse:
    """Make the answer of a server, with the headers that it should have and these."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = {name: value for name, value in (XML | named).items() if value}
    return StoredResponse("", body, headers=kept)


@attrs.frozen
class AuditedSite:
    """A site in memory, and how it is audited.

    Attributes:
        documents: path, or URL, -> its content, or what a fetcher raises.
        known: known URLs, if there is a list.
        sitemap: path of a sitemap that is given instead of the site.
        is_http: whether it is judged as one that came from a server.
        figures: other figures of the rules.
    """

    documents: Mapping[str, Any]
    known: tuple[str, ...] | None = None
    sitemap: str = ""
    is_http: bool = True
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    def make_fetcher(self) -> MemoryFetcher:
        """Return what serves the documents."""
        served_pages: dict[str, bytes | StoredResponse | Exception] = {}
        for name, content in self.documents.items():
            url = name if name.startswith("http") else HOST + name
            if isinstance(content, Exception):
                served_pages[url] = content
                continue
            answer = (
                StoredResponse(url, content, headers=XML)
                if isinstance(content, bytes)
                else content
            )
            served_pages[url] = attrs.evolve(answer, url=answer.url or url)
        return MemoryFetcher(served_pages)


def site(records: str, robots: str = "", **more: Any) -> AuditedSite:
    """Make a site of one sitemap, which its robots.txt names."""
    options = {
        name: more.pop(name) for name in ("known", "is_http", "figures") if name in more
    }
    documents = {
        "/robots.txt": f"{robots}\nSitemap: {HOST}/s.xml".encode(),
        "/s.xml": urlset(records),
    }
    return AuditedSite(documents | more.pop("documents", {}), **options)


def sitemaps(root: bytes, **documents: bytes) -> AuditedSite:
    """Make a site with an index and its children: `a=...` is /a.xml."""
    children = {f"/{name}.xml": body for name, body in documents.items()}
    robots = f"Sitemap: {HOST}/index.xml".encode()
    return AuditedSite({"/robots.txt": robots, "/index.xml": root, **children})


def limit_memory(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the database of an audit have 2 MB, and so many times that if it needs more."""
    monkeypatch.setitem(database.SAFE, "memory_limit", "2MB")
    monkeypatch.setattr("sitemapreader.audit.database.MEMORY_MB", 2)
    monkeypatch.setattr("sitemapreader.audit.database._MOST_MEMORY", times)
