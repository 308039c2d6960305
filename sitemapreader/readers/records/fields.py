"""The tables of fields: the names of each, and the parser of its value.

One row a field, one table an extension. The pattern is written from them, and elements are looked
up in them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.models import Format, Image, News, Price, Restriction, Video
from sitemapreader.readers.records.namespaces import ATOM, DC, IMAGE, NEWS, OWN, VIDEO
from sitemapreader.urls import parse_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# https://www.sitemaps.org/protocol.html#changefreqdef
CHANGEFREQS = {
    word: word for word in ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
}
_PRIORITY = re.compile(r"(?:0?\.\d{1,6}|0(?:\.\d{0,6})?|1(?:\.0{0,6})?)", re.ASCII)
_COUNT = re.compile("[0-9]{1,15}")
_RATING = re.compile(r"[0-4](?:\.[0-9]{1,6})?|5(?:\.0{1,6})?")
_YES_NO = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}


def parse_changefreq(text: str) -> str | None:
    """Read a changefreq in any case."""
    return CHANGEFREQS.get(text) or CHANGEFREQS.get(text.lower())


def parse_priority(text: str) -> float | None:
    """Read a priority from 0.0 to 1.0."""
    return float(text) if len(text) <= 9 and _PRIORITY.fullmatch(text) else None


def take_text(text: str) -> str:
    """Return a text as the value."""
    return text


def parse_count(text: str) -> int | None:
    """Read a whole number of seconds or views."""
    return int(text) if _COUNT.fullmatch(text) else None


def _rating(text: str) -> float | None:
    return float(text) if _RATING.fullmatch(text) else None


def _yes_no(text: str) -> bool | None:
    return _YES_NO.get(text.lower())


def _restriction(text: str, attributes: dict[str, str]) -> Restriction:
    return Restriction(tuple(text.split()), attributes.get("relationship"))


def _price(text: str, attributes: dict[str, str]) -> Price:
    return Price(text, *map(attributes.get, ("currency", "type", "resolution")))


@attrs.frozen
class Field:
    """One field of an extension.

    Attributes:
        tag: local name of its element, in lower case.
        slot: the value's name in the model, where that is not the tag.
        parse: reads its text; `None` for one that cannot be read.
        many: the values are collected into a tuple.
        build: reads text and attributes, where these belong to the value.
        attributes: attributes that are fields of their own: name, slot, parse.
    """

    tag: str
    slot: str = ""
    parse: Callable[[str], object | None] = take_text
    many: bool = False
    build: Callable[[str, dict[str, str]], object] | None = None
    attributes: tuple[tuple[str, str, Callable[[str], object | None]], ...] = ()

    @property
    def name(self) -> str:
        """The value's name in the model."""
        return self.slot or self.tag


@attrs.frozen
class Extension:
    """An extension of the protocol: an element in a `<url>` that becomes one value.

    Attributes:
        tag: local name of its element.
        slot: where the values go in UrlEntry.
        make: the class of the value.
        fields: one row a field; those inside a container come first, the others in any order.
        required: the first of the fields, if there is no value without it.
        containers: elements that only group fields, and the fields that stand in them.
        by_tag: the fields, by their tags.
    """

    tag: str
    slot: Literal["images", "videos", "news"]
    make: Callable[..., Any]
    fields: tuple[Field, ...]
    required: str = ""
    containers: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    by_tag: dict[str, Field] = attrs.field(init=False)

    @by_tag.default
    def _index_fields(self) -> dict[str, Field]:
        return {field.tag: field for field in self.fields}


EXTENSIONS: dict[str, Extension] = {
    IMAGE: Extension(
        tag="image",
        slot="images",
        make=Image,
        required="loc",
        fields=(
            Field("loc", parse=parse_reference),
            Field("title"),
            Field("caption"),
            Field("geo_location"),
            Field("license", parse=parse_reference),
        ),
    ),
    VIDEO: Extension(
        tag="video",
        slot="videos",
        make=Video,
        fields=(
            Field("thumbnail_loc", parse=parse_reference),
            Field("title"),
            Field("description"),
            Field("content_loc", parse=parse_reference),
            Field(
                "player_loc",
                parse=parse_reference,
                attributes=(
                    ("allow_embed", "player_allow_embed", _yes_no),
                    ("autoplay", "player_autoplay", take_text),
                ),
            ),
            Field("duration", parse=parse_count),
            Field("expiration_date", parse=parse_lastmod),
            Field("rating", parse=_rating),
            Field("view_count", parse=parse_count),
            Field("publication_date", parse=parse_lastmod),
            Field("family_friendly", parse=_yes_no),
            Field("requires_subscription", parse=_yes_no),
            Field("live", parse=_yes_no),
            Field("uploader", attributes=(("info", "uploader_info", take_text),)),
            Field("category"),
            Field(
                "gallery_loc",
                parse=parse_reference,
                attributes=(("title", "gallery_title", take_text),),
            ),
            Field("id"),
            Field("tag", slot="tags", many=True),
            Field("price", slot="prices", many=True, build=_price),
            Field("restriction", build=_restriction),
            Field("platform", build=_restriction),
        ),
    ),
    NEWS: Extension(
        tag="news",
        slot="news",
        make=News,
        containers={"publication": ("name", "language")},
        fields=(
            Field("name"),
            Field("language"),
            Field("publication_date", parse=parse_lastmod),
            Field("title"),
            Field("access"),
            Field("genres"),
            Field("keywords"),
            Field("stock_tickers"),
        ),
    ),
}
"""Key of a namespace -> its extension."""

# Texts that match need no Issue, with or without blanks around them.
_DAY = (
    "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    "|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_ZONE = "(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9])"
_TIME = rf"T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?{_ZONE}"
CERTAIN_TEXTS: dict[Callable[[str], object | None], str] = {
    parse_count: _COUNT.pattern,
    _rating: _RATING.pattern,
    _yes_no: f"(?i:{'|'.join(_YES_NO)})",
    parse_lastmod: f"[12][0-9]{{3}}-{_DAY}(?:{_TIME})?",
}
"""What parses a text -> the pattern of texts that it reads for sure."""

PROTOCOL_FIELDS = ("loc", "lastmod", "changefreq", "priority")
# Format -> the date fields of a feed's record, best first, each in all its names: (key, tag)
FEED_DATES: dict[Format, tuple[tuple[tuple[str, str], ...], ...]] = {
    Format.RSS: (((OWN, "pubdate"),), ((DC, "date"), (DC, "modified")), ((ATOM, "updated"),)),
    Format.ATOM: tuple(((OWN, tag),) for tag in ("updated", "modified", "published", "issued")),
}
FEED_FIELDS = frozenset({"link", "guid"}) | {
    tag for dates in FEED_DATES.values() for names in dates for _, tag in names
}

FIELDS = frozenset(
    {*PROTOCOL_FIELDS, *FEED_FIELDS}
    | {field.tag for extension in EXTENSIONS.values() for field in extension.fields}
)
"""Tags of all elements that hold text alone: inside one of them no other can begin."""
KNOWN_TAGS = FIELDS.union(*({each.tag, *each.containers} for each in EXTENSIONS.values()))
"""Tags of all elements of the vocabulary."""
