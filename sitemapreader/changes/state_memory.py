"""StateMemory: the memory of a walk with a state (see `WalkMemory` in `_walk/memory.py`).

It adds documents and pages to the writer. These import the writer's type, so it cannot make them.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from sitemapreader.changes.gone import PageChecker
from sitemapreader.changes.state_writer import StateWriter
from sitemapreader.changes.tracker import DocumentTracker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from sitemapreader._walk.context import UrlAllowance, WalkContext
    from sitemapreader._walk.memory import DocumentMemory
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.pages.client import PageClient


class StateMemory(StateWriter):
    """The memory of one walk in the state file, by documents and pages."""

    async def open(self, sitemap: Sitemap) -> DocumentMemory:
        """Return the state of a document."""
        return await self.file.query(lambda db: DocumentTracker(db, self, sitemap))

    async def check_pages(
        self,
        context: WalkContext,
        pages: PageClient,
        allowance: UrlAllowance,
    ) -> AsyncGenerator[None, None]:
        """Check the pages of missing URLs; yield at first and between them."""
        async with aclosing(
            PageChecker(context, pages, self).check(allowance)
        ) as asking:
            async for _ in asking:
                yield
