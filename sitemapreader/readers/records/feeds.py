"""The records of feeds: RSS items and Atom entries -> link, date and title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.records.elements import (
    find_plain_text,
    get_text,
    is_html,
    list_texts,
    read_attributes,
)
from sitemapreader.readers.records.fields import FEED_DATES
from sitemapreader.readers.records.media import MediaReader
from sitemapreader.readers.records.namespaces import OWN, RDF
from sitemapreader.urls import find_url_error, has_web_scheme, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias
    from xml.etree.ElementTree import Element

    from sitemapreader.models import Event
    from sitemapreader.readers.records.context import RecordContext
    from sitemapreader.readers.stats import ReadStats

    Dates: TypeAlias = dict[tuple[str, str], int]

_RANKS: dict[Format, Dates] = {
    format_: {name: rank for rank, names in enumerate(dates) for name in names}
    for format_, dates in FEED_DATES.items()
}
"""Format -> the dates of its records, by (key, tag): the lowest number is the best."""
_RELATIONS = "http://www.iana.org/assignments/relation/"
NEXT, ARCHIVE = "next", "prev-archive"
_PAGE_RELATIONS = {NEXT, ARCHIVE}
"""RFC 5005, sections 3 and 4."""


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
    """Read an Atom entry: its alternate link, text/html first.

    RFC 4287, section 4.2.7.
    """
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
    title = _find_title(context, record)
    entry = UrlEntry(url, lastmod, sitemap=sitemap, lastmod_text=written, title=title or None)

    def report(element: Element, value: str) -> None:
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=value)

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


def _find_title(context: RecordContext, record: Element) -> str:
    """Return the first title that is not empty, without its markup."""
    titles = (child for child in record if context.names[child.tag].own == "title")
    return next((text for title in titles if (text := find_plain_text(title))), "")


# -- links


def choose_link(links: list[dict[str, str]]) -> int | None:
    """Choose the URL of an Atom entry from the attributes of its links."""
    found = [
        place
        for place, link in enumerate(links)
        if is_alternate(link) and link.get("href", "").strip()
    ]
    html = (place for place in found if is_html(links[place].get("type", "text/html")))
    return next(html, found[0]) if found else None


def find_page_relations(link: dict[str, str]) -> set[str]:
    """Return by which relations a link of a feed leads to a page with older records."""
    relations = link.get("rel", "").lower().removeprefix(_RELATIONS).split()
    return _PAGE_RELATIONS.intersection(relations) if link.get("href", "").strip() else set()


def deliver_pages(
    events: list[Event], stats: ReadStats, pages: Mapping[str, Sequence[str]]
) -> None:
    """Deliver the pages that a feed links to, by relation; they are no records of it.

    Each is the link as written, behind the bases that it has besides the document's URL.
    """
    for relation, (*bases, href) in pages.items():
        base = stats.sitemap
        for each in filter(None, bases):
            base = resolve(base, each) or base
        url = resolve(base, href) or ""
        if has_web_scheme(url) and not find_url_error(url):
            is_archive = relation == ARCHIVE
            page = SitemapEntry(url, None, Via.PAGE, stats.sitemap, is_archive=is_archive)
            events.append(page)
        else:
            stats.add_issue(events, IssueCode.FEED_HAS_MORE, value=href)


def is_alternate(link: dict[str, str]) -> bool:
    """Return whether a link's `rel` is "alternate", the default."""
    relation = link.get("rel", "alternate")
    return relation == "alternate" or is_alternate_relation(relation)


def is_alternate_relation(relation: str) -> bool:
    """Return whether a `rel` is "alternate".

    RFC 4287, section 4.2.7.2: a relation may be written as an IRI.
    """
    return "alternate" in relation.lower().removeprefix(_RELATIONS).split()
