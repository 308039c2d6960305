"""HttpFetcher: an HTTP client that is polite, bounded, and safe with any URL.

A request passes these modules in turn: `request` checks its URL, `addresses` its port and address.
`throttle` makes it wait for slots, of its host and of the address that `resolver` finds, and
`client` sends it. `request` follows redirects one at a time, `retries` repeats what failed, and
`body` bounds the body while it arrives.
"""

from __future__ import annotations

from base64 import b64encode
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import AddressPolicy, literal_address
from sitemapreader.fetch.body import Body, DeadlineClock, WaitTimer, read_start
from sitemapreader.fetch.breaker import BREAKER
from sitemapreader.fetch.client import AiohttpTransport, Answer
from sitemapreader.fetch.headers import find_user_agent, is_conditional
from sitemapreader.fetch.refusals import MAX_REFUSAL_BYTES, REFUSAL_SECONDS, Refusal, wants_page
from sitemapreader.fetch.request import REDIRECTS, RedirectChain, RequestUrl, parse_request_url
from sitemapreader.fetch.retries import fetch_with_retries
from sitemapreader.fetch.throttle import HostThrottle, LongWaitError, Slot
from sitemapreader.fetch.trust import FetcherTrust, TrustSet
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.logs import log_request
from sitemapreader.options import ROBOTS_MAX_CRAWL_DELAY_SECONDS, FetchOptions, Limits
from sitemapreader.urls import host_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import aiohttp
    from aiohttp.abc import AbstractResolver

    from sitemapreader.fetch.request import CheckRedirect

_TOO_MANY_REQUESTS = 429
KEEPALIVE_SECONDS = 15.0
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class HttpResponse:
    """A response whose headers have been read, and whose body has not.

    Attributes:
        url: the URL after redirects.
        status: 200, or 304 if the request had a validator.
        headers: by lower-case name; several of one name are joined by a comma.
        issues: repairs of URLs on the way here (`userinfo-removed`).
        is_permanent: whether all redirects on the way were permanent (301, 308).
        tries: the number of attempts, redirects not counted.
        address: the address that was connected to; "" behind a proxy, and where it is not known.
    """

    def __init__(
        self, answer: Answer, slot: Slot, chain: RedirectChain, body: Body, timer: WaitTimer
    ) -> None:
        self.url = str(chain.target)
        self.status = answer.status
        self.headers = answer.headers
        self.issues = chain.issues
        self.is_permanent = chain.is_permanent
        self.tries = 1
        self.address = answer.address
        self._answer = answer
        self._slot = slot
        self._body = body
        self._timer = timer

    @property
    def wait_seconds(self) -> float:
        """The seconds of waiting for the server in the last try, redirects included."""
        return self._timer.seconds

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, never decompressed; iterate once only.

        Raises:
            FetchError: the body broke off; everything that had arrived was yielded before.
        """
        while piece := await self._next_piece():
            yield piece
        self.close()

    async def _next_piece(self) -> bytes:
        await self._slot.resume()
        try:
            return await self._body.next_piece()
        finally:
            self._slot.pause()

    def close(self) -> None:
        """Release the connection and the slot; leaving `open` does so too."""
        self._answer.close()
        self._slot.release()


class HttpFetcher:
    """Open URLs over HTTP, politely, within limits, and only where requests may go.

    Use it as an async context manager, or call `aclose` at the end; one fetcher belongs to one
    event loop. At most `options.per_host` responses of one host are open at once: another `open`
    waits until one of them is closed or read to its end. A task that opens more than that at once
    waits for ever. The number of open responses in all is not bounded.

    A walk and its consumer may share a fetcher. A response that is not read for 0.2 s lends its
    place to a request of the other side. Reading continues when there is room again. A host never
    gets more than `per_host` requests at once. (Leave `limit_per_host` of a connector of your own
    at 0: it does not know of loans.)

    Args:
        options: how the network is used.
        session: your own aiohttp session, with its headers, cookies, proxy, TLS context, connector
            and middlewares; it is never closed here. Its headers, like `options.headers`, go only
            to origins that they are meant for (see `trust`), except User-Agent and Accept. Bodies
            are not decoded, whatever its `auto_decompress` says. Its connector makes the
            connections, so the addresses that names resolve to are *not* checked; literal
            addresses in URLs are. The same holds behind a proxy, which resolves names itself.
        resolver: resolves names in place of the system's resolver, or of aiodns (in the extra
            `speedups`) where that is installed. The addresses that it gives are checked like any
            others. It is not closed here.
        keepalive_seconds: how long connections stay open for another request.
        limits: how much is read of one document.

    Raises:
        ValueError: `options.allow_networks` contains something that is not a network.
    """

    def __init__(
        self,
        options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
        *,
        session: aiohttp.ClientSession | None = None,
        resolver: AbstractResolver | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    ) -> None:
        self.options = options
        self.limits = limits
        self._policy = AddressPolicy(options.allow_networks, options.allow_ports)
        self._throttle = HostThrottle(options.per_host, options.delay_seconds)
        self._addresses = HostThrottle(options.per_address, 0.0)
        self._transport = AiohttpTransport(
            options,
            self._policy,
            session,
            resolver=resolver,
            keepalive_seconds=keepalive_seconds,
        )
        self._trust = FetcherTrust()

    @property
    def user_agent(self) -> str:
        """The User-Agent header that is sent to origins that you name."""
        return find_user_agent(self.options, self._transport.own_headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the session that the fetcher made; further calls do nothing."""
        await self._transport.aclose()

    def trust(self, url: str) -> None:
        """Treat `url` as named by the caller, not by a document.

        Its host need not be public (`http://localhost:8000/`), its port may be used, and its
        userinfo is sent to its origin as Basic authentication. After the first call,
        `options.headers` and the headers of a given session go only to origins of such URLs; before
        it, to the origin of every URL that is opened. They never follow a redirect to another
        origin. A URL that cannot be requested is ignored; `open` reports why.

        What a walk trusts counts for that walk, and for requests outside of walks while it runs.
        """
        self._trust.add(url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep `seconds` between two requests to a host, as its robots.txt asks.

        The delay is at most 60 and at least `options.delay_seconds`; NaN counts as the latter.
        """
        if host := host_of(host_url):
            self._throttle.set_delay(host, min(seconds, ROBOTS_MAX_CRAWL_DELAY_SECONDS))

    @asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        check_redirect: CheckRedirect | None = None,
    ) -> AsyncIterator[HttpResponse]:
        """Request `url`, follow its redirects, and give the response.

        `headers` are added to `options.headers`. With a validator among them (If-None-Match,
        If-Modified-Since), which redirects keep, the status may be 304. `check_redirect` is awaited
        with each URL that a redirect leads to, and raises FetchError if it must not be requested.

        Raises:
            FetchError: there is no document; `code` says why, and `url` where.
            RuntimeError: the fetcher is closed, or belongs to another event loop.
        """
        start = parse_request_url(url)
        clock = DeadlineClock(self.options.total_seconds)
        fetch = partial(self._fetch, start, headers or _NO_HEADERS, clock, check_redirect)
        response, tries = await fetch_with_retries(fetch, self.options, url)
        response.tries = tries
        try:
            yield response
        finally:
            response.close()

    async def _fetch(
        self,
        start: RequestUrl,
        extra: Mapping[str, str],
        clock: DeadlineClock,
        check: CheckRedirect | None,
    ) -> HttpResponse:
        """Make one attempt: follow redirects from `start` to the document."""
        chain, trust = RedirectChain(start, self.options, check), self._trust.find()
        timer = WaitTimer(clock)
        if start.userinfo and start.userinfo != trust.find_login(start.origin):
            chain.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=str(start)))
        while True:
            self._check_reach(chain.target, trust)
            slot = await self._acquire_slot(chain, clock)
            answer = None
            try:
                answer = await self._request(chain, extra, clock, trust)
                location = await self._find_redirect(answer, chain.target, extra, clock)
            except BaseException:
                self._discard(answer, slot)
                raise
            if location is None:
                slot.pause()
                body = self._make_body(answer, chain, clock)
                return HttpResponse(answer, slot, chain, body, timer)
            self._discard(answer, slot)
            await chain.follow_if_allowed(location, status=answer.status)

    async def _acquire_slot(self, chain: RedirectChain, clock: DeadlineClock) -> Slot:
        """Wait for a slot of the host; in a walk, raise FetchError instead of a long wait."""
        host, breaker, url = chain.target.host, BREAKER.get(), str(chain.start)

        async def join() -> Slot | None:
            address = await self._transport.find_server(chain.target, clock)
            return await self._addresses.acquire(address) if address else None

        if breaker is None:
            return await self._throttle.acquire(host, join=join)
        breaker.check(url)
        try:
            slot = await self._throttle.acquire(
                host, max_wait=ROBOTS_MAX_CRAWL_DELAY_SECONDS, join=join
            )
        except LongWaitError as error:
            breaker.postpone(url, error.seconds)
            raise FetchError(IssueCode.HOST_REFUSES, url, str(error)) from error
        try:
            breaker.check(url)  # again: the host may have failed during the wait
        except FetchError:
            slot.release()
            raise
        return slot

    def _check_reach(self, target: RequestUrl, trust: TrustSet) -> None:
        if not self._policy.allows_port(target.port, trust.hosts):
            raise FetchError(IssueCode.BLOCKED_PORT, str(target), f"port {target.port}")
        literal = literal_address(target.host)
        if literal is not None and not self._policy.allows(target.host, literal, trust.hosts):
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), literal)

    async def _request(
        self,
        chain: RedirectChain,
        extra: Mapping[str, str],
        clock: DeadlineClock,
        trust: TrustSet,
    ) -> Answer:
        origin = chain.start.origin
        userinfo = trust.find_login(origin)
        with log_request(str(chain.target)) as request:
            answer = await self._transport.request(
                chain.target,
                extra,
                same_origin=chain.same_origin and trust.may_see_secrets(origin),
                authorization=f"Basic {b64encode(userinfo.encode()).decode()}" if userinfo else "",
                trusted=trust.hosts,
                clock=clock,
            )
            request.status = answer.status
        return answer

    async def _find_redirect(
        self, answer: Answer, target: RequestUrl, extra: Mapping[str, str], clock: DeadlineClock
    ) -> str | None:
        """Return the Location of a redirect, `None` for a document; raise for the rest."""
        status, headers = answer.status, answer.headers
        if status == 200 or (status == 304 and is_conditional(extra)):
            self._throttle.speed_up(target.host)
            return None
        if status == _TOO_MANY_REQUESTS:
            self._throttle.slow_down(target.host)
        if status in REDIRECTS and "location" in headers:
            return headers["location"]
        raw = b""
        if wants_page(status):
            raw = await read_start(answer, clock, MAX_REFUSAL_BYTES, REFUSAL_SECONDS)
        refusal = Refusal(str(target), status, answer.reason, headers, raw)
        error = refusal.make_error(self.options.retry_after_seconds)
        wait = error.retry_after_seconds
        if wait is not None and wait <= self.options.retry_after_seconds:
            self._throttle.defer(target.host, wait)
        raise error

    def _discard(self, answer: Answer | None, slot: Slot) -> None:
        """Close an answer without reading its body: that of a redirect can be endless."""
        if answer is not None:
            answer.close()
        slot.release()

    def _make_body(self, answer: Answer, chain: RedirectChain, clock: DeadlineClock) -> Body:
        return Body(
            answer,
            str(chain.target),
            clock=clock,
            options=self.options,
            max_bytes=self.limits.raw_bytes,
        )
