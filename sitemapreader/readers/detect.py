"""The choice of a reader by the first bytes of a document.

URL and Content-Type are ignored: both are often wrong.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format
from sitemapreader.readers.decode.charset import has_conflicting_encodings
from sitemapreader.readers.formats import ROOTLESS, ROOTS
from sitemapreader.readers.json_feed import VERSION, JsonFeedReader
from sitemapreader.readers.pages.llms import LlmsReader
from sitemapreader.readers.pages.page import HtmlReader
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.text import TextReader
from sitemapreader.readers.xml.prolog import NotXmlError, PrologReader
from sitemapreader.readers.xml.reader import XmlReader
from sitemapreader.urls import begins_as_url

if TYPE_CHECKING:
    from collections.abc import Collection

    from sitemapreader.models import Event
    from sitemapreader.options import Limits

Reader: TypeAlias = XmlReader | TextReader | JsonFeedReader | HtmlReader | LlmsReader

# Searched anywhere in the first bytes: front matter or warnings of a script may stand before it.
_XML_BEGINS = re.compile(
    rf"<(?:[\w.-]+:)?(?:{'|'.join((*ROOTS, *ROOTLESS))})[\s>/]".encode(), re.IGNORECASE
)
_HEADING = re.compile(rb"#[ \t]+\S")
"""The start of an llms.txt, and its only mandatory part (https://llmstxt.org)."""
_OBJECT = re.compile(rb'\{\s*"')
_SAMPLE_LINES = 20


def choose_reader(
    events: list[Event],
    stats: ReadStats,
    limits: Limits,
    first: bytes,
    extra_formats: Collection[Format] = (),
    *,
    keeps_deleted: bool = False,
) -> Reader | None:
    """Choose a reader by the first bytes; `None`, with an Issue, if no reader fits.

    Args:
        events: gets the Issue.
        stats: the counts of the document.
        limits: the limits of the reader.
        first: the first bytes of the document, in UTF-8.
        extra_formats: formats besides sitemaps and feeds that may be chosen.
        keeps_deleted: as in `SitemapReader`.
    """
    start = first.lstrip()
    if start.startswith(b"<"):
        if Format.HTML in extra_formats and is_html(first):
            return HtmlReader(stats, limits)
        return XmlReader(stats, limits, keeps_deleted=keeps_deleted)
    if not start:
        stats.add_issue(events, IssueCode.EMPTY)
        return None
    if _is_text(start):
        return TextReader(stats, limits)
    if Format.LLMS in extra_formats and _HEADING.match(start):
        return LlmsReader(stats, limits)
    if _XML_BEGINS.search(first) and not VERSION.search(first.decode("utf-8", "replace")):
        return XmlReader(stats, limits, keeps_deleted=keeps_deleted)
    if _OBJECT.match(start):
        return JsonFeedReader(stats, limits)
    stats.add_issue(events, IssueCode.NOT_A_SITEMAP, value=start[:40].decode("latin-1"))
    return None


def is_html(first: bytes) -> bool:
    """Return whether a document is an HTML page, by the rules of the XML reader."""
    try:
        PrologReader(ReadStats()).feed([], first.decode("utf-8", "replace"), final=True)
    except NotXmlError as error:
        return error.code is IssueCode.HTML_NOT_SITEMAP
    return False


def is_conclusive(first: bytes, charset: str | None) -> bool:
    """Return whether more bytes could not change the choice of reader and encoding."""
    # Of two encodings that conflict, the bytes decide, and the more the better.
    is_known = first.startswith(b"<") or begins_as_url(first)
    return is_known and not has_conflicting_encodings(first, charset)


def _is_text(start: bytes) -> bool:
    """Return whether the first line is a URL, or most of the first lines are."""
    lines = [line.strip(b"\"' \t") for line in start[:65_536].splitlines() if line.strip()]
    sample = [begins_as_url(line) for line in lines[:_SAMPLE_LINES]]
    return sample[0] or (b"\0" not in start and sum(sample) * 2 > len(sample))
