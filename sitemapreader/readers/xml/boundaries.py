"""Where records begin and end in markup that comes piece by piece: every byte is passed once.

It looks at record tags, comments, CDATA sections and processing instructions, and at nothing else:
that is enough to cut between records, in sound markup and in broken.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STEP = 5_000
"""Tags between two pauses: about 5 ms."""
_LONGEST_TAG = 64
COMMENT_END = b"-->"
CLOSINGS = {b"<!--": COMMENT_END, b"<?": b"?>", b"<![CDATA[": b"]]>"}
"""Markup that holds no elements: how it begins, how it ends."""

_EMPTY = re.compile(rb"[^<>]*+/>")
"""How a start tag goes on that is its own end tag."""
HIDING = re.compile(rb"<[!?]")
"""How everything begins that may hide a record's tag."""


class Scanner:
    """Remembers what it has passed of the bytes that it is shown, which only ever grow.

    Attributes:
        end: where the last complete record ends, outside of comments and the like; 0: nowhere.
        end_tag: the end tag that was seen last.
        closing: what would close the comment, CDATA section or PI that is still open, if one is.
        starts: how many records begin behind `end`.
        last_start: where the last of them begins.
        position: how far all was passed; what is behind may be the beginning of a tag.
    """

    def __init__(self, records: frozenset[str]) -> None:
        self.records = records
        self._tag = _record_tag(records)
        self._end_tag = record_end(records)
        self.end_tag = b""
        self.reset()

    def reset(self) -> None:
        """Forget what was passed: what is shown next is something else."""
        self.position = self.end = self.starts = self.last_start = 0
        self.closing = b""

    def drop(self, size: int) -> None:
        """Follow the bytes when the first `size` of them are taken away."""
        if size > self.end:
            self.starts = int(self.starts > 0 and self.last_start >= size)
        self.position = max(0, self.position - size)
        self.end = max(0, self.end - size)
        self.last_start = max(0, self.last_start - size)

    def scan(self, data: bytes) -> Iterator[None]:
        """Pass over what was not passed yet; pause now and then."""
        for tags in count(1):
            if not self._close_section(data):
                return
            if tags % _STEP == 0:
                yield
            match = self._tag.search(data, self.position)
            if match is None:
                break
            self.position = match.end()
            if closing := CLOSINGS.get(match[0]):
                self.closing = closing
            elif match[0].startswith(b"</"):
                self.end, self.starts = match.end(), 0
                self.end_tag = match[0] if len(match[0]) <= _LONGEST_TAG else self.end_tag
            else:
                self.starts += 1
                self.last_start = match.start()
        last = data.rfind(b"<", self.position)  # the last tag may not be whole yet
        self.position = last if last >= 0 and data.find(b">", last) < 0 else len(data)

    def ends_record(self, data: bytes, start: int) -> bool:
        """Tell whether a record's end tag, in any spelling, stands behind a place."""
        return bool(self._end_tag.search(data, start))

    def _close_section(self, data: bytes) -> bool:
        """Pass over the open section, if there is one; tell whether it ends."""
        if not self.closing:
            return True
        end = data.find(self.closing, self.position)
        if end < 0:
            self.position = max(self.position, len(data) - len(self.closing) + 1)
            return False
        self.position = end + len(self.closing)
        self.closing = b""
        return True


def find_borders(data: bytes, records: frozenset[str]) -> list[tuple[int, int]]:
    """Find where records begin and end, outside of comments and the like.

    Returns each place, and how many records are open there: 0 at the borders of an outermost one.
    """
    borders: list[tuple[int, int]] = []
    tag = _record_tag(records)
    position = depth = 0
    while match := tag.search(data, position):
        position = match.end()
        if closing := CLOSINGS.get(match[0]):
            end = data.find(closing, position)
            if end < 0:
                break
            position = end + len(closing)
        elif not match[0].startswith(b"</"):
            borders.append((match.start(), depth))
            depth += not _EMPTY.match(data, position)
        elif depth:
            depth -= 1
            borders.append((position, depth))
    return borders


def count_lines(data: bytes) -> int:
    """Count the ends of lines (XML 1.0, section 2.11)."""
    lines = data.count(b"\n")
    return lines + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else lines


def record_begin(records: frozenset[str]) -> re.Pattern[bytes]:
    """Make the pattern of a record's start tag, up to where its name ends."""
    return re.compile(rb"<" + _name(records) + rb"(?=[\s/>])")


def record_end(records: frozenset[str]) -> re.Pattern[bytes]:
    """Make the pattern of a record's end tag, up to but not with its `>`."""
    return re.compile(rb"</" + _name(records) + rb"(?=[\s>])")


def _record_tag(records: frozenset[str]) -> re.Pattern[bytes]:
    name = _name(records)
    return re.compile(rb"<(?:!--|\?|!\[CDATA\[|/" + name + rb"\s*+>|" + name + rb"(?=[\s/>]))")


def _name(records: frozenset[str]) -> bytes:
    return rb"(?:[\w.-]++:)?(?i:" + "|".join(sorted(records)).encode() + rb")"
