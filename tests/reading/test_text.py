"""Lines: they are split in linear time, and Issues say on which they are."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from sitemapreader import Issue, SitemapReader, UrlEntry
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.text import split_line
from sitemapreader._read.xml.batches import XmlReader
from sitemapreader._read.xml.prolog import read_prolog
from sitemapreader._types.options import Limits
from tests.support.reading import URLSET, read, read_by_tree, read_with
from tests.support.timing import is_linear

if TYPE_CHECKING:
    from sitemapreader._types.models import Event


A = "https://a.example/1"


@pytest.mark.parametrize("part", [" ", ",", ",2020-01-01", ",https:"])
def test_time_is_linear(part: str) -> None:
    """A flood of separators in a line is passed in linear time."""
    small, large = (A + part * (size // len(part)) + "x" for size in (16_000, 64_000))
    assert is_linear(split_line, small, large)


# -- the lines of Issues: they do not depend on how a document comes, or how its lines end


ODD = "<url><loc>http://a.b/ 1</loc></url>"
PLAIN = "<url><loc>http://a.b/1</loc></url>"
BROKEN = "<url><loc>http://a.b/1</loc>&<lastmod>x</lastmod></url>"
LINES = {
    "plain": ["", PLAIN, PLAIN, "<url>", "<loc>http://a.b/1 2</loc>", "</url>"],
    "comments": ["<!--", "-->", ODD, "<!-- -->", "", ODD],
    "broken": [
        "",
        BROKEN,
        "",
        "&",
        "",
        "<url>",
        "<loc>",
        "http://x/</loc><x>",
        "</url>",
        ODD,
    ],
    "too-long": [
        "<url>",
        *["<y>", "", "</y>"] * 100,
        "</url>",
        ODD,
        "<!--",
        *[""] * 300,
        "-->",
        ODD,
    ],
}
ENDS = ["\n", "\r\n", "\r"]


def lines_of(events: list[Event]) -> list[tuple[str, int | None]]:
    """List the Issues and entries with their lines."""
    return [(str(getattr(e, "code", "")), getattr(e, "line", None)) for e in events]


def read_lines(pieces: list[bytes]) -> list[tuple[str, int | None]]:
    """Read a document in pieces that no block joins."""
    stats = ReadStats()
    reader = XmlReader(
        stats, Limits(record_bytes=400), *read_prolog([], stats, pieces[0])
    )
    steps = [*chain.from_iterable(map(reader.feed, pieces)), *reader.close(None)]
    return lines_of(list(chain.from_iterable(steps)))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("end", ENDS)
def test_lines_in_any_cutting(name: str, end: str, thorough: bool) -> None:
    """A document's events have the same lines for each end of a line, whole and in pieces."""
    text = "\n".join([*LINES[name], "</urlset>"])
    expected = lines_of(read(URLSET + text.encode(), record_bytes=400))
    assert any(line and line > 1 for _, line in expected)
    data = URLSET + text.replace("\n", end).encode()
    assert lines_of(read(data, record_bytes=400)) == expected
    assert lines_of(read_by_tree(data, record_bytes=400)) == expected
    if name == "too-long":
        return  # what is too long is told by what is pending, in characters
    for first in range(len(URLSET), len(data), 1 if thorough else 5):
        assert read_lines([data[:first], data[first:]]) == expected
    bytes_behind = (data[place : place + 1] for place in range(len(URLSET), len(data)))
    assert read_lines([URLSET, *bytes_behind]) == expected


@pytest.mark.parametrize("before", ["", "<!--\n-->\n", f"{PLAIN}\n\n"])
def test_the_line_of_a_record_that_is_too_long(before: str) -> None:
    """It is the line on which the record begins, whatever stands before it."""
    record = "<url>\n<loc>http://a.b/long</loc>\n" + "<y></y>\n" * 6_000
    data = f"<urlset>{before}{record}</url>{PLAIN}</urlset>".encode()
    for events in (
        read(data, record_bytes=9_000),
        read_by_tree(data, record_bytes=9_000),
    ):
        lines = dict(lines_of(events))
        assert lines["record-too-long"] == 1 + before.count("\n")
        assert "http://a.b/1" in [getattr(event, "loc", "") for event in events]


def test_a_line_that_was_cut_is_no_url() -> None:
    """Where the transfer broke off inside a line, an Issue has that, and its line."""
    reader = SitemapReader()
    events = reader.feed(b"http://a.b/1\nhttp://a.b/2\nhttp://a.b/hal") + reader.close(
        cut=True
    )
    issue = events.pop()
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [
        "http://a.b/1",
        "http://a.b/2",
    ]
    assert isinstance(issue, Issue)
    assert (issue.code, issue.line, issue.value) == ("truncated", 3, "http://a.b/hal")
    assert reader.stats.records == 3


@pytest.mark.parametrize(
    ("rest", "codes"),
    [
        ("", ["truncated"]),
        (f"http://a.b/{'x' * 70_000}", ["field-too-long", "truncated"]),
        ("  ", ["truncated"]),
    ],
    ids=["whole-lines", "too-long", "blank"],
)
def test_a_cut_that_drops_no_url_is_an_issue_too(rest: str, codes: list[str]) -> None:
    """Nobody knows how many lines are missing behind the last one."""
    reader = SitemapReader()
    events = reader.feed(f"http://a.b/1\n{rest}".encode()) + reader.close(cut=True)
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [
        "http://a.b/1"
    ]
    assert [event.code for event in events if isinstance(event, Issue)] == codes


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("chars", [40, 41, 47, 200])
def test_a_line_that_is_too_long_costs_itself(chars: int, end: str) -> None:
    """It is dropped once, by its line; the lines around it are read, wherever blocks end."""
    long = "http://a.b/".ljust(chars, "x")
    lines = ["http://a.b/1", "", long, "http://a.b/2", "http://a.b/3", "http://a.b/4"]
    data = "".join(f"{line}{end}" for line in lines).encode()
    for block in (12, 16, 23):
        with read_with(BLOCK_BYTES=block):
            reader = SitemapReader(limits=Limits(field_chars=40))
            events = []
            for start in range(0, len(data), block):
                events += reader.feed(data[start : start + block])
            events += reader.close()
        locs = [event.loc for event in events if isinstance(event, UrlEntry)]
        issues = [(e.code, e.line) for e in events if isinstance(e, Issue)]
        assert [loc for loc in locs if loc != long] == [
            line for line in lines if line not in ("", long)
        ]
        is_dropped = long not in locs
        assert issues == [("field-too-long", 3)] * is_dropped
        assert is_dropped or chars < 40 + block
        assert chars > 40 or not is_dropped
        assert reader.stats.records == 5
