"""The media of a feed's record -> images and videos.

They are enclosures, and elements of Media RSS (https://www.rssboard.org/media-rss), which Google
reads as a format of video sitemaps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from sitemapreader.models import Image, Video
from sitemapreader.readers.records.context import find_plain_text, read_attributes
from sitemapreader.readers.records.vocabulary import MEDIA, Names, parse_count
from sitemapreader.urls import parse_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from xml.etree.ElementTree import Element

    Report: TypeAlias = Callable[..., None]
    """Is told of an element with a `value` that cannot be read."""
    Fields: TypeAlias = dict[str, Element]
    """What is said of media, by tag."""

_FLASH = "application/x-shockwave-flash"
_SUFFIX = re.compile(
    r"\.(?:(jpe?g|png|gif|webp|avif|svg)|mp4|m4v|mov|webm|ogv|flv|wmv|mpe?g)\Z", re.IGNORECASE
)


def read_media(names: Names, record: Element, report: Report) -> dict[str, tuple[Any, ...]]:
    """Return the images and videos of a record, each URL once."""
    images: dict[str, Image] = {}
    videos: dict[str, Video] = {}
    if not any(_is_media(names, child) for child in record):
        return {"images": (), "videos": ()}
    for content, fields in _list_contents(names, record):
        attributes = read_attributes(content)
        kind = _find_kind(attributes)
        url = _read_url(content, report) if kind else None
        if kind == "image" and url:
            title, caption = _read_text(fields, "title"), _read_text(fields, "description")
            images.setdefault(url, Image(url, title, caption))
        elif kind == "video":
            video = _make_video(fields, report, content, url)
            if key := url or video.player_loc:
                videos.setdefault(key, video)
    # a player or a thumbnail without a medium stands for what it leads to
    fields = _find_fields(names, record, *_find(names, record, "group"))
    if not videos and "player" in fields and (video := _make_video(fields, report)).player_loc:
        videos[video.player_loc] = video
    if not (images or videos) and (url := _read_url(fields.get("thumbnail"), report)):
        images[url] = Image(url)
    return {"images": tuple(images.values()), "videos": tuple(videos.values())}


def _list_contents(names: Names, record: Element) -> Iterator[tuple[Element, Fields]]:
    """Yield each medium, and of a group of versions the default or the first."""
    for child in record:
        name = names[child.tag]
        if name.key == MEDIA and name.tag == "group":
            contents = _find(names, child, "content")
            known = [each for each in contents if _find_kind(read_attributes(each))]
            if known:
                chosen = max(known, key=_is_default)
                yield chosen, _find_fields(names, record, child, chosen)
        elif name.key == MEDIA and name.tag == "content":
            yield child, _find_fields(names, record, child)
        elif name.key != MEDIA and _is_media(names, child):
            yield child, _find_fields(names, record)


def _find(names: Names, scope: Element, tag: str) -> list[Element]:
    found = ((names[child.tag], child) for child in scope)
    return [child for name, child in found if (name.key, name.tag) == (MEDIA, tag)]


def _find_fields(names: Names, *scopes: Element) -> Fields:
    """Return what is said in elements, of which the innermost comes last."""
    return {
        name.tag: child
        for scope in scopes
        for child in reversed(scope)
        if (name := names[child.tag]).key == MEDIA
    }


def _is_media(names: Names, element: Element) -> bool:
    name = names[element.tag]
    if name.own != "link" or not element.attrib:
        return name.key == MEDIA or name.own == "enclosure"
    # RFC 4287, section 4.2.7.2
    return read_attributes(element).get("rel", "").strip().lower() == "enclosure"


def _make_video(
    fields: Fields, report: Report, content: Element | None = None, url: str | None = None
) -> Video:
    attributes = {} if content is None else read_attributes(content)
    is_player = attributes.get("type") == _FLASH
    duration = attributes.get("duration") or None
    seconds = parse_count(duration) if duration else None
    if duration and seconds is None:
        report(content, value=duration)
    return Video(
        thumbnail_loc=_read_url(fields.get("thumbnail"), report),
        title=_read_text(fields, "title"),
        description=_read_text(fields, "description"),
        content_loc=None if is_player else url,
        player_loc=_read_url(fields.get("player"), report) or (url if is_player else None),
        duration=seconds,
    )


def _find_kind(attributes: dict[str, str]) -> str:
    """Return "image" or "video", or "" for other media."""
    media_type = attributes.get("type", "").strip().lower()
    kind = attributes.get("medium", "").strip().lower() or media_type.partition("/")[0]
    if media_type == _FLASH or kind == "video":
        return "video"
    if kind:
        return kind if kind == "image" else ""
    path = attributes.get("url", attributes.get("href", "")).strip().partition("?")[0]
    if suffix := _SUFFIX.search(path):
        return "image" if suffix[1] else "video"
    return ""


def _is_default(content: Element) -> bool:
    return read_attributes(content).get("isdefault", "").lower() == "true"


def _read_url(element: Element | None, report: Report) -> str | None:
    attributes = {} if element is None else read_attributes(element)
    url = attributes.get("url", attributes.get("href", "")).strip()
    if url and parse_reference(url) is None:
        report(element, value=url)
        return None
    return url or None


def _read_text(fields: Fields, tag: str) -> str | None:
    return find_plain_text(fields[tag]) or None if tag in fields else None
