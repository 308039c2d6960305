"""Tags, also broken ones: names, attributes and namespaces, read and written."""

from __future__ import annotations

import re
from html import escape
from itertools import islice
from typing import TYPE_CHECKING
from xml.parsers import expat

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.vocabulary import MAX_NAMESPACE_CHARS
from sitemapreader.readers.xml.characters import unescape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
)
_PREFIX = re.compile(r"xmlns(?::([^\W\d][\w.\xb7-]*+))?")
_NAME = re.compile(r"[A-Za-z_][\w.-]*+", re.ASCII)
_NORMAL_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
"""XML 1.0, section 3.3.3: how blanks in an attribute's value are read."""
_WRITTEN_BLANKS = {blank: f"&#{blank};" for blank in _NORMAL_BLANKS}
_RESERVED_URIS = ("http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/")
"""Namespaces in XML, section 3: no other prefix may be bound to them, which no parser takes."""


def expand_name(uri: str, local: str) -> str:
    """Write a name as `{uri}local`."""
    return f"{{{uri}}}{local}" if uri else local


def read_attributes(text: str, repairs: set[IssueCode], limit: int) -> dict[str, str]:
    """Read the attributes of a tag, quoted or not; of a repeated one, the first.

    No more than one past the limit: that tells that it is broken, and more is not needed.
    """
    attributes: dict[str, str] = {}
    for match in islice(_ATTRIBUTE.finditer(text), limit + 1):
        name, double, single, bare = match.groups("")
        if bare or name in attributes:
            repairs.add(IssueCode.NOT_WELL_FORMED)
        value = double or single or bare
        attributes.setdefault(name, unescape(value.translate(_NORMAL_BLANKS), repairs))
    return attributes


def find_namespaces(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the namespaces that a tag's attributes declare, by their prefixes."""
    bound = {}
    for name, value in attributes.items():
        match = _PREFIX.fullmatch(name)
        if match and (value or not match[1]) and value not in _RESERVED_URIS:
            # SECURITY: the name of each element is made with its namespace
            uri = value[: MAX_NAMESPACE_CHARS + 1]
            bound[match[1] or ""] = uri.replace("}", "%7D")  # which ends it there
    return bound


def find_unbound(names: Iterable[str], namespaces: Mapping[str, str]) -> list[str]:
    """Return the names of attributes whose prefixes nothing declares."""
    bound = {"", "xml", "xmlns", *namespaces}
    return [name for name in names if ":" in name and name.partition(":")[0] not in bound]


def declare(namespaces: Mapping[str, str]) -> str:
    """Write the declarations of namespaces in a start tag."""
    return "".join(
        f" xmlns{':' * bool(prefix)}{prefix}='{escape(uri).translate(_WRITTEN_BLANKS)}'"
        for prefix, uri in namespaces.items()
        if not prefix or (uri and _is_prefix(prefix))
    )


def _is_prefix(text: str) -> bool:
    return text not in ("xml", "xmlns") and _is_name(text)


def _is_name(text: str) -> bool:
    """Return whether the parser takes a name without a prefix; XML lacks some letters."""
    if text.isascii():
        return _NAME.fullmatch(text) is not None
    return ":" not in text and is_well_formed(f"<{text}/>")


def is_well_formed(text: str, *, in_namespaces: bool = False) -> bool:
    """Return whether a text, in which no DOCTYPE begins, is a well-formed document."""
    try:
        # The separator must be a character that no namespace may have
        expat.ParserCreate(namespace_separator="\1" if in_namespaces else None).Parse(text, True)
    except (expat.ExpatError, ValueError):  # ValueError: a byte that is not UTF-8
        return False
    return True
