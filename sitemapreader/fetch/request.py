"""Requests: URLs that were checked, redirects, and what a transport sends."""

# One parser, yarl's, decides what the host is. Text that two parsers would read differently is
# refused: a control character that one parser drops can change the host that another one sees.

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, TypeAlias

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import read_address
from sitemapreader.fetch.body import ByteSource
from sitemapreader.issues import Issue, IssueCode, make_issue
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.urls import has_web_scheme, origin_of, parse_url, resolve, url_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import ResolveResult
    from multidict import CIMultiDict
    from yarl import URL

    from sitemapreader.fetch import CheckRedirect
    from sitemapreader.fetch.addresses import TrustSet
    from sitemapreader.fetch.body import DeadlineClock
    from sitemapreader.options import FetchOptions

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that name one other URL for the same document (RFC 9110, section 15.4)."""
PERMANENT = frozenset({301, 308})
"""The statuses of redirects that will not change."""


# Blanks, C0, DEL and C1, marks of text direction (UAX 9), and halves of surrogate pairs
_UNFIT = re.compile(
    r"[\s\x00-\x20\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# A name in ASCII (with the underscore, which no host should have and many do), or an IPv6 address
_HOST = re.compile(r"[a-z0-9_.-]*[a-z0-9_-]\.*|[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_USERINFO = re.compile(r"//[^/?#]*@")


@attrs.frozen
class RequestUrl:
    """A URL without fragment and userinfo, and its userinfo apart.

    Attributes:
        url: the URL that is requested.
        userinfo: `user:password`, percent-decoded, or "".
        text: the URL as text.
        host: the host in lower case, without a final dot.
        origin: scheme, host and port (RFC 6454).
    """

    url: URL
    userinfo: str = ""
    text: str = attrs.field(init=False)
    host: str = attrs.field(init=False)
    origin: str = attrs.field(init=False)

    @text.default
    def _write(self) -> str:
        return str(self.url)

    @host.default
    def _find_host(self) -> str:
        return (self.url.raw_host or "").lower().rstrip(".")

    @origin.default
    def _find_origin(self) -> str:
        return origin_of(self.text)

    def __str__(self) -> str:
        return self.text

    @property
    def port(self) -> int:
        """The port, written or implied."""
        return self.url.port or 0

    @property
    def key(self) -> str:
        """The normalised form, by which two spellings of a URL are equal."""
        return url_key(self.text)


def parse_request_url(url: str) -> RequestUrl:
    """Check and parse a URL.

    Raises:
        FetchError: INVALID_URL, with the reason.
    """
    check_text(url)
    if not has_web_scheme(url):
        raise _invalid(url, "not an absolute http or https URL")
    parsed = parse_url(url)
    if parsed is None:
        raise _invalid(url, "no host, or not one that can be read")
    _check_host(url, parsed.raw_host or "")
    userinfo = f"{parsed.user or ''}:{parsed.password or ''}"
    return RequestUrl(
        parsed.with_fragment(None).with_user(None), "" if userinfo == ":" else userinfo
    )


def check_text(url: str) -> None:
    """Refuse characters that parsers drop or people misread, in any URL reference.

    Raises:
        FetchError: INVALID_URL, with the reason.
    """
    if len(url) > MAX_URL_CHARS:
        raise _invalid(url, f"longer than {MAX_URL_CHARS} characters")
    if unfit := _UNFIT.search(url):
        raise _invalid(url, f"U+{ord(unfit[0]):04X} in it")


def _check_host(url: str, host: str) -> None:
    """Refuse a host that only some resolvers read as an address."""
    if not _HOST.fullmatch(host):  # IDNA turns a lone accent into a blank
        raise _invalid(url, "a host that no name can have")
    host = host.rstrip(".")
    # https://url.spec.whatwg.org/#ends-in-a-number-checker: `127.1`, `0x7f000001`, `2130706433`
    if _NUMBER.fullmatch(host.rpartition(".")[2]) and read_address(host) is None:
        raise _invalid(url, "an address that is not written as four decimal numbers")


def _invalid(url: str, reason: str) -> FetchError:
    return FetchError(IssueCode.INVALID_URL, _USERINFO.sub("//", url[:4096]), reason)


class RedirectChain:
    """The redirects of one document.

    Attributes:
        start: the URL that was opened.
        target: the URL that is requested next.
        same_origin: whether all URLs so far have the origin of the first one.
        is_permanent: whether all redirects so far are permanent.
        issues: repairs of URLs on the way.
    """

    def __init__(
        self, start: RequestUrl, options: FetchOptions, check: CheckRedirect | None = None
    ) -> None:
        self.start = start
        self.target = start
        self.same_origin = True
        self.is_permanent = True
        self.issues: list[Issue] = []
        self._options = options
        self._check = check
        self._seen = {start.key}

    def follow(self, location: str, *, status: int = 301) -> None:
        """Make the `Location` of a redirect the target.

        Raises:
            FetchError: INVALID_URL, REDIRECT_LOOP, TOO_MANY_REDIRECTS or DOWNGRADE.
        """
        source = self.target
        target = self._read(location)
        if target.key in self._seen:
            raise FetchError(IssueCode.REDIRECT_LOOP, str(source), f"to {target}")
        if len(self._seen) > self._options.max_redirects:
            raise FetchError(IssueCode.TOO_MANY_REDIRECTS, str(source), f"to {target}")
        secure = source.url.scheme == "https"
        if secure and target.url.scheme == "http" and not self._options.allow_downgrade:
            raise FetchError(IssueCode.DOWNGRADE, str(source), f"to {target}")
        if target.userinfo:
            self.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=str(target)))
        self._seen.add(target.key)
        self.is_permanent = self.is_permanent and status in PERMANENT
        # Never true again: another origin has chosen the URL, even one of the first origin.
        self.same_origin = self.same_origin and target.origin == self.start.origin
        self.target = target

    async def follow_if_allowed(self, location: str, *, status: int = 301) -> None:
        """Follow a redirect; raise FetchError if its target must not be requested."""
        self.follow(location, status=status)
        if self._check is not None:
            await self._check(str(self.target))

    def _read(self, location: str) -> RequestUrl:
        location = location.strip(" \t")
        try:
            check_text(location)  # first: resolving drops a tab in the middle
            if not has_web_scheme(location):
                location = resolve(str(self.target), location) or location
            return parse_request_url(location)
        except FetchError as error:
            said = f"redirect to {error.url}, {error.detail}"
            raise FetchError(error.code, str(self.target), said) from error


Addresses: TypeAlias = "tuple[ResolveResult, ...]"
"""The addresses of a host that may be connected to, in the order of the resolver."""


class Answer(ByteSource, Protocol):
    """An answer whose headers have been read, and the source of its body.

    Attributes:
        status: the status code, any number.
        reason: the reason phrase.
        headers: by lower-case name.
    """

    status: int
    reason: str
    headers: Mapping[str, str]

    async def aclose(self) -> None:
        """Return the connection to the pool, or close it if the body is not finished."""
        ...


@attrs.frozen
class Transmission:
    """One request, as a transport sends it.

    Attributes:
        target: the URL.
        headers: all headers but those of the client itself.
        addresses: what may be connected to; empty where the client resolves names itself.
        is_home: whether the headers of the caller are meant for the origin.
        is_trusted: whether the walk that asks may reach a private address of the host.
        seconds: how long the headers of the answer may take.
    """

    target: RequestUrl
    headers: CIMultiDict[str]
    addresses: Addresses
    is_home: bool
    is_trusted: bool
    seconds: float


class Transport(Protocol):
    """A client that sends one request and follows no redirect."""

    @property
    def own_headers(self) -> Mapping[str, str]:
        """The headers that the client itself sends."""
        ...

    def check(self) -> None:
        """Raise RuntimeError if the client is closed, or belongs to another event loop."""
        ...

    def is_home(self, origin: str, trust: TrustSet) -> bool:
        """Return whether the headers of the caller are meant for an origin."""
        ...

    def resolves(self, *, is_home: bool) -> bool:
        """Return whether the client resolves names itself: behind a proxy, or at home."""
        ...

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name; raise OSError if there is none."""
        ...

    async def send(self, request: Transmission, clock: DeadlineClock) -> Answer:
        """Send a GET request, and return its answer; raise FetchError if there is none."""
        ...

    async def aclose(self) -> None:
        """Close what the transport has made."""
        ...
