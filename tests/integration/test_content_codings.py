"""Bodies in br are read where a library is there, what cannot be read is named; no bombs."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest
from answering import Answer, make_index, make_urlset, read_site, serve_site
from each_case import for_each
from reading import urlset
from timing import is_below

from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.issues import IssueCode
from sitemapreader.models import UrlEntry
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader, read
from sitemapreader.readers.decode.decoders import DecompressionError
from sitemapreader.readers.decode.layers import Decompressor, read_codings

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRY = b"<url><loc>https://a.example/%d</loc></url>\n"
XML = b'<?xml version="1.0"?>\n' + urlset(b"".join(ENTRY % (7_919 * n) for n in range(3_000)))
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
MIB = 1024 * 1024


def to_br(data: bytes) -> bytes:
    # the best quality, 11, takes a tenth of a second
    compressed: bytes = brotli.compress(data, quality=5)
    return compressed


ZSTD = bytes.fromhex("28b52ffd0458b10000") + b"https://a.example/1\n<>" + bytes(4)
"""A frame of one block, as it is stored."""
ENCODED: dict[str, tuple[tuple[str, ...], bytes]] = {
    "br": (("br",), brotli.compress(XML, quality=9)),
    "br, quick": (("br",), brotli.compress(XML, quality=0)),
    "br, smallest window": (("br",), brotli.compress(XML, quality=5, lgwin=10)),
    "br without header": ((), to_br(XML)),
    "gzip, br": (("br", "gzip"), to_br(gzip.compress(XML))),
    "br, gzip": (("gzip", "br"), gzip.compress(to_br(XML))),
    "listed in the wrong order": (("br", "gzip"), gzip.compress(to_br(XML))),
    "a .gz file in br": (("br",), to_br(gzip.compress(XML))),
    "br, br": (("br", "br"), to_br(to_br(XML))),
    "gzip said to be br": (("br",), gzip.compress(XML)),
    "br said to be br and gzip": (("gzip", "br"), to_br(XML)),
    "zlib said to be br": (("br",), zlib.compress(XML)),
    "plain said to be br": (("br",), XML),
    "plain said to be zstd": (("zstd",), XML),
    "plain said to be gzip": (("gzip",), XML),
    "UTF-16 said to be br": (("br",), XML.decode().encode("utf-16")),
    "an unknown word": (("utf-8",), XML),
    "gzip under an unknown word": (("pack200-gzip",), gzip.compress(XML)),
}


def decode(data: bytes, codings: tuple[str, ...], size: int = 65_536) -> tuple[bytes, str]:
    """Return what comes out, and the code of what ended it too early, or of a wrong checksum."""
    notes: list[IssueCode] = []
    decompressor, out = Decompressor(Limits(), notes, codings=codings), bytearray()
    try:
        for start in range(0, len(data), size):
            for piece in decompressor.feed(data[start : start + size]):
                out += piece
        for piece in decompressor.close():
            out += piece
    except DecompressionError as error:
        return bytes(out), str(error.code)
    return bytes(out), str(
        IssueCode.COMPRESSION_CHECKSUM if IssueCode.COMPRESSION_CHECKSUM in notes else ""
    )


@for_each("name", ENCODED)
@for_each("size", [1, 777, 65_536])
def test_every_coding_is_taken_off(name: str, size: int) -> None:
    """The plain bytes come out, whatever the header says and however the body is cut."""
    codings, data = ENCODED[name]
    plain = XML.decode().encode("utf-16") if "UTF-16" in name else XML
    assert decode(data, codings, size) == (plain, "")


@for_each("name", ENCODED)
def test_every_coding_gives_the_entries(name: str) -> None:
    """A reader gives every URL, and says where a header was wrong."""
    codings, data = ENCODED[name]
    reader = SitemapReader("https://a.example/sitemap.xml", codings=codings)
    events = reader.feed(data) + reader.close()
    assert sum(isinstance(event, UrlEntry) for event in events) == 3_000
    is_wrong = bool(reader.stats.counts[IssueCode.WRONG_CONTENT_ENCODING])
    is_plain = ("said to be br", "said to be zstd", "unknown word")
    assert is_wrong == (name.endswith(is_plain))


@for_each(
    "text",
    [
        ROBOTS,
        b"# R\xc3\xa8gles\nSitemap: https://a.example/s.xml\n",
        b"# R\xe8gles\nUser-agent: *\nDisallow: /caf\xe9\n",
        b"https://a.example/1\n",
        "https://a.example/файл\n".encode() * 40,
        b"x",
    ],
)
@for_each("coding", ["br", "zstd", "compress", "gzip"])
def test_text_under_a_wrong_header_is_text(text: bytes, coding: str) -> None:
    """Text that is said to be compressed is given as it is, in whatever encoding."""
    assert decode(text, (coding,)) == (text, "")


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("compress", b"\x1f\x9d\x90" + bytes(range(200))),
        ("br", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200)),
        ("zstd", bytes(range(256))),
        ("zstd", ZSTD),
        ("exi", b"\x80\x01\x02\x03" * 50),
        ("gzip", b"\0\0\0\0" * 50),
    ],
)
def test_what_cannot_be_decoded_is_named(coding: str, data: bytes) -> None:
    """Binary data that no layer is found in is `content-encoding`, with the coding's name."""
    reader = SitemapReader("https://a.example/sitemap.xml", codings=(coding,))
    (issue,) = reader.feed(data) + reader.close()
    assert (getattr(issue, "code", ""), getattr(issue, "value", "")) == ("content-encoding", coding)


@pytest.mark.parametrize("name", ["br", "br, br"])
def test_a_truncated_body_gives_what_was_decoded(name: str) -> None:
    """At any cut there comes a prefix, a longer one the later the cut, and an Issue."""
    codings, data = ENCODED[name]
    longest = 0
    for end in range(len(data) // 10, len(data), len(data) // 17):
        plain, code = decode(data[:end], codings)
        assert XML.startswith(plain)
        assert longest <= len(plain)
        assert code == "compression-truncated"
        longest = len(plain)
    assert longest > len(XML) // 2


def test_a_truncated_body_delivers_its_entries() -> None:
    """The records that are whole in it are delivered, and behind them comes an Issue."""
    data = ENCODED["br"][1]
    events = list(SitemapReader("https://a.example/s.xml", codings=("br",)).feed(data[:-400]))
    assert len(events) > 500
    reader = SitemapReader("https://a.example/s.xml", codings=("br",))
    last = (reader.feed(data[:-400]) + reader.close())[-1]
    assert getattr(last, "code", "") == "compression-truncated"


def test_damage_ends_a_body_with_an_issue() -> None:
    """What comes before damage is given; nothing raises but DecompressionError."""
    codings, data = ENCODED["br"]
    for place in range(0, len(data), len(data) // 40):
        broken = bytearray(data)
        broken[place] ^= 0x55
        plain, code = decode(bytes(broken), codings)
        if place > len(data) // 2 and code == "compression-corrupt":
            assert XML[:20_000] == plain[:20_000]


@pytest.mark.parametrize("first", [brotli.compress, gzip.compress])
def test_three_layers_are_refused(first: Callable[[bytes], bytes]) -> None:
    """Two have a reason; the header does not add to them."""
    data = to_br(to_br(first(XML)))
    assert decode(data, ("br", "br", "br"))[1] == "compression-too-many-layers"


@for_each(
    "header, codings",
    [
        ("br", ("br",)),
        ("GZIP, Br", ("br", "gzip")),
        (" x-gzip ,identity", ("gzip",)),
        ("identity", ()),
        ("", ()),
        ("aws-chunked,br", ("br",)),
        (",,br;q=1", ()),
        ("br" * 30, ()),
        ("a,b,c,d,e,f", ("f", "e", "d", "c")),
        ("\x1b[31m", ()),
    ],
)
def test_the_header_is_read(header: str, codings: tuple[str, ...]) -> None:
    """Names in lower case, the outermost first, none that says nothing, no more than four."""
    assert read_codings({"content-encoding": header}) == codings


# -- over HTTP


async def test_a_site_in_a_coding_nobody_asked_for() -> None:
    """robots.txt is obeyed, its sitemap is read, and gzip is still all that is asked for."""
    asked = []

    async with serve_site() as site:
        headers = {"Content-Encoding": "br"}

        async def answer_robots(request: object) -> Answer:
            asked.append(getattr(request, "headers", {}).get("Accept-Encoding"))
            lines = f"Sitemap: {site.base}/index.xml\nUser-agent: *\nDisallow: /private/\n"
            return Answer(brotli.compress(lines.encode()), headers=headers)

        index = make_index(f"{site.base}/a.xml", f"{site.base}/private/b.xml")
        site.pages |= {
            "/robots.txt": answer_robots,
            "/index.xml": Answer(brotli.compress(index), headers=headers),
            "/a.xml": Answer(brotli.compress(make_urlset(f"{site.base}/1")), headers=headers),
        }
        read = await read_site(site.base)
        assert read.locs == [f"{site.base}/1"]
        assert asked == ["gzip"]
        assert "/private/b.xml" not in site.requested
    assert read.codes == {"robots-disallowed"}


@pytest.fixture
def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no library for br."""
    for name in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("no_libraries")
@pytest.mark.parametrize(
    ("coding", "body", "said"), [("br", to_br(XML), "extra `speedups`"), ("zstd", ZSTD, "zstd")]
)
async def test_a_coding_that_cannot_be_read_is_named(coding: str, body: bytes, said: str) -> None:
    """The child is lost by name; its neighbours are read."""
    async with serve_site() as site:
        index = make_index(*(f"{site.base}/{name}.xml" for name in "abc"))
        site.pages |= {
            "/robots.txt": Answer(f"Sitemap: {site.base}/index.xml".encode()),
            "/index.xml": Answer(gzip.compress(index), headers={"Content-Encoding": "gzip"}),
            "/a.xml": Answer(make_urlset(f"{site.base}/1")),
            "/b.xml": Answer(body, headers={"Content-Encoding": coding}),
            "/c.xml": Answer(make_urlset(f"{site.base}/3")),
        }
        read = await read_site(site.base)
        assert sorted(read.locs) == [f"{site.base}/1", f"{site.base}/3"]
    assert read.codes == {"content-encoding"}
    assert said in read.value("content-encoding")
    assert read.document("/b.xml").reason == "content-encoding"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("br", brotli.compress(ROBOTS)),
        ("zstd", ZSTD),
        ("compress", b"\x1f\x9d\x90" + bytes(range(100))),
    ],
)
async def test_a_robots_txt_that_cannot_be_decoded_is_unreachable(
    coding: str, body: bytes, no_libraries: None
) -> None:
    """Nothing that nobody named is fetched: rules that cannot be read are no absent ones."""
    del no_libraries
    async with serve_site(Answer(make_urlset("https://a.example/1"))) as site:
        site.pages["/robots.txt"] = Answer(body, headers={"Content-Encoding": coding})
        site.pages["/"] = Answer(b"<html></html>")
        read = await read_site(site.base)
        assert set(site.requested) == {"/robots.txt", "/"}
    assert read.locs == []
    assert {"robots-unreachable", "no-sitemap"} <= read.codes
    assert "content-encoding" in read.value("robots-unreachable")


async def test_memory_and_files_are_read_alike() -> None:
    """What a fetcher of one's own hands over with its headers, and a file without any, is read."""
    sitemap = "https://a.example/s.xml"
    stored = StoredResponse(sitemap, brotli.compress(XML), headers={"content-encoding": "br"})
    decoded = StoredResponse(sitemap, XML, headers={"content-encoding": "br"})
    for page in (stored, decoded, brotli.compress(XML)):
        read_one = await read_site(None, sitemaps=[sitemap], fetcher=MemoryFetcher({sitemap: page}))
        assert len(read_one.locs) == 3_000
    file = io.BytesIO(brotli.compress(XML))
    assert sum(isinstance(each, UrlEntry) for each in read(file)) == 3_000


# -- bombs

BOMB_SCRIPT = """
import json, sys, time
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader
codings, data = tuple(sys.argv[1].split(",")), sys.stdin.buffer.read()
import brotli
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024
SitemapReader("https://a.example/", codings=("br",)).feed(brotli.compress(b"<urlset>" * 99))
before, gap, steps = peak(), 0.0, 0
reader = SitemapReader("https://a.example/", codings=codings)
events, start = [], time.thread_time()
for place in range(0, len(data), 65536):
    for batch in reader.feed_steps(data[place : place + 65536]):
        gap = max(gap, time.thread_time() - start)
        events += batch
        steps += 1
        start = time.thread_time()
for batch in reader.close_steps():
    steps += 1
    gap = max(gap, time.thread_time() - start)
    events += batch
    start = time.thread_time()
print(json.dumps({"mb": peak() - before, "gap": gap, "steps": steps,
                  "codes": [e.code for e in events if hasattr(e, "code")]}))
"""


def flood(size: int) -> bytes:
    return b"<urlset>" + b" " * size


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "br": ("br", lambda: brotli.compress(flood(300 * MIB), quality=5)),
    "br, largest window": ("br", lambda: brotli.compress(flood(300 * MIB), quality=5, lgwin=24)),
    "br in br": ("br,br", lambda: brotli.compress(brotli.compress(flood(300 * MIB), quality=5))),
    "gzip in br": ("br", lambda: brotli.compress(gzip.compress(flood(300 * MIB), 9))),
}


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="no /proc, which knows the peak of memory: run it on Linux"
)
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_little(name: str) -> None:
    """Less than 40 MB of memory, in steps of at most 44 ms where 300 MiB at once take seconds."""
    codings, make = BOMBS[name]
    bomb = make()

    def longest_step() -> float:
        done = subprocess.run(
            [sys.executable, "-c", BOMB_SCRIPT, codings],
            input=bomb,
            capture_output=True,
            check=True,
            timeout=600,
        )
        measured = json.loads(done.stdout)
        assert measured["mb"] < 40
        assert "too-large" in measured["codes"]
        return float(measured["gap"])

    assert is_below(0.2, longest_step)
