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

from sitemapreader._types.errors import name_extra

with name_extra("sitemapreader.distributed needs", "distributed"):
    from sitemapreader.distributed.cluster import run
    from sitemapreader.distributed.options import ScaleOptions
    from sitemapreader.distributed.partition import run_partition
    from sitemapreader.distributed.planning import ScaleRun, begin_run
    from sitemapreader.distributed.runs import (
        Commit,
        Totals,
        find_missing,
        finish,
        iterate_statuses,
        status,
    )
    from sitemapreader.distributed.storage import OutputError, Storage

__all__ = [
    "Commit",
    "OutputError",
    "ScaleOptions",
    "ScaleRun",
    "Storage",
    "Totals",
    "begin_run",
    "find_missing",
    "finish",
    "iterate_statuses",
    "run",
    "run_partition",
    "status",
]
