"""Reading of hosts: their rows into Parquet files, and an outcome for each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.distributed.parts import PartWriter, WrittenPart
from sitemapreader.many.api import walk_many

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from pathlib import Path
    from typing import IO

    from sitemapreader.distributed.options import ScaleOptions
    from sitemapreader.distributed.status_rows import Row
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
            site_urls=options.site_urls,
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
