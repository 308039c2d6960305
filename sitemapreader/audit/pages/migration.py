"""The old site, whose URLs are to lead to the new one."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sitemapreader.audit.known import Known, UrlList, is_list
from sitemapreader.audit.sources import find_source, open_walk

if TYPE_CHECKING:
    from sitemapreader.audit.database import AuditDatabase
    from sitemapreader.many.sources import SiteTask
    from sitemapreader.walker.config import WalkArguments

_ROWS_AT_ONCE = 20_000


@attrs.frozen
class OldSite:
    """Where the URLs of the old site are: in a list, or in the sitemaps of `task`."""

    source: Known
    task: SiteTask | None = None

    @property
    def is_http(self) -> bool:
        """Whether its sitemaps are requested from a server."""
        return self.task is not None and self.task.fetcher is None

    @classmethod
    def find(cls, source: Known) -> OldSite:
        """Return how to read a list, URL, folder or file; raise AuditInputError."""
        if not isinstance(source, str | PathLike) or is_list(source):
            return cls(source)
        return cls(source, find_source(source if isinstance(source, str) else Path(source)))

    async def load(self, database: AuditDatabase, arguments: WalkArguments) -> None:
        """Insert the URLs; `arguments` are those of a walk, with a fetcher.

        Raises AuditInputError if there are none.
        """
        urls = UrlList(database, "old")
        if self.task is None:
            await database.run_in_thread(lambda: urls.load(self.source))
            return
        locs: list[str] = []
        async with open_walk(self.task, arguments) as entries:
            async for entry in entries:
                locs.append(entry.loc)
                if len(locs) >= _ROWS_AT_ONCE:
                    urls.add(locs)
                    locs.clear()
        urls.add(locs)
        urls.end(f"the old site {self.task.name}")
