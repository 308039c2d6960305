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
from sitemapreader.readers.records.namespaces import PROTOCOL_URI
from sitemapreader.readers.roots import ROOTLESS, ROOTS
from sitemapreader.readers.xml.boundaries import CLOSINGS
from sitemapreader.readers.xml.lenient.attributes import (
    MAX_NAMESPACE_CHARS,
    MAX_NAMESPACES,
    bind,
    find_unbound,
    read_attributes,
)

if TYPE_CHECKING:
    from sitemapreader.models import Event, Format
    from sitemapreader.readers.stats import ReadStats

MAX_PROLOG_BYTES = 262_144
"""A licence as a comment, a dozen namespaces: no real head has a tenth of it."""

_HTML = frozenset({"html", "head", "body", "title", "meta", "script"})

# No attribute's value has a `<`: so no attempt to match goes further than to the next one
_TAG = re.compile(rb"""<([A-Za-z_][^\s<>/]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""")
_DOCTYPE = re.compile(
    rb"""<!doctype(?:\s++([^\s<>\["']*+))?(?:[^"'\[>]++|"[^"]*+"|'[^']*+')*+([\[>])?""",
    re.IGNORECASE,
)
_DECLARATION = re.compile(rb"<\?xml\s[^<>]*+(?:>|(?=<))")
"""The XML declaration: up to its end or, if that is not there, the next tag."""
_MARKUP = re.compile(rb"<(?:(!--|\?|!\[CDATA\[)|(!(?i:doctype)\b)|[A-Za-z_])")


@attrs.define
class Prolog:
    """What the head of a document says.

    Attributes:
        format: told by the root element.
        root: the root's name as written, with its prefix.
        namespaces: prefix ("" for the default) -> URI.
        records: local names of the format's records, in lower case.
        closed: an end tag of a root was met, which closes nested roots too; or there is no root.
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

    def copy(self) -> Prolog:
        """Return what is known now, for it may have to be restored."""
        return attrs.evolve(self, namespaces=self.namespaces.copy(), own_uris=self.own_uris.copy())

    def restore(self, before: Prolog) -> None:
        """Forget what was learnt of a batch since."""
        self.namespaces, self.own_uris = before.namespaces, before.own_uris
        self.records, self.closed = before.records, before.closed

    def bind_namespaces(self, bound: dict[str, str]) -> None:
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


class PrologReader:
    """Looks for the root element in a document's first bytes, in UTF-8, which come in pieces.

    `data` is all of them. What has been passed is not looked at again; what is still open is, once
    a block, and 256 KiB are the most.
    """

    def __init__(self, stats: ReadStats) -> None:
        self.data = b""
        self._stats = stats
        self._position = 0
        self._first = ""
        self._junk_end = 0
        """Where text ends that stands before the root, outside of comments and the like."""
        self._doctype = ""
        self._has_open_doctype = False

    def feed(self, events: list[Event], data: bytes, *, final: bool) -> tuple[Prolog, int] | None:
        """Return the head and where in `data` the root's content begins.

        `None` if more data is needed, which with `final`, or past 256 KiB, it never is. Raises
        NotXmlError.
        """
        self.data += data
        final = final or len(self.data) > MAX_PROLOG_BYTES
        while markup := _MARKUP.search(self.data, self._position):
            if not self._has_open_doctype and self.data[self._position : markup.start()].strip():
                self._junk_end = markup.start()
            if markup[1]:
                end = self._section_end(events, markup)
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

    def _section_end(self, events: list[Event], section: re.Match[bytes]) -> int:
        if declaration := _DECLARATION.match(self.data, section.start()):
            if not declaration[0].endswith(b"?>"):
                self._stats.note_once(events, IssueCode.NOT_WELL_FORMED)
            return declaration.end()
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

    def _read_tag(self, events: list[Event], tag: re.Match[bytes]) -> tuple[Prolog, int] | None:
        name = _text(tag[1])
        root = name.rpartition(":")[2].lower()
        if root in ROOTS or (root in ROOTLESS and not self._first):
            self._note_prolog(events, tag.start() if self._first else self._junk_end)
            return self._open(events, name, root, tag)
        self._first = self._first or root
        if self._first in _HTML or self._doctype == "html":
            raise NotXmlError(IssueCode.HTML_NOT_SITEMAP, f"<{name}>")
        return None

    def _open(
        self, events: list[Event], name: str, root: str, tag: re.Match[bytes]
    ) -> tuple[Prolog, int]:
        start = tag.end()
        bound: dict[str, str] = {}
        attributes = read_attributes(_text(tag[2]), set(), MAX_NAMESPACES)
        if len(attributes) > MAX_NAMESPACES:
            self._stats.note_once(events, IssueCode.TOO_MANY_ATTRIBUTES, value=f"<{name}>")
        bind(bound, attributes)
        if unbound := find_unbound(attributes, bound):
            self._stats.note_once(events, IssueCode.UNBOUND_PREFIX, value=unbound)
        if root in ROOTLESS:
            self._stats.note_once(events, IssueCode.MISSING_ROOT)
            start = tag.start()
        format_, records = ROOTS[ROOTLESS.get(root, root)]
        closed = root in ROOTLESS or tag[2].endswith(b"/")
        base = attributes.get("xml:base", "")
        head = Prolog(format_, name, {}, records, closed, base)
        head.bind_namespaces(bound)
        if format_.is_protocol and head.uri != PROTOCOL_URI:
            self._stats.note_once(events, IssueCode.NAMESPACE, value=head.uri)
        return head, start

    def _note_prolog(self, events: list[Event], end: int) -> None:
        """Note what stands before the root; `end` is where the last of it ends that should not."""
        start = self.data.find(b"<")
        if not end and self.data.startswith(b"<?xml", start):  # which has to be the very first
            end = start
        if end:
            value = _text(self.data[:end])
            self._stats.note_once(events, IssueCode.LEADING_BYTES, value=value)
        if self._doctype:
            self._stats.note_once(events, IssueCode.DOCTYPE, value=self._doctype)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
