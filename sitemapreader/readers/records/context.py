"""The results of reading records, and the checks that all records share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sitemapreader.issues import MAX_ISSUES_PER_DOCUMENT, IssueCode
from sitemapreader.readers.formats import RECORDS
from sitemapreader.readers.records.elements import XML_BASE, Record, join_texts, list_texts
from sitemapreader.urls import (
    PLAIN_URL,
    SCHEMES,
    find_url_error,
    has_web_scheme,
    resolve,
    url_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet
    from xml.etree.ElementTree import Element

    from sitemapreader.models import Event, SitemapEntry, UrlEntry
    from sitemapreader.readers.records.names import Names
    from sitemapreader.readers.stats import ReadStats

_RESTRUCTURED = {IssueCode.MISMATCHED_TAG, IssueCode.BARE_LESS_THAN}
"""Repairs after which markup may have been taken for text."""
_MARKUP = re.compile(r"[<>\"\s]")
_OF_RECORDS = re.compile(rf"<!\[CDATA\[|</?(?:[^\s<>]*:)?(?ai:{'|'.join(RECORDS)})[\s/>]")
"""Text that no URL contains: a section before this one was not closed."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?!\d)")  # `host:8080` has none


class RecordContext:
    """The receiver of entries and Issues from the records of a document; counts all.

    Args:
        stats: the counts of the document.
        names: resolves the names of elements.
        bases: each xml:base that holds around the record.
        keeps_deleted: whether URLs that are said to be deleted are delivered.
    """

    record: Record
    """The record that is being read."""

    def __init__(
        self, stats: ReadStats, names: Names, bases: list[str], *, keeps_deleted: bool = False
    ) -> None:
        self.events: list[Event] = []
        self.keeps_deleted = keeps_deleted
        self.stats = stats
        self.names = names
        self._bases = bases

    def take_events(self) -> list[Event]:
        """Remove and return the events so far."""
        events, self.events = self.events, []
        return events

    # -- Issues and entries

    def add_issue(
        self, code: IssueCode, at: Element, *, url: str | None = None, value: str | None = None
    ) -> None:
        """Add an Issue of an element; its line is looked for only where it is shown."""
        is_shown = self.stats.counts[code] < MAX_ISSUES_PER_DOCUMENT
        line = self.record.find_line(at) if is_shown else None
        self.stats.add_issue(self.events, code, line=line, url=url, value=value)

    def drop_record(self, code: IssueCode, value: str | None) -> None:
        """Drop the record, or the part of it that one of its locs begins."""
        is_shown = self.stats.counts[code] < MAX_ISSUES_PER_DOCUMENT
        line = self.record.find_line(self.record.element) if is_shown else None
        self.stats.drop_record(self.events, code, line=line, value=value)

    def report_repairs(self, text: str) -> None:
        """Say what was repaired in the record; `text` is its first loc."""
        for code in sorted(self.record.repairs):
            self.add_issue(code, self.record.element, url=text or None)

    def deliver(self, entry: UrlEntry | SitemapEntry) -> None:
        """Hand an entry over."""
        self.stats.deliver()
        self.events.append(entry)

    # -- URLs

    def check_loc(self, text: str, loc: Element | None = None) -> str | None:
        """Return the URL that a loc of the record gives, absolute; or drop it and say why.

        A relative one is resolved against the document's URL and any xml:base (RFC 4287, section
        2, and XML Base, section 4).
        """
        record = self.record
        if PLAIN_URL.fullmatch(text) and not (record.repairs or loc in record.errors):
            return text
        if error := _find_loc_error(text, record, loc):
            self.drop_record(error, text or join_texts(record.element))
            return None
        if not has_web_scheme(text):
            return self._resolve(text, loc)
        self._warn_of_url(text)
        return text

    def _resolve(self, text: str, loc: Element | None) -> str | None:
        base = self.stats.sitemap
        element = self.record.element
        of_elements = (one.get(XML_BASE) for one in (element, loc) if one is not None)
        for element_base in filter(None, (*self._bases, *of_elements)):
            base = resolve(base, element_base) or base
        url = resolve(base, text) or ""
        if error := find_relative_error(text, base, url):
            self.drop_record(error, text)
            return None
        self.add_issue(IssueCode.RELATIVE_LOC, element, url=url, value=text)
        self._warn_of_url(url)
        return url

    def _warn_of_url(self, url: str) -> None:
        for code in url_warnings(url):
            self.add_issue(code, self.record.element, url=url)

    # -- fields

    def is_filled(self, element: Element) -> bool:
        """Return whether a field has text, or had."""
        return bool(list_texts(element)) or element in self.record.errors

    def read_field(self, element: Element, url: str, code: IssueCode) -> str:
        """Return the text of a field; "" and an Issue if it is too long or in pieces."""
        texts = list_texts(element)
        if error := self.record.errors.get(element):
            self.add_issue(error, element, url=url)
        elif len(texts) > 1:
            self.add_issue(code, element, url=url, value=" ".join(texts))
        elif texts:
            return texts[0]
        return ""

    def read_value(
        self, element: Element | None, url: str, parse: Callable[[str], Any], code: IssueCode
    ) -> tuple[Any, str | None]:
        """Return a field's value and its text; add an Issue for an unreadable one."""
        if element is None or not (text := self.read_field(element, url, code)):
            return None, None
        value = parse(text)
        if value is None:
            self.add_issue(code, element, url=url, value=text)
        return value, text


def _find_loc_error(text: str, record: Record, loc: Element | None) -> IssueCode | None:
    """Return why a loc is not a usable URL; `None` if it is."""
    if loc is not None and loc in record.errors:
        return record.errors[loc]
    if not text:
        return IssueCode.MALFORMED if record.repairs else IssueCode.MISSING_LOC
    is_glued = "<" in text and _OF_RECORDS.search(text)
    if is_glued or (_may_hold_markup(text, record.repairs) and _MARKUP.search(text)):
        return find_url_error(text) or IssueCode.MALFORMED
    return find_url_error(text)


def _may_hold_markup(text: str, repairs: AbstractSet[IssueCode]) -> bool:
    return bool(repairs & _RESTRUCTURED) or not has_web_scheme(text)


def find_relative_error(text: str, base: str, url: str) -> IssueCode | None:
    """Return why a relative text is not a usable URL; `url` is its resolution, or ""."""
    scheme = _SCHEME.match(text)
    if scheme and f"{scheme[1].lower()}://" not in SCHEMES:
        return IssueCode.UNSUPPORTED_SCHEME
    if not has_web_scheme(base):
        return IssueCode.MISSING_BASE
    return find_url_error(url) if url else IssueCode.MALFORMED  # the fault may be the base's
