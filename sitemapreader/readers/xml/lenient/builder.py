"""Tags and texts of broken markup -> records, as trees of elements.

Only records become trees, one at a time; everything around them is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, TreeBuilder

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.elements import Record, join_texts
from sitemapreader.readers.records.limits import find_errors

if TYPE_CHECKING:
    from sitemapreader.options import Limits


@attrs.define
class OpenElement:
    """An element without its end tag so far.

    Attributes:
        name: its name, `{uri}local`.
        tag: its local name in lower case.
        namespaces: all that are bound in it, by their prefixes.
        has_text: whether any text of its own but blanks was met.
        is_template: whether a processing instruction stands in it.
    """

    name: str
    tag: str
    namespaces: dict[str, str]
    has_text: bool = False
    is_template: bool = False


class RecordBuilder:
    """Builder of records from start tags, texts and end tags.

    Attributes:
        records: the finished ones.
        open: the elements that are open, from the record inwards; none outside of records.
        repairs: what was repaired in the open record.
        error: why the open record must be dropped; nothing more of it is built.
        has_repaired: whether the repairs of a finished record will be reported.
    """

    def __init__(self, limits: Limits) -> None:
        self.records: list[Record] = []
        self.open: list[OpenElement] = []
        self.has_repaired = False
        self._limits = limits
        self._begin()

    def _begin(self) -> None:
        """Begin a record."""
        self.repairs: set[IssueCode] = set()
        self.error: IssueCode | None = None
        self._tree = TreeBuilder(insert_comments=True, insert_pis=True)
        self._lines: dict[Element, int] = {}
        self._has_break = False
        """Whether a stray tag, and no text, was met."""
        self._chars = 0
        """Characters of texts and of attributes."""
        self._is_odd = False
        """Whether a tag has too many attributes, or a processing instruction was met."""

    def start(self, opened: OpenElement, attributes: dict[str, str], line: int) -> None:
        """Open an element: the record, if none is open."""
        if not self.open:
            self._begin()
        elif not self.error and len(self.open) >= self._limits.record_depth:
            self.error = IssueCode.TOO_DEEP
        elif not self.error and len(self._lines) > self._limits.record_elements:
            self.error = IssueCode.TOO_MANY_ELEMENTS
        self._chars += sum(map(len, attributes.values()))
        self._is_odd = self._is_odd or len(attributes) > self._limits.attributes
        if not self.error:
            self._lines[self._tree.start(opened.name, attributes)] = line
            self.open.append(opened)

    def add_text(self, text: str) -> None:
        """Add text to the innermost open element."""
        if self.open and not self.error:
            self._tree.data(text)
            self._chars += len(text)
            if not text.isspace():
                self.open[-1].has_text = True
                self._has_break = False

    def add_break(self) -> None:
        """Record a stray tag, which separates two texts."""
        if not (self.error or self._has_break):  # one is enough for a flood of them
            self._tree.comment("")
            self._has_break = True

    def mark_template(self) -> None:
        """Record a processing instruction: what it stands in is incomplete."""
        if self.open and not (self.error or self.open[-1].is_template):  # one is enough
            self._tree.pi("")
            self.open[-1].is_template = self._is_odd = True

    def end(self) -> None:
        """Close the innermost element, if there is one."""
        if len(self.open) > 1:
            self._end_element()
        elif self.open:
            self.finish()

    def finish(self, repair: IssueCode | None = None) -> None:
        """Close the record with everything that is open in it."""
        if repair:
            self.repairs.add(repair)
        while self.open:
            self._end_element()
        record = self._tree.close()
        error, errors = self.error, dict[Element, IssueCode]()
        if not error and (self._is_odd or self._chars > self._limits.field_chars):
            error, errors = find_errors(record, self._limits)
        lines = self._lines.__getitem__
        self.records.append(Record(record, lines, error, errors, self.repairs))
        self.has_repaired = self.has_repaired or bool(self.repairs and not error)
        self.repairs = set()

    def cut(self) -> str:
        """Close the record, but without the field in which the document was cut off.

        Returns the texts of all that was there.
        """
        *fields, record = [self._end_element() for _ in range(len(self.open))]
        text = join_texts(record)
        if fields:
            record.remove(fields[-1])
        self.finish()
        return text

    def _end_element(self) -> Element:
        return self._tree.end(self.open.pop().name)
