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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemapreader.errors import advise_extra

if TYPE_CHECKING:
    from sitemapreader.distributed.cluster import run
    from sitemapreader.distributed.commits import Commit
    from sitemapreader.distributed.options import ScaleOptions
    from sitemapreader.distributed.partition import run_partition, run_partitions
    from sitemapreader.distributed.planning import HostList, plan
    from sitemapreader.distributed.runs import (
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
    "run_partitions",
    "status",
]

_HOMES = {
    "Commit": "commits",
    "HostList": "planning",
    "OutputError": "storage",
    "ScaleRun": "runs",
    "ScaleOptions": "options",
    "Storage": "storage",
    "Totals": "runs",
    "begin_run": "runs",
    "find_missing": "runs",
    "finish": "runs",
    "iterate_statuses": "runs",
    "plan": "planning",
    "run": "cluster",
    "run_partition": "partition",
    "run_partitions": "partition",
    "status": "runs",
}
"""Public name -> its module, imported when it is used: Dask is needed by `run` alone."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        message = f"sitemapreader.distributed needs {error.name}; {advise_extra('distributed')}"
        raise ModuleNotFoundError(message, name=error.name) from error
    return getattr(module, name)
