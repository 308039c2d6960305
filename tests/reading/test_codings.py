"""Compressed bodies: what is taken off, what is said of damage, and that no bomb costs much."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import suppress

import brotli
import pytest

from sitemapreader import Limits, SitemapReader, UrlEntry
from sitemapreader._bytes.codings import decode_start, read_codings
from tests.support.reading import urlset
from tests.support.serving import Answer, serve_site
from tests.support.walking import index, read_site, urlset as list_urls

COUNT = 1_000
ENTRY = b"<url><loc>https://a.example/%d</loc></url>\n"
XML = b'<?xml version="1.0"?>\n' + urlset(
    b"".join(ENTRY % (7_919 * n) for n in range(COUNT))
)
SMALL = b'<?xml version="1.0"?>\n' + urlset(
    b"".join(ENTRY % (n * n) for n in range(40))
)
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


def to_br(data: bytes) -> bytes:
    # the best quality, 11, takes a tenth of a second
    compressed: bytes = brotli.compress(data, quality=5)
    return compressed


def read_all(
    data: bytes, codings: tuple[str, ...] = (), size: int = 65_536
) -> tuple[list[str], dict[str, int]]:
    """Return the locs, and the codes that were counted."""
    reader, events = SitemapReader("https://a.example/s.xml", codings=codings), []
    for start in range(0, len(data), size):
        events += reader.feed(data[start : start + size])
    events += reader.close()
    assert reader.stats.raw_bytes == len(data)
    return [event.loc for event in events if isinstance(event, UrlEntry)], {
        str(code): count for code, count in reader.stats.counts.items()
    }


LOCS = [f"https://a.example/{7_919 * n}" for n in range(COUNT)]
GZIP, BR = gzip.compress(XML, mtime=0), brotli.compress(XML, quality=9)
ZSTD = bytes.fromhex("28b52ffd0458b10000") + b"https://a.example/1\n<>" + bytes(4)
"""A frame of one block, as it is stored."""
NAME = b"name" * 25_000 + b"\0"
NESTED = {"compression-nested": 1}
WRONG = {"wrong-content-encoding": 1}

CODINGS: dict[str, tuple[tuple[str, ...], bytes, dict[str, int]]] = {
    "gzip": ((), GZIP, {}),
    "gzip, gzip": (("gzip", "gzip"), gzip.compress(GZIP), {}),
    "gzip in gzip": ((), gzip.compress(GZIP), NESTED),
    "gzip behind blanks": ((), b"\xef\xbb\xbf\r\n " + GZIP, {"leading-bytes": 1}),
    "gzip with a long name": ((), b"\x1f\x8b\x08\x08" + bytes(6) + NAME + GZIP[10:], {}),
    "members": ((), gzip.compress(XML[:999]) + b"\0\0" + gzip.compress(XML[999:]), {}),
    "br": (("br",), BR, {}),
    "deflate": (("deflate",), zlib.compress(XML), {}),
    "gzip, br": (("br", "gzip"), to_br(GZIP), {}),
    "br, gzip": (("gzip", "br"), gzip.compress(BR), {}),
    "listed in the wrong order": (("br", "gzip"), gzip.compress(BR), {}),
    "br, br": (("br", "br"), to_br(BR), {}),
    "br said to be br and gzip": (("gzip", "br"), BR, {}),
    "plain said to be br": (("br",), XML, WRONG),
    "plain said to be zstd": (("zstd",), XML, WRONG),
    "plain said to be gzip": (("gzip",), XML, {}),
    "UTF-16 said to be br": (("br",), XML.decode().encode("utf-16"), WRONG),
    "gzip under an unknown word": (("pack200-gzip",), GZIP, WRONG),
}  # fmt: skip


@pytest.mark.parametrize("name", CODINGS)
def test_every_coding_is_taken_off(name: str) -> None:
    """Every URL comes out, whatever the header says and however the body is cut."""
    codings, data, codes = CODINGS[name]
    for size in (777, 65_536):
        assert read_all(data, codings, size) == (LOCS, codes)
    start = data[: len(data) // 50]
    assert read_all(start, codings, 1) == read_all(start, codings)


OTHERS = {
    "compress": (("compress",), b"\x1f\x9d\x90" + bytes(range(200)), "content-encoding"),
    "zstd": (("zstd",), ZSTD, "content-encoding"),
    "no gzip": (("gzip",), b"\0\0\0\0" * 50, "content-encoding"),
    "br that nobody names": ((), BR, "not-a-sitemap"),
    "deflate that nobody names": ((), zlib.compress(XML), "not-a-sitemap"),
    "three layers": ((), gzip.compress(gzip.compress(GZIP)), "compression-too-many-layers"),
    "three layers, named": (("br",) * 3, to_br(to_br(BR)), "compression-too-many-layers"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("size", [1, 65_536])
def test_what_cannot_be_decoded_is_named(name: str, size: int) -> None:
    """No data is guessed at: an error says what it is, or what to ask for."""
    codings, data, code = OTHERS[name]
    locs, codes = read_all(data, codings, size)
    assert locs == []
    assert codes.keys() - {"compression-nested"} == {code}


@pytest.mark.parametrize(
    "name", ["gzip", "gzip in gzip", "br", "br, br", "deflate", "members"]
)
def test_a_truncated_body_gives_what_was_decoded(name: str) -> None:
    """At any cut the first URLs come, more the later the cut, and an Issue."""
    codings, data, _ = CODINGS[name]
    longest = 0
    for end in range(len(data) // 10, len(data), len(data) // 7):
        locs, codes = read_all(data[:end], codings)
        assert locs == LOCS[: len(locs)]
        assert longest <= len(locs)
        assert "compression-truncated" in codes
        longest = len(locs)
    assert longest > len(LOCS) // 2


def test_damage_costs_the_same_however_it_comes() -> None:
    """Of br too, what is lost before damage does not depend on the chunks."""
    for place in range(900, len(BR), len(BR) // 2):
        damaged = BR[:place] + b"\xff\xff\xff\xff" + BR[place:]
        whole = read_all(damaged, ("br",))
        assert all(read_all(damaged, ("br",), size) == whole for size in (7, 1_000))


def test_an_outer_layer_that_is_cut_takes_nothing_along() -> None:
    """What the inner layer was given before the cut is read to its last byte."""
    stored = gzip.compress(BR, 0)  # as it is, behind 15 bytes
    for end in range(2_000, len(BR), len(BR) // 9):
        locs, _ = read_all(BR[:end], ("br",))
        assert read_all(stored[: end + 15], ("gzip", "br"))[0] == locs != []


def inflate_slowly(data: bytes, wbits: int) -> bytes:
    """Return what comes out of data that is handed over byte by byte, up to the damage."""
    stream, out = zlib.decompressobj(wbits), bytearray()
    with suppress(zlib.error):
        for place in range(len(data)):
            out += stream.decompress(data[place : place + 1])
    return bytes(out)


@pytest.mark.parametrize("wbits", [31, 15])
def test_what_inflates_before_damage_is_read(wbits: int) -> None:
    """Any byte may be wrong: all records come out that the bytes before it hold."""
    sound = zlib.compress(SMALL, wbits=wbits)
    for place in range(0, len(sound), 3):
        damaged = sound[:place] + b"\xff\xff\xff\xff" + sound[place:]
        before = inflate_slowly(sound[:place], wbits)
        plain = decode_start(damaged, () if wbits > 15 else ("deflate",), 9_999)
        assert len(before) < 3 or plain.startswith(before), place


@pytest.mark.parametrize(
    ("packed", "place"), [(GZIP, -8), (GZIP, -1), (zlib.compress(XML), -1)]
)
@pytest.mark.parametrize("size", [3, 65_536])
def test_a_wrong_checksum_is_an_error(packed: bytes, place: int, size: int) -> None:
    """Checksum or length may be wrong: the data is read, and nothing behind it."""
    data = bytearray(packed)
    data[place] ^= 1
    found = read_all(bytes(data) + gzip.compress(SMALL), ("deflate",), size)
    assert found == (LOCS, {"compression-corrupt": 1})


@pytest.mark.parametrize(
    ("behind", "code"),
    [
        (SMALL, "compression-trailing-document"),
        (b" \r\n\xef\xbb\xbf" + SMALL, "compression-trailing-document"),
        (b"\n<!-- a --><!-- b -->\n<urlset>", "compression-trailing-document"),
        ("\ufeff<urlset>".encode("utf-16-be"), "compression-trailing-document"),
        (b"\n", "compression-trailing-bytes"),
        (b"<!-- no end", "compression-trailing-bytes"),
        (b"junk \x1f\x8b", "compression-trailing-bytes"),
    ],
)
@pytest.mark.parametrize("size", [7, 100_000])
@pytest.mark.parametrize(
    ("codings", "body"), [((), GZIP), (("deflate",), zlib.compress(XML))]
)
def test_what_follows_the_data_is_judged(
    codings: tuple[str, ...], body: bytes, behind: bytes, code: str, size: int
) -> None:
    """A document behind compressed data is an error, junk is not, wherever the chunks end."""
    assert read_all(body + behind, codings, size) == (LOCS, {code: 1})


@pytest.mark.parametrize(
    ("header", "codings"),
    [
        ("br", ("br",)),
        (" x-gzip ,identity", ("gzip",)),
        ("", ()),
        ("aws-chunked,br", ("br",)),
        (",,br;q=1", ()),
        ("br" * 30, ()),
        ("a,b,c,d,e,f", ("f", "e", "d", "c")),
    ],
)
def test_the_header_is_read(header: str, codings: tuple[str, ...]) -> None:
    """Names in lower case, the outermost first, none that says nothing, no more than four."""
    assert read_codings({"content-encoding": header}) == codings


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("size", [7, 65_536])
def test_the_number_of_members_is_bounded(most: int, size: int) -> None:
    """What is in so many of them is read; one more is an error."""
    parts = [gzip.compress(f"https://a.b/{number}\n".encode()) for number in range(3)]
    data = b"\0\0".join(parts) + b"\0"
    reader, events = SitemapReader(limits=Limits(gzip_members=most)), []
    for start in range(0, len(data), size):
        events += reader.feed(data[start : start + size])
    events += reader.close()
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    assert locs == [f"https://a.b/{number}" for number in range(most)]
    codes = {str(code) for code in reader.stats.counts}
    assert codes == ({"compression-too-many-members"} if most < 3 else set())


@pytest.mark.parametrize(
    ("data", "codings"),
    [(XML, ()), (GZIP, ()), (BR, ("br",)), (gzip.compress(BR), ("br", "gzip"))],
    ids=["plain", "gzip", "br", "both"],
)
def test_the_beginning_of_a_body_is_decoded(
    data: bytes, codings: tuple[str, ...]
) -> None:
    """As far as it came, and not beyond its limit."""
    for most in (1, 100, len(XML) - 1, len(XML), len(XML) + 1):
        assert decode_start(data, codings, most) == XML[:most]
    part = decode_start(data[: len(data) // 2], codings, len(XML))
    assert XML.startswith(part)
    assert len(part) > 1_000


@pytest.mark.parametrize(("before", "found"), [(1_022, ("br",)), (1_024, ())])
def test_the_beginning_of_the_header_counts(
    before: int, found: tuple[str, ...]
) -> None:
    """1,024 characters of it are read."""
    assert read_codings({"content-encoding": "," * before + "br"}) == found


# -- over HTTP


@pytest.mark.parametrize(
    ("coding", "body", "said"),
    [("br", to_br(XML), "extra `speedups`"), ("zstd", ZSTD, "zstd")],
)
async def test_a_coding_that_cannot_be_read_is_named(
    coding: str, body: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child is lost by name; rules that cannot be read forbid what nobody named."""
    for name in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, name, None)
    async with serve_site() as site:
        root = index(*(f"{site.base}/{name}.xml" for name in "abc"))
        site.pages |= {
            "/robots.txt": Answer(f"Sitemap: {site.base}/index.xml".encode()),
            "/index.xml": Answer(
                gzip.compress(root), headers={"Content-Encoding": "gzip"}
            ),
            "/a.xml": Answer(list_urls(f"{site.base}/1")),
            "/b.xml": Answer(body, headers={"Content-Encoding": coding}),
            "/c.xml": Answer(list_urls(f"{site.base}/3")),
        }
        read = await read_site(site.base)
        assert sorted(read.locs) == [f"{site.base}/1", f"{site.base}/3"]
    assert {*read.codes} == {"content-encoding"}
    assert said in read.value("content-encoding")
    assert read.document("/b.xml").reason == "content-encoding"
