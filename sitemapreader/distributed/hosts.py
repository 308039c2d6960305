"""Reading of hosts into Parquet files: rows of URLs, and an outcome for each host.

Hosts are read in this process or in a child of it. When a child dies or is stuck, each half of its
hosts is read in a child of its own, down to the host that kills, which gets the status "error"; all
others are exact.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import sys
import threading
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader import IssueCode, SiteOutcome, SiteStatus, walk_many
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.runs import Row
from sitemapreader.event_loop import end_task
from sitemapreader.output.arrow import GroupWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

# -- when a host is read again

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
    if failures > 1:  # the first one may be a moment's: it costs one run
        days.append(2 ** (failures - 1))
    if status == "none":
        days.append(NO_SITEMAP_DAYS)
    if retry_after is not None:
        days.append(retry_after / _SECONDS_PER_DAY)
    return now + timedelta(days=min(max(days), MAX_WAIT_DAYS)) if days else None


# -- reading

_GROUP_ROWS = 65_536
"""Rows of a row group: what a query reads at least."""
_FILE_ROWS = 4_000_000
"""Rows after which the next file begins; about 100 MB."""


@attrs.frozen
class Reading:
    """The result of reading some hosts: Parquet files, and an outcome of each host."""

    parts: list[Path]
    outcomes: list[Row]


async def read_hosts(
    sites: Sequence[str], folder: Path, state: Path | None, options: ScaleOptions, at_once: int
) -> Reading:
    """Read hosts, so many at once; write their rows into an empty local folder.

    `state` is the state file of the partition, which is made if it is not there.
    """
    files, outcomes = _RowFiles(folder), list[Row]()
    run = walk_many(
        sites,
        at_once=at_once,
        probe="few",
        site_seconds=options.site_seconds,
        max_urls=options.site_urls,
        state=state,
        changes=state is not None,
        unlisted=state is not None,
        revisit=options.revisit,
        on_site=lambda outcome: outcomes.append(attrs.asdict(outcome)),
        limits=options.limits,
        options=options.fetch,
    )
    async with run:
        async for batch in run.record_batches():
            files.add(batch)
    files.close()
    return Reading(files.parts, outcomes)


class _RowFiles:
    """The Parquet files of rows, in the order in which they come."""

    def __init__(self, folder: Path) -> None:
        self.parts: list[Path] = []
        self._folder, self._rows = folder, 0
        self._writer: GroupWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self.parts.append(self._folder / f"{len(self.parts):04}.parquet")
            self._writer = GroupWriter(self.parts[-1], batch.schema, rows=_GROUP_ROWS)
        self._writer.add(batch)
        self._rows += len(batch)
        if self._rows >= _FILE_ROWS:
            self.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._rows = None, 0


# -- reading in child processes

_SILENT_SECONDS = 60.0
"""How long the event loop of a child may stand still."""
_BEAT_SECONDS = 1.0
_OUTCOMES = "outcomes.json"


async def read_isolated(
    sites: Sequence[str], folder: Path, state: Path | None, options: ScaleOptions, at_once: int
) -> Reading:
    """Read hosts in a child process; if it dies, each half in one of its own.

    Raises ChildProcessError: a child died before it began to read, so that no host can be blamed.
    """
    place = folder / secrets.token_hex(4)
    reading = await _read_in_child(sites, place, state, options, at_once)
    if reading is not None:
        return reading
    if len(sites) == 1:
        return Reading([], [make_error(sites[0], "killed its process")])
    middle = len(sites) // 2
    if options.revisit:
        options = attrs.evolve(options, revisit=-(-options.revisit // 2))
    first = await read_isolated(sites[:middle], folder, state, options, at_once)
    second = await read_isolated(sites[middle:], folder, state, options, at_once)
    return Reading(first.parts + second.parts, first.outcomes + second.outcomes)


def make_error(site: str, reason: str) -> Row:
    """Return the outcome of a host that could not be read because of a bug of ours."""
    return attrs.asdict(SiteOutcome(site, SiteStatus.ERROR, reason))


async def _read_in_child(
    sites: Sequence[str], place: Path, state: Path | None, options: ScaleOptions, at_once: int
) -> Reading | None:
    """Read hosts in a child process, with a copy of the state; `None` if it dies."""
    copy = await asyncio.to_thread(_begin_folder, place, state)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"from {__name__} import main; main()"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    tell: Any = process.stdin  # both are pipes
    hear: Any = process.stdout
    task = [sites, str(place), copy and str(copy), options.to_json(), at_once]
    has_begun = False
    try:
        with suppress(ConnectionError, TimeoutError):
            tell.write(json.dumps(task).encode() + b"\n")
            await tell.drain()
            while await asyncio.wait_for(hear.readline(), _SILENT_SECONDS):
                has_begun = True
            await asyncio.wait_for(process.wait(), _SILENT_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not has_begun:
        raise ChildProcessError("a process for reading hosts died before it began with one")
    if process.returncode:
        await asyncio.to_thread(shutil.rmtree, place)
        return None
    return await asyncio.to_thread(_take_over, place, state)


def _begin_folder(place: Path, state: Path | None) -> Path | None:
    """Make the folder of a child; return its copy of the state, for the child may die."""
    place.mkdir()
    if state is None:
        return None
    if state.exists():
        shutil.copyfile(state, place / state.name)
    return place / state.name


def _take_over(place: Path, state: Path | None) -> Reading:
    """Take over the state of a child that has read all; return what it has read."""
    if state is not None and (copy := place / state.name).exists():
        copy.replace(state)
    outcomes = json.loads((place / _OUTCOMES).read_bytes())
    for each in outcomes:
        each["due"] = each["due"] and datetime.fromisoformat(each["due"])
    return Reading(sorted(place.glob("*.parquet")), outcomes)


def main() -> None:
    """Read the hosts of a task: what a child process does."""
    sites, place, state, options, at_once = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder, copy = Path(place), None if state is None else Path(state)

    async def read() -> Reading:
        beating = asyncio.create_task(_beat())
        try:
            chosen = ScaleOptions.from_json(options)
            return await read_hosts(sites, folder, copy, chosen, at_once)
        finally:
            await end_task(beating)

    outcomes = asyncio.run(read()).outcomes
    (folder / _OUTCOMES).write_text(json.dumps(outcomes, default=str), "ascii")


async def _beat() -> None:
    """Tell the parent again and again that the event loop does not stand still."""
    while True:
        os.write(1, b"\n")
        await asyncio.sleep(_BEAT_SECONDS)


def _end_with_parent() -> None:
    """End this process when its parent ends.

    Nobody else would end it, and two processes would read the same host.
    """
    os.read(0, 1)  # not sys.stdin, whose lock the interpreter would wait for at exit
    os._exit(1)
