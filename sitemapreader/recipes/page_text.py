"""The text of a page, by the standard library; replace it by your own extractor."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitemapreader.recipes.crawler import Page

_UNREAD_ELEMENTS = frozenset({"script", "style", "noscript", "template", "svg"})
_INLINE_ELEMENTS = frozenset({"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em"})
_INLINE_ELEMENTS |= {"i", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup"}
_INLINE_ELEMENTS |= {"time", "u", "var", "wbr", "font", "img", "label"}
"""Elements that do not end a line."""
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w:-]{1,40})""", re.IGNORECASE)


def extract_text(page: Page) -> str:
    """Return the text of an HTML page, or a plain text as it is; "" for anything else.

    Navigation and footers count as text. For the main text alone, pass another function as
    `extract=`, such as `lambda page: trafilatura.extract(page.body) or ""`.
    """
    kind = page.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    if kind not in ("text/html", "application/xhtml+xml", "text/plain"):
        return ""
    text = page.body.decode(_find_charset(page), "replace")
    if kind == "text/plain":
        return text
    parser = _TextParser()
    parser.feed(text)
    parser.close()
    return "\n".join(line for line in map(str.strip, "".join(parser.parts).split("\n")) if line)


def _find_charset(page: Page) -> str:
    header = page.headers.get("content-type", "").encode("latin-1", "replace")
    match = _CHARSET.search(header) or _CHARSET.search(page.body[:2_048])
    name = match[1].decode("ascii", "replace") if match else "utf-8"
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        return "utf-8"
    return name


class _TextParser(HTMLParser):
    """A parser that collects the text of visible elements."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._unread += tag in _UNREAD_ELEMENTS
        self.parts.append("" if tag in _INLINE_ELEMENTS else "\n")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD_ELEMENTS and self._unread > 0
        self.parts.append("" if tag in _INLINE_ELEMENTS else "\n")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(" ".join(data.split("\n")))
