"""The seam between the network and the rest: a Fetcher opens URLs, a Response has their bytes.

Anything that satisfies these two protocols can feed a walk: an HTTP client, a folder, a dict of
bytes, an archive. No parsing is done here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager


class Response(Protocol):
    """An answer whose headers have been read, and whose body has not.

    The URL is the one after redirects; 200 and 304 are the only statuses that a walk is given.
    """

    @property
    def url(self) -> str:
        """Where it came from in the end."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by lower-case name."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes, never decompressed; raise FetchError where it breaks off."""
        ...


@runtime_checkable
class Fetcher(Protocol):
    """Opens URLs."""

    def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Response]:
        """Request `url`; entering gives the Response, or raises FetchError.

        `headers` are added to the request (a walk sends validators with them). Leaving the context
        releases whatever the answer holds, in any case.
        """
        ...


@runtime_checkable
class PoliteFetcher(Protocol):
    """What a fetcher may know besides `open`, and is then told: whom to trust, how long to wait."""

    def trust(self, url: str) -> None:
        """Take the host of `url` as one that the user named, public or not."""
        ...

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait so long between two requests to the host of a URL."""
        ...
