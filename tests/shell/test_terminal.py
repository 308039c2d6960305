"""At a terminal, a real one of the system's: progress, passwords, colours that nobody asked for."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import select
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from tests.support.commands import serving, start, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.launcher import Run

NONE = "no pseudo-terminals: run it on Linux or macOS"
pty = pytest.importorskip("pty", reason=NONE)
termios = pytest.importorskip("termios", reason=NONE)


class Terminal:
    """A terminal that a test sits at."""

    def __init__(self, columns: int = 120) -> None:
        self.text = ""
        self._ours, self.theirs = pty.openpty()
        termios.tcsetwinsize(self.theirs, (40, columns))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def watch(self, until: str = "", seconds: float = 60) -> str:
        """Read until a text is there, or the other side has gone; return all that was shown."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until and re.search(until, self.text)):
            if not select.select([self._ours], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(self._ours, 65_536)
            except OSError:  # the other side has gone
                break
            if not piece:
                break
            self.text += piece.decode()
        return self.text

    def close(self) -> None:
        """Leave."""
        os.close(self._ours)


@contextmanager
def sitting_at(
    *arguments: str, stdin: bool = False, stdout: bool = False, columns: int = 120
) -> Iterator[tuple[Terminal, Run]]:
    """Run the command with standard error, and more, at a terminal."""
    terminal = Terminal(columns)
    with start(
        *arguments,
        env={"TERM": "xterm", "COLUMNS": str(columns)},
        stdin=terminal.theirs if stdin else subprocess.DEVNULL,
        stdout=terminal.theirs if stdout else subprocess.PIPE,
        stderr=terminal.theirs,
    ) as process:
        os.close(terminal.theirs)
        try:
            yield terminal, process
        finally:
            process.send_signal(signal.SIGKILL)
            terminal.close()


async def answer_slowly(request: web.Request) -> web.StreamResponse:
    """Answer for a site with ten sitemaps, each of which takes its time."""
    base = f"http://{request.host}"
    if request.path == "/robots.txt":
        return web.Response(text=f"Sitemap: {base}/index.xml")
    if request.path == "/index.xml":
        locs = "".join(
            f"<sitemap><loc>{base}/{n}.xml</loc></sitemap>" for n in range(10)
        )
        return web.Response(text=f"<sitemapindex>{locs}</sitemapindex>")
    await asyncio.sleep(0.2)
    return web.Response(body=urlset(100, base))


SHOWN = re.compile(
    r"(\d+) URLs, (\d+)/(\d+) documents, ([\d,]+/s, [\d.]+ \S+, \d+:\d\d)?"
)


@pytest.mark.parametrize("columns", [0, 40])
def test_progress_at_a_terminal(columns: int) -> None:
    """URLs, documents done and known, rate and bytes are shown at any width, and gone in the end.

    It takes one line, and no number is cut.
    """
    with (
        serving(answer_slowly) as (url,),
        sitting_at(url, columns=columns) as (terminal, process),
    ):
        assert process.stdout is not None
        assert len(process.stdout.read().split()) == 1000
        text = terminal.watch(until="1000 URLs; documents: 12 complete")
        assert process.wait(60) == 0
    *frames, last = text.rstrip().split("\r")
    assert last == "sitemapreader: 1000 URLs; documents: 12 complete"
    shown = [found for each in frames if (found := SHOWN.match(each))]
    assert len(shown) >= 3, text
    assert max(map(len, frames)) < (columns or 80)
    assert bool(shown[-1][4]) == (not columns)
    done, known = zip(*((int(found[2]), int(found[3])) for found in shown), strict=True)
    assert list(done) == sorted(done)
    assert all(d <= k for d, k in zip(done, known, strict=True))
    assert max(known) in {12, 13}


def test_progress_names_the_host_that_is_waited_for() -> None:
    """After three seconds in which nothing came, it says whose answer is awaited."""
    may_answer = threading.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/1.xml":
            await asyncio.to_thread(may_answer.wait, 60)
        return await answer_slowly(request)

    with serving(answer) as (url,), sitting_at(url) as (terminal, process):
        host = urlsplit(url).hostname
        assert f"waiting for {host}, 900 URLs" in terminal.watch(until="waiting for")
        may_answer.set()
        assert process.stdout is not None
        process.stdout.read()
        assert process.wait(60) == 0


def test_progress_of_an_audit() -> None:
    """It counts the URLs and bytes that were read, as that of a walk does, and then the pages."""
    words = ("audit", "--pages", "12")
    with (
        serving(answer_slowly) as (url,),
        sitting_at(*words, url) as (terminal, process),
    ):
        for shown in (
            r"[1-9]00 URLs, .*, [1-9][\d.]* KiB",
            r"pages visited: [1-9]\d*, 1,000 URLs",
        ):
            assert re.search(shown, terminal.watch(until=shown))
        assert process.stdout is not None
        process.stdout.read()
        assert process.wait(60) == 0


@pytest.mark.slow
def test_progress_of_an_audit_names_the_host_that_is_waited_for() -> None:
    """It does so for sitemaps, and for pages."""
    may_answer = threading.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        is_page = "." not in request.path
        if is_page or request.path == "/1.xml":
            await asyncio.to_thread(may_answer.wait, 60)
            may_answer.clear()
        return await answer_slowly(request)

    with (
        serving(answer) as (url,),
        sitting_at("audit", "--pages", "2", url) as (terminal, process),
    ):
        waits = f"waiting for {urlsplit(url).hostname}, "
        assert f"{waits}900 URLs" in terminal.watch(until="waiting for")
        may_answer.set()
        assert f"{waits}1,000 URLs" in terminal.watch(until="waiting for .*, 1,000 ")
        assert process.poll() is None


def test_progress_and_a_signal() -> None:
    """A signal takes the progress away before it is said that there was one."""
    with serving(answer_slowly) as (url,), sitting_at(url, f"{url}/1.xml") as seat:
        terminal, process = seat
        assert "sources done: 0, " in terminal.watch(
            until=r"\d URLs, \d+/\d+ documents,"
        )
        process.send_signal(signal.SIGTERM)
        text = terminal.watch(until="SIGTERM")
        assert process.wait(60) == 143
    assert text.rstrip().split("\r")[-1] == "sitemapreader: stopped by SIGTERM"


@pytest.mark.parametrize("user", ["reader", "reader:"])
def test_a_password_is_asked_for(user: str) -> None:
    """At a terminal a missing password is asked for, and is not shown."""
    sent: set[bytes] = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        sent.add(
            base64.b64decode(request.headers["Authorization"].removeprefix("Basic "))
        )
        return web.Response(body=urlset(1))

    with (
        serving(answer) as (url,),
        sitting_at("--sitemap", f"{url}/a.xml", "-u", user, stdin=True) as (
            terminal,
            process,
        ),
    ):
        terminal.watch(until="Password for 'reader': ")
        terminal.type("s3cr3t\n")
        assert process.stdout is not None
        assert process.stdout.read() == b"https://example.org/0\n"
        text = terminal.watch(until="1 URL")
        assert process.wait(60) == 0
    assert sent == {b"reader:s3cr3t"}
    assert "s3cr3t" not in text


def test_a_password_that_is_not_given() -> None:
    """Ctrl-C at the question ends the program with 130, without a traceback."""
    with sitting_at("https://a.example/", "-u", "me", stdin=True) as (
        terminal,
        process,
    ):
        terminal.watch(until="Password")
        # one that comes just before the read waits for the next key
        for _ in range(30):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(2)
                break
        assert process.returncode == 130
        text = terminal.watch(seconds=2)
    assert "Traceback" not in text


@pytest.mark.parametrize("place", ["terminal", "file", "quiet"])
def test_progress_and_results(tmp_path: Path, place: str) -> None:
    """The line makes room for URLs at the same terminal, each on its own; else it stays.

    It is taken away in the end. With -q there is none.
    """
    words = {"file": ["-o", str(tmp_path / "urls.txt")], "quiet": ["-q"]}.get(place, [])
    is_here = place != "quiet"
    with (
        serving(answer_slowly) as (url,),
        sitting_at(url, *words, stdout=is_here) as seat,
    ):
        terminal, process = seat
        if process.stdout is not None:
            assert len(process.stdout.read().split()) == 1000
        text = terminal.watch(until="12 complete" if is_here else "", seconds=10)
        assert process.wait(60) == 0
    if place == "quiet":
        assert text == ""
        return
    assert len(re.findall(r" documents, ", text)) >= 3
    cleared = len(re.findall(r"\r {20,}\r", text))
    assert cleared > 3 if place == "terminal" else cleared <= 2, repr(text)
    shown = [line.split("\r")[-1] for line in re.split(r"\r?\n", text)]
    here = sum(bool(re.fullmatch(rf"{url}/\d+", line)) for line in shown)
    assert here == (1000 if place == "terminal" else 0)
