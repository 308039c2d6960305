"""`_redirects` and `_headers`, in which a folder tells its host what to answer.

Netlify and Cloudflare Pages read them; the rules that both know are read here
(https://docs.netlify.com/routing/redirects, https://developers.cloudflare.com/pages/configuration).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINES = 10_000
"""Lines of one file that are read."""
_STATUSES = frozenset({200, 301, 302, 303, 307, 308, 404, 410})
_STATUS = re.compile(r"(\d{3})(!?)")
_AMBIGUOUS = re.compile(r"\*.*\*|:[A-Za-z]\w*[^/]*[:*]|\*[^/]*:[A-Za-z]")
"""A path that no host knows, with two `*` or two placeholders in a segment, takes for ever."""
_NOTHING = re.compile(r"(?!)")
_PLACEHOLDER = re.compile(r"\*|:([A-Za-z]\w*)")


@attrs.frozen
class HostRedirect:
    """What one line of `_redirects` answers.

    Attributes:
        status: 200 rewrites, 301 to 308 redirect, 404 and 410 have no page.
        target: a path or a URL.
        is_forced: whether it goes before a file of that path.
    """

    status: int
    target: str
    is_forced: bool


@attrs.frozen
class _Pattern:
    """A path with `*` or `:name` in it."""

    number: int
    regex: re.Pattern[str]
    answer: HostRedirect

    def answer_to(self, path: str) -> HostRedirect | None:
        if (match := self.regex.fullmatch(path)) is None:
            return None
        parts = {"splat": "", **match.groupdict()}
        target = re.sub(
            r":([A-Za-z]\w*)", lambda name: parts.get(name[1], name[0]) or "", self.answer.target
        )
        return attrs.evolve(self.answer, target=target)


class HostRedirects:
    """The rules of a `_redirects` file, of which the first that matches counts.

    Lines with a condition (a country, a language, a parameter) are skipped: what they answer
    depends on who asks.
    """

    def __init__(self, text: str = "") -> None:
        self._exact: dict[str, tuple[int, HostRedirect]] = {}
        self._patterns: list[_Pattern] = []
        for number, line in enumerate(_lines(text)):
            if rule := _parse_redirect(line):
                path, answer = rule
                if _PLACEHOLDER.search(path):
                    self._patterns.append(_Pattern(number, _compile(path), answer))
                else:
                    self._exact.setdefault(path, (number, answer))

    @property
    def answers_all(self) -> bool:
        """Whether every path has an answer, as in an application of one page."""
        found = self.find("/any-path-at-all/of-this-site")
        return found is not None and found.status == 200

    def find(self, path: str) -> HostRedirect | None:
        """Return the answer to a decoded path; a slash at its end says nothing."""
        path = "/" + path.strip("/")
        number, answer = self._exact.get(path, (MAX_LINES, None))
        for pattern in self._patterns:
            if pattern.number > number:
                break
            if found := pattern.answer_to(path):
                return found
        return answer


class HostHeaders:
    """The rules of a `_headers` file, all of which count that match."""

    def __init__(self, text: str = "") -> None:
        self._rules: list[tuple[re.Pattern[str], list[tuple[str, str]]]] = []
        for line in _lines(text):
            if not line[0].isspace():
                path = re.sub(r"^https?://[^/]*", "", line.strip()) or "/"
                self._rules.append((_compile("/" + path.strip("/")), []))
            elif self._rules and ":" in line:
                name, _, value = line.partition(":")
                self._rules[-1][1].append((name.strip().lower(), value.strip()))
        self._rules = [rule for rule in self._rules if rule[1]]

    def find(self, path: str) -> list[tuple[str, str]]:
        """Return names, in lower case, and values of the headers of a path."""
        path = "/" + path.strip("/")
        return [
            header for regex, headers in self._rules if regex.fullmatch(path) for header in headers
        ]


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines()[:MAX_LINES]:
        if line.strip() and not line.lstrip().startswith("#"):
            yield line


def _parse_redirect(line: str) -> tuple[str, HostRedirect] | None:
    """Return the path and the answer of a line; `None` where it has a condition."""
    path, *rest = line.partition(" #")[0].split()
    if not path.startswith("/") or not rest or not rest[0].startswith(("/", "http")):
        return None
    status = _STATUS.fullmatch(rest[1]) if len(rest) == 2 else None
    if len(rest) > 2 or (len(rest) == 2 and status is None):
        return None
    number = int(status[1]) if status else 301
    if number not in _STATUSES:
        return None
    return "/" + path.strip("/"), HostRedirect(number, rest[0], bool(status and status[2]))


def _compile(path: str) -> re.Pattern[str]:
    """Return the expression of a path: `*` is anything, `:name` one segment."""
    if _AMBIGUOUS.search(path):
        return _NOTHING
    parts, position, names = [], 0, set()
    for match in _PLACEHOLDER.finditer(path):
        parts.append(re.escape(path[position : match.start()]))
        name = match[1] or "splat"
        body = "[^/]+" if match[1] else ".*"
        parts.append(f"(?P<{name}>{body})" if name not in names else body)
        names.add(name)
        position = match.end()
    source = "".join(parts) + re.escape(path[position:])
    # `/a/*` answers for `/a` too
    return re.compile(re.sub(r"/(\(\?P<splat>\.\*\))$", r"(?:/\1)?", source), re.DOTALL)
