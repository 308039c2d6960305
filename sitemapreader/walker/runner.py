"""Those who do a walk: some workers with one frontier, and a scout who searches the site."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sitemapreader.discovery import ProbeResult, RobotsRules, judge_failures, search_site
from sitemapreader.documents.visit import DocumentVisit
from sitemapreader.errors import FetchError
from sitemapreader.fetch.breaker import BREAKER
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.models import Via
from sitemapreader.outcomes import LEFT_EARLY, Role, Status, make_document
from sitemapreader.walker.filters import EntryFilter
from sitemapreader.walker.frontier import Frontier, Job, make_root
from sitemapreader.walker.handler import WalkDocumentHandler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemapreader.discovery import Search
    from sitemapreader.documents.context import WalkContext
    from sitemapreader.models import SitemapEntry
    from sitemapreader.outcomes import Document
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.persistence import DocumentTracker, StateWriter


_HIDES_SITEMAPS = (
    IssueCode.BUDGET_BYTES,
    IssueCode.BUDGET_DOCUMENTS,
    IssueCode.BUDGET_SECONDS,
    IssueCode.BLOCKED_BY_SITE,
    IssueCode.HOST_DOWN,
    IssueCode.HOST_REFUSES,
    IssueCode.LOGIN_REQUIRED,
    IssueCode.NO_SITEMAP,
    IssueCode.ROBOTS_UNREACHABLE,
)
"""After one of these a site may have sitemaps that were not found."""


class WalkRunner:
    """Everything that goes on in a walk, up to the channel that leads to the consumer."""

    def __init__(
        self, context: WalkContext, config: WalkConfig, writer: StateWriter | None = None
    ) -> None:
        self._context = context
        self._config = config
        self._writer = writer
        self._frontier = Frontier(
            int(context.limits.documents), config.order, breaker=context.breaker
        )
        self._permissions = RobotsRules(context, respect=config.respect_robots)
        self._digests: set[bytes] = set()
        self._outcomes = self._settle()
        self._filter = EntryFilter(
            since=config.since,
            keep_undated=config.undated == "keep",
            keep_outside=config.scope == "keep",
            include=config.include,
            exclude=config.exclude,
            unique=config.unique,
        )

    @property
    def pending(self) -> int:
        """How many sitemaps are known and have no outcome yet."""
        return len(self._frontier)

    async def run(self) -> None:
        """Walk to the end. A bug, in here or in the caller's functions, comes out as it is."""
        fault: BaseException | None = None
        if self._writer is not None and self._writer.is_resumed and self._config.unique:
            for locs in self._writer.delivered():
                self._filter.remember(locs)
        try:
            async with asyncio.TaskGroup() as group:
                for entry in self._config.sitemaps:
                    self._add(entry)
                if self._config.search is not None:
                    self._frontier.acquire()
                    group.create_task(self._search(self._config.search))
                for _ in range(int(self._context.options.concurrency)):
                    group.create_task(self._work())
            await self._name_what_is_left()
            for _ in self._outcomes:
                await self._context.loop_share.yield_if_due()
        except BaseExceptionGroup as errors:
            fault = _first_of(errors)
        finally:
            for _ in self._outcomes:  # those that are missing yet, where the walk was left early
                pass
        if fault is not None:
            raise fault  # here, where it gets no context that it did not have

    # -- the scout

    async def _search(self, search: Search) -> None:
        try:
            await search_site(search, self._context, self._permissions, self._try)
            self._context.report.announce_outcomes()
        finally:
            self._frontier.release()

    async def _try(self, entries: Sequence[SitemapEntry]) -> ProbeResult:
        """Have sitemaps walked; tell what came of it, as soon as that is known."""
        self._context.report.announce_outcomes()  # robots.txt, and what was tried before
        named = tuple(entry for entry in entries if entry.via is not Via.WELL_KNOWN)
        if named:
            await self._context.emit(named)
        jobs = [job for entry in entries if (job := self._add(entry)) is not None]
        for job in jobs:
            if await job.wait_until_known():
                return ProbeResult.FOUND
        return judge_failures(job.document for job in jobs)

    def _add(self, entry: SitemapEntry) -> Job | None:
        """Put a sitemap that no index lists in the frontier, unless it is there."""
        known = self._frontier.find(entry.loc)
        if known is not None:
            return known
        search = self._config.search
        job = make_root(entry, search.site if search else None)
        return job if self._frontier.add(job) else None

    # -- the workers

    async def _work(self) -> None:
        while (job := await self._frontier.take()) is not None:
            try:
                await self._walk(job)
                self._context.report.announce_outcomes()
            finally:
                self._context.breaker.end_trial(job.entry.loc)
                if job.is_started:  # else it is to come once more
                    job.resolve(is_sitemap=False)
                self._frontier.release()
            await self._context.loop_share.yield_if_due()

    def listed(self) -> set[str]:
        """Return the keys of all sitemaps that the site has, read or not."""
        return self._frontier.listed()

    def knows_all(self) -> bool:
        """Tell whether the site can have no sitemap that no index lists and `listed` lacks."""
        report = self._context.report
        return (
            not self._frontier.skipped_uncounted.total()
            and not any(report.counts[code] for code in _HIDES_SITEMAPS)
            and not any(map(_hides_sitemaps, report.documents))
        )

    async def _walk(self, job: Job) -> None:
        tracker = self._writer.track(job.entry, job.scope) if self._writer else None
        if tracker is not None and (tracker.was_finished or tracker.is_current):
            await self._recall(job, tracker)
            return
        refusal = await self._refusal_of(job)
        if refusal is not None:
            self._frontier.drop_job(job, refusal)
            return
        job.document = document = make_document(job.entry)
        handler = self._make_handler(job, document, tracker)
        visit = DocumentVisit(self._context, document, handler, tracker.past() if tracker else None)
        if tracker is not None:
            tracker.follow(visit)
        token = BREAKER.set(self._context.breaker)
        try:
            await visit.run()
        finally:
            BREAKER.reset(token)
        if visit.is_postponed:
            self._context.budget.return_document()
            job.document = None
            self._frontier.postpone(job)
        elif tracker is not None:
            tracker.finish(document)

    async def _recall(self, job: Job, tracker: DocumentTracker) -> None:
        """Go on with what is known of a sitemap that need not be fetched."""
        report, known = self._context.report, tracker.known
        job.document = document = make_document(job.entry)
        handler = self._make_handler(job, document, tracker)
        with report.ensure_outcome(document):
            if known.final_url and (reason := await handler.check_redirect(known.final_url)):
                report.end_document(document, Status.SKIPPED, reason)
            else:
                if known.kind is not None:
                    document.format = known.kind
                    await handler.accept_format(known.kind)
                await handler.reuse_children()
                report.end_document(document, *tracker.outcome())
        if not tracker.was_finished:
            tracker.finish(document)

    def _make_handler(
        self, job: Job, document: Document, tracker: DocumentTracker | None
    ) -> WalkDocumentHandler:
        return WalkDocumentHandler(
            job,
            document,
            context=self._context,
            config=self._config,
            frontier=self._frontier,
            entry_filter=self._filter,
            digests=self._digests,
            tracker=tracker,
        )

    async def _refusal_of(self, job: Job) -> IssueCode | None:
        entry, budget = job.entry, self._context.budget
        try:
            budget.check(entry.loc)
            code = await self._permissions.check_fetch(entry, job.referrers, self._config.hosts)
            if code is None:
                budget.take_document(entry.loc)
        except FetchError as error:  # only the budget's; what is left is named at the end
            return error.code
        if code is not None:
            parent = job.parent.document if job.parent else None
            await self._context.report_issue(make_issue(code, entry.sitemap, url=entry.loc), parent)
        return code

    # -- the end

    async def _name_what_is_left(self) -> None:
        """Say what was not read for want of a budget, or because of what its host did."""
        left: dict[str, list[str]] = {}
        for entry, reason in self._frontier.skipped():
            left.setdefault(reason, []).append(entry.loc)
        for code in (
            IssueCode.BUDGET_DOCUMENTS,
            IssueCode.BUDGET_MEMORY,
            IssueCode.BUDGET_BYTES,
            IssueCode.BUDGET_SECONDS,
            IssueCode.HOST_REFUSES,
            IssueCode.HOST_DOWN,
        ):
            urls = left.get(code, [])
            if number := len(urls) + self._frontier.skipped_uncounted[code]:
                said = f"{number} sitemaps not read: {' '.join(urls[:3])}"
                first = urls[0] if urls else None
                await self._context.report_issue(make_issue(code, url=first, value=said))

    def _settle(self) -> Iterator[None]:
        """Give an outcome to all that was known and not fetched, in steps."""
        report = self._context.report
        self._frontier.skip_waiting(LEFT_EARLY)
        for entry, reason in self._frontier.skipped():
            report.end_document(make_document(entry), Status.SKIPPED, reason)
            yield
        for reason, number in self._frontier.skipped_uncounted.items():
            report.count_skipped(reason, number)
        report.announce_outcomes()


def _hides_sitemaps(document: Document) -> bool:
    """Tell whether a robots.txt or a start page may name sitemaps, and could not be read."""
    return (
        document.role is not Role.SITEMAP
        and document.via is not None
        and document.status in (Status.FAILED, Status.PARTIAL)
        and document.http_status not in (404, 410)
    )


def _first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
