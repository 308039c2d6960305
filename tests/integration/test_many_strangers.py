"""Lines of a list are strangers: no spelling of a private address among them is connected to.

Run as a script, this file reads all spellings in one run, under an audit hook that sees and refuses
each connect of the process, and prints the outcomes as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from typing import Any

import aiohttp
import package
import pytest
from faults import FaultServer
from hosts import HOSTS, resolve

from sitemapreader import FetchOptions, HttpFetcher, walk_many

REASONS = {"blocked-address", "invalid-url"}


async def read_all() -> dict[str, Any]:
    """Read a list of all spellings, by their port and by the web's; return the outcomes."""
    connects: list[Any] = []

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            connects.append(str(args[1]))
            raise OSError("a test connects to nothing")

    async with FaultServer() as server:
        lines = [f"http://{host}:{server.port}/" for host in HOSTS]
        lines += [f"http://{host}/map.xml" for host in HOSTS]
        lines += [host for host in HOSTS if "%" not in host]
        sys.addaudithook(watch)
        options = FetchOptions(max_attempts=1, allow_ports=(server.port,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", resolve)
            resolver = aiohttp.ThreadedResolver()
            async with HttpFetcher(options, resolver=resolver) as fetcher:
                run = walk_many(lines, fetcher=fetcher, probe="few", at_once=8)
                async with run:
                    entries = [len(rows) async for _, rows in run.rows()]
        return {
            "outcomes": {outcome.site: outcome.reason for outcome in run.outcomes},
            "statuses": sorted({str(outcome.status) for outcome in run.outcomes}),
            "entries": entries,
            "connects": connects,
            "reached": server.connections,
            "lines": len(lines),
            "repeated": run.repeated,
        }


@pytest.fixture(scope="module")
def report() -> Any:
    """What the script saw, in a process of its own: an audit hook cannot be taken back."""
    environment = {**os.environ, "PYTHONPATH": str(package.TESTS / "support")}
    script = [sys.executable, "-X", "utf8", __file__]
    run = subprocess.run(script, capture_output=True, check=False, timeout=60, env=environment)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def test_nothing_is_connected_to(report: Any) -> None:
    """Neither the hook nor the listening server saw a connection, over 180 lines."""
    assert report["lines"] > 180
    assert report["connects"] == []
    assert report["reached"] == 0
    assert report["entries"] == []


def test_each_line_has_an_outcome(report: Any) -> None:
    """Every line failed for its address, or because it is no URL."""
    assert report["statuses"] == ["failed"]
    assert set(report["outcomes"].values()) <= REASONS
    assert len(report["outcomes"]) + report["repeated"] >= report["lines"] - len(HOSTS)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(read_all())))
