"""The reader of HTML site maps: links to pages of the same site are entries."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Event, Format, UrlEntry
from sitemapreader.options import PROTOCOL_MAX_LOC_CHARS, Limits
from sitemapreader.readers.pages.markup import Tag, TagScanner
from sitemapreader.urls import find_url_error, resolve, same_hosts, url_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.readers.stats import ReadStats

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
