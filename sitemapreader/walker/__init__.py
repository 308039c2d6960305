"""Walking over sitemaps: every URL of a site, as a stream."""

from sitemapreader.walker.api import walk, walk_sync
from sitemapreader.walker.config import WalkArguments
from sitemapreader.walker.sync import BlockingWalk
from sitemapreader.walker.walk import Walk

__all__ = ["BlockingWalk", "Walk", "WalkArguments", "walk", "walk_sync"]
