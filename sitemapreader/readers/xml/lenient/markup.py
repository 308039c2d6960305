"""Broken markup as tags, comments and attributes, and the tags without an end."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.formats import RECORDS, ROOTS
from sitemapreader.readers.records.fields import FIELDS
from sitemapreader.readers.records.namespaces import MAX_NAMESPACE_CHARS
from sitemapreader.readers.xml.characters import ATTRIBUTES, unescape

if TYPE_CHECKING:
    from collections.abc import Container, Generator

# A tag's attributes end at the first `>` outside of quotes; where quotes do not pair, at the first
# `>`; and where there is none, at the next `<`.
MARKUP = re.compile(
    r"<(?:(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|(?P<instruction>\?)"
    r"|(?P<end>/?)(?P<name>[^\W\d][\w.:\xb7-]*+)"
    rf"(?:(?P<attributes>{ATTRIBUTES})>"
    r"|(?P<loose>[^<>]*+)(?P<closed>>)?))"
)
CLOSINGS = {
    "comment": re.compile(r"-->"),
    "cdata": re.compile(r"\]\]>"),
    "instruction": re.compile(r"\?>"),
}
_STEP = 2_000
"""Tags between two pauses: about 3 ms."""


def is_text(match: re.Match[str]) -> bool:
    """Return whether an apparent tag is text: it has no `>`, and an unknown name."""
    return match["loose"] is not None and not match["closed"] and not _is_known(match)


def get_tag(match: re.Match[str]) -> str:
    """Return the local name of a tag, in lower case."""
    local: str = match["name"].rpartition(":")[2]
    return local.lower()


def find_unclosed(text: str) -> Generator[None, None, set[int]]:
    """Return where the start tags without an end tag begin; with pauses."""
    closings = dict(CLOSINGS)
    stack: list[tuple[str, int]] = []
    depths: dict[str, int] = {}
    unclosed: set[int] = set()
    position = number = 0
    while match := MARKUP.search(text, position):
        position, number = match.end(), number + 1
        if number % _STEP == 0:
            yield
        kind = match.lastgroup or ""
        if kind in CLOSINGS:
            closing = closings[kind].search(text, position) if kind in closings else None
            if closing is None:
                closings.pop(kind, None)  # none comes any more: the text is not searched again
            else:
                position = closing.end()
            continue
        if is_text(match):
            continue
        tag = get_tag(match)
        if not match["end"]:
            if not (match["attributes"] or match["loose"] or "").endswith("/"):
                stack.append((tag, match.start()))
                depths[tag] = depths.get(tag, 0) + 1
            continue
        while depths.get(tag):
            above, start = stack.pop()
            depths[above] -= 1
            if above == tag:
                break
            unclosed.add(start)
    unclosed.update(start for _, start in stack)
    return unclosed


def _is_known(match: re.Match[str]) -> bool:
    tag = get_tag(match)
    return tag in FIELDS or tag in ROOTS or tag in RECORDS


# -- attributes

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
