"""Reading of hosts into Parquet files, in this process or in children of it.

A child records the hosts that it begins. When it dies or is stuck, these hosts are suspects: the
others are read again without them, and then each suspect in a child of its own. A suspect that
kills this child too gets the status "error"; all others are exact.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.parts import PartWriter, WrittenPart, make_error
from sitemapreader.many.api import walk_many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from sitemapreader.distributed.parts import Row
    from sitemapreader.many.plan import SiteWalk
    from sitemapreader.outcomes import SiteOutcome


@attrs.frozen
class Reading:
    """The result of reading some hosts.

    Attributes:
        parts: Parquet files on the local disk.
        outcomes: one for each host.
    """

    parts: list[WrittenPart]
    outcomes: list[Row]


class HostReader:
    """The reading of some hosts.

    Args:
        options: of the run.
        room: lets so many hosts be read at a time, over all partitions that the worker reads.
        journal: a file that gets a line when a host begins (`+`), and when it ends (`-`).
    """

    def __init__(
        self, options: ScaleOptions, room: asyncio.Semaphore, journal: IO[str] | None = None
    ) -> None:
        self._options = options
        self._room = room
        self._journal = journal
        self._outcomes: dict[str, Row] = {}
        self._rows: Counter[str] = Counter()
        self._writer: PartWriter

    async def read(self, sites: Sequence[str], folder: Path, state: Path | None) -> Reading:
        """Read hosts; write their rows into an empty folder on the local disk.

        Args:
            sites: hosts or URLs, in the order in which they begin.
            folder: the folder.
            state: the state file of the partition, which is made if it is not there.
        """
        options, self._writer = self._options, PartWriter(folder)
        run = walk_many(
            sites,
            at_once=options.hosts_at_once,
            probe="few",
            site_seconds=options.site_seconds,
            max_urls=options.site_urls,
            state=state,
            changes=state is not None,
            removed=state is not None,
            limits=options.limits,
            options=options.fetch,
        )
        run.report_to(self)
        run.share_room(self._room)
        async with run:
            async for site, entries in run.batches():
                self._rows[site] += len(entries)
                self._writer.add(site, entries)
                self._finish_rows(site)
        return Reading(self._writer.close(), list(self._outcomes.values()))

    def note_begin(self, site: SiteWalk) -> None:
        """Record in the journal that a host is read."""
        self._note("+", site.name)

    def note_end(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        """Keep the outcome of a host."""
        self._note("-", site.name)
        self._outcomes[site.name] = attrs.asdict(outcome)
        self._finish_rows(site.name)

    def _finish_rows(self, site: str) -> None:
        """Have the rows of a host written when it has ended and all have come."""
        outcome = self._outcomes.get(site)
        if outcome is not None and self._rows[site] >= outcome["entries"]:
            self._writer.finish(site)
            del self._rows[site]

    def _note(self, mark: str, site: str) -> None:
        if self._journal is not None:
            self._journal.write(f"{mark}{site}\n")


_GRACE_SECONDS = 60.0
"""How much longer than a host may take a child may show no progress."""
_TASK, _RESULT, _JOURNAL = "task.json", "result.json", "journal"


class ChildDiedError(Exception):
    """A child process died while it read no host, so that no host can be blamed."""


async def read_isolated(
    sites: Sequence[str], folder: Path, state: Path | None, options: ScaleOptions
) -> Reading:
    """Read hosts as `HostReader.read` does, in child processes.

    Raises ChildDiedError if a child dies that has begun no host.
    """
    parent = _Parent(folder, state, options)
    rest, suspects = list(sites), []
    readings: list[Reading] = []
    while rest:
        reading, begun = await parent.read(rest)
        if reading is not None:
            readings.append(reading)
            break
        if not begun:
            raise ChildDiedError("a process for reading hosts died before it began with one")
        suspects += begun
        rest = [site for site in rest if site not in set(begun)]
    for site in suspects:
        reading, _ = await parent.read([site])
        readings.append(reading or Reading([], [make_error(site, "killed its process")]))
    return Reading(
        [part for reading in readings for part in reading.parts],
        [outcome for reading in readings for outcome in reading.outcomes],
    )


class _Parent:
    """The parent: starts child processes, and takes over what they have finished."""

    def __init__(self, folder: Path, state: Path | None, options: ScaleOptions) -> None:
        self._folder = folder
        self._state = state
        self._options = options
        self._children = 0

    async def read(self, sites: list[str]) -> tuple[Reading | None, list[str]]:
        """Read hosts in a child; return its result, or the hosts it died with."""
        folder = self._folder / f"child-{self._children}"
        self._children += 1
        folder.mkdir()
        state = folder / "state.db" if self._state else None
        if self._state and state and self._state.exists():
            await asyncio.to_thread(shutil.copyfile, self._state, state)
        task = {
            "sites": sites,
            "state": None if state is None else str(state),
            "options": self._options.to_json(),
        }
        (folder / _TASK).write_text(json.dumps(task), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, str(folder), stdin=asyncio.subprocess.PIPE
        )
        try:
            await self._wait(process, folder / _JOURNAL)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode or not (folder / _RESULT).exists():
            begun = _read_journal(folder / _JOURNAL)
            await asyncio.to_thread(shutil.rmtree, folder)
            return None, begun
        if self._state and state and state.exists():
            state.replace(self._state)
        result = json.loads((folder / _RESULT).read_text(encoding="utf-8"))
        parts = [WrittenPart(folder / name, rows) for name, rows in result["parts"]]
        return Reading(parts, result["outcomes"]), []

    async def _wait(self, process: asyncio.subprocess.Process, journal: Path) -> None:
        """Wait until a child ends, or is stuck: every host of it should have ended by now."""
        before = None
        ended = asyncio.ensure_future(process.wait())
        seconds = self._options.site_seconds + _GRACE_SECONDS
        while not (await asyncio.wait([ended], timeout=seconds))[0]:
            begun = await asyncio.to_thread(_read_journal, journal)
            if begun == before:
                process.kill()
            before = begun


def _read_journal(path: Path) -> list[str]:
    """Return the hosts that were begun and not ended."""
    begun: dict[str, None] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        mark, site = line[:1], line[1:]
        if mark == "+":
            begun[site] = None
        else:
            begun.pop(site, None)
    return list(begun)


def main(folder: Path) -> None:
    """Read the hosts of a task: what a child process does."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task: dict[str, Any] = json.loads((folder / _TASK).read_text(encoding="utf-8"))
    options = ScaleOptions.from_json(task["options"])
    reading = asyncio.run(_read(task, options, folder))
    result = {
        "parts": [[part.path.name, part.rows] for part in reading.parts],
        "outcomes": reading.outcomes,
    }
    (folder / _RESULT).write_text(json.dumps(result), encoding="utf-8")


async def _read(task: dict[str, Any], options: ScaleOptions, folder: Path) -> Reading:
    with (folder / _JOURNAL).open("w", encoding="utf-8", buffering=1) as journal:
        reader = HostReader(options, asyncio.Semaphore(options.hosts_at_once), journal)
        state = None if task["state"] is None else Path(task["state"])
        return await reader.read(task["sites"], folder, state)


def _end_with_parent() -> None:
    """End this process when its parent ends.

    Nobody else would end it, and two processes would read the same host.
    """
    os.read(0, 1)  # not sys.stdin, whose lock the interpreter would wait for at exit
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
