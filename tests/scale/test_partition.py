"""Partitions: whatever is begun twice, fails or dies, rows and status rows are the truth."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import duckdb
import pytest
from aiohttp.web import Request, Response

from sitemapreader import FetchOptions
from sitemapreader.distributed import partition
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.partition import ISOLATE_FROM, run_partition
from sitemapreader.distributed.planning import ScaleRun, begin_run
from sitemapreader.distributed.runs import (
    Commit,
    find_missing,
    finish,
    iterate_statuses,
    load_commit,
    status,
)
from sitemapreader.distributed.storage import Storage
from tests.scale import scale_web
from tests.scale.scale_processes import ROOT
from tests.scale.scale_runs import (
    WebServer,
    check_first_day,
    read_rows,
    read_statuses,
    run_all,
    serve_web,
)
from tests.support import package, pages
from tests.support.clock import DAY, SetClock
from tests.support.commands import NAMESPACE, run_code, serving, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

FEW = range(12)
PER_HOST = FetchOptions().per_host


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    """A web of many hosts."""
    with serve_web() as server:
        yield server


@pytest.fixture(autouse=True)
def first_day(web: WebServer) -> None:
    """Begin each test with the first day."""
    web.ask("/day/0")


def begin(
    web: WebServer,
    output: Path,
    numbers: range = FEW,
    partitions: int = 2,
    **given: float,
) -> ScaleRun:
    sites = [scale_web.name_site(number) for number in numbers]
    return begin_run(
        str(output), sites, web.make_options(**given), partitions=partitions
    )


def begin_tries(output: Path, run: ScaleRun) -> None:
    """Leave traces of attempts that have died: the next one isolates its hosts."""
    for number in range(ISOLATE_FROM - 1):
        Storage(str(output)).create(f"{run.folder}/tries/p-00000/{number}", b"")


def read_all(output: Path, run: ScaleRun) -> None:
    run_all(str(output), run.folder, find_missing(str(output), run))
    finish(str(output), run)


def test_rows_and_statuses_are_the_truth(web: WebServer, tmp_path: Path) -> None:
    """Good hosts, hosts without a sitemap and poisoned ones: each has its row, none disturbs."""
    kinds = {scale_web.find_kind(number): number for number in reversed(range(3_000))}
    numbers = [*range(30), *(kinds[poison] for poison in scale_web.POISON)]
    sites = [scale_web.name_site(number) for number in numbers]
    run = begin_run(str(tmp_path), sites, web.make_options(), partitions=4)
    read_all(tmp_path, run)
    check_first_day(tmp_path, run.folder, 4, set(numbers))
    assert not list((tmp_path / run.folder).rglob("*.part"))


def test_the_days_after_deliver_only_what_changed(
    web: WebServer, tmp_path: Path
) -> None:
    """A day without changes has no rows; then come new and changed URLs, as many as there are."""
    numbers = range(30)
    read_all(tmp_path, begin(web, tmp_path, numbers))
    second = begin_run(str(tmp_path), None, web.make_options())
    read_all(tmp_path, second)
    assert read_rows(tmp_path, second.folder) is None
    good = [each for each in numbers if scale_web.find_kind(each) == "good"]
    statuses = read_statuses(tmp_path, second.folder, 2)
    assert {statuses[scale_web.name_site(each)]["status"] for each in good} == {
        "unchanged"
    }
    web.ask("/day/1")
    third = begin_run(str(tmp_path), None, web.make_options())
    read_all(tmp_path, third)
    changes = [scale_web.list_changes(each, 1) for each in good]
    table = read_rows(tmp_path, third.folder)
    counted = table["change"].value_counts().to_pylist()
    assert {each["values"]: each["counts"] for each in counted} == {
        "changed": sum(changed for changed, _ in changes),
        "new": sum(new for _, new in changes),
    }


def test_hosts_that_are_read_in_a_child_process_keep_their_memory(
    web: WebServer, tmp_path: Path
) -> None:
    """Behind attempts that have died, a day without changes delivers no URL again either."""
    read_all(tmp_path, begin(web, tmp_path, partitions=1))
    second = begin_run(str(tmp_path), None, web.make_options())
    begin_tries(tmp_path, second)
    read_all(tmp_path, second)
    assert read_rows(tmp_path, second.folder) is None


def test_revisit_limits_the_sitemaps_of_many_hosts(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run asks all partitions together for so many; other hosts keep their rows, and a date."""
    clock = SetClock(monkeypatch)
    clock.now -= 30 * DAY
    numbers, most, hour = range(30), 12, timedelta(hours=1)
    read_all(tmp_path, begin(web, tmp_path, numbers, 4, revisit=1))
    before = read_statuses(tmp_path, "runs/0001", 4)
    clock.now += 2 * 3600
    web.ask("/day/1")
    run = begin_run(str(tmp_path), None, web.make_options(revisit=most))
    begin_tries(tmp_path, run)
    requests = web.ask("/")["counts"]["requests"]
    read_all(tmp_path, run)
    requests = web.ask("/")["counts"]["requests"] - requests
    rows = read_statuses(tmp_path, run.folder, 4).values()
    asked = [row for row in rows if row["read"]]
    assert most - 4 <= sum(row["documents"] for row in asked) <= most
    assert requests == sum(row["requests"] for row in asked) <= most * 2
    now = datetime.fromtimestamp(clock.now, UTC)
    for row in rows:
        known = before[row["site"]]
        if row in asked:
            assert row["due"] >= now + hour / 6
        else:
            assert row["not_before"] or row["due"] >= now
            assert row["news_waiting"] or row["not_before"]
            same = row.keys() - {"read", "news_waiting", "due"}
            assert {name: row[name] for name in same} == {
                name: known[name] for name in same
            }


def test_urls_that_are_gone_have_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last records, by the query of the docs, are what is listed: a URL may come back."""
    today = listed = ""

    async def answer(request: Request) -> Response:
        if request.path != "/sitemap.xml" or not today:
            return Response(status=404 if today else 500)
        records = (
            f"<url><loc>http://{request.host}/{n}</loc></url>" for n in today.split()
        )
        return Response(text=f'<urlset xmlns="{NAMESPACE}">{"".join(records)}</urlset>')

    monkeypatch.chdir(tmp_path)
    output = tmp_path / "crawl"
    (block,) = pages.blocks(package.ROOT / "docs" / "scale.md", "sql")
    with serving(answer) as urls:
        ports = (int(urls[0].rpartition(":")[2]),)
        fetch = FetchOptions(
            allow_ports=ports, allow_networks=("127.0.0.0/8",), max_attempts=1
        )
        clock = SetClock(monkeypatch, time.time())
        days = [
            ("1 2 3 4", 0),
            ("2 3 5", 0),
            ("2 3 5", 2),
            ("", 0),
            ("3 4 5", 0),
            ("3 4 5", 1),
        ]
        for today, removed in days:
            clock.now += DAY
            is_settled, listed = today in ("", listed), today or listed
            options = ScaleOptions(fetch=fetch)
            begun = begin_run(str(output), urls, options, retry=True)
            read_all(output, begun)
            (row,) = iterate_statuses(str(output))
            assert (row["unlisted"], status(str(output)).unlisted) == (removed, removed)
            table = read_rows(output, begun.folder)
            assert (table.num_rows if table else 0) == row["entries"] + removed
            duckdb.execute(block.code)
            locs = duckdb.execute(
                "SELECT loc FROM 'latest.parquet' ORDER BY loc"
            ).fetchall()
            if is_settled:
                assert locs == [(f"{urls[0]}/{name}",) for name in listed.split()]


def test_hosts_that_failed_wait(web: WebServer, tmp_path: Path) -> None:
    """A host without a sitemap is due later, and so is one that failed twice; rows are kept."""
    numbers = range(220, 230)
    sites = [scale_web.name_site(number) for number in numbers]
    assert scale_web.find_kind(226) == "error-500"
    first = begin(web, tmp_path, numbers)
    before: dict[str, dict[str, Any]] = {}
    for failures, days in ((1, None), (2, 2), (2, 2), (3, 4)):
        is_last = failures == 3
        run = (
            begin_run(str(tmp_path), None, web.make_options(), retry=is_last)
            if before
            else first
        )
        read_all(tmp_path, run)
        rows = {row["site"]: row for row in iterate_statuses(str(tmp_path))}
        failed = rows[scale_web.name_site(226)]
        wait = failed["not_before"] and (failed["not_before"] - failed["read_at"]).days
        assert (failed["failures"], wait) == (failures, days)
        read = {row["site"] for row in rows.values() if row["read"]}
        due = {
            site
            for site in sites
            if is_last or not before or not before[site]["not_before"]
        }
        assert read == due
        assert all(
            rows[site] == before[site] | {"read": False} for site in {*sites} - due
        )
        before = rows


def test_only_the_hosts_that_failed(web: WebServer, tmp_path: Path) -> None:
    """A run may read nothing but what the last one did not read, due or not."""
    numbers = range(220, 230)
    run = begin(web, tmp_path, numbers)
    for _ in range(2):
        read_all(tmp_path, run)
        before = {row["site"]: row for row in iterate_statuses(str(tmp_path))}
        run = begin_run(str(tmp_path), None, web.make_options(), only_failed=True)
    read_all(tmp_path, run)
    rows = {row["site"]: row for row in iterate_statuses(str(tmp_path))}
    failed = {
        site
        for site, row in before.items()
        if row["status"] not in ("complete", "unchanged")
    }
    assert 0 < len(failed) < len(rows) == len(numbers)
    assert {site for site, row in rows.items() if row["read"]} == failed


def run_at_once(
    output: Path, run: ScaleRun, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> list[Commit]:
    """Run a partition several times; all attempts have begun before one of them reads."""
    barrier, read = threading.Barrier(attempts), partition.Attempt.read

    async def read_together(attempt: partition.Attempt) -> Any:
        barrier.wait(60)
        return await read(attempt)

    monkeypatch.setattr(partition.Attempt, "read", read_together)
    with ThreadPoolExecutor(attempts) as pool:
        runs = [
            pool.submit(run_partition, str(output), run.folder, 0)
            for _ in range(attempts)
        ]
        return [each.result() for each in runs]


def test_two_living_attempts_are_exact_and_bounded(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One counts and nothing is left of the other; no host gets more than twice the requests."""
    asked = [Counter(web.ask("/")["asked"])]
    for name, attempts in (("alone", 1), ("twice", 2)):
        output = tmp_path / name
        run = begin(web, output, partitions=1)
        with monkeypatch.context() as patch:
            commits = run_at_once(output, run, attempts, patch)
        assert commits == commits[:1] * attempts
        files = {path.name for path in (output / run.folder).glob("[us]*/*")}
        own = f"p-00000-{commits[0].token}"
        assert files == {f"{own}-0.parquet", f"{own}.db.gz", "p-00000.parquet"}
        finish(str(output), run)
        check_first_day(output, run.folder, 1, FEW)
        asked.append(Counter(web.ask("/")["asked"]))
    alone, twice = asked[1] - asked[0], asked[2] - asked[1]
    assert alone.keys() == twice.keys()
    assert all(alone[domain] <= twice[domain] <= 2 * alone[domain] for domain in alone)
    assert max(web.ask("/")["most"][domain] for domain in alone) <= 2 * PER_HOST


def test_an_attempt_ends_when_another_one_has_committed(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that was taken for dead stops its requests and gives the commit that counts."""
    begun, stopped = threading.Event(), threading.Event()
    read = partition.read_hosts

    async def hang_first(*given: Any) -> Any:
        if begun.is_set():
            return await read(*given)
        begun.set()
        try:
            return await asyncio.Future()
        finally:
            stopped.set()

    monkeypatch.setattr(partition, "read_hosts", hang_first)
    monkeypatch.setattr(partition, "_COMMIT_CHECK_SECONDS", 0.05)
    run = begin(web, tmp_path, partitions=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(run_partition, str(tmp_path), run.folder, 0)
        assert begun.wait(60)
        commit = run_partition(str(tmp_path), run.folder, 0)
        assert first.result(60) == commit
    assert stopped.is_set()
    assert find_missing(str(tmp_path), run) == []
    finish(str(tmp_path), run)
    check_first_day(tmp_path, run.folder, 1, FEW)


DYING = """
import sys
_, folder, number, output, run = sys.argv
sys.path.insert(0, folder)
from tests.scale import scale_processes
from sitemapreader.distributed import run_partition
scale_processes.die_at_write(int(number))
run_partition(output, run, 0)
"""


@pytest.mark.parametrize("number", range(1, 5))
def test_a_process_killed_at_any_write_loses_nothing(
    web: WebServer, tmp_path: Path, number: int
) -> None:
    """Killed at each point between attempt and commit, the next attempt is exact."""
    hosts = range(4)
    run = begin(web, tmp_path, hosts, partitions=1)
    words = (str(ROOT), str(number), str(tmp_path), run.folder)
    # at its trace, state, rows, commit
    assert run_code(DYING, tmp_path, *words).returncode == -9
    assert find_missing(str(tmp_path), run) == [0]
    read_all(tmp_path, run)
    check_first_day(tmp_path, run.folder, 1, hosts)


@pytest.mark.parametrize("damage", ["lost", "flipped"])
def test_a_damaged_state_is_read_as_new(
    web: WebServer, tmp_path: Path, damage: str
) -> None:
    """The state of the run before may be anything: all rows come again, and the commit says why."""
    first = begin(web, tmp_path, range(4), partitions=1)
    read_all(tmp_path, first)
    (path,) = (tmp_path / first.folder / "state").iterdir()
    content = path.read_bytes()
    middle = len(content) - 6  # of the checksum
    path.write_bytes(
        content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    )
    if damage == "lost":
        path.unlink()
    second = begin_run(str(tmp_path), None, web.make_options(), retry=True)
    read_all(tmp_path, second)
    check_first_day(tmp_path, second.folder, 1, range(4))
    commit = load_commit(Storage(str(tmp_path)), second.folder, 0)
    assert commit is not None
    assert "cannot be used" in commit[0].memory


def test_options_of_strangers_open_nothing(web: WebServer, tmp_path: Path) -> None:
    """Without the proxy, a line that leads to a private address is refused, and gets its row."""
    options = attrs.evolve(
        web.make_options(), fetch=attrs.evolve(web.make_options().fetch, proxy=None)
    )
    sites = [
        f"http://127.0.0.1:{web.port}/",
        "http://localhost/",
        "http://[::1]/",
        "no url",
    ]
    run = begin_run(str(tmp_path), sites, options)
    before = web.ask("/")["counts"].get("requests", 0)
    read_all(tmp_path, run)
    assert web.ask("/")["counts"].get("requests", 0) == before
    rows = read_statuses(tmp_path, run.folder, run.partitions)
    assert len(rows) == len(sites)
    assert {row["status"] for row in rows.values()} == {"failed"}


def test_pages_of_unlisted_urls_are_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `gone`, a daily run asks the pages of unlisted URLs: one that is gone has a row."""
    listed, clock = 4, SetClock(monkeypatch, time.time())

    async def answer(request: Request) -> Response:
        if request.path == "/sitemap.xml":
            return Response(body=urlset(listed, f"http://{request.host}"))
        # 2 is alive, 3 is gone
        is_page = request.path[1:].isdecimal() and request.path != "/3"
        return Response(status=200 if is_page else 404)

    with serving(answer) as urls:
        ports = (int(urls[0].rpartition(":")[2]),)
        fetch = FetchOptions(
            allow_ports=ports, allow_networks=("127.0.0.0/8",), max_attempts=1
        )
        for listed in (4, 2, 2, 2):
            clock.now += DAY
            options = ScaleOptions(fetch=fetch, gone=5)
            run = begin_run(str(tmp_path), urls, options)
            read_all(tmp_path, run)
            if listed == 2 and (rows := read_rows(tmp_path, run.folder)):
                break
    changes = {(row["change"], row["loc"][-2:]) for row in rows.to_pylist()}
    assert changes == {("unlisted", "/2"), ("unlisted", "/3"), ("gone", "/3")}
    assert (status(str(tmp_path)).unlisted, status(str(tmp_path)).gone) == (2, 1)


def test_any_order_and_repetition_gives_the_same(
    web: WebServer, tmp_path: Path
) -> None:
    """Partitions may be run in any order, and again."""
    run = begin(web, tmp_path, partitions=4)
    for each in (3, 1, 3, 0, 2, 0):
        run_partition(str(tmp_path), run.folder, each)
    finish(str(tmp_path), run)
    check_first_day(tmp_path, run.folder, 4, FEW)


def test_a_run_without_memory_reads_all(web: WebServer, tmp_path: Path) -> None:
    """With `full`, a run delivers every URL again, and the one after it what has changed since."""
    read_all(tmp_path, begin(web, tmp_path))
    full = begin_run(str(tmp_path), None, web.make_options(), full=True, retry=True)
    read_all(tmp_path, full)
    check_first_day(tmp_path, full.folder, 2, FEW)
    last = begin_run(str(tmp_path), None, web.make_options())
    read_all(tmp_path, last)
    assert read_rows(tmp_path, last.folder) is None
