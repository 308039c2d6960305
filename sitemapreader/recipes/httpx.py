"""httpx: a `Fetcher` on an `httpx.AsyncClient` of yours.

```python
async with httpx.AsyncClient(proxy=..., http2=True) as client:
    async with walk("https://www.example.org/", fetcher=HttpxFetcher(client)) as entries:
        async for entry in entries: ...
```
What it has of `HttpFetcher`: bodies as they come, undecoded; typed FetchErrors; redirects one by
one, by the same rules; another try where that can help; the watch over a body's pace and size.

What it has not:
- The guard of addresses: httpx has no place for it. A sitemap that leads to an address in your own
  network is fetched. Keep `hosts="host"`, or take `HttpFetcher`, where strangers choose the sites.
- Manners: turns, delays, a Crawl-delay, a Retry-After that holds for the whole host. With
  `httpx.Limits(max_connections=2)` no more than two requests run at once, over all hosts.
- Trust: the client's headers, cookies and auth go to every origin that is opened, and are withheld
  only from those that a redirect leads to.
"""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from socket import gaierror
from types import MappingProxyType
from typing import TYPE_CHECKING

from sitemapreader import FetchError, FetchOptions, IssueCode, Limits
from sitemapreader.fetch.body import Body, Clock, read_start
from sitemapreader.fetch.headers import STAY, is_conditional, make_headers, read_headers
from sitemapreader.fetch.redirects import REDIRECTS, Trail
from sitemapreader.fetch.refusals import MAX_REFUSAL_BYTES, REFUSAL_SECONDS, Refusal, wants_page
from sitemapreader.fetch.retries import fetch_again
from sitemapreader.fetch.targets import read_target
from sitemapreader.installation import advise_extra

try:
    import httpx
except ImportError as error:
    raise ImportError(
        f"sitemapreader.recipes.httpx needs httpx; {advise_extra('httpx')}"
    ) from error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from sitemapreader import Issue

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_CONNECTION = frozenset({"host", "connection", "accept-encoding"})
"""Headers that are about the connection, and so no secrets."""
_DEFAULTS = {"accept": "*/*", "user-agent": f"python-httpx/{httpx.__version__}"}
"""What a client sends if its owner did not say anything else; `FetchOptions` knows better."""

_CODES: tuple[tuple[tuple[type[BaseException], ...], IssueCode], ...] = (
    ((httpx.TimeoutException, TimeoutError), IssueCode.TIMEOUT),
    ((ssl.SSLError,), IssueCode.TLS),
    ((gaierror,), IssueCode.DNS),
    ((httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError), IssueCode.INVALID_URL),
    ((httpx.ProtocolError, httpx.DecodingError), IssueCode.BAD_HTTP),
    ((httpx.RequestError,), IssueCode.CONNECT),
)
"""What an exception means that is in the chain of causes; the first row that fits counts."""
_FOREIGN = (httpx.RequestError, httpx.InvalidURL, TimeoutError, UnicodeError)
_DROPPED = ("Server disconnected", "peer closed connection")
"""How httpcore and h11 begin to say that a line was dropped, which they take for bad HTTP."""
_IN_BODY = {IssueCode.CONNECT: IssueCode.BODY_CUT, IssueCode.TIMEOUT: IssueCode.STALLED}
"""What the same means once the headers are there."""


@contextmanager
def _door(url: str, *, in_body: bool) -> Iterator[None]:
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


class _Source:
    """The body of an answer; see `fetch.body`."""

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self._answer = answer
        self._pieces = answer.aiter_raw()
        self._url = url

    async def read(self) -> bytes:
        with _door(self._url, in_body=True):
            async for piece in self._pieces:
                if piece:
                    return piece
        return b""

    def is_complete(self) -> bool:
        return self._answer.is_closed

    def take_rest(self) -> bytes:
        return b""


class HttpxResponse:
    """An answer whose headers have been read, and whose body has not.

    Attributes:
        url: where it came from in the end.
        status: 200, or 304 if the request had a validator.
        headers: by lower-case name; several of one name are joined by a comma.
        issues: what was mended on the way here (`userinfo-removed`).
        is_permanent: whether all redirects on the way were permanent (301, 308).
        tries: how many requests it took.
    """

    def __init__(self, answer: httpx.Response, body: Body, trail: Trail) -> None:
        self.url = str(trail.target)
        self.status = answer.status_code
        self.headers: Mapping[str, str] = read_headers(answer.headers.raw)
        self.issues: list[Issue] = trail.issues
        self.is_permanent = trail.is_permanent
        self.tries = 1
        self._answer = answer
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes; raise FetchError where it breaks off."""
        while piece := await self._body.next_piece():
            yield piece

    async def aclose(self) -> None:
        """Give back the connection."""
        await self._answer.aclose()


class HttpxFetcher:
    """Open URLs with a client of yours, which is never closed here.

    The client's proxy, TLS context, cookies, auth, headers, HTTP/2 and time-outs are used.
    Its `follow_redirects` has no say: `options.max_redirects` and `allow_downgrade` decide.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
        *,
        limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    ) -> None:
        self.options = options
        self.limits = limits
        self._client = client

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[HttpxResponse]:
        """Request `url` and follow its redirects; give the response whose body is to be read.

        Raises:
            FetchError: whatever else happens, by its code; `url` is the one that it happened at.
        """
        clock = Clock(self.options.total_seconds)
        fetch = partial(self._fetch, url, headers or _NO_HEADERS, clock)
        response, tries = await fetch_again(fetch, self.options, url)
        response.tries = tries
        try:
            yield response
        finally:
            await response.aclose()

    async def _fetch(self, url: str, extra: Mapping[str, str], clock: Clock) -> HttpxResponse:
        """Go the way from one URL to the document, once."""
        trail = Trail(read_target(url), self.options)
        seconds = self.options.connect_seconds + self.options.headers_seconds
        while True:
            place = str(trail.target)
            with _door(place, in_body=False):
                answer = await clock.wait(self._ask(trail, extra), seconds)
            if answer.status_code == 200 or (answer.status_code == 304 and is_conditional(extra)):
                body = Body(
                    _Source(answer, place),
                    place,
                    clock=clock,
                    options=self.options,
                    max_bytes=self.limits.raw_bytes,
                )
                return HttpxResponse(answer, body, trail)
            if answer.status_code not in REDIRECTS or "location" not in answer.headers:
                raise await self._read_refusal(answer, place, clock)
            await answer.aclose()
            trail.follow(answer.headers["location"], status=answer.status_code)

    async def _ask(self, trail: Trail, extra: Mapping[str, str]) -> httpx.Response:
        client = self._client
        present = {n for n, value in client.headers.items() if value != _DEFAULTS.get(n)}
        headers = make_headers(self.options, extra, present=present, at_home=trail.at_home)
        request = client.build_request("GET", str(trail.target), headers=list(headers.items()))
        if trail.at_home:
            return await client.send(request, stream=True, follow_redirects=False)
        for name in set(request.headers) - STAY - _CONNECTION:
            del request.headers[name]
        return await client.send(request, stream=True, follow_redirects=False, auth=None)

    async def _read_refusal(self, answer: httpx.Response, url: str, clock: Clock) -> FetchError:
        status, raw = answer.status_code, b""
        if wants_page(status):
            raw = await read_start(_Source(answer, url), clock, MAX_REFUSAL_BYTES, REFUSAL_SECONDS)
        await answer.aclose()
        headers = read_headers(answer.headers.raw)
        refusal = Refusal(url, status, answer.reason_phrase, headers, raw)
        return refusal.make_error(self.options.retry_after_seconds)
