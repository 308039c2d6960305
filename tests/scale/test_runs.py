"""Runs and commits: who begins one, what counts, and what is removed at its end."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from walking import urlset

from sitemapreader import FetchOptions, Limits, walk_many
from sitemapreader.distributed import hosts
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.partition import pack_state, unpack_state
from sitemapreader.distributed.planning import (
    count_layout_partitions,
    plan,
    read_partition_hosts,
)
from sitemapreader.distributed.runs import (
    Commit,
    ScaleRun,
    begin_run,
    create_commit,
    find_missing,
    finish,
    iterate_statuses,
    load_commit,
    load_run,
    status,
)
from sitemapreader.distributed.storage import OutputError, Storage
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.urls import host_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Any

    from sitemapreader.fetch import StoredResponse
    from sitemapreader.many.run import SiteRun

HOSTS = [f"d{number}.com" for number in range(40)]
RUN = "runs/0001"


TOKENS = ["0123456789abcdef", "fedcba9876543210"]


def make_commit(partition: int, *, urls: int = 100, token: str = TOKENS[0]) -> Commit:
    return Commit(
        partition=partition,
        token=token,
        hosts=10,
        urls=urls,
        unlisted=3,
        files=1,
        has_state=True,
        memory="none",
        statuses={"complete": 9, "none": 1},
        reasons={"no-sitemap": 1},
        put_off=1,
        seconds=float(partition),
    )


def commit(output: str, run: ScaleRun, partition: int, **given: Any) -> Commit:
    """Commit an attempt that has uploaded its files; return the commit that counts."""
    mine = make_commit(partition, **given)
    for path in mine.list_all(run.folder):
        Storage(output).create(path, b"counts")
    return create_commit(Storage(output), run.folder, mine, [])


def list_files(folder: Path) -> set[str]:
    """Return the paths of all files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


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
        done = commit(output, first, partition)
        assert commit(output, first, partition, urls=7, token=TOKENS[1]) == done
    totals = finish(output, first)
    assert (totals.hosts, totals.urls, totals.statuses) == (40, 400, {"complete": 36, "none": 4})
    assert (totals.reasons, totals.put_off) == ({"no-sitemap": 4}, 4)
    assert totals.unlisted == 12
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
    output = str(tmp_path)
    first = begin_run(output, plan(HOSTS, output, partitions=1))
    commit(output, first, 0)
    finish(output, first)
    second = begin_run(output)
    before = list_files(tmp_path)
    mine = commit(output, second, 0, token=TOKENS[1])
    for path in make_commit(0).list_all(second.folder):
        Storage(output).create(path, b"does not count")
        (tmp_path / f"{path}.0123abcd.part").write_bytes(b"half")
    (tmp_path / second.folder / "status" / "p-00000.parquet.0123abcd.part").write_bytes(b"half")
    finish(output, second)
    finish(output, second)
    old_state = make_commit(0).name_state(first.folder)
    assert list_files(tmp_path) == before - {old_state} | {
        *mine.list_all(second.folder),
        f"{second.folder}/status/p-00000.parquet",
        f"{second.folder}/_SUCCESS.json",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"token": "../../../../etc/p"},
        {"token": 5},
        {"files": "x"},
        {"hosts": None},
        {"seconds": None},
        {"statuses": {"complete": "many"}},
        {"reasons": []},
        {"more": 1},
    ],
)
def test_a_commit_names_files_of_its_own_only(tmp_path: Path, changes: dict[str, object]) -> None:
    """Who can write into the storage cannot make a run read or remove other files by a commit."""
    storage, path = Storage(str(tmp_path)), tmp_path / RUN / "status" / "p-00000.parquet"
    create_commit(storage, RUN, make_commit(0), [])
    table = pq.read_table(path)
    said = json.loads(table.schema.metadata[b"sitemapreader.commit"]) | changes
    pq.write_table(table.replace_schema_metadata({"sitemapreader.commit": json.dumps(said)}), path)
    with pytest.raises(OutputError, match=r"p-00000\.parquet is damaged"):
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
    plain: dict[str, object] = {"fetch": {}, "limits": {}}
    assert ScaleOptions().to_json() == plain
    for wrong in ({"hosts": 1}, {"fetch": {"nothing": 1}}, {"fetch": 1}, {"hosts_at_once": "x"}):
        with pytest.raises(ValueError, match=r"not options|must be"):
            ScaleOptions.from_json(plain | wrong)


def test_what_is_due_needs_a_state() -> None:
    """Without a state nobody knows which sitemaps are due."""
    with pytest.raises(ValueError, match="needs `state`"):
        ScaleOptions(state=False, revisit=5)


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
        with pytest.raises(OutputError):
            unpack_state(packed, back)
        packed.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        with pytest.raises(OutputError):
            unpack_state(packed, back)
    packed.write_bytes(whole)
    monkeypatch.setattr("sitemapreader.distributed.partition.MAX_STATE_BYTES", 16_383)
    with pytest.raises(OutputError, match="unpacks to 16384"):
        unpack_state(packed, back)


def test_a_run_before_the_last_is_not_finished_again(tmp_path: Path) -> None:
    """It would remove the states of the run that has followed it."""
    output = str(tmp_path)
    first = begin_run(output, plan(HOSTS, output, partitions=1))
    commit(output, first, 0)
    finish(output, first)
    second = begin_run(output)
    commit(output, second, 0)
    before = list_files(tmp_path)
    with pytest.raises(OutputError, match="runs/0001 is over, because runs/0002 has begun"):
        finish(output, first)
    assert list_files(tmp_path) == before


def test_a_process_that_is_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is still at the end of a run keeps the states of the next, begun meanwhile."""
    output = str(tmp_path)
    first = begin_run(output, plan(HOSTS, output, partitions=1))
    commit(output, first, 0)
    listed = Storage.list

    def begin_next(self: Storage, folder: str) -> list[str]:
        if folder == "state/p-00000":
            monkeypatch.setattr(Storage, "list", listed)
            finish(output, first)
            commit(output, begin_run(output), 0)
        return listed(self, folder)

    monkeypatch.setattr(Storage, "list", begin_next)
    finish(output, first)
    assert list_files(tmp_path / "state") == {f"p-00000/000{n}-{TOKENS[0]}.db.zst" for n in (1, 2)}


OTHERS = [
    "state/notes/thesis.txt",
    "state/p-00000/notes.txt",
    f"state/p-00000/0000-{TOKENS[0]}.db.zst.bak",
    f"state/p-0/0000-{TOKENS[0]}.db.zst",
    "runs/0001/urls/mine.parquet",
    "runs/0001/urls/download.part",
]


def test_files_of_others_stay(tmp_path: Path) -> None:
    """The end of a run removes only files that an attempt may have written."""
    output = str(tmp_path)
    run = begin_run(output, plan(HOSTS, output, partitions=1))
    commit(output, run, 0)
    for path in OTHERS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("precious", "utf-8")
    finish(output, run)
    assert set(OTHERS) <= list_files(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output with a run that is finished."""
    output = tmp_path_factory.mktemp("finished")
    run = begin_run(str(output), plan(HOSTS, str(output), partitions=1))
    commit(str(output), run, 0)
    finish(str(output), run)
    return output


def copy_finished(finished: Path, folder: Path) -> Path:
    return shutil.copytree(finished, folder / "out")


def use_all(output: str) -> None:
    """Read every small file of an output."""
    count_layout_partitions(Storage(output))
    status(output)
    find_missing(output, begin_run(output))


RUN_FILES = ["run.json", "_SUCCESS.json"]
DAMAGE = [b"", b"[]", b"null", b"{", b"\xff", b"[" * 99_999, b'{"a": ' + b"9" * 5_000 + b"}"]


@pytest.mark.parametrize("content", DAMAGE, ids=range(len(DAMAGE)))
@pytest.mark.parametrize("path", [*[f"{RUN}/{name}" for name in RUN_FILES], "list", "layout.json"])
def test_damaged_files_are_named(finished: Path, tmp_path: Path, path: str, content: bytes) -> None:
    """A file that a run needs, and that is damaged, is named, with what to do."""
    storage = Storage(str(copy_finished(finished, tmp_path)))
    path = f"{load_run(storage, RUN).listed.folder}/list.json" if path == "list" else path
    Path(storage.output, path).write_bytes(content)
    with pytest.raises(OutputError, match=f"{path} is damaged"):
        use_all(storage.output)


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        (f"{RUN}/run.json", {"started": "today"}),
        (f"{RUN}/run.json", {"previous": ["x"]}),
        (f"{RUN}/run.json", {"options": {"limits": {"depth": "x"}}}),
        (f"{RUN}/_SUCCESS.json", {"seconds": 5}),
        ("list", {"partitions": 10**30}),
        ("list", {"partitions": 3}),
        ("list", {"hosts": None}),
        ("layout.json", {"partitions": 10**30}),
    ],
)
def test_values_of_wrong_types_are_named(
    finished: Path, tmp_path: Path, path: str, changes: dict[str, object]
) -> None:
    """A value that no run can have written is named with its file."""
    storage = Storage(str(copy_finished(finished, tmp_path)))
    path = f"{load_run(storage, RUN).listed.folder}/list.json" if path == "list" else path
    content = storage.load(path, dict)
    assert content is not None
    Path(storage.output, path).write_text(json.dumps(content | changes), "utf-8")
    with pytest.raises(OutputError, match=f"{path} is (damaged|not)"):
        use_all(storage.output)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 99, b"\xff" * 999])
def test_damaged_rows_are_named(finished: Path, tmp_path: Path, content: bytes) -> None:
    """The rows of a run's hosts, and its list, are named if they are damaged."""
    storage = Storage(str(copy_finished(finished, tmp_path)))
    Path(storage.output, RUN, "status", "p-00000.parquet").write_bytes(content)
    for use in (status, lambda output: list(iterate_statuses(output))):
        with pytest.raises(OutputError, match=r"p-00000\.parquet is damaged"):
            use(storage.output)
    listed = load_run(storage, RUN).listed
    Path(storage.output, listed.folder, "00.parquet").write_bytes(content)
    with pytest.raises(OutputError, match=r"00\.parquet cannot be read"):
        read_partition_hosts(storage, listed, 0)


# -- reading of the hosts of a partition: how many at a time, and which wait for which


SLOW, LAST = "h0.slow.example", "b.example"


class GatedFetcher(MemoryFetcher):
    """A web of hosts with one URL each; the slow one answers when the last one was asked."""

    def __init__(self, sites: list[str]) -> None:
        super().__init__(
            {f"https://{site}/sitemap.xml": urlset(f"https://{site}/1") for site in sites}
        )
        self.gate = asyncio.Event()

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Give the response when its time has come."""
        if host_of(url) == LAST:
            self.gate.set()
        if host_of(url) == SLOW:
            await self.gate.wait()
        await asyncio.sleep(0)
        async with super().open(url, headers=headers) as response:
            yield response


@pytest.fixture
def fetcher(monkeypatch: pytest.MonkeyPatch) -> GatedFetcher:
    """The fetcher of all runs."""
    web = GatedFetcher([*list_sites("slow"), "a.example", LAST])

    def walk_in_memory(sites: list[str], **options: Any) -> SiteRun:
        return walk_many(sites, **options | {"fetcher": web})

    monkeypatch.setattr(hosts, "walk_many", walk_in_memory)
    return web


def list_sites(domain: str) -> list[str]:
    return [f"h{number}.{domain}.example" for number in range(6)]


async def test_hosts_that_wait_for_their_domain_take_no_room(
    tmp_path: Path, fetcher: GatedFetcher
) -> None:
    """A slow host delays the other hosts of its domain, and no host of another domain."""
    sites = [*list_sites("slow"), "a.example", LAST]
    async with asyncio.timeout(20):
        outcomes = (await hosts.read_hosts(sites, tmp_path, None, ScaleOptions(), 2)).outcomes
    assert sorted(outcome["site"] for outcome in outcomes) == sorted(sites)
    assert {outcome["entries"] for outcome in outcomes} == {1}
    assert fetcher.gate.is_set()
