"""ultimate-sitemap-parser: `sitemap_from_str`, and a tree over the network.

On the network it wants a homepage with a robots.txt beside it; so there is one beside each sitemap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.objects.sitemap import AbstractIndexSitemap
from usp.tree import sitemap_from_str, sitemap_tree_for_homepage

from adapters import collect_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import Collected, Document, Found


def read(document: Document) -> int:
    """Keep the pages; of an index, its children."""
    sitemap = sitemap_from_str(document.data.decode())
    if isinstance(sitemap, AbstractIndexSitemap):
        return len(sitemap.sub_sitemaps)
    return len(list(sitemap.all_pages()))


def walk(url: str, found: Found) -> None:
    """Read the tree and then its pages, which it has put in files."""
    for _ in _pages(url):
        found(1)


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List the URLs of each sitemap."""
    return collect_each(urls, lambda url, found: found.extend(_pages(url)))


def _pages(url: str) -> Iterator[str]:
    tree = sitemap_tree_for_homepage(
        url.rpartition("/")[0], use_known_paths=False, normalize_homepage_url=False
    )
    return (page.url for page in tree.all_pages())
