"""Documents that are floods of one thing: they are made to take all memory or time of a reader.

`tests/cases/floods.toml` has them as tables: bombs, which come piece by piece as they are fetched,
and shapes of markup, of any size. `python benchmarks/hostile_shapes.py` prints what a shape costs.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import sys
import time
import tomllib
import zlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import brotli

from sitemapreader.issues import Issue
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader.models import Event

KIB, MB = 1024, 1_000_000
CHUNK_BYTES = 65_536
"""As they come from the network."""
BLOCK_BYTES = 32 * KIB
"""What the costs of a shape are given for."""
SIZES = (16 * KIB, 64 * KIB, 256 * KIB)
LEAST_MS = 20.0
"""Less than this for 64 KiB is cheap: growth from there may be another way of reading (mending)."""
HOST = "https://www.example.org/"
LOCS = [f"{HOST}good/{number}" for number in range(1, 13)]
ROOT = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_RECORDS = [f"<url><loc>{loc}</loc></url>\n".encode() for loc in LOCS]
URLSET = (
    b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    b' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    b' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    b' xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:x="urn:x">'
)
RSS = b'<rss xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:x="urn:x"><channel>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="urn:x">'
ENDS = {URLSET: b"</urlset>", RSS: b"</channel></rss>", ATOM: b"</feed>"}
GOOD = {
    URLSET: b"<url><loc>https://www.example.com/good</loc><lastmod>2024-01-02</lastmod></url>",
    RSS: b"<item><link>https://www.example.com/good</link></item>",
    ATOM: b'<entry><link href="https://www.example.com/good"/></entry>',
}
STARTS = {
    "records": b'<?xml version="1.0" encoding="UTF-8"?>\n' + ROOT + b"".join(_RECORDS[:8]),
    "document": b"",
    "none": b"",
}
BOMB_ENDS = {
    "records": b"".join(_RECORDS[8:]) + b"</urlset>\n",
    "document": ROOT + b"".join(_RECORDS) + b"</urlset>\n",
    "none": b"",
}
_GOOD_LOCS = {"all": LOCS, "first": LOCS[:8], "none": []}
LOC = b"<loc>https://www.example.com/1</loc>"
PREFIXES = b"".join(b' xmlns:%sp{n}-%03d="u"' % (b"x" * 50, number) for number in range(180))
PLACES = {
    "loc": (URLSET, b"<url><loc>https://www.example.com/", b"</loc></url>"),
    "record": (URLSET, b"<url>" + LOC, b"</url>"),
    "tag": (URLSET, b"<url ", b">" + LOC + b"</url>"),
    "records": (URLSET, b"", b""),
    "rss": (RSS, b"", b""),
    "atom": (ATOM, b"", b""),
}
"""What shapes flood: the root; what stands before and behind the flood if they do not say it."""
KEPT = 20
"""Locs of records that are kept, besides the good ones."""


@attrs.frozen
class Flood:
    """One row of a table, whose head says what each field means; texts are bytes here."""

    name: str
    start: bytes
    unit: bytes
    end: bytes
    mb: float = 50
    pack: int = 0
    br: int = 0
    level: int = 9
    whole: bool = False
    good: str = "all"
    others: list[str] | int = attrs.field(factory=list)
    entries: int = Limits().entries
    issues: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)

    def make(self) -> Iterable[bytes]:
        """Make the document, piece by piece."""
        pieces: Iterable[bytes] = chain(
            [self.start], self._repeat(int(self.mb * MB), CHUNK_BYTES), [self.end]
        )
        for _ in range(self.pack):
            pieces = _pack(pieces, self.level)
        for _ in range(self.br):
            pieces = _pack_as_br(pieces)
        return [b"".join(pieces)] if self.whole else pieces

    def write(self, size: int) -> bytes:
        """Make a document of about so many bytes."""
        return b"".join([self.start, *self._repeat(size, size), self.end])

    def _repeat(self, size: int, piece: int) -> Iterator[bytes]:
        width = len(self.unit.replace(b"{n}", b"%06d" % 0))
        count, at_once = max(1, size // width), max(1, piece // width)
        for first in range(0, count, at_once):
            numbers = range(first, min(count, first + at_once))
            if b"{n}" in self.unit:
                yield b"".join(self.unit.replace(b"{n}", b"%06d" % number) for number in numbers)
            else:
                yield self.unit * len(numbers)


def _pack(pieces: Iterable[bytes], level: int) -> Iterator[bytes]:
    packer = zlib.compressobj(level, wbits=31)
    yield from filter(None, map(packer.compress, pieces))
    yield packer.flush()


def _pack_as_br(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = brotli.Compressor(quality=5)
    yield from filter(None, map(packer.process, pieces))
    yield packer.finish()


def _make_bomb(
    before: str, unit: str, behind: str = "", start: str = "records", end: str = "", **row: Any
) -> Flood:
    texts = (text.encode("latin-1") for text in (before, unit, behind))
    before_bytes, unit_bytes, behind_bytes = texts
    return Flood(
        start=STARTS[start] + before_bytes,
        unit=unit_bytes,
        end=behind_bytes + BOMB_ENDS[end or start],
        **row,
    )


def _make_shape(
    place: str, name: str, unit: str, before: str | None = None, behind: str | None = None
) -> Flood:
    root, *around = PLACES[place]
    for number, text in enumerate((before, behind)):
        around[number] = around[number] if text is None else _fill_in(text, root)
    start, end = root + GOOD[root] + around[0], around[1] + GOOD[root] + ENDS[root]
    return Flood(f"{place}: {name}", start, _fill_in(unit, root), end)


def _fill_in(text: str, root: bytes) -> bytes:
    parts = {"good": GOOD[root], "loc": LOC, "prefixes": PREFIXES, "few_prefixes": PREFIXES[:720]}
    written = text.encode("latin-1")
    for name, part in (parts | {"zeros": b"0" * 5_000, "blanks": b" " * 200}).items():
        written = written.replace(b"{%b}" % name.encode(), part)
    return written


_TABLES = tomllib.loads(
    (Path(__file__).parents[1] / "cases/floods.toml").read_text(encoding="utf-8")
)
BOMBS = {row["name"]: _make_bomb(**row) for row in _TABLES["bomb"]}
SHAPES = [_make_shape(place, **row) for place in PLACES for row in _TABLES[place]]


@attrs.define
class Reading:
    """What came out of a bomb, and what it took.

    Attributes:
        count: how many records were delivered.
        good: the good ones among them, in their order.
        others: the locs of others, the first of them.
        issues: the codes of all Issues.
        is_sound: records = delivered + dropped, and as many were delivered as were counted.
        seconds: of the processor, with what a process that salvages a feed has used.
        gap_seconds: the longest time, of the processor, between two steps.
        peak_mb: the most memory in use while reading, above what was in use before.
    """

    count: int = 0
    good: list[str] = attrs.field(factory=list)
    others: list[str] = attrs.field(factory=list)
    issues: frozenset[str] = frozenset()
    is_sound: bool = True
    seconds: float = 0.0
    gap_seconds: float = 0.0
    peak_mb: float = 0.0

    def take(self, steps: Iterator[Iterable[Event]]) -> None:
        """Take the events of some steps, and note the longest of these."""
        start = time.thread_time()
        for events in steps:
            self.gap_seconds = max(self.gap_seconds, time.thread_time() - start)
            for event in events:
                if not isinstance(event, Issue):
                    self._note(event.loc)
            start = time.thread_time()
        self.gap_seconds = max(self.gap_seconds, time.thread_time() - start)

    def _note(self, loc: str) -> None:
        self.count += 1
        if loc.startswith(f"{HOST}good/"):
            self.good.append(loc)
        elif len(self.others) < KEPT:
            self.others.append(loc)

    def judge(self, bomb: Flood) -> list[Any]:
        """List what came out otherwise than the table says."""
        good, others = _GOOD_LOCS[bomb.good], bomb.others
        pairs: list[tuple[Any, Any]] = [(self.issues, bomb.issues), (self.good, good)]
        pairs += [(self.is_sound, True)]
        if isinstance(others, int):
            pairs += [(self.count >= len(good) + others, True)]
        else:
            pairs += [(self.others, others), (self.count, len(good) + len(others))]
        return [(found, expected) for found, expected in pairs if found != expected]


def read_bomb(name: str) -> Reading:
    """Read a bomb as an event loop would; best in a process of its own, for its memory."""
    _read(_make_bomb("", " ", name="", mb=0.001))  # what the first use caches is not the bomb's
    return _read(BOMBS[name])


def _read(bomb: Flood) -> Reading:
    reader = SitemapReader(
        f"{HOST}sitemap.xml", limits=Limits(entries=bomb.entries), codings=("br",) * bomb.br
    )
    reading, pieces = Reading(), bomb.make()
    start, before = _cpu_seconds(), _reset_peak_mb()
    for piece in pieces:
        reading.take(reader.feed_steps(piece))
        if reader.finished:  # the rest is not made
            break
    reading.take(reader.close_steps())
    reading.seconds, reading.peak_mb = _cpu_seconds() - start, _peak_mb() - before
    stats = reader.stats
    reading.issues = frozenset(map(str, stats.counts))
    reading.is_sound = (stats.delivered, stats.records - stats.dropped) == (reading.count,) * 2
    return reading


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _reset_peak_mb() -> float:
    """Forget the most memory that this process has had, where the system can; return it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak_mb()


def _peak_mb() -> float:
    """Return the most memory that this process has had, in MB."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:  # not Linux
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (MB if sys.platform == "darwin" else 1000)
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / MB


class Timing(NamedTuple):
    """What reading a document took: CPU milliseconds in all, and of the longest step."""

    milliseconds: float
    longest_step: float


def read_once(data: bytes) -> Timing:
    """Read a document in chunks, step by step."""
    reader, reading = SitemapReader("https://www.example.com/sitemap.xml"), Reading()
    start = time.thread_time()
    for at in range(0, len(data), BLOCK_BYTES):
        reading.take(reader.feed_steps(data[at : at + BLOCK_BYTES]))
    reading.take(reader.close_steps())
    return Timing((time.thread_time() - start) * 1000, reading.gap_seconds * 1000)


def measure(shape: Flood) -> list[Timing]:
    """Read a shape in each size."""
    timings = []
    for size in SIZES:
        data = shape.write(size)
        gc.collect()
        timings.append(read_once(data))
    return timings


def per_block(timings: list[Timing]) -> float:
    """Return the milliseconds that the costliest size takes for a block."""
    pairs = zip(timings, SIZES, strict=True)
    return max(timing.milliseconds * BLOCK_BYTES / size for timing, size in pairs)


def growth(timings: list[Timing], slow: float = 1.0) -> float:
    """Return how many times longer four times the size takes: 4 if time is linear, 16 if square.

    Args:
        timings: of sizes that follow each other.
        slow: how many times slower the machine is than the one `LEAST_MS` is written for.
    """
    *_, middle, large = (max(timing.milliseconds, LEAST_MS * slow) for timing in timings)
    return large / middle
