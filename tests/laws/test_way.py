"""The way of the data: how many modules work on one URL, and on one sitemap that is gone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import package
from serving import serve
from walking import index, urlset

from sitemapreader import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

WAYS = {
    "a URL": (urlset, "complete", 47),
    "an index whose child is gone": (index, "failed", 48),
}
"""What is served, how it ends, and how many modules run at most: 53 and 55 were too many."""


async def walk_over(write: Callable[[str], bytes]) -> str:
    """Walk over a site with one sitemap; return how its last document ended."""

    def make_pages(base: str) -> Mapping[str, bytes]:
        robots = f"Sitemap: {base}/s.xml\n".encode()
        return {"/robots.txt": robots, "/s.xml": write(f"{base}/a")}

    async with serve(make_pages) as served, walk(served.base) as entries:
        assert [entry.loc async for entry in entries] == [f"{served.base}/a"] * (write is urlset)
    return entries.report.documents[-1].status


def list_modules(name: str) -> list[str]:
    """Walk over one of the sites, and list the modules that ran, by their first call."""
    write, status, _ = WAYS[name]
    assert asyncio.run(walk_over(write)) == status  # imports what it needs
    modules = {str(path): module for module, path in package.paths().items()}
    ran: dict[str, None] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename in modules:
            ran.setdefault(modules[code.co_filename])

    threading.setprofile(note)  # robots.txt is parsed in a thread
    sys.setprofile(note)
    assert asyncio.run(walk_over(write)) == status
    sys.setprofile(None)
    threading.setprofile(None)
    return list(ran)


def test_few_modules_run() -> None:
    """The way of a URL, and of a sitemap that is gone, leads through no more modules than it did.

    They are printed: `pytest -s` shows them, and a failure does.
    """
    # in a process of its own, whose caches no other test has filled or emptied
    command = [sys.executable, __file__]
    done = subprocess.run(command, env=package.environment(), check=True, stdout=subprocess.PIPE)
    for name, modules in json.loads(done.stdout).items():
        print(f"{name}: {len(modules)} modules, {', '.join(modules)}")  # noqa: T201 (see above)
        assert "walker.visit" in modules
        assert len(modules) <= WAYS[name][2]


if __name__ == "__main__":
    print(json.dumps({name: list_modules(name) for name in WAYS}))  # noqa: T201 (for the test)
