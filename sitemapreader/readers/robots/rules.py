"""The content of a robots.txt, and whether its rules let a robot fetch a URL.

protego judges the rules, unless they have more wildcards than it can match in bounded time.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

import attrs

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.options import MAX_URL_CHARS, ROBOTS_MAX_CRAWL_DELAY_SECONDS
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protego import Protego

    from sitemapreader.models import SitemapEntry

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


# A robots.txt may have 30,000 rules. Python's garbage collector passes over plain tuples, and would
# go through objects of classes, holding the event loop for 20 ms.
Rule: TypeAlias = tuple[bool, str]
"""One line as written: whether it is Allow and not Disallow, and its path."""


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
    rules: list[Rule] = attrs.field(factory=list)
    delay: float | None = None


class GroupRules:
    """The rules that apply to one robot, and its Crawl-delay."""

    def __init__(self, rules: Sequence[Rule], delay: float | None) -> None:
        self.delay = delay
        self._rules = rules
        # protego takes some stars in a row for one. And it reads `$` as the end of the URL and as a
        # character, which makes two rules of one.
        paths = [_STARS.sub("*", path) for _, path in rules if "*" in path]
        wild = paths + [path for path in paths if "$" in path]
        self._stars = sum(path.count("*") for path in wild)
        self._chars = sum(map(len, wild))

    def prepare(self) -> None:
        """Compile the rules now, so that the first call of `allows` is fast."""
        if self._estimate_work(1) <= _MOST_WORK:
            self._protego  # noqa: B018 (a cached property)

    def list_disallowed_pieces(self) -> list[str]:
        """Return texts, one of which is in each URL that is disallowed and has no `%`."""
        paths = {path for allow, path in self._rules if not allow and path}
        pieces = (_NOT_LITERAL.split(path.rstrip("$")) for path in paths)
        return sorted({max(parts, key=len) for parts in pieces})

    def allows(self, url: str) -> bool | None:
        """Return whether the rules allow a URL; `None` if deciding takes too much work.

        Raises:
            ValueError: for a URL that cannot be parsed.
        """
        if not self._rules or urlsplit(url).path == "/robots.txt":  # RFC 9309, section 2.2.2
            return True
        if len(url) > MAX_URL_CHARS:
            return None
        length = len(quote(unquote(url), safe="/="))  # as protego compares it, and no shorter
        if length > MAX_URL_CHARS or self._estimate_work(length) > _MOST_WORK:
            return None
        return bool(self._protego.can_fetch(url, _AGENT))

    def _estimate_work(self, length: int) -> float:
        """Return the nanoseconds that wildcards take at worst for a URL of some length."""
        # A file of 500 KB may hold 90,000 stars, each of which protego looks for from where the
        # last one was found: hostile files took it 70 to 640 ms for a URL of 8 KiB. Other rules
        # cost 0.1 us each, whatever the URL. The worst text for `str.find` almost matches
        # everywhere, such as `aaab` in `aaaa...`: it takes 3 ns a character, and 0.25 ns more for
        # each character looked for (CPython 3.11). The largest files at hand have 4 stars.
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
    _compiled: dict[str, GroupRules] = attrs.field(factory=dict, init=False, repr=False)

    def can_fetch(self, url: str, agent: str) -> bool:
        """Return whether the rules let `agent` (a User-Agent header) fetch `url`.

        A URL that cannot be parsed, or takes too much work to judge, is not allowed;
        `find_refusal` gives the reason.
        """
        return self.find_refusal(url, agent) is None

    def find_refusal(self, url: str, agent: str) -> IssueCode | None:
        """Return why the rules do not let `agent` fetch `url`; `None` if they do."""
        try:
            allowed = self._rules_for(agent).allows(url)
        except ValueError:  # brackets that are not an IPv6 address; surrogates
            return IssueCode.ROBOTS_DISALLOWED
        if allowed is None:
            return IssueCode.ROBOTS_TOO_COMPLEX
        return None if allowed else IssueCode.ROBOTS_DISALLOWED

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
        self._rules_for(agent).prepare()

    def _rules_for(self, agent: str) -> GroupRules:
        """Return the rules of the longest of the agent's names in the file, else of `*`.

        Groups of one name are merged (RFC 9309, section 2.2.1).
        """
        known = self._compiled.get(agent)
        if known is None:
            if (
                len(self._compiled) >= _MAX_COMPILED_GROUPS
            ):  # few agents ask; compiled rules are large
                self._compiled.clear()
            known = self._compiled[agent] = self._compile(agent)
        return known

    def _compile(self, agent: str) -> GroupRules:
        tokens = [{_token_of(value) for value in group.agents} for group in self._groups]
        known = set().union(*tokens)
        ours = max(_names_of(agent) & known, key=lambda name: (len(name), name), default="*")
        groups = [group for group, own in zip(self._groups, tokens, strict=True) if ours in own]
        delays = [group.delay for group in groups if group.delay is not None]
        rules = [rule for group in groups for rule in group.rules]
        return GroupRules(rules, delays[-1] if delays else None)


def load_rules_parser() -> None:
    """Import protego (2 ms) now, while the first robots.txt is on its way."""
    import protego  # noqa: F401, PLC0415 (many runs read no robots.txt)


def _token_of(value: str) -> str:
    """Return the product token of a User-agent value in lower case, `*`, or ""."""
    if value.split()[:1] == ["*"]:
        return "*"
    match = _PRODUCT_TOKEN.match(value.strip("*"))
    return match[0].lower() if match else ""


@lru_cache(maxsize=64)
def _names_of(agent: str) -> frozenset[str]:
    """Return the words of a User-Agent header, without the words of URLs in it."""
    return frozenset(_PRODUCT_TOKEN.findall(_ADDRESS.sub("", agent).lower()))
