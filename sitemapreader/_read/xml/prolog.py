"""The prolog of an XML document: all up to its root element's start tag.

No parser ever sees a DOCTYPE, so nothing that a DTD declares can be expanded. The readers of
records need the root element's name, and the namespaces that it binds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import attrs

from sitemapreader._bytes.lines import read_line_ends
from sitemapreader._read.entries import find_page_relations
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.vocabulary import (
    ATOM,
    HISTORY,
    MAX_NAMESPACE_CHARS,
    MAX_NAMESPACES,
    MAX_NAMESPACES_CHARS,
    NAMESPACES,
    OWN,
    PROTOCOL_URI,
    RECORD_OF,
    RESOURCESYNC,
    ROOTLESS,
    ROOTS,
    USUAL_PREFIXES,
    XHTML,
    Name,
    Names,
    is_odd_namespace,
    namespace_key,
)
from sitemapreader._read.xml.markup import (
    ATTRIBUTES,
    HIDDEN,
    SECTION_END,
    SECTION_START,
    expand_name,
    find_namespaces,
    is_well_formed,
    parse_attributes,
    replace_bad_bytes,
)
from sitemapreader._types.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from sitemapreader._types.models import Event, Format

PROLOG_BYTES = 32_768
"""The first block, in which the root must begin: no real prolog, licence and all, has a tenth."""
_MAX_WRAPPERS = 16
"""Elements around the records whose end is waited for; no feed has more than two.

Each relative URL is resolved against the bases of all."""

_HTML = frozenset({"html", "head", "body", "title", "meta", "script"})

# A declaration ends at its `>` or, if that is not there, at the next tag. No attribute's value has
# a `<`: so no attempt to match goes further than to the next one.
_PROLOG_TOKEN = re.compile(
    rf"""<([^\W\d][^\s<>/]*+)({ATTRIBUTES})>"""
    r"""|(?P<passed><\?xml\s[^<>]*+(?:>|(?=<))|<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>)"""
    r"""|(?P<doctype><!(?i:doctype)\b(?:\s++([^\s<>\["']*+))?"""
    r"""(?>(?:[^"'\[<>]++|"[^"<]*+"?|'[^'<]*+'?)*)(\[|>|(?=<)))"""
    r"""|(?P<begun><(?:!--|\?|!\[CDATA\[|!(?i:doctype)\b))|<(?=[^\W\d])""",
    re.DOTALL,
)
_MAX_CACHED_CHARS = 2_000
_SAMPLE_CHARS = 80
_COMMON = re.compile(
    r"\s{0,99}+(?>(?:<[?!][^<>]{0,1500}+>\s*+){0,9})<[a-z][^<>]{2,900}+>"
)
"""Pattern of the prolog of most documents."""
_SAYS_NOTHING = re.compile(
    r">(?<=[?-]>)[ \t\r\n]*+<"
    r"(?:\?xml-stylesheet [ -;=?@-~]*?\?|!--(?>(?:[ -,.-~\t\r\n]++|-(?!-))*)--)(?=>)"
)
"""A stylesheet or a comment. Each site has its own; without them the heads of many are the same."""


@attrs.define(eq=False)
class Prolog:
    """The surroundings of records: the root's start tag, and the open wrappers."""

    format: Format
    root: str
    """The root's name as written, with its prefix."""
    records: frozenset[str]
    """Local names of the format's records, in lower case."""
    is_window: bool
    """True if the document may leave out what it has listed before, as feeds do."""
    namespaces: dict[str, str] = attrs.field(factory=dict)
    """Prefix ("" for the default) -> URI, as bound here; a new dict at each change."""
    uri: str = ""
    names: Names = attrs.field(init=False)
    """Meanings of names: names in the root's namespace, and names without one, are its own."""
    bases: list[str] = attrs.field(factory=list)
    """The xml:base of the root and of the open elements in it, as written."""
    closed: bool = False
    """An end tag of a root was met, which closes nested roots too; or there is no root."""
    has_nested_root: bool = False
    pages: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """Relation -> the bases of a feed's link to its next page, and where it leads."""
    _wrappers: list[tuple[str, dict[str, str], int]] = attrs.field(factory=list)
    """Elements that are open around the records; the namespaces, and how many bases, before."""

    @names.default
    def _make_names(self) -> Names:
        return Names(frozenset({self.uri, ""}), self.format)

    def copy(self) -> Prolog:
        """Return the prolog of another document that begins so."""
        return Prolog(
            self.format,
            self.root,
            self.records,
            self.is_window,
            self.namespaces,
            self.uri,
            [*self.bases],
            self.closed,
        )

    @property
    def wrappers(self) -> list[str]:
        """The names of the elements that are open between the root and the records."""
        return [name for name, *_ in self._wrappers]

    def note_element(self, name: Name, attributes: dict[str, str]) -> None:
        """Note the facts of the whole document in an element outside of all records."""
        if (name.key, name.tag) == (HISTORY, "complete"):
            self.is_window = False
        elif (name.key, name.tag) == (RESOURCESYNC, "md"):
            self.is_window |= attributes.get("capability", "").strip() == "changelist"
        elif name.tag == "link" and name.key in (OWN, ATOM) and self.format.is_feed:
            for relation in find_page_relations(attributes):
                base = attributes.get("xml:base", "")
                href = attributes["href"].strip()
                self.pages.setdefault(relation, (*self.bases, base, href))

    def open_around(
        self,
        written: str,
        name: Name,
        attributes: dict[str, str],
        bound: dict[str, str],
        *,
        is_empty: bool,
    ) -> None:
        """Open an element outside of all records: a channel, say, or a root in the root."""
        self.note_element(name, attributes)
        if name.tag in ROOTS:
            self.closed = is_empty
            self.has_nested_root = True
            self.records |= ROOTS[name.tag][1]
        if is_empty:
            return
        if len(self._wrappers) < _MAX_WRAPPERS:
            self._wrappers.append((written, self.namespaces, len(self.bases)))
            if base := attributes.get("xml:base"):
                self.bases.append(base)
        if bound:
            self.bind_namespaces(bound)

    def close_wrapper(self, name: str) -> None:
        """Close a wrapper with everything in it, and forget the prefixes it has bound."""
        if any(name == open_name for open_name, *_ in self._wrappers):
            while self._wrappers:
                open_name, self.namespaces, bases = self._wrappers.pop()
                del self.bases[bases:]
                if open_name == name:
                    return

    def bind_namespaces(self, bound: dict[str, str]) -> None:
        """Bind prefixes for all that follows."""
        namespaces = self.namespaces.copy()
        room = MAX_NAMESPACES_CHARS - sum(
            len(each) for both in namespaces.items() for each in both
        )
        for prefix, uri in bound.items():
            size = len(prefix) + len(uri)
            is_short = size <= min(room, MAX_NAMESPACE_CHARS)
            if is_short and (prefix in namespaces or len(namespaces) < MAX_NAMESPACES):
                namespaces[prefix] = uri
                room -= size
        if namespaces != self.namespaces:
            self.namespaces = namespaces

    def is_foreign_record(self, name: Name, repairs: AbstractSet[IssueCode]) -> bool:
        """Return whether it is a record in an unknown namespace, or in XHTML's.

        XHTML has no such element: a page that was cut off stands around the record. By an
        undeclared prefix, the records of feeds may be meant too.
        """
        if name.own or name.tag not in self.records:
            return False
        is_expected = (
            name.tag == RECORD_OF.get(self.format)
            or IssueCode.UNBOUND_PREFIX in repairs
        )
        return name.key == XHTML or (
            name.key not in NAMESPACES.values() and is_expected
        )


_TAG_AROUND = re.compile(rf"{HIDDEN}|<(/?)([^\W\d][\w.:\xb7-]*+)({ATTRIBUTES})>")
_LONGEST_AROUND = 8_192
"""Characters around records that are read at once; in 4 ms, if all are tags."""


def read_around(prolog: Prolog, text: str, most_attributes: int) -> bool:
    """Read the well-formed elements around the records of a feed; return whether that was possible.

    It gives what the mender gives, which also knows roots in roots, and sections that are not
    closed where they seem to be.
    """
    if prolog.closed or not prolog.format.is_feed or len(text) > _LONGEST_AROUND:
        return False
    _, *sections = text.split(SECTION_START)
    contents = [section.partition(SECTION_END)[0] for section in sections]
    tags = [tag for tag in _TAG_AROUND.findall(text) if tag[1]]
    found = {name.rpartition(":")[2].lower() for _, name, _ in tags}
    if "<" in "".join(contents) or not found.isdisjoint((*ROOTS, *prolog.records)):
        return False
    for end, written, raw in tags:
        if end:
            prolog.close_wrapper(written)
            continue
        attributes = parse_attributes(raw, set(), most_attributes) if "=" in raw else {}
        bound = find_namespaces(attributes)
        prefix, _, local = written.rpartition(":")
        uri = {**prolog.namespaces, **bound}.get(prefix, prefix)
        name = prolog.names[expand_name(uri, local)]
        is_empty = raw.endswith("/")
        prolog.open_around(written, name, attributes, bound, is_empty=is_empty)
    return True


class NotXmlError(Exception):
    """A document in no XML format, or refused: the code of why, and a value."""


def read_prolog(
    events: list[Event],
    stats: ReadStats,
    first: bytes,
) -> tuple[Prolog, int]:
    """Return the prolog that a first block holds, and where the content begins.

    Bytes that are not UTF-8, and ends of lines, count as one character each. Raises NotXmlError.
    """
    data = first[:PROLOG_BYTES].decode("utf-8", "surrogateescape")
    if found := read_common_prolog(data):
        prolog, end = found
        prolog = prolog.copy()
    else:
        prolog, end = _read_any(events, stats, data)
    return prolog, end - data[:end].count("\r\n")


def _read_any(
    events: list[Event],
    stats: ReadStats,
    data: str,
) -> tuple[Prolog, int]:
    """Return the prolog of a document that may begin with anything."""
    position = junk_end = (
        0  # where text ends that stands before the root, outside of comments
    )
    first_tag = ""
    passed = ""
    doctype = None
    while (token := _PROLOG_TOKEN.search(data, position)) and not token["begun"]:
        if data[position : token.start()].strip(" \t\r\n"):  # XML's blanks alone
            junk_end = token.start()
        position = token.end()
        if token["doctype"]:
            if token[6] == "[":  # it declares more than its name
                value = replace_bad_bytes(data[token.start() :][:_SAMPLE_CHARS])
                raise NotXmlError(IssueCode.DTD_REFUSED, value)
            doctype = (token[5] or "").lower()
            passed += "" if doctype else "<"  # not well-formed without a name
        elif token["passed"]:
            passed += "" if first_tag else token[0]
        elif name := replace_bad_bytes(token[1] or ""):
            root = name.rpartition(":")[2].lower()
            if root in ROOTS or (root in ROOTLESS and not first_tag):
                _note_head(
                    events,
                    stats,
                    data,
                    token.start() if first_tag else junk_end,
                    doctype,
                )
                return _open(events, stats, passed, name, root, token)
            first_tag = first_tag or root
            if first_tag in _HTML or doctype == "html":
                raise NotXmlError(IssueCode.HTML_NOT_SITEMAP, f"<{name}>")
    if doctype == "html":
        code = IssueCode.HTML_NOT_SITEMAP
    else:
        code = IssueCode.NOT_A_SITEMAP
    sample = replace_bad_bytes(data[:_SAMPLE_CHARS])
    raise NotXmlError(code, f"<{first_tag}>" if first_tag else sample)


def read_common_prolog(text: str) -> tuple[Prolog, int] | None:
    """Return the result of `read_prolog` if the prolog is common and well-formed.

    The prolog is that of all documents that begin so, and must not be changed.
    """
    if not (head := _COMMON.match(text, 0, _MAX_CACHED_CHARS)):
        return None
    prolog = _read_common_head(
        _SAYS_NOTHING.sub("", head[0]) if head[0].count("<") > 2 else head[0]
    )
    return (prolog, head.end()) if prolog else None


@lru_cache(maxsize=64)
def _read_common_head(head: str) -> Prolog | None:
    issues: list[Event] = []
    is_other = "encoding" in re.sub("""encoding=["']utf-8["']""", "", head.lower())
    try:
        prolog, end = _read_any(issues, ReadStats(), head)
    except NotXmlError:
        return None
    if end == len(head) and not (issues or is_other):
        return prolog
    return None


def _note_head(
    events: list[Event],
    stats: ReadStats,
    data: str,
    end: int,
    doctype: str | None,
) -> None:
    """Report unexpected text before the root, up to `end`."""
    start = data.find("<")
    if not end and data.startswith(("<?xml ", "<?xml\n"), start):  # at the very first
        end = start
    if end:
        stats.add_issue_once(
            events, IssueCode.LEADING_BYTES, value=replace_bad_bytes(data[:end])
        )
    if doctype is not None:
        stats.add_issue_once(events, IssueCode.DOCTYPE, value=doctype)


def _open(
    events: list[Event],
    stats: ReadStats,
    passed: str,
    name: str,
    root: str,
    tag: re.Match[str],
) -> tuple[Prolog, int]:
    """Return the declarations of a root's start tag; report its faults.

    `passed` is the markup before it.
    """
    written = read_line_ends(replace_bad_bytes(tag[2]))
    attributes = parse_attributes(written, set(), MAX_NAMESPACES)
    is_rootless = root in ROOTLESS
    is_empty = tag[2].endswith("/")
    document = passed + (
        "<r/>" if is_rootless else tag[0] + f"</{tag[1]}>" * (not is_empty)
    )
    # Namespaces in XML, section 4: a name has one colon at most. Prefixes are not checked here,
    # because a missing declaration has an Issue of its own.
    if any(each.count(":") > 1 for each in attributes) or not is_well_formed(
        document, in_namespaces=False
    ):
        stats.add_issue_once(events, IssueCode.NOT_WELL_FORMED)
    if len(attributes) > MAX_NAMESPACES:
        stats.add_issue_once(events, IssueCode.TOO_MANY_ATTRIBUTES, value=f"<{name}>")
    bound = find_namespaces(attributes)
    known = {"xml", "xmlns", *bound}
    prefixed = (each for each in attributes if ":" in each)
    if unbound := [each for each in prefixed if each.partition(":")[0] not in known]:
        stats.add_issue_once(events, IssueCode.UNBOUND_PREFIX, value=unbound[0])
    if is_rootless:
        stats.add_issue_once(events, IssueCode.MISSING_ROOT)
    format_, records = ROOTS[ROOTLESS.get(root, root)]
    if attributes.get("xml:base"):
        bases = [attributes["xml:base"]]
    else:
        bases = []
    closed = is_rootless or is_empty
    prolog = Prolog(format_, name, records, format_.is_feed, bases=bases, closed=closed)
    prolog.bind_namespaces(bound)
    prefix = name.rpartition(":")[0]
    uri = prolog.namespaces.get(prefix, USUAL_PREFIXES.get(prefix, prefix))
    if format_.is_protocol and uri != PROTOCOL_URI:
        stats.add_issue_once(events, IssueCode.NAMESPACE, value=uri)
    for each in bound.values():
        if format_.is_protocol and is_odd_namespace(each, namespace_key(each, format_)):
            stats.add_issue(events, IssueCode.NAMESPACE, value=each)
    return attrs.evolve(prolog, uri=uri), tag.start() if is_rootless else tag.end()
