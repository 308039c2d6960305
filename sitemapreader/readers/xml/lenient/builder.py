"""Tags and texts of broken markup -> records, as trees of elements.

Only records become trees, one at a time; everything around them is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Comment, Element

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.readers.formats import RECORD_OF, ROOTS
from sitemapreader.readers.records.elements import Record, has_name, join_texts

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.records.names import Name, Names
    from sitemapreader.readers.xml.prolog import Prolog


@attrs.define
class OpenElement:
    """An element without its end tag so far; `tag` is its lower-case local name."""

    element: Element
    tag: str
    has_text: bool = False
    """Whether any text of its own but blanks was met."""
    _parts: list[str] = attrs.field(factory=list)
    """Of the text behind the last child: its pieces, how long it is, whether it is all blanks."""
    _chars: int = 0
    _is_blank: bool = True

    def add_text(self, text: str, limit: int) -> bool:
        """Add a piece of text; return False if it has grown too long.

        Blanks alone are never too much: so they stand between two fields.
        """
        self._parts.append(text)
        self._chars += len(text)
        self._is_blank = self._is_blank and text.isspace()
        self.has_text = self.has_text or not self._is_blank
        return self._is_blank or self._chars <= limit

    def end_text(self) -> None:
        """Move the text into the element, because a tag has come."""
        text = "".join(self._parts)
        if len(self.element):
            self.element[-1].tail = text
        else:
            self.element.text = text
        self._parts.clear()
        self._chars, self._is_blank = 0, True

    def discard_texts(self) -> None:
        """Forget its texts."""
        self._parts.clear()
        self.element.text = None
        for child in self.element:
            child.tail = None


class RecordBuilder:
    """Builder of records from start tags, texts and end tags.

    Attributes:
        records: the finished ones.
        open: the elements that are open, from the record inwards; none outside of records.
        nested_root: a root was met inside of the root, or behind it.
        repairs: what was repaired in the open record.
    """

    def __init__(self, prolog: Prolog, names: Names, limits: Limits) -> None:
        self.records: list[Record] = []
        self.open: list[OpenElement] = []
        self.nested_root = False
        self.repairs: set[IssueCode] = set()
        self._prolog = prolog
        self._names = names
        self._limits = limits
        self._lines: dict[Element, int] = {}
        self._error: IssueCode | None = None
        self._errors: dict[Element, IssueCode] = {}
        self._elements = 0
        self._unbuilt = 0

    def start(self, tag: str, attributes: dict[str, str], line: int) -> None:
        """Open an element; `tag` is its name, `{uri}local`."""
        name = self._names[tag]
        if not self.open and not self._start_around(tag, name, attributes, line):
            return
        if len(self.open) == 1 and self._prolog.is_record(name):
            self.finish(IssueCode.MISMATCHED_TAG)
            self._start_record(tag, name, attributes, line)
            return
        self._elements += 1
        self._error = self._error or self._find_error(attributes)
        if self._error:  # nothing more of the record is kept, so nothing more is built
            self._unbuilt += 1
            return
        self.open[-1].end_text()
        self._open(tag, name, attributes, line)

    def add_text(self, text: str) -> None:
        """Add text to the innermost open element."""
        if not self.open or self._error:
            return
        innermost = self.open[-1]
        if self._errors.get(innermost.element) is IssueCode.FIELD_TOO_LONG:
            return
        if innermost.add_text(text, self._limits.field_chars):
            return
        if len(self.open) == 1:
            self._error = IssueCode.FIELD_TOO_LONG
        else:
            self._errors.setdefault(innermost.element, IssueCode.FIELD_TOO_LONG)
            innermost.discard_texts()

    def add_break(self) -> None:
        """Record a stray tag, which separates two texts."""
        self.open[-1].end_text()
        element = self.open[-1].element
        last = element[-1] if len(element) else None
        # one mark is enough for a flood of them
        if last is None or has_name(last) or (last.tail and not last.tail.isspace()):
            element.append(Comment())

    def end(self) -> None:
        """Close the innermost element."""
        if self._unbuilt:
            self._unbuilt -= 1
        else:
            self.pop()

    def pop(self) -> None:
        """Close the innermost element of the record, if there is one."""
        if len(self.open) > 1:
            self.open.pop().end_text()
        elif self.open:
            self.finish()

    def finish(self, repair: IssueCode | None = None) -> None:
        """Close the record with everything that is open in it."""
        if repair:
            self.repairs.add(repair)
        for one in self.open:
            one.end_text()
        record, *_ = self.open
        self.records.append(
            Record(record.element, self._lines.__getitem__, self._error, self._errors, self.repairs)
        )
        self.open.clear()
        self.repairs = set()

    def cut(self) -> str:
        """Close the record, but without the field in which the document was cut off.

        Returns the texts of all that was there.
        """
        for one in self.open:
            one.end_text()
        record, *fields = self.open
        text = join_texts(record.element)
        if fields:
            record.element.remove(fields[0].element)
        del self.open[1:]
        self.finish()
        return text

    def fail(self, error: IssueCode) -> None:
        """Mark the open record, if there is one, as one to drop."""
        if self.open:
            self._error = self._error or error

    def mark_template(self) -> None:
        """Mark the open field as incomplete: it holds a processing instruction."""
        if len(self.open) > 1:
            self._errors[self.open[-1].element] = IssueCode.TEMPLATE

    # -- records

    def _start_around(self, tag: str, name: Name, attributes: dict[str, str], line: int) -> bool:
        """Open an element outside of all records; return whether it is a record's field."""
        prolog = self._prolog
        if prolog.is_record(name) or prolog.is_foreign_record(name):
            self._start_record(tag, name, attributes, line)
        elif name.tag in ROOTS:
            self.nested_root = True
            prolog.open_nested_root(ROOTS[name.tag][1])
            self._names.add_own(name.uri)
        elif name.own == "loc" and (record := RECORD_OF.get(prolog.format)):
            record_tag = f"{{{name.uri}}}{record}" if name.uri else record
            self._start_record(record_tag, self._names[record_tag], {}, line)
            self.repairs.add(IssueCode.MISMATCHED_TAG)
            return True
        return False

    def _start_record(self, tag: str, name: Name, attributes: dict[str, str], line: int) -> None:
        self._elements = self._unbuilt = 0
        self._errors, self.repairs = {}, set()
        self._error = self._find_error(attributes)
        self._open(tag, name, attributes, line)

    def _open(self, tag: str, name: Name, attributes: dict[str, str], line: int) -> None:
        element = Element(tag, attributes)
        self._lines[element] = line
        if self.open:
            self.open[-1].element.append(element)
        self.open.append(OpenElement(element, name.tag))

    def _find_error(self, attributes: dict[str, str]) -> IssueCode | None:
        limits = self._limits
        if len(self.open) >= limits.record_depth:
            return IssueCode.TOO_DEEP
        if self._elements > limits.record_elements:
            return IssueCode.TOO_MANY_ELEMENTS
        if len(attributes) > limits.attributes:
            return IssueCode.TOO_MANY_ATTRIBUTES
        longest = max(map(len, attributes.values())) if attributes else 0
        if longest > limits.field_chars:
            return IssueCode.FIELD_TOO_LONG
        return None
