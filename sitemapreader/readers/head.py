"""The head of an XML document: all up to its root element's start tag.

It is read here, not by expat: no parser ever sees a DOCTYPE, so nothing that a DTD could declare
can be expanded. What the readers of the records need from it is the root element's name and the
namespaces that are bound there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format
from sitemapreader.readers.entities import unescape
from sitemapreader.readers.names import PROTOCOL_URI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event
    from sitemapreader.readers.ledger import Ledger

MAX_HEAD_BYTES = 262_144
"""A licence as a comment, a dozen namespaces: no real head has a tenth of it."""

_PROTOCOL_RECORDS = frozenset({"url", "sitemap"})
# local name of a root element, in lower case -> format and the local names of its records
ROOTS: dict[str, tuple[Format, frozenset[str]]] = {
    "urlset": (Format.URLSET, _PROTOCOL_RECORDS),
    "sitemapindex": (Format.INDEX, _PROTOCOL_RECORDS),
    "rss": (Format.RSS, frozenset({"item"})),
    "rdf": (Format.RSS, frozenset({"item"})),
    "feed": (Format.ATOM, frozenset({"entry"})),
}
RECORDS = frozenset[str]().union(*(records for _, records in ROOTS.values()))
_ROOTLESS = {"url": "urlset", "sitemap": "sitemapindex"}
"""A record that stands where the root should -> the root that is missing."""
_HTML = frozenset({"html", "head", "body", "title", "meta", "script"})

_TAG = re.compile(rb"""<([A-Za-z_][^\s<>/]*)((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>""")
_DOCTYPE = re.compile(rb"<!doctype\s+([^\s>\[]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_PREFIX = re.compile(r"xmlns(?::([A-Za-z_][\w.-]*))?")
_SECTIONS = {b"<!--": b"-->", b"<?": b"?>", b"<![CDATA[": b"]]>"}
"""Markup that holds no elements: how it begins, how it ends."""
_SECTION = re.compile(rb"<!--|<\?|<!\[CDATA\[")


@attrs.define
class Head:
    """What the head of a document says.

    Attributes:
        format: told by the root element.
        root: the root's name as written, with its prefix.
        namespaces: prefix ("" for the default) -> URI.
        records: local names of the format's records, in lower case.
        closed: the root's end tag was met, or there is no root.
    """

    format: Format
    root: str
    namespaces: dict[str, str]
    records: frozenset[str]
    closed: bool = False

    @property
    def uri(self) -> str:
        """Namespace URI of the root element, or ""."""
        return self.namespaces.get(self.root.rpartition(":")[0], "")


class NotXmlError(Exception):
    """The document is none of the XML formats, or is refused; `code` says which."""

    def __init__(self, code: IssueCode, value: str) -> None:
        self.code = code
        self.value = value
        super().__init__(code, value)


def read_head(
    events: list[Event], ledger: Ledger, data: bytes, *, final: bool
) -> tuple[Head, int] | None:
    """Read the head from a document's first bytes, in UTF-8.

    Returns the head and where the root's content begins; `None` if more data is needed, which with
    `final`, or past 256 KiB, it never is. Raises NotXmlError.
    """
    first = ""
    doctype = ""
    for position in markup(data):
        if kind := _DOCTYPE.match(data, position):
            doctype = _text(kind[1]).lower()
            if _has_internal_subset(data, position):
                raise NotXmlError(IssueCode.DTD_REFUSED, _text(data[position : position + 80]))
        tag = _TAG.match(data, position)
        if tag is None:
            continue
        name = _text(tag[1])
        root = name.rpartition(":")[2].lower()
        if root in ROOTS or (root in _ROOTLESS and not first):
            _note_prolog(events, ledger, data, position if first else -1, doctype)
            return _open(events, ledger, name, root, tag)
        first = first or root
        if first in _HTML or doctype == "html":
            raise NotXmlError(IssueCode.HTML_NOT_SITEMAP, f"<{name}>")
    if final or len(data) > MAX_HEAD_BYTES:
        code = IssueCode.HTML_NOT_SITEMAP if doctype == "html" else IssueCode.NOT_A_SITEMAP
        raise NotXmlError(code, f"<{first}>" if first else _text(data[:80]))
    return None


def markup(data: bytes) -> Iterator[int]:
    """Yield where a tag or declaration begins, past comments, CDATA sections and PIs.

    Ends at one of those that does not end in `data`.
    """
    position = data.find(b"<")
    while position >= 0:
        if section := _SECTION.match(data, position):
            position = _section_end(data, section)
            if position < 0:
                return
        else:
            yield position
            position += 1
        position = data.find(b"<", position)


def open_section(data: bytes) -> int:
    """Return where a comment, CDATA section or PI begins that does not end in `data`; or -1."""
    position = 0
    while section := _SECTION.search(data, position):
        position = _section_end(data, section)
        if position < 0:
            return section.start()
    return -1


def _section_end(data: bytes, section: re.Match[bytes]) -> int:
    closing = _SECTIONS[section[0]]
    end = data.find(closing, section.end())
    return end + len(closing) if end >= 0 else -1


def record_starts(data: bytes, records: frozenset[str]) -> Iterator[int]:
    """Yield where the start tag of a record begins, outside of comments and the like."""
    for position in markup(data):
        tag = _TAG.match(data, position)
        if tag and _text(tag[1]).rpartition(":")[2].lower() in records:
            yield position


def bind(namespaces: dict[str, str], attributes: dict[str, str]) -> None:
    """Add the namespace declarations among a tag's attributes."""
    for name, value in attributes.items():
        if (match := _PREFIX.fullmatch(name)) and value:
            namespaces[match[1] or ""] = value


def read_attributes(text: str, mended: set[IssueCode]) -> dict[str, str]:
    """Read the attributes of a tag, quoted or not; of a repeated one, the first."""
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        if bare or name in attributes:
            mended.add(IssueCode.MISMATCHED_TAG)
        attributes.setdefault(name, unescape(double or single or bare, mended))
    return attributes


def _open(
    events: list[Event], ledger: Ledger, name: str, root: str, tag: re.Match[bytes]
) -> tuple[Head, int]:
    start = tag.end()
    namespaces: dict[str, str] = {}
    bind(namespaces, read_attributes(_text(tag[2]), set()))
    if root in _ROOTLESS:
        ledger.note_once(events, IssueCode.MISSING_ROOT)
        start = tag.start()
    format_, records = ROOTS[_ROOTLESS.get(root, root)]
    head = Head(
        format_, name, namespaces, records, closed=root in _ROOTLESS or tag[2].endswith(b"/")
    )
    if format_ in (Format.URLSET, Format.INDEX) and head.uri != PROTOCOL_URI:
        ledger.note_once(events, IssueCode.NAMESPACE, value=head.uri)
    return head, start


def _note_prolog(events: list[Event], ledger: Ledger, data: bytes, root: int, doctype: str) -> None:
    """Note what stands before the root; `root` is its place if another tag stands before it."""
    start = data.find(b"<")
    before = data[:start]
    if root >= 0 or before.strip() or (before and data.startswith(b"<?xml", start)):
        ledger.note_once(events, IssueCode.LEADING_BYTES, value=_text(data[: max(start, root)]))
    if doctype:
        ledger.note_once(events, IssueCode.DOCTYPE, value=doctype)


def _has_internal_subset(data: bytes, start: int) -> bool:
    """Tell whether a `[` stands in the DOCTYPE at `start`, outside of its quoted identifiers."""
    quote = b""
    for match in re.compile(rb"[\"'\[>]").finditer(data, start):
        char = match[0]
        if quote:
            quote = b"" if char == quote else quote
        elif char in (b'"', b"'"):
            quote = char
        else:
            return char == b"["
    return False


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
