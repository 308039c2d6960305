"""trafilatura: its `SitemapObject`.

Its downloads connect to no address that is not public, and it takes no URL whose host has no public
suffix. So the documents are fetched for it and decoded by its own function, and are said to lie on
a host that has one. The loop is that of its `sitemap_search`, without the pauses.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from trafilatura.sitemaps import SitemapObject
from trafilatura.utils import decode_file

from adapters import collect_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import Collected, Document

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


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List the URLs of each sitemap."""
    return collect_each(urls, lambda url, found: found.extend(_search(url)))


def _search(url: str) -> list[str]:
    sitemap = _start(url)
    while sitemap.sitemap_urls:
        sitemap.current_url = sitemap.sitemap_urls.pop()
        sitemap.content = _fetch(sitemap.current_url)
        sitemap.seen.add(sitemap.current_url)
        sitemap.process()
        sitemap.sitemap_urls = [
            u for u in sitemap.sitemap_urls if u not in sitemap.seen
        ]
    return [str(url) for url in sitemap.urls]


def _fetch(url: str) -> str:
    """Fetch documents from this machine instead, decoded as trafilatura does."""
    port = urlsplit(url).port
    try:
        with urlopen(f"http://127.0.0.1:{port}{urlsplit(url).path}") as response:
            return str(decode_file(response.read()))
    except HTTPError:
        return ""


def _start(url: str) -> Any:
    parts = urlsplit(url)
    return SitemapObject(
        f"{parts.scheme}://{parts.netloc}", "example.com", [url], external=True
    )
