"""Runs of an output, and the commits of their partitions.

A partition may be attempted several times. Its status file is created only once, and says which
attempt counts: what no status file names does not exist.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs.validators import instance_of, matches_re

from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.planning import HostList
from sitemapreader.distributed.storage import (
    PARTITION,
    RUN,
    STATUS,
    SUCCESS,
    OutputError,
    Storage,
    write_json,
)
from sitemapreader.output.arrow import make_schema
from sitemapreader.output.columns import OUTCOME_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = dict[str, Any]
_TIME = pa.timestamp("ms", "UTC")
OUTCOME_SCHEMA = make_schema(OUTCOME_COLUMNS)
STATUS_SCHEMA = pa.schema(
    [
        *OUTCOME_SCHEMA,
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("read", pa.bool_(), nullable=False),
        pa.field("read_at", _TIME),
        pa.field("failures", pa.int32(), nullable=False),
        pa.field("last_ok", _TIME),
        pa.field("not_before", _TIME),
    ]
)
"""`read` tells whether this run read the host, or carries its row over because it was not due."""
_COMMIT_KEY = b"sitemapreader.commit"
"""Key in the metadata of a status file, whose value is the commit as JSON."""
_OWN = re.compile(r"p-\d{5}(-(?P<token>[0-9a-f]{16}))?[-.].*?(?P<is_part>\.part)?", re.ASCII)
"""Names of files of attempts; some are only a part of a file."""
_REQUESTS_AT_ONCE = 32
"""Status files that are read at once, because an object store answers slowly."""


@attrs.frozen(kw_only=True)
class Totals:
    """What was read of the hosts of a run, or of one partition.

    Attributes:
        run: folder of the run.
        finished: whether all partitions are committed and the run was finished.
        partitions: how many partitions it has.
        committed: how many of them are committed; the sums are over these.
        failures: partitions that could not be committed -> the error of the last try.
        hosts: how many they are.
        urls: how many URLs were delivered.
        unlisted: how many URLs are no longer listed, since this run.
        gone: how many unlisted URLs are known to be gone, since this run.
        statuses: how many hosts ended in each way.
        reasons: how many were not read completely for each reason.
        put_off: how many are not due again yet, because they failed, have no sitemap or asked for
            it; `retry=True` reads them, too.
    """

    run: str
    finished: bool = False
    partitions: int
    failures: dict[int, str] = attrs.field(factory=dict)
    committed: int = 0
    hosts: int = 0
    urls: int = 0
    unlisted: int = 0
    gone: int = 0
    statuses: Counter[str] = attrs.field(factory=Counter)
    reasons: Counter[str] = attrs.field(factory=Counter)
    put_off: int = 0

    def count(self, commit: Commit) -> Totals:
        """Return the sums with those of one more commit."""
        sums = {name: getattr(self, name) + value for name, value in commit.sums.items()}
        return attrs.evolve(self, **sums)


def _add_up(rows: pa.Table) -> dict[str, Any]:
    """Return the sums of `Totals` over the rows of a partition."""
    read = rows.filter(rows["read"])
    names = {"urls": "entries", "unlisted": "unlisted", "gone": "gone"}
    now = datetime.now(UTC)
    return {name: pc.sum(read[column]).as_py() or 0 for name, column in names.items()} | {
        "committed": 1,
        "hosts": len(rows),
        "statuses": Counter(rows["status"].to_pylist()),
        "reasons": Counter(filter(None, rows["reason"].to_pylist())),
        "put_off": sum(each is not None and each > now for each in rows["not_before"].to_pylist()),
    }


@attrs.frozen(kw_only=True)
class Commit:
    """The attempt at a partition that counts.

    Attributes:
        partition: its number.
        token: of the attempt; a part of the names of its files.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
        seconds: how long it took.
        sums: what `Totals` counts of it.
    """

    partition: int
    # SECURITY: others may be able to write the storage. The names of files follow from this, so
    # that nothing else is read, or removed.
    token: str = attrs.field(validator=matches_re(r"[0-9a-f]{16}"))
    memory: str
    seconds: float = attrs.field(validator=instance_of(float))
    sums: dict[str, Any] = attrs.field(factory=dict, repr=False)


def create_commit(storage: Storage, run: str, commit: Commit, rows: pa.Table) -> Commit:
    """Commit an attempt, with the rows of its hosts; return the commit that counts."""
    path = STATUS.format(run=run, partition=commit.partition)
    file = io.BytesIO()
    said = {_COMMIT_KEY: json.dumps(attrs.asdict(commit))}
    pq.write_table(rows.replace_schema_metadata(said), file, compression="zstd")
    storage.create(path, file.getvalue())
    done = load_commit(storage, run, commit.partition)  # it may be ours: see `create`
    if done is None:
        raise OSError(f"{storage.output}/{path} was there, and is gone")
    return done[0]


def load_commit(storage: Storage, run: str, partition: int) -> tuple[Commit, pa.Table] | None:
    """Return the commit of a partition and the rows of its hosts, if there is one.

    Raises OutputError for a damaged file.
    """
    path = STATUS.format(run=run, partition=partition)
    content = storage.read(path)
    if content is None:
        return None
    try:
        rows = pq.read_table(io.BytesIO(content), schema=STATUS_SCHEMA)
        said = json.loads(pq.read_schema(io.BytesIO(content)).metadata[_COMMIT_KEY])
        return Commit(**said | {"partition": partition, "sums": _add_up(rows)}), rows
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError) as error:
        raise OutputError(
            f"{storage.output}/{path} is damaged ({error}): remove it, and run the same again"
        ) from None


@attrs.frozen(kw_only=True)
class ScaleRun:
    """The facts that all workers of a run share; its `run.json` never changes.

    Attributes:
        folder: its folder in the output; ends with its number.
        listed: its hosts.
        options: how they are read.
        full: whether it forgets the state: every URL is read and delivered again.
        retry: whether it reads hosts that are not due yet, because they failed.
    """

    folder: str
    listed: HostList
    options: ScaleOptions
    full: bool = False
    retry: bool = False

    @property
    def previous(self) -> str | None:
        """Folder of the run before, which this one continues; `None` of the first."""
        number = int(self.folder.rpartition("/")[2]) - 1
        return RUN.format(number) if number else None

    @property
    def partitions(self) -> range:
        """All its partitions."""
        return range(self.listed.partitions)


def begin_run(
    output: str,
    listed: HostList | None = None,
    options: ScaleOptions = ScaleOptions(),  # noqa: B008 (a frozen value)
    *,
    full: bool = False,
    retry: bool = False,
) -> ScaleRun:
    """Return the run that is not finished, or begin the next one.

    Workers that call this at the same time get the same run. One that is not finished continues as
    it began: the other arguments are for a new one.

    Args:
        output: a folder, or a URL that fsspec knows.
        listed: its hosts, as `plan` returned them; `None` for those of the run before.
        options: how hosts are read.
        full: forget the state.
        retry: read also hosts that are not due.

    Raises OutputError if there is no list, or if the run that is not finished has another one.
    """
    storage = Storage(output)
    number = _find_last(storage)
    last = load_run(storage, RUN.format(number)) if number else None
    if last and storage.read(SUCCESS.format(run=last.folder)) is None:
        if listed not in (None, last.listed):
            raise OutputError(
                f"{last.folder} in {storage.output} is not finished and has another list of hosts: "
                "finish it first (leave the list out), then give the new one"
            )
        return last
    chosen = listed if listed or not last else last.listed
    if chosen is None:
        raise OutputError(f"{storage.output} has no list of hosts yet: give one")
    folder = RUN.format(number + 1)
    content = {"full": full, "retry": retry, "options": options.to_json()}
    content["list"] = attrs.asdict(chosen)
    storage.create(f"{folder}/run.json", write_json(content))  # another worker may be first
    return load_run(storage, folder)


def _find_last(storage: Storage) -> int:
    """Return the number of the last run; 0 if there is none."""
    return max((int(name) for name in storage.list("runs") if name.isdecimal()), default=0)


def load_run(storage: Storage, folder: str) -> ScaleRun:
    """Load the `run.json` of a run; raise OutputError if it is missing or invalid."""

    def make(said: dict[str, Any]) -> ScaleRun:
        listed, options = HostList(**said.pop("list")), ScaleOptions.from_json(said.pop("options"))
        return ScaleRun(folder=folder, listed=listed, options=options, **said)

    run = storage.load(f"{folder}/run.json", make)
    if run is None:
        raise OutputError(
            f"{storage.output} has no {folder}: every worker must reach it, so on several machines "
            "the output is a shared folder or a URL such as s3://bucket/crawl"
        )
    return run


def _list_committed(storage: Storage, run: ScaleRun) -> list[int]:
    names = set(storage.list(f"{run.folder}/status"))
    return [each for each in run.partitions if f"{PARTITION.format(each)}.parquet" in names]


def find_missing(output: str, run: ScaleRun) -> list[int]:
    """Return the partitions that are not committed, the slowest of the last run first."""
    # A slow one that begins last keeps a whole cluster waiting: a daily run took twice as long.
    storage = Storage(output)
    missing = set(run.partitions).difference(_list_committed(storage, run))
    path = SUCCESS.format(run=run.previous)
    slowest = storage.load(path, lambda said: [int(n) for n in said["slowest"]]) or []
    order = {partition: place for place, partition in enumerate(slowest)}
    return sorted(missing, key=lambda each: order.get(each, each))


def finish(output: str, run: ScaleRun) -> Totals:
    """Finish a run whose partitions are all committed; return its sums.

    Files of attempts that do not count are removed, and the states that this run has replaced. Safe
    to repeat, and to call from several processes.

    Raises OutputError if a partition is not committed, or if another run has followed.
    """
    storage = Storage(output)
    last = RUN.format(_find_last(storage))
    if run.folder != last:
        raise OutputError(f"{run.folder} is over, because {last} has begun: finish that")
    commits = _load_commits(storage, run)
    missing = len(run.partitions) - len(commits)
    if missing:
        raise OutputError(
            f"{missing} of {len(run.partitions)} partitions of {run.folder} are not committed: "
            "run the same command again, which reads only these"
        )
    _remove_uncommitted(storage, run, {commit.token for commit in commits})
    slowest = sorted(commits, key=lambda commit: -commit.seconds)
    success = {"slowest": [commit.partition for commit in slowest]}
    storage.create(SUCCESS.format(run=run.folder), write_json(success))
    return sum_commits(storage, run, commits)


def sum_commits(storage: Storage, run: ScaleRun, commits: Iterable[Commit] | None = None) -> Totals:
    """Return the sums over the partitions of a run that are committed."""
    finished = storage.read(SUCCESS.format(run=run.folder)) is not None
    totals = Totals(run=run.folder, finished=finished, partitions=len(run.partitions))
    return reduce(Totals.count, commits or _load_commits(storage, run), totals)


def status(output: str) -> Totals:
    """Return the sums of the last run, finished or not.

    Raises OutputError if the output has no run.
    """
    storage = Storage(output)
    return sum_commits(storage, _load_last(storage))


def iterate_statuses(output: str) -> Iterator[Row]:
    """Yield the status rows of the hosts in the committed partitions of the last run."""
    storage = Storage(output)
    run = _load_last(storage)
    for partition in run.partitions:
        if found := load_commit(storage, run.folder, partition):
            yield from found[1].to_pylist()


def _load_last(storage: Storage) -> ScaleRun:
    number = _find_last(storage)
    if not number:
        raise OutputError(f"{storage.output} has no run")
    return load_run(storage, RUN.format(number))


def _load_commits(storage: Storage, run: ScaleRun) -> list[Commit]:
    load = partial(load_commit, storage, run.folder)
    with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
        return [found[0] for found in pool.map(load, _list_committed(storage, run)) if found]


def _remove_uncommitted(storage: Storage, run: ScaleRun, tokens: set[str]) -> None:
    """Remove files of attempts that do not count, and the states before."""
    folders = [f"{run.folder}/{kind}" for kind in ("urls", "status", "state")]
    for folder in folders + [f"{run.previous}/state"] * bool(run.previous):
        for name in storage.list(folder):
            found = _OWN.fullmatch(name)
            if found and (found["is_part"] or found["token"] not in {None, *tokens}):
                storage.remove(f"{folder}/{name}")
