"""Runs of an output, and the commits of their partitions.

A partition may be attempted several times; its commit says which attempt counts.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

import attrs

from sitemapreader.distributed.hosts import Row, load_rows
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.planning import HostList, load_list
from sitemapreader.distributed.storage import (
    ATTEMPTS,
    COMMIT,
    COMMITS,
    PARTITION,
    RUN,
    STATE,
    STATUS,
    SUCCESS,
    URLS,
    OutputError,
    Storage,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.frozen(kw_only=True)
class Commit:
    """The files and sums that an attempt at a partition has written.

    Attributes:
        partition: its number.
        attempt: number of the attempt.
        hosts: how many hosts it has, and so rows of status.
        urls: how many URLs were delivered, each a row in its files.
        removed: how many URLs are no longer listed, each a row as well.
        files: paths of the Parquet files of URLs.
        status: path of the Parquet file with a row for each host.
        state: path of the packed state; `None` without one.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
        statuses: how many hosts ended in each way.
        reasons: how many were not read completely for each reason.
        put_off: how many are not due again yet.
        seconds: how long it took.
    """

    partition: int
    attempt: int
    hosts: int
    urls: int
    removed: int
    files: list[str]
    status: str
    state: str | None
    memory: str
    statuses: dict[str, int]
    reasons: dict[str, int]
    put_off: int
    seconds: float

    def paths(self) -> list[str]:
        """Return the paths of all its files."""
        return [*self.files, self.status, *([self.state] if self.state else [])]


_KINDS = {name: get_origin(kind) or kind for name, kind in get_type_hints(Commit).items()}
_KINDS |= {"state": str | None, "seconds": float | int}
"""The types of its fields in JSON."""


def name_files(run: str, partition: int, attempt: int, files: int) -> dict[str, Any]:
    """Return the paths of the files of an attempt, as the fields of its commit."""
    place = {"run": run, "partition": partition, "attempt": attempt}
    return {
        "files": [URLS.format(**place, number=number) for number in range(files)],
        "status": STATUS.format(**place),
        "state": STATE.format(**place, number=int(run.rpartition("/")[2])),
    }


def begin_attempt(storage: Storage, run: str, partition: int) -> int:
    """Begin the next attempt at a partition; return the number in names of its files."""
    folder = f"{ATTEMPTS.format(run=run)}/{PARTITION.format(partition)}"
    while True:
        begun = (int(name) for name in storage.list(folder) if name.isdecimal())
        number = max(begun, default=0) + 1
        if storage.create(f"{folder}/{number:04}", b""):
            return number


def create_commit(storage: Storage, run: str, commit: Commit) -> bool:
    """Commit an attempt; return whether it is the first one of its partition."""
    path = COMMIT.format(run=run, partition=commit.partition)
    return storage.create(path, write_json(attrs.asdict(commit)))


def load_commit(storage: Storage, run: str, partition: int) -> Commit | None:
    """Return the commit of a partition; `None` if there is none.

    SECURITY: others may be able to write the storage. A commit names files of its own partition
    only, so that nothing else is read, or removed.
    """
    path = COMMIT.format(run=run, partition=partition)
    content = storage.read_json(path, **_KINDS)
    if content is None:
        return None
    try:
        commit = Commit(**content)
        named = name_files(run, partition, commit.attempt, len(commit.files))
        for counts in (commit.statuses, commit.reasons):
            sum(counts.values())
    except (TypeError, ValueError) as error:
        raise OutputError(f"{storage.output}/{path} is not a commit: {error}; remove it") from None
    for name, paths in named.items():
        if content[name] not in (paths, None if name == "state" else paths):
            raise OutputError(
                f"{storage.output}/{path} is not a commit: its {name} must be {paths}; remove it"
            )
    return commit


def list_committed(storage: Storage, run: str) -> set[int]:
    """Return the partitions of a run that are committed."""
    names = map(_COMMIT.fullmatch, storage.list(COMMITS.format(run=run)))
    return {int(found[1]) for found in names if found}


_COMMIT = re.compile(r"p-(\d{5})\.json")
_STATE_FOLDER = re.compile(r"p-\d{5}")
_WRITTEN = re.compile(r"p-\d{5}-\d{4,}(?:-\d{4,})?\.parquet|(\d{4,})-\d{4,}\.db\.zst")
"""Names of files that attempts write; the group is the run of a state."""


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
    previous: str | None = None
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
        return Totals(
            run=self.folder,
            started=self.started,
            finished=finished,
            partitions=len(self.partitions),
        )


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
        removed: how many URLs are no longer listed.
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
    removed: int = 0
    statuses: dict[str, int] = attrs.field(factory=dict)
    reasons: dict[str, int] = attrs.field(factory=dict)
    put_off: int = 0
    failures: dict[int, str] = attrs.field(factory=dict)

    def add(self, commit: Commit) -> Totals:
        """Return the sums with one more commit."""
        return attrs.evolve(
            self,
            committed=self.committed + 1,
            hosts=self.hosts + commit.hosts,
            urls=self.urls + commit.urls,
            removed=self.removed + commit.removed,
            statuses=dict(Counter(self.statuses) + Counter(commit.statuses)),
            reasons=dict(Counter(self.reasons) + Counter(commit.reasons)),
            put_off=self.put_off + commit.put_off,
        )

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
    content = storage.read_json(
        f"{folder}/run.json", list=str, previous=str | None, full=bool, retry=bool, started=str
    )
    if content is None:
        raise OutputError(
            f"{storage.output} has no {folder}: every worker must reach it, so on several machines "
            "the output is a shared folder or a URL such as s3://bucket/crawl"
        )
    try:
        return ScaleRun(
            folder=folder,
            listed=load_list(storage, content["list"]),
            options=ScaleOptions.from_json(content["options"]),
            previous=content["previous"],
            full=content["full"],
            retry=content["retry"],
            started=datetime.fromisoformat(content["started"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OutputError(
            f"{storage.output}/{folder}/run.json is not of this version ({error}): choose another "
            "output"
        ) from None


def find_missing(output: str, run: ScaleRun) -> list[int]:
    """Return the partitions that are not committed, the slowest of the last run first.

    Those that were begun come last: somebody may still be at work on them.
    """
    storage = Storage(output)
    committed = list_committed(storage, run.folder)
    missing = [partition for partition in run.partitions if partition not in committed]
    begun = set(storage.list(ATTEMPTS.format(run=run.folder)))
    success: dict[str, Any] = {"seconds": []}
    if run.previous:
        success = storage.read_json(SUCCESS.format(run=run.previous), seconds=list) or success
    seconds = {n: each for n, each in enumerate(success["seconds"]) if isinstance(each, float)}
    return sorted(
        missing, key=lambda each: (PARTITION.format(each) in begun, -seconds.get(each, 0.0))
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
        "seconds": [round(commit.seconds, 3) for commit in commits],
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
        commit = load_commit(storage, run.folder, partition)
        if commit is not None:
            yield from load_rows(storage, commit.status).values()


def _load_commits(storage: Storage, run: ScaleRun) -> list[Commit]:
    found = (load_commit(storage, run.folder, each) for each in run.partitions)
    return [commit for commit in found if commit is not None]


def _remove_uncommitted(storage: Storage, run: ScaleRun, commits: list[Commit]) -> None:
    """Remove files of attempts that died or were second, and old states."""
    named = {path for commit in commits for path in commit.paths()}
    folders = [f"{run.folder}/urls", f"{run.folder}/status"]
    folders += [f"state/{name}" for name in storage.list("state") if _STATE_FOLDER.fullmatch(name)]
    for folder in folders:
        if storage.is_link(folder):  # others may have put it there
            continue
        written = filter(None, map(_WRITTEN.fullmatch, storage.list(folder)))
        # A state of a later run is not ours to remove.
        paths = (f"{folder}/{found[0]}" for found in written if int(found[1] or 0) <= run.number)
        storage.remove(path for path in paths if path not in named)
    storage.remove_leftovers(run.folder)
