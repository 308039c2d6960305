"""The addresses of names, kept for a minute: to connect, and to count requests."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractResolver

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import literal_address
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

    from sitemapreader.fetch.body import DeadlineClock
    from sitemapreader.fetch.request import RequestUrl

_KEPT_SECONDS = 60
"""How long the addresses of a name are kept."""
_MOST_NAMES = 1_000
_CODES = (
    (TimeoutError, IssueCode.TIMEOUT),
    (UnicodeError, IssueCode.INVALID_URL),  # a label is empty, or longer than 63 characters
    (OSError, IssueCode.DNS),
)


class CachingResolver(AbstractResolver):
    """A resolver that keeps the answers of another one, but no failures.

    Args:
        resolver: the caller's, which is not closed here; without one, aiohttp's default.
    """

    def __init__(self, resolver: AbstractResolver | None = None) -> None:
        self._given = resolver
        self._own: AbstractResolver | None = None
        self._found: dict[
            tuple[str, int, socket.AddressFamily], tuple[float, asyncio.Task[list[ResolveResult]]]
        ] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a name; raise OSError if there is none."""
        key, now = (host, port, family), time.monotonic()
        until, task = self._found.get(key, (0.0, None))
        if task is None or until < now:
            task = asyncio.create_task(self._get_resolver().resolve(host, port, family))
            task.add_done_callback(lambda _: self._forget_failure(key))
            self._found.pop(key, None)
            self._found[key] = now + _KEPT_SECONDS, task
            if len(self._found) > _MOST_NAMES:
                del self._found[next(iter(self._found))]
        return await asyncio.shield(task)  # others may wait for it as well

    async def find_server(self, target: RequestUrl, clock: DeadlineClock, seconds: float) -> str:
        """Return one address for all names of a server: the first in order.

        Raises:
            FetchError: DNS, INVALID_URL, or TIMEOUT after some seconds.
        """
        if (literal := literal_address(target.host)) is not None:
            return literal
        try:
            found = await clock.wait(self.resolve(target.host, target.port), seconds)
        except (OSError, UnicodeError) as error:
            code = next(code for kind, code in _CODES if isinstance(error, kind))
            said = getattr(error, "strerror", None) or str(error)
            raise FetchError(code, str(target), said.lower()) from error
        return min(str(each["host"]) for each in found)

    async def close(self) -> None:
        """Close the resolver unless it is the caller's."""
        for _, task in self._found.values():
            task.cancel()
        self._found.clear()
        if self._own is not None:
            await self._own.close()

    def _get_resolver(self) -> AbstractResolver:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = aiohttp.DefaultResolver()
        return self._own

    def _forget_failure(self, key: tuple[str, int, socket.AddressFamily]) -> None:
        _, task = self._found.get(key, (0.0, None))
        if task is not None and task.done() and (task.cancelled() or task.exception()):
            del self._found[key]
