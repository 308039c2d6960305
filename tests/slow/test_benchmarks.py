"""The benchmarks: each command runs, on little; what they say of it is true."""

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

import contestants  # noqa: E402 (it is found only now)
import odd  # noqa: E402 (the same)
import read  # noqa: E402 (the same)
import sets  # noqa: E402 (the same)
import targets  # noqa: E402 (the same)
import walk  # noqa: E402 (the same)
from corpora import CORPORA  # noqa: E402 (the same)
from measuring import Reader  # noqa: E402 (the same)
from odd_cases import Case  # noqa: E402 (the same)
from parts import Corpus  # noqa: E402 (the same)
from site_server import serve  # noqa: E402 (the same)

from sitemapreader import SitemapReader  # noqa: E402 (the same)


def run(tmp_path: Path, script: str, *arguments: str) -> tuple[str, dict[str, Any]]:
    """Run a command; return what it printed and the JSON that it wrote."""
    path = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARKS / script), *arguments, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(path.read_text())


def test_read_measures_what_is_there_and_names_what_is_not(tmp_path: Path) -> None:
    """Every library has its row: with figures, or with why there are none."""
    printed, figures = run(tmp_path, "read.py", "--corpus", "news.xml", "--rounds", "1")
    rows = {row["library"]: row for row in figures["results"]}
    assert {"kept", "streaming", "scrapy", "usp", "ET.fromstring"} <= rows.keys()
    assert "feedparser" not in rows  # which reads no urlsets
    for name, row in rows.items():
        assert name in printed
        assert (row["median"] is None) == (row["fault"] == "not installed"), row
    assert rows["kept"]["median"] > 0
    assert len(rows["kept"]["milliseconds"]) == 1


@pytest.mark.parametrize(("records", "fault"), [(2, "wrong: 2 of 3 records"), (None, "")])
def test_a_wrong_count_is_shown_as_wrong(tmp_path: Path, records: int | None, fault: str) -> None:
    """Who finds less than there is gets no time, however short it was."""
    locs = "".join(f"<url><loc>https://example.org/{number}</loc></url>" for number in range(2))
    path = tmp_path / "urlset.xml"
    path.write_text(f"<urlset>{locs}</urlset>")
    corpus = Corpus(path.read_bytes(), 2 if records is None else records + 1)
    with Reader("kept", contestants.READERS["kept"]) as reader:
        (result,) = read.run_rounds("urlset.xml", path, corpus, [reader], rounds=2)
    assert result.fault == fault
    assert (result.median is None) == bool(fault)


def test_a_reader_that_fails_is_shown_as_failed(tmp_path: Path) -> None:
    """What a library raises stands in its row, and the others go on."""
    path = tmp_path / "broken.xml"
    path.write_text("<urlset>")
    with Reader("ET.fromstring", contestants.READERS["ET.fromstring"]) as reader:
        (result,) = read.run_rounds("urlset.xml", path, Corpus(b"", 1), [reader], rounds=1)
    assert result.fault.startswith("failed: ParseError")


def test_walk_measures_the_client_and_what_a_walk_adds(tmp_path: Path) -> None:
    """Our own clients find every URL of the site, over HTTP and in memory."""
    clients = [name for name, c in contestants.WALKERS.items() if c.package == "sitemapreader"]
    printed, figures = run(
        tmp_path, "walk.py", "--children", "3", "--urls", "40", "--rounds", "1", "--only", *clients
    )
    counts = {
        (row["children"], row["client"]): row["walks"][0]["urls"] for row in figures["results"]
    }
    assert counts == {(n, client): 40 * n for n in (1, 3) for client in clients}
    measured = {row["figure"] + row["base"]: row["measured"] for row in figures["targets"]}
    assert measured["cpu/bytes in memory: batchescpu/bytes in memory: SitemapReader"] > 0
    assert "Targets" in printed


def test_a_client_that_loses_urls_is_shown_as_wrong() -> None:
    """What is expected is the site's, not the client's."""
    with serve(walk.make_site(1, 5)) as origin:
        (result,) = walk.run_rounds(f"{origin}/index.xml", ["batches"], 6, rounds=2)
    assert result.fault == "wrong: 5 of 6 URLs"
    assert walk.figures_of([result]) == {}


def test_targets_are_judged_as_ratios_and_as_figures() -> None:
    """A target is met, missed or not measured; a figure of a library that is absent is none."""
    found = targets.judge("startup", {"import sitemapreader": 60.0, "--help": 100.1})
    assert [verdict.met for verdict in found] == [True, False]
    figures = {"seconds/scrapy": 7.0, "seconds/batches": 2.0}
    verdicts = {v.target.figure: v for v in targets.judge("walk", figures)}
    assert verdicts["seconds/scrapy"].measured == 3.5
    assert verdicts["seconds/scrapy"].met is True
    assert verdicts["seconds/usp"].met is None


def test_each_target_has_one_bound_and_a_command() -> None:
    """The table says at least or at most, never both, and names commands that exist."""
    for target in targets.TARGETS:
        assert (target.least is None) != (target.most is None), target
        assert (BENCHMARKS / f"{target.command}.py").exists(), target


def test_startup_measures_fresh_processes(tmp_path: Path) -> None:
    """An import takes longer than none; the targets are looked at."""
    _, figures = run(tmp_path, "startup.py", "--rounds", "1")
    least = {name: min(found) for name, found in figures["milliseconds"].items()}
    assert least["import sitemapreader"] > least["python -c pass"] > 0
    assert [row["measured"] is None for row in figures["targets"]] == [False, False]


def test_memory_measures_streams_of_three_sizes(tmp_path: Path) -> None:
    """Every stream is read to its end in each way; what is kept takes room."""
    _, figures = run(tmp_path, "memory.py", "--records", "200")
    assert {"streaming x1", "streaming x100", "walk x100", "kept x100"} <= figures["figures"].keys()
    assert figures["figures"]["bytes a kept entry"] > 100


def test_latency_notes_the_gaps_of_the_loop(tmp_path: Path) -> None:
    """Each corpus has a row for each way, and its worst gap is no shorter than its median."""
    _, figures = run(tmp_path, "latency.py", "--corpus", "news.xml", "rss-500.xml", "index.xml")
    rows = figures["results"]
    assert len(rows) == 9
    for row in rows:
        assert row["turns"] > 0
        assert row["median ms"] <= row["worst"]


def test_odd_documents_are_read_as_they_are_meant(tmp_path: Path) -> None:
    """Over HTTP, ours reads all of them right but the two whose DOCTYPE it refuses."""
    printed, figures = run(tmp_path, "odd.py", "--only", "sitemapreader", "usp")
    ours = [row for row in figures["results"] if row["library"] == "sitemapreader"]
    refused = [row for row in ours if row["found"] < row["meant"] or row["invented"]]
    assert {row["about"] for row in refused} == {"DOCTYPE with a subset"}
    assert len(refused) == 2
    assert len(ours) >= 54
    assert "usp" in printed


def test_what_is_invented_and_what_is_lost_is_told_apart() -> None:
    """A case is right only if all came out that is meant, and nothing else."""
    case = Case("", "", ("/a", "/é"))
    origin = "http://x"
    found = ["http://x/a", "http://x/%C3%A9", "http://x/a"]
    assert str(odd.judge(case, origin, found, "")) == "right"
    assert str(odd.judge(case, origin, found[:1], "")) == "1/2"
    assert str(odd.judge(case, origin, [*found[:1], "http://x/half"], "Oops: no")) == "1/2 +1 !"
    assert odd.judge(case, origin, [*found, "http://x/more"], "").is_right is False


def test_varied_corpora_have_the_records_they_claim() -> None:
    """Our reader finds as many records as a corpus says it has, however odd they are."""
    names = ("optional.xml", "comments.xml", "unknown.xml", "odd.xml", "rss-varied-500.xml")
    for name in names:
        corpus = CORPORA[name]()
        reader = SitemapReader("https://www.example.com/s.xml")
        reader.feed(corpus.data[: len(corpus.data) // 2])
        reader.feed(corpus.data[len(corpus.data) // 2 :])
        reader.close()
        assert (reader.stats.delivered, reader.stats.dropped) == (corpus.records, 0), name


def test_a_set_is_compared_document_by_document(tmp_path: Path) -> None:
    """Small documents are read one after the other; totals and medians become ratios to ours."""
    results = sets.measure_set("2 records", tmp_path, ["kept", "ET.fromstring", "scrapy"], rounds=1)
    figures = sets.figures_of(results)
    assert figures["2 records, all/kept"] == figures["2 records, median file/kept"] == 1
    assert figures["2 records, median file/ET.fromstring"] > 0
    assert "2 records, worst large file/ET.fromstring" not in figures  # none is large


def test_what_a_library_cannot_read_is_left_out_for_both() -> None:
    """A document that raised counts neither for the library nor for us."""
    ours = sets.SetResult("s", "kept", [1.0, 2.0, 4.0], [10, 30_000, 30_000])
    theirs = sets.SetResult("s", "scrapy", [None, 1.0, 1.0], [10, 30_000, 30_000])
    assert theirs.ratios(ours) == sets.Ratios(2 / 6, 0.375, 0.25)


def test_sets_of_real_files_are_passed_over_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the corpus beside the checkout, a line says so, and nothing is measured."""
    monkeypatch.setattr(sets, "WILD", tmp_path)
    assert sets.measure_set("real feeds", tmp_path, ["kept"], rounds=1) == []
    sets.print_set("real feeds", [])
    assert "not there" in capsys.readouterr().out


def test_audit_measures_the_walk_and_the_audit(tmp_path: Path) -> None:
    """Each way has read all URLs, and the report has a size."""
    printed, figures = run(tmp_path, "audit.py", "--urls", "500", "--rounds", "1")
    assert {each["urls"] for each in figures["results"].values()} == {500}
    assert figures["results"]["report"]["report_bytes"] > 10_000
    assert "audit/megabytes over the walk" in printed
