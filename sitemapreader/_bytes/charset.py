"""The type and the encoding of a document, and its transcoding to UTF-8.

Order: byte order mark, valid UTF-8, HTTP charset, XML declaration (RFC 7303, section 3, but for the
second step). Servers name a charset by a file's name or by habit, and generators copy declarations;
text in another encoding is hardly ever valid UTF-8. The readers get UTF-8 only, so no parser needs
to be trusted with another encoding.
"""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Protocol

import attrs

from sitemapreader._types.issues import IssueCode
from sitemapreader._types.urls import begins_as_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader._types.models import Event

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
    "koi8_ru": "koi8_u",  # which the WHATWG reads so
} | {
    name: name
    for name in (
        *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))),
        *(f"cp125{part}" for part in range(9)),
        *("koi8_r", "koi8_u", "mac_roman", "mac_cyrillic", "cp866", "tis_620", "cp874"),
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

_OTHER_THAN_ASCII = re.compile(
    "utf_?(?:7|16|32)|(?:iso_10646_)?ucs|iso_?2022|csiso2022|hz|cp_?(?:037|273|424|500|875|1026|1140)"
    "|ibm_?(?:037|273|424|500|875|1026|1140)|ebcdic|punycode|idna|unicode|raw_unicode|uu|base|zlib"
    "|zip|bz2|hex|quopri|quoted|rot"
)
"""Beginnings of names of encodings in which ASCII bytes may mean something else."""


class IssueSink(Protocol):
    """Receiver of Issues about a whole document; the readers pass their `ReadStats`."""

    def add_issue_once(
        self, events: list[Event], code: IssueCode, *, value: str | None = None
    ) -> None:
        """Append an Issue to `events` the first time only."""


_ENOUGH_BYTES = 64
"""Bytes behind the first of each character that prove UTF-8. By chance a character of the Chinese
encodings is valid UTF-8 in one case of five, and 64 of them never are."""
_MOST_HELD_BYTES = 262_144
"""Bytes that wait for the proof; behind them, what was valid so far is taken for UTF-8."""


@attrs.define
class Transcoder:
    """Incremental transcoder of a document from any encoding to UTF-8.

    A sequence that does not decode becomes U+FFFD, with one Issue for the document. UTF-8 passes
    unchanged: the reader repairs a bad sequence in its record, whose line and URL it can name.

    Where another encoding is named, bytes beyond ASCII wait until they prove to be UTF-8 or not.
    """

    _decoder: codecs.IncrementalDecoder | None
    """The decoder of another encoding; `None` as long as the document may be UTF-8."""
    _stats: IssueSink
    _named: str | None = None
    """The codec of the other encoding, until the bytes prove that they are UTF-8."""
    _name: str | None = None
    """The name of the other encoding, as written."""
    _disproved: str | None = None
    """The name of UTF-8 that stood before the other's."""
    _held: bytes = b""
    """The bytes that wait; half a character at least."""
    _evidence: int = 0
    """Bytes of valid UTF-8 that were passed on, as `_ENOUGH_BYTES` counts them."""

    def feed(self, events: list[Event], data: bytes, *, final: bool = False) -> bytes:
        """Return `data` in UTF-8; half a character, or bytes still in doubt, wait."""
        if self._named is not None:
            data = self._prove(events, data, final=final)
        if self._decoder is None:
            return data
        text = self._decoder.decode(data, final)
        if "\ufffd" in text:
            self._stats.add_issue_once(events, IssueCode.ENCODING)
        return text.encode(UTF8, "replace")

    @property
    def is_waiting(self) -> bool:
        """True if bytes wait for the next ones."""
        return bool(self._held)

    def _prove(self, events: list[Event], data: bytes, *, final: bool) -> bytes:
        """Return the bytes to be passed on; choose the encoding if they prove it."""
        data = self._held + data
        self._held = b""
        if data.isascii():
            return data
        try:
            text, size = codecs.utf_8_decode(data, "strict", final)
        except UnicodeDecodeError:
            self._decoder = codecs.getincrementaldecoder(self._named or UTF8)("replace")
            self._named = None
            if self._disproved:
                self._stats.add_issue_once(
                    events, IssueCode.ENCODING, value=self._disproved
                )
            return data
        found = size - len(text)
        is_proved = self._evidence + found >= _ENOUGH_BYTES
        is_undecided = not self._evidence and len(data) < _MOST_HELD_BYTES
        if not (is_proved or final) and is_undecided:
            self._held = data
            return b""
        self._evidence += found
        if not self._disproved:  # else the first name, which counts, is right
            self._stats.add_issue_once(events, IssueCode.ENCODING, value=self._name)
        if is_proved or final:
            self._named = None
            return data
        self._held = data[size:]
        return data[:size]


def start_transcoder(
    events: list[Event], stats: IssueSink, first: bytes, charset: str | None
) -> tuple[Transcoder, bytes] | None:
    """Choose the encoding by the first bytes and the charset of the HTTP header.

    Returns the transcoder, and the bytes without their byte order mark; `None`, with an Issue, for
    an encoding that is not supported.
    """
    names = [name for name in (charset, _declaration(first)) if name and name.strip()]
    found = _BOM.match(first)
    mark = found[0] if found else b""
    codec = _BOMS.get(mark)
    if codec == UTF8:
        stats.add_issue_once(events, IssueCode.LEADING_BYTES, value="\ufeff")
    if codec is None and (start := _UTF16_START.match(first)):
        codec = "utf-16-be" if start[1] else "utf-16-le"
    if codec is None:
        return _start_by_names(events, stats, first, names)
    if not codec:
        said = names[0] if names else first[:4].hex(" ")
        stats.add_issue_once(events, IssueCode.ENCODING_UNSUPPORTED, value=said)
        return None
    if codec == UTF8:
        decoder = None
    else:
        decoder = codecs.getincrementaldecoder(codec)("replace")
    return Transcoder(decoder, stats), first[len(mark) :]


def _start_by_names(
    events: list[Event], stats: IssueSink, first: bytes, names: list[str]
) -> tuple[Transcoder, bytes] | None:
    """Choose the encoding of a document without a mark; see `start_transcoder`."""
    codecs_named = list(map(_codec, names))
    possible = [
        (codec, name)
        for codec, name in zip(codecs_named, names, strict=True)
        if codec and _fits(codec, first)
    ]
    if (
        not possible
        and any(map(_hides_ascii, names))
        and not _is_utf8_beyond_ascii(first)
    ):
        stats.add_issue_once(events, IssueCode.ENCODING_UNSUPPORTED, value=names[0])
        return None
    known = [codec for codec in codecs_named if codec]
    if (names and not known) or (
        known and (not possible or possible[0][0] != known[0])
    ):
        stats.add_issue_once(events, IssueCode.ENCODING, value=names[0])
    codec, name = next((each for each in possible if each[0] != UTF8), (None, None))
    if codec is None:
        return Transcoder(None, stats), first
    # bytes of ASCII are not ASCII there
    if codec.startswith("utf-16") or codec == "iso2022_jp":
        return Transcoder(codecs.getincrementaldecoder(codec)("replace"), stats), first
    disproved = names[0] if possible[0][0] == UTF8 else None
    return Transcoder(None, stats, codec, name, disproved), first


def _fits(codec: str, first: bytes) -> bool:
    """Return whether the first bytes can be in an encoding, as far as they show it."""
    # Some generators declare UTF-16, the encoding of their strings in memory, and write UTF-8.
    # The markup of real UTF-16 has a NUL in each character.
    if codec.startswith("utf-16"):
        return b"\0" in first[:64]
    if codec == "iso2022_jp":  # it has no bytes beyond ASCII
        return first.isascii() or not _is_utf8_beyond_ascii(first)
    return True


def _is_utf8_beyond_ascii(first: bytes) -> bool:
    """Return whether the first bytes, which may end inside a character, show UTF-8."""
    try:
        codecs.utf_8_decode(first, "strict", False)
    except UnicodeDecodeError:
        return False
    return not first.isascii()


def _hides_ascii(name: str) -> bool:
    """Return whether an encoding that is not supported may use bytes of ASCII otherwise."""
    return (
        _codec(name) is None and _OTHER_THAN_ASCII.match(_plain_name(name)) is not None
    )


def _plain_name(name: str) -> str:
    """Return a name of an encoding in lower case, with single marks."""
    # a letter that is none: damage
    letters = name.lower().encode("ascii", "ignore").decode()
    return _MARKS_IN_NAMES.sub("_", letters).strip("_")


def _codec(name: str) -> str | None:
    """Return the codec of an encoding's name; `None` if it is not supported."""
    return _CODECS.get(_plain_name(name))


def _declaration(first: bytes) -> str | None:
    # A text sitemap has no declaration, even where a URL in it holds one.
    if begins_as_url(first[:_DECLARATION_BYTES].lstrip()):
        return None
    # Searched, not matched: warnings of a script may stand before the declaration.
    if match := _DECLARATION.search(first, 0, _DECLARATION_BYTES):
        return match[1].decode("latin-1")
    match = _META.match(first, 0, _DECLARATION_BYTES)
    name = match[1].decode("latin-1") if match else ""
    # of a page's name that is unknown, HTML makes nothing
    return name if _codec(name) else None


# -- what a Content-Type says

_CHARSET = re.compile(
    r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE
)


def media_type_of(content_type: str) -> str:
    """Return the media type in lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def charset_of(headers: Mapping[str, str]) -> str | None:
    """Return the charset of a Content-Type header, if it has one."""
    match = _CHARSET.search(headers.get("content-type", "")[:256])
    return match[1] if match else None
