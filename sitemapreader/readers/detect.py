"""The first bytes of a document -> which reader it is for. Never its URL, never Content-Type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.encoding import has_conflicting_encodings
from sitemapreader.readers.roots import ROOTLESS, ROOTS
from sitemapreader.readers.text import TextReader
from sitemapreader.readers.xml.reader import XmlReader
from sitemapreader.urls import begins_as_url

if TYPE_CHECKING:
    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

# What begins one of our XML documents, wherever it stands: behind front matter, warnings, blanks.
_XML_BEGINS = re.compile(
    rf"<(?:[\w.-]+:)?(?:{'|'.join((*ROOTS, *ROOTLESS))})[\s>/]".encode(), re.IGNORECASE
)
_SAMPLE_LINES = 20


def choose_reader(
    events: list[Event], stats: ReadStats, limits: Limits, first: bytes
) -> XmlReader | TextReader | None:
    """Choose a reader by the first bytes, in UTF-8; `None`, with an Issue, if there is none."""
    start = first.lstrip()
    if start.startswith(b"<"):
        return XmlReader(stats, limits)
    if not start:
        stats.note(events, IssueCode.EMPTY)
        return None
    if _is_text(start):
        return TextReader(stats, limits)
    if _XML_BEGINS.search(first):
        return XmlReader(stats, limits)
    stats.note(events, IssueCode.NOT_A_SITEMAP, value=start[:40].decode("latin-1"))
    return None


def is_conclusive(first: bytes, charset: str | None) -> bool:
    """Tell whether the first bytes leave nothing to be chosen by what comes after them.

    They begin as XML or as a URL, and what is said of their encoding needs no proof by the bytes.
    """
    is_plain = first.startswith(b"<") or begins_as_url(first)
    return is_plain and not has_conflicting_encodings(first, charset)


def _is_text(start: bytes) -> bool:
    """Tell whether the first lines are URLs: the very first, or most of them."""
    lines = [line.strip() for line in start[:65_536].splitlines() if line.strip()]
    sample = [begins_as_url(line) for line in lines[:_SAMPLE_LINES]]
    return sample[0] or (b"\0" not in start and sum(sample) * 2 > len(sample))
