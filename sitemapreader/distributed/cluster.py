"""A run on a Dask cluster: partitions are tasks, four threads a process."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import repeat_in_thread
from sitemapreader._types.errors import name_extra
from sitemapreader._types.instead import answer_keywords
from sitemapreader.distributed.options import RUN_ARGUMENTS, ScaleOptions
from sitemapreader.distributed.partition import PARTITIONS_AT_ONCE, run_partition
from sitemapreader.distributed.planning import ScaleRun, begin_run
from sitemapreader.distributed.runs import (
    Totals,
    find_missing,
    finish,
    measure_seconds,
    status,
)
from sitemapreader.distributed.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from distributed import Client, LocalCluster

_SETTINGS = {
    # The profiler looks into other threads, which hung workers before Python 3.11.9
    # (python/cpython#106883).
    "distributed.worker.profile.enabled": False,
    # Dask blames the death of a worker on each of its tasks. A partition that kills its worker is
    # isolated after two deaths, so its neighbours must be allowed some.
    "distributed.scheduler.allowed-failures": 20,
}


@answer_keywords(RUN_ARGUMENTS)
def run(
    hosts: str | Path | Iterable[str] | None,
    output: str,
    *,
    client: Client | None = None,
    options: ScaleOptions = ScaleOptions(),  # noqa: B008 (a frozen value)
    partitions: int | None = None,
    full: bool = False,
    retry: bool = False,
    only_failed: bool = False,
    on_progress: Callable[[Totals], object] | None = None,
) -> Totals:
    """Read the sitemaps of many hosts into Parquet files, on all workers of a cluster.

    The same call after a crash continues the run that is not finished. The next call begins the
    next run, which reads only what has changed.

    Args:
        hosts: as `begin_run` takes them; `None` for the list of the run before.
        output: a folder, or a URL that fsspec knows, such as s3://bucket/crawl.
        client: of a Dask cluster; without one, one on this machine with a process a core.
        options: how hosts are read.
        partitions: as `begin_run` takes it.
        full: forget the state: read and deliver every URL again.
        retry: read also hosts that are not due, because they failed.
        only_failed: read nothing but the hosts that the run before did not read completely.
        on_progress: called with the sums so far, when a partition is committed.

    Returns:
        the sums over all partitions. Those that failed again and again are in `failures`; they are
        the only ones that the same call reads again.

    Raises OutputError and ValueError as `begin_run` does, and OSError from the storage.
    """
    if client is None:
        opening = open_client()
    else:
        opening = nullcontext(client)
    begun_run = begin_run(
        output,
        hosts,
        options,
        partitions=partitions,
        full=full,
        retry=retry,
        only_failed=only_failed,
    )
    with opening as opened:
        return read_run(opened, output, begun_run, on_progress)


def read_run(
    client: Client,
    output: str,
    begun_run: ScaleRun,
    on_progress: Callable[[Totals], object] | None = None,
    shard: tuple[int, int] = (0, 1),
) -> Totals:
    """Read the missing partitions of a run, and finish it; `run` has the other arguments.

    With `shard` (K, N) only the K-th of N parts is read. The process that commits the last
    partition finishes the run.
    """
    from distributed import as_completed  # noqa: PLC0415 (0.6 s, with Dask)

    number, shards = shard
    missing = [
        partition
        for partition in find_missing(output, begun_run)
        if partition % shards == number
    ]
    read = partial(run_partition, Storage(output).output, begun_run.folder)
    futures = client.map(read, missing, pure=False, retries=5)
    partitions = dict(zip(futures, missing, strict=True))
    totals = status(output)
    failures: dict[int, str] = {}
    for future in as_completed(futures):
        if future.status == "finished":
            totals = attrs.evolve(
                totals.count(future.result()), seconds=measure_seconds(begun_run.begun)
            )
            if on_progress is not None:
                on_progress(totals)
        else:
            failures[partitions[future]] = repr(future.exception())
        future.release()
    if find_missing(output, begun_run):
        return attrs.evolve(status(output), failures=failures)
    return finish(output, begun_run)


def open_client(
    scheduler: str | None = None, workers: int = 0
) -> AbstractContextManager[Client]:
    """Connect to a scheduler, or return a client of a new cluster on this machine."""
    with name_extra("a cluster needs", "distributed"):
        from distributed import Client  # noqa: PLC0415 (0.6 s, with Dask)

    if scheduler is None:
        return _open_cluster(workers)
    return Client(scheduler)


@contextmanager
def _open_cluster(workers: int) -> Iterator[Client]:
    import dask  # noqa: PLC0415 (as above)
    from distributed import Client, LocalCluster  # noqa: PLC0415 (as above)

    with (
        dask.config.set(_SETTINGS),
        LocalCluster(
            n_workers=workers or dask.system.CPU_COUNT,
            threads_per_worker=PARTITIONS_AT_ONCE,
            dashboard_address="127.0.0.1:0",
            # SECURITY: other users of the machine that reach a scheduler could run code
            security=True,
        ) as cluster,
        Client(cluster) as client,
    ):
        refill = partial(_refill, cluster, client, len(cluster.worker_spec))
        with repeat_in_thread(refill, 3.0):
            yield client


def _refill(
    cluster: LocalCluster,
    client: Client,
    wanted: int,
) -> None:
    """Start the missing workers: a worker that dies while it starts ends its nanny too."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if len(workers) < wanted:
        cluster.scale(wanted)
