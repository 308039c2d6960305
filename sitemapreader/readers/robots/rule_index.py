"""An index of the rules of a robots.txt, fast however many there are.

The longest rule that matches a URL decides, and `Allow` wins a tie (RFC 9309, section 2.2.2). A
matcher that tries the rules one by one needs rules x URL steps: seconds, for 500 KiB of wildcards
and a URL of 8 KiB. Here three structures find the rules that can match at all:

- rules that end with `$` and have no wildcard: a dictionary;
- plain prefixes: a sorted list, in which bisection finds the longest prefix of a path;
- wildcards: for each rule, one piece of four, two or one bytes that must occur in the path.

The candidates are tried in order of precedence, within a bounded amount of work.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote, unquote_to_bytes, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_WORK = 400_000
"""Nanoseconds, roughly, that wildcards may take for one URL; see `_cost_of_search`."""
MAX_CANDIDATES = 2_000
"""Rules with wildcards that may be candidates for one URL."""

_SEARCH_COST = 250
"""Nanoseconds of a search that succeeds at the first character."""

_NO_RULE = sys.maxsize
# Four bytes tell most rules apart; short pieces such as `?s=` have only two or one.
_GRAM_FORMATS: dict[int, Literal["I", "H", "B"]] = {4: "I", 2: "H", 1: "B"}
_MAX_GRAM_CHOICES = 64

# As in protego: characters that percent-encoding leaves alone need no normalising.
_PLAIN_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?(/(?!/)[A-Za-z0-9_.~/=-]*)")
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9_.~/=*-]+\$?")
# Escapes that differ from their character: `%2F` is not a separator, nor `%2A` a wildcard.
_KEPT_IN_PATHS = re.compile(r"%(2f|25)", re.IGNORECASE)
_KEPT_IN_PATTERNS = re.compile(r"%(2f|25|2a)", re.IGNORECASE)


# A robots.txt may have 30,000 rules. Python's garbage collector passes over plain tuples, and would
# go through objects of classes, holding the event loop for 20 ms.
Rule: TypeAlias = tuple[bool, str]
"""One line as written: whether it is Allow and not Disallow, and its path."""


class RuleIndex:
    """The rules of one group, for paths that `normalise_path` returned."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        verdicts: dict[str, bool] = {}
        for pattern, allow in _spell_out(rules):
            verdicts[pattern] = allow or verdicts.get(pattern, False)
        ordered = sorted(verdicts, key=lambda pattern: (-len(pattern), not verdicts[pattern]))
        # A rule's number is its precedence: the lowest number that matches decides.
        self._verdicts = [verdicts[pattern] for pattern in ordered]
        self._exact: dict[str, int] = {}
        self._wildcards: dict[int, tuple[str, ...]] = {}
        self._anchored: set[int] = set()
        prefixes: dict[str, int] = {}
        for number, pattern in enumerate(ordered):
            parts, is_anchored = _split(pattern)
            if len(parts) > 1:
                self._wildcards[number] = parts
                if is_anchored:
                    self._anchored.add(number)
            else:
                place = self._exact if is_anchored else prefixes
                place.setdefault(parts[0], number)
        self._set_prefixes(prefixes)
        self._set_grams()

    def allows(self, path: str) -> bool | None:
        """Return whether the rules allow a path; `None` if deciding takes too much work."""
        number = min(self._exact.get(path, _NO_RULE), self._find_prefix(path))
        if self._wildcards:
            candidates = self._list_candidates(path, number)
            if candidates is None:
                return None
            work = MAX_WORK
            for candidate in candidates:
                parts, is_anchored = self._wildcards[candidate], candidate in self._anchored
                matches, cost = _match(path, parts, is_anchored=is_anchored)
                if matches:
                    number = candidate
                    break
                work -= cost
                if work < 0:
                    return None
        return True if number == _NO_RULE else self._verdicts[number]

    def _set_prefixes(self, prefixes: dict[str, int]) -> None:
        """Sort the prefixes, and find for each the longest one that it begins with."""
        self._prefixes = sorted(prefixes)
        self._parents: list[int] = []
        self._best: list[int] = []
        above: list[int] = []
        for position, prefix in enumerate(self._prefixes):
            while above and not prefix.startswith(self._prefixes[above[-1]]):
                above.pop()
            parent = above[-1] if above else -1
            self._parents.append(parent)
            # `/a***` is a prefix like `/a`, and takes precedence over `/ab`
            inherited = self._best[parent] if above else _NO_RULE
            self._best.append(min(prefixes[prefix], inherited))
            above.append(position)

    def _find_prefix(self, path: str) -> int:
        """Return the number of the plain prefix that decides for a path."""
        # The last entry that sorts before the path is its longest prefix, or begins with it.
        position = bisect_right(self._prefixes, path) - 1
        while position >= 0 and not path.startswith(self._prefixes[position]):
            position = self._parents[position]
        return self._best[position] if position >= 0 else _NO_RULE

    def _set_grams(self) -> None:
        """Index each wildcard by that one of its pieces which the fewest before it have."""
        found: dict[int, dict[int, list[int]]] = {width: {} for width in _GRAM_FORMATS}
        for number, parts in self._wildcards.items():
            longest = max(map(len, parts))
            width = next(width for width in _GRAM_FORMATS if width <= longest)
            index = found[width]
            choices = set()
            for part in parts:
                choices |= _list_grams(part[: _MAX_GRAM_CHOICES + width], width)
                if len(choices) >= _MAX_GRAM_CHOICES:
                    break
            rarest = min(choices, key=lambda gram: len(index.get(gram, ())))
            index.setdefault(rarest, []).append(number)
        self._grams = {
            width: {gram: tuple(numbers) for gram, numbers in index.items()}
            for width, index in found.items()
        }

    def _list_candidates(self, path: str, below: int) -> list[int] | None:
        """Return the wildcards that may match and precede `below`; `None` if too many."""
        found: list[int] = []
        for width, index in self._grams.items():
            if not index:
                continue
            for gram in index.keys() & _list_grams(path, width):
                numbers = index[gram]  # ascending
                found += numbers[: bisect_right(numbers, below)]
                if len(found) > MAX_CANDIDATES:
                    return None
        return sorted(found)


def normalise_path(url: str) -> str:
    """Return the path and query of a URL, percent-encoded uniformly.

    Raises:
        ValueError: for a URL that cannot be parsed.
    """
    plain = _PLAIN_URL.fullmatch(url)
    if plain:
        return plain[1]
    url = url.partition("#")[0]
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if "?" in url else parts.path
    path = quote(_unquote(path, _KEPT_IN_PATHS), safe="/%=")
    return path if path.startswith("/") else f"/{path}"


def _normalise_pattern(pattern: str) -> str:
    """Percent-encode a rule's path as `normalise_path` does; a final `$` stays."""
    if _PLAIN_PATTERN.fullmatch(pattern):
        return pattern
    if pattern.startswith(("https://", "http://")):
        pattern = f"/{pattern}"  # a path that only URLs of a proxy have, none of this site
    anchor = "$" if pattern.endswith("$") else ""
    body = pattern.removesuffix("$")
    return quote(_unquote(body, _KEPT_IN_PATTERNS), safe="/%*=") + anchor


def _unquote(text: str, kept: re.Pattern[str]) -> str:
    if "%" not in text:
        return text
    marked = kept.sub(lambda match: f"%25{match[1].upper()}", text)
    return unquote_to_bytes(marked).decode("utf-8", "replace")


def _spell_out(rules: Iterable[Rule]) -> Iterator[tuple[str, bool]]:
    """Yield each pattern that the rules mean, and whether it allows."""
    for allow, path in rules:
        # Authors mean `$` as the end of the pattern or as a character of the URL: take both.
        for spelling in (path, path.replace("$", "%24")) if "$" in path else (path,):
            pattern = _normalise_pattern(spelling)
            if not pattern:
                continue
            yield pattern, allow
            if allow and pattern.endswith("/index.html"):  # then its folder is allowed as well
                yield pattern.removesuffix("index.html") + "$", True


def _split(pattern: str) -> tuple[tuple[str, ...], bool]:
    """Split a pattern at its wildcards; return also whether `$` ends it."""
    is_anchored = pattern.endswith("$")
    parts = re.split(r"\*+", pattern.removesuffix("$"))
    if len(parts) > 1 and not parts[-1]:  # `/a*` and `/a*$` match what `/a` does
        return tuple(parts[:-1]), False
    return tuple(parts), is_anchored


def _list_grams(text: str, width: int) -> set[int]:
    """Return all runs of `width` bytes, as numbers."""
    data = memoryview(text.encode("ascii"))
    grams: set[int] = set()
    for start in range(min(width, len(data) - width + 1)):
        end = len(data) - (len(data) - start) % width
        grams.update(data[start:end].cast(_GRAM_FORMATS[width]))
    return grams


def _match(path: str, parts: tuple[str, ...], *, is_anchored: bool) -> tuple[bool, int]:
    """Return whether a path has the parts of a pattern, and the cost of the search."""
    first, *others = parts
    if not path.startswith(first):
        return False, _SEARCH_COST
    position, cost = len(first), _SEARCH_COST
    last = others.pop() if is_anchored else ""
    for part in others:
        found = path.find(part, position)
        end = len(path) if found < 0 else found + len(part)
        cost += _cost_of_search(end - position, len(part))
        if found < 0:
            return False, cost
        if cost > MAX_WORK:
            return False, cost  # a rule of a thousand parts; the caller gives up
        position = end
    return path.endswith(last, position), cost


def _cost_of_search(scanned: int, length: int) -> int:
    """Return the nanoseconds of `str.find` at worst, measured on CPython 3.11.

    The worst is a text that almost matches everywhere, such as `aaab` in `aaaa...`.
    """
    return _SEARCH_COST + scanned * (3 + length // 5)
