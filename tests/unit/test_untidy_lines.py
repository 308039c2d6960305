"""Lines of text sitemaps that hold more than one bare URL."""

from __future__ import annotations

import pytest
from reading import issues, locs, read
from timing import is_linear

from sitemapreader import IssueCode, SitemapReader
from sitemapreader.readers.text import split_line

A, B = "https://a.example/1", "https://a.example/2"


@pytest.mark.parametrize(
    ("line", "urls"),
    [
        (f"{A}\t2020-01-01", [A]),
        (f"{A}\tA title, with more", [A]),
        (f"{A}\t{B}", [A, B]),
        (f"{A},2020-01-01", [A]),
        (f"{A};2020-01", [A]),
        (f"{A}, 2020-01-01T10:00:00+02:00", [A]),
        (f"{A},2020-01-01,weekly,0.8", [A]),
        (f"{A},weekly,0.8", [A]),
        (f'"{A}","2020-01-01"', [A]),
        (f'"{A}",2020-01-01', [A]),
        (f"{A} 2020-01-01 10:00", [A]),
        (f"{A} | 2020-01-01", [A]),
        (f"<{A}>", [A]),
        (f"'{A}'", [A]),
        (f"{A} {B}", [A, B]),
        (f"{A},{B}", [A, B]),
        (f'"{A}", "{B}"', [A, B]),
        (f"{A},2020-01-01 {B},2020-01-02", [A, B]),
    ],
)
def test_the_urls_of_a_line_are_taken(line: str, urls: list[str]) -> None:
    """Quotes, brackets and further columns are no part of a URL; an Issue says so."""
    events = read(f"{A}0\n{line}\n{B}0\n".encode())
    assert locs(events) == [f"{A}0", *urls, f"{B}0"]
    assert issues(events) == [IssueCode.UNTIDY_LINE]


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/news,1,2020.html",
        "https://a.example/title,weekly",
        "https://a.example/a;b|c",
        "https://a.example/?days=2020-01-01,2020-01-31",
        "https://a.example/?u=https://b.example/",
        "https://a.example/?u=1,https://b.example/",
        "https://a.example/x/https://b.example/",
        "https://a.example/it's",
        "https://a.example/(1)",
        "https://a.example/v,1.0",
    ],
)
def test_a_bare_url_is_kept(url: str) -> None:
    """Commas and quotes that belong to a URL stay in it."""
    events = read(f"{A}\n{url}\n".encode())
    assert (locs(events), issues(events)) == ([A, url], [])


@pytest.mark.parametrize("line", [f"{A}>", f'{A}"', f"{A}”", f"{A}`"])
def test_a_line_says_the_same_beside_any_other(line: str) -> None:
    """What the other lines are makes no difference to a line."""
    for other in (A, "no URL", f"<{A}>"):
        assert locs(read(f"{A}\n{line}\n{other}\n".encode()))[:2] == [A, A]


def test_every_line_is_accounted_for() -> None:
    """A line of two URLs has two records, and a document of columns is one with all its URLs."""
    reader = SitemapReader()
    rows = "".join(f'"https://a.example/{n}","2020-01-01"\n' for n in range(2_500))
    events = reader.feed(f"url,lastmod\n{rows}{A} {B}".encode()) + reader.close()
    assert len(locs(events)) == 2_502
    stats = reader.stats
    assert (stats.records, stats.delivered, stats.dropped) == (2_503, 2_502, 1)
    assert stats.counts[IssueCode.UNTIDY_LINE] == 2_501


@pytest.mark.parametrize("part", [" ", ",", '"', ",2020-01-01", " ,", ",https:", "\t", ";never"])
def test_time_is_linear(part: str) -> None:
    """A flood of separators in a line is passed in linear time."""
    small, large = (A + part * (size // len(part)) + "x" for size in (16_000, 64_000))
    assert is_linear(split_line, small, large)
