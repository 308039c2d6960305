"""Attempts at a partition, and the commit that says which of them counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.distributed.planning import (
    name_attempts,
    name_commit,
    name_partition,
    name_state_folder,
    partition_of_commit,
    write_json,
)
from sitemapreader.distributed.storage import OutputError

if TYPE_CHECKING:
    from sitemapreader.distributed.storage import Storage


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


_KINDS = dict.fromkeys(("partition", "attempt", "hosts", "urls", "put_off"), int) | {
    "files": list,
    "status": str,
    "state": str | None,
    "memory": str,
    "statuses": dict,
    "reasons": dict,
    "seconds": float | int,
}
"""The types of its fields in JSON."""


def begin_attempt(storage: Storage, run: str, partition: int) -> int:
    """Begin the next attempt at a partition; return the number in names of its files."""
    folder = name_attempts(run, partition)
    while True:
        begun = (int(name) for name in storage.list(folder) if name.isdecimal())
        number = max(begun, default=0) + 1
        if storage.create(f"{folder}/{number:04}", b""):
            return number


def create_commit(storage: Storage, run: str, commit: Commit) -> bool:
    """Commit an attempt; return whether it is the first one of its partition."""
    return storage.create(name_commit(run, commit.partition), write_json(attrs.asdict(commit)))


def load_commit(storage: Storage, run: str, partition: int) -> Commit | None:
    """Return the commit of a partition; `None` if there is none.

    SECURITY: others may be able to write the storage. A commit names files of its own partition
    only, so that nothing else is read, or removed.
    """
    path = name_commit(run, partition)
    content = storage.read_json(path, **_KINDS)
    if content is None:
        return None
    try:
        commit = Commit(**content)
        _check_paths(commit, run, partition)
        for counts in (commit.statuses, commit.reasons):
            sum(counts.values())
    except (TypeError, ValueError) as error:
        raise OutputError(f"{storage.output}/{path} is not a commit: {error}; remove it") from None
    return commit


def list_committed(storage: Storage, run: str) -> set[int]:
    """Return the partitions of a run that are committed."""
    found = (partition_of_commit(name) for name in storage.list(f"{run}/commits"))
    return {partition for partition in found if partition is not None}


def _check_paths(commit: Commit, run: str, partition: int) -> None:
    name, attempt = name_partition(partition), f"{commit.attempt:04}"
    number = re.escape(run.rpartition("/")[2])
    allowed = {
        "urls": rf"{re.escape(run)}/urls/{name}-{attempt}-\d{{4,}}\.parquet",
        "status": rf"{re.escape(run)}/status/{name}-{attempt}\.parquet",
        "state": rf"{name_state_folder(partition)}/{number}-{attempt}\.db\.zst",
    }
    wanted: list[tuple[str, Any]] = [("urls", path) for path in commit.files]
    wanted += [("status", commit.status), *([("state", commit.state)] if commit.state else [])]
    for kind, path in wanted:
        if not isinstance(path, str) or not re.fullmatch(allowed[kind], path):
            raise ValueError(f"{path!r} is not a path of {name}, attempt {commit.attempt}")
