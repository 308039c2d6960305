"""One record as a tree -> the values that it stands for, and an Issue for all that is odd in it.

This is where a record's meaning is written down, in one table (`BUILDERS`) and a function a row.
What the fast reader makes of a plain record has to be the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.models import Alternate, Extra, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.locs import fault_of, oddities_of
from sitemapreader.readers.names import ATOM, DC, OWN, XHTML
from sitemapreader.readers.vocabulary import (
    EXTENSIONS,
    Extension,
    Field,
    parse_changefreq,
    parse_priority,
)
from sitemapreader.urls import SCHEMES, has_web_scheme, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from datetime import datetime

    from sitemapreader.models import Event
    from sitemapreader.readers.elements import Element
    from sitemapreader.readers.ledger import Ledger

_RESTRUCTURED = {IssueCode.MISMATCHED_TAG, IssueCode.BARE_LESS_THAN}
"""Mends after which markup may have been taken for text."""
_MARKUP = re.compile(r"[<>\"\s]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?!\d)")
_EXTENSIONS = {(extension.key, extension.tag): extension for extension in EXTENSIONS}
_LINKS = frozenset({(XHTML, "link"), (OWN, "link"), (ATOM, "link")})


@attrs.define
class RecordReader:
    """Builds the records of one document; what it finds goes to `events` and the ledger.

    `base` is the xml:base of the document's root, if it has one.
    """

    events: list[Event]
    ledger: Ledger
    base: str = ""

    def read(self, record: Element) -> None:
        """Append the record's entries and Issues to `events`."""
        for _ in self.read_steps(record):
            pass

    def read_steps(self, record: Element) -> Iterator[None]:
        """Do what `read` does, with a pause for each entry and each field of an extension."""
        if record.fault:
            self.ledger.drop(self.events, record.fault, line=record.line, value=_begin(record))
            yield
        else:
            yield from BUILDERS[record.tag](self, record)

    def take_events(self) -> list[Event]:
        """Take the events that are there."""
        events, self.events = self.events, []
        return events

    # -- the parts that all records share

    def check_loc(self, record: Element, text: str, loc: Element | None = None) -> str | None:
        """Return the URL that a record's loc gives, absolute; or drop the record and say why.

        A relative one is resolved against the document's URL and any xml:base (RFC 4287, section
        2, and XML Base, section 4).
        """
        for code in sorted(record.mended):
            self.note(code, record, url=text or None)
        unusable = _unusable(text, loc, record.mended)
        if unusable:
            self.ledger.drop(self.events, unusable, line=record.line, value=text or _begin(record))
            return None
        if not has_web_scheme(text):
            return self._resolve(record, text, loc)
        self._note_oddities(record, text)
        return text

    def _resolve(self, record: Element, text: str, loc: Element | None) -> str | None:
        base = self.ledger.sitemap
        for element_base in (
            self.base,
            *(e.attributes.get("base", "") for e in (record, loc) if e),
        ):
            base = resolve(base, element_base) or base
        scheme = _SCHEME.match(text)
        url = None
        if scheme and f"{scheme[1].lower()}://" not in SCHEMES:
            code = IssueCode.UNSUPPORTED_SCHEME
        elif not has_web_scheme(base):
            code = IssueCode.MISSING_BASE
        else:
            code = IssueCode.MALFORMED
            url = resolve(base, text)
        if url is None:
            self.ledger.drop(self.events, code, line=record.line, value=text)
            return None
        self.note(IssueCode.RELATIVE_LOC, record, url=url, value=text)
        self._note_oddities(record, url)
        return url

    def _note_oddities(self, record: Element, url: str) -> None:
        for code in oddities_of(url):
            self.note(code, record, url=url)

    def read_date(self, element: Element | None, url: str) -> tuple[datetime | None, str | None]:
        """Return a date and its text as written."""
        text = self.field_text(element, url)
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
        text = self.field_text(element, url)
        if not text or element is None:
            return None
        value = parse(text)
        if value is None:
            self.note(code, element, url=url, value=text)
        return value

    def last(self, fields: list[Element], tag: str) -> Element | None:
        """Return the last field of that name that is not empty; an Issue if there are several."""
        filled = [field for field in fields if _is_own(field, tag) and field.texts()]
        if len(filled) > 1:
            self.note(IssueCode.REPEATED_FIELD, filled[-1], value=filled[-1].name)
        return filled[-1] if filled else None

    def field_text(self, element: Element | None, url: str) -> str:
        """Return a field's text; "" and an Issue if it was too long, or a template."""
        if element is None:
            return ""
        if element.fault:
            self.note(element.fault, element, url=url)
            return ""
        return element.text

    def note(
        self, code: IssueCode, at: Element, *, url: str | None = None, value: str | None = None
    ) -> None:
        """Add an Issue."""
        self.ledger.note(self.events, code, line=at.line, url=url, value=value)

    def deliver(self, entry: UrlEntry | SitemapEntry) -> None:
        """Hand an entry over."""
        self.ledger.deliver()
        self.events.append(entry)


def _unusable(text: str, loc: Element | None, mended: set[IssueCode]) -> IssueCode | None:
    """Say why a loc gives no URL, if it does not."""
    if loc is not None and loc.fault:
        return loc.fault
    if not text:
        return IssueCode.MALFORMED if mended else IssueCode.MISSING_LOC
    if (mended & _RESTRUCTURED or not has_web_scheme(text)) and _MARKUP.search(text):
        return fault_of(text) or IssueCode.MALFORMED
    return fault_of(text)


def _begin(record: Element) -> str:
    return record.all_text()


# -- <url> and <sitemap>


def read_url(reader: RecordReader, record: Element) -> Iterator[None]:
    """Read a `<url>`; one with several locs gives an entry each, with what follows its loc."""
    for text, loc, fields in _split_by_loc(reader, record):
        yield
        url = reader.check_loc(record, text, loc)
        if url is not None:
            reader.deliver((yield from _make_url_entry(reader, url, fields)))


def read_sitemap(reader: RecordReader, record: Element) -> Iterator[None]:
    """Read a `<sitemap>` of an index."""
    for text, loc, fields in _split_by_loc(reader, record):
        yield
        url = reader.check_loc(record, text, loc)
        if url is not None:
            lastmod, lastmod_text = reader.read_date(reader.last(fields, "lastmod"), url)
            sitemap = reader.ledger.sitemap
            reader.deliver(SitemapEntry(url, lastmod, Via.INDEX, sitemap, lastmod_text))
            for field in fields:
                if field.key != OWN or field.tag not in _PLAIN:  # a sitemap has no such fields
                    reader.note(IssueCode.EXTENSION, field, url=url, value=f"<{field.name}>")


def _split_by_loc(
    reader: RecordReader, record: Element
) -> list[tuple[str, Element | None, list[Element]]]:
    """Split a record into (loc's text, loc, the fields that belong to it).

    What stands before the first loc belongs to it too. A record without a loc may have its URL as
    its own text.
    """
    texts = {
        place: child.texts() for place, child in enumerate(record.children) if _is_own(child, "loc")
    }
    locs = [place for place, runs in texts.items() if runs] or list(texts)[:1]
    if not locs:
        runs = record.texts()
        text = runs[0] if runs and has_web_scheme(runs[0]) else ""
        if text:
            reader.note(IssueCode.MISSING_LOC, record, value=text)
        return [(text, None, record.children)]
    if len(locs) > 1:
        reader.note(IssueCode.REPEATED_LOC, record, value=str(len(locs)))
    starts = [0, *locs[1:]]
    ends = [*locs[1:], len(record.children)]
    return [
        (_only(texts[place]), record.children[place], record.children[start:end])
        for place, start, end in zip(locs, starts, ends, strict=True)
    ]


def _only(texts: list[str]) -> str:
    """Return a loc's text; of several between tags, none: joined they would be no one's URL."""
    return texts[0] if len(texts) == 1 else ""


def _make_url_entry(
    reader: RecordReader, url: str, fields: list[Element]
) -> Generator[None, None, UrlEntry]:
    lastmod, lastmod_text = reader.read_date(reader.last(fields, "lastmod"), url)
    changefreq, priority = reader.last(fields, "changefreq"), reader.last(fields, "priority")
    entry = UrlEntry(
        url,
        lastmod,
        reader.read_value(changefreq, url, parse_changefreq, IssueCode.CHANGEFREQ),
        reader.read_value(priority, url, parse_priority, IssueCode.PRIORITY),
        sitemap=reader.ledger.sitemap,
        lastmod_text=lastmod_text,
    )
    found: dict[str, list[Any]] = {}
    for field in fields:
        if field.key != OWN or field.tag not in _PLAIN:
            yield
            yield from _add_extension(reader, found, field, url)
    for slot, values in found.items():
        setattr(entry, slot, values[-1] if slot == "news" else tuple(values))
    return entry


_PLAIN = frozenset({"loc", "lastmod", "changefreq", "priority"})


def _add_extension(
    reader: RecordReader, found: dict[str, list[Any]], element: Element, url: str
) -> Iterator[None]:
    """Add what an element of a record stands for to `found`, under the name of its slot."""
    extension = _EXTENSIONS.get((element.key, element.tag))
    if extension:
        value = yield from _read_extension(reader, found, extension, element, url)
        if value is None:
            return
        if extension.slot == "news" and "news" in found:
            reader.note(IssueCode.REPEATED_FIELD, element, url=url, value=element.name)
        _add(found, extension.slot, value)
    elif (element.key, element.tag) in _LINKS and element.attributes.get("href"):
        _add_link(found, element)
    else:
        if (element.key, element.tag) == (XHTML, "link"):
            reader.note(IssueCode.EXTENSION, element, url=url, value=f"<{element.name}>")
        _add(found, "extras", *map(_make_extra, (element, *element.walk())))


def _add(found: dict[str, list[Any]], slot: str, *values: Any) -> None:
    found.setdefault(slot, []).extend(values)


def _make_extra(element: Element) -> Extra:
    return Extra(element.uri, element.name, element.text)


def _add_link(found: dict[str, list[Any]], element: Element) -> None:
    attributes = element.attributes
    if is_alternate(attributes):
        link = Alternate(attributes["href"], attributes.get("hreflang"), attributes.get("media"))
        _add(found, "alternates", link)
    else:
        _add(found, "extras", Extra(element.uri, attributes["rel"], attributes["href"]))


def _read_extension(
    reader: RecordReader,
    found: dict[str, list[Any]],
    extension: Extension,
    element: Element,
    url: str,
) -> Generator[None, None, Any | None]:
    by_tag = {field.tag: field for field in extension.fields}
    values: dict[str, Any] = {}
    for child in element.walk():
        yield
        field = by_tag.get(child.tag) if child.key in (extension.key, OWN) else None
        if field:
            _read_field(reader, values, field, child, url)
        elif child.tag not in extension.containers:
            _add(found, "extras", _make_extra(child))
    if extension.required and not values.get(extension.required):
        reader.note(IssueCode.EXTENSION, element, url=url, value=f"<{element.name}>")
        return None
    for field in extension.fields:
        if field.many and field.name in values:
            values[field.name] = tuple(values[field.name])
    return extension.make(**values)


def _read_field(
    reader: RecordReader, values: dict[str, Any], field: Field, element: Element, url: str
) -> None:
    for attribute, slot, parse in field.attributes:
        if attribute in element.attributes:
            values[slot] = parse(element.attributes[attribute])
    if field.build:
        value: Any = field.build(element) if element.text else None
    else:
        value = reader.read_value(element, url, field.parse, IssueCode.EXTENSION)
    if value is None:
        return
    if field.many:
        values.setdefault(field.name, []).append(value)
        return
    if field.name in values:
        reader.note(IssueCode.REPEATED_FIELD, element, url=url, value=element.name)
    values[field.name] = value


# -- feeds


def read_item(reader: RecordReader, record: Element) -> Iterator[None]:
    """Read an RSS item: `<link>`, else a `<guid>` that is a permalink (RSS 2.0)."""
    yield
    link = _first_filled(record, {"link"}, {OWN})
    if link is None:
        link = next((c for c in record.children if _is_own(c, "guid") and _is_permalink(c)), None)
    text = record.attributes.get("about", "") if link is None else _only(link.texts())
    url = reader.check_loc(record, text, link)
    if url is None:
        return
    date = (
        _first_filled(record, {"pubdate"}, {OWN})
        or _first_filled(record, {"date", "modified"}, {DC})
        or _first_filled(record, {"updated"}, {ATOM})
    )
    _deliver_feed_entry(reader, url, date)


def read_entry(reader: RecordReader, record: Element) -> Iterator[None]:
    """Read an Atom entry: its alternate link, text/html first (RFC 4287, section 4.2.7)."""
    yield
    links = [child for child in record.children if _is_own(child, "link")]
    chosen = choose_link([link.attributes for link in links])
    link = next((link for link in links if link.attributes is chosen), None)
    text = chosen["href"].strip() if chosen else ""
    if link is None:  # its URL as its text, as in RSS
        link = next((one for one in links if is_alternate(one.attributes) and one.texts()), None)
        text = _only(link.texts()) if link else ""
    url = reader.check_loc(record, text, link)
    if url is None:
        return
    dates = (_first_filled(record, {tag}, {OWN}) for tag in _ATOM_DATES)
    _deliver_feed_entry(reader, url, next((date for date in dates if date), None))


def choose_link(links: list[dict[str, str]]) -> dict[str, str] | None:
    """Choose the link that has the URL of an Atom entry, given the attributes of its links."""
    found = [link for link in links if is_alternate(link) and link.get("href", "").strip()]
    html = [link for link in found if link.get("type", "text/html") == "text/html"]
    return (html or found)[0] if found else None


def is_alternate(link: dict[str, str]) -> bool:
    """Tell whether a link's `rel` says "alternate", as it does where there is none."""
    return is_alternate_relation(link.get("rel", "alternate"))


def is_alternate_relation(relation: str) -> bool:
    """Tell whether a `rel` says "alternate".

    RFC 4287, section 4.2.7.2: a relation may be written as an IRI.
    """
    return "alternate" in relation.lower().removeprefix(_RELATIONS).split()


_RELATIONS = "http://www.iana.org/assignments/relation/"


_ATOM_DATES = ("updated", "modified", "published", "issued")


def _deliver_feed_entry(reader: RecordReader, url: str, date: Element | None) -> None:
    lastmod, text = reader.read_date(date, url)
    reader.deliver(UrlEntry(url, lastmod, sitemap=reader.ledger.sitemap, lastmod_text=text))


def _is_permalink(guid: Element) -> bool:
    """RSS 2.0: a guid is a URL unless isPermaLink says false; in practice it must look like one."""
    return guid.attributes.get("ispermalink", "true").lower() != "false" and has_web_scheme(
        guid.text
    )


def _is_own(element: Element, tag: str) -> bool:
    return element.tag == tag and element.key == OWN


def _first_filled(record: Element, tags: set[str], keys: set[str]) -> Element | None:
    return next((c for c in record.children if c.tag in tags and c.key in keys and c.text), None)


BUILDERS: dict[str, Callable[[RecordReader, Element], Iterator[None]]] = {
    "url": read_url,
    "sitemap": read_sitemap,
    "item": read_item,
    "entry": read_entry,
}
"""Name of a record -> what reads it."""
