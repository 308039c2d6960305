"""A second, naive look at a document: every text in it that an author may have meant as a URL.

It knows nothing of records and formats, so it sees far too much; but a URL that is not among what
it sees was invented (law 3). It is frozen: what it cannot judge passes, and it learns no new cases.
What compressed data inflate to is what a reader takes them for: codings have tests of their own.
"""

from __future__ import annotations

import contextlib
import html
import itertools
import re
from html.entities import html5
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from sitemapreader._bytes.codings import DecompressionError, Decompressor
from sitemapreader._types.options import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HIDDEN = re.compile(r"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_OPEN_CDATA = re.compile(r"<!\[CDATA\[([^<\]]*)(?:\]\]>)?")
_MARKS = re.compile(r"<!\[CDATA\[|\]\]>")
_SECTION_IN_TAG = re.compile(r"(</?[A-Za-z][^<>]*)<!\[CDATA\[")
_WHOLE_SECTION_IN_TAG = re.compile(_SECTION_IN_TAG.pattern + r"(.*?)\]\]>", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_TAG_WITH_VALUES = re.compile(r"""</?[A-Za-z](?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>""")
_LOOSE_TAG = re.compile(r"</?[A-Za-z][^<>]*>?|<!--|<\?")
_ANGLES = re.compile(r"<[^<>]*>|[<>]")
_QUOTE = re.compile("[\"']")
_QUOTED = re.compile(r"""=\s*(?:"([^"]*)"|'([^']*)')""")
_UNQUOTED = re.compile(r"""=\s*([^\s"'>]+)""")
_REFERENCE = re.compile(r"&(?:#([0-9]+)|#[xX]([0-9A-Fa-f]+)|([A-Za-z][A-Za-z0-9]*));")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BASE = re.compile(
    r"""base\s*=\s*(?:"([^"<]*)|'([^'<]*)|([^\s"'<>]*))""", re.IGNORECASE
)
_SCHEME = re.compile("https?://", re.IGNORECASE)
_SEPARATOR = re.compile(r"""[\s,;|<>"'`“”„]""")
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030"}
_DECLARED = re.compile(
    rb"""<\?xml[^>]*encoding\s*=\s*["']([^"']+)["']""", re.IGNORECASE
)
_MOST_CELLS = 1_000
"""Of a line; of more, the first."""
_BLANKS = " \t\r\n"
_SPACES = dict.fromkeys(map(ord, "\t\r\n"), " ")
"""What blanks in the value of an attribute are read as (XML 1.0, section 3.3.3)."""


def unseen(urls: Iterable[str], data: bytes, url: str) -> set[str]:
    """Return those of the URLs that no text in a document gives, relative to `url` or to a base."""
    left = set(urls)
    # of a text that one of them may come from
    ends = {
        "",
        *"./?#;",
        *(text[-1:] for text in left),
    }
    for texts in _visible(data):
        left -= texts
        likely = (text for text in texts if text[-1:] in ends)
        left.difference_update(
            resolved for text in likely for resolved in joins(url, text)
        )
        if not left:
            return left
    kept = {text for texts in _visible(data) for text in texts if text[-1:] in ends}
    for base in _bases(data, url):
        left.difference_update(
            resolved for text in kept for resolved in joins(base, text)
        )
        if not left:
            break
    return left


def _visible(data: bytes) -> Iterator[set[str]]:
    """Give the texts of a document, a part at a time, for they are many."""
    for text in _decodings(data):
        normal = text.replace("\r\n", "\n").replace("\r", "\n")  # as XML has it
        variants = {text, normal, _UNWRITABLE.sub("", normal)}
        for texts in itertools.chain([_lines(normal)], *map(_texts, variants)):
            yield texts | {_UNWRITABLE.sub("", text).strip(_BLANKS) for text in texts}


def _bases(data: bytes, url: str) -> Iterator[str]:
    """Give `url`, and what `xml:base` may make of it: that of the root, the record and the link."""
    texts = {text.replace("\0", "").replace("\r\n", "\n") for text in _decodings(data)}
    found = itertools.chain.from_iterable(map(_BASE.findall, texts))
    written = {_unescape("".join(groups).translate(_SPACES)) for groups in found}
    written |= {_UNWRITABLE.sub("", base) for base in written}
    known = outer = {url}
    for _ in range(3):
        yield from outer
        outer = {
            inner for base in outer for text in written for inner in joins(base, text)
        } - known
        known = known | outer
    yield from outer


def _lines(text: str) -> set[str]:
    """Read as a list of URLs: what stands in a line, as it stands there, or between separators."""
    lines = {line.strip(_BLANKS) for line in text.split("\n")}
    cells = set[str]()
    for line in lines:
        ends = [*(mark.start() for mark in _SEPARATOR.finditer(line)), len(line)]
        starts = [scheme.start() for scheme in _SCHEME.finditer(line)]
        pairs = itertools.islice(itertools.product(starts, ends), _MOST_CELLS)
        cells.update(line[start:end] for start, end in pairs)
    return lines | cells


def _texts(text: str) -> Iterator[set[str]]:
    """Read as markup: what stands between tags, in lines of it, and in attributes."""
    # one may end a tag
    for visible in {
        text,
        _HIDDEN.sub("", text),
        _HIDDEN.sub(">", text),
    }:
        parts = visible.split("<![CDATA[")[1:]
        # one in another
        sections = (
            *parts,
            *map("<![CDATA[".join, itertools.pairwise(parts)),
        )
        yield _trimmed([section.partition("]]>")[0] for section in sections])
        literals = (pattern.sub(_escape, visible) for pattern in (_CDATA, _OPEN_CDATA))
        # the tag ends where a section begins in it
        ended = _SECTION_IN_TAG.sub(r"\1>", visible)
        cut = _CDATA.sub(lambda section: ">" + _escape(section), visible)
        cut_last = _WHOLE_SECTION_IN_TAG.sub(
            lambda tag: f"{tag[1]}>{_escape(tag, 2)}", visible
        )
        for markup in (
            *literals,
            cut,
            cut_last,
            ended,
            _MARKS.sub("", ended),
            _MARKS.sub("", visible),
            _MARKS.sub(">", visible),
        ):
            yield _trimmed(_pieces(markup))


def _pieces(markup: str) -> list[str]:
    return [
        *_TAG.split(markup),
        *_TAG_WITH_VALUES.split(markup),
        *_LOOSE_TAG.split(markup),
        *_ANGLES.split(markup),
        *markup.split("\n"),
        *_QUOTE.split(markup),
        *_QUOTE.split(markup.translate(_SPACES)),
        *("".join(groups).translate(_SPACES) for groups in _QUOTED.findall(markup)),
        *_UNQUOTED.findall(markup),
        *_UNQUOTED.findall(markup.replace("<", " ")),
    ]


def _trimmed(pieces: list[str]) -> set[str]:
    """Give the texts that pieces of markup stand for."""
    texts = {*pieces, *(piece.replace("]]>", "", 1) for piece in pieces)}
    texts |= {_unescape(text) for text in texts if "&" in text}
    return {text.strip(_BLANKS) for text in texts} | {text.strip() for text in texts}


def _escape(section: re.Match[str], content: int = 1) -> str:
    """Write a section as text; no reference goes on from it, or into it."""
    return f"\0{html.escape(section[content], quote=False)}\0"


def _unescape(text: str) -> str:
    return _REFERENCE.sub(_character, text)


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if not decimal and not hexadecimal:
        return html5.get(f"{name};", reference[0])
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if number < 0x110000 else reference[0]


def joins(url: str, text: str) -> Iterator[str]:
    """Resolve a text against a URL, as urljoin does and with the empty segments that it drops.

    A text that begins with the URL's own host lacks nothing but the scheme.
    """
    with contextlib.suppress(ValueError):
        yield urljoin(url, text)
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, _, rest = path.partition("//")
    if _begins_with_host(text, rest.partition("/")[0]):
        yield f"{scheme}//{text}"
    if text.startswith("//"):
        yield _without_dots(scheme + text)
    elif text.startswith("/"):
        yield _without_dots(f"{scheme}//{rest.partition('/')[0]}{text}")
    elif text.startswith("?"):
        yield path + text
    elif text.startswith("#"):
        yield url.partition("#")[0] + text
    else:
        yield _without_dots(path[: path.rfind("/") + 1] + text)


def _begins_with_host(text: str, host: str) -> bool:
    """Tell whether the first segment of a text is a host, or one below it, with or without www."""
    bare = host.lower().removeprefix("www.")
    first = re.split(r"[/?#]", text, maxsplit=1)[0].lower()
    return bool(bare) and (first == bare or first.endswith(f".{bare}"))


def _without_dots(url: str) -> str:
    """Take `.` and `..` out of the path of a URL (RFC 3986, section 5.2.4)."""
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, _, rest = path.partition("//")
    host, *segments = rest.split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1:] in (["."], [".."]):
        kept.append("")
    return "/".join([f"{scheme}//{host}", *kept]) + url[len(path) :]


def inflate(data: bytes) -> bytes:
    """Return what the bytes inflate to, up to their damage."""
    decompressor, inflated = Decompressor(Limits(), []), bytearray()
    with contextlib.suppress(DecompressionError):
        for pieces in (decompressor.decode(data), decompressor.decode(b"", final=True)):
            for piece in pieces:
                inflated += piece
    return bytes(inflated)


def _decodings(data: bytes) -> Iterator[str]:
    """Give all texts that the bytes may stand for: as they declare, and as is most often meant."""
    for body in {data, inflate(data)}:
        names = [
            name.decode("ascii", "ignore")
            for name in _DECLARED.findall(body[:1024])[:1]
        ]
        names += ["utf-16-le", "utf-16-be"] if b"\0" in body else []
        for name in [*names, "utf-8", "windows-1252", "latin-1"]:
            with contextlib.suppress(LookupError, ValueError):
                yield body.decode(_WIDER.get(name.lower(), name), "replace").lstrip(
                    "\ufeff"
                )
