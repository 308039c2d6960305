"""What one page says of itself: in its head, its headers and its text."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.options import PROTOCOL_MAX_LOC_CHARS
from sitemapreader.readers.decode.charset import (
    HTML_TYPES,
    TEXT_TYPES,
    charset_of,
    media_type_of,
    page_type_of,
)
from sitemapreader.readers.pages.links import decode_page, find_meta_charset, parse_links
from sitemapreader.readers.pages.markup import RAW_ELEMENTS, Token, scan_page
from sitemapreader.readers.pages.text import extract_text, hash_text
from sitemapreader.urls import find_url_error, resolve, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


MAX_PAGE_BYTES = 2_097_152
"""Bytes of a page that are read, as many as Googlebot reads of an HTML file."""
MAX_JSON_CHARS = 65_536
"""Characters of JSON-LD in which a date is looked for."""
MAX_ROBOTS_CHARS = 65_536
"""Characters of one line with directives for robots that are read."""

# A value ends at a comma, but for the one of `Fri, 1 Jan 2027`.
_DIRECTIVE = re.compile(r"([\w*.-]++)\s*+(:?)(\s*+(?:[a-z]{3,9},\s*+(?=\d))?[^,]*+)", re.IGNORECASE)
_VALUED = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
_BOT_NAME = re.compile(r"robots|.*bot.*|slurp|yandex|teoma|baiduspider.*|applebot.*", re.IGNORECASE)
_REFRESH = re.compile(
    r"""\s*+(\d{1,9})[\d.]*+[;,\s]*+(?:url\s*+=\s*+)?(["']?)(.*)""", re.IGNORECASE | re.DOTALL
)
_JSON_LD = re.compile(r"<script\b[^<>]*+>", re.IGNORECASE)
_BESIDES = ("Object", "Site", "Comment", "Element", "Person", "Organization")
"""Ends of the types of JSON-LD that stand beside what a page is about."""
_SCRIPT_END = re.compile("</script", re.IGNORECASE)


@attrs.frozen
class PageFacts:
    """What one page says of itself.

    Attributes:
        url: its address, after redirects.
        title: the text of `<title>`.
        charset: the encoding that its header or, without one, a `<meta>` declares.
        language: what `<html lang>` says.
        robots: directives in lower case by crawler, `robots` for all of them; of `<meta>` elements
            and `X-Robots-Tag` headers.
        canonicals: URLs that it calls its canonical one, of the head and of `Link:` headers.
        alternates: pairs of a language code and the URL of that version.
        markdown: the URL of its version in Markdown.
        refresh: seconds, and the other URL that it leads to after them.
        modified: when its content last changed, as it says itself.
        text: its main text, a line for each block.
        text_hash: a hash of that text that white space does not move; `None` for a page that was
            cut or is neither HTML nor text.
    """

    url: str
    title: str | None = None
    charset: str | None = None
    language: str | None = None
    robots: Mapping[str, frozenset[str]] = MappingProxyType({})
    canonicals: tuple[str, ...] = ()
    alternates: tuple[tuple[str, str], ...] = ()
    markdown: str | None = None
    refresh: tuple[int, str] | None = None
    modified: datetime | None = None
    text: str = ""
    text_hash: str | None = None

    def is_noindex(self, *bots: str, now: datetime | None = None) -> bool:
        """Return whether the page keeps itself out of an index.

        Args:
            bots: crawlers, in lower case, whose own directives count beside those for all.
            now: the moment that `unavailable_after` is compared with.
        """
        moment = now or datetime.now(UTC)
        for bot in ("robots", "*", *bots):
            for directive in self.robots.get(bot, ()):
                name, _, value = directive.partition(":")
                if name in ("noindex", "none"):
                    return True
                if name == "unavailable_after":
                    end = parse_lastmod(value.strip())
                    if end is not None and end < moment:
                        return True
        return False


def read_page(
    data: bytes,
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    text: bool = True,
    ignore: Iterable[str] = (),
) -> PageFacts:
    """Read what a page says of itself; never raises.

    Args:
        data: the body, its content coding undone; 2 MiB of it are read.
        url: its address, after redirects.
        headers: of the answer. Several lines of `X-Robots-Tag` stand in one value, as lines: a
            crawler's name holds up to the end of its own.
        text: whether its main text is read, which takes most of the time.
        ignore: regular expressions; what they match does not count for the hash of the text.
    """
    fields = {name.lower(): value for name, value in (headers or {}).items()}
    robots = _Robots()
    for line in fields.get("x-robots-tag", "").split("\n"):
        robots.add_line("robots", line)
    links = parse_links(fields.get("link", ""))
    kind, charset = page_type_of(fields.get("content-type")), charset_of(fields)
    if kind not in HTML_TYPES | TEXT_TYPES:
        return PageFacts(url, robots=robots.found, **_read_links(links, url))
    data_read = data[:MAX_PAGE_BYTES]
    # In an encoding that nobody knows, most of a page is still ASCII.
    page = decode_page(data_read, charset) or data_read.decode("utf-8", "replace")
    head = read_head(page, url) if kind in HTML_TYPES else Head(url)
    for meta in head.metas:
        if _BOT_NAME.fullmatch(name := meta.get("name", "").strip()):
            robots.add_line(name.lower(), meta.get("content", ""))
    content = ""
    if text:
        content = extract_text(page) if kind in HTML_TYPES else page
    has_text = text and len(data) <= MAX_PAGE_BYTES
    return PageFacts(
        url,
        title=head.title or None,
        charset=charset or (find_meta_charset(data) if kind in HTML_TYPES else None),
        language=head.language,
        robots=robots.found,
        refresh=_find_refresh(head, url),
        modified=_find_modified(head, page),
        text=content,
        text_hash=hash_text(content, ignore) if has_text else None,
        **_read_links(links, url, head),
    )


class _Robots:
    """Directives by the crawler that they are for."""

    def __init__(self) -> None:
        self._found: defaultdict[str, set[str]] = defaultdict(set)

    @property
    def found(self) -> dict[str, frozenset[str]]:
        return {bot: frozenset(directives) for bot, directives in self._found.items()}

    def add_line(self, bot: str, line: str) -> None:
        """Add the directives of one header line or `<meta>`."""
        for match in _DIRECTIVE.finditer(line[:MAX_ROBOTS_CHARS].lower()):
            name, value = match[1], match[3].strip()
            if match[2] and name not in _VALUED:  # a crawler's name, up to the end of the line
                bot, name, value = name, value.partition(" ")[0], ""
            if name:
                directive = f"{name}:{value}" if name in _VALUED else name
                self._found[bot].add(directive)


def _read_links(
    links: Iterable[Mapping[str, str]], url: str, head: Head | None = None
) -> dict[str, Any]:
    """Return the fields of a page that are links of its headers and its head."""
    canonicals: dict[str, None] = {}
    alternates: dict[tuple[str, str], None] = {}
    markdown: list[str] = []
    of_head = [(head.base, link) for link in head.links] if head else []
    for base, link in (*((url, link) for link in links), *of_head):
        relations = link.get("rel", "").lower().split()
        href = link.get("href", "").strip()
        target = _resolve_target(base, href)
        if target is None:
            continue
        if "canonical" in relations:
            canonicals[target] = None
        if "alternate" in relations and (code := link.get("hreflang", "").strip().lower()):
            alternates[code, target] = None
        elif "alternate" in relations and media_type_of(link.get("type", "")) == "text/markdown":
            markdown.append(target)
    return {
        "canonicals": tuple(canonicals),
        "alternates": tuple(alternates),
        "markdown": markdown[0] if markdown else None,
    }


def _resolve_target(base: str, href: str) -> str | None:
    """Return the URL that a link leads to; `None` for what is no usable web address."""
    target = resolve(base, href) if href and len(href) < PROTOCOL_MAX_LOC_CHARS else None
    return target if target is not None and find_url_error(target) is None else None


def _find_refresh(head: Head, url: str) -> tuple[int, str] | None:
    for meta in head.metas:
        if meta.get("http-equiv", "").strip().lower() == "refresh":
            match = _REFRESH.match(meta.get("content", ""))
            if match is None:
                continue
            quote = match[2]
            href = (match[3].partition(quote)[0] if quote else match[3]).strip()
            target = _resolve_target(head.base, href)
            if target is not None:
                return None if url_key(target) == url_key(url) else (int(match[1]), target)
    return None


def _find_modified(head: Head, page: str) -> datetime | None:
    for meta in head.metas:
        if meta.get("property", "").strip().lower() == "article:modified_time":
            return parse_lastmod(meta.get("content", "").strip())
    dates: dict[bool, set[datetime]] = {True: set(), False: set()}
    is_described = False
    for thing in _things_of_json(page):
        kind = thing.get("@type")
        kinds = [str(each) for each in (kind if isinstance(kind, list) else [kind])]
        is_page = any(each.endswith("Page") for each in kinds)
        is_described |= is_page
        text = thing.get("dateModified")
        moment = parse_lastmod(text.strip()) if isinstance(text, str) else None
        if moment and (is_page or not any(each.endswith(_BESIDES) for each in kinds)):
            dates[is_page].add(moment)
    found = dates[is_described]
    # several articles on a page that is none of them are teasers of others
    return max(found) if len(found) == 1 or (is_described and found) else None


def _things_of_json(page: str) -> Iterator[dict[str, Any]]:
    """Yield the things that the JSON-LD of a page describes."""
    left = MAX_JSON_CHARS
    for opening in _JSON_LD.finditer(page):
        if "application/ld+json" not in opening[0].lower():
            continue
        closing = _SCRIPT_END.search(page, opening.end(), opening.end() + left)
        if closing is None:
            return
        left -= closing.start() - opening.end()
        try:
            things = json.loads(page[opening.end() : closing.start()])
        except (ValueError, RecursionError):  # broken, or nested deep on purpose: no date
            continue
        things = things if isinstance(things, list) else [things]
        for thing in things:
            if isinstance(thing, dict):
                graph = thing.get("@graph")
                items = (thing, *(graph if isinstance(graph, list) else ()))
                yield from (item for item in items if isinstance(item, dict))


# -- the head

# Search engines read `robots`, `canonical` and `hreflang` in the head alone, and a head ends at the
# first text or element that does not belong there, whatever the author closed later
# (https://html.spec.whatwg.org/multipage/parsing.html#parsing-main-inhead). What follows is the
# body, where anybody's comment may hold a `<link>`.

MAX_HEAD_LINKS = 1_000
"""`<link>` and `<meta>` elements of one head that are read."""

_EMPTY = frozenset({"base", "basefont", "bgsound", "link", "meta"})
_WITH_TEXT = frozenset({"title", "style", "script", "noscript", "noframes"})
_BODY_ENDS = frozenset({"/body", "/html", "/br"})


@attrs.define
class Head:
    """What the head of a page says of it: links and metas by their attributes."""

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
                is_short = len(href) < PROTOCOL_MAX_LOC_CHARS
                head.base, has_base = (is_short and resolve(url, href.strip())) or url, True
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
