"""The commits of the partitions of a run, and their sums.

A partition may be attempted several times. Its status file is created only once, and names the
attempt that counts. A file that no status file names does not belong to the output.
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

from sitemapreader._types.counts import count_units
from sitemapreader.distributed.planning import ScaleRun, find_last
from sitemapreader.distributed.storage import (
    PARTITION,
    STATUS,
    SUCCESS,
    OutputError,
    Storage,
)
from sitemapreader.output import OUTCOME_COLUMNS, make_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]
_TIME_COLUMN = pa.timestamp("ms", "UTC")
OUTCOME_SCHEMA = make_schema(OUTCOME_COLUMNS)
STATUS_SCHEMA = pa.schema(
    [
        *OUTCOME_SCHEMA,
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("read", pa.bool_(), nullable=False),
        pa.field("read_at", _TIME_COLUMN),
        pa.field("failures", pa.int32(), nullable=False),
        pa.field("last_ok", _TIME_COLUMN),
        pa.field("not_before", _TIME_COLUMN),
    ]
)
"""`read` is False if the host was not due, so that its row is from an earlier run."""
_COMMIT_KEY = b"sitemapreader.commit"
"""Key in the metadata of a status file, whose value is the commit as JSON."""
_ATTEMPT_FILES = re.compile(
    r"p-\d{5}(-(?P<token>[0-9a-f]{16}))?[-.].*?(?P<is_part>\.part)?", re.ASCII
)
"""Names of files of attempts; some are only a part of a file."""


@attrs.frozen(kw_only=True)
class Totals:
    """The sums over the hosts of a run, or of one partition.

    Attributes:
        run: folder of the run.
        finished: whether all partitions are committed and the run was finished.
        partitions: how many partitions it has.
        committed: how many of them are committed; the sums are over these.
        failures: partitions that could not be committed -> the error of the last try.
        hosts: how many they are.
        listed: how many hosts the run has, in all partitions.
        seconds: time since the run began, or until it was finished; 0 if that is unknown.
        urls: how many URLs were delivered.
        unlisted: how many URLs are no longer listed, since this run.
        gone: how many missing URLs are known to be gone, since this run.
        statuses: how many hosts ended in each way.
        reasons: how many were not read completely for each reason.
        skipped: how many this run did not read, because they were not due.
        put_off: how many are not due again yet, because they failed, have no sitemap or asked for
            it; `retry=True` reads them, too.
    """

    run: str
    finished: bool = False
    partitions: int
    failures: dict[int, str] = attrs.field(factory=dict)
    committed: int = 0
    hosts: int = 0
    listed: int = 0
    seconds: float = 0.0
    urls: int = 0
    unlisted: int = 0
    gone: int = 0
    statuses: Counter[str] = attrs.field(factory=Counter)
    reasons: Counter[str] = attrs.field(factory=Counter)
    skipped: int = 0
    put_off: int = 0

    @property
    def hosts_per_second(self) -> float:
        """The mean rate since the run began; 0 if that is unknown."""
        return self.hosts / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and the rate, as JSON's types."""
        rate = round(self.hosts_per_second, 3)
        return attrs.asdict(self) | {"hosts_per_second": rate}

    def count(self, commit: Commit) -> Totals:
        """Return the sums including one more commit."""
        sums = {}
        for name, value in commit.sums.items():
            sums[name] = getattr(self, name) + value
        return attrs.evolve(self, **sums)


def _add_up(rows: pa.Table) -> dict[str, Any]:
    """Return the sums of `Totals` over the rows of a partition."""
    read_rows = rows.filter(rows["read"])
    unread_rows = rows.filter(pc.invert(rows["read"]))
    return {
        "committed": 1,
        "hosts": len(rows),
        "urls": _add_up_column(read_rows["entries"]),
        "unlisted": _add_up_column(read_rows["unlisted"]),
        "gone": _add_up_column(read_rows["gone"]),
        "statuses": Counter(rows["status"].to_pylist()),
        "reasons": Counter(filter(None, rows["reason"].to_pylist())),
        "skipped": _count_put_off(unread_rows),
        "put_off": _count_put_off(rows),
    }


def _add_up_column(values: pa.ChunkedArray) -> int:
    return pc.sum(values).as_py() or 0


def _count_put_off(rows: pa.Table) -> int:
    """Return how many hosts are not due yet."""
    return _add_up_column(pc.greater(rows["not_before"], datetime.now(UTC)))


@attrs.frozen(kw_only=True)
class Commit:
    """The attempt at a partition that counts.

    Attributes:
        partition: its number.
        token: of the attempt; a part of the names of its files.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
        seconds: how long the attempt took.
        sums: its part of the sums of `Totals`.
    """

    partition: int
    # SECURITY: others may be able to write to the storage. File names are made from this token, so
    # no other file is read or removed.
    token: str = attrs.field(validator=matches_re(r"[0-9a-f]{16}"))
    memory: str
    seconds: float = attrs.field(validator=instance_of(float))
    sums: dict[str, Any] = attrs.field(factory=dict, repr=False)


def create_commit(
    storage: Storage,
    run: str,
    commit: Commit,
    rows: pa.Table,
) -> Commit:
    """Commit an attempt, with the rows of its hosts; return the commit that counts."""
    path = STATUS.format(run=run, partition=commit.partition)
    file = io.BytesIO()
    metadata = {_COMMIT_KEY: json.dumps(attrs.asdict(commit))}
    pq.write_table(rows.replace_schema_metadata(metadata), file, compression="zstd")
    storage.create(path, file.getvalue())
    # The file may be ours or that of another attempt: see `Storage.create`.
    counted = load_commit(storage, run, commit.partition)
    if counted is None:
        raise OSError(f"{storage.output}/{path} has disappeared")
    return counted[0]


def load_commit(
    storage: Storage,
    run: str,
    partition: int,
) -> tuple[Commit, pa.Table] | None:
    """Return the commit of a partition and the rows of its hosts, if there is one.

    Raises OutputError for a damaged file.
    """
    path = STATUS.format(run=run, partition=partition)
    content = storage.read(path)
    if content is None:
        return None
    try:
        # Without threads, neither of Arrow's pool for reading ahead nor of that for decoding: one
        # that frees the content while Python exits aborts the process.
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        table = file.read(use_threads=False)
        rows = table.select(STATUS_SCHEMA.names).cast(STATUS_SCHEMA)
        fields = json.loads(file.schema_arrow.metadata[_COMMIT_KEY])
        fields |= {"partition": partition, "sums": _add_up(rows)}
        return Commit(**fields), rows
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError) as error:
        raise OutputError(
            f"{storage.output}/{path} is damaged ({error}): remove it, and run the same command "
            f"again"
        ) from None


def _list_committed(storage: Storage, run: ScaleRun) -> list[int]:
    names = set(storage.list(f"{run.folder}/status"))
    return [
        partition
        for partition in range(run.partitions)
        if f"{PARTITION.format(partition)}.parquet" in names
    ]


def find_missing(output: str, run: ScaleRun) -> list[int]:
    """Return the partitions that are not committed, the slowest of the last run first."""
    # A slow partition that begins last keeps a whole cluster waiting: a daily run took twice as
    # long.
    storage = Storage(output)
    missing = set(range(run.partitions)).difference(_list_committed(storage, run))
    path = SUCCESS.format(run=run.previous)
    slowest = storage.load(path, _parse_slowest) or []
    ranks = {partition: rank for rank, partition in enumerate(slowest)}
    return sorted(missing, key=lambda partition: ranks.get(partition, partition))


def _parse_slowest(content: Any) -> list[int]:
    return [int(partition) for partition in content["slowest"]]


def finish(output: str, run: ScaleRun) -> Totals:
    """Finish a run whose partitions are all committed; return its sums.

    Files of other attempts are removed, and the states that this run has replaced. The call may be
    repeated, and made by several processes.

    Raises OutputError if a partition is not committed, or if another run has followed.
    """
    storage = Storage(output)
    last = _load_last(storage).folder
    if run.folder != last:
        raise OutputError(
            f"{run.folder} is over, because {last} has begun: finish that"
        )
    commits = _load_commits(storage, run)
    missing = run.partitions - len(commits)
    if missing:
        raise OutputError(
            f"{run.folder} lacks {missing} of {count_units(run.partitions, 'partitions')}: "
            "run the same command again, which reads only these"
        )
    _remove_uncommitted(storage, run, {commit.token for commit in commits})
    slowest = sorted(commits, key=lambda commit: -commit.seconds)
    success = {
        "slowest": [commit.partition for commit in slowest],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    storage.create(SUCCESS.format(run=run.folder), json.dumps(success).encode())
    return status(output)


def status(output: str) -> Totals:
    """Return the sums of the last run, finished or not.

    Raises OutputError if the output has no run.
    """
    storage = Storage(output)
    run = _load_last(storage)
    ended = storage.load(SUCCESS.format(run=run.folder), _parse_end)
    totals = Totals(
        run=run.folder,
        finished=ended is not None,
        partitions=run.partitions,
        listed=run.hosts,
        seconds=measure_seconds(run.begun, ended or ""),
    )
    return reduce(Totals.count, _load_commits(storage, run), totals)


def _parse_end(content: Any) -> str:
    return str(content.get("finished", ""))


def measure_seconds(begun: str, ended: str = "") -> float:
    """Return the seconds between two moments, or until now; 0 for texts that are none."""
    try:
        end = datetime.fromisoformat(ended) if ended else datetime.now(UTC)
        return max(0.0, (end - datetime.fromisoformat(begun)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def iterate_statuses(output: str) -> Iterator[Row]:
    """Yield the status rows of the hosts in the committed partitions of the last run."""
    storage = Storage(output)
    run = _load_last(storage)
    for partition in range(run.partitions):
        if commit := load_commit(storage, run.folder, partition):
            _, rows = commit
            yield from rows.to_pylist()


def _load_last(storage: Storage) -> ScaleRun:
    last = find_last(storage)
    if last is None:
        raise OutputError(f"{storage.output} has no run")
    return last


def _load_commits(storage: Storage, run: ScaleRun) -> list[Commit]:
    load = partial(load_commit, storage, run.folder)
    with ThreadPoolExecutor(32) as pool:  # an object store responds slowly
        commits = pool.map(load, _list_committed(storage, run))
        return [commit for commit, _ in filter(None, commits)]


def _remove_uncommitted(
    storage: Storage,
    run: ScaleRun,
    tokens: set[str],
) -> None:
    """Remove files of uncommitted attempts, and the states of the previous run."""
    folders = [f"{run.folder}/{name}" for name in ("urls", "status", "state")]
    if run.previous:
        folders.append(f"{run.previous}/state")
    for folder in folders:
        for name in storage.list(folder):
            match = _ATTEMPT_FILES.fullmatch(name)
            if match and (match["is_part"] or match["token"] not in {None, *tokens}):
                storage.remove(f"{folder}/{name}")
