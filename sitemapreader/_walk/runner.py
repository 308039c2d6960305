"""Run a walk: workers take sitemaps from the frontier while discovery adds to it.

A worker is started for each sitemap that is added, as far as `concurrency` allows, and ends when
none waits: most sites have few. With `queue_per_worker` it is started only if more wait than the
others will soon have read.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader._event_loop import contain
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Via
from sitemapreader._types.urls import is_robots_url, url_key
from sitemapreader._walk.ending import WalkEnding
from sitemapreader._walk.search import ProbeResult, SiteSearch, judge_failures
from sitemapreader._walk.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sitemapreader._types.models import SitemapEntry
    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.memory import Resumption
    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap


class WalkRunner:
    """The tasks of one walk, up to the channel that leads to the consumer."""

    def __init__(self, parts: WalkParts) -> None:
        self.context = parts.context
        self.frontier = parts.frontier
        self.rules = parts.rules
        self._parts = parts
        self._config = parts.config
        self._tasks = asyncio.TaskGroup()
        self._idle_workers = 0
        self.ending = WalkEnding(parts)

    async def run(self, resumption: Resumption) -> None:
        """Walk to the end.

        A bug, here or in a function of the caller, arrives in a group of exceptions; an exit
        arrives as the ExitError of `contain`. `TaskStream.fill` unwraps both by `get_result`.
        """
        queue = self.frontier.queue
        entry_filter = self._parts.entry_filter
        self.frontier.idle = resumption.idle
        queue.ranks = resumption.ranks
        queue.start_worker = self._start_worker
        entry_filter.remember(resumption.delivered)
        named = self._config.sitemaps
        robots = [each for each in named if _is_robots(each)]
        sitemaps = [each for each in named if not _is_robots(each)]
        try:
            async with self._tasks:
                await self._add_roots(sitemaps)
                self._idle_workers = self.context.options.concurrency
                for _ in named[: self._idle_workers]:
                    self._start_worker()
                if robots:
                    reading = contain(partial(self._read_robots, robots))
                    self._tasks.create_task(reading)
                if self._config.site:
                    await contain(self._search)
            await entry_filter.deliver_sample(self.context)
            await self.ending.run()
        finally:
            self.ending.finish()

    # -- discovery

    async def _search(self) -> None:
        search = SiteSearch(
            self._config.search,
            self.context,
            self.rules,
            self._try_entries,
        )
        await search.run()
        self.context.report.announce_outcomes()

    async def _read_robots(self, entries: Sequence[SitemapEntry]) -> None:
        """Put the sitemaps of each robots.txt that the caller named in the frontier."""
        context = self.context
        for entry in entries:
            url = entry.loc
            try:
                robots = await self.rules.robots.read_named(url, Via.GIVEN)
            except FetchError as error:  # the budget
                await context.report_code(error.code, url)
                continue
            if not robots.sitemaps:
                await context.report_code(IssueCode.NO_SITEMAP, url)
            await context.emit(robots.sitemaps)
            await self._add_roots(robots.sitemaps)
        context.report.announce_outcomes()

    async def _try_entries(self, entries: Sequence[SitemapEntry]) -> ProbeResult:
        """Add sitemaps to the frontier; return the result as soon as it is known."""
        self.context.report.announce_outcomes()  # robots.txt, and what was tried before
        named = tuple(entry for entry in entries if not entry.via.is_guess)
        if named:
            await self.context.emit(named)
        if self._config.reads:
            await self._add_roots(entries)
        failures: list[Document] = []
        for entry in entries:
            # the next one is requested if this one is no sitemap
            if not self._config.reads:
                self.frontier.add_root(entry)
            sitemap = self.frontier.find(url_key(entry.loc))
            if sitemap is None:
                continue
            if await sitemap.wait_until_known():
                return ProbeResult.FOUND
            if sitemap.document is not None:
                failures.append(sitemap.document)
        if any(document.format is not None for document in failures):
            return ProbeResult.EMPTY
        return judge_failures(failures)

    async def _add_roots(self, entries: Iterable[SitemapEntry]) -> None:
        """Put sitemaps that no index lists in the frontier."""
        for entry in entries:
            self.frontier.add_root(entry)
            await self.context.loop_share.yield_if_due()

    # -- the workers

    def _start_worker(self) -> None:
        busy_workers = self.context.options.concurrency - self._idle_workers
        least = busy_workers * self._config.queue_per_worker
        if self._idle_workers and self.frontier.queue.count_waiting() >= least:
            self._idle_workers -= 1
            self._tasks.create_task(contain(self._work))

    async def _work(self) -> None:
        while (sitemap := await self.frontier.take()) is not None:
            tried_url = self.frontier.queue.find_awaited(sitemap)
            try:
                await self._visit(sitemap)
                sitemap.check_release()
                self.context.report.announce_outcomes()
            finally:
                self.context.breaker.end_trial(tried_url)
                self.frontier.release(sitemap)
            await self.context.loop_share.yield_if_due()
        self._idle_workers += 1

    async def _visit(self, sitemap: Sitemap) -> None:
        memory = await self._parts.memory.open(sitemap)
        refusal: str | None = None
        if not memory.settled:
            refusal = await self._find_refusal(sitemap)
        if refusal:
            self.frontier.skip_queued(sitemap, refusal)
        else:
            visit = Visit(self._parts, sitemap, memory)
            await visit.run()

    async def _find_refusal(self, sitemap: Sitemap) -> str | None:
        """Return why a sitemap is not requested; else count its request."""
        entry = sitemap.entry
        budget = self.context.budget
        gate = self._config.gate
        if gate is not None:
            reason = await gate(entry)
            if reason:
                return reason
        try:
            budget.check(entry.loc)
            code = await self.rules.check_fetch(entry, sitemap.referrers)
            if code is None:
                budget.take_document(entry.loc)
        except FetchError as error:  # of the budget, which is reported at the end
            return error.code
        is_guess = entry.via is Via.WELL_KNOWN
        # the end of the walk reports all of these at once
        is_disallowed_guess = is_guess and code is IssueCode.ROBOTS_DISALLOWED
        if code is not None and not is_disallowed_guess:
            index = sitemap.parent.document if sitemap.parent else None
            await self.context.report_code(code, entry.sitemap, index, url=entry.loc)
        return code


def _is_robots(entry: SitemapEntry) -> bool:
    """Return whether the caller named a robots.txt, which lists sitemaps and is none."""
    return entry.via is Via.GIVEN and is_robots_url(entry.loc)
