"""Fetchers, responses, and the clients by which walks use fetchers.

Anything that satisfies these two protocols can feed a walk: an HTTP client, a folder, a dict of
bytes, an archive. Nothing is parsed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sitemapreader.options import FetchOptions, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from sitemapreader.fetch.request import CheckRedirect
    from sitemapreader.fetch.retries import HostBreaker


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


class Client(PoliteFetcher, NamedFetcher, Protocol):
    """A fetcher as one walk uses it, with a trust and a place in the queue of its own."""

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        check_redirect: CheckRedirect | None = None,
        breaker: HostBreaker | None = None,
    ) -> AbstractAsyncContextManager[Response]:
        """Request `url` as `Fetcher.open` does.

        `check_redirect` is asked before a redirect is followed; `breaker` counts failures.
        """
        ...


@runtime_checkable
class SharedFetcher(Protocol):
    """A fetcher that makes a client for each walk."""

    def client(self) -> Client:
        """Return a client for one walk."""
        ...


class PlainClient:
    """A caller's own fetcher as one walk uses it: it asks before no redirect."""

    def __init__(self, fetcher: Fetcher, user_agent: str) -> None:
        self._fetcher = fetcher
        self._user_agent = user_agent

    @property
    def user_agent(self) -> str:
        """The User-Agent of the fetcher, if it says so, or that of the walk's options."""
        if isinstance(self._fetcher, NamedFetcher):
            return self._fetcher.user_agent
        return self._user_agent

    def trust(self, url: str) -> None:
        """Tell the fetcher which host the caller named."""
        if isinstance(self._fetcher, PoliteFetcher):
            self._fetcher.trust(url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Tell the fetcher the Crawl-delay of a host."""
        if isinstance(self._fetcher, PoliteFetcher):
            self._fetcher.set_crawl_delay(host_url, seconds)

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        check_redirect: CheckRedirect | None = None,
        breaker: HostBreaker | None = None,
    ) -> AbstractAsyncContextManager[Response]:
        """Request `url`, with headers only if there are some."""
        del check_redirect, breaker
        return self._fetcher.open(url, headers=headers) if headers else self._fetcher.open(url)


def make_client(fetcher: Fetcher, user_agent: str) -> Client:
    """Return a fetcher as one walk uses it; `user_agent` is its name if it has none."""
    if isinstance(fetcher, SharedFetcher):
        return fetcher.client()
    return PlainClient(fetcher, user_agent)


def find_settings(
    fetcher: object, limits: Limits | None, options: FetchOptions | None
) -> tuple[Limits, FetchOptions]:
    """Return the limits and options of a walk: those of its fetcher, if it has some.

    Raises TypeError for what is no fetcher, and for settings that are given beside the fetcher's.
    """
    _check_fetcher(fetcher)
    own_limits, own_options = getattr(fetcher, "limits", None), getattr(fetcher, "options", None)
    if not (isinstance(own_limits, Limits) and isinstance(own_options, FetchOptions)):
        return limits or Limits(), options or FetchOptions()
    for name, given in (("limits", limits), ("options", options)):
        if given is not None:
            raise TypeError(
                f"the fetcher has {name} of its own: give {name} to the fetcher, as in "
                f"fetcher=HttpFetcher({name}=...), and not to the walk"
            )
    return own_limits, own_options


def _check_fetcher(value: object) -> None:
    """Raise TypeError for what is no fetcher, such as an HTTP client."""
    is_class = isinstance(value, type)
    if value is not None and (is_class or not callable(getattr(value, "open", None))):
        kind = value if is_class else type(value)
        raise TypeError(
            f"fetcher must be an object with the method `open` of `Fetcher`, not {kind}: write "
            "fetcher=HttpFetcher(options), or HttpxFetcher(client) for a client of httpx"
        )
