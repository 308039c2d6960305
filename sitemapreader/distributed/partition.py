"""The reading of one partition: its hosts are read, and one commit counts.

An engine only has to call `run_partition` at least once for each partition. The first attempt that
commits counts, and all others leave nothing behind. Attempts do not wait for each other: one that
was taken for dead may still be at work, until it sees that another one has committed.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader.distributed.hosts import (
    STATUS_SCHEMA,
    HostReader,
    Reading,
    Row,
    is_due,
    load_rows,
    make_row,
    now_utc,
    read_isolated,
)
from sitemapreader.distributed.planning import read_partition_hosts
from sitemapreader.distributed.runs import (
    Commit,
    ScaleRun,
    begin_attempt,
    create_commit,
    load_commit,
    load_run,
    name_files,
)
from sitemapreader.distributed.storage import OutputError, Storage
from sitemapreader.event_loop import end_task

try:
    from compression import zstd
except ModuleNotFoundError:
    from backports import zstd  # the same before Python 3.14

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_STATE_BYTES = 4 * 1024**3
"""SECURITY: a packed state comes from the storage; one that unpacks to more is refused."""
_PIECE_BYTES = 1 << 20


def pack_state(state: Path, packed: Path) -> None:
    """Compress a state file, with a checksum."""
    options = {zstd.CompressionParameter.checksum_flag: 1}
    with state.open("rb") as source, zstd.open(packed, "wb", options=options) as target:
        shutil.copyfileobj(source, target)


def unpack_state(packed: Path, state: Path) -> None:
    """Decompress a state file; raise OutputError for anything else."""
    written = 0
    try:
        with zstd.open(packed) as source, state.open("wb") as target:
            while written <= MAX_STATE_BYTES and (piece := source.read(_PIECE_BYTES)):
                written += target.write(piece)
    except (zstd.ZstdError, EOFError) as error:
        raise OutputError(f"it is damaged: {error}") from None
    if not 0 < written <= MAX_STATE_BYTES:
        raise OutputError(f"it unpacks to {written} bytes")


NO_MEMORY, KEPT = "none", "kept"


@attrs.frozen
class PartitionMemory:
    """The hosts of a partition and what is known of them.

    Attributes:
        due: hosts to read, those that took longest the last time first.
        waiting: rows of hosts that are not due yet.
        rows: all rows of the run before, by site.
        state: the state file on the local disk, which may not exist yet; `None` without a state.
        condition: "none" if there was no state, "kept", or why the old one could not be used.
    """

    due: list[str]
    waiting: list[Row]
    rows: dict[str, Row]
    state: Path | None
    condition: str

    @classmethod
    def load(cls, storage: Storage, run: ScaleRun, partition: int, folder: Path) -> Self:
        """Load the memory from the storage; lost or damaged parts count as unknown."""
        sites = read_partition_hosts(storage, run.listed, partition)
        rows: dict[str, Row] = {}
        condition = NO_MEMORY
        commit = load_commit(storage, run.previous, partition) if run.previous else None
        state = folder / "state.db" if run.options.state else None
        if commit is not None:
            try:
                rows = load_rows(storage, commit.status)
            except OutputError as error:
                condition = str(error)
            if state and commit.state and not run.full:
                condition = _load_state(storage, commit.state, state)
        now = now_utc()
        due = [site for site in sites if run.retry or is_due(rows.get(site), now)]
        due.sort(key=lambda site: -((rows.get(site) or {}).get("seconds") or 0.0))
        waiting = set(sites).difference(due)
        return cls(due, [rows[site] for site in sites if site in waiting], rows, state, condition)


def _load_state(storage: Storage, path: str, state: Path) -> str:
    """Unpack the state of the run before; return `KEPT`, or why that failed."""
    packed = state.with_suffix(".packed")
    try:
        storage.download(path, packed)
        unpack_state(packed, state)
    except (FileNotFoundError, OutputError) as error:
        state.unlink(missing_ok=True)
        return f"{path} cannot be used: {error}"
    finally:
        packed.unlink(missing_ok=True)
    return KEPT


ISOLATE_FROM = 3
"""The attempt from which on hosts are read in child processes, to find one that kills."""
_LOOK_SECONDS = 30.0
"""How often an attempt looks whether another one has committed."""


def run_partition(output: str, run: str, partition: int) -> Commit:
    """Read one partition of a run, unless it is committed; return its commit.

    Args:
        output: folder or URL of the output.
        run: folder of the run in it, as `begin_run` gives it.
        partition: its number.

    Raises OSError where the storage fails; the partition can then be run again.
    """
    (commit,) = run_partitions(output, run, [partition])
    return commit


def run_partitions(
    output: str,
    run: str,
    partitions: Sequence[int],
    *,
    on_commit: Callable[[Commit], object] | None = None,
) -> list[Commit]:
    """Read several partitions in one event loop, some at a time; return their commits.

    Args:
        output: as for `run_partition`.
        run: as for `run_partition`.
        partitions: their numbers.
        on_commit: called with each commit as it comes.

    Raises what `run_partition` raises, at once: partitions that are committed stay so.
    """
    return asyncio.run(_run_all(Storage(output), run, partitions, on_commit))


async def _run_all(
    storage: Storage,
    folder: str,
    partitions: Sequence[int],
    on_commit: Callable[[Commit], object] | None,
) -> list[Commit]:
    run = await asyncio.to_thread(load_run, storage, folder)
    room = asyncio.Semaphore(run.options.hosts_at_once)
    turns = asyncio.Semaphore(run.options.partitions_at_once)

    async def read(partition: int) -> Commit:
        async with turns:
            commit = await PartitionReader(storage, run, partition, room).run()
        if on_commit is not None:
            on_commit(commit)
        return commit

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(each)) for each in partitions]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # they are alike, or the first ended the others
    return [task.result() for task in tasks]


@attrs.frozen
class PartitionReader:
    """Reader of one partition: attempt, memory, hosts, files, commit."""

    _storage: Storage
    _run: ScaleRun
    _partition: int
    _room: asyncio.Semaphore

    async def run(self) -> Commit:
        """Read the hosts, unless they are committed; return the commit that counts."""
        if done := await self._find_commit():
            return done
        reading = asyncio.create_task(self._attempt())
        try:
            while not (await asyncio.wait([reading], timeout=_LOOK_SECONDS))[0]:
                if done := await self._find_commit():
                    return done
        finally:
            await end_task(reading)
        return reading.result()

    async def _attempt(self) -> Commit:
        attempt = await asyncio.to_thread(
            begin_attempt, self._storage, self._run.folder, self._partition
        )
        with tempfile.TemporaryDirectory(prefix="sitemapreader-scale-") as folder:
            return await self._read_and_commit(attempt, Path(folder))

    async def _find_commit(self) -> Commit | None:
        return await asyncio.to_thread(
            load_commit, self._storage, self._run.folder, self._partition
        )

    async def _read_and_commit(self, attempt: int, folder: Path) -> Commit:
        began = time.monotonic()
        memory = await asyncio.to_thread(
            PartitionMemory.load, self._storage, self._run, self._partition, folder
        )
        reading = await self._read(memory, attempt, folder)
        written = await asyncio.to_thread(self._write, attempt, folder, memory, reading)
        commit = attrs.evolve(written, seconds=round(time.monotonic() - began, 3))
        if await asyncio.to_thread(create_commit, self._storage, self._run.folder, commit):
            return commit
        await asyncio.to_thread(self._storage.remove, commit.paths())
        return await self._find_commit() or commit

    async def _read(self, memory: PartitionMemory, attempt: int, folder: Path) -> Reading:
        options, listed = self._run.options, self._run.listed
        if options.revisit is not None and memory.state:
            hosts = len(memory.due) + len(memory.waiting)
            share = max(1, options.revisit * hosts // listed.hosts)
            options = attrs.evolve(options, revisit=share)
        if attempt >= ISOLATE_FROM:
            return await read_isolated(memory.due, folder, memory.state, options)
        parts = folder / "parts"
        parts.mkdir()
        return await HostReader(options, self._room).read(memory.due, parts, memory.state)

    def _write(
        self, attempt: int, folder: Path, memory: PartitionMemory, reading: Reading
    ) -> Commit:
        """Upload the files of an attempt, which count only once it is committed."""
        partition, now = self._partition, now_utc()
        rows = [row | {"read": False} for row in memory.waiting] + [
            make_row(outcome, memory.rows.get(outcome["site"]), partition, now)
            for outcome in reading.outcomes
        ]
        status, packed = folder / "status.parquet", folder / "state.db.zst"
        pq.write_table(pa.Table.from_pylist(rows, STATUS_SCHEMA), status, compression="zstd")
        names = name_files(self._run.folder, partition, attempt, len(reading.parts))
        if memory.state is not None and memory.state.exists():
            pack_state(memory.state, packed)
            self._storage.upload(packed, names["state"])
        else:
            names["state"] = None
        for part, name in zip(reading.parts, names["files"], strict=True):
            self._storage.upload(part, name)
        self._storage.upload(status, names["status"])
        return Commit(
            **names,
            partition=partition,
            attempt=attempt,
            hosts=len(rows),
            urls=sum(outcome["entries"] for outcome in reading.outcomes),
            removed=sum(outcome["removed"] or 0 for outcome in reading.outcomes),
            memory=memory.condition,
            statuses=dict(Counter(row["status"] for row in rows)),
            reasons=dict(Counter(row["reason"] for row in rows if row["reason"])),
            put_off=sum(not is_due(row, now) for row in rows),
            seconds=0.0,
        )
