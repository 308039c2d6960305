"""The boundaries of records in markup that comes in pieces, each read once.

The scanner only looks at tags of records, comments, CDATA sections and processing instructions.
That is enough to cut between records, also in broken markup.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.readers.records.vocabulary import KNOWN_TAGS, OWN, Names
from sitemapreader.readers.xml.characters import (
    ATTRIBUTES,
    BLANKS,
    CLOSINGS,
    COMMENT_END,
    COMMENT_START,
    HIDDEN,
    ILLEGAL,
    SECTION_START,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from sitemapreader.models import Event
    from sitemapreader.readers.xml.prolog import Prolog

    Span: TypeAlias = tuple[int, int]
    """Where a record begins and ends."""

_STEP = 5_000
"""Tags between two pauses: about 5 ms."""
_REST_OF_TAG = re.compile(rf"{ATTRIBUTES}(>)?")
_SECTION = re.compile(rf"(?:<([^\s<>/!?]++)[^<>]*+(?<!/)>[^<>]*+)?({HIDDEN})")
"""What is hidden and, if only text is between them, the name in the start tag before it."""
_ANY_TAG = re.compile(rf"{HIDDEN}|<(/?)([^\s<>/!?]++)[^<>]*+(?<!/)>")
_MAX_NAME_CHARS = 64
"""Of longer names, whoever invents them, no pattern is made."""


class Scanner:
    """Scanner for the records of a growing text.

    A record ends with the end tag of the name that it began with. Elements of that name inside of
    it are counted; those with another prefix are ignored. A record whose end tag is
    missing ends where the next one begins.
    """

    closing: str
    """What would close the comment, CDATA section or PI that is still open, if one is."""
    name: str
    """The name of the record that is still open, as written, or ""."""
    position: int
    """How far all was passed; what is behind may be the beginning of a tag."""

    def __init__(self, prolog: Prolog, names: Names) -> None:
        self._prolog = prolog
        self._names = names
        self.closing = self.name = ""
        self.position = self._start = self._last_start = self._section = 0
        self._depth = self._checked = 0
        self._open: list[str] = []
        """Elements that are open in the record, but the record itself, up to `_checked`."""

    def reset(self, position: int = 0) -> None:
        """Forget what is open, and continue from a place between two records."""
        self.position = position
        self.closing = self.name = ""

    def drop(self, size: int) -> None:
        """Adjust to a text whose first `size` characters were removed."""
        self.position = max(0, self.position - size)
        self._last_start = max(0, self._last_start - size)
        self._start = max(0, self._start - size)
        self._checked = max(0, self._checked - size)
        self._section = max(0, self._section - size)

    def find_record(self, text: str) -> Generator[list[Event], None, Span | None]:
        """Return the begin and end of the next complete record, or `None`; with pauses."""
        tag = _write_markup_pattern(self._prolog.records)
        for tags in count(1):
            if not self._close_section(text):
                return None
            if tags % _STEP == 0:
                yield []
            match = tag.search(text, self.position)
            if match is None:
                break
            self.position = match.end()
            if closing := CLOSINGS.get(match[0]):
                self.closing, self._section = closing, match.start()
            elif match[1]:
                if match[1] == self.name:
                    self._depth -= 1
                    if not self._depth:
                        self.name = ""
                        return self._start, match.end()
            else:
                found = self._pass_start(text, match)
                if found or self.position < match.end():
                    return found
        last = text.rfind("<", self.position)  # the last tag may not be whole yet
        self.position = last if last >= 0 and text.find(">", last) < 0 else len(text)
        return None

    @property
    def begin(self) -> int:
        """Where the open record begins, or what was not passed yet."""
        return self._start if self.name else self.position

    @property
    def nested_start(self) -> int:
        """The start of the last tag with the open record's name; 0 if there is none."""
        return self._last_start if self.name and self._last_start > self._start else 0

    def has_begun(self, text: str) -> bool:
        """Return whether a record, or the tag that begins one, is open."""
        tag = _write_markup_pattern(self._prolog.records)
        return bool(self.name or tag.match(text, self.position))

    def find_hidden_end(self, text: str) -> int:
        """Return where the last record ends in an unclosed section; 0 if none does."""
        first = write_tag_pattern(self._prolog.records).search(text, self._section)
        if not (self.closing and self.name and first and first[0].startswith("</")):
            return 0
        end_tag = write_end_pattern(self._prolog.records)
        last = deque(end_tag.finditer(text, self._section), maxlen=1)
        return last[0].end() if last else 0

    def _pass_start(self, text: str, match: re.Match[str]) -> Span | None:
        """Handle a start tag; return the record that ends with or before it, or `None`.

        `position` stays before a tag that is not whole yet, or that another record begins with.
        """
        name = match[2]
        if (self.name and name != self.name) or (not self.name and self._is_foreign(name)):
            return None
        rest = _REST_OF_TAG.match(text, match.end())
        if rest is None or (rest.end() == len(text) and not rest[1]):
            self.position = match.start()
            return None
        is_empty = bool(rest[1]) and text[rest.end() - 2] == "/"
        if self.name and not self._is_nested(text, match.start(), is_empty=is_empty):
            self.reset(match.start())
            return self._start, match.start()
        self.position = rest.end()
        if self.name:
            self._depth += not is_empty
            self._last_start = match.start()
            return None
        if is_empty:
            return match.start(), rest.end()
        self.name, self._depth = name, 1
        self._start = self._last_start = match.start()
        self._checked = rest.end()
        self._open.clear()
        return None

    def _is_foreign(self, name: str) -> bool:
        prefix, colon, _ = name.partition(":")
        uri = self._prolog.namespaces.get(prefix) if colon else None
        if uri is None:
            return False
        key = self._names.find_key(uri)
        return key != OWN and (key != uri or self._prolog.format.is_feed)

    def _is_nested(self, text: str, end: int, *, is_empty: bool) -> bool:
        """Return whether a tag with the record's name is inside a foreign element.

        Directly in the record, or in an element of the vocabulary, it begins another record; but
        not in the latter if it is empty.
        """
        for tag in _ANY_TAG.finditer(text, self._checked, end):
            if tag[1] == "":
                self._open.append(tag[2])
            elif tag[1] and self._open and self._open[-1] == tag[2]:
                self._open.pop()
        self._checked = end
        if not self._open or is_empty:
            return bool(self._open)
        return self._open[-1].rpartition(":")[2].lower() not in KNOWN_TAGS

    def _close_section(self, text: str) -> bool:
        """Skip the open section, if there is one; return whether it ends."""
        if not self.closing:
            return True
        end = text.find(self.closing, self.position)
        if end < 0:
            self.position = max(self.position, len(text) - len(self.closing) + 1)
            return False
        self.position = end + len(self.closing)
        self.closing = ""
        return True


def has_end(text: str) -> bool:
    """Return whether a record ends with a tag that may end it, and is not cut off."""
    return text.startswith("</", text.rfind("<")) or text.rstrip().endswith("/>")


def swallows_record(text: str, records: frozenset[str]) -> bool:
    """Return whether a CDATA section holds a record's end and another section.

    If it holds its own element's end as well, that is XML, but not what was meant: the first
    section was not closed.
    """
    sections = text.count(SECTION_START)
    if sections < 2 or sections <= text.count(CLOSINGS[SECTION_START]):
        return False
    record_end = write_end_pattern(records)
    return any(
        match[1]
        and match[2].startswith(SECTION_START)
        and match[2].count(SECTION_START) > 1
        and record_end.search(match[2])
        and _ends_first(match[2], match[1])
        for match in _SECTION.finditer(text)
    )


def _ends_first(text: str, name: str) -> bool:
    end = text.find(f"</{name}>")
    return end >= 0 and text.find(f"<{name}>", 0, end) < 0 and text.find(f"<{name} ", 0, end) < 0


def count_lines(text: str, start: int = 0, end: int | None = None) -> int:
    """Count the line ends (XML 1.0, section 2.11)."""
    lines = text.count("\n", start, end)
    if text.find("\r", start, end) < 0:
        return lines
    return lines + text.count("\r", start, end) - text.count("\r\n", start, end)


def is_end(text: str, position: int, names: Iterable[str]) -> bool:
    """Return whether only the end tags of these elements are left in a text."""
    for name in names:
        position = pass_nothing(text, position)
        end_tag = f"</{name}>"
        if not text.startswith(end_tag, position):
            return False
        position += len(end_tag)
    return pass_nothing(text, position) == len(text)


def pass_nothing(text: str, position: int) -> int:
    """Return where blanks and well-formed comments end that begin at a place."""
    # SECURITY: an expression would keep a state for each hyphen of a long comment
    while blanks := BLANKS.match(text, position):
        position = blanks.end()
        if not text.startswith(COMMENT_START, position):
            return position
        end = text.find("--", position + len(COMMENT_START))
        is_comment = end >= 0 and text.startswith(COMMENT_END, end)
        if not is_comment or ILLEGAL.search(text, position, end):
            return position
        position = end + len(COMMENT_END)
    return position


@lru_cache(maxsize=16)
def _write_markup_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of a record's tags, and of how markup without elements begins."""
    name = _name(records)
    return re.compile(rf"<(?:!--|\?|!\[CDATA\[|/({name})\s*+>|({name})(?=[\s/>]))")


@lru_cache(maxsize=16)
def write_end_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of a record's end tag."""
    return re.compile(rf"</{_name(records)}\s*+>")


@lru_cache(maxsize=16)
def write_tag_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of how a record's tags begin."""
    return re.compile(rf"</?{_name(records)}(?=[\s/>])")


def write_own_pattern(name: str) -> re.Pattern[str]:
    """Write the pattern of how an element's tags begin, whatever their prefix."""
    return write_tag_pattern(frozenset({name[:_MAX_NAME_CHARS]}))


def _name(records: frozenset[str]) -> str:
    return rf"(?:[\w.\xb7-]++:)?(?ai:{'|'.join(map(re.escape, sorted(records)))})"
