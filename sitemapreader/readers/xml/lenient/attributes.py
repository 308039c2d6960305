"""The attributes of a tag whose markup may be broken, and the namespaces that they bind."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.namespaces import MAX_NAMESPACE_CHARS
from sitemapreader.readers.xml.characters import unescape

if TYPE_CHECKING:
    from collections.abc import Container

_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
)
_NORMAL_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
"""XML 1.0, section 3.3.3: how blanks in an attribute's value are read."""
_PREFIX = re.compile(r"xmlns(?::([^\W\d][\w.\xb7-]*+))?")


def bind(namespaces: dict[str, str], attributes: dict[str, str]) -> None:
    """Add the namespace declarations among a tag's attributes."""
    for name, value in attributes.items():
        match = _PREFIX.fullmatch(name)
        if match and (value or not match[1]):
            # SECURITY: the name of each element is made with its namespace
            namespaces[match[1] or ""] = value[: MAX_NAMESPACE_CHARS + 1]


def find_unbound(attributes: dict[str, str], namespaces: Container[str]) -> str | None:
    """Return the first attribute whose prefix is not bound, if there is one."""
    for name in attributes:
        prefix, colon, _ = name.partition(":")
        if colon and prefix not in ("xml", "xmlns") and prefix not in namespaces:
            return name
    return None


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
