"""The network: a Fetcher opens URLs, a Response has their bytes.

Anything that satisfies these two protocols can feed a walk: an HTTP client, a folder, a dict of
bytes, an archive. Nothing is parsed here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sitemapreader.fetch.answers import read_body
    from sitemapreader.fetch.client import Fetcher, Response
    from sitemapreader.fetch.http import HttpFetcher
    from sitemapreader.fetch.local import FolderFetcher, MemoryFetcher, StoredResponse
    from sitemapreader.readers.charset import charset_of

__all__ = [
    "Fetcher",
    "FolderFetcher",
    "HttpFetcher",
    "MemoryFetcher",
    "Response",
    "StoredResponse",
    "charset_of",
    "read_body",
]

# Loaded on first use: walking a folder loads no aiohttp.
_HOMES = {
    "Fetcher": "client",
    "FolderFetcher": "local",
    "HttpFetcher": "http",
    "MemoryFetcher": "local",
    "Response": "client",
    "StoredResponse": "local",
    "charset_of": ".readers.charset",
    "read_body": "answers",
}


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
