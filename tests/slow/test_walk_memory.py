"""The memory of a walk does not grow with the number of its URLs."""

from __future__ import annotations

import gzip
import tracemalloc

from sitemapreader import walk
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.walking import index, urlset

BODY = gzip.compress(urlset(*(f"https://example.org/page/{n}" for n in range(700))))


async def peak_of(documents: int) -> int:
    """Walk over so many documents; return the most bytes that were in use besides the site's."""
    children = [f"https://example.org/{n}.xml.gz" for n in range(documents)]
    fetcher = MemoryFetcher(dict.fromkeys(children, BODY))
    fetcher.pages = {**fetcher.pages, "https://example.org/i.xml": index(*children)}
    count = 0
    tracemalloc.start()
    try:
        async with walk(
            sitemaps=["https://example.org/i.xml"], fetcher=fetcher
        ) as entries:
            async for _ in entries:
                count += 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == documents * 700
    assert entries.report.complete
    return peak


async def test_ten_times_the_urls() -> None:
    """A walk over ten times the documents takes some KB more for each, but nothing for URLs."""
    await peak_of(1)  # what is imported and cached once
    few, many = await peak_of(10), await peak_of(100)
    assert many < 7_000_000
    assert many - few < 1_500_000  # 63,000 entries more would take ten times that
