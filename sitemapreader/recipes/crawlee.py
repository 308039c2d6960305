"""Crawlee: a request loader that replaces SitemapRequestLoader.

```python
async with (
    walk("https://www.example.org/", unique=True) as entries,
    SitemapReaderRequestLoader(entries) as loader,
):
    crawler = ParselCrawler(request_manager=await loader.to_tandem())

    @crawler.router.default_handler
    async def visit(context):
        lastmod = context.request.user_data["lastmod"]

    await crawler.run()
print(entries.report.counts)
```
The walk finds and reads the sitemaps; its arguments (`since`, `follow`, `hosts`, ...) choose among
them. Crawlee fetches the pages.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from sitemapreader import Issue, IssueCode

try:
    from crawlee import Request
    from crawlee.request_loaders import RequestLoader
    from pydantic import ValidationError
except ImportError as error:
    raise ImportError(
        "sitemapreader.recipes.crawlee needs Crawlee; the extra `crawlee` brings it"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader import UrlEntry, Walk


def make_request(entry: UrlEntry) -> Request:
    """Make the request for an entry, with its fields in `user_data`, as JSON's types."""
    user_data = {
        "sitemap": entry.sitemap,
        "lastmod": entry.lastmod.isoformat() if entry.lastmod else None,
        "date": entry.date.isoformat() if entry.date else None,
        "changefreq": entry.changefreq,
        "priority": entry.priority,
        "title": entry.title,
    }
    return Request.from_url(entry.loc, user_data=user_data)


class SitemapReaderRequestLoader(RequestLoader):
    """A request loader that gives the entries of a walk as requests, as they are read.

    A URL that Crawlee rejects is an Issue, `invalid-url`, in the walk's report. If Crawlee's queue
    survives a run, the next run gives all requests again, and the queue drops those that it knows.

    Args:
        walk: a walk that the caller has entered, and leaves after the loader.
        make_request: makes the request for an entry; `None` skips the entry.
        max_buffer_size: requests that wait here at most; then the walk waits too.
    """

    def __init__(
        self,
        walk: Walk,
        *,
        make_request: Callable[[UrlEntry], Request | None] = make_request,
        max_buffer_size: int = 200,
    ) -> None:
        self._walk = walk
        self._make_request = make_request
        self._room = asyncio.Semaphore(max_buffer_size)
        self._waiting: asyncio.Queue[Request | None] = asyncio.Queue()
        self._filling: asyncio.Task[None] | None = None
        self._in_progress: set[str] = set()
        self._found = self._fetched = self._handled = 0

    async def __aenter__(self) -> Self:
        self._filling = asyncio.create_task(self._fill(), name="sitemapreader.recipes.crawlee")
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        task = self._task()
        task.cancel()
        await asyncio.wait([task])
        if error is None and not task.cancelled():
            task.result()  # raises a bug that no `fetch_next_request` has raised

    async def get_total_count(self) -> int:
        """Return how many requests the walk has given so far."""
        return self._found

    async def get_handled_count(self) -> int:
        """Return how many of them have been handled."""
        return self._handled

    async def is_empty(self) -> bool:
        """Return whether no request is waiting; the walk may still give one."""
        return self._found == self._fetched

    async def is_finished(self) -> bool:
        """Return whether all requests have been handled, and no more will come."""
        return self._task().done() and self._found == self._fetched and not self._in_progress

    async def fetch_next_request(self) -> Request | None:
        """Wait for the next request; `None` where no more will come.

        A bug that ended the walk or `make_request` is raised here, after all that came before it.
        """
        request = await self._waiting.get()
        if request is None:
            self._waiting.put_nowait(None)  # for other tasks that wait
            task = self._task()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()
            return None
        self._room.release()
        self._fetched += 1
        self._in_progress.add(request.unique_key)
        return request

    async def mark_request_as_handled(self, request: Request) -> None:
        """Record that a request was handled."""
        self._in_progress.discard(request.unique_key)
        self._handled += 1

    async def _fill(self) -> None:
        try:
            async for entry in self._walk:
                if (request := self._try_request(entry)) is not None:
                    await self._room.acquire()
                    self._found += 1
                    self._waiting.put_nowait(request)
        finally:
            self._waiting.put_nowait(None)

    def _try_request(self, entry: UrlEntry) -> Request | None:
        try:
            return self._make_request(entry)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            issue = Issue.make(IssueCode.INVALID_URL, entry.sitemap, url=entry.loc, value=said)
            self._walk.report.add_issue(issue)
            return None

    def _task(self) -> asyncio.Task[None]:
        if self._filling is None:
            raise TypeError("enter the loader first: `async with SitemapReaderRequestLoader(...)`")
        return self._filling
