"""The commands besides `urls`: discover, tree, read, help."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from typing import TYPE_CHECKING

import package
import pytest
from commands import run, run_shell, serving, urlset

from sitemapreader.cli.commands import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

SITE = package.ROOT / "testdata" / "site"


def test_discover_prints_sitemaps() -> None:
    """Each sitemap that a site names is a line, and nothing of them is read."""
    done = run("discover", str(SITE), "-v")
    assert done.returncode == 0
    assert done.stdout.split() == [
        "https://www.example.org/sitemap_index.xml",
        "https://www.example.org/shop/sitemap.xml",
    ]
    assert done.stderr.startswith("sitemapreader: 2 sitemaps; documents: ")


def test_discover_in_json() -> None:
    """Each sitemap is an object that says how it was found, and on which site."""
    rows = [
        json.loads(line)
        for line in run("discover", str(SITE), "--format", "jsonl").stdout.splitlines()
    ]
    assert [row["via"] for row in rows] == ["robots", "robots"]
    assert {row["sitemap"] for row in rows} == {"https://www.example.org/robots.txt"}
    assert {row["site"] for row in rows} == {"https://www.example.org/"}


async def serve_nothing(request: web.Request) -> web.StreamResponse:
    """Answer for a site that has no sitemap."""
    from aiohttp import web  # noqa: PLC0415 (only types are needed above)

    raise web.HTTPNotFound(text=request.path)


def test_discover_nothing() -> None:
    """A site that answers and has no sitemap is not one that cannot be fetched: 1, and 4."""
    with serving(serve_nothing) as (url,):
        empty = run("discover", url, "--probe", "never")
    dead = run("discover", "http://127.0.0.1:9/")
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "no-sitemap" in empty.stderr
    assert (dead.returncode, dead.stdout) == (4, "")


@pytest.mark.parametrize("word", ["https://example.org/sitemap.xml", str(SITE)])
def test_read_is_for_files(word: str) -> None:
    """`read` has no network and no sites: a URL or a folder is wrong usage, and it says so."""
    done = run("read", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{word} is a " in done.stderr
    assert "read is for files: omit the word read" in done.stderr


def test_tree() -> None:
    """Each document stands below the one that lists it, with counts, sizes and dates."""
    done = run("tree", str(SITE))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == str(SITE)
    assert [re.split(r"https://www\.example\.org/", line)[0] for line in lines[1:]] == [
        "└── ",
        "    ├── ",
        "    └── ",
        "        ├── ",
        "        ├── ",
        "        ├── ",
        "        ├── ",
        "        └── ",
    ]
    birds = next(line for line in lines if "birds" in line)
    assert birds.endswith(
        "sitemap-birds.xml.gz  urlset, complete, 12 URLs, 352 B -> 2.1 KiB, "
        "lastmod 2026-02-28T00:00:00+00:00"
    )
    assert done.stderr == "sitemapreader: 43 URLs; documents: 8 complete\n"


@pytest.mark.parametrize("command", ["tree", "discover"])
def test_the_suffix_says_the_format(tmp_path: Path, command: str) -> None:
    """A file whose name ends with a format is written in it, or refused if there is none such."""
    suffix, other = {"tree": ("json", "jsonl"), "discover": ("jsonl", "csv")}[command]
    output = tmp_path / f"output.{suffix}"
    assert run(command, str(SITE), "-o", str(output)).returncode == 0
    assert json.loads(output.read_text("utf-8").splitlines()[0])
    refused = run(command, str(SITE), "-o", str(tmp_path / f"output.{other}"))
    assert refused.returncode == 2
    assert f"-o: .{other} cannot be written: end the name with .{suffix} or .txt" in refused.stderr


def test_tree_in_ascii() -> None:
    """Where the output has no characters for lines, others stand for them."""
    done = run(
        "tree", str(SITE), env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    )
    assert done.stdout.isascii()
    assert "\n`-- https" in done.stdout
    assert "\n    |-- https" in done.stdout


def test_tree_in_json(tmp_path: Path) -> None:
    """Each source is an object in a line, with the same tree in it."""
    copy = shutil.copytree(SITE, tmp_path / "copy")
    done = run("tree", str(SITE), str(copy), "--format", "json", "-q")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["source"] == str(SITE)
    (robots,) = first["sitemaps"]
    assert robots["role"] == "robots"
    assert [child["entries"] for child in robots["sitemaps"][1]["sitemaps"]] == [5, 5, 12, 6, 10]
    assert json.dumps(second).count('"status": "complete"') == 8


def test_tree_names_what_was_not_read(tmp_path: Path) -> None:
    """A child that cannot be read has its place in the tree, with the reason."""
    (tmp_path / "sitemap.xml").write_text(
        "<sitemapindex><sitemap><loc>http://a.example/a.xml</loc></sitemap>"
        "<sitemap><loc>http://a.example/gone\u202e.xml</loc></sitemap>"
        "<sitemap><loc>http://a.example/sitemap.xml</loc></sitemap></sitemapindex>",
        "utf-8",
    )
    (tmp_path / "a.xml").write_bytes(urlset(2, "http://a.example"))
    done = run("tree", str(tmp_path), "--base-url", "http://a.example/", "--sitemap")
    assert done.returncode == 3
    assert "├── http://a.example/a.xml  urlset, complete, 2 URLs" in done.stdout
    assert re.search(r"└── http://a\.example/gone\S*  failed \([a-z-]+ 404\)\n", done.stdout)
    assert "\u202e" not in done.stdout + done.stderr


def test_tree_of_a_file_is_none(tmp_path: Path) -> None:
    """A file has nothing below it that could be read: wrong usage, with what to give instead."""
    file = tmp_path / "a.xml"
    file.write_bytes(urlset(1))
    done = run("tree", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert "give its URL, or the folder" in done.stderr


def test_read_standard_input_unless_told_otherwise(tmp_path: Path) -> None:
    """`read` reads what is piped into it, and files, compressed or not."""
    file = tmp_path / "a.xml.gz"
    file.write_bytes(gzip.compress(urlset(2)))
    piped = run("read", "-q", input=urlset(1, "http://a.example").decode())
    assert (piped.returncode, piped.stdout) == (0, "http://a.example/0\n")
    both = run("read", "-q", str(file), "-", input=urlset(1, "http://a.example").decode())
    assert both.stdout.split() == [
        "https://example.org/0",
        "https://example.org/1",
        "http://a.example/0",
    ]


def test_read_resolves_against_the_base() -> None:
    """--base-url is what relative URLs are resolved against; without it they are lost, and said."""
    text = "<urlset><url><loc>/a</loc></url></urlset>"
    assert run("read", "-q", "--base-url", "http://a.example/b/", input=text).stdout == (
        "http://a.example/a\n"
    )
    assert "missing-base" in run("read", input=text).stderr


def test_a_pipe_is_a_file() -> None:
    """A named pipe, as `<(...)` makes one, is read like a file."""
    script = f"{package.ROOT}/testdata/site/sitemap-birds.xml.gz"
    done = run_shell(f"sitemapreader -q <(cat {script})", package.ROOT, "bash", forks=False)
    assert (done.returncode, len(done.stdout.split())) == (0, 12)


def test_a_command_is_the_first_word(tmp_path: Path) -> None:
    """A file that is called as a command is can be named with its folder."""
    (tmp_path / "tree").write_bytes(urlset(1))
    done = run("./tree", "-q", cwd=tmp_path)
    assert done.stdout == "https://example.org/0\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name: str) -> None:
    """Each command says what it is for, with each of its options."""
    done = run(name, "--help", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    actions = COMMANDS[name].make_parser().list_actions()
    flags = [flag for action in actions for flag in action.option_strings]
    assert len(flags) > 2
    assert all(flag in done.stdout for flag in flags)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_the_short_help_fits_a_terminal(name: str) -> None:
    """--help has 24 lines of 80 columns at most, and says how to see the rest."""
    done = run(*name.split(), "--help")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) <= 24
    assert max(map(len, lines)) < 100
    assert all(len(line) < 80 for line in lines if line.startswith("  "))
    assert lines[-1].startswith(
        f"`{' '.join(['sitemapreader', *name.split()])} --help --all` shows"
    )
    example = next(line for line in lines if line.startswith("for example: "))
    assert "sitemapreader" in example
    every = run(*name.split(), "--all", "--help").stdout
    shown = {line.split()[0] for line in lines if line.startswith("  -")}
    assert all(flag.rstrip(",") in every for flag in shown)


def test_the_short_help_has_what_people_type_first() -> None:
    """The program's own names the commands and the everyday options."""
    said = run("--help").stdout
    wanted = "--since --include --sample --count-by --state --changes --format --output --user"
    assert all(f"{name} " in said for name in wanted.split())
    assert all(name in said.partition("commands: ")[2] for name in COMMANDS)
