"""How broken markup is cut into tags, comments and the like, and which tags have no end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.readers.formats import RECORDS, ROOTS
from sitemapreader.readers.records.fields import FIELDS
from sitemapreader.readers.xml.characters import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Generator

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
    """Tell whether what looks like a tag is text: it has no `>`, and no name that is known."""
    return match["loose"] is not None and not match["closed"] and not _is_known(match)


def get_tag(match: re.Match[str]) -> str:
    """Return the local name of a tag, in lower case."""
    local: str = match["name"].rpartition(":")[2]
    return local.lower()


def find_unclosed(text: str) -> Generator[None, None, set[int]]:
    """Return where the start tags begin whose end tag does not come; with pauses."""
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
