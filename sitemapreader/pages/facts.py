"""The facts in one page about itself: in its head, its headers and its text."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from datetime import UTC, datetime
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

import attrs

from sitemapreader._bytes.charset import charset_of, media_type_of
from sitemapreader._read.html import (
    MAX_PAGE_BYTES,
    Token,
    decode_page,
    decode_text,
    parse_links,
    resolve_link,
    scan_page,
)
from sitemapreader._read.record import is_feed_link
from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.urls import find_base, url_key

if TYPE_CHECKING:
    from collections.abc import Mapping

Visible: TypeAlias = Literal["something", "scripts", "nothing"]
Lines: TypeAlias = dict[tuple[str, str], int]
"""Facts of a page -> the line of the element that states each."""

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"text/plain", "text/markdown", "text/x-markdown"})


def page_type_of(content_type: str | None) -> str:
    """Return the media type of a page, in lower case; one that names none is HTML."""
    return media_type_of(content_type or "") or "text/html"


MAX_ROBOTS_CHARS = 65_536
"""Characters of one line with directives for robots that are read."""

# A value ends at a comma, but for the one of `Fri, 1 Jan 2027`.
_DIRECTIVE = re.compile(
    r"([\w*.-]++)\s*+(:?)(\s*+(?:[a-z]{3,9},\s*+(?=\d))?[^,]*+)",
    re.IGNORECASE,
)
_VALUED = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
_BOT_NAME = re.compile(
    r"robots|.*?bot.*|slurp|yandex|teoma|baiduspider.*|applebot.*",
    re.IGNORECASE | re.DOTALL,
)
_REFRESH = re.compile(
    r"""\s*+(\d{1,9})[\d.]*+[;,\s]*+(?:url\s*+=\s*+)?(["']?)(.*)""",
    re.IGNORECASE | re.DOTALL,
)


@attrs.frozen
class PageFacts:
    """The facts in one page about itself.

    Attributes:
        url: its address, after redirects.
        title: the text of `<title>`.
        robots: directives in lower case by crawler, `robots` for all of them; of `<meta>` elements
            and `X-Robots-Tag` headers.
        canonicals: URLs that it calls its canonical one, of the head and of `Link:` headers.
        alternates: pairs of a language code, as written, and the URL of that version; a feed is
            none.
        refresh: seconds, and the other URL that it leads to after them.
        modified: when its content last changed, by its `article:modified_time`.
        text_hash: of the text that it shows, apart from what frames it and from white space, after
            the version of what counts as such; `None` without a text, and for a page that was cut
            or is neither HTML nor text.
        template_hash: of the same without its own address: pages that say "no page /x" have one.
        says_missing: whether it says, in one of some languages, that there is no such page.
        shows: "nothing" of a page without a text, an image, a frame or a form; "scripts" if scripts
            may add these in a browser; else "something".
        missing_words: the different words with which a short text says so, without its address.
        is_notice: whether a sentence about this page, such as "This product is no longer
            available", says so, and little else is there.
        lines: of the elements that say so, from 1: of ("canonical", URL), ("refresh", URL),
            ("alternate de", URL) for each code, and of a crawler and its directive. A header has
            none.
    """

    url: str
    title: str | None = None
    robots: Mapping[str, frozenset[str]] = MappingProxyType({})
    canonicals: tuple[str, ...] = ()
    alternates: tuple[tuple[str, str], ...] = ()
    refresh: tuple[int, str] | None = None
    modified: datetime | None = None
    text_hash: str | None = None
    template_hash: str | None = None
    says_missing: bool = False
    shows: Visible = "something"
    missing_words: frozenset[str] = frozenset()
    is_notice: bool = False
    lines: Mapping[tuple[str, str], int] = MappingProxyType({})

    def find_noindex(
        self,
        *bots: str,
        now: datetime | None = None,
    ) -> tuple[str, str] | None:
        """Return the crawler and the directive that keep the page out of an index.

        Args:
            bots: crawlers, in lower case, whose own directives count beside those for all.
            now: the moment that `unavailable_after` is compared with.
        """
        moment = now or datetime.now(UTC)
        for bot in ("robots", "*", *bots):
            for directive in sorted(self.robots.get(bot, ())):
                name, _, value = directive.partition(":")
                if name in ("noindex", "none"):
                    return bot, directive
                if name == "unavailable_after":
                    end = parse_lastmod(value.strip())
                    if end is not None and end < moment:
                        return bot, directive
        return None


def read_page(
    data: bytes,
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    text: bool = True,
) -> PageFacts:
    """Read the facts in a page about itself; never raises.

    Args:
        data: the body, its content coding undone; 2 MiB of it are read.
        url: its address, after redirects.
        headers: of the answer. Several lines of `X-Robots-Tag` stand in one value, as lines: a
            crawler's name holds up to the end of its own.
        text: whether its text is hashed, which takes most of the time.
    """
    fields = {}
    if headers is not None:
        fields = {name.lower(): value for name, value in headers.items()}
    kind = page_type_of(fields.get("content-type"))
    page = ""
    lines = Lines()
    if kind in HTML_TYPES | TEXT_TYPES:
        data_read = data[:MAX_PAGE_BYTES]
        # In an encoding that nobody knows, most of a page is still ASCII.
        page = decode_page(data_read, charset_of(fields)) or ""
        if not page:
            page = data_read.decode("utf-8", "replace")
    head = Head(url)
    if kind in HTML_TYPES:
        head = read_head(page, url)
    robots_header = fields.get("x-robots-tag", "")
    link_header = fields.get("link", "")
    canonicals, alternates = _read_links(link_header, url, head, lines)
    words = ""
    if text and len(data) <= MAX_PAGE_BYTES:
        words = page
        if kind in HTML_TYPES:
            words = join_text(page)
    text_hash = None
    if words.strip():
        text_hash = hash_text(words)
    template_hash = text_hash
    nameless = _leave_out_name(words, url)
    if nameless != words:
        template_hash = hash_text(nameless)
    says_missing = _MISSING.search(f"{head.title} {words[:_BEGINNING]}") is not None
    missing_words: frozenset[str] = frozenset()
    if says_missing and len(nameless) <= MAX_MISSING_CHARS:
        folded = nameless.casefold()
        missing_words = frozenset(_MISSING_WORD.findall(folded))
    return PageFacts(
        url,
        title=head.title or None,
        robots=_read_robots(robots_header, head, lines),
        canonicals=canonicals,
        alternates=alternates,
        refresh=_find_refresh(head, url, lines),
        modified=_find_modified(head),
        text_hash=text_hash,
        template_hash=template_hash,
        says_missing=says_missing,
        missing_words=missing_words,
        is_notice=says_missing and is_missing_notice(head.title or "", words),
        shows=find_shown(data, page, kind),
        lines=lines,
    )


# -- the text

TEXT_VERSION = 2
"""Version of the rules for text: hashes of two versions cannot be compared."""
_FRAME = frozenset(
    {"nav", "header", "footer", "aside", "dialog", "button", "select", "svg"}
)
_INVISIBLE_CHARACTERS = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def join_text(page: str) -> str:
    """Return the text that a page shows, without nav, header, footer and aside."""
    texts: list[str] = []
    frame = ""
    depth = 0
    for name, source, *_ in scan_page(page):
        if frame:
            is_mark = name.removeprefix("/") == frame
        else:
            is_mark = name in _FRAME
        if not name:
            if source and not frame:
                texts.append(source)
        elif is_mark and not source.endswith("/"):
            if name == f"/{frame}":
                depth -= 1
            else:
                frame = name
                depth += 1
            if not depth:
                frame = ""
    return decode_text("\n".join(texts))


_SHOWN = frozenset(
    (
        *("img", "svg", "picture", "video", "audio", "canvas", "math"),
        *("iframe", "frame", "object", "embed"),
        *("input", "button", "select", "textarea", "meter", "progress"),
    )
)
"""Elements that show something without a text."""


def find_shown(
    data: bytes,
    page: str,
    kind: str,
) -> Visible:
    """Return how much a page of a media type shows; the end of a cut one is not known."""
    if not data:
        return "nothing"
    if len(data) > MAX_PAGE_BYTES:
        return "something"
    if kind not in HTML_TYPES | TEXT_TYPES:
        return "something"
    shown: Visible = "nothing"
    if kind in TEXT_TYPES:
        if page.strip():
            shown = "something"
        return shown
    for token in scan_page(page):
        if token.name in _SHOWN:
            return "something"
        if not token.name and _has_words(token.source):
            return "something"
        if token.name == "script":
            shown = "scripts"
    return shown


def _has_words(text: str) -> bool:
    visible = decode_text(text).translate(_INVISIBLE_CHARACTERS)
    return bool(visible.strip())


_LEAST_NAME = 3
"""Characters of a name that a text may have only because it is the page's."""


def _leave_out_name(text: str, url: str) -> str:
    """Return a text without the URL of its page, its path, or the end of that."""
    path = urlsplit(url).path
    name_of_file = path.rstrip("/").rpartition("/")[2]
    for written in (url, path, name_of_file):
        for name in (written, unquote(written)):
            if len(name) >= _LEAST_NAME and name in text:
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text)
    return text


_BEGINNING = 500
"""Characters in which a page says that it is none."""
MAX_MISSING_CHARS = 10_000
"""Length of an error page whose words are kept."""
_MISSING_WORD = re.compile(r"\w+")
_ABSENCE = (
    r"\b(?:(?:\w*(?:not|n\Wt)|no longer) (?:be |seem to |appear to )?(?:found|find|exist)"
    r"|no longer available|(?:is|was|been) (?:gone|removed|deleted)"
    r"|no such page|nicht (?:gefunden|mehr verfügbar)|existiert nicht|introuvable"
    r"|n\Wexiste (?:pas|plus)|no (?:se )?(?:encontr|existe)|não (?:encontrad|existe)"
    r"|non (?:trovat|esiste)|niet gevonden|bestaat niet|nie (?:znaleziono|istnieje)"
    r"|не (?:найден|существует)|hittades inte|ikke (?:fundet|funnet))"
    r"|見つかりません|不存在|找不到|찾을 수 없"
).replace(" ", r"\s+")
_MISSING = re.compile(rf"\b404|{_ABSENCE}", re.IGNORECASE)


_MAX_NOTICE_CHARS = 400
"""Length of a text that says little beside one sentence."""
_SENTENCE_END = re.compile(
    r"(?<![.!?|·。\uff01])[.!?|·。\uff01]++(?:\s|$)|\n|\s[-\u2013\u2014]\s"
)
_SPEAKING = (
    r"we|we're|i|are|is|was|were|has|have|been|be|could|can|cannot|does|do|it|there|sorry|oops|ups|"
    r"unfortunately|currently|seems|appears|error|404|the|this|that|which|your|a|an|requested|"
    r"you|you're|you've|looking|for|searched|tried|to|access|open|wanted|"
    r"leider|die|diese|dieses|der|das|dieser|gewünschte|angeforderte|gesuchte|wurde|konnte|ist|sie|"
    r"désolé|la|le|cette|ce|cet|que|vous|cherchez|demandée|demandé|lo|sentimos|el|esta|este|"
    r"solicitada|solicitado|o|esse|essa|questa|questo|il|deze|de|ta|эта|этот|запрошенная|ble|blev"
)
"""Words that may stand around the two that count: a page, and its absence."""
_THING = (
    r"(?:page|product|item|article|listing|seite|produkt|artikel|angebot|produit|página|producto"
    r"|artículo|produto|pagina|prodotto|articolo|stron[aęy]|страница|товар|sidan|siden)\b"
    r"|ページ|页面|頁面|페이지"
)
_AROUND = rf"(?:(?:{_SPEAKING})\b\W*+)*"
_NOTICE = re.compile(
    rf"\W*+{_AROUND}(?:"
    rf"(?:{_THING})\W*+{_AROUND}(?:[がを를]\s*+)?(?:{_ABSENCE})\w*"
    r"(?:\s+(?:any\s?more|here|on\s+this\s+(?:server|site)))?\W*\Z"
    rf"|(?:\w*(?:not|n\Wt)\s+find|no\s+such|nie\s+znaleziono|找不到)\W*+{_AROUND}(?:{_THING}))",
    re.IGNORECASE,
)


def is_missing_notice(title: str, text: str) -> bool:
    """Return whether a short text says in a sentence of its own that its page is missing.

    A poster of the words "404 Not Found" does not, and no article about such pages.
    """
    notice = f"{title}\n{text}"
    characters = "".join(notice.split())
    if len(characters) > _MAX_NOTICE_CHARS:
        return False
    sentences = _SENTENCE_END.split(notice)
    # SECURITY: the white space of a page may be as long as the page.
    return any(_NOTICE.match(" ".join(each.split())) for each in sentences)


def hash_text(text: str) -> str:
    """Return a hash of a text, after the version of the hashed text.

    White space, composition (NFC) and soft hyphens do not count.
    """
    text = unicodedata.normalize("NFC", text)
    text = text.translate(_INVISIBLE_CHARACTERS)
    words = "".join(text.split())
    digest = sha256(words.encode("utf-8", "replace")).hexdigest()
    return f"{TEXT_VERSION}-{digest}"


# -- what headers and head say: a header has the line 0, and of elements the first counts


def _read_robots(
    header: str,
    head: Head,
    lines: Lines,
) -> dict[str, frozenset[str]]:
    """Return directives by the crawler that they are for."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    said = [("robots", line, 0) for line in header.split("\n")]
    for meta, number in head.metas:
        name = meta.get("name", "").strip()
        if _BOT_NAME.fullmatch(name):
            content = meta.get("content", "")
            said.append((name.lower(), content, number))
    for bot, text, number in said:
        line = text[:MAX_ROBOTS_CHARS].lower()
        for match in _DIRECTIVE.finditer(line):
            name = match[1]
            value = match[3].strip()
            # a crawler's name, up to the end of the line
            if match[2] and name not in _VALUED:
                bot = name  # noqa: PLW2901 (holds for the rest of the line)
                name = value.partition(" ")[0]
                value = ""
            if name:
                directive = name
                if name in _VALUED:
                    directive = f"{name}:{value}"
                found[bot].add(directive)
                if number:
                    lines.setdefault((bot, directive), number)
    return {bot: frozenset(directives) for bot, directives in found.items()}


_LINK_KINDS = frozenset({"canonical", "alternate"})


def _read_links(
    header: str,
    url: str,
    head: Head,
    lines: Lines,
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return canonicals and alternates of the `Link:` header and of the head."""
    canonicals: dict[str, None] = {}
    alternates: dict[tuple[str, str], None] = {}
    links = [(url, link, 0) for link in parse_links(header)]
    links += [(head.base, link, line) for link, line in head.links]
    for base, link, line in links:
        relation = link.get("rel", "")
        relations = relation.lower().split()
        if _LINK_KINDS.isdisjoint(relations):
            continue
        target = resolve_link(base, link.get("href", ""))
        if target is None:
            continue
        code = link.get("hreflang", "").strip()
        if "canonical" in relations:
            canonicals[target] = None
            if line:
                lines.setdefault(("canonical", target), line)
        if "alternate" in relations and code and not is_feed_link(link, target):
            alternates[code, target] = None
            if line:
                lines.setdefault((f"alternate {code}", target), line)
    return tuple(canonicals), tuple(alternates)


def _find_refresh(
    head: Head,
    url: str,
    lines: Lines,
) -> tuple[int, str] | None:
    """Return seconds and target of a refresh that leads to another page."""
    for meta, line in head.metas:
        match = _REFRESH.match(meta.get("content", ""))
        kind = meta.get("http-equiv", "").strip().lower()
        if match is None or kind != "refresh":
            continue
        written = match[3]
        if match[2]:  # a quote
            written = written.partition(match[2])[0]
        target = resolve_link(head.base, written)
        if target is not None:
            lines["refresh", target] = line
            if url_key(target) == url_key(url):
                return None
            return (int(match[1]), target)
    return None


def _find_modified(head: Head) -> datetime | None:
    for meta, _ in head.metas:
        name = meta.get("property", "").strip()
        if name.lower() == "article:modified_time":
            return parse_lastmod(meta.get("content", ""))
    return None


# -- the head

# Our own scanner reads it. A library that builds a tree (lexbor, by selectolax 1.0) gives no lines
# of the source, and takes square time for nested elements (0.06, 0.24, 1.1 s for 5, 10, 20
# thousand): what would have to bound it is this scanner. And it takes 0.5 ms where this takes 0.2.

# Search engines read `robots`, `canonical` and `hreflang` in the head alone, and a head ends at the
# first text or element that does not belong there, whatever the author closed later
# (https://html.spec.whatwg.org/multipage/parsing.html#parsing-main-inhead). What follows is the
# body, where anybody's comment may hold a `<link>`.

MAX_HEAD_LINKS = 1_000
"""`<link>` and `<meta>` elements of one head that are read."""

_IN_HEAD = frozenset(
    ("html", "head", "basefont", "bgsound", "style", "script", "noscript", "noframes")
)
"""Elements of a head that say nothing."""
_BODY_ENDS = frozenset({"/body", "/html", "/br"})


Element: TypeAlias = tuple[dict[str, str], int]
"""The attributes of an element, and its line."""


@attrs.define
class Head:
    """The head of a page: its links and metas."""

    base: str
    title: str | None = None
    links: list[Element] = attrs.field(factory=list)
    metas: list[Element] = attrs.field(factory=list)


def read_head(text: str, url: str) -> Head:
    """Read the head of a page; never raises."""
    head = Head(url)
    has_base = False
    is_closed = False
    for token in scan_page(text):
        name = token.name
        if name in ("link", "meta"):
            elements = head.metas
            if name == "link":
                elements = head.links
            if len(elements) < MAX_HEAD_LINKS:
                elements.append((token.attributes, token.line))
        elif name == "title":
            if head.title is None:
                title = decode_text(token.content)
                head.title = " ".join(title.split())
        elif name == "base":
            href = token.attributes.get("href")
            if href is not None and not has_base:
                head.base = find_base(url, href)
                has_base = True
        elif _ends_head(token) or (is_closed and name == "noscript"):
            break
        is_closed |= name == "/head"
    return head


def _ends_head(token: Token) -> bool:
    if not token.name:
        text = decode_text(token.source)
        return bool(text.strip(" \t\n\r\f"))
    if token.name.startswith("/"):
        return token.name in _BODY_ENDS
    return token.name not in _IN_HEAD
