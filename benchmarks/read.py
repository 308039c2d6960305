"""Read every corpus from memory with every library that can: CPU time.

    pip install -e '.[bench]'
    python benchmarks/read.py [--corpus urlset.xml ...] [--only kept scrapy ...] [--rounds 9]
    python benchmarks/read.py --only kept scrapy fastfeedparser
    python benchmarks/read.py --against ../before --corpus optional.xml urlset.xml

The second command gives the figures of most targets, and takes minutes; the third compares with the
package in another folder, an older checkout, say. Corpora are one document each; sets are many
documents, read one after the other. Each library has a process of its own, with nothing in it but
its own imports. The processes take turns, so that other work on the machine slows all alike. The
figure is the median of the CPU time. A library that finds another number of records than there are
is shown as wrong, not as fast.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import sets
import targets
from contestants import BEFORE, READERS, place_before, version_of
from corpora import CORPORA
from measuring import Reader, describe_machine
from tables import print_machine, print_table, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contestants import Contestant
    from parts import Corpus

KINDS = {
    "index.xml": "index",
    "text.txt": "text",
    "rss.xml": "rss",
    "rss-500.xml": "rss",
    "atom.xml": "atom",
    "atom-500.xml": "atom",
    "urlset.xml.gz": "gzip",
    "rss-varied-500.xml": "rss",
}
"""What the corpora are that are no urlsets."""
PATIENCE_SECONDS = 5.0
"""A library that takes longer than this has two rounds, and no more."""
HEAD = ("library", "CPU ms", "least", "most", "MB/s", "x kept", "")


class Result(NamedTuple):
    """The result of a library on one corpus: CPU ms of each round, or why not."""

    corpus: str
    library: str
    milliseconds: list[float]
    fault: str = ""

    @property
    def median(self) -> float | None:
        """Milliseconds, if they count."""
        return (
            median(self.milliseconds) if self.milliseconds and not self.fault else None
        )


def run_rounds(
    name: str, path: Path, corpus: Corpus, readers: list[Reader], rounds: int
) -> list[Result]:
    """Have each reader read a corpus in turn; the first round is a warm-up."""
    kind = KINDS.get(name, "urlset")
    results = {reader.name: Result(name, reader.name, []) for reader in readers}
    for number in range(rounds + 1):
        for reader in readers:
            result = results[reader.name]
            if result.fault or (
                number > 2 and max(result.milliseconds) > PATIENCE_SECONDS * 1000
            ):
                continue
            answer = reader.read(kind, path)
            count = answer.values.get("count")
            if answer.fault:
                results[reader.name] = result._replace(fault=f"failed: {answer.fault}")
            elif count not in (None, corpus.records):
                results[reader.name] = result._replace(
                    fault=f"wrong: {count:,} of {corpus.records:,} records"
                )
            elif number:
                result.milliseconds.append(1000 * answer.values["cpu"])
    return list(results.values())


def measure(
    name: str, folder: Path, contestants: Mapping[str, Contestant], rounds: int
) -> tuple[int, list[Result]]:
    """Measure one corpus; return its size and the results, missing ones included."""
    corpus = CORPORA[name]()
    path = folder / name
    path.write_bytes(corpus.data)
    able = {
        n: c for n, c in contestants.items() if KINDS.get(name, "urlset") in c.kinds
    }
    absent = [n for n, c in able.items() if version_of(c.package) is None]
    with ExitStack() as stack:
        readers = [
            stack.enter_context(Reader(n, c))
            for n, c in able.items()
            if n not in absent
        ]
        results = run_rounds(name, path, corpus, readers, rounds)
    path.unlink()
    return len(corpus.data), [
        *results,
        *(Result(name, n, [], "not installed") for n in absent),
    ]


def print_results(name: str, size: int, results: list[Result]) -> None:
    """Print the table of one corpus."""
    kept = next((r.median for r in results if r.library == "kept"), None)
    rows = [
        (
            result.library,
            result.median,
            min(result.milliseconds),
            max(result.milliseconds),
            size / 1000 / result.median,
            result.median / kept if kept else None,
            "",
        )
        if result.median
        else (result.library, *[None] * 5, result.fault)
        for result in results
    ]
    print_table(f"{name}, {size / 1e6:.2f} MB", HEAD, rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--corpus", nargs="+", choices=[*CORPORA, *sets.SETS])
    parser.add_argument("--only", nargs="+", choices=[*READERS, *BEFORE])
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    contestants = READERS
    if arguments.against:
        contestants = READERS | place_before(arguments.against)
    only = arguments.only or list(contestants)
    contestants = {n: c for n, c in contestants.items() if n in only}
    machine = describe_machine(dict.fromkeys(c.package for c in READERS.values()))
    print_machine(machine)
    results: list[Result] = []
    of_sets: list[sets.SetResult] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.corpus or [*CORPORA, *sets.SETS]:
            if name in sets.SETS:
                read = sets.measure_set(name, Path(folder), only, arguments.rounds)
                sets.print_set(name, read)
                of_sets += read
                continue
            size, found = measure(name, Path(folder), contestants, arguments.rounds)
            print_results(name, size, found)
            results += found
    verdicts = targets.judge(
        "read", {**figures_of(results), **sets.figures_of(of_sets)}
    )
    targets.print_verdicts(verdicts)
    rows = [{**result._asdict(), "median": result.median} for result in results]
    write_json(
        arguments.json,
        {
            "machine": machine,
            "results": rows,
            "sets": [result._asdict() for result in of_sets],
            "targets": targets.as_json(verdicts),
        },
    )


def figures_of(results: list[Result]) -> Mapping[str, float]:
    """Name the medians as the targets do."""
    return {f"{r.corpus}/{r.library}": r.median for r in results if r.median}


if __name__ == "__main__":
    main()
