"""Transports: what a client has to do, and the addresses that it is given.

Names are looked up once a minute, and their addresses checked for each request. The client resolves
nothing itself, so that what was checked is what is connected to.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Protocol, TypeAlias

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import AddressPolicy, TrustSet, read_address
from sitemapreader.fetch.answers import ByteSource, DeadlineClock
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from aiohttp.abc import ResolveResult
    from multidict import CIMultiDict

    from sitemapreader.fetch.request import RequestUrl

Addresses: TypeAlias = "tuple[ResolveResult, ...]"
"""The addresses of a host that may be connected to, in the order of the resolver."""


class Answer(ByteSource, Protocol):
    """An answer whose headers have been read, and the source of its body."""

    status: int
    reason: str
    headers: Mapping[str, str]

    @property
    def has_surplus(self) -> bool:
        """Whether the server has sent more than its answers, and nobody was told yet."""
        ...

    async def aclose(self) -> None:
        """Return the connection to the pool, or close it if the body is not finished."""
        ...


@attrs.frozen
class Transmission:
    """One request, as a transport sends it."""

    target: RequestUrl
    headers: CIMultiDict[str]
    addresses: Addresses
    """What may be connected to; empty where the client resolves names itself."""
    is_home: bool
    """Whether the headers of the caller are meant for the origin."""
    is_trusted: bool
    """Whether the walk that asks may reach a private address of the host."""
    seconds: float


class Transport(Protocol):
    """A client that sends one request and follows no redirect."""

    @property
    def own_headers(self) -> Mapping[str, str]:
        """The headers that the client itself sends."""
        ...

    def check(self) -> None:
        """Raise RuntimeError if the client is closed, or belongs to another event loop."""
        ...

    def is_home(self, origin: str, trust: TrustSet) -> bool:
        """Return whether the headers of the caller are meant for an origin."""
        ...

    def resolves(self, *, is_home: bool) -> bool:
        """Return whether the client resolves names itself: behind a proxy, or at home."""
        ...

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name; raise OSError if there is none."""
        ...

    async def send(self, request: Transmission, clock: DeadlineClock) -> Answer:
        """Send a GET request, and return its answer; raise FetchError if there is none."""
        ...

    async def aclose(self) -> None:
        """Close what the transport has made."""
        ...


# -- the addresses of names

_KEPT_SECONDS = 60
"""How long the addresses of a name are kept."""
_MOST_NAMES = 1_000
_CODES = (
    (TimeoutError, IssueCode.TIMEOUT),
    (UnicodeError, IssueCode.INVALID_URL),  # a label is empty, or longer than 63 characters
    (OSError, IssueCode.DNS),
)


def make_address(name: str, host: str, port: int) -> ResolveResult:
    """Make an address of a name, as aiohttp's resolvers do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return {
        "hostname": name,
        "host": host,
        "port": port,
        "family": family,
        "proto": 0,
        "flags": socket.AI_NUMERICHOST,
    }


class AddressBook:
    """The addresses of names, as `look_up` finds them; failures are not kept."""

    def __init__(
        self,
        look_up: Callable[[str, int], Coroutine[None, None, list[ResolveResult]]],
        policy: AddressPolicy,
    ) -> None:
        self._look_up = look_up
        self._policy = policy
        self._found: dict[tuple[str, int], tuple[float, asyncio.Task[list[ResolveResult]]]] = {}

    async def find(
        self, target: RequestUrl, trust: TrustSet, clock: DeadlineClock, seconds: float
    ) -> Addresses:
        """Return the addresses that may be connected to; raise FetchError for none."""
        # A final dot says that it is no name of a search domain. RFC 6761, section 6.3: all names
        # below `localhost` are loopback.
        host = target.host + "." * (target.url.raw_host or "").endswith(".")
        host = "localhost" if target.host.endswith(".localhost") else host
        try:
            if read_address(target.host) is not None:
                found = [make_address(target.host, target.host, target.port)]
            elif not (found := self._get_known(host, target.port)):
                found = await clock.wait(self._resolve(host, target.port), seconds)
        except (OSError, UnicodeError) as error:
            code = next(code for kind, code in _CODES if isinstance(error, kind))
            said = getattr(error, "strerror", None) or str(error)
            raise FetchError(code, str(target), said.lower()) from error
        allowed = tuple(
            each
            for each in found
            if self._policy.allows(target.host, str(each["host"]), trust.trusts)
        )
        if not found:
            raise FetchError(IssueCode.DNS, str(target), "the name has no address")
        if not allowed:
            said = f"{target.host} is {found[0]['host']}"
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), said)
        return allowed

    def _get_known(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses that are kept, which takes neither a timer nor a future."""
        until, task = self._found.get((host, port), (0.0, None))
        is_known = task is not None and task.done() and until > time.monotonic()
        return task.result() if task is not None and is_known else []

    async def _resolve(self, host: str, port: int) -> list[ResolveResult]:
        key, now = (host, port), time.monotonic()
        until, task = self._found.get(key, (0.0, None))
        if task is None or until < now:
            task = asyncio.create_task(self._look_up(host, port))
            task.add_done_callback(lambda _: self._forget_failure(key))
            self._found.pop(key, None)
            self._found[key] = now + _KEPT_SECONDS, task
            if len(self._found) > _MOST_NAMES:
                del self._found[next(iter(self._found))]
        return await asyncio.shield(task)  # others may wait for it as well

    def _forget_failure(self, key: tuple[str, int]) -> None:
        _, task = self._found.get(key, (0.0, None))
        if task is not None and task.done() and (task.cancelled() or task.exception()):
            del self._found[key]

    def close(self) -> None:
        """Wait for no answer any more."""
        for _, task in self._found.values():
            task.cancel()
        self._found.clear()
