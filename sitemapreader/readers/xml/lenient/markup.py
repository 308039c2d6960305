"""Broken markup as tags, comments, sections and attributes."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.formats import RECORDS, ROOTS
from sitemapreader.readers.records.fields import FIELDS
from sitemapreader.readers.records.namespaces import MAX_NAMESPACE_CHARS, USUAL_PREFIXES
from sitemapreader.readers.xml.characters import ATTRIBUTES, HIDDEN, unescape

if TYPE_CHECKING:
    from collections.abc import Generator

# A tag's attributes end at the first `>` outside of quotes; where quotes do not pair, at the first
# `>`; and where there is none, at the next `<`.
MARKUP = re.compile(
    r"<(?:(?P<section>!--|!\[CDATA\[|\?)"
    r"|(?P<end>/?)(?P<name>[^\W\d][\w.:\xb7-]*+)"
    rf"(?:(?P<attributes>{ATTRIBUTES})>"
    r"|(?P<loose>[^<>]*+)(?P<closed>>)?))"
)

_ANY_TAG = re.compile(rf"{HIDDEN}|<(?P<end>/?)(?P<name>[^\W\d][\w.:\xb7-]*+)")
_KNOWN_TAGS = FIELDS | RECORDS | ROOTS.keys()
_STEP = 2_000
"""Tags between two pauses: about 3 ms."""


def is_text(match: re.Match[str]) -> bool:
    """Return whether an apparent tag is text: it has no `>`, and an unknown name."""
    is_cut = match["loose"] is not None and not match["closed"]
    return is_cut and get_tag(match) not in _KNOWN_TAGS


def get_tag(match: re.Match[str]) -> str:
    """Return the local name of a tag, in lower case."""
    local: str = match["name"].rpartition(":")[2]
    return local.lower()


def get_attributes(match: re.Match[str]) -> str:
    """Return what stands behind the name in a tag."""
    return match["attributes"] or match["loose"] or ""


def index_tags(text: str) -> Generator[None, None, dict[str, list[tuple[int, bool]]]]:
    """Return where the tags of each name begin, and which are end tags."""
    tags: dict[str, list[tuple[int, bool]]] = {}
    for number, match in enumerate(_ANY_TAG.finditer(text), 1):
        if match["name"]:
            tags.setdefault(get_tag(match), []).append((match.start(), bool(match["end"])))
        if number % _STEP == 0:
            yield
    return tags


# -- attributes

_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
)
_NORMAL_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
"""XML 1.0, section 3.3.3: how blanks in an attribute's value are read."""
_PREFIX = re.compile(r"xmlns(?::([^\W\d][\w.\xb7-]*+))?")


def expand_name(uri: str, local: str) -> str:
    """Write a name as `{uri}local`."""
    return f"{{{uri}}}{local}" if uri else local


def find_namespaces(attributes: dict[str, str]) -> dict[str, str]:
    """Return the namespaces that a tag's attributes declare, by their prefixes."""
    bound = {}
    for name, value in attributes.items():
        match = _PREFIX.fullmatch(name)
        if match and (value or not match[1]):
            # SECURITY: the name of each element is made with its namespace
            uri = value[: MAX_NAMESPACE_CHARS + 1]
            bound[match[1] or ""] = uri.replace("}", "%7D")  # which ends it there
    return bound


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


def resolve(
    attributes: dict[str, str], namespaces: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return attributes by `{uri}local`, and the names of those with unbound prefixes.

    Declarations of namespaces are left out.
    """
    resolved, unbound = {}, []
    for name, value in attributes.items():
        prefix, colon, local = name.partition(":")
        if prefix == "xmlns":
            continue
        if colon and prefix != "xml" and prefix not in namespaces:
            unbound.append(name)
        uri = namespaces.get(prefix) or USUAL_PREFIXES.get(prefix, prefix) if colon else ""
        resolved[expand_name(uri, local or prefix)] = value
    return resolved, unbound
