"""Links of pages: hints at sitemaps, and HTML site maps, whose links are entries.

Hints are the `<link>` elements of a page and the `Link:` header of its answer.
`rel="sitemap"` is in no standard, but generators write it. `rel="alternate"` with the type of a
feed is how HTML names a feed.
"""

from __future__ import annotations

import codecs
import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Event, Format, SitemapEntry, UrlEntry, Via
from sitemapreader.options import PROTOCOL_MAX_LOC_CHARS, Limits
from sitemapreader.readers.decode.charset import media_type_of, start_transcoder
from sitemapreader.readers.pages.markup import Tag, TagScanner
from sitemapreader.readers.stats import ReadStats
from sitemapreader.urls import find_url_error, resolve, same_hosts, url_key, url_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


MAX_HINTS = 100
"""Sitemaps of one page that are used."""
MAX_LINKS = 1_000
"""`<link>` and `<base>` elements of one page that are read."""
MAX_LINK_HEADER_CHARS = 65_536
"""Characters of all `Link:` headers together that are read; servers send 8 KiB at most."""
FEED_TYPES = frozenset(f"application/{kind}" for kind in ("rss+xml", "atom+xml", "rdf+xml", "rss"))

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


# -- HTML site maps

MAX_REMEMBERED_LINKS = 65_536
"""Links that are remembered, as hashes of 5 MB altogether, to deduplicate them."""
_MAX_REMEMBERED_ORIGINS = 1_024
_MAX_ORIGIN_CHARS = 300
"""A host name has at most 253 (RFC 1035, section 2.3.4)."""
_ORIGIN = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_USERINFO = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]{0,20}:)?//)[^/?#]*@")
_MARKUP = re.compile(r'[<"]')


class PageLinks:
    """The links of one document; each page of its own site becomes one entry.

    A fragment is not part of a page's URL and is removed. A link without a target, or to a place on
    the page itself, is ignored. Every other link is dropped with an Issue.
    """

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._max_chars = limits.field_chars
        self._site = stats.sitemap
        self._seen: set[int] = set()
        self._origins: dict[str, bool] = {}

    def add(
        self, events: list[Event], text: str, *, base: str = "", title: str = "", line: int
    ) -> None:
        """Append the entry of a link, or the Issue of its drop."""
        text = text.strip()
        if not text or text.startswith("#"):
            return
        url = resolve(base or self._stats.sitemap, text) or ""
        code = self._find_error(text, url)
        if code is not None:
            self.drop_link(events, code, text, line)
            return
        url = url.partition("#")[0]
        if not self._is_of_site(url):
            self.drop_link(events, IssueCode.LINK_NOT_TAKEN, text, line)
        elif self._is_new(url):
            for warning in url_warnings(url):
                self._stats.add_issue(events, warning, line=line, url=url)
            self._stats.deliver()
            events.append(UrlEntry(url, sitemap=self._stats.sitemap, title=title or None))

    def drop_link(self, events: list[Event], code: IssueCode, text: str, line: int) -> None:
        """Drop a link with an Issue."""
        # SECURITY: a password in the URL must not appear in reports.
        value = _USERINFO.sub(r"\1", text.strip())
        self._stats.drop_record(events, code, line=line, value=value or None)

    def _find_error(self, text: str, url: str) -> IssueCode | None:
        if len(text) > self._max_chars:
            return IssueCode.FIELD_TOO_LONG
        if error := find_url_error(text) or find_url_error(url):
            return error
        if _MARKUP.search(text):  # a quote was lost, and with it the link's end
            return IssueCode.MALFORMED
        if url:
            return None
        if _SCHEME.match(text):
            return IssueCode.LINK_NOT_TAKEN
        return IssueCode.MALFORMED if self._stats.sitemap else IssueCode.MISSING_BASE

    def _is_of_site(self, url: str) -> bool:
        """Return whether a URL is of the document's site; without a site every URL is."""
        origin = _ORIGIN.match(url)
        if origin is None or "@" in origin[1] or len(origin[0]) > _MAX_ORIGIN_CHARS:
            return False
        if not self._site:
            return True
        known = self._origins.get(origin[0])
        if known is None:
            if len(self._origins) >= _MAX_REMEMBERED_ORIGINS:
                self._origins.clear()
            known = self._origins[origin[0]] = same_hosts("site", self._site, f"{origin[0]}/")
        return known

    def _is_new(self, url: str) -> bool:
        if len(self._seen) >= MAX_REMEMBERED_LINKS:
            self._seen.clear()
        before = len(self._seen)
        # SECURITY: hashes of strings are keyed by process, so nobody can craft URLs that collide.
        self._seen.add(hash(url))
        return len(self._seen) > before


_NO_BASE = "about:invalid"
"""Stands for an unusable base, so that relative links are dropped: no URL, or one too long."""
_STEP = 200
"""Tags of one step, which take about 5 ms."""


class HtmlReader:
    """Reader of the links of a page, `<a href>` and `<area href>`, with `<base>`."""

    format = Format.HTML
    finished = False

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._scanner = TagScanner(("a", "area", "base"))
        self._links = PageLinks(stats, limits)
        self._base = ""

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Read the next bytes; yield, in steps, the events of complete links."""
        events: list[Event] = []
        self._stats.add_issue_once(events, IssueCode.HTML_SITEMAP)
        yield events
        yield from self._read_text(self._decoder.decode(data), final=False)

    def close(self, cut: IssueCode | None) -> Iterator[list[Event]]:
        """Yield the last events; a tag without an end is dropped."""
        yield from self._read_text(self._decoder.decode(b"", final=True), final=True)
        events: list[Event] = []
        if cut is None and not self._stats.records:
            self._stats.add_issue_once(events, IssueCode.EMPTY)
        yield events

    def _read_text(self, text: str, *, final: bool) -> Iterator[list[Event]]:
        events: list[Event] = []
        for number, tag in enumerate(self._scanner.feed(text, final=final), 1):
            self._read_tag(events, tag)
            if number % _STEP == 0:
                yield events
                events = []
        yield events

    def _read_tag(self, events: list[Event], tag: Tag) -> None:
        href = tag.attributes.get("href", "")
        if tag.name == "base":
            if not self._base and href.strip() and tag.is_whole:  # the first one counts
                base = resolve(self._stats.sitemap, href.strip())
                is_usable = base is not None and len(base) < PROTOCOL_MAX_LOC_CHARS
                self._base = base if base is not None and is_usable else _NO_BASE
        elif not tag.is_whole:
            self._links.drop_link(events, IssueCode.MALFORMED, href, tag.line)
        elif "nofollow" in tag.attributes.get("rel", "").lower().split():
            self._links.drop_link(events, IssueCode.LINK_NOT_TAKEN, href, tag.line)
        else:
            self._links.add(events, href, base=self._base, title=tag.text, line=tag.line)
