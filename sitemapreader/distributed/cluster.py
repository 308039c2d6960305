"""A run on a Dask cluster: partitions are tasks, four threads a process."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import repeat_in_thread
from sitemapreader._types.errors import name_extra
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.partition import PARTITIONS_AT_ONCE, run_partition
from sitemapreader.distributed.planning import ScaleRun, begin_run
from sitemapreader.distributed.runs import Totals, find_missing, finish, status
from sitemapreader.distributed.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from distributed import Client, LocalCluster

_SETTINGS = {
    # It looks into other threads, which has hung workers before Python 3.11.9
    # (python/cpython#106883).
    "distributed.worker.profile.enabled": False,
    # Deaths of a worker that Dask blames on each task there. One that kills does so twice, and is
    # isolated then; its neighbours are not to blame.
    "distributed.scheduler.allowed-failures": 20,
}


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
        hosts: as `begin_run` takes them; `None` for the list of the run before.
        output: a folder, or a URL that fsspec knows, such as s3://bucket/crawl.
        client: of a Dask cluster; without one, one on this machine with a process a core.
        options: how hosts are read.
        partitions: as `begin_run` takes it.
        full: forget the state: read and deliver every URL again.
        retry: read also hosts that are not due, because they failed.
        on_progress: called with the sums so far, when a partition is committed.

    Returns:
        the sums over all partitions. Those that failed again and again are in `failures`; they are
        the only ones that the same call reads again.

    Raises OutputError and ValueError as `begin_run` does, and OSError from the storage.
    """
    opening = nullcontext(client) if client is not None else open_client()
    begun = begin_run(
        output, hosts, options, partitions=partitions, full=full, retry=retry
    )
    with opening as opened:
        return read_run(opened, output, begun, on_progress)


def read_run(
    client: Client,
    output: str,
    begun: ScaleRun,
    on_progress: Callable[[Totals], object] | None = None,
    shard: tuple[int, int] = (0, 1),
) -> Totals:
    """Read the missing partitions of a run, and finish it; `run` has the other arguments.

    With `shard` (K, N) only the K-th of N parts is read. Whoever reads the last one finishes.
    """
    from distributed import as_completed  # noqa: PLC0415 (0.6 s, with Dask)

    totals, failures, (number, shards) = status(output), {}, shard
    missing = [each for each in find_missing(output, begun) if each % shards == number]
    read = partial(run_partition, Storage(output).output, begun.folder)
    futures = client.map(read, missing, pure=False, retries=5)
    partitions = dict(zip(futures, missing, strict=True))
    for future in as_completed(futures):
        if future.status == "finished":
            totals = totals.count(future.result())
            if on_progress is not None:
                on_progress(totals)
        else:
            failures[partitions[future]] = repr(future.exception())
        future.release()
    if find_missing(output, begun):
        return attrs.evolve(status(output), failures=failures)
    return finish(output, begun)


def open_client(
    scheduler: str | None = None, workers: int = 0
) -> AbstractContextManager[Client]:
    """Connect to a scheduler, or return a client of a new cluster on this machine."""
    with name_extra("a cluster needs", "distributed"):
        import dask  # noqa: PLC0415
        from distributed import Client, LocalCluster  # noqa: PLC0415

    @contextmanager
    def open_cluster() -> Iterator[Client]:
        with (
            dask.config.set(_SETTINGS),
            LocalCluster(
                n_workers=workers or dask.system.CPU_COUNT,
                threads_per_worker=PARTITIONS_AT_ONCE,
                dashboard_address="127.0.0.1:0",
                # SECURITY: who reaches a scheduler can run code, as other users of the machine
                security=True,
            ) as cluster,
            Client(cluster) as client,
            repeat_in_thread(
                partial(_refill, cluster, client, len(cluster.worker_spec)), 3.0
            ),
        ):
            yield client

    if scheduler is None:
        return open_cluster()
    return Client(scheduler)


def _refill(cluster: LocalCluster, client: Client, wanted: int) -> None:
    """Start the missing workers: one that dies while it starts takes its nanny along."""
    if len(client.scheduler_info(n_workers=-1)["workers"]) < wanted:
        cluster.scale(wanted)
