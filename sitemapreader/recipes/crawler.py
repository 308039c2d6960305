"""A whole crawler on asyncio: the pages of a site, as its sitemaps list them.

```python
async def visit(page):
    print(page.url, len(page.body), page.entry.lastmod)

async def miss(entry, error):
    print(entry.loc, error.code)

report = await crawl("https://www.example.org/", visit, miss)
```
Copy it and change it. But keep a fetcher that checks addresses, as HttpFetcher does: strangers list
these pages, and a name may resolve to your own network.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs

from sitemapreader import (
    FetchError,
    FetchOptions,
    HttpFetcher,
    walk,
)
from sitemapreader.fetch import read_body
from sitemapreader.pages import PageRobots

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sitemapreader import Report, UrlEntry

MAX_PAGE_BYTES = 10 * 1024 * 1024
"""Size of a page, decompressed; a larger one is missed."""


@attrs.frozen(eq=False)
class Page:
    """A page that was fetched.

    Attributes:
        entry: its entry in the sitemap.
        url: its URL, after redirects.
        headers: the headers of the response, by lower-case name.
        body: the body, decompressed.
    """

    entry: UrlEntry
    url: str
    headers: Mapping[str, str]
    body: bytes


async def crawl(
    site: str,
    visit: Callable[[Page], Awaitable[None]],
    miss: Callable[[UrlEntry, FetchError], Awaitable[None]],
    *,
    workers: int = 8,
    options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
) -> Report:
    """Fetch every page of a site once; call `visit` for each, `miss` for failures.

    Pages and sitemaps share one fetcher. So a host gets at most `options.per_host` requests at once
    from both, and its Crawl-delay and Retry-After apply to both. A page that robots.txt forbids is
    missed, and so is one on an address that is not public. The walk waits while `workers` are busy:
    memory does not grow.

    Args:
        site: its URL.
        visit: called with each page.
        miss: called with each entry whose page could not be fetched, and the error.
        workers: pages that are fetched at once.
        options: how the network is used.

    Returns:
        The report of the walk, with what was wrong with the sitemaps.

    Raises:
        BaseExceptionGroup: what `visit` or `miss` raised; it ends the crawl.
    """
    waiting: asyncio.Queue[UrlEntry | None] = asyncio.Queue(maxsize=2 * workers)
    fetcher = HttpFetcher(options)
    rules = PageRobots(fetcher, options.user_agent)

    async def work() -> None:
        while (entry := await waiting.get()) is not None:
            try:
                page = await fetch_page(fetcher, rules, entry)
            except FetchError as error:
                await miss(entry, error)
            else:
                await visit(page)

    async with (
        fetcher,
        walk(site, fetcher=fetcher, unique=True) as entries,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(workers):
            tasks.create_task(work())
        async for entry in entries:
            await waiting.put(entry)
        for _ in range(workers):
            await waiting.put(None)
    return entries.report


async def fetch_page(fetcher: HttpFetcher, rules: PageRobots, entry: UrlEntry) -> Page:
    """Fetch a page that robots.txt allows, redirected or not; else raise FetchError."""
    await rules.check(entry.loc)
    async with fetcher.open(entry.loc, check_redirect=rules.check) as response:
        body = await read_body(response, MAX_PAGE_BYTES)
        return Page(entry, response.url, response.headers, body)
