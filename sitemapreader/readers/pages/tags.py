"""A scanner for the tags of some elements in an HTML page that comes in pieces.

No tree is built, so neither nesting nor open elements cost anything. Comments, scripts and other
raw texts are skipped.
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

_RAW_TEXTS = ("script", "style", "template", "textarea", "title", "iframe", "xmp")
_RAW_ENDS = {
    "!--": re.compile(r"--!?>"),
    **{name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_TEXTS},
}
_LONGEST_MARK = 16
"""More characters than `</textarea` and the character behind it have."""
_ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?"""
)
_GAP = re.compile(r"[\s/]*")
_LINK_END = re.compile(r"</?a(?=[\s/>])", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]*+>")
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*)(;?)(=?)")

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
        marks = "|".join((*names, *_RAW_TEXTS))
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
            if name in _RAW_ENDS:
                self._raw_end = _RAW_ENDS[name]
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


def _strip_tags(markup: str) -> str:
    return " ".join(unescape(_ANY_TAG.sub("", markup)).split())
