"""trafilatura: its `SitemapObject`, from memory and with its own downloads.

`sitemap_search` takes no address that does not end in `.xml`, `.gz` or `sitemap`; the loop here is
its own, without that and without its pauses.
"""

from __future__ import annotations

import gzip
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trafilatura.sitemaps import SitemapObject

from adapters import collect_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import Collected, Document, Found

URL = "https://www.example.com/sitemap.xml"


def read(document: Document) -> int:
    """Keep the links of pages and of sitemaps."""
    data = gzip.decompress(document.data) if document.kind == "gzip" else document.data
    sitemap = _start(URL)
    sitemap.current_url = sitemap.sitemap_urls.pop().replace(
        ".xml", ".txt" if document.kind == "text" else ".xml"
    )
    sitemap.content = data.decode()
    sitemap.process()
    return len(sitemap.urls) + len(sitemap.sitemap_urls)


def walk(url: str, found: Found) -> None:
    """Read an index and its children."""
    found(len(_search(url).urls))


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List what each sitemap holds."""
    return collect_each(urls, lambda url, found: found.extend(_search(url).urls))


def _search(url: str) -> Any:
    sitemap = _start(url)
    _lead_home(urlsplit(url).hostname or "")
    while sitemap.sitemap_urls:
        sitemap.current_url = sitemap.sitemap_urls.pop()
        sitemap.fetch()
        sitemap.process()
        sitemap.sitemap_urls = [u for u in sitemap.sitemap_urls if u not in sitemap.seen]
    return sitemap


def _start(url: str) -> Any:
    parts = urlsplit(url)
    return SitemapObject(f"{parts.scheme}://{parts.netloc}", "example.com", [url], external=True)


def _lead_home(host: str) -> None:
    """Have a name stand for this machine: it drops all URLs whose host has no public suffix."""
    resolve = socket.getaddrinfo

    def answer(name: Any, *rest: Any, **more: Any) -> Any:
        return resolve("127.0.0.1" if name == host else name, *rest, **more)

    # the arguments are passed on as they come
    socket.getaddrinfo = answer  # type: ignore[assignment]
