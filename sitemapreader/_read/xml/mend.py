"""Repairs broken markup and feeds the result to the tree builder.

The mender runs on a record that the parser refuses, and on what stands between records. Each repair
leaves its code on the record. Time is linear: every character is passed a bounded number of times.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder

import attrs

from sitemapreader._read.record import Record, join_texts, make_instruction
from sitemapreader._read.vocabulary import (
    FIELDS,
    MAX_NAMESPACES,
    RECORD_OF,
    RECORDS,
    ROOTS,
    USUAL_PREFIXES,
)
from sitemapreader._read.xml.markup import (
    ATTRIBUTES,
    CLOSINGS,
    COMMENT_START,
    SECTION_START,
    expand_name,
    find_namespaces,
    parse_attributes,
    remove_controls,
    replace_bad_bytes,
    unescape,
    write_tag_pattern,
)
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sitemapreader._read.vocabulary import Name
    from sitemapreader._read.xml.prolog import Prolog
    from sitemapreader._types.options import Limits

# A tag's attributes end at the first `>` outside of quotes; where quotes do not pair, at the first
# `>`; and where there is none, at the next `<`, if its name is one of ours: others are text. A long
# text comes in parts, none of which ends in a reference; the longest takes 5 ms.
_MARKUP_TOKEN = re.compile(
    r"<(?P<section>!--|!\[CDATA\[|\?)"
    rf"|<(?P<end>/?)(?P<ours>(?=(?:[\w.\xb7-]*+:)*(?i:{'|'.join(FIELDS | RECORDS | ROOTS.keys())})"
    r"(?![\w.:\xb7-])))?(?P<name>[^\W\d][\w.:\xb7-]*+)"
    rf"(?P<attributes>{ATTRIBUTES}(?=>)|[^<>]*+)(?:>|(?(ours)|(?!)))"
    r"|<{1,8000}(?=<)|<?[^<]{0,8000}+[^<&]{0,40}+"
)
_CLOSINGS = {begin: re.compile(re.escape(end)) for begin, end in CLOSINGS.items()}
_TAG_BEGIN = re.compile(r"<")
_PARTIAL_TAG = re.compile(rf"<(?!/(?:[\w.\xb7-]++:)?(?i:{'|'.join(ROOTS)})\b)[^<>]*+\Z")
"""A tag that the end of the text cuts, but for a root's end tag."""
_NEXT_END = re.compile(r"[^<]*+</([^\s<>/]++)")
_ROOT_END = re.compile(rf"</(?:[\w.\xb7-]++:)?(?i:{'|'.join(ROOTS)})\s*+>")
_NO_CONTENT = re.compile(r"\s*+(?=<|\Z)")
_MEND_STEP_CHARS = 4_096
"""Characters that are mended between two pauses; 6 ms of short tags."""
_TAIL_SAMPLE_CHARS = 200
"""Characters of text after the root that an Issue shows."""
_IN_NAMES = dict.fromkeys(map(ord, ".-"), "_")


class _Open(NamedTuple):
    element: Element
    tag: str
    namespaces: Mapping[str, str]
    """All that are bound in it, by their prefixes."""


def _make_builder() -> TreeBuilder:
    return TreeBuilder(
        insert_comments=True, insert_pis=True, pi_factory=make_instruction
    )


@attrs.define
class _OpenRecord:
    """A record that is being mended."""

    begin: int = 0
    """Place of its start tag."""
    opened: list[_Open] = attrs.Factory(list)
    """The elements that are open, from the record inwards; none before its start tag."""
    builder: TreeBuilder = attrs.Factory(_make_builder)
    lines: dict[Element, int] = attrs.Factory(dict)
    """Its elements, and the lines on which they begin."""
    repairs: set[IssueCode] = attrs.Factory(set)
    error: IssueCode | None = None
    """Reason why it must be dropped; its further fields are left out."""


@attrs.define
class Mender:
    """Mender of a text, in which bad bytes are lone surrogates.

    `line` is its first line; `why` is what has cut the document, if it ends with the text.
    """

    _prolog: Prolog
    _limits: Limits
    _text: str
    _line: int
    _note: Callable[..., None]
    _why: IssueCode | None
    closing: str = ""
    """Text that would close the comment, section or instruction at the end."""
    _passed: int = 0
    """Place up to which all was read, except unclosed constructs."""
    is_odd: bool = False
    """True if nothing closes a comment, or an end tag after the root closes nothing."""
    _counted: int = 0
    _found: dict[re.Pattern[str], re.Match[str] | None] = attrs.Factory(dict)
    _finished: list[Record] = attrs.Factory(list)
    _record: _OpenRecord = attrs.Factory(_OpenRecord)

    @property
    def opened(self) -> list[_Open]:
        """The elements that are open, from the record inwards."""
        return self._record.opened

    @property
    def end(self) -> int:
        """The place where the unread text begins."""
        if self.opened:
            return self._record.begin
        return self._passed

    def read(self) -> Iterator[Record | None]:
        """Yield the records, and `None` for pauses."""
        position = 0
        pause = _MEND_STEP_CHARS
        last = self._text.rfind("<")
        while (token := _MARKUP_TOKEN.match(self._text, position)) and token[0]:
            position = token.end()
            is_last = token.start() == last
            if is_last and self.opened and _PARTIAL_TAG.match(self._text, last):
                break
            if token["section"]:
                position = self._pass_over(token[0], position)
            elif not token["name"]:
                self._read_text(token)
            elif token["end"]:
                self._close(token)
            else:
                self._start(token)
            if not self.closing:
                self._passed = position
            if self._finished:
                yield from self._finished
                self._finished.clear()
            if position > pause:
                pause = position + _MEND_STEP_CHARS
                yield None

    # -- start tags

    def _start(self, token: re.Match[str]) -> None:
        prolog = self._prolog
        tag = _get_tag(token)
        is_left_out = self._record.error and self.opened and tag not in prolog.records
        if self._repair_missing_end(tag, token) or is_left_out:
            return
        repairs = set[IssueCode]()
        raw = _replace_bad_bytes(token["attributes"], repairs)
        text = ""
        if tag in FIELDS and token[0][-1] != ">" and has_web_scheme(raw.strip()):
            # the `>` of `<loc` is missing, so no attribute stands before the end tag
            repairs.add(IssueCode.NOT_WELL_FORMED)
            text = raw
            raw = ""
        attributes = parse_attributes(
            raw, repairs, self._limits.attributes + MAX_NAMESPACES
        )
        bound = find_namespaces(attributes)
        is_empty = raw.endswith("/")
        if (
            (self.opened and tag in prolog.records)
            and (len(self.opened) == 1 or not is_empty)
            and self._is_record(
                self._find_name(token["name"], self._bind(bound), set())
            )
        ):
            self._finish(IssueCode.MISMATCHED_TAG)
        namespaces = self._bind(bound)
        name = self._find_name(token["name"], namespaces, repairs)
        if not self.opened:
            if name.own == "loc" and (record := RECORD_OF.get(prolog.format)):
                around = self._prolog.names[expand_name(name.uri, record)]
                self._open_element(around, {}, prolog.namespaces, token.start())
                repairs.add(IssueCode.MISMATCHED_TAG)
            elif not (
                name.own in prolog.records or prolog.is_foreign_record(name, repairs)
            ):
                if tag not in ROOTS and not bound:
                    self._note_trailing(token)
                prolog.open_around(
                    token["name"], name, attributes, bound, is_empty=is_empty
                )
                if tag in ROOTS:
                    self._note(IssueCode.NESTED_ROOT)
                    self._prolog.names.add_own(name.uri)
                return
        self._open_element(name, attributes, namespaces, token.start())
        self._record.repairs |= repairs
        self._add_text(text, unescape)
        if is_empty and not self._record.error:
            self._end()

    def _is_record(self, name: Name) -> bool:
        """Return whether a name is a record's, or the open record's, which may be foreign."""
        is_open = expand_name(name.uri, name.local) == self.opened[0].element.tag
        return is_open or name.own in self._prolog.records

    def _repair_missing_end(self, tag: str, token: re.Match[str]) -> bool:
        """Close a field where another begins; return whether that was its end tag."""
        if len(self.opened) > 1:
            above = self.opened[-1].tag
        else:
            above = ""
        if above not in FIELDS or tag not in FIELDS:
            return False
        self._record.repairs.add(IssueCode.MISMATCHED_TAG)
        self._end()
        return above == tag and _NO_CONTENT.match(self._text, token.end()) is not None

    def _bind(self, bound: Mapping[str, str]) -> Mapping[str, str]:
        if self.opened:
            around = self.opened[-1].namespaces
        else:
            around = self._prolog.namespaces
        return {**around, **bound} if bound else around

    def _find_name(
        self,
        written: str,
        namespaces: Mapping[str, str],
        repairs: set[IssueCode],
    ) -> Name:
        prefix, _, local = written.rpartition(":")
        uri = self._find_uri(prefix, namespaces, repairs)
        return self._prolog.names[expand_name(uri, local)]

    def _find_uri(
        self,
        prefix: str,
        namespaces: Mapping[str, str],
        repairs: set[IssueCode],
    ) -> str:
        """Return the URI of a prefix: by convention, if nothing declares it."""
        if prefix in namespaces or not prefix:
            return namespaces.get(prefix, "")
        if prefix != "xml":
            repairs.add(IssueCode.UNBOUND_PREFIX)
        return USUAL_PREFIXES.get(prefix, prefix)

    # -- end tags

    def _close(self, token: re.Match[str]) -> None:
        prolog = self._prolog
        tag = _get_tag(token)
        tags = [element.tag for element in self.opened]
        if tag in tags:
            above = tags[::-1].index(tag)
            if above:
                self._record.repairs.add(IssueCode.MISMATCHED_TAG)
            for _ in range(above + 1):
                self._end()
        elif tags and tag not in ROOTS:
            self._record.repairs.add(IssueCode.MISMATCHED_TAG)
            self._mark(self._record.builder.comment)
            before = self._text[token.start() - 1]
            if tags[-1] in FIELDS and before != ">" and not before.isspace():
                self._end()  # a misspelt end tag
        else:
            if tags:
                self._finish(IssueCode.MISMATCHED_TAG)
            elif tag in (*prolog.records, *ROOTS):
                self.is_odd = self.is_odd or prolog.closed
            elif not prolog.has_nested_root:
                self._note_trailing(token)
            prolog.close_wrapper(token["name"])
            prolog.closed |= tag in ROOTS

    # -- the tree

    def _open_element(
        self,
        name: Name,
        attributes: dict[str, str],
        namespaces: Mapping[str, str],
        position: int,
    ) -> None:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        if not self.opened:
            self._record = _OpenRecord(position)
        if len(self.opened) >= self._limits.record_depth:
            self._record.error = self._record.error or IssueCode.TOO_DEEP
        if self._count():
            split = (
                (each.rpartition(":"), value) for each, value in attributes.items()
            )
            expanded = {
                expand_name(
                    prefix and self._find_uri(prefix, namespaces, self._record.repairs),
                    local,
                ): value
                for (prefix, _, local), value in split
                if prefix != "xmlns" and (prefix or local != "xmlns")
                # a name that XML has
                if (prefix + local).translate(_IN_NAMES).isidentifier()
            }
            if len(expanded) > self._limits.attributes:
                self._record.error = IssueCode.TOO_MANY_ATTRIBUTES
            element = self._record.builder.start(
                expand_name(name.uri, name.local), expanded
            )
            self._record.lines[element] = self._line
            self.opened.append(_Open(element, name.tag, namespaces))

    def _count(self) -> bool:
        """Count an element, a comment or a PI; return whether it is kept."""
        if len(self._record.lines) > self._limits.record_elements:
            self._record.error = self._record.error or IssueCode.TOO_MANY_ELEMENTS
        return not self._record.error

    def _mark(self, make: Callable[[str], Element]) -> None:
        """Insert an instruction, or a comment that splits a text."""
        if self._count():
            self._record.lines[make("")] = self._line

    def _end(self) -> None:
        """Close the innermost element."""
        if len(self.opened) > 1:
            self._record.builder.end(self.opened.pop().element.tag)
        else:
            self._finish()

    def _finish(self, repair: IssueCode | None = None) -> None:
        """Close the record with everything that is open in it."""
        if repair:
            self._record.repairs.add(repair)
        for element, *_ in reversed(self.opened):
            self._record.builder.end(element.tag)
        root = self.opened[0].element
        find_line = self._record.lines.__getitem__
        self._finished.append(
            Record(root, find_line, self._record.error, self._record.repairs)
        )
        self._record = _OpenRecord()

    def finish(self) -> list[Record]:
        """Return the record that the end of the text cuts, without the field that it cuts."""
        if not self.opened:
            return []
        (root, *_), *fields = self.opened
        self._finish(None if self._why else IssueCode.MISMATCHED_TAG)
        record = self._finished[-1]
        record.cut = self._why
        if self._why and fields:
            record.cut_text = join_texts(fields[0].element)
            root.remove(fields[0].element)
        return self._finished

    # -- markup that is not an element

    def _read_text(self, token: re.Match[str]) -> None:
        if self.opened:
            if "<" in token[0]:
                self._record.repairs.add(IssueCode.BARE_LESS_THAN)
            self._add_text(token[0], unescape)
        else:
            self._note_trailing(token)

    def _add_text(
        self, text: str, decode: Callable[[str, set[IssueCode]], str]
    ) -> None:
        text = _replace_bad_bytes(text, self._record.repairs)
        if self.opened and (decoded := decode(text, self._record.repairs)):
            self._record.builder.data(decoded)

    def _note_trailing(self, token: re.Match[str]) -> None:
        if self._prolog.closed and not token[0].isspace():
            sample = self._text[token.start() : token.start() + 2 * _TAIL_SAMPLE_CHARS]
            sample = replace_bad_bytes(sample).strip()
            self._note(IssueCode.TRAILING_BYTES, sample[:_TAIL_SAMPLE_CHARS])

    def _pass_over(self, begin: str, start: int) -> int:
        """Read a comment, CDATA section or PI from `start` on; return where it ends."""
        closing = self._find(_CLOSINGS[begin], start)
        self.closing = "" if closing else CLOSINGS[begin]
        if begin == SECTION_START:
            if closing:
                content_end, end = closing.span()
            else:
                content_end, end = (len(self._text),) * 2
            if self._is_unclosed(start, closing):
                content_end = end = self._find_end(begin, start)
                self.closing = ""
                self._record.repairs.add(IssueCode.MISMATCHED_TAG)
            self._add_text(self._text[start:content_end], remove_controls)
            return end
        if begin != COMMENT_START and self.opened:
            self._mark(self._record.builder.pi)
        if closing:
            return closing.end()
        end = self._find_end(begin, start)
        if end < len(self._text):
            self.closing = ""
            self.is_odd = True
        return end

    def _is_unclosed(self, start: int, closing: re.Match[str] | None) -> bool:
        """Return whether a section lacks its end, because its record ends in it.

        Outside of all records: because an end tag follows that closes nothing, or the root ends.
        """
        end = closing.start() if closing else len(self._text)
        # what goes on was closed
        if self._text.endswith("]]>", 0, start - len(SECTION_START)):
            return False
        if self.opened:
            tag = self._find(write_tag_pattern(self._prolog.records), start)
            return tag is not None and tag.start() < end and tag[0].startswith("</")
        if closing:
            name = _NEXT_END.match(self._text, end)
        else:
            name = self._find(_ROOT_END, start)
        known = (self._prolog.root, *self._prolog.wrappers)
        return name is not None and not (closing and name[1] in known)

    def _find_end(self, begin: str, start: int) -> int:
        """Find where reading continues after an unclosed construct.

        That is the next tag. A comment may contain tags, so it ends before the next record, but
        only if the root ends after it: otherwise the document may be cut.
        """
        following = self._find(_TAG_BEGIN, start)
        if begin == COMMENT_START:
            is_whole = self._find(_ROOT_END, start)
            following = is_whole and self._find(
                write_tag_pattern(self._prolog.records), start
            )
        if following:
            return following.start()
        return len(self._text)

    def _find(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """Find a pattern; calls with growing positions pass the text only once."""
        found = self._found.get(pattern)
        if pattern not in self._found or (found and found.start() < start):
            found = self._found[pattern] = pattern.search(self._text, start)
        return found


def _replace_bad_bytes(text: str, repairs: set[IssueCode]) -> str:
    if text.isascii() or (clean := replace_bad_bytes(text)) == text:
        return text
    repairs.add(IssueCode.ENCODING)
    return clean


def _get_tag(token: re.Match[str]) -> str:
    """Return the local name of a tag, in lower case."""
    local: str = token["name"].rpartition(":")[2]
    return local.lower()
