"""`--help`, in short and in full, its examples, and what it costs."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sitemapreader import FetchOptions
from sitemapreader._cli.commands import COMMANDS, Command
from sitemapreader.distributed import ScaleOptions, begin_run, finish, run_partition
from tests.support import package
from tests.support.commands import allow, run, serving, urlset, write_program
from tests.support.signatures import PEM

if TYPE_CHECKING:
    from pathlib import Path


SITE = package.ROOT / "testdata" / "site"


def list_examples(command: Command) -> list[str]:
    return [line for line in command.examples.splitlines() if not line.startswith(" ")]


EXAMPLES = [
    # a cluster takes seconds
    pytest.param(
        line, id=f"{name}-{number}", marks=[pytest.mark.slow] * (name == "scale")
    )
    for name, command in COMMANDS.items()
    for number, line in enumerate(list_examples(command))
]


@pytest.mark.cases(15)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_whole_help(name: str) -> None:
    """--help --all has each option of the command, and ends with lines that can be copied."""
    done = run(name, "--help", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    actions = COMMANDS[name].make_parser().list_actions()
    flags = [flag for action in actions for flag in action.option_strings]
    assert len(flags) > 2
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(flag in done.stdout for flag in flags)
    _, _, examples = done.stdout.partition("\nexamples:\n")
    assert re.findall(r"^  (\S.*)$", examples, re.MULTILINE) == list_examples(
        COMMANDS[name]
    )


@pytest.mark.cases(16)
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_the_short_help_fits_a_terminal(name: str) -> None:
    """--help has 24 lines of 80 columns at most, none cut, and says how to see the rest."""
    done = run(*name.split(), "--help")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) <= 24
    assert all(len(line) < 80 for line in lines)
    assert not any(
        line.endswith(" ...") or line.count("(") > line.count(")")
        for line in lines
        if line.startswith("  -")
    )
    assert name or ("--since WHEN " in done.stdout and "--unique  " in done.stdout)
    assert lines[-1].startswith(
        f"`{' '.join(['sitemapreader', *name.split()])} --help --all` shows"
    )
    assert any(
        line.startswith("for example: ") and "sitemapreader" in line for line in lines
    )
    every = run(*name.split(), "--all", "--help").stdout
    shown = {line.split()[0] for line in lines if line.startswith("  -")}
    assert all(flag.rstrip(",") in every for flag in shown)
    hidden = len(re.findall(r"^  -", every, re.MULTILINE)) - len(shown)
    assert ("more options" in lines[-1]) == (hidden > 0)


def test_the_short_help(*, regenerate: bool) -> None:
    """What --help shows of each command is in tests/golden/help.txt, where it was looked at."""
    path = package.TESTS / "golden" / "help.txt"
    shown = "\n".join(run(*name.split(), "--help").stdout for name in ("", *COMMANDS))
    if regenerate:
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text("utf-8")


VERBS = """
accept add allow also check compare count draw drop end exit explain fetch follow forget give judge
keep list log name omit print read remember report request resume run search send set show sign
skip stop submit treat try use wait watch write
"""
"""First words of what options do."""


@pytest.mark.cases(15)
@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_says_what_it_does_with_its_argument(name: str) -> None:
    """The help of an option begins with a verb, and names an argument of one word."""
    for action in COMMANDS[name].make_parser().list_actions():
        if not action.option_strings:
            continue  # an operand is described by a noun
        text = re.sub(r"^(on|with) [^:,]*[:,] (at the end, )?", "", action.help or "")
        assert text.split()[0] in VERBS.split(), (action.option_strings, text)
        metavar = str(action.metavar or "")
        if metavar.isupper() and metavar.isalpha():
            assert re.search(rf"\b{metavar}\b", text), (action.option_strings, text)


def test_help_is_cheap() -> None:
    """The help of a command imports nothing that only a walk needs."""
    script = (
        "import sys\n"
        "from sitemapreader._cli import main\n"
        "for command in ([], ['tree'], ['read']):\n"
        "    try: main([*command, '--help'])\n"
        "    except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    loaded = set(done.stderr.split())
    heavy = {
        "aiohttp",
        "asyncio",
        "feedparser",
        "json",
        "pyexpat",
        "sqlite3",
        "ssl",
        "tqdm",
    }
    assert not loaded & {*heavy, "yarl"}
    assert len(loaded) < 160


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
    (tmp_path / "key.txt").write_text("2f5c0a9be1d84c37")
    (tmp_path / "key.pem").write_text(PEM)
    return tmp_path


def make_runnable(line: str, url: str, workplace: Path) -> str:
    """Return an example with a server in the place of example.org, after what it builds on."""
    (workplace / "sites.txt").write_text(f"# ours\n{url}\n")
    (workplace / "hosts.txt").write_text(f"{url}\n")
    (workplace / "october.csv").write_text(f"url\n{url}a\n")
    (workplace / "november.csv").write_text(f"url\n{url}a\n{url}b\n")
    opened = " ".join(allow(url))
    meant = re.sub(r"(?<![\w/])(https://)?example\.org", url, line)
    meant = meant.replace("-i sites.txt", f"-i sites.txt {opened}").replace(
        "s3://bucket/", ""
    )
    if "scale" in line:
        if "hosts.txt" not in line:
            read_a_first_time(url, str(workplace / "crawl"))
        if "status" not in line:
            meant = f"{meant} {opened}"
    if "compare" in line:
        reports = "-o last.json -o today.json"
        meant = f"sitemapreader audit {url} {reports} -q --fail-on never; {meant}"
    if "watch" in line:
        meant = meant.replace(" --for 8h", "").replace(
            " watch", " watch --initial --for 1s"
        )
    if "state site.db" in line and "submit" not in line:
        meant = f"sitemapreader -q {url} --state site.db --changes >>gone.txt; {meant}"
    return meant


def read_a_first_time(url: str, output: str) -> None:
    """Do a run of `scale`, without a cluster."""
    ports = (int(url.rpartition(":")[2]),)
    fetch = FetchOptions(allow_ports=ports, allow_networks=("127.0.0.0/8",))
    begun = begin_run(output, [url], ScaleOptions(fetch=fetch))
    run_partition(output, begun.folder, 0)
    finish(output, begun)


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_works(line: str, workplace: Path) -> None:
    """Each example is run in a shell, with a real server in the place of example.org."""
    for program in ("fish", "curl"):
        if program in line and shutil.which(program) is None:
            pytest.skip(f"no {program}: apt-get install {program}")
    pages = {
        f"/{path.relative_to(SITE)}": path.read_bytes().replace(
            b"https://www.example.org", b"HOST"
        )
        for path in SITE.rglob("*.*")
    }
    with serving(pages) as (url,):
        meant = make_runnable(line, url, workplace)
        known = {path.name for path in workplace.iterdir()} - {"crawl"}
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
    assert "sitemapreader: error" not in done.stderr
    made = [path for path in workplace.iterdir() if path.name not in known]
    gives_nothing = "completion" in line or "--unlisted" in line or "--dry-run" in line
    assert gives_nothing or done.stdout or any(path.stat().st_size for path in made)
