"""robots.txt (RFC 9309): bytes in, a `Robots` out.

The parser reads sitemaps, groups and other lines. protego judges the rules, unless they have more
wildcards than it can match in bounded time.
"""

# protego could parse a file as well. But it takes text, not bytes, trusts what `str.splitlines`
# calls a line, and copies every rule for every robot that the group names. So it gets rules only.

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import attrs

from sitemapreader.issues import Issue, IssueCode, without_userinfo
from sitemapreader.models import Event, SitemapEntry, Via
from sitemapreader.options import (
    MAX_URL_CHARS,
    ROBOTS_MAX_BYTES,
    ROBOTS_MAX_CRAWL_DELAY_SECONDS,
    ROBOTS_MAX_LINE_CHARS,
    ROBOTS_MAX_OTHER_LINES,
    ROBOTS_MAX_SITEMAPS,
)
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.text import split_line
from sitemapreader.urls import find_url_error, has_web_scheme, resolve, url_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protego import Protego


_MOST_WORK = 5_000_000
"""Nanoseconds that wildcards may take for one URL; the event loop waits for them."""
_PRODUCT_TOKEN = re.compile(r"[\w-]+", re.ASCII)
_ADDRESS = re.compile(r"\+?https?://[^\s;)]*", re.ASCII | re.IGNORECASE)
_NOT_LITERAL = re.compile(r"\*|%[0-9A-Fa-f]{2}|%|[^\x21-\x7e]+")
"""What a path may write in another way than the URLs that it matches."""
_STARS = re.compile(r"\*{2,}")
_AGENT = "us"
"""The name that protego knows our robot by: it gets the rules of one group only."""
_MAX_COMPILED_GROUPS = 4
"""Few agents ask, and compiled rules are large."""


class OtherLine(NamedTuple):
    """A line that is neither a rule nor a Sitemap line, such as Content-Signal.

    Attributes:
        group: the User-agent values of its group; empty before the first group.
        name: the text before the colon, as written.
        value: the text behind the colon, without a comment.
        line: the number of the line, from 1.
    """

    group: tuple[str, ...]
    name: str
    value: str
    line: int


@attrs.define(eq=False)
class Group:
    """A group as written: its User-agent lines, rules and Crawl-delay."""

    agents: list[str] = attrs.field(factory=list)
    # A file may have 30,000 rules: whether each is Allow, and its path. Python's garbage collector
    # passes over plain tuples; with objects of classes it would hold the event loop for 20 ms.
    rules: list[tuple[bool, str]] = attrs.field(factory=list)
    delay: float | None = None

    def add_line(self, field: str, value: str) -> None:
        """Add a rule, or a Crawl-delay if it is a number of seconds."""
        if field != "crawl-delay":
            self.rules.append((field == "allow", value))
            return
        with suppress(ValueError):
            if math.isfinite(delay := float(value)) and delay >= 0:
                self.delay = delay


class _GroupRules:
    """The rules that apply to one robot; each method as in `Robots`."""

    def __init__(self, rules: Sequence[tuple[bool, str]], delay: float | None) -> None:
        self.delay = delay
        self._rules = rules
        # protego takes some stars in a row for one. And it reads `$` as the end of the URL and as a
        # character, which makes two rules of one.
        paths = [_STARS.sub("*", path) for _, path in rules if "*" in path]
        wild = paths + [path for path in paths if "$" in path]
        self._stars = sum(path.count("*") for path in wild)
        self._chars = sum(map(len, wild))

    def list_disallowed_pieces(self) -> list[str]:
        paths = {path for allow, path in self._rules if not allow and path}
        pieces = (_NOT_LITERAL.split(path.rstrip("$")) for path in paths)
        return sorted({max(parts, key=len) for parts in pieces})

    def find_refusal(self, url: str) -> IssueCode | None:
        if not self._rules or urlsplit(url).path == "/robots.txt":  # RFC 9309, section 2.2.2
            return None
        if len(url) > MAX_URL_CHARS:
            return IssueCode.ROBOTS_TOO_COMPLEX
        length = len(quote(unquote(url), safe="/="))  # as protego compares it, and no shorter
        if length > MAX_URL_CHARS or self._estimate_work(length) > _MOST_WORK:
            return IssueCode.ROBOTS_TOO_COMPLEX
        return None if self._protego.can_fetch(url, _AGENT) else IssueCode.ROBOTS_DISALLOWED

    def _estimate_work(self, length: int) -> float:
        # Nanoseconds that wildcards take at worst for a URL. 500 KB may hold 90,000 stars, each
        # of which protego looks for from where the last one was found: hostile files took it
        # 70 to 640 ms for a URL of 8 KiB. Other rules cost 0.1 us each. The worst text for
        # `str.find` almost matches everywhere, as `aaab` in `aaaa...`: 3 ns a character, and 0.25
        # ns more for each character looked for. The largest files at hand have 4 stars.
        return 1_000 * self._stars + length * (3 * self._stars + self._chars / 4)

    @cached_property
    def _protego(self) -> Protego:
        from protego import Protego  # noqa: PLC0415 (many runs read no robots.txt)

        lines = [f"{'Allow' if allow else 'Disallow'}: {path}" for allow, path in self._rules]
        return Protego.parse("\n".join([f"User-agent: {_AGENT}", *lines]))


@attrs.frozen(eq=False)
class Robots:
    """The content of a robots.txt; the default is empty and allows everything.

    Attributes:
        url: its address after redirects.
        sitemaps: the sitemaps that it lists, in order, without duplicates.
        other_lines: the first 1,000 lines that are not rules, uninterpreted.
        issues: the first 10 Issues of each code.
        counts: the number of Issues of each code.
        complete: False if it could not be fetched to its end. RFC 9309, section 2.3.1.4 then
            forbids every URL; the walk decides which ones it fetches all the same.
    """

    url: str = ""
    sitemaps: tuple[SitemapEntry, ...] = ()
    other_lines: tuple[OtherLine, ...] = ()
    issues: tuple[Issue, ...] = ()
    counts: Counter[IssueCode] = attrs.field(factory=Counter)
    complete: bool = True
    _keys: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    _groups: tuple[Group, ...] = attrs.field(default=(), repr=False)
    _compiled: dict[str, _GroupRules] = attrs.field(factory=dict, init=False, repr=False)

    def can_fetch(self, url: str, agent: str) -> bool:
        """Return whether the rules let `agent` (a User-Agent header) fetch `url`.

        A URL that cannot be parsed, or takes too much work to judge, is not allowed;
        `find_refusal` gives the reason.
        """
        return self.find_refusal(url, agent) is None

    def find_refusal(self, url: str, agent: str) -> IssueCode | None:
        """Return why the rules do not let `agent` fetch `url`; `None` if they do."""
        try:
            return self._rules_for(agent).find_refusal(url)
        except ValueError:  # brackets that are not an IPv6 address; surrogates
            return IssueCode.ROBOTS_DISALLOWED

    def list_disallowed_pieces(self, agent: str) -> list[str]:
        """Return texts, one of which is in each URL that `agent` may not fetch.

        That holds for URLs without a `%` and control characters. Where many URLs are to be judged,
        a search for these texts leaves few.
        """
        return self._rules_for(agent).list_disallowed_pieces()

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds that `agent` should wait between requests, at most 60."""
        delay = self._rules_for(agent).delay
        return None if delay is None else min(delay, ROBOTS_MAX_CRAWL_DELAY_SECONDS)

    def lists(self, url: str) -> bool:
        """Return whether a Sitemap line names `url`."""
        return url_key(url) in self._keys

    def prepare(self, agent: str) -> None:
        """Compile the rules for `agent` now: for a large file this belongs in a thread."""
        self.find_refusal("http://localhost/", agent)

    def _rules_for(self, agent: str) -> _GroupRules:
        """Return the rules of the longest of the agent's names in the file, else of `*`.

        Groups of one name are merged (RFC 9309, section 2.2.1).
        """
        if agent not in self._compiled:
            if len(self._compiled) >= _MAX_COMPILED_GROUPS:
                self._compiled.clear()
            self._compiled[agent] = self._compile(agent)
        return self._compiled[agent]

    def _compile(self, agent: str) -> _GroupRules:
        tokens = [{_token_of(value) for value in group.agents} for group in self._groups]
        known = set().union(*tokens)
        ours = max(_names_of(agent) & known, key=lambda name: (len(name), name), default="*")
        groups = [group for group, own in zip(self._groups, tokens, strict=True) if ours in own]
        delays = [group.delay for group in groups if group.delay is not None]
        rules = [rule for group in groups for rule in group.rules]
        return _GroupRules(rules, delays[-1] if delays else None)


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
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE)
_OTHER_NAME = re.compile(r"[A-Za-z][\w -]{0,63}", re.ASCII)
_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# How a page, gzip, PDF and zip begin. `_decode` looks for NUL as well: no UTF-8 text holds it.
_NOT_TEXT = (b"<", b"\x1f\x8b", b"%PDF", b"PK\x03\x04")
_SNIFFED_BYTES = 1_024

_SPELLINGS = {
    "user-agent": ("user-agent", "useragent", "user agent"),
    "allow": ("allow",),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "crawl-delay": ("crawl-delay", "crawl delay"),
    "sitemap": ("sitemap", "sitemaps", "site-map", "site-maps"),
    "host": ("host",),
}
"""As generous as protego, and as Google's parser, which accepts these misspellings."""
_FIELDS = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings}
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
    is_cut = len(data) > ROBOTS_MAX_BYTES
    lines = [] if text is None else text.split("\n")
    for number, line in enumerate(lines[:-1] if is_cut or not complete else lines, 1):
        parser.read_line(number, line)
    if text is None or parser.is_robots is False:
        parser = _RobotsParser(url)
        parser.add_issue(IssueCode.ROBOTS_NOT_TEXT)
    elif is_cut:
        parser.add_issue(IssueCode.ROBOTS_TOO_LARGE)
    return parser.finish(complete=complete)


def _decode(data: bytes) -> str | None:
    """Return the text, its line ends all line feeds; `None` if the body is not text."""
    if encoding := _BOMS.get(data[:2]):
        text = data[2:].decode(encoding, "replace")
    else:
        data = data.removeprefix(codecs.BOM_UTF8)
        head = data[:_SNIFFED_BYTES]
        if b"\0" in head or head.lstrip().startswith(_NOT_TEXT):
            return None
        text = data.decode("utf-8", "replace")
    return _CONTROL_CHARACTERS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _split_line(line: str) -> tuple[str, str] | None:
    """Split a line at the colon, or behind a known name, like protego."""
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
    """Parser of one file, line by line."""

    def __init__(self, url: str) -> None:
        self.is_robots: bool | None = None
        """Whether a line is one of a robots.txt, not of JSON or an error message; `None` without
        lines."""
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
        if is_cut := len(line) >= ROBOTS_MAX_LINE_CHARS:
            self.add_issue(IssueCode.FIELD_TOO_LONG, number, line)
            line = line[:ROBOTS_MAX_LINE_CHARS]
        name, value = _split_line(line) or ("", "")
        field = _FIELDS.get(name.lower())
        self.is_robots = self.is_robots or field is not None or name.lower() in _OTHER_FIELDS
        if is_cut:
            # A value that is cut means something else. But the beginning of a Disallow forbids all
            # that the whole would, so it is kept: nothing forbidden becomes allowed.
            if field != "disallow":
                return
            value = (value.rpartition("%")[0] or value).rstrip("$")
        if field == "sitemap":
            self._add_sitemaps(number, value)
        elif field in (None, "host"):
            self._add_other(name, value, number)
        elif field == "user-agent":
            if not self._names_agents:
                self._groups.append(Group())
            self._names_agents = True
            self._groups[-1].agents.append(value)
        else:
            self._names_agents = False
            if self._groups and value:  # else before the first User-agent line, or without a path
                self._groups[-1].add_line(field, value)

    def _add_other(self, name: str, value: str, number: int) -> None:
        if not _OTHER_NAME.fullmatch(name) or has_web_scheme(f"{name}:{value}"):
            return
        if len(self._others) < ROBOTS_MAX_OTHER_LINES:
            self._others.append((self._groups[-1] if self._groups else None, name, value, number))
        else:
            self._surplus[f"lines without rules past the first {ROBOTS_MAX_OTHER_LINES}"] += 1

    def _add_sitemaps(self, line: int, text: str) -> None:
        values = split_line(text)
        if values != [text]:
            self.add_issue(IssueCode.UNTIDY_LINE, line, text)
        for value in values:
            if not value or value in self._sitemap_values:
                continue
            if len(self._sitemap_values) >= ROBOTS_MAX_SITEMAPS:
                self._surplus[f"Sitemap lines past the first {ROBOTS_MAX_SITEMAPS}"] += 1
                continue
            self._sitemap_values.add(value)
            url, codes = _resolve_sitemap(self._url, value)
            if url and url_key(url) == url_key(self._url):
                codes.append(IssueCode.CYCLE)
            elif url:
                entry = SitemapEntry(url, via=Via.ROBOTS, sitemap=self._url)
                self._sitemaps.setdefault(url_key(url), entry)
            for code in codes:
                self.add_issue(code, line, value)

    def finish(self, *, complete: bool) -> Robots:
        for kind, number in self._surplus.items():
            self.add_issue(IssueCode.ROBOTS_TOO_LARGE, value=f"{number} {kind}")
        # A group may name thousands of agents, so its lines share one tuple
        others = self._others
        agents = {id(group): tuple(group.agents) for group, *_ in others if group}
        return Robots(
            url=self._url,
            sitemaps=tuple(self._sitemaps.values()),
            other_lines=tuple(OtherLine(agents.get(id(one[0]), ()), *one[1:]) for one in others),
            issues=tuple(event for event in self._events if isinstance(event, Issue)),
            counts=self._stats.counts,
            complete=complete,
            keys=frozenset(self._sitemaps),
            groups=tuple(self._groups),
        )


def _resolve_sitemap(base: str, value: str) -> tuple[str | None, list[IssueCode]]:
    """Return the URL of a Sitemap line, and what is wrong with it."""
    if error := find_url_error(value):
        return None, [error if error is IssueCode.TEMPLATE else IssueCode.INVALID_URL]
    codes = [IssueCode.URL_CHARACTERS] if " " in value or "\t" in value else []
    url: str | None = value
    if not has_web_scheme(value):
        if _SCHEME.match(value):
            return None, [*codes, IssueCode.UNSUPPORTED_SCHEME]
        url = resolve(base, value)
        codes.append(IssueCode.RELATIVE_LOC if url else IssueCode.INVALID_URL)
    bare = url and without_userinfo(url)
    if bare != url:
        codes.append(IssueCode.USERINFO_REMOVED)
    return bare, codes
