"""WalkRobots: the robots.txt files of a walk, read within its budget and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader._read.robots import Robots
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.options import ROBOTS_MAX_BYTES
from sitemapreader._types.outcomes import (
    WALK_LIMITS,
    Document,
    Role,
    Status,
    issue_from_error,
    judge_counts,
)
from sitemapreader._types.urls import origin_of
from sitemapreader._walk.download import fetch_body
from sitemapreader.pages.robots import (
    LEAST_ROBOTS_BYTES,
    RobotsCache,
    parse_robots_aside,
)

if TYPE_CHECKING:
    from sitemapreader._types.models import Via
    from sitemapreader._walk.context import WalkContext

_LEADS_NOWHERE = frozenset(
    {IssueCode.TOO_MANY_REDIRECTS, IssueCode.REDIRECT_LOOP, IssueCode.DOWNGRADE}
)
"""Redirects without an end, which mean that there is no file (RFC 9309, section 2.3.1.2)."""
_NOT_OF_THE_HOST = (None, 407)
"""The status of a failure without a response of the host; 407 comes from a proxy."""


class WalkRobots(RobotsCache):
    """Cache of the robots.txt files of a walk; each is a document of its report.

    With `respect=False` nothing is disallowed and Crawl-delay is ignored; Sitemap lines still
    count.
    """

    def __init__(self, context: WalkContext, *, respect: bool) -> None:
        super().__init__(context.client, "", respect=respect)
        self._context = context
        self._failed: dict[str, tuple[Document, Issue | None]] = {}
        """Origin -> the outcome of its robots.txt, and why its host did not respond."""

    async def read_named(self, url: str, via: Via) -> Robots:
        """Return a robots.txt that the caller names, in whatever folder, for its Sitemap lines.

        Raises FetchError when the budget is spent.
        """
        if url == f"{origin_of(url)}/robots.txt":
            return await self.find(url, via)
        robots, _ = await self.fetch(url, via)
        return robots

    def find_failure(self, url: str) -> tuple[Document | None, Issue | None]:
        """Return the outcome of a robots.txt that failed, and why its host did not respond."""
        return self._failed.get(origin_of(url), (None, None))

    def set_delay(self, url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL; report the first delay."""
        tally = self._context.report.tally
        if tally.crawl_delay is None:
            tally.crawl_delay = seconds
        super().set_delay(url, seconds)

    async def fetch(
        self,
        url: str,
        via: Via | None,
    ) -> tuple[Robots, int]:
        """Fetch and parse a robots.txt, and report it; return it with its size.

        Raises FetchError when the budget is spent.
        """
        context = self._context
        report = context.report
        document = Document(url, role=Role.ROBOTS, via=via)
        with report.ensure_outcome(document):
            try:
                body = await fetch_body(context, document, ROBOTS_MAX_BYTES)
            except FetchError as error:
                robots = await self._handle_failure(error, document)
                return robots, LEAST_ROBOTS_BYTES
            fault = body.fault
            robots = await parse_robots_aside(
                body.body,
                body.url,
                self.user_agent,
                complete=fault is None,
            )
            document.children = len(robots.sitemaps)
            for issue in robots.issues:
                await context.report_issue(issue, document)
            report.add_counts(robots.counts, document)
            if fault is None:
                # never failed: its rules were read, whatever it names
                status, reason = judge_counts(document.counts, records=1)
            else:
                await self._note_unreachable(fault, document)
                status, reason = Status.PARTIAL, fault.code
            report.end_document(document, status, reason)
            return robots, max(len(body.body), LEAST_ROBOTS_BYTES)

    async def _handle_failure(self, error: FetchError, document: Document) -> Robots:
        """Return the rules after a failed request: none, or everything disallowed."""
        context = self._context
        report = context.report
        if error.code in WALK_LIMITS:
            report.end_document(document, Status.SKIPPED, error.code)
            raise error
        document.add_error(error)
        absent = error.code in _LEADS_NOWHERE or error.is_absent
        origin = origin_of(document.url)
        # A redirect has no status of its own here, but is an answer of the host: whether it leads
        # in a circle, or to another host that is down or must not be asked.
        is_redirected = origin_of(error.url) != origin
        must_wait = error.code is IssueCode.RETRY_LATER
        is_mute = error.http_status in _NOT_OF_THE_HOST and not absent
        is_silent = must_wait or (is_mute and not is_redirected)
        silence = None
        if is_silent:
            silence = issue_from_error(error, document)
        self._failed[origin] = (document, silence)
        if error.code in _LEADS_NOWHERE:
            await context.report_code(error.code, document.url, document)
        elif not absent:
            await self._note_unreachable(error, document)
        status = Status.SKIPPED if absent else Status.FAILED
        report.end_document(document, status, error.code)
        return Robots(document.url, complete=absent)

    async def _note_unreachable(self, error: FetchError, document: Document) -> None:
        await self._context.report_code(
            IssueCode.ROBOTS_UNREACHABLE, document.url, document, value=error.cause
        )
