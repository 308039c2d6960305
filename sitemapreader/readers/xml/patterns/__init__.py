"""The patterns: common records, a batch by one regular expression.

`start_patterns` gives the reader of a document's common records; `read_small` reads a whole small
document at once, as most come. What neither takes is read by the tree, to the same values. This is
all that other modules know of patterns, and `PATTERNS` turns all of them off.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sitemapreader.options import PATTERNS, Limits
from sitemapreader.readers.records.vocabulary import Names
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.xml.boundaries import is_end
from sitemapreader.readers.xml.characters import COMMENT, ILLEGAL
from sitemapreader.readers.xml.patterns.reader import PatternReader
from sitemapreader.readers.xml.prolog import Prolog, PrologReader
from sitemapreader.readers.xml.tree import TreeReader

if TYPE_CHECKING:
    from sitemapreader.models import Event, Format
    from sitemapreader.rows import Events

__all__ = ["SMALL_BYTES", "PatternReader", "read_small", "start_patterns"]

SMALL_BYTES = 65_535
_MAX_ROOT_CHARS = 1_000
_LIMITS = (
    *("inflated_bytes", "record_bytes", "record_depth", "record_elements"),
    *("field_chars", "attributes", "names", "entries"),
)
"""Whose defaults no small document can reach, or the pattern keeps."""
_ROOT = re.compile(
    r"""(?:<\?xml version=(?:"1\.0"|'1\.0')(?: encoding=(?:"(?ai:utf-8)"|'(?ai:utf-8)'))?"""
    r"""(?: standalone=(?:"(?:yes|no)"|'(?:yes|no)'))? ?\?>)?"""
    rf"""(?>(?:[ \t\r\n]++|{COMMENT}|<\?xml-stylesheet [^?<>]*+\?>)*)"""
    r"""(<(?:urlset|sitemapindex|rss|feed|rdf:RDF)"""
    r"""(?>(?:[ \t\r\n]++[\w:.-]++=(?:"[^"<&]*+"|'[^'<&]*+'))*)[ \t\r\n]*+>)"""
)


def start_patterns(
    prolog: Prolog, names: Names, tree: TreeReader, limits: Limits
) -> PatternReader | None:
    """Return the reader of common records; `None` if patterns are off."""
    return PatternReader(prolog, names, tree, limits) if PATTERNS else None


def read_small(data: bytes, stats: ReadStats, limits: Limits) -> tuple[Format, Events] | None:
    """Return format and entries of a whole document; `None` if it is not simple.

    One expression reads its root, the pattern reads its records, and then it must end.
    """
    if not (PATTERNS and _allow_all(limits)):
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    root = _ROOT.match(text)
    if root is None or len(root[1]) > _MAX_ROOT_CHARS or ILLEGAL.search(text, 0, root.start(1)):
        return None
    known = _learn_root(root[1])
    if known is None:
        return None
    pattern, name, format_ = known
    start, channel = pattern.find_head(text, root.end())
    parts, end = pattern.read(text, start, stats.sitemap)
    if len(parts) != 1:
        return None
    events, odd = parts[0]
    if odd or not is_end(text, end, [channel, name] if channel else [name]):
        return None
    stats.inflated_bytes = len(data)
    stats.deliver(len(events))
    return format_, events


@lru_cache(maxsize=64)
def _learn_root(tag: str) -> tuple[PatternReader, str, Format] | None:
    """Return the record reader behind a root's start tag, its name, and the format.

    `None` if the tag needs an Issue, or has a base.
    """
    events: list[Event] = []
    found = PrologReader(ReadStats()).feed(events, tag, final=True)
    if found is None or events or found[0].bases:
        return None
    prolog = found[0]
    limits = Limits()
    # Documents and threads share this reader. What it learns from one of them only decides how the
    # next one is read, never what comes of it: with a full table of names, in the usual way.
    names = Names(prolog.uri, prolog.format, limits.names)
    tree = TreeReader(prolog, limits)
    return PatternReader(prolog, names, tree, limits), prolog.root, prolog.format


@lru_cache(maxsize=16)
def _allow_all(limits: Limits) -> bool:
    """Return whether no small document can reach a limit."""
    return all(getattr(limits, name) >= getattr(Limits(), name) for name in _LIMITS)
