"""The media of a feed's record -> images and videos.

They are enclosures, and elements of Media RSS (https://www.rssboard.org/media-rss), which Google
reads as a format of video sitemaps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from sitemapreader.models import Image, Price, Restriction, Video
from sitemapreader.readers.records.context import find_plain_text, join_texts, read_attributes
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


class MediaReader:
    """Reader of the media of one record, of which `record` may hold the media alone."""

    def __init__(self, names: Names, record: Element, report: Report) -> None:
        self._names = names
        self._record = record
        self._report = report

    def read(self) -> dict[str, tuple[Any, ...]]:
        """Return images and videos, each URL once."""
        if not any(map(self._is_media, self._record)):
            return {"images": (), "videos": ()}
        images: dict[str | None, Image] = {}
        videos: dict[str | None, Video] = {}
        for content, fields in self._list_contents():
            attributes = read_attributes(content)
            kind = _find_kind(attributes)
            url = self._read_url(content) if kind else None
            if kind == "image" and url:
                title, caption = (_read_text(fields, tag) for tag in ("title", "description"))
                images.setdefault(url, Image(url, title, caption))
            elif kind == "video" and (url or "player" in fields):
                is_player = attributes.get("type") == _FLASH
                video = self._make_video(fields, content, None if is_player else url)
                video.player_loc = video.player_loc or (url if is_player else None)
                videos.setdefault(url or video.player_loc, video)
        fields = self._find_fields(self._record, *self._find(self._record, "group"))
        if not videos and "player" in fields:
            video = self._make_video(fields, fields["player"], None)
            videos = {video.player_loc: video} if video.player_loc else {}
        if not (images or videos) and "thumbnail" in fields:
            url = self._read_url(fields["thumbnail"])
            images = {url: Image(url)} if url else {}
        return {"images": tuple(images.values()), "videos": tuple(videos.values())}

    def _list_contents(self) -> Iterator[tuple[Element, Fields]]:
        """Yield each medium, and of a group of versions the default or the first."""
        record = self._record
        for child in record:
            name = self._names[child.tag]
            if (name.key, name.tag) == (MEDIA, "group"):
                contents = self._find(child, "content")
                contents = [each for each in contents if _find_kind(read_attributes(each))]
                if contents:
                    chosen = max(contents, key=_is_default)
                    yield chosen, self._find_fields(record, child, chosen)
            elif (name.key, name.tag) == (MEDIA, "content"):
                yield child, self._find_fields(record, child)
            elif name.key != MEDIA and self._is_media(child):
                yield child, self._find_fields(record)

    def _is_media(self, element: Element) -> bool:
        name = self._names[element.tag]
        if name.key == MEDIA or name.own == "enclosure":
            return True
        return name.own == "link" and bool(element.attrib) and is_enclosure(element)

    def _find(self, element: Element, tag: str) -> list[Element]:
        names = ((self._names[child.tag], child) for child in element)
        return [child for name, child in names if (name.key, name.tag) == (MEDIA, tag)]

    def _find_fields(self, *scopes: Element) -> Fields:
        """Return what is said in elements, of which the innermost comes last."""
        fields: Fields = {}
        for scope in scopes:
            for child in reversed(scope):
                name = self._names[child.tag]
                if name.key == MEDIA:
                    fields[name.tag] = child
        return fields

    def _make_video(self, fields: Fields, content: Element, url: str | None) -> Video:
        duration = read_attributes(content).get("duration") or None
        seconds = parse_count(duration) if duration else None
        if duration and seconds is None:
            self._report(content, value=duration)
        thumbnail, player = (fields.get(tag) for tag in ("thumbnail", "player"))
        keywords = (_read_text(fields, "keywords") or "").split(",")
        return Video(
            thumbnail_loc=None if thumbnail is None else self._read_url(thumbnail),
            title=_read_text(fields, "title"),
            description=_read_text(fields, "description"),
            content_loc=url,
            player_loc=None if player is None else self._read_url(player),
            duration=seconds,
            category=_read_text(fields, "category"),
            tags=tuple(filter(None, map(str.strip, keywords))),
            prices=_read_prices(fields),
            restriction=_read_restriction(fields),
        )

    def _read_url(self, element: Element) -> str | None:
        attributes = read_attributes(element)
        url = attributes.get("url", attributes.get("href", "")).strip()
        if url and parse_reference(url) is None:
            self._report(element, value=url)
            return None
        return url or None


def is_enclosure(link: Element) -> bool:
    """Return whether a link of Atom leads to an enclosure (RFC 4287, section 4.2.7.2)."""
    return read_attributes(link).get("rel", "").strip().lower() == "enclosure"


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


def _read_text(fields: Fields, tag: str) -> str | None:
    return find_plain_text(fields[tag]) or None if tag in fields else None


def _read_restriction(fields: Fields) -> Restriction | None:
    element = fields.get("restriction")
    attributes = {} if element is None else read_attributes(element)
    if element is None or attributes.get("type") != "country":
        return None
    return Restriction(tuple(join_texts(element).split()), attributes.get("relationship"))


def _read_prices(fields: Fields) -> tuple[Price, ...]:
    attributes = read_attributes(fields["price"]) if "price" in fields else {}
    amount = attributes.get("price", "").strip()
    return (Price(amount, attributes.get("currency"), attributes.get("type")),) if amount else ()
