"""Sets of documents that are read one after the other: small ones, and real files.

The real files are other people's, so they are no part of the project. They are looked for in
`../shared/corpus`, beside the checkout; without them their sets are passed over.
"""

from __future__ import annotations

import csv
import json
import math
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from contestants import READERS, version_of
from measuring import Reader
from tables import print_table
from varied import make_small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

WILD = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "wild"
LARGE_BYTES = 20_000
"""Files above this size are large enough for the worst ratio of one to mean something."""
OURS = "kept"
HEAD = (
    "library",
    "all, ms",
    "median file, us",
    "all, x kept",
    "median file, x kept",
    "least x kept over 20 KB",
    "not read",
)


class Member(NamedTuple):
    """A document of a set: what it is, where, and its size in bytes."""

    kind: str
    path: Path
    size: int


class SetResult(NamedTuple):
    """The result of a library on a set.

    Attributes:
        set_name: which set.
        library: which contestant.
        seconds: by document, the median CPU time of all rounds; `None` where it raised.
        sizes: by document, its bytes.
    """

    set_name: str
    library: str
    seconds: list[float | None]
    sizes: list[int]

    @property
    def total(self) -> float:
        """CPU seconds of all documents that were read."""
        return sum(filter(None, self.seconds))

    @property
    def middle(self) -> float:
        """CPU seconds of the median document."""
        return median(each for each in self.seconds if each is not None)

    def ratios(self, ours: SetResult) -> Ratios:
        """Return the CPU time as a multiple of ours, over documents that both have read."""
        pairs = [
            (theirs, mine, size)
            for theirs, mine, size in zip(
                self.seconds, ours.seconds, self.sizes, strict=True
            )
            if theirs is not None and mine is not None
        ]
        each = [theirs / mine for theirs, mine, _ in pairs]
        large = [theirs / mine for theirs, mine, size in pairs if size > LARGE_BYTES]
        total = sum(theirs for theirs, *_ in pairs) / sum(mine for _, mine, _ in pairs)
        return Ratios(total, median(each), min(large, default=None))


class Ratios(NamedTuple):
    """The CPU times of a library as multiples of ours."""

    total: float
    middle: float
    least: float | None


def list_small(folder: Path, records: int) -> Iterator[Member]:
    """Write documents of so many records."""
    for number, corpus in enumerate(make_small(records)):
        path = folder / f"{records}-{number}.xml"
        path.write_bytes(corpus.data)
        yield Member("urlset", path, len(corpus.data))


def list_real(kinds: Mapping[str, str], most: float = math.inf) -> Iterator[Member]:
    """List the sound files of these kinds that are no larger than `most` bytes."""
    manifest = WILD / "manifest.tsv"
    if not manifest.exists():
        return
    with manifest.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["kind"] in kinds and not row["file"].startswith("broken/"):
                path = WILD / row["file"]
                size = path.stat().st_size
                if size <= most:
                    yield Member(kinds[row["kind"]], path, size)


_SITEMAPS = {"urlset": "urlset", "index": "index"}
SETS: dict[str, Callable[[Path], Iterable[Member]]] = {
    "2 records": lambda folder: list_small(folder, 2),
    "20 records": lambda folder: list_small(folder, 20),
    "real sitemaps": lambda _: list_real(_SITEMAPS),
    "real sitemaps below 1 KB": lambda _: list_real(_SITEMAPS, 1_000),
    "real feeds": lambda _: list_real({"rss": "rss", "atom": "atom"}),
}
"""Every set, by name: a function that is given a folder to write to, and lists its documents."""


def measure_set(
    name: str, folder: Path, only: list[str], rounds: int
) -> list[SetResult]:
    """Have each library that can read a set read it in turn, in several rounds."""
    members = list(SETS[name](folder))
    if not members:
        return []
    listed = folder / f"{name}.json"
    listed.write_text(json.dumps([(kind, str(path)) for kind, path, _ in members]))
    kinds = {member.kind for member in members}
    able = {n: c for n, c in READERS.items() if n in only and kinds <= c.kinds}
    with ExitStack() as stack:
        readers = [
            stack.enter_context(Reader(n, c))
            for n, c in able.items()
            if version_of(c.package)
        ]
        times: dict[str, list[list[float | None]]] = {
            reader.name: [] for reader in readers
        }
        for number in range(rounds + 1):
            for reader in readers:
                answer = reader.read("list", listed)
                if number:  # the first round warms up
                    readings = answer.values.get("readings", [{}] * len(members))
                    times[reader.name].append([each.get("cpu") for each in readings])
    sizes = [member.size for member in members]
    return [
        SetResult(name, n, [*map(_middle, zip(*t, strict=True))], sizes)
        for n, t in times.items()
    ]


def _middle(times: tuple[float | None, ...]) -> float | None:
    """Return the median; `None` if one reading failed."""
    seconds = [each for each in times if each is not None]
    return median(seconds) if len(seconds) == len(times) else None


def print_set(name: str, results: list[SetResult]) -> None:
    """Print the table of a set."""
    if not results:
        print(f"\n{name}: not there, so not read")
        return
    ours = next((r for r in results if r.library == OURS), None)
    rows = []
    for result in results:
        failed = result.seconds.count(None)
        if failed == len(result.seconds):
            rows.append((result.library, *[None] * 5, failed))
            continue
        ratios = result.ratios(ours) if ours else (None, None, None)
        figures = (result.total * 1e3, result.middle * 1e6, *ratios)
        rows.append((result.library, *figures, failed))
    sizes = results[0].sizes
    title = f"{name}: {len(sizes)} documents, {sum(sizes) / 1e6:.2f} MB"
    print_table(title, HEAD, rows)


def figures_of(results: list[SetResult]) -> dict[str, float]:
    """Name the ratios as the targets do."""
    figures = {}
    ours = {r.set_name: r for r in results if r.library == OURS}
    for result in results:
        if result.set_name not in ours or not any(result.seconds):
            continue
        ratios = result.ratios(ours[result.set_name])
        for name, ratio in zip(
            ("all", "median file", "worst large file"), ratios, strict=True
        ):
            if ratio is not None:
                figures[f"{result.set_name}, {name}/{result.library}"] = ratio
    return figures
