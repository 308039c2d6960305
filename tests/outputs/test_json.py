"""`--json`: one array, which is complete or not there, and what it cannot be combined with."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sitemapreader import UrlEntry, read
from sitemapreader.output import open_output
from tests.support import package
from tests.support.commands import run

SITE = str(package.ROOT / "testdata" / "site")
FILE = f"{SITE}/sitemap-pages.xml"
PAGE = "https://www.example.org/"


@pytest.mark.parametrize(
    "words",
    [
        [SITE, "--sample", "400"],
        ["read", FILE],
        ["newest", SITE, "-n", "3"],
        ["discover", SITE],
        ["why", PAGE, f"{PAGE}nowhere", "--in", SITE],
        [SITE, "--count-by", "folder"],
        [SITE, "--fields", "loc,lastmod", "--sample", "9"],
        [SITE, SITE, "--sample", "9"],
    ],
)
def test_the_array_has_what_the_lines_have(words: list[str]) -> None:
    """Its values are the JSON lines; `--json` is short for `--format json`."""
    lines = run(*words, "-q", "--format", "jsonl")
    array = run(*words, "-q", "--json")
    assert array.returncode == lines.returncode
    values = [json.loads(line) for line in lines.stdout.splitlines()]
    assert values
    assert json.loads(array.stdout) == values
    assert run(*words, "-q", "--format", "json").stdout == array.stdout


def test_json_of_the_other_commands() -> None:
    """A tree and a report are one object."""
    for words in (["tree", SITE], ["audit", SITE, "--fail-on", "never"]):
        shown = run(*words, "--json", "-q").stdout
        assert isinstance(json.loads(shown), dict)


def test_nothing_is_an_empty_array() -> None:
    """The array is JSON also if no URL is in it."""
    done = run("read", FILE, "--json", "--include", "^nothing$")
    assert json.loads(done.stdout) == []


def test_the_state_as_an_array(tmp_path: Path) -> None:
    """What no sitemap lists any more is an array too."""
    state = str(tmp_path / "s.db")
    run(SITE, "-q", "--state", state, "--changes")
    assert json.loads(run("state", state, "--unlisted", "--json").stdout) == []
    site, *documents = json.loads(run("state", state, "--json").stdout)
    assert site["documents"] == len(documents) > 0
    assert {row["site"] for row in documents} == {site["name"]}
    assert {row["status"] for row in documents} <= {"complete", "skipped"}
    plan = json.loads(run("state", state, "--json", "--plan", "1").stdout)
    assert {row["url"] for row in plan} < {row["url"] for row in documents}


@pytest.mark.parametrize("name", ["urls.json", "urls.json.gz", "URLS.JSON"])
def test_a_file_of_that_name(tmp_path: Path, name: str) -> None:
    """The end of a name stands for the format, compressed or not."""
    path = tmp_path / name
    done = run(SITE, "-q", "-o", str(path))
    assert done.returncode == 0
    data = path.read_bytes()
    text = gzip.decompress(data) if name.endswith("gz") else data
    assert len(json.loads(text)) == 43


def test_the_output_of_the_library(tmp_path: Path) -> None:
    """Entries that are written one by one, or many at once, are one array."""
    events = read(Path(FILE).read_bytes(), PAGE)
    entries = [each for each in events if isinstance(each, UrlEntry)]
    with open_output(tmp_path / "a.json", fields=["loc"]) as output:
        output.write(entries[0])
        output.write(entries[1:])
    values = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert values == [{"loc": entry.loc} for entry in entries]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--json", "-o", "x.csv"],
            "--json cannot be combined with x.csv, whose suffix",
        ),
        (["--format", "csv", "-o", "x.json"], "--format csv cannot be combined with"),
        (["--json", "--format", "csv"], "not allowed with argument --"),
        (["--json", "--state", "s.db"], "--state with --format json requires -o FILE"),
        (["--json", "-0"], "--null cannot be combined with json"),
        (["--json", "--no-header"], "--no-header cannot be combined with json"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, words: list[str], said: str) -> None:
    """It is refused with words, and nothing is written."""
    done = run(SITE, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not [*tmp_path.iterdir()]
