"""The patterns of common records, written from the table of fields.

Rules that keep them right and fast:

- Every character is accounted for: a pattern ends with an alternative that takes all that is left,
  so `findall` never skips anything, and finds no record inside a comment.
- A field may come anywhere, but once: a conditional on its own group refuses it the second time.
- A text is `[^<]*+`, which is searched as fast as one character is. What else may be wrong with a
  text is looked for in all of a batch at once, by `are_sound`.
- What was passed is never looked at again, so time is linear. Sets of characters have possessive
  quantifiers; all other loops are atomic groups, because there possessive quantifiers have bugs
  (cpython#101955, and cpython#106052 before 3.11.5).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.models import Format
from sitemapreader.readers.records.vocabulary import (
    ATOM,
    CERTAIN_TEXTS,
    DC,
    EXTENSIONS,
    FEED_FIELDS,
    MEDIA,
    OWN,
    PROTOCOL_FIELDS,
    RECORD_OF,
    ROOTS,
    XHTML,
    Field,
    take_text,
)
from sitemapreader.readers.xml.characters import ATTRIBUTES, COMMENT, SECTION
from sitemapreader.urls import parse_reference

if TYPE_CHECKING:
    Shape: TypeAlias = tuple[tuple[str, ...], ...]

_BLANK = "[ \t\r\n]"
_GAP = f"{_BLANK}*+"
_TEXT = f"[^<]*+(?>(?=</)|{SECTION}[^<]*+)"
_PLAIN_TEXT = r"[^<&]*+(?>(?=</)|<!\[CDATA\[[^]<&]*+\]\]>[^<&]*+)"
"""Is the same text if it is taken for HTML."""
_INSTRUCTION = r"<\?[^?]*+(?>(?:\?(?!>)[^?]*+)*)\?>"
_PREFIX = r"(?>(?:[^\W\d][\w.\xb7-]*+:)?)"
_REST = "((?s:.++))"  # not `[\s\S]`, which looks at every character
BORDER = "<>"
"""Stands between the runs of two records where they are searched together."""
LINK_ATTRIBUTES = ("rel", "hreflang", "href", "media", "type", "title")

RUNS = (*EXTENSIONS, XHTML)
"""Keys of the namespaces whose elements are read in runs."""


class Grammar:
    """Writer of a pattern; it counts the groups, so that a field matches only once."""

    def __init__(self) -> None:
        self._groups = 0

    def once(self, start: str, pattern: str, end: str = "") -> str:
        """Write an optional part that may come once; its group is what `pattern` matches."""
        self._groups += 1
        return f"{start}(?({self._groups})(?!)|({pattern}){end})"

    def field(self, name: str) -> str:
        """Write a field, behind its `<`."""
        return self.once(f"{name}>", _TEXT, f"</{name}>{_GAP}")

    def quoted(self, values: dict[str, str]) -> str:
        """Write attributes in any order, each once, by the patterns of their values."""
        names = [self.once(f'{name}="', value, '"') for name, value in values.items()]
        return _repeat([f"{_BLANK}++{_any_of(names)}"]) + _GAP if names else ""

    def name(self, pattern: str) -> tuple[str, str]:
        """Write a name, and the pattern of the same name again."""
        self._groups += 1
        return f"({pattern})", rf"(?:\{self._groups})"

    def run(self, start: str) -> str:
        """Write a run of tags whose names begin alike, with the text between them."""
        tags = [f"/{start}", start, SECTION.removeprefix("<")]
        tag = _any_of([f"{start}[^<]*+<{_any_of(tags)}", *tags])  # two at once, mostly
        return self.once(f"(?=<{start})", f"(?>(?:<{tag}[^<]*+)+)")


def _any_of(alternatives: list[str]) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _repeat(alternatives: list[str]) -> str:
    return f"(?>{_any_of(alternatives)}*)"


@lru_cache(maxsize=64)
def write_record_pattern(
    format_: Format, prefix: str, runs: tuple[str, ...], others: tuple[str, ...]
) -> re.Pattern[str]:
    """Write the pattern of a format's records, whose names may begin with `s:`, say.

    Elements of the prefixes `runs` come in runs, those of `others` become extras. Groups: a text
    for each field of the protocol, one for each run, one for the extras, and those of `_or_odd`.
    """
    grammar = Grammar()
    record = prefix + RECORD_OF[format_]
    fields = [grammar.field(prefix + tag) for tag in PROTOCOL_FIELDS]
    parts = [f"<{_any_of(fields)}", *(grammar.run(f"{each}:") for each in runs)]
    parts.append(grammar.run(f"{_any_of([*others])}:") if others else grammar.once("(?!)", ""))
    common = f"<{record}{_GAP}>{_GAP}{_repeat([*parts, COMMENT + _GAP])}</{record}{_GAP}>"
    return _or_odd(common, record, "|".join(RECORD_OF.values()))


def _or_odd(common: str, record: str, names: str) -> re.Pattern[str]:
    """Write the pattern of common records, odd ones without `names`, and the rest.

    Groups: those of the former, an odd record as a whole, a record's end, and all that is left.
    """
    inside = [
        "[^<]++",
        COMMENT,
        SECTION,
        _INSTRUCTION,
        f"<(?![!?]|/?+{_PREFIX}(?ai:{names})[ \t\r\n/>])",
    ]
    odd = f"(<{record}(?=[ \t\r\n>]){ATTRIBUTES}>{_repeat(inside)}</{record}{_GAP}>)"
    return re.compile(f"(?:{common}|{odd})(){_GAP}(?>(?:{COMMENT}{_GAP})*)|{_REST}")


FEED_DATE_NAMES = {
    Format.RSS: ((OWN, "pubDate"), (DC, "date"), (ATOM, "updated")),
    Format.ATOM: tuple((OWN, tag) for tag in ("updated", "modified", "published", "issued")),
}
"""Format -> the dates of its records as they are commonly written, best first."""
FEED_RECORDS = {Format.RSS: "item", Format.ATOM: "entry"}
_FEED_TAGS = "|".join(sorted({"title", "enclosure", *FEED_FIELDS} - {"guid"}))
"""Elements of a record that are not passed over, in the vocabularies of the feed and its dates."""
_DEEPEST_PASSED = 3
"""Elements in one another that are passed over: a group of media, with a title in it."""
MOST_ATTRIBUTES = 8
LONGEST_ATTRIBUTE = 1_000
"""Of an element that is passed over."""
_MANY = f"{{0,{LONGEST_ATTRIBUTE}}}+"
_VALUE = f"""{_GAP}={_GAP}(?:"[^"<>]{_MANY}"|'[^'<>]{_MANY}')"""
_PASSED = f"[^<]*+(?>(?:(?:{SECTION}|{COMMENT})[^<]*+)*)"
_TAG = re.compile(r"<(/?+)([^<>/ \t\r\n]++)([^<>]*?)(/?)>")
_ATTRIBUTE = re.compile(rf"([^= \t\r\n]++){_VALUE}")
_HIDDEN = re.compile(f"{SECTION}|{COMMENT}")
_MOST_TAGS, _LONGEST_SHAPE = 60, 1_000
_LOCAL_NAME = r"(?a:[A-Za-z_][\w.-]*+)(?!:)"


class FeedGrammar(Grammar):
    """Writer of feed elements that are passed over and certainly well-formed.

    Names of the feed's vocabulary begin with `own`; `bound` are the other prefixes, and what they
    mean.
    """

    def __init__(self, own: str, bound: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self._others = [f"{prefix}:" for prefix, key in bound if key == "?"]
        known = (f"{prefix}:" for prefix, key in bound if key not in ("?", MEDIA))
        self._prefixes = [*known, own]

    def attributes(self) -> str:
        """Write the attributes of a tag: none is repeated, and none binds a prefix."""
        name, same = self.name(_LOCAL_NAME)
        once = f"(?![^<>]*[ \t\r\n:]{same}{_GAP}=)"
        return f"(?>(?:{self.attribute(name)}{once}){{0,{MOST_ATTRIBUTES}}}){_GAP}"

    def attribute(self, name: str = _LOCAL_NAME) -> str:
        """Write one attribute, which binds no prefix and whose prefix is bound."""
        prefixes = "|".join(["xml:", *self._others, *self._prefixes[:-1]])
        return f"{_BLANK}++(?!xmlns)(?:{prefixes})?{name}{_VALUE}"

    def element(self, barred: str, fields: str = "", depth: int = 1) -> str:
        """Write an element: none of `barred`, nor of `fields` where they may mean a field."""
        names = f"{_any_of(self._prefixes)}(?!(?ai:{barred}{fields})[ \t\r\n/>])"
        if self._others:
            names += f"|{_any_of(self._others)}(?!(?ai:{barred})[ \t\r\n/>])"
        name, same = self.name(f"(?:{names}){_LOCAL_NAME}")
        tag = f"<(?=[A-Za-z_]){name}{self.attributes()}"  # end tags are refused at once
        inside = [SECTION, COMMENT]
        if depth < _DEEPEST_PASSED:
            inside.append(self.element(barred, depth=depth + 1))
        return f"{tag}(?:/>|>[^<]*+{_repeat([f'{_any_of(inside)}[^<]*+'])}</{same}{_GAP}>)"


def name_fields(format_: Format, prefix: str, bound: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the names of link, title and dates; "" where no prefix is bound."""
    prefixes = {key: f"{each}:" for each, key in reversed(bound)} | {OWN: prefix}
    dates = FEED_DATE_NAMES[format_]
    names = [prefixes[key] + tag if key in prefixes else "" for key, tag in dates]
    return [f"{prefix}link", f"{prefix}title", *names]


@lru_cache(maxsize=64)
def write_item_pattern(
    format_: Format, prefix: str, bound: tuple[tuple[str, str], ...]
) -> re.Pattern[str]:
    """Write the pattern of a feed's records; prefixes as in `FeedGrammar`.

    Groups: the link or links, the title, each date, names that are compared, a run of media, and
    those of `_or_odd`.
    """
    grammar = FeedGrammar(prefix, bound)
    record = prefix + FEED_RECORDS[format_]
    link, title, *dates = name_fields(format_, prefix, bound)
    if format_ is Format.ATOM:
        parts = [grammar.once(f"(?=<{link}{_BLANK})", _write_link_run(link))]
    else:
        parts = [f"<{grammar.field(link)}"]
    plain = f'(?:(?<!html">){_TEXT}|{_PLAIN_TEXT})'
    parts.append(grammar.once(f'<{title}(?>(?: type="[a-z]++")?)>', plain, f"</{title}>{_GAP}"))
    parts += [f"<{grammar.field(date)}" if date else grammar.once("(?!)", "") for date in dates]
    start = f"<{record}(?:{grammar.attribute()})?{_GAP}>{_GAP}"
    records = "|".join(FEED_RECORDS.values())
    parts += [grammar.element(records, f"|{_FEED_TAGS}") + _GAP, COMMENT + _GAP]
    media = [f"{each}:" for each, key in bound if key == MEDIA]
    parts.append(grammar.run(_any_of([*media, rf"{prefix}enclosure(?=[ \t\r\n/>])"])))
    common = f"{start}{_repeat(parts)}</{record}{_GAP}>"
    return _or_odd(common, record, records)


def _write_link_run(link: str) -> str:
    return f"(?>(?:</?+{link}[ \t\r\n/>][^<]*+)+)"


@lru_cache(maxsize=64)
def write_head_pattern(
    format_: Format, prefix: str, bound: tuple[tuple[str, str], ...]
) -> re.Pattern[str]:
    """Write the pattern of what stands before a feed's records; group: the channel."""
    bound = tuple((each, "?" if key == MEDIA else key) for each, key in bound)
    grammar = FeedGrammar(prefix, bound)
    channel, _ = grammar.name(f"{prefix}channel" if format_ is Format.RSS else "(?!)")
    start = f"(?:<{channel}(?:(?!{_GAP}xml:){grammar.attribute()})?{_GAP}>{_GAP})?"
    barred = "|".join([*FEED_RECORDS.values(), *ROOTS, "channel"])
    parts = [grammar.element(barred) + _GAP, COMMENT + _GAP]
    end = f"(?=<{prefix}{FEED_RECORDS[format_]}[ \t\r\n>])"
    return re.compile(f"{_GAP}{start}{_repeat(parts)}{end}")


@lru_cache(maxsize=16)
def write_atom_link_pattern(start: str) -> re.Pattern[str]:
    """Write the pattern of Atom's links behind borders; groups: attributes, rest."""
    grammar = Grammar()
    value = """(?:"[^"<]*+"|'[^'<]*+')"""
    names = [grammar.once(f"{name}=", value) for name in LINK_ATTRIBUTES]
    attributes = _repeat([f"{_BLANK}++{_any_of(names)}"])
    return re.compile(f"{BORDER}{start}{attributes}{_GAP}(?:/>|></{start[1:]}>){_GAP}|{_REST}")


# -- records that are alike


def learn_shape(record: str) -> Shape:
    """Return the tags of a record in order: `/` if it ends, name, `/`, attributes."""
    tags = _TAG.findall(_HIDDEN.sub("", record))
    return tuple((end, name, empty, *_ATTRIBUTE.findall(rest)) for end, name, rest, empty in tags)


@lru_cache(maxsize=64)
def write_uniform_pattern(
    shape: Shape, fields: tuple[str, ...], link: str
) -> tuple[re.Pattern[str], tuple[int, ...]] | None:
    """Write the pattern of records with exactly these tags, in this order.

    It takes half the time of the pattern for any order; `None` if there are too many tags. Groups:
    the fields that are there, whose places are returned too, and the rest. `link` is the field that
    is a run of tags, if one is.
    """
    if len(shape) > _MOST_TAGS or sum(map(len, chain.from_iterable(shape))) > _LONGEST_SHAPE:
        return None
    places: list[int] = []
    parts: list[str] = []
    depth, before = 0, ""
    for (end, name, empty, *attributes), (is_leaf, *_) in pairwise((*shape, ("",))):
        depth -= bool(end)
        is_field = depth == 1 and name in fields and not end
        if is_field and name != before:
            places.append(fields.index(name))
        if depth == 1 and name == link:
            parts += [f"({_write_link_run(link)})"] * (name != before)
        else:
            values = "".join(f"{_BLANK}++{re.escape(each)}{_VALUE}" for each in attributes)
            written = _PLAIN_TEXT if "type" in attributes else _TEXT
            text = f"({written})" if is_field else _GAP if end or empty or not is_leaf else _PASSED
            parts.append(f"<{end}{re.escape(name)}{values}{_GAP}{empty}>{text}")
        depth += not (end or empty)
        before = name
    if not places:  # none of whose records is common
        return None
    return re.compile(f"{''.join(parts)}|{_REST}"), tuple(places)


# -- elements that will need no Issue

_QUOTED = '[^"<>]*+'
# Not a URL without a host; the first alternative passes nearly all URLs
_HOSTED = r"""(?:https?://[^/?#\s<">{&\]]|(?!(?i:https?://)[/?#\s<"\]]))"""
REFERENCE = rf"""{_HOSTED}[^"<>{{&]*+(?>(?:&(?:amp|apos|quot|#0*+3[89]);[^"<>{{&]*+)*)"""
"""A URL, relative or not, without a template, so that `parse_reference` takes it."""

_MEDIA_VALUES = {"url": REFERENCE, "duration": "[0-9]{1,15}"}
_MEDIA_ATTRIBUTES = ("url", "type", "medium", "width", "height", "duration", "length", "isDefault")


@lru_cache(maxsize=64)
def write_clean_pattern(key: str, prefix: str) -> re.Pattern[str]:
    """Write the pattern of extension elements that can be read later without an Issue."""
    grammar, start = Grammar(), f"<{prefix}:"
    if key == XHTML:
        values = {"rel": "(?ai:alternate)", "href": rf'(?=[^"\s]){REFERENCE}(?<!\s)'}
        attributes = grammar.quoted(dict.fromkeys(LINK_ATTRIBUTES, _QUOTED) | values)
        has_href = f"(?({1 + LINK_ATTRIBUTES.index('href')})|(?!))"
        return re.compile(f"{start}link{attributes}{has_href}(?:/>|></{prefix}:link>){_GAP}")
    extension = EXTENSIONS[key]
    end_tag = f"</{prefix}:{extension.tag}>{_GAP}"
    nested: list[str] = []
    fields = []
    for name, tags in extension.containers.items():
        nested += tags
        inner = [_write_clean_field(grammar, extension.by_tag[tag], prefix) for tag in tags]
        fields.append(f"{name}>{_GAP}{_repeat([start + _any_of(inner)])}</{prefix}:{name}>{_GAP}")
    fields += [
        _write_clean_field(grammar, field, prefix, is_required=field.tag == extension.required)
        for field in extension.fields
        if not (field.build or field.tag in nested)
    ]
    body = f">{_GAP}{_repeat([start + _any_of(fields)])}{end_tag}"
    if extension.required:  # which is the first field
        body += "(?(1)|(?!))"
    else:
        body = f"(?:/>{_GAP}|{body})"
    if extension.slot == "news":  # several of which are too many
        body += f"(?={BORDER}|\\Z)"
    return re.compile(f"{start}{extension.tag}{body}")


@lru_cache(maxsize=16)
def write_clean_media_pattern(prefixes: tuple[str, ...]) -> re.Pattern[str]:
    """Write the pattern of media in attributes that need no Issue when they are read."""
    grammar = Grammar()
    attributes = grammar.quoted(dict.fromkeys(_MEDIA_ATTRIBUTES, _QUOTED) | _MEDIA_VALUES)
    names = [*(f"{each}:(?:content|thumbnail|player)" for each in prefixes), "enclosure"]
    return re.compile(f"<{_any_of(names)}{attributes}/>{_GAP}")


def _write_clean_field(
    grammar: Grammar, field: Field, prefix: str, *, is_required: bool = False
) -> str:
    """Write a field, empty or not, behind the prefix of its start tag."""
    values = CERTAIN_TEXTS | {take_text: _QUOTED}
    start = field.tag + grammar.quoted({name: values[parse] for name, _, parse in field.attributes})
    if field.parse is parse_reference:
        some = r"(?=[^\s<\]])" if is_required else ""
        section = rf"<!\[CDATA\[{_GAP}{some}{_HOSTED}[^\]<{{]*+\]\]>{_GAP}"
        text = f"{_GAP}(?:{section}|{some}{REFERENCE})"
    elif field.parse is take_text:
        text = _TEXT
    else:
        text = f"{_GAP}(?>(?:(?:{CERTAIN_TEXTS[field.parse]}){_GAP})?)"
    end = f"</{prefix}:{field.tag}>{_GAP}"
    written = f">{text}{end}" if field.many else grammar.once(">", text, end)
    return f"{start}(?:{written}|{_GAP}/>{_GAP})"
