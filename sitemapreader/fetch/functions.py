"""FunctionFetcher: any function that gets a URL, sync or async, as a Fetcher."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch.local import StoredResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from sitemapreader.fetch.client import Response

Got: TypeAlias = "bytes | Response | None"
"""A body, a whole response, or `None` for a missing document (404)."""


class FunctionFetcher:
    """Fetcher that calls a function, with any HTTP client.

    ```python
    def get(url):
        answer = requests.get(url, timeout=30)
        return StoredResponse(answer.url, answer.content, answer.status_code, answer.headers)

    fetcher = FunctionFetcher(get)
    ```
    A function without `await` runs in a thread, so that it holds up nothing. It may be called from
    several threads at once, as many as `FetchOptions.concurrency` says. If it has a parameter
    `headers`, it gets those of a walk: with them a server may answer 304, unchanged.

    `FetchError` and `OSError` (`ConnectionError`, `TimeoutError`) are failures of the document. Any
    other exception of the function reaches the caller of the walk.

    Raises:
        TypeError: `get` is no function.
    """

    def __init__(self, get: Callable[..., Got | Awaitable[Got]]) -> None:
        if not callable(get):
            raise TypeError(
                f"FunctionFetcher requires a function of a URL, got {get!r}"
            )
        self._get = get
        named = inspect.signature(get).parameters.values()
        self._takes_headers = any(
            each.name == "headers" or each.kind is inspect.Parameter.VAR_KEYWORD
            for each in named
        )
        call = getattr(get, "__call__", None)  # noqa: B004 (an object may have an async one)
        self._is_async = inspect.iscoroutinefunction(
            get
        ) or inspect.iscoroutinefunction(call)

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Response]:
        """Call the function; yield its result as a response.

        Raises:
            FetchError: HTTP_STATUS 404, it returns `None`.
            TypeError: it returns something else than bytes, a response or `None`.
        """
        if self._takes_headers:
            how = {"headers": headers}
        else:
            how = {}
        if self._is_async:
            got = self._get(url, **how)
        else:
            got = await self._call_in_thread(url, how)
        if inspect.isawaitable(got):
            got = await got
        yield _make_response(url, got)

    async def _call_in_thread(
        self, url: str, how: Mapping[str, object]
    ) -> Got | Awaitable[Got]:
        return await asyncio.to_thread(self._get, url, **how)


def _make_response(url: str, got: object) -> Response:
    if got is None:
        raise FetchError(IssueCode.HTTP_STATUS, url, "404", http_status=404)
    if isinstance(got, bytes | bytearray):
        return StoredResponse(url, bytes(got))
    if isinstance(got, StoredResponse):
        headers = {name.lower(): text for name, text in got.headers.items()}
        return StoredResponse(
            got.url, got.body, got.status, headers, got.chunk_bytes, got.tries
        )
    if callable(getattr(got, "chunks", None)):
        return got  # type: ignore[return-value] # a response by its looks
    raise TypeError(
        f"the function of a FunctionFetcher returned {type(got).__name__} for {url}: "
        "return bytes, a StoredResponse, or None if there is no such document"
    )
