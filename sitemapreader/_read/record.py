"""A record as a tree of elements, its limits, and the results of reading it."""

from __future__ import annotations

import re
from functools import reduce
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, TypeVar
from xml.etree.ElementTree import Element, ProcessingInstruction

import attrs

from sitemapreader._bytes.charset import media_type_of
from sitemapreader._read.vocabulary import FEED_TYPES, RECORDS, Names
from sitemapreader._read.xml.markup import unescape
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Event, Extra, SitemapEntry, UrlEntry
from sitemapreader._types.urls import (
    PLAIN_URL,
    find_base,
    find_url_error,
    has_web_scheme,
    read_loc,
    trim,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Generator,
        Iterable,
        Mapping,
        Set as AbstractSet,
    )

    from sitemapreader._read.stats import ReadStats

T = TypeVar("T")
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_FEED_LINK_TYPES = FEED_TYPES | {
    *("application/feed+json", "application/json"),
    *("application/xml", "text/xml"),
}
_FEED_SUFFIXES = (".xml", ".rss", ".atom", ".rdf", ".json")
_INLINE = frozenset(
    {
        *(
            "a",
            "abbr",
            "b",
            "bdi",
            "bdo",
            "cite",
            "code",
            "del",
            "em",
            "font",
            "i",
            "ins",
            "kbd",
        ),
        *(
            "mark",
            "q",
            "s",
            "small",
            "span",
            "strong",
            "sub",
            "sup",
            "tt",
            "u",
            "var",
            "wbr",
        ),
    }
)
"""Elements of HTML that stand within a line."""
_HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
NO_REPAIRS: AbstractSet[IssueCode] = frozenset()
_WORK_AT_ONCE = 500
"""Elements that are read between two pauses, in 1 to 5 ms."""
_URL_CHARS_OF_WORK = 4
"""Characters of a URL that needs a closer look which cost as much as an element: a host beyond
ASCII takes 3 us a character."""


@attrs.define
class Record:
    """One record: its element, with its descendants, and its faults."""

    element: Element
    find_line: Callable[[Element], int | None]
    """Returns the line of the document, from 1, on which an element of it begins."""
    error: IssueCode | None = None
    """The limit that it broke, for which it must be dropped."""
    repairs: AbstractSet[IssueCode] = NO_REPAIRS
    cut: IssueCode | None = None
    """Cause that has cut the record, behind its last complete field."""
    cut_text: str = ""
    """Text of the field that was cut, which may be half a URL."""


def run_through(work: Generator[None, None, T]) -> T:
    """Do some work to its end, without pauses; return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def has_name(element: Element[Any]) -> bool:
    """Return whether it is an element, not a processing instruction or a mark."""
    return isinstance(element.tag, str)


def make_instruction(_target: str, _text: str | None = None) -> Element[Any]:
    """Make the mark of a processing instruction, whose text is none of the element's."""
    return Element(ProcessingInstruction)


def has_instruction(element: Element) -> bool:
    """Return whether a processing instruction stands in it, such as `<?php ... ?>`."""
    if not len(element):
        return False
    children: Iterable[Element[Any]] = element
    return any(child.tag is ProcessingInstruction for child in children)


def list_texts(element: Element) -> list[str]:
    """Return the texts in it and below it, trimmed: one for each run between tags."""
    if not len(element):
        text = element.text
        if text and (text := text.strip()):
            return [text]
        return []
    return [text for run in element.itertext() if (text := run.strip())]


def get_text(element: Element) -> str:
    """Return its trimmed text; "" if tags split it into parts."""
    texts = list_texts(element)
    return texts[0] if len(texts) == 1 else ""


def join_texts(element: Element) -> str:
    """Return its text and all text below it, joined and trimmed."""
    if not len(element):
        return (element.text or "").strip()
    return "".join(element.itertext()).strip()


def make_extra(element: Element) -> Extra:
    """Make the value of an element that no table knows, with all that is in it."""
    uri, _, local = element.tag.rpartition("}")
    text = "".join(
        filter(None, [element.text, *(child.tail for child in element)])
    ).strip()
    children = tuple(map(make_extra, filter(has_name, element)))
    return Extra(uri[1:], local, text, dict(element.items()), children)


def is_html(media_type: str) -> bool:
    """Return whether a media type is HTML's, with or without parameters."""
    return media_type_of(media_type) in ("text/html", "html")


def is_feed_link(link: Mapping[str, str], target: str) -> bool:
    """Return whether a link leads to a feed, and not to a language version of a page."""
    if kind := media_type_of(link.get("type", "")):
        return kind in _FEED_LINK_TYPES
    path = target.partition("#")[0].partition("?")[0]
    return path.lower().endswith(_FEED_SUFFIXES)


def find_plain_text(element: Element) -> str:
    """Return the text of an element that may be HTML (RFC 4287, section 3.1.1.2)."""
    text = join_texts(element)
    if element.keys() and is_html(get_attributes(element).get("type", "")):
        text = unescape(_HTML_TAG.sub("", text), set()).strip()
    return text


def get_attributes(element: Element) -> dict[str, str]:
    """Return the attributes without a prefix, by their names in lower case."""
    return {name.lower(): value for name, value in element.items() if name[0] != "{"}


def find_excess(
    root: Iterable[Element],
    text: str,
    depth: int,
    attributes: int,
) -> IssueCode | None:
    """Return which limit elements below the root break: of levels, or of attributes.

    `text` is their markup.
    """
    has_many = text.count("=") > attributes
    level = list(root)
    while any(map(has_name, level)):
        depth -= 1
        if depth < 0:
            return IssueCode.TOO_DEEP
        if has_many and max(map(len, map(Element.keys, level))) > attributes:
            return IssueCode.TOO_MANY_ATTRIBUTES
        level = list(chain.from_iterable(compress(level, map(len, level))))
    return None


_RESTRUCTURED = {IssueCode.MISMATCHED_TAG, IssueCode.BARE_LESS_THAN}
"""Repairs after which markup may have been taken for text."""
MARKUP = re.compile(r"[<>\"\s]")
_OF_RECORDS = re.compile(
    rf"<!\[CDATA\[|</?(?:[^\s<>]*:)?(?ai:{'|'.join(RECORDS)})[\s/>]"
)
"""Text that no URL contains: a section before this one was not closed."""


class RecordContext:
    """The receiver of entries and Issues from the records of a document; counts all.

    `bases` are each xml:base that holds around the record. No longer text than `longest` is a
    field's.
    """

    record: Record
    """The record that is being read."""

    def __init__(
        self,
        stats: ReadStats,
        names: Names,
        bases: list[str],
        longest: int,
    ) -> None:
        self.events: list[Event] = []
        self._work = 0
        """Elements that were read since the last pause."""
        self.stats = stats
        self.names = names
        self._bases = bases
        self._longest = longest
        self._found_bases: list[str] = []
        self._base = stats.sitemap

    def take_events(self) -> list[Event]:
        """Remove and return the events so far, in a pause."""
        events = self.events
        self.events = []
        self._work = 0
        return events

    def is_due(self, elements: int = 1) -> bool:
        """Count elements that were read; return whether it is time for a pause.

        All that a stranger may repeat in a record is counted: so no record holds an event loop.
        """
        self._work += elements
        return self._work > _WORK_AT_ONCE

    # -- Issues and entries

    def add_issue(
        self,
        code: IssueCode,
        at: Element,
        *,
        url: str | None = None,
        value: str | None = None,
    ) -> None:
        """Add an Issue of an element; its line is looked for only where it is shown."""
        self.stats.add_issue(
            self.events, code, line=self._find_line(code, at), url=url, value=value
        )

    def add_issue_once(self, code: IssueCode, *, value: str) -> None:
        """Add an Issue of the whole document, the first time only."""
        self.stats.add_issue_once(self.events, code, value=value)

    def drop_record(self, code: IssueCode, value: str | None) -> None:
        """Drop the record, or the part of it that one of its locs begins."""
        line = self._find_line(code, self.record.element)
        self.stats.drop_record(self.events, code, line=line, value=value)

    def _find_line(self, code: IssueCode, at: Element) -> int | None:
        if self.stats.shows(code):
            return self.record.find_line(at)
        return None

    def report_repairs(self, text: str) -> None:
        """Report the repairs of the record; `text` is its first loc."""
        if self.record.repairs and (text or not self.record.cut):
            for code in sorted(self.record.repairs):
                self.add_issue(code, self.record.element, url=text or None)

    def report_cut(self) -> None:
        """Report where the record was cut, behind its entry."""
        if self.record.cut and not self.stats.counts[self.record.cut]:
            self.add_issue(self.record.cut, self.record.element)

    def deliver(self, entry: UrlEntry | SitemapEntry) -> None:
        """Hand an entry over."""
        self.stats.count_entries()
        self.events.append(entry)

    # -- URLs

    def check_loc(self, text: str, loc: Element | None = None) -> str | None:
        """Return the URL that a loc of the record gives, absolute; or drop it and say why.

        A relative one is resolved against the document's URL and any xml:base (RFC 4287, section
        2, and XML Base, section 4).
        """
        record = self.record
        error = None
        if loc is not None and len(loc):
            error = self._find_error(loc, list_texts(loc))
        if len(text) > self._longest:  # an attribute's, too
            error = IssueCode.FIELD_TOO_LONG
        if PLAIN_URL.fullmatch(text) and not (record.repairs or error):
            return text
        self._work += len(text) // _URL_CHARS_OF_WORK
        trimmed = trim(text)
        url = ""
        code = error or _find_loc_error(trimmed, record, loc)
        codes = [code] if code else []
        if not code:
            if has_web_scheme(trimmed):
                base = ""
            else:
                base = self._find_base(loc)
            url, codes = read_loc(text, base)
        if not url:
            if loc is None or not error:
                at = record.element
            else:
                at = loc
            self.drop_record(codes[0], text or record.cut_text or join_texts(at))
            return None
        for code in codes:
            value = text if code is IssueCode.RELATIVE_LOC else None
            self.add_issue(code, record.element, url=url, value=value)
        return url

    def read_url(
        self,
        text: str,
        at: Element,
        url: str,
    ) -> str | None:
        """Return the URL that a field of an entry gives, absolute; `None` if it gives no URL.

        It is checked like a loc, and its problems are reported.
        """
        if "<" in text or len(text) > self._longest:  # an attribute's, too
            return None
        if PLAIN_URL.fullmatch(text):
            return text
        self._work += len(text) // _URL_CHARS_OF_WORK
        if has_web_scheme(text):
            base = ""
        else:
            base = self._find_base(at)
        found, codes = read_loc(text, base)
        if not found:
            return None
        for code in codes:
            if code is not IssueCode.LONG_LOC:  # the protocol bounds a loc alone
                self.add_issue(code, at, url=url, value=text)
        return found

    def _find_base(self, loc: Element | None) -> str:
        of_elements = (
            one.get(XML_BASE) for one in (self.record.element, loc) if one is not None
        )
        found = [*filter(None, (*self._bases, *of_elements))]
        if found != self._found_bases:  # mostly all URLs of a document have the same
            self._found_bases = found
            self._base = reduce(find_base, found, self.stats.sitemap)
        return self._base

    # -- fields

    def is_filled(self, element: Element) -> bool:
        """Return whether a field has text, or had."""
        return bool(list_texts(element)) or has_instruction(element)

    def _find_error(self, element: Element, texts: list[str]) -> IssueCode | None:
        """Return why a field cannot be read: a template in it, or its length."""
        if has_instruction(element):
            return IssueCode.TEMPLATE
        for text in texts:
            if len(text) > self._longest:
                return IssueCode.FIELD_TOO_LONG
        return None

    def read_markup(self, element: Element, url: str) -> str | None:
        """Return the text of a field without the markup in it; `None`, with an Issue, if too long.

        Blanks stand for the ends of lines and paragraphs.
        """
        text = " ".join(_join_runs(self.names, element).split())
        if error := self._find_error(element, [text]):
            self.add_issue(error, element, url=url)
            return None
        return text or None

    def read_value(
        self,
        element: Element,
        url: str,
        parse: Callable[[str], Any],
        code: IssueCode,
    ) -> tuple[Any, str | None]:
        """Return a field's value and its text; an Issue if that is too long or unreadable."""
        return self.read_texts(element, list_texts(element), url, parse, code)

    def read_texts(
        self,
        element: Element,
        texts: list[str],
        url: str,
        parse: Callable[[str], Any],
        code: IssueCode,
    ) -> tuple[Any, str | None]:
        """Return the value and the text of a field that has these texts; see `read_value`."""
        if error := self._find_error(element, texts):
            self.add_issue(error, element, url=url)
            return None, None
        text = texts[0] if len(texts) == 1 else None
        value = parse(text) if text else None
        if texts and value is None:
            self.add_issue(code, element, url=url, value=" ".join(texts))
        return value, text


def _join_runs(names: Names, element: Element) -> str:
    """Return all text in an element, with blanks at the borders of lines and paragraphs."""
    runs = [element.text or ""]
    for child in element:
        if not has_name(child) or names[child.tag].tag in _INLINE:
            border = ""
        else:
            border = " "
        if has_name(child):
            inside = _join_runs(names, child)
        else:
            inside = ""
        runs += [border, inside, border, child.tail or ""]
    return "".join(runs)


def _find_loc_error(text: str, record: Record, loc: Element | None) -> IssueCode | None:
    """Return the error of a loc as a part of its record; its text is "" if it is in pieces."""
    if not text:
        if record.repairs or (loc is not None and list_texts(loc)):
            lost = IssueCode.MALFORMED
        else:
            lost = IssueCode.MISSING_LOC
        return record.cut or lost
    is_glued = "<" in text and _OF_RECORDS.search(text)
    may_hold_markup = bool(record.repairs & _RESTRUCTURED) or not has_web_scheme(text)
    if is_glued or (may_hold_markup and MARKUP.search(text)):
        return find_url_error(text) or IssueCode.MALFORMED
    return None
