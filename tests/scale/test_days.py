"""Days of one partition: what is read, what waits, and the rows that say so."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from aiohttp import web

from sitemapreader import FetchOptions
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.partition import run_partition
from sitemapreader.distributed.planning import begin_run
from sitemapreader.distributed.runs import find_missing, finish, iterate_statuses
from tests.support.commands import serving, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD, EMPTY, SILENT = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Web:
    """A host with a list of URLs, one without, and one that does not respond."""

    def __init__(self) -> None:
        self.urls = 3
        self.requested: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        host = request.host.partition(":")[0]
        self.requested.append(f"{host}{request.path}")
        if host == GOOD and request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: http://{request.host}/sitemap.xml")
        if host == GOOD and request.path == "/sitemap.xml":
            body = urlset(self.urls, f"http://{request.host}")
            return web.Response(body=body, content_type="text/xml")
        return web.Response(status=404)


@pytest.fixture
def site() -> Iterator[tuple[Web, list[str], ScaleOptions]]:
    """Give the hosts, their URLs, and the options with which they are read."""
    hosts = Web()
    with serving(hosts.answer, (GOOD, EMPTY)) as urls:
        ports = tuple(int(url.rpartition(":")[2].strip("/")) for url in urls)
        fetch = FetchOptions(
            allow_networks=("127.0.0.0/8",), allow_ports=(*ports, 1), max_attempts=1
        )
        yield (
            hosts,
            [*urls, f"http://{SILENT}:1/"],
            ScaleOptions(fetch=fetch, confirm_seconds=0),
        )


def read_day(output: Path, sites: list[str] | None, options: Any, **how: Any) -> Any:
    """Read all in one partition; return the rows of the hosts, the changes, and the sums."""
    run = begin_run(str(output), sites, options, partitions=1, **how)
    assert find_missing(str(output), run) == [0]
    commit = run_partition(str(output), run.folder, 0)
    assert run_partition(str(output), run.folder, 0) == commit  # it is there already
    tries = [*(output / run.folder / "tries" / "p-00000").iterdir()]
    assert [each.name for each in tries] == [commit.token]
    totals = finish(str(output), run)
    assert (totals.finished, totals.committed, totals.hosts) == (True, 1, 3)
    rows = [
        (
            f"{row['status']} {row['reason']}".rstrip(),
            "read" if row["read"] else "waits",
            row["failures"],
            row["last_ok"] == row["read_at"],
        )
        for row in sorted(iterate_statuses(str(output)), key=lambda row: row["site"])
    ]
    files = [str(path) for path in (output / run.folder / "urls").glob("*.parquet")]
    changes: list[str] = []
    if files:
        table = duckdb.read_parquet(files).select("change || loc[-2:]")
        changes = sorted(text for (text,) in table.fetchall())
    sums = totals.urls, totals.unlisted, totals.skipped, totals.put_off
    assert totals.statuses == Counter(status.split()[0] for status, *_ in rows)
    return rows, changes, commit.memory, sums


NONE, DOWN = "none no-sitemap", "failed connect"
OF_GOOD = [f"{GOOD}/{name}" for name in ("robots.txt", "sitemap.xml")]
OF_EMPTY = [
    f"{EMPTY}/{name}" for name in ("", "robots.txt", "sitemap.xml", "sitemap_index.xml")
]


def test_days_of_a_partition(
    site: tuple[Web, list[str], ScaleOptions], tmp_path: Path
) -> None:
    """Each day has what is new; a host without a sitemap rests, and so does one that fails."""
    hosts, sites, options = site
    first = read_day(tmp_path, sites, options)
    assert first == (
        [
            ("complete", "read", 0, True),
            (NONE, "read", 0, False),
            (DOWN, "read", 1, False),
        ],
        ["new/0", "new/1", "new/2"],
        "none",
        (3, 0, 0, 1),
    )
    assert sorted(hosts.requested) == OF_GOOD + OF_EMPTY
    hosts.urls = 2
    days: list[tuple[Any, Any, list[str]]] = [
        (
            {},
            (
                [
                    ("complete", "read", 0, True),
                    (NONE, "waits", 0, False),
                    (DOWN, "read", 2, False),
                ],
                ["unlisted/2"],
                "kept",
                (0, 1, 1, 2),
            ),
            OF_GOOD,
        ),
        (
            {},
            (
                [
                    ("unchanged", "read", 0, True),
                    (NONE, "waits", 0, False),
                    (DOWN, "waits", 2, False),
                ],
                [],
                "kept",
                (0, 0, 2, 2),
            ),
            OF_GOOD,
        ),
        (
            {"only_failed": True},
            (
                [
                    ("unchanged", "waits", 0, True),
                    (NONE, "read", 0, False),
                    (DOWN, "read", 3, False),
                ],
                [],
                "kept",
                (0, 0, 0, 2),
            ),
            OF_EMPTY,
        ),
        (
            {"full": True, "retry": True},
            (
                [
                    ("complete", "read", 0, True),
                    (NONE, "read", 0, False),
                    (DOWN, "read", 4, False),
                ],
                ["new/0", "new/1"],
                "none",
                (2, 0, 0, 2),
            ),
            OF_GOOD + OF_EMPTY,
        ),
    ]
    for how, found, requested in days:
        hosts.requested.clear()
        assert read_day(tmp_path, None, options, **how) == found
        assert sorted(hosts.requested) == requested
