"""Reading well-formed records by the tree builder of the standard library, which is written in C.

A batch of records is parsed behind a start tag of our making, which binds the namespaces that are
bound where it stands: so no parser ever sees a DOCTYPE, and no state outlives a batch.
"""

from __future__ import annotations

import re
from html import escape
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING
from xml.etree.ElementTree import (
    ParseError,
    TreeBuilder,
    XMLParser,
)
from xml.parsers import expat

from defusedxml.ElementTree import DefusedXMLParser

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.elements import Record, has_name

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from xml.etree.ElementTree import Element

    from sitemapreader.options import Limits
    from sitemapreader.readers.xml.prolog import Prolog

_STEP_CHARS = 16_384
"""The smallest elements that fit in take 2 ms to build."""
_BLANKS = {ord(blank): f"&#{ord(blank)};" for blank in "\t\n\r"}
_PREFIX = re.compile(r"[^\W\d][\w.\xb7-]*|")
_RESERVED = ("xml", "xmlns")
_SHORTEST_ATTRIBUTE = len(" a=''")
_END_TAG = "</r>"


class NotWellFormedError(Exception):
    """The records are not well-formed."""


class TreeReader:
    """Reads batches of whole records that belong to one document."""

    def __init__(self, prolog: Prolog, limits: Limits) -> None:
        self._prolog = prolog
        self._limits = limits
        self._namespaces: dict[str, str] | None = None
        self._start_tag = ""
        self._many_attributes = re.compile(
            rf"""<[^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+){{{limits.attributes + 1}}}"""
        )
        self._long_tag = re.compile(f"<[^<]{{{limits.attributes * _SHORTEST_ATTRIBUTE}}}")

    def parse(self, text: str, line: int) -> Generator[None, None, list[Record]]:
        """Return the records of a batch whose first line is `line`; with pauses.

        Raises NotWellFormedError.
        """
        builder = TreeBuilder(insert_pis=True) if "<?" in text else TreeBuilder()
        parser = XMLParser(target=builder)  # noqa: S314 (a DTD cannot stand behind a start tag)
        try:
            parser.feed(self.start_tag)
            for start in range(0, len(text), _STEP_CHARS):
                if start:
                    yield
                parser.feed(text[start : start + _STEP_CHARS])
            parser.feed(_END_TAG)
            root: Element = parser.close()
        except (ParseError, ValueError):  # ValueError: a byte that is no UTF-8
            raise NotWellFormedError from None
        if not self._must_be_checked(text, root):
            find_line = _LineFinder(self.start_tag, text, line, root.iter())
            return [Record(element, find_line) for element in root]
        find_line = _LineFinder(self.start_tag, text, line, list(root.iter()))
        return [self._check(element, find_line) for element in root]

    @property
    def start_tag(self) -> str:
        """The start tag that binds the namespaces as they are bound now."""
        if self._namespaces is not self._prolog.namespaces:
            self._namespaces = self._prolog.namespaces
            self._start_tag = make_start_tag(self._namespaces)
        return self._start_tag

    def is_well_formed(self, text: str) -> bool:
        """Tell whether records are well-formed, and none of their tags is too long to be common."""
        parser = expat.ParserCreate(namespace_separator="}")
        try:
            parser.Parse(f"{self.start_tag}{text}{_END_TAG}", True)
        except (expat.ExpatError, ValueError):
            return False
        # A long tag is found in a tenth of the time that it takes to look at attributes
        return not (self._long_tag.search(text) and self._many_attributes.search(text))

    def is_well_formed_gap(self, text: str) -> bool:
        """Tell whether what stands between two records is well-formed as far as it goes.

        It may open and close elements around records, but not the root.
        """
        wrappers = "".join(f"<{name}>" for name in self._prolog.wrappers)
        # A gap is no record that was cut out, but any text: a whole second document with its own
        # DOCTYPE, say. It is refused behind a start tag; the armed parser refuses it regardless.
        parser = DefusedXMLParser(target=_Nothing(), forbid_dtd=True)
        try:
            parser.feed(self.start_tag + wrappers + text)
        except (ParseError, ValueError):  # ValueError: what defusedxml refuses, too
            return False
        return True

    # -- limits

    def _must_be_checked(self, text: str, root: Element) -> bool:
        """Tell whether a record may break a limit, or has a processing instruction in it."""
        limits = self._limits
        if len(text) > limits.field_chars or "<?" in text or self._long_tag.search(text):
            return True
        depth, elements, level = 0, 0, list(root)
        while level and depth <= limits.record_depth:
            depth, elements = depth + 1, elements + len(level)
            level = list(chain.from_iterable(level))
        return depth > limits.record_depth or elements > limits.record_elements

    def _check(self, record: Element, find_line: _LineFinder) -> Record:
        """Look at every element of a record for what is not to be read."""
        errors: dict[Element, IssueCode] = {}
        error = self._find_error(record)
        for element in islice(record.iter(), 1, None):
            if not has_name(element):
                element.text = None
                continue
            if any(map(self._is_too_long, (element.text, *(child.tail for child in element)))):
                errors[element] = IssueCode.FIELD_TOO_LONG
                element.text = None
                for child in element:
                    child.tail = None
            elif not all(map(has_name, element)):
                errors[element] = IssueCode.TEMPLATE
        return Record(element=record, find_line=find_line, error=error, errors=errors)

    def _find_error(self, record: Element) -> IssueCode | None:
        """Find the first limit that a record breaks as a whole; cut off what is behind it."""
        path = [(record, 0)]
        elements = 0
        error = self._judge(record, 0, 0)
        while path and not error:
            element, place = path[-1]
            text = element[place - 1].tail if place else element.text
            if element is record and self._is_too_long(text):
                error = IssueCode.FIELD_TOO_LONG
            elif place == len(element):
                path.pop()
            else:
                elements += has_name(element[place])
                error = self._judge(element[place], len(path), elements)
                if not error:
                    path[-1] = element, place + 1
                    path.append((element[place], 0))
        for element, place in path if error else ():
            del element[place:]
        for (element, place), _ in pairwise(path) if error else ():
            element[place - 1].tail = None
        return error

    def _judge(self, element: Element, depth: int, elements: int) -> IssueCode | None:
        """Find the limit that an element breaks, given how many there are around and before it."""
        limits = self._limits
        if depth >= limits.record_depth:
            return IssueCode.TOO_DEEP
        if elements > limits.record_elements:
            return IssueCode.TOO_MANY_ELEMENTS
        if len(element.keys()) > limits.attributes:
            return IssueCode.TOO_MANY_ATTRIBUTES
        if any(len(value) > limits.field_chars for _, value in element.items()):
            return IssueCode.FIELD_TOO_LONG
        return None

    def _is_too_long(self, text: str | None) -> bool:
        """Tell whether a text is; blanks between two fields never are."""
        return text is not None and len(text) > self._limits.field_chars and not text.isspace()


def parse_element(start_tag: str, text: str) -> Element:
    """Parse elements that are well-formed, behind a start tag; return the one around them."""
    parser = XMLParser()  # noqa: S314 (a DTD cannot stand behind a start tag)
    parser.feed(f"{start_tag}{text}{_END_TAG}")
    element: Element = parser.close()
    return element


def make_start_tag(namespaces: dict[str, str]) -> str:
    """Write the start tag that a batch is parsed behind."""
    bound = "".join(
        f" xmlns{':' * bool(prefix)}{prefix}='{escape(uri).translate(_BLANKS)}'"
        for prefix, uri in namespaces.items()
        if _is_prefix(prefix)
    )
    return f"<r{bound}>"


def _is_prefix(prefix: str) -> bool:
    """Tell whether the parser takes a prefix; beyond ASCII, not all letters are XML's."""
    if prefix in _RESERVED or not _PREFIX.fullmatch(prefix):
        return False
    if prefix.isascii():
        return True
    try:
        expat.ParserCreate().Parse(f"<{prefix}/>", True)
    except expat.ExpatError:
        return False
    return True


class _Nothing:
    """What a parser builds that only has to tell whether a text is well-formed."""

    def close(self) -> None:
        """Build nothing."""


class _LineFinder:
    """Finds the lines of a batch's elements, once one is asked for: hardly any ever is."""

    __slots__ = ("_elements", "_line", "_lines", "_start_tag", "_text")

    def __init__(self, start_tag: str, text: str, line: int, elements: Iterable[Element]) -> None:
        self._start_tag, self._text, self._line = start_tag, text, line
        self._elements = elements
        self._lines: dict[Element, int] | None = None

    def __call__(self, element: Element) -> int:
        if self._lines is None:
            elements = filter(has_name, self._elements)
            self._lines = dict(zip(elements, self._list_lines(), strict=True))
        return self._line + self._lines[element] - 1

    def _list_lines(self) -> list[int]:
        """List the lines on which elements begin, in document order."""
        lines: list[int] = []
        parser = expat.ParserCreate()

        def start(_name: str, _attributes: object) -> None:
            lines.append(parser.CurrentLineNumber)

        parser.StartElementHandler = start
        parser.Parse(f"{self._start_tag}{self._text}{_END_TAG}", True)
        parser.StartElementHandler = None  # it knows the parser, which knows it
        return lines
