"""FunctionFetcher: any function that gets a URL, sync or async, as a Fetcher."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

import attrs

from sitemapreader.fetch.local import StoredResponse, not_found

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from sitemapreader.fetch.client import Response

Result: TypeAlias = "bytes | Response | None"
"""A body, a whole response, or `None` for a missing document (404)."""


class FunctionFetcher:
    """Fetcher that calls a function, with any HTTP client.

    ```python
    def get(url):
        answer = requests.get(url, timeout=30)
        return StoredResponse(answer.url, answer.content, answer.status_code, answer.headers)

    fetcher = FunctionFetcher(get)
    ```
    A walk is as polite with it as with an HttpFetcher: `per_host`, `delay_seconds`, Crawl-delay,
    Retry-After and `max_attempts` hold for all its requests.

    A function without `await` runs in a thread, so that it blocks nothing. It may be called from
    several threads at once, up to `FetchOptions.concurrency`. A parameter `headers` gets the
    headers of a walk, with which a server may send 304, unchanged.

    `FetchError` and `OSError` (`ConnectionError`, `TimeoutError`) are failures of the document. So
    are the errors of requests, httpx, aiohttp and urllib for a status, such as 404 or 503, with
    that status. Any other exception of the function reaches the caller of the walk.

    Raises:
        TypeError: `get` is no function.
    """

    def __init__(self, get: Callable[..., Result | Awaitable[Result]]) -> None:
        if not callable(get):
            raise TypeError(
                f"FunctionFetcher requires a function of a URL, got {get!r}"
            )
        self._get = get
        self._takes_headers = any(
            parameter.name == "headers"
            or parameter.kind is inspect.Parameter.VAR_KEYWORD
            for parameter in inspect.signature(get).parameters.values()
        )
        call = getattr(get, "__call__", None)  # noqa: B004 (an object may have an async one)
        self._is_async = any(map(inspect.iscoroutinefunction, (get, call)))

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Response]:
        """Call the function; yield its result as a response.

        Raises:
            FetchError: HTTP_STATUS 404, it returns `None`.
            TypeError: it returns something else than bytes, a response or `None`.
        """
        arguments: dict[str, object] = {}
        if self._takes_headers:
            arguments["headers"] = headers
        if self._is_async:
            result = self._get(url, **arguments)
        else:
            result = await asyncio.to_thread(self._get, url, **arguments)
        if inspect.isawaitable(result):
            result = await result
        yield _make_response(url, result)


def _make_response(url: str, result: object) -> Response:
    if result is None:
        raise not_found(url)
    if isinstance(result, bytes | bytearray):
        return StoredResponse(url, bytes(result))
    if isinstance(result, StoredResponse):
        headers = {name.lower(): text for name, text in result.headers.items()}
        return attrs.evolve(result, headers=headers)
    if callable(getattr(result, "chunks", None)):
        return result  # type: ignore[return-value] # it has the method of a response
    raise TypeError(
        f"the function of a FunctionFetcher returned {type(result).__name__} for {url}: "
        "return bytes, a StoredResponse, or None if there is no such document"
    )
