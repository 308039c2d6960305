"""The URLs of a line that holds more than one bare URL.

Text sitemaps and robots.txt have such lines.
"""

from __future__ import annotations

import re

from sitemapreader.readers.records.fields import CHANGEFREQS

_WRAPPERS = '<>"`“”„ \t'
_BORDER = re.compile(
    r"""[\s,;|][\s,;|"'>]{0,64}+(?:site-?maps?\s?:\s{0,8})?(?=["'<]?https?://)""", re.IGNORECASE
)
"""Stands between two URLs."""
_DATE = r"\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d[\d:.]{0,16}(?:Z|[+-]\d\d:?\d\d)?)?)?"
_CHANGEFREQ = rf"(?i:{'|'.join(CHANGEFREQS)})"
_PRIORITY = r"[01]\.\d{1,6}"
_SEPARATOR = r"""["'>]?(?:\s{0,8}[,;|]\s{0,8}|\s{1,8})["']?"""
_COLUMNS = re.compile(
    rf"""(?P<url>\S+?)(?<!\d-\d\d){_SEPARATOR}(?:{_DATE}|{_CHANGEFREQ}{_SEPARATOR}{_PRIORITY})"""
    rf"""(?:{_SEPARATOR}(?:{_DATE}|{_CHANGEFREQ}|{_PRIORITY})?){{0,4}}["']?"""
)
"""A URL, and behind it values of the protocol; two dates are a period in a query."""


def split_line(line: str) -> list[str]:
    """Return the URLs of a line, without quotes, brackets and further columns.

    A line that is a bare URL, or in which none is found, is returned as it is.
    """
    parts, start = [], 0
    for border in _BORDER.finditer(line):
        # a comma in a query may stand between the values of a list
        if border.start() and (border[0][-1].isspace() or "?" not in line[start : border.start()]):
            parts.append(line[start : border.start()])
            start = border.end()
    return list(map(_unwrap, [*parts, line[start:]]))


def _unwrap(text: str) -> str:
    """Return the first column of a text, without what is written around it."""
    first = text.partition("\t")[0]
    if columns := _COLUMNS.fullmatch(first):
        first = columns["url"]
    bare = first.strip(_WRAPPERS)
    if bare[:1] == "'":
        bare = bare.strip("'")
    is_url = bare[:1] == "/" or bare[:1].isalnum()
    return bare if is_url and not any(mark in bare for mark in '<>"') else text
