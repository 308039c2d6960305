"""Hints at sitemaps: the `<link>` elements of a page, and the `Link:` header.

`rel="sitemap"` is in no standard, but generators write it. `rel="alternate"` with the type of a
feed is how HTML names a feed.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemapreader.models import Event, SitemapEntry, Via
from sitemapreader.readers.decode.charset import start_transcoder
from sitemapreader.readers.decode.content_type import media_type_of
from sitemapreader.readers.pages.markup import TagScanner
from sitemapreader.readers.stats import ReadStats
from sitemapreader.urls import find_url_error, resolve, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MAX_HINTS = 100
"""Sitemaps of one page that are used."""
MAX_LINKS = 1_000
"""`<link>` and `<base>` elements of one page that are read."""
MAX_LINK_HEADER_CHARS = 65_536
"""Characters of all `Link:` headers together that are read; servers send 8 KiB at most."""
FEED_TYPES = frozenset(
    f"application/{kind}" for kind in ("rss+xml", "atom+xml", "rdf+xml", "rss", "feed+json")
)

_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE
)
_META_BYTES = 1_024  # where HTML requires the declaration

_LINK_TARGET = re.compile(r"<([^<>]*)>")
_LINK_PARAMETER = re.compile(
    r"""\s*;\s*([\w!#$&+^`|~.*-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""", re.ASCII
)


def read_page_hints(
    data: bytes, url: str, *, charset: str | None = None, feeds: bool = False
) -> list[SitemapEntry]:
    """Return the sitemaps that a page links to, and feeds if asked for; never raises.

    `url` is its address after redirects. In an unsupported encoding it gives no hints.
    """
    text = decode_page(data, charset)
    base = url
    links = []
    for tag in islice(TagScanner(("link", "base")).feed(text, final=True), MAX_LINKS):
        if tag.name == "link":
            links.append(tag.attributes)
        elif base is url and tag.attributes.get("href"):  # the first one counts
            base = resolve(url, tag.attributes["href"].strip()) or url
    return _list_sitemaps(links, base, url, Via.HTML, feeds=feeds)


def read_header_hints(value: str, url: str, *, feeds: bool = False) -> list[SitemapEntry]:
    """Return the sitemaps that the `Link:` header (RFC 8288) of a page names."""
    return _list_sitemaps(parse_links(value), url, url, Via.HEADER, feeds=feeds)


def parse_links(value: str) -> list[dict[str, str]]:
    """Return the links of a `Link:` header (RFC 8288), as those of a head."""
    if len(value) > MAX_LINK_HEADER_CHARS:  # only whole links: half a URL is another URL
        value = value[: value.rfind(",", 0, MAX_LINK_HEADER_CHARS) + 1]
    links = []
    position = 0
    while match := _LINK_TARGET.search(value, position):
        attributes = {"href": match[1]}
        position = match.end()
        while parameter := _LINK_PARAMETER.match(value, position):
            quoted, plain = parameter[2], parameter[3]
            text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain
            attributes.setdefault(parameter[1].lower(), text or "")
            position = parameter.end()
        links.append(attributes)
    return links


def _list_sitemaps(
    links: Iterable[Mapping[str, str]], base: str, page: str, via: Via, *, feeds: bool
) -> list[SitemapEntry]:
    found: dict[str, SitemapEntry] = {}
    for attributes in links:
        if not _names_sitemap(attributes, feeds=feeds):
            continue
        href = attributes.get("href", "").strip()
        url = resolve(base, href) if href else None
        if url is not None and find_url_error(url) is None and len(found) < MAX_HINTS:
            found.setdefault(url_key(url), SitemapEntry(url, None, via, page))
    return list(found.values())


def _names_sitemap(attributes: Mapping[str, str], *, feeds: bool) -> bool:
    relations = attributes.get("rel", "").lower().split()
    if "sitemap" in relations:
        return True
    kind = media_type_of(attributes.get("type", ""))
    return feeds and "alternate" in relations and kind in FEED_TYPES


def find_meta_charset(data: bytes) -> str | None:
    """Return the charset that the `<meta>` of a page declares."""
    declared = _META_CHARSET.search(data[:_META_BYTES])
    return declared[1].decode("ascii", "replace") if declared else None


def decode_page(data: bytes, charset: str | None) -> str:
    """Return the text of a page, in the encoding that its header or itself declares."""
    charset = charset or find_meta_charset(data)
    events: list[Event] = []
    started = start_transcoder(events, ReadStats(), data, charset)
    if started is None:
        return ""
    transcoder, rest = started
    return transcoder.feed(events, rest, final=True).decode("utf-8", "replace")
