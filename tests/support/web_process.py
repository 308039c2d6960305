"""Rows 159 to 163 of the table: the process; pipes, signals, kills, disks, consumers."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from commands import wait_until_full
from faults import FaultServer
from walking import urlset
from web_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from web_table import Web

COMMAND = [sys.executable, "-W", "error", "-m", "sitemapreader"]
URLS = 100_000
KILLS = 8
CONSUMERS = """
import asyncio, sys
from sitemapreader import walk

class Deliberate(Exception): pass

async def leave(url, how):
    async with walk(sitemaps=[url]) as entries:
        async for _ in entries:
            if how == "break": break
            if how == "raise": raise Deliberate
            asyncio.current_task().cancel()
            await asyncio.sleep(0)

async def main():
    asyncio.get_running_loop().slow_callback_duration = 60  # an import takes its time
    for how in ("break", "raise", "cancel"):
        try: await asyncio.create_task(leave(sys.argv[1], how))
        except (Deliberate, asyncio.CancelledError) as error: print(type(error).__name__, end=" ")
    print(len(asyncio.all_tasks()) - 1, "tasks left")

asyncio.run(main())
"""


def sitemap(folder: str) -> Path:
    """Write a sitemap that takes a while to print."""
    path = Path(folder) / "sitemap.xml"
    path.write_bytes(urlset(*(f"https://example.org/{n}" for n in range(URLS))))
    return path


@row(159, "| head -1", "141, quiet")
async def closed_pipe(_: Web) -> str:
    return await asyncio.to_thread(_close_pipe)


def _close_pipe() -> str:
    with tempfile.TemporaryDirectory() as folder:
        script = '"$@" | head -1 >/dev/null; exit ${PIPESTATUS[0]}'
        arguments = ["bash", "-c", script, "-", *COMMAND, str(sitemap(folder))]
        done = subprocess.run(arguments, capture_output=True, check=False, timeout=60)
    errors = done.stderr.decode()[-200:]
    return f"{done.returncode}, {errors or 'quiet'}"


@row(160, "SIGINT, SIGTERM, SIGHUP", "130, whole lines / 143, whole lines / 129, whole lines")
async def signals(_: Web) -> str:
    return await asyncio.to_thread(_send_signals)


def _send_signals() -> str:
    said = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(sitemap(folder))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen(
                [*COMMAND, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                assert process.stdout is not None
                process.stdout.readline()
                wait_until_full(process.stdout)
                process.send_signal(number)
                rest, errors = process.communicate(timeout=30)
            whole = rest.endswith(b"\n") and b"Traceback" not in errors
            said.append(f"{process.returncode}, {'whole lines' if whole else 'broken'}")
    return " / ".join(said)


def kill_at_random(folder: str) -> Iterator[str]:
    """Kill runs that write a file, each a little later; give what is there afterwards."""
    file, output = str(sitemap(folder)), Path(folder) / "urls.txt"
    for number in range(KILLS):
        process = subprocess.Popen([*COMMAND, file, "-q", "-o", str(output)])
        time.sleep(0.1 * (number + 1))
        process.kill()
        process.wait()
        if not output.exists():
            yield "absent"
        else:
            yield "whole" if output.read_bytes().count(b"\n") == URLS else "broken"
            output.unlink()


@row(161, "kill -9 while a file is written", "absent or whole")
async def kills(_: Web) -> str:
    with tempfile.TemporaryDirectory() as folder:
        seen = await asyncio.to_thread(lambda: set(kill_at_random(folder)))
    return "absent or whole" if seen <= {"absent", "whole"} else str(seen)


@row(162, "full disk; a folder that is not there", "1 1")
async def full_disk(_: Web) -> str:
    return await asyncio.to_thread(_fill_disk)


def _fill_disk() -> str:
    with tempfile.TemporaryDirectory() as folder, Path("/dev/full").open("wb") as full:
        file = str(sitemap(folder))
        runs = [
            subprocess.run([*COMMAND, file], stdout=full, stderr=subprocess.PIPE, check=False),
            subprocess.run(
                [*COMMAND, file, "-o", f"{folder}/nowhere/x"], capture_output=True, check=False
            ),
        ]
    return " ".join(
        "traceback" if b"Traceback" in run.stderr else str(run.returncode) for run in runs
    )


@row(163, "a consumer breaks, raises, is cancelled", "Deliberate CancelledError 0 tasks left")
async def consumers(_: Web) -> str:
    async with FaultServer() as server:
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-X", "dev", "-W", "error", "-c", CONSUMERS, server.url("ok")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    return (done.stdout + done.stderr).strip()
