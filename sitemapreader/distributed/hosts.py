"""Reading of hosts into Parquet files, in this process or in children of it.

A child tells which hosts it begins. When it dies or is stuck, these hosts are suspects: the others
are read again without them, and then each suspect in a child of its own. A suspect that kills this
child too gets the status "error"; all others are exact.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader import walk_many
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.parts import PartWriter, make_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from sitemapreader import SiteOutcome
    from sitemapreader.distributed.parts import Row


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
            self._journal.write(f"{mark}{json.dumps(what)}\n")


_GRACE_SECONDS = 60.0
"""How much longer than a host may take a child may tell nothing."""
_LINE_BYTES = 1 << 24


class ChildDiedError(Exception):
    """A child process died while it read no host, so that no host can be blamed."""


async def read_isolated(
    sites: Sequence[str], folder: Path, state: Path | None, options: ScaleOptions
) -> Reading:
    """Read hosts as `HostReader.read` does, in child processes.

    Raises ChildDiedError if a child dies that has begun no host.
    """
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
                outcomes[said["site"]] = said
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
