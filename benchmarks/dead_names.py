"""Names that no server answers for in time: what a list of them costs, by resolver.

    pip install -e '.[speedups]'
    python benchmarks/dead_names.py [--names 40] [--seconds 1]

A name server of our own, on loopback, says after some seconds that there is no such name. aiodns
asks it; the system's resolver, in the threads of asyncio, is made to wait as long.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import AsyncResolver, ThreadedResolver

from sitemapreader import walk_many
from sitemapreader.fetch import HttpFetcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.abc import AbstractResolver

_NO_SUCH_NAME = b"\x81\x83"
"""The flags of an answer: recursion is available, and there is no such name (RFC 1035, 4.1.1)."""


class _NameServer(asyncio.DatagramProtocol):
    """A server that answers each question late, and in the negative."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._send = transport.sendto

    def datagram_received(self, data: bytes, address: Any) -> None:
        answer = data[:2] + _NO_SUCH_NAME + data[4:]
        asyncio.get_running_loop().call_later(
            self._seconds, self._send, answer, address
        )


async def walk_dead(
    names: int, resolver: AbstractResolver
) -> tuple[float, Counter[str]]:
    """Walk over sites whose names do not exist; return the seconds and the reasons."""
    begin = time.monotonic()
    sites = (f"http://dead{number}.test/" for number in range(names))
    async with (
        HttpFetcher(resolver=resolver) as fetcher,
        walk_many(sites, fetcher=fetcher) as run,
    ):
        async for _ in run.rows():
            pass
    await resolver.close()
    return time.monotonic() - begin, Counter(each.reason for each in run.outcomes)


async def measure(names: int, seconds: float) -> None:
    """Print how long each resolver takes."""
    server, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        partial(_NameServer, seconds), local_addr=("127.0.0.1", 0)
    )
    port = server.get_extra_info("sockname")[1]
    resolvers: dict[str, Callable[[], AbstractResolver]] = {
        "aiodns": partial(AsyncResolver, nameservers=["127.0.0.1"], udp_port=port),
        "threads": ThreadedResolver,
    }
    for name, make in resolvers.items():
        taken, reasons = await walk_dead(names, make())
        print(
            f"{name:<8} {names} names of {seconds:g} s: {taken:.1f} s, {dict(reasons)}"
        )
    server.close()


def main() -> None:
    """Read the command line, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()

    def wait(*_: Any, **__: Any) -> Any:
        time.sleep(arguments.seconds)
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    socket.getaddrinfo = wait
    asyncio.run(measure(arguments.names, arguments.seconds))


if __name__ == "__main__":
    main()
