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
    from sitemapreader._api import (
        Discovery,
        discover,
        discover_sync,
        walk,
        walk_sync,
    )
    from sitemapreader._identity import Identity
    from sitemapreader._many import (
        SiteRun,
        SiteTask,
        Watch,
        walk_many,
        walk_many_sync,
        watch,
        watch_sync,
    )
    from sitemapreader._presence import Explanation, why, why_sync
    from sitemapreader._read import SitemapReader, read
    from sitemapreader._read.robots import Robots, parse_robots
    from sitemapreader._read.usage import usage_of
    from sitemapreader._tables import IncompleteWarning, read_batches, to_dataframe
    from sitemapreader._types.arguments import Changes, Follow, Sample, Search
    from sitemapreader._types.errors import FetchError, SitemapReaderError, StateError
    from sitemapreader._types.issues import Issue, IssueCode, Severity
    from sitemapreader._types.models import (
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
    from sitemapreader._types.options import FetchOptions, Limits
    from sitemapreader._types.outcomes import (
        Document,
        Role,
        SiteOutcome,
        SiteStatus,
        Status,
    )
    from sitemapreader._walk.newest import Newest, newest, newest_sync
    from sitemapreader._walk.report import Report
    from sitemapreader._walk.walks import Walk
    from sitemapreader.changes import State
    from sitemapreader.fetch.http import HttpFetcher
    from sitemapreader.output import open_output


__all__ = [
    "Alternate",
    "Change",
    "Changes",
    "DateSource",
    "Discovery",
    "Document",
    "Event",
    "Explanation",
    "Extra",
    "FetchError",
    "FetchOptions",
    "Follow",
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
    "Sample",
    "Search",
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
    "watch_sync",
    "why",
    "why_sync",
]

# Loaded on first use: `--help` imports nothing, reading a file no asyncio, walking a folder no
# aiohttp.
_EXPORTS_BY_MODULE = {
    "_types.errors": "FetchError SitemapReaderError StateError",
    "fetch.http": "HttpFetcher",
    "_tables": "IncompleteWarning read_batches to_dataframe",
    "_many": "SiteRun SiteTask Watch walk_many walk_many_sync watch watch_sync",
    "_identity": "Identity",
    "_types.issues": "Issue IssueCode Severity",
    "_types.models": "Alternate Change DateSource Event Extra Format Image News SitemapEntry "
    "UrlEntry Via Video",
    "_types.options": "FetchOptions Limits",
    "output": "open_output",
    "_presence": "Explanation why why_sync",
    "_read": "SitemapReader read",
    "_read.robots": "Robots parse_robots",
    "_read.usage": "usage_of",
    "_types.outcomes": "Document Role SiteOutcome SiteStatus Status",
    "_walk.report": "Report",
    "changes": "State",
    "_api": "Discovery discover discover_sync walk walk_sync",
    "_types.arguments": "Changes Follow Sample Search",
    "_walk.walks": "Walk",
    "_walk.newest": "Newest newest newest_sync",
}
_EXPORTS = {
    name: module
    for module, names in _EXPORTS_BY_MODULE.items()
    for name in names.split()
}
"""Public name -> the module that it is loaded from when it is first used."""


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562)."""
    if name not in _EXPORTS:
        said = f"module {__name__!r} has no attribute {name!r}"
        if not name.startswith("_"):  # nobody reads that about a name of Python's own
            from sitemapreader._types.habits import advise_name  # noqa: PLC0415 (rare)

            said = f"{said}:{advise_name(name, __all__)}".removesuffix(":")
        raise AttributeError(said)
    value = getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
