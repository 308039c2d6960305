"""`sitemapreader audit` in a shell: exit codes, outputs, settings, and what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from auditing import HOST, page, urlset
from commands import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "public"
    made.mkdir()
    (made / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml")
    (made / "s.xml").write_bytes(urlset(page("/a#1") + page("/b?sid=1") + page("/c")))
    return made


@pytest.mark.slow
def test_findings_make_the_exit_code(folder: Path, tmp_path: Path) -> None:
    """An error makes 5, a warning only where that is asked for, and known hits never."""
    assert run("audit", str(folder)).returncode == 5
    assert run("audit", str(folder), "--fail-on", "never").returncode == 0
    assert run("audit", str(folder), "--ignore", "url-session-id").returncode == 0
    known = str(tmp_path / "known.json")
    run("audit", str(folder), "--write-baseline", known, "-q")
    done = run("audit", str(folder), "--baseline", known, "--fail-on", "info")
    assert done.returncode == 0
    assert ", 0 new" in done.stdout


def test_one_run_writes_several_files(folder: Path, tmp_path: Path) -> None:
    """The suffix of a file is its format; hits and database lie beside."""
    names = ("r.html", "r.json", "r.sarif", "r.txt")
    files = [word for name in names for word in ("-o", str(tmp_path / name))]
    more = ("--hits", str(tmp_path / "h.jsonl"), "--database", str(tmp_path / "d.duckdb"))
    done = run("audit", str(folder), *files, *more)
    assert (done.returncode, done.stdout) == (5, "")
    assert len((tmp_path / "h.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "r.json").read_text())["facts"]["urls"] == 3
    assert "url-session-id" in (tmp_path / "r.txt").read_text()
    assert (tmp_path / "d.duckdb").stat().st_size > 0


MISTAKES: dict[tuple[str, ...], str] = {
    ("--select", "url-asset,url-fragmnt"): "did you mean 'url-fragment'",
    ("--urls", "none.csv"): "there is no file none.csv",
    ("--baseline", "none.json"): "none.json cannot be read",
    ("--rules", "none"): "rules in none cannot be read",
    ("-o", "report.pdf"): "end it with",
    ("--hits", "hits.xlsx"): "end the name",
    ("--explain", "lastmod-al-equal"): "did you mean 'lastmod-all-equal'",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_named(words: tuple[str, ...], folder: Path) -> None:
    """What cannot be meant ends with 2 before anything is read, and says what to write."""
    done = run("audit", str(folder), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert MISTAKES[words] in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_rule_is_said(folder: Path, tmp_path: Path) -> None:
    """A rule of one's own that fails makes 3; the findings of the others make 5."""
    rule = "-- title: Nonsense\n-- severity: info\nSELECT nonsense FROM nowhere"
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "nonsense.sql").write_text(rule)
    words = ("audit", str(folder), "--rules", str(tmp_path / "rules"))
    done = run(*words, "--fail-on", "never")
    assert done.returncode == 3
    assert "its query failed" in done.stdout
    assert run(*words).returncode == 5


def test_a_sitemap_comes_through_a_pipe(folder: Path) -> None:
    """Standard input is a sitemap, as for the other commands."""
    done = run("audit", "-", input=(folder / "s.xml").read_text())
    assert done.returncode == 5
    assert done.stdout.startswith("Sitemaps of standard input\n3 URLs")
    assert "/b?sid=1 (sid=1) in standard input, line " in done.stdout


def test_a_database_on_a_full_disk(folder: Path) -> None:
    """A database that cannot be made is one line, and not a traceback."""
    done = run("audit", str(folder), "--database", "/dev/full/site.duckdb")
    assert done.returncode == 1
    assert "the database of the audit cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    """A file that cannot be written is named; the others are there."""
    there = tmp_path / "r.json"
    done = run("audit", str(folder), "-o", "/dev/full/r.html", "-o", str(there))
    assert done.returncode == 1
    assert "cannot write to /dev/full/r.html" in done.stderr
    assert there.exists()


def test_a_missing_extra_is_named(folder: Path) -> None:
    """Without DuckDB the command says which extra brings it; the words of a rule need none."""
    block = "import sys; sys.modules['duckdb'] = None; from sitemapreader.cli import main; "
    for words, code in ((["audit", str(folder)], 2), (["audit", "--explain", "url-asset"], 0)):
        done = subprocess.run(
            [sys.executable, "-c", f"{block}sys.exit(main({words!r}))"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        assert ("the extra `audit` brings it" in done.stderr) is (code == 2)


def test_a_source_that_cannot_be_reached() -> None:
    """No network is 4 and no finding, so that CI can tell it from a bad sitemap."""
    done = run("audit", "http://127.0.0.1:9/", "--fail-on", "info")
    assert done.returncode == 4
    assert "error:" not in done.stdout
