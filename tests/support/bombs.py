"""Documents that are made to take all memory or time, and what reading one of them takes.

`tests/cases/bombs.toml` has them as a table; they are made piece by piece, as they are fetched.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
import tomllib
import zlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import brotli

from sitemapreader.issues import Issue
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader.models import Event

MB = 1_000_000
CHUNK_BYTES = 65_536
"""As they come from the network."""
HOST = "https://www.example.org/"
GOOD = [f"{HOST}good/{number}" for number in range(1, 13)]
ROOT = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_RECORDS = [f"<url><loc>{loc}</loc></url>\n".encode() for loc in GOOD]
_STARTS = {
    "records": b'<?xml version="1.0" encoding="UTF-8"?>\n' + ROOT + b"".join(_RECORDS[:8]),
    "document": b"",
    "none": b"",
}
_ENDS = {
    "records": b"".join(_RECORDS[8:]) + b"</urlset>\n",
    "document": ROOT + b"".join(_RECORDS) + b"</urlset>\n",
    "none": b"",
}
_GOOD = {"all": GOOD, "first": GOOD[:8], "none": []}
KEPT = 20
"""Locs of records that are kept, besides the good ones."""


def _encode(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


@attrs.frozen
class Bomb:
    """One row of the table, whose head says what each field means."""

    name: str
    before: bytes = attrs.field(converter=_encode)
    unit: bytes = attrs.field(converter=_encode)
    behind: bytes = attrs.field(default=b"", converter=_encode)
    start: str = "records"
    end: str = attrs.field(default=attrs.Factory(lambda bomb: str(bomb.start), takes_self=True))
    mb: float = 50
    numbered: int = 0
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
        start, end = _STARTS[self.start] + self.before, self.behind + _ENDS[self.end]
        pieces: Iterable[bytes] = chain([start], self._flood(), [end])
        for _ in range(self.pack):
            pieces = _pack(pieces, self.level)
        for _ in range(self.br):
            pieces = _pack_as_br(pieces)
        return [b"".join(pieces)] if self.whole else pieces

    def _flood(self) -> Iterator[bytes]:
        for thousand in range(self.numbered):
            numbers = range(thousand * 1000, thousand * 1000 + 1000)
            yield b"".join(self.unit % (number, number) for number in numbers)
        if not self.numbered:
            times = max(1, CHUNK_BYTES // len(self.unit))
            for _ in range(int(self.mb * MB) // (times * len(self.unit)) or 1):
                yield self.unit * times


def _pack(pieces: Iterable[bytes], level: int) -> Iterator[bytes]:
    packer = zlib.compressobj(level, wbits=31)
    yield from filter(None, map(packer.compress, pieces))
    yield packer.flush()


def _pack_as_br(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = brotli.Compressor(quality=5)
    yield from filter(None, map(packer.process, pieces))
    yield packer.finish()


BOMBS = {
    row["name"]: Bomb(**row)
    for row in tomllib.loads(
        (Path(__file__).parents[1] / "cases/bombs.toml").read_text(encoding="utf-8")
    )["bomb"]
}


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

    def take(self, steps: Iterator[list[Event]]) -> None:
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

    def judge(self, bomb: Bomb) -> list[Any]:
        """List what came out otherwise than the table says."""
        good, others = _GOOD[bomb.good], bomb.others
        pairs: list[tuple[Any, Any]] = [(self.issues, bomb.issues), (self.good, good)]
        pairs += [(self.is_sound, True)]
        if isinstance(others, int):
            pairs += [(self.count >= len(good) + others, True)]
        else:
            pairs += [(self.others, others), (self.count, len(good) + len(others))]
        return [(found, expected) for found, expected in pairs if found != expected]


def read_bomb(name: str) -> Reading:
    """Read a bomb as an event loop would; best in a process of its own, for its memory."""
    _read(Bomb("", "", " ", mb=0.001))  # what is imported or cached on first use is not the bomb's
    return _read(BOMBS[name])


def _read(bomb: Bomb) -> Reading:
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
