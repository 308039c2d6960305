"""Run a walk: workers take sitemaps from the frontier while discovery adds to it.

A worker is started for each sitemap that is added, as far as `concurrency` allows, and ends when
none waits: most sites have few.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader._event_loop import contain
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode, make_issue
from sitemapreader._types.models import Via
from sitemapreader._types.outcomes import (
    LEFT_EARLY,
    Role,
    Status,
    inflect,
    make_document,
)
from sitemapreader._types.urls import host_of, is_robots_url
from sitemapreader._walk.search import ProbeResult, SiteSearch, judge_failures
from sitemapreader._walk.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader._types.models import SitemapEntry
    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.memory import Resumption
    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap


_HIDES_SITEMAPS = frozenset(
    {
        IssueCode.BLOCKED_BY_SITE,
        IssueCode.HOST_DOWN,
        IssueCode.HOST_REFUSES,
        IssueCode.LOGIN_REQUIRED,
        IssueCode.ROBOTS_NOT_TEXT,
        IssueCode.ROBOTS_TOO_LARGE,
        IssueCode.ROBOTS_UNREACHABLE,
    }
)
"""Issues after which a site may have sitemaps that were not found."""
_BUDGETS = frozenset(
    {IssueCode.BUDGET_BYTES, IssueCode.BUDGET_DOCUMENTS, IssueCode.BUDGET_SECONDS}
)
"""Reasons for which a search ends early. Known sitemaps may be left for the next walk."""


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
        self._outcomes = self._end_skipped()

    async def run(self, resumption: Resumption) -> None:
        """Walk to the end; `get_result` unpacks a bug, here or in the caller's functions."""
        self.frontier.idle = resumption.idle
        self.frontier.queue.ranks = resumption.ranks
        self.frontier.queue.start_worker = self._start_worker
        self._parts.entry_filter.remember(resumption.delivered)
        named = self._config.sitemaps
        robots = [each for each in named if _is_robots(each)]
        try:
            async with self._tasks:
                await self._add_roots(each for each in named if not _is_robots(each))
                self._idle_workers = self.context.options.concurrency
                for _ in named[: self._idle_workers]:
                    self._start_worker()
                if robots:
                    self._tasks.create_task(contain(partial(self._read_robots, robots)))
                if self._config.site:
                    self._tasks.create_task(contain(self._search))
            await self._end()
        finally:
            for _ in self._outcomes:  # the missing ones, where the walk was left early
                pass

    # -- discovery

    async def _search(self) -> None:
        await SiteSearch(
            self._config, self.context, self.rules, self._try_entries
        ).run()
        self.context.report.announce_outcomes()

    async def _read_robots(self, entries: Sequence[SitemapEntry]) -> None:
        """Put the sitemaps of each robots.txt that the caller named in the frontier."""
        for entry in entries:
            try:
                robots = await self.rules.robots.read_named(entry.loc, Via.GIVEN)
            except FetchError as error:  # the budget
                await self.context.report_issue(make_issue(error.code, entry.loc))
                continue
            if not robots.sitemaps:
                await self.context.report_issue(
                    make_issue(IssueCode.NO_SITEMAP, entry.loc)
                )
            await self.context.emit(robots.sitemaps)
            await self._add_roots(robots.sitemaps)
        self.context.report.announce_outcomes()

    async def _try_entries(self, entries: Sequence[SitemapEntry]) -> ProbeResult:
        """Add sitemaps to the frontier; return the result as soon as it is known."""
        self.context.report.announce_outcomes()  # robots.txt, and what was tried before
        named = tuple(entry for entry in entries if not entry.via.is_guess)
        if named:
            await self.context.emit(named)
        if self._config.reads:
            await self._add_roots(entries)
        failures = []
        for entry in entries:
            # the next one is requested if this one is no sitemap
            if not self._config.reads:
                self.frontier.add_root(entry)
            sitemap = self.frontier.find(entry.loc)
            if sitemap is not None and await sitemap.wait_until_known():
                return ProbeResult.FOUND
            failures.append(sitemap.document if sitemap is not None else None)
        if any(each is not None and each.format is not None for each in failures):
            return ProbeResult.EMPTY
        return judge_failures(failures)

    async def _add_roots(self, entries: Iterable[SitemapEntry]) -> None:
        """Put sitemaps that no index lists in the frontier."""
        for entry in entries:
            self.frontier.add_root(entry)
            await self.context.loop_share.yield_if_due()

    # -- the workers

    def _start_worker(self) -> None:
        if self._idle_workers:
            self._idle_workers -= 1
            self._tasks.create_task(contain(self._work))

    async def _work(self) -> None:
        while (sitemap := await self.frontier.take()) is not None:
            try:
                await self._visit(sitemap)
                self.context.report.announce_outcomes()
            finally:
                self.context.breaker.end_trial(sitemap.entry.loc)
                self.frontier.release(sitemap)
            await self.context.loop_share.yield_if_due()
        self._idle_workers += 1

    def knows_all(self) -> bool:
        """Return whether the frontier has all sitemaps that no index lists."""
        return (
            self._was_searched()
            and not self.context.report.counts[IssueCode.NO_SITEMAP]
        )

    def names_none(self) -> bool:
        """Return whether all that could name a sitemap was read, and no sitemap was found."""
        return (
            self._was_searched()
            and self.context.report.counts[IssueCode.NO_SITEMAP] > 0
        )

    def _was_searched(self) -> bool:
        report = self.context.report
        # Where the caller names the sitemaps, robots.txt has only its rules.
        if self._config.site:
            is_told = set()
        else:
            is_told = {IssueCode.ROBOTS_UNREACHABLE}
        return (
            not self.frontier.skipped.unnamed.total()
            and not self._is_search_cut()
            and not any(report.counts[code] for code in _HIDES_SITEMAPS - is_told)
            and not any(map(_hides_sitemaps, report.documents))
        )

    def _is_search_cut(self) -> bool:
        """Return whether the budget ended before all guesses were tried."""
        skipped = self.frontier.skipped.named.values()
        return any(
            entry.via.is_guess and reason in _BUDGETS for entry, reason in skipped
        )

    async def _visit(self, sitemap: Sitemap) -> None:
        memory = await self._parts.memory.open(sitemap)
        if not memory.settled and (refusal := await self._find_refusal(sitemap)):
            self.frontier.drop(sitemap, refusal)
        else:
            await Visit(self._parts, sitemap, memory).run()

    async def _find_refusal(self, sitemap: Sitemap) -> str | None:
        entry = sitemap.entry
        budget = self.context.budget
        gate = self._config.gate
        if gate is not None and (reason := await gate(entry)):
            return reason
        try:
            budget.check(entry.loc)
            code = await self.rules.check_fetch(entry, sitemap.referrers)
            if code is None:
                budget.take_document(entry.loc)
        except FetchError as error:  # of the budget, which is reported at the end
            return error.code
        if code is not None:
            if sitemap.parent:
                parent = sitemap.parent.document
            else:
                parent = None
            await self.context.report_issue(
                make_issue(code, entry.sitemap, url=entry.loc), parent
            )
        return code

    # -- the end

    async def _report_unread(self) -> None:
        """Report the sitemaps that were not read because of a budget or their host."""
        left: dict[str, list[str]] = {}
        for entry, reason in self.frontier.skipped.named.values():
            left.setdefault(reason, []).append(entry.loc)
            await self.context.loop_share.yield_if_due()
        for code in (
            IssueCode.BUDGET_DOCUMENTS,
            IssueCode.BUDGET_MEMORY,
            IssueCode.BUDGET_BYTES,
            IssueCode.BUDGET_SECONDS,
            IssueCode.BUDGET_URLS,
            IssueCode.HOST_REFUSES,
            IssueCode.HOST_DOWN,
        ):
            urls = left.get(code, [])
            if number := len(urls) + self.frontier.skipped.unnamed[code]:
                first = urls[0] if urls else None
                why = self.context.breaker.find_reason(first or "")[1]
                what = f"{inflect(number, 'sitemaps')} skipped" + f" ({why})" * bool(
                    why
                )
                said = f"{number} {what}: {' '.join(urls[:3])}"
                await self.context.report_issue(make_issue(code, url=first, value=said))

    async def _report_other_site(self) -> None:
        """Report that all URLs are on one other host: a copy may name the original."""
        report = self.context.report
        site = self._config.site
        asked = (
            each.final_url for each in report.documents if each.role is not Role.SITEMAP
        )
        # where it has moved
        homes = {host_of(url or "").removeprefix("www.") for url in asked}
        for plain, host in report.tally.hosts.items():
            if report.tally.home and plain not in homes:
                said = f"all URLs are on {host}"
                await self.context.report_issue(
                    make_issue(IssueCode.OTHER_SITE, site, value=said)
                )

    async def _end(self) -> None:
        """Give each sitemap without an outcome its own, and report the unread ones."""
        await self._parts.entry_filter.deliver_sample(self.context)
        await self._report_unread()
        await self._report_other_site()
        for _ in self._outcomes:
            await self.context.loop_share.yield_if_due()

    def _end_skipped(self) -> Iterator[None]:
        """Give each sitemap that was not fetched its outcome, one a step."""
        report = self.context.report
        self.frontier.end(LEFT_EARLY)
        for key, (entry, reason) in self.frontier.skipped.named.items():
            document = self.frontier.skipped.asked.get(key) or make_document(entry)
            report.end_document(document, Status.SKIPPED, reason)
            yield
        for reason, number in self.frontier.skipped.unnamed.items():
            report.count_skipped(reason, number)
        report.announce_outcomes()


def _is_robots(entry: SitemapEntry) -> bool:
    """Return whether the caller named a robots.txt, which lists sitemaps and is none."""
    return entry.via is Via.GIVEN and is_robots_url(entry.loc)


def _hides_sitemaps(document: Document) -> bool:
    """Return whether a robots.txt or start page that may name sitemaps was not read."""
    if document.role is Role.SITEMAP or document.via is None:
        return False
    if document.status is Status.SKIPPED:
        return document.reason in _BUDGETS
    is_lost = document.status in (Status.FAILED, Status.PARTIAL)
    return is_lost and document.http_status not in (404, 410)
