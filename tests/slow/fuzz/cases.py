"""What the fuzzer reads: documents and robots.txt files, damaged by a seeded random generator."""

from __future__ import annotations

import gzip
from itertools import chain
from typing import TYPE_CHECKING

import attrs
import strategies

from sitemapreader.options import Limits
from sitemapreader.readers.decode.codings import DecompressionError, Decompressor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from random import Random

URL = "https://www.example.org/folder/sitemap.xml"
BLOCK_BYTES = 32_768
MAX_LONG_BYTES = 65_536
LIMITS = Limits(inflated_bytes=98_304)
"""The usual ones: damaged gzip data may inflate to anything, and time is bounded by its size."""
MAX_BLOCKS = 1_000
MAX_SEED_BYTES = 65_536

ROBOTS = (
    (
        b"User-agent: *\nDisallow: /private/\nAllow: /private/open$\nCrawl-delay: 2\n"
        b"Sitemap: https://www.example.org/sitemap.xml\n"
    ),
    (
        b"\xef\xbb\xbfuser-agent:a\nuser-agent:sitemapreader\ndisallow:/*.php$\n"
        b"\nSITEMAP: /relative.xml\n"
        b"Sitemap:https://www.example.org/a.xml#x\r\nSite-map: //cdn.example.net/b.xml\r"
    ),
    b"# nothing\n",
)
ROBOTS_SNIPPETS = (
    b"User-agent: *\n",
    b"User-agent:",
    b"Disallow: /",
    b"Allow: *$*$",
    b"Crawl-delay: 1e9\n",
    b"Crawl-delay: nan\n",
    b"Sitemap: http://[::1\n",
    b"Sitemap: ftp://x/\n",
    b"Sitemap: \xff\xfe\n",
    b"\xe2\x80\xa8Sitemap: https://evil.example/\n",
    b"\x0bSitemap: https://evil.example/\n",
    b"Request-rate: 1/0s\n",
    b"Visit-time: 0-0\n",
    b"%",
    b"*" * 50,
    b"$",
    b"#",
    b":",
    b"\r",
    b"\0",
    b"\xed\xa0\x80",
    b"<html>",
)


@attrs.frozen
class Case:
    """One input.

    Attributes:
        data: what is read.
        original: what it was before the last damage, or the same.
        limits: how much is read.
        block_bytes: in blocks of which size.
    """

    data: bytes
    original: bytes
    limits: Limits = LIMITS
    block_bytes: int = BLOCK_BYTES

    @property
    def has_limits(self) -> bool:
        """Whether limits are set that are smaller than the usual ones."""
        return self.limits is not LIMITS


def load_seeds(folder: Path | None) -> tuple[bytes, ...]:
    """Read the documents to begin with: the golden ones, and those of a folder."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()] if folder else []
    bodies = (file.read_bytes() for file in files if file.stat().st_size <= MAX_SEED_BYTES)
    small = (body for body in bodies if len(inflate(body)) <= MAX_SEED_BYTES)
    return strategies.bodies() + tuple(small)


def inflate(data: bytes) -> bytes:
    """Return what the bytes inflate to for certain, whatever follows."""
    decompressor = Decompressor(Limits(), [])
    inflated = bytearray()
    try:
        for piece in chain(decompressor.feed(data), decompressor.close()):
            inflated += piece
    except DecompressionError:
        pass
    return bytes(inflated)


class CaseMaker:
    """Makes one case after the other; the same seed makes the same ones."""

    def __init__(self, random: Random, seeds: Sequence[bytes]) -> None:
        self._random = random
        self._seeds = seeds

    def make_document(self) -> Case:
        """Damage a document: mostly a small one, with the default limits and blocks."""
        random = self._random
        original = random.choice(self._seeds)
        if random.random() < 0.01:
            original = self._lengthen(original)
        for _ in range(random.choice((0, 0, 0, 1, 2, 3))):
            original = strategies.mutate(random, original)
        data = strategies.mutate(random, original)
        limits = self._choose_limits() if random.random() < 0.1 else LIMITS
        small = random.choice((16, 64, 256, 1024))
        is_cut_small = random.random() < 0.2 and len(inflate(data)) < MAX_BLOCKS * small
        return Case(data, original, limits, small if is_cut_small else BLOCK_BYTES)

    def make_robots(self) -> bytes:
        """Damage a robots.txt."""
        random = self._random
        data = random.choice((*ROBOTS, *self._seeds[:50]))
        for _ in range(random.randint(1, 6)):
            if random.random() < 0.5:
                at = random.randint(0, len(data))
                times = random.choice((1, 1, 1, 2, 20, 200))
                data = data[:at] + random.choice(ROBOTS_SNIPPETS) * times + data[at:]
            else:
                data = strategies.mutate(random, data)
        return data

    def _lengthen(self, data: bytes) -> bytes:
        """Repeat the middle of a document until it fills several blocks; compress it at times."""
        if not data:
            return data
        start = self._random.randrange(len(data))
        end = self._random.randrange(start, len(data)) + 1
        times = MAX_LONG_BYTES // (end - start)
        data = data[:start] + data[start:end] * min(times, 5000) + data[end:]
        return gzip.compress(data, 1, mtime=0) if self._random.random() < 0.1 else data

    def _choose_limits(self) -> Limits:
        """Choose limits so small that they are reached."""
        ranges: dict[str, Callable[[], int]] = {
            name: lambda top=top: self._random.randint(1, top)  # type: ignore[misc]
            for name, top in SMALL_LIMITS.items()
        }
        chosen = self._random.sample(sorted(ranges), self._random.randint(1, 3))
        return attrs.evolve(LIMITS, **{name: ranges[name]() for name in chosen})


SMALL_LIMITS = {
    "inflated_bytes": 2000,
    "entries": 5,
    "gzip_members": 2,
    "record_bytes": 500,
    "record_elements": 8,
    "record_depth": 4,
    "attributes": 3,
    "field_chars": 60,
}
