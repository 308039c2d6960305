"""The reader of well-formed records by the standard library's tree builder.

Records are parsed behind a start tag of our making, which binds the namespaces that are bound where
they stand: so no parser ever sees a DOCTYPE, and no state outlives a batch. The parser is given one
record after the other, so that it is known which one it refuses; the mender tells that to the same
tree builder.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from html import escape
from itertools import islice, repeat
from typing import TYPE_CHECKING, TypeAlias
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

import attrs
from defusedxml.ElementTree import DefusedXMLParser

from sitemapreader._read.record import NO_REPAIRS, Record, find_excess, make_instruction
from sitemapreader._read.vocabulary import MAX_NAMESPACE_CHARS
from sitemapreader._read.xml.markup import (
    CLOSINGS,
    HIDDEN,
    NORMAL_BLANKS,
    ODD_REFERENCE,
    SECTION_START,
    is_well_formed,
    resolve_reference,
)
from sitemapreader._types.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from collections.abc import Set as AbstractSet

    from sitemapreader._read.xml.prolog import Prolog
    from sitemapreader._types.models import Event
    from sitemapreader._types.options import Limits

    Span: TypeAlias = tuple[int, int]
    """Beginning and end of a record."""

_STEP_CHARS = 16_384
"""The smallest elements that fit in take 2 ms to build."""
_LONG_TAG = re.compile(rf"<[^<]{{{_STEP_CHARS}}}")
"""Tag that is too long for one step: its attributes are made at once, a thousand in 1 ms."""
_END_TAG = "</r>"
_LONG_NAMESPACE = re.compile(
    r"\sxmlns[^\s=<>]*+\s*+=\s*+"
    rf"""(?:"[^"<]{{{MAX_NAMESPACE_CHARS}}}|'[^'<]{{{MAX_NAMESPACE_CHARS}}})"""
)
"""A parser makes the name of each element with it."""
_NODE = re.compile(rf"(<\?.*?(?:\?>|\Z))|{HIDDEN}|(<[^/])", re.DOTALL)
"""A comment, a section or, with a group, what becomes an element: a PI, the start of a tag."""


_HIDDEN_OR_REFERENCE = re.compile(rf"{HIDDEN}|{ODD_REFERENCE.pattern}", re.DOTALL)


@attrs.define
class TreeReader:
    """Reader of batches of whole records of one document."""

    _prolog: Prolog
    _limits: Limits

    def parse(
        self, text: str, run: Sequence[Span], line: int, *, is_odd: bool
    ) -> Generator[list[Event], None, tuple[list[Record], bool]]:
        """Return the first records of a run, and whether the next one is refused.

        Refused is what is not well-formed, or too much to be built: mending reports it. `line` is
        the run's first; where it `is_odd`, each record gets a closer look.
        """
        builder = TreeBuilder(insert_pis=True, pi_factory=make_instruction)
        parser = XMLParser(target=builder)  # noqa: S314 (a DTD cannot stand behind a start tag)
        around = builder.start("", {})
        parser.feed(self.start_tag)
        repairs: list[AbstractSet[IssueCode]] = []
        size = 0
        is_refused = False
        with suppress(ParseError, ValueError):  # ValueError: a byte that is not UTF-8
            for start, end in run:
                size += end - start
                if size > _STEP_CHARS and repairs:
                    break
                is_refused = True
                record = text[start:end]
                codes = NO_REPAIRS
                is_long = end - start > _STEP_CHARS and _LONG_TAG.search(record)
                if is_long or (is_odd and self._is_refused(record)):
                    break
                if is_odd:
                    record, codes = _mend_references(record)
                for at in range(0, len(record), _STEP_CHARS):
                    if at:
                        yield []
                    parser.feed(record[at : at + _STEP_CHARS])
                # of what comes in pieces, the end may be kept back
                if size > _STEP_CHARS:
                    parser.feed(_END_TAG)
                    parser.close()
                repairs.append(codes)
                is_refused = False
        root = around[0]
        depth = self._limits.record_depth
        most = self._limits.attributes
        del root[len(repairs) :]
        find_line = _line_numbers(text[run[0][0] : run[len(root) - 1][1]], line, root)
        is_sound = not find_excess(root, depth, most)
        errors = (
            repeat(None)
            if is_sound
            else (find_excess([each], depth, most) for each in root)
        )
        return list(map(Record, root, repeat(find_line), errors, repairs)), is_refused

    def is_odd(self, text: str) -> bool:
        """Return whether a record of a run may be too much, or may need to be mended."""
        return self._is_refused(text) or ODD_REFERENCE.search(text) is not None

    @property
    def start_tag(self) -> str:
        """The start tag that binds the namespaces of the prolog."""
        return _write_start_tag(tuple(self._prolog.namespaces.items()))

    def wrap(self, text: str) -> str:
        """Return records as a document, behind the start tag."""
        return f"{self.start_tag}{text}{_END_TAG}"

    def is_well_formed_around(self, text: str, *, is_tail: bool) -> bool:
        """Return whether text between two records, or behind the last, is well-formed.

        It may open and close elements around records; a tail also ends the document.
        """
        wrappers = "".join(f"<{name}>" for name in self._prolog.wrappers)
        start_tag = f"<{self._prolog.root}{self.start_tag.removeprefix('<r')}{wrappers}"
        if is_tail:
            return is_well_formed(f"{start_tag}{text}")
        # A gap is any text: a whole second document with its own DOCTYPE, say. That is refused
        # behind a start tag; the armed parser refuses it regardless.
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
        return (
            (text.count("<") > most and text.count("<") - text.count("</") > most + 1)
            # sections that begin more often than they end may be well-formed
            or text.count(SECTION_START) > text.count(CLOSINGS[SECTION_START])
            or ("xmlns" in text and _LONG_NAMESPACE.search(text) is not None)
        )


_WRITTEN_BLANKS = {blank: f"&#{blank};" for blank in NORMAL_BLANKS}


@lru_cache(maxsize=64)
def _write_start_tag(namespaces: tuple[tuple[str, str], ...]) -> str:
    bound = [
        f" xmlns{':' * bool(prefix)}{prefix}='{escape(uri).translate(_WRITTEN_BLANKS)}'"
        for prefix, uri in namespaces
    ]
    return f"<r{''.join(bound)}>"


def _mend_references(text: str) -> tuple[str, AbstractSet[IssueCode]]:
    """Write references that XML lacks, and each bare `&`, as it knows them."""
    codes = set[IssueCode]()

    def write(match: re.Match[str]) -> str:
        if match[0][0] == "<":
            return match[0]
        # The parser has to refuse what is no character, and one that is removed: it may join two
        # parts of a tag
        said = resolve_reference(codes, match).replace("\ufffd", "")
        return "".join(f"&#{ord(one)};" for one in said) or match[0]

    is_mended = "&" in text and len(text) <= _STEP_CHARS
    return _HIDDEN_OR_REFERENCE.sub(write, text) if is_mended else text, codes


def _line_numbers(text: str, line: int, root: Element) -> Callable[[Element], int]:
    """Return a finder of the lines on which the elements of a batch begin."""
    starts: dict[Element, int] = {}

    def find_line(element: Element) -> int:
        if not starts:
            tags = (
                markup.start() for markup in _NODE.finditer(text) if markup.lastindex
            )
            starts.update(zip(islice(root.iter(), 1, None), tags, strict=True))
        return line + text.count("\n", 0, starts[element])

    return find_line


def parse_element(start_tag: str, text: str) -> Element:
    """Parse well-formed elements behind a start tag; return their parent."""
    parser = XMLParser()  # noqa: S314 (a DTD cannot stand behind a start tag)
    parser.feed(f"{start_tag}{text}{_END_TAG}")
    element: Element = parser.close()
    return element
