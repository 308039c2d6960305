"""The texts of a feed's records by columns, from elements that the tree has built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader._read.entries import group_fields
from sitemapreader._read.media import find_single_image
from sitemapreader._read.record import find_plain_text
from sitemapreader._read.vocabulary import FEED_DATES, MEDIA
from sitemapreader._read.xml.record_texts import RecordTexts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from sitemapreader._read.entries import Fields
    from sitemapreader._read.stats import ReadStats
    from sitemapreader._read.vocabulary import Names
    from sitemapreader._types.models import Image

_OTHER_RELATIONS = frozenset({"self", "edit", "replies", "related", "via"})
"""Relations of links that lead neither to the page of an entry nor to a medium."""


def collect_feed_texts(
    stats: ReadStats, elements: list[Element], names: Names
) -> RecordTexts:
    """Find URL, date and title of a feed's records; one with anything less common is odd."""
    record = names[elements[0].tag].tag
    find_link = _find_single_alternate if record == "entry" else _find_single_text
    locs: list[str] = []
    lastmods: list[str] = []
    titles: list[str] = []
    images: dict[int, tuple[Image, ...]] = {}
    odd: set[int] = set()
    for place, element in enumerate(elements):
        fields = group_fields(names, element)
        loc = find_link(fields.get("link", ()))
        lastmod = _find_date_text(fields, FEED_DATES[record])
        if parts := fields.get(MEDIA):
            found = find_single_image(names, parts[0]) if len(parts) == 1 else None
            if found is None:
                odd.add(place)
            else:
                images[place] = found
        if loc is None or lastmod is None:
            odd.add(place)
        locs.append(loc or "")
        lastmods.append(lastmod or "")
        titles.append(_find_title(fields.get("title", ())))
    columns = [locs, lastmods, list[str](), list[str]()]
    return RecordTexts(stats, len(elements), columns, odd, titles=titles, images=images)


def _find_single_text(elements: Sequence[Element]) -> str | None:
    """Return the text of the only element, "" if there is none; `None` for any other case."""
    if not elements:
        return ""
    first = elements[0]
    if len(elements) > 1 or len(first) or first.keys():
        return None
    return first.text


def _find_title(elements: Sequence[Element]) -> str:
    """Return the text of the first title that has some."""
    if single := _find_single_text(elements):
        return single
    return next(filter(None, map(find_plain_text, elements)), "")


def _find_single_alternate(links: Sequence[Element]) -> str | None:
    """Return where the only alternate link of an entry leads; `None` for any other case."""
    href = None
    for link in links:
        relation = link.get("rel", "alternate")
        if relation == "alternate" and href is None:
            href = link.get("href")
        elif relation not in _OTHER_RELATIONS:
            return None
    return href


def _find_date_text(fields: Fields, dates: Sequence[str]) -> str | None:
    """Return the text of the best date, "" if there is none; `None` for any other case."""
    for field in dates:
        if elements := fields.get(field):
            return _find_single_text(elements)
    return ""
