"""Types that a fetcher may have besides `open`. A walk uses only methods of the right type.

A fetcher of your own may have attributes of any names: an `httpx.Limits` named `limits` is no
`HasSettings`, and a number named `turn` is no `TakesTurns`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from sitemapreader._types.options import FetchOptions, Limits

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager


@runtime_checkable
class SetsCrawlDelay(Protocol):
    """A fetcher that is polite itself: it keeps the Crawl-delay of a robots.txt, among others.

    A walk limits and repeats the requests of all other fetchers as its options say.
    """

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep `seconds` between two requests to the host of a URL."""
        ...


@runtime_checkable
class Trusts(Protocol):
    """A fetcher that requests from private hosts only if the caller has named them."""

    def trust(self, url: str) -> None:
        """Trust the host of a URL that the caller of the walk has named."""
        ...


@runtime_checkable
class TakesTurns(Protocol):
    """A fetcher that shares its turns at a host with requests of others."""

    def turn(self, url: str) -> AbstractAsyncContextManager[None]:
        """Wait for a turn at the host of a URL, and hold it inside the context."""
        ...


@runtime_checkable
class HasName(Protocol):
    """A fetcher that sends its own User-Agent, for which robots.txt is read."""

    @property
    def user_agent(self) -> str:
        """The User-Agent header that is sent."""
        ...


@runtime_checkable
class HasSettings(Protocol):
    """A fetcher with limits and options of its own, which its walks use, too."""

    @property
    def limits(self) -> Limits:
        """Limits for one document."""
        ...

    @property
    def options(self) -> FetchOptions:
        """Options of fetching."""
        ...


@runtime_checkable
class FindsBuilds(Protocol):
    """A fetcher of files that knows where else a sitemap is."""

    def find_build(self) -> str:
        """Return the path of a folder below that has a sitemap, or ""."""
        ...


_HOOK_PARTS: dict[type, dict[str, Any]] = {
    SetsCrawlDelay: {"set_crawl_delay": Callable},
    Trusts: {"trust": Callable},
    TakesTurns: {"turn": Callable},
    FindsBuilds: {"find_build": Callable},
    HasName: {"user_agent": str},
    HasSettings: {"limits": Limits, "options": FetchOptions},
}
"""Type of a fetcher -> its attributes, each with its type."""
Hook = TypeVar("Hook")


def find_hook(fetcher: object, hook: type[Hook]) -> Hook | None:
    """Return a fetcher as one of these types if it is one, else `None`."""
    # `isinstance` would collect the names of a protocol each time, for each site
    for name, value_type in _HOOK_PARTS[hook].items():
        if not isinstance(getattr(fetcher, name, None), value_type):
            return None
    return cast("Hook", fetcher)
