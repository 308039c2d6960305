"""Scrapy: a spider that replaces SitemapSpider and loses no URL silently.

```python
class ShopSpider(SitemapReaderSpider):
    name = "shop"
    sitemap_urls = ["https://www.example.org/robots.txt"]
    sitemap_rules = [("/product/", "parse_product")]

    def parse_product(self, response):
        entry = response.meta["sitemap_entry"]
        yield {"url": response.url, "lastmod": entry.lastmod}
```
Scrapy fetches everything, so its middlewares, cache, retries, throttling, `ROBOTSTXT_OBEY` and
`allowed_domains` apply to sitemaps as to pages. This package only reads the sitemaps.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from sitemapreader import (
    Issue,
    IssueCode,
    Limits,
    SitemapEntry,
    SitemapReader,
    UrlEntry,
    Via,
)
from sitemapreader.fetch import charset_of
from sitemapreader.robots import parse_robots

try:
    from scrapy import Request, Spider
    from scrapy.http import Response  # noqa: TC002 (Scrapy resolves the annotations of callbacks)
    from scrapy.settings import Settings
    from scrapy.spidermiddlewares.httperror import HttpError
    from scrapy.utils.asyncio import run_in_thread, sleep
except ModuleNotFoundError as error:
    message = (
        f"sitemapreader.recipes.scrapy needs {error.name}; the extra `scrapy` brings it: "
        "pip install 'scrapy>=2.18'"
    )
    raise ModuleNotFoundError(message, name=error.name) from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twisted.python.failure import Failure

    from sitemapreader import Event

Callback: TypeAlias = Callable[..., Any]
Entry: TypeAlias = UrlEntry | SitemapEntry
"""An entry of a sitemap: a page, or another sitemap."""

ENTRY = "sitemap_entry"
"""Key of the entry in a request's `meta`."""

_FAILURES = {
    "Forbidden by robots.txt": IssueCode.ROBOTS_DISALLOWED,
    "HttpError": IssueCode.HTTP_STATUS,
    "CannotResolveHostError": IssueCode.DNS,
    "DownloadTimeoutError": IssueCode.TIMEOUT,
    "DownloadConnectionRefusedError": IssueCode.CONNECT,
    "DownloadFailedError": IssueCode.CONNECT,
    "ResponseDataLossError": IssueCode.BODY_CUT,
    "DownloadCancelledError": IssueCode.TOO_LARGE,  # DOWNLOAD_MAXSIZE
    "UnsupportedURLSchemeError": IssueCode.INVALID_URL,
}
"""Scrapy's exception, or its message -> Issue code. Middlewares count and log their own."""
_ADVICE_OF_SPIDERS = {
    "pass `FetchOptions(respect_robots=False)`": "set ROBOTSTXT_OBEY to False",
    "pass its URL with `sitemaps=`": "add its URL to `sitemap_urls`",
    "pass the URL of the next page with `sitemaps=`": "add the URL of the next page to "
    "`sitemap_urls`",
    "use `FetchOptions.map_hosts`": "use a downloader middleware",
}
"""The advice of an Issue -> the advice for a spider."""
_REACTOR_SECONDS = 0.02
"""Longest time that reading entries may block the reactor."""
_PAUSE_SECONDS = 0.001
"""The pause after it. A pause of 0 seconds would not let the reactor send or receive."""
_TRUNCATION_FLAGS = frozenset({"dataloss", "download_stopped"})
"""Flags of a truncated response."""


class SitemapReaderSpider(Spider):
    """A spider for the pages that sitemaps list, with SitemapSpider's attributes.

    Every request for a page has its `UrlEntry` in `meta["sitemap_entry"]`. Entries are read as
    their requests are made, so the first pages are requested before a large sitemap is read to its
    end.

    Each Issue goes to the spider's log, the first 10 of a code for each document, and is counted in
    the stats: `sitemapreader/issues/<code>`. There are `sitemapreader/documents`, `/records` and
    `/dropped` as well, for records = entries + dropped.

    Attributes:
        sitemap_urls: sitemaps, and robots.txt files, whose sitemaps are read.
        sitemap_rules: (regular expression, callback or its name); the first one that is found in a
            page's URL counts, and a page without one is not requested.
        sitemap_follow: regular expressions; a sitemap in an index is requested if one is found.
        sitemap_alternate_links: request the alternates of a page too.
        sitemap_limits: how much of a document is read; by default as many bytes as Scrapy's
            setting `DOWNLOAD_MAXSIZE` allows (or `download_maxsize` of the spider), before
            decompression and after it. What is larger than `DOWNLOAD_WARNSIZE` is logged.

    In a unit test no crawler is needed: call `request.callback(response)` for a request of `start`
    with a `Response` of your own, and iterate what it returns. There are no stats then, and the
    limits are the defaults of Scrapy.
    """

    sitemap_urls: Sequence[str] = ()
    sitemap_rules: Sequence[tuple[str | re.Pattern[str], str | Callback]] = (
        ("", "parse"),
    )
    sitemap_follow: Sequence[str | re.Pattern[str]] = ("",)
    sitemap_alternate_links: bool = False
    sitemap_limits: Limits | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rules: list[tuple[re.Pattern[str], Callback]] = []
        for pattern, name in self.sitemap_rules:
            if isinstance(name, str):
                callback = getattr(self, name)
            else:
                callback = name
            self._rules.append((re.compile(pattern), callback))
        self._follow = [re.compile(pattern) for pattern in self.sitemap_follow]

    def _find_size(self, name: str) -> int:
        """Return one of Scrapy's settings of a size, or 0; the spider may override it."""
        settings = Settings()
        crawler = getattr(self, "crawler", None)
        if crawler is not None:
            settings = crawler.settings
        size = settings.getint(name)
        return int(getattr(self, name.lower(), size))

    def _find_limits(self) -> Limits:
        """Return how much of a document is read."""
        if self.sitemap_limits is not None:
            return self.sitemap_limits
        max_bytes = self._find_size("DOWNLOAD_MAXSIZE") or sys.maxsize
        return Limits(raw_bytes=max_bytes, inflated_bytes=max_bytes)

    def sitemap_filter(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        """Return the entries of one document that are wanted; override it as you need.

        They come as they are read: if you stop early, the rest of the document is not read.
        """
        return entries

    async def start(self) -> AsyncIterator[Request]:
        """Request the documents that `sitemap_urls` names."""
        for url in self.sitemap_urls:
            entry = SitemapEntry(url, via=Via.GIVEN)
            for request in self._request_sitemap(entry):
                yield request

    # -- requests

    def _request_wanted(self, entry: Entry, response: Response) -> Iterator[Request]:
        if isinstance(entry, UrlEntry):
            yield from self._request_pages(entry)
        elif entry.via is Via.PAGE:
            issue = Issue.make(IssueCode.FEED_HAS_MORE, response.url, url=entry.loc)
            self._add_issue(issue)
        elif any(pattern.search(entry.loc) for pattern in self._follow):
            yield from self._request_sitemap(entry)

    def _request_sitemap(self, entry: SitemapEntry) -> Iterator[Request]:
        path = entry.loc.partition("?")[0]
        callback: Callback = self._parse_sitemap
        if path.endswith("/robots.txt"):
            callback = self._parse_robots
        return self._request(entry.loc, entry, callback, self._note_failure)

    def _request_pages(self, entry: UrlEntry) -> Iterator[Request]:
        urls = [entry.loc]
        if self.sitemap_alternate_links:
            urls += [alternate.href for alternate in entry.alternates]
        for url in urls:
            for pattern, callback in self._rules:
                if pattern.search(url):
                    yield from self._request(url, entry, callback)
                    break

    def _request(
        self,
        url: str,
        entry: Entry,
        callback: Callback,
        errback: Callback | None = None,
    ) -> Iterator[Request]:
        """Make a request; a URL that Scrapy cannot request is an Issue."""
        try:
            request = Request(
                url,
                callback=callback,
                errback=errback,
                meta={ENTRY: entry},
            )
        except ValueError as error:
            issue = Issue.make(
                IssueCode.INVALID_URL,
                entry.sitemap,
                url=url,
                value=str(error),
            )
            self._add_issue(issue)
        else:
            yield request

    # -- responses

    def _parse_robots(self, response: Response) -> Iterator[Request]:
        complete = _TRUNCATION_FLAGS.isdisjoint(response.flags)
        robots = parse_robots(response.body, response.url, complete=complete)
        for issue in robots.issues:
            self._log(issue)
        self._count(robots.counts)
        if not robots.sitemaps:
            issue = Issue.make(IssueCode.NO_SITEMAP, response.url)
            self._add_issue(issue)
        for entry in robots.sitemaps:
            yield from self._request_sitemap(entry)

    async def _parse_sitemap(self, response: Response) -> AsyncIterator[Request]:
        content_type = response.headers.get("Content-Type") or b""
        headers = {"content-type": content_type.decode("latin-1")}
        reader = SitemapReader(
            response.url,
            limits=self._find_limits(),
            charset=charset_of(headers),
        )
        batches = await self._read_batches(reader, response)
        pause = monotonic() + _REACTOR_SECONDS
        try:
            for entry in self.sitemap_filter(self._entries(batches)):
                for request in self._request_wanted(entry, response):
                    yield request
                if monotonic() > pause:
                    await sleep(_PAUSE_SECONDS)
                    pause = monotonic() + _REACTOR_SECONDS
        finally:
            stats = reader.stats
            size = stats.inflated_bytes
            warn_size = self._find_size("DOWNLOAD_WARNSIZE")
            if 0 < warn_size < size:
                message = "%s has %d bytes, which is larger than DOWNLOAD_WARNSIZE (%d)"
                self.logger.warning(message, response.url, size, warn_size)
            self._count(stats.counts)
            self._inc("documents")
            self._inc("records", stats.records)
            self._inc("dropped", stats.dropped)

    async def _read_batches(
        self,
        reader: SitemapReader,
        response: Response,
    ) -> Iterable[Iterable[Event]]:
        """Read until the first entry; return its batch and the later ones, unread."""
        is_truncated = not _TRUNCATION_FLAGS.isdisjoint(response.flags)
        body = reader.feed_steps(response.body)
        end = reader.close_steps(cut=is_truncated)
        batches = chain(body, end)
        first: list[Event] = []
        for events in batches:
            first += events
            if reader.stats.delivered:
                break
            if reader.beyond_repair:  # the next batch waits for a child process
                return [first, *await run_in_thread(list, batches)]
        return chain([first], batches)

    def _entries(self, batches: Iterable[Iterable[Event]]) -> Iterator[Entry]:
        for event in chain.from_iterable(batches):
            if isinstance(event, Issue):
                self._log(event)
            else:
                yield event

    def _note_failure(self, failure: Failure) -> Failure:
        """Record that a sitemap could not be fetched; Scrapy handles the failure itself."""
        error = failure.value
        reason = str(error)
        names = [reason]
        names += [base.__name__ for base in type(error).__mro__]
        codes = [_FAILURES[name] for name in names if name in _FAILURES]
        if codes:
            if isinstance(error, HttpError):
                reason = str(error.response.status)
            url = getattr(failure, "request").url  # noqa: B009 (Scrapy sets it, untyped)
            issue = Issue.make(codes[0], url, value=reason)
            self._add_issue(issue)
        return failure

    # -- the log and the stats

    def _add_issue(self, issue: Issue) -> None:
        self._log(issue)
        self._count({issue.code: 1})

    def _log(self, issue: Issue) -> None:
        subject = str(issue.code)
        if issue.url:
            subject += f" <{issue.url}>"
        said = str(issue)
        for advice, setting in _ADVICE_OF_SPIDERS.items():
            said = said.replace(advice, setting)
        level = getattr(logging, issue.severity.name)  # the names are the same
        self.logger.log(level, "%s: %s", subject, said)

    def _count(self, counts: Mapping[IssueCode, int]) -> None:
        for code, number in counts.items():
            self._inc(f"issues/{code}", number)

    def _inc(self, name: str, number: int = 1) -> None:
        crawler = getattr(self, "crawler", None)  # a spider in a unit test has none
        if crawler is not None:
            crawler.stats.inc_value(f"sitemapreader/{name}", number)
