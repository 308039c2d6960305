"""Records -> entries: `<url>`, `<sitemap>`, RSS items and Atom entries.

This module defines the meaning of a record that the tree has read, mended or not. The
columns must give the same for common records.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader._read.media import is_enclosure, read_media
from sitemapreader._read.record import (
    MARKUP,
    Record,
    RecordContext,
    find_plain_text,
    get_attributes,
    get_text,
    has_instruction,
    is_feed_link,
    is_html,
    join_texts,
    list_texts,
    make_extra,
)
from sitemapreader._read.vocabulary import (
    ATOM,
    FEED_DATES,
    MEDIA,
    NAMESPACES,
    NO_NAME,
    OWN,
    PARSED_EXTENSIONS,
    PROTOCOL_FIELDS,
    PROTOCOL_RECORDS,
    RDF,
    RESOURCESYNC,
    XHTML,
    Extension,
    Field,
    Name,
    is_odd_namespace,
    parse_changefreq,
    parse_priority,
    take_text,
    take_url,
)
from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import (
    EXTENSION_ATTRIBUTES,
    Alternate,
    Change,
    Extra,
    SitemapEntry,
    UrlEntry,
    Via,
)
from sitemapreader._types.urls import (
    find_base,
    find_url,
    find_url_error,
    has_web_scheme,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from xml.etree.ElementTree import Element

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._read.vocabulary import Names
    from sitemapreader._types.models import Event

    Fields: TypeAlias = dict[str, list[Element]]
    """Field of a feed's record -> the elements that have it."""

_LINK_KEYS = (XHTML, OWN, ATOM)


def read_extensions(
    context: RecordContext,
    elements: Iterable[tuple[Name, Element]],
    url: str,
) -> Generator[None, None, dict[str, Any]]:
    """Return the values of elements beside the protocol's own, by attribute."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for name, element in elements:
        for attribute, value in _read_other_element(context, name, element, url):
            if (
                attribute in found
                and attribute in PARSED_EXTENSIONS
                and not PARSED_EXTENSIONS[attribute].many
            ):
                context.add_issue(
                    IssueCode.REPEATED_FIELD, element, url=url, value=name.local
                )
            if attribute:
                found[attribute].append(value)
            if context.is_due():
                yield
        if context.is_due():
            yield
    values: dict[str, Any] = {
        attribute: tuple(found.get(attribute, ())) for attribute in EXTENSION_ATTRIBUTES
    }
    for attribute, extension in PARSED_EXTENSIONS.items():
        if not extension.many:
            values[attribute] = next(reversed(values[attribute]), None)
    news = values["news"]
    return {**values, "title": news.title if news else None}


def _read_other_element(
    context: RecordContext,
    name: Name,
    element: Element,
    url: str,
) -> Iterator[tuple[str, Any]]:
    """Yield the values of an element beside the protocol's own, by attribute of the entry.

    Also yield "" and `None` after each field in it, because it may have thousands.
    """
    extension = PARSED_EXTENSIONS.get(name.key)
    if extension and extension.tag == name.tag:
        yield from _read_extension(context, extension, element, url)
        return
    is_link = name.tag == "link" and name.key in _LINK_KEYS
    link = get_attributes(element) if is_link else {}
    if not (href := link.get("href", "").strip()):
        if is_link and name.key == XHTML:
            value = f"<{name.local}> has no href"
            context.add_issue(IssueCode.EXTENSION, element, url=url, value=value)
        yield "extras", make_extra(element)
    elif link.get("hreflang") and is_feed_link(link, href):
        # a feed is no version of the page
        yield "extras", make_extra(element)
    elif "alternate" not in _list_relations(link, "alternate"):
        yield "extras", Extra(name.uri, link["rel"], href, dict(element.items()))
    elif target := context.read_url(href, element, url):
        yield "alternates", Alternate(target, link.get("hreflang"), link.get("media"))
    else:
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=href)


def _read_extension(
    context: RecordContext,
    extension: Extension,
    element: Element,
    url: str,
) -> Iterator[tuple[str, Any]]:
    own = context.names[element.tag]
    values: dict[str, Any] = {}
    kept: set[Element] = set()
    _report_namespace(context, own, element, url)
    yield from _keep_attributes(context, element, set())
    for child in islice(element.iter(), 1, None):
        name = context.names[child.tag]
        is_known = name.own or name.key == own.key
        if is_known and child not in kept:
            field = extension.by_tag.get(name.tag)
        else:
            field = None
        if field:
            if _holds_markup(context, extension, field, child):
                kept.update(child.iter())
                value = context.read_markup(child, url)
                if value is not None:
                    context.add_issue(IssueCode.BARE_LESS_THAN, child, url=url)
                _keep_value(context, values, field, child, url, value)
            else:
                _read_field(context, values, field, child, url)
            yield from _keep_attributes(context, child, field.attribute_names)
            yield "", None
        elif name is NO_NAME or child in kept:
            continue
        elif name.tag in extension.containers:
            yield from _keep_attributes(context, child, set())
        else:
            yield "extras", make_extra(child)
            kept.update(child.iter())
    if any(values.get(name) in (None, "") for name in extension.required):
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=f"<{own.local}>")
    else:
        values |= {
            key: tuple(each) for key, each in values.items() if isinstance(each, list)
        }
        yield extension.entry_attribute, extension.make(**values)


def _keep_attributes(
    context: RecordContext,
    element: Element,
    known: set[str],
) -> Iterator[tuple[str, Extra]]:
    """Yield an extra with the attributes of an element that no field has, if there are any."""
    if not element.keys():
        return
    others = {
        attribute: value
        for attribute, value in element.items()
        if attribute.lower() not in known
    }
    if others:
        name = context.names[element.tag]
        yield "extras", Extra(name.uri, name.local, "", others)


def _holds_markup(
    context: RecordContext,
    extension: Extension,
    field: Field,
    element: Element,
) -> bool:
    """Return whether the text of a field has tags in it, as templates write that escape nothing.

    Elements of the extension are no markup of the text: an end tag is missing before them.
    """
    if not len(element) or field.parse is not take_text or field.build:
        return False
    inside = [context.names[each.tag] for each in islice(element.iter(), 1, None)]
    is_field = any(name.tag in extension.by_tag for name in inside)
    return any(name is not NO_NAME for name in inside) and not is_field


def _report_namespace(
    context: RecordContext,
    name: Name,
    element: Element,
    url: str,
) -> None:
    """Report an extension in a namespace that search engines do not know."""
    if (
        is_odd_namespace(name.uri, name.key)
        and not context.stats.counts[IssueCode.NAMESPACE]
    ):
        context.add_issue(IssueCode.NAMESPACE, element, url=url, value=name.uri)


def _read_field(
    context: RecordContext,
    values: dict[str, Any],
    field: Field,
    element: Element,
    url: str,
) -> None:
    if field.attributes or field.build:
        attributes = get_attributes(element)
    else:
        attributes = {}
    for attribute, value_name, parse in field.attributes:
        text = attributes.get(attribute)
        if text is None or (parse is take_url and not text.strip()):
            continue
        if parse is take_url:
            values[value_name] = context.read_url(text, element, url)
        else:
            values[value_name] = parse(text)
        if values[value_name] is None:
            context.add_issue(IssueCode.EXTENSION, element, url=url, value=text)
    read: Callable[[str], object | None] = field.parse
    if field.build:
        read = partial(field.build, attributes)
    elif field.parse is take_url:
        read = partial(context.read_url, at=element, url=url)
    value, _ = context.read_value(element, url, read, IssueCode.EXTENSION)
    _keep_value(context, values, field, element, url, value)


def _keep_value(
    context: RecordContext,
    values: dict[str, Any],
    field: Field,
    element: Element,
    url: str,
    value: object | None,
) -> None:
    """Add the value of a field, if there is one, to its extension's values."""
    if value is None:
        return
    if field.many:
        values.setdefault(field.name, []).append(value)
        return
    if field.name in values:
        name = context.names[element.tag].local
        context.add_issue(IssueCode.REPEATED_FIELD, element, url=url, value=name)
    values[field.name] = value


# -- the records of feeds

_RELATIONS = "http://www.iana.org/assignments/relation/"
"""RFC 4287, section 4.2.7.2: a relation may be written as an IRI."""
_NEXT = "next"
_ARCHIVE = "prev-archive"
"""RFC 5005, sections 3 and 4."""


def _list_relations(link: dict[str, str], default: str = "") -> list[str]:
    return link.get("rel", default).lower().removeprefix(_RELATIONS).split()


def find_page_relations(link: dict[str, str]) -> set[str]:
    """Return by which relations a link of a feed leads to a page with older records."""
    relations = {_NEXT, _ARCHIVE}.intersection(_list_relations(link))
    if link.get("href", "").strip():
        return relations
    return set()


def deliver_pages(
    events: list[Event],
    stats: ReadStats,
    pages: Mapping[str, Sequence[str]],
) -> None:
    """Deliver the pages that a feed links to: relation -> its bases, and the link."""
    for relation, (*bases, href) in pages.items():
        base = stats.sitemap
        for each in filter(None, bases):
            base = find_base(base, each)
        is_sound = has_web_scheme(href) or not MARKUP.search(href)
        url = find_url(base, href) if is_sound else None
        if url and not find_url_error(url):
            is_archive = relation == _ARCHIVE
            events.append(
                SitemapEntry(url, None, Via.PAGE, stats.sitemap, is_archive=is_archive)
            )
        else:
            stats.add_issue(events, IssueCode.FEED_HAS_MORE, value=href)


def group_fields(names: Names, record: Element) -> Fields:
    """Return the elements of a feed's record by the fields that they are."""
    fields: Fields = {}
    for child in record:
        field = names[child.tag].feed_field
        if field in fields:
            fields[field].append(child)
        elif field:
            fields[field] = [child]
    return fields


def _read_item(context: RecordContext, record: Element) -> Iterator[None]:
    """Read an RSS item: `<link>`, a `<guid>` that is a permalink, `<atom:link>` or its address."""
    fields = group_fields(context.names, record)
    links = fields.get("link", [])
    guids = filter(_is_permalink, fields.get("guid", ()))
    text, link = _find_first_text(chain(links, guids))
    if link is None:
        text, link = _find_reference(context.names, record, fields)
    if any(map(is_enclosure, links)):
        fields.setdefault(MEDIA, links)
    return _deliver(context, record, fields, text, link)


def _find_reference(
    names: Names, record: Element, fields: Fields
) -> tuple[str, Element | None]:
    """Return the URL of an item that only an attribute has, with the element of the attribute.

    It is the address of an alternate `<atom:link>`, or of the item as a resource (RSS 1.0).
    """
    for element in fields.get("atom:link", ()):
        link = get_attributes(element)
        if "alternate" in _list_relations(link, "alternate") and link.get("href"):
            return link["href"].strip(), element
    for name, value in record.items():
        is_about = names[name].tag == "about" and names[name].key in (RDF, OWN)
        if is_about and has_web_scheme(value.strip()):
            return value.strip(), record
    return "", None


def _is_permalink(guid: Element) -> bool:
    """Return whether a guid is a URL.

    RSS 2.0: it is one unless isPermaLink says false; in practice it must look like one.
    """
    permalink = get_attributes(guid).get("ispermalink", "true")
    return permalink.lower() != "false" and has_web_scheme(get_text(guid))


def _find_first_text(elements: Iterable[Element]) -> tuple[str, Element | None]:
    """Return the first element with text, and this, or "" if tags split it into parts."""
    for element in elements:
        if texts := list_texts(element):
            return texts[0] if len(texts) == 1 else "", element
    return "", None


def _read_entry(context: RecordContext, record: Element) -> Iterator[None]:
    """Read an Atom entry: its alternate link, text/html first (RFC 4287, 4.2.7)."""
    fields = group_fields(context.names, record)
    links = fields.get("link", [])
    alternates = []
    for child in links:
        link = get_attributes(child)
        relations = _list_relations(link, "alternate")
        if "alternate" in relations:
            alternates.append((link.get("href", "").strip(), child, link))
        elif relations == ["enclosure"]:
            fields.setdefault(MEDIA, links)
        if context.is_due():
            yield
    found = [each for each in alternates if each[0]]
    if not found:  # its URL as its text, as in RSS
        text, element = _find_first_text(each for _, each, _ in alternates)
    else:
        found.sort(key=_is_other_page)
        text, element, _ = found[0]
    yield from _deliver(context, record, fields, text, element)


def _is_other_page(alternate: tuple[str, Element, dict[str, str]]) -> bool:
    return not is_html(alternate[2].get("type", "text/html"))


def _deliver(
    context: RecordContext,
    record: Element,
    fields: Fields,
    text: str,
    link: Element | None,
) -> Iterator[None]:
    context.report_repairs(text)
    url = context.check_loc(text, link)
    if context.is_due(len(record)):
        yield
    if url is None:
        return
    lastmod, written = _read_date(context, record, fields, url)
    entry = UrlEntry(url, lastmod, sitemap=context.stats.sitemap, lastmod_text=written)
    for title in fields.get("title", ()):
        if plain := find_plain_text(title):
            entry.title = plain
            break
    if MEDIA in fields:
        entry.images, entry.videos = yield from read_media(context, record, url)
    context.deliver(entry)


def _read_date(
    context: RecordContext,
    record: Element,
    fields: Fields,
    url: str,
) -> tuple[Any, str | None]:
    """Return the best date that is not empty, and its text; of equal ones, the first."""
    for field in FEED_DATES[context.names[record.tag].tag]:
        for element in fields.get(field, ()):
            texts = list_texts(element)
            if texts or has_instruction(element):
                return context.read_texts(
                    element, texts, url, parse_lastmod, IssueCode.LASTMOD
                )
    return None, None


# -- the records of the protocol


def read_record(context: RecordContext, record: Record) -> Iterator[None]:
    """Add the record's entries and Issues, with pauses in which they can be taken."""
    context.record = record
    if record.error:
        context.drop_record(record.error, join_texts(record.element))
        return iter(())
    parse = _PARSERS_BY_NAME[context.names[record.element.tag].tag]
    return parse(context, record.element)


def _read_protocol_record(context: RecordContext, record: Element) -> Iterator[None]:
    """Read a `<url>` or `<sitemap>`, and the records of the other kind inside it."""
    yield from _read_own_fields(context, record)
    for child in record:
        name = context.names[child.tag]
        if name.own in PROTOCOL_RECORDS:
            context.add_issue_once(IssueCode.NESTED_ROOT, value=f"<{name.local}>")
            yield from _read_protocol_record(context, child)


def _read_own_fields(context: RecordContext, record: Element) -> Iterator[None]:
    """Read the fields of a record; each of several locs gives an entry of its own.

    A record without a loc may have its URL as its own text, unless that may be cut.
    """
    by_loc, number = _split_by_loc(context, record)
    if context.is_due(len(record)):
        yield
    if number > 1:
        context.add_issue(IssueCode.REPEATED_LOC, record, value=str(number))
    elif not (number or context.record.cut):
        _take_own_urls(context, record, by_loc)
    context.report_repairs(by_loc[0].text or "")
    is_url = context.names[record.tag].tag == "url"
    for loc_fields in by_loc:
        url = context.check_loc(loc_fields.text or "", loc_fields.loc)
        if url is not None:
            if is_url:
                make = _make_url_entry
            else:
                make = _make_sitemap_entry
            yield from make(context, url, loc_fields)
        if context.is_due():
            yield


def _take_own_urls(
    context: RecordContext, record: Element, by_loc: list[_LocFields]
) -> None:
    """Take the URLs that are texts of a record without a loc; each stands for a loc."""
    urls = [*filter(has_web_scheme, _list_own_texts(context, record))]
    if not urls:
        return
    context.add_issue(IssueCode.MISSING_LOC, record, value=urls[0])
    by_loc += [_LocFields() for _ in urls[1:]]
    for loc_fields, url in zip(by_loc, urls, strict=True):
        loc_fields.loc = record
        loc_fields.text = url


def _list_own_texts(context: RecordContext, record: Element) -> list[str]:
    """Return the texts of a record that are no field's, no extension's and no other record's.

    Elements that the protocol does not have may stand around them.
    """
    texts = [record.text or ""]
    for child in record:
        name = context.names[child.tag]
        if name.own not in (*PROTOCOL_FIELDS, *PROTOCOL_RECORDS, ""):
            texts += list_texts(child)
        elif name.tag == "loc" and name.key not in NAMESPACES.values():
            texts.append(get_text(child))
        texts.append(child.tail or "")
    return [trimmed for text in texts if (trimmed := text.strip())]


def _split_by_loc(
    context: RecordContext, record: Element
) -> tuple[list[_LocFields], int]:
    """Split a record by its locs, each with the fields after it; count them.

    What stands before the first loc belongs to it too, and an empty one does not count beside
    others.
    """
    loc_fields = _LocFields()
    by_loc = [loc_fields]
    number = 0
    for child in record:
        name = context.names[child.tag]
        own = name.own
        if own == "loc":
            number += 1
            texts = list_texts(child)
            if texts and loc_fields.text is not None:
                loc_fields = _LocFields()
                by_loc.append(loc_fields)
            if texts or loc_fields.loc is None:
                loc_fields.loc = child
                if texts:
                    loc_fields.text = texts[0] if len(texts) == 1 else ""
                else:
                    loc_fields.text = None
        elif own not in PROTOCOL_FIELDS:
            if name is not NO_NAME and own not in PROTOCOL_RECORDS:
                loc_fields.others.append((name, child))
        elif context.is_filled(child):
            loc_fields.fields.setdefault(own, []).append(child)
    return by_loc, number


@attrs.define
class _LocFields:
    """The fields of one loc of a record."""

    loc: Element | None = None
    text: str | None = None
    """Text of the loc; "" if it is in pieces."""
    fields: dict[str, list[Element]] = attrs.field(factory=dict)
    """The filled elements of each other field of the protocol; the last counts."""
    others: list[tuple[Name, Element]] = attrs.field(factory=list)

    def fill(self, context: RecordContext, entry: UrlEntry | SitemapEntry) -> None:
        """Set the values of the protocol's fields that an entry has, and their texts."""
        fields = self.fields
        for tag in PROTOCOL_FIELDS:
            if len(fields.get(tag, ())) > 1:
                last = fields[tag][-1]
                value = context.names[last.tag].local
                context.add_issue(
                    IssueCode.REPEATED_FIELD, last, url=entry.loc, value=value
                )
        for tag, text_attribute, parse, code in _PARSERS[type(entry)]:
            if tag in fields:
                field = fields[tag][-1]
                value, text = context.read_value(field, entry.loc, parse, code)
                setattr(entry, tag, value)
                setattr(entry, text_attribute, text)


def _make_sitemap_entry(
    context: RecordContext,
    url: str,
    loc_fields: _LocFields,
) -> Iterator[None]:
    entry = SitemapEntry(url, None, Via.INDEX, context.stats.sitemap)
    loc_fields.fill(context, entry)
    context.deliver(entry)
    for name, field in loc_fields.others:
        context.add_issue(IssueCode.EXTENSION, field, url=url, value=f"<{name.local}>")
        if context.is_due():
            yield


def _make_url_entry(
    context: RecordContext,
    url: str,
    loc_fields: _LocFields,
) -> Iterator[None]:
    metadata = _find_metadata(loc_fields)
    if metadata.get("capability"):  # a list of lists: sections 8 and 9
        loc_fields.others.clear()
        yield from _make_sitemap_entry(context, url, loc_fields)
        return
    entry = UrlEntry(url)
    entry.change = _CHANGES.get(metadata.get("change", "").strip().lower())
    if entry.change is Change.UNLISTED and not context.stats.keeps_deleted:
        context.drop_record(IssueCode.DELETED, url)
        return
    entry.sitemap = context.stats.sitemap
    loc_fields.fill(context, entry)
    if loc_fields.others:
        values = yield from read_extensions(context, loc_fields.others, url)
        for attribute, value in values.items():
            setattr(entry, attribute, value)
    context.deliver(entry)


def _find_metadata(loc_fields: _LocFields) -> dict[str, str]:
    """Return the change of the URL by ResourceSync (ANSI/NISO Z39.99, section 7)."""
    for name, field in loc_fields.others:
        if name.meaning == (RESOURCESYNC, "md"):
            return get_attributes(field)
    return {}


_CHANGES = {
    "created": Change.NEW,
    "updated": Change.CHANGED,
    "deleted": Change.UNLISTED,
}
_LASTMOD = ("lastmod", "lastmod_text", parse_lastmod, IssueCode.LASTMOD)
_PARSERS: dict[type, tuple[tuple[str, str, Callable[[str], Any], IssueCode], ...]] = {
    SitemapEntry: (_LASTMOD,),
    UrlEntry: (
        _LASTMOD,
        ("changefreq", "changefreq_text", parse_changefreq, IssueCode.CHANGEFREQ),
        ("priority", "priority_text", parse_priority, IssueCode.PRIORITY),
    ),
}
"""An entry -> its fields after the loc: the attributes of value and text, the parser, and the
Issue of a value that cannot be read."""
_PARSERS_BY_NAME: dict[str, Callable[[RecordContext, Element], Iterator[None]]] = {
    "url": _read_protocol_record,
    "sitemap": _read_protocol_record,
    "item": _read_item,
    "entry": _read_entry,
}
"""Name of a record -> its parser."""
