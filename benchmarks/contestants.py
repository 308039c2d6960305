"""The contestants: their names, packages and formats.

The functions behind the names are in `adapters/`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from adapters.kinds import ALL, FEEDS, GZIP, INDEX, TEXT, TREES, URLSET

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent


class Contestant(NamedTuple):
    """A function of `adapters`, as `module:name`, and the package that it needs."""

    function: str
    package: str
    kinds: frozenset[str] = frozenset()
    environment: Mapping[str, str] = MappingProxyType({})


BY_TREE = MappingProxyType({"SITEMAPREADER_PATTERNS": "off"})
"""Has all records read without patterns, as feeds and odd records are."""

READERS = {
    "kept": Contestant("ours:keep", "sitemapreader", ALL),
    "streaming": Contestant("ours:stream", "sitemapreader", ALL),
    "tree": Contestant("ours:keep", "sitemapreader", TREES, BY_TREE),
    "scrapy": Contestant("scrapy_sitemap:read", "scrapy", URLSET | INDEX | GZIP),
    "usp": Contestant(
        "ultimate:read", "ultimate-sitemap-parser", URLSET | FEEDS | TEXT
    ),
    "crawlee": Contestant("crawlee_sitemap:read", "crawlee", TREES),
    "advertools": Contestant("advertools_sitemap:read", "advertools", TREES | GZIP),
    "trafilatura": Contestant(
        "trafilatura_sitemap:read", "trafilatura", TREES | GZIP | TEXT
    ),
    "fastfeedparser": Contestant("feeds:read_fast", "fastfeedparser", FEEDS),
    "fastfeedparser, lean": Contestant("feeds:read_lean", "fastfeedparser", FEEDS),
    "feedparser": Contestant("feeds:read_all", "feedparser", FEEDS),
    "expat, no handlers": Contestant("bounds:parse_only", "", TREES | FEEDS),
    "expat, tokens only": Contestant("bounds:make_tokens", "", TREES | FEEDS),
    "ET.XMLPullParser": Contestant("bounds:pull", "", TREES | FEEDS),
    "ET.fromstring": Contestant("bounds:build_tree", "", TREES | FEEDS),
    "defusedxml.iterparse": Contestant(
        "bounds:iterate_defused", "defusedxml", TREES | FEEDS
    ),
}
"""Who reads from memory; the last five are bounds, and no peers."""

BEFORE = {
    "kept, before": Contestant("ours:keep", "sitemapreader", ALL),
    "tree, before": Contestant("ours:keep", "sitemapreader", TREES, BY_TREE),
}
"""Another version of sitemapreader, whose folder has to be named."""

WALKERS = {
    "batches": Contestant("ours_walk:walk_batches", "sitemapreader"),
    "async for": Contestant("ours_walk:walk_entries", "sitemapreader"),
    "walk_sync": Contestant("ours_walk:walk_blocking", "sitemapreader"),
    "command line": Contestant("command:walk", "sitemapreader"),
    "scrapy": Contestant("scrapy_sitemap:walk", "scrapy"),
    "crawlee": Contestant("crawlee_sitemap:walk", "crawlee"),
    "usp": Contestant("ultimate:walk", "ultimate-sitemap-parser"),
    "advertools": Contestant("advertools_sitemap:walk", "advertools"),
    "sitemapper": Contestant("sitemapper:walk", "sitemapper"),
    "bytes in memory: SitemapReader": Contestant("memory:read_all", "sitemapreader"),
    "bytes in memory: batches": Contestant("memory:walk_batches", "sitemapreader"),
    "bytes in memory: async for": Contestant("memory:walk_entries", "sitemapreader"),
}
"""Who fetches a whole site; the last three do so before the clock runs."""

COLLECTORS = {
    "sitemapreader": Contestant("ours_walk:collect", "sitemapreader"),
    "usp": Contestant("ultimate:collect", "ultimate-sitemap-parser"),
    "crawlee": Contestant("crawlee_sitemap:collect", "crawlee"),
    "scrapy": Contestant("scrapy_sitemap:collect", "scrapy"),
    "advertools": Contestant("advertools_sitemap:collect", "advertools"),
    "trafilatura": Contestant("trafilatura_sitemap:collect", "trafilatura"),
    "sitemapper": Contestant("sitemapper:collect", "sitemapper"),
}
"""Who lists the URLs of odd documents."""


def version_of(package: str) -> str | None:
    """Return the version of a package, or `None` if it is not installed."""
    if not package:
        return sys.version.split()[0]
    if package == "sitemapper":
        return _sitemapper_version()
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@cache
def _sitemapper_version() -> str | None:
    """Ask node; the package is looked for in `benchmarks/node_modules`."""
    node = shutil.which("node")
    if node is None:
        return None
    answer = subprocess.run(
        [node, str(FOLDER / "adapters" / "sitemapper.mjs"), "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def place_before(folder: Path) -> dict[str, Contestant]:
    """Return the contestants that read with the package in another folder."""
    return {
        name: contestant._replace(
            environment={**contestant.environment, "PYTHONPATH": str(folder.resolve())}
        )
        for name, contestant in BEFORE.items()
    }


def make_command(script: str, *arguments: str) -> list[str]:
    """Make the command that starts one of our scripts in a process of its own."""
    return [sys.executable, str(FOLDER / script), *arguments]


def make_environment() -> dict[str, str]:
    """Make the environment of a measured process, whose warnings are not read."""
    return {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
