"""The server for agents has no leak."""

from __future__ import annotations

import os
from itertools import cycle, islice
from typing import TYPE_CHECKING

import agents
import pytest
from agents import SITE
from serving import serve
from walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

CALLS = ("discover", "tree", "urls", "changes") * 2 + ("audit",)
"""An audit takes ten times as long as the others."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc"),  # noqa: PTH112
]


def find_server() -> int:
    """Return the process that this one has started last."""
    children = f"/proc/self/task/{os.getpid()}/children"
    with open(children) as file:  # noqa: PTH123 (a file of the kernel)
        return int(file.read().split()[-1])


def measure(process: int) -> float:
    """Return the memory of a process in MB."""
    with open(f"/proc/{process}/statm") as file:  # noqa: PTH123 (the same)
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


async def test_memory_after_200_calls(tmp_path: Path) -> None:
    """After each tool was called four times or more, 200 more calls take 10 MB at most."""
    pages = {"/sitemap.xml": urlset(*(f"{SITE}{number}" for number in range(2_000)))}
    async with (
        serve(lambda _: pages) as site,
        agents.connect(tmp_path, site.base, forks=False) as agent,
    ):
        process, sizes = find_server(), []
        for calls in (40, 200):
            for tool in islice(cycle(CALLS), calls):
                await agent.call(tool, limit=500)
            sizes.append(measure(process))
        assert sizes[1] - sizes[0] <= 10, sizes
