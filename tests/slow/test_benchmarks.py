"""The benchmarks: each command runs, on little, and measures what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import package
import pytest

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARKS = package.ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))

import targets  # noqa: E402 (it is found only now)
import walk  # noqa: E402 (the same)
from corpora import CORPORA  # noqa: E402 (the same)
from site_server import serve  # noqa: E402 (the same)

from sitemapreader import SitemapReader  # noqa: E402 (the same)


def run(tmp_path: Path, script: str, *arguments: str) -> dict[str, Any]:
    """Run a command; return the JSON that it wrote."""
    path = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARKS / script), *arguments, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(path.read_text())
    return figures


def test_reading(tmp_path: Path) -> None:
    """Every library has its row: with figures, or with why there are none."""
    figures = run(tmp_path, "read.py", "--corpus", "news.xml", "--rounds", "1")
    rows = {row["library"]: row for row in figures["results"]}
    assert {"kept", "streaming", "scrapy", "usp", "ET.fromstring"} <= rows.keys()
    for row in rows.values():
        assert (row["median"] is None) == (row["fault"] == "not installed"), row
    assert rows["kept"]["median"] > 0


def test_a_walk(tmp_path: Path) -> None:
    """Our clients find every URL of a site; one that finds fewer is shown as wrong, not as fast."""
    figures = run(
        tmp_path,
        *("walk.py", "--children", "3", "--urls", "40", "--rounds", "1", "--only", "batches"),
    )
    counts = {(row["children"], row["walks"][0]["urls"]) for row in figures["results"]}
    assert counts == {(1, 40), (3, 120)}
    with serve(walk.make_site(1, 5)) as origin:
        (result,) = walk.run_rounds(f"{origin}/index.xml", ["batches"], 6, rounds=2)
    assert result.fault == "wrong: 5 of 6 URLs"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("startup.py", ["--rounds", "1"]),
        ("memory.py", ["--records", "200"]),
        ("latency.py", ["--corpus", "news.xml", "rss-500.xml", "index.xml"]),
        ("audit.py", ["--urls", "500", "--rounds", "1"]),
    ],
)
def test_other_commands(command: str, options: list[str], tmp_path: Path) -> None:
    """A command runs to its end, and writes figures."""
    assert len(run(tmp_path, command, *options)) > 0


def test_odd_documents_are_read_as_they_are_meant(tmp_path: Path) -> None:
    """Over HTTP, ours reads all of them right but the two whose DOCTYPE it refuses."""
    figures = run(tmp_path, "odd.py", "--only", "sitemapreader", "usp")
    ours = [row for row in figures["results"] if row["library"] == "sitemapreader"]
    refused = [row for row in ours if row["found"] < row["meant"] or row["invented"]]
    assert {row["about"] for row in refused} == {"DOCTYPE with a subset"}
    assert len(refused) == 2
    assert len(ours) >= 54


@pytest.mark.parametrize("name", ["optional.xml", "comments.xml", "unknown.xml", "odd.xml"])
def test_varied_corpora_have_the_records_they_claim(name: str) -> None:
    """Our reader finds as many records as a corpus says it has, however odd they are."""
    corpus = CORPORA[name]()
    reader = SitemapReader("https://www.example.com/s.xml")
    reader.feed(corpus.data)
    reader.close()
    assert (reader.stats.delivered, reader.stats.dropped) == (corpus.records, 0)


def test_each_target_has_one_bound_and_a_command() -> None:
    """The table says at least or at most, never both, and names commands that exist."""
    for target in targets.TARGETS:
        assert (target.least is None) != (target.most is None), target
        assert (BENCHMARKS / f"{target.command}.py").exists(), target
