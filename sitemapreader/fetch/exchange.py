"""Exchange: the requests for one document, with redirects, retries and slots."""

from __future__ import annotations

from base64 import b64encode
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import AddressPolicy, TrustSet, literal_address
from sitemapreader.fetch.answers import (
    MAX_REFUSAL_BYTES,
    REFUSAL_SECONDS,
    Body,
    DeadlineClock,
    Refusal,
    read_start,
    wants_page,
)
from sitemapreader.fetch.request import (
    REDIRECTS,
    CheckRedirect,
    RedirectChain,
    RequestUrl,
    is_conditional,
    make_headers,
    parse_request_url,
)
from sitemapreader.fetch.retries import HostBreaker, fetch_with_retries
from sitemapreader.fetch.throttle import HostThrottle, LongWaitError, Slot
from sitemapreader.fetch.transport import AddressBook, Addresses, Answer, Transmission, Transport
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.logs import log_request
from sitemapreader.options import ROBOTS_MAX_CRAWL_DELAY_SECONDS, FetchOptions, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


_TOO_MANY_REQUESTS = 429


class HttpResponse:
    """A response whose headers have been read, and whose body has not.

    Attributes:
        headers: by lower-case name; several of one name are joined by a comma, those of
            X-Robots-Tag and Set-Cookie by a line feed.
        issues: repairs of URLs on the way here (`userinfo-removed`), and, at the latest at the end
            of the body, what the server sent besides (`surplus-bytes`).
        is_permanent: whether all redirects on the way were permanent (301, 308).
        tries: the number of attempts, redirects not counted.
        address: the first address of the host; "" where the client resolves names itself.
    """

    def __init__(
        self, answer: Answer, slot: Slot, chain: RedirectChain, body: Body, began: float
    ) -> None:
        self.url = str(chain.target)
        self.status = answer.status
        self.headers = answer.headers
        self.issues = chain.issues
        self.redirects = tuple(chain.redirects)
        self.is_permanent = chain.is_permanent
        self.tries = 1
        self.address = ""
        self._has_surplus = False
        self._answer = answer
        self._slot = slot
        self._body = body
        self._began = began
        self._note_surplus()

    @property
    def wait_seconds(self) -> float:
        """The seconds of waiting for the server in the last try, redirects included."""
        return self._body.clock.waited - self._began

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, never decompressed; iterate once only.

        Raises:
            FetchError: the body broke off; everything that had arrived was yielded before.
        """
        while piece := await self._next_piece():
            yield piece
        await self.aclose()

    async def _next_piece(self) -> bytes:
        await self._slot.resume()
        try:
            return await self._body.next_piece()
        finally:
            self._slot.pause()
            self._note_surplus()

    def _note_surplus(self) -> None:
        if self._answer.has_surplus and not self._has_surplus:
            self._has_surplus = True
            self.issues.append(make_issue(IssueCode.SURPLUS_BYTES, url=self.url))

    async def aclose(self) -> None:
        """Release the slot and the connection; leaving `open` does so too."""
        self._slot.release()
        await self._answer.aclose()


class Network:
    """What all requests of a fetcher share."""

    def __init__(self, options: FetchOptions, limits: Limits, transport: Transport) -> None:
        self.options = options
        self.limits = limits
        self.transport = transport
        self.policy = AddressPolicy(options.allow_networks, options.allow_ports)
        self.throttle = HostThrottle(options.per_host, options.delay_seconds)
        self.addresses = HostThrottle(options.per_address, 0.0)
        self.book = AddressBook(transport.look_up, self.policy)


@attrs.define(eq=False)
class Exchange:
    """The requests for one document."""

    network: Network
    url: str
    trust: TrustSet
    headers: Mapping[str, str] | None = None
    check_redirect: CheckRedirect | None = None
    requester: object = None
    breaker: HostBreaker | None = None
    max_redirects: int | None = None
    """Those of the options if it is `None`."""
    clock: DeadlineClock = attrs.field(init=False)
    addresses: Addresses = attrs.field(default=(), init=False)
    """Those of the request that is made now."""
    began: float = attrs.field(default=0.0, init=False)
    """The time of the clock when it began, by resolving the name."""

    def __attrs_post_init__(self) -> None:
        self.clock = DeadlineClock(self.network.options.total_seconds)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[HttpResponse]:
        """Give the response."""
        options = self.network.options
        start = parse_request_url(self.url)
        response, tries = await fetch_with_retries(
            lambda: self._fetch(start), options, self.url, self.breaker
        )
        response.tries = tries
        try:
            yield response
        finally:
            await response.aclose()

    async def _fetch(self, start: RequestUrl) -> HttpResponse:
        """Make one attempt: follow redirects from `start` to the document."""
        began, options = self.clock.waited, self.network.options
        chain = RedirectChain(start, options, self.check_redirect, self.max_redirects)
        if start.userinfo and start.userinfo != self.trust.find_login(start.origin):
            chain.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=str(start)))
        try:
            return await self._follow(chain, began)
        except FetchError as error:
            error.redirects = tuple(chain.redirects)
            raise

    async def _follow(self, chain: RedirectChain, began: float) -> HttpResponse:
        while True:
            slot = await self._acquire_slot(chain)
            answer = None
            try:
                answer = await self._request(chain)
                location = await self._find_redirect(answer, chain.target)
                if location is None:
                    slot.pause()
                    body = Body(
                        answer,
                        str(chain.target),
                        clock=self.clock,
                        options=self.network.options,
                        max_bytes=self.network.limits.raw_bytes,
                    )
                    response = HttpResponse(answer, slot, chain, body, began)
                    response.address = str(self.addresses[0]["host"]) if self.addresses else ""
                    return response
            except BaseException:
                await _discard(answer, slot)
                raise
            await _discard(answer, slot)
            await chain.follow_if_allowed(
                location, status=answer.status, sets_cookie="set-cookie" in answer.headers
            )

    def _is_home(self, chain: RedirectChain) -> bool:
        origin = chain.start.origin
        return chain.same_origin and self.network.transport.is_home(origin, self.trust)

    async def _acquire_slot(self, chain: RedirectChain) -> Slot:
        """Wait for a slot; for a breaker, raise FetchError instead of a long wait."""
        network, breaker, target, trust = self.network, self.breaker, chain.target, self.trust
        network.transport.check()
        if not network.policy.allows_port(target.port, trust.trusts):
            raise FetchError(IssueCode.BLOCKED_PORT, str(target), f"port {target.port}")
        literal = literal_address(target.host)
        if literal is not None and not network.policy.allows(target.host, literal, trust.trusts):
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), literal)
        resolves = network.transport.resolves(is_home=self._is_home(chain))

        async def join() -> Slot | None:
            self.addresses, self.began = (), self.clock.waited
            if resolves:
                return None
            self.addresses = await network.book.find(
                target, trust, self.clock, network.options.headers_seconds
            )
            # One address stands for all names of a server: the first in order.
            address = min(str(each["host"]) for each in self.addresses)
            return await network.addresses.acquire(address, self.requester)

        if breaker is None:
            return await network.throttle.acquire(target.host, self.requester, join=join)
        breaker.check(self.url)
        try:
            slot = await network.throttle.acquire(
                target.host, self.requester, max_wait=ROBOTS_MAX_CRAWL_DELAY_SECONDS, join=join
            )
        except LongWaitError as error:
            breaker.postpone(self.url, error.seconds)
            raise FetchError(IssueCode.HOST_REFUSES, self.url, str(error)) from error
        try:
            breaker.check(self.url)  # again: the host may have failed during the wait
        except FetchError:
            slot.release()
            raise
        return slot

    async def _request(self, chain: RedirectChain) -> Answer:
        network, target, is_home = self.network, chain.target, self._is_home(chain)
        userinfo = self.trust.find_login(chain.start.origin)
        headers = make_headers(
            network.options,
            self.headers or {},
            present=network.transport.own_headers,
            same_origin=is_home,
            authorization=f"Basic {b64encode(userinfo.encode()).decode()}" if userinfo else "",
        )
        is_trusted = any(target.host in hosts for hosts in self.trust.trusts)
        seconds = network.options.headers_seconds - (self.clock.waited - self.began)
        made = Transmission(target, headers, self.addresses, is_home, is_trusted, seconds)
        with log_request(str(target)) as request:
            answer = await network.transport.send(made, self.clock)
            request.status = answer.status
        return answer

    async def _find_redirect(self, answer: Answer, target: RequestUrl) -> str | None:
        """Return the Location of a redirect, `None` for a document; raise for the rest."""
        throttle, options = self.network.throttle, self.network.options
        status, headers = answer.status, answer.headers
        if status == 200 or (status == 304 and is_conditional(self.headers or {})):
            throttle.speed_up(target.host)
            return None
        if status == _TOO_MANY_REQUESTS:
            throttle.slow_down(target.host)
        if status in REDIRECTS and "location" in headers:
            return headers["location"]
        raw = b""
        if wants_page(status):
            raw = await read_start(answer, self.clock, MAX_REFUSAL_BYTES, REFUSAL_SECONDS)
        refusal = Refusal(str(target), status, answer.reason, headers, raw)
        error = refusal.make_error(options.retry_after_seconds)
        wait = error.retry_after_seconds
        if wait is not None and wait <= options.retry_after_seconds:
            throttle.defer(target.host, wait)
        raise error


async def _discard(answer: Answer | None, slot: Slot) -> None:
    """Close an answer without reading its body: that of a redirect can be endless."""
    slot.release()
    if answer is not None:
        await answer.aclose()
