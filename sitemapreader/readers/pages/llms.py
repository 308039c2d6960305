"""The reader of `llms.txt`, a list of links in Markdown (https://llmstxt.org)."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Event, Format
from sitemapreader.readers.pages.site_maps import PageLinks
from sitemapreader.readers.text import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

_STEP = 200
"""Lines of one step, which take about 5 ms."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
# `- [name](url): notes`, as in the proposal; also with another bullet, indented or in bold. The
# possessive quantifiers never backtrack into a run, so a failure takes linear time.
_LINK = re.compile(
    r"""[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\*\*|__)?
    \[ ( [^\[\]\\]*+ (?: (?: \\. | \[ [^\[\]]*+ \] ) [^\[\]\\]*+ )* ) \]
    \( [ \t]*+
    (?: < ([^<>]*+) >
      | (?! [ \t] | \) ) ( [^\s()<>\\]*+ (?: (?: \\. | \( [^\s()]*+ \) ) [^\s()<>\\]*+ )* ) )
    (?: [ \t]++ (?: "[^"]*+" | '[^']*+' ) )? [ \t]*+ \)""",
    re.VERBOSE,
)
_MAYBE_LINK = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\*\*|__)?\[[^\]]*+\]\(")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class LlmsReader:
    """Reader of Markdown list items that begin with a link; its name is the title."""

    format = Format.LLMS
    finished = False

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._links = PageLinks(stats, limits)
        self._max_bytes = limits.field_chars
        self._pending = b""
        self._is_skipping_line = False
        """Whether the rest of a line is skipped, because the line is too long."""
        self._line = 1
        self._fence = ""

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Read the next bytes; yield, in steps, the events of complete lines."""
        events: list[Event] = []
        self._stats.add_issue_once(events, IssueCode.LLMS_TXT)
        yield events
        self._pending += data
        end = max(self._pending.rfind(b"\n"), self._pending.rfind(b"\r", 0, -1)) + 1
        lines, self._pending = self._pending[:end], self._pending[end:]
        if lines:
            yield from self._read_lines(split_lines(lines))
            self._is_skipping_line = False
        if len(self._pending) > self._max_bytes:
            if not self._is_skipping_line:
                yield self._read_line(self._pending[: self._max_bytes].decode("utf-8", "ignore"))
            self._is_skipping_line, self._pending = True, b""

    def close(self, cut: IssueCode | None) -> Iterator[list[Event]]:
        """Yield the events of a last line without a line end; drop it if `cut`."""
        events: list[Event] = []
        last = self._pending.decode("utf-8", "replace")
        if cut is None and last:
            yield from self._read_lines(split_lines(self._pending))
        elif cut is not None and not self._is_skipping_line and _MAYBE_LINK.match(last):
            self._stats.drop_record(events, cut, line=self._line, value=last.strip())
        if not self._stats.records and not self._stats.has_errors:
            self._stats.add_issue_once(events, IssueCode.EMPTY)
        yield events

    def _read_lines(self, lines: list[str]) -> Iterator[list[Event]]:
        events: list[Event] = []
        for number, line in enumerate(lines):
            if number or not self._is_skipping_line:
                events += self._read_line(line)
            self._line += 1
            if number % _STEP == _STEP - 1:
                yield events
                events = []
        yield events

    def _read_line(self, line: str) -> list[Event]:
        events: list[Event] = []
        if self._is_code(line):
            return events
        if link := _LINK.match(line):
            url = link[3] if link[2] is None else link[2]
            self._links.add(events, _decode(url), title=_clean_title(link[1]), line=self._line)
        elif _MAYBE_LINK.match(line):
            self._links.drop_link(events, IssueCode.MALFORMED, line, self._line)
        return events

    def _is_code(self, line: str) -> bool:
        """Return whether a line belongs to a fenced code block, its fences included."""
        fence = _FENCE.match(line)
        if not self._fence:
            if fence and not (fence[1][0] == "`" and "`" in fence[2]):
                self._fence = fence[1]
            return bool(self._fence)
        if fence and fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = ""
        return True


def _decode(text: str) -> str:
    """Decode the character references and escaped punctuation of Markdown."""
    text = _REFERENCE.sub(lambda match: unescape(match[0]), text) if "&" in text else text
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def _clean_title(text: str) -> str:
    return " ".join(_decode(text).split())
