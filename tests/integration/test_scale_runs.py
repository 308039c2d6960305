"""Runs and commits: who begins one, what counts, and what is removed at its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import pytest

from sitemapreader import FetchOptions, Limits
from sitemapreader.distributed.commits import Commit, create_commit, load_commit
from sitemapreader.distributed.layout import OutputError, name_commit
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.packing import UnusableStateError, pack_state, unpack_state
from sitemapreader.distributed.planning import plan
from sitemapreader.distributed.runs import begin_run, find_missing, finish, status
from sitemapreader.distributed.storage import Storage

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = [f"d{number}.com" for number in range(40)]
RUN = "runs/0001"


def make_commit(partition: int, *, urls: int = 100) -> Commit:
    name = f"p-{partition:05}-0001"
    return Commit(
        partition=partition,
        attempt=1,
        hosts=10,
        urls=urls,
        removed=3,
        files=[f"{RUN}/urls/{name}-0000.parquet"],
        status=f"{RUN}/status/{name}.parquet",
        state=f"state/p-{partition:05}/0001-0001.db.zst",
        memory="none",
        statuses={"complete": 9, "none": 1},
        reasons={"no-sitemap": 1},
        put_off=1,
        seconds=float(partition),
    )


def test_a_run_that_is_not_finished_goes_on(tmp_path: Path) -> None:
    """Whoever begins meanwhile gets the same run, with the options that it began with."""
    output = str(tmp_path)
    listed = plan(HOSTS, output, partitions=2)
    options = ScaleOptions(hosts_at_once=7, limits=Limits(depth=2))
    run = begin_run(output, listed, options)
    assert run == begin_run(output) == begin_run(output, listed, ScaleOptions(), full=True)
    assert run.options == options
    with pytest.raises(OutputError, match="another list of hosts"):
        begin_run(output, plan([*HOSTS, "one.more"], output))


def test_the_next_run_follows_one_that_is_finished(tmp_path: Path) -> None:
    """It knows the run before, keeps its list, and reads the slowest partitions first."""
    output = str(tmp_path)
    first = begin_run(output, plan(HOSTS, output, partitions=4))
    assert find_missing(output, first) == [0, 1, 2, 3]
    with pytest.raises(OutputError, match="4 of 4 partitions"):
        finish(output, first)
    for partition in first.partitions:
        assert create_commit(Storage(output), first.folder, make_commit(partition))
        assert not create_commit(Storage(output), first.folder, make_commit(partition, urls=7))
    totals = finish(output, first)
    assert (totals.hosts, totals.urls, totals.statuses) == (40, 400, {"complete": 36, "none": 4})
    assert (totals.reasons, totals.put_off) == ({"no-sitemap": 4}, 4)
    assert totals.removed == 12
    assert totals.finished
    assert finish(output, first) == totals == status(output)
    second = begin_run(output, retry=True)
    assert (second.folder, second.previous, second.retry) == ("runs/0002", RUN, True)
    assert second.listed == first.listed
    assert find_missing(output, second) == [3, 2, 1, 0]
    assert not status(output).finished
    assert status(output, 1) == totals


def test_an_output_without_a_list_says_so(tmp_path: Path) -> None:
    """Nothing can be run, or shown, before the first list was given."""
    with pytest.raises(OutputError, match="give one"):
        begin_run(str(tmp_path))
    with pytest.raises(OutputError, match="has no run"):
        status(str(tmp_path))


def test_the_end_of_a_run_removes_what_does_not_count(tmp_path: Path) -> None:
    """Files that no commit names go: of attempts that died, of states that were replaced."""
    output, storage = str(tmp_path), Storage(str(tmp_path))
    run = begin_run(output, plan(HOSTS, output, partitions=1))
    commit = make_commit(0)
    for path in commit.paths():
        storage.replace(path, b"counts")
        storage.replace(path.replace("-0001", "-0002"), b"does not")
    storage.replace("state/p-00000/0000-0001.db.zst", b"of the run before")
    (tmp_path / RUN / "urls" / "p-00000-0003.parquet.abcd.part").write_bytes(b"half")
    create_commit(storage, run.folder, commit)
    finish(output, run)
    kept = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    wanted = {*commit.paths(), name_commit(RUN, 0), f"{RUN}/run.json", f"{RUN}/_SUCCESS.json"}
    assert wanted <= kept
    assert {path for path in kept - wanted if not path.startswith("lists/")} == {"layout.json"}


@pytest.mark.parametrize(
    "changes",
    [
        {"files": ["runs/0001/urls/p-00000-0001-0000.parquet", "../../etc/passwd"]},
        {"files": [f"{RUN}/urls/p-00001-0001-0000.parquet"]},
        {"files": [7]},
        {"status": "/etc/passwd"},
        {"status": f"{RUN}/status/p-00000-0001.parquet/../../../x"},
        {"state": "state/p-00000/0009-0001.db.zst"},
        {"more": 1},
    ],
)
def test_a_commit_names_files_of_its_own_only(tmp_path: Path, changes: dict[str, object]) -> None:
    """Who can write into the storage cannot make a run read or remove other files by a commit."""
    storage = Storage(str(tmp_path))
    content = attrs.asdict(make_commit(0)) | changes
    storage.replace(name_commit(RUN, 0), json.dumps(content).encode())
    with pytest.raises(OutputError, match="is not a commit"):
        load_commit(storage, RUN, 0)


def test_options_survive_json() -> None:
    """What a worker reads is what the caller gave."""
    options = ScaleOptions(
        hosts_at_once=3,
        state=False,
        fetch=FetchOptions(user_agent="x", allow_ports=(81,), allow_networks=("10.0.0.0/8",)),
        limits=Limits(walk_seconds=5.5),
    )
    assert ScaleOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    assert ScaleOptions().to_json() == {}
    for wrong in ({"hosts": 1}, {"fetch": {"nothing": 1}}, {"fetch": 1}, {"hosts_at_once": "x"}):
        with pytest.raises(ValueError, match=r"not options|must be"):
            ScaleOptions.from_json(wrong)


def test_secrets_are_refused() -> None:
    """Headers and passwords of proxies would be written into the output."""
    with pytest.raises(ValueError, match="headers"):
        ScaleOptions(fetch=FetchOptions(headers={"Authorization": "Bearer x"}))
    with pytest.raises(ValueError, match="password"):
        ScaleOptions(fetch=FetchOptions(proxy="http://me:secret@proxy.example:3128"))


def test_a_packed_state_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cut and flip of a packed state is noticed, and so is one that unpacks to too much."""
    state, packed, back = (tmp_path / name for name in ("state", "packed", "back"))
    state.write_bytes(bytes(range(256)) * 64)
    pack_state(state, packed)
    unpack_state(packed, back)
    assert back.read_bytes() == state.read_bytes()
    whole = packed.read_bytes()
    for at in range(0, len(whole) - 4, 3):  # the last four bytes are a checksum
        packed.write_bytes(whole[:at])
        with pytest.raises(UnusableStateError):
            unpack_state(packed, back)
        packed.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        with pytest.raises(UnusableStateError):
            unpack_state(packed, back)
    packed.write_bytes(whole)
    monkeypatch.setattr("sitemapreader.distributed.packing.MAX_STATE_BYTES", 16_383)
    with pytest.raises(UnusableStateError, match="unpacks to 16384"):
        unpack_state(packed, back)
