"""The reading of one partition: its hosts are read, and one commit counts.

An engine only has to call `run_partition` at least once for each partition. The first attempt that
commits counts, and all others leave nothing behind. Attempts do not wait for each other: one that
was taken for dead may still be at work, until it sees that another one has committed.

Hosts are read in this process, or in a child of it if attempts have died. When a child dies or is
stuck, each half of its hosts is read in a child of its own, down to the host that kills, which gets
the status "error"; all others are exact.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gzip
import json
import os
import secrets
import shutil
import sys
import tempfile
import time
import zlib
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader import IssueCode, SiteOutcome, SiteStatus, walk_many
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.planning import read_partition_hosts
from sitemapreader.distributed.runs import (
    OUTCOME_SCHEMA,
    STATUS_SCHEMA,
    Commit,
    Row,
    ScaleRun,
    create_commit,
    load_commit,
    load_run,
)
from sitemapreader.distributed.storage import (
    PARTITION,
    STATE,
    TRIES,
    URLS,
    OutputError,
    Storage,
)
from sitemapreader.event_loop import end_task

if TYPE_CHECKING:
    from collections.abc import Sequence

AT_ONCE = 4
"""Partitions that one process reads at the same time, in threads, which share its `hosts_at_once`:
the slow hosts at the end of one do not keep it waiting."""
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
    storage = Storage(output)
    loaded = load_run(storage, run)
    if done := load_commit(storage, run, partition):
        return done[0]
    with tempfile.TemporaryDirectory(prefix="sitemapreader-scale-") as name:
        attempt = Attempt.begin(storage, loaded, partition, Path(name))
        folders = asyncio.run(attempt.read())
        if folders is not None:
            return attempt.commit(folders)
    return run_partition(output, run, partition)  # another attempt has committed


@attrs.frozen
class Attempt:
    """An attempt at a partition, and what is known of its hosts.

    Attributes:
        token: a part of the names of its files.
        is_isolated: whether hosts are read in child processes.
        due: hosts to read, those that took longest the last time first.
        rows: the rows of the run before, by site.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
    """

    _storage: Storage
    _run: ScaleRun
    _partition: int
    _folder: Path
    token: str
    is_isolated: bool
    due: list[str]
    rows: dict[str, Row]
    memory: str
    _began: float = attrs.field(factory=time.monotonic)

    @classmethod
    def begin(cls, storage: Storage, run: ScaleRun, partition: int, folder: Path) -> Attempt:
        """Leave a trace of an attempt, and load what is known; what is damaged is unknown."""
        tries = f"{TRIES.format(run=run.folder)}/{PARTITION.format(partition)}"
        token = secrets.token_hex(8)
        storage.create(f"{tries}/{token}", b"")
        is_isolated = len(storage.list(tries)) >= ISOLATE_FROM
        rows, memory = dict[str, Row](), "none"
        try:
            before = load_commit(storage, run.previous, partition) if run.previous else None
            if run.previous and before:
                rows = {row["site"]: row for row in before[1].to_pylist()}
                if not run.full:
                    packed, old = folder / "packed", before[0].token
                    path = STATE.format(run=run.previous, partition=partition, token=old)
                    storage.download(path, packed)
                    unpack_state(packed, folder / _STATE)
                    memory = "kept"
        except (FileNotFoundError, OutputError) as error:
            memory = f"the state before cannot be used: {error}"
        now = datetime.now(UTC)
        sites = read_partition_hosts(storage, run.listed, partition)
        due = [site for site in sites if run.retry or is_due(rows.get(site), now)]
        due.sort(key=lambda site: -((rows.get(site) or {}).get("seconds") or 0.0))
        rows = {site: rows[site] for site in sites if site in rows}  # others left the list
        return cls(storage, run, partition, folder, token, is_isolated, due, rows, memory)

    async def read(self) -> list[Path] | None:
        """Read the hosts that are due; return the folders of what was read.

        `None` if another attempt has committed meanwhile.
        """
        options, known = self._run.options, (self._folder / _STATE).exists()
        if options.revisit is not None:
            hosts = len({*self.due, *self.rows})
            share = max(1, options.revisit * hosts // self._run.listed.hosts)
            options = attrs.evolve(options, revisit=share if known else None)
        read = read_isolated if self.is_isolated and self.due else read_hosts
        reading = asyncio.create_task(read(self.due, self._folder, options))
        look = partial(load_commit, self._storage, self._run.folder, self._partition)
        try:
            while not (await asyncio.wait([reading], timeout=_LOOK_SECONDS))[0]:
                if await asyncio.to_thread(look):
                    return None
        finally:
            await end_task(reading)
        return reading.result()

    def commit(self, folders: list[Path]) -> Commit:
        """Upload what was read, and commit it; return the commit that counts."""
        storage, run, partition = self._storage, self._run.folder, self._partition
        name = {"run": run, "partition": partition, "token": self.token}
        own: dict[str, Path] = {}
        now = datetime.now(UTC)
        now = now.replace(microsecond=now.microsecond // 1_000 * 1_000)  # as rows have it
        outcomes = [row for each in folders for row in pq.read_table(each / _HOSTS).to_pylist()]
        rows = {site: row | {"read": False} for site, row in self.rows.items()}
        for each in outcomes:
            rows[each["site"]] = make_row(each, self.rows.get(each["site"]), partition, now)
        if (state := self._folder / _STATE).exists():
            own[STATE.format(**name)] = packed = self._folder / "packed"
            pack_state(state, packed)
        for number, part in enumerate(each / _URLS for each in folders):
            if part.exists() and pq.read_metadata(part).num_rows:
                own[URLS.format(**name, number=number)] = part
        for path, local in own.items():
            storage.upload(local, path)
        table = pa.Table.from_pylist(list(rows.values()), STATUS_SCHEMA)
        mine = Commit(
            partition=partition,
            token=self.token,
            memory=self.memory,
            seconds=round(time.monotonic() - self._began, 3),
        )
        counts = create_commit(storage, run, mine, table)
        for path in own if counts.token != self.token else ():
            storage.remove(path)
        return counts


# -- when a host is read again

MAX_WAIT_DAYS = 32
"""The longest time until a host is due again, even if it asks for more or failed often."""
NO_SITEMAP_DAYS = 30
_FAILED = frozenset({"failed", "error"})
_READ = frozenset({"complete", "unchanged"})
_REFUSED_BY_OPTIONS = {
    code for code in IssueCode if code.startswith(("blocked-", "budget-", "too-large"))
} - {IssueCode.BLOCKED_BY_SITE, IssueCode.BUDGET_SECONDS}
"""Reasons that are no fault of a host, as the next run may have other options. Time is a fault."""


def make_row(outcome: Row, before: Row | None, partition: int, now: datetime) -> Row:
    """Return the row of a host that was read: its outcome, and its history."""
    if before and outcome["status"] == SiteStatus.UNCHANGED and not outcome["requests"]:
        return before | {name: outcome[name] for name in ("waiting", "due")} | {"read": False}
    status = outcome["status"]
    has_failed = status in _FAILED and outcome["reason"] not in _REFUSED_BY_OPTIONS
    failures = (before["failures"] if before else 0) + 1 if has_failed else 0
    days = [NO_SITEMAP_DAYS] if status == "none" else []
    if failures > 1:  # the first one may be a moment's: it costs one run
        days.append(2 ** (failures - 1))
    if outcome["retry_after"] is not None:
        days.append(outcome["retry_after"] / timedelta(days=1).total_seconds())
    return outcome | {
        "partition": partition,
        "read": True,
        "read_at": now,
        "failures": failures,
        "last_ok": now if status in _READ else before and before["last_ok"],
        "not_before": now + timedelta(days=min(max(days), MAX_WAIT_DAYS)) if days else None,
    }


def is_due(before: Row | None, now: datetime) -> bool:
    """Return whether a host may be read again, by its last row."""
    return before is None or before["not_before"] is None or before["not_before"] <= now


# -- reading

_STATE, _URLS, _HOSTS = "state.db", "urls.parquet", "hosts.parquet"
"""Files of a folder where hosts are read: what is known, rows of URLs, an outcome of each host."""
_SILENT_SECONDS = 60.0
"""How long the event loop of a child may stand still."""
_BEAT_SECONDS = 1.0


async def read_hosts(sites: Sequence[str], folder: Path, options: ScaleOptions) -> list[Path]:
    """Read hosts into a local folder, which may have a state; return it."""
    run = walk_many(
        sites,
        at_once=max(1, options.hosts_at_once // AT_ONCE),
        probe="few",
        site_seconds=options.site_seconds,
        max_urls=options.site_urls,
        state=folder / _STATE,
        changes=True,
        unlisted=True,
        gone=options.gone,
        revisit=options.revisit,
        limits=options.limits,
        options=options.fetch,
    )
    async with run:
        await run.write(folder / _URLS, report=folder / _HOSTS)
    return [folder]


async def read_isolated(sites: Sequence[str], folder: Path, options: ScaleOptions) -> list[Path]:
    """Read hosts in a child process; if it dies, each half in one of its own.

    Each child has a folder in the folder, with a copy of its state: it may die. Raises
    ChildProcessError if one died before it began to read, so that no host can be blamed.
    """
    own, state = Path(tempfile.mkdtemp(dir=folder)), folder / _STATE
    if state.exists():
        shutil.copyfile(state, own / _STATE)
    if await _read_in_child([sites, str(own), options.to_json()]):
        (own / _STATE).replace(state)
        return [own]
    shutil.rmtree(own)
    if len(sites) == 1:
        own = Path(tempfile.mkdtemp(dir=folder))
        killer = attrs.asdict(SiteOutcome(sites[0], SiteStatus.ERROR, "killed its process"))
        pq.write_table(pa.Table.from_pylist([killer], OUTCOME_SCHEMA), own / _HOSTS)
        return [own]
    middle = len(sites) // 2
    found = await read_isolated(sites[:middle], folder, options)
    return found + await read_isolated(sites[middle:], folder, options)


async def _read_in_child(task: object) -> bool:
    """Run `main` in a child process; return whether it came to its end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"from {__name__} import main; main()"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        begun, _ = await process.communicate(json.dumps(task).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not begun:
        raise ChildProcessError("a process for reading hosts died before it began with one")
    return process.returncode == 0


def main() -> None:
    """Read the hosts of a task from standard input: what a child does."""
    sites, folder, options = json.load(sys.stdin)
    os.write(1, b"begun")

    async def read() -> None:
        watching = asyncio.create_task(_watch(os.getppid()))
        await read_hosts(sites, Path(folder), ScaleOptions.from_json(options))
        await end_task(watching)

    asyncio.run(read())


async def _watch(parent: int) -> None:
    """End this process when its event loop stands still, or with its parent.

    Nobody else would end it, and two processes would read the same host.
    """
    try:
        while os.getppid() == parent:
            faulthandler.dump_traceback_later(_SILENT_SECONDS, exit=True)
            await asyncio.sleep(_BEAT_SECONDS)
        os._exit(1)
    finally:
        faulthandler.cancel_dump_traceback_later()


# -- packed states

MAX_STATE_BYTES = 4 * 1024**3
"""SECURITY: a packed state comes from the storage; one that unpacks to more is refused."""
_PIECE_BYTES = 1 << 20


def pack_state(state: Path, packed: Path) -> None:
    """Compress a state file, to a third, with a checksum."""
    with state.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)


def unpack_state(packed: Path, state: Path) -> None:
    """Decompress a state file; raise OutputError, and leave none, for anything else."""
    written, fault = 0, ""
    try:
        with gzip.open(packed) as source, state.open("wb") as target:
            while written <= MAX_STATE_BYTES and (piece := source.read(_PIECE_BYTES)):
                written += target.write(piece)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        fault = f"it is damaged: {error}"
    if fault or not 0 < written <= MAX_STATE_BYTES:
        state.unlink()
        raise OutputError(fault or f"it unpacks to {written} bytes")
