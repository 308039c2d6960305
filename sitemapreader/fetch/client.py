"""Requests by aiohttp: sessions, requests, answers, and its errors as FetchErrors.

Only this module and `http` know which HTTP client is used.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING

import aiohttp
import attrs
from aiohttp.http_exceptions import HttpProcessingError

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.addresses import (
    CONNECT_ATTEMPT,
    AddressPolicy,
    ConnectAttempt,
    TrustedHosts,
)
from sitemapreader.fetch.headers import SAFE_CROSS_ORIGIN, make_headers, read_headers
from sitemapreader.fetch.resolver import CachingResolver
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import AbstractResolver
    from multidict import CIMultiDict

    from sitemapreader.fetch.body import DeadlineClock
    from sitemapreader.fetch.request import RequestUrl
    from sitemapreader.options import FetchOptions


class _UnansweredError(aiohttp.ClientError):
    """A connection that was closed before an answer."""

    # Not an exception of aiohttp's own: at those it repeats the request by itself, which neither
    # the throttle nor the count of attempts would see.


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
    # The resolver raises UnicodeError for a label that is empty or longer than 63 characters.
    ((aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError), IssueCode.INVALID_URL),
    ((aiohttp.ClientPayloadError,), IssueCode.BODY_CUT),
    ((aiohttp.ClientHttpProxyError,), IssueCode.CONNECT),
    ((aiohttp.ClientResponseError, HttpProcessingError), IssueCode.BAD_HTTP),
    ((TimeoutError,), IssueCode.TIMEOUT),
    ((_UnansweredError, aiohttp.ClientConnectionError, OSError), IssueCode.CONNECT),
    ((aiohttp.ClientError,), IssueCode.BAD_HTTP),
)
"""The Issue codes of foreign exceptions; the first row that matches counts."""
_FOREIGN = tuple(kind for kinds, _ in _CODES for kind in kinds)
_IN_BODY = {IssueCode.CONNECT: IssueCode.BODY_CUT, IssueCode.TIMEOUT: IssueCode.STALLED}
"""The codes that replace others once the headers have arrived."""


def _make_error(
    error: Exception, target: RequestUrl, attempt: ConnectAttempt | None = None
) -> FetchError:
    """Return an exception of aiohttp as FetchError; `attempt` is `None` for a body."""
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
    return FetchError(code, str(target), detail, http_status=status)


def _describe(error: Exception) -> str:
    """Describe an exception in the system's words."""
    # Not by aiohttp's own text, which repeats the address and a proxy's URL with its password.
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
    if isinstance(cause, OSError) and cause.strerror:  # the resolver's, which has its own numbers
        return cause.strerror.lower()
    return str(cause) or type(cause).__name__


def _is_handshake(error: Exception, target: RequestUrl) -> bool:
    """Return whether a connection was closed during the TLS handshake."""
    return (
        target.url.scheme == "https"
        and isinstance(error, aiohttp.ClientConnectorError)
        and isinstance(error.os_error, (ConnectionResetError, ConnectionAbortedError))
    )


_MAX_STALE = 8
"""How many connections of the pool may turn out to be closed, one after the other."""


class Answer:
    """An answer whose headers have been read; its body is a `ByteSource` (see `body`).

    Attributes:
        status: the status code, any number.
        reason: the reason phrase.
        headers: by lower-case name.
        address: the address that was connected to for it; "" for a connection that was kept.
    """

    def __init__(
        self, response: aiohttp.ClientResponse, target: RequestUrl, address: str = ""
    ) -> None:
        self.address = address
        self.status = response.status
        self.reason = response.reason or ""
        self.headers: Mapping[str, str] = read_headers(response.raw_headers)
        self._response = response
        self._target = target
        self._end_of_line = _watch_end(response)

    async def read(self) -> bytes:
        """Return the next bytes of the body, b"" at the end; raise FetchError if cut."""
        try:
            piece = await self._response.content.readany()
            if not piece and (fault := _fault_of(self._end_of_line)):
                raise aiohttp.ClientPayloadError(str(fault)) from fault
        except RuntimeError as error:
            # aiohttp raises this if the connection was lost while nobody was reading.
            line = self._response.connection
            if line is not None and not line.closed:
                raise
            raise _make_error(aiohttp.ClientPayloadError(str(error)), self._target) from error
        except _FOREIGN as error:
            raise _make_error(error, self._target) from error
        return piece

    def is_complete(self) -> bool:
        """Return whether the body has been read to its end."""
        return self._response.content.at_eof()

    def take_buffered(self) -> bytes:
        """Return what has arrived and was not read, also after a failure."""
        # aiohttp raises the failure before it gives what is buffered, so it is removed meanwhile.
        content = self._response.content
        fault = content.exception()
        if fault is None:
            return content.read_nowait()
        rest = bytearray()
        while True:
            # None is its initial value, which the annotation leaves out.
            content.set_exception(None)  # type: ignore[arg-type]
            piece = content.read_nowait()
            if not piece:
                break
            rest += piece
        content.set_exception(fault)
        return bytes(rest)

    def close(self) -> None:
        """Return the connection to the pool, or close it if the body is not finished."""
        self._response.close()


def _watch_end(response: aiohttp.ClientResponse) -> asyncio.Future[None] | None:
    """Return how the connection ends, if nothing else marks the end of the body."""
    # aiohttp takes a reset for a normal end there, and half a line of a text sitemap would become
    # a URL. A connection that has ended before this call stays unknown.
    line, headers = response.connection, response.headers
    is_framed = "Content-Length" in headers or "Transfer-Encoding" in headers
    if is_framed or line is None or line.protocol is None:
        return None
    end = line.protocol.closed
    if end is not None:
        end.add_done_callback(_fault_of)  # retrieves the exception, or asyncio logs it
    return end


def _fault_of(end: asyncio.Future[None] | None) -> BaseException | None:
    if end is None or not end.done() or end.cancelled():
        return None
    return end.exception()


class AiohttpTransport:
    """The aiohttp sessions: the caller's, or up to two that are made on first use.

    Connections to trusted hosts have a session of their own: a walk that does not trust a host must
    not be given a connection that another walk made to a private address of it.
    """

    def __init__(
        self,
        options: FetchOptions,
        policy: AddressPolicy,
        given: aiohttp.ClientSession | None,
        *,
        resolver: AbstractResolver | None = None,
        keepalive_seconds: float = 15.0,
    ) -> None:
        self._options = options
        self._policy = policy
        self._given = given
        self._resolver = CachingResolver(resolver)
        self._keepalive_seconds = keepalive_seconds
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._sees_connections = given is None and options.proxy is None
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def own_headers(self) -> Mapping[str, str]:
        """The headers of the caller's session."""
        return {} if self._given is None else self._given.headers

    async def aclose(self) -> None:
        """Close the sessions unless they are the caller's."""
        self._is_closed = True
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close()
        await self._resolver.close()

    async def find_server(self, target: RequestUrl, clock: DeadlineClock) -> str:
        """Return the address of a server; "" behind a proxy or a given session."""
        self._check_loop()
        if not self._sees_connections:
            return ""
        return await self._resolver.find_server(target, clock, self._options.connect_seconds)

    async def request(
        self,
        target: RequestUrl,
        extra: Mapping[str, str],
        *,
        same_origin: bool,
        authorization: str,
        trusted: tuple[TrustedHosts, ...],
        clock: DeadlineClock,
    ) -> Answer:
        """Send one GET request and wait for the headers of its answer.

        Args:
            target: the URL.
            extra: headers besides those of the options.
            same_origin: whether the headers of the caller and of a given session are meant for the
                origin of `target`.
            authorization: the Authorization header, or "".
            trusted: hosts that may be private.
            clock: counts the time until the headers.

        Raises:
            FetchError: there is no answer.
        """
        is_trusted = any(target.host in hosts for hosts in trusted)
        session, options = self._ready_session(is_trusted=is_trusted), self._options
        headers = make_headers(
            options,
            extra,
            present=session.headers,
            same_origin=same_origin,
            authorization=authorization,
        )
        middlewares = _middlewares(session, same_origin=same_origin)
        attempt = ConnectAttempt(target.host, trusted)
        token = CONNECT_ATTEMPT.set(attempt)
        stale = _MAX_STALE if self._sees_connections else 1
        try:
            while True:
                work = self._get(session, target, headers, middlewares)
                try:
                    response = await clock.wait(work, options.headers_seconds)
                    return Answer(response, target, attempt.tried)
                except _UnansweredError:
                    # Without a new connection, this was one of the pool that the server has closed:
                    # the request may be repeated at once (RFC 9112, section 9.3.1).
                    if attempt.tried or not stale:
                        raise
                    stale -= 1
        except _FOREIGN as error:
            raise _make_error(error, target, attempt) from error
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
            # aiohttp times only the connection; for the rest see `body`.
            timeout=aiohttp.ClientTimeout(sock_connect=self._options.connect_seconds),
            # A given session may have no such limits.
            read_bufsize=65_536,
            max_line_size=8_190,
            max_field_size=8_190,
            max_headers=128,
        )

    def _check_loop(self) -> None:
        if self._is_closed:
            raise RuntimeError("this HttpFetcher is closed; make a new one")
        if self._loop not in (None, asyncio.get_running_loop()):
            raise RuntimeError("this HttpFetcher belongs to another event loop; make one for each")
        self._loop = asyncio.get_running_loop()

    def _ready_session(self, *, is_trusted: bool) -> aiohttp.ClientSession:
        if self._given is not None:
            return self._given
        if is_trusted not in self._sessions:
            self._sessions[is_trusted] = self._make_session()
        return self._sessions[is_trusted]

    def _make_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            # Behind a proxy it would be given the proxy's address.
            socket_factory=self._policy.make_socket if self._sees_connections else None,
            limit=0,  # or waiting for a connection would count as the server's time
            use_dns_cache=False,  # the resolver has one
            resolver=self._resolver,
            keepalive_timeout=self._keepalive_seconds,
        )
        return aiohttp.ClientSession(
            connector=connector,
            trust_env=False,  # a sitemap must not cause passwords of ~/.netrc to be sent
            cookie_jar=aiohttp.DummyCookieJar(),
        )


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send a request that aiohttp must not repeat: `retries` does that."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:  # aiohttp does not repeat it
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise _UnansweredError(str(error)) from error


@attrs.frozen
class _StripHeaders:
    """Remove a session's own headers and cookies from a request to another origin.

    Cookies of the other origin never get into the session's jar.
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
    # Middlewares of a request replace the session's, which have no public name.
    kept: tuple[aiohttp.ClientMiddlewareType, ...] = tuple(getattr(session, "_middlewares", ()))
    if same_origin:
        return (_send_once, *kept)
    secrets = {name for name in session.headers if name.lower() not in SAFE_CROSS_ORIGIN}
    return (_StripHeaders(frozenset(secrets | {"Authorization", "Cookie"})), _send_once, *kept)
