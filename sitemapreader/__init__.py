"""The URLs of a site's sitemaps, and a report of everything that was not read.

```
 site ──discover──► SitemapEntry ─┐            ┌────────────────────────────┐
                                  ▼            │ pure: bytes in, events out │
                            frontier ──fetch──►│ decode → detect → reader   │──► UrlEntry ──► you
                                  ▲    chunks  │ (xml | text | feeds)       │──► Issue ──► report
                                  └── SitemapEntry ◄───────────────────────┘
```

```python
import asyncio
from sitemapreader import walk

async def main():
    async with walk("https://example.org/") as entries:
        async for entry in entries:
            print(entry.loc, entry.lastmod)
    for document in entries.report.documents:
        print(document.url, document.status)

asyncio.run(main())
```

Public are the names in `__all__`, those of `sitemapreader.audit`, `sitemapreader.distributed` and
`sitemapreader.fetch.httpx`, and the modules of `sitemapreader.recipes` with the names that their
documentation shows. Everything else is internal and may change in any version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemapreader.version import __version__ as __version__

if TYPE_CHECKING:
    from sitemapreader.errors import (
        FetchError,
        IssueError,
        IssueGroup,
        SitemapReaderError,
        StateError,
    )
    from sitemapreader.fetch import Fetcher, Response
    from sitemapreader.fetch.answers import is_absent, read_body
    from sitemapreader.fetch.http import HttpFetcher
    from sitemapreader.fetch.local import FolderFetcher, MemoryFetcher, StoredResponse
    from sitemapreader.fetch.request import charset_of
    from sitemapreader.issues import Issue, IssueCode, Severity, make_issue
    from sitemapreader.many import SiteRun, SiteTask, walk_many, walk_many_sync
    from sitemapreader.models import (
        Alternate,
        Change,
        DateSource,
        Event,
        Extra,
        Format,
        Image,
        News,
        Price,
        Restriction,
        SitemapEntry,
        UrlEntry,
        Via,
        Video,
    )
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.outcomes import Document, Role, SiteOutcome, SiteStatus, Status
    from sitemapreader.output import open_output
    from sitemapreader.readers import SitemapReader, read
    from sitemapreader.readers.robots import OtherLine, Robots, parse_robots
    from sitemapreader.report import Report
    from sitemapreader.state import State
    from sitemapreader.tables import IncompleteWarning, read_batches, to_arrow, to_dataframe
    from sitemapreader.urls import origin_of
    from sitemapreader.walker import (
        Discovery,
        Walk,
        WalkArguments,
        discover,
        discover_sync,
        walk,
        walk_sync,
    )


__all__ = [
    "Alternate",
    "Change",
    "DateSource",
    "Discovery",
    "Document",
    "Event",
    "Extra",
    "FetchError",
    "FetchOptions",
    "Fetcher",
    "FolderFetcher",
    "Format",
    "HttpFetcher",
    "Image",
    "IncompleteWarning",
    "Issue",
    "IssueCode",
    "IssueError",
    "IssueGroup",
    "Limits",
    "MemoryFetcher",
    "News",
    "OtherLine",
    "Price",
    "Report",
    "Response",
    "Restriction",
    "Robots",
    "Role",
    "Severity",
    "SiteOutcome",
    "SiteRun",
    "SiteStatus",
    "SiteTask",
    "SitemapEntry",
    "SitemapReader",
    "SitemapReaderError",
    "State",
    "StateError",
    "Status",
    "StoredResponse",
    "UrlEntry",
    "Via",
    "Video",
    "Walk",
    "WalkArguments",
    "charset_of",
    "discover",
    "discover_sync",
    "is_absent",
    "make_issue",
    "open_output",
    "origin_of",
    "parse_robots",
    "read",
    "read_batches",
    "read_body",
    "to_arrow",
    "to_dataframe",
    "walk",
    "walk_many",
    "walk_many_sync",
    "walk_sync",
]

# Loaded on first use: `--help` imports nothing, reading a file no asyncio, walking a folder no
# aiohttp.
_EXPORTS_BY_MODULE = {
    "errors": ("FetchError", "IssueError", "IssueGroup", "SitemapReaderError", "StateError"),
    "fetch": ("Fetcher", "Response"),
    "fetch.answers": ("is_absent", "read_body"),
    "fetch.local": ("FolderFetcher", "MemoryFetcher", "StoredResponse"),
    "fetch.http": ("HttpFetcher",),
    "fetch.request": ("charset_of",),
    "tables": ("IncompleteWarning", "read_batches", "to_arrow", "to_dataframe"),
    "many": ("SiteRun", "SiteTask", "walk_many", "walk_many_sync"),
    "issues": ("Issue", "IssueCode", "Severity", "make_issue"),
    "models": (
        "Alternate",
        "Change",
        "DateSource",
        "Event",
        "Extra",
        "Format",
        "Image",
        "News",
        "Price",
        "Restriction",
        "SitemapEntry",
        "UrlEntry",
        "Via",
        "Video",
    ),
    "options": ("FetchOptions", "Limits"),
    "output": ("open_output",),
    "readers": ("SitemapReader", "read"),
    "readers.robots": ("OtherLine", "Robots", "parse_robots"),
    "outcomes": ("Document", "Role", "SiteOutcome", "SiteStatus", "Status"),
    "report": ("Report",),
    "state": ("State",),
    "urls": ("origin_of",),
    "walker": (
        "Discovery",
        "Walk",
        "WalkArguments",
        "discover",
        "discover_sync",
        "walk",
        "walk_sync",
    ),
}
_EXPORTS = {name: module for module, names in _EXPORTS_BY_MODULE.items() for name in names}
"""Public name -> the module that it is loaded from when it is first used."""


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562)."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
