"""The reading of one partition: its hosts are read, and one commit counts.

An engine only has to call `run_partition` at least once for each partition. The first attempt that
commits counts, and all others leave nothing behind. Attempts do not wait for each other: one that
was taken for dead may still be at work, until it sees that another one has committed.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

from sitemapreader.distributed.hosts import (
    Reading,
    is_due,
    make_row,
    read_hosts,
    read_isolated,
)
from sitemapreader.distributed.planning import read_partition_hosts
from sitemapreader.distributed.runs import (
    Commit,
    Row,
    ScaleRun,
    create_commit,
    load_commit,
    load_rows,
    load_run,
)
from sitemapreader.distributed.storage import PARTITION, TRIES, OutputError, Storage
from sitemapreader.event_loop import end_task

try:
    from compression import zstd
except ModuleNotFoundError:
    from backports import zstd  # the same before Python 3.14

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AT_ONCE = 4
"""Partitions that one process reads at the same time, which share its `hosts_at_once`: the slow
hosts at the end of one do not keep it waiting."""
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
    turns = asyncio.Semaphore(AT_ONCE)

    async def read(partition: int) -> Commit:
        async with turns:
            commit = await _read_partition(storage, run, partition)
        if on_commit is not None:
            on_commit(commit)
        return commit

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(each)) for each in partitions]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # they are alike, or the first ended the others
    return [task.result() for task in tasks]


async def _read_partition(storage: Storage, run: ScaleRun, partition: int) -> Commit:
    """Read the hosts, unless they are committed; return the commit that counts."""

    async def find_commit() -> Commit | None:
        return await asyncio.to_thread(load_commit, storage, run.folder, partition)

    if done := await find_commit():
        return done
    reading = asyncio.create_task(_attempt(storage, run, partition))
    try:
        while not (await asyncio.wait([reading], timeout=_LOOK_SECONDS))[0]:
            if done := await find_commit():
                return done
    finally:
        await end_task(reading)
    return reading.result()


async def _attempt(storage: Storage, run: ScaleRun, partition: int) -> Commit:
    began = time.monotonic()
    token, is_isolated = await asyncio.to_thread(_begin, storage, run, partition)
    with tempfile.TemporaryDirectory(prefix="sitemapreader-scale-") as name:
        folder = Path(name)
        memory = await asyncio.to_thread(PartitionMemory.load, storage, run, partition, folder)
        options = run.options
        if options.revisit is not None:
            hosts = len(memory.due) + len(memory.waiting)
            share = max(1, options.revisit * hosts // run.listed.hosts)
            options = attrs.evolve(options, revisit=share if memory.state else None)
        parts = folder / "parts"
        parts.mkdir()
        read = read_isolated if is_isolated and memory.due else read_hosts
        at_once = max(1, options.hosts_at_once // AT_ONCE)
        reading = await read(memory.due, parts, memory.state, options, at_once)
        commit, rows = _describe(partition, token, memory, reading)
        commit = attrs.evolve(commit, seconds=round(time.monotonic() - began, 3))
        await asyncio.to_thread(_upload, storage, run, commit, memory, reading)
        return await asyncio.to_thread(create_commit, storage, run.folder, commit, rows)


def _begin(storage: Storage, run: ScaleRun, partition: int) -> tuple[str, bool]:
    """Leave a trace of an attempt; return its token, and whether to isolate its hosts."""
    tries = f"{TRIES.format(run=run.folder)}/{PARTITION.format(partition)}"
    token = secrets.token_hex(8)
    storage.create(f"{tries}/{token}", b"")
    return token, len(storage.list(tries)) >= ISOLATE_FROM


def _describe(
    partition: int, token: str, memory: PartitionMemory, reading: Reading
) -> tuple[Commit, list[Row]]:
    """Return the commit of a reading, and the rows of its hosts."""
    now = now_utc()
    rows = [row | {"read": False} for row in memory.waiting] + [
        make_row(outcome, memory.rows.get(outcome["site"]), partition, now)
        for outcome in reading.outcomes
    ]
    commit = Commit(
        partition=partition,
        token=token,
        hosts=len(rows),
        urls=sum(outcome["entries"] for outcome in reading.outcomes),
        unlisted=sum(outcome["unlisted"] or 0 for outcome in reading.outcomes),
        files=len(reading.parts),
        has_state=memory.state is not None and memory.state.exists(),
        memory=memory.condition,
        statuses=Counter(row["status"] for row in rows),
        reasons=Counter(row["reason"] for row in rows if row["reason"]),
        put_off=sum(not is_due(row, now) for row in rows),
        seconds=0.0,
    )
    return commit, rows


def _upload(
    storage: Storage, run: ScaleRun, commit: Commit, memory: PartitionMemory, reading: Reading
) -> None:
    """Upload the files of an attempt, which count only once it is committed."""
    name = commit.name_state(run.folder)
    if name is not None and memory.state is not None:
        packed = memory.state.with_suffix(".packed")
        pack_state(memory.state, packed)
        storage.upload(packed, name)
    for part, path in zip(reading.parts, commit.list_files(run.folder), strict=True):
        storage.upload(part, path)


def now_utc() -> datetime:
    """Return the time, in the precision of the rows."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


# -- the memory of a partition

NO_MEMORY, KEPT = "none", "kept"
MAX_STATE_BYTES = 4 * 1024**3
"""SECURITY: a packed state comes from the storage; one that unpacks to more is refused."""
_PIECE_BYTES = 1 << 20


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
        state = folder / "state.db" if run.options.state else None
        try:
            commit = load_commit(storage, run.previous, partition) if run.previous else None
            if run.previous and commit is not None:
                rows = load_rows(storage, run.previous, partition)
                path = commit.name_state(run.previous)
                if state and path and not run.full:
                    condition = _load_state(storage, path, state)
        except OutputError as error:
            condition = str(error)
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
