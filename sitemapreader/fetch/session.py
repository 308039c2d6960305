"""Requests by aiohttp: addresses, the session, responses, errors."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from itertools import chain
from typing import TYPE_CHECKING, cast

import aiohttp
import attrs
from aiohttp.http_exceptions import HttpProcessingError

from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch.connections import (
    MAX_FIELD_BYTES,
    MAX_FIELDS,
    ROUTE,
    BodyTooLongError,
    BytesAround,
    Route,
    SingleResponseProtocol,
    StrictConnector,
)
from sitemapreader.fetch.urls import read_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import AbstractResolver
    from aiohttp.connector import Connection
    from multidict import CIMultiDict
    from yarl import URL

    from sitemapreader._types.options import FetchOptions
    from sitemapreader.fetch.client import Trust
    from sitemapreader.fetch.proxies import Proxies
    from sitemapreader.fetch.urls import RequestUrl


class _UnansweredError(aiohttp.ClientError):
    """A reused connection gave no response, or two responses (then its argument is True)."""


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
_FOREIGN = tuple(chain.from_iterable(types for types, _ in _CODES_BY_EXCEPTION))
_BODY_CODES = {
    IssueCode.CONNECT: IssueCode.BODY_CUT,
    IssueCode.TIMEOUT: IssueCode.STALLED,
}
"""The codes that replace others once the headers have arrived."""
_PROXY_ERRORS = (aiohttp.ClientConnectorDNSError, aiohttp.ClientProxyConnectionError)
"""The proxy cannot be reached. (All other names are looked up before the request.)"""


def _make_error(
    error: Exception,
    url: URL,
    codes: Mapping[IssueCode, IssueCode] | None = None,
) -> FetchError:
    """Return an exception of aiohttp as FetchError; `codes` replace some Issue codes."""
    code = next(code for types, code in _CODES_BY_EXCEPTION if isinstance(error, types))
    if codes is not None:
        code = codes.get(code, code)
    status = None
    detail = _describe_exception(error)
    if isinstance(error, _PROXY_ERRORS):
        detail = f"the proxy cannot be reached: {detail}"
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
    return FetchError(code, str(url), detail, http_status=status)


def _describe_exception(error: Exception) -> str:
    """Describe an exception in the words of the operating system."""
    # aiohttp's own text repeats the address, and the URL of a proxy with its password.
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy responded with {error.status} {error.message}".rstrip()
    cause = (
        getattr(error, "certificate_error", None)
        or getattr(error, "os_error", None)
        or error
    )
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "the handshake failed").replace("_", " ").lower()
        return str(getattr(cause, "verify_message", reason))
    if isinstance(cause, OSError):
        number = cause.errno
        has_own_numbers = isinstance(cause, socket.gaierror)
        if number is not None and number in errno.errorcode and not has_own_numbers:
            return os.strerror(number).lower()
        if cause.strerror:
            return cause.strerror.lower()
    message = str(getattr(cause.__cause__ or cause, "message", "") or cause)
    # aiohttp's parser adds a status that no server has sent
    return message.removeprefix("400, message:") or type(cause).__name__


class CheckedResponse(aiohttp.ClientResponse):
    """A response whose headers have been read, and the source of its body.

    Attributes:
        joined_headers: the headers, by lower-case name.
        protocol: its connection, also when that is back in the pool.
        around: the bytes of the response outside its headers and its body.
        address: the address that was connected to.
        route: the route of its request.
    """

    joined_headers: dict[str, str]
    protocol: SingleResponseProtocol
    around: BytesAround
    address: str = ""
    route: Route

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Wait for the headers."""
        self.protocol = cast("SingleResponseProtocol", connection.protocol)
        self.around = self.protocol.around
        is_reused = self.protocol.uses > 1
        if connection.transport is not None:
            peer = connection.transport.get_extra_info("peername")
            if peer:
                self.address = peer[0]
        try:
            await super().start(connection)
        except (aiohttp.ClientConnectionError, aiohttp.ClientResponseError) as error:
            if not is_reused:
                raise
            has_response = isinstance(error, aiohttp.ClientResponseError)
            raise _UnansweredError(has_response) from error
        # Either no response to this request, or two: then nobody can tell which one is ours.
        has_trailing_data = self.protocol.has_trailing_data
        if is_reused and (self.status == 408 or has_trailing_data):
            raise _UnansweredError(has_trailing_data)
        self.joined_headers = read_headers(self.raw_headers)
        return self

    async def read_piece(self) -> bytes:
        """Return the next bytes of the body, b"" at the end; raise FetchError if cut."""
        try:
            return await self.content.readany()
        except RuntimeError as error:
            if self.connection is not None and not self.connection.closed:
                raise  # a bug; otherwise the connection was closed while nobody was reading
            raise FetchError(IssueCode.BODY_CUT, str(self.url), str(error)) from error
        except _FOREIGN as error:
            raise _make_error(error, self.url, _BODY_CODES) from error

    def is_complete(self) -> bool:
        """Return whether the body has been read to its end."""
        return self.content.at_eof() and self.content.exception() is None

    @property
    def has_trailing_data(self) -> bool:
        """True if the server has sent unsolicited bytes."""
        return self.protocol.has_trailing_data or self.route.has_trailing_data

    @property
    def has_arrived(self) -> bool:
        """True if the whole body has arrived, read or not."""
        return self.content.is_eof()

    def take_buffered(self) -> bytes:
        """Return the bytes that have arrived and were not read, also after a failure."""
        if self.content.exception() is None:
            return self.content.read_nowait()
        return self.content._read_nowait(-1)  # noqa: SLF001 (`read_nowait` raises the failure)


@attrs.define(eq=False)
class HttpSession:
    """The connections of a fetcher, which are made on first use."""

    # Addresses are checked, not sockets, so that a forbidden request is refused before it waits for
    # anything, and requests can be counted by address. aiohttp connects only to addresses that its
    # connector returns.

    _options: FetchOptions
    proxies: Proxies
    _resolver: AbstractResolver | None
    _keepalive_seconds: float
    _max_bytes_around: int
    """Largest number of bytes around the body of one response."""
    _is_closed: bool = False
    _session: aiohttp.ClientSession | None = None
    _loop: asyncio.AbstractEventLoop | None = None

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
    def connector(self) -> StrictConnector:
        """Connector that resolves names, and keeps connections."""
        return cast("StrictConnector", self._open().connector)

    async def find_route(self, target: RequestUrl, trust: Trust) -> Route:
        """Return the route of a request; raise FetchError if no address is allowed.

        A proxy resolves names itself.
        """
        if self.proxies.find(target.url) is not None:
            return Route(target, trust)
        try:
            addresses = await self.connector.look_up(
                target.url.raw_host or "", target.port
            )
        except _FOREIGN as error:
            codes = {IssueCode.CONNECT: IssueCode.DNS}
            raise _make_error(error, target.url, codes) from error
        if not addresses:
            raise FetchError(IssueCode.DNS, str(target), "the name has no address")
        allowed = [
            address
            for address in addresses
            if trust.allows(target.host, address["host"])
        ]
        if not allowed:
            detail = f"{target.host} is {addresses[0]['host']}"
            raise FetchError(IssueCode.BLOCKED_ADDRESS, str(target), detail)
        return Route(target, trust, allowed)

    async def get(self, route: Route, headers: CIMultiDict[str]) -> CheckedResponse:
        """Send a request, and return its response; raise FetchError if there is none.

        No redirect is followed. Connections lead only to addresses of the route, or to a proxy.
        """
        identity = self._options.identity
        while True:
            # inside the loop, because a nonce may be sent only once
            if identity is not None:
                headers.update(identity.sign(route.target.url))
            token = ROUTE.set(route)  # for the connector
            try:
                response = await self._open().get(
                    route.target.url,
                    headers=headers,
                    proxy=self.proxies.find(route.target.url),
                    allow_redirects=False,
                )
            except _UnansweredError as error:
                # The reused connection failed, not the server, so the request is repeated at once
                # (RFC 9112, section 9.3.1). The loop ends with the first new connection.
                if error.args[0]:
                    route.has_trailing_data = True
            except _FOREIGN as error:
                raise _make_error(error, route.target.url) from error
            else:
                checked = cast("CheckedResponse", response)
                checked.route = route
                return checked
            finally:
                ROUTE.reset(token)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is not None:
            return self._session
        connector = StrictConnector(
            self._max_bytes_around,
            limit=0,  # otherwise waiting for a connection would count as the server's time
            ttl_dns_cache=60,
            resolver=self._resolver,
            keepalive_timeout=self._keepalive_seconds,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            trust_env=False,  # a sitemap must not cause passwords of ~/.netrc to be sent
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=CheckedResponse,
            # aiohttp limits only the time to connect; see `responses` for the other limits.
            timeout=aiohttp.ClientTimeout(sock_connect=self._options.connect_seconds),
            read_bufsize=65_536,
            max_line_size=MAX_FIELD_BYTES,
            max_field_size=MAX_FIELD_BYTES,
            max_headers=MAX_FIELDS,
        )
        # Otherwise aiohttp would retry requests, and neither turns nor attempts would count them.
        self._session._retry_connection = False  # noqa: SLF001 (there is no option)
        return self._session
