"""Runs on a cluster whose processes are killed: workers, or the client with its scheduler."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil

from sitemapreader.distributed import begin_run, status
from tests.scale import scale_web
from tests.scale.scale_processes import make_environment
from tests.scale.scale_runs import check_first_day

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sitemapreader.distributed import ScaleOptions
    from tests.scale.scale_runs import WebServer

DRIVER = """
import os, sys
from sitemapreader.distributed import run
from sitemapreader.distributed.cluster import open_client

folder, name = os.path.split(sys.argv[1])
with open_client(workers=int(sys.argv[2])) as client:
    os.chdir(folder)
    totals = run(None, name, client=client)
assert (totals.finished, totals.failures) == (True, {})
"""
SECONDS = 600


class ClusterFaults:
    """One run over some hosts, in a process of its own with a cluster of workers.

    Attributes:
        kills: how many processes were killed.
        output: the folder.
    """

    def __init__(
        self,
        web: WebServer,
        output: Path,
        hosts: Sequence[int],
        *,
        partitions: int,
        options: ScaleOptions | None = None,
        seed: int = 1,
    ) -> None:
        self.kills = 0
        self.output = output
        self._hosts = hosts
        self._partitions = partitions
        self._random = random.Random(seed)
        sites = [scale_web.name_site(number) for number in self._hosts]
        options = options or web.make_options()
        self._run = begin_run(str(output), sites, options, partitions=partitions)

    def start(self, workers: int = 2, **faults: str) -> subprocess.Popen[bytes]:
        """Start the client with its cluster, in which some hosts are faults."""
        return subprocess.Popen(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                DRIVER,
                str(self.output),
                str(workers),
            ],
            env=make_environment(**faults),
            stderr=subprocess.DEVNULL,  # Dask tells of every worker that dies
        )

    def kill_workers(self, kills: int) -> None:
        """Let a run go to its end while workers are killed at random moments."""
        process = self.start()
        deadline = time.monotonic() + SECONDS
        while process.poll() is None:
            assert time.monotonic() < deadline, "the run does not end"
            time.sleep(self._random.uniform(0.1, 1.0))
            workers = _list_workers(process.pid)
            if workers and kills > self.kills and self._has_begun():
                psutil.Process(self._random.choice(workers)).kill()
                self.kills += 1
        assert process.returncode == 0

    def kill_client(self, kills: int) -> None:
        """Kill the client and its scheduler some times, and start the same again each time."""
        for _ in range(kills):
            process = self.start()
            while process.poll() is None and not self._has_begun():
                time.sleep(0.05)
            time.sleep(self._random.uniform(0.0, 2.0))
            if process.poll() is None:
                self.kill(process)
        assert self.start().wait(SECONDS) == 0

    def kill(self, client: subprocess.Popen[bytes]) -> None:
        """Kill a client with its scheduler, and wait for the end of its workers."""
        children = psutil.Process(client.pid).children(recursive=True)
        client.kill()
        client.wait()
        self.kills += 1
        # a worker reads on until it sees that its scheduler is gone
        assert not psutil.wait_procs(children, timeout=SECONDS)[1]

    def check(self) -> None:
        """Compare rows and status rows with the truth, host by host."""
        assert status(str(self.output)).finished
        check_first_day(self.output, self._run.folder, self._partitions, self._hosts)

    def _has_begun(self) -> bool:
        return any((self.output / self._run.folder / "tries").glob("*/*"))


def _list_workers(client: int) -> list[int]:
    """Return the worker processes below a client."""
    try:
        children = psutil.Process(client).children(recursive=True)
        return [
            child.pid for child in children if "spawn_main" in " ".join(child.cmdline())
        ]
    except psutil.Error:
        return []
