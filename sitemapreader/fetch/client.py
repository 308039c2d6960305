"""Fetchers, responses, and the clients by which walks use fetchers.

Anything that satisfies these two protocols can feed a walk: an HTTP client, a folder, a dict of
bytes, an archive. Nothing is parsed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack, runtime_checkable

from sitemapreader.options import FetchOptions, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from sitemapreader.fetch.hosts import HostBreaker
    from sitemapreader.fetch.mapping import HostMap
    from sitemapreader.fetch.urls import CheckRedirect

_LIMITS, _OPTIONS = Limits(), FetchOptions()
"""The defaults, made once: their checks take a tenth of the walk over a tiny site."""


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


class Opening(TypedDict, total=False):
    """How a walk opens a URL."""

    headers: Mapping[str, str] | None
    """Are added to the request."""
    check_redirect: CheckRedirect | None
    """Is asked before a redirect is followed."""
    breaker: HostBreaker | None
    """Counts failures of the host."""
    max_redirects: int | None
    """How many redirects are followed; `None` for as many as the fetcher's options say."""


class Client(Protocol):
    """A fetcher as one walk uses it, with a trust and a place in the queue of its own."""

    @property
    def user_agent(self) -> str:
        """The User-Agent that is sent, whose rules in robots.txt are kept."""
        ...

    def trust(self, url: str) -> None:
        """Trust the host of `url`, which the caller named, public or not."""
        ...

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL."""
        ...

    def open(self, url: str, **how: Unpack[Opening]) -> AbstractAsyncContextManager[Response]:
        """Request `url` as `Fetcher.open` does."""
        ...


class PlainClient:
    """A caller's own fetcher as one walk uses it: it asks before no redirect.

    Of what a `Client` has it needs `open` alone.
    """

    def __init__(self, fetcher: Fetcher, user_agent: str) -> None:
        self.user_agent: str = getattr(fetcher, "user_agent", user_agent)
        self.trust: Callable[[str], None] = getattr(fetcher, "trust", _ignore)
        self.set_crawl_delay: Callable[[str, float], None] = getattr(
            fetcher, "set_crawl_delay", _ignore
        )
        self._fetcher = fetcher

    def open(self, url: str, **how: Unpack[Opening]) -> AbstractAsyncContextManager[Response]:
        """Request `url`, with headers only if there are some."""
        headers = how.get("headers")
        return self._fetcher.open(url, headers=headers) if headers else self._fetcher.open(url)


def _ignore(*_: object) -> None:
    """Do nothing: a folder has no hosts."""


def make_client(fetcher: Fetcher, user_agent: str, hosts: HostMap | None = None) -> Client:
    """Return a fetcher as one walk uses it; `user_agent` is its name if it has none.

    Raises:
        TypeError: there are mapped hosts, and the fetcher is none of ours.
    """
    make: Callable[..., Client] | None = getattr(fetcher, "client", None)
    if not hosts:
        return PlainClient(fetcher, user_agent) if make is None else make()
    if make is None:
        raise TypeError("`map_hosts` needs an HttpFetcher: let `open` of yours ask other hosts")
    return make(hosts)


def find_settings(
    fetcher: object, limits: Limits | None, options: FetchOptions | None
) -> tuple[Limits, FetchOptions]:
    """Return the limits and options of a walk: those of its fetcher, if it has some."""
    is_class = isinstance(fetcher, type)
    if fetcher is not None and (is_class or not callable(getattr(fetcher, "open", None))):
        kind = fetcher if is_class else type(fetcher)
        raise TypeError(
            f"fetcher must be an object with the method `open` of `Fetcher`, not {kind}: write "
            "fetcher=HttpFetcher(options), or an object of yours around another client"
        )
    own_limits, own_options = getattr(fetcher, "limits", None), getattr(fetcher, "options", None)
    if not (isinstance(own_limits, Limits) and isinstance(own_options, FetchOptions)):
        return limits or _LIMITS, options or _OPTIONS
    for name, given in (("limits", limits), ("options", options)):
        if given is not None:
            raise TypeError(
                f"the fetcher has {name} of its own: give {name} to the fetcher, as in "
                f"fetcher=HttpFetcher({name}=...), and not to the walk"
            )
    return own_limits, own_options
