"""Finding the sitemaps of a site: `discover`, and the search that a walk does as well."""

from sitemapreader.discovery.permissions import Permissions
from sitemapreader.discovery.scout import Discovery, discover
from sitemapreader.discovery.search import (
    WELL_KNOWN_PATHS,
    Probe,
    Search,
    Trial,
    judge_failures,
    search_site,
)

__all__ = [
    "WELL_KNOWN_PATHS",
    "Discovery",
    "Permissions",
    "Probe",
    "Search",
    "Trial",
    "discover",
    "judge_failures",
    "search_site",
]
