"""A reader that is fed for ever comes to an end: limits hold, and `finished` says so."""

from __future__ import annotations

import gzip
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from sitemapreader import IssueCode, Limits, SitemapReader

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = b"<urlset><url><loc>https://www.example.org/a</loc></url></urlset>"
ENTRY = "https://www.example.org/a"


def feed_for_ever(
    start: bytes, rest: bytes, most: int, limits: Limits, *codings: str
) -> SitemapReader:
    """Feed a reader until it says that it is finished."""
    url = "https://www.example.org/sitemap.xml"
    reader = SitemapReader(url, limits=limits, codings=codings)
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


@pytest.mark.parametrize(
    "rest", [b"x" * 1_000, b"<html>" * 300, gzip.compress(b"")[:2] * 999]
)
@pytest.mark.parametrize("layers", [1, 2])
def test_what_follows_a_gzip_member_ends_the_reading(rest: bytes, layers: int) -> None:
    """Some thousand bytes behind the member show that nothing more can come."""
    start = gzip.compress(BODY) + rest
    if layers == 2:
        start = gzip.compress(start + rest * 9)
    reader = feed_for_ever(start, rest, 20, Limits())
    codes = {str(code) for code in reader.stats.counts}
    assert any(code.startswith("compression-trailing") for code in codes)


LONG_BODY = BODY.replace(
    b"</urlset>",
    b"".join(
        b"<url><loc>https://www.example.org/%s</loc></url>"
        % sha256(b"%d" % number).hexdigest().encode()
        for number in range(99)
    )
    + b"</urlset>",
)
"""A body whose last bytes, which a damaged end may take along, are not its first record's."""


def compress_br(data: bytes) -> bytes:
    """Compress in br."""
    compressed: bytes = pytest.importorskip("brotli").compress(data)
    return compressed


@pytest.mark.parametrize("rest", [b"x" * 1_000, BODY * 20, b"\r\n<!-- -->" * 99])
@pytest.mark.parametrize(
    ("coding", "compress"),
    [("br", compress_br), ("deflate", zlib.compress)],
    ids=["br", "deflate"],
)
def test_what_follows_another_coding_ends_the_reading(
    coding: str, compress: Callable[[bytes], bytes], rest: bytes
) -> None:
    """These have one member: what a server sends behind its end is no sitemap."""
    reader = feed_for_ever(compress(LONG_BODY) + rest, rest, 20, Limits(), coding)
    assert any(str(code).startswith("compression-") for code in reader.stats.counts)


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
