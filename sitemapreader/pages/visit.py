"""Polite visits of listed URLs, in their order.

A visit asks with GET, because servers refuse HEAD, and reads HTML and text only. A fault is no
finding before it repeats: what failed or was slow is asked again after all others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from enum import StrEnum
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import run_aside
from sitemapreader._read.html import MAX_PAGE_BYTES
from sitemapreader._read.robots import Robots, parse_robots
from sitemapreader._types.errors import FetchError, Redirect
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import ROBOTS_MAX_BYTES, FetchOptions
from sitemapreader._types.urls import has_web_scheme, origin_of
from sitemapreader.fetch.answers import read_body
from sitemapreader.fetch.client import Client, Fetcher, Response, make_client
from sitemapreader.fetch.hosts import HostBreaker
from sitemapreader.fetch.refusals import find_protection
from sitemapreader.pages.facts import (
    HTML_TYPES,
    TEXT_TYPES,
    PageFacts,
    page_type_of,
    read_page,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable, Mapping


MAX_REDIRECTS = 10
"""Redirects that are followed to a page; search engines follow no more."""

ABSENT_STATUSES = frozenset({404, 410})
"""Statuses of responses that say that there is no such page."""


class NotJudged(StrEnum):
    """The reason why a response is no evidence about a page."""

    ROBOTS = "robots"
    """robots.txt forbids the page to us, or cannot be reached."""
    PROTECTION = "protection"
    """A bot protection answered."""
    ASKED_TO_WAIT = "asked-to-wait"
    """The server asks for fewer requests, or its host was given up."""
    COOKIES = "cookies"
    """Redirects form a loop in which a response sets a cookie."""
    GATE = "gate"
    """Most pages, or some of several folders, redirect temporarily to one address: consent."""
    LANGUAGE = "language"
    """It redirects temporarily to a version in the language of the client."""
    NETWORK = "network"
    """An address that may not be reached, or a host that is down or hardly answers."""
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


ACCEPT_PAGES = "text/html, application/xhtml+xml;q=0.9, */*;q=0.5"
VISITS_AT_ONCE = 8
"""Requests at once over all hosts; the fetcher bounds them for one host."""
_PAUSE_CHECK_SECONDS = 1.0
"""Seconds between two checks whether the pause of a host has ended."""
_NOT_JUDGED_REASONS = {
    IssueCode.ROBOTS_DISALLOWED: NotJudged.ROBOTS,
    IssueCode.BLOCKED_BY_SITE: NotJudged.PROTECTION,
    IssueCode.RETRY_LATER: NotJudged.ASKED_TO_WAIT,
    IssueCode.HOST_REFUSES: NotJudged.ASKED_TO_WAIT,
    IssueCode.HOST_DOWN: NotJudged.ASKED_TO_WAIT,
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
        probes: URLs of pages that do not exist: what they answer with 404 or 410 is read.
    """
    rules = PageRobots(fetcher, network.user_agent, robots)
    visits = _Visits(fetcher, rules, network, seconds, slow_seconds, probes)
    for name in trusted:
        visits.client.trust(name)
    waiting = iter(urls)
    tasks = set[asyncio.Task[PageVisit | None]]()
    try:
        while True:
            # what is to be asked again has its turn when all others had theirs
            while len(tasks) < VISITS_AT_ONCE and (
                url := next(waiting, None) or visits.take()
            ):
                tasks.add(asyncio.create_task(visits.visit(url)))
            if not tasks:
                break
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if (visit := task.result()) is not None:
                    yield visit
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Visits:
    """The visits of one call, which share their time, rules, and failures of hosts."""

    def __init__(
        self,
        fetcher: Fetcher,
        rules: PageRobots,
        network: FetchOptions,
        seconds: float,
        slow_seconds: float,
        probes: Collection[str],
    ) -> None:
        self.client = make_client(fetcher, network.user_agent, options=network)
        self._slow_seconds = slow_seconds
        self._probes = frozenset(probes)
        self._rules = rules
        self._breaker = HostBreaker(network, by_document=True)
        self._until = asyncio.get_running_loop().time() + seconds
        self._first: dict[str, PageVisit] = {}
        self._again: deque[str] = deque()
        self._answered: dict[str, float] = {}
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
            async with asyncio.timeout_at(self._until):
                visit = await self._ask(url, is_again=before is not None)
        except TimeoutError:
            if (
                before is not None and before.facts is not None
            ):  # slow, which nothing confirms
                return attrs.evolve(before, seconds=None)
            return PageVisit(url, url, not_judged=NotJudged.TIME)
        has_failed = visit.status is None or visit.status >= 500
        is_doubtful = has_failed or (visit.seconds or 0) > self._slow_seconds
        if before is None and is_doubtful and visit.not_judged is None:
            self._first[url] = visit
            self._again.append(url)
            return None
        return visit

    async def _ask(self, url: str, *, is_again: bool) -> PageVisit:
        breaker = self._breaker
        begun = asyncio.get_running_loop().time()
        try:
            await self._rules.check(url)
            await self._wait_for_host(url)
            opening = self.client.open(
                url,
                headers={"Accept": ACCEPT_PAGES},
                check_redirect=self._rules.check,
                breaker=breaker,
                max_redirects=MAX_REDIRECTS,
                error_pages=ABSENT_STATUSES if url in self._probes else frozenset(),
            )
            async with opening as response:
                visit = await self._read(url, response)
        except FetchError as error:
            # What has failed may fail again, one after the other; and a page that was asked for
            # later, and has answered, shows that the host lives: a third may fail by themselves.
            is_of_page = is_again or self._answered.get(origin_of(url), 0.0) > begun
            if not (is_of_page and (error.http_status or 0) >= 500):
                breaker.note_error(url, error)
            return _visit_of_error(url, error)
        finally:
            breaker.end_trial(url)
        breaker.note_answer(url)
        origin = origin_of(url)
        self._answered[origin] = max(begun, self._answered.get(origin, 0.0))
        return visit

    async def _wait_for_host(self, url: str) -> None:
        """Wait while a host is paused, unless it is given up: then the request is refused.

        Raises:
            FetchError: RETRY_LATER if the pause is longer than the time for all visits.
        """
        breaker = self._breaker
        # Polled, because a pause ends by the clock alone.
        while 0 < (wait := breaker.wait(url)) < inf:
            if self._until - asyncio.get_running_loop().time() < wait:
                raise FetchError(IssueCode.RETRY_LATER, url, f"in {wait:.0f} s")
            await asyncio.sleep(min(wait, _PAUSE_CHECK_SECONDS))
        if wait == 0:
            breaker.begin_trial(url)

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
        data = b""
        if page_type_of(headers.get("content-type")) in HTML_TYPES | TEXT_TYPES:
            data = await read_body(response, MAX_PAGE_BYTES, cut=True)
        if vendor := find_protection(response.status, headers):
            return attrs.evolve(visit, not_judged=NotJudged.PROTECTION, error=vendor)

        facts = await run_aside(partial(read_page, data, final, headers), len(data))
        return attrs.evolve(visit, facts=facts)


def _visit_of_error(url: str, error: FetchError) -> PageVisit:
    """Return a visit from a failed request."""
    reason = _NOT_JUDGED_REASONS.get(error.code)
    sets_cookie = any(each.sets_cookie for each in error.redirects)
    asks_to_wait = error.http_status == 429 or (
        error.http_status == 503 and error.retry_after_seconds is not None
    )
    if error.code in _CIRCLES and sets_cookie:
        reason = NotJudged.COOKIES
    elif asks_to_wait and reason is None:
        reason = NotJudged.ASKED_TO_WAIT
    if error.redirects:
        final = error.redirects[-1].target
    else:
        final = url
    if not has_web_scheme(final) or error.code is IssueCode.INVALID_URL:
        final = error.url  # where the redirect to no URL stands
    # A redirect from https to http is not followed, and says where the page is all the same.
    is_told = error.http_status is not None or error.code is IssueCode.DOWNGRADE
    return PageVisit(
        url,
        final,
        error.redirects,
        error.http_status,
        error="" if is_told else f"{error.code}: {error.detail}",
        not_judged=reason,
    )


# -- the robots.txt of each origin that pages are on

MAX_ORIGINS = 100
"""Origins whose robots.txt is remembered: rules take megabytes, and pages may be on any host."""

_TELLING = frozenset(
    {IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT, IssueCode.BLOCKED_BY_SITE}
)
"""Reasons that hold for a page if its robots.txt fails with them, and say more."""


_PARSED_AT_ONCE_BYTES = 4_096
"""Size of a robots.txt that takes some milliseconds. Nine of ten files are smaller."""


@attrs.define
class _Origin:
    """The robots.txt of an origin, `None` until somebody has fetched it."""

    robots: Robots | None = None
    fetching: asyncio.Lock = attrs.field(factory=asyncio.Lock)


async def parse_robots_aside(
    body: bytes, url: str, agent: str, *, complete: bool = True
) -> Robots:
    """Parse a robots.txt, and index its rules for an agent, in a thread if it is large."""

    def parse() -> Robots:
        robots = parse_robots(body, url, complete=complete)
        robots.can_fetch(
            f"{origin_of(url)}/", agent
        )  # the first question makes the index
        return robots

    if len(body) <= _PARSED_AT_ONCE_BYTES:
        return parse()
    return await asyncio.to_thread(parse)


class PageRobots:
    """Cache of robots.txt files, for requests of pages.

    That of any origin is asked for, for no page may be called forbidden that is not; the one that
    was not needed for longest is forgotten.

    Args:
        fetcher: fetches them, and learns their Crawl-delay.
        user_agent: the crawler that is judged, if the fetcher has no name.
        known: origin -> its robots.txt, of those that were read before.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        user_agent: str,
        known: Mapping[str, Robots] | None = None,
    ) -> None:
        self._client = Client(fetcher, user_agent)
        self._known = known or {}
        self._origins: dict[str, _Origin] = {}

    async def check(self, url: str) -> None:
        """Raise FetchError, mostly ROBOTS_DISALLOWED, if a page must not be visited.

        An unreachable robots.txt forbids all (RFC 9309, section 2.3.1.4).
        """
        robots = await self.find(origin_of(url))
        if not robots.complete or robots.find_refusal(url, self._client.user_agent):
            raise FetchError(IssueCode.ROBOTS_DISALLOWED, url)

    async def find(self, origin: str) -> Robots:
        """Return the robots.txt of an origin: not `complete` if it could not be read.

        Raises:
            FetchError: what hindered this request hinders those for pages as well.
        """
        if origin in self._known:
            return self._known[origin]
        place = self._origins[origin] = self._origins.pop(origin, _Origin())
        if len(self._origins) > MAX_ORIGINS:
            del self._origins[next(iter(self._origins))]
        async with place.fetching:
            if place.robots is None:
                place.robots = await self._fetch(origin)
        return place.robots

    async def _fetch(self, origin: str) -> Robots:
        url = f"{origin}/robots.txt"
        try:
            async with self._client.open(url) as response:
                body = await read_body(response, ROBOTS_MAX_BYTES, cut=True)
            robots = await parse_robots_aside(
                body, response.url, self._client.user_agent
            )
        except FetchError as error:
            if error.code in _TELLING:
                raise
            robots = Robots(url, complete=error.is_absent)
        delay = robots.crawl_delay(self._client.user_agent)
        if delay is not None:
            self._client.set_crawl_delay(origin, delay)
        return robots
