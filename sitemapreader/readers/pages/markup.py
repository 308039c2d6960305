"""The markup of HTML: some tags of a page in pieces, all tokens of a whole one.

No tree is built, so neither nesting nor open elements cost anything. Of a page in pieces, comments,
scripts and other raw texts are skipped. In a whole page, what has no end (a comment, a tag, a
quoted value) takes the rest with it, as the HTML standard has it. So every search that fails is the
last one, and the time is linear.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MAX_TAG_CHARS = 8_192
"""Characters of a tag that are read, which bounds the work on a tag that never ends."""
MAX_LINK_TEXT_CHARS = 2_048
"""Characters behind an `<a>` in which its end is searched; a longer text is not a title."""

RAW_ELEMENTS = frozenset(
    ("script", "style", "noscript", "noframes", "iframe", "noembed", "xmp", "title", "textarea")
)
"""Elements whose content is text up to their own end tag."""
_REFERENCED = frozenset({"title", "textarea"})
"""Of these, those in whose text `&amp;` is a reference."""
_SKIPPED = ("script", "style", "template", "textarea", "title", "iframe", "xmp")
"""Elements of a page in pieces whose content is skipped."""
_COMMENT = "!--"
_ENDS = {_COMMENT: re.compile(r"--!?>")} | {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW_ELEMENTS.union(_SKIPPED)
}
_LONGEST_MARK = 16
"""More characters than `</textarea` and the character behind it have."""
_OPENING = re.compile(r"<(?:(/?)([a-zA-Z][^\s/>]*)|(!--)|[!?/])")
# A quote counts behind `=` only. Possessive: nothing is tried twice, and no end means no match.
_TAG_END = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_DECLARATION_END = re.compile(">")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+"""
)
_ANY_ATTRIBUTE = re.compile(f"{_ATTRIBUTE.pattern}=?")
_GAP = re.compile(r"[\s/]*")
_LINK_END = re.compile(r"</?a(?=[\s/>])", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]*+>")
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*)(;?)(=?)")

_LONG_NUMBER = re.compile(r"&#[0-9]{17,};?")
"""Reference of which `int` raises for thousands of digits."""
_MAX_REFERENCE_CHARS = 16
"""Longest numeric reference; valid ones have at most 10 characters."""


@attrs.frozen
class Tag:
    """One start tag; its names are in lower case."""

    name: str
    attributes: dict[str, str]
    """The first one counts where a name repeats."""
    line: int
    is_whole: bool
    """Whether its end was found; otherwise characters may be lost."""
    text: str = ""
    """The text of the link, for an `a`."""


class TagScanner:
    """Scanner for the start tags of some elements, in document order.

    What it gives does not depend on how the page was cut into pieces.
    """

    def __init__(self, names: Iterable[str]) -> None:
        marks = "|".join((*names, *_SKIPPED))
        self._opening = re.compile(rf"<(!--|(?:{marks})(?=[\s/>]))", re.IGNORECASE)
        self._pending = ""
        self._raw_end: re.Pattern[str] | None = None
        self._line = 1
        self._counted = 0
        """Pending characters whose lines are counted."""

    def feed(self, piece: str, *, final: bool = False) -> Iterator[Tag]:
        """Yield the tags of the next piece; the caller must exhaust the iterator."""
        text, position = self._pending + piece, 0
        while True:
            if self._raw_end is not None:
                closing = self._raw_end.search(text, position)
                if closing is None:
                    break
                position, self._raw_end = closing.end(), None
            opening = self._opening.search(text, position)
            if opening is None:
                break
            name = opening[1].lower()
            if name in _ENDS:
                self._raw_end = _ENDS[name]
                position = opening.start() + 2  # so that `<!-->` counts as a whole comment
                continue
            self._count_lines(text, opening.start())
            tag, end = self._read_tag(text, opening, final=final)
            if tag is None:
                self._keep_pending(text, opening.start())
                return
            yield tag
            position = end
        self._keep_pending(text, max(position, len(text) - _LONGEST_MARK))

    def _keep_pending(self, text: str, start: int) -> None:
        self._count_lines(text, start)
        self._pending, self._counted = text[start:], 0

    def _count_lines(self, text: str, end: int) -> None:
        self._line += text.count("\n", self._counted, end)
        self._counted = end

    def _read_tag(
        self, text: str, opening: re.Match[str], *, final: bool
    ) -> tuple[Tag | None, int]:
        """Return a tag and the position behind it; `None` if more of the page is needed."""
        attributes, end, is_whole = _read_attributes(text, opening.end())
        has_lost_quote = "<" in attributes.get("href", "")
        is_near_end = not final and len(text) < opening.end() + MAX_TAG_CHARS
        if is_near_end and not is_whole and not has_lost_quote:
            return None, end
        name, link_text = opening[1].lower(), ""
        if name == "a" and is_whole:
            link_end = _LINK_END.search(text, end, end + MAX_LINK_TEXT_CHARS)
            if link_end is not None:
                link_text = _strip_tags(text[end : link_end.start()])
            elif not final and len(text) < end + MAX_LINK_TEXT_CHARS:
                return None, end
        return Tag(name, attributes, self._line, is_whole, link_text), end


def _read_attributes(text: str, position: int) -> tuple[dict[str, str], int, bool]:
    """Return the attributes from a place on, the tag's end, and whether it was found."""
    attributes: dict[str, str] = {}
    limit = position + MAX_TAG_CHARS
    while match := _ATTRIBUTE.match(text, position, limit):
        value = match[2] or match[3] or match[4] or ""
        name = match[1].lower()
        # A target with a `<` has swallowed the tags behind it, because its quote was never closed.
        # The tag ends where the target begins, so that the scanner finds these tags.
        if name == "href" and name not in attributes and "<" in value:
            return {**attributes, name: value}, match.end(1), False
        attributes.setdefault(name, unescape_attribute(value))
        position = match.end()
    if gap := _GAP.match(text, position, limit):
        position = gap.end()
    is_whole = position < limit and text.startswith(">", position)
    return attributes, position + is_whole, is_whole


def unescape_attribute(value: str) -> str:
    """Decode the character references of an attribute."""
    # Unlike in text, a name without a semicolon is not a reference before a letter, a digit or `=`:
    # the `&copy` of `?a=1&copy=2` is a parameter
    # (https://html.spec.whatwg.org/#named-character-reference-state).
    return _REFERENCE.sub(_decode_reference, value) if "&" in value else value


def _decode_reference(match: re.Match[str]) -> str:
    reference, semicolon, equals = match[0], match[1], match[2]
    if reference.startswith("&#"):
        is_too_long = len(reference) > _MAX_REFERENCE_CHARS  # int() raises for thousands of digits
        return "\ufffd" if is_too_long else unescape(reference)
    name = reference[1:].removesuffix("=")
    if name not in html5 or (equals and not semicolon):
        return reference
    return html5[name] + equals


def unescape_text(text: str) -> str:
    """Decode the character references of a text."""
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", text)
    return unescape(text)


def _strip_tags(markup: str) -> str:
    return " ".join(unescape(_ANY_TAG.sub("", markup)).split())


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
        for match in _ANY_ATTRIBUTE.finditer(self.source):
            value = match[2] or match[3] or match[4] or ""
            found.setdefault(match[1].lower(), unescape_attribute(value))
        return found


def scan_page(text: str) -> Iterator[Token]:
    """Yield the tokens of a page in their order, but no comments or declarations."""
    position = start = 0
    while opening := _OPENING.search(text, position):
        if opening.start() > start:
            yield Token("", unescape_text(text[start : opening.start()]), opening.start())
        name = (opening[2] or "").lower()
        if name:
            closing = _TAG_END.match(text, opening.end())
        elif opening[3]:  # two characters back, so that `<!-->` is a whole comment
            closing = _ENDS[_COMMENT].search(text, opening.end() - 2)
        else:
            closing = _DECLARATION_END.search(text, opening.end() - 1)
        if closing is None:
            return
        position = start = closing.end()
        if name:
            yield Token(opening[1] + name, text[opening.end() : position - 1], position)
        if name in RAW_ELEMENTS and not opening[1]:
            ending = _ENDS[name].search(text, position)
            start = position = ending.start() if ending else len(text)
            content = text[closing.end() : position]
            yield Token("", unescape_text(content) if name in _REFERENCED else content, position)
    if start < len(text):
        yield Token("", unescape_text(text[start:]), len(text))
