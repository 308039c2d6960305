"""Escaping of text for one line or cell, harmless when shown or opened."""

# Whole columns are tested at once, for nearly all are plain: one test of the joined text costs a
# fraction of a substitution in each value.

from __future__ import annotations

import re

# What would end the line, or be acted on by a terminal: C0, DEL, C1, bidi and line separators,
# lone surrogates. None of it may stand in a URL unescaped (RFC 3986).
_UNSAFE_IN_TEXT = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE_TEXT = re.compile(f"[{_UNSAFE_IN_TEXT}]")
_UNSAFE_URL = re.compile(f"[{_UNSAFE_IN_TEXT} \xa0]")
# What a spreadsheet takes for a formula (OWASP, "CSV Injection"), and what a reader of tables takes
# for the begin of a quoted cell.
_FORMULA = re.compile('\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20"]')


def escape_urls(urls: list[str]) -> list[str]:
    """Percent-encode characters that a URL or a line must not contain."""
    text = "".join(urls)
    if text.isprintable() and " " not in text:
        return urls
    return [_UNSAFE_URL.sub(_percent_encode, url) for url in urls]


def escape_texts(texts: list[str]) -> list[str]:
    r"""Escape characters that a line must not contain, as `\x1b` or `\u2028`."""
    if "".join(texts).isprintable():
        return texts
    return [_UNSAFE_TEXT.sub(_escape, text) for text in texts]


def neutralise_formulas(cells: list[str]) -> list[str]:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula."""
    return [f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells]


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
