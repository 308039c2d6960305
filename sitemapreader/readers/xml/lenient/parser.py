"""LenientParser: reads records that are not well-formed as they were meant.

A parser of our own for broken markup. It runs on the record that is broken and on what stands
between records; of well-formed markup it makes the same records as the tree builder. Each repair
leaves its code on the record. Time is linear: every character is passed a bounded number of times.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.formats import ROOTS
from sitemapreader.readers.records.fields import FIELDS
from sitemapreader.readers.records.namespaces import MAX_NAMESPACES, USUAL_PREFIXES
from sitemapreader.readers.xml.characters import (
    remove_controls,
    replace_bad_bytes,
    slices,
    unescape,
)
from sitemapreader.readers.xml.lenient.markup import (
    CLOSINGS,
    MARKUP,
    bind,
    find_unbound,
    find_unclosed,
    get_tag,
    is_text,
    read_attributes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sitemapreader.options import Limits
    from sitemapreader.readers.records.names import Names
    from sitemapreader.readers.xml.lenient.builder import RecordBuilder
    from sitemapreader.readers.xml.prolog import Prolog

_BEGIN = re.compile(r"<(?:/?[^\W\d]|!--|!\[CDATA\[|\?)")
_LONGEST_BEGIN = len("<![CDATA[")
_TAG_BEGIN = re.compile(r"<")
_ROOT_END = re.compile(rf"</(?:[\w.\xb7-]++:)?(?i:{'|'.join(ROOTS)})\s*+>")
_RECORD_TAG = r"</?(?:[\w.\xb7-]++:)?(?i:RECORDS)(?=[\s/>])"
_RECORD_END = r"</(?=\w)(?:[\w.\xb7-]++:)?(?i:RECORDS)\s*+>"
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

    A record that the end of the text cuts stays open in the builder.

    Args:
        builder: makes the records.
        prolog: what stands around them.
        names: resolves the names of elements.
        limits: how much is read of a tag.
        text: the markup, in which bad bytes are lone surrogates.
        line: its first line.

    `is_tail` is set where the text is the last of the document, which may be cut.
    `trailing` is what stands behind the root's end tag, if anything does; `is_odd` says that tags
    were met that do not belong where they stand, outside of all records.
    """

    def __init__(
        self,
        builder: RecordBuilder,
        prolog: Prolog,
        names: Names,
        limits: Limits,
        text: str,
        line: int,
    ) -> None:
        self.is_tail = False
        self.trailing = ""
        self.is_odd = False
        self._builder = builder
        self._prolog = prolog
        self._names = names
        self._limits = limits
        clean = replace_bad_bytes(text)
        self._has_bad_bytes = clean.count(_LOST) > text.count(_LOST)
        self._text = clean.replace("\r\n", "\n").replace("\r", "\n")  # XML 1.0, section 2.11
        self._line = line
        self._counted = 0
        self._scopes: list[dict[str, str]] = []
        """All namespaces in each open element, the record's outermost."""
        self._starts: list[int] = []
        """Where each of these elements begins."""
        self._unclosed: set[int] | None = None
        self._own_prefix = ""
        """An undeclared prefix that records are written with."""
        self._found: dict[re.Pattern[str], re.Match[str] | None] = {}

    def read(self) -> Iterator[None]:
        """Build the records, with pauses."""
        position = tags = 0
        pause = _STEP_CHARS
        while match := (yield from self._next_markup(position)):
            literal = is_text(match)
            yield from self._read_text(position, match.end() if literal else match.start())
            position = match.end()
            if match.lastgroup in CLOSINGS:
                position = yield from self._pass_over(match.lastgroup, position)
            elif match["end"] and not literal:
                self._close(match)
            elif not literal:
                if (yield from self._begins_next_record(match)):
                    self._builder.finish(IssueCode.MISMATCHED_TAG)
                self._open(match)
            tags += 1
            if position > pause or tags == _STEP_TAGS:
                pause, tags = position + _STEP_CHARS, 0
                yield
        yield from self._read_text(position, len(self._text))

    def _next_markup(self, position: int) -> Generator[None, None, re.Match[str] | None]:
        """Return the next tag, comment or the like; pause within long texts."""
        while position < len(self._text):
            if begin := _BEGIN.search(self._text, position, position + _WINDOW_CHARS):
                return MARKUP.match(self._text, begin.start())
            position += _WINDOW_CHARS - _LONGEST_BEGIN
            yield
        return None

    # -- elements

    def _open(self, match: re.Match[str]) -> None:
        raw = match["attributes"] if match["attributes"] is not None else match["loose"]
        prefix, _, local = match["name"].rpartition(":")
        tag = local.lower()
        if self._repair_missing_end(tag, match):
            return
        repairs: set[IssueCode] = set()
        del self._scopes[len(self._builder.open) :]
        attributes, bound = self._read_attributes(raw, repairs)
        namespaces = self._bind(bound)
        if ":" in raw and find_unbound(attributes, namespaces):
            repairs.add(IssueCode.UNBOUND_PREFIX)
        uri = self._find_uri(prefix, tag, namespaces, repairs)
        expanded = f"{{{uri}}}{local}" if uri else local
        is_empty = raw.endswith("/")
        depth = len(self._builder.open)
        is_record = self._prolog.is_record(self._names[expanded])
        if is_record and (depth == 1 or (depth and not is_empty)):
            self._builder.finish(IssueCode.MISMATCHED_TAG)
        line = self._line_at(match.start())
        self._builder.start(expanded, _resolve(attributes, namespaces), line)
        if not self._builder.open:
            self._open_around(match, tag, bound, is_empty=is_empty)
            return
        depth = len(self._builder.open)
        del self._scopes[depth - 1 :], self._starts[depth - 1 :]
        self._scopes.append(self._bind(bound))  # without those of a record that has ended
        self._starts.append(match.start())
        self._builder.repairs.update(repairs)
        if len(raw) > MAX_TAG_CHARS:
            self._builder.fail(IssueCode.FIELD_TOO_LONG)
        if is_empty:
            self._builder.end()

    def _begins_next_record(self, match: re.Match[str]) -> Generator[None, None, bool]:
        """Return whether a tag begins a record even if the open one rebinds its prefix.

        It does if the elements that bind the prefix have lost their end tags.
        """
        depth = len(self._builder.open)
        prefix, _, local = match["name"].rpartition(":")
        if not depth or local.lower() not in self._prolog.records:
            return False
        bound = [one.get(prefix) for one in (self._prolog.namespaces, *self._scopes[:depth])]
        starts = [
            start for start, (a, b) in zip(self._starts, pairwise(bound), strict=False) if a != b
        ]
        uri = self._prolog.namespaces.get(prefix, "")
        expanded = f"{{{uri}}}{local}" if uri else local
        is_record = (uri or not prefix) and self._prolog.is_record(self._names[expanded])
        is_empty = (match["attributes"] or match["loose"] or "").endswith("/")
        if not starts or not is_record or is_empty:
            return False
        # without the root's end tag, it may be the document that is not whole
        if self.is_tail and not self._find(_ROOT_END, match.start()):
            return False
        if self._unclosed is None:
            self._unclosed = yield from find_unclosed(self._text)
        return self._unclosed.issuperset(starts)

    def _open_around(
        self, match: re.Match[str], tag: str, bound: dict[str, str], *, is_empty: bool
    ) -> None:
        """Handle an element outside of all records: a nested root, a feed's channel."""
        if not bound and tag not in ROOTS:
            self._note_trailing(self._sample(match))
        if not is_empty:
            self._prolog.open_wrapper(match["name"], bound)
        elif tag in ROOTS:
            self._prolog.closed = True

    def _read_attributes(
        self, raw: str, repairs: set[IssueCode]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the attributes of a tag, and the namespaces that it binds."""
        bound: dict[str, str] = {}
        if "=" not in raw or len(raw) > MAX_TAG_CHARS:
            return {}, bound
        attributes = read_attributes(raw, repairs, self._limits.attributes + MAX_NAMESPACES)
        bind(bound, attributes)
        if self._has_bad_bytes and _LOST in raw:
            repairs.add(IssueCode.ENCODING)
        return attributes, bound

    def _bind(self, bound: dict[str, str]) -> dict[str, str]:
        """Return all namespaces in an element that binds some itself."""
        around = self._scopes[-1] if self._scopes else self._prolog.namespaces
        return around | bound if bound else around

    def _find_uri(
        self, prefix: str, tag: str, namespaces: dict[str, str], repairs: set[IssueCode]
    ) -> str:
        uri = namespaces.get(prefix, "")
        if uri or not prefix:
            return uri
        if prefix != "xml":  # which need not be declared
            repairs.add(IssueCode.UNBOUND_PREFIX)
        return self._guess_uri(prefix, tag)

    def _guess_uri(self, prefix: str, tag: str) -> str:
        """Return the URI that an undeclared prefix means: by convention, or the records'."""
        if not self._builder.open and tag in self._prolog.records:
            self._own_prefix = prefix
        if prefix == self._own_prefix:
            return self._prolog.uri
        return USUAL_PREFIXES.get(prefix, prefix)

    def _repair_missing_end(self, tag: str, match: re.Match[str]) -> bool:
        """Close a field where another begins; return whether that was its end tag."""
        above = self._builder.open[-1].tag if len(self._builder.open) > 1 else ""
        if above not in FIELDS or tag not in FIELDS:
            return False
        self._builder.repairs.add(IssueCode.MISMATCHED_TAG)
        self._builder.pop()
        return above == tag and _NO_CONTENT.match(self._text, match.end()) is not None

    def _close(self, match: re.Match[str]) -> None:
        tag = get_tag(match)
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
            self._builder.add_break()
            if tags[-1] in FIELDS and self._builder.open[-1].has_text:
                self._builder.pop()  # a misspelt end tag
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
            self._note_trailing(self._sample(match))

    def _sample(self, match: re.Match[str]) -> str:
        return self._text[match.start() : match.start() + _SAMPLE_CHARS]

    # -- markup that is not an element

    def _read_text(self, start: int, end: int) -> Iterator[None]:
        text = self._text[start:end]
        if text and self._builder.open:
            yield from self._add_text(text, unescape)
            if "<" in text:
                self._builder.repairs.add(IssueCode.BARE_LESS_THAN)
        else:
            self._note_trailing(text.strip())

    def _add_text(self, text: str, decode: Callable[[str, set[IssueCode]], str]) -> Iterator[None]:
        """Add text to the record; pause where it is long."""
        for part in slices(text):
            self._builder.add_text(decode(part, self._builder.repairs))
            if len(part) < len(text):
                yield
        if self._has_bad_bytes and _LOST in text:
            self._builder.repairs.add(IssueCode.ENCODING)

    def _note_trailing(self, text: str) -> None:
        """Record text outside of all records if the root has ended."""
        if self._prolog.closed and not self.trailing:
            self.trailing = text

    def _pass_over(self, kind: str, start: int) -> Generator[None, None, int]:
        """Read the comment, CDATA section or PI that begins at `start`; return its end."""
        closing = self._find(CLOSINGS[kind], start)
        if kind == "cdata":
            content, end = self._read_section(start, closing)
            yield from self._add_text(content, remove_controls)
            return end
        if kind == "instruction":
            self._builder.mark_template()
        if closing:
            return closing.end()
        following = self._find_next(kind, start)
        self.is_odd = self.is_odd or following is not None
        return following.start() if following else len(self._text)

    def _find_next(self, kind: str, start: int) -> re.Match[str] | None:
        """Find where reading continues behind a comment or PI that nothing closes.

        A PI ends at the next tag. A comment may contain tags, so it ends before the next record,
        but only if the root ends behind it: otherwise the document may be cut.
        """
        if kind == "instruction":
            return self._find(_TAG_BEGIN, start)
        return (
            self._find(self._compile(_RECORD_TAG), start) if self._find(_ROOT_END, start) else None
        )

    def _read_section(self, start: int, closing: re.Match[str] | None) -> tuple[str, int]:
        """Return a CDATA section's content and where it ends.

        One that is not closed before its record is ends at the next tag.
        """
        record_end = self._find(self._compile(_RECORD_END), start)
        if closing and not (record_end and record_end.start() < closing.start()):
            return self._text[start : closing.start()], closing.end()
        self._builder.repairs.add(IssueCode.MISMATCHED_TAG)
        tag = self._find(_TAG_BEGIN, start)
        end = tag.start() if tag else len(self._text)
        return self._text[start:end], end

    def _compile(self, pattern: str) -> re.Pattern[str]:
        """Compile a pattern of records' tags, for the document's format."""
        return re.compile(pattern.replace("RECORDS", "|".join(sorted(self._prolog.records))))

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


def _resolve(attributes: dict[str, str], namespaces: dict[str, str]) -> dict[str, str]:
    """Return the attributes by `{uri}local`, as a parser does, without declarations."""
    resolved = {}
    for name, value in attributes.items():
        prefix, colon, local = name.partition(":")
        if colon and prefix != "xmlns":
            uri = namespaces.get(prefix) or USUAL_PREFIXES.get(prefix, prefix)
            resolved[f"{{{uri}}}{local}"] = value
        elif prefix != "xmlns":
            resolved[name] = value
    return resolved
