"""URLs as text: resolution, comparison, checks, and the site of each.

Nothing here opens a connection. One parser, yarl's, decides what a host is: it is the one that
aiohttp connects with. It is imported where it is used, because most URLs need no parser at all.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from ipaddress import ip_address
from itertools import repeat
from threading import Lock
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import MAX_URL_CHARS, PROTOCOL_MAX_LOC_CHARS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from publicsuffixlist import PublicSuffixList
    from yarl import URL

Hosts = Literal["host", "site", "any"]
"""Scope of hosts: the same one, the same registrable domain, or all."""

_SCHEMES = ("http://", "https://")
_LOADING_LOCK = Lock()
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FOREIGN_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+-]*:", re.ASCII | re.IGNORECASE)
"""Beginning of a URL with a foreign scheme; `example.org:8080` has no scheme."""

# What a normaliser would leave as it is, but for dot segments: lower-case host with no user, no
# port or one of a test server, a path, no percent-encoding, no fragment. Nine of ten are like that.
NORMAL_URL = re.compile(
    r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::(?:[1-9][0-9]{3}|[1-5][0-9]{4}))?"
    r"/[A-Za-z0-9_~!$&'()*+,;=:@/.-]*"
    r"(?:\?[A-Za-z0-9_~!$&'()*+,;=:@/?.-]+)?",
    re.ASCII,
)

_BROKEN_URL = re.compile(
    r"https?[^\w/?#.]?//|[^?#]*?(?::|%3a)(?:/|%2f){2}", re.IGNORECASE
)
"""A host follows, and a parser would take it for a folder."""
_FIRST_SEGMENT = re.compile(r"[^/?#]*")
_NO_HOSTS = frozenset(
    ("localhost", "undefined", "null", "None", "NaN", "[object Object]")
)
"""Texts that programs write for an unknown address of their site; not folders."""
_MAX_HOST_CHARS = 253
"""Characters of a name in DNS, with its dots (RFC 1035, section 2.3.4)."""
_MAX_LABEL_CHARS = 63
_FINAL_DOT = re.compile(r"(?<=[^./])\.(?=(:\d*)?\Z)", re.ASCII)
_TEMPLATE = re.compile(r"\{\{|\{%|\{#|\$\{|<%|<\?")
_REPLACEMENT_CHARACTER = "\ufffd"
_MISSING_HOST = re.compile(r"https?://(?:[/?#]|\Z)", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://[^/?#]")
# Quick checks. What passes one of them is judged no further, so that neither may pass a URL of
# which `find_url_error` or `url_warnings` has something to say.
PLAIN_URL = re.compile(r"https?://[!\"$-.0-;=>@-z|-~][!-;=-z|-~]{0,2000}+")
"""An absolute URL without an error or a warning, as nearly all are."""
# Other control characters cannot occur: no XML holds them, and text sitemaps check separately.
_SUSPECT_CHARACTERS = (" ", "{", "<", "\t", "\n", "\r", "\x7f", _REPLACEMENT_CHARACTER)
"""Characters that may mean an error or a warning."""

_CLIMBING = ("..", "%2e", "%2E", "\t", "\r", "\n")
_PARTS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*+:)?(//[^/?#]*+)?([^?#]*+)(\?[^#]*+)?(#.*+)?", re.DOTALL
)
_NOT_IN_A_REQUEST = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!$-;=?-Z_a-z~]")
"""All but the characters of a path and a query (RFC 3986, sections 3.3 and 3.4)."""
_BLANKS = "".join(map(chr, range(33)))
INVISIBLE = r"\s\xad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
"""Blanks, and what has no width, such as byte order marks, which editors and databases leave."""
_NO_BASE = "about:invalid"
"""A base with which no relative URL becomes one of the web."""
_NO_BREAKS = dict.fromkeys(map(ord, "\t\r\n"))
"""Removes what parsers of URLs remove, as the blanks before them."""


def has_web_scheme(url: str) -> bool:
    """Return whether `url` begins as an absolute http or https URL."""
    return url[:8].lower().startswith(_SCHEMES)


def begins_as_url(data: bytes) -> bool:
    """Return whether a text, in UTF-8, begins with an absolute http or https URL."""
    return has_web_scheme(data[:8].decode("latin-1"))


def trim(text: str) -> str:
    """Remove invisible characters, blanks among them, from both ends of a URL."""
    if text.isascii() and text.isprintable():
        return text.strip()
    start = 0
    end = len(text)
    while start < end and _INVISIBLE.match(text[start]):
        start += 1
    while start < end and _INVISIBLE.match(text[end - 1]):
        end -= 1
    return text[start:end]


def write_target(url: str) -> str:
    """Return path and query of a URL as they are requested; "" if it has neither.

    They stay byte for byte as they are written, because servers compare them so: signatures of
    object stores cover the escapes too. Only what no request may contain is percent-encoded
    (RFC 9112, section 3.2.1).
    """
    _, _, path, query, _ = _split(url)
    return _NOT_IN_A_REQUEST.sub(_percent_encode, path + query)


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def remove_login(url: str) -> str:
    """Remove user and password from an absolute URL; the rest stays as it is written."""
    scheme, host, *rest = _split(url)
    return "".join([scheme, "//", host[2:].rpartition("@")[2], *rest])


def move_to_origin(url: str, origin: str) -> str:
    """Return a URL with another scheme, host and port; its login stays."""
    _, host, path, query, _ = _split(url)
    login, at, _ = host[2:].rpartition("@")
    scheme, slashes, place = origin.partition("://")
    return f"{scheme}{slashes}{login}{at}{place}{path}{query}"


def name_as_site(url: str) -> str:
    """Return the URL of a site in one spelling.

    Without a final dot of its host and a path of slashes alone. Its query stays: some sites have
    their sitemap at `/?type=1533906435`.
    """
    scheme, host, path, query, _ = _split(url)
    path = path if path.strip("/") else path[:1]
    return f"{scheme}{_FINAL_DOT.sub('', host)}{path}{query}"


def path_of(text: str) -> str:
    """Return the path that a `file:` URI names (RFC 8089); any other text as it is."""
    parts = urlsplit(text) if is_file_url(text) else None
    if parts is None or parts.netloc not in ("", "localhost"):
        return text
    from urllib.request import url2pathname  # noqa: PLC0415 (loads http.client: 50 ms)

    return url2pathname(parts.path)


def is_robots_url(url: str) -> bool:
    """Return whether the path of a URL leads to a robots.txt, in any folder."""
    return url.partition("#")[0].partition("?")[0].lower().endswith("/robots.txt")


def is_file_url(url: str) -> bool:
    """Return whether a URL names a file on this machine (RFC 8089)."""
    return url[:5].lower() == "file:"


def resolve(base: str, reference: str) -> str | None:
    """Resolve a reference against the URL of its document (RFC 3986, section 5).

    `None` where there is no base to resolve against, or nothing that could be a URL. What has a
    scheme is never relative: `https:x` is not a path (section 5.2.2, the strict reading).
    """
    is_absolute = has_web_scheme(reference)
    if not is_absolute and _SCHEME.match(reference):
        return None
    scheme, host, path, query, fragment = _split(reference)
    if not scheme:
        scheme, base_host, base_path, base_query, _ = _split(base)
        if not (host or path):
            path = base_path
            query = query or base_query
        elif not host and not path.startswith("/"):
            folder = base_path[: base_path.rfind("/") + 1] or ("/" if base_host else "")
            path = _remove_dots(folder + path)
        else:
            path = _remove_dots(path)
        host = host or base_host
    if is_absolute:
        url = reference
    else:
        url = f"{scheme}{host}{path}{query}{fragment}"
    if "[" in host or "]" in host:
        try:
            urlsplit(url)
        except ValueError:  # brackets that are not an IPv6 address
            return None
    return url if has_web_scheme(url) else None


def find_url(base: str, reference: str) -> str | None:
    """Return the absolute URL that an author meant; `None` if nothing could be meant.

    Unlike a browser, it never takes a host for a folder: what begins with the host of its base is
    on that host, and what has a `://` in its path, plain or encoded, is a broken URL, not a path.
    """
    if has_web_scheme(reference):
        return resolve(base, reference)
    if url := _add_scheme(base, reference):
        return url
    if _BROKEN_URL.match(reference):
        return None
    return resolve(base, reference)


def find_base(base: str, reference: str) -> str:
    """Return the base that an element names: `<base href>` of a page, or an `xml:base`.

    One that is no URL does not count. A long one would be repeated by each URL that is resolved
    against it, and each would be too long as well: nothing can be resolved against it.
    """
    if len(reference) >= PROTOCOL_MAX_LOC_CHARS:
        return _NO_BASE
    found = find_url(base, reference.strip())
    if found is None:
        return base
    if len(found) < PROTOCOL_MAX_LOC_CHARS:
        return found
    return _NO_BASE


def _add_scheme(base: str, reference: str) -> str:
    """Return a URL without a scheme that begins with the host of its base; or ""."""
    host = _FIRST_SEGMENT.match(reference)[0]  # type: ignore[index]  # it may be empty
    scheme = base[: base.find(":")].lower()
    if host and "@" not in host:
        named = host_of(f"{scheme}://{host}")
    else:
        named = ""
    own = host_of(base).removeprefix("www.") if named else ""
    is_own = bool(own) and (named == own or named.endswith(f".{own}"))
    return f"{scheme}://{reference}" if is_own else ""


def _split(url: str) -> tuple[str, ...]:
    """Split a URL into scheme, host, path, query and fragment, with their marks.

    Unlike those of `urlsplit`, an empty query is not lost, and no long URL is kept in a cache.
    """
    match = _PARTS.match(url.lstrip(_BLANKS).translate(_NO_BREAKS))
    if match:
        scheme, host, *rest = match.groups("")
    else:
        scheme, host, *rest = ("",) * 5
    return (scheme, "" if host == "//" else host, *rest)


def _remove_dots(path: str) -> str:
    """Remove dot segments; keep empty segments, unlike urljoin.

    RFC 3986, section 5.2.4.
    """
    if not path.startswith(".") and "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[max(len(kept) - 1, 1) :]
        elif segment != ".":
            kept.append(segment)
    return "/".join([*kept, ""] if segments[-1] in {".", ".."} else kept)


def parse_url(url: str) -> URL | None:
    """Parse a URL as the HTTP client will, or return `None` if it cannot be requested.

    One that is longer than servers take cannot.
    """
    # SECURITY: strangers write these URLs, and what is cached is kept for the life of the process.
    if len(url) > MAX_URL_CHARS or (not url.isascii() and _has_long_host(url)):
        return None
    is_usual = len(url) <= PROTOCOL_MAX_LOC_CHARS
    parse = _parse_cached if is_usual else _parse_cached.__wrapped__
    return parse(url)


def _has_long_host(url: str) -> bool:
    """Return whether the host of a URL is beyond ASCII, and longer than any name of DNS.

    SECURITY: to encode it would take a millisecond for each 40 labels, and more if they are long.
    A label beyond ASCII takes its marks and one character or more for each of its own (RFC 3492).
    """
    _, host, *_ = _split(url)
    labels = host[2:].rpartition("@")[2].partition(":")[0].split(".")
    size = sum(
        len(label) + (1 if label.isascii() else 1 + len("xn--")) for label in labels
    )
    is_long = size > _MAX_HOST_CHARS + 1 or max(map(len, labels)) > _MAX_LABEL_CHARS
    return is_long and not host.isascii()


@lru_cache(maxsize=1024)
def _parse_cached(url: str) -> URL | None:
    from yarl import URL  # noqa: PLC0415 (14 ms, and most runs over files never need it)

    try:
        parsed = URL(url)
        parsed.raw_host  # noqa: B018 (parsed on first use, where a bad IDN host raises)
        parsed.port  # noqa: B018
    except (ValueError, IndexError):
        # of `https://[@/` yarl takes the first letter of no host
        return None
    host = parsed.raw_host
    # No name and no public address has a "%"; the parser would keep it in several spellings.
    if parsed.scheme in ("http", "https") and host and "%" not in host:
        return parsed
    return None


def url_key(url: str) -> str:
    """Return the key under which spellings of one URL meet.

    Lower-case host, no default port, no dot segments, no needless percent-encoding, no fragment.
    Query, trailing slash, `www.` and scheme stay: servers tell those apart. A URL that cannot be
    parsed is its own key.
    """
    if _is_normal(url) or (parsed := parse_url(url)) is None:
        return url
    key = str(parsed.with_fragment(None).with_user(None))
    if "/" in key[len("https://") :]:
        return key
    return key + "/"


def _is_normal(url: str) -> bool:
    return "/." not in url and NORMAL_URL.fullmatch(url) is not None


def host_of(url: str) -> str:
    """Return the host of a URL, lower-case and IDNA-encoded, no final dot; or ""."""
    if origin := _cut_origin(url):
        return origin.partition("://")[2].partition(":")[0]
    parsed = parse_url(url)
    return ((parsed.raw_host or "") if parsed else "").lower().rstrip(".")


def origin_of(url: str) -> str:
    """Return scheme, host and port (RFC 6454), or ""."""
    if origin := _cut_origin(url):
        return origin
    parsed = parse_url(url)
    return str(parsed.origin()) if parsed else ""


def _cut_origin(url: str) -> str:
    """Return the origin of a URL that is its own key; "" if it needs a parser."""
    is_short = len(url) <= MAX_URL_CHARS and _is_normal(url)
    if is_short:
        return url[: url.index("/", len("https://"))]
    return ""


def same_hosts(hosts: Hosts, one: str, other: str) -> bool:
    """Return whether two URLs belong together under the policy `hosts`.

    A URL without a host belongs to none, unless all belong. Where two hosts may be of one site, the
    Public Suffix List decides; event loops load it in a thread first (`load_suffixes`).
    """
    if hosts == "any":
        return True
    one = host_of(one)
    other = host_of(other)
    if not one or not other:
        return False
    return one == other or (hosts == "site" and site_of(one) == site_of(other))


def site_of(host: str) -> str:
    """Return the registrable domain of a host, by the Public Suffix List.

    An IP address is a site of its own, and so is a host that has no registrable domain.
    """
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return load_suffixes().privatesuffix(host) or host
    return host


def load_suffixes() -> PublicSuffixList:
    """Return the Public Suffix List; the first call takes 0.1 s, in any thread."""
    with _LOADING_LOCK:
        return _load()


def has_suffixes() -> bool:
    """Return whether the Public Suffix List is loaded."""
    return bool(_load.cache_info().currsize)


@cache
def _load() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415 (reads a list of 10,000 lines)

    return PublicSuffixList()


def may_climb(url: str) -> bool:
    """Return whether a URL, or any of the joined ones, may leave its folder.

    It would need "..", with dots plain or encoded, or torn apart by blanks that the parser drops.
    """
    return any(part in url for part in _CLIMBING)


def folder_of(url: str) -> str:
    """Return the URL of the folder that a document lies in, with its final slash."""
    key = url_key(url).partition("?")[0]
    if "/" in key:
        return key[: key.rindex("/") + 1]
    return key


def find_url_error(loc: str) -> IssueCode | None:
    """Return why a loc cannot be the URL that was meant; `None` if it may be."""
    if _TEMPLATE.search(loc):
        return IssueCode.TEMPLATE
    if _MISSING_HOST.match(loc):
        return IssueCode.MALFORMED
    # The bytes that stood there did not decode, and no repair can know which were meant.
    if _REPLACEMENT_CHARACTER in loc:
        return IssueCode.MALFORMED
    return None


def read_loc(text: str, base: str) -> tuple[str, list[IssueCode]]:
    """Return the absolute URL that a loc gives, and its Issues.

    It is resolved against `base` if it is relative, and "" if it must be dropped: the one code
    then says why.
    """
    written = text.strip()
    text = trim(text)
    if text != written:
        codes = [IssueCode.URL_CHARACTERS]
    else:
        codes = []
    if error := find_url_error(text):
        return "", [error]
    if has_web_scheme(text):
        return text, codes or url_warnings(text)
    host = _FIRST_SEGMENT.match(text)[0].partition(":")[0]  # type: ignore[index]  # it may be empty
    if host in _NO_HOSTS and host != host_of(base):
        return "", [IssueCode.HOST_NOT_PUBLIC]
    if has_web_scheme(base):
        url = find_url(base, text)
    else:
        url = None
    if url is None and _FOREIGN_SCHEME.match(text):
        return "", [IssueCode.UNSUPPORTED_SCHEME]
    if not has_web_scheme(base):
        return "", [IssueCode.MISSING_BASE]
    # the fault may be the base's
    if error := find_url_error(url) if url else IssueCode.MALFORMED:
        return "", [error]
    return url or "", [IssueCode.RELATIVE_LOC, *(codes or url_warnings(url or ""))]


def url_warnings(url: str) -> list[IssueCode]:
    """List the Issues of a URL that is delivered all the same."""
    codes = []
    if not url.isprintable() or " " in url:
        codes.append(IssueCode.URL_CHARACTERS)
    if len(url) >= PROTOCOL_MAX_LOC_CHARS:
        codes.append(IssueCode.LONG_LOC)
    return codes


def are_clean_urls(locs: Sequence[str]) -> bool:
    """Return whether all are absolute http(s) URLs without an error or a warning."""
    # A few passes in C over all of them joined cost less than a Python call for each.
    joined = "".join(locs)
    if not joined.isascii() and not joined.isprintable():
        return False
    for char in _SUSPECT_CHARACTERS:
        if char in joined:
            return False
    origin = _ORIGIN.match(locs[0]) if locs else None
    return (
        origin is not None
        # Mostly all URLs have the origin of the first one.
        and (
            all(map(str.startswith, locs, repeat(origin[0])))
            or all(map(_ORIGIN.match, locs))
        )
        and (
            len(joined) < PROTOCOL_MAX_LOC_CHARS
            or max(map(len, locs)) < PROTOCOL_MAX_LOC_CHARS
        )
    )


def check_url(name: str, value: object) -> str:
    """Return an absolute http(s) URL; raise TypeError or ValueError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {type(value).__name__}")
    value = trim(value)
    if not has_web_scheme(value) or parse_url(value) is None:
        raise ValueError(
            f"{name} must be a full URL such as 'https://example.org/', got {value!r}"
        )
    return value
