"""Two lists of URLs are compared: what came, what went, and which dates have changed."""

from __future__ import annotations

import csv
import json
import os
import sys
from itertools import cycle, islice
from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import compare_lists
from tests.support.commands import run
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

HOST = "https://example.org"
BEFORE = [
    ("/same", "2026-01-01"),
    ("/dated", "2026-01-02"),
    ("/went", ""),
    ("/a?x=é", ""),
]
AFTER = [
    *(("/same", "2026-01-01T00:00:00+00:00"), ("/dated", "2026-02-03"), ("/came", "")),
    ("/a?x=%C3%A9", ""),
]
FORMATS = ("csv", "csv.gz", "tsv", "jsonl", "json", "parquet", "xml", "txt")


def write(folder: Path, name: str, records: list[tuple[str, str]]) -> str:
    """Write a list as `read` does, or as a sitemap, and return its path."""
    source = folder / f"{name}-source.xml"
    source.write_bytes(urlset(*((HOST + path, date) for path, date in records)))
    if name.endswith(".xml"):
        return str(source)
    ran = run("read", str(source), "-o", str(folder / name), "-q")
    assert ran.returncode == 0, ran.stderr
    return str(folder / name)


@pytest.mark.cases(9)
@pytest.mark.parametrize("form", FORMATS)
def test_two_lists_are_compared(form: str, tmp_path: Path) -> None:
    """Lists of any two formats: a date that is written in another way is the same."""
    before = write(tmp_path, f"before.{form}", BEFORE)
    after = write(tmp_path, "after.csv", AFTER)
    found = compare_lists(before, after)
    assert (found.new, found.unlisted) == ([f"{HOST}/came"], [f"{HOST}/went"])
    assert found.has_dates is (form != "txt")
    changed = [] if form == "txt" else [f"{HOST}/dated"]
    assert [each.url for each in found.changed] == changed
    assert found.same == 3 - len(changed)


def test_each_format_has_the_changes(tmp_path: Path) -> None:
    """Text, Markdown, CSV and JSON, printed or in a file; a list and itself are the same."""
    lists = write(tmp_path, "a.csv", BEFORE), write(tmp_path, "b.jsonl", AFTER)
    said = {
        name: run("compare", *lists, "--format", name).stdout
        for name in ("text", "markdown", "csv", "json")
    }
    assert said["text"].splitlines() == [
        f"new       {HOST}/came",
        f"unlisted  {HOST}/went",
        f"changed   {HOST}/dated (2026-01-02T00:00:00+00:00 -> 2026-02-03T00:00:00+00:00)",
        "",
        "1 URL new, 1 unlisted, 1 changed, 2 the same",
    ]
    assert f"## Unlisted\n\n- `{HOST}/went`\n" in said["markdown"]
    rows = [*csv.DictReader(said["csv"].splitlines())]
    assert [(row["change"], row["url"]) for row in rows] == [
        ("new", f"{HOST}/came"),
        ("unlisted", f"{HOST}/went"),
        ("changed", f"{HOST}/dated"),
    ]
    assert json.loads(said["json"])["urls"]["new"] == [f"{HOST}/came"]
    ran = run("compare", *lists, "-o", str(tmp_path / "out.csv"))
    assert (ran.returncode, (tmp_path / "out.csv").read_text()) == (5, said["csv"])
    same = run("compare", lists[0], lists[0], "--fail-on", "info")
    assert (same.returncode, same.stdout) == (
        0,
        "0 URLs new, 0 unlisted, 0 changed, 4 the same\n",
    )


def test_new_and_unlisted_urls_keep_their_dates(tmp_path: Path) -> None:
    """The date of a URL that only one list has is in the column of that list."""
    before = write(tmp_path, "a.csv", [("/same", "2026-01-01"), ("/old", "2026-01-03")])
    after = write(tmp_path, "b.csv", [("/same", "2026-01-01"), ("/new", "2026-05-05")])
    ran = run("compare", before, after, "--format", "csv")
    rows = [tuple(row.values()) for row in csv.DictReader(ran.stdout.splitlines())]
    assert rows == [
        ("new", f"{HOST}/new", "", "2026-05-05T00:00:00+00:00"),
        ("unlisted", f"{HOST}/old", "2026-01-03T00:00:00+00:00", ""),
    ]


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("after", "word", "code"),
    [
        (BEFORE[1:], "error", 5),
        (BEFORE[1:], "never", 0),
        ([*BEFORE, ("/came", "")], "error", 0),
        ([*BEFORE, ("/came", "")], "info", 5),
    ],
)
def test_a_url_that_went_fails(
    after: list[tuple[str, str]], word: str, code: int, tmp_path: Path
) -> None:
    """A URL that is unlisted is as grave as an error, and any other change as a note."""
    lists = write(tmp_path, "a.csv", BEFORE), write(tmp_path, "b.csv", after)
    assert run("compare", *lists, "--fail-on", word, "-q").returncode == code


def test_urls_that_have_moved_are_the_same(tmp_path: Path) -> None:
    """A table of old and new paths tells a move from a loss."""
    lists = write(tmp_path, "a.csv", BEFORE), write(tmp_path, "b.csv", AFTER)
    (tmp_path / "moved.csv").write_text("old,new\n/went,/came\n")
    ran = run("compare", *lists, "--was", str(tmp_path / "moved.csv"))
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (
        0,
        "0 URLs new, 0 unlisted, 1 changed, 3 the same",
    )


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("b.csv", "a,b\n1,2\n", "has no column of URLs"),
        ("b.txt", "nothing\n", "has no URL"),
        (
            "b.xml",
            "<urlset><url><loc>https://example.org/a</loc></url>",
            "cannot be read",
        ),
        ("b.json", "[1,", "cannot be read"),
        ("none.csv", None, "there is no file"),
        ("b.json", '{"findings": 3}', "is not the JSON report of an audit"),
        ("b.xlsx", "PK", "is a workbook, which is not read back"),
    ],
)
def test_what_is_no_list(
    name: str, text: str | None, message: str, tmp_path: Path
) -> None:
    """A file that is neither a list nor an audit, or only a part of one, is refused."""
    before = write(tmp_path, "a.csv", BEFORE)
    if text is not None:
        (tmp_path / name).write_text(text)
    ran = run("compare", before, str(tmp_path / name))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr


@pytest.mark.skipif(
    sys.platform == "win32", reason="no pipes with names: run elsewhere"
)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "PIPE", "PIPE"), "which alone is read from a pipe"),
        (("audit", ".", "--urls", "PIPE"), "is to be read twice: write it into a file"),
    ],
)
def test_a_pipe_is_no_missing_file(words: tuple[str, ...], message: str) -> None:
    """It is there, and says what can be read from one."""
    reading, writing = os.pipe()
    os.write(writing, b"https://example.org/a\n")
    os.close(writing)
    try:
        passed = [each.replace("PIPE", f"/dev/fd/{reading}") for each in words]
        ran = run(*passed)
    finally:
        os.close(reading)
    assert ran.returncode == 2
    assert message in ran.stderr


TITLES = ["it's", "=1", 'say "hi"', "a;b", "a,b", "a|b", "'", "O'Brien's", "é"]


@pytest.mark.parametrize("form", ["csv", "tsv"])
@pytest.mark.parametrize("number", [1, 2, 40])
def test_a_table_is_read_back_whatever_its_cells_hold(
    form: str, number: int, tmp_path: Path
) -> None:
    """Neither apostrophes nor JSON in cells are taken for quotes or separators."""
    news = "".join(
        f"<url><loc>{HOST}/{each}</loc><n:news><n:title>{title}</n:title></n:news></url>"
        for each, title in enumerate(islice(cycle(TITLES), number))
    )
    source = tmp_path / "news.xml"
    name = "http://www.google.com/schemas/sitemap-news/0.9"
    source.write_text(f'<urlset xmlns:n="{name}">{news}</urlset>', "utf-8")
    table = tmp_path / f"table.{form}"
    ran = run("read", str(source), "-o", str(table), "-q")
    assert ran.returncode == 0, ran.stderr
    found = compare_lists(source, table)
    assert (found.new, found.unlisted, found.same) == ([], [], number)
