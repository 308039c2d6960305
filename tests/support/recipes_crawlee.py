"""Run in a process of its own: a crawl with Crawlee; prints what came of it.

python recipes_crawlee.py BASE LOADER
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from crawlee import service_locator
from crawlee.crawlers import HttpCrawler
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader
from crawlee.storage_clients import MemoryStorageClient

from sitemapreader.recipes.crawlee import SitemapReaderRequestLoader
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from crawlee.crawlers import HttpCrawlingContext
    from crawlee.request_loaders import RequestManagerTandem

PAGES: list[tuple[str, Any]] = []


async def crawl(manager: RequestManagerTandem) -> None:
    crawler = HttpCrawler(
        request_manager=manager,
        configure_logging=False,
        max_request_retries=1,
    )

    @crawler.router.default_handler
    async def visit(context: HttpCrawlingContext) -> None:
        PAGES.append((context.request.url, context.request.user_data.get("lastmod")))

    await crawler.run()


async def ours(base: str) -> dict[str, int]:
    async with (
        walk(base, unique=True) as entries,
        SitemapReaderRequestLoader(entries, max_buffer_size=5) as loader,
    ):
        await crawl(await loader.to_tandem())
        assert await loader.is_finished()
        assert await loader.get_total_count() == await loader.get_handled_count()
    return {str(code): number for code, number in entries.report.counts.items()}


async def theirs(base: str) -> dict[str, int]:
    loader = SitemapRequestLoader([f"{base}/index.xml"], ImpitHttpClient())
    async with loader:
        await crawl(await loader.to_tandem())
    return {}


if __name__ == "__main__":
    service_locator.set_storage_client(MemoryStorageClient())
    issues = asyncio.run({"ours": ours, "theirs": theirs}[sys.argv[2]](sys.argv[1]))
    json.dump({"pages": PAGES, "issues": issues}, sys.stdout)
