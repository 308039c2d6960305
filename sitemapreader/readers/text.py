"""The readers of lines: text sitemaps, which list a URL a line, and llms.txt.

https://www.sitemaps.org/protocol.html#otherformats
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Event, Format, UrlEntry
from sitemapreader.readers.pages.links import PageLinks
from sitemapreader.readers.records.vocabulary import CHANGEFREQS
from sitemapreader.urls import are_clean_urls, find_url_error, has_web_scheme, url_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

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


_MARKS = re.compile(r"""[\s,;|<>"'`“”„]""")
_SEPARATORS = re.compile(r"""[,;|]["' ]*+(?:\d\d\d\d-\d|[a-zA-Z]{5,7}["' ]*+[,;|]|https?:)""")
"""Stand in front of a second column, or of a second URL."""


class LineReader:
    """Reader of lines in UTF-8, in which each format looks for its own."""

    format: Format
    finished = False
    step = 1_000
    """Lines of one step, which take about 5 ms."""

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._max_bytes = limits.field_chars
        self._pending = b""
        self._line = 1
        self._is_too_long = False
        """Whether the rest of a line is skipped."""

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Read the next bytes; yield, in steps, the events of complete lines."""
        self._pending += data
        # A final "\r" waits for the next bytes: it may be the first half of "\r\n".
        end = max(self._pending.rfind(b"\n"), self._pending.rfind(b"\r", 0, -1)) + 1
        lines, self._pending = self._pending[:end], self._pending[end:]
        if lines:
            yield from self._read_bytes(lines)
        if len(self._pending) > self._max_bytes:
            events: list[Event] = []
            if not self._is_too_long:
                self._read_long(events, self._pending[: self._max_bytes].decode("utf-8", "ignore"))
            self._is_too_long, self._pending = True, b""
            yield events

    def close(self, cut: IssueCode | None) -> Iterator[list[Event]]:
        """Yield the event of a last line without a line end.

        If the document was cut, that line may be half a URL and is dropped; `cut` is the reason.
        """
        events: list[Event] = []
        if cut:
            last = "" if self._is_too_long else self._pending.decode("utf-8", "replace").strip()
            self._drop_last(events, cut, last)
        elif self._pending:
            yield from self._read_bytes(self._pending)
        if not self._stats.records and not self._stats.has_errors:
            self._stats.add_issue_once(events, IssueCode.EMPTY)
        yield events

    def _read_bytes(self, data: bytes) -> Iterator[list[Event]]:
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        lines = text.removesuffix("\n").split("\n")
        if self._is_too_long:
            self._is_too_long, lines[0] = False, ""
        yield from self._read_lines(lines)
        self._line += len(lines)

    def _read_lines(self, lines: list[str]) -> Iterator[list[Event]]:
        events: list[Event] = []
        for number, line in enumerate(lines, self._line):
            if line:
                self._read_line(events, line, number)
            if number % self.step == 0:
                yield events
                events = []
        yield events

    def _read_line(self, events: list[Event], text: str, line: int) -> None:
        raise NotImplementedError

    def _read_long(self, events: list[Event], start: str) -> None:
        """Read the start of a line that is too long; the rest is skipped."""
        raise NotImplementedError

    def _drop_last(self, events: list[Event], cut: IssueCode, text: str) -> None:
        """Drop the last line of a document that was cut; it may be empty."""
        raise NotImplementedError


class TextReader(LineReader):
    """Reader of URLs; a line that is not an http(s) URL is dropped."""

    format = Format.TEXT

    def _read_lines(self, lines: list[str]) -> Iterator[list[Event]]:
        urls = [line.strip() for line in lines]
        # Unlike XML, a text may hold any control character, and `are_clean_urls` knows a few only.
        if are_clean_urls(urls) and _are_bare("".join(urls)):
            self._stats.deliver(len(urls))
            sitemap = self._stats.sitemap
            yield [UrlEntry(url, sitemap=sitemap) for url in urls]
        else:
            yield from super()._read_lines(urls)

    def _read_long(self, events: list[Event], start: str) -> None:
        del start
        self._stats.drop_record(events, IssueCode.FIELD_TOO_LONG, line=self._line)

    def _drop_last(self, events: list[Event], cut: IssueCode, text: str) -> None:
        if text:
            self._stats.drop_record(events, cut, line=self._line, value=text)
        else:
            self._stats.add_issue(events, cut)

    def _read_line(self, events: list[Event], text: str, line: int) -> None:
        urls = split_line(text) if _MARKS.search(text) else [text]
        if urls != [text]:
            self._stats.add_issue(events, IssueCode.UNTIDY_LINE, line=line, value=text)
        for url in urls:
            self._read_url(events, url, line)

    def _read_url(self, events: list[Event], url: str, line: int) -> None:
        if not has_web_scheme(url):
            self._stats.drop_record(events, IssueCode.NOT_A_URL, line=line, value=url)
            return
        if error := find_url_error(url):
            self._stats.drop_record(events, error, line=line, value=url)
            return
        for code in url_warnings(url):
            self._stats.add_issue(events, code, line=line, url=url)
        self._stats.deliver()
        events.append(UrlEntry(url, sitemap=self._stats.sitemap))


def _are_bare(text: str) -> bool:
    """Return whether joined lines seem to be nothing but URLs."""
    is_separated = "," in text or ";" in text or "|" in text
    is_wrapped = any(mark in text for mark in '<>"`“”„')
    return text.isprintable() and not (is_wrapped or (is_separated and _SEPARATORS.search(text)))


# -- llms.txt, a list of links in Markdown (https://llmstxt.org)

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
# `- [name](url): notes`, as in the proposal; also with another bullet, indented or in bold. The
# possessive quantifiers never backtrack into a run, so a failure takes linear time.
_LINK = re.compile(
    r"""[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\*\*|__)?
    \[ ( [^\[\]\\]*+ (?: (?: \\. | \[ [^\[\]]*+ \] ) [^\[\]\\]*+ )* ) \]
    \( [ \t]*+
    (?: < ([^<>]*+) >
      | (?! [ \t] | \) ) ( [^\s()<>\\]*+ (?: (?: \\. | \( [^\s()]*+ \) ) [^\s()<>\\]*+ )* ) )
    (?: [ \t]++ (?: "[^"]*+" | '[^']*+' ) )? [ \t]*+ \)""",
    re.VERBOSE,
)
_MAYBE_LINK = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\*\*|__)?\[[^\]]*+\]\(")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class LlmsReader(LineReader):
    """Reader of Markdown list items that begin with a link; its name is the title."""

    format = Format.LLMS
    step = 200

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        super().__init__(stats, limits)
        self._links = PageLinks(stats, limits)
        self._fence = ""

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Read the next bytes; yield, in steps, the events of complete lines."""
        events: list[Event] = []
        self._stats.add_issue_once(events, IssueCode.LLMS_TXT)
        yield events
        yield from super().feed(data)

    def _read_line(self, events: list[Event], text: str, line: int) -> None:
        if self._is_code(text):
            return
        if link := _LINK.match(text):
            url = link[3] if link[2] is None else link[2]
            self._links.add(events, _decode(url), title=_clean_title(link[1]), line=line)
        elif _MAYBE_LINK.match(text):
            self._links.drop_link(events, IssueCode.MALFORMED, text, line)

    def _read_long(self, events: list[Event], start: str) -> None:
        self._read_line(events, start, self._line)

    def _drop_last(self, events: list[Event], cut: IssueCode, text: str) -> None:
        if _MAYBE_LINK.match(text):
            self._stats.drop_record(events, cut, line=self._line, value=text)

    def _is_code(self, line: str) -> bool:
        """Return whether a line belongs to a fenced code block, its fences included."""
        fence = _FENCE.match(line)
        if not self._fence:
            if fence and not (fence[1][0] == "`" and "`" in fence[2]):
                self._fence = fence[1]
            return bool(self._fence)
        if fence and fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = ""
        return True


def _decode(text: str) -> str:
    """Decode the character references and escaped punctuation of Markdown."""
    text = _REFERENCE.sub(lambda match: unescape(match[0]), text) if "&" in text else text
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def _clean_title(text: str) -> str:
    return " ".join(_decode(text).split())
