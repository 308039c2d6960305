"""What someone at a shell would stumble over."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import commands
import package
import pytest

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SITE = "testdata/site"


def run(words: str) -> subprocess.CompletedProcess[str]:
    """Run the program where the test data is."""
    return commands.run(*words.split(), cwd=package.ROOT)


def run_closed(words: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a shell, which closes a stream."""
    return commands.run_shell(f"sitemapreader {words}", package.ROOT, forks=False)


@pytest.fixture
def unfilled(tmp_path: Path) -> Path:
    records = (f"<url><loc>https://e.org/{{{{ {n} }}}}</loc></url>\n" for n in range(500))
    path = tmp_path / "unfilled.xml"
    path.write_text(f"<urlset>{''.join(records)}</urlset>", encoding="utf-8")
    return path


def test_what_is_only_counted_is_said(unfilled: Path) -> None:
    """Past the tenth Issue of a kind, the number of the others is printed."""
    said = run(f"read {unfilled}").stderr
    assert said.count("error template: ") == 11
    assert f"error template: {unfilled}: and 490 more of these\n" in said


def test_discover_says_how_much_more_there_was(tmp_path: Path) -> None:
    """A search names the first Issues of each kind, and says how many more there were."""
    lines = "".join(f"Sitemap: ftp://a.example/{number}.xml\n" for number in range(30))
    (tmp_path / "robots.txt").write_text(f"{lines}Sitemap: /map.xml\n", "utf-8")
    (tmp_path / "map.xml").write_text("<urlset><url><loc>http://a.example/</loc></url></urlset>")
    said = run(f"discover {tmp_path}").stderr
    assert said.count("warning unsupported-scheme: ") == 1
    assert "[ftp://a.example/0.xml] (and 29 more): " in said


@pytest.mark.parametrize("number", [1, 2, 10, 25])
def test_a_repair_is_one_line_with_a_count(tmp_path: Path, number: int) -> None:
    """However often a document needs the same repair, one line says so; another has its own."""
    entity, scheme = (
        "<url><loc>http://a.example/&eacute;</loc></url>\n",
        "<url><loc>x:y</loc></url>",
    )
    for name in ("one.xml", "two.xml"):
        (tmp_path / name).write_text(f"<urlset>{entity * number}{scheme * 2}</urlset>", "utf-8")
    done = run(f"{tmp_path}/one.xml {tmp_path}/two.xml")
    lines = [line for line in done.stderr.splitlines() if " html-entity: " in line]
    more = f" (and {number - 1} more)" if number > 1 else ""
    assert [line.partition("[http://a.example/é]")[2] for line in lines] == [
        f"{more}: write the character itself"
    ] * 2
    assert done.stderr.count("unsupported-scheme") == 2


def test_an_issue_names_file_and_line(unfilled: Path) -> None:
    """Of several files, each message says which one is meant, and where in it."""
    said = run(f"read {SITE}/sitemap_index.xml {unfilled}").stderr
    assert f"error template: {unfilled}:3: " in said


def test_standard_error_may_be_closed() -> None:
    """The URLs come all the same."""
    done = run_closed(f"{SITE} 2>&-")
    assert (done.returncode, done.stdout.count("\n")) == (0, 43)


def test_standard_output_may_be_closed(tmp_path: Path) -> None:
    """Then there is a word about it, unless a file is written."""
    done = run_closed(f"{SITE} >&-")
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr
    assert run_closed(f"{SITE} -o {tmp_path / 'urls'} >&-").returncode == 0


def test_a_command_comes_first() -> None:
    """An option before it does not make a source of it."""
    done = run(f"-q tree {SITE}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "tree is a command, which comes first: sitemapreader tree" in done.stderr


def test_the_suffix_says_the_format(tmp_path: Path) -> None:
    """A file called .csv is one, unless another format is asked for."""
    path = tmp_path / "urls.csv"
    assert run(f"{SITE} -q -o {path}").returncode == 0
    with path.open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 43
    assert run(f"{SITE} -q -o {path} --format urls").returncode == 0
    assert path.read_text(encoding="utf-8").startswith("https://")


def test_a_dash_is_standard_output() -> None:
    """As it is standard input elsewhere."""
    assert run(f"{SITE} -q -o -").stdout.count("\n") == 43


def test_undated_urls_can_be_dropped() -> None:
    """Nothing is left of a site of which nothing changed since, which is no failure."""
    assert run(f"{SITE} -q --since 2030-01-01").stdout.count("\n") > 0
    done = run(f"{SITE} -q --since 2030-01-01 --undated drop")
    assert (done.returncode, done.stdout) == (0, "")
