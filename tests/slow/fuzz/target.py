"""A fuzzer of our own: damages documents, reads them, and checks what must hold for all of them.

`python tests/slow/fuzz/target.py --seconds 60 --seed 1` or `--count N`; `--seeds DIR` adds a folder
of documents to the golden ones. An input that fails is made as small as it can be, and written to
`--failures DIR`. The exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import hashlib
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path[:0] = [
    str(Path(__file__).parent),
    str(Path(__file__).parents[2] / "support"),
]  # run as a script

import attrs
import properties
from cases import Case, CaseMaker, load_seeds

from sitemapreader.readers.reader import BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_MS = 250.0
"""The longest that one input may take, of the processor's time."""
TRIES = 5
"""Times that an input is read again that took longer, as it is outside of this fuzzer: small blocks
and other work on the machine only add to it."""
MAX_GROWTH_MB = 10.0
WARM_UP = 10_000
"""Inputs before memory is looked at for the first time."""
ROBOTS_SHARE = 0.1
BORDERS_SHARE, WAYS_SHARE = 0.1, 0.2
"""Inputs that are read again in other pieces, and in the slower ways."""
MAX_FAILURES = 20
MAX_TRIALS = 400
MAX_TRIAL_SECONDS = 10.0
"""Inputs, and time, that are tried to make a failing one smaller."""


@attrs.define
class Figures:
    """What a run has come to."""

    inputs: int = 0
    bytes: int = 0
    entries: int = 0
    seconds: float = 0.0
    worst_ms: float = 0.0
    growth_mb: float = 0.0
    failures: list[str] = attrs.field(factory=list)

    def __str__(self) -> str:
        return (
            f"{self.inputs:,} inputs, {self.bytes / 1e6:,.0f} MB, {self.entries:,} entries: "
            f"{self.inputs / max(self.seconds, 1e-9):,.0f} inputs/s, "
            f"worst {self.worst_ms:.0f} ms, memory {self.growth_mb:+.1f} MB, "
            f"{len(self.failures)} failures"
        )


class Fuzzer:
    """Makes inputs and checks them; the same seed makes the same ones."""

    def __init__(
        self,
        seed: int,
        seeds: tuple[bytes, ...],
        failures: Path | None = None,
        max_ms: float = MAX_MS,
        ways_share: float = WAYS_SHARE,
    ) -> None:
        self.figures = Figures()
        self._max_ms = max_ms
        self._ways_share = ways_share
        self._seed = seed
        self._random = Random(seed)
        self._maker = CaseMaker(self._random, seeds)
        self._failures = failures

    def run(self, *, seconds: float = float("inf"), count: float = float("inf")) -> Figures:
        """Check inputs until the time or the count is up, or too many have failed."""
        figures = self.figures
        start = time.monotonic()
        base_mb = 0.0
        with properties.jail_closed():
            while figures.seconds < seconds and figures.inputs < count:
                self.step()
                figures.inputs += 1
                figures.seconds = time.monotonic() - start
                if figures.inputs == WARM_UP:
                    base_mb = memory_mb()
                if len(figures.failures) >= MAX_FAILURES:
                    break
            figures.growth_mb = memory_mb() - (base_mb or memory_mb())
        return figures

    def step(self) -> None:
        """Make one input and check it."""
        if self._random.random() < ROBOTS_SHARE:
            data = self._maker.make_robots()
            self._check(data, self._robots_faults)
        else:
            case = self._maker.make_document()
            choice = self._random.random()

            def faults(data: bytes) -> Iterator[str]:
                return self._document_faults(attrs.evolve(case, data=data), choice)

            self._check(case.data, faults)

    # -- one input

    def _check(self, data: bytes, faults: Callable[[bytes], Iterator[str]]) -> None:
        self.figures.bytes += len(data)
        found = first_fault(data, faults)
        if found is None:
            return
        small = minimise(data, found, faults)
        again = first_fault(small, faults) or found
        self.figures.failures.append(f"input {self.figures.inputs} of seed {self._seed}: {again}")
        if self._failures:
            self._failures.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(small).hexdigest()[:12]
            (self._failures / name).write_bytes(small)
            (self._failures / f"{name}.txt").write_text(f"{again}\n", encoding="utf-8")

    def _document_faults(self, case: Case, choice: float) -> Iterator[str]:
        """Check the laws; which of the dear ones, the choice decides."""
        reading, took_ms = timed(lambda: properties.read(case))
        usual = attrs.evolve(case, block_bytes=BLOCK_BYTES)
        for _ in range(TRIES):
            if took_ms > self._max_ms:  # by itself, or for the small blocks or the machine's load?
                took_ms = min(took_ms, timed(lambda: properties.read(usual))[1])
        self.figures.worst_ms = max(self.figures.worst_ms, took_ms)
        self.figures.entries += len(reading.entries)
        if took_ms > self._max_ms:
            yield f"took {took_ms:.0f} ms"
        yield from properties.keeps_its_counts(reading)
        yield from properties.invents_nothing(case, reading)
        if not case.has_limits:
            yield from properties.keeps_what_came_before(case, reading)
            yield from properties.says_what_is_broken(case, reading)
        if choice < BORDERS_SHARE:
            yield from properties.knows_no_borders(case, reading, Random(choice))
        elif not case.has_limits and choice < BORDERS_SHARE + self._ways_share:
            yield from properties.reads_alike(case, reading)

    def _robots_faults(self, data: bytes) -> Iterator[str]:
        start = time.thread_time()
        yield from properties.bounds_robots(data)
        took_ms = (time.thread_time() - start) * 1000
        self.figures.worst_ms = max(self.figures.worst_ms, took_ms)
        if took_ms > self._max_ms:
            yield f"robots.txt took {took_ms:.0f} ms"


def timed(read: Callable[[], properties.Reading]) -> tuple[properties.Reading, float]:
    """Return a reading, and what it took of the processor's time in milliseconds."""
    start = time.thread_time()
    reading = read()
    return reading, (time.thread_time() - start) * 1000


def first_fault(data: bytes, faults: Callable[[bytes], Iterator[str]]) -> str | None:
    """Return the first thing that is wrong, an exception included."""
    try:
        return next(faults(data), None)
    except Exception as error:  # none may come, whatever it is
        return f"raised {error!r}"


def minimise(data: bytes, fault: str, faults: Callable[[bytes], Iterator[str]]) -> bytes:
    """Take slices away, ever smaller ones, as long as the same thing is wrong."""
    kind = fault[:12]
    size = len(data) // 2
    trials = 0
    end = time.monotonic() + MAX_TRIAL_SECONDS
    while size and trials < MAX_TRIALS:
        at = 0
        while at < len(data) and trials < MAX_TRIALS and time.monotonic() < end:
            trials += 1
            smaller = data[:at] + data[at + size :]
            if (first_fault(smaller, faults) or "")[:12] == kind:
                data = smaller
            else:
                at += size
        size //= 2
    return data


def memory_mb() -> float:
    """Return the memory that the process has in use, in MB; 0 where that cannot be told.

    Readings that the fuzzer keeps itself, to compare others with, are let go of first; and what is
    free, but kept by glibc for the next time, is not in use.
    """
    properties.read_undamaged.cache_clear()
    gc.collect()
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


def main() -> int:
    """Run as the command line says, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--count", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=Path, help="a folder of documents to damage as well")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--max-ms", type=float, default=MAX_MS, help="for one input")
    parser.add_argument(
        "--ways", type=float, default=WAYS_SHARE, help="share of inputs read without patterns too"
    )
    options = parser.parse_args()
    if options.seconds == options.count:
        parser.error("give --seconds or --count")
    seeds = load_seeds(options.seeds)
    fuzzer = Fuzzer(options.seed, seeds, options.failures, options.max_ms, options.ways)
    figures = fuzzer.run(seconds=options.seconds, count=options.count)
    print(figures)
    for failure in figures.failures:
        print(failure)
    return 1 if figures.failures or figures.growth_mb > MAX_GROWTH_MB else 0


if __name__ == "__main__":
    sys.exit(main())
