"""Runs on a cluster of Dask's: exact, whatever is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import scale_web
from scale import SCALE
from scale_faults import ClusterFaults
from scale_runs import WebServer, read_statuses, serve_web

from sitemapreader.distributed import run, run_partition, status
from sitemapreader.distributed.cluster import open_client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    """A web that takes its time, so that kills meet work."""
    with serve_web(latency=0.02) as server:
        yield server


def test_workers_in_another_folder_find_a_relative_output(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers get the absolute path; one that cannot reach the output says what it needs."""
    sites = [scale_web.name_site(number) for number in range(8)]
    with open_client(workers=1) as client:
        monkeypatch.chdir(tmp_path)
        totals = run(sites, "out", client=client, options=web.make_options())
        assert (totals.failures, totals.hosts, totals.finished) == ({}, 8, True)
        error = client.submit(run_partition, str(tmp_path / "none"), totals.run, 0).exception()
    assert "every worker must reach it" in str(error)
    assert len(read_statuses(tmp_path / "out", totals.run, totals.partitions)) == 8


def test_killed_workers_lose_nothing(web: WebServer, tmp_path: Path) -> None:
    """Workers are killed at random: rows and status rows are the truth, one reader a site."""
    faults = ClusterFaults(web, tmp_path, 60 * SCALE, partitions=8)
    faults.kill_workers(2 * SCALE)
    assert faults.kills
    faults.check()
    assert web.ask("/")["clashes"] == {}


def test_a_killed_client_loses_nothing(web: WebServer, tmp_path: Path) -> None:
    """The client dies with its scheduler: the same call again reads what is missing."""
    faults = ClusterFaults(web, tmp_path, 60 * SCALE, partitions=8, seed=2)
    faults.kill_client(1)
    faults.check()
    assert web.ask("/")["clashes"] == {}


def test_a_host_that_kills_workers_is_named(web: WebServer, tmp_path: Path) -> None:
    """On a cluster as well a host that kills its process ends as one row, and harms no other."""
    faults = ClusterFaults(web, tmp_path, 8, partitions=2)
    assert faults.start(bomb=scale_web.name_host(3)).wait(300) == 0
    rows = read_statuses(tmp_path, "runs/0001", 2)
    assert rows.pop(scale_web.name_site(3))["status"] == "error"
    assert all(row["status"] != "error" for row in rows.values())
    assert status(str(tmp_path)).urls == sum(
        scale_web.count_urls(number) for number in range(8) if number != 3
    )
