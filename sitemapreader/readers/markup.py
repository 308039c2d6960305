"""The markup of HTML: the tokens of a page, in their order.

No tree is built, so neither nesting nor open elements cost anything. What has no end (a comment, a
tag, a quoted value) takes the rest with it, as the HTML standard has it. So every search that fails
is the last one, and the time is linear.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAW_ELEMENTS = frozenset(
    ("script", "style", "noscript", "noframes", "iframe", "noembed", "xmp", "title", "textarea")
)
"""Elements whose content is text up to their own end tag."""
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_ELEMENTS}
_OPENING = re.compile(r"<(?:(/?[a-zA-Z][^\s/>]*)|(!--)|[!?/])")
# A quote counts behind `=` only. Possessive: nothing is tried twice, and no end means no match.
_TAG_END = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_COMMENT_END = re.compile(r"--!?>")
_DECLARATION_END = re.compile(">")
_MAX_TAG_CHARS = 262_144
"""Characters in which the end of a tag is searched; pictures are written out in some."""
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+=?"""
)
_NAME = re.compile(r"&(?=([A-Za-z][A-Za-z0-9]*+;?)(=?))")
_LONG_NUMBER = re.compile(r"&#[0-9]{17,};?")
"""Reference of which `int` raises for thousands of digits."""

UNFINISHED = "<"
"""Name of a token without an end; reading goes on behind the characters of the longest tag."""


class Token(NamedTuple):
    """One piece of a page.

    Attributes:
        name: of an element, in lower case, with a `/` before it for an end tag; "" for a text.
        source: the attributes, or the text, as written.
        line: of a tag, from 1.
        content: what a raw element holds up to its end tag, as written.
    """

    name: str
    source: str
    line: int
    content: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """The values by names in lower case; the first one of a name counts."""
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(self.source):
            found.setdefault(name.lower(), decode_attribute(double or single or bare))
        return found


@cache
def write_opening(*names: str) -> re.Pattern[str]:
    """Return a pattern for the tags of some elements, and what may hide them."""
    wanted = "|".join(sorted({*names, "template", "/template", *_RAW_ELEMENTS} - {"noscript"}))
    return re.compile(rf"<(?:((?:{wanted})(?=[\s/>]))|(!--))", re.IGNORECASE)


def scan_page(text: str, opening_pattern: re.Pattern[str] = _OPENING) -> Iterator[Token]:
    """Yield the tokens of a page in their order; no comments, nothing of templates.

    What has no end is a token of the name `UNFINISHED`. With a pattern of `write_opening` other
    tags are texts, and `<noscript>` holds tags: some ten times as fast.
    """
    raw = _RAW_ELEMENTS if opening_pattern is _OPENING else _RAW_ELEMENTS - {"noscript"}
    position = counted = templates = 0
    line = 1
    while opening := opening_pattern.search(text, position):
        start, end, name = opening.start(), opening.end(), (opening[1] or "").lower()
        if start > position and not templates:
            yield Token("", text[position:start], line)
        if name:
            closing = _TAG_END.match(text, end, end + _MAX_TAG_CHARS)
        elif opening[2]:  # two characters back, so that `<!-->` is a whole comment
            closing = _COMMENT_END.search(text, end - 2)
        else:
            closing = _DECLARATION_END.search(text, end - 1)
        longest = end + _MAX_TAG_CHARS if name else len(text)
        position = closing.end() if closing else min(longest, len(text))
        source, content = text[end : position - 1], ""
        if closing and name in raw:
            ending = _RAW_ENDS[name].search(text, position)
            content = text[position : ending.start() if ending else None]
            position += len(content)
        if closing and name.removeprefix("/") == "template":
            templates = max(templates + (-1 if name[0] == "/" else 1), 0)
        elif (name or not closing) and not templates:
            line, counted = line + text.count("\n", counted, start), start
            yield Token(name, source, line, content) if closing else Token(UNFINISHED, "", line)
    if position < len(text) and not templates:
        yield Token("", text[position:], line)


def decode_text(text: str) -> str:
    """Decode the character references of a text."""
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", text)
    return unescape(text) if "&" in text else text


def decode_attribute(value: str) -> str:
    """Decode the character references of an attribute.

    Unlike in text, a name without a semicolon is not a reference before a letter, a digit or `=`:
    the `&copy` of `?a=1&copy=2` is a parameter
    (https://html.spec.whatwg.org/#named-character-reference-state).
    """
    return decode_text(_NAME.sub(_protect, value)) if "&" in value else value


def _protect(match: re.Match[str]) -> str:
    name, equals = match[1], match[2]
    return "&" if name in html5 and (name.endswith(";") or not equals) else "&amp;"
