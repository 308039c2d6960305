"""KeptClient: rounds ask once a day for robots.txt and what else rarely changes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import urlsplit

from sitemapreader.errors import FetchError
from sitemapreader.fetch.client import ClientLayer
from sitemapreader.fetch.local import StoredResponse
from sitemapreader.issues import IssueCode
from sitemapreader.options import ROBOTS_MAX_BYTES
from sitemapreader.state.kept import make_refusal
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sitemapreader.fetch.client import Client, Opening, Response
    from sitemapreader.walker.state_writer import StateWriter

_NOTHING = frozenset({404, 410})


class KeptClient(ClientLayer):
    """A client that answers from the state what was asked for in the last day.

    Args:
        client: what opens the URLs.
        writer: of the walk; it says which answers may still be used.
    """

    def __init__(self, client: Client, writer: StateWriter) -> None:
        super().__init__(client)
        self._writer = writer

    @asynccontextmanager
    async def open(self, url: str, **how: Unpack[Opening]) -> AsyncIterator[Response]:
        """Request `url`, unless its answer is kept."""
        kept = None if how.get("headers") else await self._writer.find_kept(url)
        if kept is not None and kept.status != 200:
            error = FetchError(
                IssueCode.HTTP_STATUS, url, f"{kept.status}", http_status=kept.status
            )
            error.tries = 0
            raise error
        if kept is not None:
            yield kept
            return
        try:
            async with self._client.open(url, **how) as response:
                yield (
                    _RecordedResponse(response, url, self._writer)
                    if self._is_kept(url)
                    else response
                )
        except FetchError as error:
            if error.http_status in _NOTHING and self._is_kept(url):
                await self._writer.keep(url, make_refusal(url, error.http_status))
            raise

    def _is_kept(self, url: str) -> bool:
        return urlsplit(url).path == "/robots.txt" or url_key(url) == self._writer.name


class _RecordedResponse:
    """A response that is kept once its body has been read to the end."""

    def __init__(self, response: Response, url: str, writer: StateWriter) -> None:
        self.url, self.status, self.headers = response.url, response.status, response.headers
        self._response, self._asked, self._writer = response, url, writer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    async def chunks(self) -> AsyncIterator[bytes]:
        body = bytearray()
        chunks = self._response.chunks()
        try:
            async for chunk in chunks:
                if len(body) <= ROBOTS_MAX_BYTES:
                    body += chunk
                yield chunk
        finally:
            if close := getattr(chunks, "aclose", None):
                await close()
        if self.status == 200 and len(body) <= ROBOTS_MAX_BYTES:
            answer = StoredResponse(self.url, bytes(body), headers=self.headers)
            await self._writer.keep(self._asked, answer)
