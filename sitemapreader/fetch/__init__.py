"""The network: a Fetcher opens URLs, a Response has their bytes.

Anything that satisfies these two protocols can feed a walk: an HTTP client, a folder, a dict of
bytes, an archive. Nothing is parsed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader._bytes.charset import charset_of
from sitemapreader.fetch.client import Fetcher, MakesClients, Response
from sitemapreader.fetch.functions import FunctionFetcher
from sitemapreader.fetch.hooks import (
    HasName,
    HasSettings,
    SetsCrawlDelay,
    TakesTurns,
    Trusts,
)
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.local import FolderFetcher, MemoryFetcher, StoredResponse
from sitemapreader.fetch.proxies import Proxies
from sitemapreader.fetch.responses import read_body

if TYPE_CHECKING:
    from sitemapreader._identity import Identity

__all__ = [
    "Fetcher",
    "FolderFetcher",
    "FunctionFetcher",
    "HasName",
    "HasSettings",
    "HttpFetcher",
    "Identity",
    "MakesClients",
    "MemoryFetcher",
    "Proxies",
    "Response",
    "SetsCrawlDelay",
    "StoredResponse",
    "TakesTurns",
    "Trusts",
    "charset_of",
    "read_body",
]


def __getattr__(name: str) -> Any:
    """Load the identity when it is first used (PEP 562): few requests are signed."""
    if name != "Identity":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sitemapreader._identity import Identity  # noqa: PLC0415 (10 ms)

    return Identity
