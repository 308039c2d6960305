"""Trust: the URLs that a caller named, and what is allowed only for them.

Each walk has its own trust (`TRUST`), so that many walks can share a fetcher: a site that the
caller of one walk named is a stranger to the others.
"""

from __future__ import annotations

from contextvars import ContextVar
from weakref import WeakSet

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import TrustedHosts
from sitemapreader.fetch.request import parse_request_url


class Trust:
    """The origins of URLs that a caller named.

    Attributes:
        hosts: their hosts, which need not be public, and their ports.
    """

    def __init__(self) -> None:
        self.hosts = TrustedHosts()
        self._logins: dict[str, str] = {}

    def add(self, url: str) -> None:
        """Add the origin of a URL, and its userinfo; ignore what cannot be requested."""
        try:
            target = parse_request_url(url)
        except FetchError:
            return  # `open` reports why
        self.hosts.add(target.host, target.port)
        self._logins[target.origin] = target.userinfo or self._logins.get(target.origin, "")

    def has_origin(self, origin: str) -> bool:
        """Return whether a URL of this origin was named."""
        return origin in self._logins

    def find_login(self, origin: str) -> str:
        """Return the userinfo that was named with an origin, or ""."""
        return self._logins.get(origin, "")


TRUST: ContextVar[Trust | None] = ContextVar("trust", default=None)
"""The trust of the walk that a task fetches for."""


class TrustSet:
    """The trusts that count for a request, as one.

    Attributes:
        hosts: the hosts of each.
    """

    def __init__(self, trusts: tuple[Trust, ...], *, is_selective: bool) -> None:
        self.hosts = tuple(trust.hosts for trust in trusts)
        self._is_selective = is_selective
        self._trusts = trusts

    def may_see_secrets(self, origin: str) -> bool:
        """Return whether headers of the caller are meant for an origin."""
        return not self._is_selective or self.has_origin(origin)

    def has_origin(self, origin: str) -> bool:
        """Return whether a URL of this origin was named."""
        return any(trust.has_origin(origin) for trust in self._trusts)

    def find_login(self, origin: str) -> str:
        """Return the userinfo that was named with an origin, or ""."""
        return next(filter(None, (trust.find_login(origin) for trust in self._trusts)), "")


class FetcherTrust:
    """The trust of a fetcher: its own, and that of the walks that use it.

    A walk has the fetcher's trust and its own. A request outside of walks, such as a consumer's for
    a page, has the trust of all running walks.
    """

    def __init__(self) -> None:
        self._own = Trust()
        self._walks: WeakSet[Trust] = WeakSet()
        self._is_selective = False

    def add(self, url: str) -> None:
        """Trust a URL: for the walk that asks, or for the fetcher if none does."""
        walk = TRUST.get()
        self._is_selective = True
        if walk is not None:
            self._walks.add(walk)
        (self._own if walk is None else walk).add(url)

    def find(self) -> TrustSet:
        """Return what the current task may trust."""
        walk = TRUST.get()
        if walk is None:
            return TrustSet((self._own, *self._walks), is_selective=self._is_selective)
        return TrustSet((self._own, walk), is_selective=True)
