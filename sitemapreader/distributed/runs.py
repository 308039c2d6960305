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
import pyarrow.parquet as pq
from attrs.validators import instance_of, matches_re, optional

from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.planning import HostList, load_list
from sitemapreader.distributed.storage import (
    PARTITION,
    RUN,
    STATE,
    STATUS,
    SUCCESS,
    TRIES,
    URLS,
    OutputError,
    Storage,
    write_json,
)
from sitemapreader.output.arrow import make_schema
from sitemapreader.output.columns import OUTCOME_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Row = dict[str, Any]
_TIME = pa.timestamp("ms", "UTC")
STATUS_SCHEMA = pa.schema(
    [
        *make_schema(OUTCOME_COLUMNS),
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
_FOOTER_BYTES = 1 << 16
_DAMAGE = (
    *(OSError, OverflowError, pa.ArrowException),  # of Parquet
    *(AttributeError, LookupError, TypeError, ValueError),  # of what it holds
)
_REQUESTS_AT_ONCE = 32
"""Status files that are read at once, because an object store answers slowly."""


def _count(counts: Mapping[str, int]) -> Counter[str]:
    return Counter({name: int(number) for name, number in counts.items()})


@attrs.frozen(kw_only=True)
class Commit:
    """The attempt at a partition that counts, and its sums.

    Attributes:
        partition: its number.
        token: of the attempt; a part of the names of its files.
        hosts: how many hosts it has, and so rows of status.
        urls: how many URLs were delivered, each a row in its files.
        unlisted: how many URLs became unlisted, each a row as well.
        files: how many Parquet files of URLs it has.
        has_state: whether it has a packed state.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
        statuses: how many hosts ended in each way.
        reasons: how many were not read completely for each reason.
        put_off: how many are not due again yet.
        seconds: how long it took.
    """

    partition: int
    # SECURITY: others may be able to write the storage. The names of files follow from this, so
    # that nothing else is read, or removed.
    token: str = attrs.field(validator=matches_re(r"[0-9a-f]{16}"))
    hosts: int = attrs.field(validator=instance_of(int))
    urls: int = attrs.field(validator=instance_of(int))
    unlisted: int = attrs.field(validator=instance_of(int))
    files: int = attrs.field(validator=instance_of(int))
    has_state: bool
    memory: str
    statuses: Counter[str] = attrs.field(converter=_count)
    reasons: Counter[str] = attrs.field(converter=_count)
    put_off: int = attrs.field(validator=instance_of(int))
    seconds: float = attrs.field(validator=instance_of(float))

    def list_files(self, run: str) -> list[str]:
        """Return the paths of its files of URLs."""
        make = partial(URLS.format, run=run, partition=self.partition, token=self.token)
        return [make(number=number) for number in range(self.files)]

    def name_state(self, run: str) -> str | None:
        """Return the path of its packed state; `None` without one."""
        number = int(run.rpartition("/")[2])
        name = STATE.format(partition=self.partition, number=number, token=self.token)
        return name if self.has_state else None

    def list_all(self, run: str) -> list[str]:
        """Return the paths of all its files but the status file."""
        return [*self.list_files(run), *filter(None, [self.name_state(run)])]


def create_commit(storage: Storage, run: str, commit: Commit, rows: list[Row]) -> Commit:
    """Commit an attempt, with the rows of its hosts; return the commit that counts."""
    path = STATUS.format(run=run, partition=commit.partition)
    schema = STATUS_SCHEMA.with_metadata({_COMMIT_KEY: json.dumps(attrs.asdict(commit))})
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), file, compression="zstd")
    if storage.create(path, file.getvalue()):
        return commit
    done = load_commit(storage, run, commit.partition)
    if done is None:
        raise OSError(f"{storage.output}/{path} was there, and is gone")
    if done.token != commit.token:  # it may be ours: see `create`
        for each in commit.list_all(run):
            storage.remove(each)
    return done


def load_commit(storage: Storage, run: str, partition: int) -> Commit | None:
    """Return the commit of a partition; `None` if there is none.

    Raises OutputError for a damaged file.
    """
    path = STATUS.format(run=run, partition=partition)
    content = storage.read(path, last=_FOOTER_BYTES)
    if content is None:
        return None
    try:
        said = json.loads((pq.read_schema(io.BytesIO(content)).metadata or {})[_COMMIT_KEY])
        commit = Commit(**said | {"partition": partition})
    except _DAMAGE as error:
        raise _blame(storage, path, error) from None
    return commit


def load_rows(storage: Storage, run: str, partition: int) -> dict[str, Row]:
    """Load the rows of a partition by site; raise OutputError for a damaged file."""
    path = STATUS.format(run=run, partition=partition)
    content = io.BytesIO(storage.read(path) or b"")
    try:
        rows: list[Row] = pq.read_table(content, schema=STATUS_SCHEMA).to_pylist()
    except _DAMAGE as error:
        raise _blame(storage, path, error) from None
    return {row["site"]: row for row in rows}


def _blame(storage: Storage, path: str, error: Exception) -> OutputError:
    return OutputError(
        f"{storage.output}/{path} is damaged ({error}): remove it, and run the same again"
    )


def list_committed(storage: Storage, run: str) -> set[int]:
    """Return the partitions of a run that are committed."""
    names = map(_STATUS_NAME.fullmatch, storage.list(f"{run}/status"))
    return {int(found[1]) for found in names if found}


_STATUS_NAME = re.compile(r"p-(\d{5})\.parquet")
_WRITTEN = re.compile(
    r"(?:p-\d{5}(?:-[0-9a-f]{16}-\d+)?\.parquet|(\d{4,})-[0-9a-f]{16}\.db\.zst)"
    r"(?:\.[0-9a-f]{8}\.part)?"
)
"""Names of files that attempts write, whole or not; the group is the run of a state."""


@attrs.frozen(kw_only=True)
class ScaleRun:
    """The facts that all workers of a run share; its `run.json` never changes.

    Attributes:
        folder: its folder in the output; ends with its number.
        listed: its hosts.
        options: how they are read.
        previous: folder of the run before, whose status and state it continues; `None` for the
            first one.
        full: whether it forgets the state: every URL is read and delivered again.
        retry: whether it reads hosts that are not due yet, because they failed.
        started: when it began, UTC.
    """

    folder: str
    listed: HostList
    options: ScaleOptions
    previous: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    full: bool = False
    retry: bool = False
    started: datetime

    @property
    def number(self) -> int:
        """Its number."""
        return int(self.folder.rpartition("/")[2])

    @property
    def partitions(self) -> range:
        """All its partitions."""
        return range(self.listed.partitions)

    def begin_totals(self, *, finished: bool = False) -> Totals:
        """Return sums over no commit."""
        many = len(self.partitions)
        return Totals(run=self.folder, started=self.started, finished=finished, partitions=many)


@attrs.frozen(kw_only=True)
class Totals:
    """The sums over the commits of a run.

    Attributes:
        run: its folder.
        started: when it began, UTC.
        finished: whether all partitions are committed and the run was finished.
        partitions: how many partitions it has.
        committed: how many of them are committed.
        hosts: hosts in these.
        urls: how many URLs were delivered.
        unlisted: how many URLs are no longer listed.
        statuses: how many hosts ended in each way.
        reasons: how many were not read completely for each reason.
        put_off: how many are not due again yet, because they failed, have no sitemap or asked for
            it; `retry=True` reads them, too.
        failures: partitions that could not be committed -> the error of the last try.
    """

    run: str
    started: datetime
    finished: bool
    partitions: int
    committed: int = 0
    hosts: int = 0
    urls: int = 0
    unlisted: int = 0
    statuses: Counter[str] = attrs.field(factory=dict, converter=_count)
    reasons: Counter[str] = attrs.field(factory=dict, converter=_count)
    put_off: int = 0
    failures: dict[int, str] = attrs.field(factory=dict)

    def add(self, commit: Commit) -> Totals:
        """Return the sums with one more commit."""
        sums = ("hosts", "urls", "unlisted", "statuses", "reasons", "put_off")
        added = {name: getattr(self, name) + getattr(commit, name) for name in sums}
        return attrs.evolve(self, committed=self.committed + 1, **added)

    def raise_for_failures(self) -> None:
        """Raise OutputError if partitions could not be committed."""
        for partition, reason in self.failures.items():
            others = len(self.failures) - 1
            more = f" (and {others} other partitions)" if others else ""
            raise OutputError(
                f"partition {partition} of {self.run} could not be committed{more}: {reason}; "
                "correct that and run the same command again, which reads only what is missing"
            )


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
    numbers = list_runs(storage)
    last = numbers[-1] if numbers else 0
    if last and storage.read(SUCCESS.format(run=RUN.format(last))) is None:
        run = load_run(storage, RUN.format(last))
        if listed is not None and listed.folder != run.listed.folder:
            raise OutputError(
                f"{run.folder} in {storage.output} is not finished and has another list of hosts: "
                "finish it first (leave the list out), then give the new one"
            )
        return run
    previous = RUN.format(last) if last else None
    if listed is None:
        if previous is None:
            raise OutputError(f"{storage.output} has no list of hosts yet: give one")
        listed = load_run(storage, previous).listed
    folder = RUN.format(last + 1)
    content = {
        "list": listed.folder,
        "previous": previous,
        "full": full,
        "retry": retry,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": options.to_json(),
    }
    storage.create(f"{folder}/run.json", write_json(content))  # another worker may be first
    return load_run(storage, folder)


def list_runs(storage: Storage) -> list[int]:
    """Return the numbers of the runs of an output, in their order."""
    return [int(name) for name in storage.list("runs") if name.isdecimal()]


def load_run(storage: Storage, folder: str) -> ScaleRun:
    """Load the `run.json` of a run; raise OutputError if it is missing or invalid."""

    def make(said: dict[str, Any]) -> ScaleRun:
        return ScaleRun(
            folder=folder,
            listed=load_list(storage, said["list"]),
            options=ScaleOptions.from_json(said["options"]),
            previous=said["previous"],
            full=said["full"],
            retry=said["retry"],
            started=datetime.fromisoformat(said["started"]),
        )

    run = storage.load(f"{folder}/run.json", make)
    if run is None:
        raise OutputError(
            f"{storage.output} has no {folder}: every worker must reach it, so on several machines "
            "the output is a shared folder or a URL such as s3://bucket/crawl"
        )
    return run


def find_missing(output: str, run: ScaleRun) -> list[int]:
    """Return the partitions that are not committed, the slowest of the last run first.

    Those that were begun come last: somebody may still be at work on them.
    """
    storage = Storage(output)
    missing = set(run.partitions) - list_committed(storage, run.folder)
    begun = set(storage.list(TRIES.format(run=run.folder)))
    seconds: list[float] = []
    if run.previous:
        path = SUCCESS.format(run=run.previous)
        seconds = storage.load(path, lambda said: [float(n) for n in said["seconds"]]) or []
    slowest = dict(enumerate(seconds))
    return sorted(
        missing, key=lambda each: (PARTITION.format(each) in begun, -slowest.get(each, 0.0), each)
    )


def finish(output: str, run: ScaleRun) -> Totals:
    """Finish a run whose partitions are all committed; return its sums.

    Files of attempts that do not count are removed, and the states that this run has replaced. Safe
    to repeat, and to call from several processes.

    Raises OutputError if a partition is not committed, or if another run has followed.
    """
    storage = Storage(output)
    last = RUN.format(list_runs(storage)[-1])
    if run.folder != last:
        raise OutputError(f"{run.folder} is over, because {last} has begun: finish that")
    missing = find_missing(output, run)
    if missing:
        raise OutputError(
            f"{len(missing)} of {len(run.partitions)} partitions of {run.folder} are not committed:"
            " run the same command again, which reads only these"
        )
    commits = _load_commits(storage, run)
    _remove_uncommitted(storage, run, commits)
    totals = reduce(Totals.add, commits, run.begin_totals())
    success = {
        "hosts": totals.hosts,
        "urls": totals.urls,
        "statuses": totals.statuses,
        "seconds": [commit.seconds for commit in commits],
    }
    storage.create(SUCCESS.format(run=run.folder), write_json(success))
    return attrs.evolve(totals, finished=True)


def sum_commits(storage: Storage, run: ScaleRun) -> Totals:
    """Return the sums over the partitions of a run that are committed."""
    finished = storage.read(SUCCESS.format(run=run.folder)) is not None
    return reduce(Totals.add, _load_commits(storage, run), run.begin_totals(finished=finished))


def status(output: str, number: int | None = None) -> Totals:
    """Return the sums of a run, finished or not: of the last one, or of that number.

    Raises OutputError if the output has no such run.
    """
    storage = Storage(output)
    numbers = list_runs(storage)
    if not numbers or (number is not None and number not in numbers):
        raise OutputError(f"{output} has no run{'' if number is None else f' {number}'}")
    return sum_commits(storage, load_run(storage, RUN.format(number or numbers[-1])))


def iterate_statuses(output: str, number: int | None = None) -> Iterator[Row]:
    """Yield the status rows of the hosts in a run's committed partitions."""
    storage = Storage(output)
    run = load_run(storage, RUN.format(number or max(list_runs(storage))))
    for partition in sorted(list_committed(storage, run.folder)):
        yield from load_rows(storage, run.folder, partition).values()


def _load_commits(storage: Storage, run: ScaleRun) -> list[Commit]:
    committed = sorted(list_committed(storage, run.folder))
    with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
        return list(filter(None, pool.map(partial(load_commit, storage, run.folder), committed)))


def _remove_uncommitted(storage: Storage, run: ScaleRun, commits: list[Commit]) -> None:
    """Remove files of attempts that died or were second, and old states."""
    named = {path for commit in commits for path in commit.list_all(run.folder)}
    named |= {STATUS.format(run=run.folder, partition=each) for each in run.partitions}
    states = (f"state/{PARTITION.format(each)}" for each in run.partitions)
    for folder in (f"{run.folder}/urls", f"{run.folder}/status", *states):
        for found in filter(None, map(_WRITTEN.fullmatch, storage.list(folder))):
            # A state of a later run is not ours to remove.
            if int(found[1] or 0) <= run.number and f"{folder}/{found[0]}" not in named:
                storage.remove(f"{folder}/{found[0]}")
