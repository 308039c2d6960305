"""Reading of hosts into Parquet files: rows of URLs, and a row for each host.

A host is read in this process or in a child of it. A child tells which hosts it begins. When it
dies or is stuck, these hosts are suspects: the others are read again without them, and then each
suspect in a child of its own. A suspect that kills this child too gets the status "error"; all
others are exact.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import sys
import threading
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader import IssueCode, SiteOutcome, SiteStatus, walk_many
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.storage import OutputError, Storage
from sitemapreader.output.arrow import GroupWriter, make_schema
from sitemapreader.output.columns import OUTCOME_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence


Row = dict[str, Any]

MAX_WAIT_DAYS = 32
"""The longest time until a host is due again, even if it asks for more or failed often."""
NO_SITEMAP_DAYS = 30
_SECONDS_PER_DAY = 24 * 3_600
_FAILED = frozenset({"failed", "error"})
_READ = frozenset({"complete", "unchanged"})
_REFUSED_BY_OPTIONS = frozenset(
    {
        IssueCode.BLOCKED_ADDRESS,
        IssueCode.BLOCKED_PORT,
        IssueCode.TOO_LARGE,
        IssueCode.BUDGET_BYTES,
        IssueCode.BUDGET_DEPTH,
        IssueCode.BUDGET_CHILDREN,
        IssueCode.BUDGET_DOCUMENTS,
        IssueCode.BUDGET_MEMORY,
        IssueCode.BUDGET_URLS,
    }
)
"""Reasons that are no fault of a host, as the next run may have other options. Time is a fault."""

_TIME = pa.timestamp("ms", "UTC")
STATUS_SCHEMA = pa.schema(
    [
        *make_schema(OUTCOME_COLUMNS),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("read", pa.bool_(), nullable=False),
        pa.field("read_at", _TIME),
        pa.field("failures", pa.int32(), nullable=False),
        pa.field("last_ok", _TIME),
        pa.field("not_before", _TIME),
    ]
)
"""`read` tells whether this run read the host, or carries its row over because it was not due."""


def make_row(outcome: Row, before: Row | None, partition: int, now: datetime) -> Row:
    """Return the row of a host that was read: its outcome, and its history."""
    if before and outcome["status"] == SiteStatus.UNCHANGED and not outcome["requests"]:
        return before | {name: outcome[name] for name in ("waiting", "due")} | {"read": False}
    before = before or {}
    status = outcome["status"]
    has_failed = status in _FAILED and outcome["reason"] not in _REFUSED_BY_OPTIONS
    failures = before.get("failures", 0) + 1 if has_failed else 0
    return outcome | {
        "partition": partition,
        "read": True,
        "read_at": now,
        "failures": failures,
        "last_ok": now if status in _READ else before.get("last_ok"),
        "not_before": _find_due(status, failures, outcome["retry_after"], now),
    }


def is_due(before: Row | None, now: datetime) -> bool:
    """Return whether a host may be read again, by its last row."""
    return before is None or before["not_before"] is None or before["not_before"] <= now


def _find_due(
    status: str, failures: int, retry_after: float | None, now: datetime
) -> datetime | None:
    days: list[float] = []
    if failures:
        days.append(2**failures)
    if status == "none":
        days.append(NO_SITEMAP_DAYS)
    if retry_after is not None:
        days.append(retry_after / _SECONDS_PER_DAY)
    return now + timedelta(days=min(max(days), MAX_WAIT_DAYS)) if days else None


def load_rows(storage: Storage, path: str) -> dict[str, Row]:
    """Load the rows of a partition by site; raise OutputError for a damaged file."""
    content = storage.read(path)
    if content is None:
        raise OutputError(f"{storage.output}/{path} is missing")
    try:
        rows: list[Row] = pq.read_table(io.BytesIO(content), schema=STATUS_SCHEMA).to_pylist()
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:
        raise OutputError(f"{storage.output}/{path} is damaged: {error}") from None
    return {row["site"]: row for row in rows}


def now_utc() -> datetime:
    """Return the time, in the precision of the rows."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def make_error(site: str, reason: str) -> Row:
    """Return the outcome of a host that could not be read because of a bug of ours."""
    return attrs.asdict(SiteOutcome(site, SiteStatus.ERROR, reason))


OWN_FILE_ROWS = 50_000
"""Rows of one site that wait in memory; a site with more gets a file of its own."""
_GROUP_ROWS = 65_536
"""Rows of a row group: what a query reads at least."""
_FILE_ROWS = 4_000_000
"""Rows after which the next file begins; about 100 MB."""


class PartWriter:
    """The Parquet files of the rows of many sites, which come interleaved.

    Attributes:
        parts: the files, in the order in which they were begun.
        rows: how many rows each site has that is not finished.
    """

    def __init__(self, folder: Path) -> None:
        self.parts: list[Path] = []
        self.rows: Counter[str] = Counter()
        self._folder = folder
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._own: dict[str, GroupWriter] = {}
        self._shared: GroupWriter | None = None
        self._shared_rows = 0

    def add(self, batch: pa.RecordBatch) -> set[str]:
        """Add rows, whose first column is their site; return the sites."""
        sites, begin = set(), 0
        for site, group in groupby(batch.column(0).to_pylist()):
            rows = sum(1 for _ in group)
            self._add_rows(site, batch.slice(begin, rows))
            sites.add(site)
            begin += rows
        return sites

    def _add_rows(self, site: str, batch: pa.RecordBatch) -> None:
        self.rows[site] += len(batch)
        if site in self._own:
            self._own[site].add(batch)
            return
        self._waiting.setdefault(site, []).append(batch)
        if self.rows[site] > OWN_FILE_ROWS:
            self._own[site] = writer = self._begin_file(batch.schema)
            for each in self._waiting.pop(site):
                writer.add(each)

    def finish(self, site: str) -> None:
        """Write the rows of a site, of which no more come."""
        if site in self._own:
            self._own.pop(site).close()
        for batch in self._waiting.pop(site, ()):
            if self._shared is None:
                self._shared = self._begin_file(batch.schema)
            self._shared.add(batch)
            self._shared_rows += len(batch)
        if self._shared_rows >= _FILE_ROWS:
            self._close_shared()
        del self.rows[site]

    def close(self) -> list[Path]:
        """Finish all sites and files; return the files."""
        for site in list(self.rows):
            self.finish(site)
        self._close_shared()
        return self.parts

    def _close_shared(self) -> None:
        if self._shared is not None:
            self._shared.close()
        self._shared, self._shared_rows = None, 0

    def _begin_file(self, schema: pa.Schema) -> GroupWriter:
        self.parts.append(self._folder / f"{len(self.parts):04}.parquet")
        return GroupWriter(self.parts[-1], schema, rows=_GROUP_ROWS)


@attrs.frozen
class Reading:
    """The result of reading some hosts: Parquet files, and an outcome of each host."""

    parts: list[Path]
    outcomes: list[Row]


class HostReader:
    """The reading of some hosts.

    Args:
        options: of the run.
        room: lets so many hosts be read at a time, over all partitions that the worker reads.
        journal: gets a line when a host begins (`+` and its name), and when it ends (`-` and its
            outcome), as JSON.
    """

    def __init__(
        self, options: ScaleOptions, room: asyncio.Semaphore, journal: IO[str] | None = None
    ) -> None:
        self._options = options
        self._room = room
        self._journal = journal
        self._outcomes: dict[str, Row] = {}
        self._writer: PartWriter

    async def read(self, sites: Sequence[str], folder: Path, state: Path | None) -> Reading:
        """Read hosts, in this order; write their rows into an empty local folder.

        `state` is the state file of the partition, which is made if it is not there.
        """
        options, self._writer = self._options, PartWriter(folder)
        run = walk_many(
            sites,
            at_once=self._room,
            probe="few",
            site_seconds=options.site_seconds,
            max_urls=options.site_urls,
            state=state,
            changes=state is not None,
            removed=state is not None,
            revisit=options.revisit,
            on_begin=partial(self._tell, "+"),
            on_site=self._end_site,
            limits=options.limits,
            options=options.fetch,
        )
        async with run:
            async for batch in run.record_batches():
                for site in self._writer.add(batch):
                    self._finish_rows(site)
        return Reading(self._writer.close(), list(self._outcomes.values()))

    def _end_site(self, outcome: SiteOutcome) -> None:
        """Keep the outcome of a host, and tell it."""
        self._outcomes[outcome.site] = row = attrs.asdict(outcome)
        self._tell("-", row)
        self._finish_rows(outcome.site)

    def _finish_rows(self, site: str) -> None:
        """Have the rows of a host written when it has ended and all have come."""
        outcome = self._outcomes.get(site)
        if outcome is not None and self._writer.rows[site] >= outcome["entries"]:
            self._writer.finish(site)

    def _tell(self, mark: str, what: object) -> None:
        if self._journal is not None:
            self._journal.write(f"{mark}{json.dumps(what, default=str)}\n")


_GRACE_SECONDS = 60.0
"""How much longer than a host may take a child may tell nothing."""
_LINE_BYTES = 1 << 24


class ChildDiedError(Exception):
    """A child process died while it read no host, so that no host can be blamed."""


async def read_isolated(
    sites: Sequence[str], folder: Path, state: Path | None, options: ScaleOptions
) -> Reading:
    """Read hosts in child processes; raise ChildDiedError if one begins no host."""
    rest, suspects, readings = list(sites), list[str](), list[Reading]()
    while rest:
        place = folder / f"child-{len(suspects)}"
        reading, begun = await _read_in_child(rest, place, state, options)
        if reading is not None:
            readings.append(reading)
            break
        if not begun:
            raise ChildDiedError("a process for reading hosts died before it began with one")
        suspects += begun
        rest = [site for site in rest if site not in set(begun)]
    for number, site in enumerate(suspects):
        place = folder / f"suspect-{number}"
        reading, _ = await _read_in_child([site], place, state, options)
        readings.append(reading or Reading([], [make_error(site, "killed its process")]))
    return Reading(
        [part for reading in readings for part in reading.parts],
        [outcome for reading in readings for outcome in reading.outcomes],
    )


async def _read_in_child(
    sites: list[str], folder: Path, state: Path | None, options: ScaleOptions
) -> tuple[Reading | None, list[str]]:
    """Read hosts in a child process; return its result, or the hosts it died with."""
    copy = await asyncio.to_thread(_begin_folder, folder, state)
    task = {
        "sites": sites,
        "folder": str(folder),
        "state": None if copy is None else str(copy),
        "options": options.to_json(),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"from {__name__} import main; main()"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
    )
    outcomes: dict[str, Row | None] = {}
    try:
        await _follow(process, json.dumps(task), options.site_seconds + _GRACE_SECONDS, outcomes)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        await asyncio.to_thread(shutil.rmtree, folder)
        return None, [site for site, outcome in outcomes.items() if outcome is None]
    parts = await asyncio.to_thread(_take_over, folder, state)
    return Reading(parts, [outcome for outcome in outcomes.values() if outcome is not None]), []


def _begin_folder(folder: Path, state: Path | None) -> Path | None:
    """Make the folder of a child; return its copy of the state, for the child may die."""
    folder.mkdir()
    if state is None:
        return None
    copy = folder / state.name
    if state.exists():
        shutil.copyfile(state, copy)
    return copy


def _take_over(folder: Path, state: Path | None) -> list[Path]:
    """Take over the state of a child that has read all; return its files."""
    if state is not None and (copy := folder / state.name).exists():
        copy.replace(state)
    return sorted(folder.glob("*.parquet"))


async def _follow(
    process: asyncio.subprocess.Process,
    task: str,
    seconds: float,
    outcomes: dict[str, Row | None],
) -> None:
    """Give a child its task; note what it tells, as long as it tells something."""
    tell: Any = process.stdin
    hear: Any = process.stdout
    with suppress(ConnectionError, TimeoutError):
        tell.write(task.encode() + b"\n")
        await tell.drain()
        # The last line of a child that dies may be cut.
        while (line := await asyncio.wait_for(hear.readline(), seconds)).endswith(b"\n"):
            said = json.loads(line[1:])
            if line.startswith(b"+"):
                outcomes[said] = None
            else:
                due = said["due"] and datetime.fromisoformat(said["due"])
                outcomes[said["site"]] = said | {"due": due}
        await asyncio.wait_for(process.wait(), seconds)


def main() -> None:
    """Read the hosts of a task: what a child process does."""
    task = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    options = ScaleOptions.from_json(task["options"])
    state = None if task["state"] is None else Path(task["state"])
    with open(1, "w", buffering=1, encoding="utf-8", closefd=False) as journal:
        reader = HostReader(options, asyncio.Semaphore(options.hosts_at_once), journal)
        asyncio.run(reader.read(task["sites"], Path(task["folder"]), state))


def _end_with_parent() -> None:
    """End this process when its parent ends.

    Nobody else would end it, and two processes would read the same host.
    """
    os.read(0, 1)  # not sys.stdin, whose lock the interpreter would wait for at exit
    os._exit(1)
