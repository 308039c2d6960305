"""Limits of the work, options of the network, and checks of arguments.

All limits are finite by default; there is no value that means "unlimited". Units are in the names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from inspect import iscoroutinefunction
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from sitemapreader._types.fields import answer_fields, check_flag
from sitemapreader._types.models import Format
from sitemapreader._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sitemapreader._identity import Identity
    from sitemapreader._types.fields import Validator


MIB = 1024 * 1024

SITE_SECONDS = 900.0
"""Time for each of many sites, by default."""
PROTOCOL_MAX_ENTRIES = 50_000
"""sitemaps.org, "Sitemap file requirements"."""
PROTOCOL_MAX_BYTES = 50 * MIB
"""sitemaps.org: 52,428,800 bytes uncompressed."""
PROTOCOL_MAX_LOC_CHARS = 2048
"""sitemaps.org: a loc "must be less than 2,048 characters"."""
MAX_URL_CHARS = 8_192
"""Longest URL that is requested. RFC 9110, section 4.1, has servers take 8,000 octets at least;
nginx, Apache and IIS take 8,190 to 16,384 by default."""

PATTERNS = os.environ.get("SITEMAPREADER_PATTERNS", "on") != "off"
"""True if common records are read by regular expressions: several times faster, to the same events.

With `SITEMAPREADER_PATTERNS=off` in the environment, the standard library's tree builder reads all
records: use it if `re` of your Python has a bug.
"""


def _positive(
    _: object,
    field: attrs.Attribute[float],
    value: object,
) -> None:
    is_count = field.type in (int, "int")
    kind: type = Integral if is_count else Real
    is_number = isinstance(value, kind)
    if is_number and 0 < float(value) < float("inf"):  # type: ignore[arg-type]
        return
    adjective = "whole" if is_count else "finite"
    rule = f"`{field.name}` must be a {adjective} number above zero, got {value!r}"
    if not is_number:
        raise TypeError(f"{rule}; leave it out for the default")
    raise ValueError(
        f"{rule}; there is no value for 'unlimited', so write a number that you can afford"
    )


def _limit(default: float) -> Any:
    return attrs.field(default=default, validator=_positive)


def check_function(
    name: str,
    value: object,
    argument: str,
) -> None:
    """Raise TypeError unless the value is a function that is called without `await`."""
    if value is None:  # nearly always, and the checks below take a while
        return
    call = getattr(value, "__call__", None)  # noqa: B004 (it may be async)
    is_async = iscoroutinefunction(value) or iscoroutinefunction(call)
    if is_async or not callable(value):
        raise TypeError(
            f"{name} must be a function of {argument}, and not a coroutine function"
        )


def check_count(
    name: str,
    value: object,
    least: int = 1,
) -> None:
    """Raise TypeError or ValueError unless the value is a whole number of `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def _delay(
    _: object,
    field: attrs.Attribute[float],
    value: object,
) -> None:
    said = (
        f"`{field.name}` must be a finite number of seconds such as 1.5, got {value!r}"
    )
    if not isinstance(value, Real):
        raise TypeError(said)
    if not 0 <= float(value) < float("inf"):
        raise ValueError(said)


def _tuple_of(kind: type, example: str) -> Validator:
    """Make an attrs validator for several values of a type."""

    def check(
        _: object,
        field: attrs.Attribute[Any],
        value: object,
    ) -> None:
        if isinstance(value, str) or not isinstance(value, Collection):
            is_right = False
        else:
            is_right = all(isinstance(each, kind) for each in value)
        if not is_right:
            raise TypeError(
                f"`{field.name}` must be a tuple of {kind.__name__}, got {value!r}: "
                f"write {field.name}={example}"
            )

    return check


def whole_number(
    least: int = 1,
) -> Validator:
    """Make an attrs validator for a whole number; `None` passes where it is the default."""

    def check(_: object, field: attrs.Attribute[Any], value: object) -> None:
        if value is not None or field.default is not None:
            check_count(field.name, value, least)

    return check


def _max_time(
    _: object,
    __: object,
    value: Any,
) -> None:
    if value is None:
        return
    if not isinstance(value, timedelta):
        raise TypeError(
            f"max_time must be a timedelta, got {value!r}: write timedelta(minutes=30)"
        )
    if value <= timedelta(0):
        raise ValueError(f"max_time must be positive, got {value!r}")


_PROXY_USERINFO = re.compile(r"//[^/?#]*@")
_MASKED_FIELDS: dict[str, Callable[[Any], object]] = {
    "headers": lambda headers: dict.fromkeys(headers, "..."),
    "proxy": lambda proxy: _PROXY_USERINFO.sub("//", proxy),
}
"""Field that may hold a password -> how it is shown."""


def _show_changed(options: Limits | FetchOptions) -> str:
    """Write options as a call with the changed fields, without passwords."""
    default = type(options)()
    changed = []
    for field in attrs.fields(type(options)):
        value = getattr(options, field.name)
        if value != getattr(default, field.name):
            if field.name in _MASKED_FIELDS:
                shown = _MASKED_FIELDS[field.name](value)
            else:
                shown = value
            changed.append(f"{field.name}={shown!r}")
    return f"{type(options).__name__}({', '.join(changed)})"


@answer_fields("limits=Limits({}=...)")
@attrs.frozen(kw_only=True, repr=False, cache_hash=True)
class Limits:
    """Limits on one document and on a whole walk.

    Reaching a limit never raises: reading stops, or the record is dropped, with an Issue. All that
    came before has been delivered.
    """

    # one document
    raw_bytes: int = _limit(PROTOCOL_MAX_BYTES + 1)
    """Bytes of a body as it comes over the wire. A fetcher that you pass to a walk has its own."""
    inflated_bytes: int = _limit(256 * MIB)
    """Bytes after decompression; some real sitemaps exceed the protocol's 50 MiB."""
    entries: int = _limit(1_000_000)
    """Records of one document; the protocol allows 50,000."""
    gzip_members: int = _limit(1024)
    """Members of one gzip file; aiohttp's limit."""
    # one record
    record_bytes: int = _limit(1 * MIB)
    """Markup of one record; 5,000 alternates of 200 bytes."""
    record_elements: int = _limit(10_000)
    """Elements in one record; Google reads 1,000 images a page."""
    record_depth: int = _limit(32)
    """Nesting in one record; the deepest of the extensions is 4."""
    attributes: int = _limit(256)
    """Attributes of one element; no format has more than 6."""
    field_chars: int = _limit(65_536)
    """Characters of one field; a loc may have 2,047, a video's description 2,048."""
    feedparser_seconds: int = _limit(2)
    """Whole CPU seconds of feedparser for one broken feed; 1 MiB of broken RSS takes 1.7."""
    # one walk
    depth: int = _limit(5)
    """Indexes inside indexes; the protocol allows none."""
    children: int = _limit(50_000)
    """Children of one index; the protocol's number."""
    documents: int = _limit(10_000)
    """Documents fetched by one walk."""
    walk_bytes: int = _limit(10 * 1024 * MIB)
    """Bytes fetched by one walk, as they come over the wire."""
    walk_seconds: float = _limit(24 * 3600)
    """Time of one walk, without that for which its consumer holds it up."""
    feedparser_runs: int = _limit(20)
    """Broken feeds that one walk gives to feedparser, one at a time; none of 70 real feeds
    needed it."""
    max_urls: int | None = attrs.field(default=None, validator=whole_number())
    """Maximum of delivered URLs of a walk, or of each of many sites; `None` for all. With a state,
    the next walk begins where this one stopped."""
    max_time: timedelta | None = attrs.field(default=None, validator=_max_time)
    """Time from the beginning of a walk, or of a run over many sites, without the time for which
    you hold it up; `None` for `walk_seconds`. The entries read until then are delivered."""
    # many sites
    site_seconds: float = _limit(SITE_SECONDS)
    """Time of each of many sites, without the time for which you hold it up (unless you block the
    event loop). The URLs read until then are kept."""
    sites_at_once: int = _limit(64)
    """Number of sites that are read at the same time. Sites of one registrable domain wait for
    each other."""

    __repr__ = _show_changed


FEEDPARSER_MAX_BYTES = 1 * MIB
"""Broken feeds that are larger are not given to feedparser; real feeds are below 1 MiB."""
FRONTIER_BYTES_PER_DOCUMENT = 2_048
"""Memory for the URL of a sitemap that a walk has to remember, on average over
`Limits.documents`: 20 MiB by default. Ordinary ones take 300 bytes."""


ROBOTS_MAX_BYTES = 512_000
"""RFC 9309, section 2.5: at least 500 KiB must be parsed."""
ROBOTS_MAX_SITEMAPS = 1_000
"""Different values of Sitemap lines that are read; the largest real files have hundreds."""
ROBOTS_MAX_LINE_CHARS = 8_192
"""Google's parser cuts a line after 16,664 bytes, eight times the longest URL that it knows."""
ROBOTS_MAX_CRAWL_DELAY_SECONDS = 60.0
"""A longer Crawl-delay is cut to this: one document a minute."""
LONGEST_HELD_WAIT_SECONDS = 60.0
"""Longest wait for a host, by Retry-After, in which a sitemap keeps its worker. A host that
requests a longer one is paused, and its sitemaps wait aside."""


_PROXY = re.compile(
    r"https?://(?:[!-~]*@)?[^\s/?#@\x00-\x20\x7f-\x9f]+/?", re.IGNORECASE
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110, section 5.1."""
_NOT_IN_HEADERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""RFC 9110, section 5.5; a line feed would begin another header."""


PROXIES_OF_ENVIRONMENT = "environment"
"""Value of `FetchOptions.proxy`: use the proxies that the environment names."""


def is_proxy(value: str) -> bool:
    """Return whether a text is the URL of an HTTP proxy."""
    return _PROXY.fullmatch(value) is not None


def _proxy(
    _: object,
    field: attrs.Attribute[str | None],
    value: str | None,
) -> None:
    # SECURITY: the message does not quote the URL, because it may contain a password.
    if value not in (None, PROXIES_OF_ENVIRONMENT) and not is_proxy(str(value)):
        raise ValueError(
            f"`{field.name}` must be the URL of an HTTP proxy, such as "
            f"'http://proxy.example:3128', or {PROXIES_OF_ENVIRONMENT!r}"
        )


def _headers(
    _: object,
    field: attrs.Attribute[dict[str, str]],
    value: dict[str, str],
) -> None:
    is_mapping = isinstance(value, Mapping)
    if not is_mapping or not all(
        isinstance(text, str) for text in chain(*value.items())
    ):
        # SECURITY: the message does not quote it, because it may contain a password.
        raise TypeError(
            f"`{field.name}` must be a dict of texts: "
            f"write {field.name}={{'Accept-Language': 'en'}}"
        )
    for name, text in value.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot be the name of a header: write letters, digits and hyphens"
            )
        # the message does not quote it: it may be a password
        if _NOT_IN_HEADERS.search(text):
            raise ValueError(
                f"the value of the header {name} has control characters: remove them"
            )


def _user_agent(
    _: object,
    field: attrs.Attribute[str],
    value: str,
) -> None:
    if not isinstance(value, str):
        raise TypeError(f"`{field.name}` must be a line of text, got {value!r}")
    if _NOT_IN_HEADERS.search(value) or not value.strip():
        raise ValueError(f"`{field.name}` must be a line of text, got {value!r}")


def _identity(
    _: object,
    field: attrs.Attribute[Identity | None],
    value: object,
) -> None:
    if value is None:
        return
    from sitemapreader._identity import Identity  # noqa: PLC0415 (few callers have one)

    if not isinstance(value, Identity):
        raise TypeError(
            f"`{field.name}` must be an Identity, got {type(value).__name__}"
        )


_SET_BY_IDENTITY = frozenset(
    {"host", "signature", "signature-agent", "signature-input"}
)
"""Headers that a signature consists of or covers."""


@answer_fields("options=FetchOptions({}=...)")
@attrs.frozen(kw_only=True, repr=False)
class FetchOptions:
    """Options of fetching: time limits, throttling, retries and allowed addresses."""

    user_agent: str = attrs.field(
        default=f"sitemapreader/{__version__}", validator=_user_agent
    )
    """Name your crawler, its version and a page about it: "NewsBot/2.1 (+https://...)". With the
    default, a site's owner cannot find out who you are, nor allow your crawler."""
    headers: dict[str, str] = attrs.field(factory=dict, validator=_headers)
    """Sent only to origins that you name; never across a redirect to another origin."""
    identity: Identity | None = attrs.field(default=None, validator=_identity)
    """Signs each https request, so that sites can verify who sent it."""
    proxy: str | None = attrs.field(default=None, validator=_proxy)
    """URL of an HTTP proxy. It resolves names itself, so addresses are not checked behind it. With
    "environment" the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY choose it."""
    map_hosts: Mapping[str, str] | tuple[tuple[str, str], ...] = attrs.field(
        factory=dict
    )
    """Hosts, and the hosts that are requested in their place, such as
    {"https://www.acme.example": "https://staging.acme.example"}. Entries, scope, rules of
    robots.txt, the state and the report have the names of the former. Logins and headers for these
    go to the latter, and to no host that only documents name."""
    # time
    connect_seconds: float = _limit(10)
    """One attempt to connect; a part of `headers_seconds`."""
    headers_seconds: float = _limit(20)
    """Time of one request, from resolving the name to the end of the headers."""
    idle_seconds: float = _limit(20)
    """Longest silence in the middle of a body."""
    total_seconds: float = _limit(300)
    """One document, redirects and body included; not the pauses that its host requests, which only
    the time of a walk ends."""
    min_bytes_per_second: float = _limit(1024)
    """A slower body is given up after `slow_grace_seconds`."""
    slow_grace_seconds: float = _limit(20)
    """Time that a body may be slower than that."""
    # politeness
    concurrency: int = _limit(8)
    """Documents fetched at the same time."""
    per_host: int = _limit(2)
    """Requests to one host at the same time. A port besides 80 and 443 counts as another host."""
    per_address: int = _limit(8)
    """Requests to one address at the same time, however many names lead there."""
    delay_seconds: float = attrs.field(default=0.0, validator=_delay)
    """Least time between two requests to one host; a Crawl-delay in robots.txt raises it."""
    respect_robots: bool = attrs.field(default=True, validator=check_flag)
    """Fetch no child that robots.txt forbids, and try no path that it disallows (none at all if it
    cannot be fetched: RFC 9309, section 2.3.1.4); keep its Crawl-delay. Sitemaps that you or the
    site name are always fetched."""
    max_attempts: int = _limit(3)
    """Requests for one document, if errors are temporary."""
    retry_wait_seconds: float = _limit(1)
    """Pause before the first retry; doubles, with jitter."""
    failures_in_row: int = _limit(5)
    """Refusals (401, 403, 429, a bot protection) or failures to answer in a row after which a walk
    pauses a host. Each attempt counts; any other answer resets the count."""
    host_pause_seconds: float = _limit(10)
    """First such pause; the next ones double. After each, one document is fetched as a trial. Three
    pauses take 70 s, because most servers count requests by the minute."""
    host_trials: int = _limit(3)
    """Failed trials after which the rest of a host's sitemaps is skipped."""
    retry_after_seconds: float = _limit(3600)
    """Longest Retry-After to wait for; with a longer one the document is given up. A walk also
    gives it up if less of its time is left."""
    # allowed addresses
    max_redirects: int = _limit(5)
    """RFC 9309, section 2.3.1.2: "at least five consecutive redirects"."""
    allow_downgrade: bool = False
    """Follow a redirect from https to http."""
    allow_networks: tuple[str, ...] = attrs.field(
        default=(), validator=_tuple_of(str, "('10.0.0.0/8',)")
    )
    """Networks that are not public and may be connected to, such as "10.0.0.0/8"."""
    allow_ports: tuple[int, ...] = attrs.field(
        default=(), validator=_tuple_of(int, "(8080,)")
    )
    """Ports besides 80, 443 and the port of the start URL."""

    def __attrs_post_init__(self) -> None:
        names = {name.lower() for name in self.headers}
        if self.identity is not None and names & _SET_BY_IDENTITY:
            name = min(names & _SET_BY_IDENTITY)
            raise ValueError(
                f"the header {name} is set by `identity`: remove it from `headers`"
            )

    __repr__ = _show_changed


ExtraFormats: TypeAlias = "Iterable[Literal['html'] | Format]"
"""Formats that are read only where the caller asks for them."""
_EXTRA_FORMATS = (Format.HTML,)


def check_formats(names: ExtraFormats) -> frozenset[Format]:
    """Return extra formats by their names; raise TypeError or ValueError."""
    if names == ():  # as nearly always
        return frozenset()
    if isinstance(names, str):
        raise TypeError(
            f"extra_formats must be a set: write {{{names!r}}}, not {names!r}"
        )
    formats: frozenset[str] = frozenset(names)
    if unknown := formats.difference(_EXTRA_FORMATS):
        raise ValueError(
            f"extra_formats must be one of {', '.join(_EXTRA_FORMATS)}, got {min(unknown)!r}; "
            "all other formats are always read"
        )
    return frozenset(map(Format, formats))
