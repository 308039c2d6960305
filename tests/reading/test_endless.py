"""A reader that is fed for ever comes to an end: limits hold, and `finished` says so."""

from __future__ import annotations

import gzip

import pytest

from sitemapreader import IssueCode, Limits, SitemapReader

BODY = b"<urlset><url><loc>https://www.example.org/a</loc></url></urlset>"
ENTRY = "https://www.example.org/a"


def feed_for_ever(start: bytes, rest: bytes, most: int, limits: Limits) -> SitemapReader:
    """Feed a reader until it says that it is finished."""
    reader = SitemapReader("https://www.example.org/sitemap.xml", limits=limits)
    found = [getattr(event, "loc", "") for event in reader.feed(start)]
    for _ in range(most):
        if reader.finished:
            break
        found += [getattr(event, "loc", "") for event in reader.feed(rest)]
    assert reader.finished
    assert reader.feed(rest) == []
    found += [getattr(event, "loc", "") for event in reader.close()]
    assert found.count(ENTRY) == 1
    return reader


@pytest.mark.parametrize("rest", [b"x" * 1_000, b"<html>" * 300, gzip.compress(b"")[:2] * 999])
@pytest.mark.parametrize("layers", [1, 2])
def test_what_follows_a_gzip_member_ends_the_reading(rest: bytes, layers: int) -> None:
    """Some thousand bytes behind the member show that nothing more can come."""
    start = gzip.compress(BODY) + rest
    if layers == 2:
        start = gzip.compress(start + rest * 9)
    reader = feed_for_ever(start, rest, 20, Limits())
    codes = {str(code) for code in reader.stats.counts}
    assert any(code.startswith("compression-trailing") for code in codes)


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        (gzip.compress(BODY), b"\0" * 5_000),
        (BODY, b" " * 5_000),
        (BODY, b"<!-- -->" * 700),
    ],
)
def test_an_endless_body_ends_at_the_limit(start: bytes, rest: bytes) -> None:
    """Padding, blanks and comments count for `raw_bytes`."""
    reader = feed_for_ever(start, rest, 100, Limits(raw_bytes=50_000))
    assert reader.stats.counts[IssueCode.TOO_LARGE]
