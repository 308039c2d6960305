"""The rules of a robots.txt for one robot, and the choice of the one that decides.

RFC 9309, sections 2.2.2 and 2.2.3. A rule is the beginning of a path; `*` in it stands for any
text, and a final `$` for the end of the URL. Of the rules that match, the longest one decides.

Nothing is tried twice, and only rules that may match are tried: an index finds them by a piece of
text that a URL must have.
"""

# protego judges rules as well. But it takes an escaped delimiter for the delimiter (`%3F` for `?`),
# measures rules after rewriting them, and tries all of them for each URL.

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from sitemapreader._types.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WORK = 2_000_000
"""Nanoseconds that the wildcards of all rules may take for one URL, by `Wildcard.estimate_work`."""

_END = "$"
"""End of a compared URL. A `$` inside a URL is escaped, so no other text matches it."""
_UNRESERVED = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
_KEPT = r"A-Za-z0-9._~:/?\[\]@!&'()+,;=\-"
"""Characters of a URL that are compared as they are: all of RFC 3986 but `*` and `$`."""
_PLAIN_PATH = re.compile(rf"/[{_KEPT}]*")
_PLAIN_URL = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._:-]*({_PLAIN_PATH.pattern})"
)
_REWRITTEN = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_KEPT}%]+|%")
_HALF_ESCAPE = re.compile(r"%[0-9A-Fa-f]?\Z")
_STARS = re.compile(r"\*+")
_PIECE_CHARS = 4
"""Longest text by which a wildcard is found. Three characters are found in too many URLs, and each
length that occurs costs 0.1 us for a character of the URL."""
_FEW_PIECES = 64
"""Number of texts up to which each is searched in the URL; more are found by its pieces."""
_INDEX_PAGE = "index.html"


class Rank(NamedTuple):
    """Rank of a rule: the longer one wins, of two that are as long the one that allows.

    Attributes:
        octets: length of the rule as written, in UTF-8.
        allows: True if the rule is an Allow.
    """

    octets: int
    allows: bool


_NO_RULE = Rank(0, allows=True)


class Wildcard(NamedTuple):
    """A rule with a `*` that is not at its end.

    Attributes:
        rank: which other rules it beats.
        start: the beginning of the path.
        parts: the texts that follow in this order, with anything between them.
        chars: the characters of all parts.
    """

    rank: Rank
    start: str
    parts: tuple[str, ...]
    chars: int

    def matches(self, path: str) -> bool:
        """Return whether the rule matches; the first place of each part is the best one."""
        if not path.startswith(self.start):
            return False
        end = len(self.start)
        for part in self.parts:
            start = path.find(part, end)
            if start < 0:
                return False
            end = start + len(part)
        return True

    def estimate_work(self, length: int) -> float:
        """Return the nanoseconds that a path of this length takes at worst."""
        # The worst text for `str.find` almost matches everywhere, as `aaab` in `aaaa...`: 3 ns a
        # character, and 0.25 ns more for each character looked for.
        stars = len(self.parts)
        return 1_000 * stars + length * (3 * stars + self.chars / 4)

    def list_pieces(self) -> list[str]:
        """List texts of one length; every path that matches has each of them."""
        texts = (self.start, *self.parts)
        length = min(max(map(len, texts)), _PIECE_CHARS)
        return [
            text[at : at + length]
            for text in texts
            for at in range(len(text) - length + 1)
        ]


class RuleMatcher:
    """Matcher of the rules for one robot: fields ("allow" or "disallow") and paths as written."""

    def __init__(self, rules: Iterable[tuple[str, str]]) -> None:
        self._prefixes: dict[str, Rank] = {}
        """Beginning of a path -> the best rank of the rules that it matches."""
        self._wildcards: dict[str, list[Wildcard]] = {}
        """Piece of text -> rules that match nothing without it."""
        wildcards: list[Wildcard] = []
        for field, path in rules:
            allows = field == "allow"
            self._add(wildcards, path, allows=allows)
            if allows and path.endswith(f"/{_INDEX_PAGE}"):  # so does Google's parser
                self._add(wildcards, path.removesuffix(_INDEX_PAGE) + _END, allows=True)
        self._prefix_lengths = sorted({*map(len, self._prefixes)})
        self._index(wildcards)
        self._piece_lengths = sorted({*map(len, self._wildcards)})

    def _add(
        self,
        wildcards: list[Wildcard],
        path: str,
        *,
        allows: bool,
    ) -> None:
        rank = Rank(len(path.encode()), allows)
        start, *parts = _split_rule(path)
        if start and not start.startswith("/"):
            return  # no path begins like this
        if parts:
            wildcards.append(Wildcard(rank, start, tuple(parts), sum(map(len, parts))))
        else:
            self._prefixes[start] = max(rank, self._prefixes.get(start, _NO_RULE))

    def _index(self, wildcards: list[Wildcard]) -> None:
        """Index each rule by the piece of it that the fewest rules have."""
        found = defaultdict(list)
        counts = Counter(piece for each in wildcards for piece in each.list_pieces())
        for each in wildcards:
            found[min(each.list_pieces(), key=counts.__getitem__)].append(each)
        self._wildcards = dict(found)

    def find_refusal(self, path: str) -> IssueCode | None:
        """Return why a path of `normalize_url` is not allowed; `None` if it is."""
        best = _NO_RULE
        for length in self._prefix_lengths:
            if length > len(path):
                break
            best = max(best, self._prefixes.get(path[:length], _NO_RULE))
        work = 0.0
        for piece in self._find_pieces(path):
            for rule in self._wildcards[piece]:
                work += rule.estimate_work(len(path))
                if work > MAX_WORK:
                    return IssueCode.ROBOTS_TOO_COMPLEX
                if rule.rank > best and rule.matches(path):
                    best = rule.rank
        if best.allows:
            return None
        return IssueCode.ROBOTS_DISALLOWED

    def _find_pieces(self, path: str) -> Iterable[str]:
        """Return the texts of the index that a path has."""
        known = self._wildcards
        if len(known) <= _FEW_PIECES:
            return [piece for piece in known if piece in path]
        return known.keys() & {
            path[at : at + length]
            for length in self._piece_lengths
            for at in range(len(path) - length + 1)
        }


def _split_rule(path: str) -> list[str]:
    """Return the texts between the stars of a rule, the last one with the end of the URL."""
    if _PLAIN_PATH.fullmatch(path):
        return [path]
    *parts, last = _STARS.split(path)
    texts = [_normalize_cut(part) for part in parts]
    if last.endswith(_END):
        return [*texts, normalize_octets(last.removesuffix(_END)) + _END]
    if last or not texts:
        return [*texts, _normalize_cut(last)]
    return texts  # what follows a final star does not matter


def _normalize_cut(text: str) -> str:
    """Return a text in the spelling that is compared; it may end inside an escape."""
    if cut := _HALF_ESCAPE.search(text):  # `/*%` matches every escape
        return normalize_octets(text[: cut.start()]) + cut[0].upper()
    return normalize_octets(text)


def normalize_url(url: str) -> str:
    """Return the path and the query of a URL as rules are compared with them.

    Raises ValueError for brackets that are not an IPv6 address, and for surrogates.
    """
    if plain := _PLAIN_URL.fullmatch(url):
        return plain[1] + _END
    parts = urlsplit(url)
    if parts.path.startswith("/"):
        path = parts.path
    else:
        path = f"/{parts.path}"
    if "?" in url.partition("#")[0]:
        path += f"?{parts.query}"
    return normalize_octets(path) + _END


def normalize_octets(text: str) -> str:
    """Return a text in the one spelling that is compared (RFC 9309, section 2.2.2).

    Escapes of unreserved characters are read. What a URL must escape is escaped, and so are `*` and
    `$`, because a rule can name them in no other way. An escaped delimiter stays apart from the
    delimiter itself: `%2F` is no `/`.
    """
    return _REWRITTEN.sub(_rewrite, text)


def _rewrite(found: re.Match[str]) -> str:
    text = found[0]
    if text == "%" or not text.startswith("%"):
        return quote(text, safe="")
    character = chr(int(text[1:], 16))
    if character in _UNRESERVED:
        return character
    return text.upper()
