"""The media of a feed's record -> images and videos.

They are enclosures, and elements of Media RSS (https://www.rssboard.org/media-rss), which Google
reads as a format of video sitemaps.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.models import Image, Video
from sitemapreader.readers.record import find_plain_text, read_attributes
from sitemapreader.readers.vocabulary import MEDIA, Name, Names, parse_count

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

    Report: TypeAlias = Callable[..., None]
    """Is told of an element with a `value` that cannot be read."""
    ReadUrl: TypeAlias = Callable[[str, Element], str | None]
    """Returns the absolute URL that a text in an element means; `None` for none."""

_FLASH = "application/x-shockwave-flash"
"""A player, which YouTube's feeds still name."""
_CONTENTS = ("content", "enclosure", "link")
_TEXTS = {"title", "description"}
_SUFFIX = re.compile(
    r"\.(?:(jpe?g|png|gif|webp|avif|svg)|mp4|m4v|mov|webm|ogv|flv|wmv|mpe?g)\Z", re.IGNORECASE
)


def read_media(
    names: Names, record: Element, read_url: ReadUrl, report: Report
) -> tuple[tuple[Image, ...], tuple[Video, ...]]:
    """Return the images and videos of a record, each URL once.

    Of a group of versions, that is the default or the first; without any, a thumbnail.
    """
    read = partial(_read_url, read_url, report)
    images: dict[str | None, Image] = {}
    videos: dict[str | None, Video] = {}
    parts = [child for child in record if _is_media(names[child.tag], child)]
    for part in parts:
        group = part if names[part.tag].tag == "group" else [part]
        contents = (each for each in group if names[each.tag].tag in _CONTENTS)
        known = [each for each in contents if _find_kind(read_attributes(each))]
        if known:
            content = max(known, key=lambda each: read_attributes(each).get("isdefault") == "true")
            fields = {
                name.tag: child
                for scope in (record, part, content)  # the innermost comes last
                for child in reversed(scope)
                if (name := names[child.tag]).key == MEDIA
            }
            if _find_kind(read_attributes(content)) == "video":
                video = _make_video(content, fields, read, report)
                videos.setdefault(video.content_loc or video.player_loc, video)
            else:
                url = read(content)
                images.setdefault(url, Image(url or "", *_read_texts(fields)))
    images.pop(None, None)
    videos.pop(None, None)
    if not (images or videos):
        found = (each for part in parts for each in (part, *part))
        thumbnail = next((each for each in found if names[each.tag].tag == "thumbnail"), None)
        if url := read(thumbnail):
            images[url] = Image(url)
    return tuple(images.values()), tuple(videos.values())


def _is_media(name: Name, element: Element) -> bool:
    if name.own != "link" or not element.attrib:
        return name.key == MEDIA or name.own == "enclosure"
    # RFC 4287, section 4.2.7.2
    return read_attributes(element).get("rel", "").strip().lower() == "enclosure"


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


def _make_video(
    content: Element,
    fields: dict[str, Element],
    read: Callable[[Element | None], str | None],
    report: Report,
) -> Video:
    attributes = read_attributes(content)
    url = read(content)
    duration = attributes.get("duration") or None
    seconds = parse_count(duration) if duration else None
    if duration and seconds is None:
        report(content, value=duration)
    thumbnail = read(fields.get("thumbnail"))
    player = read(fields.get("player"))
    if attributes.get("type") == _FLASH:
        url, player = None, player or url
    return Video(thumbnail, *_read_texts(fields), url, player, seconds)


def _read_url(read_url: ReadUrl, report: Report, element: Element | None) -> str | None:
    if element is None:
        return None
    attributes = read_attributes(element)
    text = attributes.get("url", attributes.get("href", "")).strip()
    url = read_url(text, element) if text else None
    if text and not url:
        report(element, value=text)
    return url


def _read_texts(fields: dict[str, Element]) -> tuple[str | None, str | None]:
    """Return title and description."""
    texts = {tag: find_plain_text(fields[tag]) or None for tag in _TEXTS & fields.keys()}
    return texts.get("title"), texts.get("description")
