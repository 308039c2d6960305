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
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader import IssueCode, SiteOutcome, SiteStatus, walk_many
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.planning import ScaleRun, load_run, read_partition_hosts
from sitemapreader.distributed.runs import (
    OUTCOME_SCHEMA,
    STATUS_SCHEMA,
    Commit,
    Row,
    create_commit,
    load_commit,
)
from sitemapreader.distributed.storage import (
    PARTITION,
    STATE,
    TRIES,
    URLS,
    OutputError,
    Storage,
)
from sitemapreader.output import write_sites

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTITIONS_AT_ONCE = 4
"""Partitions that one process reads at the same time, in threads, which share its `hosts_at_once`:
the slow hosts at the end of one do not keep it waiting."""
ISOLATE_FROM = 3
"""The attempt from which on hosts are read in child processes, to find one that kills."""
_COMMIT_CHECK_SECONDS = 30.0
"""Seconds between two checks whether another attempt has committed."""


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
        attempt = Attempt(storage, loaded, partition, Path(name))
        if folders := asyncio.run(attempt.read()):
            return attempt.commit(folders)
    return run_partition(output, run, partition)  # another attempt has committed


class Attempt:
    """An attempt at a partition, with the known state of its hosts.

    Attributes:
        due: hosts to read, those that took longest the last time first.
        rows: the rows of the run before, by site.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
    """

    def __init__(
        self, storage: Storage, run: ScaleRun, partition: int, folder: Path
    ) -> None:
        """Write a trace of the attempt, and load the state; a damaged one is unknown."""
        self._began = time.monotonic()
        self._storage = storage
        self._run = run
        self._partition = partition
        self._folder = folder
        self._token = secrets.token_hex(8)
        tries = f"{TRIES.format(run=run.folder)}/{PARTITION.format(partition)}"
        storage.create(f"{tries}/{self._token}", b"")
        self._is_isolated = len(storage.list(tries)) >= ISOLATE_FROM
        rows = dict[str, Row]()
        self.memory = "none"
        try:
            if run.previous and (
                before := load_commit(storage, run.previous, partition)
            ):
                rows = {row["site"]: row for row in before[1].to_pylist()}
                if not run.full:
                    name = {
                        "run": run.previous,
                        "partition": partition,
                        "token": before[0].token,
                    }
                    storage.download(STATE.format(**name), folder / _PACKED)
                    unpack_state(folder / _PACKED, folder / _STATE)
                    self.memory = "kept"
        except (FileNotFoundError, OutputError) as error:
            self.memory = f"the earlier state cannot be used: {error}"
        now = datetime.now(UTC)
        sites = read_partition_hosts(storage, run, partition)
        # others left the list
        self.rows = {site: rows[site] for site in sites if site in rows}
        self.due = [site for site in sites if run.retry or is_due(rows.get(site), now)]
        self.due.sort(
            key=lambda site: -(rows[site]["seconds"] if site in rows else 0.0)
        )

    async def read(self) -> list[Path] | None:
        """Read the due hosts; return the folders of their files.

        `None` if another attempt has committed meanwhile.
        """
        options = self._run.options
        if options.revisit is not None:
            share = options.revisit * len({*self.due, *self.rows}) // self._run.hosts
            is_known = (self._folder / _STATE).exists()
            options = attrs.evolve(options, revisit=max(1, share) if is_known else None)
        if self._is_isolated and self.due:
            read = read_isolated
        else:
            read = read_hosts
        reading = asyncio.create_task(read(self.due, self._folder, options))
        look = partial(load_commit, self._storage, self._run.folder, self._partition)
        while not (await asyncio.wait([reading], timeout=_COMMIT_CHECK_SECONDS))[0]:
            if await asyncio.to_thread(look):
                return None  # the end of the event loop cancels the reading
        return reading.result()

    def commit(self, folders: list[Path]) -> Commit:
        """Upload the files, and commit them; return the commit that counts."""
        rows = {site: row | {"read": False} for site, row in self.rows.items()}
        now = datetime.now(UTC)
        outcomes = (pq.read_table(each / _HOSTS).to_pylist() for each in folders)
        for outcome in chain.from_iterable(outcomes):
            before = self.rows.get(outcome["site"])
            rows[outcome["site"]] = make_row(outcome, before, self._partition, now)
        name = {
            "run": self._run.folder,
            "partition": self._partition,
            "token": self._token,
        }
        own: dict[str, Path] = {}
        if (state := self._folder / _STATE).exists():
            own[STATE.format(**name)] = self._folder / _PACKED
            pack_state(state, self._folder / _PACKED)
        for number, part in enumerate(each / _URLS for each in folders):
            if part.exists() and pq.read_metadata(part).num_rows:
                own[URLS.format(**name, number=number)] = part
        for path, local in own.items():
            self._storage.create(path, local)
        mine = Commit(
            partition=self._partition,
            token=self._token,
            memory=self.memory,
            seconds=round(time.monotonic() - self._began, 3),
        )
        table = pa.Table.from_pylist(list(rows.values()), STATUS_SCHEMA)
        counts = create_commit(self._storage, self._run.folder, mine, table)
        for path in own if counts.token != self._token else ():
            self._storage.remove(path)
        return counts


# -- when a host is read again

MAX_WAIT_DAYS = 32
"""The longest time until a host is due again, even if it asks for more or failed often."""
NO_SITEMAP_DAYS = 30
_REFUSED_BY_OPTIONS = {
    code for code in IssueCode if code.startswith(("blocked-", "budget-", "too-large"))
} - {IssueCode.BLOCKED_BY_SITE, IssueCode.BUDGET_SECONDS}
"""Reasons that are no fault of a host, as the next run may have other options. Time is a fault."""


def make_row(outcome: Row, before: Row | None, partition: int, now: datetime) -> Row:
    """Return the row of a host that was read: its outcome, and its history."""
    if before and outcome["status"] == SiteStatus.UNCHANGED and not outcome["requests"]:
        return (
            before
            | {name: outcome[name] for name in ("waiting", "due")}
            | {"read": False}
        )
    status = outcome["status"]
    has_failed = (
        status in ("failed", "error") and outcome["reason"] not in _REFUSED_BY_OPTIONS
    )
    if has_failed:
        failures = (before["failures"] if before else 0) + 1
    else:
        failures = 0
    asked = (outcome["retry_after"] or 0.0) / timedelta(days=1).total_seconds()
    # the first may be a moment's: one run
    failed = 2 ** (failures - 1) if failures > 1 else 0
    days = min(
        max(asked, failed, NO_SITEMAP_DAYS if status == "none" else 0), MAX_WAIT_DAYS
    )
    return outcome | {
        "partition": partition,
        "read": True,
        "read_at": now,
        "failures": failures,
        "last_ok": now
        if status in ("complete", "unchanged")
        else before and before["last_ok"],
        "not_before": now + timedelta(days) if days else None,
    }


def is_due(before: Row | None, now: datetime) -> bool:
    """Return whether a host may be read again, by its last row."""
    return before is None or before["not_before"] is None or before["not_before"] <= now


# -- reading

_STATE = "state.db"
_PACKED = "state.db.gz"
_URLS = "urls.parquet"
_HOSTS = "hosts.parquet"
"""Files of a folder where hosts are read: what is known, rows of URLs, an outcome of each host."""
_SILENT_SECONDS = 60.0
"""Time that the event loop of a child may stand still."""
_BEAT_SECONDS = 1.0


async def read_hosts(
    sites: Sequence[str], folder: Path, options: ScaleOptions
) -> list[Path]:
    """Read hosts into a local folder, which may have a state; return it."""
    run = walk_many(
        sites,
        at_once=max(1, options.hosts_at_once // PARTITIONS_AT_ONCE),
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
        await write_sites(run, folder / _URLS, report=folder / _HOSTS)
    return [folder]


async def read_isolated(
    sites: Sequence[str], folder: Path, options: ScaleOptions
) -> list[Path]:
    """Read hosts in a child process; if it dies, each half in one of its own.

    Each child has a folder in the folder, with a copy of its state: it may die. Raises
    ChildProcessError if one died before it began to read, so that no host can be blamed.
    """
    own = Path(tempfile.mkdtemp(dir=folder))
    state = folder / _STATE
    if state.exists():
        shutil.copyfile(state, own / _STATE)
    if await _read_in_child([os.getpid(), sites, str(own), options.to_json()]):
        (own / _STATE).replace(state)
        return [own]
    shutil.rmtree(own)
    if len(sites) == 1:
        own = Path(tempfile.mkdtemp(dir=folder))
        killer = attrs.asdict(
            SiteOutcome(sites[0], SiteStatus.ERROR, "killed its process")
        )
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
        raise ChildProcessError("a process died before it read a host")
    return process.returncode == 0


def main() -> None:
    """Read the hosts of a task from standard input, as a child process.

    It ends when its event loop stands still, and with its parent: nobody else would end it, and two
    processes would read the same host.
    """
    parent, sites, folder, options = json.load(sys.stdin)
    os.write(1, b"begun")

    async def read() -> None:
        hosts = read_hosts(sites, Path(folder), ScaleOptions.from_json(options))
        reading = asyncio.create_task(hosts)
        while not reading.done():
            if os.getppid() != parent:
                os._exit(1)
            faulthandler.dump_traceback_later(_SILENT_SECONDS, exit=True)
            await asyncio.wait([reading], timeout=_BEAT_SECONDS)
        reading.result()

    asyncio.run(read())


# -- packed states

MAX_STATE_BYTES = 4 * 1024**3
"""SECURITY: a packed state comes from the storage; one that unpacks to more is refused."""
_PARQUET_PIECE_BYTES = 1 << 20


def pack_state(state: Path, packed: Path) -> None:
    """Compress a state file, to a third, with a checksum."""
    with state.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)


def unpack_state(packed: Path, state: Path) -> None:
    """Decompress a state file; raise OutputError, and leave none, for anything else."""
    written = 0
    fault = ""
    try:
        with gzip.open(packed) as source, state.open("wb") as target:
            while written <= MAX_STATE_BYTES and (
                piece := source.read(_PARQUET_PIECE_BYTES)
            ):
                written += target.write(piece)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        fault = f"it is damaged: {error}"
    if fault or not 0 < written <= MAX_STATE_BYTES:
        state.unlink()
        raise OutputError(fault or f"it unpacks to {written} bytes")
