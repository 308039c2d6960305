"""aiohttp, and all that is peculiar about it: sessions, requests, answers, its exceptions.

Nothing outside of this module and `http` knows which client we have.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from contextlib import contextmanager
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING

import aiohttp
import attrs
from aiohttp.http_exceptions import HttpProcessingError

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.addresses import CONNECT_ATTEMPT, AddressPolicy, ConnectAttempt
from sitemapreader.fetch.headers import SAFE_CROSS_ORIGIN, make_headers, read_headers
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from multidict import CIMultiDict

    from sitemapreader.fetch.body import DeadlineClock
    from sitemapreader.fetch.request_url import RequestUrl
    from sitemapreader.options import FetchOptions


class _UnansweredError(aiohttp.ClientError):
    """A line that was dropped before an answer.

    aiohttp repeats a request by itself if it sees its own exceptions for this, behind the back of
    the politeness and of `tries`.
    """


_CODES: tuple[tuple[tuple[type[Exception], ...], IssueCode], ...] = (
    (
        (
            aiohttp.ClientConnectorCertificateError,
            aiohttp.ClientConnectorSSLError,
            aiohttp.ServerFingerprintMismatch,
            ssl.SSLError,
        ),
        IssueCode.TLS,
    ),
    ((aiohttp.ClientConnectorDNSError,), IssueCode.DNS),
    # a UnicodeError is what the resolver has to say of an empty label, or one of 64 characters
    ((aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError), IssueCode.INVALID_URL),
    ((aiohttp.ClientPayloadError,), IssueCode.BODY_CUT),
    ((aiohttp.ClientHttpProxyError,), IssueCode.CONNECT),
    ((aiohttp.ClientResponseError, HttpProcessingError), IssueCode.BAD_HTTP),
    ((TimeoutError,), IssueCode.TIMEOUT),
    ((_UnansweredError, aiohttp.ClientConnectionError, OSError), IssueCode.CONNECT),
    ((aiohttp.ClientError,), IssueCode.BAD_HTTP),
)
"""What foreign exceptions mean; the first row that fits counts."""
_FOREIGN = tuple(kind for kinds, _ in _CODES for kind in kinds)
_IN_BODY = {IssueCode.CONNECT: IssueCode.BODY_CUT, IssueCode.TIMEOUT: IssueCode.STALLED}
"""What the same exceptions mean once the headers are there."""


@contextmanager
def _map_errors(target: RequestUrl, attempt: ConnectAttempt | None = None) -> Iterator[None]:
    """Turn foreign exceptions into FetchErrors; without a attempt, it is the body that comes."""
    try:
        yield
    except _FOREIGN as error:
        code = next(code for kinds, code in _CODES if isinstance(error, kinds))
        detail, status = _describe(error), None
        if attempt is None:
            code = _IN_BODY.get(code, code)
        elif attempt.refused and not attempt.tried:
            code, detail = IssueCode.BLOCKED_ADDRESS, f"{attempt.host} is {attempt.refused}"
        elif _is_handshake(error, target):
            code = IssueCode.TLS
        elif isinstance(error, aiohttp.ClientHttpProxyError) and error.status in LOGIN_STATUSES:
            code, status = IssueCode.LOGIN_REQUIRED, error.status
        raise FetchError(code, str(target), detail, http_status=status) from error


def _describe(error: Exception) -> str:
    """Say what happened in the words of the system, without aiohttp's frame around them.

    That names the address once more, and a proxy's URL, which may have a password in it.
    """
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status} {error.message}".rstrip()
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return cause.verify_message
    if isinstance(cause, ssl.SSLError):
        return (cause.reason or "").replace("_", " ").lower() or "the handshake failed"
    number = cause.errno if isinstance(cause, OSError) else None
    if number is not None and number in errno.errorcode:
        return os.strerror(number).lower()
    if isinstance(cause, OSError) and cause.strerror:  # the resolver's, with numbers of its own
        return cause.strerror.lower()
    return str(cause) or type(cause).__name__


def _is_handshake(error: Exception, target: RequestUrl) -> bool:
    """Tell whether the line was dropped after it stood, and before it was a secure one."""
    return (
        target.url.scheme == "https"
        and isinstance(error, aiohttp.ClientConnectorError)
        and isinstance(error.os_error, (ConnectionResetError, ConnectionAbortedError))
    )


_MAX_STALE = 8
"""Connections of the pool that may turn out to be closed, one after the other."""


class Answer:
    """An answer whose headers have been read; its body is a `Source` (see `body`).

    Attributes:
        status: any number that was sent.
        reason: the words beside it.
        headers: by lower-case name.
    """

    def __init__(self, response: aiohttp.ClientResponse, target: RequestUrl) -> None:
        self.status = response.status
        self.reason = response.reason or ""
        self.headers: Mapping[str, str] = read_headers(response.raw_headers)
        self._response = response
        self._target = target
        self._end_of_line = _watch_end(response)

    async def read(self) -> bytes:
        """Return the next piece of the body, b"" at the end; raise FetchError if it breaks off."""
        with _map_errors(self._target):
            try:
                piece = await self._response.content.readany()
            except RuntimeError as error:
                # so aiohttp says that the line is gone, if it went while nobody was reading
                line = self._response.connection
                if line is not None and not line.closed:
                    raise
                raise aiohttp.ClientPayloadError(str(error)) from error
            if not piece and (fault := _fault_of(self._end_of_line)):
                raise aiohttp.ClientPayloadError(str(fault)) from fault
            return piece

    def is_complete(self) -> bool:
        """Tell whether the end has been seen and nothing is left."""
        return self._response.content.at_eof()

    def take_rest(self) -> bytes:
        """Return what is buffered; aiohttp would raise its fault before handing that over."""
        content = self._response.content
        fault = content.exception()
        rest = bytearray()
        while True:
            # None is what it is at first, and what the annotation leaves out
            content.set_exception(None)  # type: ignore[arg-type]
            piece = content.read_nowait()
            if not piece:
                break
            rest += piece
        if fault is not None:
            content.set_exception(fault)
        return bytes(rest)

    def close(self) -> None:
        """Give the connection back, or cut it if there is more to come."""
        self._response.close()


def _watch_end(response: aiohttp.ClientResponse) -> asyncio.Future[None] | None:
    """Return what will tell how the line ended, where nothing but its end is the end of the body.

    aiohttp takes a reset there for an end as good as any; then half a line of a text sitemap would
    be taken for a URL. A line that was gone before this is asked stays unknown.
    """
    line, headers = response.connection, response.headers
    is_framed = "Content-Length" in headers or "Transfer-Encoding" in headers
    if is_framed or line is None or line.protocol is None:
        return None
    end = line.protocol.closed
    if end is not None:
        end.add_done_callback(_fault_of)  # or asyncio complains that nobody asked
    return end


def _fault_of(end: asyncio.Future[None] | None) -> BaseException | None:
    if end is None or not end.done() or end.cancelled():
        return None
    return end.exception()


class AiohttpTransport:
    """One aiohttp session: the caller's, or our own, made when the first request needs it."""

    def __init__(
        self, options: FetchOptions, policy: AddressPolicy, given: aiohttp.ClientSession | None
    ) -> None:
        self._options = options
        self._policy = policy
        self._session = given
        self._is_given = given is not None
        self._sees_connections = given is None and options.proxy is None
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def aclose(self) -> None:
        """Close our own session; a given one stays open."""
        self._is_closed = True
        session, self._session = self._session, None
        if session is not None and not self._is_given:
            await session.close()

    async def ask(
        self,
        target: RequestUrl,
        extra: Mapping[str, str],
        *,
        same_origin: bool,
        authorization: str,
        clock: DeadlineClock,
    ) -> Answer:
        """Send one GET request and wait for the headers of its answer, whatever that is.

        `same_origin` says whether the caller's headers, and those of a given session, are meant for
        this origin.
        """
        session, options = self._ready_session(), self._options
        headers = make_headers(
            options,
            extra,
            present=session.headers,
            same_origin=same_origin,
            authorization=authorization,
        )
        middlewares = _middlewares(session, same_origin=same_origin)
        attempt = ConnectAttempt(target.host)
        token = CONNECT_ATTEMPT.set(attempt)
        stale = _MAX_STALE if self._sees_connections else 1
        try:
            with _map_errors(target, attempt):
                while True:
                    work = self._get(session, target, headers, middlewares)
                    seconds = options.connect_seconds + options.headers_seconds
                    try:
                        return Answer(await clock.wait(work, seconds), target)
                    except _UnansweredError:
                        # Perhaps a connection of the pool, closed by the server in the meantime:
                        # then the request may be repeated at once (RFC 9112, section 9.3.1).
                        if attempt.tried or not stale:
                            raise
                        stale -= 1
        finally:
            CONNECT_ATTEMPT.reset(token)

    async def _get(
        self,
        session: aiohttp.ClientSession,
        target: RequestUrl,
        headers: CIMultiDict[str],
        middlewares: tuple[aiohttp.ClientMiddlewareType, ...],
    ) -> aiohttp.ClientResponse:
        return await session.get(
            target.url,
            headers=headers,
            middlewares=middlewares,
            proxy=self._options.proxy,
            allow_redirects=False,
            auto_decompress=False,
            raise_for_status=False,
            # Only connecting is aiohttp's to time; for the rest see `body`.
            timeout=aiohttp.ClientTimeout(sock_connect=self._options.connect_seconds),
            # A given session's own bounds may be none.
            read_bufsize=65_536,
            max_line_size=8_190,
            max_field_size=8_190,
            max_headers=128,
        )

    def _ready_session(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise RuntimeError("this HttpFetcher is closed; make a new one")
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise RuntimeError("this HttpFetcher belongs to another event loop; make one for each")
        self._loop = loop
        if self._session is None:
            self._session = self._make_session()
        return self._session

    def _make_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            # behind a proxy it would be the proxy's address that it is asked about
            socket_factory=self._policy.make_socket if self._sees_connections else None,
            limit=0,  # waiting for a connection would count as the server's time
            ttl_dns_cache=60,
        )
        return aiohttp.ClientSession(
            connector=connector,
            trust_env=False,  # what ~/.netrc has for a host is not for its sitemap to ask for
            cookie_jar=aiohttp.DummyCookieJar(),
        )


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send a request, and let nobody repeat it but `retries`."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:  # which aiohttp does not repeat
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise _UnansweredError(str(error)) from error


@attrs.frozen
class _StripHeaders:
    """Take what a session sends to everybody out of a request to a stranger.

    Cookies among it; and the stranger's own never get into the session's jar.
    """

    names: frozenset[str]

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        for name in self.names:
            request.headers.popall(name, None)
        response = await handler(request)
        response.cookies = SimpleCookie()
        return response


def _middlewares(
    session: aiohttp.ClientSession, *, same_origin: bool
) -> tuple[aiohttp.ClientMiddlewareType, ...]:
    # A request's middlewares replace the session's, and aiohttp has no public name for those.
    kept: tuple[aiohttp.ClientMiddlewareType, ...] = tuple(getattr(session, "_middlewares", ()))
    if same_origin:
        return (_send_once, *kept)
    secrets = {name for name in session.headers if name.lower() not in SAFE_CROSS_ORIGIN}
    return (_StripHeaders(frozenset(secrets | {"Authorization", "Cookie"})), _send_once, *kept)
