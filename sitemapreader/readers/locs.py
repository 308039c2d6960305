"""What is checked of every loc, in XML, feeds and text alike; one by one, or a column at a time."""

from __future__ import annotations

import re

from sitemapreader.issues import IssueCode
from sitemapreader.options import PROTOCOL_MAX_LOC_CHARS

_TEMPLATE = re.compile(r"\{\{|\{%|\{#|\$\{|<%|<\?")
_LOST = "\ufffd"
_NO_HOST = re.compile(r"https?://(?:[/?#]|\Z)", re.IGNORECASE)
_ORIGIN = re.compile(r"\nhttps?://[^\n/?#]+")
_ODD = (" ", "{", "<", "\t", "\r", "\x7f", _LOST)
"""Any of these may mean a fault or an oddity; other control characters no XML can have."""


def find_url_error(loc: str) -> IssueCode | None:
    """Say why a loc that is there is not the URL that its author meant, if it is not."""
    if _TEMPLATE.search(loc):
        return IssueCode.TEMPLATE
    if _NO_HOST.match(loc):
        return IssueCode.MALFORMED
    if _LOST in loc:  # bytes that were no characters: nobody can say which they should be
        return IssueCode.MALFORMED
    return None


def parse_reference(text: str) -> str | None:
    """Read a URL beside the loc, as written, relative or not; `None` if it was not meant as one."""
    return None if "<" in text or find_url_error(text) else text


def url_warnings(url: str) -> list[IssueCode]:
    """List what is odd about a URL that is handed over all the same."""
    codes = []
    if not url.isprintable() or " " in url:
        codes.append(IssueCode.URL_CHARACTERS)
    if len(url) >= PROTOCOL_MAX_LOC_CHARS:
        codes.append(IssueCode.LONG_LOC)
    return codes


def are_plain(locs: list[str]) -> bool:
    """Tell whether all are absolute http(s) URLs with nothing odd about them.

    A few passes in C over all of them joined, in place of a Python call for each.
    """
    joined = "\n" + "\n".join(locs)
    count = len(locs)
    if not joined.isascii() and not "".join(locs).isprintable():
        return False
    first = _ORIGIN.match(joined)
    return (
        first is not None
        and not any(char in joined for char in _ODD)
        and joined.count("\n") == count
        and (joined.count(first[0]) == count or len(_ORIGIN.findall(joined)) == count)
        and max(map(len, locs)) < PROTOCOL_MAX_LOC_CHARS
    )
