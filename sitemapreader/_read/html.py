"""Pages of HTML: their tokens, hints at sitemaps, and site maps for people.

No tree is built, so neither nesting nor open elements cost anything. What has no end (a comment, a
tag, a quoted value) takes the rest with it, as the HTML standard has it. So every search that fails
is the last one, and the time is linear.

Hints are the `<link>` elements of a page and the `Link:` header of its answer.
`rel="sitemap"` is in no standard, but generators write it. `rel="alternate"` with the type of a
feed is how HTML names a feed.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from html.entities import html5
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader._bytes.charset import charset_of, media_type_of, start_transcoder
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.vocabulary import FEED_TYPES
from sitemapreader._types.issues import IssueCode, without_userinfo
from sitemapreader._types.models import Event, Format, SitemapEntry, UrlEntry, Via
from sitemapreader._types.options import PROTOCOL_MAX_LOC_CHARS
from sitemapreader._types.urls import (
    find_base,
    find_url,
    find_url_error,
    read_loc,
    resolve,
    same_hosts,
    trim,
    url_key,
    url_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemapreader._types.options import Limits

_RAW_ELEMENTS = frozenset(
    (
        "script",
        "style",
        "noscript",
        "noframes",
        "iframe",
        "noembed",
        "xmp",
        "title",
        "textarea",
    )
)
"""Elements whose content is text up to their own end tag."""
_RAW_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_ELEMENTS
}
_OPENING = re.compile(r"<(?:(/?[a-zA-Z][^\s/>]*)|(!--)|[!?/])")
# A quote counts after `=` only. Possessive: nothing is tried twice, and no end means no match.
_TAG_END = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_COMMENT_END = re.compile(r"--!?>")
_DECLARATION_END = re.compile(">")
_MAX_TAG_CHARS = 262_144
"""Characters in which the end of a tag is searched; pictures are written out in some."""
_MAX_VALUE_CHARS = 65_536
"""Characters of a value whose references are decoded, in 30 ms if it consists of them."""
# It begins with a name, not with the blanks before it: a search tries each place once.
_HTML_ATTRIBUTE = re.compile(
    r"""([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+=?"""
)
_NAMED_REFERENCE = re.compile(r"&(?=([A-Za-z][A-Za-z0-9]*+;?)(=?))")
_LONG_NUMBER = re.compile(r"&#[0-9]{17,};?")
"""Reference with thousands of digits, for which `int` raises."""

UNFINISHED = "<"
"""Name of a token without an end; reading goes on after the characters of the longest tag."""


class Token(NamedTuple):
    """One piece of a page.

    Attributes:
        name: of an element, in lower case, with a `/` before it for an end tag; "" for a text.
        source: the attributes, or the text, as written.
        line: of a tag, from 1.
        content: what a raw element holds up to its end tag, as written.
    """

    name: str
    source: str
    line: int
    content: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """The values by names in lower case; the first one of a name counts."""
        found: dict[str, str] = {}
        for name, double, single, bare in _HTML_ATTRIBUTE.findall(self.source):
            found.setdefault(name.lower(), decode_attribute(double or single or bare))
        return found


@cache
def write_opening(*names: str) -> re.Pattern[str]:
    """Return a pattern for the tags of some elements, and for markup that may hide them."""
    wanted = "|".join(
        sorted({*names, "template", "/template", *_RAW_ELEMENTS} - {"noscript"})
    )
    return re.compile(rf"<(?:((?:{wanted})(?=[\s/>]))|(!--))", re.IGNORECASE)


def scan_page(
    text: str, opening_pattern: re.Pattern[str] = _OPENING
) -> Iterator[Token]:
    """Yield the tokens of a page in their order; no comments, nothing of templates.

    A token without an end has the name `UNFINISHED`. An empty text stands for skipped markup, so
    that the caller can pause. With a pattern of `write_opening` the scan is about ten times as
    fast: other tags are texts, and `<noscript>` holds tags.
    """
    raw = _RAW_ELEMENTS
    if opening_pattern is not _OPENING:
        raw = _RAW_ELEMENTS - {"noscript"}
    position = counted = templates = 0
    line = 1
    while opening := opening_pattern.search(text, position):
        start = opening.start()
        end = opening.end()
        name = (opening[1] or "").lower()
        if start > position and not templates:
            yield Token("", text[position:start], line)
        if name:
            closing = _TAG_END.match(text, end, end + _MAX_TAG_CHARS)
        elif opening[2]:  # two characters back, so that `<!-->` is a whole comment
            closing = _COMMENT_END.search(text, end - 2)
        else:
            closing = _DECLARATION_END.search(text, end - 1)
        longest = end + _MAX_TAG_CHARS if name else len(text)
        position = closing.end() if closing else min(longest, len(text))
        source = text[end : position - 1]
        content = ""
        if closing and name in raw:
            ending = _RAW_ENDS[name].search(text, position)
            content = text[position : ending.start() if ending else None]
            position += len(content)
        is_template = closing is not None and name.removeprefix("/") == "template"
        if is_template:
            templates = max(templates + (-1 if name[0] == "/" else 1), 0)
        if is_template or templates or (closing and not name):
            yield Token("", "", line)
        else:
            line = line + text.count("\n", counted, start)
            counted = start
            yield (
                Token(name, source, line, content)
                if closing
                else Token(UNFINISHED, "", line)
            )
    if position < len(text) and not templates:
        yield Token("", text[position:], line)


def decode_text(text: str) -> str:
    """Decode the character references of a text."""
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", text)
    return unescape(text) if "&" in text else text


def decode_attribute(value: str) -> str:
    """Decode the character references of an attribute.

    Unlike in text, a name without a semicolon is not a reference before a letter, a digit or `=`:
    the `&copy` of `?a=1&copy=2` is a parameter
    (https://html.spec.whatwg.org/#named-character-reference-state). A value that is longer than any
    URL stays as it is.
    """
    has_references = "&" in value and len(value) <= _MAX_VALUE_CHARS
    if has_references:
        return decode_text(_NAMED_REFERENCE.sub(_protect, value))
    return value


def _protect(match: re.Match[str]) -> str:
    name = match[1]
    equals = match[2]
    if name in html5 and (name.endswith(";") or not equals):
        return "&"
    return "&amp;"


# -- hints

MAX_PAGE_BYTES = 2_097_152
"""Bytes of a page that are read, as many as Googlebot reads of an HTML file."""
MAX_HINTS = 100
"""Sitemaps of one page that are used."""
MAX_LINKS = 1_000
"""`<link>` and `<base>` elements of one page that are read."""
MAX_LINK_HEADER_CHARS = 65_536
"""Characters of all `Link:` headers together that are read; servers send 8 KiB at most."""

# WordPress: `/comments/feed/`, `?feed=comments-rss2`; Blogger: `/feeds/comments/default`
_COMMENTS = re.compile(
    r"[/=?&]comments?(?:[/?&#]|[-_](?:rss2?|atom|rdf|feed)\b|\.(?:xml|rss|atom)\b|\Z)",
    re.IGNORECASE,
)
# WordPress names the feed of the comments on one page in the site's language.
_COMMENT_TITLE = re.compile(
    r"\bcomments?[ -](?:feed|rss|atom|on)\b|\bkommentar(?:e|er)?[ -]?feed\b|\breacties?[ -]?feed\b"
    r"|\b(?:flux|feed) d(?:es|os|e|ei) (?:commentaires|coment[aá]rios|comentarios|commenti)\b",
    re.IGNORECASE,
)
_MEDIA_PARAMETER = (
    r""";\s*+([\w!#$&+^`|~.*-]++)(?:\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?"""
)
_LINK_PARAMETER = re.compile(_MEDIA_PARAMETER, re.ASCII)
_LINK = re.compile(rf"<([^<>]*+)>((?:\s*+{_MEDIA_PARAMETER})*+)", re.ASCII)


def find_hints(
    data: bytes,
    url: str,
    headers: Mapping[str, str],
    *,
    feeds: bool = False,
) -> dict[str, SitemapEntry]:
    """Return the sitemaps that a page links to, and feeds if requested, by their keys.

    Its `Link:` header counts before its elements. Never raises; the elements of a page in an
    unsupported encoding give no hints.

    Args:
        data: the body, its content coding undone.
        url: its address, after redirects.
        headers: of the answer, by lower-case name.
        feeds: whether feeds are wanted too.
    """
    tokens = scan_page(
        decode_page(data, charset_of(headers)), write_opening("link", "base")
    )
    read = [token for token in tokens if token.name in ("link", "base")][:MAX_LINKS]
    hrefs = (token.attributes.get("href", "") for token in read if token.name == "base")
    base = find_base(url, next(filter(None, hrefs), ""))  # the first one counts
    elements = (token.attributes for token in read if token.name == "link")
    found: dict[str, SitemapEntry] = {}
    for via, origin, links in (
        (Via.HEADER, url, parse_links(headers.get("link", ""))),
        (Via.HTML, base, elements),
    ):
        for link in links:
            relations = link.get("rel", "").lower().split()
            is_feed = (
                "alternate" in relations
                and media_type_of(link.get("type", "")) in FEED_TYPES
                and not _is_of_comments(link)
            )
            if "sitemap" in relations or (feeds and is_feed):
                href = trim(link.get("href", ""))
                is_usable = href and len(href) < PROTOCOL_MAX_LOC_CHARS
                if is_usable:
                    target = find_url(origin, href)
                else:
                    target = None
                if target and not find_url_error(target) and len(found) < MAX_HINTS:
                    found.setdefault(
                        url_key(target), SitemapEntry(target, None, via, url)
                    )
    return found


def find_generators(data: bytes, headers: Mapping[str, str]) -> list[str]:
    """Return the generators that a page names in `<meta name="generator">`."""
    page = decode_page(data, charset_of(headers))
    tokens = (
        token
        for token in scan_page(page, write_opening("meta"))
        if token.name == "meta"
    )
    elements = [token.attributes for token in islice(tokens, MAX_LINKS)]
    return [
        element.get("content", "")
        for element in elements
        if element.get("name", "").strip().lower() == "generator"
    ]


def _is_of_comments(link: Mapping[str, str]) -> bool:
    """Return whether a feed lists comments instead of pages, by its address or title."""
    href = link.get("href", "")[:PROTOCOL_MAX_LOC_CHARS]
    title = link.get("title", "")[:PROTOCOL_MAX_LOC_CHARS]
    return bool(_COMMENTS.search(href) or _COMMENT_TITLE.search(title))


def parse_links(value: str) -> list[dict[str, str]]:
    """Return the links of a `Link:` header (RFC 8288), like the links of a head."""
    # only whole links: half a URL is another URL
    if len(value) > MAX_LINK_HEADER_CHARS:
        value, _, _ = value[:MAX_LINK_HEADER_CHARS].rpartition(",")
    links = []
    for target, parameters, *_ in _LINK.findall(value):
        attributes = {"href": target}
        for name, quoted, plain in _LINK_PARAMETER.findall(parameters):
            attributes.setdefault(name.lower(), quoted or plain)
        links.append(attributes)
    return links


def resolve_link(base: str, href: str) -> str | None:
    """Return the URL of a link; `None` if it is not a usable web address."""
    href = href.strip()
    if href and len(href) < PROTOCOL_MAX_LOC_CHARS:
        url = resolve(base, href)
    else:
        url = None
    if url is None or find_url_error(url):
        return None
    return url


def decode_page(data: bytes, charset: str | None) -> str:
    """Return the text of a page, in the encoding that its header or itself declares."""
    events: list[Event] = []
    started = start_transcoder(events, ReadStats(), data, charset)
    if started is None:
        return ""
    transcoder, rest = started
    return transcoder.feed(events, rest, final=True).decode("utf-8", "replace")


# -- HTML site maps

_TAG_OR_QUOTE = re.compile(r'[<"]')
_LINK_TAGS = frozenset({"a", "area", "base", UNFINISHED})
_TOKENS_AT_ONCE = 2_000
"""Tokens that are passed over in one step, in about 5 ms."""
_LINK_WORK = 20
"""Tokens that take as long as one link."""
_HOST_WORK = 400
"""Tokens that take as long as a host beyond ASCII, which a link may have."""
_CHARS_OF_WORK = 10
"""Characters of a link's attributes that take as long as one token."""


class HtmlReader:
    """Reader of the links of a page, once it has come as a whole.

    Each page of its own site becomes one entry. A fragment is not part of a page's URL and is
    removed. A link without a target, or to a place on the page itself, is ignored. Every other link
    is dropped with an Issue.
    """

    format = Format.HTML

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self.finished = False
        self._stats = stats
        self._max_chars = limits.field_chars
        self._data = bytearray()
        self._base = ""
        self._seen: set[str] = set()

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Keep the next bytes; read them if there are too many."""
        self._data += data
        if len(self._data) > MAX_PAGE_BYTES:
            yield from self.close(None)

    def close(self, cut: IssueCode | None, data: bytes = b"") -> Iterator[list[Event]]:
        """Read the page with its last bytes; `cut` is why it was cut."""
        self._data += data
        events: list[Event] = []
        self._stats.add_issue_once(events, IssueCode.HTML_SITEMAP)
        page = self._data[:MAX_PAGE_BYTES].decode("utf-8", "replace")
        tokens = scan_page(page, write_opening("a", "area", "base"))
        work = 0
        for token in tokens:
            work += 1
            if token.name in _LINK_TAGS:
                self._read_link(events, token)
                work += _LINK_WORK + len(token.source) // _CHARS_OF_WORK
                work += 0 if token.source.isascii() else _HOST_WORK
            if work > _TOKENS_AT_ONCE:
                yield events
                events = []
                work = 0
        self.finished = len(self._data) > MAX_PAGE_BYTES
        if self.finished:
            self._stats.add_issue(
                events, IssueCode.TOO_LARGE, value=f"{MAX_PAGE_BYTES} bytes"
            )
        elif cut is None and not self._stats.records:
            self._stats.add_issue_once(events, IssueCode.EMPTY)
        yield events

    def _read_link(self, events: list[Event], token: Token) -> None:
        attributes = token.attributes
        stats = self._stats
        href = attributes.get("href", "").strip()
        if token.name == UNFINISHED:
            stats.drop_record(events, IssueCode.MALFORMED, line=token.line)
        elif token.name == "base":
            self._base = self._base or (find_base(stats.sitemap, href) if href else "")
        elif href and not href.startswith("#"):
            relations = attributes.get("rel", "").lower().split()
            url, codes = self._find_url(href, is_taken="nofollow" not in relations)
            if not url:
                stats.drop_record(events, codes[0], line=token.line, value=href)
            elif url not in self._seen:
                self._seen.add(url)
                for code in codes:
                    stats.add_issue(events, code, line=token.line, url=url)
                stats.count_entries()
                events.append(UrlEntry(url, sitemap=stats.sitemap))

    def _find_url(self, href: str, *, is_taken: bool) -> tuple[str, list[IssueCode]]:
        """Return the URL of the page that a link leads to, and the Issues about it."""
        if len(href) > self._max_chars:
            return "", [IssueCode.FIELD_TOO_LONG]
        site = self._stats.sitemap
        url, codes = read_loc(href, self._base or site)
        # a quote was lost, and with it the link's end
        if url and _TAG_OR_QUOTE.search(href):
            return "", [IssueCode.MALFORMED]
        is_named = url != without_userinfo(url)
        is_taken = (
            is_taken and not is_named and (not site or same_hosts("site", site, url))
        )
        if IssueCode.UNSUPPORTED_SCHEME in codes or (url and not is_taken):
            return "", [IssueCode.LINK_NOT_TAKEN]
        url = url.partition("#")[0]
        return url, url_warnings(url) if url else codes
