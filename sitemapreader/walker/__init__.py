"""The walk over the sitemaps of a site: every URL as a stream."""

from sitemapreader.walker.api import walk, walk_sync
from sitemapreader.walker.config import WalkArguments
from sitemapreader.walker.walk import BlockingWalk, Walk

__all__ = ["BlockingWalk", "Walk", "WalkArguments", "walk", "walk_sync"]
