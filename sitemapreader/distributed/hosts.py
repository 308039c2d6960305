"""Reading of hosts: their rows into Parquet files, and an outcome for each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.distributed.parts import PartWriter, WrittenPart
from sitemapreader.many.api import walk_many

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path
    from typing import IO

    from sitemapreader.distributed.options import ScaleOptions
    from sitemapreader.distributed.status_rows import Row
    from sitemapreader.models import UrlEntry
    from sitemapreader.site_outcome import SiteOutcome


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

    async def read(self, sites: Sequence[str], folder: Path, state: Path | None) -> Reading:
        """Read hosts; write their rows into an empty folder on the local disk.

        Args:
            sites: hosts or URLs, in the order in which they begin.
            folder: the folder.
            state: the state file of the partition, which is made if it is not there.
        """
        options, writer = self._options, PartWriter(folder)

        def end_site(outcome: SiteOutcome) -> None:
            self._end_site(outcome, writer)

        async with walk_many(
            self._begin_sites(sites),
            at_once=options.hosts_at_once,
            on_site=end_site,
            probe="few",
            site_seconds=options.site_seconds,
            site_urls=options.site_urls,
            state=state,
            changes=state is not None,
            limits=options.limits,
            options=options.fetch,
        ) as run:
            async for site, entries in run.batches():
                self._add_rows(site, entries, writer)
        return Reading(writer.close(), list(self._outcomes.values()))

    async def _begin_sites(self, sites: Sequence[str]) -> AsyncIterator[str]:
        """Yield each host when there is room for it."""
        for site in sites:
            await self._room.acquire()
            self._note("+", site)
            yield site

    def _end_site(self, outcome: SiteOutcome, writer: PartWriter) -> None:
        self._room.release()
        self._note("-", outcome.site)
        self._outcomes[outcome.site] = attrs.asdict(outcome)
        self._finish_rows(outcome.site, writer)

    def _add_rows(self, site: str, entries: list[UrlEntry], writer: PartWriter) -> None:
        self._rows[site] += len(entries)
        writer.add(site, entries)
        self._finish_rows(site, writer)

    def _finish_rows(self, site: str, writer: PartWriter) -> None:
        """Have the rows of a host written when it has ended and all have come."""
        outcome = self._outcomes.get(site)
        if outcome is not None and self._rows[site] >= outcome["entries"]:
            writer.finish(site)
            del self._rows[site]

    def _note(self, mark: str, site: str) -> None:
        if self._journal is not None:
            self._journal.write(f"{mark}{site}\n")
