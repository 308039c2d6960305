"""The parser of robots.txt (RFC 9309): sitemaps, groups and other lines."""

# protego could parse a file as well. But it takes text, not bytes, trusts what `str.splitlines`
# calls a line, and copies every rule for every robot that the group names. So it gets rules only.

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from enum import Enum, auto
from typing import TYPE_CHECKING

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.options import (
    ROBOTS_MAX_BYTES,
    ROBOTS_MAX_LINE_CHARS,
    ROBOTS_MAX_OTHER_LINES,
    ROBOTS_MAX_SITEMAPS,
)
from sitemapreader.readers.lines import split_line
from sitemapreader.readers.robots.rules import Group, OtherLine, Robots
from sitemapreader.readers.stats import ReadStats
from sitemapreader.urls import find_url_error, has_web_scheme, resolve, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event

# SECURITY: str.splitlines() breaks a line at some of these, so a comment could smuggle in a rule.
# The other control characters have no place in a line either.
_CONTROL_CHARACTERS = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE)
_OTHER_NAME = re.compile(r"[A-Za-z][\w -]{0,63}", re.ASCII)
_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# How a page, gzip, PDF and zip begin. `_decode` looks for NUL as well: no UTF-8 text holds it.
_NOT_TEXT = (b"<", b"\x1f\x8b", b"%PDF", b"PK\x03\x04")
_SNIFFED_BYTES = 1_024


class _Field(Enum):
    """The fields that the parser knows, however they are spelled."""

    AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    DELAY = auto()
    SITEMAP = auto()
    HOST = auto()


# As generous as protego, and as Google's parser, which accepts these misspellings.
_FIELDS = {
    "user-agent": _Field.AGENT,
    "useragent": _Field.AGENT,
    "user agent": _Field.AGENT,
    "allow": _Field.ALLOW,
    "disallow": _Field.DISALLOW,
    "dissallow": _Field.DISALLOW,
    "dissalow": _Field.DISALLOW,
    "disalow": _Field.DISALLOW,
    "diasllow": _Field.DISALLOW,
    "disallaw": _Field.DISALLOW,
    "crawl-delay": _Field.DELAY,
    "crawl delay": _Field.DELAY,
    "sitemap": _Field.SITEMAP,
    "sitemaps": _Field.SITEMAP,
    "site-map": _Field.SITEMAP,
    "site-maps": _Field.SITEMAP,
    "host": _Field.HOST,
}


_OTHER_FIELDS = frozenset(
    {"clean-param", "content-signal", "content-usage", "license", "noindex", "request-rate"}
)
"""Fields without a rule or a sitemap, by which a robots.txt is known as well."""


def parse_robots(data: bytes, url: str = "", *, complete: bool = True) -> Robots:
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
            f"data must be bytes, not {type(data).__name__}: pass the body as received; "
            "its encoding is detected"
        )
    parser = _RobotsParser(url)
    text = _decode(data[:ROBOTS_MAX_BYTES])
    if text is None:
        parser.add_issue(IssueCode.ROBOTS_NOT_TEXT)
        return parser.finish(complete=complete)
    if len(data) > ROBOTS_MAX_BYTES:
        parser.add_issue(IssueCode.ROBOTS_TOO_LARGE)
    if len(data) > ROBOTS_MAX_BYTES or not complete:
        text = text[: text.rfind("\n") + 1]
    for number, line in enumerate(text.split("\n"), 1):
        parser.read_line(number, line)
    if parser.is_other_text:
        parser = _RobotsParser(url)
        parser.add_issue(IssueCode.ROBOTS_NOT_TEXT)
    return parser.finish(complete=complete)


def _decode(data: bytes) -> str | None:
    """Return the text, its line ends all line feeds; `None` if the body is not text."""
    encoding = _BOMS.get(data[:2])
    if encoding is None:
        data = data.removeprefix(codecs.BOM_UTF8)
        head = data[:_SNIFFED_BYTES]
        if b"\0" in head or head.lstrip().startswith(_NOT_TEXT):
            return None
    else:
        data = data[2:]
    text = data.decode(encoding or "utf-8", "replace")
    return _CONTROL_CHARACTERS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _split_line(line: str) -> tuple[str, str] | None:
    """Split a line into name and value: at the colon, or behind a known name.

    Like protego, this reads `Disallow /x` and `User agent x` too.
    """
    name, colon, value = line.partition(":")
    name = name.strip()
    if colon and (name.lower() in _FIELDS or not value or value[0].isspace()):
        return name, value.strip()
    words = line.split(None, 2)
    for count in (1, 2):
        if " ".join(words[:count]).lower() in _FIELDS:
            return " ".join(words[:count]), " ".join(words[count:])
    return (name, value.strip()) if colon else None


class _RobotsParser:
    """Parser of one file, line by line.

    Attributes:
        is_other_text: whether there are lines, and none of a robots.txt: JSON, or an error message.
    """

    def __init__(self, url: str) -> None:
        self.is_other_text = False
        self._has_field = False
        self._url = url
        self._stats = ReadStats(url)
        self._events: list[Event] = []
        self._groups: list[Group] = []
        self._names_agents = False
        self._sitemaps: dict[str, SitemapEntry] = {}
        self._sitemap_values: set[str] = set()
        self._others: list[tuple[Group | None, str, str, int]] = []
        self._surplus: Counter[str] = Counter()

    def add_issue(self, code: IssueCode, line: int | None = None, value: str | None = None) -> None:
        self._stats.add_issue(self._events, code, line=line, value=value)

    def read_line(self, number: int, line: str) -> None:
        """Read one line without its comment."""
        line = line.partition("#")[0].strip()
        if not line:
            return
        is_cut = len(line) >= ROBOTS_MAX_LINE_CHARS
        if is_cut:
            self.add_issue(IssueCode.FIELD_TOO_LONG, number, line)
            line = line[:ROBOTS_MAX_LINE_CHARS]
        found = _split_line(line)
        name, value = found or ("", "")
        field = _FIELDS.get(name.lower())
        self._has_field |= field is not None or name.lower() in _OTHER_FIELDS
        self.is_other_text = not self._has_field
        if found is None:
            return
        if is_cut:
            # A value that is cut means something else. But the beginning of a Disallow forbids all
            # that the whole would, so it is kept: nothing forbidden becomes allowed.
            if field is not _Field.DISALLOW:
                return
            value = (value.rpartition("%")[0] or value).rstrip("$")
        self._add_line(field, name, value, number)

    def _add_line(self, field: _Field | None, name: str, value: str, number: int) -> None:
        if field is _Field.SITEMAP:
            urls = split_line(value)
            if urls != [value]:
                self.add_issue(IssueCode.UNTIDY_LINE, number, value)
            for url in urls:
                self._add_sitemap(number, url)
            return
        if field is _Field.AGENT:
            if not self._names_agents:
                self._groups.append(Group())
            self._names_agents = True
            self._groups[-1].agents.append(value)
            return
        is_rule = field not in (None, _Field.HOST)
        self._names_agents = self._names_agents and not is_rule
        group = self._groups[-1] if self._groups else None
        if not is_rule:
            self._add_other(group, name, value, number)
        elif group is None or not value:
            return  # a rule before the first User-agent line, or without a path
        elif field is _Field.DELAY:
            group.delay = _parse_delay(value, group.delay)
        else:
            group.rules.append((field is _Field.ALLOW, value))

    def _add_other(self, group: Group | None, name: str, value: str, number: int) -> None:
        if not _OTHER_NAME.fullmatch(name) or has_web_scheme(f"{name}:{value}"):
            return
        if len(self._others) < ROBOTS_MAX_OTHER_LINES:
            self._others.append((group, name, value, number))
        else:
            self._surplus[f"lines without rules past the first {ROBOTS_MAX_OTHER_LINES}"] += 1

    def _add_sitemap(self, line: int, value: str) -> None:
        if not value or value in self._sitemap_values:
            return
        if len(self._sitemap_values) >= ROBOTS_MAX_SITEMAPS:
            self._surplus[f"Sitemap lines past the first {ROBOTS_MAX_SITEMAPS}"] += 1
            return
        self._sitemap_values.add(value)
        url = self._resolve_sitemap(line, value)
        if url is None:
            return
        key = url_key(url)
        if key == url_key(self._url):
            self.add_issue(IssueCode.CYCLE, line, value)
        else:
            entry = SitemapEntry(url, via=Via.ROBOTS, sitemap=self._url)
            self._sitemaps.setdefault(key, entry)

    def _resolve_sitemap(self, line: int, value: str) -> str | None:
        if has_web_scheme(value):
            url, code = value, None
        elif _SCHEME.match(value):
            url, code = None, IssueCode.UNSUPPORTED_SCHEME
        else:
            url = resolve(self._url, value)
            code = IssueCode.INVALID_URL if url is None else IssueCode.RELATIVE_LOC
        if error := find_url_error(value):
            url = None
            code = error if error is IssueCode.TEMPLATE else IssueCode.INVALID_URL
        elif " " in value or "\t" in value:
            self.add_issue(IssueCode.URL_CHARACTERS, line, value)
        if code is not None:
            self.add_issue(code, line, value)
        return url

    def finish(self, *, complete: bool) -> Robots:
        for kind, number in self._surplus.items():
            self.add_issue(IssueCode.ROBOTS_TOO_LARGE, value=f"{number} {kind}")
        return Robots(
            url=self._url,
            sitemaps=tuple(self._sitemaps.values()),
            other_lines=tuple(self._list_others()),
            issues=tuple(event for event in self._events if isinstance(event, Issue)),
            counts=self._stats.counts,
            complete=complete,
            keys=frozenset(self._sitemaps),
            groups=tuple(self._groups),
        )

    def _list_others(self) -> Iterator[OtherLine]:
        # A group may name thousands of agents, so its lines share one tuple.
        agents: dict[int, tuple[str, ...]] = {}
        for group, name, value, number in self._others:
            if group is not None and id(group) not in agents:
                agents[id(group)] = tuple(group.agents)
            yield OtherLine(agents[id(group)] if group else (), name, value, number)


def _parse_delay(text: str, default: float | None) -> float | None:
    """Return the seconds of a Crawl-delay; `default` if they are not a number >= 0."""
    try:
        delay = float(text)
    except ValueError:
        return default
    return delay if math.isfinite(delay) and delay >= 0 else default
