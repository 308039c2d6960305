"""The end of a walk: the outcomes of unread sitemaps, and how much of the site is known."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sitemapreader._types.counts import count_units, inflect
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Via
from sitemapreader._types.outcomes import (
    ABSENT_STATUSES,
    LEFT_EARLY,
    NOT_MODIFIED,
    WALK_LIMITS,
    Role,
    Status,
    count_flaws,
    lost_only_flaws,
    make_document,
)
from sitemapreader._types.urls import host_of
from sitemapreader._walk.memory import WalkEnd
from sitemapreader._walk.search import FEW_PATHS, WELL_KNOWN_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.parts import WalkParts

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
_UNREAD_CODES = (
    IssueCode.BUDGET_DOCUMENTS,
    IssueCode.BUDGET_MEMORY,
    IssueCode.BUDGET_BYTES,
    IssueCode.BUDGET_SECONDS,
    IssueCode.BUDGET_URLS,
    IssueCode.HOST_REFUSES,
    IssueCode.HOST_DOWN,
)
"""Reasons for which sitemaps are not read that the end reports, in its order."""
_UNLIKELY_PATHS = tuple(f"/{path}" for path in WELL_KNOWN_PATHS[FEW_PATHS:])


class WalkEnding:
    """The end of one walk."""

    def __init__(self, walk: WalkParts) -> None:
        self._site = walk.config.site
        self._context = walk.context
        self._report = walk.context.report
        self._frontier = walk.frontier
        self._outcomes = self._end_skipped()

    async def run(self) -> None:
        """Report the unread sitemaps, and give each sitemap without an outcome its own."""
        await self._report_unread()
        await self._report_disallowed()
        await self._report_false_dates()
        await self._report_other_site()
        for _ in self._outcomes:
            await self._context.loop_share.yield_if_due()

    def finish(self) -> None:
        """Give the missing outcomes, where the walk was left early."""
        for _ in self._outcomes:
            pass

    def describe(self) -> WalkEnd:
        """Return the end as the memory of walks records it."""
        skipped = self._frontier.skipped.named
        was_searched = self._was_searched()
        has_none = self._report.counts[IssueCode.NO_SITEMAP] > 0
        return WalkEnd(
            complete=self._report.complete,
            listed=self._frontier.list_wanted(),
            knows_all=was_searched and not has_none,
            is_cut=self._context.budget.exhausted is not None,
            names_none=was_searched and has_none,
            naming_flaws=sum(map(_count_naming_flaws, self._report.documents)),
            skipped={key: reason for key, (_, reason) in skipped.items()},
        )

    def _was_searched(self) -> bool:
        """Return whether everything that could name a sitemap was read."""
        report = self._report
        hiding = set(_HIDES_SITEMAPS)
        if not self._site:
            # Where the caller names the sitemaps, robots.txt has only its rules.
            hiding.remove(IssueCode.ROBOTS_UNREACHABLE)
        return (
            not self._frontier.skipped.unnamed.total()
            and not self._is_search_cut()
            and not any(report.counts[code] for code in hiding)
            and not any(map(_hides_sitemaps, report.documents))
        )

    def _is_search_cut(self) -> bool:
        """Return whether the budget ended before all guesses were tried."""
        skipped = self._frontier.skipped.named.values()
        return any(
            entry.via.is_guess and reason in WALK_LIMITS for entry, reason in skipped
        )

    async def _report_unread(self) -> None:
        """Report the sitemaps that were not read because of a budget or their host."""
        skipped = self._frontier.skipped
        if not (skipped.named or skipped.unnamed):
            return
        left: defaultdict[str, list[str]] = defaultdict(list)
        for entry, reason in skipped.named.values():
            left[reason].append(entry.loc)
            await self._context.loop_share.yield_if_due()
        for code in _UNREAD_CODES:
            urls = left[code]
            number = len(urls) + skipped.unnamed[code]
            if not number:
                continue
            first = urls[0] if urls else None
            _, why = self._context.breaker.find_reason(first or "")
            what = f"{inflect(number, 'sitemaps')} skipped"
            if why:
                what = f"{what} ({why})"
            said = f"{number} {what}: {' '.join(urls[:3])}"
            await self._context.report_code(code, url=first, value=said)

    async def _report_disallowed(self) -> None:
        """Report the guesses and the page that robots.txt disallows, if they may hide a sitemap."""
        code = IssueCode.ROBOTS_DISALLOWED
        urls = [
            entry.loc
            for entry, reason in self._frontier.skipped.named.values()
            if entry.via is Via.WELL_KNOWN and reason == code
        ]
        # Many sites forbid only a folder such as /admin/, where hardly any has a sitemap.
        likely = [url for url in urls if not url.endswith(_UNLIKELY_PATHS)]
        pages = [
            document.url
            for document in self._report.documents
            if document.role is Role.PAGE and document.reason == code
        ]
        may_hide = likely or pages
        if may_hide and self._report.counts[IssueCode.NO_SITEMAP]:
            named = []
            if urls:
                named.append(count_units(len(urls), "guessed paths"))
            if pages:
                named.append("the start page")
            said = " and ".join(named)
            urls += pages
            await self._context.report_code(code, self._site, url=urls[0], value=said)

    async def _report_false_dates(self) -> None:
        """Report the indexes with a date that is too old, if others of them led to a skip."""
        false_dates = self._frontier.false_dates
        left: defaultdict[str, list[str]] = defaultdict(list)
        for entry, reason in self._frontier.skipped.named.values():
            if reason == NOT_MODIFIED and entry.sitemap in false_dates:
                left[entry.sitemap].append(entry.loc)
        for index, urls in left.items():
            number = count_units(len(urls), "sitemaps")
            said = f"{number} skipped: {' '.join(urls[:3])}"
            url = false_dates[index]
            await self._context.report_code(
                IssueCode.INDEX_DATE, index, url=url, value=said
            )

    async def _report_other_site(self) -> None:
        """Report that all URLs are on one other host: a copy may name the original."""
        tally = self._report.tally
        homes = set()  # where it has moved
        for document in self._report.documents:
            if document.role is not Role.SITEMAP:
                host = host_of(document.final_url)
                homes.add(host.removeprefix("www."))
        for plain_host, host in tally.hosts.items():
            if tally.home and plain_host not in homes:
                said = f"all URLs are on {host}"
                await self._context.report_code(
                    IssueCode.OTHER_SITE, self._site, value=said
                )

    def _end_skipped(self) -> Iterator[None]:
        """Give each sitemap that was not fetched its outcome, one a step."""
        report = self._report
        skipped = self._frontier.skipped
        self._frontier.end(LEFT_EARLY)
        for key, (entry, reason) in skipped.named.items():
            document = skipped.asked.get(key) or make_document(entry)
            report.end_document(document, Status.SKIPPED, reason)
            yield
        for reason, number in skipped.unnamed.items():
            report.count_skipped(reason, number)
        report.announce_outcomes()


def _hides_sitemaps(document: Document) -> bool:
    """Return whether a robots.txt or start page that may name sitemaps was not read."""
    if document.role is Role.SITEMAP or document.via is None:
        return False
    if document.status is Status.SKIPPED:
        return document.reason in WALK_LIMITS
    if document.status is Status.PARTIAL and lost_only_flaws(document):
        return False
    is_lost = document.status in (Status.FAILED, Status.PARTIAL)
    return is_lost and document.http_status not in ABSENT_STATUSES


def _count_naming_flaws(document: Document) -> int:
    """Return how many lines of a robots.txt that names sitemaps may hide one."""
    if document.role is not Role.ROBOTS or document.via is None:
        return 0
    return count_flaws(document)
