"""The main text of a page, and a hash that tells whether it is another one.

A hash of all bytes moves with each token of a form, one of all text with each related link. So what
frames the text is left out by what HTML says of it: elements, roles, and the few class names that
mean nothing else. Dates and numbers count as content.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.readers.pages.markup import Token, scan_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


MIN_WORDS = 25
"""Words that a `<main>`, or a page without its blocks, must have to be taken for the text."""
_MIN_SHARE = 0.3
_MAX_DEPTH = 512
"""Open elements that are followed; deeper ones count as part of these."""

_UNREAD = frozenset({"script", "style", "noscript", "template", "svg", "nav", "button", "select"})
_UNREAD |= {"textarea", "dialog", "iframe", "title", "noframes", "noembed", "xmp"}
_UNREAD_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "dialog", "alert"})
_UNREAD_ROLES |= {"status", "timer", "complementary"}
_FRAME = frozenset({"header", "footer", "aside"})
_BLOCKS = frozenset({"header", "footer", "sidebar", "nav", "navbar", "menu", "breadcrumb", "ad"})
_BLOCKS |= {"breadcrumbs", "comments", "related", "ads", "cookie", "cookies", "toc"}
_INLINE = frozenset({"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font"})
_INLINE |= {"i", "img", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub"}
_INLINE |= {"sup", "time", "u", "var", "wbr"}
"""Elements that do not end a line."""
_EMPTY = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"})
_EMPTY |= {"param", "source", "track", "wbr"}
_ENDED_BY = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": frozenset({"td", "th", "tr"}),
    "th": frozenset({"td", "th", "tr"}),
    "tr": frozenset({"tr"}),
    "option": frozenset({"option"}),
}
"""Elements without an end tag, and what begins where they end; a `p` ends at each block."""
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


@attrs.frozen(eq=False)
class _Place:
    """Where a text stands; plain elements side by side, of one name, share it."""

    name: str = ""
    is_unread: bool = False
    is_framed: bool = False
    """In a header, footer or aside."""
    is_block: bool = False
    """In a block whose class or id says that it is none of the text."""
    in_main: bool = False
    article: int = 0
    is_dated: bool = False
    """In a `<time>`, whose attribute stands for it."""


def extract_text(page: str) -> str:
    """Return the main text of an HTML page, a line for each block.

    The text is that of `<main>`, else of the only `<article>`, else of the body without what frames
    it, each only if it has enough words.
    """
    scanner = _TextScanner()
    for token in scan_page(page):
        scanner.take(token)
    return scanner.choose()


def hash_text(text: str, ignore: Iterable[str] = ()) -> str:
    """Return the SHA-256 of a text, apart from its form.

    White space, composition (NFC) and soft hyphens are form.

    Args:
        text: of a page.
        ignore: regular expressions; what they match is left out.
    """
    text = unicodedata.normalize("NFC", text).translate(_INVISIBLE)
    for pattern in ignore:
        text = re.sub(pattern, "", text)
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()


class _TextScanner:
    """A collector of the texts of a page with the places where they stand."""

    def __init__(self) -> None:
        self._open = [_Place()]
        self._names: Counter[str] = Counter()
        self._plain: dict[tuple[_Place, str], _Place] = {}
        self._parts: list[tuple[_Place, str]] = []
        self._articles = 0

    def take(self, token: Token) -> None:
        name = token.name
        if not name:
            if not self._open[-1].is_dated:
                self._parts.append((self._open[-1], token.source.replace("\n", " ")))
        elif name[0] == "/":
            self._leave(name[1:])
        else:
            self._enter(name, token)
        if name and name.removeprefix("/") not in _INLINE:
            line_end = (self._open[-1], "\n")
            if not self._parts or self._parts[-1] != line_end:
                self._parts.append(line_end)

    def _enter(self, name: str, token: Token) -> None:
        while self._is_ended_by(name):
            self._pop()
        attributes = token.attributes() if token.source.strip("/ ") else {}
        if name in _EMPTY:
            if name == "img" and (described := attributes.get("alt")):
                self._parts.append((self._open[-1], f" {described} "))
            return
        if len(self._open) < _MAX_DEPTH:
            self._names[name] += 1
            around = self._open[-1]
            place = None if attributes else self._plain.get((around, name))
            if place is None:
                place = self._place(name, attributes)
                if not attributes and name != "article":
                    self._plain[around, name] = place
            self._open.append(place)
            if name == "time" and (moment := attributes.get("datetime")):
                self._parts.append((self._open[-1], f" {moment} "))

    def _place(self, name: str, attributes: dict[str, str]) -> _Place:
        around = self._open[-1]
        role = attributes.get("role", "").strip().lower()
        if name == "article" and not around.article:
            self._articles += 1
        names = {attributes.get("id", "").lower(), *attributes.get("class", "").lower().split()}
        in_article = around.article or (self._articles if name == "article" else 0)
        return _Place(
            name,
            is_unread=around.is_unread
            or name in _UNREAD
            or role in _UNREAD_ROLES
            or "hidden" in attributes
            or attributes.get("aria-hidden", "").strip().lower() == "true",
            # The header of an article has its title.
            is_framed=around.is_framed
            or (name in _FRAME and not (name == "header" and in_article)),
            is_block=around.is_block or not names.isdisjoint(_BLOCKS),
            in_main=around.in_main or name == "main" or role == "main",
            article=in_article,
            is_dated=around.is_dated or (name == "time" and bool(attributes.get("datetime"))),
        )

    def _is_ended_by(self, name: str) -> bool:
        inner = self._open[-1].name
        return name in _ENDED_BY.get(inner, ()) or (inner == "p" and name not in _INLINE)

    def _leave(self, name: str) -> None:
        if self._names[name]:  # else a stray end tag would look through all that is open
            while self._open[-1].name != name:
                self._pop()
            self._pop()

    def _pop(self) -> None:
        self._names[self._open.pop().name] -= 1

    def choose(self) -> str:
        """Return the text that counts."""
        if self._is_enough(main := self._join(lambda place: place.in_main)):
            return main
        if self._articles == 1:
            article = self._join(lambda place: bool(place.article) and not place.is_framed)
            if article:
                return article
        body = self._join(lambda place: not place.is_framed)
        plain = self._join(lambda place: not place.is_framed and not place.is_block)
        is_most = len(plain.split()) >= _MIN_SHARE * len(body.split())
        return plain if self._is_enough(plain) and is_most else body

    @staticmethod
    def _is_enough(text: str) -> bool:
        return len(text.split()) >= MIN_WORDS

    def _join(self, belongs: Callable[[_Place], bool]) -> str:
        text = "".join(
            part for place, part in self._parts if not place.is_unread and belongs(place)
        )
        return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
