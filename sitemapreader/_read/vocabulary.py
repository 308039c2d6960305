"""The vocabulary of records: formats, namespaces, and the fields of each record.

The fields of an extension are those of its class. The pattern is written from them, and elements
are looked up in them.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs

from sitemapreader._types import models
from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.models import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    Number = TypeVar("Number", int, float)

_PROTOCOL_RECORDS = frozenset({"url", "sitemap"})

ROOTS: dict[str, tuple[Format, frozenset[str]]] = {
    "urlset": (Format.URLSET, _PROTOCOL_RECORDS),
    "sitemapindex": (Format.INDEX, _PROTOCOL_RECORDS),
    "rss": (Format.RSS, frozenset({"item"})),
    "rdf": (Format.RSS, frozenset({"item"})),
    "feed": (Format.ATOM, frozenset({"entry"})),
}
"""Local name of a root element, in lower case -> its format and the local names of its records."""
RECORDS = frozenset[str]().union(*(records for _, records in ROOTS.values()))
"""Local names of the records of all formats."""
RECORD_OF = {Format.URLSET: "url", Format.INDEX: "sitemap"}
"""Format of the protocol -> the record that it should hold."""
ROOTLESS = {"url": "urlset", "sitemap": "sitemapindex"}
"""A record that stands where the root should -> the root that is missing."""

SITEMAP = "sitemap"
XHTML = "xhtml"
RSS = "rss"
RDF = "rdf"
ATOM = "atom"
DC = "dc"
MODULE = "module"
RESOURCESYNC = "resourcesync"
HISTORY = "history"
MEDIA = "media"
OWN = ""
"""Key of the document's own vocabulary, whatever namespace its author gave it."""

PROTOCOL_URI = "http://www.sitemaps.org/schemas/sitemap/0.9"

# How a URI begins, without scheme, `www.` and case -> key; the first that fits holds.
NAMESPACES: dict[str, str] = {
    "sitemaps.org/schemas/sitemap/": SITEMAP,
    "google.com/schemas/sitemap/": SITEMAP,
    **{
        uri: slot.name
        for slot in models.EXTENSIONS
        for uri in slot.metadata["namespaces"]
    },
    "w3.org/1999/xhtml": XHTML,
    "w3.org/tr/xhtml": XHTML,
    "w3.org/2002/06/xhtml2": XHTML,
    "w3.org/2005/atom": ATOM,
    "purl.org/atom/": ATOM,
    "purl.org/rss/1.0/modules/": MODULE,
    "purl.org/rss/1.0": RSS,
    "my.netscape.com/rdf/simple/0.9": RSS,
    "channel.netscape.com/rdf/simple/0.9": RSS,
    "w3.org/1999/02/22-rdf-syntax-ns": RDF,
    "purl.org/dc/elements/": DC,
    "purl.org/dc/terms": DC,
    "search.yahoo.com/mrss": MEDIA,
    "video.search.yahoo.com/mrss": MEDIA,
    "openarchives.org/rs/terms": RESOURCESYNC,
    "purl.org/syndication/history/": HISTORY,
    "sitemaps.org/schemas/sitemap": SITEMAP,  # without a version
}

_NAMESPACE_STARTS = tuple(NAMESPACES)

# Prefixes by convention, for documents that use them without a declaration -> the URI meant.
USUAL_PREFIXES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "media": "http://search.yahoo.com/mrss/",
    "atom": "http://www.w3.org/2005/Atom",
    "dc": "http://purl.org/dc/elements/1.1/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xml": "http://www.w3.org/XML/1998/namespace",
}

OWN_KEYS = {
    Format.URLSET: SITEMAP,
    Format.INDEX: SITEMAP,
    Format.RSS: RSS,
    Format.ATOM: ATOM,
}

_EXTENSION_URIS = {
    NAMESPACES[start]: uri
    for uri in USUAL_PREFIXES.values()
    for start in NAMESPACES
    if uri.startswith(("http://www.google.com/", "http://www.w3.org/1999/xhtml"))
    and uri.removeprefix("http://www.").startswith(start)
}
"""Key of an extension of Google or XHTML -> the URI that search engines know."""

MAX_NAMESPACES = 256
"""Namespaces that are kept of one document: every batch is parsed with all that are bound."""
MAX_NAMESPACE_CHARS = 1_024
MAX_NAMESPACES_CHARS = 4_096
"""Limits for one prefix with its URI, and for all that are kept; no real document has 400."""


def namespace_key(uri: str, format_: Format) -> str:
    """Return the key of a namespace in any spelling (`OWN`), or the URI itself."""
    bare = uri.strip().lower()
    for start in ("http://", "https://", "//"):
        bare = bare.removeprefix(start)
    bare = bare.removeprefix("www.")
    key = uri
    if bare.startswith(_NAMESPACE_STARTS):  # of which a record may have thousands
        key = next(key for start, key in NAMESPACES.items() if bare.startswith(start))
    return OWN if key == OWN_KEYS.get(format_) else key


def is_odd_namespace(uri: str, key: str) -> bool:
    """Return whether a namespace of an extension is not the one that search engines know."""
    return key in _EXTENSION_URIS and uri != _EXTENSION_URIS[key]


_MOST_KEPT = 500
_LONGEST_KEPT = 300
"""More names, and longer ones, are resolved each time: they would take a lot of memory."""


@attrs.frozen
class Name:
    """The name of an element, resolved."""

    uri: str
    local: str
    """As written."""
    key: str
    """The key of its namespace; the URI of one that we do not know."""
    tag: str
    """Local name of the element in lower case."""
    own: str
    """`tag` in the document's own vocabulary, "" in any other."""
    meaning: tuple[str, str]
    """`key` and `tag`, by which fields are looked up."""
    feed_field: str
    """The field of a feed's record that it is, "" for none."""


class Names(dict[Any, Name]):
    """Resolver of names, `{uri}local`, each only once."""

    def __init__(self, own_uris: frozenset[str], format_: Format) -> None:
        super().__init__()
        self.own_uris = own_uris
        """The document's own namespaces; a new set at each change."""
        self.format = format_

    def add_own(self, uri: str) -> None:
        """Add a namespace as the document's own: a nested root's, or its records'."""
        uri = uri[: MAX_NAMESPACE_CHARS + 1]
        if uri not in self.own_uris and len(self.own_uris) < MAX_NAMESPACES:
            self.own_uris |= {uri}
            self.clear()

    def find_key(self, uri: str) -> str:
        """Return the key of a namespace."""
        if uri in self.own_uris:
            return OWN
        return namespace_key(uri, self.format)

    def __missing__(self, tag: object) -> Name:
        # a processing instruction, or a mark of the mender
        if not isinstance(tag, str):
            return NO_NAME
        uri, _, local = tag.rpartition("}")
        uri = uri[1:]
        key = self.find_key(uri)
        lower = local.lower()
        own = lower if key == OWN else ""
        meaning = key, lower
        feed_field = MEDIA if key == MEDIA else FEED_FIELDS.get(meaning, "")
        name = Name(uri, local, key, lower, own, meaning, feed_field)
        if len(self) < _MOST_KEPT and len(tag) <= _LONGEST_KEPT:
            self[tag] = name
        return name


NO_NAME = Name("", "", "", "", "", ("", ""), "")
"""The name of comments and processing instructions, which are no elements."""


# -- fields

# https://www.sitemaps.org/protocol.html#changefreqdef
CHANGEFREQS = {
    word: word
    for word in ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
}
_YES_NO = {
    "yes": True,
    "no": False,
    "true": True,
    "false": False,
    "1": True,
    "0": False,
}


def parse_changefreq(text: str) -> str | None:
    """Read a changefreq in any case."""
    return CHANGEFREQS.get(text) or CHANGEFREQS.get(text.lower())


def take_text(text: str) -> str:
    """Return a text as the value."""
    return text


def take_url(text: str) -> str:
    """Return a URL as the value; `RecordContext.read_url` reads it in place of this."""
    return text


def _parse_yes_no(text: str) -> bool | None:
    return _YES_NO.get(text.lower())


def _read_number(
    pattern: str, make: Callable[[str], Number]
) -> Callable[[str], Number | None]:
    """Return a parser of texts that match a pattern."""
    match = re.compile(pattern, re.ASCII).fullmatch
    return lambda text: make(text) if match(text) else None


# Texts that match need no Issue, with or without blanks around them.
_COUNT_TEXT = "[0-9]{1,15}"
_DECIMALS = "[0-9]{1,99}"
"""JavaScript prints 17 of them, and exact decimals have 50."""
_TINY = rf"[0-9](?:\.{_DECIMALS})?[eE]-0?[1-9][0-9]{{0,2}}"
"""Notation of JavaScript for a number below 0.000001."""
_NUMBER_TEXT = rf"-?[0-9]{{1,15}}(?:\.{_DECIMALS})?|{_TINY}"
_RATING = rf"[0-4](?:\.{_DECIMALS})?|5(?:\.0{{1,99}})?|{_TINY}"
_DAY_TEXT = (
    "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    "|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_ZONE_TEXT = "(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9])"
_TIME_TEXT = (
    rf"T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?{_ZONE_TEXT}"
)

parse_priority = _read_number(
    rf"0?\.{_DECIMALS}|0(?:\.\d{{0,99}})?|1(?:\.0{{0,99}})?|{_TINY}", float
)
"""Reads a priority from 0.0 to 1.0."""
parse_count = _read_number(_COUNT_TEXT, int)
"""Reads a whole number of seconds or views."""
_PARSERS_BY_TYPE: dict[Any, tuple[Callable[[str], object | None], str]] = {
    str: (take_text, ""),
    models.Reference: (take_url, ""),
    int: (parse_count, _COUNT_TEXT),
    float: (_read_number(_NUMBER_TEXT, float), _NUMBER_TEXT),
    models.Rating: (_read_number(_RATING, float), _RATING),
    bool: (_parse_yes_no, f"(?i:{'|'.join(_YES_NO)})"),
    datetime: (parse_lastmod, f"(?:2[0-9]{{3}}|199[1-9])-{_DAY_TEXT}(?:{_TIME_TEXT})?"),
}
"""Type of a field -> its parser, and the pattern of texts that it reads for sure."""
CERTAIN_TEXTS = {
    parse: pattern for parse, pattern in _PARSERS_BY_TYPE.values() if pattern
}
"""Parser -> pattern of the texts that it reads for sure."""


@attrs.frozen
class Field:
    """One field of an extension; its tag is the local name in lower case."""

    tag: str
    name: str
    """The value's name in the model."""
    parse: Callable[[str], object | None] = take_text
    """Reads its text; `None` for one that cannot be read."""
    many: bool = False
    build: Callable[[dict[str, str], str], object] | None = None
    """Reads attributes and text, where both belong to the value."""
    inside: str = ""
    """The element around it, which only groups fields."""
    attributes: tuple[tuple[str, str, Callable[[str], object | None]], ...] = ()
    """Attributes that are fields of their own: name, the value's name, parse."""


@attrs.frozen
class Extension:
    """An extension of the protocol: an element in a `<url>` that becomes one value."""

    tag: str
    slot: str
    """The attribute of the entry."""
    many: bool
    make: Callable[..., Any]
    by_tag: dict[str, Field]
    required: str
    """The field without which there is no value, if there is one."""

    @property
    def containers(self) -> set[str]:
        """The elements that only group fields."""
        return {field.inside for field in self.by_tag.values() if field.inside}


def _list_fields(model: type) -> dict[str, Field]:
    """Return the fields of an extension, by tag, as its class has them."""
    fields: dict[str, Field] = {}
    hints = get_type_hints(model, include_extras=True)
    for each in attrs.fields(model):
        hint = hints[each.name]
        kinds = [] if get_origin(hint) is Annotated else get_args(hint)
        kind, *more = [kind for kind in kinds if kind is not NoneType] or [hint]
        tag = each.metadata.get("element") or each.name
        if attribute := each.metadata.get("attribute"):
            of = fields[tag]
            part = (attribute, each.name, _PARSERS_BY_TYPE[kind][0])
            fields[tag] = attrs.evolve(of, attributes=(*of.attributes, part))
            continue
        if attrs.has(kind):
            build = partial(_build, kind)
        else:
            build = None
        inside = each.metadata.get("inside", "")
        parse = take_text if build else _PARSERS_BY_TYPE[kind][0]
        fields[tag] = Field(tag, each.name, parse, bool(more), build, inside)
    return fields


def _build(
    model: type,
    attributes: dict[str, str],
    text: str,
) -> object:
    """Make a value of a text, or of its words, and of attributes."""
    first, *others = attrs.fields(model)
    value = tuple(text.split()) if first.type != "str" else text
    return model(value, *(attributes.get(each.name) for each in others))


def _make_extension(slot: attrs.Attribute[Any]) -> Extension:
    (model, *_) = get_args(get_type_hints(models.UrlEntry)[slot.name])
    required = [
        each.name for each in attrs.fields(model) if each.default is attrs.NOTHING
    ]
    return Extension(
        tag=slot.metadata["tag"],
        slot=slot.name,
        many=slot.default == (),
        make=model,
        by_tag=_list_fields(model),
        required="".join(required[:1]),
    )


PARSED_EXTENSIONS = {slot.name: _make_extension(slot) for slot in models.EXTENSIONS}
"""Key of a namespace, which is an attribute of the entry -> its extension."""

PROTOCOL_FIELDS = ("loc", "lastmod", "changefreq", "priority")
_FEED_DATES = {
    **{
        (OWN, tag): tag
        for tag in ("pubdate", "updated", "modified", "published", "issued")
    },
    **dict.fromkeys(((DC, "date"), (DC, "modified")), "dc:date"),
    (ATOM, "updated"): "atom:updated",
}
FEED_FIELDS = {
    **_FEED_DATES,
    **{(OWN, tag): tag for tag in ("link", "guid", "title")},
    (OWN, "enclosure"): MEDIA,
}
"""Meaning of an element in a feed's record -> the field that it is; all of Media RSS is one."""
FEED_DATES = {
    "item": ("pubdate", "dc:date", "atom:updated"),
    "entry": ("updated", "modified", "published", "issued"),
}
"""Record of a feed -> the fields of its dates, the best first."""
FEED_TYPES = frozenset(
    f"application/{kind}" for kind in ("rss+xml", "atom+xml", "rdf+xml", "rss")
)
"""Media types of feeds."""
FIELDS = frozenset(
    {*PROTOCOL_FIELDS, "link", "guid", *(tag for _, tag in _FEED_DATES)}
    | {tag for extension in PARSED_EXTENSIONS.values() for tag in extension.by_tag}
)
"""Tags of all elements that hold text alone: inside one of them no other can begin."""
KNOWN_TAGS = FIELDS.union(
    *({each.tag, *each.containers} for each in PARSED_EXTENSIONS.values())
)
"""Tags of all elements of the vocabulary."""
