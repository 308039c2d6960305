"""A fuzzer of our own: damages documents, reads them, and checks what must hold for all of them.

`python tests/slow/fuzz/target.py --count 100000 --seed 1`. An input that fails is made as small as
it can be, and written to `--failures DIR`. The exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[3]))  # run as a script

import attrs

from sitemapreader._read.reader import BLOCK_BYTES
from tests.slow.fuzz import properties
from tests.slow.fuzz.cases import CaseMaker
from tests.support import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.slow.fuzz.cases import Case

MAX_MS = 250.0
"""The longest that one input may take, of the processor's time."""
TRIES = 5
"""Times that an input is read again that took longer, as it is outside of this fuzzer: small blocks
and other work on the machine only add to it."""
BORDERS_SHARE, WAYS_SHARE = 0.1, 0.2
"""Inputs that are read again in other pieces, and in the slower ways."""
MAX_FAILURES = 20
MAX_TRIALS = 400
MAX_TRIAL_SECONDS = 10.0
"""Inputs, and time, that are tried to make a failing one smaller."""


@attrs.define
class Fuzzer:
    """Makes inputs and checks them; the same seed makes the same ones.

    Attributes:
        max_ms: the longest that an input may take.
        worst_ms: the longest that one took.
        entries: how many entries were read.
    """

    max_ms: float
    worst_ms: float = 0.0
    entries: int = 0

    def run(self, random: Random, count: int) -> Iterator[tuple[bytes, str]]:
        """Check so many inputs; yield those that fail, made small, with what is wrong."""
        maker = CaseMaker(random)
        with reading.without_feedparser():
            for number in range(count):
                case, choice = maker.make_document(), random.random()

                def faults(
                    data: bytes, case: Case = case, choice: float = choice
                ) -> Iterator[str]:
                    return self._find_faults(attrs.evolve(case, data=data), choice)

                if found := first_fault(case.data, faults):
                    small = minimise(case.data, found, faults)
                    yield (
                        small,
                        f"input {number}: {first_fault(small, faults) or found}",
                    )

    def _find_faults(self, case: Case, choice: float) -> Iterator[str]:
        """Check the laws; which of the dear ones, the choice decides."""
        reading, took_ms = timed(lambda: properties.read(case))
        usual = attrs.evolve(case, block_bytes=BLOCK_BYTES)
        for _ in range(TRIES):
            # by itself, or for the small blocks or the machine's load?
            if took_ms > self.max_ms:
                took_ms = min(took_ms, timed(lambda: properties.read(usual))[1])
        self.worst_ms = max(self.worst_ms, took_ms)
        self.entries += len(reading.entries)
        if took_ms > self.max_ms:
            yield f"took {took_ms:.0f} ms"
        yield from properties.keeps_its_counts(reading)
        yield from properties.invents_nothing(case, reading)
        if not case.has_limits:
            yield from properties.keeps_what_came_before(case, reading)
            yield from properties.says_what_is_broken(case, reading)
        if choice < BORDERS_SHARE:
            yield from properties.knows_no_borders(case, reading, Random(choice))
        elif not case.has_limits and choice < BORDERS_SHARE + WAYS_SHARE:
            yield from properties.reads_alike(case, reading)


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


def minimise(
    data: bytes, fault: str, faults: Callable[[bytes], Iterator[str]]
) -> bytes:
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


def main() -> int:
    """Run as the command line says, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--max-ms", type=float, default=MAX_MS, help="for one input")
    options = parser.parse_args()
    fuzzer, failures = Fuzzer(options.max_ms), 0
    for data, fault in fuzzer.run(Random(options.seed), options.count):
        failures += 1
        print(fault)
        options.failures.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(data).hexdigest()[:12]
        (options.failures / name).write_bytes(data)
        (options.failures / f"{name}.txt").write_text(f"{fault}\n", encoding="utf-8")
        if failures == MAX_FAILURES:
            break
    print(
        f"{options.count:,} inputs, {fuzzer.entries:,} entries, worst {fuzzer.worst_ms:.0f} ms"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
