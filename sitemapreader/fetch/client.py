"""Fetchers, responses, the clients by which walks use fetchers, and their trust."""

# mypy: disable-error-code="type-abstract"
# A protocol stands for its type here, and is never instantiated.

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack, runtime_checkable
from weakref import WeakSet

from sitemapreader._types.errors import FetchError
from sitemapreader._types.hosts import WEB_PORTS
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch.addresses import is_public, literal_address, read_address
from sitemapreader.fetch.hooks import (
    FindsBuilds,
    HasName,
    HasSettings,
    SetsCrawlDelay,
    Trusts,
    find_hook,
)
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.fetch.refusals import find_response, is_success, make_refusal
from sitemapreader.fetch.urls import is_conditional, parse_request_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from sitemapreader._types.hosts import HostMap, HostPairs
    from sitemapreader.fetch.hosts import HostBreaker
    from sitemapreader.fetch.urls import CheckRedirect, RequestUrl

_ROBOTS_LIMITS = Limits()
_OPTIONS = FetchOptions()
"""The defaults, made once, because their checks take a tenth of the walk over a tiny site."""


class Response(Protocol):
    """A response whose headers have been read, and whose body has not."""

    @property
    def url(self) -> str:
        """The URL after redirects."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status. Every status but a success is a failure, as if `open` had raised."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by lower-case name."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, not decompressed; raise FetchError if it is truncated."""
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


class RequestOptions(TypedDict, total=False):
    """The options of one request of a walk."""

    headers: Mapping[str, str] | None
    """Headers that are added to the request."""
    check_redirect: CheckRedirect | None
    """Check that is called before a redirect is followed."""
    breaker: HostBreaker | None
    """Counter of the failures of the host."""
    max_redirects: int | None
    """Maximum number of redirects; `None` for the fetcher's option."""
    seconds_left: Callable[[], float]
    """Function that returns the time that is left; a document that must wait longer is given up."""
    error_pages: frozenset[int]
    """Statuses whose page is returned to the caller instead of an error."""
    is_page: bool
    """True for a page: a Retry-After for which it is given up delays no other one of its host."""


class Client:
    """The use of a fetcher by one walk; a fetcher of the caller needs only `open`."""

    def __init__(
        self,
        fetcher: Fetcher,
        user_agent: str,
        options: FetchOptions = _OPTIONS,
    ) -> None:
        self._fetcher = fetcher
        self._options = options
        self.user_agent = user_agent
        if (named := find_hook(fetcher, HasName)) is not None:
            self.user_agent = named.user_agent

    def is_allowed(self, url: str) -> bool:
        """Return whether the caller allows requests to the host of a URL, public or not."""
        del url
        return False

    def trust(self, url: str) -> None:
        """Trust the host of `url`, which the caller named, public or not."""
        if (fetcher := find_hook(self._fetcher, Trusts)) is not None:
            fetcher.trust(url)

    def end_trust(self) -> None:
        """End the trust of this walk, which requests outside of it have shared."""

    def find_wait(self, url: str) -> float:
        """Return the seconds for which the host of a URL wants no request."""
        del url
        return 0.0

    def find_build(self) -> str:
        """Return the path of another folder that has a sitemap, or ""."""
        if (fetcher := find_hook(self._fetcher, FindsBuilds)) is not None:
            return fetcher.find_build()
        return ""

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL."""
        if (fetcher := find_hook(self._fetcher, SetsCrawlDelay)) is not None:
            fetcher.set_crawl_delay(host_url, seconds)

    def open(
        self, url: str, **request_options: Unpack[RequestOptions]
    ) -> AbstractAsyncContextManager[Response]:
        """Request a URL; pass headers to the fetcher only if there are some.

        Entering raises FetchError for a status that is not a success, with any fetcher, also if the
        fetcher raised an error with that status, and for an error of the operating system.
        """
        return self._open(url, request_options)

    @asynccontextmanager
    async def _open(
        self, url: str, request_options: RequestOptions
    ) -> AsyncIterator[Response]:
        headers = request_options.get("headers") or {}
        async with AsyncExitStack() as stack:
            try:
                if headers:
                    opening = self._fetcher.open(url, headers=headers)
                else:
                    opening = self._fetcher.open(url)
                response = await stack.enter_async_context(opening)
            except FetchError:
                raise
            # each client has its own class of errors; a bug is raised again
            except Exception as error:
                response = _answer_error(url, error)
            status = response.status
            is_expected = status in request_options.get("error_pages", ())
            if status == 304 and is_conditional(headers):
                is_expected = True
            if not (is_success(status) or is_expected):
                raise make_refusal(
                    status, response.headers, response.url, self._options
                )
            yield response


def _answer_error(url: str, error: Exception) -> Response:
    """Return the response for which a fetcher raised an error; raise the error of any other."""
    if (found := find_response(error)) is not None:
        status, headers = found
        return StoredResponse(url, b"", status, headers)
    if isinstance(error, OSError):  # also TimeoutError and ConnectionError
        detail = str(error) or type(error).__name__
        raise FetchError(IssueCode.CONNECT, url, detail) from error
    raise error


class MakesClients(ABC):
    """A fetcher that makes a client for each walk; derive from this class."""

    # Not a protocol: many fetchers keep an HTTP client in an attribute named `client`.

    @abstractmethod
    def client(self, hosts: HostMap | HostPairs = ()) -> Client:
        """Return a client for one walk, with the hosts that are mapped."""


def reads_files(fetcher: object) -> bool:
    """Return whether a fetcher reads files, and requests no host."""
    return bool(getattr(fetcher, "is_local", False))


def requests_hosts(fetcher: object) -> bool:
    """Return whether a fetcher may request a host, which is to be treated politely."""
    return not (reads_files(fetcher) or isinstance(fetcher, MemoryFetcher))


def find_settings(
    fetcher: object,
    limits: Limits | None,
    options: FetchOptions | None,
) -> tuple[Limits, FetchOptions]:
    """Return the limits and options of a walk, from its fetcher if it has some."""
    fetcher_type = type(fetcher)
    can_open = fetcher is None or callable(getattr(fetcher, "open", None))
    if isinstance(fetcher, type):
        fetcher_type = fetcher
        can_open = False
    if not can_open:
        raise TypeError(
            "fetcher must be an object with the method `open` of `Fetcher`, got "
            f"{fetcher_type}: write fetcher=HttpFetcher(options), wrap another client "
            "in an object with `open`, or write FunctionFetcher(function) for a function of a URL"
        )
    settings = find_hook(fetcher, HasSettings)
    if settings is None:
        options = options or _OPTIONS
        _check_options(fetcher, options)
        return limits or _ROBOTS_LIMITS, options
    if options is not None:
        raise TypeError(
            "`options` cannot be combined with this fetcher, which has its own: "
            "write fetcher=HttpFetcher(options=...)"
        )
    return limits or settings.limits, settings.options


_OF_THE_CLIENT = (
    *("headers", "identity", "proxy", "max_redirects", "allow_downgrade"),
    *("allow_networks", "allow_ports", "per_address"),
    *("connect_seconds", "headers_seconds", "idle_seconds", "total_seconds"),
    *("min_bytes_per_second", "slow_grace_seconds"),
)
"""Options that only the client which sends the requests can act upon."""
_OF_TURNS = ("per_host", "delay_seconds", "max_attempts", "retry_wait_seconds")
"""Options that a fetcher which keeps the Crawl-delay acts upon itself."""


def _check_options(fetcher: object, options: FetchOptions) -> None:
    """Raise TypeError for options that have no effect with a fetcher without settings."""
    if fetcher is None or not requests_hosts(fetcher):
        return
    names: tuple[str, ...] = _OF_THE_CLIENT
    if find_hook(fetcher, SetsCrawlDelay) is not None:
        names += _OF_TURNS
    for name in names:
        if getattr(options, name) != getattr(_OPTIONS, name):
            raise TypeError(
                f"`{name}` has no effect with this fetcher: set it in your own client, "
                "or write fetcher=HttpFetcher(options=...)"
            )


# -- the allowed addresses of clients


class Trust:
    """The addresses that a client may connect to: public, allowed, or named by its caller.

    A caller names origins, their ports, and hosts, which need not be public. A host may be private
    if its first address was private.
    """

    # SECURITY: a crawler requests URLs that strangers wrote, from a machine that may reach services
    # that strangers cannot (a metadata service, a router, a database on loopback). A check of names
    # does not protect, because their owner chooses the addresses, and literal addresses need no
    # resolver. So literal addresses are checked before each request, and names by their addresses
    # at this moment: aiohttp connects to these, and resolves nothing itself.
    # A trusted host whose first address was public must stay public. Otherwise its owner could
    # rebind it to a private address later.

    def __init__(
        self, allow_networks: Iterable[str] = (), allow_ports: Iterable[int] = ()
    ) -> None:
        self.is_selective = False
        """True if headers of the caller go only to origins that were named."""
        self.networks = tuple(map(_read_network, allow_networks))
        self.ports = {*WEB_PORTS, *allow_ports}
        self.logins: dict[str, str] = {}
        """Origin -> its userinfo."""
        self.is_private: dict[str, bool | None] = {}
        """Named host -> True if it is private; `None` before the first connection."""
        self.others: WeakSet[Trust] | set[Trust] = WeakSet()
        """Related trusts: the fetcher's for a walk, or the ones of its walks for a fetcher."""

    def branch(self) -> Trust:
        """Return the trust of a walk, whose additions also count here while the walk runs."""
        self.is_selective = True
        trust = Trust()
        trust.is_selective = True
        trust.networks = self.networks
        trust.others = {self}
        self.others.add(trust)
        return trust

    def end(self) -> None:
        """End the trust of a walk."""
        for trust in self.others:
            trust.others.discard(self)

    def add(self, text: str) -> None:
        """Trust the host and the port of a URL; its userinfo is sent to its origin."""
        self.is_selective = True
        with suppress(FetchError):  # `open` raises the same error
            url = parse_request_url(text)
            self.is_private.setdefault(url.host, None)
            self.ports.add(url.port)
            self.logins[url.origin] = url.userinfo or self.logins.get(url.origin, "")

    @property
    def _all(self) -> tuple[Trust, ...]:
        return (self, *self.others)

    def names(self, host: str) -> bool:
        """Return whether a host was named, or is a literal address that is allowed."""
        if any(host in trust.is_private for trust in self._all):
            return True
        address = read_address(host)
        return address is not None and self._is_listed(host.strip("[]"), address)

    def find_login(self, origin: str) -> str | None:
        """Return the userinfo that was named with an origin; `None` if it was not named."""
        found = None
        for trust in self._all:
            found = found or trust.logins.get(origin, found)
        return found

    def check(self, url: RequestUrl) -> None:
        """Raise FetchError for a port, or an address without a name, that is not allowed."""
        port = url.port
        if port not in self.ports and not any(port in each.ports for each in self._all):
            raise FetchError(IssueCode.BLOCKED_PORT, str(url), f"port {port}")
        literal = literal_address(url.host)
        if literal is not None and not self.allows(url.host, literal):
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(url), literal)

    def allows(self, host: str, text: str) -> bool:
        """Return whether a host may have an address; note if a named host is private."""
        address = read_address(text)
        if address is None:
            return False
        is_private = not is_public(address)
        is_allowed = not is_private
        for trust in self._all:  # each of them must see the address
            if trust.is_private.get(host, is_private) is None:
                trust.is_private[host] = is_private
            if trust.is_private.get(host):
                is_allowed = True
        return is_allowed or self._is_listed(text, address)

    def _is_listed(self, text: str, address: IPv4Address | IPv6Address) -> bool:
        """Return whether an address, or the one that embeds it, is in an allowed network."""
        if any(address in network for network in self.networks):
            return True
        if not self.networks:
            return False
        written = ip_address(text.partition("%")[0])
        return any(written in network for network in self.networks)


def _read_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"`allow_networks`: {error}: write a network such as '10.0.0.0/8' or 'fd00::/8'"
        ) from error
