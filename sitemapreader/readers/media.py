"""The media of a feed's record -> images and videos.

They are enclosures, and elements of Media RSS (https://www.rssboard.org/media-rss), which Google
reads as a format of video sitemaps.
"""

from __future__ import annotations

import re
from collections import ChainMap
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.models import Image, Video
from sitemapreader.readers.record import find_plain_text, join_texts, read_attributes
from sitemapreader.readers.vocabulary import MEDIA, Name, Names, parse_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from xml.etree.ElementTree import Element

    Report: TypeAlias = Callable[..., None]
    """Is told of an element with a `value` that cannot be read."""
    ReadUrl: TypeAlias = Callable[[str, Element], str | None]
    """Returns the absolute URL that a text in an element means; `None` for none."""
    Fields: TypeAlias = Mapping[str, Element]
    """Elements of Media RSS by their names without a prefix."""

_FLASH = "application/x-shockwave-flash"
"""A player, which YouTube's feeds still name."""
_CONTENTS = ("content", "enclosure", "link")
_SHARED = frozenset({"title", "description", "thumbnail", "player"})
"""Fields of a record that hold for each of its media."""
_MAX_SHARED_CHARS = 1_000_000
"""Characters that a field of the record may add in all, repeated by each of its media."""
_KINDS = {
    **dict.fromkeys(("jpg", "jpeg", "pjpeg", "png", "gif", "webp", "avif", "svg"), "image"),
    **dict.fromkeys(("bmp", "tif", "tiff", "heic", "heif", "ico", "icon", "apng"), "image"),
    **dict.fromkeys(("mp4", "m4v", "mov", "webm", "ogv", "flv", "wmv", "mpg", "mpeg"), "video"),
    **dict.fromkeys(("quicktime", "avi", "msvideo", "mkv", "3gp", "3gpp"), "video"),
    **dict.fromkeys(("mp3", "m4a", "m4b", "aac", "oga", "opus", "wav", "flac"), "audio"),
    **dict.fromkeys(("pdf", "epub", "zip", "gz", "doc", "docx", "xls", "xlsx"), "document"),
    **dict.fromkeys(("ppt", "pptx", "odt", "txt", "csv", "html", "xml", "torrent"), "document"),
}
"""What names a format, as the suffix of a path or in a media type -> its kind."""
_SUFFIX = re.compile(r"\.(\w{2,7})\Z", re.ASCII)

_SEEN = frozenset({"image", "video"})


def read_media(
    names: Names, record: Element, read_url: ReadUrl, report: Report
) -> tuple[tuple[Image, ...], tuple[Video, ...]]:
    """Return the images and videos of a record, each URL once.

    Of a group of versions, that is the default or the first; without any, a thumbnail.
    """
    # Media share fields of the record: each is read once, so that time is linear.
    read = cache(partial(_read_url, read_url, report))
    find_text = cache(_find_text)
    images: dict[str | None, Image] = {}
    videos: dict[str | None, Video] = {}
    parts = [child for child in record if _is_media(names[child.tag], child)]
    shared = _find_shared(names, record, len(parts), report)
    for part in parts:
        group = part if names[part.tag].tag == "group" else [part]
        contents = (each for each in group if names[each.tag].tag in _CONTENTS)
        known = [each for each in contents if _find_kind(read_attributes(each))]
        if known:
            content = max(known, key=lambda each: read_attributes(each).get("isdefault") == "true")
            fields = ChainMap(_find_fields(names, content), _find_fields(names, part), shared)
            texts = (find_text(fields.get("title")), find_text(fields.get("description")))
            if _find_kind(read_attributes(content)) == "video":
                video = _make_video(content, fields, texts, read, report)
                videos.setdefault(video.content_loc or video.player_loc, video)
            else:
                url = read(content)
                images.setdefault(url, Image(url or "", *texts))
    images.pop(None, None)
    videos.pop(None, None)
    if not (images or videos):
        found = (each for part in parts for each in (part, *part))
        thumbnail = next((each for each in found if names[each.tag].tag == "thumbnail"), None)
        if url := read(thumbnail):
            images[url] = Image(url)
    return tuple(images.values()), tuple(videos.values())


def _find_fields(names: Names, scope: Element) -> dict[str, Element]:
    """Return the elements of Media RSS directly in another one; the first of a name counts."""
    fields: dict[str, Element] = {}
    for child in scope:
        name = names[child.tag]
        if name.key == MEDIA:
            fields.setdefault(name.tag, child)
    return fields


def _find_shared(names: Names, record: Element, number: int, report: Report) -> dict[str, Element]:
    """Return the fields of a record that so many media share.

    SECURITY: a long text that thousands of media repeat is a thousand times the document.
    """
    shared = _find_fields(names, record)
    for tag, element in list(shared.items()):
        size = len(join_texts(element)) + sum(map(len, element.attrib.values()))
        if tag in _SHARED and size * number > _MAX_SHARED_CHARS:
            report(element, value=f"<{names[element.tag].local}>")
            del shared[tag]
    return shared


def _is_media(name: Name, element: Element) -> bool:
    if name.own != "link" or not element.attrib:
        return name.key == MEDIA or name.own == "enclosure"
    # RFC 4287, section 4.2.7.2
    return read_attributes(element).get("rel", "").strip().lower() == "enclosure"


def _find_kind(attributes: dict[str, str]) -> str:
    """Return "image" or "video", or "" for other media.

    Some generators write `image/` and the suffix of any file as its type. So a type of images or
    videos counts if there is such a format; else the suffix of the path counts before it.
    """
    media_type = attributes.get("type", "").partition(";")[0].strip().lower()
    said, _, subtype = media_type.partition("/")
    kind = attributes.get("medium", "").strip().lower() or said
    if media_type == _FLASH:
        return "video"
    path = attributes.get("url", attributes.get("href", "")).strip().partition("?")[0]
    suffix = _SUFFIX.search(path.partition("#")[0])
    of_path = _KINDS.get(suffix[1].lower(), "") if suffix else ""
    of_type = _KINDS.get(subtype.removeprefix("x-").partition("+")[0], "")
    if not kind:
        kind = of_path
    elif kind == said and said in _SEEN and of_type != said:
        kind = of_path or of_type or said
    return kind if kind in _SEEN else ""


def _make_video(
    content: Element,
    fields: Fields,
    texts: tuple[str | None, str | None],
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
    return Video(thumbnail, *texts, url, player, seconds)


def _read_url(read_url: ReadUrl, report: Report, element: Element | None) -> str | None:
    if element is None:
        return None
    attributes = read_attributes(element)
    text = attributes.get("url", attributes.get("href", "")).strip()
    url = read_url(text, element) if text else None
    if text and not url:
        report(element, value=text)
    return url


def _find_text(element: Element | None) -> str | None:
    return None if element is None else find_plain_text(element) or None
