"""The README and the pages of docs/: their blocks run, their links lead somewhere."""

from __future__ import annotations

import gzip
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs
import pytest

from tests.support import commands, package, pages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

from sitemapreader import FetchOptions, Limits

README = package.ROOT / "README.md"
PAGES = [README, *sorted((package.ROOT / "docs").glob("*.md"))]
PYTHON = [
    pytest.param(
        page,
        number,
        id=f"{page.stem}-{number}",
        marks=[pytest.mark.slow] if block.needs() else (),  # imports large libraries
    )
    for page in PAGES
    if page.stem
    != "contributing"  # parts of modules: tests/reading/test_new_extension.py puts them in
    for number, block in enumerate(pages.blocks(page, "python"))
]
MADE = runpy.run_path(str(package.ROOT / "docs" / "conf.py"))["PAGES"]
"""Name of a page that is made of the code -> what returns its text."""
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
LANGUAGES = {"python", "text", "console", "sql", "yaml", "toml", "json", "xml", "sh"}
LANGUAGES |= {"{eval-rst}", "{toctree}"}
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
RUNS = 6
"""On a busy machine entries of several documents may arrive in another order; then again."""


def list_commands(page: Path) -> list[tuple[str, str]]:
    """List the commands of a page that can be run as they are, each with its output."""
    found = []
    for block in pages.blocks(page, "console"):
        for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
            command, _, said = part.partition("\n")
            if pages.INSTALLS not in command:
                found.append((command, said))
    return found


def run_command(command: str, folder: Path, server: str) -> str:
    """Run a command of the console; return what it prints."""
    line = command.replace(pages.SITE, server)
    # the program, started faster
    line = line.replace("python -m sitemapreader", "sitemapreader")
    line = re.sub(r"(^|[|&;] *|\bdo )python ", rf"\1{sys.executable} ", line)
    return pages.check(commands.run_shell(line, folder, "bash")).replace(
        server, pages.SITE
    )


def replace(page: Path, old: str, new: str) -> None:
    """Write a page anew with one part of it replaced."""
    text = page.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{page.name} has this {text.count(old)} times: {old}"
    page.write_text(text.replace(old, new), encoding="utf-8", newline="\n")


def make_folder(parent: Path) -> Path:
    """Make the folder in which the blocks of a page run."""
    folder = parent / "page"
    folder.mkdir()
    (folder / "testdata").symlink_to(
        package.ROOT / "testdata", target_is_directory=True
    )
    return folder


PAGE = b"<!doctype html><title>A page</title><p>Its text"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve testdata/site over loopback; give its origin."""
    folder = package.ROOT / "testdata" / "site"
    site: dict[str, bytes] = {}
    for path in folder.rglob("*.*"):
        data = path.read_bytes()
        # content decides
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        listed = re.findall(rf"{pages.SITE}(/[^<\s\"?]*)", unquote(data.decode()))
        site = dict.fromkeys(listed, PAGE) | site
        name = path.relative_to(folder).as_posix()
        site[f"/{name}"] = data.replace(pages.SITE.encode(), b"HOST")
    with commands.serving(site) as (url,):
        yield url


def test_there_are_blocks() -> None:
    """The README has blocks of both kinds, so the tests below are not void."""
    assert len(pages.blocks(README, "python")) > 1
    assert len(list_commands(README)) > 1


@pytest.mark.parametrize(("page", "number"), PYTHON)
def test_python(
    page: Path, number: int, server: str, tmp_path: Path, *, regenerate: bool
) -> None:
    """A block of Python runs, and prints what the page says below it."""
    block = pages.blocks(page, "python")[number]
    for library in block.needs():
        pytest.importorskip(library, reason=f"no {library}: pip install {library}")
    printed = []
    for run in range(RUNS):
        folder = tmp_path / str(run)
        folder.mkdir()
        printed.append(pages.run_python(block, make_folder(folder), server))
        if block.output is None or printed[-1] == block.output:
            return
        if regenerate:
            start = f"{block.code}```\n```text\n"
            replace(page, start + block.output, start + printed[-1])
            return
    assert printed[-1] == block.output


@each_page
def test_commands(page: Path, server: str, tmp_path: Path, *, regenerate: bool) -> None:
    """The commands of a page, one after the other, print what it says."""
    folder = make_folder(tmp_path)
    for number, (command, said) in enumerate(list_commands(page)):
        for run in range(RUNS):
            # A copy for each try: what a failed one has left in a state file changes the next.
            tried = tmp_path / f"{number}-{run}"
            shutil.copytree(folder, tried, symlinks=True)
            printed = run_command(command, tried, server)
            if printed == said:
                break
        folder = tried
        if regenerate and printed != said:
            replace(page, f"$ {command}\n{said}", f"$ {command}\n{printed}")
        else:
            assert printed == said, command


@each_page
def test_every_block_has_a_language(page: Path) -> None:
    """A block is Python, a console, or plainly something else that no test runs."""
    languages = {
        language
        for language, _ in pages.FENCE.findall(page.read_text(encoding="utf-8"))
    }
    assert languages <= LANGUAGES


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    """A link to another page or file of the repository names one that is there."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        target = link.partition("#")[0]
        is_here = not target.startswith(("http://", "https://", "mailto:"))
        if target and is_here:
            assert (page.parent / target).exists(), link


@pytest.mark.parametrize("name", MADE)
def test_pages_that_are_made_of_the_code(name: str, *, regenerate: bool) -> None:
    """The committed page is what the code says now."""
    path = package.ROOT / "docs" / name
    if regenerate:
        path.write_text(MADE[name](), "utf-8")
    assert path.read_text("utf-8") == MADE[name]()


@each_page
def test_no_passage_stands_twice(page: Path) -> None:
    """A heading, or a paragraph of several lines, is on its page once."""
    parts = re.split(r"\n\s*\n", page.read_text("utf-8"))
    long = [each for each in parts if each.startswith("## ") or each.count("\n") > 1]
    assert not [each for each, count in Counter(long).items() if count > 1]


def test_what_is_made_has_everything() -> None:
    """There is a row for each rule, each limit and each option."""
    rules, limits = MADE["audit-rules.md"](), MADE["limits.md"]()
    assert len(re.findall(r"^\| `[\w-]+` \|", rules, re.MULTILINE)) == 101
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| .{9}", limits, re.MULTILINE))
    for kind in (Limits, FetchOptions):
        assert rows.keys() >= {field.name for field in attrs.fields(kind)}
    assert [rows[name] for name in ("record_bytes", "depth")] == ["1.0 MiB", "5"]


def test_the_first_command_works(tmp_path: Path) -> None:
    """The README's first command prints every URL of testdata/site, one a line."""
    first = pages.blocks(README, "console")[0].code
    command = re.search(r"&& (python -m sitemapreader .*)", first)
    assert command
    words = [sys.executable, *command[1].split()[1:], "-q"]
    folder = make_folder(tmp_path)
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    urls = done.stdout.split()
    assert len(urls) == len(set(urls)) == 43
