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

Public are the names that docs/reference.md has, those in `__all__` of `sitemapreader.audit`
and `distributed`, and the modules of `sitemapreader.recipes` with the names that
their documentation shows. Everything else is internal and may change in any version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemapreader._version import __version__ as __version__

if TYPE_CHECKING:
    from sitemapreader.changes import State
    from sitemapreader.errors import FetchError, SitemapReaderError, StateError
    from sitemapreader.fetch.http import HttpFetcher
    from sitemapreader.identity import Identity
    from sitemapreader.issues import Issue, IssueCode, Severity
    from sitemapreader.many import (
        SiteRun,
        SiteTask,
        Watch,
        walk_many,
        walk_many_sync,
        watch,
    )
    from sitemapreader.models import (
        Alternate,
        Change,
        DateSource,
        Event,
        Extra,
        Format,
        Image,
        News,
        SitemapEntry,
        UrlEntry,
        Via,
        Video,
    )
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.outcomes import Document, Role, SiteOutcome, SiteStatus, Status
    from sitemapreader.output import open_output
    from sitemapreader.presence import Explanation, why, why_sync
    from sitemapreader.readers import SitemapReader, read
    from sitemapreader.readers.robots import Robots, parse_robots
    from sitemapreader.readers.usage import usage_of
    from sitemapreader.tables import IncompleteWarning, read_batches, to_dataframe
    from sitemapreader.walker import (
        Discovery,
        Walk,
        WalkArguments,
        discover,
        discover_sync,
        walk,
        walk_sync,
    )
    from sitemapreader.walker.newest import Newest, newest, newest_sync
    from sitemapreader.walker.report import Report


__all__ = [
    "Alternate",
    "Change",
    "DateSource",
    "Discovery",
    "Document",
    "Event",
    "Explanation",
    "Extra",
    "FetchError",
    "FetchOptions",
    "Format",
    "HttpFetcher",
    "Identity",
    "Image",
    "IncompleteWarning",
    "Issue",
    "IssueCode",
    "Limits",
    "Newest",
    "News",
    "Report",
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
    "UrlEntry",
    "Via",
    "Video",
    "Walk",
    "WalkArguments",
    "Watch",
    "discover",
    "discover_sync",
    "newest",
    "newest_sync",
    "open_output",
    "parse_robots",
    "read",
    "read_batches",
    "to_dataframe",
    "usage_of",
    "walk",
    "walk_many",
    "walk_many_sync",
    "walk_sync",
    "watch",
    "why",
    "why_sync",
]

# Loaded on first use: `--help` imports nothing, reading a file no asyncio, walking a folder no
# aiohttp.
_EXPORTS_BY_MODULE = {
    "errors": "FetchError SitemapReaderError StateError",
    "fetch.http": "HttpFetcher",
    "tables": "IncompleteWarning read_batches to_dataframe",
    "many": "SiteRun SiteTask Watch walk_many walk_many_sync watch",
    "identity": "Identity",
    "issues": "Issue IssueCode Severity",
    "models": "Alternate Change DateSource Event Extra Format Image News SitemapEntry UrlEntry Via "
    "Video",
    "options": "FetchOptions Limits",
    "output": "open_output",
    "presence": "Explanation why why_sync",
    "readers": "SitemapReader read",
    "readers.robots": "Robots parse_robots",
    "readers.usage": "usage_of",
    "outcomes": "Document Role SiteOutcome SiteStatus Status",
    "walker.report": "Report",
    "changes": "State",
    "walker": "Discovery Walk WalkArguments discover discover_sync walk walk_sync",
    "walker.newest": "Newest newest newest_sync",
}
_EXPORTS = {name: module for module, names in _EXPORTS_BY_MODULE.items() for name in names.split()}
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
