"""Polite visits of listed URLs, in their order.

A visit asks with GET, because servers refuse HEAD, and reads HTML and text only. A fault is no
finding before it repeats: what failed or was slow is asked again after all others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import run_aside
from sitemapreader._read.html import MAX_PAGE_BYTES
from sitemapreader._types.errors import FetchError, Redirect
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader._types.urls import has_web_scheme, origin_of, url_key
from sitemapreader.fetch.clients import make_client
from sitemapreader.fetch.hosts import HostBreaker
from sitemapreader.fetch.refusals import find_protection
from sitemapreader.fetch.responses import read_body
from sitemapreader.pages.client import PageClient
from sitemapreader.pages.facts import (
    HTML_TYPES,
    TEXT_TYPES,
    PageFacts,
    page_type_of,
    read_page,
)
from sitemapreader.pages.robots import RobotsCache

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable, Mapping

    from sitemapreader._read.robots import Robots
    from sitemapreader.fetch.client import Fetcher, Response


PROBE_STATUSES = frozenset(range(400, 600)) - {401, 407, 429, 503}
"""Statuses with which a host may respond to a made-up path, in place of a request to log in or to
wait: the page that comes with one is its error page."""


class NotJudged(StrEnum):
    """The reason why a response is no evidence about a page."""

    ROBOTS = "robots"
    """robots.txt forbids the page to us."""
    ROBOTS_UNREACHABLE = "robots-unreachable"
    """robots.txt cannot be read, which forbids all pages."""
    PROTECTION = "protection"
    """A bot protection answered."""
    ASKED_TO_WAIT = "asked-to-wait"
    """The server asks for fewer requests, or refuses several in a row."""
    GIVEN_UP = "given-up"
    """Its host failed several times in a row, and was not asked again."""
    COOKIES = "cookies"
    """Redirects form a loop in which a response sets a cookie."""
    GATE = "gate"
    """Most pages, or some of several folders, redirect temporarily to one address: consent."""
    LANGUAGE = "language"
    """It redirects temporarily to a version in the language of the client."""
    NETWORK = "network"
    """An address that may not be reached, or a host that is down or hardly answers."""
    ELSEWHERE = "elsewhere"
    """The URL is on another host than the built folder, whose files do not answer for it."""
    TIME = "time"
    """Its turn did not come within the time for all pages."""


@attrs.frozen
class PageVisit:
    """The visit of one URL: its response, and the facts in it.

    Attributes:
        url: as it is listed.
        final_url: after redirects.
        redirects: on the way, in their order.
        status: of the last answer; `None` without one.
        headers: of the last answer, by lower-case name.
        seconds: from the request to the first byte of the answer.
        facts: what the page says of itself; `None` if it was not read.
        error: why there is no answer; "" if there is one.
        not_judged: why the answer says nothing about the page; `None` if it does.
        file: of a built folder, relative to it; "" on the network.
        may_redirect: whether most hosts redirect its URL to the one with a slash at its end: the
            index of a built folder, whose host is not known.
    """

    url: str
    final_url: str
    redirects: tuple[Redirect, ...] = ()
    status: int | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict)
    seconds: float | None = None
    facts: PageFacts | None = None
    error: str = ""
    not_judged: NotJudged | None = None
    file: str = ""
    may_redirect: bool = False

    @property
    def is_redirected(self) -> bool:
        """True if its redirects lead to another page."""
        return url_key(self.final_url) != url_key(self.url)


VISITS_AT_ONCE = 8
"""Requests at once over all hosts; the fetcher bounds them for one host."""
_NOT_JUDGED_REASONS = {
    IssueCode.ROBOTS_DISALLOWED: NotJudged.ROBOTS,
    IssueCode.ROBOTS_UNREACHABLE: NotJudged.ROBOTS_UNREACHABLE,
    IssueCode.BLOCKED_BY_SITE: NotJudged.PROTECTION,
    IssueCode.RETRY_LATER: NotJudged.ASKED_TO_WAIT,
    IssueCode.HOST_REFUSES: NotJudged.ASKED_TO_WAIT,
    IssueCode.HOST_DOWN: NotJudged.GIVEN_UP,
    IssueCode.BLOCKED_ADDRESS: NotJudged.NETWORK,
    IssueCode.BLOCKED_PORT: NotJudged.NETWORK,
}
_CIRCLES = frozenset({IssueCode.REDIRECT_LOOP, IssueCode.TOO_MANY_REDIRECTS})


async def visit_pages(
    urls: Iterable[str],
    fetcher: Fetcher,
    *,
    seconds: float = 900.0,
    slow_seconds: float = 3.0,
    robots: Mapping[str, Robots] | None = None,
    network: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
    trusted: Iterable[str] = (),
    probes: Collection[str] = (),
    respect_robots: bool = True,
) -> AsyncGenerator[PageVisit, None]:
    """Visit pages, and yield the response of each as it comes.

    robots.txt and its Crawl-delay are obeyed; redirects are followed to where it allows them.
    Nothing is raised for what a server does: a visit that says nothing about its page has
    `not_judged`. Leaving the loop early cancels the visits that are under way; close the iterator
    then (`contextlib.aclosing`).

    Args:
        urls: of the pages, in the order in which they are asked for.
        fetcher: an `HttpFetcher`, which bounds the requests to one host, or one of your own.
        seconds: for all of them; what is not reached then is not judged.
        slow_seconds: an answer that takes longer is asked for again.
        robots: origin -> its robots.txt, of those that you have.
        network: how many failures of a host are too many.
        trusted: URLs whose hosts may be private, because you named them.
        probes: URLs of pages that do not exist: their error pages are read, whatever the status.
        respect_robots: False to request what robots.txt disallows, and without its Crawl-delay.
    """
    client = make_client(fetcher, network.user_agent, network)
    for name in trusted:
        client.trust(name)
    until = asyncio.get_running_loop().time() + seconds
    rules = RobotsCache(
        client, network.user_agent, robots, respect=respect_robots, until=until
    )
    breaker = HostBreaker(network, by_document=True)
    pages = PageClient(client, rules, breaker, until)
    visits = _Visits(pages, breaker, slow_seconds, probes)
    waiting = iter(urls)
    tasks = set[asyncio.Task[PageVisit | None]]()
    try:
        while True:
            # what is to be asked again has its turn when all others had theirs
            while len(tasks) < VISITS_AT_ONCE:
                url = next(waiting, None) or visits.take()
                if not url:
                    break
                task = asyncio.create_task(visits.visit(url))
                tasks.add(task)
            if not tasks:
                break
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                visit = task.result()
                if visit is not None:
                    yield visit
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Visits:
    """The visits of one call, which share their time, rules, and failures of hosts."""

    def __init__(
        self,
        pages: PageClient,
        breaker: HostBreaker,
        slow_seconds: float,
        probes: Collection[str],
    ) -> None:
        self._pages = pages
        self._breaker = breaker
        self._slow_seconds = slow_seconds
        self._probes = frozenset(probes)
        self._first: dict[str, PageVisit] = {}
        self._again: deque[str] = deque()
        self._answered: defaultdict[str, float] = defaultdict(float)
        """Origin -> time of the request of its last page that responded."""

    def take(self) -> str | None:
        """Return a URL to ask a second time."""
        if self._again:
            return self._again.popleft()
        return None

    async def visit(self, url: str) -> PageVisit | None:
        """Visit a page; return `None` if it should be requested again."""
        before = self._first.pop(url, None)
        try:
            async with asyncio.timeout_at(self._pages.until):
                visit = await self._ask(url, is_again=before is not None)
        except TimeoutError:
            # slow, which nothing confirms
            if before is not None and before.facts is not None:
                return attrs.evolve(before, seconds=None)
            return PageVisit(url, url, not_judged=NotJudged.TIME)
        has_failed = visit.status is None or visit.status >= 500
        needs_second_visit = has_failed or (visit.seconds or 0) > self._slow_seconds
        if before is None and needs_second_visit and visit.not_judged is None:
            self._first[url] = visit
            self._again.append(url)
            return None
        return visit

    async def _ask(self, url: str, *, is_again: bool) -> PageVisit:
        breaker = self._breaker
        origin = origin_of(url)
        begun = asyncio.get_running_loop().time()
        errors = frozenset[int]()
        if url in self._probes:
            errors = PROBE_STATUSES
        try:
            async with self._pages.open(url, error_pages=errors) as response:
                visit = await self._read(url, response)
        except FetchError as error:
            # What has failed may fail again, one after the other; and a page that was asked for
            # later, and has answered, shows that the host lives: a third may fail by themselves.
            is_of_page = is_again or self._answered[origin] > begun
            self._note_error(url, error, is_of_page=is_of_page)
            return _visit_of_error(url, error)
        finally:
            breaker.end_trial(url)
        breaker.note_response(url)
        self._answered[origin] = max(begun, self._answered[origin])
        return visit

    def _note_error(
        self,
        url: str,
        error: FetchError,
        *,
        is_of_page: bool,
    ) -> None:
        """Count a failure of a host: after redirects, of the last one.

        A host that redirects has responded, elsewhere or in a circle.
        """
        failed = _find_last_target(url, error)
        is_circle = error.code in _CIRCLES and not _sets_cookie(error)
        if is_circle or origin_of(failed) != origin_of(url):
            self._breaker.note_response(url)
        has_failed = is_of_page and (error.http_status or 0) >= 500
        if not (is_circle or has_failed):
            self._breaker.note_error(failed, error)

    async def _read(self, url: str, response: Response) -> PageVisit:
        headers = response.headers
        final = response.url
        visit = PageVisit(
            url,
            final,
            redirects=tuple(getattr(response, "redirects", ())),
            status=response.status,
            headers=headers,
            seconds=getattr(response, "wait_seconds", None),
        )
        if page_type_of(headers.get("content-type")) in HTML_TYPES | TEXT_TYPES:
            data = await read_body(response, MAX_PAGE_BYTES, cut=True)
        else:  # as much as shows that it is not empty
            data = await anext(response.chunks(), b"")
        vendor = find_protection(response.status, headers)
        if vendor:
            return attrs.evolve(visit, not_judged=NotJudged.PROTECTION, error=vendor)

        read = partial(read_page, data, final, headers)
        facts = await run_aside(read, len(data))
        return attrs.evolve(visit, facts=facts)


def _find_last_target(url: str, error: FetchError) -> str:
    """Return the URL that the redirects of a failed request have led to."""
    for redirect in error.redirects[-1:]:
        return redirect.target
    return url


def _sets_cookie(error: FetchError) -> bool:
    """Return whether a redirect on the way sets a cookie, which may end a circle."""
    return any(each.sets_cookie for each in error.redirects)


def _visit_of_error(url: str, error: FetchError) -> PageVisit:
    """Return a visit from a failed request."""
    reason = _NOT_JUDGED_REASONS.get(error.code)
    asks_to_wait = error.http_status == 429 or (
        error.http_status == 503 and error.retry_after_seconds is not None
    )
    if error.code in _CIRCLES and _sets_cookie(error):
        reason = NotJudged.COOKIES
    elif asks_to_wait and reason is None:
        reason = NotJudged.ASKED_TO_WAIT
    final = _find_last_target(url, error)
    if not has_web_scheme(final) or error.code is IssueCode.INVALID_URL:
        final = error.url  # where the redirect to no URL stands
    # A redirect from https to http is not followed, and says where the page is all the same.
    if error.http_status is not None or error.code is IssueCode.DOWNGRADE:
        problem = ""
    else:
        problem = f"{error.code}: {error.detail}"
    return PageVisit(
        url,
        final,
        error.redirects,
        error.http_status,
        error=problem,
        not_judged=reason,
    )
