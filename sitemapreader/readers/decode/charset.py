"""Which encoding a document is in, and everything else as UTF-8.

Order: byte order mark, HTTP charset, XML declaration, UTF-8 (RFC 7303, section 3). The readers
behind this see UTF-8 only, so that no parser has to be trusted with another encoding.
"""

from __future__ import annotations

import codecs
import re
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.urls import begins_as_url

if TYPE_CHECKING:
    from sitemapreader.models import Event
    from sitemapreader.readers.stats import ReadStats

UTF8 = "utf-8"
_BOMS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, ""),  # before UTF-16, whose mark it begins with; "": not read
    (codecs.BOM_UTF32_BE, ""),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# `<` and white space tell UTF-16 without a mark
_UTF16_STARTS = tuple(
    (f"{char}".encode(name), name) for name in ("utf-16-le", "utf-16-be") for char in "<h\n\r\t "
)
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([^"'>]{0,80})["']""", re.IGNORECASE
)
_DECLARATION_BYTES = 1024

# Python's codecs include some that are no character encodings at all, or that hide markup; a name
# has to be an alias of one of these. GB 2312 and GBK are read as their superset.
_ALLOWED = {
    "ascii": UTF8,
    "utf_8": UTF8,
    "utf_16": "utf-16-le",
    "utf_16_le": "utf-16-le",
    "utf_16_be": "utf-16-be",
    "latin_1": "cp1252",  # the WHATWG's reading: what says Latin-1 is windows-1252
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
} | {
    name: name
    for name in (
        *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))),
        *(f"cp125{part}" for part in range(9)),
        *("koi8_r", "koi8_u", "mac_roman", "tis_620", "cp874"),
        *("shift_jis", "cp932", "euc_jp", "iso2022_jp", "big5", "cp950", "euc_kr", "cp949"),
    )
}  # fmt: skip


@attrs.define
class Transcoder:
    """Turns a document in any encoding into UTF-8, piece by piece.

    A sequence that does not decode becomes U+FFFD, with one Issue for the document. What is UTF-8
    already passes as it stands: a bad sequence is repairs where its record is known.
    """

    _decoder: codecs.IncrementalDecoder | None
    _stats: ReadStats

    def feed(self, events: list[Event], data: bytes, *, final: bool = False) -> bytes:
        """Return `data` in UTF-8; what is left of a split character comes with the next piece."""
        if self._decoder is None:
            return data
        text = self._decoder.decode(data, final)
        if "\ufffd" in text:
            self._stats.note_once(events, IssueCode.ENCODING)
        return text.encode(UTF8, "replace")


def start_transcoder(
    events: list[Event], stats: ReadStats, first: bytes, charset: str | None
) -> tuple[Transcoder, bytes] | None:
    """Choose the encoding by a document's first bytes.

    Returns the transcoder and `first` without its byte order mark; or `None`, with an Issue, for an
    encoding that sitemaps are not read in.
    """
    mark, name = next(((m, n) for m, n in _BOMS if first.startswith(m)), (b"", None))
    if mark == codecs.BOM_UTF8:
        stats.note_once(events, IssueCode.LEADING_BYTES, value="\ufeff")
    if name is None:
        name = next((n for start, n in _UTF16_STARTS if first.startswith(start)), None)
    if name is None:
        name = _declared(events, stats, first, charset)
    if not name:
        stats.note_once(events, IssueCode.ENCODING_UNSUPPORTED, value=_said(first, charset))
        return None
    decoder = None if name == UTF8 else codecs.getincrementaldecoder(name)("replace")
    return Transcoder(decoder, stats), first[len(mark) :]


def has_conflicting_encodings(first: bytes, charset: str | None) -> bool:
    """Tell whether the HTTP charset and the XML declaration name two different encodings."""
    return len(set(_named(first, charset)[1])) > 1


def _named(first: bytes, charset: str | None) -> tuple[list[str], list[str]]:
    """Return the names of encodings that are given, and the codecs of those that are allowed."""
    names = [n for n in (charset, _declaration(first)) if n and n.strip()]
    return names, [codec for codec in map(_codec, names) if codec]


def _declared(
    events: list[Event], stats: ReadStats, first: bytes, charset: str | None
) -> str | None:
    """Return the codec of the HTTP charset or the XML declaration; `None` if it is not allowed."""
    names, known = _named(first, charset)
    if not known:
        return None if names else UTF8
    fitting = [codec for codec in known if _fits(codec, first, alone=len(set(known)) == 1)]
    if fitting[:1] != known[:1]:  # a declaration that the bytes belie
        stats.note_once(events, IssueCode.ENCODING, value=names[0])
    return fitting[0] if fitting else UTF8


def _fits(codec: str, first: bytes, *, alone: bool) -> bool:
    if codec.startswith("utf-16"):
        return b"\0" in first[:64]
    if codec == UTF8 and not alone:  # two that disagree: bytes that are no UTF-8 decide
        decoder = codecs.getincrementaldecoder(UTF8)()
        try:
            decoder.decode(first)  # not final: a character may be split at the end
        except UnicodeDecodeError:
            return False
    return True  # a bad sequence is repairs in its record, where its place is known


def _codec(name: str) -> str | None:
    """Return the codec of a name, whatever it is.

    Not by `codecs.lookup`, which keeps every name that it was ever asked for and looks for a module
    called so: strangers choose the names.
    """
    if "\0" in name:  # damage, which normalising would hide
        return None
    name = normalize_encoding(name.lower())  # some aliases have dots
    flat = name.replace(".", "_")
    return _ALLOWED.get(aliases.get(name) or aliases.get(flat, flat))


def _declaration(first: bytes) -> str | None:
    start = first[:_DECLARATION_BYTES]
    if begins_as_url(start.lstrip()):  # a text has none, whatever it holds
        return None
    match = _DECLARATION.search(start)
    return match[1].decode("latin-1") if match else None


def _said(first: bytes, charset: str | None) -> str:
    return charset or _declaration(first) or first[:4].hex(" ")
