"""Many hosts on a cluster of this machine: rate, CPU, memory, a second day.

`python benchmarks/scale_hosts.py --hosts 1000 4000 --workers 1 2` prints a row for each. The web of
`tests/scale/scale_web.py` answers on loopback, from a process of its own. Every count is compared
with the truth. Last comes the list in one process, with `sitemapreader -i`. Milliseconds are of
processor time, a host; memory is the largest worker's, and what the client has with the scheduler.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attrs
import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from sitemapreader._types.options import FetchOptions
from sitemapreader.distributed import run as run_scale
from sitemapreader.distributed.cluster import open_client
from tests.scale import scale_web
from tests.scale.scale_runs import WebServer, check_first_day, serve_web

LATENCY_SECONDS = 0.02


@attrs.define
class Usage:
    """The resources that the processes of a cluster have used."""

    cpu_seconds: float = 0.0
    worker_mb: float = 0.0

    @classmethod
    def of_workers(cls, pids: list[int]) -> Usage:
        """Add up what the worker processes have used until now."""
        usage = cls()
        for pid in pids:
            times = psutil.Process(pid).cpu_times()
            usage.cpu_seconds += times.user + times.system
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            peak = next(
                line for line in status.splitlines() if line.startswith("VmHWM")
            )
            usage.worker_mb = max(usage.worker_mb, int(peak.split()[1]) / 1024)
        return usage


def measure(web: WebServer, hosts: int, workers: int) -> None:
    """Run three days over some hosts, and print a row for each."""
    options = attrs.evolve(
        web.make_options(site_seconds=30.0),
        fetch=FetchOptions(
            proxy=f"http://127.0.0.1:{web.port}",
            headers_seconds=5.0,
            idle_seconds=5.0,
            total_seconds=10.0,
            retry_wait_seconds=0.1,
        ),
    )
    sites = [scale_web.name_site(number) for number in range(hosts)]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_client(workers=workers) as client,
    ):
        for day, (name, number) in enumerate(
            (("first", 0), ("same", 0), ("5 % new", 1))
        ):
            web.ask(f"/day/{number}")
            pids = [each["pid"] for each in client.run(_describe_process).values()]
            before, began = Usage.of_workers(pids), time.monotonic()
            engine_began = time.process_time()
            totals = run_scale(
                None if day else sites, folder, client=client, options=options
            )
            seconds, after = time.monotonic() - began, Usage.of_workers(pids)
            engine = (time.process_time() - engine_began) / hosts * 1000
            if totals.failures:
                raise RuntimeError(totals.failures)
            if not day:
                check_first_day(
                    Path(folder), totals.run, totals.partitions, range(hosts)
                )
            cpu = (after.cpu_seconds - before.cpu_seconds) / hosts * 1000
            engine_mb = psutil.Process().memory_info().rss / 2**20
            print(
                f"{hosts:7,} {workers:7} {name:8} "
                f"{totals.urls:9,} {seconds:7.1f} {hosts / seconds:7.0f} {cpu:6.2f} "
                f"{after.worker_mb:6.0f} {engine:6.2f} {engine_mb:6.0f}",
                flush=True,
            )
    clashes = web.ask("/day/0")["clashes"]
    if clashes:
        print(f"two workers were at one site: {clashes}")


def _describe_process() -> dict[str, int]:
    return {"pid": os.getpid()}


def measure_one_process(web: WebServer, hosts: int) -> None:
    """Read the same list with `-i` in one process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "hosts.txt")
        sites = (scale_web.name_site(number) for number in range(hosts))
        path.write_text("\n".join(sites), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "sitemapreader",
            "-i",
            str(path),
            "--parallel",
            "64",
            "-q",
        ]
        command += [
            "-x",
            f"http://127.0.0.1:{web.port}",
            "-m",
            "5",
            "-o",
            f"{folder}/urls.parquet",
        ]
        began = time.monotonic()
        process = subprocess.Popen(command)
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        cpu = (usage.ru_utime + usage.ru_stime) / hosts * 1000
        print(
            f"{hosts:7,} -i in one process {'':8} {seconds:7.1f} {hosts / seconds:7.0f} "
            f"{cpu:6.2f} {usage.ru_maxrss / 1024:6.0f}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1_000, 4_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    print(
        "                                                        worker         client+scheduler"
    )
    print(
        "  hosts workers day           URLs seconds hosts/s     ms     MB     ms     MB"
    )
    with serve_web(LATENCY_SECONDS) as web:
        for hosts in arguments.hosts:
            for workers in arguments.workers:
                measure(web, hosts, workers)
            measure_one_process(web, hosts)


if __name__ == "__main__":
    main()
