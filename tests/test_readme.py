"""The README is run: every block of Python and every command, and what they print is compared."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

import package
import pytest
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

README = package.ROOT / "README.md"
SITE = "https://www.example.org"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = "pip install"
"""A line of set-up: .ci/run installs the package, both ways, and runs what follows."""


class Block(NamedTuple):
    """A fenced block, and the block of output that follows it, if one does."""

    language: str
    code: str
    output: str | None


def blocks(language: str) -> list[Block]:
    """Find the blocks of one language."""
    fences = re.findall(
        r"^```(\w*)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    found = []
    for number, (name, code) in enumerate(fences):
        following = fences[number + 1] if number + 1 < len(fences) else ("", "")
        found.append(Block(name, code, following[1] if following[0] == "text" else None))
    return [block for block in found if block.language == language]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve testdata/site over loopback, from a thread; give its origin."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_static("/", package.ROOT / "testdata" / "site")
    runner = web.AppRunner(app, access_log=None)
    loop.run_until_complete(runner.setup())
    loop.run_until_complete(web.TCPSite(runner, "127.0.0.1", 0).start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(runner.cleanup())
    loop.close()


def run(command: list[str]) -> str:
    """Run a command where the README is; its errors fail the test."""
    done = subprocess.run(
        command, cwd=package.ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


PYTHON = blocks("python")
COMMANDS = [
    line.removeprefix("$ ")
    for block in blocks("console")
    for line in block.code.splitlines()
    if line.startswith("$ ")
]


def test_there_are_blocks() -> None:
    """The README has blocks of both kinds, so the tests below are not void."""
    assert len(PYTHON) > 4
    assert len(COMMANDS) > 2


def outputs(once: Callable[[], str]) -> Iterator[str]:
    """Yield the output of several runs: on a busy machine entries may arrive in another order."""
    for _ in range(6):
        yield once()


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python(number: int, server: str, regenerate: bool) -> None:
    """A block of Python prints what the README says, with the network on loopback."""
    block = PYTHON[number]
    needs_network = "HttpFetcher" in block.code
    code = block.code.replace(SITE, server) if needs_network else block.code

    def once() -> str:
        return run([sys.executable, "-X", "dev", "-W", "error", "-c", code]).replace(server, SITE)

    if regenerate:
        replace_output(block, once())
    assert any(output == blocks("python")[number].output for output in outputs(once))


@pytest.mark.parametrize("command", [c for c in COMMANDS if INSTALLS not in c])
def test_commands(command: str, regenerate: bool) -> None:
    """A command prints what the README says."""
    block = next(b for b in blocks("console") if f"$ {command}\n" in b.code)
    _, _, said = block.code.partition(f"$ {command}\n")

    def once() -> str:
        return run(["bash", "-c", command.replace("python ", f"{sys.executable} ")])

    if regenerate:
        text = README.read_text(encoding="utf-8")
        README.write_text(text.replace(block.code, f"$ {command}\n{once()}"), encoding="utf-8")
        return
    assert any(output == said for output in outputs(once))


def test_the_first_command_works(tmp_path: object) -> None:
    """The README's first command prints every URL of testdata/site, one a line."""
    del tmp_path
    command = COMMANDS[0].partition(" && ")[2]
    urls = run(["bash", "-c", command.replace("python ", f"{sys.executable} ") + " -q"]).split()
    assert len(urls) == len(set(urls)) == 43


def replace_output(block: Block, output: str) -> None:
    """Write the output of a block of Python into the README."""
    text = README.read_text(encoding="utf-8")
    before, code, after = text.partition(block.code)
    head, fence, rest = after.partition("```text\n")
    _, end, tail = rest.partition("```")
    README.write_text(before + code + head + fence + output + end + tail, encoding="utf-8")
