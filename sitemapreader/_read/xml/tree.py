"""The reader of well-formed records by the standard library's tree builder.

Records are parsed after a start tag of our making, which binds the namespaces that are bound where
they stand: so no parser ever sees a DOCTYPE, and no state outlives a batch. The parser is given one
record after the other, so that it is known which one it refuses; the mender tells that to the same
tree builder.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from html import escape
from itertools import chain, islice
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

import attrs
from defusedxml.ElementTree import DefusedXMLParser

from sitemapreader._read.record import NO_REPAIRS, Record, find_excess, make_instruction
from sitemapreader._read.vocabulary import (
    FEED_DATES,
    MAX_NAMESPACE_CHARS,
    PROTOCOL_FIELDS,
    RECORD_OF,
)
from sitemapreader._read.xml.feeds import collect_feed_texts
from sitemapreader._read.xml.markup import (
    ATTRIBUTES,
    BLANKS,
    HIDDEN,
    NORMAL_BLANKS,
    ODD_REFERENCE,
    has_open_section,
    is_well_formed,
    mend_references,
)
from sitemapreader._read.xml.record_texts import (
    RecordTexts,
    Segment,
    are_low,
)
from sitemapreader._types.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._read.vocabulary import Names
    from sitemapreader._read.xml.prolog import Prolog
    from sitemapreader._read.xml.record_texts import Repairs
    from sitemapreader._types.models import Event
    from sitemapreader._types.options import Limits

_FIRST_TAG = re.compile(r"[ \t\r\n]*+<([^\s<>/!?]++)[^<>]*+>")
_STEP_CHARS = 40_960
"""A block, and what is left of the one before. The smallest elements that fit in take 5 ms to
build."""
_MENDED_CHARS = 16_384
"""References in no longer text are mended, which takes 16 ms if all of it is `&`."""
_TAG = re.compile(f"<{ATTRIBUTES}>")
_BEFORE_LONG_TEXT = re.compile(rf"<(?=[^<!?][^<]{{{_STEP_CHARS}}})")
_END_TAG = "</r>"
_LONG_NAMESPACE = re.compile(
    r"\sxmlns[^\s=<>]*+\s*+=\s*+"
    rf"""(?:"[^"<]{{{MAX_NAMESPACE_CHARS}}}|'[^'<]{{{MAX_NAMESPACE_CHARS}}})"""
)
"""A parser makes the name of each element with it."""
_NODE = re.compile(rf"(<\?.*?(?:\?>|\Z))|{HIDDEN}|(<[^/])", re.DOTALL)
"""A comment, a section or, with a group, what becomes an element: a PI, the start of a tag."""


@attrs.frozen
class ParsedRecords:
    """Whole records that were parsed together."""

    end: int
    """Place in the text where they end."""
    elements: list[Element]
    find_line: Callable[[Element], int]
    repairs: Repairs

    def find_record_line(self, place: int) -> int:
        """Return the line on which a record begins."""
        return self.find_line(self.elements[place])

    def take_records(self, places: slice) -> list[Record]:
        """Return some of its records, to be read one by one."""
        return [
            Record(
                self.elements[place],
                self.find_line,
                repairs=self.repairs.get(place, NO_REPAIRS),
            )
            for place in range(len(self.elements))[places]
        ]


@attrs.define
class TreeReader:
    """Reader of the whole records of one document, many at once as long as they are plain."""

    _prolog: Prolog
    _limits: Limits
    _batch_chars: int = _STEP_CHARS
    """Characters of the next batch: few after an odd one."""
    _most_chars: int = _STEP_CHARS
    """The most of a batch: fewer once one was odd."""

    def parse_batch(
        self,
        text: str,
        start: int,
        end: int,
        count_lines: Callable[[], int],
    ) -> Generator[list[Event], None, ParsedRecords | None]:
        """Return the next records between two places.

        `None`, if they must be cut out: something in them is odd, or the first one is long.
        `count_lines` returns the line of the first place.
        """
        first = _FIRST_TAG.match(text, start, end)
        size = self._batch_chars
        self._batch_chars = min(2 * size, self._most_chars)
        if first is None or not self._may_be_record(first[1]):
            return None
        end_tag = f"</{first[1]}>"
        stop = text.rfind(end_tag, start, min(end, start + size))
        if stop < 0:
            return None
        stop += len(end_tag)
        batch = text[start:stop]
        begin = f"<{first[1]}"
        root, repairs = yield from self._build(batch, begin)
        # repairs are counted by it
        is_countable = not repairs or len(root) == batch.count(begin)
        if not (is_countable and self._is_plain(root, batch)):
            self._most_chars = _MENDED_CHARS
            self._batch_chars = min(size, _MENDED_CHARS) // 8
            return None
        find_line = _line_numbers(batch, count_lines, root)
        return ParsedRecords(stop, list(root), find_line, repairs)

    def read_columns(
        self, batch: ParsedRecords, stats: ReadStats
    ) -> Iterator[Segment[list[Record]]]:
        """Read the records of a batch that have nothing but fields of the protocol."""
        elements = batch.elements
        names = self._prolog.names
        format_ = self._prolog.format
        record = names[elements[0].tag].tag
        if are_low(self._limits):
            columns = None
        elif record == RECORD_OF.get(format_):
            columns = _collect_texts(stats, elements, names)
        elif format_.is_feed and record in FEED_DATES:
            columns = collect_feed_texts(stats, elements, names)
        else:
            columns = None
        if columns is None:
            yield Segment([], 0, batch.take_records(slice(0, len(elements))))
            return
        columns.note_repairs(batch.repairs)
        columns.blank_odd()
        entries = columns.make_entries(format_)
        yield from columns.cut(entries, batch.take_records, batch.find_record_line)

    def parse_record(
        self, text: str, count_lines: Callable[[], int]
    ) -> Generator[list[Event], None, Record | None]:
        """Return the record that a text is; `None` if it is refused.

        Refused is what is not well-formed, or too much to be built: mending reports it.
        """
        root, repairs = yield from self._build(text)
        if not len(root):
            return None
        error = self._find_excess(root, text)
        codes = repairs.get(0, NO_REPAIRS)
        return Record(root[0], _line_numbers(text, count_lines, root), error, codes)

    def _build(
        self, text: str, begin: str = ""
    ) -> Generator[list[Event], None, tuple[Element, Repairs]]:
        """Build the elements of a text, which may all begin alike; none if it is refused."""
        root = Element("")
        repairs: Repairs = {}
        is_refused = self._is_refused(text)
        if not is_refused and len(text) > _STEP_CHARS:
            yield []
            is_refused = _has_long_tag(text)
            yield []
        if is_refused:
            return root, repairs
        has_reference = "&" in text and len(text) <= _MENDED_CHARS
        if has_reference and ODD_REFERENCE.search(text):
            text = _mend_references(text, begin, repairs)
        parser = XMLParser(  # noqa: S314 (a DTD cannot stand after a start tag)
            target=TreeBuilder(insert_pis=True, pi_factory=make_instruction)
        )
        with suppress(ParseError, ValueError):  # ValueError: a byte that is not UTF-8
            parser.feed(self.start_tag)
            for at in range(0, len(text), _STEP_CHARS):
                if at:
                    yield []
                parser.feed(text[at : at + _STEP_CHARS])
            parser.feed(_END_TAG)
            root = parser.close()
        return root, repairs

    def _may_be_record(self, written: str) -> bool:
        """Return whether an element may be a record, by its name as written."""
        return written.rpartition(":")[2].lower() in self._prolog.records

    def _is_plain(self, root: Element, text: str) -> bool:
        """Return whether elements are records of one kind, none in another, and within limits."""
        tags = {each.tag for each in root}
        if len(tags) != 1:
            return False
        (tag,) = tags
        tails = "".join([each.tail or "" for each in root])
        return (
            self._prolog.names[tag].own in self._prolog.records
            and len(root) == len(list(root.iter(tag)))
            and BLANKS.fullmatch(tails) is not None
            and not self._find_excess(root, text)
        )

    def _find_excess(self, root: Element, text: str) -> IssueCode | None:
        return find_excess(
            root, text, self._limits.record_depth, self._limits.attributes
        )

    @property
    def start_tag(self) -> str:
        """The start tag that binds the namespaces of the prolog."""
        return _write_start_tag(tuple(self._prolog.namespaces.items()))

    def wrap(self, text: str) -> str:
        """Return records as a document, after the start tag."""
        return f"{self.start_tag}{text}{_END_TAG}"

    def is_well_formed_around(self, text: str, *, is_tail: bool) -> bool:
        """Return whether text between two records, or after the last, is well-formed.

        It may open and close elements around records; a tail also ends the document.
        """
        wrappers = "".join(f"<{name}>" for name in self._prolog.wrappers)
        start_tag = f"<{self._prolog.root}{self.start_tag.removeprefix('<r')}{wrappers}"
        if is_tail:
            return is_well_formed(f"{start_tag}{text}")
        # A gap is any text: a whole second document with its own DOCTYPE, say. That is refused
        # after a start tag; the armed parser refuses it regardless.
        parser = DefusedXMLParser(target=object(), forbid_dtd=True)
        # a call for each piece of text: 8 ms for 60 KB
        parser.parser.DefaultHandlerExpand = None
        try:
            parser.feed(f"{start_tag}{text}<r/>")  # the next record
        except (ParseError, ValueError):  # ValueError: what defusedxml refuses, too
            return False
        return True

    # -- limits

    def _is_refused(self, text: str) -> bool:
        """Return whether a record is too much, or not as its author meant it."""
        most = self._limits.record_elements
        is_long = len(text) > most * len("<a/>")
        return (
            (is_long and text.count("<") - text.count("</") > most + 1)
            or has_open_section(text)  # which may be well-formed
            or ("xmlns" in text and _LONG_NAMESPACE.search(text) is not None)
        )


def _has_long_tag(text: str) -> bool:
    """Return whether a tag is too long for one step.

    Its attributes are made at once, a thousand in 1 ms.
    """
    for begin in _BEFORE_LONG_TEXT.finditer(text):
        tag = _TAG.match(text, begin.start())
        if tag is None or len(tag[0]) > _STEP_CHARS:
            return True
    return False


_WRITTEN_BLANKS = {blank: f"&#{blank};" for blank in NORMAL_BLANKS}


@lru_cache(maxsize=64)
def _write_start_tag(namespaces: tuple[tuple[str, str], ...]) -> str:
    bound = [
        f" xmlns{':' * bool(prefix)}{prefix}='{escape(uri).translate(_WRITTEN_BLANKS)}'"
        for prefix, uri in namespaces
    ]
    return f"<r{''.join(bound)}>"


def _mend_references(
    text: str,
    begin: str,
    repairs: Repairs,
) -> str:
    """Write references that XML lacks, and each bare `&`, as it knows them.

    The codes are added to the repairs of the record, each of which begins with `begin`.
    """
    if begin:
        before, *records = text.split(begin)
    else:
        before = ""
        records = [text]
    for place, record in enumerate(records):
        if ODD_REFERENCE.search(record):
            codes = set[IssueCode]()
            records[place] = mend_references(record, codes)
            repairs[place] = codes
    return begin.join([before, *records])


def _collect_texts(
    stats: ReadStats, elements: list[Element], names: Names
) -> RecordTexts:
    """Find the texts of records by columns; one with anything else in it is odd."""
    rows = [{field.tag: field.text for field in element} for element in elements]
    used = set[str]().union(*rows)
    tags = {names[tag].own: tag for tag in used}
    known = {tags[own] for own in PROTOCOL_FIELDS if own in tags}
    odd = set[int]()
    if used > known or sum(map(len, rows)) < sum(map(len, elements)):
        odd.update(
            place
            for place, row in enumerate(rows)
            if len(row) < len(elements[place]) or not row.keys() <= known
        )
    if any(map(len, chain.from_iterable(elements))):
        odd.update(
            place for place, element in enumerate(elements) if any(map(len, element))
        )
    fields = [
        [row.get(tags[own]) or "" for row in rows] if own in tags else []
        for own in PROTOCOL_FIELDS
    ]
    return RecordTexts(stats, len(rows), fields, odd)


def _line_numbers(
    text: str,
    count_lines: Callable[[], int],
    root: Element,
) -> Callable[[Element], int]:
    """Return a finder of the lines on which the elements of a batch begin."""
    starts: dict[Element, int] = {}

    def find_line(element: Element) -> int:
        if not starts:
            tags = (
                markup.start() for markup in _NODE.finditer(text) if markup.lastindex
            )
            starts.update(zip(islice(root.iter(), 1, None), tags, strict=True))
        return count_lines() + text.count("\n", 0, starts[element])

    return find_line


def parse_element(start_tag: str, text: str) -> Element:
    """Parse well-formed elements after a start tag; return their parent."""
    parser = XMLParser()  # noqa: S314 (a DTD cannot stand after a start tag)
    parser.feed(f"{start_tag}{text}{_END_TAG}")
    element: Element = parser.close()
    return element
