"""The boundaries of records in markup that is not whole yet, and may be broken.

Only tags of records, comments, CDATA sections and processing instructions are looked at. That is
enough to cut between records.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.readers.records.vocabulary import KNOWN_TAGS
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
    Span: TypeAlias = tuple[int, int]
    """Where a record begins and ends."""

_ANY_TAG = re.compile(rf"{HIDDEN}|<(/?)([^\s<>/!?]++)[^<>]*+(?<!/)>")


def find_record(text: str, position: int, records: frozenset[str]) -> tuple[Span, bool] | None:
    """Return where the next record begins and ends, and whether it lacks its end tag.

    It ends with the end tag of the name that it began with. Elements of that name inside of it are
    counted; those with another prefix are ignored. If its end tag is missing, it ends where the
    next one begins. `None` if that is not in the text yet.
    """
    markup = _write_markup_pattern(records)
    name, begin, depth, checked = "", 0, 0, 0
    around: list[str] = []
    while tag := markup.search(text, position):
        position = tag.end()
        if closing := CLOSINGS.get(tag[0]):
            end = text.find(closing, position)
            if end < 0:
                break
            position = end + len(closing)
        elif tag[1]:
            depth -= tag[1] == name
        elif tag[2] == name or not name:
            if not tag[3] and position == len(text):  # it may go on
                break
            is_empty = tag[0].endswith("/>")
            if not name:
                name, begin, checked = tag[2], tag.start(), position
            else:
                _pass_tags(text, checked, tag.start(), around)
                if not _is_nested(around, is_empty=is_empty):
                    return (begin, tag.start()), True
                checked = tag.start()
            depth += not is_empty
        if name and not depth:
            return (begin, position), False
    return None


def _pass_tags(text: str, start: int, end: int, around: list[str]) -> None:
    """Note the names of the elements that are opened on the way, and not closed."""
    for tag in _ANY_TAG.finditer(text, start, end):
        if tag[1] == "":
            around.append(tag[2])
        elif tag[1] and around and around[-1] == tag[2]:
            around.pop()


def _is_nested(around: list[str], *, is_empty: bool) -> bool:
    """Return whether a tag with the record's name is inside a foreign element.

    Directly in the record, or in an element of the vocabulary, it begins another record; but not in
    the latter if it is empty.
    """
    is_known = bool(around) and around[-1].rpartition(":")[2].lower() in KNOWN_TAGS
    return bool(around) and (is_empty or not is_known)


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
    return re.compile(rf"<(?:!--|\?|!\[CDATA\[|/({name})\s*+>|({name})(?=[\s/>]){ATTRIBUTES}(>)?)")


@lru_cache(maxsize=16)
def write_end_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of a record's end tag, or of one before many blanks."""
    return re.compile(rf"</{_name(records)}(?:\s*+>|(?=\s))")


@lru_cache(maxsize=16)
def write_tag_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of how a record's tags begin."""
    return re.compile(rf"</?{_name(records)}(?=[\s/>])")


def _name(records: frozenset[str]) -> str:
    return rf"(?:[\w.\xb7-]++:)?(?ai:{'|'.join(map(re.escape, sorted(records)))})"
