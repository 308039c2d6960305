"""The vocabulary of records: formats, namespaces, and the fields of each record.

The fields of an extension are those of its class. The pattern is written from them, and elements
are looked up in them.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache, partial
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs

from sitemapreader._types import models
from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.models import Format, strip_namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    Number = TypeVar("Number", int, float)

PROTOCOL_RECORDS = frozenset({"url", "sitemap"})

ROOTS: dict[str, tuple[Format, frozenset[str]]] = {
    "urlset": (Format.URLSET, PROTOCOL_RECORDS),
    "sitemapindex": (Format.INDEX, PROTOCOL_RECORDS),
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
        uri: attribute.name
        for attribute in models.EXTENSIONS
        for uri in attribute.metadata["namespaces"]
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
    bare = strip_namespace(uri)
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
        is_own = uri in self.own_uris
        if len(tag) > _LONGEST_KEPT:
            return _resolve_name.__wrapped__(uri, local, self.format, is_own)
        name = _resolve_name(uri, local, self.format, is_own)
        if len(self) < _MOST_KEPT:
            self[tag] = name
        return name


@lru_cache(maxsize=_MOST_KEPT)
def _resolve_name(uri: str, local: str, format_: Format, is_own: bool) -> Name:
    """Resolve a name; `is_own` if its namespace is one of the document's own."""
    key = OWN if is_own else namespace_key(uri, format_)
    lower = local.lower()
    own = lower if key == OWN else ""
    meaning = key, lower
    feed_field = MEDIA if key == MEDIA else FEED_FIELDS.get(meaning, "")
    return Name(uri, local, key, lower, own, meaning, feed_field)


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
    built_from: tuple[str, ...] = ()
    """The attributes that `build` reads."""
    inside: str = ""
    """The element around it, which only groups fields."""
    attributes: tuple[tuple[str, str, Callable[[str], object | None]], ...] = ()
    """Attributes that are fields of their own: name, the value's name, parse."""

    @property
    def attribute_names(self) -> set[str]:
        """The attributes of its element that are read."""
        return {*self.built_from, *(name for name, _, _ in self.attributes)}


@attrs.frozen
class Extension:
    """An extension of the protocol: an element in a `<url>` that becomes one value."""

    tag: str
    entry_attribute: str
    many: bool
    make: Callable[..., Any]
    by_tag: dict[str, Field]
    required: tuple[str, ...]
    """The fields without which there is no value, by the names that they have in the value."""

    @property
    def containers(self) -> set[str]:
        """The elements that only group fields."""
        return {field.inside for field in self.by_tag.values() if field.inside}


def _split_type(hint: Any) -> tuple[Any, bool]:
    """Return the type of one value of a field, and whether the field has several."""
    kinds = get_args(hint)
    if get_origin(hint) is tuple and kinds[1:] == (...,):
        return kinds[0], True
    if get_origin(hint) in (Union, UnionType):
        present = [kind for kind in kinds if kind is not NoneType]
        if len(present) == 1:
            return present[0], False
    return hint, False


def list_fields(model: type) -> dict[str, Field]:
    """Return the fields of an extension, by tag, as its class has them.

    Raises ValueError for a field that could not be read.
    """
    fields: dict[str, Field] = {}
    hints = get_type_hints(model, include_extras=True)
    for each in attrs.fields(model):
        place = f"{model.__name__}.{each.name}"
        kind, is_many = _split_type(hints[each.name])
        tag = each.metadata.get("element") or each.name
        attribute = each.metadata.get("attribute", "")
        inside = each.metadata.get("inside", "")
        for name in (tag, attribute, inside):
            _check_case(place, name)
        if attribute:
            fields[tag] = _add_attribute(
                fields.get(tag), place, kind, attribute, each.name
            )
            if is_many:
                raise ValueError(
                    f"{place} is an attribute, which has one value: not a tuple"
                )
            continue
        if tag in fields:
            raise ValueError(f"{place}: <{tag}> is the element of another field")
        if attrs.has(kind):
            has_words, names = _read_value_class(kind)
            build = partial(_build, kind, has_words, names)
            field = Field(tag, each.name, take_text, is_many, build, names, inside)
        else:
            parse = _find_parser(place, kind)
            field = Field(tag, each.name, parse, is_many, inside=inside)
        fields[tag] = field
    return fields


def _add_attribute(
    field: Field | None,
    place: str,
    kind: Any,
    attribute: str,
    name: str,
) -> Field:
    """Return the field of an element with one attribute more."""
    if field is None:
        raise ValueError(
            f"{place} is an attribute: write it below the field of its element"
        )
    part = (attribute, name, _find_parser(place, kind))
    return attrs.evolve(field, attributes=(*field.attributes, part))


def _find_parser(place: str, kind: Any) -> Callable[[str], object | None]:
    if kind not in _PARSERS_BY_TYPE:
        raise ValueError(
            f"{place}: its type must be str, int, float, bool, datetime, Reference, Rating or a"
            f" class of texts, or a tuple of one of these, got {kind!r}"
        )
    return _PARSERS_BY_TYPE[kind][0]


def _read_value_class(model: type) -> tuple[bool, tuple[str, ...]]:
    """Return whether a value has the words of an element or its text, and its attributes."""
    hints = get_type_hints(model, include_extras=True)
    first, *others = attrs.fields(model)
    first_type = _split_type(hints[first.name])
    if first_type not in ((str, False), (str, True)):
        raise ValueError(
            f"{model.__name__}.{first.name} is the text of an element: its type must be str, or"
            f" tuple[str, ...] for its words, got {hints[first.name]!r}"
        )
    for each in others:
        place = f"{model.__name__}.{each.name}"
        _check_case(place, each.name)
        if _split_type(hints[each.name]) != (str, False):
            raise ValueError(
                f"{place} is an attribute of an element: its type must be str | None,"
                f" got {hints[each.name]!r}"
            )
    has_words = first_type[1]
    return has_words, tuple(each.name for each in others)


def _check_case(place: str, name: str) -> None:
    if name != name.lower():
        raise ValueError(
            f"{place}: a name must be in lower case, got {name!r}: write {name.lower()!r}"
        )


def _build(
    model: type,
    has_words: bool,
    names: tuple[str, ...],
    attributes: dict[str, str],
    text: str,
) -> object:
    """Make a value of a text, or of its words, and of attributes."""
    value = tuple(text.split()) if has_words else text
    return model(value, *map(attributes.get, names))


def _make_extension(attribute: attrs.Attribute[Any]) -> Extension:
    hint = get_type_hints(models.UrlEntry)[attribute.name]
    model, is_many = _split_type(hint)
    default = () if is_many else None
    if not attrs.has(model) or attribute.default != default:
        raise ValueError(
            f"UrlEntry.{attribute.name}: its type must be tuple[MODEL, ...], or MODEL | None with"
            f" default=None, got {hint!r} with default={attribute.default!r}"
        )
    for namespace in attribute.metadata["namespaces"]:
        key = namespace_key(namespace, Format.TEXT)
        if key != attribute.name:
            raise ValueError(
                f"UrlEntry.{attribute.name}: documents with the namespace {namespace!r} are read as"
                f" {key!r}, whose namespace it is or begins with: an extension has its own"
            )
    return Extension(
        tag=attribute.metadata["tag"],
        entry_attribute=attribute.name,
        many=is_many,
        make=model,
        by_tag=list_fields(model),
        required=tuple(
            field.name
            for field in attrs.fields(model)
            if field.default is attrs.NOTHING
        ),
    )


PARSED_EXTENSIONS = {
    attribute.name: _make_extension(attribute) for attribute in models.EXTENSIONS
}
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
    (ATOM, "link"): "atom:link",
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
