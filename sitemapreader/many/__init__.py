"""Many sites in one run: one fetcher, one state, one stream, many outcomes."""

from sitemapreader.many.api import walk_many, walk_many_sync
from sitemapreader.many.run import BlockingSiteRun, SiteRun
from sitemapreader.many.task import SiteTask

__all__ = ["BlockingSiteRun", "SiteRun", "SiteTask", "walk_many", "walk_many_sync"]
