"""The client of one walk for any fetcher, also for one that is not polite itself."""

# mypy: disable-error-code="type-abstract"
# A protocol stands for its type here, and is never instantiated.

from __future__ import annotations

import math
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.errors import FetchError
from sitemapreader._types.urls import server_of
from sitemapreader.fetch.client import (
    Client,
    MakesClients,
    reads_files,
    requests_hosts,
)
from sitemapreader.fetch.hooks import SetsCrawlDelay, find_hook
from sitemapreader.fetch.hosts import HostThrottle, Slot
from sitemapreader.fetch.retries import check_wait, try_often

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from sitemapreader._types.hosts import HostMap
    from sitemapreader._types.options import FetchOptions
    from sitemapreader.fetch.client import Fetcher, RequestOptions, Response


@attrs.define(eq=False)
class HeldResponse:
    """A response of a fetcher without politeness, with its turn at the host."""

    _response: Response
    _slot: Slot
    resources: AsyncExitStack
    tries: int = 1
    """Number of requests for it."""

    def __getattr__(self, name: str) -> Any:
        # what a fetcher tells besides: `is_permanent`, `address`, `bytes_around`
        return getattr(self._response, name)

    @property
    def url(self) -> str:
        """The URL after redirects."""
        return self._response.url

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by lower-case name."""
        return self._response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; its end frees the turn."""
        async for chunk in self._response.chunks():
            yield chunk
        self._slot.release()

    async def aclose(self) -> None:
        """Free the turn, and all that the fetcher holds."""
        await self.resources.aclose()


class PoliteClient(Client):
    """The client of one walk for a fetcher without politeness of its own.

    A host gets `per_host` requests at once, `delay_seconds` or its Crawl-delay apart, and none
    before its Retry-After is over. A request that may succeed later is repeated.
    """

    def __init__(
        self, fetcher: Fetcher, user_agent: str, options: FetchOptions
    ) -> None:
        super().__init__(fetcher, user_agent, options)
        self._hosts = HostThrottle(options.per_host, options.delay_seconds)

    def find_wait(self, url: str) -> float:
        """Return the seconds for which the host of a URL wants no request."""
        wait = self._hosts[server_of(url)].find_wait()
        return wait if wait < math.inf else 0.0

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL."""
        self._hosts.set_delay(host_url, seconds)

    @asynccontextmanager
    async def _open(
        self, url: str, request_options: RequestOptions
    ) -> AsyncIterator[Response]:
        request = partial(self._request, url, request_options)
        response, tries = await try_often(request, url, self._options, request_options)
        response.tries = tries
        async with response.resources:
            yield response

    async def _request(self, url: str, request_options: RequestOptions) -> HeldResponse:
        """Wait for a turn at the host, and make one request."""
        host = self._hosts[server_of(url)]
        slot = Slot(self)
        async with AsyncExitStack() as resources:
            resources.callback(slot.release)
            await host.acquire(
                slot, check=partial(check_wait, host, url, request_options)
            )
            try:
                response = await resources.enter_async_context(
                    super()._open(url, request_options)
                )
            except FetchError as error:
                is_page = request_options.get("is_page")
                longest_wait = self._options.retry_after_seconds
                host.note_refusal(error, longest_wait, is_page=is_page)
                raise
            host.speed_up()
            if response.url != url:  # robots.txt of the same host may be needed first
                slot.release()
            return HeldResponse(response, slot, resources.pop_all())


def make_client(
    fetcher: Fetcher,
    user_agent: str,
    options: FetchOptions,
    hosts: HostMap | None = None,
) -> Client:
    """Return the client of one walk; `user_agent` is the name of a fetcher without one.

    A fetcher of files (`is_local`) requests no host, so none of its hosts is mapped.

    Raises:
        TypeError: there are mapped hosts, and the fetcher cannot map hosts.
    """
    if isinstance(fetcher, MakesClients):
        if hosts:
            return fetcher.client(hosts)
        return fetcher.client()
    if hosts and not reads_files(fetcher):
        raise TypeError(
            "`map_hosts` requires an HttpFetcher: map the hosts in `open` of your own fetcher"
        )
    is_polite = find_hook(fetcher, SetsCrawlDelay) is not None
    if is_polite or not requests_hosts(fetcher):
        return Client(fetcher, user_agent, options)
    return PoliteClient(fetcher, user_agent, options)
