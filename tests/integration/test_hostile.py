"""No document can hurt or fool a reader: the threat list, input by input."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import badinputs
import bombs
import golden
import pytest
from each_case import for_each
from timing import is_below

from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader

MAX_PEAK_MB = 40.0
MAX_GAP_SECONDS = 0.2
"""An event loop is held up for 50 ms at most (benchmarks/hostile.py); the rest is the machine."""
SMALL_BYTES = 65_536

each_input = for_each("bad", badinputs.BAD_INPUTS, ids=lambda bad: bad.id)
each_bomb = pytest.mark.parametrize("bad", bombs.BOMBS, ids=lambda bad: bad.id)


def test_the_threats_are_all_there() -> None:
    """Each number of the list has an input, but 64, which is that all are fed byte by byte."""
    numbers = {bad.number for bad in bombs.ALL_INPUTS}
    labels = {83, 84, 85}  # names and headers, which no reader ever sees: rows of `web_http`
    assert numbers == {*range(1, 89), *range(152, 159)} - {64} - labels
    assert len({bad.id for bad in bombs.ALL_INPUTS}) == len(bombs.ALL_INPUTS)


@each_input
def test_bad_input(bad: badinputs.BadInput) -> None:
    """What is good comes out, what is bad has its Issue, and neither time nor memory runs away."""
    tracemalloc.start()
    try:
        reading = bombs.read(bad)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reading.judge(bad) == []
    assert peak_bytes / bombs.MB < MAX_PEAK_MB


@each_input
def test_bad_input_byte_by_byte(bad: badinputs.BadInput) -> None:
    """Fed one byte at a time, a bad input gives the same events."""
    data = b"".join(bad.make())
    if len(data) > SMALL_BYTES:
        data = data[:SMALL_BYTES]
    pieces = [data[at : at + 1] for at in range(len(data))]
    whole = golden.read_pieces([data], badinputs.URL, bad.limits)
    assert golden.read_pieces(pieces, badinputs.URL, bad.limits) == whole


@pytest.mark.slow
@each_bomb
def test_bomb(bad: badinputs.BadInput) -> None:
    """A bomb takes less than 40 MB, but for three, and never holds an event loop up for long."""

    def longest_step() -> float:
        reading = bombs.read_apart(bad)
        assert reading.judge(bad) == []
        assert reading.peak_mb < MAX_PEAK_MB
        return reading.gap_ms / 1000

    assert is_below(MAX_GAP_SECONDS, longest_step)


def test_nothing_is_opened() -> None:
    """No document makes a reader open a file, a connection or a process."""
    seen: list[str] = []
    is_watching = False
    watched = {"open", "os.open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen"}

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if is_watching and event in watched:
            seen.append(f"{event} {arguments[:1]}")

    sys.addaudithook(watch)
    for is_watching in (False, True):  # noqa: B007 (the hook looks at it; imports open files, once)
        for bad in badinputs.BAD_INPUTS:
            golden.read_pieces(bad.make(), badinputs.URL, bad.limits)
    is_watching = False
    assert seen == []


def test_documents_leave_nothing_behind() -> None:
    """What caches keep of hostile documents does not grow with their number, nor their size."""

    def read(number: int) -> None:
        uri = f"http://www.sitemaps.org/schemas/sitemap-image/{number}".ljust(60_000, "x")
        loc = f"{badinputs.ODD}{number}".ljust(60_000, "x")
        more = f'<i:image xmlns:i="{uri}"><i:loc>{loc}</i:loc><n{number}/></i:image>'
        body = badinputs.around(badinputs.record(loc, more))
        reader = SitemapReader(f"{badinputs.HOST}{number}")
        reader.feed(body.replace(b"<urlset", f'<urlset xmlns:r="{uri}r"'.encode()))
        reader.close()

    read(0)
    tracemalloc.start()
    try:
        for number in range(1, 101):
            read(number)
        gc.collect()
        left_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left_bytes < bombs.MB


def test_limits_count_what_is_dropped() -> None:
    """Records that are dropped are read up to the limit of entries, and no further."""
    limits = Limits(entries=50)
    body = badinputs.ROOT + b"<url/>" * 10_000 + badinputs.AFTER
    reading = golden.read_pieces([body], badinputs.URL, limits)
    assert reading.counts[IssueCode.TOO_LARGE] == 1
    assert reading.dropped < 10_000


def test_the_limit_of_entries_is_exact() -> None:
    """Of good records among bad, as many as the limit says come out, and the counts add up."""
    limits = Limits(entries=5)
    mixed = b"".join(good + b"<url/>" for good in badinputs.RECORDS)
    reading = golden.read_pieces([badinputs.ROOT + mixed + badinputs.END], badinputs.URL, limits)
    assert reading.locs == list(badinputs.GOOD[:5])
    assert reading.delivered == 5
    assert reading.records == reading.delivered + reading.dropped
