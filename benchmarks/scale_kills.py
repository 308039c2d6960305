"""Kill processes of runs on a cluster, and compare the rows with the truth.

`python benchmarks/scale_kills.py` kills workers 30 times and clients with their scheduler 4 times.
Then it makes 40 runs in a row. It stops with an error at the first wrong or missing row.
`--resume 4000` compares a run over so many hosts with one that is killed at several moments and
continued by the same command.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from sitemapreader.distributed import status
from tests.scale.scale_faults import SECONDS, ClusterFaults
from tests.scale.scale_runs import WebServer, check_first_day, serve_web
from tests.scale.scale_web import find_kind, name_site


def repeat_runs(web: WebServer, runs: int, hosts: int = 24) -> list[float]:
    """Do short runs, each on a new cluster; return how long each took."""
    seconds = []
    for number in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            faults = ClusterFaults(
                web, Path(folder), range(hosts), partitions=8, seed=number
            )
            began = time.monotonic()
            if faults.start().wait(SECONDS):
                raise SystemExit(f"run {number} failed")
            seconds.append(time.monotonic() - began)
            faults.check()
    return seconds


def describe(seconds: list[float]) -> str:
    """Return the median and the worst of some times as JSON."""
    return json.dumps(
        {"median": sorted(seconds)[len(seconds) // 2], "worst": max(seconds)}
    )


def main() -> None:
    """Print a line for each kind of fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--workers-killed", type=int, default=30)
    parser.add_argument("--clients-killed", type=int, default=4)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--resume", type=int, metavar="HOSTS")
    arguments = parser.parse_args()
    if arguments.resume:
        measure_resume(arguments.resume)
        return
    with serve_web(latency=0.02) as web:
        killed, seed, hosts = 0, 0, range(arguments.hosts)
        while killed < arguments.workers_killed:
            seed += 1
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                faults = ClusterFaults(
                    web, Path(folder), hosts, partitions=64, seed=seed
                )
                faults.kill_workers(min(10, arguments.workers_killed - killed))
                faults.check()
                killed += faults.kills
                seconds = time.monotonic() - began
                print(
                    f"{faults.kills} workers killed: rows exact, {seconds:.0f} s",
                    flush=True,
                )
        with tempfile.TemporaryDirectory() as folder:
            faults = ClusterFaults(web, Path(folder), hosts, partitions=64)
            faults.kill_client(arguments.clients_killed)
            faults.check()
            print(
                f"{faults.kills} clients and schedulers killed: rows exact", flush=True
            )
        print(
            f"sites at which two workers were: {len(web.ask('/')['clashes'])}",
            flush=True,
        )
        seconds_of_runs = repeat_runs(web, arguments.runs)
        print(
            f"{len(seconds_of_runs)} runs without a hang, seconds: {describe(seconds_of_runs)}"
        )


def measure_resume(hosts: int) -> None:
    """Kill the command after a part of its time; print how long the same call takes then."""
    with serve_web(latency=0.02) as web, tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "hosts.txt")
        # without hosts that hang or fail: their pauses would hide what a kill costs
        numbers = [
            number for number in range(hosts) if find_kind(number) in ("good", "none")
        ]
        listed.write_text(
            "".join(f"{name_site(number)}\n" for number in numbers), "utf-8"
        )
        whole = 0.0
        for share in (0.0, 0.3, 0.6, 0.9):
            output = Path(folder, f"out-{share}")
            command = [sys.executable, "-m", "sitemapreader", "scale", str(listed)]
            command += [
                "-o",
                str(output),
                "-x",
                f"http://127.0.0.1:{web.port}",
                "-m",
                "3",
            ]
            if share:
                with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
                    time.sleep(share * whole)
                    process.kill()
            began = time.monotonic()
            ended = subprocess.run(
                command, stderr=subprocess.PIPE, text=True, check=False
            )
            seconds = time.monotonic() - began
            whole = whole or seconds
            check_first_day(
                output, "runs/0001", status(str(output)).partitions, numbers
            )
            said = next(
                (line for line in ended.stderr.splitlines() if "continuing" in line), ""
            )
            print(
                f"killed at {share:.0%}: {seconds:.1f} s, {seconds / whole:.2f} of a whole run"
            )
            print(f"    {said}", flush=True)


if __name__ == "__main__":
    main()
