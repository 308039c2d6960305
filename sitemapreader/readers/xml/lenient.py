"""LenientParser: reads records that are not well-formed as they were meant.

A parser of our own for broken markup. It runs on the record that is broken and on what stands
between records; of well-formed markup it makes the same records as the tree builder. Each repair
leaves its code on the record. Time is linear: every character is passed a bounded number of times.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.context import XML_BASE
from sitemapreader.readers.records.vocabulary import FIELDS, MAX_NAMESPACES, RECORD_OF, ROOTS
from sitemapreader.readers.xml.boundaries import (
    write_end_pattern,
    write_own_pattern,
    write_tag_pattern,
)
from sitemapreader.readers.xml.characters import (
    CLOSINGS,
    COMMENT_START,
    SECTION_START,
    remove_controls,
    replace_bad_bytes,
    slices,
    unescape,
)
from sitemapreader.readers.xml.markup import (
    MARKUP,
    OpenElement,
    RecordBuilder,
    expand_name,
    find_namespaces,
    get_attributes,
    get_tag,
    index_tags,
    is_text,
    read_attributes,
    resolve,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sitemapreader.options import Limits
    from sitemapreader.readers.records.vocabulary import Name, Names
    from sitemapreader.readers.xml.prolog import Prolog

_CLOSINGS = {begin: re.compile(re.escape(end)) for begin, end in CLOSINGS.items()}
_BEGIN = re.compile(r"<(?:/?[^\W\d]|!--|!\[CDATA\[|\?)")
_LONGEST_BEGIN = len(SECTION_START)
_TAG_BEGIN = re.compile(r"<")
_NEXT_END = re.compile(r"[^<]*+</([^\s<>/]++)")
_ROOT_END = re.compile(rf"</(?:[\w.\xb7-]++:)?(?i:{'|'.join(ROOTS)})\s*+>")
_NO_CONTENT = re.compile(r"\s*+(?=<|\Z)")
_LOST = "\ufffd"
_STEP_CHARS = 4_096
_STEP_TAGS = 100
"""Of the smallest records, as many are built between two pauses, in 2 ms."""
_SAMPLE_CHARS = 200
"""Of what stands behind the root."""
MAX_TAG_CHARS = 65_536
"""Of a longer tag the attributes are not read, and its record is dropped."""
_WINDOW_CHARS = 65_536
"""Text without any markup is searched in 4 ms, if it is made to take long."""


class LenientParser:
    """Parser of markup that is not well-formed, which feeds the record builder.

    A record that the end of the text cuts stays open in the builder. Bad bytes of the text are
    lone surrogates; `line` is its first line, and a tail is the last of the document.
    """

    def __init__(
        self,
        prolog: Prolog,
        names: Names,
        limits: Limits,
        text: str,
        line: int,
        *,
        is_tail: bool,
    ) -> None:
        self.trailing = ""
        """What stands behind the root's end tag, if anything does."""
        self.is_odd = False
        """Whether a tag does not belong where it stands, outside of all records."""
        self.builder = RecordBuilder(limits)
        self._is_tail = is_tail
        self._prolog = prolog
        self._names = names
        self._limits = limits
        clean = replace_bad_bytes(text)
        self._has_bad_bytes = clean.count(_LOST) > text.count(_LOST)
        self._text = clean.replace("\r\n", "\n").replace("\r", "\n")  # XML 1.0, section 2.11
        self._line = line
        self._counted = 0
        self._tags: dict[str, list[tuple[int, bool]]] = {}
        """Where the tags of each name stand, and whether they are end tags; made when needed."""
        self._found: dict[re.Pattern[str], re.Match[str] | None] = {}

    def read(self) -> Iterator[None]:
        """Build the records, with pauses."""
        position = tags = 0
        pause = _STEP_CHARS
        while match := (yield from self._next_markup(position)):
            yield from self._read_text(position, match.start())
            position = match.end()
            if match["section"]:
                position = yield from self._pass_over(match[0], position)
            elif match["end"]:
                self._close(match)
            else:
                if (yield from self._begins_next_record(match)):
                    self.builder.finish(IssueCode.MISMATCHED_TAG)
                self._open(match)
            tags += 1
            if position > pause or tags == _STEP_TAGS:
                pause, tags = position + _STEP_CHARS, 0
                yield
        yield from self._read_text(position, len(self._text))

    def _next_markup(self, position: int) -> Generator[None, None, re.Match[str] | None]:
        """Return the next tag, comment or the like; pause within long texts."""
        while position < len(self._text):
            begin = _BEGIN.search(self._text, position, position + _WINDOW_CHARS)
            match = MARKUP.match(self._text, begin.start()) if begin else None
            if match and not is_text(match):
                return match
            position = match.end() if match else position + _WINDOW_CHARS - _LONGEST_BEGIN
            yield
        return None

    # -- elements

    def _open(self, match: re.Match[str]) -> None:
        raw = get_attributes(match)
        prefix, _, local = match["name"].rpartition(":")
        tag = local.lower()
        if self._repair_missing_end(tag, match):
            return
        repairs: set[IssueCode] = set()
        attributes, bound = self._read_attributes(raw, repairs)
        namespaces = self._bind(bound)
        attributes, unbound = resolve(attributes, namespaces)
        if unbound:
            repairs.add(IssueCode.UNBOUND_PREFIX)
        uri = self._find_uri(prefix, tag, namespaces, repairs)
        expanded = expand_name(uri, local)
        name = self._names[expanded]
        is_empty = raw.endswith("/")
        depth = len(self.builder.open)
        if self._prolog.is_record(name) and (depth == 1 or (depth and not is_empty)):
            self.builder.finish(IssueCode.MISMATCHED_TAG)
            namespaces = self._bind(bound)  # without those of the record that has ended
        line = self._line_at(match.start())
        if not self.builder.open and not self._begins_record(name, line):
            self._prolog.note_element(name, attributes)
            base = attributes.get(XML_BASE, "")
            self._open_around(match, name, bound, base, is_empty=is_empty)
            return
        opened = OpenElement(expanded, tag, namespaces)
        self.builder.start(opened, attributes, line)
        self.builder.repairs.update(repairs)
        if len(raw) > MAX_TAG_CHARS:
            self.builder.error = self.builder.error or IssueCode.FIELD_TOO_LONG
        if is_empty and self.builder.open[-1] is opened:
            self.builder.end()

    def _begins_record(self, name: Name, line: int) -> bool:
        """Return whether an element outside of all records is one, or the loc of one."""
        prolog = self._prolog
        if prolog.is_record(name) or prolog.is_foreign_record(name):
            return True
        record = RECORD_OF.get(prolog.format)
        if name.own != "loc" or not record:
            return False
        opened = OpenElement(expand_name(name.uri, record), record, prolog.namespaces)
        self.builder.start(opened, {}, line)
        self.builder.repairs.add(IssueCode.MISMATCHED_TAG)
        return True

    def _begins_next_record(self, match: re.Match[str]) -> Generator[None, None, bool]:
        """Return whether a tag begins a record even if the open one rebinds its prefix.

        It does if the elements that bind the prefix have lost their end tags.
        """
        prefix, _, local = match["name"].rpartition(":")
        uri = self._prolog.namespaces.get(prefix, "")
        if local.lower() not in self._prolog.records or (prefix and not uri):
            return False
        bound = [uri, *(element.namespaces.get(prefix, "") for element in self.builder.open)]
        pairs = zip(self.builder.open, pairwise(bound), strict=True)
        binders = [element.tag for element, (outer, inner) in pairs if outer != inner]
        is_record = self._prolog.is_record(self._names[expand_name(uri, local)])
        if not binders or not is_record or get_attributes(match).endswith("/"):
            return False
        if not self._tags:
            self._tags = yield from index_tags(self._text)
        return not any(self._is_closed(tag, match.start()) for tag in binders)

    def _is_closed(self, tag: str, position: int) -> bool:
        """Return whether the next tag of a name is an end tag, but of no root."""
        tags = self._tags.get(tag, [])
        place = bisect_left(tags, (position, False))
        if place < len(tags):
            return tags[place][1] and tag not in ROOTS
        # without the root's end tag, it may be the document that is not whole
        return self._is_tail and not self._find(_ROOT_END, position)

    def _open_around(
        self, match: re.Match[str], name: Name, bound: dict[str, str], base: str, *, is_empty: bool
    ) -> None:
        """Handle an element outside of all records: a nested root, a feed's channel."""
        if name.tag in ROOTS:
            self._prolog.open_nested_root(ROOTS[name.tag][1])
            self._names.add_own(name.uri)
        elif not bound:
            self._note_trailing(match.start(), match.start() + _SAMPLE_CHARS)
        if not is_empty:
            self._prolog.open_wrapper(match["name"], bound, base)
        elif name.tag in ROOTS:
            self._prolog.closed = True

    def _read_attributes(
        self, raw: str, repairs: set[IssueCode]
    ) -> tuple[dict[str, str], dict[str, str]]:
        if "=" not in raw or len(raw) > MAX_TAG_CHARS:
            return {}, {}
        attributes = read_attributes(raw, repairs, self._limits.attributes + MAX_NAMESPACES)
        if self._has_bad_bytes and _LOST in raw:
            repairs.add(IssueCode.ENCODING)
        return attributes, find_namespaces(attributes)

    def _bind(self, bound: dict[str, str]) -> dict[str, str]:
        opened = self.builder.open
        around = opened[-1].namespaces if opened else self._prolog.namespaces
        return around | bound if bound else around

    def _find_uri(
        self, prefix: str, tag: str, namespaces: dict[str, str], repairs: set[IssueCode]
    ) -> str:
        """Return the URI of a prefix; an undeclared one has it by convention."""
        uri = namespaces.get(prefix, "")
        if uri or not prefix:
            return uri
        if prefix != "xml":  # which need not be declared
            repairs.add(IssueCode.UNBOUND_PREFIX)
        if not self.builder.open and tag in self._prolog.records:
            self._prolog.own_prefix = prefix
        return self._prolog.guess_uri(prefix)

    def _repair_missing_end(self, tag: str, match: re.Match[str]) -> bool:
        """Close a field where another begins; return whether that was its end tag."""
        above = self.builder.open[-1].tag if len(self.builder.open) > 1 else ""
        if above not in FIELDS or tag not in FIELDS:
            return False
        self.builder.repairs.add(IssueCode.MISMATCHED_TAG)
        self.builder.end()
        return above == tag and _NO_CONTENT.match(self._text, match.end()) is not None

    def _close(self, match: re.Match[str]) -> None:
        tag = get_tag(match)
        tags = [element.tag for element in self.builder.open]
        if tag in tags:
            above = tags[::-1].index(tag)
            if above:
                self.builder.repairs.add(IssueCode.MISMATCHED_TAG)
            for _ in range(above + 1):
                self.builder.end()
            return
        if not tags:
            self._close_outside(match, tag)
        elif tag in ROOTS:
            self.builder.finish(IssueCode.MISMATCHED_TAG)
        else:
            self.builder.repairs.add(IssueCode.MISMATCHED_TAG)
            self.builder.add_break()
            if tags[-1] in FIELDS and self.builder.open[-1].has_text:
                self.builder.end()  # a misspelt end tag
        if tag in ROOTS:
            is_cut = match["attributes"] is None and not match["closed"]
            is_other = match["name"] != self._prolog.root and not self._prolog.has_nested_root
            self.is_odd = self.is_odd or is_cut or is_other
            self._prolog.closed = True

    def _close_outside(self, match: re.Match[str], tag: str) -> None:
        """Handle an end tag outside of all records: a record's, or one behind the root."""
        self._prolog.close_wrapper(match["name"])
        is_behind = self._prolog.closed and not self._prolog.has_nested_root
        if tag in self._prolog.records or (is_behind and tag in ROOTS):
            self.is_odd = True
        elif is_behind:
            self._note_trailing(match.start(), match.start() + _SAMPLE_CHARS)

    # -- markup that is not an element

    def _read_text(self, start: int, end: int) -> Iterator[None]:
        text = self._text[start:end]
        if text and self.builder.open:
            yield from self._add_text(text, unescape)
            if "<" in text:
                self.builder.repairs.add(IssueCode.BARE_LESS_THAN)
        else:
            self._note_trailing(start, end)

    def _add_text(self, text: str, decode: Callable[[str, set[IssueCode]], str]) -> Iterator[None]:
        for part in slices(text):
            self.builder.add_text(decode(part, self.builder.repairs))
            if len(part) < len(text):
                yield
        if self._has_bad_bytes and _LOST in text:
            self.builder.repairs.add(IssueCode.ENCODING)

    def _note_trailing(self, start: int, end: int) -> None:
        if self._prolog.closed and not self.trailing:
            self.trailing = self._text[start:end].strip()

    def _pass_over(self, begin: str, start: int) -> Generator[None, None, int]:
        """Read a comment, CDATA section or PI from `start` on; return where it ends."""
        closing = self._find(_CLOSINGS[begin], start)
        if begin == SECTION_START:
            content_end, end = closing.span() if closing else (len(self._text),) * 2
            if self._is_unclosed(start, closing):
                content_end = end = self._find_end(begin, start)
                self.builder.repairs.add(IssueCode.MISMATCHED_TAG)
            yield from self._add_text(self._text[start:content_end], remove_controls)
            return end
        if begin != COMMENT_START:
            self.builder.mark_template()
        if closing:
            return closing.end()
        end = self._find_end(begin, start)
        self.is_odd = self.is_odd or end < len(self._text)
        return end

    def _is_unclosed(self, start: int, closing: re.Match[str] | None) -> bool:
        """Return whether a section lacks its end, because its element ends in it.

        Outside of all records: because an end tag follows that closes nothing, or the root ends.
        """
        record_end = self._find(write_end_pattern(self._prolog.records), start)
        end = closing.start() if closing else len(self._text)
        is_continued = self._text.endswith("]]>", 0, start - len(SECTION_START))
        if is_continued or (closing and not (record_end and record_end.start() < end)):
            return False
        if not self.builder.open:
            name = _NEXT_END.match(self._text, end)
            is_end = name and name[1] not in (self._prolog.root, *self._prolog.wrappers)
            return bool(is_end if closing else self._find(_ROOT_END, start))
        own = write_own_pattern(self.builder.open[-1].tag)
        tag = own.search(self._text, start, end) if closing else self._find(own, start)
        return tag is not None and tag[0].startswith("</")

    def _find_end(self, begin: str, start: int) -> int:
        """Find where reading continues behind what nothing closes.

        That is the next tag. A comment may contain tags, so it ends before the next record, but
        only if the root ends behind it: otherwise the document may be cut.
        """
        following = self._find(_TAG_BEGIN, start)
        if begin == COMMENT_START:
            is_whole = self._find(_ROOT_END, start)
            following = is_whole and self._find(write_tag_pattern(self._prolog.records), start)
        return following.start() if following else len(self._text)

    def _find(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """Find a pattern; calls with growing positions pass the text only once."""
        found = self._found.get(pattern)
        if pattern not in self._found or (found and found.start() < start):
            found = self._found[pattern] = pattern.search(self._text, start)
        return found

    def _line_at(self, position: int) -> int:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line
