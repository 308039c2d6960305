"""The boundaries of records in markup that is not whole yet, and may be broken.

The scanner only looks at tags of records, comments, CDATA sections and processing instructions.
That is enough to cut between records.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.readers.records.vocabulary import KNOWN_TAGS, OWN
from sitemapreader.readers.xml.markup import (
    ATTRIBUTES,
    BLANKS,
    CLOSINGS,
    COMMENT_END,
    COMMENT_START,
    HIDDEN,
    ILLEGAL,
)

if TYPE_CHECKING:
    from sitemapreader.readers.xml.prolog import Prolog

    Span: TypeAlias = tuple[int, int]
    """Where a record begins and ends."""

_REST_OF_TAG = re.compile(rf"{ATTRIBUTES}(>)?")
_ANY_TAG = re.compile(rf"{HIDDEN}|<(/?)([^\s<>/!?]++)[^<>]*+(?<!/)>")


class Scanner:
    """Scanner for the records of a text.

    A record ends with the end tag of the name that it began with. Elements of that name inside of
    it are counted; those with another prefix are ignored. A record whose end tag is
    missing ends where the next one begins. Each search begins between two records, and leaves
    behind what it has found open.
    """

    is_cut = False
    """Whether the record that was found lacks its end tag: it ends where the next one begins."""
    closing = ""
    """What would close the comment, CDATA section or PI that is still open, if one is."""
    name = ""
    """The name of the record that is still open, as written, or ""."""
    position = 0
    """How far all was passed; what is behind may be the beginning of a tag."""
    begin = 0
    """Where the open record begins, or what was not passed yet."""
    last_begin = 0
    """Where the last tag with the open record's name begins."""

    def __init__(self, prolog: Prolog) -> None:
        self._prolog = prolog
        self._section = self._depth = self._checked = 0
        self._open: list[str] = []
        """Elements that are open in the record, but the record itself, up to `_checked`."""

    def find_record(self, text: str, position: int) -> Span | None:
        """Return the begin and end of the next complete record, or `None`."""
        tag = _write_markup_pattern(self._prolog.records)
        self.name = self.closing = ""
        self.is_cut = False
        while match := tag.search(text, position):
            position = match.end()
            if closing := CLOSINGS.get(match[0]):
                self._section = match.start()
                end = text.find(closing, position)
                if end < 0:
                    self.closing = closing
                    self.position = max(position, len(text) - len(closing) + 1)
                    break
                position = end + len(closing)
            elif match[1]:
                self._depth -= match[1] == self.name
                if match[1] == self.name and not self._depth:
                    return self.begin, position
            elif match[2] == self.name or not (self.name or self._is_foreign(match[2])):
                rest = _REST_OF_TAG.match(text, position)
                if rest is None or (rest.end() == len(text) and not rest[1]):
                    self.position = match.start()
                    break
                position = rest.end()
                is_empty = bool(rest[1]) and text[position - 2] == "/"
                if end := self._open_element(text, match, position, is_empty=is_empty):
                    return self.begin, end
        else:
            last = text.rfind("<", position)  # the last tag may not be whole yet
            self.position = last if last >= 0 and text.find(">", last) < 0 else len(text)
        if not self.name:
            self.begin = self.last_begin = self.position
        return None

    def _open_element(self, text: str, tag: re.Match[str], end: int, *, is_empty: bool) -> int:
        """Pass a record's start tag; return where a record ends by it, or 0."""
        if not self.name:
            self.name, self._depth, self._checked = tag[2], 1, end
            self.begin = self.last_begin = tag.start()
            self._open.clear()
            return end * is_empty
        if not self._is_nested(text, tag.start(), is_empty=is_empty):
            self.is_cut = True
            return tag.start()
        self._depth += not is_empty
        self.last_begin = tag.start()
        return 0

    def has_begun(self, text: str) -> bool:
        """Return whether a record, or the tag that begins one, is open."""
        tag = _write_markup_pattern(self._prolog.records)
        return bool(self.name or tag.match(text, self.position))

    def find_last_end(self, text: str) -> int:
        """Return where the open record can be cut, as it may be many; 0 if nowhere.

        In a section that nothing closes, behind the last record that ends in it; else before the
        last tag with the record's name.
        """
        if self.closing and self.name:
            first = write_tag_pattern(self._prolog.records).search(text, self._section)
            if first and first[0].startswith("</"):
                end_tag = write_end_pattern(self._prolog.records)
                last = deque(end_tag.finditer(text, self._section), maxlen=1)
                if last:
                    return last[0].end()
        return self.last_begin if self.last_begin > self.begin else 0

    def _is_foreign(self, name: str) -> bool:
        prefix, colon, _ = name.partition(":")
        uri = self._prolog.namespaces.get(prefix) if colon else None
        if uri is None:
            return False
        key = self._prolog.names.find_key(uri)
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


def count_lines(text: str, start: int = 0, end: int | None = None) -> int:
    """Count the line ends (XML 1.0, section 2.11)."""
    lines = text.count("\n", start, end)
    if text.find("\r", start, end) < 0:
        return lines
    return lines + text.count("\r", start, end) - text.count("\r\n", start, end)


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


def _name(records: frozenset[str]) -> str:
    return rf"(?:[\w.\xb7-]++:)?(?ai:{'|'.join(map(re.escape, sorted(records)))})"
