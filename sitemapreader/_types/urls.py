"""URLs as text: resolution, comparison, checks, and the site of each.

Nothing here opens a connection. Hosts are parsed by yarl alone, because aiohttp connects with it.
It is imported inside functions, because most URLs need no parser at all.
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

HostScope = Literal["host", "site", "any"]
"""Scope of hosts: the same host, the same registrable domain, or all hosts."""

_SCHEMES = ("http://", "https://")
_LOADING_LOCK = Lock()
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FOREIGN_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+-]*:", re.ASCII | re.IGNORECASE)
"""Beginning of a URL with a foreign scheme; `example.org:8080` has no scheme."""

# URLs that a normaliser would not change, except for dot segments: lower-case host without a user,
# no port or that of a test server, a path, no percent-encoding, no fragment. Nine of ten are like
# this.
NORMAL_URL = re.compile(
    r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::(?:[1-9][0-9]{3}|[1-5][0-9]{4}))?"
    r"/[A-Za-z0-9_~!$&'()*+,;=:@/.-]*"
    r"(?:\?[A-Za-z0-9_~!$&'()*+,;=:@/?.-]+)?",
    re.ASCII,
)

_HOST_BEGINS = "(?i::|%3a)(?i:/|%2f){2}"
_BROKEN_URL = re.compile(
    r"(?i:https?)[^\w/?#.]?//"
    rf"|(?>(?:[^?#:%]++|(?!{_HOST_BEGINS})[:%])*){_HOST_BEGINS}"
)
"""The beginning of a URL whose host a parser would take for a folder."""
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
# Quick checks. A URL that passes one of them is not checked further, so neither may pass a URL for
# which `find_url_error` or `url_warnings` returns a code.
PLAIN_URL = re.compile(r"https?://[!\"$-.0-;=>@-z|-~][!-;=-z|-~]{0,2000}+")
"""An absolute URL without an error or a warning, as nearly all are."""
# Other control characters cannot occur: XML excludes them, and text sitemaps check separately.
_SUSPECT_CHARACTERS = (" ", "{", "<", "\t", "\n", "\r", "\x7f", _REPLACEMENT_CHARACTER)
"""Characters that may mean an error or a warning."""

_PATH_FROM_ROOT = re.compile("(?>/(?![./])[!$&-.0-;=?-Z_a-z~]*+)++")
"""A path from the root, perhaps with a query, that a URL has as it is written."""

_CLIMBING = ("..", "%2e", "%2E", "\t", "\r", "\n")
_PARTS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*+:)?(//[^/?#]*+)?([^?#]*+)(\?[^#]*+)?(#.*+)?", re.DOTALL
)
_NOT_IN_A_REQUEST = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!$-;=?-Z_a-z~]")
"""Characters outside a path and a query (RFC 3986, sections 3.3 and 3.4)."""
_BLANKS = "".join(map(chr, range(33)))
INVISIBLE = r"\s\xad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
"""Blanks, and characters without a width, such as byte order marks, which editors leave."""
_NO_BASE = "about:invalid"
"""A base against which no relative URL resolves to an http(s) URL."""
_NO_BREAKS = dict.fromkeys(map(ord, "\t\r\n"))
"""Removes the characters that URL parsers remove."""


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
    """Return path and query of a URL as they are requested; "" if it has neither."""
    _, target = split_target(url)
    return target


def split_target(url: str) -> tuple[str, str]:
    """Return the URL of a host's root, and path and query of a URL as they are requested.

    Both stay byte for byte as they are written, because servers compare them so: signatures of
    object stores cover the escapes too. Only characters that no request may contain are
    percent-encoded (RFC 9112, section 3.2.1).
    """
    scheme, host, path, query, _ = _split(url)
    return f"{scheme}{host}/", _NOT_IN_A_REQUEST.sub(percent_encode, path + query)


def percent_encode(match: re.Match[str]) -> str:
    """Return the found characters as escapes of their bytes."""
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def remove_login(url: str) -> str:
    """Remove user and password from an absolute URL; the rest stays as it is written."""
    scheme, host, path, query, fragment = _split(url)
    _, _, address = host[2:].rpartition("@")
    return f"{scheme}//{address}{path}{query}{fragment}"


def move_to_origin(url: str, origin: str) -> str:
    """Return a URL with another scheme, host and port; its login stays."""
    _, host, path, query, _ = _split(url)
    login, at, _ = host[2:].rpartition("@")
    scheme, slashes, address = origin.partition("://")
    return f"{scheme}{slashes}{login}{at}{address}{path}{query}"


def name_as_site(url: str) -> str:
    """Return the URL of a site in one spelling.

    A final dot of the host is removed, and a path of slashes becomes one slash. The query stays,
    because some sites have their sitemap at `/?type=1533906435`.
    """
    scheme, host, path, query, _ = _split(url)
    if not path.strip("/"):
        path = path[:1]
    return f"{scheme}{_FINAL_DOT.sub('', host)}{path}{query}"


def path_of(text: str) -> str:
    """Return the path that a `file:` URI names (RFC 8089); any other text as it is."""
    if not is_file_url(text):
        return text
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
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

    `None` if there is no base to resolve against, or if the result is not an http(s) URL. A
    reference with a scheme is never relative: `https:x` is not a path (section 5.2.2, the strict
    reading).
    """
    if has_web_scheme(reference):
        _, host, *_ = _split(reference)
        url = reference
    elif _SCHEME.match(reference):
        return None
    else:
        url, host = _join_relative(base, reference)
        if not has_web_scheme(url):
            return None
    if "[" in host or "]" in host:
        try:
            urlsplit(url)
        except ValueError:  # brackets that are not an IPv6 address
            return None
    return url


def _join_relative(base: str, reference: str) -> tuple[str, str]:
    """Join a relative reference to its base; return also its host, with slashes."""
    scheme, host, path, query, fragment = _split(reference)
    if not scheme:
        if len(base) < PROTOCOL_MAX_LOC_CHARS:
            scheme, base_host, base_path, base_query, _ = _split_base(base)
        else:
            scheme, base_host, base_path, base_query, _ = _split(base)
        if not (host or path):
            path = base_path
            query = query or base_query
        elif not host and not path.startswith("/"):
            folder = base_path[: base_path.rfind("/") + 1]
            if base_host and not folder:
                folder = "/"
            path = _remove_dots(folder + path)
        else:
            path = _remove_dots(path)
        host = host or base_host
    return f"{scheme}{host}{path}{query}{fragment}", host


def find_url(base: str, reference: str) -> str | None:
    """Return the absolute URL that an author meant; `None` if there is none.

    Unlike a browser, it never takes a host for a folder: a reference that begins with the host of
    its base is on that host, and one with `://` in its path, plain or encoded, is a broken URL.
    """
    if has_web_scheme(reference):
        return resolve(base, reference)
    return _find_relative_url(base, reference)


def _find_relative_url(base: str, reference: str) -> str | None:
    """Return the URL that an author meant by a reference without a scheme; see `find_url`."""
    if url := _add_scheme(base, reference):
        return url
    if _BROKEN_URL.match(reference):
        return None
    return resolve(base, reference)


def find_base(base: str, reference: str) -> str:
    """Return the base that an element names: `<base href>` of a page, or an `xml:base`.

    A reference that is not a URL is ignored. Nothing can be resolved against a long one, because
    each URL would repeat it, and be too long as well.
    """
    if len(reference) >= PROTOCOL_MAX_LOC_CHARS:
        return _NO_BASE
    url = find_url(base, reference.strip())
    if url is None:
        return base
    if len(url) >= PROTOCOL_MAX_LOC_CHARS:
        return _NO_BASE
    return url


def _add_scheme(base: str, reference: str) -> str:
    """Add the scheme to a reference that begins with the host of its base; else return ""."""
    segment = _FIRST_SEGMENT.match(reference)[0]  # type: ignore[index]  # it may be empty
    if not segment or "@" in segment:
        return ""
    scheme = base[: base.find(":")].lower()
    host = host_of(f"{scheme}://{segment}")
    if not host:
        return ""
    base_host = host_of(base).removeprefix("www.")
    if base_host and f".{host}".endswith(f".{base_host}"):
        return f"{scheme}://{reference}"
    return ""


def _split(url: str) -> tuple[str, ...]:
    """Split a URL into scheme, host, path, query and fragment, with their marks.

    Unlike `urlsplit`, it keeps an empty query, and caches no long URL.
    """
    url = url.lstrip(_BLANKS)
    if not url.isprintable():
        url = url.translate(_NO_BREAKS)
    match = _PARTS.match(url)
    if match is None:
        return ("",) * 5
    parts = match.groups("")
    if parts[1] == "//":
        return (parts[0], "", *parts[2:])
    return parts


@lru_cache(maxsize=16)
def _split_base(url: str) -> tuple[str, ...]:
    """Split the URL of a document, against which many are resolved."""
    return _split(url)


def _remove_dots(path: str) -> str:
    """Remove dot segments; keep empty segments, unlike urljoin.

    RFC 3986, section 5.2.4.
    """
    if not path.startswith(".") and "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    if segments[-1] in {".", ".."}:
        segments.append("")
    for segment in segments:
        if segment == "..":
            del kept[max(len(kept) - 1, 1) :]
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def parse_url(url: str) -> URL | None:
    """Parse a URL in the way of the HTTP client; `None` if it cannot be requested.

    A URL that is longer than servers accept cannot.
    """
    # SECURITY: strangers write these URLs, and the cache lives as long as the process.
    if not url or len(url) > MAX_URL_CHARS:
        return None
    if not url.isascii() and _has_long_host(url):
        return None
    if len(url) <= PROTOCOL_MAX_LOC_CHARS:
        return _parse_cached(url)
    return _parse_cached.__wrapped__(url)


def _has_long_host(url: str) -> bool:
    """Return whether the host of a URL is beyond ASCII, and longer than any name of DNS.

    SECURITY: its encoding would take a millisecond for each 40 labels, and more if they are long.
    A label beyond ASCII is encoded as `xn--` and at least one character for each of its own
    (RFC 3492).
    """
    _, host, *_ = _split(url)
    if host.isascii():
        return False
    labels = host[2:].rpartition("@")[2].partition(":")[0].split(".")
    size = len(labels) + sum(map(len, labels))
    for label in labels:
        if not label.isascii():
            size += len("xn--")
    return size > _MAX_HOST_CHARS + 1 or max(map(len, labels)) > _MAX_LABEL_CHARS


@lru_cache(maxsize=1024)
def _parse_cached(url: str) -> URL | None:
    from yarl import URL  # noqa: PLC0415 (14 ms, and most runs over files never need it)

    try:
        parsed = URL(url)
        parsed.raw_host  # noqa: B018 (parsed on first use, which raises for a bad IDN host)
        parsed.port  # noqa: B018
    except (ValueError, IndexError):  # yarl raises IndexError for `https://[@/`
        return None
    host = parsed.raw_host
    # No name and no public address has a "%", and the parser keeps several spellings of it.
    if parsed.scheme in ("http", "https") and host and "%" not in host:
        return parsed
    return None


FIRST_FOLDER = re.compile(r"^[^/]*//[^/?]*/?(?:[^/?]+/)?")
"""The origin and the first folder of a URL."""
ERROR_PATH = re.compile(r"^/([a-z]{2}(-[a-z]{2})?/)?404(/|/index\.html?|\.html?)?$")
"""The path of an error page, at the top or in the folder of a language."""


def url_key(url: str) -> str:
    """Return the key of a URL, which is the same for all its spellings.

    Lower-case host, no default port, no dot segments, no needless percent-encoding, no fragment.
    Query, trailing slash, `www.` and scheme stay, because servers distinguish them. A URL that
    cannot be parsed is its own key.
    """
    if _is_normal(url):
        return url
    parsed = parse_url(url)
    if parsed is None:
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
    if parsed is None or parsed.raw_host is None:
        return ""
    return parsed.raw_host.lower().rstrip(".")


def origin_of(url: str) -> str:
    """Return scheme, host and port (RFC 6454), or ""."""
    if origin := _cut_origin(url):
        return origin
    parsed = parse_url(url)
    if parsed is None:
        return ""
    return str(parsed.origin())


def server_of(url: str) -> str:
    """Return host and port of a URL, without a port of the web (80, 443); or ""."""
    return name_server(origin_of(url))


def name_server(origin: str) -> str:
    """Return host and port of an origin, without a port of the web."""
    host = origin.partition("://")[2]
    return host.removesuffix(":80").removesuffix(":443")


def _cut_origin(url: str) -> str:
    """Return the origin of a URL that is its own key; "" if it needs a parser."""
    if len(url) <= MAX_URL_CHARS and _is_normal(url):
        return url[: url.index("/", len("https://"))]
    return ""


def same_hosts(
    hosts: HostScope,
    url: str,
    other_url: str,
) -> bool:
    """Return whether two URLs belong together in a scope of hosts.

    A URL without a host belongs to no other one, unless the scope is "any". The Public Suffix List
    decides if two hosts are of one site; event loops load it in a thread first (`load_suffixes`).
    """
    if hosts == "any":
        return True
    host = host_of(url)
    other_host = host_of(other_url)
    if not host or not other_host:
        return False
    if host == other_host:
        return True
    return hosts == "site" and site_of(host) == site_of(other_host)


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
    """Return whether a URL, or one of several joined URLs, may leave its folder.

    It would need "..", plain or encoded, or separated by blanks that the parser removes.
    """
    return any(part in url for part in _CLIMBING)


def folder_of(url: str) -> str:
    """Return the URL of the folder that a document lies in, with its final slash."""
    key = url_key(url).partition("?")[0]
    if "/" in key:
        return key[: key.rindex("/") + 1]
    return key


def find_url_error(loc: str) -> IssueCode | None:
    """Return the reason why a loc cannot be the URL that its author meant, or `None`."""
    if _TEMPLATE.search(loc):
        return IssueCode.TEMPLATE
    if _MISSING_HOST.match(loc):
        return IssueCode.MALFORMED
    # The bytes in its place did not decode, and no repair can restore them.
    if _REPLACEMENT_CHARACTER in loc:
        return IssueCode.MALFORMED
    return None


def read_loc(text: str, base: str) -> tuple[str, list[IssueCode]]:
    """Return the absolute URL of a loc, and its Issues.

    A relative loc is resolved against `base`. The URL is "" if it must be dropped, for the reason
    of the only code.
    """
    codes: list[IssueCode] = []
    written = text.strip()
    text = trim(text)
    if text != written:
        codes.append(IssueCode.URL_CHARACTERS)
    if error := find_url_error(text):
        return "", [error]
    if has_web_scheme(text):
        return text, codes or url_warnings(text)
    return _read_relative_loc(text, base, codes)


def _read_relative_loc(
    text: str, base: str, codes: list[IssueCode]
) -> tuple[str, list[IssueCode]]:
    """Return the absolute URL of a relative loc, with its Issues and the Issues of its blanks."""
    if _PATH_FROM_ROOT.fullmatch(text) and len(base) < PROTOCOL_MAX_LOC_CHARS:
        scheme, host, *_ = _split_base(base)
        joined = f"{scheme}{host}{text}"
        if PLAIN_URL.fullmatch(joined) and "[" not in host:
            return joined, [IssueCode.RELATIVE_LOC, *codes]
    host = _FIRST_SEGMENT.match(text)[0].partition(":")[0]  # type: ignore[index]  # it may be empty
    if host in _NO_HOSTS and host != host_of(base):
        return "", [IssueCode.HOST_NOT_PUBLIC]
    has_base = has_web_scheme(base)
    url = _find_relative_url(base, text) if has_base else None
    if url is None:
        if _FOREIGN_SCHEME.match(text):
            return "", [IssueCode.UNSUPPORTED_SCHEME]
        if has_base:
            return "", [IssueCode.MALFORMED]
        return "", [IssueCode.MISSING_BASE]
    if PLAIN_URL.fullmatch(url):
        return url, [IssueCode.RELATIVE_LOC, *codes]
    if error := find_url_error(url):  # the error may be that of the base
        return "", [error]
    return url, [IssueCode.RELATIVE_LOC, *(codes or url_warnings(url))]


def url_warnings(url: str) -> list[IssueCode]:
    """List the Issues of a URL that is delivered nevertheless."""
    codes = []
    if not url.isprintable() or " " in url:
        codes.append(IssueCode.URL_CHARACTERS)
    if len(url) >= PROTOCOL_MAX_LOC_CHARS:
        codes.append(IssueCode.LONG_LOC)
    return codes


def are_clean_urls(locs: Sequence[str]) -> bool:
    """Return whether all are absolute http(s) URLs without an error or a warning."""
    # A few passes in C over the joined text cost less than a Python call for each URL.
    origin = _ORIGIN.match(locs[0]) if locs else None
    if origin is None:
        return False
    joined = "".join(locs)
    if not joined.isascii() and not joined.isprintable():
        return False
    if any(map(joined.__contains__, _SUSPECT_CHARACTERS)):
        return False
    # Usually all URLs have the origin of the first one.
    has_one_origin = all(map(str.startswith, locs, repeat(origin[0])))
    if not has_one_origin and not all(map(_ORIGIN.match, locs)):
        return False
    return max(map(len, locs)) < PROTOCOL_MAX_LOC_CHARS


def require_text(name: str, value: object) -> str:
    """Return a text; raise TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {type(value).__name__}")
    return value


def check_url(name: str, value: object) -> str:
    """Return an absolute http(s) URL; raise TypeError or ValueError for anything else."""
    value = trim(require_text(name, value))
    if not has_web_scheme(value) or not host_of(value):
        raise ValueError(
            f"{name} must be a full URL such as 'https://example.org/', got {value!r}"
        )
    return value
