"""Read streams of one, ten and a hundred times the size, and compare the memory.

    python benchmarks/memory.py [--records 5000] [--json FILE]

Each stream is read in a process of its own, from a file of so many records that is read again and
again: what the process has at most, over what it had when everything was imported, is the figure.
At the end the same entries are kept, to know what one of them takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import targets
from contestants import make_command
from measuring import describe_machine, peak_mb, run_once
from parts import make_urlset
from tables import print_machine, print_table, write_json

from sitemapreader import UrlEntry, read, walk
from sitemapreader._types.options import MIB, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

SIZES = (1, 10, 100)
CHUNK_BYTES = 65_536
LIMITS = Limits(
    entries=100_000_000,
    raw_bytes=100_000 * MIB,
    inflated_bytes=100_000 * MIB,
    walk_bytes=100_000 * MIB,
)
URL = "https://www.example.com/sitemap.xml"


class Stream(NamedTuple):
    """A urlset whose records are those of a file, so many times over."""

    path: Path
    times: int

    def chunks(self) -> Iterator[bytes]:
        """Yield the document in pieces, holding no more than one of them."""
        with self.path.open("rb") as file:
            head = file.readline() + file.readline()
            yield head
            for _ in range(self.times):
                file.seek(len(head))
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
        yield b"</urlset>\n"


def write_records(path: Path, records: int) -> None:
    """Write a urlset without its end."""
    path.write_bytes(make_urlset(records, 1).data.removesuffix(b"</urlset>\n"))


class StreamFetcher:
    """A Fetcher that has one document, which is nowhere as a whole."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StreamedResponse]:
        """Give the document, whatever is asked for."""
        del headers
        yield StreamedResponse(url, self._stream)


class StreamedResponse(NamedTuple):
    """A Response whose body is a stream."""

    url: str
    stream: Stream
    status: int = 200
    headers: Mapping[str, str] = {}

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces."""
        for chunk in self.stream.chunks():
            yield chunk


def stream_entries(stream: Stream) -> int:
    """Read, and discard the entries at once."""
    events = read(stream.chunks(), URL, limits=LIMITS)
    return sum(type(event) is UrlEntry for event in events)


def walk_entries(stream: Stream) -> int:
    """Walk, and drop what was read at once."""

    async def go() -> int:
        count = 0
        fetcher = StreamFetcher(stream)
        async with walk(sitemaps=[URL], fetcher=fetcher, limits=LIMITS) as entries:
            async for _ in entries:
                count += 1
        return count

    return asyncio.run(go())


def keep_entries(stream: Stream) -> int:
    """Read everything into a list."""
    return len(
        [e for e in read(stream.chunks(), URL, limits=LIMITS) if type(e) is UrlEntry]
    )


WAYS = {"streaming": stream_entries, "walk": walk_entries, "kept": keep_entries}


def measure_here(way: str, path: Path, times: int) -> None:
    """Measure in this process; print the count, and the peak before and after in MB."""
    run = WAYS[way]
    first = run(Stream(path, 0))  # imports what is imported late
    before = peak_mb()
    count = run(Stream(path, times))
    print(json.dumps([first, count, before, peak_mb()]))


def measure(way: str, path: Path, times: int) -> tuple[int, float]:
    """Measure in a process of its own; return the count and the MB that were added."""
    command = make_command("memory.py", "--here", way, str(times), str(path))
    output, fault = run_once(command, seconds=600)
    if fault:
        raise SystemExit(f"{way} x{times}: {fault}")
    _, count, before, after = json.loads(output)
    return count, after - before


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--here"]:
        measure_here(sys.argv[2], Path(sys.argv[4]), int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--records", type=int, default=5_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    machine = describe_machine(["sitemapreader"])
    print_machine(machine)
    rows, figures = [], {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.xml"
        write_records(path, arguments.records)
        for way in WAYS:
            for times in SIZES:
                count, added = measure(way, path, times)
                if count != times * arguments.records:
                    raise SystemExit(f"{way} x{times}: {count} entries")
                rows.append((way, times, count, added, added * MIB / count))
                figures[f"{way} x{times}"] = added
                figures["bytes a kept entry"] = added * MIB / count
    head = ("what is done", "times", "entries", "MB added", "bytes an entry")
    print_table("Peak memory over that of the imports", head, rows)
    verdicts = targets.judge("memory", figures)
    targets.print_verdicts(verdicts)
    write_json(
        arguments.json,
        {"machine": machine, "figures": figures, "targets": targets.as_json(verdicts)},
    )


if __name__ == "__main__":
    main()
