"""The reading of one partition: its hosts are read, and one commit counts.

An engine only has to call `run_partition` at least once for each partition. The first attempt that
commits counts, and all other attempts leave nothing behind. Attempts do not wait for each other: an
attempt that was believed to be dead may continue until it sees that another one has committed.

Hosts are read in this process, or in a child process if earlier attempts have died. When a child
dies or hangs, each half of its hosts is read in another child, and so on down to the host that
kills its process. This host gets the status "error"; the results of all others are exact.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader import Changes, IssueCode, Search, SiteOutcome, SiteStatus, walk_many
from sitemapreader.changes import State
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
    from collections.abc import Coroutine, Sequence

PARTITIONS_AT_ONCE = 4
"""Partitions that one process reads at the same time, in threads, which share its `hosts_at_once`.
So the slow hosts at the end of one partition do not delay the process."""
ISOLATE_FROM = 3
"""The first attempt that reads hosts in child processes, to find one that kills its process."""
_COMMIT_CHECK_SECONDS = 30.0
"""Seconds between two checks whether another attempt has committed."""


def run_partition(
    output: str,
    run: str,
    partition: int,
) -> Commit:
    """Read one partition of a run, unless it is committed; return its commit.

    Args:
        output: folder or URL of the output.
        run: folder of the run in it, as `begin_run` gives it.
        partition: its number.

    Raises OSError where the storage fails; the partition can then be run again.
    """
    storage = Storage(output)
    loaded = load_run(storage, run)
    if counted := load_commit(storage, run, partition):
        return counted[0]
    with tempfile.TemporaryDirectory(prefix="sitemapreader-scale-") as name:
        attempt = Attempt(storage, loaded, partition, Path(name))
        folders = asyncio.run(attempt.read())
        if folders is not None:
            return attempt.commit(folders)
    return run_partition(output, run, partition)  # another attempt has committed


class Attempt:
    """An attempt at a partition, with the earlier state of its hosts.

    Attributes:
        due_sites: hosts to read; the ones that took longest the last time come first.
        rows: the rows of the previous run, by site.
        memory: "none" if there was no state before, "kept", or why the old one could not be used.
    """

    def __init__(
        self,
        storage: Storage,
        run: ScaleRun,
        partition: int,
        folder: Path,
    ) -> None:
        """Record the attempt, and load the state; a damaged state is ignored."""
        self._began = time.monotonic()
        self._storage = storage
        self._run = run
        self._partition = partition
        self._folder = folder
        self._token = secrets.token_hex(8)
        tries = f"{TRIES.format(run=run.folder)}/{PARTITION.format(partition)}"
        storage.create(f"{tries}/{self._token}", b"")
        self._is_isolated = len(storage.list(tries)) >= ISOLATE_FROM
        self.memory = "none"
        self.rows: dict[str, Row] = {}
        try:
            self._load_previous()
        except (FileNotFoundError, OutputError) as error:
            self.memory = f"the earlier state cannot be used: {error}"
        sites = read_partition_hosts(storage, run, partition)
        # the other hosts have left the list
        self.rows = {site: self.rows[site] for site in sites if site in self.rows}
        now = datetime.now(UTC)
        self.due_sites = [
            site
            for site in sites
            if run.retry or run.only_failed or is_due(self.rows.get(site), now)
        ]
        if run.only_failed:
            self.due_sites = [
                site for site in self.due_sites if not is_read(self.rows.get(site))
            ]
        self.due_sites.sort(key=self._get_seconds, reverse=True)

    def _load_previous(self) -> None:
        """Load the rows of the previous run, and its state unless it is to be forgotten."""
        run = self._run
        if run.previous is None:
            return
        commit = load_commit(self._storage, run.previous, self._partition)
        if commit is None:
            return
        previous, rows = commit
        self.rows = {row["site"]: row for row in rows.to_pylist()}
        if not run.full:
            path = STATE.format(
                run=run.previous, partition=self._partition, token=previous.token
            )
            self._storage.download(path, self._folder / _PACKED)
            unpack_state(self._folder / _PACKED, self._folder / _STATE)
            self.memory = "kept"

    def _get_seconds(self, site: str) -> float:
        """Return the time that a host took in the previous run."""
        if site not in self.rows:
            return 0.0
        return float(self.rows[site]["seconds"])

    async def read(self) -> list[Path] | None:
        """Read the due hosts; return the folders of their files.

        `None` if another attempt has committed.
        """
        if self._is_isolated and self.due_sites:
            read = read_isolated
        else:
            read = read_hosts
        work = read(self.due_sites, self._folder, self._choose_options())
        reading = asyncio.create_task(work)
        folder = self._run.folder
        while True:
            done, _ = await asyncio.wait([reading], timeout=_COMMIT_CHECK_SECONDS)
            if done:
                return reading.result()
            commit = await asyncio.to_thread(
                load_commit, self._storage, folder, self._partition
            )
            if commit is not None:
                return None  # the end of the event loop cancels the reading

    def _choose_options(self) -> ScaleOptions:
        """Return the options of the run, with this partition's share of `revisit`."""
        options = self._run.options
        if options.revisit is None:
            return options
        revisit = None
        if (self._folder / _STATE).exists():
            hosts = len({*self.due_sites, *self.rows})
            revisit = max(1, options.revisit * hosts // self._run.hosts)
        return attrs.evolve(options, revisit=revisit)

    def commit(self, folders: list[Path]) -> Commit:
        """Upload the files, and commit them; return the commit that counts."""
        rows = self._make_rows(folders)
        files = self._list_files(folders)
        for path, local in files.items():
            self._storage.create(path, local)
        commit = Commit(
            partition=self._partition,
            token=self._token,
            memory=self.memory,
            seconds=round(time.monotonic() - self._began, 3),
        )
        table = pa.Table.from_pylist(rows, STATUS_SCHEMA)
        counted = create_commit(self._storage, self._run.folder, commit, table)
        if counted.token != self._token:
            for path in files:
                self._storage.remove(path)
        return counted

    def _make_rows(self, folders: list[Path]) -> list[Row]:
        """Return the rows of all hosts, with the outcomes of the hosts that were read."""
        rows = {site: row | {"read": False} for site, row in self.rows.items()}
        now = datetime.now(UTC)
        for folder in folders:
            for outcome in pq.read_table(folder / _HOSTS).to_pylist():
                site = outcome["site"]
                previous = self.rows.get(site)
                rows[site] = make_row(outcome, previous, self._partition, now)
        return list(rows.values())

    def _list_files(self, folders: list[Path]) -> dict[str, Path]:
        """Return the files to upload, by their paths in the output."""
        name = {
            "run": self._run.folder,
            "partition": self._partition,
            "token": self._token,
        }
        files: dict[str, Path] = {}
        state = self._folder / _STATE
        if state.exists():
            packed = self._folder / _PACKED
            pack_state(state, packed)
            files[STATE.format(**name)] = packed
        for number, folder in enumerate(folders):
            part = folder / _URLS
            if part.exists() and pq.read_metadata(part).num_rows:
                files[URLS.format(**name, number=number)] = part
        return files


# -- when a host is read again

MAX_WAIT_DAYS = 32
"""The longest time until a host is due again, even if it asks for more or failed often."""
NO_SITEMAP_DAYS = 30
_SECONDS_PER_DAY = 24 * 3600
_REFUSED_BY_OPTIONS = {
    code for code in IssueCode if code.startswith(("blocked-", "budget-", "too-large"))
} - {IssueCode.BLOCKED_BY_SITE, IssueCode.BUDGET_SECONDS}
"""Reasons that are not the host's fault: the next run may have other options."""


def make_row(
    outcome: Row,
    previous: Row | None,
    partition: int,
    now: datetime,
) -> Row:
    """Return the row of a host that was read: its outcome, and its history."""
    status = outcome["status"]
    if previous is None:
        previous = {"failures": 0, "last_ok": None}
    elif status == SiteStatus.UNCHANGED and not outcome["requests"]:
        return previous | {
            "news_waiting": outcome["news_waiting"],
            "due": outcome["due"],
            "read": False,
        }
    failures = 0
    if status in ("failed", "error") and outcome["reason"] not in _REFUSED_BY_OPTIONS:
        failures = previous["failures"] + 1
    last_ok = previous["last_ok"]
    if status in ("complete", "unchanged"):
        last_ok = now
    not_before = None
    if days := _count_days(outcome, failures):
        not_before = now + timedelta(days)
    return outcome | {
        "partition": partition,
        "read": True,
        "read_at": now,
        "failures": failures,
        "last_ok": last_ok,
        "not_before": not_before,
    }


def _count_days(outcome: Row, failures: int) -> float:
    """Return how many days a host rests: 0 if it is read in the next run."""
    days = (outcome["retry_after"] or 0.0) / _SECONDS_PER_DAY
    if failures > 1:  # a first failure may be brief, so it is retried in the next run
        days = max(days, 2 ** (failures - 1))
    if outcome["status"] == "none":
        days = max(days, NO_SITEMAP_DAYS)
    return min(days, MAX_WAIT_DAYS)


def is_read(row: Row | None) -> bool:
    """Return whether a host was read completely, by its last row."""
    return row is not None and row["status"] in _READ_STATUSES


def is_due(row: Row | None, now: datetime) -> bool:
    """Return whether a host may be read again, by its last row."""
    return row is None or row["not_before"] is None or row["not_before"] <= now


# -- reading

_READ_STATUSES = ("complete", "unchanged")
_STATE = "state.db"
_PACKED = "state.db.gz"
_URLS = "urls.parquet"
_HOSTS = "hosts.parquet"
"""Files of a folder where hosts are read: the state, rows of URLs, an outcome of each host."""
_SILENT_SECONDS = 60.0
"""Longest time that the event loop of a child may be blocked."""
_BEAT_SECONDS = 1.0


async def read_hosts(
    sites: Sequence[str],
    folder: Path,
    options: ScaleOptions,
) -> list[Path]:
    """Read hosts into a local folder, which may have a state; return it."""
    run = walk_many(
        sites,
        search=Search(probe="few"),
        state=Changes(
            State(
                folder / _STATE,
                confirm_after=timedelta(seconds=options.confirm_seconds),
            ),
            unlisted=True,
            gone=options.gone,
            revisit=options.revisit,
        ),
        limits=attrs.evolve(
            options.limits,
            site_seconds=options.site_seconds,
            sites_at_once=max(1, options.hosts_at_once // PARTITIONS_AT_ONCE),
            max_urls=options.site_urls,
        ),
        options=options.fetch,
    )
    async with run:
        await write_sites(run, folder / _URLS, report=folder / _HOSTS)
    return [folder]


async def read_isolated(
    sites: Sequence[str],
    folder: Path,
    options: ScaleOptions,
) -> list[Path]:
    """Read hosts in a child process; if it dies, read each half in another child.

    Each child has a folder inside `folder`, with a copy of the state, because the child may die.
    Raises ChildProcessError if a child dies before it begins to read, so that no host is to blame.
    """
    child_folder = Path(tempfile.mkdtemp(dir=folder))
    state = folder / _STATE
    if state.exists():
        shutil.copyfile(state, child_folder / _STATE)
    task = [os.getpid(), sites, str(child_folder), options.to_json()]
    if await _read_in_child(task):
        (child_folder / _STATE).replace(state)
        return [child_folder]
    shutil.rmtree(child_folder)
    if len(sites) > 1:
        middle = len(sites) // 2
        folders = await read_isolated(sites[:middle], folder, options)
        return folders + await read_isolated(sites[middle:], folder, options)
    child_folder = Path(tempfile.mkdtemp(dir=folder))
    outcome = SiteOutcome(sites[0], SiteStatus.ERROR, "killed its process")
    table = pa.Table.from_pylist([attrs.asdict(outcome)], OUTCOME_SCHEMA)
    pq.write_table(table, child_folder / _HOSTS)
    return [child_folder]


async def _read_in_child(task: object) -> bool:
    """Run `main` in a child process; return whether it ended normally."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"from {__name__} import main; main()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        output, _ = await process.communicate(json.dumps(task).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not output:
        raise ChildProcessError("a process died before it read a host")
    return process.returncode == 0


def main() -> None:
    """Read the hosts of a task from standard input, as a child process.

    The process exits when its event loop is blocked, or when its parent has exited: nobody else
    would end it, and two processes would read the same host.
    """
    parent, sites, folder, options = json.load(sys.stdin)
    os.write(1, b"begun")
    work = read_hosts(sites, Path(folder), ScaleOptions.from_json(options))
    asyncio.run(_watch(work, parent))


async def _watch(work: Coroutine[Any, Any, object], parent: int) -> None:
    """Do the work of a child process; exit if its parent has exited, or if it is blocked."""
    reading = asyncio.create_task(work)
    while not reading.done():
        if os.getppid() != parent:
            os._exit(1)
        faulthandler.dump_traceback_later(_SILENT_SECONDS, exit=True)
        await asyncio.wait([reading], timeout=_BEAT_SECONDS)
    reading.result()


# -- packed states

MAX_STATE_BYTES = 4 * 1024**3
"""SECURITY: a packed state comes from the storage; one that unpacks to more is refused."""
_PARQUET_PIECE_BYTES = 1 << 20


def pack_state(state: Path, packed: Path) -> None:
    """Compress a state file to a third of its size, with a checksum."""
    with state.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)


def unpack_state(packed: Path, state: Path) -> None:
    """Decompress a state file; raise OutputError for a damaged one, and leave no file."""
    size = 0
    fault = ""
    try:
        with gzip.open(packed) as source, state.open("wb") as target:
            while piece := source.read(_PARQUET_PIECE_BYTES):
                size += target.write(piece)
                if size > MAX_STATE_BYTES:
                    break
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        fault = f"it is damaged: {error}"
    else:
        if not 0 < size <= MAX_STATE_BYTES:
            fault = f"it unpacks to {size} bytes"
    if fault:
        state.unlink()
        raise OutputError(fault)
