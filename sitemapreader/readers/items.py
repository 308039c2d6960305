"""The records of feeds: an item of RSS, an entry of Atom -> a link and a date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import Format, UrlEntry
from sitemapreader.readers.findings import is_filled, is_own
from sitemapreader.readers.links import choose_link, is_alternate
from sitemapreader.readers.vocabulary import FEED_DATES
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.readers.elements import Element
    from sitemapreader.readers.findings import Findings


def read_item(findings: Findings, record: Element) -> Iterator[None]:
    """Read an RSS item: `<link>`, else a `<guid>` that is a permalink (RSS 2.0)."""
    yield
    link = next((c for c in record.children if is_own(c, "link") and c.texts()), None)
    if link is None:
        link = next((c for c in record.children if is_own(c, "guid") and _is_permalink(c)), None)
    text = record.attributes.get("about", "") if link is None else link.text
    _deliver(findings, record, text, link, FEED_DATES[Format.RSS])


def read_entry(findings: Findings, record: Element) -> Iterator[None]:
    """Read an Atom entry: its alternate link, text/html first (RFC 4287, section 4.2.7)."""
    yield
    links = [child for child in record.children if is_own(child, "link")]
    chosen = choose_link([link.attributes for link in links])
    link = next((link for link in links if link.attributes is chosen), None)
    text = chosen["href"].strip() if chosen else ""
    if link is None:  # its URL as its text, as in RSS
        link = next((one for one in links if is_alternate(one.attributes) and one.texts()), None)
        text = link.text if link else ""
    _deliver(findings, record, text, link, FEED_DATES[Format.ATOM])


def _deliver(
    findings: Findings,
    record: Element,
    text: str,
    link: Element | None,
    dates: tuple[tuple[tuple[str, str], ...], ...],
) -> None:
    findings.note_mends(record, text)
    url = findings.check_loc(record, text, link)
    if url is None:
        return
    filled = filter(None, (_first_filled(record, names) for names in dates))
    lastmod, written = findings.read_date(next(filled, None), url)
    findings.deliver(UrlEntry(url, lastmod, sitemap=findings.ledger.sitemap, lastmod_text=written))


def _is_permalink(guid: Element) -> bool:
    """RSS 2.0: a guid is a URL unless isPermaLink says false; in practice it must look like one."""
    return guid.attributes.get("ispermalink", "true").lower() != "false" and has_web_scheme(
        guid.text
    )


def _first_filled(record: Element, names: tuple[tuple[str, str], ...]) -> Element | None:
    fields = (child for child in record.children if (child.key, child.tag) in names)
    return next(filter(is_filled, fields), None)
