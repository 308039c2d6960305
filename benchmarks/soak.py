"""Walk endlessly over a server that fails at random; check growth and losses.

The server is a process of its own (`soak_server`). The fault of every document is known, so that
what comes out is compared, URL by URL, with what must.

Memory is noted every second; files, tasks and Python's blocks of memory also at rest, between two
walks. What is compared are the first and the last tenth of the time after a warm-up of some walks.
That is there for what a process gets once and keeps, and which looks like a leak while it does:
caches with a bound (the last 1,024 URLs) and the high-water mark of malloc. The curve over the
whole time is printed, the warm-up included.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import os
import sys
import time
from array import array
from collections import Counter
from functools import partial
from itertools import takewhile
from operator import eq, truth
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from soak_server import URLS, Fate, draw_fate, draw_ways, serve

from sitemapreader import FetchOptions, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader import UrlEntry
    from sitemapreader._types.outcomes import Document

OPTIONS = FetchOptions(
    max_attempts=2, retry_wait_seconds=0.05, idle_seconds=0.5, per_host=6
)
MAX_GROWTH_MB = 3.0
"""More than this from the first tenth to the last is a leak."""
MAX_GROWTH_BLOCKS = 1_000
"""Of Python's blocks, of 250,000; a leak of one object a document would be more."""
WARM_UP_WALKS = 60
"""What it takes to fill the caches: 20 documents a walk, and room for 1,024 URLs."""
REST_EVERY = 5
"""Walks between two looks at the process at rest."""

_ALL = {"whole", "chunked", "moved"}
_NONE = {"missing": "http-status", "busy": "http-status", "closed": "connect"}
_PART = {
    "cut": {"body-cut"},
    "reset": {"body-cut"},
    "chunk-cut": {"body-cut"},
    "silence": {"stalled"},
    # aiohttp's word depends on what comes when
    "bad-chunk": {
        "stalled",
        "bad-http",
        "body-cut",
    },
}
_OVERTAKEN = {"reset", "bad-chunk"}
"""What may take with it some of what was sent before it, on a machine that is slow to read: the
system drops what a reset finds unread, and aiohttp the piece that a bad chunk is in."""


NOW, MEMORY, FILES, TASKS, BLOCKS = range(5)
"""What a sample has: the time, resident memory in MB, open files, tasks, Python's blocks."""


class Samples:
    """Samples of this process, in memory that was allocated before."""

    def __init__(self) -> None:
        self._values = array("d")

    def take(self) -> None:
        """Look at this process."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        now, memory = time.monotonic(), pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        files = len(list(Path("/proc/self/fd").iterdir()))
        tasks, blocks = len(asyncio.all_tasks()), sys.getallocatedblocks()
        self._values.extend((now, memory, files, tasks, blocks))

    def read(self, figure: int) -> Iterator[tuple[float, float]]:
        """Yield each time, and a figure at it."""
        return zip(self._values[NOW::5], self._values[figure::5], strict=True)


class Delivery:
    """The entries of one walk, compared with what the server sent, by document."""

    def __init__(self, seed: int, walk: int) -> None:
        self.slips: list[str] = []
        self._fates = {
            f"{walk}/{number}": draw_fate(seed, way, f"{walk}/{number}")
            for number, way in enumerate(draw_ways(seed, walk))
        }
        self._taken: Counter[str] = Counter()
        self._intact: Counter[str] = Counter()

    def take(self, batch: list[UrlEntry]) -> None:
        """Compare a batch, which is of one document, with the next of its URLs."""
        place = batch[0].sitemap.split("/", 4)[-1]
        start = self._taken[place]
        end = self._taken[place] = start + len(batch)
        wanted = self._fates[place].body.locs[start:end]
        if self._intact[place] == start:
            found = (entry.loc for entry in batch)
            self._intact[place] += sum(
                1 for _ in takewhile(truth, map(eq, found, wanted))
            )

    def judge(self, documents: list[Document]) -> None:
        """Record the differences from the expected result."""
        children = {each.url.split("/", 4)[-1]: each for each in documents}
        for place, fate in self._fates.items():
            document = children.pop(place, None)
            if document is None:
                self.slips.append(f"/{fate.way}/{place}: no outcome")
            elif not self._is_right(
                fate, document, self._taken[place], self._intact[place]
            ):
                self.slips.append(
                    f"{document.url}: {self._taken[place]} of which {self._intact[place]} right, "
                    f"{document.bytes_raw} of {fate.cut}, {document.status} {document.reason}"
                )
        if len(children) != 2:
            self.slips.append(f"besides the children: {list(children)}")

    def _is_right(
        self, fate: Fate, document: Document, taken: int, intact: int
    ) -> bool:
        if document.entries != taken:
            return False
        if fate.way in _ALL:
            return taken == intact == URLS and document.status == "complete"
        if fate.way in _NONE:
            return taken == 0 and document.reason == _NONE[fate.way]
        # no tool can tell what a wrong byte that still reads was
        if fate.way == "damaged":
            return fate.body.count_within(fate.cut) <= intact <= taken <= URLS
        arrived = document.bytes_raw
        if arrived > fate.cut or (arrived < fate.cut and fate.way not in _OVERTAKEN):
            return False
        had_to = fate.body.count_within(arrived)
        return taken == intact == had_to and document.reason in _PART[fate.way]


class Soak:
    """The walks, one after the other, and the samples."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.begin = time.monotonic()
        self.warm = math.inf
        self.flow = Samples()
        self.rest = Samples()
        self.entries = 0
        self.walks = 0
        self.outcomes: Counter[str] = Counter()
        self.slips: list[str] = []

    async def run(self, base: str, seconds: float, interval: float) -> None:
        """Walk until so long after the warm-up."""
        watch = asyncio.create_task(self._watch(interval))
        try:
            while time.monotonic() < self.warm + seconds:
                await self._walk(base)
                if self.walks == WARM_UP_WALKS:
                    self.warm = time.monotonic()
                if self.walks % REST_EVERY == 0:
                    await asyncio.sleep(0.1)
                    gc.collect()
                    self.rest.take()
        finally:
            watch.cancel()

    async def _watch(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            self.flow.take()

    async def _walk(self, base: str) -> None:
        delivery = Delivery(self.seed, self.walks)
        count = 0
        async with walk(
            sitemaps=[f"{base}/index/{self.walks}"], options=OPTIONS
        ) as entries:
            async for batch in entries.batches():
                count += len(batch)
                delivery.take(batch)
        report = entries.report
        delivery.judge(report.documents)
        self.walks += 1
        self.entries += count
        self.outcomes.update(
            f"{each.status} {each.reason}".strip() for each in report.documents
        )
        self.slips += delivery.slips
        if count != report.entries:
            self.slips.append(f"walk {self.walks}: {count} of {report.entries}")


class Curve:
    """A figure over the tenths of the time, with the warm-up before."""

    def __init__(
        self, name: str, samples: Samples, figure: int, *, warm: float, end: float
    ) -> None:
        self._name = name
        self._steps: dict[int, list[float]] = {}
        for at, value in samples.read(figure):
            number = math.floor(10 * (at - warm) / (end - warm))
            self._steps.setdefault(number, []).append(value)
        self._medians = {number: median(step) for number, step in self._steps.items()}

    @property
    def growth(self) -> float:
        """From the first tenth to the last; infinite if they have not been seen."""
        return self._medians.get(9, math.inf) - self._medians.get(0, -math.inf)

    def __str__(self) -> str:
        said = [f"{self._name:<7}{self.growth:+9.1f} "]
        for number, value in sorted(self._medians.items()):
            said.append(f"{value:.1f}" if number >= 0 else f"({value:.1f})")
        return " ".join([*said, f" most {max(map(max, self._steps.values())):.1f}"])


def print_figures(soak: Soak, end: float) -> bool:
    """Print the results; return whether nothing grew and nothing was lost."""
    seconds = end - soak.begin
    print(
        f"{seconds / 60:.1f} minutes, of which {(soak.warm - soak.begin) / 60:.1f} to warm up; "
        f"{soak.walks} walks, {soak.entries:,} entries, {soak.entries / seconds:,.0f} a second"
    )
    print(
        "growth from the first tenth to the last, medians of the tenths (and before them), most:"
    )
    curve = partial(Curve, warm=soak.warm, end=end)
    memory = curve("memory", soak.flow, MEMORY)
    print(
        memory,
        curve("files", soak.flow, FILES),
        curve("tasks", soak.flow, TASKS),
        sep="\n",
    )
    files, tasks = curve("files", soak.rest, FILES), curve("tasks", soak.rest, TASKS)
    blocks = curve("blocks", soak.rest, BLOCKS)
    print("at rest:", files, tasks, blocks, sep="\n")
    for outcome, count in soak.outcomes.most_common():
        print(f"{count:>8} {outcome}")
    print("\n".join([f"not as it should be: {len(soak.slips)}", *soak.slips[:20]]))
    return (
        memory.growth <= MAX_GROWTH_MB
        and blocks.growth <= MAX_GROWTH_BLOCKS
        and files.growth == tasks.growth == 0
        and not soak.slips
    )


def main() -> None:
    """Soak, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="after the warm-up")
    parser.add_argument(
        "--interval", type=float, default=1, help="seconds between two samples"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    soak = Soak(arguments.seed)
    with serve(arguments.seed) as base:
        asyncio.run(soak.run(base, arguments.minutes * 60, arguments.interval))
    if not print_figures(soak, time.monotonic()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
