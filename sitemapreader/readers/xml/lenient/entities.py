"""Text as it stands in markup -> the characters that its author meant, and what was repairs."""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFERENCE = re.compile(
    r"&(?:#(?:(?P<decimal>[0-9]{1,8})|[xX](?P<hex>[0-9a-fA-F]{1,7}));"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]{1,31});)?"
)
_XML = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
# XML 1.0, section 2.2: what a document may not contain, not even as a reference
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
"""Nobody can say what was meant by one."""
_LOST = "\ufffd"
_SLICE = 8_192
"""Characters of a long text that are unescaped in one step: 5 ms, if each is an `&`."""
_MAX_REFERENCE = 40
"""Longer than any reference that is resolved."""


def slices(text: str) -> Iterator[str]:
    """Cut a long text into pieces that can be unescaped one by one: through no reference."""
    start = 0
    while len(text) - start > _SLICE:
        end = start + _SLICE
        reference = text.rfind("&", end - _MAX_REFERENCE, end)
        end = reference if reference >= 0 else end
        yield text[start:end]
        start = end
    yield text[start:]


def unescape(text: str, repairs: set[IssueCode]) -> str:
    """Resolve references as XML does, and HTML's besides; a bare `&` stays what it is.

    Control characters are removed. What had to be repairs is added to `repairs`.
    """
    text = remove_controls(text, repairs)
    if "&" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        if name := match["name"]:
            if name in _XML:
                return _XML[name]
            if f"{name};" in html5:
                repairs.add(IssueCode.HTML_ENTITY)
                return html5[f"{name};"]
        elif match["decimal"] or match["hex"]:
            code = int(match["decimal"]) if match["decimal"] else int(match["hex"], 16)
            return _numbered(code, repairs)
        repairs.add(IssueCode.BARE_AMPERSAND)
        return match[0]

    return _REFERENCE.sub(character, text)


def remove_controls(text: str, repairs: set[IssueCode]) -> str:
    """Remove the control characters that XML forbids; what is no character at all is lost."""
    clean = _CONTROL.sub("", text)
    if len(clean) != len(text):
        repairs.add(IssueCode.CONTROL_CHARACTER)
    return _NO_CHARACTER.sub(_LOST, clean)


def _numbered(code: int, repairs: set[IssueCode]) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return _LOST
    return remove_controls(chr(code), repairs)


def replace_bad_bytes(text: str) -> str:
    """Put the character for lost ones in place of bytes that were no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
