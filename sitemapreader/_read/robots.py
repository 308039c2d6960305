"""robots.txt (RFC 9309): bytes in, a `Robots` out.

The parser finds the lines of each group. `robots_matcher` judges URLs by those of one robot, and
protego reads its Crawl-delay, which is no part of the RFC.
"""

# protego could parse a file as well. But it takes text, not bytes, trusts what `str.splitlines`
# calls a line, finds names inside of others, and copies every rule for every robot that the group
# names.

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

import attrs

from sitemapreader._bytes.lines import split_lines
from sitemapreader._read.html import decode_page
from sitemapreader._read.robots_matcher import RuleMatcher, normalize_url
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.text import split_line
from sitemapreader._read.usage import (
    choose_lines,
    combine_usages,
    parse_signals,
    parse_usage,
)
from sitemapreader._types.issues import Issue, IssueCode, without_userinfo
from sitemapreader._types.models import Event, SitemapEntry, Via
from sitemapreader._types.options import (
    MAX_URL_CHARS,
    ROBOTS_MAX_BYTES,
    ROBOTS_MAX_CRAWL_DELAY_SECONDS,
    ROBOTS_MAX_LINE_CHARS,
    ROBOTS_MAX_SITEMAPS,
)
from sitemapreader._types.urls import read_loc, trim, url_key

_RULES = ("allow", "disallow")
_PRODUCT_TOKEN = re.compile(r"[\w-]+", re.ASCII)
_ADDRESS = re.compile(r"\+?https?://[^\s;)]*", re.ASCII | re.IGNORECASE)
_NOT_LITERAL = re.compile(r"\*|%[0-9A-Fa-f]{2}|%|[^\x21-\x7e]+")
"""Characters that a path may write in another way than the URLs that it matches."""
_AGENT = "us"
"""The name that protego knows our robot by."""
_ALWAYS_ALLOWED = ("/robots.txt$", "/robots.txt?")
"""RFC 9309, section 2.2.2: "The /robots.txt URI is implicitly allowed"."""


class _AgentLines:
    """The lines for one robot: fields and values."""

    def __init__(self, lines: list[tuple[str, str]]) -> None:
        self.delays = [value for field, value in lines if field == "crawl-delay"]
        self.rules = [line for line in lines if line[0] in _RULES]
        self.usages = [value for field, value in lines if field == "content-usage"]
        self.signals = [value for field, value in lines if field == "content-signal"]

    @cached_property
    def matcher(self) -> RuleMatcher:
        return RuleMatcher(self.rules)


@attrs.frozen(eq=False)
class Robots:
    """The content of a robots.txt; the default is empty and allows everything.

    Attributes:
        url: its address after redirects.
        sitemaps: the sitemaps that it lists, in order, without duplicates.
        issues: the first 10 Issues of each code.
        counts: the number of Issues of each code.
        complete: False if it could not be fetched to its end. RFC 9309, section 2.3.1.4 then
            forbids every URL; the walk decides which ones it fetches all the same.
    """

    url: str = ""
    sitemaps: tuple[SitemapEntry, ...] = ()
    issues: tuple[Issue, ...] = ()
    counts: Counter[IssueCode] = attrs.field(factory=Counter)
    complete: bool = True
    _keys: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    # A file may have 30,000 lines: the field, and its value; of a User-agent, its token. Python's
    # garbage collector passes over plain tuples; objects of classes would hold the event loop up.
    _lines: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    _known: dict[str, _AgentLines] = attrs.field(factory=dict, init=False, repr=False)

    def can_fetch(self, url: str, agent: str) -> bool:
        """Return whether the rules let `agent` (a User-Agent header) fetch `url`.

        A URL that cannot be parsed, or takes too much work to judge, is not allowed;
        `find_refusal` gives the reason.
        """
        return self.find_refusal(url, agent) is None

    def find_refusal(self, url: str, agent: str) -> IssueCode | None:
        """Return why the rules do not let `agent` fetch `url`; `None` if they do."""
        ours = self._lines_for(agent)
        if not ours.rules:
            return None
        try:
            # before its escapes are read, which makes it shorter
            if len(url) <= MAX_URL_CHARS:
                path = normalize_url(url)
            else:
                path = ""
        except ValueError:  # brackets that are not an IPv6 address; surrogates
            return IssueCode.ROBOTS_DISALLOWED
        if not path or len(path) > MAX_URL_CHARS:
            return IssueCode.ROBOTS_TOO_COMPLEX
        if path.startswith(_ALWAYS_ALLOWED):
            return None
        return ours.matcher.find_refusal(path)

    def list_disallowed_pieces(self, agent: str) -> list[str]:
        """Return texts; each URL that `agent` may not fetch has one of them.

        That holds for URLs without a `%` and control characters. Where many URLs are to be judged,
        a search for these texts leaves few.
        """
        paths = {
            path for field, path in self._lines_for(agent).rules if field == "disallow"
        }
        pieces = (_NOT_LITERAL.split(path.rstrip("$")) for path in paths)
        return sorted({max(parts, key=len) for parts in pieces})

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds that `agent` should wait between requests, at most 60."""
        delays = self._lines_for(agent).delays
        if not delays:
            return None
        from protego import Protego  # noqa: PLC0415 (most files have no Crawl-delay)

        lines = [
            f"user-agent: {_AGENT}",
            *(f"crawl-delay: {value}" for value in delays),
        ]
        delay = Protego.parse("\n".join(lines)).crawl_delay(_AGENT)
        if delay is None:
            return None
        return min(delay, ROBOTS_MAX_CRAWL_DELAY_SECONDS)

    def usage(self, url: str, agent: str) -> dict[str, bool]:
        """Return the Content-Usage for `agent` and `url`: label -> whether it is wanted.

        Labels are "search" and "train-ai"; one that is missing is not said. The longest path that
        matches decides alone. A URL that is disallowed has no preference. Combine the result with
        `usage_of` of the response's headers: a refusal in either counts.
        """
        lines = self._choose_lines(self._lines_for(agent).usages, url, agent)
        return combine_usages(map(parse_usage, lines))

    def signals(self, url: str, agent: str) -> dict[str, str]:
        """Return the Content-Signal for `agent` and `url`, such as {"search": "yes"}.

        https://contentsignals.org/: a signal that is missing is neither granted nor refused.
        """
        signals: dict[str, str] = {}
        for line in self._choose_lines(self._lines_for(agent).signals, url, agent):
            signals |= parse_signals(line)
        return signals

    def _choose_lines(
        self,
        values: list[str],
        url: str,
        agent: str,
    ) -> list[str]:
        if not values or self.find_refusal(url, agent) is not None:
            return []
        try:
            return choose_lines(values, normalize_url(url))
        except ValueError:  # brackets that are not an IPv6 address; surrogates
            return []

    def lists(self, url: str) -> bool:
        """Return whether a Sitemap line names `url`."""
        return url_key(url) in self._keys

    def _lines_for(self, agent: str) -> _AgentLines:
        """Return the lines for the longest of the agent's names in the file, else for `*`.

        Groups of one name are merged (RFC 9309, section 2.2.1).
        """
        if agent in self._known:
            return self._known[agent]
        known = {value for field, value in self._lines if field == "user-agent"}
        ours = max(
            _names_of(agent) & known, key=lambda name: (len(name), name), default="*"
        )
        found = []
        is_ours = False
        last = ""
        for field, value in self._lines:
            if field == "user-agent":
                is_ours = value == ours or (is_ours and last == field)
            elif is_ours and value:
                found.append((field, value))
            last = field
        self._known[agent] = _AgentLines(found)
        return self._known[agent]


def _token_of(value: str) -> str:
    """Return the product token of a User-agent value in lower case, `*`, or ""."""
    if value.split()[:1] == ["*"]:
        return "*"
    match = _PRODUCT_TOKEN.match(value.strip("*"))
    return match[0].lower() if match else ""


def _names_of(agent: str) -> set[str]:
    """Return the words of a User-Agent header, without the words of URLs in it."""
    return set(_PRODUCT_TOKEN.findall(_ADDRESS.sub("", agent).lower()))


# SECURITY: str.splitlines() breaks a line at some of these, so a comment could smuggle in a rule.
# The other control characters have no place in a line either.
_CONTROL_CHARACTERS = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
# How a page, gzip, PDF and zip begin. `_decode_line` looks for NUL as well, which no text holds.
_NOT_TEXT = ("<", "\x1f", "%PDF", "PK\x03\x04")
_SNIFFED_CHARS = 1_024

_FIELD_NAMES = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "user-agent"),
    "allow": "allow",
    **dict.fromkeys(
        ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
        "disallow",
    ),
    **dict.fromkeys(("crawl-delay", "crawl delay"), "crawl-delay"),
    **dict.fromkeys(("sitemap", "sitemaps", "site-map", "site-maps"), "sitemap"),
    "content-signal": "content-signal",
    "content-usage": "content-usage",
}
"""As generous as protego, and as Google's parser, which accepts these misspellings."""
_FIELD = re.compile(
    rf"({'|'.join(_FIELD_NAMES)})(?:\s*+:|\s|\Z)\s*+(.*)", re.IGNORECASE
)
"""A known name, and a value; the colon may be missing."""
_OTHER_FIELDS = frozenset(("clean-param", "host", "license", "noindex", "request-rate"))
"""Fields without a rule or a sitemap, by which a robots.txt is known as well."""


def parse_robots(
    data: bytes,
    url: str = "",
    *,
    complete: bool = True,
) -> Robots:
    """Parse a robots.txt; content never raises.

    Args:
        data: the body. The first 512,000 bytes are read (RFC 9309, section 2.5), without a last
            line that is cut.
        url: the address after redirects, against which relative values are resolved.
        complete: False if `data` is the beginning only.

    Raises:
        TypeError: for `data` that is not bytes.
    """
    if not isinstance(data, bytes):
        raise TypeError(
            f"data must be bytes, got {type(data).__name__}: pass the body as received; "
            "its encoding is detected"
        )
    parser = _RobotsParser(url)
    text = _decode_line(data[:ROBOTS_MAX_BYTES])
    is_cut = len(data) > ROBOTS_MAX_BYTES
    if text is not None and (is_cut or not complete):
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    for number, line in enumerate(split_lines(text or ""), 1):
        parser.read_line(number, trim(line.partition("#")[0]))
    if text is None or parser.is_robots is False:
        parser = _RobotsParser(url)
        parser.add_issue(IssueCode.ROBOTS_NOT_TEXT)
    elif is_cut:
        parser.add_issue(IssueCode.ROBOTS_TOO_LARGE)
    return parser.finish(complete=complete)


def _decode_line(data: bytes) -> str | None:
    """Return the text, without control characters; `None` if the body is not text."""
    text = decode_page(data, "utf-8")
    head = text[:_SNIFFED_CHARS]
    if (
        (data and not text)
        or "\0" in head
        or head.lstrip(" \t\r\n").startswith(_NOT_TEXT)
    ):
        return None
    return _CONTROL_CHARACTERS.sub(" ", text)


class _RobotsParser:
    """Parser of one file, line by line."""

    def __init__(self, url: str) -> None:
        self.is_robots: bool | None = None
        """True if a line is one of a robots.txt, not of JSON or an error message; `None` without
        lines."""
        self._url = url
        self._stats = ReadStats(url)
        self._events: list[Event] = []
        self._lines: list[tuple[str, str]] = []
        self._sitemaps: dict[str, SitemapEntry] = {}
        self._values: set[str] = set()
        self._surplus = 0
        """Sitemaps that are not taken, because there are too many."""

    def add_issue(
        self,
        code: IssueCode,
        line: int | None = None,
        value: str | None = None,
    ) -> None:
        self._stats.add_issue(self._events, code, line=line, value=value)

    def read_line(self, number: int, line: str) -> None:
        """Read one line that has lost its comment."""
        if not line:
            return
        if is_cut := len(line) >= ROBOTS_MAX_LINE_CHARS:
            self.add_issue(IssueCode.FIELD_TOO_LONG, number, line)
            line = line[:ROBOTS_MAX_LINE_CHARS]
        match = _FIELD.match(line)
        name = line.partition(":")[0].strip().lower()
        self.is_robots = self.is_robots or match is not None or name in _OTHER_FIELDS
        field = _FIELD_NAMES[match[1].lower()] if match else ""
        value = trim(match[2]) if match else ""
        if is_cut:
            # A value that is cut means something else. But the beginning of a Disallow forbids all
            # that the whole would, so it is kept: nothing forbidden becomes allowed. The field of
            # another line still begins or ends a group.
            if field == "disallow":
                value = (value.rpartition("%")[0] or value).rstrip("$")
            else:
                value = ""
        if field == "sitemap":
            self._add_sitemaps(number, value)
        elif field:
            self._lines.append(
                (field, _token_of(value) if field == "user-agent" else value)
            )

    def _add_sitemaps(self, line: int, text: str) -> None:
        values = split_line(text)
        if not values:
            self.add_issue(IssueCode.INVALID_URL, line, text)
        elif values != [text]:
            self.add_issue(IssueCode.UNTIDY_LINE, line, text)
        for value in filter(None, values):
            if value not in self._values and len(self._values) == ROBOTS_MAX_SITEMAPS:
                self._surplus += 1
            elif value not in self._values:
                self._values.add(value)
                self._add_sitemap(line, value)

    def _add_sitemap(self, line: int, value: str) -> None:
        written, codes = read_loc(value, self._url)
        codes = [
            IssueCode.INVALID_URL if one is IssueCode.MALFORMED else one
            for one in codes
        ]
        url = without_userinfo(written)
        if url != written:
            codes.append(IssueCode.USERINFO_REMOVED)
        if url and url_key(url) == url_key(self._url):
            codes.append(IssueCode.CYCLE)
        elif url:
            entry = SitemapEntry(url, via=Via.ROBOTS, sitemap=self._url)
            self._sitemaps.setdefault(url_key(url), entry)
        for code in codes:
            self.add_issue(code, line, value)

    def finish(self, *, complete: bool) -> Robots:
        if self._surplus:
            value = (
                f"{self._surplus} Sitemap lines past the first {ROBOTS_MAX_SITEMAPS}"
            )
            self.add_issue(IssueCode.ROBOTS_TOO_LARGE, value=value)
        return Robots(
            url=self._url,
            sitemaps=tuple(self._sitemaps.values()),
            issues=tuple(event for event in self._events if isinstance(event, Issue)),
            counts=self._stats.counts,
            complete=complete,
            keys=frozenset(self._sitemaps),
            lines=tuple(self._lines),
        )
