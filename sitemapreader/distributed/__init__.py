"""Sitemaps of many hosts, read on many machines into Parquet files.

Needs the extra `distributed`.

```python
from sitemapreader.distributed import run

result = run("hosts.txt", "s3://bucket/crawl")  # a process a core; give `client` for a cluster
print(result.run, result.hosts, result.urls, result.statuses)
```

The unit of work is a partition: some 2,000 hosts, all hosts of a registrable domain together. An
engine calls `run_partition` at least once for each, in any order; which attempt counts is decided
by a commit that is created only once. Dask is the engine of `run`; others need a few lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.errors import advise_extra

if TYPE_CHECKING:
    from sitemapreader.distributed.cluster import run

_MESSAGE = "sitemapreader.distributed needs {}; " + advise_extra("distributed")

try:
    from sitemapreader.distributed.options import ScaleOptions
    from sitemapreader.distributed.partition import run_partition, run_partitions
    from sitemapreader.distributed.planning import HostList, plan
    from sitemapreader.distributed.runs import (
        Commit,
        ScaleRun,
        Totals,
        begin_run,
        find_missing,
        finish,
        iterate_statuses,
        status,
    )
    from sitemapreader.distributed.storage import OutputError, Storage
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(_MESSAGE.format(error.name), name=error.name) from error

__all__ = [
    "Commit",
    "HostList",
    "OutputError",
    "ScaleOptions",
    "ScaleRun",
    "Storage",
    "Totals",
    "begin_run",
    "find_missing",
    "finish",
    "iterate_statuses",
    "plan",
    "run",
    "run_partition",
    "run_partitions",
    "status",
]


def __getattr__(name: str) -> Any:
    """Load `run` when it is used: it alone needs Dask."""
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from sitemapreader.distributed.cluster import run  # noqa: PLC0415 (as said)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_MESSAGE.format(error.name), name=error.name) from error
    return run
