"""Walks without end over a server that fails at random: does memory grow, do files or tasks stay?

The server is a process of its own and serves indexes of gzipped sitemaps; what it does to each is
drawn from a seed. Every few seconds the memory, the open files and the tasks of the client are
noted; in the end the medians of the first and the last tenth of the time are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from corpora import make_urlset

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from faults import BEAT, CHUNKED, FaultServer, chunk, head
from walking import index

from sitemapreader import FetchOptions, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults import Line

CHILDREN = 20
URLS = 10_000
KINDS = 8
"""Different bodies; what differs more is only what the server does to them."""
WAYS = {
    "whole": 60,
    "chunked": 10,
    "moved": 5,
    "cut": 4,
    "reset": 4,
    "chunk-cut": 3,
    "bad-chunk": 2,
    "silence": 2,
    "damaged": 4,
    "missing": 2,
    "busy": 2,
    "closed": 2,
}
"""What is done to a body, and how often, of a hundred."""
OPTIONS = FetchOptions(tries=2, retry_wait_seconds=0.05, idle_seconds=0.5, per_host=6)
MAX_GROWTH_MB = 3.0
"""More than this from the first tenth to the last is a leak (SECURITY: figure 5)."""


class SoakServer(FaultServer):
    """Serves `/index/N`, and children that fare as the dice say."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._bodies = [gzip.compress(make_urlset(URLS, n).data, 6, mtime=0) for n in range(KINDS)]

    async def _serve(self, line: Line) -> None:
        try:
            while request := await line.read_request():
                line.keeps_open = False
                await self._answer(line, request.path)
                if not line.keeps_open:
                    break
        except ConnectionError:
            pass  # the client has gone, which is its right
        finally:
            await line.close()

    async def _answer(self, line: Line, path: str) -> None:
        _, kind, *rest = path.split("/")
        if kind == "index":
            await line.answer(index(*(f"/{way}/{rest[0]}/{n}" for n, way in self._draw())))
        else:
            await self._play(line, kind, self._random.choice(self._bodies), "/".join(rest))

    def _draw(self) -> list[tuple[int, str]]:
        ways = self._random.choices(list(WAYS), list(WAYS.values()), k=CHILDREN)
        return list(enumerate(ways))

    async def _play(self, line: Line, way: str, body: bytes, rest: str) -> None:
        cut = self._random.randrange(len(body))
        if way == "whole":
            await line.answer(body)
        elif way == "moved":
            await line.answer(b"", "302 Found", f"Location: /whole/{rest}")
        elif way == "damaged":
            await line.answer(body[:cut] + bytes([body[cut] ^ 0x10]) + body[cut + 1 :])
        elif way in {"missing", "busy", "robots.txt"}:
            await line.answer(b"", "503 No" if way == "busy" else "404 No")
        elif way == "chunked":
            pieces = (body[n : n + 9_999] for n in range(0, len(body), 9_999))
            await line.send(CHUNKED, *map(chunk, pieces), b"0\r\n\r\n")
        else:
            await self._break_off(line, way, body, cut + 1)

    async def _break_off(self, line: Line, way: str, body: bytes, cut: int) -> None:
        if way in {"cut", "reset", "silence"}:
            await line.send(head(length=len(body) + 1) + body[:cut], pause=BEAT)
        elif way == "chunk-cut":
            await line.send(CHUNKED + b"%x\r\n" % len(body) + body[:cut])
        elif way == "bad-chunk":
            await line.send(CHUNKED, chunk(body[:cut]), b"ZZZ\r\n", pause=BEAT)
        if way in {"silence", "bad-chunk"}:
            await line.wait_for_end()
        if way == "reset":
            line.reset()


async def run_server(seed: int) -> None:
    """Serve until the process is ended."""
    async with SoakServer(seed) as server:
        print(server.base, flush=True)
        await asyncio.Event().wait()


@contextmanager
def serve(seed: int) -> Iterator[str]:
    """Have a server in a process of its own; give its address."""
    command = [sys.executable, __file__, "--serve", "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or ())).strip()
        finally:
            server.kill()


class Sample(NamedTuple):
    """The client at one moment: resident memory in MB, open files, tasks, objects that gc sees."""

    memory: float
    files: int
    tasks: int
    objects: int


def take_sample() -> Sample:
    """Look at this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(
        pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        len(list(Path("/proc/self/fd").iterdir())),
        len(asyncio.all_tasks()),
        len(gc.get_objects()),
    )


class Soak:
    """The walks, one after the other, and what was seen meanwhile."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.entries = 0
        self.walks = 0
        self.outcomes: Counter[str] = Counter()
        self.slips: list[str] = []

    async def run(self, base: str, seconds: float, interval: float) -> None:
        """Walk until the time is over."""
        end = time.monotonic() + seconds
        watch = asyncio.create_task(self._watch(interval))
        try:
            while time.monotonic() < end:
                await self._walk(f"{base}/index/{self.walks}")
        finally:
            watch.cancel()

    async def _watch(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            self.samples.append(take_sample())

    async def _walk(self, url: str) -> None:
        count = 0
        async with walk(sitemaps=[url], options=OPTIONS) as entries:
            async for batch in entries.batches():
                count += len(batch)
        report = entries.report
        self.walks += 1
        self.entries += count
        self.outcomes.update(f"{each.status} {each.reason}".strip() for each in report.documents)
        if count != report.entries or len(report.documents) != CHILDREN + 2:
            self.slips.append(f"{url}: {count} of {report.entries}, {len(report.documents)}")
        for each in report.documents:
            way = each.url.split("/")[3]
            if way in {"whole", "chunked", "moved"} and each.entries != URLS:
                self.slips.append(f"{each.url}: {each.entries}, {each.status} {each.reason}")


def print_figures(soak: Soak, seconds: float) -> bool:
    """Print what came of it; return whether nothing grew and nothing was lost."""
    tenth = max(1, len(soak.samples) // 10)
    first, last = soak.samples[:tenth], soak.samples[-tenth:]
    print(
        f"{seconds / 60:.1f} minutes, {soak.walks} walks, {soak.entries:,} entries, "
        f"{soak.entries / seconds:,.0f} a second, {len(soak.samples)} samples"
    )
    print(f"{'':<14}{'first tenth':>12}{'last tenth':>12}{'most':>10}")
    growth = {}
    for number, name in enumerate(("memory, MB", "open files", "tasks", "objects")):
        medians = [median(sample[number] for sample in part) for part in (first, last)]
        growth[name] = medians[1] - medians[0]
        most = max(sample[number] for sample in soak.samples)
        print(f"{name:<14}{medians[0]:>12.1f}{medians[1]:>12.1f}{most:>10.1f}")
    parts = [soak.samples[n * tenth : (n + 1) * tenth] for n in range(len(soak.samples) // tenth)]
    print("memory, MB, by tenths:", *(f"{median(s.memory for s in part):.1f}" for part in parts))
    for outcome, count in soak.outcomes.most_common():
        print(f"{count:>8} {outcome}")
    print("\n".join([f"not as it should be: {len(soak.slips)}", *soak.slips[:20]]))
    return growth["memory, MB"] <= MAX_GROWTH_MB and not soak.slips


def main() -> None:
    """Soak, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--interval", type=float, default=2, help="seconds between two samples")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", action="store_true", help="be the server")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(run_server(arguments.seed))
        return
    soak = Soak()
    begin = time.monotonic()
    with serve(arguments.seed) as base:
        asyncio.run(soak.run(base, arguments.minutes * 60, arguments.interval))
    if not print_figures(soak, time.monotonic() - begin):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
