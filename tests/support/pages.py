"""Pages of documentation as tests see them: fenced blocks that are run, and what they print.

A block of Python may be followed by a block of text: its output. In a block of the console a line
that begins with `$ ` is a command, and what follows is its output. Blocks run in a folder that has
`testdata/`. `https://www.example.org` is a server of `testdata/site` on loopback there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tests.support import commands

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SITE = "https://www.example.org"
FENCE = re.compile(r"^```([{\w-]*}?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = "pip install"
"""A line of set-up: .ci/run installs the package, both ways, and runs what follows."""
NEEDS = {
    "to_dataframe": "pandas",
    "_frame(": "pandas",
    "duckdb": "duckdb",
    "parquet": "pyarrow",
    "record_batches": "pyarrow",
    "langchain_core": "langchain_core",
    "llama_index": "llama_index",
    "import ray": "ray",
    "crawl4ai": "crawl4ai",
    "import trafilatura": "trafilatura",
    "recipes.scrapy": "scrapy",
    "from crawlee": "crawlee",
    "import httpx2": "httpx2",
}
"""What a block uses, and the library that it needs for this."""
OFFLINE = ("FolderFetcher", "MemoryFetcher")
"""A block that uses one of these reads its site from a folder or from memory."""
GUARD = """\
import sys
def _guard(event, args):
    if event == "socket.getaddrinfo" and str(args[0]) not in {"127.0.0.1", "::1", "localhost"}:
        raise OSError(f"a block of documentation looked up {args[0]}")
sys.addaudithook(_guard)
"""


class Block(NamedTuple):
    """A fenced block, and the block of output that follows it, if one does."""

    language: str
    code: str
    output: str | None

    def needs(self) -> list[str]:
        """List the libraries without which the block cannot run."""
        return sorted({library for use, library in NEEDS.items() if use in self.code})


def blocks(page: Path, language: str) -> list[Block]:
    """Find the blocks of one language."""
    fences = FENCE.findall(page.read_text(encoding="utf-8"))
    found = []
    for number, (name, code) in enumerate(fences):
        following = fences[number + 1] if number + 1 < len(fences) else ("", "")
        found.append(
            Block(name, code, following[1] if following[0] == "text" else None)
        )
    return [block for block in found if block.language == language]


def run_python(block: Block, folder: Path, server: str) -> str:
    """Run a block of Python; a warning, an error or a word on standard error fails the test."""
    offline = any(name in block.code for name in OFFLINE)
    code = block.code if offline else block.code.replace(SITE, server)
    return check(commands.run_code(GUARD + code, folder)).replace(server, SITE)


def check(done: subprocess.CompletedProcess[str]) -> str:
    """Return what was printed; any word on standard error fails the test."""
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
