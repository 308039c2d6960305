"""Runs over the web of `scale_web`, and what must come of them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader import FetchOptions, Limits
from sitemapreader.distributed import run_partition
from sitemapreader.distributed.options import ScaleOptions
from tests.scale import scale_web

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sitemapreader.distributed import Commit

BAD = frozenset({"failed", "partial", "none"})
"""How a host that is poisoned may end; "none" where its answers look like pages."""


@attrs.frozen
class WebServer:
    """The web in a process of its own.

    Attributes:
        port: of the proxy.
    """

    port: int

    def ask(self, path: str) -> dict[str, dict[str, int]]:
        """Set the day (`/day/1`), and return the counts of the server."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path)
            answer: dict[str, dict[str, int]] = json.loads(
                connection.getresponse().read()
            )
        finally:
            connection.close()
        return answer

    def make_options(self, **given: Any) -> ScaleOptions:
        """Return options that send all requests to this web, and wait for nothing for long."""
        fetch = FetchOptions(
            proxy=f"http://127.0.0.1:{self.port}",
            headers_seconds=1.0,
            idle_seconds=1.0,
            total_seconds=3.0,
            slow_grace_seconds=1.0,
            retry_wait_seconds=0.01,
            max_attempts=2,
            host_pause_seconds=0.05,
        )
        given = {"site_seconds": 10.0} | given
        return ScaleOptions(fetch=fetch, limits=Limits(raw_bytes=2_000_000), **given)


def run_all(output: str, run: str, partitions: Iterable[int]) -> list[Commit]:
    """Read partitions in threads, as an engine does; return their commits."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(partial(run_partition, output, run), partitions))


@contextmanager
def serve_web(latency: float = 0.0) -> Iterator[WebServer]:
    """Serve the web on loopback."""
    command = [sys.executable, str(scale_web.__file__), "0", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield WebServer(int(process.stdout.readline()))
        finally:
            process.kill()


def read_rows(output: Path, run: str) -> pa.Table:
    """Return all rows of URLs below a run, whatever the commits say."""
    files = sorted((output / run / "urls").glob("*.parquet"))
    return pa.concat_tables([pq.read_table(path) for path in files]) if files else None


def read_statuses(output: Path, run: str, partitions: int) -> dict[str, dict[str, Any]]:
    """Return the status row of each host, of the committed files; a host must not have two."""
    rows = {}
    for partition in range(partitions):
        path = output / run / "status" / f"p-{partition:05}.parquet"
        for row in pq.read_table(path).to_pylist():
            assert row["site"] not in rows
            rows[row["site"]] = row
    return rows


def check_first_day(
    output: Path, run: str, partitions: int, numbers: Iterable[int]
) -> None:
    """Compare a first run, host by host, with the truth."""
    numbers = list(numbers)
    statuses = read_statuses(output, run, partitions)
    assert statuses.keys() == {scale_web.name_site(number) for number in numbers}
    table = read_rows(output, run)
    counted = {} if table is None else _count(table)
    for number in numbers:
        site, kind = scale_web.name_site(number), scale_web.find_kind(number)
        status, urls = statuses[site]["status"], counted.get(site, (0, 0))
        assert urls[0] == statuses[site]["entries"], (site, urls, statuses[site])
        assert urls[0] == urls[1], f"{site} has rows twice"
        if kind == "good":
            assert (status, urls[0]) == ("complete", scale_web.count_urls(number)), (
                statuses[site]
            )
        elif kind == "none":
            assert (status, urls[0]) == ("none", 0), statuses[site]
        else:
            assert status in BAD, (kind, statuses[site])


def _count(table: pa.Table) -> dict[str, tuple[int, int]]:
    """Return how many rows, and how many different URLs, each site has."""
    grouped = table.group_by("site").aggregate(
        [("loc", "count"), ("loc", "count_distinct")]
    )
    return {
        row["site"]: (row["loc_count"], row["loc_count_distinct"])
        for row in grouped.to_pylist()
    }
