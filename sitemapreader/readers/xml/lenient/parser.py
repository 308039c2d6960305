"""Lenient reading: the records of a batch that expat refuses, as their author plainly meant them.

A lexer of our own for broken markup. It runs on the one batch that is broken and never on a healthy
one; of well-formed markup it makes the same records as `exact`. Each mend leaves its code on the
record. Time is linear in the batch: every character is passed a bounded number of times.
"""

from __future__ import annotations

import re
from collections import ChainMap
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.fields import FIELDS
from sitemapreader.readers.records.namespaces import USUAL_PREFIXES
from sitemapreader.readers.roots import RECORDS, ROOTS
from sitemapreader.readers.xml.lenient.attributes import (
    MAX_NAMESPACES,
    bind,
    find_unbound,
    read_attributes,
)
from sitemapreader.readers.xml.lenient.entities import remove_controls, slices, unescape

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemapreader.options import Limits
    from sitemapreader.readers.builder import ElementBuilder
    from sitemapreader.readers.xml.prolog import Prolog

# A tag's attributes end at the first `>` outside of quotes; where quotes do not pair, at the first
# `>`; and where there is none, at the next `<`.
_MARKUP = re.compile(
    r"<(?:(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|(?P<instruction>\?)"
    r"|(?P<end>/?)(?P<name>[^\W\d][\w.:\xb7-]*+)"
    r"""(?:(?P<attributes>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>"""
    r"|(?P<loose>[^<>]*+)(?P<closed>>)?))"
)
_BEGIN = re.compile(r"<(?:/?[^\W\d]|!--|!\[CDATA\[|\?)")
_LONGEST_BEGIN = len("<![CDATA[")
_CLOSINGS = {
    "comment": re.compile(r"-->"),
    "cdata": re.compile(r"\]\]>"),
    "instruction": re.compile(r"\?>"),
}
_TAG_BEGIN = re.compile(r"<")
_ROOT_END = re.compile(rf"</(?:[\w.-]++:)?(?i:{'|'.join(ROOTS)})\s*+>")
_NO_CONTENT = re.compile(r"\s*+(?=<|\Z)")
_LOST = "\ufffd"
_STEP_CHARS = 4_096
"""The smallest elements that fit in take 8 ms to build."""
_SAMPLE_CHARS = 200
"""Of what stands behind the root."""
MAX_TAG_CHARS = 65_536
"""Of a longer tag the attributes are not read, and its record is dropped."""
_WINDOW_CHARS = 65_536
"""Text without any markup is searched in 4 ms, if it is made to take long."""


class LenientParser:
    """Reads one batch into the builder; a record that the end of the batch cuts stays open there.

    `trailing` is what stands behind the root's end tag, if anything does; `is_odd` says that tags
    were met that do not belong where they stand, outside of all records.
    """

    def __init__(
        self, builder: ElementBuilder, head: Prolog, limits: Limits, batch: bytes, line: int
    ) -> None:
        self.trailing = ""
        self.is_odd = False
        self._builder = builder
        self._head = head
        self._limits = limits
        text = batch.decode("utf-8", "replace")
        self._text = text.replace("\r\n", "\n").replace("\r", "\n")  # XML 1.0, section 2.11
        self._has_bad_bytes = self._text.count(_LOST) > batch.count(_LOST.encode())
        self._line = line
        self._counted = 0
        self._scopes = [head.namespaces]
        """Namespaces that are bound: outside of records, then by each open element."""
        self._own_prefix = ""
        """An undeclared prefix that records are written with."""
        self._found: dict[re.Pattern[str], re.Match[str] | None] = {}
        names = "|".join(map(re.escape, head.records))
        self._record_tag = re.compile(rf"</?(?:[\w.-]++:)?(?i:{names})(?=[\s/>])")
        self._record_end = re.compile(rf"</(?=\w)(?:[\w.-]++:)?(?i:{names})\s*+>")

    def read(self) -> Iterator[None]:
        """Build the records, with pauses."""
        position = pause = 0
        while match := (yield from self._next_markup(position)):
            literal = match["loose"] is not None and not match["closed"] and not _is_known(match)
            yield from self._add_text(position, match.end() if literal else match.start())
            position = match.end()
            if match.lastgroup in _CLOSINGS:
                position = yield from self._pass_over(match.lastgroup, position)
            elif match["end"] and not literal:
                self._close(match)
            elif not literal:
                self._open(match)
            if position > pause:
                pause = position + _STEP_CHARS
                yield
        yield from self._add_text(position, len(self._text))

    def _next_markup(self, position: int) -> Generator[None, None, re.Match[str] | None]:
        """Return the next tag, comment or the like; pause where the text in between is long."""
        while position < len(self._text):
            if begin := _BEGIN.search(self._text, position, position + _WINDOW_CHARS):
                return _MARKUP.match(self._text, begin.start())
            position += _WINDOW_CHARS - _LONGEST_BEGIN
            yield
        return None

    # -- elements

    def _open(self, match: re.Match[str]) -> None:
        raw = match["attributes"] if match["attributes"] is not None else match["loose"]
        prefix, _, local = match["name"].rpartition(":")
        tag = local.lower()
        if self._mend_missing_end(tag, match):
            return
        repairs: set[IssueCode] = set()
        del self._scopes[len(self._builder.open) + 1 :]
        attributes, bound = self._read_attributes(raw, repairs)
        uri = self._find_uri(prefix, tag, bound, repairs)
        is_empty = raw.endswith("/")
        depth = len(self._builder.open)
        if self._builder.is_record_name(uri, tag) and (depth == 1 or (depth and not is_empty)):
            self._builder.finish(IssueCode.MISMATCHED_TAG)
        line = self._line_at(match.start())
        self._builder.start(uri, local, _without_declarations(attributes), line)
        if self._builder.open:
            del self._scopes[len(self._builder.open) :]
            self._scopes.append(bound)
        elif bound:  # a root inside the root, or a feed's channel: what follows needs it
            self._head.bind_namespaces(bound)
        elif tag not in ROOTS:
            self._note_trailing(self._sample(match))
        self._builder.repairs.update(repairs)
        if len(raw) > MAX_TAG_CHARS:
            self._builder.fail(IssueCode.FIELD_TOO_LONG)
        if is_empty and not self._builder.open and tag in ROOTS:
            self._head.closed = True
        elif is_empty:
            self._builder.end()

    def _read_attributes(
        self, raw: str, repairs: set[IssueCode]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the attributes of a tag, and the namespaces that it binds."""
        bound: dict[str, str] = {}
        if "=" not in raw or len(raw) > MAX_TAG_CHARS:
            return {}, bound
        attributes = read_attributes(raw, repairs, self._limits.attributes + MAX_NAMESPACES)
        bind(bound, attributes)
        if ":" in raw and find_unbound(attributes, ChainMap(bound, *self._scopes)):
            repairs.add(IssueCode.UNBOUND_PREFIX)
        if self._has_bad_bytes and _LOST in raw:
            repairs.add(IssueCode.ENCODING)
        return attributes, bound

    def _find_uri(
        self, prefix: str, tag: str, bound: dict[str, str], repairs: set[IssueCode]
    ) -> str:
        scopes = (bound, *reversed(self._scopes))
        uri = next((scope[prefix] for scope in scopes if prefix in scope), "")
        if uri or not prefix:
            return uri
        if prefix != "xml":  # which need not be declared
            repairs.add(IssueCode.UNBOUND_PREFIX)
        return self._guess_uri(prefix, tag)

    def _guess_uri(self, prefix: str, tag: str) -> str:
        """Say what an undeclared prefix stands for: by convention, or the records' own."""
        if not self._builder.open and tag in self._head.records:
            self._own_prefix = prefix
        if prefix == self._own_prefix:
            return self._head.uri
        return USUAL_PREFIXES.get(prefix, prefix)

    def _mend_missing_end(self, tag: str, match: re.Match[str]) -> bool:
        """Close a field in which another begins; tell whether that one was meant as its end tag."""
        above = self._builder.open[-1].tag if len(self._builder.open) > 1 else ""
        if above not in FIELDS or tag not in FIELDS:
            return False
        self._builder.repairs.add(IssueCode.MISMATCHED_TAG)
        self._builder.pop()
        return above == tag and _NO_CONTENT.match(self._text, match.end()) is not None

    def _close(self, match: re.Match[str]) -> None:
        tag = match["name"].rpartition(":")[2].lower()
        tags = [element.tag for element in self._builder.open]
        if tag in tags:
            above = tags[::-1].index(tag)
            if above:
                self._builder.repairs.add(IssueCode.MISMATCHED_TAG)
            for _ in range(above + 1):
                self._builder.pop()
            return
        if not tags:
            self._close_outside(match, tag)
        elif tag in ROOTS:
            self._builder.finish(IssueCode.MISMATCHED_TAG)
        else:
            self._builder.repairs.add(IssueCode.MISMATCHED_TAG)
            self._builder.open[-1].add_break()
            if tags[-1] in FIELDS and self._builder.open[-1].has_text:
                self._builder.pop()  # a misspelt end tag
        if tag in ROOTS:
            is_cut = match["attributes"] is None and not match["closed"]
            is_other = match["name"] != self._head.root and not self._head.own_uris
            self.is_odd = self.is_odd or is_cut or is_other
            self._head.closed = True

    def _close_outside(self, match: re.Match[str], tag: str) -> None:
        """Take note of an end tag outside of all records: a record's, or one behind the root's."""
        is_behind = self._head.closed and not self._head.own_uris
        if tag in self._head.records or (is_behind and tag in ROOTS):
            self.is_odd = True
        elif is_behind:
            self._note_trailing(self._sample(match))

    def _sample(self, match: re.Match[str]) -> str:
        return self._text[match.start() : match.start() + _SAMPLE_CHARS]

    # -- what is no element

    def _add_text(self, start: int, end: int) -> Iterator[None]:
        text = self._text[start:end]
        if not text:
            return
        if self._builder.open:
            for part in slices(text):
                self._builder.text(unescape(part, self._builder.repairs))
                if len(part) < len(text):
                    yield
            self._note_bad_bytes(text)
            if "<" in text:
                self._builder.repairs.add(IssueCode.BARE_LESS_THAN)
        else:
            self._note_trailing(text.strip())

    def _note_trailing(self, text: str) -> None:
        """Note what stands outside of all records, if the root has ended."""
        if self._head.closed and not self.trailing:
            self.trailing = text

    def _pass_over(self, kind: str, start: int) -> Generator[None, None, int]:
        """Pass over a comment, CDATA section or PI that begins at `start`; return where it ends."""
        closing = self._find(_CLOSINGS[kind], start)
        if kind == "cdata":
            content, end = self._read_section(start, closing)
            for part in slices(content):
                self._builder.text(remove_controls(part, self._builder.repairs))
                if len(part) < len(content):
                    yield
            self._note_bad_bytes(content)
            return end
        if kind == "instruction":
            self._builder.mark_template()
        if closing:
            return closing.end()
        following = self._find_next(kind, start)
        self.is_odd = self.is_odd or following is not None
        return following.start() if following else len(self._text)

    def _find_next(self, kind: str, start: int) -> re.Match[str] | None:
        """Find what is read on with behind a comment or PI that nothing closes.

        A PI ends at the next tag; a comment, in which there may be tags, before the next record if
        the root ends behind it too: if not, it may be the document that is not whole.
        """
        if kind == "instruction":
            return self._find(_TAG_BEGIN, start)
        return self._find(self._record_tag, start) if self._find(_ROOT_END, start) else None

    def _read_section(self, start: int, closing: re.Match[str] | None) -> tuple[str, int]:
        """Return a CDATA section's content and where it ends.

        One that is not closed before its record is ends at the next tag.
        """
        record_end = self._find(self._record_end, start)
        if closing and not (record_end and record_end.start() < closing.start()):
            return self._text[start : closing.start()], closing.end()
        self._builder.repairs.add(IssueCode.MISMATCHED_TAG)
        tag = self._find(_TAG_BEGIN, start)
        end = tag.start() if tag else len(self._text)
        return self._text[start:end], end

    def _find(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """Find a pattern; asked for growing positions, all calls together pass the text once."""
        found = self._found.get(pattern)
        if pattern not in self._found or (found and found.start() < start):
            found = self._found[pattern] = pattern.search(self._text, start)
        return found

    def _note_bad_bytes(self, text: str) -> None:
        if self._has_bad_bytes and _LOST in text:
            self._builder.repairs.add(IssueCode.ENCODING)

    def _line_at(self, position: int) -> int:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line


def _without_declarations(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes by local name; expat does not count namespaces among them either."""
    return {
        name.rpartition(":")[2].lower(): value
        for name, value in attributes.items()
        if name.partition(":")[0] != "xmlns"
    }


def _is_known(match: re.Match[str]) -> bool:
    tag = match["name"].rpartition(":")[2].lower()
    return tag in FIELDS or tag in ROOTS or tag in RECORDS
