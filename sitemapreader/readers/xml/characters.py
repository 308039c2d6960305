"""Characters and references: what XML allows, and what they stand for."""

from __future__ import annotations

import re
from functools import partial
from html.entities import html5
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Collection

_XML = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_LOST = "\ufffd"

ATTRIBUTES = r"""[^<>"']*+(?>(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*)"""
"""Everything between the name of a tag and its `>`, if all quotes are closed."""
COMMENT_START, COMMENT_END = "<!--", "-->"
SECTION_START = "<![CDATA["
CLOSINGS = {COMMENT_START: COMMENT_END, "<?": "?>", SECTION_START: "]]>"}
"""Markup that holds no elements: how it begins, how it ends."""
HIDDEN = r"(?s:<(?:!--.*?(?:-->|\Z)|!\[CDATA\[.*?(?:\]\]>|\Z)|\?.*?(?:\?>|\Z)))"
"""The same from left to right, each up to the end of the text if nothing closes it.

So time is linear: what begins inside of another, or is not closed, is not searched for again.
"""

# -- well-formed text

_CONTENT = r"[^\]]*+(?>(?=\]\]>)|(?:\](?!\]>)[^\]]*+)*)"  # a set would take three times as long
SECTION = rf"<!\[CDATA\[{_CONTENT}\]\]>"
COMMENT = "<!--[^-]*+(?>(?:-(?!-)[^-]*+)*)-->"
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
BLANKS = re.compile(r"[ \t\r\n]*+")
_SECTION = re.compile(rf"<!\[CDATA\[({_CONTENT})\]\]>")
_HIDDEN = re.compile(rf"<!(?:\[CDATA\[({_CONTENT})(?:\]\]>|\Z)|{COMMENT.removeprefix('<!')})")
"""A section, whose text is the group, or a comment; one literal beginning makes it fast.

A section that is not closed goes to the end, so that time is linear.
"""
_LEGAL = bytes(code for code in range(256) if code >= 32 or code in b"\t\n\r")
_DECIMAL = "9|10|13|3[2-9]|[4-9][0-9]|[1-9][0-9]{2,3}|[1-4][0-9]{4}|[1-9][0-9]{5}"
_HEX = "[9AaDd]|[2-9A-Fa-f].|[1-9A-Fa-f]..|[1-9A-Ca-c]...|[1-9A-Fa-f]....".replace(
    ".", "[0-9A-Fa-f]"
)
_BEHIND_AMPERSAND = (
    r"(?:#(?:(?P<decimal>[0-9]{1,8})|[xX](?P<hex>[0-9a-fA-F]{1,7}));"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]{1,31});)?"
)
ODD_REFERENCE = re.compile(
    rf"&(?!(?:{'|'.join(_XML)}|#0*+(?:{_DECIMAL})|#x0*+(?:{_HEX}));){_BEHIND_AMPERSAND}"
)
"""A reference that XML does not know, or a bare `&`."""
_ODD_CHARACTERS = (_LOST, "\ufffe", "\uffff")
_SOUND_REFERENCE = re.compile("&([^;]++);")
_NO_CHARACTER = "\0"
"""Stands in no text of XML."""


def are_sound(text: str) -> bool:
    """Return whether characters and references are XML's, and all sections closed.

    XML 1.0, sections 2.2, 2.4 and 4.1. Rare references, and the character for lost ones, are
    reasons to look closer.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a byte that was not UTF-8
        return False
    if data.translate(None, _LEGAL):
        return False
    if not text.isascii() and any(odd in text for odd in _ODD_CHARACTERS):
        return False
    if "]" in text or "[" in text:  # one character is found ten times as fast as three
        pieces = _HIDDEN.split(text)
        if not pieces[-1] and pieces[-2] is not None and not text.endswith("]]>"):
            return False  # not closed: the section begins in an instruction
        # A section in which another begins was not closed
        if any(section and SECTION_START in section for section in pieces[1::2]):
            return False
        text = "".join(pieces[::2])
        if ("[" in text and SECTION_START in text) or ("]" in text and "]]>" in text):
            return False
    return not ODD_REFERENCE.search(text)


def decode_many(texts: Collection[str]) -> list[str]:
    """Decode texts that `are_sound`."""
    joined = _NO_CHARACTER.join(texts)
    decoded = decode(joined)
    return list(texts) if decoded is joined else decoded.split(_NO_CHARACTER)


def decode(text: str) -> str:
    """Resolve references, sections and line ends in a text that `are_sound`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<" not in text:
        return _resolve_references(text)
    pieces = _SECTION.split(text)  # every second one is what a section holds
    pieces[::2] = map(_resolve_references, pieces[::2])
    return "".join(pieces)


def _resolve_references(text: str) -> str:
    if "&" not in text:
        return text
    pieces = _SOUND_REFERENCE.split(text)  # every second one is the name of a reference
    pieces[1::2] = map(_resolve, pieces[1::2])
    return "".join(pieces)


def _resolve(name: str) -> str:
    # without zeros in front: `int` raises for thousands of digits
    return _XML.get(name) or chr(int(name.lstrip("#x0"), 16 if name[1] == "x" else 10))


# -- broken text

_REFERENCE = re.compile(f"&{_BEHIND_AMPERSAND}")
# XML 1.0, section 2.2: what a document may not contain, not even as a reference
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NONCHARACTER = re.compile("[\ufffe\uffff]")
"""No character: what was meant by one is unknown."""


def unescape(text: str, repairs: set[IssueCode]) -> str:
    """Resolve the references of XML and of HTML; keep a bare `&`.

    Control characters are removed. The codes of what was repaired are added to `repairs`.
    """
    text = remove_controls(text, repairs)
    return _REFERENCE.sub(partial(resolve_reference, repairs), text) if "&" in text else text


def resolve_reference(repairs: set[IssueCode], match: re.Match[str]) -> str:
    """Resolve a reference of XML or of HTML; keep a bare `&`."""
    if name := match["name"]:
        if name in _XML:
            return _XML[name]
        if f"{name};" in html5:
            repairs.add(IssueCode.HTML_ENTITY)
            return html5[f"{name};"]
    elif match["decimal"] or match["hex"]:
        code = int(match["decimal"]) if match["decimal"] else int(match["hex"], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            return _LOST
        one = chr(code)
        return one if one.isprintable() else remove_controls(one, repairs)
    repairs.add(IssueCode.BARE_AMPERSAND)
    return match[0]


def remove_controls(text: str, repairs: set[IssueCode]) -> str:
    """Remove control characters that XML forbids, and replace noncharacters."""
    clean = _CONTROL.sub("", text)
    if len(clean) != len(text):
        repairs.add(IssueCode.CONTROL_CHARACTER)
    return _NONCHARACTER.sub(_LOST, clean)


def replace_bad_bytes(text: str) -> str:
    """Replace bytes that were not UTF-8 by the replacement character."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
