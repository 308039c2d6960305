"""The head of an XML document: all up to its root element's start tag.

It is read here, not by expat: no parser ever sees a DOCTYPE, so nothing that a DTD could declare
can be expanded. What the readers of the records need from it is the root element's name and the
namespaces that are bound there.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format
from sitemapreader.readers.entities import unescape
from sitemapreader.readers.names import PROTOCOL_URI
from sitemapreader.readers.scan import CLOSINGS

if TYPE_CHECKING:
    from sitemapreader.models import Event
    from sitemapreader.readers.ledger import Ledger

MAX_HEAD_BYTES = 262_144
"""A licence as a comment, a dozen namespaces: no real head has a tenth of it."""
MAX_NAMESPACES = 256
"""Prefixes that are bound outside of records; every batch is parsed with all of them."""
MAX_NAMESPACE_CHARS = 1_024

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
RECORD_OF = {Format.URLSET: "url", Format.INDEX: "sitemap"}
"""The record that a format of the protocol is made of."""
_ROOTLESS = {"url": "urlset", "sitemap": "sitemapindex"}
"""A record that stands where the root should -> the root that is missing."""
_HTML = frozenset({"html", "head", "body", "title", "meta", "script"})

# No attribute's value has a `<`: so no attempt to match goes further than to the next one
_TAG = re.compile(rb"""<([A-Za-z_][^\s<>/]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""")
_DOCTYPE = re.compile(
    rb"""<!doctype(?:\s++([^\s<>\["']*+))?(?:[^"'\[>]++|"[^"]*+"|'[^']*+')*+([\[>])?""",
    re.IGNORECASE,
)
_MARKUP = re.compile(rb"<(?:(!--|\?|!\[CDATA\[)|(!(?i:doctype)\b)|[A-Za-z_])")
_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
)
_NORMAL_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
"""XML 1.0, section 3.3.3: how blanks in an attribute's value are read."""
_PREFIX = re.compile(r"xmlns(?::([A-Za-z_][\w.-]*+))?")


@attrs.define
class Head:
    """What the head of a document says.

    Attributes:
        format: told by the root element.
        root: the root's name as written, with its prefix.
        namespaces: prefix ("" for the default) -> URI.
        records: local names of the format's records, in lower case.
        closed: the end tag of a root was met, or there is no root: one may close several.
        base: the root's xml:base, as written.
    """

    format: Format
    root: str
    namespaces: dict[str, str]
    records: frozenset[str]
    closed: bool = False
    base: str = ""
    own_uris: set[str] = attrs.field(factory=set)
    """Namespace URIs of the roots inside the root."""

    def open_root(self, uri: str, records: frozenset[str]) -> None:
        """Take note of a root inside of the root, or behind it."""
        self.closed = False
        self.records = records
        if len(self.own_uris) < MAX_NAMESPACES:
            self.own_uris.add(uri[: MAX_NAMESPACE_CHARS + 1])

    @property
    def uri(self) -> str:
        """Namespace URI of the root element, or ""."""
        return self.namespaces.get(self.root.rpartition(":")[0], "")

    @property
    def has_one_vocabulary(self) -> bool:
        """Whether no root inside the root has brought a namespace of its own."""
        return self.own_uris <= {"", self.uri}

    def copy(self) -> Head:
        """Return what is known now, for it may have to be restored."""
        return attrs.evolve(self, namespaces=self.namespaces.copy(), own_uris=self.own_uris.copy())

    def restore(self, before: Head) -> None:
        """Forget what was learnt of a batch since."""
        self.namespaces, self.own_uris = before.namespaces, before.own_uris
        self.records, self.closed = before.records, before.closed

    def adopt(self, bound: dict[str, str]) -> None:
        """Bind what an element outside of the records binds, for all that follows.

        It may be a root inside the root, or the channel of an RSS feed.
        """
        for prefix, uri in bound.items():
            is_short = len(prefix) + len(uri) <= MAX_NAMESPACE_CHARS
            if uri and is_short and len(self.namespaces) < MAX_NAMESPACES:
                self.namespaces.setdefault(prefix, uri)


class NotXmlError(Exception):
    """The document is none of the XML formats, or is refused; `code` says which."""

    def __init__(self, code: IssueCode, value: str) -> None:
        self.code = code
        self.value = value
        super().__init__(code, value)


class HeadReader:
    """Looks for the root element in a document's first bytes, in UTF-8, which come in pieces.

    `data` is all of them. Each is looked at once, for they may be made to look at.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.data = b""
        self._ledger = ledger
        self._position = 0
        self._first = ""
        self._junk_end = 0
        """Where text ends that stands before the root, outside of comments and the like."""
        self._doctype = ""
        self._has_open_doctype = False

    def feed(self, events: list[Event], data: bytes, *, final: bool) -> tuple[Head, int] | None:
        """Return the head and where in `data` the root's content begins.

        `None` if more data is needed, which with `final`, or past 256 KiB, it never is. Raises
        NotXmlError.
        """
        self.data += data
        final = final or len(self.data) > MAX_HEAD_BYTES
        while markup := _MARKUP.search(self.data, self._position):
            if not self._has_open_doctype and self.data[self._position : markup.start()].strip():
                self._junk_end = markup.start()
            if markup[1]:
                end = self._section_end(markup)
            elif markup[2]:
                end = self._doctype_end(markup.start(), final=final)
            else:
                tag = _TAG.match(self.data, markup.start())
                if tag and (found := self._read_tag(events, tag)):
                    return found
                end = tag.end() if tag else self._past(markup.start(), final=final)
            if end < 0:
                break
            self._position = end
        if final:
            code = IssueCode.NOT_A_SITEMAP
            if self._doctype == "html":
                code = IssueCode.HTML_NOT_SITEMAP
            raise NotXmlError(code, f"<{self._first}>" if self._first else _text(self.data[:80]))
        return None

    # -- where what is passed over ends; -1 if that is not known yet

    def _section_end(self, section: re.Match[bytes]) -> int:
        closing = CLOSINGS[section[0]]
        end = self.data.find(closing, section.end())
        return end + len(closing) if end >= 0 else -1

    def _doctype_end(self, start: int, *, final: bool) -> int:
        if self._has_open_doctype:
            return start + 1
        doctype = _DOCTYPE.match(self.data, start)
        if doctype is None or not (doctype[2] or final):
            return -1
        self._doctype = _text(doctype[1] or b"").lower()
        if doctype[2] == b"[":
            raise NotXmlError(IssueCode.DTD_REFUSED, _text(self.data[start : start + 80]))
        self._has_open_doctype = doctype[2] is None
        return start + 1 if self._has_open_doctype else doctype.end()

    def _past(self, start: int, *, final: bool) -> int:
        """Pass over a `<` that begins no tag, or one of which the end has not come yet."""
        is_last = self.data.find(b"<", start + 1) < 0
        return -1 if is_last and not final else start + 1

    # -- the root

    def _read_tag(self, events: list[Event], tag: re.Match[bytes]) -> tuple[Head, int] | None:
        name = _text(tag[1])
        root = name.rpartition(":")[2].lower()
        if root in ROOTS or (root in _ROOTLESS and not self._first):
            self._note_prolog(events, tag.start() if self._first else self._junk_end)
            return self._open(events, name, root, tag)
        self._first = self._first or root
        if self._first in _HTML or self._doctype == "html":
            raise NotXmlError(IssueCode.HTML_NOT_SITEMAP, f"<{name}>")
        return None

    def _open(
        self, events: list[Event], name: str, root: str, tag: re.Match[bytes]
    ) -> tuple[Head, int]:
        start = tag.end()
        namespaces: dict[str, str] = {}
        attributes = read_attributes(_text(tag[2]), set(), MAX_NAMESPACES)
        if len(attributes) > MAX_NAMESPACES:
            self._ledger.note_once(events, IssueCode.TOO_MANY_ATTRIBUTES, value=f"<{name}>")
        bind(namespaces, attributes)
        if root in _ROOTLESS:
            self._ledger.note_once(events, IssueCode.MISSING_ROOT)
            start = tag.start()
        format_, records = ROOTS[_ROOTLESS.get(root, root)]
        closed = root in _ROOTLESS or tag[2].endswith(b"/")
        base = attributes.get("xml:base", "")
        head = Head(format_, name, namespaces, records, closed, base)
        if format_.is_protocol and head.uri != PROTOCOL_URI:
            self._ledger.note_once(events, IssueCode.NAMESPACE, value=head.uri)
        return head, start

    def _note_prolog(self, events: list[Event], end: int) -> None:
        """Note what stands before the root; `end` is where the last of it ends that should not."""
        start = self.data.find(b"<")
        if not end and self.data.startswith(b"<?xml", start):  # which has to be the very first
            end = start
        if end:
            value = _text(self.data[:end])
            self._ledger.note_once(events, IssueCode.LEADING_BYTES, value=value)
        if self._doctype:
            self._ledger.note_once(events, IssueCode.DOCTYPE, value=self._doctype)


def bind(namespaces: dict[str, str], attributes: dict[str, str]) -> None:
    """Add the namespace declarations among a tag's attributes."""
    for name, value in attributes.items():
        if (match := _PREFIX.fullmatch(name)) and 0 < len(value) <= MAX_NAMESPACE_CHARS:
            namespaces[match[1] or ""] = value


def read_attributes(text: str, mended: set[IssueCode], limit: int) -> dict[str, str]:
    """Read the attributes of a tag, quoted or not; of a repeated one, the first.

    No more than one past the limit: that tells that it is broken, and more is not needed.
    """
    attributes: dict[str, str] = {}
    for match in islice(_ATTRIBUTE.finditer(text), limit + 1):
        name, double, single, bare = match.groups("")
        if bare or name in attributes:
            mended.add(IssueCode.MISMATCHED_TAG)
        value = double or single or bare
        attributes.setdefault(name, unescape(value.translate(_NORMAL_BLANKS), mended))
    return attributes


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
