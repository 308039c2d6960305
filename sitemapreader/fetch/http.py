"""HttpFetcher: an HTTP client that is polite, bounded, and safe with any URL.

A request passes these modules in turn: `request` checks its URL, `addresses` its port. `throttle`
makes it wait for slots, of its host and of the address that `transport` finds and checks. That of
`aiohttp` sends it, or that of `httpx` for a client of yours. `exchange` follows redirects one at a
time, `retries` repeats what failed, and `answers` bounds the body while it arrives.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Self, Unpack
from weakref import WeakSet

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import Trust, TrustSet
from sitemapreader.fetch.exchange import Exchange, HttpResponse, Network
from sitemapreader.fetch.request import CheckRedirect, find_user_agent, parse_request_url
from sitemapreader.options import ROBOTS_MAX_CRAWL_DELAY_SECONDS, FetchOptions, Limits
from sitemapreader.urls import host_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aiohttp.abc import AbstractResolver

    from sitemapreader.fetch.client import Opening
    from sitemapreader.fetch.transport import Transport

KEEPALIVE_SECONDS = 15.0


class NetworkFetcher:
    """Open URLs by a transport; the base of `HttpFetcher` and `HttpxFetcher`.

    Attributes:
        options: how the network is used.
        limits: how much is read of one document.
        network: what its requests share.
    """

    def __init__(self, options: FetchOptions, limits: Limits, transport: Transport) -> None:
        self.options = options
        self.limits = limits
        self.network = Network(options, limits, transport)
        self._own_trust = Trust()
        self._walks: WeakSet[Trust] = WeakSet()
        self._is_selective = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections that the fetcher made; further calls do nothing."""
        self.network.book.close()
        await self.network.transport.aclose()

    @property
    def user_agent(self) -> str:
        """The User-Agent header that is sent to origins that you name."""
        return find_user_agent(self.options, self.network.transport.own_headers)

    def client(self) -> WalkClient:
        """Return the fetcher as one walk uses it, with a trust and a place in the queue."""
        return WalkClient(self)

    def trust(self, url: str) -> None:
        """Treat `url` as named by the caller, not by a document.

        Its host need not be public (`http://localhost:8000/`), its port may be used, and its
        userinfo is sent to its origin as Basic authentication. After the first call,
        `options.headers` go only to origins of such URLs; before it, to the origin of every URL
        that is opened. They never follow a redirect to another origin. A URL that cannot be
        requested is ignored; `open` reports why.

        What a walk trusts counts for that walk, and for requests outside of walks while it runs.
        """
        self.add_trust(self._own_trust, url)

    def add_trust(self, trust: Trust, url: str) -> None:
        """Treat `url` as named by whom a trust belongs to."""
        self._is_selective = True
        if trust is not self._own_trust:
            self._walks.add(trust)
        try:
            named = parse_request_url(url)
        except FetchError:
            return  # `open` reports why
        trust.add(named.host, named.port, named.origin, named.userinfo)

    def find_trust(self, walk: Trust | None) -> TrustSet:
        """Return what a walk trusts, or what requests outside of walks may."""
        if walk is None:
            return TrustSet((self._own_trust, *self._walks), is_selective=self._is_selective)
        return TrustSet((self._own_trust, walk), is_selective=True)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep `seconds` between two requests to a host, as its robots.txt asks.

        The delay is at most 60 and at least `options.delay_seconds`; NaN counts as the latter.
        """
        if host := host_of(host_url):
            self.network.throttle.set_delay(host, min(seconds, ROBOTS_MAX_CRAWL_DELAY_SECONDS))

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
            FetchError: there is no document; `code` says why, and `url` where.
            RuntimeError: the fetcher is closed, or belongs to another event loop.
        """
        trust = self.find_trust(None)
        return Exchange(self.network, url, trust, headers, check_redirect).open()

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[None]:
        """Wait for a turn at the host of a URL, for a request of your own.

        ```python
        async with fetcher.turn(url):
            await client.post(url, json=...)
        ```
        Inside, the request counts as one of the fetcher's: `options.per_host` at once,
        `options.delay_seconds` or the Crawl-delay apart, after what a Retry-After asked for. So
        open nothing with the fetcher itself inside. Where it may go is for you to decide.

        Raises:
            FetchError: `url` cannot be requested.
            RuntimeError: the fetcher is closed, or belongs to another event loop.
        """
        self.network.transport.check()
        slot = await self.network.throttle.acquire(parse_request_url(url).host)
        try:
            yield
        finally:
            slot.release()


class WalkClient:
    """A fetcher as one walk uses it: with its trust and its place in the queue."""

    def __init__(self, fetcher: NetworkFetcher) -> None:
        self._fetcher = fetcher
        self._trust = Trust()

    @property
    def user_agent(self) -> str:
        """The User-Agent header that is sent to origins that the walk's caller named."""
        return self._fetcher.user_agent

    def trust(self, url: str) -> None:
        """Trust a URL as `NetworkFetcher.trust` does, for this walk."""
        self._fetcher.add_trust(self._trust, url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep the Crawl-delay of a host, for all walks."""
        self._fetcher.set_crawl_delay(host_url, seconds)

    def open(self, url: str, **how: Unpack[Opening]) -> AbstractAsyncContextManager[HttpResponse]:
        """Open a URL as `NetworkFetcher.open` does.

        With a breaker, which counts failures, a host that is paused raises FetchError, and so does
        one that asks for a wait of more than a minute.
        """
        trust = self._fetcher.find_trust(self._trust)
        return Exchange(self._fetcher.network, url, trust, requester=self, **how).open()


class HttpFetcher(NetworkFetcher):
    """Open URLs over HTTP, politely, within limits, and only where requests may go.

    Use it as an async context manager, or call `aclose` at the end; one fetcher belongs to one
    event loop. At most `options.per_host` responses of one host are open at once: another `open`
    waits until one of them is closed or read to its end. A task that opens more than that at once
    waits for ever. The number of open responses in all is not bounded.

    A walk and its consumer may share a fetcher. A response that is not read for 0.2 s lends its
    place to a request of the other side. Reading continues when there is room again. A host never
    gets more than `per_host` requests at once. For a client of your own, with its cookies, TLS
    context and proxy, see `sitemapreader.fetch.httpx`.

    Args:
        options: how the network is used.
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
        resolver: AbstractResolver | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    ) -> None:
        from sitemapreader.fetch.aiohttp import AiohttpTransport  # noqa: PLC0415 (150 ms)

        super().__init__(options, limits, AiohttpTransport(options, resolver, keepalive_seconds))
