"""robots.txt: its Sitemap lines, its rules (RFC 9309), and whatever else it says.

Everything up to the rules is read here: protego takes text, trusts what `str.splitlines` calls a
line, and copies every rule for every robot that its group names. The rules are protego's to judge
where a site has a few; where it has many, `RuleIndex` gives the same answers in bounded time.
Nothing here fetches.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import attrs

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.options import (
    MAX_URL_CHARS,
    ROBOTS_MAX_BYTES,
    ROBOTS_MAX_CRAWL_DELAY_SECONDS,
    ROBOTS_MAX_LINE_CHARS,
    ROBOTS_MAX_OTHER_LINES,
    ROBOTS_MAX_SITEMAPS,
)
from sitemapreader.readers.robots.rule_index import Rule, RuleIndex, normalise_path
from sitemapreader.readers.stats import ReadStats
from sitemapreader.urls import find_url_error, has_web_scheme, resolve, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from protego import Protego

    from sitemapreader.models import Event

MAX_PROTEGO_RULES_CHARS = 4_096
MAX_PROTEGO_PATH_CHARS = 512
"""More than these, and protego's time, which is rules x URL, would not be bounded by a millisecond.
Nine of ten files, and nearly all URLs, are smaller."""

# SECURITY: str.splitlines() breaks a line at some of these, so a comment could smuggle in a rule;
# the other control characters have no place in a line either
_HOSTILE = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[\w-]+", re.ASCII)
_OTHER_NAME = re.compile(r"[A-Za-z][\w -]{0,63}", re.ASCII)
_ADDRESS = re.compile(r"\+?https?://[^\s;)]*", re.ASCII | re.IGNORECASE)
_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# How a page, gzip, PDF and zip begin; NUL, which is looked for as well, stands in no UTF-8 text
_NOT_TEXT = (b"<", b"\x1f\x8b", b"%PDF", b"PK\x03\x04")
_SNIFFED_BYTES = 1_024
_AGENT = "us"
_KEPT_GROUPS = 4


class _Field(Enum):
    AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    DELAY = auto()
    SITEMAP = auto()
    HOST = auto()


# As generous as protego, and as Google's parser, which knows these misspellings
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


class OtherLine(NamedTuple):
    """A line that is neither a rule nor a Sitemap line: Content-Signal, License, and the like.

    Attributes:
        group: the User-agent values of the group that it stands in; empty before the first one.
        name: what stands before the colon, as written.
        value: what stands behind it, without a comment.
        line: its number, from 1.
    """

    group: tuple[str, ...]
    name: str
    value: str
    line: int


class GroupRules:
    """The rules that apply to one robot, and the delay that it is asked for."""

    def __init__(self, rules: Sequence[Rule], delay: float | None) -> None:
        self.delay = delay
        self._rules = rules
        self._is_small = sum(len(rule.path) for rule in rules) <= MAX_PROTEGO_RULES_CHARS

    def prepare(self) -> None:
        """Do now what would take the first call of `allows` long."""
        if not self._is_small:
            self._index  # noqa: B018 (a cached property)

    def allows(self, url: str) -> bool | None:
        """Return whether the rules allow a URL; `None` where that is too much work to tell.

        Raises ValueError for a URL that cannot be parsed.
        """
        if not self._rules:
            return True
        if len(url) > MAX_URL_CHARS:
            return None
        path = normalise_path(url)
        if path.partition("?")[0] == "/robots.txt":  # RFC 9309, section 2.2.2
            return True
        if len(path) > MAX_URL_CHARS:
            return None
        if self._is_small and len(path) <= MAX_PROTEGO_PATH_CHARS:
            return bool(self._protego.can_fetch(url, _AGENT))
        return self._index.allows(path)

    @cached_property
    def _index(self) -> RuleIndex:
        return RuleIndex(self._rules)

    @cached_property
    def _protego(self) -> Protego:
        from protego import Protego  # noqa: PLC0415 (many runs read no robots.txt)

        lines = [f"{'Allow' if rule.allow else 'Disallow'}: {rule.path}" for rule in self._rules]
        return Protego.parse("\n".join([f"User-agent: {_AGENT}", *lines]))


@attrs.define(eq=False)
class _Group:
    """A group as it is written: User-agent lines, and what follows them."""

    agents: list[str] = attrs.field(factory=list)
    rules: list[Rule] = attrs.field(factory=list)
    delay: float | None = None


@attrs.frozen(eq=False)
class Robots:
    """What a robots.txt says; the default says nothing, and allows all.

    Attributes:
        url: where it came from, after redirects.
        sitemaps: what it lists, in order, each once.
        other_lines: lines that carry no rule; the first 1,000. Nothing is made of them here.
        issues: what was wrong with it; the first 10 of a code.
        counts: how many Issues of each code there were.
        complete: False where it could not be fetched, or not to its end. RFC 9309, section 2.3.1.4
            then forbids all that nobody named; whoever walks decides what that is.
    """

    url: str = ""
    sitemaps: tuple[SitemapEntry, ...] = ()
    other_lines: tuple[OtherLine, ...] = ()
    issues: tuple[Issue, ...] = ()
    counts: Counter[IssueCode] = attrs.field(factory=Counter)
    complete: bool = True
    _keys: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    _groups: tuple[_Group, ...] = attrs.field(default=(), repr=False)
    _compiled: dict[str, GroupRules] = attrs.field(factory=dict, init=False, repr=False)

    def can_fetch(self, url: str, agent: str) -> bool:
        """Tell whether the rules let the robot `agent` (a User-Agent header) fetch `url`.

        A URL that cannot be parsed is not allowed: nobody could fetch it. Neither is one for which
        that would take too long to tell; `find_refusal` says which it is.
        """
        return self.find_refusal(url, agent) is None

    def find_refusal(self, url: str, agent: str) -> IssueCode | None:
        """Return why the rules do not let `agent` fetch `url`, or `None` if they do."""
        try:
            allowed = self._rules_for(agent).allows(url)
        except ValueError:  # brackets that are no IPv6 address; surrogates
            return IssueCode.ROBOTS_DISALLOWED
        if allowed is None:
            return IssueCode.ROBOTS_TOO_COMPLEX
        return None if allowed else IssueCode.ROBOTS_DISALLOWED

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds that `agent` is asked to wait between requests, at most 60."""
        delay = self._rules_for(agent).delay
        return None if delay is None else min(delay, ROBOTS_MAX_CRAWL_DELAY_SECONDS)

    def lists(self, url: str) -> bool:
        """Tell whether one of the Sitemap lines names `url`."""
        return url_key(url) in self._keys

    def prepare(self, agent: str) -> None:
        """Arrange the rules for `agent` now: in a thread, where the file is large."""
        self._rules_for(agent).prepare()

    def _rules_for(self, agent: str) -> GroupRules:
        """Return the rules of the longest of the agent's names that the file knows, else of `*`.

        RFC 9309, section 2.2.1; several groups of one name are one.
        """
        known = self._compiled.get(agent)
        if known is None:
            if len(self._compiled) >= _KEPT_GROUPS:  # few robots ask, and rules take room
                self._compiled.clear()
            known = self._compiled[agent] = self._compile(agent)
        return known

    def _compile(self, agent: str) -> GroupRules:
        tokens = [{_token_of(value) for value in group.agents} for group in self._groups]
        known = set().union(*tokens)
        ours = max(_names_of(agent) & known, key=len, default="*")
        groups = [group for group, own in zip(self._groups, tokens, strict=True) if ours in own]
        delays = [group.delay for group in groups if group.delay is not None]
        rules = [rule for group in groups for rule in group.rules]
        return GroupRules(rules, delays[-1] if delays else None)


def parse_robots(data: bytes, url: str = "", *, complete: bool = True) -> Robots:
    """Read a robots.txt of which `data` is all, or with `complete=False` the beginning.

    Of a file that is longer than 512,000 bytes (RFC 9309, section 2.5) only those are read. A last
    line that is not whole is not read. `url` is the address after redirects, against which relative
    values are resolved.

    Content never raises. Raises TypeError for `data` that is not bytes.
    """
    if not isinstance(data, bytes):
        raise TypeError(
            f"data must be bytes, not {type(data).__name__}: give the body as it came, "
            "for its encoding is told by its bytes"
        )
    parser = _RobotsParser(url)
    text = _decode(data[:ROBOTS_MAX_BYTES])
    if text is None:
        parser.note(IssueCode.ROBOTS_NOT_TEXT)
        return parser.finish(complete=complete)
    if len(data) > ROBOTS_MAX_BYTES:
        parser.note(IssueCode.ROBOTS_TOO_LARGE)
    if len(data) > ROBOTS_MAX_BYTES or not complete:
        text = text[: text.rfind("\n") + 1]
    for number, line in enumerate(text.split("\n"), 1):
        parser.read_line(number, line)
    return parser.finish(complete=complete)


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
    return _HOSTILE.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def load_rules_parser() -> None:
    """Import what parses rules: 2 ms, well spent while the first robots.txt is on its way."""
    import protego  # noqa: F401, PLC0415 (many runs read no robots.txt)


def _token_of(value: str) -> str:
    """Return the product token of a User-agent line, in lower case; `*` stands for all."""
    match = _WORD.match(value.strip(" \t*"))
    return match[0].lower() if match else "*"


@lru_cache(maxsize=64)
def _names_of(agent: str) -> frozenset[str]:
    """Return the words of a User-Agent header, without those of addresses."""
    return frozenset(_WORD.findall(_ADDRESS.sub("", agent).lower()))


def _split_line(line: str) -> tuple[str, str] | None:
    """Split a line into name and value: at the colon, or where a known name ends.

    `Disallow /x` and `User agent x` are read as well, as protego does.
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
    """The lines of one file, put where they belong."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stats = ReadStats(url)
        self._events: list[Event] = []
        self._groups: list[_Group] = []
        self._names_agents = False
        self._sitemaps: dict[str, SitemapEntry] = {}
        self._sitemap_values: set[str] = set()
        self._others: list[tuple[_Group | None, str, str, int]] = []
        self._beyond: Counter[str] = Counter()

    def note(self, code: IssueCode, line: int | None = None, value: str | None = None) -> None:
        self._stats.note(self._events, code, line=line, value=value)

    def read_line(self, number: int, line: str) -> None:
        """Read one line, of which a comment is no part."""
        line = line.partition("#")[0].strip()
        if not line:
            return
        is_cut = len(line) >= ROBOTS_MAX_LINE_CHARS
        if is_cut:
            self.note(IssueCode.FIELD_TOO_LONG, number, line)
            line = line[:ROBOTS_MAX_LINE_CHARS]
        found = _split_line(line)
        if found is None:
            return
        name, value = found
        field = _FIELDS.get(name.lower())
        if is_cut:
            # Whatever is cut off changes its meaning; but the beginning of a Disallow forbids all
            # that the whole of it would, so what the site forbids stays forbidden.
            if field is not _Field.DISALLOW:
                return
            value = (value.rpartition("%")[0] or value).rstrip("$")
        self._take(field, name, value, number)

    def _take(self, field: _Field | None, name: str, value: str, number: int) -> None:
        if field is _Field.SITEMAP:
            self._add_sitemap(number, value)
            return
        if field is _Field.AGENT:
            if not self._names_agents:
                self._groups.append(_Group())
            self._names_agents = True
            self._groups[-1].agents.append(value)
            return
        self._names_agents = self._names_agents and field is _Field.HOST
        group = self._groups[-1] if self._groups else None
        if field is None or field is _Field.HOST:
            self._add_other(group, name, value, number)
        elif group is None or not value:
            return  # a rule for nobody, or of nothing
        elif field is _Field.DELAY:
            group.delay = _parse_delay(value, group.delay)
        else:
            group.rules.append(Rule(field is _Field.ALLOW, value))

    def _add_other(self, group: _Group | None, name: str, value: str, number: int) -> None:
        if not _OTHER_NAME.fullmatch(name) or has_web_scheme(f"{name}:{value}"):
            return
        if len(self._others) < ROBOTS_MAX_OTHER_LINES:
            self._others.append((group, name, value, number))
        else:
            self._beyond[f"lines without rules past the first {ROBOTS_MAX_OTHER_LINES}"] += 1

    def _add_sitemap(self, line: int, value: str) -> None:
        if not value or value in self._sitemap_values:
            return
        if len(self._sitemap_values) >= ROBOTS_MAX_SITEMAPS:
            self._beyond[f"Sitemap lines past the first {ROBOTS_MAX_SITEMAPS}"] += 1
            return
        self._sitemap_values.add(value)
        url = self._absolute(line, value)
        if url is None:
            return
        key = url_key(url)
        if key == url_key(self._url):
            self.note(IssueCode.CYCLE, line, value)
        else:
            entry = SitemapEntry(url, via=Via.ROBOTS, sitemap=self._url)
            self._sitemaps.setdefault(key, entry)

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

    def finish(self, *, complete: bool) -> Robots:
        for said, number in self._beyond.items():
            self.note(IssueCode.ROBOTS_TOO_LARGE, value=f"{number} {said}")
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
        agents: dict[int, tuple[str, ...]] = {}  # one tuple a group, which may name thousands
        for group, name, value, number in self._others:
            if group is not None and id(group) not in agents:
                agents[id(group)] = tuple(group.agents)
            yield OtherLine(agents[id(group)] if group else (), name, value, number)


def _parse_delay(text: str, default: float | None) -> float | None:
    """Return the seconds of a Crawl-delay; `default` for what is no such number."""
    try:
        delay = float(text)
    except ValueError:
        return default
    return delay if math.isfinite(delay) and delay >= 0 else default
