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

Public are these names, and the modules without an underscore with the names in their `__all__`:
docs/reference.md has all. Everything else is internal and may change in any version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemapreader._version import __version__ as __version__

if TYPE_CHECKING:
    from sitemapreader._api import (
        Discovery as Discovery,
        discover as discover,
        discover_sync as discover_sync,
        walk as walk,
        walk_sync as walk_sync,
    )
    from sitemapreader._many import (
        SiteRun as SiteRun,
        SiteTask as SiteTask,
        Watch as Watch,
        walk_many as walk_many,
        walk_many_sync as walk_many_sync,
        watch as watch,
        watch_sync as watch_sync,
    )
    from sitemapreader._read import (
        SitemapReader as SitemapReader,
        read as read,
    )
    from sitemapreader._types.arguments import (
        Changes as Changes,
        Follow as Follow,
        Sample as Sample,
        Search as Search,
    )
    from sitemapreader._types.errors import (
        FetchError as FetchError,
        SitemapReaderError as SitemapReaderError,
    )
    from sitemapreader._types.issues import (
        Issue as Issue,
        IssueCode as IssueCode,
        Severity as Severity,
    )
    from sitemapreader._types.models import (
        Change as Change,
        Event as Event,
        Format as Format,
        SitemapEntry as SitemapEntry,
        UrlEntry as UrlEntry,
        Via as Via,
    )
    from sitemapreader._types.options import (
        FetchOptions as FetchOptions,
        Limits as Limits,
    )
    from sitemapreader._types.outcomes import (
        Document as Document,
        Role as Role,
        SiteOutcome as SiteOutcome,
        SiteStatus as SiteStatus,
        Status as Status,
    )
    from sitemapreader._walk.newest import (
        Newest as Newest,
        newest as newest,
        newest_sync as newest_sync,
    )
    from sitemapreader._walk.report import (
        Report as Report,
    )
    from sitemapreader._walk.walks import (
        Walk as Walk,
    )
    from sitemapreader.changes import (
        State as State,
    )

# Loaded on first use: `--help` imports nothing, reading a file no asyncio, walking a folder no
# aiohttp. Type checkers read the imports above.
_NAMES_BY_MODULE = {
    "_api": "Discovery discover discover_sync walk walk_sync",
    "_many": "SiteRun SiteTask Watch walk_many walk_many_sync watch watch_sync",
    "_read": "SitemapReader read",
    "_types.arguments": "Changes Follow Sample Search",
    "_types.errors": "FetchError SitemapReaderError",
    "_types.issues": "Issue IssueCode Severity",
    "_types.models": "Change Event Format SitemapEntry UrlEntry Via",
    "_types.options": "FetchOptions Limits",
    "_types.outcomes": "Document Role SiteOutcome SiteStatus Status",
    "_walk.newest": "Newest newest newest_sync",
    "_walk.report": "Report",
    "_walk.walks": "Walk",
    "changes": "State",
}
_MODULE_BY_NAME = {
    name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()
}
"""Public name -> the module that it is loaded from when it is first used."""
__all__ = sorted(_MODULE_BY_NAME)  # noqa: PLE0605 (the other lists are made from this one)


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562)."""
    if name not in _MODULE_BY_NAME:
        said = f"module {__name__!r} has no attribute {name!r}"
        if instead := _find_moved(name):
            raise ImportError(f"{said}: write {instead}", name=name)
        if not name.startswith("_"):  # nobody reads that about a name of Python's own
            from sitemapreader._types.habits import advise_name  # noqa: PLC0415 (rare)

            said = f"{said}:{advise_name(name, __all__)}".removesuffix(":")
        raise AttributeError(said)
    value = getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_BY_NAME])


def _find_moved(name: str) -> str:
    """Return the import of a name of 0.3 that has moved, or ""."""
    from sitemapreader._types.moved import MOVED_NAMES  # noqa: PLC0415 (rare)

    return MOVED_NAMES.get(name, "")
