"""Requests: URLs that were checked, redirects, headers."""

# SECURITY: yarl alone parses the host. A text that two parsers would read differently is refused: a
# control character that one parser removes can change the host that another one sees.

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import attrs

from sitemapreader._types.errors import FetchError, Redirect
from sitemapreader._types.hosts import HostMap
from sitemapreader._types.issues import Issue, IssueCode, make_issue
from sitemapreader._types.options import (
    MAX_URL_CHARS,
    PROTOCOL_MAX_LOC_CHARS,
    FetchOptions,
)
from sitemapreader._types.urls import (
    find_url,
    has_web_scheme,
    name_server,
    parse_url,
    split_target,
    trim,
    url_warnings,
)
from sitemapreader.fetch.addresses import read_address
from sitemapreader.fetch.cookies import ChainCookies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from multidict import CIMultiDict
    from yarl import URL

CheckRedirect: TypeAlias = "Callable[[str], Awaitable[None]]"
"""Raises FetchError if a redirect must not be followed to a URL."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that name one other URL for the same document (RFC 9110, section 15.4)."""
PERMANENT = frozenset({301, 308})
"""The statuses of redirects that will not change."""


# C0, DEL and C1, ends of lines, marks of text direction (UAX 9), and halves of surrogate pairs
_UNFIT = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BLANK_HOST = re.compile(r"[^/?#]*//[^/?#\s]*(\s)")
# A name in ASCII (with the underscore, which no host should have and many do), or an IPv6 address
_HOST = re.compile(
    r"\.*+[a-z0-9_-][a-z0-9_.-]*+|[0-9a-f.]*+:[0-9a-f:.]*+", re.ASCII | re.IGNORECASE
)
_HOST_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_URL_USERINFO = re.compile(r"//[^/?#]*@")


@attrs.frozen
class RequestUrl:
    """A URL without fragment and userinfo, and its userinfo apart.

    Attributes:
        url: the URL that the client requests. Its path includes the query, and is sent unchanged.
        text: the same as text.
    """

    url: URL
    text: str
    host: str
    origin: str
    userinfo: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def server(self) -> str:
        """Its host, with a port that is not one of the web's: a server of its own."""
        return name_server(self.origin)

    @property
    def port(self) -> int:
        """The port, written or implied."""
        return self.url.port or 0


def parse_request_url(url: str) -> RequestUrl:
    """Check and parse a URL; raise FetchError, INVALID_URL, with the reason."""
    url = trim(url)
    check_text(url)
    if not has_web_scheme(url):
        raise _invalid(url, "not an absolute http or https URL")
    root, target = split_target(url)
    try:
        if len(root) <= PROTOCOL_MAX_LOC_CHARS:
            host = _parse_root(root)
        else:  # not cached, because strangers write these URLs
            host = _parse_root.__wrapped__(root)
    except ValueError as error:
        raise _invalid(url, str(error)) from None
    text = f"{host.origin}{target}"
    if not target.startswith("/"):
        target = f"/{target}"
    # The client would remove the mark of an empty query, unless it is in the path.
    requested = host.url.with_path(target, encoded=True)
    return RequestUrl(requested, text, host.host, host.origin, host.userinfo)


@lru_cache(maxsize=1_024)  # all URLs of a host have the same root
def _parse_root(root: str) -> RequestUrl:
    """Parse a URL up to its path; raise ValueError with the reason if nobody can request it."""
    if blank := _BLANK_HOST.match(root):
        raise ValueError(f"the host contains U+{ord(blank[1]):04X}")
    parsed = parse_url(root)
    if parsed is None:
        raise ValueError("no host, or an unreadable host")
    host = parsed.raw_host or ""
    _check_host(host)
    userinfo = f"{parsed.user or ''}:{parsed.password or ''}"
    if userinfo == ":":
        userinfo = ""
    origin = parsed.origin()
    host = host.lower().rstrip(".")
    return RequestUrl(origin, root, host, str(origin), userinfo)


def check_text(url: str) -> None:
    """Refuse characters that parsers drop or people misread, in any reference."""
    if len(url) > MAX_URL_CHARS:
        raise _invalid(url, f"longer than {MAX_URL_CHARS} characters")
    if unfit := _UNFIT.search(url):
        raise _invalid(url, f"the URL contains U+{ord(unfit[0]):04X}")


def _check_host(host: str) -> None:
    """Refuse a host that only some resolvers read as an address."""
    if not _HOST.fullmatch(host):  # IDNA turns a lone accent into a blank
        raise ValueError("the host is not a valid name")
    host = host.rstrip(".")
    # https://url.spec.whatwg.org/#ends-in-a-number-checker: `127.1`, `0x7f000001`, `2130706433`
    if _HOST_NUMBER.fullmatch(host.rpartition(".")[2]) and read_address(host) is None:
        raise ValueError("the address is not written as four decimal numbers")


def _invalid(url: str, reason: str) -> FetchError:
    return FetchError(
        IssueCode.INVALID_URL, _URL_USERINFO.sub("//", url[:4096]), reason
    )


# -- redirects


@attrs.define(eq=False, slots=False)
class RedirectChain:
    """The redirects of one document.

    The URL that is reported (`name`) differs from the one that is requested (`requested`) only for
    mapped hosts. A redirect from a mapped host to a mapped host is followed. A redirect from
    another host is refused, because a stranger could direct headers and logins to the target.

    A loop is the same request again: the same URL with the same cookies.
    """

    name: RequestUrl
    _options: FetchOptions
    _hosts: HostMap = attrs.field(factory=HostMap)
    same_origin: bool = True
    issues: list[Issue] = attrs.field(factory=list)
    redirects: list[Redirect] = attrs.field(factory=list)
    cookies: ChainCookies = attrs.field(factory=ChainCookies)

    def __attrs_post_init__(self) -> None:
        mapped = self._find_mapped(self.name)
        self.requested = mapped or self.name
        self.start = self.requested
        self._is_mapped = mapped is not None
        self._requests = {self._request}

    @property
    def is_permanent(self) -> bool:
        """True if no redirect may change later."""
        return all(redirect.status in PERMANENT for redirect in self.redirects)

    @property
    def _request(self) -> tuple[str, str]:
        """The URL and the cookies of the next request."""
        return self.requested.text, self.cookies.write(self.requested.url)

    def follow(
        self,
        location: str,
        *,
        status: int = 301,
        set_cookie: str = "",
    ) -> None:
        """Make the `Location` of a redirect the target, or raise FetchError.

        `set_cookie` has the lines of its Set-Cookie headers.
        """
        source = str(self.name)
        last_requested = self.requested.url
        target = location
        if set_cookie:
            self.cookies.add(last_requested, set_cookie.split("\n"))
        try:
            self._go_to(self._read(location))
            target = str(self.name)
        finally:
            redirect = Redirect(source, target, status, bool(set_cookie))
            self.redirects.append(redirect)
        # URLs are compared as written, because servers redirect from one spelling to another.
        if self._request in self._requests:
            raise FetchError(IssueCode.REDIRECT_LOOP, source, f"to {target}")
        if len(self._requests) > self._options.max_redirects:
            raise FetchError(IssueCode.TOO_MANY_REDIRECTS, source, f"to {target}")
        schemes = (last_requested.scheme, self.requested.url.scheme)
        if schemes == ("https", "http") and not self._options.allow_downgrade:
            raise FetchError(IssueCode.DOWNGRADE, source, f"to {target}")
        if self.requested.userinfo:
            self.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=target))
        self._requests.add(self._request)
        # False for good: later URLs were chosen by another origin, even those of the first origin.
        if self.requested.origin != self.start.origin:
            self.same_origin = False

    def find_name(self, url: str) -> str:
        """Return the name of a URL; it differs for the target of a mapped host."""
        if url == str(self.requested):
            return str(self.name)
        return url

    def _go_to(self, url: RequestUrl) -> None:
        """Go to the URL of a redirect, which may be on the target of a mapped host."""
        if self._is_mapped and url.origin == self.requested.origin:
            target = url.text.removeprefix(url.origin)
            self.name = parse_request_url(self.name.origin + target)
            self.requested = url
            return
        mapped = self._find_mapped(url)
        if mapped is not None and not self._is_mapped:
            problem = "a redirect from an unmapped host to a mapped host"
            raise FetchError(IssueCode.CROSS_HOST_CHILD, str(url), problem)
        self._is_mapped = mapped is not None
        self.name = url
        self.requested = mapped or url

    def _find_mapped(self, name: RequestUrl) -> RequestUrl | None:
        """Return the URL to request in place of one on a mapped host."""
        url = self._hosts.find(name.text)
        if url:
            return attrs.evolve(parse_request_url(url), userinfo=name.userinfo)
        return None

    def _read(self, location: str) -> RequestUrl:
        location = "\n".join(dict.fromkeys(map(trim, location.split("\n"))))
        if IssueCode.URL_CHARACTERS in url_warnings(location):
            self.issues.append(make_issue(IssueCode.URL_CHARACTERS, url=location))
        try:
            check_text(location)  # before resolving, which removes a tab in the middle
            if not has_web_scheme(location):
                location = find_url(str(self.requested), location) or location
            return parse_request_url(location)
        except FetchError as error:
            detail = f"redirect to {error.url}, {error.detail}"
            raise FetchError(error.code, str(self.name), detail) from error


# -- headers

ACCEPT = "application/xml,text/xml;q=0.9,*/*;q=0.5"
ACCEPT_ENCODING = "gzip"
"""The only coding that every installation reads; a caller cannot change it."""

VALIDATORS = frozenset({"if-none-match", "if-modified-since"})
"""The headers that name a stored version of a document. They are not secret, and are kept across
origins, because most redirects lead from http to https, or to `www`."""
SAFE_CROSS_ORIGIN = VALIDATORS | {
    "user-agent",
    "accept",
    "accept-language",
    "accept-charset",
}
"""The headers that may be sent to another origin; any other may be a secret."""

APART = frozenset({"location", "set-cookie", "x-robots-tag"})
"""Headers whose lines have another meaning if they are joined by commas: a crawler's name in
`X-Robots-Tag` is valid up to the end of its line, and two `Location` are not a URL."""

_ENTITY_TAG = re.compile(r'(?:W/)?"[^\x00-\x20"\x7f]*"')


def make_headers(
    options: FetchOptions,
    extra: Mapping[str, str],
    *,
    same_origin: bool,
    authorization: str = "",
    cookies: str = "",
) -> CIMultiDict[str]:
    """Build the headers of a request; `cookies` follow the cookies of the options."""
    from multidict import CIMultiDict  # noqa: PLC0415 (an extension; a folder needs none)

    made = CIMultiDict({"User-Agent": options.user_agent, "Accept": ACCEPT})
    if authorization and same_origin:
        made["Authorization"] = authorization
    for name, value in (*options.headers.items(), *extra.items()):
        if same_origin or name.lower() in SAFE_CROSS_ORIGIN:
            made[name] = value
    if cookies:
        made["Cookie"] = "; ".join(filter(None, (made.get("Cookie", ""), cookies)))
    made["Accept-Encoding"] = ACCEPT_ENCODING
    return made


def is_conditional(headers: Mapping[str, str]) -> bool:
    """Return whether a request may be answered with 304 (RFC 9110, section 13.1)."""
    return any(name.lower() in VALIDATORS for name in headers)


def read_etag(headers: Mapping[str, str]) -> str | None:
    """Return the ETag of a response if it is an entity tag (RFC 9110, section 8.8.3).

    `If-None-Match: *` would match every version: the document would be unchanged for ever.
    """
    tag = headers.get("etag", "")
    return tag if _ENTITY_TAG.fullmatch(tag) else None


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Decode headers by lower-case name; join several of one name with a comma.

    Those of `APART` are joined with a line feed.
    """
    headers: dict[str, str] = {}
    for name, value in raw:
        key = _decode_escapes(name).lower()
        text = _decode_escapes(value).strip()
        comma = "\n" if key in APART else ", "
        if key in headers:
            headers[key] = f"{headers[key]}{comma}{text}"
        else:
            headers[key] = text
    return headers


def _decode_escapes(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:  # RFC 9110, section 5.5: then it is Latin-1
        return raw.decode("latin-1")
