"""Links of records and feeds: which is the page itself, which the next page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.readers.records.context import MARKUP, is_html
from sitemapreader.urls import find_url_error, has_web_scheme, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sitemapreader.models import Event
    from sitemapreader.readers.stats import ReadStats

_RELATIONS = "http://www.iana.org/assignments/relation/"
NEXT, ARCHIVE = "next", "prev-archive"
_PAGE_RELATIONS = {NEXT, ARCHIVE}
"""RFC 5005, sections 3 and 4."""


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
    """Deliver the pages that a feed links to: relation -> its bases, and the link."""
    for relation, (*bases, href) in pages.items():
        base = stats.sitemap
        for each in filter(None, bases):
            base = resolve(base, each) or base
        is_sound = has_web_scheme(href) or not MARKUP.search(href)
        url = resolve(base, href) if is_sound else None
        if url and not find_url_error(url):
            is_archive = relation == ARCHIVE
            page = SitemapEntry(url, None, Via.PAGE, stats.sitemap, is_archive=is_archive)
            events.append(page)
        else:
            stats.add_issue(events, IssueCode.FEED_HAS_MORE, value=href)


def is_alternate(link: dict[str, str]) -> bool:
    """Return whether a link's `rel` is "alternate", the default.

    RFC 4287, section 4.2.7.2: a relation may be written as an IRI.
    """
    relation = link.get("rel", "alternate")
    return (
        relation == "alternate" or "alternate" in relation.lower().removeprefix(_RELATIONS).split()
    )
