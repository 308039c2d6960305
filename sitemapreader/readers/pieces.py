"""A batch -> the pieces between its marks: without a parser, and only where that is safe.

It is cut at `<`, `>` and, where attributes matter, at `"`. Every second piece is markup, the others
are texts and values of attributes, with their references resolved, and made of nothing but what a
document may contain.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sitemapreader.readers.tokens import Doubt

_CUT = "\x01"
_SECTION, _SECTION_END = b"<![CDATA[", b"]]>"
_MARKUP, _STAND_INS = b'&<>"', b"\x02\x03\x04\x05"
"""Characters that are not what they seem in a CDATA section, and others that no document has."""
_TO_STAND_INS = bytes.maketrans(_MARKUP, _STAND_INS)
_SECTION_MARK = b"\x06"
_GRAMMAR = re.compile(rb'(?:[&\x06]*+<(?:"&*+")*+>)*+')
"""Of marks: references and sections stand in texts, references in values of attributes as well."""
_NUMBER = re.compile(rb"#(?:(\d{1,7})|x([0-9A-Fa-f]{1,6}))")
_PREDEFINED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_NO_CHARACTERS = ("\ufffe".encode(), "\uffff".encode())


class Pieces(NamedTuple):
    """A batch that has been cut: before each mark a piece, the second of every two is markup."""

    pieces: list[str]
    marks: bytes


class _Knife:
    """Cuts at some marks; between them nothing stands but what texts are made of."""

    def __init__(self, marks: bytes) -> None:
        texts = set(range(0x20, 0x100)) - set(marks + b"&") | set(b"\t\n" + _STAND_INS)
        self._texts = bytes(texts)
        self._cuts = bytes.maketrans(
            marks + _STAND_INS[1:], _CUT.encode() * len(marks) + _MARKUP[1:]
        )

    def find_marks(self, data: bytes) -> bytes:
        """Return the marks, with those of references and sections, and whatever no text has."""
        return data.translate(None, self._texts)

    def cut(self, data: bytes) -> list[str]:
        """Return the pieces between marks; raise Doubt if they are no texts of XML."""
        data = _resolve_references(data.translate(self._cuts))  # sections' marks keep them apart
        data = data.replace(_SECTION_MARK, b"").replace(_STAND_INS[:1], _MARKUP[:1])
        if not data.isascii() and any(char in data for char in _NO_CHARACTERS):
            raise Doubt
        try:
            return data.decode().split(_CUT)
        except UnicodeDecodeError:
            raise Doubt from None


_TAGS, _VALUES = _Knife(b"<>"), _Knife(b'<>"')


def cut(batch: bytes) -> Pieces:
    """Cut a batch that ends with a tag; raise Doubt if it may be anything but tags and texts."""
    data = _end_lines(_resolve_sections(batch))
    knife = _VALUES if b'"' in data and b" href=" in data else _TAGS
    marks = knife.find_marks(data)
    if not _GRAMMAR.fullmatch(marks):
        raise Doubt
    pieces = knife.cut(data)
    pieces.pop()  # what stands behind the last tag: nothing
    return Pieces(pieces, marks.translate(None, b"&" + _SECTION_MARK))


# -- what XML says of characters


def _resolve_sections(batch: bytes) -> bytes:
    """Put texts in place of CDATA sections, with stand-ins for what would be markup in them."""
    if any(char in batch for char in _STAND_INS + _SECTION_MARK):
        raise Doubt
    if b"!" not in batch or _SECTION not in batch:  # one character is found ten times as fast
        return batch
    first, *others = batch.split(_SECTION)
    pieces = [first]
    for other in others:
        text, end, behind = other.partition(_SECTION_END)
        if not end:
            raise Doubt
        pieces += (_SECTION_MARK, text.translate(_TO_STAND_INS), _SECTION_MARK, behind)
    return b"".join(pieces)


def _end_lines(batch: bytes) -> bytes:
    """XML 1.0, section 2.11."""
    return batch.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in batch else batch


def _resolve_references(data: bytes) -> bytes:
    first, *others = data.split(b"&")
    if not others:
        return data
    pieces = [first]
    for other in others:
        name, end, behind = other.partition(b";")
        if not end:
            raise Doubt
        pieces += (_PREDEFINED.get(name) or _resolve(name), behind)
    return b"".join(pieces)


@lru_cache(maxsize=256)
def _resolve(reference: bytes) -> bytes:
    """Return the character of a number (XML 1.0, section 4.1)."""
    found = _NUMBER.fullmatch(reference)
    if not found:
        raise Doubt
    code = int(found[1]) if found[1] else int(found[2], 16)
    if code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF:  # section 2.2
        return chr(code).encode()
    raise Doubt
