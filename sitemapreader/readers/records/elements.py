"""A record as a tree of elements, and the texts and attributes that they have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.models import Extra
from sitemapreader.readers.xml.characters import unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet
    from xml.etree.ElementTree import Element

    from sitemapreader.issues import IssueCode

XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
_NO_ERRORS: dict[Element, IssueCode] = {}
_NO_REPAIRS: frozenset[IssueCode] = frozenset()


@attrs.define
class Record:
    """One record.

    Attributes:
        element: its element, with all below it.
        find_line: returns the line of the document, from 1, on which an element of it begins.
        error: why the record must be dropped: a limit that it broke.
        errors: why fields of it cannot be read: a limit that they broke, or a template in them.
        repairs: what the lenient parser repaired in it.
    """

    element: Element
    find_line: Callable[[Element], int]
    error: IssueCode | None = None
    errors: Mapping[Element, IssueCode] = _NO_ERRORS
    repairs: AbstractSet[IssueCode] = _NO_REPAIRS


def has_name(element: Element[Any]) -> bool:
    """Return whether it is an element, not a processing instruction or a mark."""
    return isinstance(element.tag, str)


def list_texts(element: Element) -> list[str]:
    """Return its texts and those below it, trimmed: one for each run between tags."""
    if not len(element):
        text = element.text
        return [text] if text and (text := text.strip()) else []
    return [text for run in element.itertext() if (text := run.strip())]


def get_text(element: Element) -> str:
    """Return its trimmed text; "" if tags split it.

    Texts joined across tags are nobody's value.
    """
    texts = list_texts(element)
    return texts[0] if len(texts) == 1 else ""


def join_texts(element: Element) -> str:
    """Return its text and all text below it, joined and trimmed."""
    return "".join(element.itertext()).strip()


def join_own_texts(element: Element) -> str:
    """Return its own text, without elements below it, joined and trimmed."""
    if not len(element):
        return (element.text or "").strip()
    texts = [element.text, *(child.tail for child in element)]
    return "".join(filter(None, texts)).strip()


def make_extra(element: Element) -> Extra:
    """Make the value of an element that no table knows, with all that is in it."""
    uri, _, local = element.tag.rpartition("}")
    children = tuple(map(make_extra, filter(has_name, element)))
    return Extra(uri[1:], local, join_own_texts(element), dict(element.items()), children)


def is_html(media_type: str) -> bool:
    """Return whether a media type is HTML's.

    It may have parameters, and be in upper case (RFC 9110, section 8.3.1).
    """
    return media_type.partition(";")[0].strip().lower() in ("text/html", "html")


def find_plain_text(element: Element) -> str:
    """Return the text of an element that may be HTML (RFC 4287, section 3.1.1.2)."""
    text = join_texts(element)
    if is_html(read_attributes(element).get("type", "")):
        text = unescape(_HTML_TAG.sub("", text), set()).strip()
    return text


def discard_texts(element: Element) -> None:
    """Remove its own texts."""
    element.text = None
    for child in element:
        child.tail = None


def read_attributes(element: Element) -> dict[str, str]:
    """Return its attributes by their names in lower case.

    One with a prefix belongs to another vocabulary: it is none of the element's own.
    """
    return {name.lower(): value for name, value in element.items() if name[0] != "{"}
