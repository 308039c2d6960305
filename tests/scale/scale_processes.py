"""Faults of a process that reads hosts, and a name for it that the web sees."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import ClientSession

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
HOOKS = Path(__file__).parent / "scale_hooks"
"""Folder whose `sitecustomize` calls `install` in every process that has it on its PYTHONPATH."""


def make_environment(*, bomb: str = "", trap: str = "") -> dict[str, str]:
    """Return the environment of a process that has these faults, and so have its children."""
    return os.environ | {
        "PYTHONPATH": f"{HOOKS}{os.pathsep}{ROOT}",
        "SCALE_BOMB": bomb,
        "SCALE_TRAP": trap,
    }


def install() -> None:
    """Change what this process does, as its environment says."""
    replace_request(os.environ.get("SCALE_BOMB", ""), os.environ.get("SCALE_TRAP", ""))


def replace_request(
    bomb: str = "", trap: str = "", replace: Callable[..., None] = setattr
) -> None:
    """Let each request say which process and event loop makes it.

    Die at a host that is a bomb. Stop at one that is a trap, where something is to come then.
    """
    request, arm, armed = ClientSession._request, faulthandler.dump_traceback_later, {}

    def note(seconds: float, **given: Any) -> None:
        armed.update(given)
        arm(seconds, **given)

    if trap:
        replace(faulthandler, "dump_traceback_later", note)

    async def send(self: ClientSession, method: str, url: Any, **given: Any) -> Any:
        if bomb and bomb in str(url):
            os.kill(os.getpid(), signal.SIGKILL)
        if armed and trap in str(url):
            arm(0.01, **armed)  # a minute passes
            time.sleep(10)  # noqa: ASYNC251 (what stops the loop is tested)
        headers = given.get("headers") or {}
        loop = id(asyncio.get_running_loop())
        given["headers"] = dict(headers) | {
            "User-Agent": f"worker/{os.getpid()}-{loop}"
        }
        return await request(self, method, url, **given)

    replace(ClientSession, "_request", send)


def die_at_write(number: int) -> None:
    """Kill this process at its nth write to the storage."""
    from sitemapreader.distributed.storage import Storage  # noqa: PLC0415 (only where it is used)

    calls, create = iter(range(1, 1_000_000)), Storage.create

    def call(self: Storage, *given: Any) -> Any:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return create(self, *given)

    setattr(Storage, "create", call)  # noqa: B010 (mypy lets nobody assign it)
