"""How the program ends: pipes, signals, disks; the exit code, and what is left on disk."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import subprocess
import sys
import termios
import threading
from array import array
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest
from aiohttp import web

from tests.support import package
from tests.support.commands import (
    open_dead_pipe,
    run,
    run_code,
    run_shell,
    serving,
    start,
    urlset,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.launcher import Run

SITE = package.ROOT / "testdata" / "site"
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
FULL = Path("/dev/full")


SERVED = threading.Event()
"""Set when the program has been sent the beginning of an endless sitemap."""


async def serve_endless(request: web.Request) -> web.StreamResponse:
    """Answer with a sitemap that never ends."""
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(urlset(3000)[:-9])
    SERVED.set()
    await asyncio.sleep(60)
    return response


@pytest.fixture
def endless() -> Iterator[str]:
    SERVED.clear()
    with serving(serve_endless) as (url,):
        yield f"{url}/map.xml"


@pytest.mark.parametrize("words", ["read map.xml", "completion bash"])
def test_head(words: str, tmp_path: Path) -> None:
    """`| head -1` has its line, and the program ends with 141, without a word about it."""
    (tmp_path / "map.xml").write_bytes(urlset(20_000))
    line = f"sitemapreader {words} | head -1; echo ${{PIPESTATUS[0]}}"
    done = run_shell(line, tmp_path, "bash")
    first, code = done.stdout.splitlines()
    assert first
    assert code in ({"141"} if "map" in words else {"0", "141"})
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["urls", "discover", "completion"])
def test_a_reader_that_never_was(command: str) -> None:
    """Standard output that nobody reads from the start ends each command with 141."""
    arguments = ["bash"] if command == "completion" else [str(SITE)]
    with open_dead_pipe() as pipe, start(command, *arguments, stdout=pipe) as process:
        assert process.wait(60) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def wait_for_handlers(process: Run, seconds: float = 60) -> None:
    """Wait until a program handles the signals that end it, as Linux says."""
    status = Path(f"/proc/{process.program}/status")
    wanted = sum(1 << number - 1 for number in (signal.SIGTERM, signal.SIGHUP))
    wait_until(
        lambda: (
            int(status.read_text("ascii").partition("SigCgt:")[2].split()[0], 16)
            & wanted
            == wanted
        ),
        seconds,
    )


def wait_until_full(pipe: IO[Any], seconds: float = 60) -> None:
    """Wait until a pipe holds what it can: its writer waits, so that no more is added."""
    sizes = [0]

    def is_full() -> bool:
        size = array("i", [0])
        fcntl.ioctl(pipe.fileno(), termios.FIONREAD, size)
        sizes.append(size[0])
        return size[0] > 0 and len(set(sizes[-10:])) == 1

    wait_until(is_full, seconds)


def stop(
    arguments: list[str],
    number: signal.Signals,
    *,
    part: Path | None = None,
    lines: int = 2,
) -> str:
    """Run the command, signal it when it is at work and a part has lines; return what it says."""
    pipe, nobody = subprocess.PIPE, subprocess.DEVNULL
    with start(*arguments, stdin=pipe, stdout=nobody, encoding="utf-8") as process:
        wait_for_handlers(process)
        if part is not None:
            wait_until(
                lambda: part.exists() and part.read_bytes().count(b"\n") >= lines
            )
        process.send_signal(number)
        assert process.wait(60) == 128 + number
        assert process.stderr is not None
        text: str = process.stderr.read()
        return text


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("before", [{}, {"urls.csv": "as it was\n"}])
def test_a_file_after_a_signal(
    endless: str, tmp_path: Path, number: signal.Signals, before: dict[str, str]
) -> None:
    """A signal leaves the old file as it was, and says where the lines are that were read."""
    for name, text in before.items():
        (tmp_path / name).write_text(text, "utf-8")
    part = tmp_path / "urls.csv.part"
    said = stop([endless, "-o", str(tmp_path / "urls.csv")], number, part=part)
    kept = f"the output up to then is in {part}"
    assert said == f"sitemapreader: stopped by {number.name}; {kept}\n"
    assert part.read_text("utf-8").startswith("loc,")
    part.unlink()
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == before


def test_what_a_killed_run_leaves(endless: str, tmp_path: Path) -> None:
    """The next run into the file replaces it; one that runs meanwhile is refused."""
    file, part = tmp_path / "urls.csv", tmp_path / "urls.csv.part"
    with start(endless, "-o", str(file)) as process:
        assert SERVED.wait(60)
        beside = run(str(SITE), "-o", str(file), "-q")
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert beside.returncode == 1
    assert (
        beside.stderr
        == f"sitemapreader: cannot write to {file}: another run is writing it\n"
    )
    assert part.exists()
    assert run(str(SITE), "-o", str(file), "-q").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["urls.csv"]
    assert len(file.read_text("utf-8").splitlines()) > 40


WITHOUT_LOCKS = """
import errno, fcntl, sys
from sitemapreader._cli import main

def refuse(*_):
    raise OSError(errno.ENOLCK, "No locks available")

fcntl.flock = refuse
sys.exit(main(sys.argv[1:]))
"""


def test_a_file_is_written_where_no_file_can_be_locked(tmp_path: Path) -> None:
    """Some network file systems have no locks: the run does without."""
    file = tmp_path / "urls.csv"
    done = run_code(WITHOUT_LOCKS, tmp_path, str(SITE), "-o", str(file), "-q")
    assert done.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["urls.csv"]
    assert len(file.read_text("utf-8").splitlines()) > 40


@pytest.mark.parametrize(
    "line", ["- -o u.csv", "-", "tree -i -", "-i -", "read", "discover -i -"]
)
def test_a_signal_while_nothing_is_written_to_us(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for standard input ends with a signal, at once: no traceback, no file of a head."""
    monkeypatch.chdir(tmp_path)
    part = tmp_path / "u.csv.part" if "-o" in line else None
    said = stop(line.split(), signal.SIGTERM, part=part, lines=1)
    kept = "; u.csv was not written" if part else ""
    assert (said, [*tmp_path.iterdir()]) == (
        f"sitemapreader: stopped by SIGTERM{kept}\n",
        [],
    )


def test_an_audit_that_is_stopped(endless: str) -> None:
    """A signal ends an audit without a report, and the program says what would bring one."""
    said = stop(["audit", endless, "-o", "report.html"], signal.SIGTERM)
    assert (
        "stopped by SIGTERM; no report was written: to get one, limit the audit" in said
    )


SIGNALLED_BESIDE = """
import os, signal, sys, threading, time
from sitemapreader._cli import main

def send():
    while not callable(signal.getsignal(signal.SIGTERM)):
        time.sleep(0.01)
    time.sleep(0.5)  # until the loop waits
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

os.dup2(os.pipe()[0], 0)
threading.Thread(target=send, daemon=True).start()
sys.argv[1:] = ["-"]
sys.exit(main())
"""


@pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="no signals of threads on Windows"
)
def test_a_signal_that_interrupts_no_wait(tmp_path: Path) -> None:
    """A signal that the event loop's thread does not notice ends the program all the same."""
    done = run_code(SIGNALLED_BESIDE, tmp_path)
    assert done.returncode == 143
    # in development mode asyncio complains of steps that took long
    assert done.stderr.splitlines()[-1] == "sitemapreader: stopped by SIGTERM"


DOWN = "http://127.0.0.1:9/"


INTERRUPTING = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
from sitemapreader._cli import main
sys.exit(main({words!r}))
"""
"""The command, which Ctrl-C reaches when it imports a module."""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sitemapreader._cli.commands", ["--help"]),
        ("argparse", ["--version"]),
        ("sitemapreader._cli.options", [str(SITE)]),
        ("sitemapreader._cli.commands.urls", [str(SITE)]),
        ("asyncio", [str(SITE)]),
        ("sitemapreader._walk", ["tree", str(SITE)]),
        ("duckdb", ["audit", str(SITE)]),
        ("sitemapreader.distributed", ["scale", "-", "-o", "out"]),
    ],
)
def test_ctrl_c_while_modules_load(name: str, words: list[str], tmp_path: Path) -> None:
    """Ctrl-C that comes before any work ends each command quietly, with 130."""
    code = INTERRUPTING.format(name=name, words=words)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full: run it on Linux")
@pytest.mark.parametrize("command", ["urls", "tree", "discover", "completion"])
def test_a_full_disk(command: str) -> None:
    """No space left is said in one line, with exit code 1, whatever was to be written."""
    words = {"completion": ["zsh"]}.get(command, [str(SITE)])
    with FULL.open("wb") as full:
        process = start(command, *words, stdout=full.fileno(), encoding="utf-8")
    with process:
        assert process.wait(60) == 1
        assert process.stderr is not None
        said = process.stderr.read()
    assert (
        said
        == "sitemapreader: cannot write to standard output: No space left on device\n"
    )


DOWN = "http://127.0.0.1:9/"


@pytest.mark.parametrize("options", [(), ("--report", "sites.csv")])
@pytest.mark.parametrize("name", ["urls.txt", "urls.parquet", "urls.jsonl.gz"])
def test_a_file_of_yesterday_outlives_a_bad_day(
    tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    """A site that is down or has lost its sitemap leaves the file as it was, and that is said."""
    output = tmp_path / name
    with serving({"/": b"<p>nothing"}) as (barren,):
        for source, code in ((DOWN, 4), (barren, 1)):
            for is_there in (True, False):
                output.write_text("yesterday", "utf-8") if is_there else output.unlink()
                done = run(source, "-o", str(output), *options, "-m", "5", cwd=tmp_path)
                assert done.returncode == code, done.stderr
                assert (
                    f"{output} was not written, because nothing was found"
                    in done.stderr
                )
                assert output.exists() == is_there
                assert not is_there or output.read_text("utf-8") == "yesterday"
            assert (
                "--report" not in options
                or "127.0.0.1" in (tmp_path / "sites.csv").read_text()
            )
    assert not list(tmp_path.glob(".*"))


def test_a_list_of_yesterday_outlives_a_bad_day(tmp_path: Path) -> None:
    """What is found takes the place of the file; where nothing is, the file stays as it was."""
    output = tmp_path / "sitemaps.txt"
    output.write_text("yesterday", "utf-8")
    done = run("discover", DOWN, "-o", str(output))
    said = f"sitemapreader: {output} was not written, because nothing was found"
    assert (done.returncode, output.read_text("utf-8")) == (4, "yesterday")
    assert said in done.stderr.splitlines()
    done = run("discover", str(SITE), "-o", str(output))
    assert (done.returncode, "was not written" in done.stderr) == (0, False)
    assert output.read_text("utf-8") == run("discover", str(SITE)).stdout


def test_a_fault_leaves_what_was_read(tmp_path: Path) -> None:
    """A file is whole although something failed: the exit code says that, and the file is there."""
    (tmp_path / "broken.xml").write_bytes(urlset(5)[:-60])
    done = run("broken.xml", "-i", str(tmp_path), "-o", "urls.txt", cwd=tmp_path)
    assert done.returncode == 3
    assert f"cannot read {tmp_path}: Is a directory" in done.stderr
    assert len((tmp_path / "urls.txt").read_text("utf-8").split()) == 4


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("waiting", ["for the server", "for the reader"])
def test_whole_lines(
    endless: str, tmp_path: Path, number: signal.Signals, waiting: str
) -> None:
    """A signal ends the program with 128 and its number, and only whole lines were written."""
    file = tmp_path / "sitemap.xml"
    file.write_bytes(urlset(200_000))
    is_full = waiting == "for the reader"
    with start(str(file) if is_full else endless) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        text = process.stdout.readline()
        if is_full:
            wait_until_full(process.stdout)
        process.send_signal(number)
        assert not is_full or process.wait(60) == 128 + number
        text, errors = text + process.stdout.read(), process.stderr.read()
        assert process.wait(60) == 128 + number
    assert text.startswith(b"https://example.org/0\n")
    assert text.endswith(b"\n")
    assert b"Traceback" not in errors
