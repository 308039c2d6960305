"""`sitemapreader scale`: what a user sees."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import FetchOptions
from sitemapreader._cli.commands.scale import (
    _exit_code_of_run,
    describe_progress,
    describe_totals,
)
from sitemapreader._cli.parser import CLOSED_PIPE, PARTIAL
from sitemapreader._types.issues import IssueCode
from sitemapreader.distributed import (
    ScaleOptions,
    Totals,
    begin_run,
    find_missing,
    finish,
    run_partition,
)
from sitemapreader.distributed.planning import load_run
from sitemapreader.distributed.storage import Storage
from tests.scale import scale_web
from tests.scale.scale_runs import WebServer, check_first_day, serve_web
from tests.support.commands import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTS = range(12)


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    """A web of many hosts."""
    with serve_web() as server:
        yield server


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """A list of hosts."""
    path = tmp_path / "hosts.txt"
    path.write_text("".join(f"{scale_web.name_site(number)}\n" for number in HOSTS))
    return path


@pytest.mark.slow
def test_a_shard_goes_on_with_a_run(
    web: WebServer, hosts: Path, tmp_path: Path
) -> None:
    """Jobs of an array need no engine: each says what is left, and reads its own part of that.

    The options are those that the run began with, and status tells what the job told.
    """
    output = tmp_path / "out"
    sites = [scale_web.name_site(number) for number in HOSTS]
    begun = begin_run(str(output), sites, web.make_options(), partitions=4)
    run_partition(str(output), begun.folder, 0)
    said = run(
        "scale", str(hosts), "-o", str(output), "--revisit", "5", "--shard", "2/2"
    ).stderr
    assert "continuing runs/0001 with its options: 3 of 4 partitions to read" in said
    assert "dashboard: http://127.0.0.1:" in said
    assert "3 of 4 partitions, not finished" in said
    assert find_missing(str(output), begun) == [2]
    assert load_run(Storage(str(output)), "runs/0001").options == begun.options
    status = run("scale", "status", "-o", str(output)).stdout
    *totals, rate = status.splitlines(keepends=True)
    assert "".join(totals) in said.replace("sitemapreader: ", "")
    assert rate.endswith("hosts a second since the run began\n")
    run_partition(str(output), begun.folder, 2)
    check_first_day(output, begun.folder, 4, HOSTS)
    failed = run("scale", "status", "-o", str(output), "--failed")
    assert failed.returncode == PARTIAL  # hosts without a sitemap are there
    assert {line.split("\t")[0] for line in failed.stdout.splitlines()} == {
        scale_web.name_site(number)
        for number in HOSTS
        if scale_web.find_kind(number) != "good"
    }


def make_totals(committed: int, **given: Any) -> Totals:
    """Return the sums of a run of 8 partitions, of which each has 100 hosts and 6,000 URLs."""
    statuses = {"complete": 98 * committed, "failed": committed, "error": committed}
    return Totals(
        run="runs/0001",
        partitions=8,
        committed=committed,
        hosts=100 * committed,
        urls=6_000 * committed,
        statuses=Counter(statuses),
        **given,
    )


def test_progress_is_printed() -> None:
    """A run that goes on says how much is done."""
    assert describe_progress(make_totals(4)) == (
        "4/8 partitions, 400 hosts (8 failed), 24,000 URLs"
    )


@pytest.mark.parametrize(
    ("statuses", "given", "code"),
    [
        ({"complete": 9, "unchanged": 9}, {}, 0),
        ({"complete": 9, "none": 1}, {}, 3),
        ({"unchanged": 9, "partial": 1}, {}, 3),
        ({"complete": 9, "failed": 1}, {}, 3),
        ({"complete": 9, "error": 1}, {}, 3),
        ({"complete": 9}, {"failures": {0: "killed"}}, 3),
        ({"failed": 9}, {}, 4),
        ({"failed": 8, "none": 1}, {}, 1),
        ({"failed": 9}, {"finished": False}, 3),
        ({}, {"finished": False}, 0),
    ],
)
def test_the_exit_code_of_a_run(
    statuses: dict[str, int], given: dict[str, Any], code: int
) -> None:
    """It is that of the command for one source: all, a part, nothing, or none that responds."""
    totals = Totals(
        run="runs/0001",
        partitions=8,
        **{"finished": True, "statuses": Counter(statuses), **given},
    )
    assert _exit_code_of_run(totals) == code


def test_the_rate_of_a_run() -> None:
    """It is rounded where it is written, and 0 if no time is known."""
    totals = Totals(run="runs/0001", partitions=8, hosts=7, seconds=3.0)
    assert totals.to_dict()["hosts_per_second"] == 2.333
    assert attrs.evolve(totals, seconds=0.0).hosts_per_second == 0.0


def test_the_summary_says_why_hosts_were_not_read() -> None:
    """The most frequent reasons come first, with the option that helps; then --retry."""
    reasons = {
        "dns": 4,
        "blocked-port": 2_000,
        "tls": 4,
        "killed its process": 3,
        "budget-urls": 1,
    }
    meaning = IssueCode.BLOCKED_PORT.meaning
    hosts = "784 complete, 8 error, 8 failed"
    state = "8 of 8 partitions, not finished: run the same command again"
    given = {
        "reasons": Counter(reasons | {"no-sitemap": 90}),
        "skipped": 1,
        "put_off": 99,
        "unlisted": 5,
    }
    assert [*describe_totals(make_totals(8, **given))] == [
        f"runs/0001: 48,000 URLs and 5 unlisted of 800 hosts ({hosts}); {state}",
        f"not read: 2,000 blocked-port: {meaning}: allow it with --allow-port if you trust it",
        "not read: 90 no-sitemap: no sitemap was found",
        "not read: 4 dns: the host name could not be resolved",
        f"not read: 4 tls: {IssueCode.TLS.meaning}",
        "not read: 3 killed its process",
        "not read for other reasons: `scale status --failed` lists the hosts",
        "skipped 1 host, because they were not due: --retry reads these, too",
        (
            "not due at the next run: 99 hosts that failed or have no sitemap: "
            "`scale status --failed` names the dates"
        ),
    ]
    assert len([*describe_totals(make_totals(8))]) == 1
    failures = dict.fromkeys(range(5), "killed")
    assert (
        len(
            [
                *describe_totals(
                    make_totals(3, reasons=Counter(reasons), failures=failures)
                )
            ]
        )
        == 11
    )
    *_, last = describe_totals(make_totals(2, failures=failures | {5: "killed"}))
    assert last == "and 1 more partition"


def test_a_run_without_a_complete_partition_says_of_how_many(tmp_path: Path) -> None:
    """The hosts of the list are counted before the first of them is committed."""
    begin_run(str(tmp_path), ["http://127.0.0.1/", "http://127.0.0.2/"])
    shown = run("scale", "status", "-o", str(tmp_path)).stdout
    assert "0 URLs of 0 of 2 hosts (no partition is complete yet); 0 of 1" in shown


def test_a_reader_that_leaves_ends_the_status_in_silence(tmp_path: Path) -> None:
    """As of the other commands, nothing is said, and the exit code is that of a closed pipe."""
    hosts = [f"http://127.0.{number}.1/" for number in range(200)]
    run_partition(str(tmp_path), begin_run(str(tmp_path), hosts).folder, 0)
    words = ["scale", "status", "--failed", "-o", str(tmp_path)]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "sitemapreader", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, b"")


THREADS_OF_STATUS = """
import sys
import time
from pathlib import Path
import pyarrow.compute
from sitemapreader import distributed

def name_threads():
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    return sorted(name for name in names if not name.startswith("jemalloc"))

before = name_threads()
[*rows] = distributed.iterate_statuses(sys.argv[1])
totals = distributed.status(sys.argv[1])
assert len(rows) == totals.listed == 20, totals
ends = time.monotonic() + 20
while name_threads() != before:  # a thread of Python's that has ended may still be shown
    assert time.monotonic() < ends, name_threads()
    time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the threads are read from /proc")
def test_a_status_leaves_no_thread_behind(tmp_path: Path) -> None:
    """A thread of Arrow that frees a file while Python exits would abort the process."""
    hosts = [f"http://127.0.{number}.1/" for number in range(20)]
    begun = begin_run(str(tmp_path), hosts, partitions=1)
    run_partition(str(tmp_path), begun.folder, 0)
    command = [sys.executable, "-c", THREADS_OF_STATUS, str(tmp_path)]
    subprocess.run(command, check=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [],
            (
                "runs/0001 had --timeout 5.0, --allow-network 10.0.0.0/8, "
                "--allow-network fd00::/8, and this run has not"
            ),
        ),
        (["-m", "9", "--allow-network", "10.0.0.0/8", "--allow-port", "1"], None),
    ],
)
def test_options_that_only_the_run_before_had_are_named(
    tmp_path: Path, words: list[str], said: str | None
) -> None:
    """Options are not remembered, and a run without them may read much less."""
    networks = ("10.0.0.0/8", "fd00::/8")
    fetch = FetchOptions(
        allow_networks=networks, headers_seconds=5.0, total_seconds=5.0
    )
    options = ScaleOptions(fetch=fetch)
    begun = begin_run(str(tmp_path), ["http://127.0.0.1/"], options)
    run_partition(str(tmp_path), begun.folder, 0)
    finish(str(tmp_path), begun)
    told = run("scale", "-o", str(tmp_path), "--shard", "1/1", *words).stderr
    if said is None:
        assert "options are not remembered" not in told
    else:
        assert said in told


def test_nothing_begins_without_its_scheduler(hosts: Path, tmp_path: Path) -> None:
    """Where no scheduler is found, that is an error, and no run has begun."""
    output = tmp_path / "out"
    done = run("scale", str(hosts), "-o", str(output), "--scheduler", "none://there")
    assert done.returncode == 2
    assert "no scheduler at none://there: unknown address scheme" in done.stderr
    assert not output.exists()


def test_hosts_that_failed_are_listed(tmp_path: Path) -> None:
    """`status` has a line for the run; with `--failed`, one for each host that was not read."""
    hosts = [f"http://127.0.0.{number}/" for number in (2, 1)]
    run_partition(str(tmp_path), begin_run(str(tmp_path), hosts).folder, 0)
    shown = run("scale", "status", "-o", str(tmp_path))
    assert (
        "0 URLs of 2 hosts (2 failed); 1 of 1 partition, not finished" in shown.stdout
    )
    assert "hosts a second since the run began" in shown.stdout
    words = ["scale", "status", "-o", str(tmp_path)]
    totals = json.loads(run(*words, "--json").stdout)
    assert (totals["hosts"], totals["listed"], totals["finished"]) == (2, 2, False)
    assert totals["statuses"] == {"failed": 2}
    assert totals["hosts_per_second"] == pytest.approx(
        2 / totals["seconds"] if totals["seconds"] else 0, abs=0.001
    )
    rows = json.loads(run(*words, "--failed", "--json").stdout)
    assert {row["site"] for row in rows} == {*hosts}
    failed = run("scale", "status", "-o", str(tmp_path), "--failed")
    assert {*failed.stdout.splitlines()} == {
        f"{host}\tfailed\tblocked-address" for host in hosts
    }
    assert failed.returncode == shown.returncode == PARTIAL


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["hosts.txt"], 2, "-o"),
        (["-o", "OUT"], 2, "no list of hosts yet"),
        (
            ["none.txt", "-o", "OUT", "--shard", "1/1"],
            2,
            "none.txt cannot be read to its end: ",
        ),
        (["HOSTS", "-o", "OUT", "--shard", "3/2"], 2, "3/16"),
        (
            ["HOSTS", "-o", "OUT", "--shard", "1/2", "--workers", "2"],
            2,
            "not allowed with",
        ),
        (["HOSTS", "-o", "OUT", "-u", "me:secret"], 2, "unknown option: -u"),
        (["HOSTS", "-o", "OUT", "-x", "http://me:secret@127.0.0.1:1"], 2, "password"),
        (["status", "-o", "OUT"], 2, "has no run"),
        (["HOSTS", "-o", "OUT", "--json"], 2, "requires the word status"),
        (["status", "-o", "HOSTS"], 1, "hosts.txt: Not a directory\n"),
        (["status", "-o", "DAMAGED"], 2, "runs/0001/run.json is damaged"),
        (["HOSTS", "-o", "DAMAGED"], 2, "runs/0001/run.json is damaged"),
        (["CUT", "-o", "OUT"], 2, "cannot be read to its end"),
    ],
)
def test_wrong_usage_is_refused(
    hosts: Path, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    """What makes no sense is refused with a message that says what to do."""
    damaged, cut = tmp_path / "damaged", tmp_path / "hosts.gz"
    (damaged / "runs" / "0001").mkdir(parents=True)
    (damaged / "runs" / "0001" / "run.json").write_bytes(b"[")
    cut.write_bytes(gzip.compress(b"example.org" * 999)[:20])
    places = {"HOSTS": hosts, "OUT": tmp_path / "out", "DAMAGED": damaged, "CUT": cut}
    done = run("scale", *(str(places.get(word, word)) for word in words))
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "library",
    [
        "dask",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("fsspec", "pyarrow")),
    ],
)
def test_a_missing_extra_is_named(tmp_path: Path, library: str) -> None:
    """Without one of its libraries, no run begins, and both say what brings it."""
    words = ["scale", "-", "-o", str(tmp_path / "out")]
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "try:\n  from sitemapreader.distributed import run\n"
        f"  run(['example.org'], {words[-1]!r})\n"
        "except ImportError as error: print(error, file=sys.stderr)\n"
        f"from sitemapreader._cli import main; sys.exit(main({words!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="example.org",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
    first, _usage, last = done.stderr.splitlines()
    for line in (first, last):
        assert f"needs {library}" in line
        assert "the extra `distributed` brings it" in line
