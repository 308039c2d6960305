"""The patterns of common records, written from the table of fields.

Rules that keep them right and fast:

- Every character is accounted for: a pattern ends with an alternative that takes all that is left,
  so `findall` never skips anything, and finds no record inside a comment.
- A field may come anywhere, but once: a conditional on its own group refuses it the second time.
- A text is `[^<]*+`, which is searched as fast as one character is. What else may be wrong with a
  text is looked for in all of a batch at once, by `are_sound`.
- What was passed is never looked at again, so time is linear. Sets of characters have possessive
  quantifiers; all other loops are atomic groups, for there possessive quantifiers have bugs
  (cpython#101955, and cpython#106052 before 3.11.5).
"""

from __future__ import annotations

import re
from functools import lru_cache

from sitemapreader.models import Format
from sitemapreader.readers.formats import RECORD_OF
from sitemapreader.readers.records.fields import (
    BY_KEY,
    CERTAIN_TEXTS,
    FEED_FIELDS,
    NESTED_FIELDS,
    PROTOCOL_FIELDS,
    Field,
)
from sitemapreader.readers.records.namespaces import ATOM, DC, OWN, XHTML
from sitemapreader.readers.xml.characters import SECTION
from sitemapreader.urls import parse_reference

_BLANK = "[ \t\r\n]"
_GAP = f"{_BLANK}*+"
_TEXT = f"[^<]*+(?>(?:{SECTION}[^<]*+)?)"
_COMMENT = "<!--[^-]*+(?>(?:-(?!-)[^-]*+)*)-->"
_INSTRUCTION = r"<\?[^?]*+(?>(?:\?(?!>)[^?]*+)*)\?>"
_PREFIX = r"(?>(?:[^\W\d][\w.\xb7-]*+:)?)"
_REST_OF_TAG = """(?>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*)>"""
NOTHING = re.compile(f"(?>(?:{_BLANK}++|{_COMMENT})*)")
"""What may stand between two records without a word."""
_REST = "((?s:.++))"  # not `[\s\S]`, which looks at every character
BORDER = "<>"
"""Stands between the runs of two records where they are searched together."""
LINK_ATTRIBUTES = ("rel", "hreflang", "href", "media", "type", "title")

RUNS = (*BY_KEY, XHTML)
"""Keys of the namespaces whose elements are read in runs."""


class Grammar:
    """Writes a pattern, and counts its groups: a field that was met cannot be met again."""

    def __init__(self) -> None:
        self._groups = 0

    def once(self, start: str, pattern: str, end: str = "") -> str:
        """Write what may come once; the group has what `pattern` matches."""
        self._groups += 1
        return f"{start}(?({self._groups})(?!)|({pattern}){end})"

    def field(self, name: str) -> str:
        """Write a field, behind its `<`."""
        return self.once(f"{name}>", _TEXT, f"</{name}>{_GAP}")

    def name(self, pattern: str) -> tuple[str, str]:
        """Write a name, and what matches the same name again."""
        self._groups += 1
        return f"({pattern})", rf"(?:\{self._groups})"

    def run(self, start: str) -> str:
        """Write a run of tags whose names begin alike, with what stands between them."""
        return self.once(f"(?=<{start})", f"(?>(?:</?+{start}[^<]*+|{SECTION}[^<]*+)+)")


def _any_of(alternatives: list[str]) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _repeat(alternatives: list[str]) -> str:
    return f"(?>{_any_of(alternatives)}*)"


@lru_cache(maxsize=64)
def write_record_pattern(
    format_: Format, prefix: str, runs: tuple[tuple[str, str], ...], others: tuple[str, ...]
) -> re.Pattern[str]:
    """Write the pattern of a format's records.

    Args:
        format_: urlset or index.
        prefix: what the names of the protocol begin with, such as `s:`, or "".
        runs: the prefixes whose elements come in runs, by the key of their namespace.
        others: the prefixes of elements that become extras.

    Groups: a text for each field of the protocol, one for each run, one for the extras, an odd
    record as a whole, and all that is left.
    """
    grammar = Grammar()
    record = prefix + RECORD_OF[format_]
    fields = [grammar.field(prefix + tag) for tag in PROTOCOL_FIELDS]
    parts = [f"<{_any_of(fields)}", *(grammar.run(f"{each}:") for _, each in runs)]
    parts.append(grammar.run(f"{_any_of([*others])}:") if others else grammar.once("(?!)", ""))
    common = f"<{record}{_GAP}>{_GAP}{_repeat([*parts, _COMMENT + _GAP])}</{record}{_GAP}>"
    return _or_odd(common, record, "|".join(RECORD_OF.values()))


@lru_cache(maxsize=64)
def write_uniform_pattern(format_: Format, prefix: str, order: tuple[int, ...]) -> re.Pattern[str]:
    """Write the pattern of records that have these fields of the protocol, in this order, alone.

    It takes half the time of the one that takes any order. Groups: each text, and the rest.
    """
    record = prefix + RECORD_OF[format_]
    tags = [prefix + PROTOCOL_FIELDS[place] for place in order]
    fields = "".join(f"<{tag}>({_TEXT})</{tag}>{_GAP}" for tag in tags)
    return re.compile(f"<{record}{_GAP}>{_GAP}{fields}</{record}{_GAP}>{_GAP}|{_REST}")


def _or_odd(common: str, record: str, names: str) -> re.Pattern[str]:
    """Write the pattern of common records, of odd ones without these names in them, of the rest."""
    inside = [
        "[^<]++",
        _COMMENT,
        SECTION,
        _INSTRUCTION,
        f"<(?![!?]|/?+{_PREFIX}(?ai:{names})[ \t\r\n/>])",
    ]
    odd = f"(<{record}(?=[ \t\r\n>]){_REST_OF_TAG}{_repeat(inside)}</{record}{_GAP}>)"
    return re.compile(f"(?:{common}|{odd}){_GAP}(?>(?:{_COMMENT}{_GAP})*)|{_REST}")


FEED_DATE_NAMES = {
    Format.RSS: ((OWN, "pubDate"), (DC, "date"), (ATOM, "updated")),
    Format.ATOM: tuple((OWN, tag) for tag in ("updated", "modified", "published", "issued")),
}
"""Format -> the dates of its records as they are commonly written, best first."""
_FEED_RECORDS = {Format.RSS: "item", Format.ATOM: "entry"}
_FEED_TAGS = "|".join(sorted({*_FEED_RECORDS.values(), "title", *FEED_FIELDS} - {"guid"}))
_MOST_INSIDE = 60
"""Tags inside an element that is passed over: too few to nest deeper than is allowed."""


@lru_cache(maxsize=64)
def write_item_pattern(
    format_: Format, prefix: str, bound: tuple[tuple[str, str], ...]
) -> re.Pattern[str]:
    """Write the pattern of a feed's records, for markup that is known to be well-formed.

    Args:
        format_: RSS or Atom.
        prefix: what the names of its vocabulary begin with, or "".
        bound: the other prefixes that are bound, with the key of their namespace.

    Groups: the link or links, the title, each date, the name of an element that is passed over, an
    odd record as a whole, and all that is left.
    """
    grammar = Grammar()
    record, link = prefix + _FEED_RECORDS[format_], f"{prefix}link"
    if format_ is Format.ATOM:
        parts = [grammar.once(f"(?=<{link}{_BLANK})", f"(?>(?:</?+{link}[ \t\r\n/>][^<]*+)+)")]
    else:
        parts = [f"<{grammar.field(link)}"]
    title = f'<{prefix}title(?>(?: type="[a-z]++")?)>'
    parts.append(grammar.once(title, _TEXT, f"</{prefix}title>{_GAP}"))
    prefixes = {OWN: prefix} | {key: f"{each}:" for each, key in reversed(bound)}
    for key, tag in FEED_DATE_NAMES[format_]:
        known = key in prefixes
        parts.append(
            f"<{grammar.field(prefixes[key] + tag)}" if known else grammar.once("(?!)", "")
        )
    names = [f"{prefix}(?!(?ai:{_FEED_TAGS})[ \t\r\n/>])[^\\W\\d][\\w.-]*+(?!:)"]
    names += [f"{each}:(?!(?ai:{_FEED_TAGS})[ \t\r\n/>])[\\w.-]++" for each, _ in bound]
    name, same = grammar.name(_any_of(names))
    other = f"<(?!/{same}[ \t\r\n>]|[!?])"
    inside = f"[^<]*+(?>(?:(?:{SECTION}|{_COMMENT}|{other})[^<]*+){{0,{_MOST_INSIDE}}})"
    end = f"(?:(?<=/>)|{inside}</{same}{_GAP}>)"
    parts.append(f"<{name}(?=[ \t\r\n/>]){_REST_OF_TAG}{end}{_GAP}")
    start = f"<{record}(?=[ \t\r\n>])(?![^<]*xmlns){_REST_OF_TAG}(?<!/>){_GAP}"
    common = f"{start}{_repeat([*parts, _COMMENT + _GAP])}</{record}{_GAP}>"
    return _or_odd(common, record, "|".join(_FEED_RECORDS.values()))


@lru_cache(maxsize=16)
def write_atom_link_pattern(start: str) -> re.Pattern[str]:
    """Write the pattern of Atom's links; groups: each attribute with its quotes, the rest."""
    grammar = Grammar()
    value = """(?:"[^"<]*+"|'[^'<]*+')"""
    names = [grammar.once(f"{name}=", value) for name in LINK_ATTRIBUTES]
    attributes = _repeat([f"{_BLANK}++{_any_of(names)}"])
    return re.compile(f"(?:{BORDER})?{start}{attributes}{_GAP}(?:/>|></{start[1:]}>){_GAP}|{_REST}")


# -- elements of which nothing will have to be said

_QUOTED = '[^"<>]*+'
_NO_URL = r"""(?!(?i:https?://)[/?#\s<"])"""
_REFERENCE = rf"""{_NO_URL}[^"<>{{&]*+(?>(?:&(?:amp|apos|quot|#0*+3[89]);[^"<>{{&]*+)*)"""
"""A URL, relative or not: `parse_reference` takes it, for there is no template in it."""


@lru_cache(maxsize=64)
def write_clean_pattern(key: str, prefix: str) -> re.Pattern[str]:
    """Write the pattern of an extension's elements that can be read later, without an Issue."""
    grammar, start = Grammar(), f"<{prefix}:"
    if key == XHTML:
        values = {"rel": "(?ai:alternate)", "href": rf"(?=\S){_REFERENCE}"}
        names = [
            grammar.once(f'{name}="', values.get(name, _QUOTED), '"') for name in LINK_ATTRIBUTES
        ]
        has_href = f"(?({1 + LINK_ATTRIBUTES.index('href')})|(?!))"
        attributes = _repeat([f"{_BLANK}++{_any_of(names)}"])
        end = f"{has_href}{_GAP}(?:/>|></{prefix}:link>)"
        return re.compile(f"{start}link{attributes}{end}{_GAP}")
    extension = BY_KEY[key]
    end_tag = f"</{prefix}:{extension.tag}>{_GAP}"
    nested = [tag for name in extension.containers for tag in NESTED_FIELDS[name]]
    inner = [_write_clean_field(grammar, extension.by_tag[tag], prefix) for tag in nested]
    fields = [
        f"{name}>{_GAP}{_repeat([start + _any_of(inner)])}</{prefix}:{name}>{_GAP}"
        for name in extension.containers
    ]
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


def _write_clean_field(
    grammar: Grammar, field: Field, prefix: str, *, is_required: bool = False
) -> str:
    """Write a field, empty or not, behind the prefix of its start tag."""
    names = [
        grammar.once(f'{name}="', CERTAIN_TEXTS.get(parse, _QUOTED), '"')
        for name, _, parse in field.attributes
    ]
    start = field.tag + (_repeat([f"{_BLANK}++{_any_of(names)}"]) + _GAP if names else "")
    if field.parse is parse_reference:
        some = r"(?=[^\s<\]])" if is_required else ""
        section = rf"<!\[CDATA\[{_GAP}{some}{_NO_URL}[^\]<{{]*+\]\]>{_GAP}"
        text = f"{_GAP}(?:{section}|{some}{_REFERENCE})"
    elif certain := CERTAIN_TEXTS.get(field.parse):
        text = f"{_GAP}(?>(?:(?:{certain}){_GAP})?)"
    else:
        text = _TEXT
    end = f"</{prefix}:{field.tag}>{_GAP}"
    written = f">{text}{end}" if field.many else grammar.once(">", text, end)
    return f"{start}(?:{written}|{_GAP}/>{_GAP})"
