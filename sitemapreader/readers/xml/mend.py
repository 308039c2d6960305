"""Broken markup, as it was meant, becomes well-formed text for the tree.

The mender runs on a record that the tree refuses, and on what stands between records. Each repair
leaves its code on the record. Time is linear: every character is passed a bounded number of times.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.vocabulary import (
    FIELDS,
    MAX_NAMESPACES,
    RECORD_OF,
    RECORDS,
    ROOTS,
)
from sitemapreader.readers.xml.boundaries import (
    write_end_pattern,
    write_own_pattern,
    write_tag_pattern,
)
from sitemapreader.readers.xml.characters import (
    CLOSINGS,
    COMMENT_START,
    HIDDEN,
    SECTION_START,
    remove_controls,
    replace_bad_bytes,
    slices,
    unescape,
)
from sitemapreader.readers.xml.tags import (
    MARKUP,
    declare,
    expand_name,
    find_namespaces,
    find_unbound,
    get_tag,
    is_writable,
    read_attributes,
    write_attributes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from sitemapreader.options import Limits
    from sitemapreader.readers.records.vocabulary import Name, Names
    from sitemapreader.readers.xml.prolog import Prolog

_CLOSINGS = {begin: re.compile(re.escape(end)) for begin, end in CLOSINGS.items()}
_ANY_TAG = re.compile(rf"{HIDDEN}|<(/?)([^\W\d][\w.:\xb7-]*+)")
_OWN_TAG = re.compile(r"<(/?)(?:[\w.\xb7-]++:)?([^\s<>/:]++)(?=[\s/>])")
_TAG_BEGIN = re.compile(r"<")
_NEXT_END = re.compile(r"[^<]*+</([^\s<>/]++)")
_ROOT_END = re.compile(rf"</(?:[\w.\xb7-]++:)?(?i:{'|'.join(ROOTS)})\s*+>")
_NO_CONTENT = re.compile(r"\s*+(?=<|\Z)")
_KNOWN_TAGS = FIELDS | RECORDS | ROOTS.keys()
_LOST = "\ufffd"
_STEP_CHARS, _STEP_TAGS, _STEP_FOUND = 4_096, 100, 2_000
"""What is mended between two pauses, and tags that are looked at: 2 ms."""
_SAMPLE_CHARS = 200
"""Of what stands behind the root."""
_BREAK, _TEMPLATE = "<!---->", "<?t?>"


@attrs.define
class Mended:
    """A record as well-formed text, within the limits of depth and elements."""

    text: str = ""
    lines: list[int] = attrs.field(factory=list)
    """Of each element, comment and instruction, in order."""
    names: dict[int, str] = attrs.field(factory=dict)
    """Place of an element -> its name, `{uri}local`, which XML has not."""
    repairs: set[IssueCode] = attrs.field(factory=set)
    error: IssueCode | None = None
    """Why it must be dropped; what follows is left out."""
    open: int = 0
    """How many of its elements the end of the document cuts."""


class _Open(NamedTuple):
    name: str
    tag: str
    written: str
    """The name in the mended text."""
    namespaces: Mapping[str, str]
    """All that are bound in it, by their prefixes."""


class Mender:
    """Mender of a text, in which bad bytes are lone surrogates.

    `line` is its first line, and a tail is the last of the document.
    """

    def __init__(
        self, prolog: Prolog, names: Names, limits: Limits, text: str, line: int, *, is_tail: bool
    ) -> None:
        self.trailing = ""
        """What stands behind the root's end tag, if anything does."""
        self.is_odd = False
        """Whether nothing closes a comment, or an end tag behind the root closes nothing."""
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
        self._finished: list[Mended] = []
        self._open: list[_Open] = []
        """The elements that are open, from the record inwards."""
        self._record = Mended()
        self._pieces: list[str] = []
        """The text of the open record."""

    def read(self) -> Iterator[Mended | None]:
        """Yield the records, and `None` for pauses."""
        position = tags = 0
        pause = _STEP_CHARS
        while match := (yield from self._find_markup(position)):
            yield from self._read_text(position, match.start())
            position = match.end()
            if match["section"]:
                position = yield from self._pass_over(match[0], position)
            elif match["end"]:
                self._close(match)
            else:
                yield from self._start(match)
            yield from self._finished
            self._finished.clear()
            tags += 1
            if position > pause or tags == _STEP_TAGS:
                pause, tags = position + _STEP_CHARS, 0
                yield None
        yield from self._read_text(position, len(self._text))
        if self._open:
            self._record.open = len(self._open) * self._is_tail
            self._finish(None if self._is_tail else IssueCode.MISMATCHED_TAG)
            yield from self._finished

    def _find_markup(self, position: int) -> Generator[None, None, re.Match[str] | None]:
        """Return the next tag, comment or the like, with pauses."""
        tries = 0
        while (position := self._text.find("<", position)) >= 0:
            match = MARKUP.match(self._text, position)
            # without a `>`, what has no name of ours is text
            if match and (
                match["loose"] is None or match["closed"] or get_tag(match) in _KNOWN_TAGS
            ):
                return match
            position, tries = position + 1, tries + 1
            if tries % _STEP_FOUND == 0:
                yield
        return None

    # -- start tags

    def _start(self, match: re.Match[str]) -> Iterator[None]:
        prolog, tag = self._prolog, get_tag(match)
        if self._repair_missing_end(tag, match):
            return
        raw, repairs = match["attributes"] or match["loose"] or "", set[IssueCode]()
        attributes = self._read_attributes(raw, repairs)
        bound, is_empty = find_namespaces(attributes), raw.endswith("/")
        if self._open and (yield from self._begins_next_record(match, bound, is_empty=is_empty)):
            self._finish(IssueCode.MISMATCHED_TAG)
        declared = bound | self._guess_unbound(match, attributes, bound)
        namespaces = self._bind(declared)
        name = self._find_name(match, namespaces)
        if not self._open:
            if name.own == "loc" and (record := RECORD_OF.get(prolog.format)):
                around = self._names[expand_name(name.uri, record)]
                self._write_start("", around, "", prolog.namespaces, match.start())
                repairs.add(IssueCode.MISMATCHED_TAG)
            elif not (prolog.is_record(name) or prolog.is_foreign_record(name)):
                if tag not in ROOTS and not bound:
                    self._note_trailing(match.start(), match.start() + _SAMPLE_CHARS)
                prolog.open_around(match["name"], name, attributes, bound, is_empty=is_empty)
                if tag in ROOTS:
                    self._names.add_own(name.uri)
                return
        if len(declared) > len(bound):
            repairs.add(IssueCode.UNBOUND_PREFIX)
        inside = declare(declared) + write_attributes(attributes, namespaces)
        self._write_start(match["name"], name, inside, namespaces, match.start())
        self._record.repairs |= repairs
        if is_empty and not self._record.error:
            self._end()

    def _read_attributes(self, raw: str, repairs: set[IssueCode]) -> dict[str, str]:
        if self._has_bad_bytes and _LOST in raw:
            repairs.add(IssueCode.ENCODING)
        most = self._limits.attributes + MAX_NAMESPACES
        return read_attributes(raw, repairs, most) if "=" in raw else {}

    def _repair_missing_end(self, tag: str, match: re.Match[str]) -> bool:
        """Close a field where another begins; return whether that was its end tag."""
        above = self._open[-1].tag if len(self._open) > 1 else ""
        if above not in FIELDS or tag not in FIELDS:
            return False
        self._record.repairs.add(IssueCode.MISMATCHED_TAG)
        self._end()
        return above == tag and _NO_CONTENT.match(self._text, match.end()) is not None

    def _bind(self, bound: Mapping[str, str]) -> Mapping[str, str]:
        around = self._open[-1].namespaces if self._open else self._prolog.namespaces
        return {**around, **bound} if bound else around

    def _guess_unbound(
        self, match: re.Match[str], attributes: Mapping[str, str], bound: Mapping[str, str]
    ) -> dict[str, str]:
        """Return what the undeclared prefixes of a tag mean by convention."""
        namespaces, prefix = self._bind(bound), match["name"].rpartition(":")[0]
        unbound = {name.partition(":")[0] for name in find_unbound(attributes, namespaces)}
        if prefix and prefix != "xml" and prefix not in namespaces:
            unbound.add(prefix)
            if not self._open and get_tag(match) in self._prolog.records:
                self._prolog.own_prefix = prefix
        return {each: self._prolog.guess_uri(each) for each in sorted(unbound)}

    def _find_name(self, match: re.Match[str], namespaces: Mapping[str, str]) -> Name:
        prefix, _, local = match["name"].rpartition(":")
        uri = namespaces.get(prefix, prefix and self._prolog.guess_uri(prefix))
        return self._names[expand_name(uri, local)]

    def _begins_next_record(
        self, match: re.Match[str], bound: Mapping[str, str], *, is_empty: bool
    ) -> Generator[None, None, bool]:
        """Return whether a record begins in the open one.

        It does even if elements that have lost their end tags bind its prefix anew.
        """
        prolog = self._prolog
        if get_tag(match) not in prolog.records:
            return False
        if prolog.is_record(self._find_name(match, self._bind(bound))):
            return len(self._open) == 1 or not is_empty
        if is_empty or not prolog.is_record(self._find_name(match, prolog.namespaces)):
            return False
        return not (yield from self._is_closed(match.start()))

    def _is_closed(self, position: int) -> Generator[None, None, bool]:
        """Return whether the next tag with the innermost element's name is an end tag.

        If there is none, and no end of the root, it may be the document that is not whole.
        """
        if not self._tags:
            for number, match in enumerate(_ANY_TAG.finditer(self._text), 1):
                if match[2]:
                    place = match.start(), bool(match[1])
                    self._tags.setdefault(match[2], []).append(place)
                if number % _STEP_FOUND == 0:
                    yield
        tags = self._tags.get(self._open[-1].name, [])
        following = bisect_left(tags, (position, False))
        if following < len(tags):
            return tags[following][1] and self._open[-1].tag not in ROOTS
        return self._is_tail and not self._find(_ROOT_END, position)

    # -- end tags

    def _close(self, match: re.Match[str]) -> None:
        prolog, tag = self._prolog, get_tag(match)
        tags = [element.tag for element in self._open]
        if tag in tags:
            above = tags[::-1].index(tag)
            if above:
                self._record.repairs.add(IssueCode.MISMATCHED_TAG)
            for _ in range(above + 1):
                self._end()
        elif tags and tag not in ROOTS:
            self._record.repairs.add(IssueCode.MISMATCHED_TAG)
            last = self._pieces[-1]
            if last != _BREAK:  # one is enough for a flood of stray tags
                self._write(_BREAK)
            if tags[-1] in FIELDS and last[0] != "<" and not last.isspace():
                self._end()  # a misspelt end tag
        else:
            if tags:
                self._finish(IssueCode.MISMATCHED_TAG)
            elif tag in (*prolog.records, *ROOTS):
                self.is_odd = self.is_odd or prolog.closed
            elif not prolog.has_nested_root:
                self._note_trailing(match.start(), match.start() + _SAMPLE_CHARS)
            prolog.close_wrapper(match["name"])
            prolog.closed |= tag in ROOTS

    # -- the mended text

    def _write(self, markup: str) -> None:
        """Write markup that becomes an element, a comment or an instruction."""
        if len(self._record.lines) > self._limits.record_elements:
            self._record.error = self._record.error or IssueCode.TOO_MANY_ELEMENTS
        if not self._record.error:
            self._record.lines.append(self._line)
            self._pieces.append(markup)

    def _write_start(
        self, source: str, name: Name, inside: str, namespaces: Mapping[str, str], position: int
    ) -> None:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        if not self._open:
            self._record = Mended()
        if len(self._open) >= self._limits.record_depth:
            self._record.error = self._record.error or IssueCode.TOO_DEEP
        written = source if is_writable(source, namespaces) else "_"
        self._write(f"<{written}{inside}>")
        if self._record.error:
            return
        if written != source:
            place = len(self._record.lines) - 1
            self._record.names[place] = expand_name(name.uri, name.local)
        self._open.append(_Open(source, name.tag, written, namespaces))

    def _end(self) -> None:
        """Close the innermost element."""
        if len(self._open) > 1:
            self._pieces.append(f"</{self._open.pop().written}>")
        else:
            self._finish()

    def _finish(self, repair: IssueCode | None = None) -> None:
        """Close the record with everything that is open in it."""
        if repair:
            self._record.repairs.add(repair)
        ends = [f"</{element.written}>" for element in reversed(self._open)]
        self._record.text = "".join([*self._pieces, *ends])
        self._finished.append(self._record)
        self._open.clear()
        self._pieces.clear()

    # -- markup that is not an element

    def _read_text(self, start: int, end: int) -> Iterator[None]:
        text = self._text[start:end]
        if text and self._open:
            yield from self._add_text(text, unescape)
            if "<" in text:
                self._record.repairs.add(IssueCode.BARE_LESS_THAN)
        else:
            self._note_trailing(start, end)

    def _add_text(self, text: str, decode: Callable[[str, set[IssueCode]], str]) -> Iterator[None]:
        record = self._record
        for part in slices(text):
            decoded = decode(part, record.repairs)
            if decoded and self._open and not record.error:
                self._pieces.append(escape(decoded, quote=False).replace("\r", "&#13;"))
            if len(part) < len(text):
                yield
        if self._has_bad_bytes and _LOST in text:
            record.repairs.add(IssueCode.ENCODING)

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
                self._record.repairs.add(IssueCode.MISMATCHED_TAG)
            yield from self._add_text(self._text[start:content_end], remove_controls)
            return end
        if begin != COMMENT_START and self._open:
            self._write(_TEMPLATE)
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
        if not self._open:
            name = _NEXT_END.match(self._text, end)
            is_end = name and name[1] not in (self._prolog.root, *self._prolog.wrappers)
            return bool(is_end if closing else self._find(_ROOT_END, start))
        own = self._open[-1].tag
        if closing:  # no pattern for each of a flood of names: compiling takes 0.2 ms
            tags = _OWN_TAG.finditer(self._text, start, end)
            return next((bool(tag[1]) for tag in tags if tag[2].lower() == own), False)
        tag = self._find(write_own_pattern(own), start)
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
