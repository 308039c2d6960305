"""Exact reading: expat, armed by defusedxml, from a batch of whole records to small trees.

A batch is a document of its own: behind a start tag of our making, which binds the namespaces of
the real root, stand records of the input and nothing else. No state outlives it.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING
from xml.parsers import expat

from defusedxml.ElementTree import DefusedXMLParser

from sitemapreader.readers.roots import ROOTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pyexpat import XMLParserType

    from sitemapreader.readers.builder import ElementBuilder
    from sitemapreader.readers.xml.prolog import Prolog

NAMESPACE_SEPARATOR = "}"
_PREFIX = re.compile(r"[A-Za-z_][\w.-]*|")
_BLANKS = {ord(blank): f"&#{ord(blank)};" for blank in "\t\n\r"}
_RESERVED = ("xml", "xmlns")
TEXT_BUFFER = 1 << 18
"""Larger than a batch that is read fast: there each text has to come in one piece."""
_STEP_BYTES = 8_192
"""The smallest elements that fit in take 5 ms to build."""


class UnreadableError(Exception):
    """The batch is not well-formed, or not whole."""


def arm_parser() -> XMLParserType:
    """Make an expat parser that refuses every DTD, entity and external reference."""
    armed = DefusedXMLParser(encoding="utf-8", forbid_dtd=True)
    parser: XMLParserType = armed.parser
    vars(armed).clear()  # the two would keep each other alive until the collector comes
    parser.StartElementHandler = None
    parser.EndElementHandler = None
    parser.CommentHandler = None
    parser.ProcessingInstructionHandler = None
    parser.DefaultHandlerExpand = None
    parser.ordered_attributes = False
    parser.buffer_text = True
    parser.buffer_size = TEXT_BUFFER
    return parser


def make_start_tag(head: Prolog) -> bytes:
    """Write the start tag that a batch stands behind."""
    bound = "".join(
        f" xmlns{':' * bool(prefix)}{prefix}='{escape(uri).translate(_BLANKS)}'"
        for prefix, uri in head.namespaces.items()
        if _PREFIX.fullmatch(prefix) and prefix not in _RESERVED
    )
    return f"<r{bound}>".encode()


def parse_batch(parser: XMLParserType, start_tag: bytes, batch: bytes) -> None:
    """Run a batch through a parser; raise UnreadableError if it is not well-formed.

    That an element was left open shows only when our own start tag is closed.
    """
    for _ in parse_steps(parser, start_tag, batch, len(batch)):
        pass
    parser.EndElementHandler = None
    try:
        parser.Parse(b"</r>", True)
    except expat.ExpatError as error:
        raise UnreadableError(str(error)) from None


def parse_steps(
    parser: XMLParserType, start_tag: bytes, batch: bytes, step_bytes: int
) -> Iterator[None]:
    """Do what `parse_batch` does, with a pause behind every `step_bytes`."""
    try:
        parser.Parse(start_tag, False)
        for start in range(0, len(batch), step_bytes):
            parser.Parse(batch[start : start + step_bytes], False)
            yield
    except (expat.ExpatError, ValueError) as error:  # ValueError: what defusedxml refuses
        raise UnreadableError(str(error)) from None
    if parser.CurrentByteIndex != len(start_tag) + len(batch):
        raise UnreadableError("a tag, comment or section is not closed")


def read_exact(builder: ElementBuilder, head: Prolog, batch: bytes, line: int) -> Iterator[None]:
    """Build the records of a batch whose first line is `line`, with pauses.

    Raises UnreadableError.
    """
    parser = arm_parser()
    uris: dict[str, str] = {}
    """Each URI once, for it may be long, and stands before every name."""
    bound: dict[str, str] = {}
    """What the element binds that is about to start."""

    def start(name: str, attributes: dict[str, str]) -> None:
        uri, _, local = name.rpartition(NAMESPACE_SEPARATOR)
        uri = uris.setdefault(uri, uri)
        named = {
            attribute.rpartition(NAMESPACE_SEPARATOR)[2].lower(): value
            for attribute, value in attributes.items()
        }
        builder.start(uri, local, named, line + parser.CurrentLineNumber - 1)
        if bound:
            if not builder.open:
                head.bind_namespaces(bound)
            bound.clear()

    def end(name: str) -> None:
        if not builder.open and name.rpartition(NAMESPACE_SEPARATOR)[2].lower() in ROOTS:
            head.closed = True
        builder.end()

    def instruction(_target: str, _data: str) -> None:
        builder.mark_template()

    def bind(prefix: str | None, uri: str | None) -> None:
        bound[prefix or ""] = uri or ""

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.text
    parser.ProcessingInstructionHandler = instruction
    parser.StartNamespaceDeclHandler = bind
    try:
        yield from parse_steps(parser, make_start_tag(head), batch, _STEP_BYTES)
    finally:
        parser.StartElementHandler = None  # it knows the parser, which knows it
    if builder.open:
        raise UnreadableError("a record is not closed")
