"""Tokens of feeds -> entries: link and date stand in a record itself, the rest does not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import UrlEntry
from sitemapreader.readers.lexicon import LEXICONS, LINK, LOC, RECORD
from sitemapreader.readers.links import choose_link
from sitemapreader.readers.tokens import ATTRIBUTE_NAMES, Doubt

if TYPE_CHECKING:
    from sitemapreader.models import Format
    from sitemapreader.options import Limits
    from sitemapreader.readers.tokens import Entry, Token


def read_items(  # noqa: C901, PLR0912, PLR0915 (one loop, as in `mixed`)
    tokens: list[Token], format_: Format, sitemap: str, limits: Limits
) -> list[Entry]:
    """Return the entries of a batch of tokens, start tags included, dates as texts; raise Doubt."""
    fields = LEXICONS[format_].fields
    last_field = LOC + fields
    max_attributes, max_depth = limits.attributes, limits.record_depth
    slots: list[str | None] = [None] * fields
    links: list[dict[str, str]] = []
    depth = -1
    is_leaf = False
    text: str | None = None
    attributes: dict[str, str] = {}
    entries: list[Entry] = []
    for token in tokens:
        kind = type(token)
        if kind is str:
            text = token
            continue
        if kind is dict:
            depth += 1
            is_leaf = True
            attributes = token
            text = None
            if depth > max_depth or len(attributes) > max_attributes:
                raise Doubt
            continue
        depth -= 1
        if depth == 1:
            if token == RECORD:
                raise Doubt
            if token == LINK:
                if not is_leaf or not attributes.keys() <= ATTRIBUTE_NAMES:
                    raise Doubt
                links.append(attributes)
            elif LOC <= token < last_field:
                if not is_leaf:
                    raise Doubt
                if text is not None and (value := text.strip()):
                    if slots[token - LOC] is not None:
                        raise Doubt
                    slots[token - LOC] = value
        elif token == RECORD:
            link = choose_link(links)
            loc = link["href"].strip() if link else slots[0]
            if depth or loc is None:
                raise Doubt
            date = next((value for value in slots[1:] if value), None)
            entries.append(UrlEntry(loc, sitemap=sitemap, lastmod_text=date))
            slots = [None] * fields
            links = []
        elif depth <= 0:  # between two records
            raise Doubt
        is_leaf = False
        text = None
    return entries
