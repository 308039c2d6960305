"""Kill processes of runs on a cluster, and compare the rows with the truth.

`python benchmarks/scale_kills.py` kills workers 30 times and clients with their scheduler 4 times.
Then it makes 40 runs in a row. It stops with an error at the first wrong or missing row.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from scale_faults import ClusterFaults, describe, repeat_runs
from scale_runs import serve_web


def main() -> None:
    """Print a line for each kind of fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--workers-killed", type=int, default=30)
    parser.add_argument("--clients-killed", type=int, default=4)
    parser.add_argument("--runs", type=int, default=40)
    arguments = parser.parse_args()
    with serve_web(latency=0.02) as web:
        killed, seed = 0, 0
        while killed < arguments.workers_killed:
            seed += 1
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                faults = ClusterFaults(web, Path(folder), arguments.hosts, partitions=64, seed=seed)
                faults.kill_workers(min(10, arguments.workers_killed - killed))
                faults.check()
                killed += faults.kills
                seconds = time.monotonic() - began
                print(f"{faults.kills} workers killed: rows exact, {seconds:.0f} s", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            faults = ClusterFaults(web, Path(folder), arguments.hosts, partitions=64)
            faults.kill_client(arguments.clients_killed)
            faults.check()
            print(f"{faults.kills} clients and schedulers killed: rows exact", flush=True)
        print(f"sites at which two workers were: {len(web.ask('/')['clashes'])}", flush=True)
        seconds_of_runs = repeat_runs(web, arguments.runs)
        print(f"{len(seconds_of_runs)} runs without a hang, seconds: {describe(seconds_of_runs)}")


if __name__ == "__main__":
    main()
