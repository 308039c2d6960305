"""The records of urlsets and sitemap indexes: `<url>` and `<sitemap>`.

This module defines the meaning of a record that the tree or the lenient parser has read. The
pattern must give the same for common records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.models import SitemapEntry, UrlEntry, Via
from sitemapreader.readers.records.elements import get_text, join_texts, list_texts
from sitemapreader.readers.records.extensions import add_extension
from sitemapreader.readers.records.feeds import read_entry, read_item
from sitemapreader.readers.records.fields import PROTOCOL_FIELDS, parse_changefreq, parse_priority
from sitemapreader.readers.records.names import NO_NAME, Name
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias
    from xml.etree.ElementTree import Element

    from sitemapreader.readers.records.context import RecordContext
    from sitemapreader.readers.records.elements import Record

    Fields: TypeAlias = list[tuple[Name, Element]]
    Part: TypeAlias = tuple[str, Element | None, Fields]


def read_record(context: RecordContext, record: Record) -> None:
    """Add the record's entries and Issues."""
    context.record = record
    if record.error:
        context.drop_record(record.error, join_texts(record.element))
    else:
        _READERS[context.names[record.element.tag].tag](context, record.element)


def _read_protocol_record(context: RecordContext, element: Element) -> None:
    """Read a `<url>` or `<sitemap>`; each of several locs gives an entry of its own."""
    is_url = context.names[element.tag].tag == "url"
    parts = _split_by_loc(context, element)
    context.report_repairs(parts[0][0])
    for text, loc, fields in parts:
        url = context.check_loc(text, loc)
        if url is not None:
            make = _make_url_entry if is_url else _make_sitemap_entry
            make(context, url, fields)


def _split_by_loc(context: RecordContext, element: Element) -> list[Part]:
    """Split a record by its locs: each with its text and the fields behind it.

    What stands before the first loc belongs to it too. A record without a loc may have its URL as
    its own text.
    """
    names = context.names
    fields = [(names[child.tag], child) for child in element]
    locs = [place for place, (name, _) in enumerate(fields) if name.own == "loc"]
    if not locs:
        texts = list_texts(element)
        text = texts[0] if texts and has_web_scheme(texts[0]) else ""
        if text:
            context.add_issue(IssueCode.MISSING_LOC, element, value=text)
        return [(text, None, fields)]
    if len(locs) > 1:
        context.add_issue(IssueCode.REPEATED_LOC, element, value=str(len(locs)))
        locs = [place for place in locs if list_texts(fields[place][1])] or locs[:1]
    starts = [0, *locs[1:]]
    ends = [*locs[1:], len(fields)]
    return [
        (get_text(fields[place][1]), fields[place][1], fields[start:end])
        for place, start, end in zip(locs, starts, ends, strict=True)
    ]


def _make_sitemap_entry(context: RecordContext, url: str, fields: Fields) -> None:
    lastmod = _find_own(context, url, fields)["lastmod"]
    moment, written = context.read_value(lastmod, url, parse_lastmod, IssueCode.LASTMOD)
    context.deliver(SitemapEntry(url, moment, Via.INDEX, context.stats.sitemap, written))
    for name, field in _find_others(fields):
        context.add_issue(IssueCode.EXTENSION, field, url=url, value=f"<{name.local}>")


def _make_url_entry(context: RecordContext, url: str, fields: Fields) -> None:
    own = _find_own(context, url, fields)
    moment, written = context.read_value(own["lastmod"], url, parse_lastmod, IssueCode.LASTMOD)
    frequency, _ = context.read_value(
        own["changefreq"], url, parse_changefreq, IssueCode.CHANGEFREQ
    )
    priority, _ = context.read_value(own["priority"], url, parse_priority, IssueCode.PRIORITY)
    sitemap = context.stats.sitemap
    entry = UrlEntry(url, moment, frequency, priority, sitemap=sitemap, lastmod_text=written)
    if others := _find_others(fields):
        found: dict[str, list[Any]] = {}
        for name, field in others:
            add_extension(context, found, name, field, url)
        for slot, values in found.items():
            setattr(entry, slot, values[-1] if slot == "news" else tuple(values))
        if entry.news:
            entry.title = entry.news.title
    context.deliver(entry)


def _find_own(context: RecordContext, url: str, fields: Fields) -> dict[str, Element | None]:
    """Return the last value of each field; add an Issue if there are several."""
    found: dict[str, Element | None] = dict.fromkeys(PROTOCOL_FIELDS)
    repeated: dict[str, str] = {}
    for name, field in fields:
        if name.own in found and name.own != "loc" and context.is_filled(field):
            if found[name.own] is not None:
                repeated[name.own] = name.local
            found[name.own] = field
    for tag in PROTOCOL_FIELDS:
        field_found = found[tag]
        if tag in repeated and field_found is not None:
            context.add_issue(IssueCode.REPEATED_FIELD, field_found, url=url, value=repeated[tag])
    return found


def _find_others(fields: Fields) -> Fields:
    """Return the fields that are not the protocol's own."""
    return [
        field for field in fields if field[0].own not in PROTOCOL_FIELDS and field[0] is not NO_NAME
    ]


_READERS: dict[str, Callable[[RecordContext, Element], None]] = {
    "url": _read_protocol_record,
    "sitemap": _read_protocol_record,
    "item": read_item,
    "entry": read_entry,
}
"""Name of a record -> what reads it."""
