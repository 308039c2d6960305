"""No document can hurt or fool a reader: the threats of docs/threats.md, input by input.

What is small is a golden document (testdata/hostile and others), with its events beside it.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor

import pytest

from sitemapreader._read import SitemapReader
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Format
from sitemapreader._types.options import Limits
from tests.support import floods, golden, package
from tests.support.reading import check_ways, issues, read, read_with, urlset
from tests.support.timing import is_below, is_within

MAX_PEAK_MB = 40.0
MAX_SECONDS = 4.0
MAX_GAP_SECONDS = 0.15
"""An event loop is held up for 50 ms at most (benchmarks/hostile.py); the rest is the machine."""


@pytest.mark.slow
@pytest.mark.parametrize("name", floods.BOMBS)
def test_bomb(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is good comes out, what is bad has its Issue, and no time or memory runs away."""
    context = multiprocessing.get_context("forkserver")
    monkeypatch.setenv("PYTHONPATH", str(package.ROOT))  # each has it from there
    context.set_forkserver_preload(["brotli", "tests.support.floods"])

    def longest_step() -> float:
        with ProcessPoolExecutor(1, context) as process:
            reading = process.submit(floods.read_bomb, name).result()
        assert reading.judge(floods.BOMBS[name]) == []
        assert reading.peak_mb < MAX_PEAK_MB
        assert is_within(reading.seconds, MAX_SECONDS)
        return reading.gap_seconds

    assert is_below(MAX_GAP_SECONDS, longest_step)


def test_nothing_is_opened() -> None:
    """No document makes a reader open a file, a connection or a process."""
    seen: list[str] = []
    is_watching = False
    watched = {
        "open",
        "os.open",
        "socket.connect",
        "socket.getaddrinfo",
        "subprocess.Popen",
    }
    # feedparser reads the worst of them, in its own process
    feeds = {
        Format.RSS,
        Format.ATOM,
    }
    documents = [
        each
        for each in golden.documents()
        if golden.known_reading(each).format not in feeds
    ]
    bodies = {document: document.read_bytes() for document in documents}

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if is_watching and event in watched:
            seen.append(f"{event} {arguments[:1]}")

    sys.addaudithook(watch)
    is_watching = True  # what is imported, once, was needed above
    for document, body in bodies.items():
        golden.read_pieces([body], golden.url_of(document), golden.limits_of(document))
    is_watching = False
    assert seen == []


def test_documents_leave_nothing_behind() -> None:
    """What caches keep of hostile documents does not grow with their number, nor their size."""

    def read(number: int) -> None:
        uri = f"http://www.sitemaps.org/schemas/sitemap-image/{number}".ljust(
            60_000, "x"
        )
        loc = f"{floods.HOST}{number}".ljust(60_000, "x")
        image = f'<i:image xmlns:i="{uri}"><i:loc>{loc}</i:loc><n{number}/></i:image>'
        record = f"<url><loc>{loc}</loc>{image}</url></urlset>".encode()
        reader = SitemapReader(f"{floods.HOST}{number}")
        reader.feed(
            floods.ROOT.replace(b"<urlset", f'<urlset xmlns:r="{uri}r"'.encode())
            + record
        )
        reader.close()

    read(0)
    tracemalloc.start()
    try:
        for number in range(1, 31):  # one that is kept is 60 KB at least
            read(number)
        gc.collect()
        left_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left_bytes < floods.MB


LIMITS = {
    "entries": (IssueCode.TOO_LARGE, b"", 3),
    "inflated_bytes": (IssueCode.TOO_LARGE, b"<x/>", 0),
    "record_elements": (IssueCode.TOO_MANY_ELEMENTS, b"<x/><x>a</x>", 5),
    "record_depth": (IssueCode.TOO_DEEP, b"<x><x><x>a</x></x></x>", 4),
    "attributes": (IssueCode.TOO_MANY_ATTRIBUTES, b"<x a='1' b='2' c='3'/>", 3),
    "field_chars": (IssueCode.FIELD_TOO_LONG, b"", 12),
}
"""Limit -> its Issue, what stands in a record, and the number in three of them; 0 for all bytes."""


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("odd", [b"", b"<x>&</x>", b"<!-- -->", b"<x a='<'/>"])
def test_just_enough_is_enough(name: str, odd: bytes) -> None:
    """What has exactly the limit is whole, however it is read; with one less its Issue is there."""
    code, part, number = LIMITS[name]
    number += (name == "record_elements") * odd.startswith(b"<x>")
    picture = b"<image:image><image:loc>/i.png</image:loc></image:image>"
    record = b"<url><loc>https://a.b/</loc>%s%s%s</url>" % (picture, part, odd)
    document = urlset(record * 3)
    number = number or len(document)
    whole = check_ways(document)
    assert read(document, **{name: number}) == whole
    assert code not in issues(whole)
    assert code in issues(read(document, **{name: number - 1}))


def test_the_limit_of_entries_is_exact() -> None:
    """Good records come out up to the limit, those that are dropped are read up to it."""
    good = [f"<url><loc>{loc}</loc></url>".encode() for loc in floods.LOCS]
    mixed = golden.read_pieces(
        [floods.ROOT + b"<url/>".join(good) + b"</urlset>"], limits=Limits(entries=5)
    )
    assert mixed.locs == floods.LOCS[:5]
    assert mixed.records == mixed.delivered + mixed.dropped
    empty = golden.read_pieces(
        [floods.ROOT + b"<url/>" * 10_000], limits=Limits(entries=50)
    )
    assert empty.counts[IssueCode.TOO_LARGE] == 1
    assert empty.dropped < 10_000


def test_the_protocol_s_limit_is_said_at_the_end() -> None:
    """The Issue is the last of all, however fast the document was read."""
    with read_with(PROTOCOL_MAX_ENTRIES=5_000):
        events = check_ways(urlset(b"<url><loc>http://a/</loc></url>" * 5_600))
    assert issues(events[-1:]) == [IssueCode.OVER_PROTOCOL_LIMIT]
