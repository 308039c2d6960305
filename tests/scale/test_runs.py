"""Runs and commits: who begins one, what counts, and what is removed at its end."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sitemapreader import FetchOptions, Limits, SiteOutcome, SiteStatus
from sitemapreader._types.issues import IssueCode
from sitemapreader.distributed import partition as partitions
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.partition import (
    MAX_WAIT_DAYS,
    NO_SITEMAP_DAYS,
    is_due,
    make_row,
    pack_state,
    unpack_state,
)
from sitemapreader.distributed.planning import (
    ScaleRun,
    begin_run,
    load_run,
    read_partition_hosts,
)
from sitemapreader.distributed.runs import (
    STATUS_SCHEMA,
    Commit,
    create_commit,
    find_missing,
    finish,
    iterate_statuses,
    load_commit,
    status,
)
from sitemapreader.distributed.storage import OutputError, Storage

if TYPE_CHECKING:
    from typing import Any


HOSTS = [f"d{number}.com" for number in range(40)]
RUN, ROWS = "runs/0001", "runs/0001/status/p-00000.parquet"
TOKENS = ["0123456789abcdef", "fedcba9876543210"]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = 24 * 3_600


def make_outcome(site: str, status: str = "complete", **given: Any) -> dict[str, Any]:
    return attrs.asdict(SiteOutcome(site, SiteStatus(status), **given))


def list_own(folder: str, token: str, partition: int = 0) -> list[str]:
    """Return the files of an attempt, but for the status."""
    name = f"p-{partition:05}-{token}"
    return [f"{folder}/urls/{name}-0.parquet", f"{folder}/state/{name}.db.gz"]


def commit(
    output: str, run: ScaleRun, partition: int, *, token: str = TOKENS[0]
) -> Commit:
    """Commit an attempt that has uploaded its files; return the commit that counts."""
    good = make_outcome("a.example", entries=100, unlisted=3, requests=1)
    none = make_outcome("b.example", "none", reason="no-sitemap", requests=1)
    later = datetime.now(UTC)
    rows = [make_row(outcome, None, partition, later) for outcome in (good, none)]
    table = pa.Table.from_pylist(rows, STATUS_SCHEMA)
    mine = Commit(
        partition=partition, token=token, memory="none", seconds=float(partition)
    )
    for path in list_own(run.folder, token, partition):
        Storage(output).create(path, b"counts")
    return create_commit(Storage(output), run.folder, mine, table)


def list_files(folder: Path) -> set[str]:
    """Return the paths of all files below a folder."""
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }


def test_a_run_that_is_not_finished_goes_on(tmp_path: Path) -> None:
    """Whoever begins meanwhile gets the same run, with the options that it began with."""
    output = str(tmp_path)
    with pytest.raises(OutputError, match="name one"):
        begin_run(output)
    with pytest.raises(OutputError, match="has no run"):
        status(output)
    with pytest.raises(OutputError, match="every worker must reach it"):
        partitions.run_partition(str(tmp_path / "elsewhere"), RUN, 0)
    (tmp_path / RUN).mkdir(parents=True)  # another worker is about to begin it
    options = ScaleOptions(hosts_at_once=7, limits=Limits(depth=2))
    run = begin_run(output, HOSTS, options, partitions=2)
    assert (
        run == begin_run(output) == begin_run(output, HOSTS, ScaleOptions(), full=True)
    )
    assert run.options == options
    with pytest.raises(OutputError, match="another list of hosts"):
        begin_run(output, [*HOSTS, "one.more"])


def test_the_next_run_follows_one_that_is_finished(tmp_path: Path) -> None:
    """It knows the run before, and keeps its list."""
    output = str(tmp_path)
    first = begin_run(output, HOSTS, partitions=4)
    assert find_missing(output, first) == [0, 1, 2, 3]
    with pytest.raises(OutputError, match="4 of 4 partitions"):
        finish(output, first)
    for partition in range(first.partitions):
        done = commit(output, first, partition)
        assert commit(output, first, partition, token=TOKENS[1]) == done
    totals = finish(output, first)
    assert (totals.hosts, totals.urls, totals.statuses) == (
        8,
        400,
        {"complete": 4, "none": 4},
    )
    assert totals.reasons == {"no-sitemap": 4}
    assert (totals.skipped, totals.put_off) == (0, 4)  # all were read now
    assert (totals.unlisted, totals.finished) == (12, True)
    assert finish(output, first) == totals == status(output)
    second = begin_run(output, retry=True)
    assert (second.folder, second.previous, second.retry) == ("runs/0002", RUN, True)
    assert second.listed == first.listed
    assert not status(output).finished
    assert find_missing(output, second) == [3, 2, 1, 0]
    with pytest.raises(
        OutputError, match="runs/0001 is over, because runs/0002 has begun"
    ):
        finish(output, first)


def test_the_end_of_a_run_removes_uncommitted_files(tmp_path: Path) -> None:
    """Files that no commit names go: of attempts that died, of states that were replaced."""
    output = str(tmp_path)
    first = begin_run(output, HOSTS, partitions=1)
    commit(output, first, 0)
    finish(output, first)
    second = begin_run(output)
    others = ["state/notes.txt", "urls/mine.parquet"]
    for name in others:
        Storage(output).create(f"{second.folder}/{name}", b"precious")
    before = list_files(tmp_path)
    commit(output, second, 0, token=TOKENS[1])
    for path in list_own(second.folder, TOKENS[0]):
        Storage(output).create(path, b"does not count")
        (tmp_path / f"{path}.0123abcd.part").write_bytes(b"half")
    (tmp_path / second.folder / "status" / "p-00000.parquet.0123abcd.part").write_bytes(
        b"half"
    )
    finish(output, second)
    finish(output, second)
    assert list_files(tmp_path) == before - {list_own(first.folder, TOKENS[0])[1]} | {
        *list_own(second.folder, TOKENS[1]),
        f"{second.folder}/status/p-00000.parquet",
        f"{second.folder}/_SUCCESS.json",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"token": "../../../../etc/p"},
        {"token": 5},
        {"more": 1},
    ],
)
def test_a_commit_names_files_of_its_own_only(
    finished: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    """Who can write into the storage cannot make a run read or remove other files by a commit."""
    del tmp_path
    table = pq.read_table(finished / ROWS)
    said = json.loads(table.schema.metadata[b"sitemapreader.commit"]) | changes
    written = finished / "runs/0009/status/p-00000.parquet"
    written.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table.replace_schema_metadata({"sitemapreader.commit": json.dumps(said)}),
        written,
    )
    with pytest.raises(OutputError, match=r"p-00000\.parquet is damaged"):
        load_commit(Storage(str(finished)), "runs/0009", 0)
    shutil.rmtree(finished / "runs/0009")


def test_options_survive_json() -> None:
    """What a worker reads is what the caller gave; what cannot be meant is refused."""
    options = ScaleOptions(
        hosts_at_once=3,
        gone=2,
        fetch=FetchOptions(
            user_agent="x", allow_ports=(81,), allow_networks=("10.0.0.0/8",)
        ),
        limits=Limits(walk_seconds=5.5),
    )
    assert ScaleOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    plain: dict[str, object] = {"fetch": {}, "limits": {}}
    assert ScaleOptions().to_json() == plain
    for wrong in (
        {"hosts": 1},
        {"fetch": {"nothing": 1}},
        {"fetch": 1},
        {"hosts_at_once": "x"},
    ):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            ScaleOptions.from_json(plain | wrong)
    # They would be written into the output.
    with pytest.raises(ValueError, match="headers"):
        ScaleOptions(fetch=FetchOptions(headers={"Authorization": "Bearer x"}))
    with pytest.raises(ValueError, match="password"):
        ScaleOptions(fetch=FetchOptions(proxy="http://me:secret@proxy.example:3128"))


def test_a_packed_state_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cut or flip of a packed state gives another one, nor one that unpacks to too much."""
    state, packed, back = (tmp_path / name for name in ("state", "packed", "back"))
    state.write_bytes(bytes(range(256)) * 64)
    pack_state(state, packed)
    unpack_state(packed, back)
    assert back.read_bytes() == state.read_bytes()
    whole = packed.read_bytes()
    for at in range(0, len(whole), 3):
        packed.write_bytes(whole[:at])
        with pytest.raises(OutputError):
            unpack_state(packed, back)
        packed.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        with suppress(OutputError):  # some bits say nothing, such as those of a date
            unpack_state(packed, back)
            assert back.read_bytes() == state.read_bytes()
    packed.write_bytes(whole)
    monkeypatch.setattr(partitions, "MAX_STATE_BYTES", 16_383)
    with pytest.raises(OutputError, match="unpacks to 16384"):
        unpack_state(packed, back)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output with a run that is finished."""
    output = tmp_path_factory.mktemp("finished")
    run = begin_run(str(output), HOSTS, partitions=1)
    commit(str(output), run, 0)
    finish(str(output), run)
    return output


def use_all(output: str) -> None:
    """Read every small file of an output."""
    list(iterate_statuses(output))
    status(output)
    find_missing(output, begin_run(output))


PATH = f"{RUN}/run.json"
DAMAGE = [b"", b"[]", b"\xff", b"[" * 99_999, b'{"a": ' + b"9" * 5_000 + b"}"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        *((PATH, content) for content in DAMAGE),
        *((ROWS, content) for content in (b"", b"PAR1", b"PAR1" * 99, b"\xff" * 999)),
        (PATH, {"retry": 1, "none": 1}),
        (PATH, {"options": {"limits": {"depth": "x"}}}),
        (PATH, {"listed": "../other"}),
        *((PATH, {"partitions": number}) for number in (3, 10**30)),
        (PATH, {"hosts": None}),
    ],
)
def test_damaged_files_are_named(
    finished: Path,
    tmp_path_factory: pytest.TempPathFactory,
    path: str,
    content: bytes | dict[str, object],
) -> None:
    """A file that a run needs, and that is damaged, is named, with what to do."""
    output = shutil.copytree(finished, tmp_path_factory.mktemp("damaged") / "out")
    if isinstance(content, dict):
        content = json.dumps(
            json.loads((output / path).read_bytes()) | content
        ).encode()
    (output / path).write_bytes(content)
    with pytest.raises(OutputError, match=f"{path} is damaged"):
        use_all(str(output))


def test_a_damaged_list_is_named(finished: Path, tmp_path: Path) -> None:
    """The hosts of a partition are named with their file if it is damaged."""
    storage = Storage(str(shutil.copytree(finished, tmp_path / "out")))
    run = load_run(storage, RUN)
    Path(storage.output, run.listed, "00.gz").write_bytes(b"PAR1" * 99)
    with pytest.raises(OutputError, match=r"00\.gz cannot be read"):
        read_partition_hosts(storage, run, 0)


def test_a_partition_goes_on_where_the_run_before_ended(tmp_path: Path) -> None:
    """It has the rows and the state of that run; `full` forgets the state, but not the rows."""
    output, memories = str(tmp_path), []
    run = begin_run(output, ["http://127.0.0.1/", "b.example"])
    commit(output, run, 0)  # b.example has no sitemap: it is not due for a month
    for full in (False, False, True):
        finish(output, run)
        run = begin_run(output, full=full)
        memories.append(partitions.run_partition(output, run.folder, 0).memory)
        read = {row["site"]: row["read"] for row in iterate_statuses(output)}
        assert read == {"http://127.0.0.1/": True, "b.example": False}
        totals = status(output)
        assert (totals.skipped, totals.put_off) == (1, 1)
    assert memories[0].startswith("the earlier state cannot be used: it is damaged")
    assert memories[1:] == ["kept", "none"]


# -- when a host is due again


@pytest.mark.parametrize(
    ("status", "reason", "failures", "retry_after", "days"),
    [
        ("complete", "", 0, None, None),
        ("complete", "", 0, 3 * DAY, 3),
        ("complete", "", 0, 0.0, None),
        ("partial", "", 0, None, None),
        ("failed", "", 0, None, None),
        ("failed", IssueCode.CONNECT, 1, None, 2),
        ("failed", IssueCode.BUDGET_SECONDS, 1, None, 2),
        ("failed", IssueCode.BLOCKED_BY_SITE, 1, None, 2),
        ("error", "", 5, None, 32),
        ("failed", "", 5_000, None, MAX_WAIT_DAYS),
        ("failed", "", 1, DAY / 2, 2),
        ("failed", "", 0, 1e300, MAX_WAIT_DAYS),
        ("none", "", 0, None, NO_SITEMAP_DAYS),
        ("none", "", 0, 31 * DAY, 31),
        # What options refused is no fault of the host: the next run may allow it.
        ("failed", IssueCode.BLOCKED_PORT, 1, None, None),
        ("failed", IssueCode.BLOCKED_ADDRESS, 1, None, None),
        ("failed", IssueCode.TOO_LARGE, 1, None, None),
        ("failed", IssueCode.BUDGET_DOCUMENTS, 1, None, None),
        ("failed", IssueCode.BLOCKED_PORT, 1, 3.0 * DAY, 3),
    ],
)
def test_when_a_host_is_due_again(
    status: str,
    reason: str,
    failures: int,
    retry_after: float | None,
    days: float | None,
) -> None:
    """The longest of its waits counts: after failures, without a sitemap, and its Retry-After."""
    outcome = make_outcome("a.example", status, reason=reason, retry_after=retry_after)
    row = make_row(
        outcome, {"failures": failures, "last_ok": None}, partition=0, now=NOW
    )
    assert row["not_before"] == (None if days is None else NOW + timedelta(days=days))
    assert is_due(row, NOW) is (not days)
    assert is_due(row, NOW + timedelta(days=days or 0))
