"""The XML parsers alone, as a lower bound."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

from defusedxml.ElementTree import iterparse

from adapters import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adapters import Document

RECORDS = ("url", "sitemap", "item", "entry")
BUFFER_BYTES = 262_144


def parse_only(document: Document) -> None:
    """Run expat without a handler, which only checks well-formedness."""
    parser = expat.ParserCreate()
    for chunk in _chunks(document.data):
        parser.Parse(chunk, False)
    parser.Parse(b"", True)


def make_tokens(document: Document) -> None:
    """Have expat make Python strings of all texts, and discard them."""
    tokens: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = BUFFER_BYTES
    parser.CharacterDataHandler = tokens.append
    parser.EndElementHandler = tokens.append
    for chunk in _chunks(document.data):
        parser.Parse(chunk, False)
        tokens.clear()
    parser.Parse(b"", True)


def pull(document: Document) -> int:
    """Keep the fields of each record that ElementTree's pull parser gives."""
    parser: Any = ET.XMLPullParser(("end",))
    records: list[dict[str, str | None]] = []
    for chunk in _chunks(document.data):
        parser.feed(chunk)
        records += (
            _take(element) for _, element in parser.read_events() if _is_record(element)
        )
    parser.close()
    records += (
        _take(element) for _, element in parser.read_events() if _is_record(element)
    )
    return len(records)


def iterate_defused(document: Document) -> int:
    """Keep the fields of each record that defusedxml's iterparse gives."""
    events = iterparse(BytesIO(document.data), ("end",))
    return len([_take(element) for _, element in events if _is_record(element)])


def build_tree(document: Document) -> int:
    """Build a tree, and discard it."""
    root = ET.fromstring(document.data)  # noqa: S314 (our own corpora)
    return sum(map(_is_record, root.iter()))


def _chunks(data: bytes) -> Iterator[bytes]:
    return (
        data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES)
    )


def _is_record(element: ET.Element) -> bool:
    return element.tag.rpartition("}")[2] in RECORDS


def _take(element: ET.Element) -> dict[str, str | None]:
    fields = {child.tag: child.text for child in element}
    element.clear()
    return fields
