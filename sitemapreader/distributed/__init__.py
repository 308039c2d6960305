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

from sitemapreader.errors import name_extra

if TYPE_CHECKING:
    from sitemapreader.distributed.cluster import run

with name_extra("sitemapreader.distributed needs", "distributed"):
    from sitemapreader.distributed.options import ScaleOptions
    from sitemapreader.distributed.partition import run_partition
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
    "status",
]


def __getattr__(name: str) -> Any:
    """Load `run` when it is used: it alone needs Dask."""
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with name_extra("sitemapreader.distributed needs", "distributed"):
        from sitemapreader.distributed.cluster import run  # noqa: PLC0415 (as said)
    return run
