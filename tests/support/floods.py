"""Documents that are floods of one thing: they are made to take all memory or time of a reader.

`tests/cases/floods.toml` has them as tables: bombs, which come piece by piece as they are fetched,
and shapes of markup, of any size. `python benchmarks/hostile_shapes.py` prints what a shape costs.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
import tomllib
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import brotli

from sitemapreader._read import SitemapReader
from sitemapreader._types.issues import Issue
from sitemapreader._types.options import Limits
from tests.support.package import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader._types.models import Event

KIB, MB = 1024, 1_000_000
CHUNK_BYTES = 65_536
"""As they come from the network."""
BLOCK_BYTES = 32 * KIB
"""What the costs of a shape are given for."""
SIZES = (32 * KIB, 128 * KIB)
LEAST_MS = 15.0
"""Less than this for 32 KiB is cheap: growth from there may be another way of reading (mending)."""
HOST = "https://www.example.org/"
LOCS = [f"{HOST}good/{number}" for number in range(1, 13)]
_TABLES: dict[str, Any] = tomllib.loads(
    (TESTS / "cases" / "floods.toml").read_text("utf-8")
)
_RECORDS = [f"<url><loc>{loc}</loc></url>\n" for loc in LOCS]
_PARTS = {
    **_TABLES["part"],
    "first_records": "".join(_RECORDS[:8]),
    "last_records": "".join(_RECORDS[8:]),
    "prefixes": "".join(f' xmlns:{"x" * 50}p{{n}}-{n:03}="u"' for n in range(180)),
    "few_prefixes": "".join(f' xmlns:{"x" * 50}p{{n}}-{n:03}="u"' for n in range(10)),
    "zeros": "0" * 5_000,
    "blanks": " " * 200,
    "letters": "x" * 250,
}
ROOT = _PARTS["root"].encode()
_GOOD_LOCS = {"all": LOCS, "first": LOCS[:8], "none": []}
KEPT = 20
"""Locs of records that are kept, besides the good ones."""


@attrs.frozen
class Flood:
    """One row of a table, whose head says what each field means; texts are bytes here."""

    name: str
    start: bytes
    unit: bytes
    end: bytes
    mb: float = 25
    pack: int = 0
    br: int = 0
    level: int = 9
    whole: bool = False
    good: str = "all"
    others: list[str] | int = attrs.field(factory=list)
    entries: int = Limits().entries
    inflated_bytes: int = Limits().inflated_bytes
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
                yield b"".join(
                    self.unit.replace(b"{n}", b"%06d" % number) for number in numbers
                )
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


def _fill_in(text: str) -> bytes:
    for name, part in _PARTS.items():  # what has parts in it comes first
        text = text.replace(f"{{{name}}}", part)
    return text.encode("latin-1")


def _make_bomb(
    before: str,
    unit: str,
    behind: str = "",
    start: str = "records",
    end: str = "",
    **row: Any,
) -> Flood:
    first, last = (
        _TABLES["start"][start] + before,
        behind + _TABLES["end"][end or start],
    )
    return Flood(start=_fill_in(first), unit=_fill_in(unit), end=_fill_in(last), **row)


def _make_shape(place: str, name: str, unit: str, **row: str) -> Flood:
    around: dict[str, str] = _TABLES["place"][place]
    kind, (before, behind) = (
        around["in"],
        (row.get(n, around.get(n, "")) for n in ("before", "behind")),
    )
    texts = (f"{{{kind}}}{{good}}{before}", unit, f"{behind}{{good}}{{end_of_{kind}}}")
    start, flood, end = (
        _fill_in(text.replace("{good}", f"{{good_{kind}}}")) for text in texts
    )
    return Flood(f"{place}: {name}", start, flood, end)


BOMBS = {row["name"]: _make_bomb(**row) for row in _TABLES["bomb"]}
SHAPES = [
    _make_shape(place, **row) for place in _TABLES["place"] for row in _TABLES[place]
]


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
    # what the first use caches is not the bomb's
    _read(_make_bomb("", " ", name="", mb=0.001))
    return _read(BOMBS[name])


def _read(bomb: Flood) -> Reading:
    limits = Limits(entries=bomb.entries, inflated_bytes=bomb.inflated_bytes)
    reader = SitemapReader(
        f"{HOST}sitemap.xml", limits=limits, codings=("br",) * bomb.br
    )
    reading, pieces = Reading(), bomb.make()
    start, before = _cpu_seconds(), _peak_mb()
    for piece in pieces:
        reading.take(reader.feed_steps(piece))
        if reader.finished:  # the rest is not made
            break
    reading.take(reader.close_steps())
    reading.seconds, reading.peak_mb = _cpu_seconds() - start, _peak_mb() - before
    stats = reader.stats
    reading.issues = frozenset(map(str, stats.counts))
    reading.is_sound = (stats.delivered, stats.records - stats.dropped) == (
        reading.count,
    ) * 2
    return reading


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak_mb() -> float:
    """Return the most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MB if sys.platform == "darwin" else 1000)


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
    small, large = (max(timing.milliseconds, LEAST_MS * slow) for timing in timings)
    return large / small
