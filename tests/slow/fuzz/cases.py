"""What the fuzzer reads: documents, damaged by a seeded random generator."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.options import Limits
from tests.laws.witness import inflate
from tests.support import strategies

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

URL = "https://www.example.org/folder/sitemap.xml"
BLOCK_BYTES = 32_768
MAX_LONG_BYTES = 65_536
LIMITS = Limits(inflated_bytes=98_304)
"""The usual ones: damaged gzip data may inflate to anything, and time is bounded by its size."""
MAX_BLOCKS = 1_000


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


class CaseMaker:
    """Makes one case after the other; the same seed makes the same ones."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._seeds = strategies.bodies()

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
        small = random.choice((256, 512, 1024))
        is_cut_small = random.random() < 0.2 and len(inflate(data)) < MAX_BLOCKS * small
        return Case(data, original, limits, small if is_cut_small else BLOCK_BYTES)

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
        ranges: dict[str, Callable[[], Any]] = {
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
