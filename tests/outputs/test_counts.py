"""Counts of URLs by what they have in common."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

import pytest

from sitemapreader._cli.options import COUNT_KINDS
from sitemapreader._types.models import Alternate, News, UrlEntry
from sitemapreader._types.rows import EntryColumns
from sitemapreader.output.counts import OTHERS, CountBy, UrlCounts
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://example.org/"


def count(by: CountBy, *entries: UrlEntry) -> dict[str | None, int]:
    counted = UrlCounts(by)
    counted.add(list(entries))
    return {row.value: row.urls for row in counted.list_rows()}


@pytest.mark.parametrize(
    ("loc", "folder", "extension"),
    [
        ("a/b/c.HTML", "a/", ".html"),
        ("a/", "a/", None),
        ("a.pdf?x=/y/z.txt", "", ".pdf"),
        ("a#/b/c.d", "", None),
        ("", "", None),
        ("?q=/a/b.c", "", None),
        ("v1.2/x", "v1.2/", None),
        ("a/x.notasuffixofafile", "a/", None),
    ],
)
def test_a_url_counts_for_its_folder_and_extension(
    loc: str, folder: str, extension: str | None
) -> None:
    """The first folder of the path; the suffix of its last part; neither from a query."""
    assert count("folder", UrlEntry(SITE + loc)) == {SITE + folder: 1}
    assert count("extension", UrlEntry(SITE + loc)) == {extension: 1}
    assert count("folder", UrlEntry(SITE[:-1])) == {SITE: 1}


@pytest.mark.parametrize(
    ("loc", "two", "three"),
    [
        ("en/shoes/red/1.html", "en/shoes/", "en/shoes/red/"),
        ("en/shoes/", "en/shoes/", "en/shoes/"),
        ("en/x", "en/", "en/"),
        ("?q=/a/b/c", "", ""),
    ],
)
def test_folders_below_folders(loc: str, two: str, three: str) -> None:
    """So many folders of the path as the word says, or as there are."""
    assert count("folder:2", UrlEntry(SITE + loc)) == {SITE + two: 1}
    assert count("folder:3", UrlEntry(SITE + loc)) == {SITE + three: 1}
    assert UrlCounts("folder:2").columns[0].name == "folder"


MARCH = datetime(2026, 3, 5, tzinfo=UTC)
LINKS = (
    Alternate(SITE, "x-default"),
    Alternate(SITE, "en"),
    Alternate(f"{SITE}de", "de"),
)


@pytest.mark.parametrize(
    ("by", "entries", "counted"),
    [
        (
            "host",
            [UrlEntry("https://A.example/"), UrlEntry("https://a.example/b")],
            {"a.example": 2},
        ),
        ("sitemap", [UrlEntry(SITE, sitemap=f"{SITE}s.xml")], {f"{SITE}s.xml": 1}),
        (
            "month",
            [UrlEntry(SITE, MARCH), UrlEntry(SITE, news=News(publication_date=MARCH))],
            {"2026-03": 2},
        ),
        (
            "language",
            [*(UrlEntry(SITE + path, alternates=LINKS) for path in ("", "de", "fr/"))],
            {"en": 1, "de": 1, None: 1},
        ),
        ("month", [UrlEntry(SITE)], {None: 1}),
        ("language", [UrlEntry(SITE, news=News(language="nl"))], {"nl": 1}),
    ],
)
def test_a_url_counts_for_its_host_month_or_language(
    by: CountBy, entries: list[UrlEntry], counted: dict[str | None, int]
) -> None:
    """Spellings of a host are one; a date is that of lastmod, else of news; what a record says."""
    assert count(by, *entries) == counted


def test_frequent_values_come_first() -> None:
    """Counts that are equal are listed in the order of their texts."""
    entries = [UrlEntry(f"{SITE}{folder}/x") for folder in "cabbc"]
    assert [*count("folder", *entries)] == [f"{SITE}{folder}/" for folder in "bca"]


def test_rare_values_are_counted_together() -> None:
    """1,000 values are listed, whatever comes; nothing is lost, and no frequent one either."""
    counted = UrlCounts("folder")
    for start in range(0, 150_000, 500):
        locs = [f"{SITE}{number}/x" for number in range(start, start + 500)]
        counted.add(
            EntryColumns([*locs, f"{SITE}often/x", f"{SITE}often/y"], [""] * 502)
        )
    rows = counted.list_rows()
    assert (rows[0].value, rows[0].urls) == (f"{SITE}often/", 600)
    assert (len(rows), rows[-1].value) == (1_001, OTHERS)
    assert sum(row.urls for row in rows) == 150_600


def test_an_unknown_kind_of_count_is_refused() -> None:
    """The shell offers what the library has, which refuses anything else."""
    assert get_args(CountBy) == COUNT_KINDS
    wrong: Any = "colour"
    with pytest.raises(ValueError, match="`by` must be one of sitemap, folder"):
        UrlCounts(wrong)


def test_the_shell_prints_counts() -> None:
    """Lines, CSV and JSON lines have the same rows, the most frequent first."""
    words = ["testdata/site", "--count-by", "extension"]
    assert run(*words).stdout == "\t37\n.pdf\t5\n.csv\t1\n"
    assert (
        run(*words, "--format", "csv").stdout == "extension,urls\n,37\n.pdf,5\n.csv,1\n"
    )
    assert '{"extension": null, "urls": 37}' in run(*words, "--format", "jsonl").stdout
    assert "43 URLs" in run(*words).stderr


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", ["extension", "folder", "month"])
@pytest.mark.parametrize("limit", [1, 7, 43, 100])
def test_a_limited_run_counts_only_its_urls(
    kind: str, limit: int, tmp_path: Path
) -> None:
    """With `--limit` the URLs that would be printed are counted, to a terminal and to a file."""
    words = ["testdata/site", "--count-by", kind, "--limit", str(limit)]
    lines = run(*words).stdout.splitlines()
    assert sum(int(line.rpartition("\t")[2]) for line in lines) == min(limit, 43)
    path = tmp_path / "counts.csv"
    assert run(*words, "-o", str(path)).returncode == 0
    _, *rows = path.read_text("utf-8").splitlines()
    assert sum(int(row.rpartition(",")[2]) for row in rows) == min(limit, 43)
