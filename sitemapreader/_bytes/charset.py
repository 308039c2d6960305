"""The type and the encoding of a document, and its transcoding to UTF-8.

Order: byte order mark, valid UTF-8, HTTP charset, XML declaration (RFC 7303, section 3, except for
the second step). Valid UTF-8 comes before the names because servers name a charset by a file's name
or by habit, and generators copy declarations, while text in another encoding is hardly ever valid
UTF-8. The readers get UTF-8 only, so no parser has to decode another encoding.
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
    # "" means unsupported. UTF-32 comes before UTF-16, because its mark begins with that of UTF-16.
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
_DECLARATION_BYTES = 1_024
"""The bytes that may hold a declaration; HTML has the same rule for its own."""

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

SECURITY: `codecs.lookup` is not used, because strangers choose the names. It caches every name, so
the memory of a crawler would grow, and it tries to import a module of that name.
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
        self,
        events: list[Event],
        code: IssueCode,
        *,
        value: str | None = None,
    ) -> None:
        """Append an Issue to `events` the first time only."""


_PROVING_BYTES = 64
"""Continuation bytes of characters that prove UTF-8. In Chinese encodings one character of five is
valid UTF-8 by chance, but 64 of them never are."""
_MAX_HELD_BYTES = 262_144
"""Bytes that may wait for the proof; if all of them are valid, they are UTF-8."""


@attrs.define
class Transcoder:
    """Incremental transcoder of a document from any encoding to UTF-8.

    A sequence that does not decode becomes U+FFFD, with one Issue for the document. UTF-8 passes
    unchanged: the reader repairs a bad sequence in its record, so it can name the line and URL.

    If another encoding is named, bytes beyond ASCII wait until they prove to be UTF-8 or not.
    """

    _decoder: codecs.IncrementalDecoder | None
    """The decoder of another encoding; `None` as long as the document may be UTF-8."""
    _stats: IssueSink
    _other_codec: str | None = None
    """The codec of the other encoding, until the bytes prove that they are UTF-8."""
    _other_name: str | None = None
    """The name of the other encoding, as written."""
    _utf8_name: str | None = None
    """The name of UTF-8, as written, if it came before the name of the other encoding."""
    _held: bytes = b""
    """The waiting bytes: half a character, or all that are in doubt."""
    _evidence: int = 0
    """Continuation bytes of valid UTF-8 that were passed on."""

    def feed(
        self,
        events: list[Event],
        data: bytes,
        *,
        final: bool,
    ) -> bytes:
        """Return `data` in UTF-8; half a character, or bytes still in doubt, wait."""
        if self._other_codec is not None:
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

    def _prove(
        self,
        events: list[Event],
        data: bytes,
        *,
        final: bool,
    ) -> bytes:
        """Return the bytes to pass on; choose the encoding if they prove it."""
        data = self._held + data
        self._held = b""
        if data.isascii():
            return data
        try:
            text, size = codecs.utf_8_decode(data, "strict", final)
        except UnicodeDecodeError:
            self._decoder = _make_decoder(self._other_codec or UTF8)
            self._other_codec = None
            if self._utf8_name:
                self._stats.add_issue_once(
                    events, IssueCode.ENCODING, value=self._utf8_name
                )
            return data
        evidence = self._evidence + size - len(text)
        is_decided = final or evidence >= _PROVING_BYTES
        if not is_decided and not self._evidence and len(data) < _MAX_HELD_BYTES:
            self._held = data
            return b""
        self._evidence = evidence
        if not self._utf8_name:  # otherwise the first name, which counts, is right
            self._stats.add_issue_once(
                events, IssueCode.ENCODING, value=self._other_name
            )
        if is_decided:
            self._other_codec = None
            return data
        self._held = data[size:]
        return data[:size]


def start_transcoder(
    events: list[Event],
    stats: IssueSink,
    first: bytes,
    charset: str | None,
) -> tuple[Transcoder, bytes] | None:
    """Choose the encoding by the first bytes and the charset of the HTTP header.

    Returns the transcoder, and the bytes without their byte order mark; `None`, with an Issue, for
    an encoding that is not supported.
    """
    names = [name for name in (charset, _declaration(first)) if name and name.strip()]
    if match := _BOM.match(first):
        mark = match[0]
        codec = _BOMS[mark]
        data = first[len(mark) :]
        if codec == UTF8:
            stats.add_issue_once(events, IssueCode.LEADING_BYTES, value="\ufeff")
            return Transcoder(None, stats), data
        if not codec:
            encoding = next(iter(names), first[:4].hex(" "))
            stats.add_issue_once(events, IssueCode.ENCODING_UNSUPPORTED, value=encoding)
            return None
        return Transcoder(_make_decoder(codec), stats), data
    if match := _UTF16_START.match(first):
        codec = "utf-16-be" if match[1] else "utf-16-le"
        return Transcoder(_make_decoder(codec), stats), first
    return _start_by_names(events, stats, first, names)


def _make_decoder(codec: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(codec)("replace")


def _start_by_names(
    events: list[Event],
    stats: IssueSink,
    first: bytes,
    names: list[str],
) -> tuple[Transcoder, bytes] | None:
    """Choose the encoding of a document without a mark; see `start_transcoder`."""
    supported = {name: codec for name in names if (codec := _codec(name))}
    possible = {name: codec for name, codec in supported.items() if _fits(codec, first)}
    hides_ascii = not possible and any(map(_hides_ascii, names))
    if hides_ascii and not _is_utf8_beyond_ascii(first):
        stats.add_issue_once(events, IssueCode.ENCODING_UNSUPPORTED, value=names[0])
        return None
    best = next(iter(possible.values()), None)
    if names and (best is None or best != next(iter(supported.values()))):
        stats.add_issue_once(events, IssueCode.ENCODING, value=names[0])
    utf8_name = None
    if best == UTF8:
        utf8_name = names[0]
    for name, codec in possible.items():
        if codec.startswith("utf-16") or codec == "iso2022_jp":
            # bytes of ASCII are not ASCII in these encodings
            return Transcoder(_make_decoder(codec), stats), first
        if codec != UTF8:
            return Transcoder(None, stats, codec, name, utf8_name), first
    return Transcoder(None, stats), first


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
    """Return whether ASCII bytes may mean something else in an unsupported encoding."""
    if _codec(name) is not None:
        return False
    return _OTHER_THAN_ASCII.match(_plain_name(name)) is not None


def _plain_name(name: str) -> str:
    """Return a name of an encoding in lower case, with single marks."""
    # characters beyond ASCII are damage
    letters = name.lower().encode("ascii", "ignore").decode()
    return _MARKS_IN_NAMES.sub("_", letters).strip("_")


def _codec(name: str) -> str | None:
    """Return the codec of an encoding's name; `None` if it is not supported."""
    return _CODECS.get(_plain_name(name))


def _declaration(first: bytes) -> str | None:
    """Return the encoding that an XML declaration or the `<meta>` of a page names."""
    # A text sitemap has no declaration, even if a URL contains the text of one.
    if begins_as_url(first[:_DECLARATION_BYTES].lstrip()):
        return None
    # Searched, not matched, because warnings of a script may precede the declaration.
    if match := _DECLARATION.search(first, 0, _DECLARATION_BYTES):
        return match[1].decode("latin-1")
    if match := _META.match(first, 0, _DECLARATION_BYTES):
        name = match[1].decode("latin-1")
        if _codec(name):  # HTML ignores unknown names
            return name
    return None


# -- the Content-Type header

_CHARSET = re.compile(
    r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE
)


def media_type_of(content_type: str) -> str:
    """Return the media type in lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def charset_of(headers: Mapping[str, str]) -> str | None:
    """Return the charset of a Content-Type header, if it has one."""
    match = _CHARSET.search(headers.get("content-type", "")[:256])
    if match is None:
        return None
    return match[1]
