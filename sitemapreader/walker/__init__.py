"""Walking over sitemaps: every URL of a site, as a stream."""

from sitemapreader.walker.arguments import WalkArguments
from sitemapreader.walker.blocking import BlockingWalk
from sitemapreader.walker.start import walk, walk_sync
from sitemapreader.walker.stream import Walk

__all__ = ["BlockingWalk", "Walk", "WalkArguments", "walk", "walk_sync"]
