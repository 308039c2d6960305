"""Requests by aiohttp: addresses, sessions, answers, errors."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.connections import CleanConnector, OneAnswer
from sitemapreader.fetch.urls import read_headers
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver
    from aiohttp.connector import Connection
    from multidict import CIMultiDict
    from yarl import URL

    from sitemapreader.fetch.client import Trust
    from sitemapreader.fetch.urls import RequestUrl
    from sitemapreader.options import FetchOptions


_REQUEST_TIMEOUT = 408


class _UnansweredError(aiohttp.ClientError):
    """A connection that was used before, and gave no answer to this request."""


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
    ((aiohttp.ClientConnectionError, OSError), IssueCode.CONNECT),
    ((aiohttp.ClientError,), IssueCode.BAD_HTTP),
)
"""The Issue codes of foreign exceptions; the first row that matches counts."""
_FOREIGN = tuple(kind for kinds, _ in _CODES for kind in kinds)
_IN_BODY = {IssueCode.CONNECT: IssueCode.BODY_CUT, IssueCode.TIMEOUT: IssueCode.STALLED}
"""The codes that replace others once the headers have arrived."""


def _make_error(error: Exception, url: URL, *, in_body: bool = False) -> FetchError:
    """Return an exception of aiohttp as FetchError."""
    code = next(code for kinds, code in _CODES if isinstance(error, kinds))
    status, said = None, _describe(error)
    if _is_of_proxy(error, url):
        code, said = IssueCode.CONNECT, f"the proxy cannot be reached: {said}"
    elif in_body:
        code = _IN_BODY.get(code, code)
    elif _is_handshake(error, url):
        code = IssueCode.TLS
    elif isinstance(error, aiohttp.ClientHttpProxyError) and error.status in LOGIN_STATUSES:
        code, status = IssueCode.LOGIN_REQUIRED, error.status
    return FetchError(code, str(url), said, http_status=status)


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


def _is_of_proxy(error: Exception, url: URL) -> bool:
    """Return whether it is the proxy to which there is no way."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return error.host != url.raw_host
    return isinstance(error, aiohttp.ClientProxyConnectionError)


def _is_handshake(error: Exception, url: URL) -> bool:
    """Return whether a connection was closed during the TLS handshake."""
    return (
        url.scheme == "https"
        and isinstance(error, aiohttp.ClientConnectorError)
        and isinstance(error.os_error, (ConnectionResetError, ConnectionAbortedError))
    )


class Answer(aiohttp.ClientResponse):
    """An answer whose headers have been read, and the source of its body.

    Attributes:
        fields: the headers, by lower-case name.
        line: its connection, also when that is back in the pool.
    """

    fields: dict[str, str]
    line: OneAnswer
    connector: CleanConnector

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Wait for the headers."""
        self.line = line = cast("OneAnswer", connection.protocol)
        was_used = line.uses > 1
        try:
            await super().start(connection)
        except (
            aiohttp.ServerDisconnectedError,
            aiohttp.ClientOSError,
            aiohttp.ClientResponseError,
        ) as error:
            if not was_used:
                raise
            line.has_surplus = isinstance(error, aiohttp.ClientResponseError)
            raise _UnansweredError from error
        # No answer to this request, or one of two: which of them is, nobody knows.
        if was_used and (self.status == _REQUEST_TIMEOUT or line.has_two_answers()):
            raise _UnansweredError
        self.fields = read_headers(self.raw_headers)
        return self

    async def read_piece(self) -> bytes:
        """Return the next bytes of the body, b"" at the end; raise FetchError if cut."""
        try:
            return await self.content.readany()
        except RuntimeError as error:
            # aiohttp raises this if the connection was lost while nobody was reading.
            if self.connection is not None and not self.connection.closed:
                raise
            fault = aiohttp.ClientPayloadError(str(error))
            raise _make_error(fault, self.url, in_body=True) from error
        except _FOREIGN as error:
            raise _make_error(error, self.url, in_body=True) from error

    def is_complete(self) -> bool:
        """Return whether the body has been read to its end."""
        return self.content.at_eof() and self.content.exception() is None

    def take_surplus(self) -> bool:
        """Return once whether the server has sent more than its answers."""
        return self.connector.take_surplus(self.url, self.line)

    def take_buffered(self) -> bytes:
        """Return what has arrived and was not read, also after a failure."""
        content = self.content
        fault, rest = content.exception(), bytearray()
        if fault is None:
            return content.read_nowait()
        # aiohttp raises the failure before it gives what is buffered, so it is removed meanwhile;
        # reading may bring it back. None is its initial value, which the annotation leaves out.
        while True:
            content.set_exception(None)  # type: ignore[arg-type]
            if not (piece := content.read_nowait()):
                break
            rest += piece
        content.set_exception(fault)
        return bytes(rest)


_KEPT_SECONDS = 60
"""How long the addresses of a name are kept."""


class Sessions:
    """The sessions of a fetcher: up to two, which are made on first use.

    Connections to trusted hosts have a session of their own: a walk that does not trust a host must
    not be given a connection that another walk made to a private address of it.
    """

    # Why addresses decide, and not the socket: a request that may not be made is refused before it
    # waits for anything, and requests can be counted by address. aiohttp connects to what its
    # connector gives it, and to nothing else. Of a host with several addresses, we do not know
    # which one it was.

    def __init__(
        self, options: FetchOptions, resolver: AbstractResolver | None, keepalive_seconds: float
    ) -> None:
        self._options = options
        self._resolver = resolver
        self._keepalive_seconds = keepalive_seconds
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self) -> None:
        """Raise RuntimeError if they are closed, or belong to another event loop."""
        if self._is_closed:
            raise RuntimeError("this HttpFetcher is closed; make a new one")
        if self._loop not in (None, asyncio.get_running_loop()):
            raise RuntimeError("this HttpFetcher belongs to another event loop; make one for each")
        self._loop = asyncio.get_running_loop()

    async def aclose(self) -> None:
        """Close the sessions."""
        self._is_closed = True
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close()

    async def find(self, target: RequestUrl, trust: Trust) -> list[str]:
        """Return the addresses that a URL may go to; raise FetchError if there is none.

        There are none behind a proxy, which resolves names itself.
        """
        if self._options.proxy is not None:
            return []
        connector = cast("CleanConnector", self._choose(target, trust).connector)
        try:
            answers = await connector.look_up(target.url.raw_host or "", target.port)
        except TimeoutError:
            raise
        except (OSError, UnicodeError, aiohttp.InvalidURL) as error:
            code = IssueCode.DNS if isinstance(error, OSError) else IssueCode.INVALID_URL
            said = getattr(error, "strerror", None) or str(error)
            raise FetchError(code, str(target), said.lower()) from error
        if not (found := [each["host"] for each in answers]):
            raise FetchError(IssueCode.DNS, str(target), "the name has no address")
        allowed = [address for address in found if trust.allows(target.host, address)]
        if not allowed:
            said = f"{target.host} is {found[0]}"
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), said)
        return allowed

    async def get(self, target: RequestUrl, headers: CIMultiDict[str], trust: Trust) -> Answer:
        """Send a request, and return its answer; raise FetchError if there is none.

        No redirect is followed. Nothing is connected to but what `trust` allows, or a proxy.
        """
        session = self._choose(target, trust)
        try:
            while True:
                with suppress(_UnansweredError):
                    # The connection was done for, not the server: the request may be repeated at
                    # once (RFC 9112, section 9.3.1). A connection of its own ends that.
                    response = await session.get(
                        target.url,
                        headers=headers,
                        proxy=self._options.proxy,
                        allow_redirects=False,
                        trace_request_ctx=trust,  # for the connector
                    )
                    answer = cast("Answer", response)
                    answer.connector = cast("CleanConnector", session.connector)
                    return answer
        except _FOREIGN as error:
            raise _make_error(error, target.url) from error

    def _choose(self, target: RequestUrl, trust: Trust) -> aiohttp.ClientSession:
        is_trusted = trust.has_host(target.host)
        if is_trusted not in self._sessions:
            self._sessions[is_trusted] = self._make_session()
        return self._sessions[is_trusted]

    def _make_session(self) -> aiohttp.ClientSession:
        connector = CleanConnector(
            is_direct=self._options.proxy is None,
            limit=0,  # or waiting for a connection would count as the server's time
            ttl_dns_cache=_KEPT_SECONDS,
            resolver=self._resolver,
            keepalive_timeout=self._keepalive_seconds,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            trust_env=False,  # a sitemap must not cause passwords of ~/.netrc to be sent
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=Answer,
            # aiohttp times only the connection; for the rest see `answers`.
            timeout=aiohttp.ClientTimeout(sock_connect=self._options.connect_seconds),
            read_bufsize=65_536,
            trace_configs=[aiohttp.TraceConfig()],  # carries the trust of a request
        )
        # Or it would repeat requests by itself, and neither turns nor attempts would count them.
        session._retry_connection = False  # noqa: SLF001 (there is no option)
        return session
