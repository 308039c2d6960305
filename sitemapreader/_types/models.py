"""The values that reading yields: entries, their extensions, and their enums.

Treat them as values, although they are not frozen.
"""

# One `UrlEntry` is made for every URL, so these classes are cheap: slots, no validators, and not
# frozen, because a frozen one takes four times as long to make.

from __future__ import annotations

from collections import deque
from datetime import datetime  # noqa: TC003 (attrs resolves field types at run time)
from enum import StrEnum
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeAlias

import attrs

from sitemapreader._types.dates import has_zone
from sitemapreader._types.issues import Issue

if TYPE_CHECKING:
    from collections.abc import Iterable


class Format(StrEnum):
    """The format of a document, detected by its content alone.

    A page (`HTML`) is read only if `extra_formats` names it.
    """

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"
    HTML = "html"

    @property
    def is_feed(self) -> bool:
        """True if its records are posts."""
        return self in (Format.RSS, Format.ATOM)

    @property
    def is_protocol(self) -> bool:
        """True if it is one of the XML formats of sitemaps.org."""
        return self in (Format.URLSET, Format.INDEX)


class Via(StrEnum):
    """The way in which a sitemap was found."""

    ROBOTS = "robots"
    WELL_KNOWN = "well-known"
    HTML = "html"
    HEADER = "header"
    INDEX = "index"
    PAGE = "page"
    """Linked by a feed as its next page."""
    GIVEN = "given"
    SITE = "site"
    """The URL that was named as the site is a sitemap itself."""

    @property
    def is_guess(self) -> bool:
        """True if nobody has named it as a sitemap."""
        return self in (Via.WELL_KNOWN, Via.SITE)


# -- extensions: one class each, from which reading, columns and comparison are made

Reference: TypeAlias = Annotated[str, "a URL"]
Rating: TypeAlias = Annotated[float, "0.0 to 5.0"]


# A field is read by its type, from the element of its name. Its metadata may name another
# `element`, an `attribute` of this element, and the element that this one is `inside` of. These
# names are written in lower case here; a document may have them in any case.


def _attribute_of(element: str, attribute: str) -> Any:
    return attrs.field(
        default=None, metadata={"element": element, "attribute": attribute}
    )


def strip_namespace(uri: str) -> str:
    """Return a namespace in lower case, without scheme, `www.` and blanks around it."""
    bare = uri.strip().lower()
    for start in ("http://", "https://", "//"):
        bare = bare.removeprefix(start)
    return bare.removeprefix("www.")


def extension(
    tag: str,
    meaning: str,
    *namespaces: str,
    default: object = (),
) -> Any:
    """Make the attribute of an entry for an extension with types.

    `tag` is the name of its elements in lower case. `meaning` is the description of its column. A
    namespace fits each URI that begins with it. Pass `default=None` if a record has at most one.

    Raises ValueError for a name or a namespace that no document could match.
    """
    if tag != tag.lower():
        raise ValueError(
            f"`tag` must be in lower case, got {tag!r}: write {tag.lower()!r}"
        )
    for namespace in namespaces:
        bare = strip_namespace(namespace)
        if namespace != bare:
            raise ValueError(
                "a namespace must be in lower case, without scheme and `www.`,"
                f" got {namespace!r}: write {bare!r}"
            )
    google = (
        f"google.com/schemas/sitemap-{tag}/",
        f"sitemaps.org/schemas/sitemap-{tag}/",
    )
    metadata = {"tag": tag, "meaning": meaning, "namespaces": namespaces or google}
    return attrs.field(default=default, metadata=metadata)


@attrs.define(weakref_slot=False)
class Image:
    """An `<image:image>` of Google's image extension.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    URLs are read in the same way as those of pages: a relative one is resolved, with an Issue, and
    a text that is not a URL, such as a template, is left out, with an Issue.
    """

    loc: Reference
    title: str | None = None
    caption: str | None = None
    geo_location: str | None = None
    license: Reference | None = None


@attrs.define(weakref_slot=False)
class Restriction:
    """Countries or platforms for which a video is allowed or denied.

    The values are the words of an element, the relationship is its attribute.
    """

    values: tuple[str, ...]
    relationship: str | None = None


@attrs.define(weakref_slot=False)
class Price:
    """A price of a video: amount as written, ISO 4217 currency.

    The amount is the text of an element; all else are its attributes.
    """

    amount: str
    currency: str | None = None
    type: str | None = None
    resolution: str | None = None


@attrs.define(weakref_slot=False)
class Video:
    """A `<video:video>` of Google's video extension.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    `duration` is in seconds; yes/no fields are booleans; `None` means that the field is absent.
    URLs are read in the same way as those of pages: a relative one is resolved, with an Issue, and
    a text that is not a URL, such as a template, is left out, with an Issue.
    """

    thumbnail_loc: Reference | None = None
    title: str | None = None
    description: str | None = None
    content_loc: Reference | None = None
    player_loc: Reference | None = None
    duration: int | None = None
    expiration_date: datetime | None = None
    rating: Rating | None = None
    view_count: int | None = None
    publication_date: datetime | None = None
    family_friendly: bool | None = None
    requires_subscription: bool | None = None
    live: bool | None = None
    uploader: str | None = None
    category: str | None = None
    gallery_loc: Reference | None = None
    id: str | None = None
    tags: tuple[str, ...] = attrs.field(default=(), metadata={"element": "tag"})
    prices: tuple[Price, ...] = attrs.field(default=(), metadata={"element": "price"})
    restriction: Restriction | None = None
    platform: Restriction | None = None
    uploader_info: Reference | None = _attribute_of("uploader", "info")  # noqa: RUF009 (no field)
    gallery_title: str | None = _attribute_of("gallery_loc", "title")
    player_allow_embed: bool | None = _attribute_of("player_loc", "allow_embed")
    player_autoplay: str | None = _attribute_of("player_loc", "autoplay")


@attrs.define(weakref_slot=False)
class News:
    """A `<news:news>` of Google's news extension.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """

    name: str | None = attrs.field(default=None, metadata={"inside": "publication"})
    language: str | None = attrs.field(default=None, metadata={"inside": "publication"})
    publication_date: datetime | None = None
    title: str | None = None
    access: str | None = None
    genres: str | None = None
    keywords: str | None = None
    stock_tickers: str | None = None


class Alternate(NamedTuple):
    """An `<xhtml:link rel="alternate">`: the same page for another language or medium.

    `href` is as written: a relative one is not resolved, and a template or one that has lost
    characters is left out, with an Issue.
    """

    href: str
    hreflang: str | None = None
    media: str | None = None


@attrs.define(weakref_slot=False)
class Extra:
    """An element that is not a known field, as written.

    A link to anything but an alternate has its rel as the name, and its href as the text.

    Attributes:
        namespace: URI of its namespace, or "".
        name: its name, without prefix.
        text: its own text, trimmed.
        attributes: its attributes; the name of one with a prefix is `{uri}name`.
        children: the elements in it.
    """

    namespace: str
    name: str
    text: str = ""
    attributes: dict[str, str] = attrs.field(factory=dict)
    children: tuple[Extra, ...] = ()


class Change(StrEnum):
    """The difference of an entry from an earlier walk, or a note of its record."""

    NEW = "new"
    CHANGED = "changed"
    UNLISTED = "unlisted"
    """No document lists it any more, or its record says that it was deleted."""
    GONE = "gone"
    """A document that listed the URL lacks it, and its page responded with 404 or 410 in two walks.
    The URL need not be unlisted."""


class DateSource(StrEnum):
    """The field of a record that its date is taken from."""

    LASTMOD = "lastmod"
    """`<lastmod>`, or the date of a feed's item."""
    NEWS = "news"
    """The date of a news article, where the record has no lastmod."""


def _show_present(entry: UrlEntry | SitemapEntry) -> str:
    """Write an entry as the call that makes it, without its absent fields."""
    present = []
    for field in attrs.fields(type(entry)):
        value = getattr(entry, field.name)
        if value != field.default:
            present.append(f"{field.name}={value!r}")
    return f"{type(entry).__name__}({', '.join(present)})"


class Unread(Protocol):
    """The unread extensions of a record, whose values are made on demand."""

    def read(self) -> dict[str, Any]:
        """Return the value of each attribute that depends on them."""


class _LateAttributes:
    """An entry whose late attributes are set when one of them is read."""

    __slots__ = ("_unread",)
    _unread: Unread | dict[str, Any]

    if not TYPE_CHECKING:  # to a type checker, it would allow any attribute

        def __getattr__(self, name: str) -> Any:
            if name not in _LATE:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}",
                    name=name,
                    obj=self,
                )
            values = self._unread
            if type(values) is not dict:
                values = values.read()
                self._unread = values
            value = values[name]
            setattr(self, name, value)
            return value


@attrs.define(weakref_slot=False, repr=False)
class UrlEntry(_LateAttributes):
    """One URL of a site.

    Attributes:
        loc: the URL as the author wrote it, after XML decoding and trimming; absolute.
        lastmod: aware datetime; a text without a zone is read as UTC.
        changefreq: one of the protocol's seven words, in lower case.
        priority: 0.0 to 1.0; `None` where the record has none (never a default of 0.5).
        sitemap: URL of the document that lists it.
        lastmod_text: lastmod as written, trimmed; `2026` and `2026-01-01` differ here.
        title: the page's title, where the record has one: items of feeds, news.
        change: the difference from the state in a walk with `Changes`; in others, what the
            record says (ResourceSync).
        changefreq_text: changefreq as written, trimmed, also where it is none of the seven words.
        priority_text: priority as written, trimmed, also where it is no number from 0.0 to 1.0.
            Entries that differ in these two texts alone are equal.
    """

    loc: str
    lastmod: datetime | None = None
    changefreq: str | None = None
    priority: float | None = None
    images: tuple[Image, ...] = extension(
        "image", "Google's image extension, all of a record"
    )
    videos: tuple[Video, ...] = extension(
        "video", "Google's video extension, all of a record"
    )
    news: News | None = extension("news", "Google's news extension", default=None)  # noqa: RUF009
    alternates: tuple[Alternate, ...] = ()
    extras: tuple[Extra, ...] = ()
    sitemap: str = ""
    lastmod_text: str | None = None
    title: str | None = None
    change: Change | None = None
    changefreq_text: str | None = attrs.field(default=None, eq=False)
    priority_text: str | None = attrs.field(default=None, eq=False)

    @property
    def has_zone(self) -> bool | None:
        """True if lastmod is written with its time zone; `None` if there is no lastmod."""
        if self.lastmod is None:
            return None
        return has_zone(self.lastmod_text or "")

    @property
    def date(self) -> datetime | None:
        """The date that `since` tests: lastmod, else the publication date of the news."""
        if self.lastmod is not None:
            return self.lastmod
        if self.news is None:
            return None
        return self.news.publication_date

    @property
    def date_source(self) -> DateSource | None:
        """The source of `date`; `None` if the record has no date."""
        if self.lastmod is not None:
            return DateSource.LASTMOD
        if self.date is None:
            return None
        return DateSource.NEWS

    @property
    def language(self) -> str | None:
        """The language that the record gives itself: in its alternates, else by its news."""
        for alternate in self.alternates:
            code = alternate.hreflang
            if alternate.href == self.loc and code and code.lower() != "x-default":
                return code
        if self.news is None:
            return None
        return self.news.language

    __repr__ = _show_present


EXTENSIONS = tuple(field for field in attrs.fields(UrlEntry) if field.metadata)
"""The attributes of an entry that are extensions with types."""
EXTENSION_ATTRIBUTES = (*(field.name for field in EXTENSIONS), "alternates", "extras")
"""The attributes of an entry that are elements beside the protocol's own."""
_LATE = (*EXTENSION_ATTRIBUTES, "title")
"""The attributes of an entry that may be set late."""


def leave_unread(entries: list[UrlEntry], extensions: Iterable[Unread]) -> None:
    """Leave the extensions of entries unread until their first use."""
    for entry, unread in zip(entries, extensions, strict=True):
        entry._unread = unread  # type: ignore[misc]  # noqa: SLF001 (a slot of its base)
    for name in _LATE:
        deque(map(delattr, entries, repeat(name)), maxlen=0)


@attrs.define(weakref_slot=False, repr=False)
class SitemapEntry:
    """One sitemap: found by discovery, named by the caller, or listed in an index.

    Attributes:
        loc: its URL; absolute.
        lastmod: its date in the index; aware datetime.
        via: how it was found.
        sitemap: URL of the document that names it, or "".
        lastmod_text: lastmod as written, trimmed.
        is_archive: whether it is a page of a feed that never changes (RFC 5005, section 4).
    """

    loc: str
    lastmod: datetime | None = None
    via: Via = Via.INDEX
    sitemap: str = ""
    lastmod_text: str | None = None
    is_archive: bool = False

    @property
    def has_zone(self) -> bool | None:
        """True if lastmod is written with its time zone; `None` if there is no lastmod."""
        if self.lastmod is None:
            return None
        return has_zone(self.lastmod_text or "")

    __repr__ = _show_present


Event: TypeAlias = UrlEntry | SitemapEntry | Issue
"""An item that a reader yields: an entry, or an Issue."""
