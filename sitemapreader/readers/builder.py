"""The builder that both exact and lenient reading feed: tags and texts in, records as trees out.

Only records become trees, one at a time; everything around them is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.elements import Element
from sitemapreader.readers.records.namespaces import NAMESPACES, OWN, namespace_key
from sitemapreader.readers.roots import RECORD_OF, ROOTS

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.xml.prolog import Prolog


class ElementBuilder:
    """Turns start, text and end into finished records.

    `records` fills up with them; `names` with hashes of the element names of the whole document.
    """

    def __init__(self, head: Prolog, limits: Limits, names: set[int]) -> None:
        self.records: list[Element] = []
        self.open: list[Element] = []
        self.nested_root = False
        self.foreign_uri: str | None = None
        """A namespace that records are in and nobody knows."""
        self._head = head
        self._record_name = RECORD_OF.get(head.format, "")
        self._limits = limits
        self._names = names
        self._record_uri = ""
        self._elements = 0
        self._unbuilt = 0

    def start(self, uri: str, name: str, attributes: dict[str, str], line: int) -> None:
        """Open an element."""
        key = self._key(uri)
        tag = name.lower()
        element = Element(uri, key, name, tag, attributes, line)
        if not self.open:
            self._start_record(element)
            if not self._open_for_stray_loc(element):
                return
        if len(self.open) == 1 and self.is_record_name(element.uri, element.tag):
            self.finish(IssueCode.MISMATCHED_TAG)
            self._start_record(element)
            return
        record = self.open[0]
        self._elements += 1
        record.fault = record.fault or self._broken_limit(element)
        if record.fault:  # nothing more of it is kept, so nothing more is built
            self._unbuilt += 1
            return
        self.open[-1].add_child(element)
        self.open.append(element)
        if len(self._names) <= self._limits.names:
            self._names.add(hash((uri, name)))

    def text(self, text: str) -> None:
        """Add text to the innermost open element."""
        if self.open and not self.open[0].fault:
            self.open[-1].add_text(text, self._limits.field_chars)

    def end(self) -> None:
        """Close the innermost element."""
        if self._unbuilt:
            self._unbuilt -= 1
        else:
            self.pop()

    def pop(self) -> None:
        """Close the innermost element that is being built, if any."""
        if len(self.open) > 1:
            self.open.pop()
        elif self.open:
            self.finish()

    def finish(self, repairs: IssueCode | None = None) -> None:
        """Close the record with all that is open in it."""
        record = self.open[0]
        if repairs:
            record.repairs.add(repairs)
        self.records.append(record)
        self.open.clear()

    def fail(self, fault: IssueCode) -> None:
        """Note that the open record, if there is one, is not to be read."""
        if self.open:
            self.open[0].fault = self.open[0].fault or fault

    def mark_template(self) -> None:
        """Note that a processing instruction stands in a field: its text is not all there was."""
        if len(self.open) > 1:
            self.open[-1].fault = IssueCode.TEMPLATE

    def is_record_name(self, uri: str, tag: str) -> bool:
        """Tell whether an element of that name is a record of the document's format."""
        return tag in self._head.records and self._key(uri) == OWN

    @property
    def repairs(self) -> set[IssueCode]:
        """Where to note what was repairs: the open record, or nowhere."""
        return self.open[0].repairs if self.open else set()

    def _key(self, uri: str) -> str:
        if uri in self._head.own_uris or uri == self._record_uri:
            return OWN
        return namespace_key(uri, self._head.uri, self._head.format)

    def _start_record(self, element: Element) -> None:
        is_foreign = self._is_foreign(element)
        if is_foreign:
            self.foreign_uri = element.uri
        if is_foreign or self.is_record_name(element.uri, element.tag):
            self._record_uri = element.uri
            self._elements = self._unbuilt = 0
            element.fault = self._broken_limit(element)
            self.open.append(element)
        elif element.tag in ROOTS:
            self.nested_root = True
            self._head.open_root(element.uri, ROOTS[element.tag][1])

    def _is_foreign(self, element: Element) -> bool:
        """Tell whether it is a url or sitemap that is in a namespace of its own."""
        return (
            element.tag == self._record_name
            and element.key not in (OWN, *NAMESPACES.values())
            and self._head.format.is_protocol
        )

    def _open_for_stray_loc(self, element: Element) -> bool:
        """Open a record for a loc that stands outside of all; tell whether that was done."""
        if self.open or element.key != OWN or element.tag != "loc" or not self._record_name:
            return False
        name = self._record_name
        record = Element(element.uri, OWN, name, name, {}, element.line)
        record.repairs.add(IssueCode.MISMATCHED_TAG)
        self._elements = self._unbuilt = 0
        self.open.append(record)
        return True

    def _broken_limit(self, element: Element) -> IssueCode | None:
        if len(self.open) >= self._limits.record_depth:
            return IssueCode.TOO_DEEP
        if self._elements > self._limits.record_elements:
            return IssueCode.TOO_MANY_ELEMENTS
        if len(element.attributes) > self._limits.attributes:
            return IssueCode.TOO_MANY_ATTRIBUTES
        longest = max(map(len, element.attributes.values())) if element.attributes else 0
        if longest > self._limits.field_chars:
            return IssueCode.FIELD_TOO_LONG
        return None
