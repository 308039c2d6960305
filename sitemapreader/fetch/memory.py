"""MemoryFetcher: a dict of bytes as a site, for tests without ports and patches."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.headers import is_current
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


@attrs.define
class StoredResponse:
    """A Response whose body is in memory; a `url` of its own means a redirect."""

    url: str
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    chunk_bytes: int = 65_536

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces."""
        for start in range(0, len(self.body), self.chunk_bytes):
            yield self.body[start : start + self.chunk_bytes]


class MemoryFetcher:
    """Serve `{url: bytes | StoredResponse | exception}`; every other URL is a 404.

    A conditional request for a stored response with an `etag` or `last-modified` (in lower case)
    gets 304 without a body if it names that version.

    Attributes:
        pages: the responses by URL.
        requested: the requested URLs, in order.
    """

    def __init__(self, pages: Mapping[str, bytes | StoredResponse | Exception]) -> None:
        self.pages = pages
        self.requested: list[str] = []

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Give the response that is stored under `url`, or raise the stored exception."""
        self.requested.append(url)
        page = self.pages.get(url)
        if page is None:
            raise FetchError(IssueCode.HTTP_STATUS, url, "404", http_status=404)
        if isinstance(page, Exception):
            raise page
        response = page if isinstance(page, StoredResponse) else StoredResponse(url, page)
        if headers and is_current(headers, response.headers):
            response = attrs.evolve(response, status=304, body=b"")
        yield response
