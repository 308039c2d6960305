"""The records of feeds: an item of RSS, an entry of Atom -> a link and a date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import Format, UrlEntry
from sitemapreader.readers.records.context import is_filled, is_own
from sitemapreader.readers.records.fields import FEED_DATES
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.readers.elements import Element
    from sitemapreader.readers.records.context import RecordContext


def read_item(context: RecordContext, record: Element) -> Iterator[None]:
    """Read an RSS item: `<link>`, else a `<guid>` that is a permalink (RSS 2.0)."""
    yield
    link = next((c for c in record.children if is_own(c, "link") and c.texts()), None)
    if link is None:
        link = next((c for c in record.children if is_own(c, "guid") and _is_permalink(c)), None)
    text = record.attributes.get("about", "") if link is None else link.text
    _deliver(context, record, text, link, FEED_DATES[Format.RSS])


def read_entry(context: RecordContext, record: Element) -> Iterator[None]:
    """Read an Atom entry: its alternate link, text/html first (RFC 4287, section 4.2.7)."""
    yield
    links = [child for child in record.children if is_own(child, "link")]
    chosen = choose_link([link.attributes for link in links])
    link = next((link for link in links if link.attributes is chosen), None)
    text = chosen["href"].strip() if chosen else ""
    if link is None:  # its URL as its text, as in RSS
        link = next((one for one in links if is_alternate(one.attributes) and one.texts()), None)
        text = link.text if link else ""
    _deliver(context, record, text, link, FEED_DATES[Format.ATOM])


def _deliver(
    context: RecordContext,
    record: Element,
    text: str,
    link: Element | None,
    dates: tuple[tuple[tuple[str, str], ...], ...],
) -> None:
    context.report_repairs(record, text)
    url = context.check_loc(record, text, link)
    if url is None:
        return
    filled = filter(None, (_first_filled(record, names) for names in dates))
    lastmod, written = context.read_date(next(filled, None), url)
    context.deliver(UrlEntry(url, lastmod, sitemap=context.stats.sitemap, lastmod_text=written))


def _is_permalink(guid: Element) -> bool:
    """RSS 2.0: a guid is a URL unless isPermaLink says false; in practice it must look like one."""
    return guid.attributes.get("ispermalink", "true").lower() != "false" and has_web_scheme(
        guid.text
    )


def _first_filled(record: Element, names: tuple[tuple[str, str], ...]) -> Element | None:
    fields = (child for child in record.children if (child.key, child.tag) in names)
    return next(filter(is_filled, fields), None)


# -- links


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
