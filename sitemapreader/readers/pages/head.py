"""The head of an HTML page, to where HTML ends it.

Search engines read `robots`, `canonical` and `hreflang` in the head alone, and a head ends at the
first text or element that does not belong there, whatever the author closed later
(https://html.spec.whatwg.org/multipage/parsing.html#parsing-main-inhead). What follows is the body,
where anybody's comment may hold a `<link>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.readers.pages.markup import RAW_ELEMENTS, Token, scan_page
from sitemapreader.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_HEAD_LINKS = 1_000
"""`<link>` and `<meta>` elements of one head that are read."""

_EMPTY = frozenset({"base", "basefont", "bgsound", "link", "meta"})
_WITH_TEXT = frozenset({"title", "style", "script", "noscript", "noframes"})
_BODY_ENDS = frozenset({"/body", "/html", "/br"})


@attrs.define
class Head:
    """What the head of a page says of it.

    Attributes:
        base: the URL that its links are relative to.
        language: of `<html lang>`.
        title: the first one, its white space collapsed; `None` without one.
        links: the attributes of its `<link>` elements.
        metas: the attributes of its `<meta>` elements.
    """

    base: str
    language: str | None = None
    title: str | None = None
    links: list[dict[str, str]] = attrs.field(factory=list)
    metas: list[dict[str, str]] = attrs.field(factory=list)


def read_head(text: str, url: str) -> Head:
    """Read the head of a page; never raises."""
    head = Head(url)
    has_base = False
    tokens = _belonging(scan_page(text))
    for token in tokens:
        match token.name:
            case "html":
                head.language = head.language or token.attributes().get("lang", "").strip() or None
            case "title":
                content = next(tokens, None)
                if head.title is None and content is not None:
                    head.title = " ".join(content.source.split())
            case "base" if not has_base and (href := token.attributes().get("href")) is not None:
                head.base, has_base = resolve(url, href.strip()) or url, True
            case "link" if len(head.links) < MAX_HEAD_LINKS:
                head.links.append(token.attributes())
            case "meta" if len(head.metas) < MAX_HEAD_LINKS:
                head.metas.append(token.attributes())
    return head


def _belonging(tokens: Iterator[Token]) -> Iterator[Token]:
    """Yield the tokens of the head; those of templates are passed over."""
    templates = 0
    is_closed = False
    for token in tokens:
        name = token.name
        if name.removeprefix("/") == "template":
            templates = max(templates + (-1 if name[0] == "/" else 1), 0)
        elif templates:
            continue
        elif not name and token.source.strip(" \t\n\r\f"):
            return
        elif name in _WITH_TEXT and not (is_closed and name == "noscript"):
            yield token
            if name in RAW_ELEMENTS and (content := next(tokens, None)) is not None:
                yield content
        elif name in _EMPTY or name == "html":
            yield token
        elif name == "/head":
            is_closed = True
        elif name in _BODY_ENDS or (name and name[0] != "/" and name != "head"):
            return
