"""Records -> entries: `<url>`, `<sitemap>`, RSS items and Atom entries.

This module defines the meaning of a record that the tree has read, mended or not. The
pattern must give the same for common records.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.models import (
    PARTS,
    Alternate,
    Change,
    Extra,
    Format,
    SitemapEntry,
    UrlEntry,
    Via,
)
from sitemapreader.readers.records.context import (
    Record,
    RecordContext,
    find_plain_text,
    get_text,
    has_name,
    join_texts,
    list_texts,
    make_extra,
    read_attributes,
)
from sitemapreader.readers.records.links import choose_link, is_alternate
from sitemapreader.readers.records.media import MediaReader
from sitemapreader.readers.records.vocabulary import (
    ATOM,
    EXTENSIONS,
    FEED_DATES,
    NO_NAME,
    OWN,
    PROTOCOL_FIELDS,
    RDF,
    RESOURCESYNC,
    XHTML,
    Extension,
    Field,
    Name,
    parse_changefreq,
    parse_priority,
)
from sitemapreader.urls import has_web_scheme, parse_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from xml.etree.ElementTree import Element

    Found: TypeAlias = defaultdict[str, list[Any]]
    """The values of a record, by the attribute of its entry."""
    Dates: TypeAlias = dict[tuple[str, str], int]
    Parsers: TypeAlias = tuple[tuple[str, Callable[[str], Any], IssueCode], ...]

_LINK_KEYS = (XHTML, OWN, ATOM)


def read_parts(
    context: RecordContext, parts: Iterable[tuple[Name, Element]], url: str
) -> dict[str, Any]:
    """Return what elements beside the protocol's own give, by attribute."""
    found: Found = defaultdict(list)
    for name, element in parts:
        _add_part(context, found, name, element, url)
    values: dict[str, Any] = {slot: tuple(found.get(slot, ())) for slot in PARTS}
    for extension in EXTENSIONS.values():
        if not extension.many:
            values[extension.slot] = next(reversed(values[extension.slot]), None)
    news = values["news"]
    return {**values, "title": news.title if news else None}


def _add_part(context: RecordContext, found: Found, name: Name, element: Element, url: str) -> None:
    """Add the value of an element to `found`, under the name of its slot."""
    extension = EXTENSIONS.get(name.key)
    if extension and extension.tag == name.tag:
        value = _read_extension(context, found, extension, element, url)
        if value is None:
            return
        if not extension.many and extension.slot in found:
            context.add_issue(IssueCode.REPEATED_FIELD, element, url=url, value=name.local)
        found[extension.slot].append(value)
        return
    is_link = name.tag == "link" and name.key in _LINK_KEYS
    attributes = read_attributes(element) if is_link else {}
    if href := attributes.get("href", "").strip():
        _add_link(context, found, element, {**attributes, "href": href}, url)
        return
    if is_link and name.key == XHTML:
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=f"<{name.local}>")
    _add_extra(context, found, element)


def _add_extra(context: RecordContext, found: Found, element: Element) -> None:
    for one in filter(has_name, element.iter()):
        context.names.count_extra(one.tag)
    found["extras"].append(make_extra(element))


def _add_link(
    context: RecordContext, found: Found, element: Element, attributes: dict[str, str], url: str
) -> None:
    href = attributes["href"]
    if not is_alternate(attributes):
        uri = context.names[element.tag].uri
        found["extras"].append(Extra(uri, attributes["rel"], href, dict(element.items())))
    elif parse_reference(href) is None:
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=href)
    else:
        link = Alternate(href, attributes.get("hreflang"), attributes.get("media"))
        found["alternates"].append(link)


def _read_extension(
    context: RecordContext, found: Found, extension: Extension, element: Element, url: str
) -> Any | None:
    names = context.names
    own = names[element.tag]
    values: dict[str, Any] = {}
    kept: set[Element] = set()
    for child in element.iter():
        name = names[child.tag]
        if child is element or name is NO_NAME:
            continue
        is_known = name.own or name.key == own.key
        field = extension.by_tag.get(name.tag) if is_known else None
        if field:
            _read_field(context, values, field, child, url)
        elif name.tag not in extension.containers and child not in kept:
            _add_extra(context, found, child)
            kept.update(child.iter())
    if extension.required and not values.get(extension.required):
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=f"<{own.local}>")
        return None
    for field in extension.by_tag.values():
        if field.many and field.name in values:
            values[field.name] = tuple(values[field.name])
    return extension.make(**values)


def _read_field(
    context: RecordContext, values: dict[str, Any], field: Field, element: Element, url: str
) -> None:
    if field.attributes:
        attributes = read_attributes(element)
        for attribute, slot, parse in field.attributes:
            if attribute in attributes:
                values[slot] = parse(attributes[attribute])
                if values[slot] is None:
                    text = attributes[attribute]
                    context.add_issue(IssueCode.EXTENSION, element, url=url, value=text)
    if field.build:
        text = context.read_field(element, url, IssueCode.EXTENSION)
        value: Any = field.build(text, read_attributes(element)) if text else None
    else:
        value, _ = context.read_value(element, url, field.parse, IssueCode.EXTENSION)
    if value is None:
        return
    if field.many:
        values.setdefault(field.name, []).append(value)
        return
    if field.name in values:
        name = context.names[element.tag].local
        context.add_issue(IssueCode.REPEATED_FIELD, element, url=url, value=name)
    values[field.name] = value


_RANKS: dict[Format, Dates] = {
    format_: {name: rank for rank, names in enumerate(dates) for name in names}
    for format_, dates in FEED_DATES.items()
}
"""Format -> the dates of its records, by (key, tag): the lowest number is the best."""


def read_item(context: RecordContext, record: Element) -> None:
    """Read an RSS item: `<link>`, else a `<guid>` that is a permalink (RSS 2.0)."""
    names = context.names
    link = guid = None
    for child in record:
        own = names[child.tag].own
        if own == "link":
            link = child if link is None and list_texts(child) else link
        elif own == "guid":
            guid = child if guid is None and _is_permalink(child) else guid
    link = guid if link is None else link
    text = _get_about(context, record) if link is None else get_text(link)
    _deliver(context, record, text, link, _RANKS[Format.RSS])


def read_entry(context: RecordContext, record: Element) -> None:
    """Read an Atom entry: its alternate link, text/html first (RFC 4287, 4.2.7)."""
    links = [child for child in record if context.names[child.tag].own == "link"]
    attributes = list(map(read_attributes, links))
    chosen = choose_link(attributes)
    if chosen is not None:
        link, text = links[chosen], attributes[chosen]["href"].strip()
        _deliver(context, record, text, link, _RANKS[Format.ATOM])
        return
    written = (  # its URL as its text, as in RSS
        link
        for link, one in zip(links, attributes, strict=True)
        if is_alternate(one) and list_texts(link)
    )
    first = next(written, None)
    text = "" if first is None else get_text(first)
    _deliver(context, record, text, first, _RANKS[Format.ATOM])


def _deliver(
    context: RecordContext, record: Element, text: str, link: Element | None, ranks: Dates
) -> None:
    context.report_repairs(text)
    url = context.check_loc(text, link)
    if url is None:
        return
    date = _find_date(context, record, ranks)
    lastmod, written = context.read_value(date, url, parse_lastmod, IssueCode.LASTMOD)
    sitemap = context.stats.sitemap
    titles = (child for child in record if context.names[child.tag].own == "title")
    title = next((text for each in titles if (text := find_plain_text(each))), None)
    entry = UrlEntry(url, lastmod, sitemap=sitemap, lastmod_text=written, title=title)

    report = partial(context.add_issue, IssueCode.EXTENSION, url=url)
    media = MediaReader(context.names, record, report).read()
    entry.images, entry.videos = media["images"], media["videos"]
    context.deliver(entry)


def _get_about(context: RecordContext, record: Element) -> str:
    """Return the rdf:about of an item of RSS 1.0, which is its URL."""
    for name, value in record.items():
        uri, _, local = name.rpartition("}")
        if local.lower() == "about" and context.names.find_key(uri[1:]) in (RDF, OWN):
            return value
    return ""


def _is_permalink(guid: Element) -> bool:
    """Return whether a guid is a URL.

    RSS 2.0: it is one unless isPermaLink says false; in practice it must look like one.
    """
    permalink = read_attributes(guid).get("ispermalink", "true")
    return permalink.lower() != "false" and has_web_scheme(get_text(guid))


def _find_date(context: RecordContext, record: Element, ranks: Dates) -> Element | None:
    """Return the best date that is not empty; of equal ones, the first."""
    best, found = len(ranks), None
    for child in record:
        name = context.names[child.tag]
        rank = ranks.get((name.key, name.tag), best)
        if rank < best and context.is_filled(child):
            best, found = rank, child
    return found


def read_record(context: RecordContext, record: Record) -> None:
    """Add the record's entries and Issues."""
    context.record = record
    if record.error:
        context.drop_record(record.error, join_texts(record.element))
    else:
        _READERS[context.names[record.element.tag].tag](context, record.element)


@attrs.define
class _Part:
    """What belongs to one loc of a record."""

    loc: Element | None = None
    text: str = ""
    own: dict[str, Element] = attrs.field(factory=dict)
    """The last filled element of each other field of the protocol."""
    repeated: set[str] = attrs.field(factory=set)
    others: list[tuple[Name, Element]] = attrs.field(factory=list)


def _read_protocol_record(context: RecordContext, element: Element) -> None:
    """Read a `<url>` or `<sitemap>`; each of several locs gives an entry of its own."""
    is_url = context.names[element.tag].tag == "url"
    parts = _split_by_loc(context, element)
    context.report_repairs(parts[0].text)
    for part in parts:
        url = context.check_loc(part.text, part.loc)
        if url is not None:
            make = _make_url_entry if is_url else _make_sitemap_entry
            make(context, url, part)


def _split_by_loc(context: RecordContext, element: Element) -> list[_Part]:
    """Split a record by its locs: each with the fields behind it.

    What stands before the first loc belongs to it too, and an empty one does not count beside
    others. A record without a loc may have its URL as its own text.
    """
    part = _Part()
    parts, locs = [part], 0
    for child in element:
        name = context.names[child.tag]
        own = name.own
        if own == "loc":
            locs += 1
            part = _add_loc(parts, child)
        elif own not in PROTOCOL_FIELDS:
            if name is not NO_NAME:
                part.others.append((name, child))
        elif context.is_filled(child):
            if own in part.own:
                part.repeated.add(own)
            part.own[own] = child
    if locs > 1:
        context.add_issue(IssueCode.REPEATED_LOC, element, value=str(locs))
    elif not locs and (texts := list_texts(element)) and has_web_scheme(texts[0]):
        part.loc, part.text = element, texts[0]
        context.add_issue(IssueCode.MISSING_LOC, element, value=part.text)
    return parts


def _add_loc(parts: list[_Part], loc: Element) -> _Part:
    """Add a loc to the last part, or a part for it; return the part for what follows."""
    part, texts = parts[-1], list_texts(loc)
    if texts and part.loc is not None and list_texts(part.loc):
        part = _Part()
        parts.append(part)
    if texts or part.loc is None:
        part.loc, part.text = loc, texts[0] if len(texts) == 1 else ""
    return part


def _read_own(
    context: RecordContext, url: str, part: _Part, parsers: Parsers
) -> list[tuple[Any, str | None]]:
    for tag in PROTOCOL_FIELDS:
        if tag in part.repeated:
            last = part.own[tag]
            value = context.names[last.tag].local
            context.add_issue(IssueCode.REPEATED_FIELD, last, url=url, value=value)
    return [context.read_value(part.own.get(tag), url, parse, code) for tag, parse, code in parsers]


def _make_sitemap_entry(context: RecordContext, url: str, part: _Part) -> None:
    [(moment, written)] = _read_own(context, url, part, _PARSERS[:1])
    context.deliver(SitemapEntry(url, moment, Via.INDEX, context.stats.sitemap, written))
    for name, field in part.others:
        context.add_issue(IssueCode.EXTENSION, field, url=url, value=f"<{name.local}>")


def _find_metadata(part: _Part) -> dict[str, str]:
    """Return what ResourceSync says of the URL (ANSI/NISO Z39.99, section 7)."""
    for name, field in part.others:
        if (name.key, name.tag) == (RESOURCESYNC, "md"):
            return read_attributes(field)
    return {}


def _make_url_entry(context: RecordContext, url: str, part: _Part) -> None:
    metadata = _find_metadata(part)
    if metadata.get("capability"):  # a list of lists: sections 8 and 9
        part.others.clear()
        _make_sitemap_entry(context, url, part)
        return
    change = _CHANGES.get(metadata.get("change", "").strip().lower())
    if change is Change.UNLISTED and not context.keeps_deleted:
        context.drop_record(IssueCode.DELETED, url)
        return
    (moment, written), (frequency, _), (priority, _) = _read_own(context, url, part, _PARSERS)
    sitemap = context.stats.sitemap
    entry = UrlEntry(
        url, moment, frequency, priority, sitemap=sitemap, lastmod_text=written, change=change
    )
    if part.others:
        for slot, value in read_parts(context, part.others, url).items():
            setattr(entry, slot, value)
    context.deliver(entry)


_CHANGES = {"created": Change.NEW, "updated": Change.CHANGED, "deleted": Change.UNLISTED}
_PARSERS: Parsers = (
    ("lastmod", parse_lastmod, IssueCode.LASTMOD),
    ("changefreq", parse_changefreq, IssueCode.CHANGEFREQ),
    ("priority", parse_priority, IssueCode.PRIORITY),
)
"""Each field behind the loc, what reads it, and the code of what cannot be read."""
_READERS: dict[str, Callable[[RecordContext, Element], None]] = {
    "url": _read_protocol_record,
    "sitemap": _read_protocol_record,
    "item": read_item,
    "entry": read_entry,
}
"""Name of a record -> what reads it."""
