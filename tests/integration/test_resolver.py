"""Names that a resolver of the caller's gives are checked like any others."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.util import find_spec

import pytest
from faults import DOCUMENT, FaultServer
from hosts import open_and_fail
from resolving import NamedAddresses

from sitemapreader import FetchOptions, HttpFetcher, IssueCode

PRIVATE = ("127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "fd00::1")


async def test_a_private_address_from_a_resolver_is_refused() -> None:
    """Whatever address a resolver makes up, no socket is made for one that is not public."""
    async with FaultServer() as server:
        options = FetchOptions(allow_ports=(server.port,), max_attempts=1)
        for address in PRIVATE:
            resolver = NamedAddresses(lambda _, address=address: address)  # type: ignore[misc]
            async with HttpFetcher(options, resolver=resolver) as fetcher:
                code = await open_and_fail(fetcher, f"http://site.test:{server.port}/ok")
            assert code == IssueCode.BLOCKED_ADDRESS, address
            assert resolver.asked == ["site.test"]
        assert server.connections == 0


async def test_a_resolver_is_asked_once_for_a_name() -> None:
    """The addresses of a name are kept for a minute, over new connections."""
    async with FaultServer() as server:
        options = FetchOptions(allow_ports=(server.port,), allow_networks=("127.0.0.0/8",))
        resolver = NamedAddresses()
        async with HttpFetcher(options, resolver=resolver, keepalive_seconds=0.001) as fetcher:
            for name in ("one.test", "two.test", "one.test"):
                async with fetcher.open(f"http://{name}:{server.port}/ok") as response:
                    assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
                    assert response.address in {"127.0.0.1", ""}
                await asyncio.sleep(0.01)
        assert sorted(resolver.asked) == ["one.test", "two.test"]


async def test_a_name_that_does_not_resolve() -> None:
    """An error of a resolver is the Issue of a name that is not known."""
    async with HttpFetcher(
        FetchOptions(max_attempts=1), resolver=NamedAddresses(lambda _: "")
    ) as fetcher:
        assert await open_and_fail(fetcher, "http://nowhere.test/") == IssueCode.DNS


@pytest.mark.skipif(find_spec("pycares") is None, reason="no pycares: pip install .[speedups]")
def test_aiodns_resolves_where_it_is_installed() -> None:
    """A fetcher asks aiodns for names, with no thread for each."""
    script = (
        "import asyncio, aiohttp\n"
        "from sitemapreader import HttpFetcher\n"
        "async def main():\n"
        "    async with HttpFetcher() as fetcher:\n"
        "        print(type(fetcher.network.transport._get_resolver()).__name__)\n"
        "asyncio.run(main())\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "AsyncResolver"
