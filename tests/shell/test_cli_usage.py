"""Wrong usage is answered in two lines, before anything is fetched; and what --help shows works."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import package
import pytest
from aiohttp import web
from commands import allow, run, serving, urlset, write_program

from sitemapreader.cli.commands import COMMANDS, Command

if TYPE_CHECKING:
    from pathlib import Path

SITE = package.ROOT / "testdata" / "site"


def list_examples(command: Command) -> list[str]:
    return [line for line in command.examples.splitlines() if not line.startswith(" ")]


EXAMPLES = [
    pytest.param(
        line, id=f"{name}-{number}", marks=[pytest.mark.slow] * (name == "scale")
    )  # a cluster takes seconds
    for name, command in COMMANDS.items()
    for number, line in enumerate(list_examples(command))
]


@pytest.mark.parametrize("word", ["discovr", "tre", "sate", "missing.xml", "ftp://a.example/"])
@pytest.mark.parametrize("command", [(), ("tree",), ("discover",)])
def test_a_word_that_is_no_source(command: tuple[str, ...], word: str) -> None:
    """It is wrong usage, wherever it stands, and nothing else on the line is asked for."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response(body=urlset(2))

    with serving(answer) as (url,):
        for words in ((word, f"{url}/a.xml"), (f"{url}/a.xml", word, str(SITE))):
            done = run(*command, *words)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"{word!r} is neither an http(s) URL nor a file or folder" in done.stderr
    assert asked == []


@pytest.mark.parametrize("command", [(), ("tree",), ("discover",), ("audit",)])
def test_no_word_at_all(command: tuple[str, ...]) -> None:
    """Without a source there is nothing to do, and what to name is said."""
    done = run(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no source: name " in done.stderr


@pytest.mark.parametrize(
    ("word", "command"), [("discovr", "discover"), ("tre", "tree"), ("sumbit", "submit")]
)
def test_a_command_that_is_mistyped(word: str, command: str) -> None:
    """The command that is like it is named."""
    done = run(word, "http://127.0.0.1:9/")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"; did you mean {command}?\n")


@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("wrong", ["--no-such-option", "--format=nothing", "--colour"])
def test_wrong_usage_takes_two_lines(command: str, wrong: str) -> None:
    """A line of usage, and one that says what is wrong, whatever the command."""
    done = run(*command.split(), wrong)
    assert (done.returncode, done.stdout) == (2, "")
    usage, error = done.stderr.splitlines()
    assert usage.startswith(f"usage: sitemapreader {command or '[COMMAND]'} [OPTION]...")
    assert error.startswith(f"sitemapreader{' ' * bool(command)}{command}: error: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "json"), "unknown value 'json': did you mean jsonl?"),
        (("--format", "ndjson"), "did you mean jsonl?"),
        (("--format=JSONL",), "choose from urls, jsonl, csv, tsv, parquet"),
        (("tree", "--format", "jsonl"), "did you mean json?"),
        (("--lim", "3"), "unknown option: --lim; did you mean --limit? see sitemapreader --help"),
        (("--limit", "-1"), "'-1': write a whole number above 0"),
        (("--limit=-1",), "'-1': write a whole number above 0"),
        (("-c", "-2"), "'-2': write a whole number above 0"),
        (("-m", "-1"), "write a number above 0"),
        (("--delay", "-1"), "write a number of seconds"),
        (("--since", "-soon"), "expected one argument"),
        (("-0", "--format", "csv"), "--null is for urls and jsonl"),
        (("--no-header", "--format", "jsonl"), "--no-header is for csv and tsv"),
        (("--fields", "lastmod"), "--fields: urls has no field but loc"),
        (("--fields", "loc,title"), "write jsonl, csv or tsv"),
        (("--include", "["), r"'[' is not a regular expression"),
        (("--exclude", "*.html"), r"as in \*\.html"),
        (("--limit", "0"), "write a whole number above 0"),
        (("--depth", "1000"), "write a number up to 100"),
        (("--limit", "ten"), "write a whole number above 0"),
        (("--since", "yesterday"), "write a date (2026-01-31) or a time before now"),
        (("--since", "9" * 40 + "d"), "is before the year 1: write a shorter span"),
        (("--timeout=-1",), "write a number above 0"),
        (("--timeout", "nan"), "write a number above 0"),
        (("--delay", "soon"), "write a number of seconds"),
        (("--probe", "maybe"), "unknown value 'maybe': choose from auto, few, always, deep, never"),
        (("--fields", "loc,colour", "--format", "csv"), "colour"),
        (("--site", "--sitemap"), "not allowed with"),
        (("--user-name=me:secret",), "unknown option: --user-name;"),
        (("-i", "-", "-"), "not both"),
        (("-o", "urls.json"), "end the name with .jsonl, .csv"),
        (("-o", "urls.csv.zst"), "-o: .zst cannot be written"),
    ],
)
def test_what_to_use_instead(words: tuple[str, ...], said: str) -> None:
    """The message names the option and the value that is meant, in words of the shell."""
    command = words[:1] if words[0] in COMMANDS else ()
    done = run(*command, str(SITE), *words[len(command) :], input="")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert "secret" not in done.stderr


@pytest.mark.parametrize("when", [("--since", "-7d"), ("--since=-7d",), ("--since", "7d")])
def test_a_span_may_have_a_minus(tmp_path: Path, when: tuple[str, ...]) -> None:
    """`-7d` is seven days before now, as `7d` is."""
    file = tmp_path / "sitemap.xml"
    file.write_bytes(
        b"<urlset><url><loc>http://a.example/old</loc><lastmod>2020-01-01</lastmod></url>"
        b"<url><loc>http://a.example/new</loc><lastmod>2090-01-01</lastmod></url></urlset>"
    )
    done = run("read", "-q", *when, str(file))
    assert (done.returncode, done.stdout) == (0, "http://a.example/new\n")


def test_a_pattern_may_begin_with_a_minus() -> None:
    """The value of an option that takes one is not taken for an option."""
    done = run(str(SITE), "-q", "--include", "-2026")
    assert done.returncode == 0
    assert done.stdout
    assert all("-2026" in line for line in done.stdout.splitlines())


def test_a_word_too_many() -> None:
    """An unexpected argument is named."""
    done = run("completion", "bash", "zsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unexpected argument: zsh" in done.stderr


# -- --help


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_has_examples(name: str) -> None:
    """--help --all ends with lines that can be copied."""
    said = run(name, "--help", "--all").stdout
    _, _, examples = said.partition("\nexamples:\n")
    lines = re.findall(r"^  (\S.*)$", examples, re.MULTILINE)
    assert lines == list_examples(COMMANDS[name])


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """Make a folder that has what the examples name: a list, a state, sitemaps, the program."""
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin")
    for name in "ab":
        (tmp_path / f"{name}.xml.gz").write_bytes(gzip.compress(urlset(3)))
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_bytes(urlset(3))
    (tmp_path / "gsc.csv").write_text("Top pages,Clicks\nhttps://example.org/,3\n")
    return tmp_path


def make_runnable(line: str, url: str, workplace: Path) -> str:
    """Return an example with a server in the place of example.org, after what it builds on."""
    (workplace / "sites.txt").write_text(f"# ours\n{url}\n")
    meant = re.sub(r"(?<![\w/])(https://)?example\.org", url, line)
    meant = meant.replace("-i sites.txt", " ".join(["-i sites.txt", *allow(url)]))
    if "scale" in line:
        (workplace / "hosts.txt").write_text(f"{url}\n")
        meant = meant.replace("s3://bucket/", "")
        if "hosts.txt" not in line:
            first = "sitemapreader scale hosts.txt -o crawl --shard 1/1 -q"
            meant = f"{first} {' '.join(allow(url))}; {meant}"
        if "status" not in line:
            meant = f"{meant} {' '.join(allow(url))}"
    if "compare" in line:
        reports = "-o last.json -o today.json"
        meant = f"sitemapreader audit {url} {reports} -q --fail-on never; {meant}"
    if "watch" in line:
        meant = meant.replace(" --for 8h", "").replace(" watch", " watch --initial --for 1s")
    if "submit" in line:
        (workplace / "2f5c0a9be1d84c37.txt").write_text("2f5c0a9be1d84c37")
    elif "state site.db" in line:
        meant = f"sitemapreader -q {url} --state site.db --changes >>gone.txt; {meant}"
    return meant


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_works(line: str, workplace: Path) -> None:
    """Each example is run in a shell, with a real server in the place of example.org."""
    if "fish" in line and shutil.which("fish") is None:
        pytest.skip("no fish: apt-get install fish")
    if "curl" in line and shutil.which("curl") is None:
        pytest.skip("no curl: apt-get install curl")

    async def answer(request: web.Request) -> web.StreamResponse:
        file = SITE / request.path.lstrip("/")
        if not file.is_file():
            raise web.HTTPNotFound
        text = file.read_bytes()
        if file.suffix != ".gz":
            text = text.replace(b"https://www.example.org", f"http://{request.host}".encode())
        return web.Response(body=text)

    with serving(answer) as (url,):
        meant = make_runnable(line, url, workplace)
        known = {path.name for path in workplace.iterdir()}
        done = subprocess.run(
            ["fish" if "fish" in line else "bash", "-c", meant],
            cwd=workplace,
            env={
                "PATH": f"{workplace / 'bin'}:{os.environ['PATH']}",
                "PASSWORD": "pw",
                "HOME": str(workplace),
            },
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    found = {5} if " audit " in line else set()  # this site has some faults
    assert done.returncode in {0, *found}, done.stderr
    assert "error" not in done.stderr
    made = [path for path in workplace.iterdir() if path.name not in known]
    gives_nothing = "completion" in line or "--unlisted" in line or "--dry-run" in line
    assert gives_nothing or done.stdout or any(path.stat().st_size for path in made)
