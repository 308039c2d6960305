"""The lines of a text: of text sitemaps, robots.txt, and lists of sites or URLs.

A line ends with a line feed, a carriage return, or both; other line ends of Unicode do not count.
Blanks and invisible characters at both ends are removed, because joined files have a byte order
mark in the middle, and editors leave characters without a width.
"""

from __future__ import annotations

import codecs
from io import IncrementalNewlineDecoder
from typing import TYPE_CHECKING

from sitemapreader._types.urls import trim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_FIRST_BYTES = 2


def read_line_ends(text: str) -> str:
    """Return a text with line feeds for all line ends (XML 1.0, section 2.11)."""
    if "\r" in text:  # six times as fast as `replace`
        text = IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)
    return text


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, trimmed; no line follows the last line end."""
    lines = list(map(str.strip, read_line_ends(text).removesuffix("\n").split("\n")))
    if text.isascii() or "".join(lines).isprintable():  # a test of all at once is cheap
        return lines
    return list(map(trim, lines))


class LineReader:
    """Incremental reader of lines in UTF-8 or UTF-16: bytes in, trimmed lines out.

    UTF-16, which PowerShell's `>` writes, is detected by its mark, or by the NUL in its first
    character.

    Args:
        max_chars: the length to which a longer line is cut.
        errors: the treatment of bytes that do not decode, as in `bytes.decode`.
    """

    def __init__(self, max_chars: int, errors: str = "replace") -> None:
        self._max_chars = max_chars
        self._errors = errors
        self._first = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._unfinished = ""

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """Read the next bytes, perhaps the last; return the lines that are complete."""
        if self._decoder is None:
            self._first += data
            if len(self._first) < _FIRST_BYTES and not final:
                return []
            make_decoder = codecs.getincrementaldecoder(_detect(self._first))
            self._decoder = make_decoder(self._errors)
            data = self._first
            self._first = b""
        text = self._unfinished + self._decoder.decode(data, final)
        # A final "\r" waits for the next bytes: it may be the first half of "\r\n".
        if final:
            end = len(text)
        else:
            end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
        self._unfinished = _cut(text[end:], self._max_chars)
        if not end:
            return []
        return [line[: self._max_chars] for line in split_lines(text[:end])]


def iterate_lines(
    pieces: Iterable[bytes],
    max_chars: int,
    errors: str = "replace",
) -> Iterator[str]:
    """Yield the lines of a text that comes in pieces, as `LineReader` reads them."""
    reader = LineReader(max_chars, errors)
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.feed(b"", final=True)


def _detect(first: bytes) -> str:
    start = first[:_FIRST_BYTES]
    if start.count(0) == 1:
        if start[0] == 0:
            return "utf-16-be"
        return "utf-16-le"
    return _UTF16_MARKS.get(start, "utf-8")


def _cut(line: str, max_chars: int) -> str:
    """Cut an unfinished line, but keep a final CR, which may end it."""
    if len(line) <= max_chars:
        return line
    if line.endswith("\r"):
        return line[:max_chars] + "\r"
    return line[:max_chars]
