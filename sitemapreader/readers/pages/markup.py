"""The tokens of a whole HTML page: its tags, and the texts between them.

What has no end (a comment, a tag, a quoted value) takes the rest of the page with it, as the HTML
standard has it. So every search that fails is the last one, and the time is linear.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import attrs

from sitemapreader.readers.pages.tags import unescape_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

RAW_ELEMENTS = frozenset(
    ("script", "style", "noscript", "noframes", "iframe", "noembed", "xmp", "title", "textarea")
)
"""Elements whose content is text up to their own end tag."""
_REFERENCED = frozenset({"title", "textarea"})
"""Of these, those in whose text `&amp;` is a reference."""

_OPENING = re.compile(r"<(?:(/?)([a-zA-Z][^\s/>]*)|(!--)|[!?/])")
# A quote counts behind `=` only. Possessive: nothing is tried twice, and no end means no match.
_TAG_END = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_DECLARATION_END = re.compile(">")
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW_ELEMENTS}
_COMMENT_END = re.compile(r"--!?>")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+=?"""
)


@attrs.frozen
class Token:
    """One piece of a page.

    Attributes:
        name: of an element, in lower case, with a `/` before it for an end tag; "" for a text.
        source: the attributes as written, or the text with its references decoded.
        end: the position behind it.
    """

    name: str
    source: str
    end: int

    def attributes(self) -> dict[str, str]:
        """Return the values by names in lower case; the first one of a name counts."""
        found: dict[str, str] = {}
        for match in _ATTRIBUTE.finditer(self.source):
            value = match[2] or match[3] or match[4] or ""
            found.setdefault(match[1].lower(), unescape_attribute(value))
        return found


def scan_page(text: str) -> Iterator[Token]:
    """Yield the tokens of a page in their order, but no comments or declarations."""
    position = start = 0
    while opening := _OPENING.search(text, position):
        if opening.start() > start:
            yield Token("", unescape(text[start : opening.start()]), opening.start())
        name = (opening[2] or "").lower()
        if name:
            closing = _TAG_END.match(text, opening.end())
        elif opening[3]:  # two characters back, so that `<!-->` is a whole comment
            closing = _COMMENT_END.search(text, opening.end() - 2)
        else:
            closing = _DECLARATION_END.search(text, opening.end() - 1)
        if closing is None:
            return
        position = start = closing.end()
        if name:
            yield Token(opening[1] + name, text[opening.end() : position - 1], position)
        if name in RAW_ELEMENTS and not opening[1]:
            start = position = _find_raw_end(text, name, position)
            content = text[closing.end() : position]
            yield Token("", unescape(content) if name in _REFERENCED else content, position)
    if start < len(text):
        yield Token("", unescape(text[start:]), len(text))


def _find_raw_end(text: str, name: str, position: int) -> int:
    """Return where the end tag of a raw element begins, or the end of the page."""
    closing = _RAW_ENDS[name].search(text, position)
    return closing.start() if closing else len(text)
