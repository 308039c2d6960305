"""Runs on a cluster of Dask's: exact, whatever is killed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import scale_web
from commands import wait_until
from scale_faults import SECONDS, ClusterFaults
from scale_runs import WebServer, read_statuses, serve_web

from sitemapreader import FetchOptions
from sitemapreader.distributed import ScaleOptions, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    """A web of many hosts."""
    with serve_web() as server:
        yield server


def test_whatever_dies_loses_nothing(web: WebServer, tmp_path: Path) -> None:
    """The client dies with its scheduler, then a worker: the same call reads what is missing.

    The host that kills the worker ends as one row, and harms no other; each had one reader. The
    output has a relative path, and workers are in another folder.
    """
    killer = 418
    assert scale_web.find_kind(killer) == "hang"  # the client dies while it is waited for
    good = [0, 1, 2, 3, 5]
    patient = ScaleOptions(fetch=FetchOptions(proxy=web.make_options().fetch.proxy))
    faults = ClusterFaults(web, tmp_path, [*good, killer], partitions=4, options=patient)
    client = faults.start(workers=1)
    wait_until(lambda: status(str(tmp_path)).committed == 3)
    wait_until(lambda: "d418.com" in web.ask("/")["asked"])
    faults.kill(client)
    asked = Counter(web.ask("/")["asked"])
    bomb = scale_web.name_host(killer)
    assert faults.start(workers=1, bomb=bomb).wait(SECONDS) == 0
    assert {*(Counter(web.ask("/")["asked"]) - asked)} == {"d5.com"}  # its partition
    assert web.ask("/")["clashes"] == {}
    rows = read_statuses(tmp_path, "runs/0001", 4)
    ends = {row["entries"]: row["status"] for row in rows.values()}
    assert ends == dict.fromkeys(map(scale_web.count_urls, good), "complete") | {0: "error"}
    assert len(rows) == len(good) + 1
    assert status(str(tmp_path)).urls == sum(map(scale_web.count_urls, good))
