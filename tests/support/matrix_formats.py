"""Six formats of one list of URLs, and the records that are complete in their first bytes.

Only the standard library judges what is complete (ElementTree's pull parser, zlib, ends of lines):
it shares no fault with the package.
"""

from __future__ import annotations

import gzip
import random
import zlib
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 60
_RANDOM = random.Random(5)
LOCS = [f"https://site.example/{n}/{_RANDOM.randbytes(12).hex()}" for n in range(COUNT)]
_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _join(before: str, record: str, after: str) -> bytes:
    records = "\n".join(record.format(loc=loc) for loc in LOCS)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{before}\n{records}\n{after}'.encode()


_URLSET = _join(
    f'<urlset xmlns="{_SITEMAPS}">',
    "<url><loc>{loc}</loc><lastmod>2026-03-05</lastmod></url>",
    "</urlset>",
)

BODIES: dict[str, bytes] = {
    "urlset": _URLSET,
    "index": _join(
        f'<sitemapindex xmlns="{_SITEMAPS}">',
        "<sitemap><loc>{loc}</loc></sitemap>",
        "</sitemapindex>",
    ),
    "text": "".join(f"{loc}\n" for loc in LOCS).encode(),
    "rss": _join(
        '<rss version="2.0"><channel><title>News</title>',
        "<item><title>One</title><link>{loc}</link></item>",
        "</channel></rss>",
    ),
    "atom": _join(
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>',
        '<entry><title>One</title><link rel="alternate" href="{loc}"/></entry>',
        "</feed>",
    ),
    "gz": gzip.compress(_URLSET, mtime=0),
}
"""The bodies that are served, by format."""

_RECORDS = {"url", "sitemap", "item", "entry"}


def complete_locs(kind: str, data: bytes, *, ended: bool) -> list[str]:
    """Return the URLs of the records that are complete in the first bytes of a body.

    Args:
        kind: the format.
        data: the first bytes.
        ended: whether HTTP says that the body ends there, which ends its last line.
    """
    while data.startswith(b"\x1f"):
        data = zlib.decompressobj(31).decompress(data)
    return list(_text_locs(data, ended=ended) if kind == "text" else _xml_locs(data))


def _text_locs(data: bytes, *, ended: bool) -> Iterator[str]:
    *lines, rest = data.decode().split("\n")
    yield from lines
    if ended and rest.removeprefix("https://") not in {rest, ""}:
        yield rest


def _xml_locs(data: bytes) -> Iterator[str]:
    parser: Any = ET.XMLPullParser(("end",))  # whose annotations know more events than "end"
    parser.feed(data)
    if flush := getattr(parser, "flush", None):  # an expat that defers, from 2.6 on
        flush()
    for _, element in parser.read_events():
        if element.tag.rpartition("}")[2] in _RECORDS:
            yield from (
                (field.text or field.get("href") or "")
                for field in element
                if field.tag.rpartition("}")[2] in {"loc", "link"}
            )
