"""Damaged compression, and the names of encodings that strangers choose."""

from __future__ import annotations

import encodings
import gzip
import zlib
from typing import cast

import pytest
from each_case import for_each
from reading import issues, locs, read, urlset

from sitemapreader.issues import IssueCode
from sitemapreader.models import UrlEntry
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader
from sitemapreader.readers.decode.decoders import DecompressionError
from sitemapreader.readers.decode.layers import Decompressor

SMALL = b'<?xml version="1.0"?>\n' + urlset(
    b"".join(b"<url><loc>https://a.example/%d</loc></url>\n" % (n * n) for n in range(40))
)
HEADERS = {"gzip": 10, "zlib": 2, "raw": 0}
CERTAIN = b"<?xml"
"""What comes out before damage may be less than this, and tells nothing then of what it is."""


def deflate(data: bytes, frame: str) -> bytes:
    match frame:
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "zlib":
            return zlib.compress(data)
    stream = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


def inflate(data: bytes) -> bytes:
    decompressor, out = Decompressor(Limits(), []), bytearray()
    try:
        for piece in (data, b""):
            for inflated in decompressor.feed(piece) if piece else decompressor.close():
                out += inflated
    except DecompressionError:
        pass
    return bytes(out)


def inflate_slowly(data: bytes) -> bytes:
    """Return what comes out of deflate data that is handed over byte by byte, up to the damage."""
    stream, out = zlib.decompressobj(-zlib.MAX_WBITS), bytearray()
    try:
        for place in range(len(data)):
            out += stream.decompress(data[place : place + 1])
    except zlib.error:
        pass
    return bytes(out)


@pytest.mark.parametrize("frame", HEADERS)
def test_what_inflates_before_damage_is_kept(frame: str) -> None:
    """Any byte may be wrong: all comes out that comes out of the bytes that stand before it."""
    sound, header = deflate(SMALL, frame), HEADERS[frame]
    tried = 0
    for place in range(header, len(sound)):
        before = inflate_slowly(sound[header:place])
        if before.startswith(CERTAIN):
            damaged = sound[:place] + b"\xff\xff\xff\xff" + sound[place:]
            assert inflate(damaged).startswith(before), place
            tried += 1
    assert tried > len(sound) / 2


def test_records_before_damage_to_bare_deflate_data_are_read() -> None:
    """Damage in the first bytes, by which it is told what they are, loses nothing before it."""
    sound = deflate(SMALL, "raw")
    damaged = sound[:200] + b"<urlset>\xff<url>\n" + sound[200:]
    assert len(damaged) < 512
    before = inflate_slowly(sound[:200]).count(b"</url>")
    assert before > 3
    assert len(locs(read(damaged))) >= before


@pytest.mark.parametrize("words", [b"BONJOUR", b"\x05\x00", b"%PDF-1.4 \n", b"Je suis ici"])
def test_text_before_a_document_is_not_taken_for_deflate_data(words: bytes) -> None:
    """What stands before the first tag may look like deflate data for a while."""
    assert len(locs(read(words + SMALL))) == 40


@pytest.mark.parametrize("window", range(9, 16))
def test_zlib_of_any_window(window: int) -> None:
    """The window has its size in the header (RFC 1950, section 2.2)."""
    stream = zlib.compressobj(9, zlib.DEFLATED, window)
    assert len(locs(read(stream.compress(SMALL) + stream.flush()))) == 40


@pytest.mark.parametrize("before", [b"\n", b"\r\n\r\n  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_blanks_before_gzip(before: bytes) -> None:
    """What a script prints before the data that it sends is passed over, and told."""
    events = read(before + deflate(SMALL, "gzip"))
    assert len(locs(events)) == 40
    assert issues(events) == [IssueCode.LEADING_BYTES]


def test_bytes_are_counted_in_any_pieces() -> None:
    """What comes after the end of reading is counted too, whole or byte by byte."""
    data = deflate(deflate(deflate(SMALL, "gzip"), "gzip"), "gzip")
    for size in (len(data), 7, 1):
        reader = SitemapReader()
        for at in range(0, len(data), size):
            reader.feed(data[at : at + size])
        reader.close()
        assert reader.stats.raw_bytes == len(data)


@for_each("frame", HEADERS)
@for_each(
    "behind, code",
    [
        (SMALL, IssueCode.COMPRESSION_TRAILING_DOCUMENT),
        (b" \r\n\xef\xbb\xbf" + SMALL, IssueCode.COMPRESSION_TRAILING_DOCUMENT),
        (b"\n<!-- a --><!-- b -->\n<urlset>", IssueCode.COMPRESSION_TRAILING_DOCUMENT),
        ("\ufeff<urlset>".encode("utf-16-be"), IssueCode.COMPRESSION_TRAILING_DOCUMENT),
        (b"HTTPS://a.example/", IssueCode.COMPRESSION_TRAILING_DOCUMENT),
        (b"\n", IssueCode.COMPRESSION_TRAILING_BYTES),
        (b"served by <b>", IssueCode.COMPRESSION_TRAILING_BYTES),
        (b"<!-- no end", IssueCode.COMPRESSION_TRAILING_BYTES),
        (b"\x1f\x8b", IssueCode.COMPRESSION_TRAILING_BYTES),
    ],
)
@for_each("size", [1, 7, 10_000])
def test_what_follows_the_data_is_judged_in_any_chunks(
    frame: str, behind: bytes, code: IssueCode, size: int
) -> None:
    """A document behind compressed data is an error, junk is not, wherever the chunks end."""
    data = deflate(SMALL, frame) + behind
    notes: list[IssueCode] = []
    inflation, out = Decompressor(Limits(), notes), bytearray()
    for start in range(0, len(data), size):
        for piece in inflation.feed(data[start : start + size]):
            out += piece
    for piece in inflation.close():
        out += piece
    assert bytes(out) == SMALL
    assert notes == [code]


@pytest.mark.parametrize("size", [1, 7, 512, 100_000])
@pytest.mark.parametrize("members", [1, 3])
def test_gzip_data_behind_a_document_is_read(size: int, members: int) -> None:
    """`cat a.xml b.xml.gz` gives the URLs of both files, wherever the chunks end."""
    one, two = (
        b"<urlset>"
        + b"".join(b"<url><loc>http://a.b/%s/%d</loc></url>" % (name, n) for n in range(50))
        + b"</urlset>\n"
        for name in (b"one", b"two")
    )
    data = one + deflate(two, "gzip") * members
    reader, events = SitemapReader(), []
    for at in range(0, len(data), size):
        events += reader.feed(data[at : at + size])
    events += reader.close()
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    assert len(locs) == 50 + 50 * members
    assert locs[50:] == [f"http://a.b/two/{n}" for n in range(50)] * members
    assert reader.stats.counts == {IssueCode.NAMESPACE: 1, IssueCode.NESTED_ROOT: 1}
    assert reader.stats.raw_bytes == len(data)


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_what_only_looks_like_gzip_data_stays_in_the_document(size: int) -> None:
    """Bytes that begin no sitemap cost the record in which they stand at most."""
    junk = b"\x1f\x8b\x08" + b"\x1f" * 20 + deflate(b"no sitemap", "gzip")
    data = (
        b"<urlset>" + SMALL_URL % b"1" + b"<url><loc>" + junk + b"</loc></url>" + SMALL_URL % b"2"
    )
    data += b"</urlset>" + b"\x1f\x8b"
    reader, events = SitemapReader(), []
    for at in range(0, len(data), size):
        events += reader.feed(data[at : at + size])
    events += reader.close()
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    assert (locs[0], locs[-1]) == ("http://a.b/1", "http://a.b/2")


SMALL_URL = b"<url><loc>http://a.b/%s</loc></url>"


# -- names of encodings: strangers choose them, in a header and in a declaration


RUSSIAN = "https://example.org/путь"


def read_as(charset: str, codec: str) -> list[str]:
    """Return the locs of a sitemap in a codec, which the HTTP charset calls by this name."""
    data = f"<urlset><url><loc>{RUSSIAN}</loc></url></urlset>".encode(codec)
    reader = SitemapReader(charset=charset)
    events = [*reader.feed(data), *reader.close()]
    return [event.loc for event in events if isinstance(event, UrlEntry)]


@for_each(
    "charset, codec",
    [
        *(("windows-1251", "cp1251"), ("CP1251", "cp1251"), (" cp1251 ", "cp1251")),
        *(("koi8-r", "koi8-r"), ("KOI8_R", "koi8-r"), ("iso-8859-5", "iso8859-5")),
        *(("ISO_8859-5:1988", "iso8859-5"), ("csISOLatinCyrillic", "iso8859-5")),
        *(("mskanji", "shift_jis"), ("EUC-JP", "euc_jp"), ("gb2312", "gbk")),
        *(("ANSI_X3.4-1986", "utf-8"), ("utf8", "utf-8"), ("UTF 8", "utf-8")),
    ],
)
def test_an_encoding_is_known_by_all_its_names(charset: str, codec: str) -> None:
    """Case, blanks and punctuation do not matter, and aliases are names."""
    assert read_as(charset, codec) == [RUSSIAN]


@for_each("charset", ["rot13", "base64", "idna", "utf-7", "os", "../os", "a\0b", "utf\0-8", "."])
def test_what_is_no_encoding_of_text_is_refused(charset: str) -> None:
    """A codec that hides markup, a module, a path: nothing is read by it, or told to be."""
    reader = SitemapReader(charset=charset)
    events = [*reader.feed(b"<urlset><url><loc>https://example.org/</loc></url></urlset>")]
    events += reader.close()
    assert [str(getattr(event, "code", "")) for event in events] == ["encoding-unsupported"]


def test_names_that_nobody_knows_leave_nothing_behind() -> None:
    """A thousand names from a thousand hosts take no memory for the rest of the process."""
    kept = cast("dict[str, object]", encodings._cache)
    before = set(kept)
    for number in range(1_000):
        reader = SitemapReader(charset=f"nobody-{number}")
        reader.feed(f"<?xml version='1.0' encoding='nothing-{number}'?><urlset/>".encode())
        reader.close()
    assert set(kept) == before
