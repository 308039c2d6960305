"""The command line, here or as a real process, and servers in a thread for it to talk to."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import launcher
from tests.support.launcher import Run, run_here
from tests.support.serving import Site, listen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from aiohttp import web

    Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

COMMAND = [sys.executable, "-W", "error", "-m", "sitemapreader"]
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def find_program(code: str = "", *, forks: bool = True) -> list[str]:
    """Return what runs the command, or Python code with warnings as errors, behind its words.

    Args:
        code: what is run instead of `python -m sitemapreader`.
        forks: whether the launcher may start it: it gets three streams, all of them open.
    """
    if forks and launcher.IS_POSSIBLE:
        return launcher.find_launcher(code)
    return [sys.executable, "-W", "error", "-c", code] if code else COMMAND


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end: in this process, where no option needs another one.

    Args:
        arguments: the words behind `python -m sitemapreader`.
        options: as those of `subprocess.run`.
    """
    is_plain = options.keys() <= {"cwd", "errors", "input", "timeout"}
    # a cluster has processes of its own, and an event loop has this thread
    has_cluster = arguments[:1] == ("scale",) and "status" not in arguments
    if is_plain and not has_cluster and asyncio._get_running_loop() is None:
        order = (
            "",
            list(arguments),
            str(options.get("cwd", Path.cwd())),
            dict(os.environ),
        )
        return run_here(order, options.get("input"), options.get("errors", "strict"))
    return _capture([*find_program(forks=is_plain), *arguments], **options)


def _capture(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    given: dict[str, Any] = {
        "capture_output": True,
        "encoding": "utf-8",
        "timeout": 120,
    } | options
    return subprocess.run(words, check=False, **given)


def start(
    *arguments: str,
    code: str = "",
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> Run:
    """Start the command; leave it running.

    Args:
        arguments: the words behind `python -m sitemapreader`.
        code: what is run instead of it.
        env: more variables of the environment.
        options: as those of `subprocess.Popen`; without an encoding, pipes are binary.
    """
    pipe = subprocess.PIPE
    given = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe} | options
    variables = {**os.environ, **(env or {})}
    words = [*find_program(code), *arguments]
    return Run(words, env=variables, start_new_session=True, **given)


def run_code(code: str, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python code, or without any the command, to its end, with warnings as errors."""
    return _capture([*find_program(code), *words], cwd=cwd)


def run_shell(
    line: str, cwd: Path, shell: str = "sh", *, forks: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, in which `sitemapreader` is the program, to its end."""
    with tempfile.TemporaryDirectory() as folder:
        write_program(Path(folder), forks=forks)
        variables = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        return _capture([shell, "-c", line], cwd=cwd, env=variables)


def write_program(folder: Path, *, forks: bool = True) -> None:
    """Write a program `sitemapreader` for scripts of a shell."""
    program = folder / "sitemapreader"
    words = shlex.join(find_program(forks=forks))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', "utf-8")
    program.chmod(0o755)


@contextmanager
def open_dead_pipe() -> Iterator[int]:
    """Give the end of a pipe that nobody reads: its reader has left before anything is started."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what another process or thread will have done; fail if it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def urlset(count: int, host: str = "https://example.org") -> bytes:
    """Write a urlset."""
    records = "".join(
        f"<url><loc>{host}/{number}</loc></url>\n" for number in range(count)
    )
    return f'<urlset xmlns="{NAMESPACE}">\n{records}</urlset>'.encode()


@contextmanager
def running(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Run a loop in a thread for as long as the context lasts."""
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@contextmanager
def serving(
    answer: Answer | Mapping[str, Any], hosts: Sequence[str] = ("127.0.0.1",)
) -> Iterator[list[str]]:
    """Serve pages by their path, or what `answer` gives, at some addresses; give their URLs."""
    if not callable(answer):
        answer = Site(pages=dict(answer)).answer
    loop, servers = asyncio.new_event_loop(), AsyncExitStack()
    try:
        urls = [
            loop.run_until_complete(servers.enter_async_context(listen(answer, host)))
            for host in hosts
        ]
        with running(loop):
            yield urls
    finally:
        loop.run_until_complete(servers.aclose())
        loop.close()


def allow(*urls: str) -> list[str]:
    """Return the options that open loopback, and the ports of URLs, to the lines of a list."""
    ports = {url.rpartition(":")[2].strip("/") for url in urls}
    options = [option for port in sorted(ports) for option in ("--allow-port", port)]
    return ["--allow-network", "127.0.0.0/8", *options]
