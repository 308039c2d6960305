"""Plain records, the ones that most generators write: their texts are the values.

The pattern allows only what needs no Issue and no closer look, in the order of the protocol. So
nothing that it has matched is looked at again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sitemapreader._read.vocabulary import CHANGEFREQS, RECORD_OF
from sitemapreader._read.xml.grammar import GAP, REST
from sitemapreader._read.xml.record_texts import (
    COMMON_PRIORITIES,
    build_sitemap_entries,
    build_url_entries,
)
from sitemapreader._types.dates import PLAIN_DATE, parse_plain_dates
from sitemapreader._types.models import Format
from sitemapreader._types.urls import are_clean_urls

if TYPE_CHECKING:
    from sitemapreader._types.rows import Events

_PRINTABLE_COMMENT = r"<!--(?>(?:[ -,.-~\t\n]++|-(?!-))*)-->"
_PLAIN_TEXTS = {
    "loc": "https?://[^<]++",
    "lastmod": PLAIN_DATE.pattern,
    "changefreq": "|".join(CHANGEFREQS),
    "priority": r"[01]|0\.\d\d?|1\.00?",
}
"""Field of the protocol -> its plain texts."""


@lru_cache(maxsize=64)
def write_plain_pattern(format_: Format, prefix: str) -> re.Pattern[str]:
    """Write the pattern of a format's plain records, whose names may begin with `s:`, say.

    Its groups are the texts of the fields, and `rest`: all that is left, from the first place on at
    which no plain record is.
    """
    loc, *others = (
        f"<{prefix}{tag}>({text})</{prefix}{tag}>{GAP}"
        for tag, text in _PLAIN_TEXTS.items()
    )
    # an empty alternative takes less time than `?`
    optional = "".join(f"(?>{field}|)" for field in others)
    record = prefix + RECORD_OF[format_]
    comments = f"(?>(?:{_PRINTABLE_COMMENT}{GAP})*)"
    return re.compile(
        f"<{record}>{GAP}{loc}{optional}</{record}>{GAP}{comments}|{REST}", re.ASCII
    )


def take_plain_records(
    pattern: re.Pattern[str],
    format_: Format,
    sitemap: str,
    text: str,
) -> tuple[Events, str]:
    """Return the entries of the plain records that a text begins with, and the rest of it."""
    # one flat list: an empty text, then for each match its groups and an empty text
    flat = pattern.split(text)
    width = pattern.groups + 1
    rest = flat[-2] or ""
    if rest:
        del flat[-width:]
    locs, *others = [flat[group::width] for group in range(1, pattern.groups)]
    lastmods, changefreqs, priorities = [
        column if any(column) else None for column in others
    ]
    try:
        moments = lastmods and parse_plain_dates(lastmods)
    except ValueError:  # 30 February
        return [], text
    # XML's rules for characters, too: all others are of the pattern
    if not (are_clean_urls(locs) and "".join(locs).isprintable()):
        return [], text
    dates = (moments, lastmods)
    if format_ is Format.INDEX:
        return build_sitemap_entries(sitemap, locs, dates), rest
    numbers = priorities and list(map(COMMON_PRIORITIES.get, priorities))
    entries = build_url_entries(
        sitemap, locs, dates, (changefreqs, changefreqs), (numbers, priorities)
    )
    return entries, rest
