"""advertools: `sitemap_to_df`, which takes only URLs, so it reads a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advertools import sitemap_to_df

from adapters import collect_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import Collected, Document, Found


def read(document: Document) -> int:
    """Make a data frame, one row a record."""
    return len(sitemap_to_df(document.path.as_uri(), recursive=False))


def walk(url: str, found: Found) -> None:
    """Make one data frame of all."""
    found(len(sitemap_to_df(url, max_workers=10)["loc"].dropna()))


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List the URLs of each sitemap."""
    return collect_each(urls, _collect)


def _collect(url: str, found: list[str]) -> None:
    frame = sitemap_to_df(url)
    if "loc" in frame:
        found.extend(map(str, frame["loc"].dropna()))
