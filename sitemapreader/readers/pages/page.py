"""The reader of HTML site maps: pages whose links to the same site are entries."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format
from sitemapreader.options import PROTOCOL_MAX_LOC_CHARS
from sitemapreader.readers.pages.links import PageLinks
from sitemapreader.readers.pages.tags import TagScanner
from sitemapreader.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.pages.tags import Tag
    from sitemapreader.readers.stats import ReadStats

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
