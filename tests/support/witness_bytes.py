"""The bytes of a document, as the witness sees them: in every way that they can be read in."""

from __future__ import annotations

import codecs
import itertools
import re
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0?\0", "utf-16-le"),
    (b"\0<\0?", "utf-16-be"),
)
_GZIP = b"\x1f\x8b\x08"
_HEADER_BYTES = 10
_MAGICS = (_GZIP, b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030"}
_DECLARED = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["']([^"']+)["']""", re.IGNORECASE)


def decodings(data: bytes) -> Iterator[str]:
    """Give all texts that the bytes may stand for, inflated and decoded."""
    return itertools.chain.from_iterable(map(_decode, _inflations(data)))


def _inflations(data: bytes) -> list[bytes]:
    """Inflate as many layers and members as there are, and as much of them as there is.

    Gives the first member alone, the first two, and so on, for one may count as junk.
    """
    found = [data]
    if not data.startswith(_MAGICS) and (raw := _run(data, 0, -15)[0]):  # bare deflate data
        found = [data, raw]
    while found[-1].startswith(_MAGICS):
        members = list(itertools.accumulate(_inflate_members(found[-1])))
        if not members[-1]:
            break
        found = members
    return found


def _inflate_members(data: bytes) -> Iterator[bytes]:
    at = 0
    while at >= 0:
        piece, used = _inflate(data[at:])
        yield piece
        at = data.find(_GZIP, at + used)  # behind damage, the next one may begin anywhere


def _inflate(data: bytes) -> tuple[bytes, int]:
    """Inflate one member, with its header or, where that is damaged, without it."""
    runs = [_run(data, 0, 47)]
    if not runs[0][2]:
        runs += [_run(data, _HEADER_BYTES + more, -15) for more in (0, 2)]  # 2: its checksum
    inflated, used, _ = max(runs, key=lambda run: len(run[0]))
    return inflated, used


def _run(data: bytes, start: int, wbits: int) -> tuple[bytes, int, bool]:
    """Inflate byte by byte, for at an error zlib gives nothing of its last step.

    Returns what comes out, how far it was read, and whether that is the end.
    """
    inflater, inflated = zlib.decompressobj(wbits=wbits), b""
    for at in range(start, len(data)):
        try:
            inflated += inflater.decompress(data[at : at + 1])
        except zlib.error:
            return inflated, at + 1, False
        if inflater.eof:
            return inflated, at + 1, True
    return inflated, len(data), False


def _decode(data: bytes) -> list[str]:
    """Decode by BOM, by declaration, and by those that are most often meant."""
    names = [name for bom, name in _BOMS if data.startswith(bom)]
    names += [name.decode("ascii", "ignore") for name in _DECLARED.findall(data[:1024])[:1]]
    texts = []
    names += ["utf-16-le", "utf-16-be"] if b"\0" in data else []
    for name in [*names, "utf-8", "windows-1252", "latin-1"]:
        try:
            texts.append(data.decode(_WIDER.get(name.lower(), name), "replace").lstrip("\ufeff"))
        except (LookupError, ValueError):
            continue
    return texts
