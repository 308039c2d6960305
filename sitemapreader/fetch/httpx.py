"""HttpxFetcher: a `Fetcher` that uses your own `httpx.AsyncClient`.

```python
async with httpx.AsyncClient(proxy=..., http2=True) as client:
    async with walk("https://www.example.org/", fetcher=HttpxFetcher(client)) as entries:
        async for entry in entries: ...
```
Like `HttpFetcher`, it gives undecoded bodies as they arrive, raises typed FetchErrors, follows
redirects by the same rules, retries, and limits the speed and size of bodies.

It does not throttle: there are no slots or delays, no Crawl-delay, and no Retry-After for the whole
host. With `httpx.Limits(max_connections=2)`, at most two requests run at once, over all hosts.

httpx has no hook to check addresses. So the name of an origin that you did not name (see
`HttpxFetcher.trust`; a walk names its start) is resolved here. The request goes to the checked
address, with the name in `Host` and in TLS. The client's headers, cookies and auth are withheld
from such origins. A proxy of the client gets the address instead of the name.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from socket import gaierror
from types import MappingProxyType
from typing import TYPE_CHECKING

from sitemapreader.errors import FetchError, advise_extra
from sitemapreader.fetch.addresses import AddressPolicy, literal_address
from sitemapreader.fetch.body import Body, DeadlineClock, read_start
from sitemapreader.fetch.headers import (
    SAFE_CROSS_ORIGIN,
    find_user_agent,
    is_conditional,
    make_headers,
    read_headers,
)
from sitemapreader.fetch.refusals import MAX_REFUSAL_BYTES, REFUSAL_SECONDS, Refusal, wants_page
from sitemapreader.fetch.request import REDIRECTS, RedirectChain, parse_request_url
from sitemapreader.fetch.retries import fetch_with_retries
from sitemapreader.fetch.trust import FetcherTrust, TrustSet
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits

try:
    import httpx
except ImportError as error:
    raise ImportError(f"sitemapreader.fetch.httpx needs httpx; {advise_extra('httpx')}") from error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from sitemapreader.fetch.request import RequestUrl
    from sitemapreader.issues import Issue

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
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


class _Source:
    """The body of an answer; see `fetch.body`."""

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self._answer = answer
        self._pieces = answer.aiter_raw()
        self._url = url

    async def read(self) -> bytes:
        with _map_errors(self._url, in_body=True):
            async for piece in self._pieces:
                if piece:
                    return piece
        return b""

    def is_complete(self) -> bool:
        return self._answer.is_closed

    def take_buffered(self) -> bytes:
        return b""


class HttpxResponse:
    """An answer whose headers have been read, and whose body has not.

    Attributes:
        url: the URL after redirects.
        status: 200, or 304 if the request had a validator.
        headers: by lower-case name; several of one name are joined by a comma.
        issues: repairs of URLs on the way here (`userinfo-removed`).
        is_permanent: whether all redirects on the way were permanent (301, 308).
        tries: how many requests it took.
    """

    def __init__(self, answer: httpx.Response, body: Body, trail: RedirectChain) -> None:
        self.url = str(trail.target)
        self.status = answer.status_code
        self.headers: Mapping[str, str] = read_headers(answer.headers.raw)
        self.issues: list[Issue] = trail.issues
        self.is_permanent = trail.is_permanent
        self.tries = 1
        self._answer = answer
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raise FetchError if it is cut."""
        while piece := await self._body.next_piece():
            yield piece

    async def aclose(self) -> None:
        """Release the connection."""
        await self._answer.aclose()


class HttpxFetcher:
    """Open URLs with your own client, which is never closed here.

    Connections go only to public addresses, except for origins that were named with `trust`.

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
        self.options = options
        self.limits = limits
        self._client = client
        self._policy = AddressPolicy(options.allow_networks, options.allow_ports)
        self._trust = FetcherTrust()

    @property
    def user_agent(self) -> str:
        """The User-Agent header that is sent."""
        return find_user_agent(self.options, self._own_headers())

    def _own_headers(self) -> Mapping[str, str]:
        """Return the client's headers that replace those of the options."""
        headers = self._client.headers
        return httpx.Headers([(n, v) for n, v in headers.items() if v != _DEFAULTS.get(n)])

    def trust(self, url: str) -> None:
        """Trust the origin of `url`: the user named it, not a document.

        The origin may be private, and gets the client's headers, cookies and auth. A URL that
        cannot be requested is ignored; `open` reports why.
        """
        self._trust.add(url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Do nothing: only the client's own limits slow it down."""

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[HttpxResponse]:
        """Request `url`, follow its redirects, and give the response.

        Raises:
            FetchError: there is no document; `code` says why, and `url` where.
        """
        clock = DeadlineClock(self.options.total_seconds)
        fetch = partial(self._fetch, url, headers or _NO_HEADERS, clock)
        response, tries = await fetch_with_retries(fetch, self.options, url)
        response.tries = tries
        try:
            yield response
        finally:
            await response.aclose()

    async def _fetch(
        self, url: str, extra: Mapping[str, str], clock: DeadlineClock
    ) -> HttpxResponse:
        """Make one attempt: follow redirects to the document."""
        trail = RedirectChain(parse_request_url(url), self.options)
        seconds = self.options.headers_seconds
        while True:
            place = str(trail.target)
            with _map_errors(place, in_body=False):
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
            location = answer.headers["location"]
            await trail.follow_if_allowed(location, status=answer.status_code)

    async def _ask(self, trail: RedirectChain, extra: Mapping[str, str]) -> httpx.Response:
        client, target, trust = self._client, trail.target, self._trust.find()
        same_origin = trail.same_origin and trust.has_origin(target.origin)
        url, extensions = str(target), {}
        if not same_origin:
            address = await self._find_address(target, trust)
            url = str(target.url.with_host(address))
            extensions = {"sni_hostname": target.host}
        own = self._own_headers()
        headers = make_headers(self.options, extra, present=own, same_origin=same_origin)
        if not same_origin:
            headers["Host"] = target.url.raw_authority
            # The pool knows connections by address: a kept one would be that of another name.
            headers["Connection"] = "close"
        request = client.build_request(
            "GET", url, headers=list(headers.items()), extensions=extensions
        )
        if same_origin:
            return await client.send(request, stream=True, follow_redirects=False)
        for name in set(request.headers) - SAFE_CROSS_ORIGIN - _CONNECTION:
            del request.headers[name]
        answer = await client.send(request, stream=True, follow_redirects=False, auth=None)
        await _check_name(answer, target)
        return answer

    async def _find_address(self, target: RequestUrl, trust: TrustSet) -> str:
        """Return an allowed address of a host; raise FetchError if there is none."""
        if not self._policy.allows_port(target.port, trust.hosts):
            raise FetchError(IssueCode.BLOCKED_PORT, str(target), f"port {target.port}")
        addresses = [literal_address(target.host) or ""]
        if not addresses[0]:
            loop = asyncio.get_running_loop()
            try:
                found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            except socket.gaierror as error:
                raise FetchError(IssueCode.DNS, str(target), str(error)) from error
            addresses = [str(info[4][0]) for info in found]
        for address in addresses:
            if self._policy.allows(target.host, address, trust.hosts):
                return address
        said = f"{target.host} is {addresses[0]}"
        raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), said)

    async def _read_refusal(
        self, answer: httpx.Response, url: str, clock: DeadlineClock
    ) -> FetchError:
        status, raw = answer.status_code, b""
        if wants_page(status):
            raw = await read_start(_Source(answer, url), clock, MAX_REFUSAL_BYTES, REFUSAL_SECONDS)
        await answer.aclose()
        headers = read_headers(answer.headers.raw)
        refusal = Refusal(url, status, answer.reason_phrase, headers, raw)
        return refusal.make_error(self.options.retry_after_seconds)
