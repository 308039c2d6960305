"""The records of feeds: an item of RSS, an entry of Atom -> a link and a date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import UrlEntry
from sitemapreader.readers.findings import is_filled, is_own
from sitemapreader.readers.links import choose_link, is_alternate
from sitemapreader.readers.names import ATOM, DC, OWN
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
    url = findings.check_loc(record, text, link)
    if url is None:
        return
    date = (
        _first_filled(record, {"pubdate"}, {OWN})
        or _first_filled(record, {"date", "modified"}, {DC})
        or _first_filled(record, {"updated"}, {ATOM})
    )
    _deliver_feed_entry(findings, url, date)


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
    url = findings.check_loc(record, text, link)
    if url is None:
        return
    dates = (_first_filled(record, {tag}, {OWN}) for tag in _ATOM_DATES)
    _deliver_feed_entry(findings, url, next((date for date in dates if date), None))


_ATOM_DATES = ("updated", "modified", "published", "issued")


def _deliver_feed_entry(findings: Findings, url: str, date: Element | None) -> None:
    lastmod, text = findings.read_date(date, url)
    findings.deliver(UrlEntry(url, lastmod, sitemap=findings.ledger.sitemap, lastmod_text=text))


def _is_permalink(guid: Element) -> bool:
    """RSS 2.0: a guid is a URL unless isPermaLink says false; in practice it must look like one."""
    return guid.attributes.get("ispermalink", "true").lower() != "false" and has_web_scheme(
        guid.text
    )


def _first_filled(record: Element, tags: set[str], keys: set[str]) -> Element | None:
    fields = (c for c in record.children if c.tag in tags and c.key in keys)
    return next(filter(is_filled, fields), None)
