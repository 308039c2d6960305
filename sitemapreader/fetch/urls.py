"""Requests: URLs that were checked, mapped hosts, redirects, headers."""

# One parser, yarl's, decides what the host is. Text that two parsers would read differently is
# refused: a control character that one parser drops can change the host that another one sees.

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import attrs

from sitemapreader._types.errors import FetchError, Redirect
from sitemapreader._types.issues import Issue, IssueCode, make_issue
from sitemapreader._types.options import MAX_URL_CHARS, FetchOptions
from sitemapreader._types.urls import (
    find_url,
    has_web_scheme,
    move_to_origin,
    parse_url,
    trim,
    url_warnings,
    write_target,
)
from sitemapreader.fetch.addresses import read_address
from sitemapreader.fetch.cookies import ChainCookies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

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
        url: what the client requests. Path and query are one, which it sends as it is.
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
    def port(self) -> int:
        """The port, written or implied."""
        return self.url.port or 0


def parse_request_url(url: str) -> RequestUrl:
    """Check and parse a URL; raise FetchError, INVALID_URL, with the reason."""
    url = trim(url)
    check_text(url)
    if not has_web_scheme(url):
        raise _invalid(url, "not an absolute http or https URL")
    if blank := _BLANK_HOST.match(url):
        raise _invalid(url, f"the host contains U+{ord(blank[1]):04X}")
    parsed = parse_url(url)
    if parsed is None:
        raise _invalid(url, "no host, or an unreadable host")
    host = parsed.raw_host or ""
    _check_host(url, host)
    userinfo = f"{parsed.user or ''}:{parsed.password or ''}"
    target = write_target(url)
    origin = parsed.origin()
    # The client would drop the mark of an empty query, but for one in the path.
    requested = origin.with_path(
        target if target[:1] == "/" else f"/{target}", encoded=True
    )
    text = f"{origin}{target}"
    host = host.lower().rstrip(".")
    return RequestUrl(
        requested, text, host, str(origin), "" if userinfo == ":" else userinfo
    )


def check_text(url: str) -> None:
    """Refuse characters that parsers drop or people misread, in any reference."""
    if len(url) > MAX_URL_CHARS:
        raise _invalid(url, f"longer than {MAX_URL_CHARS} characters")
    if unfit := _UNFIT.search(url):
        raise _invalid(url, f"the URL contains U+{ord(unfit[0]):04X}")


def _check_host(url: str, host: str) -> None:
    """Refuse a host that only some resolvers read as an address."""
    if not _HOST.fullmatch(host):  # IDNA turns a lone accent into a blank
        raise _invalid(url, "the host is not a valid name")
    host = host.rstrip(".")
    # https://url.spec.whatwg.org/#ends-in-a-number-checker: `127.1`, `0x7f000001`, `2130706433`
    if _HOST_NUMBER.fullmatch(host.rpartition(".")[2]) and read_address(host) is None:
        raise _invalid(url, "the address is not written as four decimal numbers")


def _invalid(url: str, reason: str) -> FetchError:
    return FetchError(
        IssueCode.INVALID_URL, _URL_USERINFO.sub("//", url[:4096]), reason
    )


# -- mapped hosts and redirects

HostPairs: TypeAlias = "Mapping[str, str] | Iterable[tuple[str, str]]"
WEB_PORTS = (80, 443)


class HostMap:
    """Hosts, and the origins that are requested in their place.

    A staging site lists the URLs of production. Its documents are fetched where they are, and all
    else (entries, scope, robots.txt, the state, the report) goes by the names that they will have.
    A host stands for http and https, and for one port if it is written with one.

    Raises TypeError or ValueError for what makes no sense.
    """

    def __init__(self, hosts: HostPairs = ()) -> None:
        if isinstance(cast("object", hosts), str | bytes):
            raise TypeError(
                "`map_hosts` must be a dict: {'https://www.a.example': 'https://b.a.example'}"
            )
        pairs = hosts.items() if isinstance(hosts, Mapping) else hosts
        origins = [(_read_origin(name), _read_origin(target)) for name, target in pairs]
        self.names = [
            (str(name.origin()), str(target.origin())) for name, target in origins
        ]
        self._targets = {_key_of(name): target for name, target in origins}
        for name, target in origins:
            if (known := self._targets[_key_of(name)]) != target:
                raise ValueError(
                    f"`map_hosts`: {name} has two targets: {known} and {target}"
                )
            if self.find(str(target)):
                raise ValueError(
                    f"`map_hosts`: {name} leads to {target}, which is mapped itself: "
                    "name the last host"
                )

    def __bool__(self) -> bool:
        return bool(self._targets)

    def find(self, url: str) -> str:
        """Return the URL to request in the place of one, or ""."""
        parsed = parse_url(url) if self._targets else None
        if parsed is None:
            target = None
        else:
            target = self._targets.get(_key_of(parsed))
        if parsed is None or target is None:
            return ""
        return move_to_origin(url, str(target.origin()))


def _key_of(url: URL) -> tuple[str, int | None]:
    return (url.raw_host or "").lower().rstrip(
        "."
    ), None if url.port in WEB_PORTS else url.port


def _read_origin(text: str) -> URL:
    """Return the scheme, host and port of a text; raise TypeError or ValueError."""
    if not isinstance(text, str):
        raise TypeError(
            f"`map_hosts` must have hosts as text, got {type(text).__name__}"
        )
    url = text if "://" in text else f"https://{text}"
    parsed = parse_url(url) if has_web_scheme(url) else None
    if (
        parsed is None
        or parsed.raw_path_qs not in ("", "/")
        or parsed.raw_user
        or "#" in text
    ):
        raise ValueError(
            f"`map_hosts`: {text.rpartition('@')[2]!r} is not a host: write it without a path or a "
            "login, such as https://staging.example.org"
        )
    return parsed


@attrs.define(eq=False, slots=False)
class RedirectChain:
    """The redirects of one document: `most`, or as many as the options say.

    Each URL has a name, by which it is reported, and a place, where it is asked for. They differ
    for mapped hosts only. A redirect to a mapped host is followed at its place if it comes from
    there. One from elsewhere is refused: headers and logins would go where a stranger points.

    A circle is the same request again: the same URL with the same cookies.
    """

    name: RequestUrl
    _options: FetchOptions
    _most: int | None = None
    _hosts: HostMap = attrs.field(factory=HostMap)
    same_origin: bool = True
    is_permanent: bool = True
    issues: list[Issue] = attrs.field(factory=list)
    redirects: list[Redirect] = attrs.field(factory=list)
    cookies: ChainCookies = attrs.field(factory=ChainCookies)

    def __attrs_post_init__(self) -> None:
        place = self._find_place(self.name)
        self.start = self.place = place or self.name
        self._has_strayed = place is None
        self._seen = {self._request}

    @property
    def _request(self) -> tuple[str, str]:
        """The URL and the cookies of the next request."""
        return self.place.text, self.cookies.write(self.place.url)

    def follow(self, location: str, *, status: int = 301, set_cookie: str = "") -> None:
        """Make the `Location` of a redirect the target, or raise FetchError.

        `set_cookie` has the lines of its Set-Cookie headers.
        """
        source = self.name
        place = self.place
        target = location
        if set_cookie:
            self.cookies.add(place.url, set_cookie.split("\n"))
        try:
            self._go_to(self._read(location))
            target = str(self.name)
        finally:
            self.redirects.append(
                Redirect(str(source), target, status, bool(set_cookie))
            )
        # As written: servers redirect from one spelling of a URL to another.
        if self._request in self._seen:
            raise FetchError(IssueCode.REDIRECT_LOOP, str(source), f"to {target}")
        if len(self._seen) > (
            self._options.max_redirects if self._most is None else self._most
        ):
            raise FetchError(IssueCode.TOO_MANY_REDIRECTS, str(source), f"to {target}")
        is_downgrade = (place.url.scheme, self.place.url.scheme) == ("https", "http")
        if is_downgrade and not self._options.allow_downgrade:
            raise FetchError(IssueCode.DOWNGRADE, str(source), f"to {target}")
        if self.place.userinfo:
            self.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=target))
        self._seen.add(self._request)
        self.is_permanent = self.is_permanent and status in PERMANENT
        # Never true again: another origin has chosen the URL, even one of the first origin.
        self.same_origin = self.same_origin and self.place.origin == self.start.origin

    def find_name(self, url: str) -> str:
        """Return the name of a URL; it differs at the place of a mapped host."""
        if url == str(self.place):
            return str(self.name)
        return url

    def _go_to(self, url: RequestUrl) -> None:
        """Go to the URL of a redirect, which may be at the place of a mapped host."""
        if not self._has_strayed and url.origin == self.place.origin:
            target = url.text.removeprefix(url.origin)
            self.name = parse_request_url(self.name.origin + target)
            self.place = url
            return
        place = self._find_place(url)
        if place is not None and self._has_strayed:
            said = "a redirect from an unmapped host to a mapped host"
            raise FetchError(IssueCode.CROSS_HOST_CHILD, str(url), said)
        self._has_strayed = place is None
        self.name = url
        self.place = place or url

    def _find_place(self, name: RequestUrl) -> RequestUrl | None:
        place = self._hosts.find(name.text)
        if place:
            return attrs.evolve(parse_request_url(place), userinfo=name.userinfo)
        return None

    def _read(self, location: str) -> RequestUrl:
        location = "\n".join(dict.fromkeys(map(trim, location.split("\n"))))
        if IssueCode.URL_CHARACTERS in url_warnings(location):
            self.issues.append(make_issue(IssueCode.URL_CHARACTERS, url=location))
        try:
            check_text(location)  # first: resolving drops a tab in the middle
            if not has_web_scheme(location):
                location = find_url(str(self.place), location) or location
            return parse_request_url(location)
        except FetchError as error:
            said = f"redirect to {error.url}, {error.detail}"
            raise FetchError(error.code, str(self.name), said) from error


# -- headers

ACCEPT = "application/xml,text/xml;q=0.9,*/*;q=0.5"
ACCEPT_ENCODING = "gzip"
"""The only coding that every installation reads; a caller cannot change it."""

VALIDATORS = frozenset({"if-none-match", "if-modified-since"})
"""The headers that name a stored version of a document. Not secret, and kept across origins: most
redirects lead from http to https, or to `www`."""
SAFE_CROSS_ORIGIN = VALIDATORS | {
    "user-agent",
    "accept",
    "accept-language",
    "accept-charset",
}
"""The headers that may be sent to another origin; any other may be a secret."""

APART = frozenset({"location", "set-cookie", "x-robots-tag"})
"""Headers whose lines would say something else as one: a crawler's name in `X-Robots-Tag` holds up
to the end of its line, and two `Location` make no URL."""

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
