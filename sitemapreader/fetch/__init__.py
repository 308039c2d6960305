"""The interface to the network: a Fetcher opens URLs, a Response has their bytes.

Anything that satisfies these two protocols can feed a walk: an HTTP client, a folder, a dict of
bytes, an archive. Nothing is parsed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager


class Response(Protocol):
    """A response whose headers have been read, and whose body has not."""

    @property
    def url(self) -> str:
        """The URL after redirects."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status: 200 or 304; for any other, `Fetcher.open` raises."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by lower-case name."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, not decompressed; raise FetchError if it is cut."""
        ...


@runtime_checkable
class Fetcher(Protocol):
    """A way to open URLs."""

    def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Response]:
        """Request `url`; entering gives the Response, or raises FetchError.

        `headers` are added to the request; a walk sends validators. Leaving the context releases
        all that the response holds.
        """
        ...


@runtime_checkable
class NamedFetcher(Protocol):
    """A fetcher that knows its User-Agent, whose rules in robots.txt are then kept."""

    @property
    def user_agent(self) -> str:
        """The User-Agent header that is sent."""
        ...


@runtime_checkable
class PoliteFetcher(Protocol):
    """A fetcher that can also be told which hosts to trust and how long to wait."""

    def trust(self, url: str) -> None:
        """Trust the host of `url`, which the caller named, public or not."""
        ...

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL."""
        ...
