"""Fetchers, responses, the clients by which walks use fetchers, and their trust."""

# mypy: disable-error-code="type-abstract"
# A protocol stands for its type here, and nothing is made of it.

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack, runtime_checkable
from weakref import WeakSet

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch.addresses import is_public, literal_address, read_address
from sitemapreader.fetch.hooks import (
    HasName,
    HasSettings,
    SetsCrawlDelay,
    Trusts,
    find_hook,
)
from sitemapreader.fetch.refusals import is_success, make_refusal
from sitemapreader.fetch.urls import WEB_PORTS, is_conditional, parse_request_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from sitemapreader.fetch.hosts import HostBreaker
    from sitemapreader.fetch.urls import CheckRedirect, HostMap, HostPairs, RequestUrl

_ROBOTS_LIMITS = Limits()
_OPTIONS = FetchOptions()
"""The defaults, made once: their checks take a tenth of the walk over a tiny site."""


class Response(Protocol):
    """A response whose headers have been read, and whose body has not."""

    @property
    def url(self) -> str:
        """The URL after redirects."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status. Any but a success is a failure, as if `Fetcher.open` had raised."""
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
    """The way in which a walk opens a URL."""

    headers: Mapping[str, str] | None
    """Are added to the request."""
    check_redirect: CheckRedirect | None
    """Check that is called before a redirect is followed."""
    breaker: HostBreaker | None
    """Counts failures of the host."""
    max_redirects: int | None
    """Maximum of redirects; `None` for the fetcher's option."""
    error_pages: frozenset[int]
    """Statuses whose page is given to the caller, and not raised as an error."""


class Client:
    """A fetcher as one walk uses it; one of a caller's own needs nothing but `open`."""

    def __init__(
        self, fetcher: Fetcher, user_agent: str, options: FetchOptions = _OPTIONS
    ) -> None:
        self._fetcher = fetcher
        self._options = options
        named = find_hook(fetcher, HasName)
        self.user_agent: str = user_agent if named is None else named.user_agent

    def is_allowed(self, url: str) -> bool:
        """Return whether the caller lets requests go to the host of a URL, public or not."""
        del url
        return False

    def trust(self, url: str) -> None:
        """Trust the host of `url`, which the caller named, public or not."""
        if (fetcher := find_hook(self._fetcher, Trusts)) is not None:
            fetcher.trust(url)

    def end_trust(self) -> None:
        """End the trust of this walk: requests outside of it have no part in it any more."""

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL."""
        if (fetcher := find_hook(self._fetcher, SetsCrawlDelay)) is not None:
            fetcher.set_crawl_delay(host_url, seconds)

    def open(
        self, url: str, **how: Unpack[Opening]
    ) -> AbstractAsyncContextManager[Response]:
        """Request a URL, with headers only if there are some.

        Entering raises FetchError for a status that is no success, whoever fetched it, and for an
        error of the operating system.
        """
        return self._open(url, how)

    @asynccontextmanager
    async def _open(self, url: str, how: Opening) -> AsyncIterator[Response]:
        headers = how.get("headers") or {}
        async with AsyncExitStack() as stack:
            try:
                if headers:
                    opener = self._fetcher.open(url, headers=headers)
                else:
                    opener = None
                response = await stack.enter_async_context(
                    opener or self._fetcher.open(url)
                )
            except OSError as error:  # TimeoutError and ConnectionError are such
                said = str(error) or type(error).__name__
                raise FetchError(IssueCode.CONNECT, url, said) from error
            status = response.status
            is_expected = status in how.get("error_pages", ()) or (
                status == 304 and is_conditional(headers)
            )
            if not (is_success(status) or is_expected):
                raise make_refusal(
                    status, response.headers, response.url, self._options
                )
            yield response


class MakesClients(ABC):
    """A fetcher that each walk uses by a client of its own; derive from this class."""

    # Not a protocol: many fetchers keep an HTTP client in an attribute named `client`.

    @abstractmethod
    def client(self, hosts: HostMap | HostPairs = ()) -> Client:
        """Return a client for one walk, with the hosts that are mapped."""


def make_client(
    fetcher: Fetcher,
    user_agent: str,
    hosts: HostMap | None = None,
    options: FetchOptions = _OPTIONS,
) -> Client:
    """Return a fetcher as one walk uses it; `user_agent` is its name if it has none.

    A fetcher of files (`is_local`) requests no host, so none of its hosts is mapped.

    Raises:
        TypeError: there are mapped hosts, and the fetcher is none of ours.
    """
    if isinstance(fetcher, MakesClients):
        if hosts:
            return fetcher.client(hosts)
        return fetcher.client()
    if hosts and not getattr(fetcher, "is_local", False):
        raise TypeError(
            "`map_hosts` requires an HttpFetcher: map the hosts in `open` of your own fetcher"
        )
    return Client(fetcher, user_agent, options)


def find_settings(
    fetcher: object, limits: Limits | None, options: FetchOptions | None
) -> tuple[Limits, FetchOptions]:
    """Return the limits and options of a walk: its fetcher's, if that has some."""
    is_class = isinstance(fetcher, type)
    if fetcher is not None and (
        is_class or not callable(getattr(fetcher, "open", None))
    ):
        kind = fetcher if is_class else type(fetcher)
        raise TypeError(
            f"fetcher must be an object with the method `open` of `Fetcher`, got {kind}: write "
            "fetcher=HttpFetcher(options), or wrap another client in an object with `open`"
        )
    own = find_hook(fetcher, HasSettings)
    if own is None:
        return limits or _ROBOTS_LIMITS, options or _OPTIONS
    if options is not None:
        raise TypeError(
            "`options` cannot be combined with this fetcher, which has its own: "
            "write fetcher=HttpFetcher(options=...)"
        )
    return limits or own.limits, own.options


# -- where clients may go


class Trust:
    """The addresses that a client may connect to: public, allowed, or named by its caller.

    What was named are origins, their ports, and hosts, which need not be public. A host may be
    private if its first address was private.
    """

    # A crawler requests URLs that strangers wrote, from a place that may reach more than strangers
    # can (a metadata service, a router, a database on loopback). A check of names does not protect:
    # names resolve to whatever their owner likes, and literal addresses never see a resolver. So
    # literals are checked before each request, and names by the addresses that they have then:
    # aiohttp is given these, and resolves nothing itself.
    # A trusted host whose first address was public stays public: else it could be rebound to a
    # private address later.

    def __init__(
        self, allow_networks: Iterable[str] = (), allow_ports: Iterable[int] = ()
    ) -> None:
        self.is_selective = False
        """True if headers of the caller are meant for origins that were named only."""
        self.networks = tuple(map(_read_network, allow_networks))
        self.ports = {*WEB_PORTS, *allow_ports}
        self.logins: dict[str, str] = {}
        """Origin -> its userinfo."""
        self.kinds: dict[str, bool | None] = {}
        """Named host -> whether it is private; `None` before the first connection."""
        self.others: WeakSet[Trust] | set[Trust] = WeakSet()
        """Related trusts: in a walk, its fetcher's; in a fetcher, the ones of its present walks."""

    def branch(self) -> Trust:
        """Return the trust of a walk: its additions count here too, while it lives."""
        walk = Trust()
        walk.networks = self.networks
        walk.others = {self}
        self.others.add(walk)
        walk.is_selective = self.is_selective = True
        return walk

    def end(self) -> None:
        """End the trust of a walk."""
        for trust in self.others:
            trust.others.discard(self)

    def add(self, text: str) -> None:
        """Trust the host and the port of a URL; its origin is sent the userinfo."""
        self.is_selective = True
        with suppress(FetchError):  # `open` reports why
            url = parse_request_url(text)
            self.kinds.setdefault(url.host, None)
            self.ports.add(url.port)
            self.logins[url.origin] = url.userinfo or self.logins.get(url.origin, "")

    @property
    def _all(self) -> tuple[Trust, ...]:
        return (self, *self.others)

    def names(self, host: str) -> bool:
        """Return whether a host was named, or is a literal address that is allowed."""
        found = read_address(host)
        is_named = any(host in trust.kinds for trust in self._all)
        return is_named or (
            found is not None and self._is_listed(host.strip("[]"), found)
        )

    def has_origin(self, origin: str) -> bool:
        """Return whether a URL of this origin was named."""
        return any(origin in trust.logins for trust in self._all)

    def find_login(self, origin: str) -> str:
        """Return the userinfo that was named with an origin, or ""."""
        return next(filter(None, (trust.logins.get(origin) for trust in self._all)), "")

    def check(self, url: RequestUrl) -> None:
        """Raise FetchError for a port, or an address without a name, that is not allowed."""
        if not any(url.port in trust.ports for trust in self._all):
            raise FetchError(IssueCode.BLOCKED_PORT, str(url), f"port {url.port}")
        literal = literal_address(url.host)
        if literal is not None and not self.allows(url.host, literal):
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(url), literal)

    def allows(self, host: str, address: str) -> bool:
        """Return whether `address` is allowed for `host`; record a named host's kind."""
        found = read_address(address)
        if found is None:
            return False
        private = not is_public(found)
        allowed = False
        for trust in self._all:  # each of them must see the address
            if trust.kinds.get(host, private) is None:
                trust.kinds[host] = private
            allowed = allowed or bool(trust.kinds.get(host))
        return not private or allowed or self._is_listed(address, found)

    def _is_listed(self, address: str, found: IPv4Address | IPv6Address) -> bool:
        written = ip_address(address.partition("%")[0])
        return any(found in network or written in network for network in self.networks)


def _read_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"`allow_networks`: {error}: write a network such as '10.0.0.0/8' or 'fd00::/8'"
        ) from error
