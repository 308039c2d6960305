"""Requests by aiohttp: addresses, the session, responses, errors."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from typing import TYPE_CHECKING, cast

import aiohttp
import attrs
from aiohttp.http_exceptions import HttpProcessingError

from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch.connections import (
    MAX_FIELD_BYTES,
    MAX_FIELDS,
    BodyTooLongError,
    BytesAround,
    CleanConnector,
    OneAnswer,
    Route,
)
from sitemapreader.fetch.proxies import Proxies
from sitemapreader.fetch.urls import read_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import AbstractResolver
    from aiohttp.connector import Connection
    from multidict import CIMultiDict
    from yarl import URL

    from sitemapreader._types.options import FetchOptions
    from sitemapreader.fetch.client import Trust
    from sitemapreader.fetch.urls import RequestUrl


class _UnansweredError(aiohttp.ClientError):
    """A connection that was used before gave no response, or one too many (`True`)."""


_CODES_BY_EXCEPTION: tuple[tuple[tuple[type[Exception], ...], IssueCode], ...] = (
    ((ssl.SSLError,), IssueCode.TLS),
    # The resolver raises UnicodeError for a label that is empty or longer than 63 characters.
    ((aiohttp.InvalidURL, UnicodeError), IssueCode.INVALID_URL),
    ((BodyTooLongError,), IssueCode.TOO_LARGE),
    ((aiohttp.ClientPayloadError,), IssueCode.BODY_CUT),
    ((aiohttp.ClientHttpProxyError,), IssueCode.CONNECT),
    ((aiohttp.ClientResponseError, HttpProcessingError), IssueCode.BAD_HTTP),
    ((TimeoutError,), IssueCode.TIMEOUT),
    ((aiohttp.ClientConnectionError, OSError), IssueCode.CONNECT),
    ((aiohttp.ClientError,), IssueCode.BAD_HTTP),
)
"""The Issue codes of foreign exceptions; the first row that matches counts."""
_FOREIGN = tuple(kind for kinds, _ in _CODES_BY_EXCEPTION for kind in kinds)
_IN_BODY = {IssueCode.CONNECT: IssueCode.BODY_CUT, IssueCode.TIMEOUT: IssueCode.STALLED}
"""The codes that replace others once the headers have arrived."""
_OF_PROXY = (aiohttp.ClientConnectorDNSError, aiohttp.ClientProxyConnectionError)
"""There is no way to the proxy: all other names are looked up before."""


def _make_error(
    error: Exception, url: URL, instead: Mapping[IssueCode, IssueCode] | None = None
) -> FetchError:
    """Return an exception of aiohttp as FetchError."""
    code = next(code for kinds, code in _CODES_BY_EXCEPTION if isinstance(error, kinds))
    status = None
    said = _describe_exception(error)
    if isinstance(error, _OF_PROXY):
        said = f"the proxy cannot be reached: {said}"
    elif (
        isinstance(error, aiohttp.ClientHttpProxyError)
        and error.status in LOGIN_STATUSES
    ):
        code = IssueCode.LOGIN_REQUIRED
        status = error.status
    elif (
        isinstance(error, aiohttp.ClientConnectorError)
        and isinstance(error.os_error, (ConnectionResetError, ConnectionAbortedError))
        and url.scheme == "https"
    ):
        code = IssueCode.TLS  # closed during the handshake
    return FetchError(
        (instead or {}).get(code, code), str(url), said, http_status=status
    )


def _describe_exception(error: Exception) -> str:
    """Describe an exception in the system's words."""
    # Not by aiohttp's own text, which repeats the address and a proxy's URL with its password.
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy responded with {error.status} {error.message}".rstrip()
    cause = (
        getattr(error, "certificate_error", None)
        or getattr(error, "os_error", None)
        or error
    )
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "").replace(
            "_", " "
        ).lower() or "the handshake failed"
        return str(getattr(cause, "verify_message", reason))
    if isinstance(cause, OSError):
        is_of_resolver = isinstance(cause, socket.gaierror)  # which has its own numbers
        if (
            cause.errno is not None
            and cause.errno in errno.errorcode
            and not is_of_resolver
        ):
            return os.strerror(cause.errno).lower()
        if cause.strerror:
            return cause.strerror.lower()
    said = str(getattr(cause.__cause__ or cause, "message", "") or cause)
    # which no server has sent
    return said.removeprefix("400, message:") or type(cause).__name__


class Answer(aiohttp.ClientResponse):
    """A response whose headers have been read, and the source of its body.

    Attributes:
        fields: the headers, by lower-case name.
        line: its connection, also when that is back in the pool.
        around: the bytes that belong to it besides its headers and its body.
        address: the one that was connected to.
        route: where its request might go.
    """

    fields: dict[str, str]
    line: OneAnswer
    around: BytesAround
    address: str = ""
    route: Route

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Wait for the headers."""
        self.line = line = cast("OneAnswer", connection.protocol)
        self.around = line.around
        was_used = line.uses > 1
        if connection.transport is not None:
            self.address = (connection.transport.get_extra_info("peername") or ("",))[0]
        try:
            await super().start(connection)
        except (aiohttp.ClientConnectionError, aiohttp.ClientResponseError) as error:
            if not was_used:
                raise
            raise _UnansweredError(
                isinstance(error, aiohttp.ClientResponseError)
            ) from error
        # No answer to this request, or one of two: which of them is, nobody knows.
        if was_used and (self.status == 408 or line.has_surplus):
            raise _UnansweredError(line.has_surplus)
        self.fields = read_headers(self.raw_headers)
        return self

    async def read_piece(self) -> bytes:
        """Return the next bytes of the body, b"" at the end; raise FetchError if cut."""
        try:
            return await self.content.readany()
        except RuntimeError as error:
            if self.connection is not None and not self.connection.closed:
                raise  # a bug; else it was closed while nobody was reading
            raise FetchError(IssueCode.BODY_CUT, str(self.url), str(error)) from error
        except _FOREIGN as error:
            raise _make_error(error, self.url, _IN_BODY) from error

    def is_complete(self) -> bool:
        """Return whether the body has been read to its end."""
        return self.content.at_eof() and self.content.exception() is None

    @property
    def has_surplus(self) -> bool:
        """True if the server has sent unsolicited bytes."""
        return self.line.has_surplus or self.route.has_surplus

    def take_buffered(self) -> bytes:
        """Return the bytes that have arrived and were not read, also after a failure."""
        if self.content.exception() is None:
            return self.content.read_nowait()
        return self.content._read_nowait(-1)  # noqa: SLF001 (the other would raise the failure)


@attrs.define(eq=False)
class HttpSession:
    """The connections of a fetcher, which are made on first use."""

    # Why addresses decide, and not the socket: a request that may not be made is refused before it
    # waits for anything, and requests can be counted by address. aiohttp connects to what its
    # connector gives it, and to nothing else.

    _options: FetchOptions
    _resolver: AbstractResolver | None
    _keepalive_seconds: float
    _max_bytes_around: int
    """Bytes around the body of one answer, before it is given up."""
    proxies: Proxies = attrs.field(init=False)
    _session: aiohttp.ClientSession | None = None
    _is_closed: bool = False
    _loop: asyncio.AbstractEventLoop | None = None

    def __attrs_post_init__(self) -> None:
        self.proxies = Proxies(self._options.proxy)
        self.proxies.check()

    def check(self) -> None:
        """Raise RuntimeError if it is closed, or belongs to another event loop."""
        if self._is_closed:
            raise RuntimeError("this HttpFetcher is closed: make a new one")
        if self._loop not in (None, asyncio.get_running_loop()):
            raise RuntimeError(
                "this HttpFetcher belongs to another event loop: make one for each loop"
            )
        self._loop = asyncio.get_running_loop()

    async def aclose(self) -> None:
        """Close the connections."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    @property
    def connector(self) -> CleanConnector:
        """Connector that resolves names, and keeps connections."""
        return cast("CleanConnector", self._open().connector)

    async def find_route(self, target: RequestUrl, trust: Trust) -> Route:
        """Return where a request may go; raise FetchError if it may go nowhere.

        A proxy resolves names itself.
        """
        if self.proxies.find(target.url) is not None:
            return Route(target, trust)
        try:
            answers = await self.connector.look_up(
                target.url.raw_host or "", target.port
            )
        except _FOREIGN as error:
            raise _make_error(
                error, target.url, {IssueCode.CONNECT: IssueCode.DNS}
            ) from error
        if not answers:
            raise FetchError(IssueCode.DNS, str(target), "the name has no address")
        allowed = [each for each in answers if trust.allows(target.host, each["host"])]
        if not allowed:
            said = f"{target.host} is {answers[0]['host']}"
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), said)
        return Route(target, trust, allowed)

    async def get(self, route: Route, headers: CIMultiDict[str]) -> Answer:
        """Send a request, and return its answer; raise FetchError if there is none.

        No redirect is followed. Nothing is connected to but what the route says, or a proxy.
        """
        identity = self._options.identity
        while True:
            # in the loop, because a nonce may be sent only once
            if identity is not None:
                headers.update(identity.sign(route.target.url))
            try:
                response = await self._open().get(
                    route.target.url,
                    headers=headers,
                    proxy=self.proxies.find(route.target.url),
                    allow_redirects=False,
                    trace_request_ctx=route,  # for the connector
                )
            except _UnansweredError as error:
                # The connection was done for, not the server: the request may be repeated at
                # once (RFC 9112, section 9.3.1). A connection of its own ends that.
                route.has_surplus = route.has_surplus or error.args[0]
            except _FOREIGN as error:
                raise _make_error(error, route.target.url) from error
            else:
                answer = cast("Answer", response)
                answer.route = route
                return answer

    def _open(self) -> aiohttp.ClientSession:
        if self._session is not None:
            return self._session
        connector = CleanConnector(
            self._max_bytes_around,
            limit=0,  # or waiting for a connection would count as the server's time
            ttl_dns_cache=60,
            resolver=self._resolver,
            keepalive_timeout=self._keepalive_seconds,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            trust_env=False,  # a sitemap must not cause passwords of ~/.netrc to be sent
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=Answer,
            # aiohttp times only the connection; for the rest see `answers`.
            timeout=aiohttp.ClientTimeout(sock_connect=self._options.connect_seconds),
            read_bufsize=65_536,
            max_line_size=MAX_FIELD_BYTES,
            max_field_size=MAX_FIELD_BYTES,
            max_headers=MAX_FIELDS,
            trace_configs=[aiohttp.TraceConfig()],  # carries the route of a request
        )
        # Or it would repeat requests by itself, and neither turns nor attempts would count them.
        self._session._retry_connection = False  # noqa: SLF001 (there is no option)
        return self._session
