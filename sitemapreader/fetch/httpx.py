"""HttpxFetcher: a `Fetcher` that uses your own `httpx.AsyncClient`.

```python
async with httpx.AsyncClient(proxy=..., http2=True) as client:
    async with walk("https://www.example.org/", fetcher=HttpxFetcher(client)) as entries:
        async for entry in entries: ...
```
It is as polite and as careful as `HttpFetcher`: slots, delays, Crawl-delay, Retry-After, redirects,
retries, limits of bodies, and typed FetchErrors are the same.

httpx has no hook to check addresses. So the name of an origin that you did not name (see
`HttpxFetcher.trust`; a walk names its start) is resolved here. The request goes to a checked
address, with the name in `Host` and in TLS. The client's headers, cookies and auth are withheld
from such origins. A proxy of the client gets the address instead of the name. Origins that you
named are resolved by the client or its proxy, so that their requests are not counted by address.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import contextmanager
from socket import gaierror
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import FetchError, advise_extra
from sitemapreader.fetch.http import NetworkFetcher
from sitemapreader.fetch.request import SAFE_CROSS_ORIGIN, RequestUrl, read_headers
from sitemapreader.fetch.transport import Transmission, make_address
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits

try:
    import anyio  # on which httpx is built
    import httpx
except ImportError as error:
    raise ImportError(f"sitemapreader.fetch.httpx needs httpx; {advise_extra('httpx')}") from error

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

    from aiohttp.abc import ResolveResult

    from sitemapreader.fetch.addresses import TrustSet
    from sitemapreader.fetch.answers import DeadlineClock
__all__ = ["HttpxFetcher"]

T = TypeVar("T")

_CONNECTION = frozenset({"host", "connection", "accept-encoding"})
"""Headers of the connection, which are no secrets."""
_DEFAULTS = {"accept": "*/*", "user-agent": f"python-httpx/{httpx.__version__}"}
"""httpx's defaults, which the headers of `FetchOptions` replace."""

_CODES: tuple[tuple[tuple[type[BaseException], ...], IssueCode], ...] = (
    ((httpx.TimeoutException, TimeoutError), IssueCode.TIMEOUT),
    ((ssl.SSLError,), IssueCode.TLS),
    ((gaierror,), IssueCode.DNS),
    ((httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError), IssueCode.INVALID_URL),
    ((httpx.ProtocolError, httpx.DecodingError), IssueCode.BAD_HTTP),
    ((httpx.RequestError,), IssueCode.CONNECT),
)
"""The Issue codes of exceptions in the chain of causes; the first row that matches counts."""
_FOREIGN = (httpx.RequestError, httpx.InvalidURL, TimeoutError, UnicodeError)
_DROPPED = ("Server disconnected", "peer closed connection")
"""How messages of httpcore and h11 about a dropped connection begin; they report bad HTTP."""
_IN_BODY = {IssueCode.CONNECT: IssueCode.BODY_CUT, IssueCode.TIMEOUT: IssueCode.STALLED}
"""The codes that replace others once the headers have arrived."""


@contextmanager
def _map_errors(url: str, *, in_body: bool) -> Iterator[None]:
    """Turn httpx's exceptions into FetchErrors."""
    try:
        yield
    except _FOREIGN as error:
        chain = list(_causes(error))
        code = next(code for kinds, code in _CODES if any(isinstance(e, kinds) for e in chain))
        if str(error).startswith(_DROPPED):
            code = IssueCode.CONNECT
        if in_body:
            code = _IN_BODY.get(code, code)
        raise FetchError(code, url, str(error) or type(error).__name__) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


async def _check_name(answer: httpx.Response, target: RequestUrl) -> None:
    """Refuse an answer if its connection was verified for another host name.

    With HTTP/2, requests to one address share a connection while it is in use.
    """
    stream = answer.extensions.get("network_stream")
    secured = stream.get_extra_info("ssl_object") if stream is not None else None
    if secured is not None and secured.server_hostname != target.host:
        await answer.aclose()
        raise FetchError(
            IssueCode.TLS,
            str(target),
            f"the connection is that of {secured.server_hostname}: use a client without HTTP/2",
        )


async def _run_apart(step: Coroutine[None, None, T]) -> T:
    """Wait for a step of httpx; if cancelled, leave nothing in the client's pool."""
    # httpcore tidies up behind a shield of anyio's, which a cancelled task of asyncio breaks
    # through: its connections then stay in the pool for ever. A cancelled scope of anyio does not.
    scope, results = anyio.CancelScope(), []

    async def run() -> None:
        with scope:
            results.append(await step)

    task = asyncio.create_task(run())
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        scope.cancel()
        await asyncio.wait([task])
        for result in results:
            if isinstance(result, httpx.Response):
                await result.aclose()
        raise
    return results[0]


class HttpxAnswer:
    """An answer whose headers have been read, and the source of its body."""

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self.status = answer.status_code
        self.has_surplus = False  # httpx does not tell
        self.reason = answer.reason_phrase
        self.headers: Mapping[str, str] = read_headers(answer.headers.raw)
        self._answer = answer
        self._pieces = answer.aiter_raw()
        self._url = url

    async def read(self) -> bytes:
        """Return the next bytes of the body, b"" at the end; raise FetchError if cut."""
        with _map_errors(self._url, in_body=True):
            return await _run_apart(self._read())

    async def _read(self) -> bytes:
        async for piece in self._pieces:
            if piece:
                return piece
        return b""

    def is_complete(self) -> bool:
        """Return whether the body has been read to its end."""
        return self._answer.is_closed

    def take_buffered(self) -> bytes:
        """Return nothing: httpx buffers nothing."""
        return b""

    async def aclose(self) -> None:
        """Return the connection to the pool, or close it if the body is not finished."""
        await _run_apart(self._answer.aclose())


class HttpxTransport:
    """A transport by a client of the caller's, which is never closed here."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @property
    def own_headers(self) -> Mapping[str, str]:
        """The client's headers, but for the defaults of httpx."""
        headers = self._client.headers
        return httpx.Headers([(n, v) for n, v in headers.items() if v != _DEFAULTS.get(n)])

    def check(self) -> None:
        """Do nothing: the client says itself that it is closed."""

    def is_home(self, origin: str, trust: TrustSet) -> bool:
        """Return whether the caller has named an origin."""
        return trust.has_origin(origin)

    def resolves(self, *, is_home: bool) -> bool:
        """Return whether the client resolves names: those of origins that were named."""
        return is_home

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name; raise OSError if there is none."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [make_address(host, str(place[0]), port) for *_, place in found]

    async def aclose(self) -> None:
        """Do nothing: the client is the caller's."""

    async def send(self, request: Transmission, clock: DeadlineClock) -> HttpxAnswer:
        """Send a GET request, and return its answer; raise FetchError if there is none."""
        url = str(request.target)
        with _map_errors(url, in_body=False):
            answer = await clock.wait(_run_apart(self._send(request)), request.seconds)
            return HttpxAnswer(answer, url)

    async def _send(self, request: Transmission) -> httpx.Response:
        if request.is_home:
            made = self._client.build_request(
                "GET", str(request.target), headers=list(request.headers.items())
            )
            return await self._client.send(made, stream=True, follow_redirects=False)
        *others, last = (str(each["host"]) for each in request.addresses)
        for address in others:
            try:
                return await self._send_to(address, request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._send_to(last, request)

    async def _send_to(self, address: str, request: Transmission) -> httpx.Response:
        """Send a request to a stranger, with nothing that may be a secret."""
        target = request.target
        headers = request.headers.copy()
        headers["Host"] = target.url.raw_authority
        # The pool knows connections by address: a kept one would be that of another name.
        headers["Connection"] = "close"
        made = self._client.build_request(
            "GET",
            str(target.url.with_host(address)),
            headers=list(headers.items()),
            extensions={"sni_hostname": target.host},
        )
        for name in set(made.headers) - SAFE_CROSS_ORIGIN - _CONNECTION:
            del made.headers[name]
        answer = await self._client.send(made, stream=True, follow_redirects=False, auth=None)
        await _check_name(answer, target)
        return answer


class HttpxFetcher(NetworkFetcher):
    """Open URLs with your own client, which is never closed here.

    Connections go only to public addresses, except for origins that were named with `trust`: these
    may be private, and get the client's headers, cookies and auth.

    The client's proxy, TLS context, cookies, auth, headers, HTTP/2 and time-outs are used.
    Its `follow_redirects` is ignored: `options.max_redirects` and `allow_downgrade` decide.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
        *,
        limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    ) -> None:
        super().__init__(options, limits, HttpxTransport(client))
