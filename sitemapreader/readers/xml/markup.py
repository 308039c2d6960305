"""Broken markup as tags, sections and attributes; the trees that are built of it.

Only records become trees, one at a time; everything around them is passed over.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, TreeBuilder

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.context import Record, find_errors, join_texts
from sitemapreader.readers.records.vocabulary import (
    FIELDS,
    MAX_NAMESPACE_CHARS,
    RECORDS,
    ROOTS,
    USUAL_PREFIXES,
)
from sitemapreader.readers.xml.characters import ATTRIBUTES, HIDDEN, unescape

if TYPE_CHECKING:
    from collections.abc import Generator

    from sitemapreader.options import Limits

# A tag's attributes end at the first `>` outside of quotes; where quotes do not pair, at the first
# `>`; and where there is none, at the next `<`.
MARKUP = re.compile(
    r"<(?:(?P<section>!--|!\[CDATA\[|\?)"
    r"|(?P<end>/?)(?P<name>[^\W\d][\w.:\xb7-]*+)"
    rf"(?:(?P<attributes>{ATTRIBUTES})>"
    r"|(?P<loose>[^<>]*+)(?P<closed>>)?))"
)

_ANY_TAG = re.compile(rf"{HIDDEN}|<(?P<end>/?)(?P<name>[^\W\d][\w.:\xb7-]*+)")
_KNOWN_TAGS = FIELDS | RECORDS | ROOTS.keys()
_STEP = 2_000
"""Tags between two pauses: about 3 ms."""


def is_text(match: re.Match[str]) -> bool:
    """Return whether an apparent tag is text: it has no `>`, and an unknown name."""
    is_cut = match["loose"] is not None and not match["closed"]
    return is_cut and get_tag(match) not in _KNOWN_TAGS


def get_tag(match: re.Match[str]) -> str:
    """Return the local name of a tag, in lower case."""
    local: str = match["name"].rpartition(":")[2]
    return local.lower()


def get_attributes(match: re.Match[str]) -> str:
    """Return what stands behind the name in a tag."""
    return match["attributes"] or match["loose"] or ""


def index_tags(text: str) -> Generator[None, None, dict[str, list[tuple[int, bool]]]]:
    """Return where the tags of each name begin, and which are end tags."""
    tags: dict[str, list[tuple[int, bool]]] = {}
    for number, match in enumerate(_ANY_TAG.finditer(text), 1):
        if match["name"]:
            tags.setdefault(get_tag(match), []).append((match.start(), bool(match["end"])))
        if number % _STEP == 0:
            yield
    return tags


# -- attributes

_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
)
_NORMAL_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
"""XML 1.0, section 3.3.3: how blanks in an attribute's value are read."""
_PREFIX = re.compile(r"xmlns(?::([^\W\d][\w.\xb7-]*+))?")


def expand_name(uri: str, local: str) -> str:
    """Write a name as `{uri}local`."""
    return f"{{{uri}}}{local}" if uri else local


def find_namespaces(attributes: dict[str, str]) -> dict[str, str]:
    """Return the namespaces that a tag's attributes declare, by their prefixes."""
    bound = {}
    for name, value in attributes.items():
        match = _PREFIX.fullmatch(name)
        if match and (value or not match[1]):
            # SECURITY: the name of each element is made with its namespace
            uri = value[: MAX_NAMESPACE_CHARS + 1]
            bound[match[1] or ""] = uri.replace("}", "%7D")  # which ends it there
    return bound


def read_attributes(text: str, repairs: set[IssueCode], limit: int) -> dict[str, str]:
    """Read the attributes of a tag, quoted or not; of a repeated one, the first.

    No more than one past the limit: that tells that it is broken, and more is not needed.
    """
    attributes: dict[str, str] = {}
    for match in islice(_ATTRIBUTE.finditer(text), limit + 1):
        name, double, single, bare = match.groups("")
        if bare or name in attributes:
            repairs.add(IssueCode.NOT_WELL_FORMED)
        value = double or single or bare
        attributes.setdefault(name, unescape(value.translate(_NORMAL_BLANKS), repairs))
    return attributes


def resolve(
    attributes: dict[str, str], namespaces: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return attributes by `{uri}local`, and those with unbound prefixes; not xmlns."""
    resolved, unbound = {}, []
    for name, value in attributes.items():
        prefix, colon, local = name.partition(":")
        if prefix == "xmlns":
            continue
        if colon and prefix != "xml" and prefix not in namespaces:
            unbound.append(name)
        uri = namespaces.get(prefix) or USUAL_PREFIXES.get(prefix, prefix) if colon else ""
        resolved[expand_name(uri, local or prefix)] = value
    return resolved, unbound


@attrs.define
class OpenElement:
    """An element without its end tag so far; its tag is its local name in lower case."""

    name: str
    tag: str
    namespaces: dict[str, str]
    """All that are bound in it, by their prefixes."""
    has_text: bool = False
    is_template: bool = False
    """Whether a processing instruction stands in it."""


class RecordBuilder:
    """Builder of records from start tags, texts and end tags."""

    def __init__(self, limits: Limits) -> None:
        self.records: list[Record] = []
        """The finished ones."""
        self.open: list[OpenElement] = []
        """The elements that are open, from the record inwards."""
        self.has_repaired = False
        """Whether the repairs of a finished record will be reported."""
        self._limits = limits
        self._begin()

    def _begin(self) -> None:
        self.repairs: set[IssueCode] = set()
        self.error: IssueCode | None = None
        """Why the open record must be dropped; nothing more of it is built."""
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
