"""Discovery of a site's sitemaps: `discover`, and the search that a walk shares."""

from sitemapreader.discovery.api import Discovery, discover, discover_sync
from sitemapreader.discovery.arguments import Probe
from sitemapreader.discovery.robots_rules import RobotsRules
from sitemapreader.discovery.search import (
    WELL_KNOWN_PATHS,
    ProbeResult,
    Search,
    judge_failures,
    probe_platforms,
    search_site,
)

__all__ = [
    "WELL_KNOWN_PATHS",
    "Discovery",
    "Probe",
    "ProbeResult",
    "RobotsRules",
    "Search",
    "discover",
    "discover_sync",
    "judge_failures",
    "probe_platforms",
    "search_site",
]
