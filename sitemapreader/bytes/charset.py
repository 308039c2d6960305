"""The type and the encoding of a document, and its transcoding to UTF-8.

Order: byte order mark, HTTP charset, XML declaration, UTF-8 (RFC 7303, section 3). The readers get
UTF-8 only, so no parser needs to be trusted with another encoding.
"""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Protocol

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.urls import begins_as_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader.models import Event

UTF8 = "utf-8"
_BOMS = {
    codecs.BOM_UTF8: UTF8,
    # "" means unsupported. UTF-32 stands before UTF-16, whose mark begins the mark of UTF-32.
    codecs.BOM_UTF32_LE: "",
    codecs.BOM_UTF32_BE: "",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_BOM = re.compile(b"|".join(_BOMS))
_UTF16_START = re.compile(rb"(\0)?[<h\s](?(1)|\0)")
"""UTF-16 without a byte order mark: XML begins with `<` or white space, a list of URLs with `h`."""
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([^"'>]{0,80})["']""", re.IGNORECASE
)
_META = re.compile(
    rb"""(?s:(?>(?:\s*+(?:<!--.*?-->|<[!?][^>]*+>))*)\s*+(?=<(?:html|head|meta|title|script)\b)"""
    rb""".*?)<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""",
    re.IGNORECASE,
)
"""The `<meta>` of a page, and not of a feed, whose texts may hold one."""
_DECLARATION_BYTES = 1_024  # where HTML requires its own, too

# SECURITY: some of Python's codecs are not character encodings (zlib, base64), and some hide
# markup from a scan of bytes (utf-7). So a name must be an alias of one of these. GB 2312 and GBK
# are read as their superset.
_ALLOWED = {
    **dict.fromkeys(("ascii", "utf_8"), UTF8),
    **dict.fromkeys(("utf_16", "utf_16_le"), "utf-16-le"),
    "utf_16_be": "utf-16-be",
    "latin_1": "cp1252",  # as the WHATWG reads it, for pages that say Latin-1 are windows-1252
    **dict.fromkeys(("gb2312", "gbk", "gb18030"), "gb18030"),
} | {
    name: name
    for name in (
        *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))),
        *(f"cp125{part}" for part in range(9)),
        *("koi8_r", "koi8_u", "mac_roman", "tis_620", "cp874"),
        *("shift_jis", "cp932", "euc_jp", "iso2022_jp", "big5", "cp950", "euc_kr", "cp949"),
    )
}  # fmt: skip
_MARKS_IN_NAMES = re.compile(r"[^0-9a-z\0]+")  # a NUL is damage
_CODECS = {
    _MARKS_IN_NAMES.sub("_", name): _ALLOWED[codec]
    for name, codec in (*aliases.items(), *zip(_ALLOWED, _ALLOWED, strict=True))
    if codec in _ALLOWED
}
"""Name of an encoding, in lower case and with single marks -> the codec that reads it.

SECURITY: not by `codecs.lookup`, for strangers choose the names. It caches every name that it was
ever asked for, so a crawler would grow, and it tries to import a module of that name.
"""


class IssueSink(Protocol):
    """Receiver of Issues about a whole document; the readers pass their `ReadStats`."""

    def add_issue_once(
        self, events: list[Event], code: IssueCode, *, value: str | None = None
    ) -> None:
        """Append an Issue to `events` the first time only."""


@attrs.define
class Transcoder:
    """Incremental transcoder of a document from any encoding to UTF-8.

    A sequence that does not decode becomes U+FFFD, with one Issue for the document. UTF-8 passes
    unchanged: the reader repairs a bad sequence in its record, whose line and URL it can name.
    """

    _decoder: codecs.IncrementalDecoder | None
    _stats: IssueSink

    def feed(self, events: list[Event], data: bytes, *, final: bool = False) -> bytes:
        """Return `data` in UTF-8; half a character waits for the next piece."""
        if self._decoder is None:
            return data
        text = self._decoder.decode(data, final)
        if "\ufffd" in text:
            self._stats.add_issue_once(events, IssueCode.ENCODING)
        return text.encode(UTF8, "replace")


def start_transcoder(
    events: list[Event], stats: IssueSink, first: bytes, charset: str | None
) -> tuple[Transcoder, bytes] | None:
    """Choose the encoding by the first bytes and the charset of the HTTP header.

    Returns the transcoder, and the bytes without their byte order mark; `None`, with an Issue, for
    an encoding that is not supported.
    """
    names = [name for name in (charset, _declaration(first)) if name and name.strip()]
    known = [codec for codec in map(_codec, names) if codec]
    found = _BOM.match(first)
    mark = found[0] if found else b""
    codec = _BOMS.get(mark)
    if codec == UTF8:
        stats.add_issue_once(events, IssueCode.LEADING_BYTES, value="\ufeff")
    if codec is None:
        start = _UTF16_START.match(first)
        codec = start and ("utf-16-be" if start[1] else "utf-16-le")
    if codec is None and (known or not names):
        is_utf8 = {*known} == {UTF8}
        codec = next((each for each in known if is_utf8 or _fits(each, first)), UTF8)
        if known and codec != known[0]:  # the bytes contradict the first name
            stats.add_issue_once(events, IssueCode.ENCODING, value=names[0])
    if not codec:
        said = names[0] if names else first[:4].hex(" ")
        stats.add_issue_once(events, IssueCode.ENCODING_UNSUPPORTED, value=said)
        return None
    decoder = None if codec == UTF8 else codecs.getincrementaldecoder(codec)("replace")
    return Transcoder(decoder, stats), first[len(mark) :]


def _fits(codec: str, first: bytes) -> bool:
    """Return whether the first bytes can be in an encoding, as far as they show it."""
    # Some generators declare UTF-16, the encoding of their strings in memory, and write UTF-8.
    # The markup of real UTF-16 has a NUL in each character.
    if codec.startswith("utf-16"):
        return b"\0" in first[:64]
    # Where two names conflict, only UTF-8 can be disproved; nearly any bytes decode as the others.
    if codec == UTF8:
        try:
            codecs.getincrementaldecoder(UTF8)().decode(first)  # it may end inside a character
        except UnicodeDecodeError:
            return False
    return True


def _codec(name: str) -> str | None:
    """Return the codec of an encoding's name; `None` if it is not supported."""
    plain = name.lower().encode("ascii", "ignore").decode()  # a letter that is none may be damage
    return _CODECS.get(_MARKS_IN_NAMES.sub("_", plain).strip("_"))


def _declaration(first: bytes) -> str | None:
    # A text sitemap has no declaration, even where a URL in it holds one.
    if begins_as_url(first[:_DECLARATION_BYTES].lstrip()):
        return None
    # Searched, not matched: warnings of a script may stand before the declaration.
    if match := _DECLARATION.search(first, 0, _DECLARATION_BYTES):
        return match[1].decode("latin-1")
    match = _META.match(first, 0, _DECLARATION_BYTES)
    name = match[1].decode("latin-1") if match else ""
    return name if _codec(name) else None  # of a page's name that is unknown, HTML makes nothing


# -- what a Content-Type says

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE)


def media_type_of(content_type: str) -> str:
    """Return the media type in lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def charset_of(headers: Mapping[str, str]) -> str | None:
    """Return the charset of a Content-Type header, if it has one."""
    match = _CHARSET.search(headers.get("content-type", "")[:256])
    return match[1] if match else None
