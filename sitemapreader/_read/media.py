"""The media of a feed's record -> images and videos.

They are enclosures, and elements of Media RSS (https://www.rssboard.org/media-rss), which Google
reads as a format of video sitemaps.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sitemapreader._read.record import find_plain_text, get_attributes, join_texts
from sitemapreader._read.vocabulary import MEDIA, Name, Names, parse_count
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Image, Video
from sitemapreader._types.urls import PLAIN_URL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from xml.etree.ElementTree import Element

    from sitemapreader._read.record import RecordContext

    Report: TypeAlias = Callable[..., None]
    """Callback for an element with a `value` that cannot be read."""
    ReadUrl: TypeAlias = Callable[[str, Element], str | None]
    """Returns the absolute URL that a text in an element means; `None` if there is none."""
    Fields: TypeAlias = Mapping[str, Element]
    """Elements of Media RSS by their names without a prefix."""

_FLASH = "application/x-shockwave-flash"
"""A player, which YouTube's feeds still name."""
_CONTENTS = ("content", "enclosure", "link")
_SHARED_ELEMENTS = frozenset({"title", "description", "thumbnail", "player"})
"""Elements that say something of a medium, or of all media of the record in which they stand."""
_MAX_SHARED_CHARS = 1_000_000
"""Characters that a field of the record may add in all, repeated by each of its media."""
_KINDS_BY_FORMAT = {
    **dict.fromkeys(
        ("jpg", "jpeg", "pjpeg", "png", "gif", "webp", "avif", "svg"), "image"
    ),
    **dict.fromkeys(
        ("bmp", "tif", "tiff", "heic", "heif", "ico", "icon", "apng"), "image"
    ),
    **dict.fromkeys(
        ("mp4", "m4v", "mov", "webm", "ogv", "flv", "wmv", "mpg", "mpeg"), "video"
    ),
    **dict.fromkeys(("quicktime", "avi", "msvideo", "mkv", "3gp", "3gpp"), "video"),
    **dict.fromkeys(
        ("mp3", "m4a", "m4b", "aac", "oga", "opus", "wav", "flac"), "audio"
    ),
    **dict.fromkeys(
        ("pdf", "epub", "zip", "gz", "doc", "docx", "xls", "xlsx"), "document"
    ),
    **dict.fromkeys(
        ("ppt", "pptx", "odt", "txt", "csv", "html", "xml", "torrent"), "document"
    ),
}
"""Formats, as the suffix of a path or in a media type -> their kind."""
_SUFFIX = re.compile(r"\.(\w{2,7})\Z", re.ASCII)

_SEEN = frozenset({"image", "video"})


def read_media(
    context: RecordContext,
    record: Element,
    page: str,
) -> Generator[None, None, tuple[tuple[Image, ...], tuple[Video, ...]]]:
    """Return the images and videos of a record, each URL once.

    Of a group of versions, that is the default or the first; without any, a thumbnail.
    """
    names = context.names
    report = partial(context.add_issue, IssueCode.EXTENSION, url=page)
    read_url = partial(context.read_url, url=page)
    read: Callable[[Element | None], str | None] = partial(_read_url, read_url, report)
    find_text: Callable[[Element | None], str | None] = _find_text
    parts, media = yield from _find_media(context, record)
    shared = _find_fields(names, record)
    if len(media) > 1:
        # Media share fields of the record: each is read once, so that time is linear.
        read = cache(lambda element: _read_url(read_url, report, element))
        find_text = cache(find_text)
        _drop_long(names, shared, len(media), report)
    images: dict[str | None, Image] = {}
    videos: dict[str | None, Video] = {}
    for part, content in media:
        fields = {**shared, **_find_fields(names, part)}
        if content.element is not part:
            fields |= _find_fields(names, content.element)
        texts = (find_text(fields.get("title")), find_text(fields.get("description")))
        url = read(content.element)
        if content.kind == "video":
            video = _make_video(content, url, fields, texts, read, report)
            videos.setdefault(video.content_loc or video.player_loc, video)
        else:
            images.setdefault(url, Image(url or "", *texts))
        if context.is_due():
            yield
    images.pop(None, None)
    videos.pop(None, None)
    if not (images or videos):
        below = (each for part in parts for each in (part, *part))
        thumbnail = next(
            (each for each in below if names[each.tag].tag == "thumbnail"), None
        )
        if url := read(thumbnail):
            images[url] = Image(url)
    return tuple(images.values()), tuple(videos.values())


def find_single_image(names: Names, part: Element) -> tuple[Image, ...] | None:
    """Return the image of a record with one part of media; `None` if it needs a closer look."""
    if len(part):
        return None
    content = _find_content(names, part)
    if content is None and names[part.tag].tag != "thumbnail":
        return ()
    attributes = get_attributes(part)
    url = attributes.get("url", attributes.get("href", "")).strip()
    if (content and content.kind == "video") or not PLAIN_URL.fullmatch(url):
        return None
    return (Image(url),)


def _find_media(
    context: RecordContext, record: Element
) -> Generator[None, None, tuple[list[Element], list[tuple[Element, _Content]]]]:
    """Return the elements of media; also with the version that counts, where there is one."""
    parts = []
    media = []
    for child in record:
        if _is_media(context.names[child.tag], child):
            parts.append(child)
            if content := _find_content(context.names, child):
                media.append((child, content))
        if context.is_due():
            yield
    return parts, media


class _Content(NamedTuple):
    """The version of a medium that counts: an image or a video."""

    element: Element
    attributes: dict[str, str]
    kind: str


def _find_content(names: Names, part: Element) -> _Content | None:
    """Return the default version of a medium, or else the first that is an image or a video."""
    first = None
    for each in part if names[part.tag].tag == "group" else (part,):
        if names[each.tag].tag in _CONTENTS:
            attributes = get_attributes(each)
            if kind := _find_kind(attributes):
                content = _Content(each, attributes, kind)
                if attributes.get("isdefault") == "true":
                    return content
                first = first or content
    return first


def _find_fields(names: Names, scope: Element) -> dict[str, Element]:
    """Return the fields of Media RSS directly in an element; the first of a name counts."""
    fields: dict[str, Element] = {}
    for child in scope:
        name = names[child.tag]
        if name.key == MEDIA and name.tag in _SHARED_ELEMENTS:
            fields.setdefault(name.tag, child)
    return fields


def _drop_long(
    names: Names,
    shared: dict[str, Element],
    number: int,
    report: Report,
) -> None:
    """Drop fields of a record that are too long to be repeated for this many media.

    SECURITY: a long text that thousands of media repeat is a thousand times the document.
    """
    for tag, element in list(shared.items()):
        size = len(join_texts(element)) + sum(map(len, element.attrib.values()))
        if size * number > _MAX_SHARED_CHARS:
            report(element, value=f"<{names[element.tag].local}>")
            del shared[tag]


def _is_media(name: Name, element: Element) -> bool:
    if name.own == "link":
        return is_enclosure(element)
    return name.key == MEDIA or name.own == "enclosure"


def is_enclosure(link: Element) -> bool:
    """Return whether a link leads to a medium (RFC 4287, section 4.2.7.2)."""
    if not link.keys():  # as a link of RSS has none
        return False
    return get_attributes(link).get("rel", "").strip().lower() == "enclosure"


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
    if subtype:
        of_type = _KINDS_BY_FORMAT.get(subtype.removeprefix("x-").partition("+")[0], "")
    else:
        of_type = ""
    if not kind:
        kind = _find_kind_of_path(attributes)
    elif kind == said and said in _SEEN and of_type != said:
        kind = _find_kind_of_path(attributes) or of_type or said
    return kind if kind in _SEEN else ""


def _find_kind_of_path(attributes: dict[str, str]) -> str:
    url = attributes.get("url", attributes.get("href", "")).strip()
    path = url.partition("?")[0].partition("#")[0]
    suffix = _SUFFIX.search(path)
    if suffix:
        return _KINDS_BY_FORMAT.get(suffix[1].lower(), "")
    return ""


def _make_video(
    content: _Content,
    url: str | None,
    fields: Fields,
    texts: tuple[str | None, str | None],
    read: Callable[[Element | None], str | None],
    report: Report,
) -> Video:
    attributes = content.attributes
    duration = attributes.get("duration") or None
    seconds = parse_count(duration) if duration else None
    if duration and seconds is None:
        report(content.element, value=duration)
    thumbnail = read(fields.get("thumbnail"))
    player = read(fields.get("player"))
    if attributes.get("type") == _FLASH:
        url, player = None, player or url
    return Video(thumbnail, *texts, url, player, seconds)


def _read_url(
    read_url: ReadUrl,
    report: Report,
    element: Element | None,
) -> str | None:
    if element is None:
        return None
    attributes = get_attributes(element)
    text = attributes.get("url", attributes.get("href", "")).strip()
    url = read_url(text, element) if text else None
    if text and not url:
        report(element, value=text)
    return url


def _find_text(element: Element | None) -> str | None:
    if element is None:
        return None
    return find_plain_text(element) or None
