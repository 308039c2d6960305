"""What the records of a batch give, and the checks that all of them share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.readers.locs import find_url_error, url_warnings
from sitemapreader.readers.records.namespaces import OWN
from sitemapreader.urls import SCHEMES, has_web_scheme, resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sitemapreader.models import Event, SitemapEntry, UrlEntry
    from sitemapreader.readers.elements import Element
    from sitemapreader.readers.stats import ReadStats

_RESTRUCTURED = {IssueCode.MISMATCHED_TAG, IssueCode.BARE_LESS_THAN}
"""Mends after which markup may have been taken for text."""
_MARKUP = re.compile(r"[<>\"\s]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?!\d)")  # `host:8080` has none


@attrs.define
class RecordContext:
    """Takes what the records of one batch give: entries and Issues, each with its count.

    `base` is the xml:base of the document's root, if it has one.
    """

    events: list[Event]
    stats: ReadStats
    base: str = ""

    def take_events(self) -> list[Event]:
        """Take the events that are there."""
        events, self.events = self.events, []
        return events

    def report_repairs(self, record: Element, text: str) -> None:
        """Say what was repairs in a record; `text` is its first loc."""
        for code in sorted(record.repairs):
            self.note(code, record, url=text or None)

    def check_loc(self, record: Element, text: str, loc: Element | None = None) -> str | None:
        """Return the URL that a record's loc gives, absolute; or drop the record and say why.

        A relative one is resolved against the document's URL and any xml:base (RFC 4287, section
        2, and XML Base, section 4).
        """
        unusable = _unusable(text, loc, record.repairs)
        if unusable:
            self.stats.drop(
                self.events, unusable, line=record.line, value=text or record.all_text()
            )
            return None
        if not has_web_scheme(text):
            return self._resolve(record, text, loc)
        self._note_oddities(record, text)
        return text

    def _resolve(self, record: Element, text: str, loc: Element | None) -> str | None:
        base = self.stats.sitemap
        for element_base in (
            self.base,
            *(e.attributes.get("base", "") for e in (record, loc) if e),
        ):
            if element_base:
                base = resolve(base, element_base) or base
        url = resolve(base, text) or ""
        if fault := _fault_of_relative(text, base, url):
            self.stats.drop(self.events, fault, line=record.line, value=text)
            return None
        self.note(IssueCode.RELATIVE_LOC, record, url=url, value=text)
        self._note_oddities(record, url)
        return url

    def _note_oddities(self, record: Element, url: str) -> None:
        for code in url_warnings(url):
            self.note(code, record, url=url)

    def read_date(self, element: Element | None, url: str) -> tuple[datetime | None, str | None]:
        """Return a date and its text as written."""
        text = self.field_text(element, url, IssueCode.LASTMOD)
        if not text or element is None:
            return None, None
        moment = parse_lastmod(text)
        if moment is None:
            self.note(IssueCode.LASTMOD, element, url=url, value=text)
        return moment, text

    def read_value(
        self, element: Element | None, url: str, parse: Callable[[str], Any], code: IssueCode
    ) -> Any:
        """Return a field's value, or `None` and an Issue if it cannot be read."""
        text = self.field_text(element, url, code)
        if not text or element is None:
            return None
        value = parse(text)
        if value is None:
            self.note(code, element, url=url, value=text)
        return value

    def last(self, fields: list[Element], tag: str, url: str) -> Element | None:
        """Return the last field of that name that is not empty; an Issue if there are several."""
        filled = [field for field in fields if is_own(field, tag) and is_filled(field)]
        if len(filled) > 1:
            self.note(IssueCode.REPEATED_FIELD, filled[-1], url=url, value=filled[-1].name)
        return filled[-1] if filled else None

    def field_text(self, element: Element | None, url: str, code: IssueCode) -> str:
        """Return a field's text; "" and an Issue if it was too long, a template, or in pieces."""
        if element is None:
            return ""
        texts = element.texts()
        if element.fault:
            self.note(element.fault, element, url=url)
        elif len(texts) > 1:
            self.note(code, element, url=url, value=" ".join(texts))
        elif texts:
            return texts[0]
        return ""

    def note(
        self, code: IssueCode, at: Element, *, url: str | None = None, value: str | None = None
    ) -> None:
        """Add an Issue."""
        self.stats.note(self.events, code, line=at.line, url=url, value=value)

    def deliver(self, entry: UrlEntry | SitemapEntry) -> None:
        """Hand an entry over."""
        self.stats.deliver()
        self.events.append(entry)


def is_own(element: Element, tag: str) -> bool:
    """Tell whether an element is of that name, in the document's own vocabulary."""
    return element.tag == tag and element.key == OWN


def is_filled(element: Element) -> bool:
    """Tell whether an element has text, or had."""
    return element.fault is not None or bool(element.texts())


def _unusable(text: str, loc: Element | None, repairs: set[IssueCode]) -> IssueCode | None:
    """Say why a loc gives no URL, if it does not."""
    if loc is not None and loc.fault:
        return loc.fault
    if not text:
        return IssueCode.MALFORMED if repairs else IssueCode.MISSING_LOC
    if (repairs & _RESTRUCTURED or not has_web_scheme(text)) and _MARKUP.search(text):
        return find_url_error(text) or IssueCode.MALFORMED
    return find_url_error(text)


def _fault_of_relative(text: str, base: str, url: str) -> IssueCode | None:
    """Say why a text that is no absolute URL gives none; `url` is what it resolves to, or ""."""
    scheme = _SCHEME.match(text)
    if scheme and f"{scheme[1].lower()}://" not in SCHEMES:
        return IssueCode.UNSUPPORTED_SCHEME
    if not has_web_scheme(base):
        return IssueCode.MISSING_BASE
    return find_url_error(url) if url else IssueCode.MALFORMED  # the fault may be the base's
