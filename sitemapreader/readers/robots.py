"""robots.txt: its Sitemap lines, and its rules (RFC 9309).

The rules are protego's to judge; everything before that is ours, for protego takes text, trusts
what `str.splitlines` calls a line, copies every rule for every robot that its group names, and
lets errors of others through. Nothing here fetches.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import attrs

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.options import (
    ROBOTS_MAX_BYTES,
    ROBOTS_MAX_CRAWL_DELAY_SECONDS,
    ROBOTS_MAX_SITEMAPS,
)
from sitemapreader.readers.locs import find_url_error
from sitemapreader.readers.stats import ReadStats
from sitemapreader.urls import has_web_scheme, resolve, url_key

if TYPE_CHECKING:
    from protego import Protego

    from sitemapreader.models import Event

MAX_LINE_CHARS = 8_192
"""A longer line is dropped, for what is cut off a URL or a rule changes its meaning."""

# SECURITY: str.splitlines() breaks a line at some of these, so a comment could smuggle in a rule;
# the other control characters have no place in a line either
_HOSTILE = dict.fromkeys(
    [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, 0x85, 0x2028, 0x2029], " "
)
_LONG_LINE = re.compile(rf"^.{{{MAX_LINE_CHARS},}}", re.MULTILINE)
_SITEMAP_LINE = re.compile(
    r"^[ \t]*site-?maps?(?:[ \t]*:|[ \t]+)([^\n#]*)", re.ASCII | re.IGNORECASE | re.MULTILINE
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE)
# As generous as protego: a line that only it took for one would keep its name, and escape `rename`
_AGENT_LINE = re.compile(
    r"^([^\S\n]*user(?:-|[^\S\n]+)?agent(?:[^\S\n]*:|[^\S\n]))([^\n#]*)",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"[\w-]+", re.ASCII)
_US, _OTHERS = "us", "others"
_ADDRESS = re.compile(r"\+?https?://[^\s;)]*", re.ASCII | re.IGNORECASE)
_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# How a page, gzip, PDF and zip begin; NUL, which is looked for as well, stands in no UTF-8 text
_NOT_TEXT = (b"<", b"\x1f\x8b", b"%PDF", b"PK\x03\x04")
_SNIFFED_BYTES = 1_024


class SitemapLine(NamedTuple):
    """One Sitemap line: its number, from 1, and the URL, absolute."""

    line: int
    url: str


@attrs.frozen(eq=False)
class Robots:
    """What a robots.txt says; the default says nothing, and allows all.

    Attributes:
        url: where it came from, after redirects.
        sitemaps: what it lists, in order, each once.
        issues: what was wrong with it; the first 10 of a code.
        counts: how many Issues of each code there were.
        complete: False where it could not be fetched, or not to its end. RFC 9309, section 2.3.1.4
            then forbids all that nobody named; whoever walks decides what that is.
    """

    url: str = ""
    sitemaps: tuple[SitemapLine, ...] = ()
    issues: tuple[Issue, ...] = ()
    counts: Counter[IssueCode] = attrs.field(factory=Counter)
    complete: bool = True
    _keys: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    _text: str = attrs.field(default="", repr=False)
    _rules: dict[str, Protego | None] = attrs.field(factory=dict, init=False, repr=False)

    def allows(self, url: str, agent: str) -> bool:
        """Tell whether the rules let the robot `agent` (a User-Agent header) fetch `url`.

        A URL that cannot be parsed is not allowed: nobody could fetch it.
        """
        rules = self._rules_for(agent)
        try:
            return rules is None or bool(rules.can_fetch(url, _US))
        except ValueError:  # brackets that are no IPv6 address; surrogates
            return False

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds that `agent` is asked to wait between requests, at most 60."""
        rules = self._rules_for(agent)
        delay = None if rules is None else rules.crawl_delay(_US)
        return None if delay is None else min(float(delay), ROBOTS_MAX_CRAWL_DELAY_SECONDS)

    def lists(self, url: str) -> bool:
        """Tell whether one of the Sitemap lines names `url`."""
        return url_key(url) in self._keys

    def _rules_for(self, agent: str) -> Protego | None:
        if agent not in self._rules:
            self._rules.clear()  # one robot asks; its rules take twenty times the room of the text
            self._rules[agent] = _parse_rules(self._text, agent) if self._text else None
        return self._rules[agent]


def parse_robots(data: bytes, url: str = "", *, complete: bool = True) -> Robots:
    """Read a robots.txt of which `data` is all, or with `complete=False` the beginning.

    Of a file that is longer than 512,000 bytes (RFC 9309, section 2.5) only those are read. A last
    line that is not whole is not read. `url` is the address after redirects, against which relative
    values are resolved. Never raises.
    """
    found = _SitemapLines(url)
    text = _decode(data[:ROBOTS_MAX_BYTES])
    if text is None:
        found.note(IssueCode.ROBOTS_NOT_TEXT)
        return found.robots("", complete=complete)
    if len(data) > ROBOTS_MAX_BYTES:
        found.note(IssueCode.ROBOTS_TOO_LARGE)
    if len(data) > ROBOTS_MAX_BYTES or not complete:
        text = text[: text.rfind("\n") + 1]
    text = _LONG_LINE.sub(found.drop_line, text)
    line, position = 1, 0
    for match in _SITEMAP_LINE.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        found.add(line, match[1].strip())
    return found.robots(text, complete=complete)


def _decode(data: bytes) -> str | None:
    """Return the text with its line ends, and no other line ends; None for what is not text."""
    encoding = _BOMS.get(data[:2])
    if encoding is None:
        data = data.removeprefix(codecs.BOM_UTF8)
        head = data[:_SNIFFED_BYTES]
        if b"\0" in head or head.lstrip().startswith(_NOT_TEXT):
            return None
    else:
        data = data[2:]
    text = data.decode(encoding or "utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_HOSTILE)


def load_rules_parser() -> None:
    """Import what parses rules: 2 ms, well spent while the first robots.txt is on its way."""
    import protego  # noqa: F401, PLC0415 (many runs read no robots.txt)


def _parse_rules(text: str, agent: str) -> Protego | None:
    """Parse the rules, with all groups but the ones for `agent` under one name.

    The groups of the longest of the agent's names that the file knows apply, else those for `*`
    (RFC 9309, section 2.2.1).
    """
    from protego import Protego  # noqa: PLC0415 (many runs read no robots.txt)

    named = {_token_of(match[2]) for match in _AGENT_LINE.finditer(text)}
    ours = max(named & _names_of(agent), key=len, default="*")

    def rename(match: re.Match[str]) -> str:
        return f"User-agent: {_US if _token_of(match[2]) == ours else _OTHERS}"

    try:
        return Protego.parse(_AGENT_LINE.sub(rename, text))
    except ValueError:  # none is known to come, for there are no surrogates in decoded text
        return None


def _token_of(value: str) -> str:
    """Return the product token of a User-agent line, in lower case; `*` stands for all."""
    match = _WORD.match(value.strip(" \t*"))
    return match[0].lower() if match else "*"


@lru_cache(maxsize=64)
def _names_of(agent: str) -> frozenset[str]:
    """Return the words of a User-Agent header, without those of addresses."""
    return frozenset(_WORD.findall(_ADDRESS.sub("", agent).lower()))


class _SitemapLines:
    """The Sitemap lines of one file, as they are found."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stats = ReadStats(url)
        self._events: list[Event] = []
        self._sitemaps: dict[str, SitemapLine] = {}
        self._beyond = 0

    def note(self, code: IssueCode, line: int | None = None, value: str | None = None) -> None:
        self._stats.note(self._events, code, line=line, value=value)

    def drop_line(self, match: re.Match[str]) -> str:
        line = match.string.count("\n", 0, match.start()) + 1
        self.note(IssueCode.FIELD_TOO_LONG, line, match[0])
        return ""

    def add(self, line: int, value: str) -> None:
        if len(self._sitemaps) >= ROBOTS_MAX_SITEMAPS:
            self._beyond += 1
            return
        url = self._absolute(line, value) if value else None
        if url is None:
            return
        key = url_key(url)
        if key == url_key(self._url):
            self.note(IssueCode.CYCLE, line, value)
        else:
            self._sitemaps.setdefault(key, SitemapLine(line, url))

    def _absolute(self, line: int, value: str) -> str | None:
        if has_web_scheme(value):
            url, code = value, None
        elif _SCHEME.match(value):
            url, code = None, IssueCode.UNSUPPORTED_SCHEME
        else:
            url = resolve(self._url, value)
            code = IssueCode.INVALID_URL if url is None else IssueCode.RELATIVE_LOC
        if fault := find_url_error(value):
            url = None
            code = fault if fault is IssueCode.TEMPLATE else IssueCode.INVALID_URL
        elif " " in value or "\t" in value:
            self.note(IssueCode.URL_CHARACTERS, line, value)
        if code is not None:
            self.note(code, line, value)
        return url

    def robots(self, text: str, *, complete: bool) -> Robots:
        if self._beyond:
            said = f"{self._beyond} Sitemap lines past the first {ROBOTS_MAX_SITEMAPS}"
            self.note(IssueCode.ROBOTS_TOO_LARGE, value=said)
        return Robots(
            url=self._url,
            sitemaps=tuple(self._sitemaps.values()),
            issues=tuple(event for event in self._events if isinstance(event, Issue)),
            counts=self._stats.counts,
            complete=complete,
            keys=frozenset(self._sitemaps),
            text=text,
        )
