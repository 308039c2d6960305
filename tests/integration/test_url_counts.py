"""Counts of URLs by what they have in common."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from commands import run

from sitemapreader.cli.options import COUNT_KINDS
from sitemapreader.models import Alternate, News, UrlEntry
from sitemapreader.output import counts
from sitemapreader.output.counts import OTHERS, CountBy, UrlCounts
from sitemapreader.rows import EntryColumns

SITE = "https://example.org/"


def count(by: CountBy, *entries: UrlEntry) -> dict[str | None, int]:
    counted = UrlCounts(by)
    counted.add(list(entries))
    return {row.value: row.urls for row in counted.list_rows()}


def count_loc(by: CountBy, loc: str) -> str | None:
    (value,) = count(by, UrlEntry(loc))
    return value


@pytest.mark.parametrize(
    ("loc", "folder", "extension"),
    [
        (f"{SITE}a/b/c.HTML", f"{SITE}a/", ".html"),
        (f"{SITE}a/", f"{SITE}a/", None),
        (f"{SITE}a.pdf?x=/y/z.txt", SITE, ".pdf"),
        (f"{SITE}a#/b/c.d", SITE, None),
        (SITE, SITE, None),
        ("https://example.org", SITE, None),
        ("https://example.org?q=/a/b.c", SITE, None),
        (f"{SITE}v1.2/x", f"{SITE}v1.2/", None),
        (f"{SITE}a/x.notasuffixofafile", f"{SITE}a/", None),
    ],
)
def test_folders_and_extensions(loc: str, folder: str, extension: str | None) -> None:
    """The first folder of the path; the suffix of its last part; neither from a query."""
    assert count_loc("folder", loc) == folder
    assert count_loc("extension", loc) == extension


def test_hosts_sitemaps_and_months() -> None:
    """Spellings of a host are one; a month is that of lastmod, else of the news."""
    march = datetime(2026, 3, 5, tzinfo=UTC)
    assert count("host", UrlEntry("https://A.example/"), UrlEntry("https://a.example/b")) == {
        "a.example": 2
    }
    assert count("sitemap", UrlEntry(SITE, sitemap=f"{SITE}s.xml")) == {f"{SITE}s.xml": 1}
    news = UrlEntry(SITE, news=News(publication_date=march))
    assert count("month", UrlEntry(SITE, march), news, UrlEntry(SITE)) == {"2026-03": 2, None: 1}


def test_languages() -> None:
    """What a record says of itself, in its own alternates or its news; else nothing."""
    links = (Alternate(SITE, "x-default"), Alternate(SITE, "en"), Alternate(f"{SITE}de", "de"))
    english, german = UrlEntry(SITE, alternates=links), UrlEntry(f"{SITE}de", alternates=links)
    other = UrlEntry(f"{SITE}fr/", alternates=links)
    news = UrlEntry(SITE, news=News(language="nl"))
    assert count("language", english, german, other, news) == {"en": 1, "de": 1, "nl": 1, None: 1}


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 values are listed, whatever comes; nothing is lost, and no frequent one either."""
    monkeypatch.setattr(counts, "_MAX_KEPT", 3_000)
    counted = UrlCounts("folder")
    for start in range(0, 20_000, 500):
        locs = [f"{SITE}{number}/x" for number in range(start, start + 500)]
        counted.add(EntryColumns([*locs, f"{SITE}often/x", f"{SITE}often/y"], [""] * 502))
    rows = counted.list_rows()
    assert (rows[0].value, rows[0].urls) == (f"{SITE}often/", 80)
    assert (len(rows), rows[-1].value) == (1_001, OTHERS)
    assert sum(row.urls for row in rows) == 20_080


def test_the_kinds() -> None:
    """The shell offers what the library has, which refuses anything else."""
    assert get_args(CountBy) == COUNT_KINDS
    wrong: Any = "colour"
    with pytest.raises(ValueError, match="`by` must be one of sitemap, folder"):
        UrlCounts(wrong)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--count-by colour", "choose from sitemap, folder"),
        ("--count-by folder --fields loc", "leave out --fields"),
        ("--count-by folder --sample 3", "leave out --count-by"),
    ],
)
def test_wrong_options(words: str, said: str) -> None:
    """What cannot be meant is refused before anything is fetched."""
    shown = run(*words.split(), "http://127.0.0.1:9/")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert said in shown.stderr


def test_in_the_shell() -> None:
    """Lines, CSV and JSON lines have the same rows, the most frequent first."""
    words = ["testdata/site", "--count-by", "extension"]
    assert run(*words).stdout == "\t37\n.pdf\t5\n.csv\t1\n"
    assert run(*words, "--format", "csv").stdout == "extension,urls\n,37\n.pdf,5\n.csv,1\n"
    assert '{"extension": null, "urls": 37}' in run(*words, "--format", "jsonl").stdout
    assert "43 URLs" in run(*words).stderr
