"""The lines of Issues: they do not depend on how a document comes, or how its lines end."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from reading import URLSET, read, read_by_tree

from sitemapreader.options import Limits
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.xml.reader import XmlReader

if TYPE_CHECKING:
    from sitemapreader.models import Event

ODD = "<url><loc>http://a.b/ 1</loc></url>"
PLAIN = "<url><loc>http://a.b/1</loc></url>"
BROKEN = "<url><loc>http://a.b/1</loc>&<lastmod>x</lastmod></url>"
LINES = {
    "plain": ["", PLAIN, PLAIN, "<url>", "<loc>http://a.b/1 2</loc>", "</url>"],
    "blank-lines": ["", "", "", ODD, "", "", PLAIN, "", "", ODD],
    "comments": ["<!--", "-->", ODD, "<!-- -->", "", ODD],
    "broken": [
        "",
        BROKEN,
        "",
        PLAIN,
        "&",
        "",
        "",
        "<url>",
        "<loc>",
        "http://x/</loc><x>",
        "</url>",
        ODD,
    ],
    "wrapped": ["<x xmlns='urn:x'>", "", "</x>", ODD, "", "", ODD],
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
    reader = XmlReader(ReadStats(), Limits(record_bytes=400))
    steps = [*chain.from_iterable(map(reader.feed, pieces)), *reader.close(None)]
    return lines_of(list(chain.from_iterable(steps)))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("end", ENDS, ids=["lf", "crlf", "cr"])
def test_lines_in_any_cutting(name: str, end: str) -> None:
    """A document's events have the same lines for each end of a line, whole and in pieces."""
    text = "\n".join([*LINES[name], "</urlset>"])
    expected = lines_of(read(URLSET + text.encode(), record_bytes=400))
    assert any(line and line > 1 for _, line in expected)
    data = URLSET + text.replace("\n", end).encode()
    assert lines_of(read(data, record_bytes=400)) == expected
    assert lines_of(read_by_tree(data, record_bytes=400)) == expected
    if name == "too-long":
        return  # what is too long is told by what is pending, in characters
    for first in range(len(URLSET), len(data)):
        assert read_lines([data[:first], data[first:]]) == expected
    assert read_lines([data[place : place + 1] for place in range(len(data))]) == expected


@pytest.mark.parametrize("before", ["", "\n\n", "x\n", "<!--\n-->\n", f"{PLAIN}\n\n"])
def test_the_line_of_a_record_that_is_too_long(before: str) -> None:
    """It is the line on which the record begins, whatever stands before it."""
    record = "<url>\n<loc>http://a.b/long</loc>\n" + "<y></y>\n" * 6_000
    data = f"<urlset>{before}{record}</url>{PLAIN}</urlset>".encode()
    for events in (read(data, record_bytes=9_000), read_by_tree(data, record_bytes=9_000)):
        lines = dict(lines_of(events))
        assert lines["record-too-long"] == 1 + before.count("\n")
        assert "http://a.b/1" in [getattr(event, "loc", "") for event in events]
