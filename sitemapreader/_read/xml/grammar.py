"""The patterns of common records, written from the table of fields.

Rules that keep them right and fast:

- Every character is accounted for: a pattern ends with an alternative that takes all that is left,
  so `findall` never skips anything, and finds no record inside a comment.
- A field may come anywhere, but once: a conditional on its own group refuses it the second time.
- A text is `[^<]*+`, which is searched as fast as one character is. What else may be wrong with a
  text is looked for in all of a batch at once, by `count_sound_lines` and `are_closed`.
- What was passed is never looked at again, so time is linear. Sets of characters have possessive
  quantifiers; all other loops are atomic groups, because there possessive quantifiers have bugs
  (cpython#101955, and cpython#106052 before 3.11.5).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sitemapreader._read.vocabulary import (
    CERTAIN_TEXTS,
    PARSED_EXTENSIONS,
    PROTOCOL_FIELDS,
    RECORD_OF,
    XHTML,
    Field,
    take_text,
    take_url,
)
from sitemapreader._read.xml.markup import ATTRIBUTES, COMMENT, SECTION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader._types.models import Format

_BLANK = "[ \t\r\n]"
GAP = f"{_BLANK}*+"
_TEXT = f"[^<]*+(?:(?=</)|{SECTION}[^<]*+)"
_PREFIX_PATTERN = r"(?>(?:[^\W\d][\w.\xb7-]*+:)?)"
REST = "(?P<rest>(?s:.++))"  # not `[\s\S]`, which looks at every character
BORDER = "<>"
"""Stands between the element runs of two records where they are searched together."""
ELEMENT_RUN_KEYS = (*PARSED_EXTENSIONS, XHTML)
"""Keys of the namespaces whose elements are read in runs: one text for all that follow another."""


class Grammar:
    """Writer of a pattern; it counts the groups, so that a field matches only once."""

    def __init__(self) -> None:
        self._groups = 0
        self._fields: dict[str, int] = {}
        """Name of a field's value -> the group that matches if the record has it."""

    def once(
        self,
        start: str,
        pattern: str,
        end: str = "",
        name: str = "",
    ) -> str:
        """Write an optional part that may come once; its group is the match of `pattern`."""
        self._groups += 1
        group = f"(?P<{name}>{pattern})" if name else f"({pattern})"
        return f"{start}(?({self._groups})(?!)|{group}{end})"

    def remember(self, name: str) -> None:
        """Remember the last group as the one of a field."""
        self._fields[name] = self._groups

    def require(self, names: Iterable[str]) -> str:
        """Write a condition: all of these fields have matched.

        A field that is not in the pattern has no group, so only the tree can tell whether it is
        there.
        """
        conditions = []
        for name in names:
            if name in self._fields:
                conditions.append(f"(?({self._fields[name]})|(?!))")
            else:
                conditions.append("(?!)")
        return "".join(conditions)

    def field(self, name: str) -> str:
        """Write a field, after its `<`."""
        return self.once(f"{name}>", _TEXT, f"</{name}>{GAP}")

    def quoted(self, values: dict[str, str]) -> str:
        """Write attributes in any order, each once, by the patterns of their values."""
        names = [self.once(f'{name}="', value, '"') for name, value in values.items()]
        if names:
            return _repeat([f"{_BLANK}++{_any_of(names)}"]) + GAP
        return ""

    def element_run(self, start: str, name: str = "") -> str:
        """Write a run of tags whose names begin alike, with the text between them."""
        tags = [f"/{start}", start, SECTION.removeprefix("<")]
        tag = _any_of([f"{start}[^<]*+<{_any_of(tags)}", *tags])  # two at once, mostly
        return self.once(f"(?=<{start})", f"(?>(?:<{tag}[^<]*+)+)", name=name)


def _any_of(alternatives: list[str]) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _repeat(alternatives: list[str]) -> str:
    return f"(?>{_any_of(alternatives)}*)"


@lru_cache(maxsize=64)
def write_record_pattern(
    format_: Format,
    prefix: str,
    runs: tuple[str, ...],
    others: tuple[str, ...],
) -> re.Pattern[str]:
    """Write the pattern of a format's records, whose names may begin with `s:`, say.

    Elements of the prefixes `runs` come in runs, those of `others` become extras. The groups, in
    their order:

    - the text of each field of the protocol, in the order of `PROTOCOL_FIELDS`;
    - the elements of each of `runs`;
    - `extras`, if there are `others`: their elements;
    - `odd`: a whole record that is not common, if there is no other record in it;
    - `end`: empty; its place is the end of the record, before blanks and comments;
    - `rest`: all that is left, from the first place on at which no record is.
    """
    grammar = Grammar()
    record = prefix + RECORD_OF[format_]
    fields = [grammar.field(prefix + tag) for tag in PROTOCOL_FIELDS]
    comment = COMMENT.removeprefix("<") + GAP
    parts = [f"<{_any_of([*fields, comment])}"]
    parts += [grammar.element_run(f"{each}:") for each in runs]
    if others:
        parts.append(grammar.element_run(f"{_any_of([*others])}:", "extras"))
    common = f"<{record}{GAP}>{GAP}{_repeat(parts)}</{record}{GAP}>"
    names = "|".join(RECORD_OF.values())
    inside = [
        "[^<]++",
        COMMENT,
        SECTION,
        f"<(?![!?]|/?+{_PREFIX_PATTERN}(?ai:{names})[ \t\r\n/>])",
    ]
    odd = f"(?P<odd><{record}(?=[ \t\r\n>]){ATTRIBUTES}>{_repeat(inside)}</{record}{GAP}>)"
    trailing = f"{GAP}(?>(?:{COMMENT}{GAP})*)"
    return re.compile(f"(?:{common}|{odd})(?P<end>){trailing}|{REST}")


# -- elements that will need no Issue

_LINK_ATTRIBUTES = ("rel", "hreflang", "href", "media", "type", "title")
_QUOTED = '[^"<>]*+'
_URL_CHARACTERS_PATTERN = r"[!#-%'-;=?-z|}~\w]*+"
_FILLED = r"(?=\s*+(?:<!\[CDATA\[\s*+)?[^\s<&\]])"
"""Stands before a text that must have a character of its own; a reference may be a blank."""
_URL = rf"https?://\w{_URL_CHARACTERS_PATTERN}(?>(?:&(?:amp|apos|quot|#0*+3[89]);{_URL_CHARACTERS_PATTERN})*)"
"""An absolute URL for which `read_loc` has no Issue."""


@lru_cache(maxsize=64)
def write_clean_pattern(key: str, prefix: str) -> re.Pattern[str]:
    """Write the pattern of extension elements that can be read later without an Issue."""
    grammar = Grammar()
    start = f"<{prefix}:"
    if key == XHTML:
        values = {"rel": "(?ai:alternate)", "href": _URL}
        attributes = grammar.quoted(dict.fromkeys(_LINK_ATTRIBUTES, _QUOTED) | values)
        has_href = f"(?({1 + _LINK_ATTRIBUTES.index('href')})|(?!))"
        return re.compile(
            f"{start}link{attributes}{has_href}(?:/>|></{prefix}:link>){GAP}"
        )
    extension = PARSED_EXTENSIONS[key]
    end_tag = f"</{prefix}:{extension.tag}>{GAP}"
    required = extension.required
    fields = []
    for name in sorted(extension.containers):
        inner = [
            _write_clean_field(grammar, field, prefix, required)
            for field in extension.by_tag.values()
            if field.inside == name
        ]
        fields.append(
            f"{name}>{GAP}{_repeat([start + _any_of(inner)])}</{prefix}:{name}>{GAP}"
        )
    fields += [
        _write_clean_field(grammar, field, prefix, required)
        for field in extension.by_tag.values()
        if not (field.build or field.inside)
    ]
    body = f">{GAP}{_repeat([start + _any_of(fields)])}{end_tag}"
    if required:
        body += grammar.require(required)
    else:
        body = f"(?:/>{GAP}|{body})"
    if not extension.many:
        body += f"(?={BORDER}|\\Z)"
    return re.compile(f"{start}{extension.tag}{body}")


def _write_clean_field(
    grammar: Grammar,
    field: Field,
    prefix: str,
    required: tuple[str, ...],
) -> str:
    """Write a field, empty or not, after the prefix of its start tag."""
    is_required = field.name in required
    values = CERTAIN_TEXTS | {take_text: _QUOTED, take_url: f"(?:{_URL})?"}
    start = field.tag + grammar.quoted(
        {name: values[parse] for name, _, parse in field.attributes}
    )
    if field.parse is take_url:
        section = rf"<!\[CDATA\[{GAP}https?://\w(?:&|{_URL_CHARACTERS_PATTERN[:-2]})*+{GAP}\]\]>"
        text = f"{GAP}(?:(?:{section}|{_URL}){GAP}){'' if is_required else '?'}"
    elif field.parse is take_text:
        text = _TEXT
    else:
        text = f"{GAP}(?>(?:(?:{CERTAIN_TEXTS[field.parse]}){GAP})?)"
    if is_required and field.parse is not take_url:
        text = _FILLED + text
    end = f"</{prefix}:{field.tag}>{GAP}"
    if field.many:
        written = f">{text}{end}"
    else:
        written = grammar.once(">", text, end)
        grammar.remember(field.name)
    return f"{start}(?:{written}|{GAP}/>{GAP})"
