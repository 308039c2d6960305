"""A run on a Dask cluster: partitions are handed out until each is committed."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import attrs
import dask
from distributed import Client, LocalCluster, as_completed

from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.partition import run_partitions
from sitemapreader.distributed.planning import plan
from sitemapreader.distributed.runs import (
    Commit,
    ScaleRun,
    Totals,
    begin_run,
    find_missing,
    finish,
    list_committed,
    load_commit,
    sum_commits,
)
from sitemapreader.distributed.storage import Storage
from sitemapreader.event_loop import repeat_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


MAX_TRIES = 6
"""How often a partition is begun before it counts as failed."""
_TASKS_PER_WORKER = 2
"""Tasks that a worker has at a time: one that it works on and one that waits."""
_MAX_BUNDLE = 8
"""Partitions of one task. They overlap, so that slow hosts keep a worker waiting only at the end of
a task."""
_REFILL_SECONDS = 3.0
_NO_PROFILE = {"distributed.worker.profile.enabled": False}
"""Dask's profiler looks into other threads, which has hung workers before Python 3.11.9
(python/cpython#106883)."""


def run(
    hosts: str | Path | Iterable[str] | None,
    output: str,
    *,
    client: Client | None = None,
    options: ScaleOptions = ScaleOptions(),  # noqa: B008 (a frozen value)
    partitions: int | None = None,
    full: bool = False,
    retry: bool = False,
    on_progress: Callable[[Totals], object] | None = None,
) -> Totals:
    """Read the sitemaps of many hosts into Parquet files, on all workers of a cluster.

    The same call after a crash continues the run that is not finished. The next call begins the
    next run, which reads only what has changed.

    Args:
        hosts: as `plan` takes them; `None` for the list of the run before.
        output: a folder, or a URL that fsspec knows, such as s3://bucket/crawl.
        client: of a Dask cluster; without one, one on this machine with a process a core.
        options: how hosts are read.
        partitions: as `plan` takes it.
        full: forget the state: read and deliver every URL again.
        retry: read also hosts that are not due, because they failed.
        on_progress: called with the sums so far, when a partition is committed.

    Returns:
        the sums over all partitions. Those that failed again and again are in `failures`; they are
        the only ones that the same call reads again.

    Raises OutputError and ValueError as `plan` and `begin_run` do, and OSError from the storage.
    """
    listed = None if hosts is None else plan(hosts, output, partitions=partitions)
    begun = begin_run(output, listed, options, full=full, retry=retry)
    if client is not None:
        _warn_of_profiler(client)
        return read_run(client, output, begun, on_progress)
    with open_client() as own:
        return read_run(own, output, begun, on_progress)


def read_run(
    client: Client,
    output: str,
    begun: ScaleRun,
    on_progress: Callable[[Totals], object] | None = None,
) -> Totals:
    """Read what is missing of a run, and finish it; `run` has the arguments."""
    storage = Storage(output)
    failures = ClusterRun(client, storage, begun, on_progress).read()
    if failures:
        return attrs.evolve(sum_commits(storage, begun), failures=failures)
    return finish(output, begun)


@contextmanager
def open_client(scheduler: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Connect to a scheduler, or open a cluster of processes on this machine."""
    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    with (
        dask.config.set(_NO_PROFILE),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
        repeat_in_thread(
            partial(_refill, cluster, client, len(cluster.worker_spec)), _REFILL_SECONDS
        ),
    ):
        yield client


def _refill(cluster: LocalCluster, client: Client, wanted: int) -> None:
    """Start the missing workers: one that dies while it starts takes its nanny along."""
    if len(client.scheduler_info(n_workers=-1)["workers"]) < wanted:
        cluster.scale(wanted)


def _warn_of_profiler(client: Client) -> None:
    """Warn if the workers of the caller's own cluster are profiled."""
    name = "distributed.worker.profile.enabled"
    if any(client.run(dask.config.get, name, True).values()):
        warnings.warn(
            f"Dask's profiler is on in this cluster, and has hung workers: set {name} to False "
            "where its workers start",
            stacklevel=3,
        )


class ClusterRun:
    """The distribution of partitions to the workers of a cluster."""

    def __init__(
        self,
        client: Client,
        storage: Storage,
        run: ScaleRun,
        on_progress: Callable[[Totals], object] | None,
    ) -> None:
        self._client = client
        self._storage = storage
        self._run = run
        self._on_progress = on_progress
        self._tries: dict[int, int] = {}
        self._failures: dict[int, str] = {}
        self._given: dict[str, list[int]] = {}
        self._waiting: list[list[int]] = []
        self._coming = as_completed()
        self._counted = list_committed(storage, run.folder)
        self._totals = sum_commits(storage, run)

    def read(self) -> dict[int, str]:
        """Read all partitions that are not committed; return failed ones with the reason."""
        self._waiting = self._make_bundles()
        self._hand_out()
        for future in self._coming:
            partitions = self._given.pop(str(future.key))
            if future.status == "finished":
                for commit in future.result():
                    self._count(commit)
                if self._on_progress is not None:
                    self._on_progress(self._totals)
            else:
                self._try_again(partitions, repr(future.exception()))
            future.release()
            self._hand_out()
        return self._failures

    def _count(self, commit: Commit) -> None:
        """Add a commit to the sums, which are kept here: a run has thousands of commits."""
        if commit.partition not in self._counted:
            self._counted.add(commit.partition)
            self._totals = self._totals.add(commit)

    def _make_bundles(self) -> list[list[int]]:
        missing = find_missing(self._storage.output, self._run)
        workers = max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
        size = max(1, min(_MAX_BUNDLE, len(missing) // workers))
        return [missing[at : at + size] for at in range(0, len(missing), size)]

    def _hand_out(self) -> None:
        """Keep a few tasks for each worker in flight, so that the scheduler holds little."""
        workers = max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
        while self._waiting and len(self._given) < workers * _TASKS_PER_WORKER:
            partitions = self._waiting.pop(0)
            for each in partitions:
                self._tries[each] = self._tries.get(each, 0) + 1
            # A new key each time, and no retries of Dask's: it counts the death of a worker
            # against every task that was assigned to it.
            key = f"sitemaps-{self._run.folder}-{partitions[0]}-{self._tries[partitions[0]]}"
            future = self._client.submit(
                run_partitions,
                self._storage.output,
                self._run.folder,
                partitions,
                key=key,
                pure=False,
                retries=0,
            )
            self._given[key] = partitions
            self._coming.add(future)

    def _try_again(self, partitions: list[int], reason: str) -> None:
        """Queue uncommitted partitions again, each alone; give up after some tries."""
        committed = list_committed(self._storage, self._run.folder)
        for each in partitions:
            if each in committed:
                if (commit := load_commit(self._storage, self._run.folder, each)) is not None:
                    self._count(commit)
            elif self._tries[each] < MAX_TRIES:
                self._waiting.append([each])
            else:
                self._failures[each] = reason
