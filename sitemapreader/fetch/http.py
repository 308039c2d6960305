"""HttpFetcher: an HTTP client that is polite, bounded, and safe with any URL.

An exchange consists of all requests for one document: `urls` checks a URL and follows redirects,
`hosts` delays a request until its turn, `addresses` checks the addresses that it may go to,
`session` sends it over a connection that gives one response for each request, and `responses`
limits the body while it arrives. Failed requests are retried here.
"""

from __future__ import annotations

import math
import time
from base64 import b64encode
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

import attrs

from sitemapreader._log import LOGGER
from sitemapreader._types.errors import FetchError
from sitemapreader._types.hosts import HostMap, HostPairs
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.issues import IssueCode, make_issue, show_url
from sitemapreader._types.options import (
    FetchOptions,
    Limits,
)
from sitemapreader._types.urls import host_of, server_of
from sitemapreader.fetch.client import Client, MakesClients, Trust
from sitemapreader.fetch.hosts import (
    HostThrottle,
    Slot,
)
from sitemapreader.fetch.proxies import Proxies
from sitemapreader.fetch.refusals import make_refusal
from sitemapreader.fetch.responses import (
    DeadlineClock,
    HttpResponse,
    WaitTimer,
)
from sitemapreader.fetch.retries import check_wait, count_seconds_left, try_often
from sitemapreader.fetch.urls import (
    REDIRECTS,
    CheckRedirect,
    RedirectChain,
    is_conditional,
    make_headers,
    parse_request_url,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Mapping

    from aiohttp.abc import AbstractResolver
    from multidict import CIMultiDict

    from sitemapreader.fetch.client import RequestOptions
    from sitemapreader.fetch.connections import Route
    from sitemapreader.fetch.session import CheckedResponse, HttpSession
    from sitemapreader.fetch.urls import RequestUrl

T = TypeVar("T")


class HttpFetcher(MakesClients):
    """Fetcher of URLs over HTTP: polite, within limits, and only where requests may go.

    Use it as an async context manager, or call `aclose` at the end; one fetcher belongs to one
    event loop. At most `options.per_host` responses of one host are open at once: another `open`
    waits until one of them is closed or read to its end. A task that opens more than that at once
    waits forever. The total number of open responses is not limited.

    A walk and its consumer may share a fetcher. A response that is not read for 0.2 s lends its
    slot to a request of the other side. A host never has more than `per_host` requests of one side
    at once.

    Args:
        options: how the network is used.
        resolver: resolves names in place of the system's resolver, or of aiodns (in the extra
            `speedups`) where that is installed. The addresses that it gives are checked like any
            others. It is not closed here.
        keepalive_seconds: how long connections stay open for another request.
        limits: how much is read of one document.

    Raises:
        ValueError: `options.allow_networks` contains something that is not a network.

    Attributes:
        options: how the network is used.
        limits: how much is read of one document.
    """

    @answer_keywords()
    def __init__(
        self,
        options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
        *,
        resolver: AbstractResolver | None = None,
        keepalive_seconds: float = 15.0,
        limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    ) -> None:
        self.options = options
        self.limits = limits
        self.own_trust = Trust(options.allow_networks, options.allow_ports)
        self.hosts = HostThrottle(options.per_host, options.delay_seconds)
        self.addresses = HostThrottle(options.per_address, 0.0)
        self.waits = WaitTimer(options)
        self._proxies = Proxies(options.proxy)
        self._proxies.check()
        self._resolver = resolver
        self._keepalive_seconds = keepalive_seconds
        self._is_closed = False

    @cached_property
    def session(self) -> HttpSession:
        """The connections, which are made on first use: files need none."""
        from sitemapreader.fetch.session import HttpSession  # noqa: PLC0415 (150 ms)

        return HttpSession(
            self.options,
            self._proxies,
            self._resolver,
            self._keepalive_seconds,
            self.limits.raw_bytes,
            is_closed=self._is_closed,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; further calls do nothing."""
        self._is_closed = True
        if "session" in vars(self):
            await self.session.aclose()

    @cached_property
    def user_agent(self) -> str:
        """The User-Agent header that is sent to origins that you name."""
        return make_headers(self.options, {}, same_origin=True)["User-Agent"]

    @property
    def awaited_hosts(self) -> list[str]:
        """The hosts with a request that is under way or waits, for progress bars."""
        # a walk names hosts without a port as well, so that none is counted twice
        return sorted(
            {host_of(f"http://{server}") for server in self.hosts.list_busy()}
        )

    def client(self, hosts: HostMap | HostPairs = ()) -> WalkClient:
        """Return the client of one walk, with the mapped hosts of the fetcher or with others."""
        if isinstance(hosts, HostMap):
            return WalkClient(self, hosts)
        return WalkClient(self, HostMap(hosts or self.options.map_hosts))

    def with_hosts(self, map_hosts: Mapping[str, str]) -> Self:
        """Return a fetcher with the same connections, and other mapped hosts."""
        other = copy(self)
        other.session = self.session
        other.options = attrs.evolve(self.options, map_hosts=map_hosts)
        return other

    def trust(self, url: str) -> None:
        """Treat `url` as named by the caller, not by a document.

        Its host need not be public (`http://localhost:8000/`), its port may be used, and its
        userinfo is sent to its origin as Basic authentication. After the first call,
        `options.headers` go only to origins of such URLs; before it, to the origin of every URL
        that is opened. They never follow a redirect to another origin. A URL that cannot be
        requested is ignored; `open` reports why.

        The trust of a walk is valid for that walk, and for requests outside of walks while it runs.
        """
        self.own_trust.add(url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep `seconds` between two requests to a host, as its robots.txt requires.

        The delay is at most 60 and at least `options.delay_seconds`; NaN counts as the latter.
        """
        self.hosts.set_delay(host_url, seconds)

    def seconds_until_free(self, url: str) -> float:
        """Return how long a request for a URL would wait for its host, without waiting.

        0 means that it would start at once. Delays, `Retry-After` and Crawl-delay count. `math.inf`
        means that as many requests as the host may get are under way, and nobody knows their end.
        So a worker can take a page of another host meanwhile. `ValueError` is raised for what is
        not a URL.
        """
        target = HostMap(self.options.map_hosts).find(url) or url
        name = server_of(target)
        if not name:
            raise ValueError(f"{show_url(url)!r} is not an http(s) URL")
        host = self.hosts.get(name)
        return 0.0 if host is None else host.find_wait()

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        check_redirect: CheckRedirect | None = None,
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Request `url`, follow its redirects, and give the response.

        `headers` are added to `options.headers`. With a validator among them (If-None-Match,
        If-Modified-Since), which redirects keep, the status may be 304. `check_redirect` is awaited
        with each URL that a redirect leads to, and raises FetchError if it must not be requested.

        Entering raises:
            FetchError: there is no document; `code` has the reason, and `url` the URL.
            RuntimeError: the fetcher is closed, or belongs to another event loop.
        """
        request_options: RequestOptions = {
            "headers": headers,
            "check_redirect": check_redirect,
        }
        return Exchange(self, url, self.own_trust, request_options)

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[None]:
        """Wait for a turn at the host of a URL, for a request of your own.

        ```python
        async with fetcher.turn(url):
            await client.post(url, json=...)
        ```
        Inside, the request counts as one of the fetcher's: `options.per_host` at once,
        `options.delay_seconds` or the Crawl-delay apart, after the wait of a Retry-After. So do not
        use the fetcher itself inside. Its address is not checked.

        Raises:
            FetchError: `url` cannot be requested.
            RuntimeError: the fetcher is closed, or belongs to another event loop.
        """
        self.session.check()
        slot = Slot()
        host = self.hosts[parse_request_url(url).server]
        try:
            await host.acquire(slot)
            yield
        finally:
            slot.release()


class WalkClient(Client, MakesClients):
    """The client of one walk: its trust, its place in the queue, its mapped hosts."""

    def __init__(self, fetcher: HttpFetcher, hosts: HostMap) -> None:
        super().__init__(fetcher, "")
        self._http = fetcher
        self._hosts = hosts
        self._trust = fetcher.own_trust.branch()
        for _, target in hosts.names:  # the caller has named them
            self.trust(target)

    def client(self, hosts: HostMap | HostPairs = ()) -> WalkClient:
        """Return a client with the same mapped hosts, or with others."""
        if not isinstance(hosts, HostMap):
            hosts = HostMap(hosts)
        return WalkClient(self._http, hosts or self._hosts)

    def is_allowed(self, url: str) -> bool:
        """Return whether the caller lets requests go to the host of a URL, public or not."""
        return bool(self._hosts.find(url)) or self._trust.names(host_of(url))

    def trust(self, url: str) -> None:
        """Trust the requested URL, as `HttpFetcher.trust` does, for this walk."""
        self._trust.add(self._hosts.find(url) or url)

    def end_trust(self) -> None:
        """End the trust of this walk, also for other requests of the fetcher."""
        self._trust.end()

    def find_wait(self, url: str) -> float:
        """Return the seconds for which the requested host wants no request."""
        wait = self._http.seconds_until_free(self._hosts.find(url) or url)
        return wait if wait < math.inf else 0.0

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep the Crawl-delay of the requested host, for all walks."""
        self._http.set_crawl_delay(self._hosts.find(host_url) or host_url, seconds)

    def open(
        self, url: str, **request_options: Unpack[RequestOptions]
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Open a URL as `HttpFetcher.open` does.

        With a breaker, which counts failures, FetchError is also raised for a host that is paused,
        or that requires a wait of more than a minute.
        """
        return Exchange(
            self._http, url, self._trust, request_options, self, self._hosts
        )


_NO_WAY = (IssueCode.DNS, IssueCode.CONNECT, IssueCode.TIMEOUT)
"""Causes that a proxy may help against."""


@attrs.define(eq=False)
class Exchange:
    """The requests for one document (redirects, retries, slots); entering gives its response."""

    _fetcher: HttpFetcher
    _url: str
    _trust: Trust
    _request_options: RequestOptions
    _requester: object = None
    _hosts: HostMap = attrs.field(factory=HostMap)
    _clock: DeadlineClock = attrs.field(init=False)
    _route: Route = attrs.field(init=False)
    """Route of the present request."""
    _began: float = attrs.field(default=0.0, init=False)
    """The time of the clock at its begin, before its name was resolved."""
    _response: HttpResponse = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._clock = DeadlineClock(
            self._fetcher.options.total_seconds, self._fetcher.waits
        )

    async def __aenter__(self) -> HttpResponse:
        options = self._fetcher.options
        self._response, self._response.tries = await try_often(
            self._fetch, self._url, options, self._request_options
        )
        return self._response

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()

    async def _fetch(self) -> HttpResponse:
        """Make one attempt: follow redirects to the document."""
        self._clock.tried_at = self._clock.waited
        start = parse_request_url(self._url)
        options = self._fetcher.options
        max_redirects = self._request_options.get("max_redirects")
        if max_redirects is not None:
            options = attrs.evolve(options, max_redirects=max_redirects)
        chain = RedirectChain(start, options, self._hosts)
        login = start.userinfo
        if login and login != self._trust.find_login(chain.start.origin):
            chain.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=str(start)))
        try:
            return await self._follow(chain)
        except FetchError as error:
            error.url = chain.find_name(error.url)
            error.redirects = tuple(chain.redirects)
            if error.code in _NO_WAY:
                proxies = self._fetcher.session.proxies
                error.add_detail(proxies.describe_unused(chain.requested.url))
            raise

    async def _follow(self, chain: RedirectChain) -> HttpResponse:
        options = self._fetcher.options
        max_bytes = self._fetcher.limits.raw_bytes
        while True:
            slot = Slot(self._requester)
            try:
                await self._acquire(slot, chain)
                checked = await self._request(chain)
                location = self._find_redirect(checked, chain)
            except BaseException:
                slot.release()
                raise
            if location is None:
                return HttpResponse(
                    checked, chain, slot, self._clock, options, max_bytes
                )
            slot.release()
            set_cookie = checked.joined_headers.get("set-cookie", "")
            chain.follow(location, status=checked.status, set_cookie=set_cookie)
            check_redirect = self._request_options.get("check_redirect")
            if check_redirect is not None:
                await check_redirect(str(chain.name))

    async def _acquire(self, slot: Slot, chain: RedirectChain) -> None:
        """Wait for a slot; raise FetchError if the breaker does."""
        self._fetcher.session.check()
        self._trust.check(chain.requested)
        host = self._fetcher.hosts[chain.requested.server]
        join = partial(self._join_address, slot, chain.requested)
        check = partial(check_wait, host, self._url, self._request_options)
        await host.acquire(slot, join, check)
        # again, because the host may have failed while another name of it was served
        check(0.0)

    async def _join_address(self, slot: Slot, requested: RequestUrl) -> None:
        """Find the route of a request, and wait for a slot at its address."""
        self._began = self._clock.waited
        finding = self._fetcher.session.find_route(requested, self._trust)
        self._route = await self._wait(finding, requested)
        if self._route.addresses:
            # the first address in order stands for all names of a server
            address = min(entry["host"] for entry in self._route.addresses)
            await self._fetcher.addresses[address].admit(slot)

    async def _wait(self, work: Awaitable[T], requested: RequestUrl) -> T:
        """Wait for one part of a request, within its time limit."""
        passed = self._clock.waited - self._began
        seconds = self._fetcher.options.headers_seconds - passed
        make_error = partial(FetchError, IssueCode.TIMEOUT, str(requested))
        return await self._clock.wait(work, seconds, make_error)

    def _make_headers(self, chain: RedirectChain) -> CIMultiDict[str]:
        """Return the headers of the next request."""
        origin = chain.start.origin
        userinfo = self._trust.find_login(origin)
        is_named = not self._trust.is_selective or userinfo is not None
        authorization = ""
        if userinfo:
            authorization = f"Basic {b64encode(userinfo.encode()).decode()}"
        return make_headers(
            self._fetcher.options,
            self._request_options.get("headers") or {},
            same_origin=chain.same_origin and is_named,
            authorization=authorization,
            cookies=chain.cookies.write(chain.requested.url),
        )

    async def _request(self, chain: RedirectChain) -> CheckedResponse:
        headers = self._make_headers(chain)
        sending = self._fetcher.session.get(self._route, headers)
        began = time.monotonic()
        result = "cancelled"
        try:
            checked = await self._wait(sending, chain.requested)
            result = str(checked.status)
        except FetchError as error:
            result = str(error.code)
            raise
        finally:
            seconds = time.monotonic() - began
            # without its userinfo, and with control characters escaped
            LOGGER.debug("GET %s: %s, %.3f s", chain.name, result, seconds)
        return checked

    def _find_redirect(
        self, checked: CheckedResponse, chain: RedirectChain
    ) -> str | None:
        """Return the Location of a redirect, `None` for a document; raise for other statuses."""
        host = self._fetcher.hosts[chain.requested.server]
        options = self._fetcher.options
        status = checked.status
        headers = checked.joined_headers
        if checked.has_trailing_data:
            host.is_in_sync = False
        if not host.is_in_sync:
            checked.protocol.force_close()
        is_unchanged = status == 304 and is_conditional(
            self._request_options.get("headers") or {}
        )
        if status == 200 or is_unchanged:
            host.speed_up()
            return None
        if status in self._request_options.get("error_pages", ()):
            return None
        # without reading, because the body of a redirect can be endless
        checked.close()
        if status in REDIRECTS and "location" in headers:
            return headers["location"]
        error = make_refusal(
            status,
            headers,
            str(chain.name),
            options,
            reason=checked.reason or "",
            signed_as=checked.request_info.headers.get("Signature-Agent"),
            seconds_left=count_seconds_left(self._request_options),
        )
        is_page = self._request_options.get("is_page")
        host.note_refusal(error, options.retry_after_seconds, is_page=is_page)
        raise error
