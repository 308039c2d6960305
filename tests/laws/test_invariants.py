"""The laws that hold for every document, be it sound, broken or damaged at random."""

from __future__ import annotations

import gzip
import struct
from functools import cache
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from sitemapreader._bytes import codings as inflate_module
from sitemapreader._bytes.codings import DecompressionError, Decompressor
from sitemapreader._read.feedparser import run_feedparser
from sitemapreader._types.issues import MAX_ISSUES_PER_DOCUMENT, Issue, IssueCode
from sitemapreader._types.options import Limits
from tests.laws import witness
from tests.support import golden, strategies
from tests.support.reading import read_with, without_feedparser
from tests.support.scale import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SITEMAPS = [
    document
    for document in golden.documents()
    if golden.name_of(document).partition("/")[0] not in golden.EXTRA_FORMATS
]

MANY_SPLITS, SOME_SPLITS = 8 * SCALE, 2
PACKED_SPLITS = 4
"""Documents are cut at so many places; compressed ones, of which more is read at a cut, at more."""

UNSOUND = set("<>\"' \t\r\n")

ODD_RECORDS = (
    b"<url><loc>https://www.example.org/odd?a=1&b=2</loc></url>",
    b"<url><loc>https://www.example.org/odd",
    b"<url><loc>/odd</loc><lastmod>soon</lastmod></url>",
    b"<url/><!-- <url><loc>https://www.example.org/not</loc></url> -->",
    b"<url><loc><![CDATA[https://www.example.org/odd?a=1&b=2]]></loc><i:i><i:loc>x</i:loc></i:i></url>",
    b"<sitemap><loc>https://www.example.org/odd.xml</loc></sitemap>",
    b"<url><loc>https://www.example.org/gr\xc3\xbc\xc3\x9fe\xff</loc></url>",
    b"<url>\n<loc>https://www.example.org/odd</loc>\r\n<priority>7</priority></url><b>words</b>",
)


@cache
def make_long_document() -> bytes:
    """Make a urlset of 90 KB in which every fifth record is an odd one."""
    parts = [b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n']
    for number in range(1_200):
        parts.append(b"<url><loc>https://www.example.org/%d</loc></url>\n" % number)
        if number % 5 == 0:
            parts.append(ODD_RECORDS[number // 5 % len(ODD_RECORDS)] + b"\n")
    return b"".join([*parts, b"</urlset>\n"])


@cache
def read_long_document() -> golden.Reading:
    """Read it whole."""
    return golden.read_pieces([make_long_document()])


@pytest.fixture(autouse=True, scope="module")
def known_feeds() -> Iterator[None]:
    """Let feedparser read each broken feed once, however it is cut."""
    with read_with(run_feedparser=cache(run_feedparser)):
        yield


def test_nothing_is_lost_in_silence(subtests: pytest.Subtests) -> None:
    """Records are delivered or dropped, and every Issue is counted (law 1)."""
    for document in golden.documents():
        with subtests.test(golden.name_of(document)):
            reading = golden.known_reading(document)
            issues = [event for event in reading.events if isinstance(event, Issue)]
            assert reading.records == reading.delivered + reading.dropped
            assert reading.delivered == len(reading.locs)
            assert reading.dropped <= reading.counts.total()
            for code, count in reading.counts.items():
                given_out = sum(issue.code == code for issue in issues)
                assert given_out == min(count, MAX_ISSUES_PER_DOCUMENT), code
            assert reading.locs or reading.counts, "a document of nothing has its Issue"


def test_events_name_their_document(subtests: pytest.Subtests) -> None:
    """Every event carries the URL of the document that it comes from."""
    for document in golden.documents():
        with subtests.test(golden.name_of(document)):
            url = golden.url_of(document)
            assert {
                event.sitemap for event in golden.known_reading(document).events
            } <= {url}


def test_no_url_is_invented(subtests: pytest.Subtests) -> None:
    """Each URL delivered stands in the document, or a reference to it does (law 3).

    Pages and Markdown have other references: see tests/reading/test_html_site_maps.
    """
    for document in SITEMAPS:
        with subtests.test(golden.name_of(document)):
            url = golden.url_of(document)
            locs, data = golden.known_reading(document).locs, document.read_bytes()
            if (
                document.suffix == ".json"
            ):  # slashes and control characters may be escaped
                data = data.replace(rb"\/", b"/").replace(rb"\u0000", b"")
            assert witness.unseen(locs, data, url) == set()


@pytest.mark.slow
def test_byte_by_byte(subtests: pytest.Subtests) -> None:
    """A document fed one byte at a time gives the same events as fed whole (law 5)."""
    for document in golden.documents():
        with subtests.test(golden.name_of(document)):
            data = document.read_bytes()
            pieces = (data[i : i + 1] for i in range(len(data)))
            reading = golden.read_pieces(
                pieces, golden.url_of(document), golden.limits_of(document)
            )
            assert reading == golden.known_reading(document)


def test_cuts(thorough: bool, subtests: pytest.Subtests) -> None:
    """A document cut in two, at a few bytes or nearly all, gives the same events (law 5)."""
    for document in golden.documents():
        with subtests.test(golden.name_of(document)):
            places = MANY_SPLITS if thorough else SOME_SPLITS
            places *= PACKED_SPLITS if document.suffix == ".gz" else 1
            data, url, limits = (
                document.read_bytes(),
                golden.url_of(document),
                golden.limits_of(document),
            )
            whole = golden.known_reading(document)
            stride = 1 + len(data) // places
            for at in range(1, len(data), stride):
                assert (
                    golden.read_pieces([data[:at], data[at:]], url, limits) == whole
                ), f"cut at {at}"


@given(document=strategies.documents, data=st.data())
def test_any_chunking(document: Path, data: st.DataObject) -> None:
    """No way to cut a document into pieces, empty ones included, changes its events (law 5)."""
    pieces = data.draw(strategies.chunkings(document.read_bytes()))
    reading = golden.read_pieces(
        pieces, golden.url_of(document), golden.limits_of(document)
    )
    assert reading == golden.known_reading(document)


@pytest.mark.parametrize(
    ("size", "packed"), [(61, False), (1024, True), (65_537, True)]
)
def test_long_documents_in_pieces(size: int, packed: bool) -> None:
    """A document of many batches gives the same events in pieces of any size (law 5)."""
    body = make_long_document()
    body = gzip.compress(body, 1, mtime=0) if packed else body
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert golden.read_pieces(pieces) == read_long_document()


@pytest.mark.parametrize("layers", [0, 2])
def test_the_protocol_s_limit_has_its_place(layers: int) -> None:
    """That a document is longer than the protocol allows is noted at one place (law 5)."""
    body = make_long_document()
    for _ in range(layers):
        body = gzip.compress(body, 1, mtime=0)
    with read_with(PROTOCOL_MAX_BYTES=40_000):
        whole = golden.read_pieces([body])
        assert whole.counts[IssueCode.OVER_PROTOCOL_LIMIT] == 1
        for size in (1_000, 40_000):
            pieces = [body[at : at + size] for at in range(0, len(body), size)]
            assert golden.read_pieces(pieces) == whole, size


@pytest.mark.parametrize("layers", [1, 2])
def test_damage_behind_a_limit(layers: int) -> None:
    """What is damaged behind the limit of bytes is not looked at, in any pieces (law 5)."""
    plain = make_long_document()[:400]
    # RFC 1951, 3.2.4
    stored = b"\0" + struct.pack("<HH", len(plain), len(plain) ^ 0xFFFF) + plain
    body = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + stored + b"\xff" * 40
    if layers > 1:
        body = gzip.compress(body, 1, mtime=0)
    for most in (300, 350, 398, 399, 400, 401):
        limits = Limits(inflated_bytes=most)
        whole = golden.read_pieces([body], limits=limits)
        assert whole.counts[
            IssueCode.TOO_LARGE if most < len(plain) else IssueCode.COMPRESSION_CORRUPT
        ]
        single = (body[at : at + 1] for at in range(len(body)))
        assert golden.read_pieces(single, limits=limits) == whole, most


@mock.patch.object(inflate_module, "_FRAME_BYTES", 0)
def test_a_limit_between_two_layers() -> None:
    """What one layer hands to another before it is too much is the same in any pieces (law 5)."""
    inner = gzip.compress(make_long_document(), 1, mtime=0)
    body = gzip.compress(inner, 1, mtime=0)

    def inflate(size: int, most: int) -> tuple[bytes, IssueCode | None]:
        decompressor, out = (
            Decompressor(Limits(gzip_members=1, inflated_bytes=most), []),
            bytearray(),
        )
        try:
            for at in range(0, len(body), size):
                for piece in decompressor.decode(body[at : at + size]):
                    out.extend(piece)
        except DecompressionError as error:
            return bytes(out), error.code
        return bytes(out), None

    for most in (1_000, 3_000, len(inner) - 1):
        assert inflate(len(body), most) == inflate(1, most) == inflate(1_000, most)
        assert inflate(len(body), most)[1] == IssueCode.TOO_LARGE
    assert inflate(1_000, len(inner)) == (make_long_document(), None)


@given(body=strategies.damaged_documents, data=st.data())
def test_the_laws_hold_for_damaged_documents(body: bytes, data: st.DataObject) -> None:
    """Whatever becomes of a document, nothing is raised, and laws 1, 3 and 5 hold.

    The fuzzer, in tests/slow, reads thousands.

    A URL with blanks, quotes or angle brackets may be one whose end was lost: it looks it.
    """
    url = golden.HOST + "damaged.xml"
    with without_feedparser():
        whole = golden.read_pieces([body], url)
        assert golden.read_pieces(data.draw(strategies.chunkings(body)), url) == whole
    assert whole.records == whole.delivered + whole.dropped
    assert whole.delivered == len(whole.locs)
    sound = [loc for loc in whole.locs if not UNSOUND & set(loc)]
    assert witness.unseen(sound, body, url) == set()
