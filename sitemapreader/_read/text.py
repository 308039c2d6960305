"""The reader of text sitemaps, which list a URL a line.

https://www.sitemaps.org/protocol.html#otherformats
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader._bytes.lines import split_lines
from sitemapreader._read.vocabulary import CHANGEFREQS
from sitemapreader._types.issues import IssueCode, list_errors
from sitemapreader._types.models import Event, Format, UrlEntry
from sitemapreader._types.urls import are_clean_urls, has_web_scheme, read_loc, trim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._types.options import Limits

_WRAPPERS = '<>"`“”„ \t'
_BORDER = re.compile(
    r"""(?:[,;|\t]|[^\S\t]{1,64}+[,;|]?)(?:[^\S\t]|["'>]){0,64}+(?:site-?maps?\s?:\s{0,8})?"""
    r"""(?=["'<]?https?://)""",
    re.IGNORECASE,
)
"""Stands between two URLs."""
_DATE = r"\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d[\d:.]{0,16}(?:Z|[+-]\d\d:?\d\d)?)?)?"
_CHANGEFREQ = rf"(?i:{'|'.join(CHANGEFREQS)})"
_PRIORITY = r"[01]\.\d{1,6}"
_SEPARATOR = r"""["'>]?(?:\s{0,8}[,;|]\s{0,8}|\s{1,8})["']?"""
_URL_WITH_VALUES = re.compile(
    rf"""(?P<url>\S+?)(?<!\d-\d\d){_SEPARATOR}(?:{_DATE}|{_CHANGEFREQ}{_SEPARATOR}{_PRIORITY})"""
    rf"""(?:{_SEPARATOR}(?:{_DATE}|{_CHANGEFREQ}|{_PRIORITY})?){{0,4}}["']?"""
)
"""A URL, and after it values of the protocol; two dates are a period in a query."""


_COLUMN_MARKS = frozenset(",;|\t")
_NOT_IN_A_LIST = re.compile(r'[\s"<>]')
"""Stands in a cell of a table, but in no URL of a list on one line."""
_OTHER_CELL = re.compile(
    rf"""[,;|\t]\s?"|"\s?[,;|\t]|[,;|\t](?:{_DATE}|{_CHANGEFREQ}|{_PRIORITY})?[,;|\t]https?://"""
)
"""A quote at a border, or an empty cell or a value of the protocol in front of another URL."""


def split_line(line: str) -> list[str]:
    """Return the URLs of a line, without quotes, brackets and further columns.

    A line that is a bare URL, or in which none is found, is returned as it is. A row of a table has
    none: nothing tells which of its cells are addresses of pages.
    """
    parts = []
    marks: set[str] = set()
    start = 0
    for border in _BORDER.finditer(line):
        # a comma in a query may stand between the values of a list
        if border.start() and (
            border[0][-1].isspace() or "?" not in line[start : border.start()]
        ):
            parts.append(line[start : border.start()])
            marks |= _COLUMN_MARKS.intersection(border[0])
            start = border.end()
    parts.append(line[start:])
    urls = list(map(_unwrap, parts))
    if len(urls) == 1:
        is_row = _OTHER_CELL.search(urls[0]) is not None
    else:
        is_row = not marks.isdisjoint("".join(parts)) or any(
            map(_NOT_IN_A_LIST.search, urls)
        )
    return [] if is_row else urls


def _unwrap(text: str) -> str:
    """Return the first column of a text, without quotes and brackets."""
    first = text.partition("\t")[0]
    if columns := _URL_WITH_VALUES.fullmatch(first):
        first = columns["url"]
    bare = first.strip(_WRAPPERS)
    if bare[:1] == "'":
        bare = bare.strip("'")
    is_url = bare[:1] == "/" or bare[:1].isalnum()
    if is_url and not any(mark in bare for mark in '<>"'):
        return bare
    return text


_SEPARATORS = re.compile(
    r"""[,;|]["' ]*+(?:\d\d\d\d-\d|[a-zA-Z]{5,7}["' ]*+[,;|]|https?:)"""
)
"""Stand in front of a second column, or of a second URL."""
_LINES_AT_ONCE = 1_000
"""Lines of one step, which take about 5 ms."""


class TextReader:
    """Reader of lines in UTF-8; one that is not an http(s) URL is dropped."""

    format = Format.TEXT
    finished = False

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._max_bytes = limits.field_chars
        self._pending = b""
        self._line = 1
        self._is_too_long = False
        """True if the rest of a line is skipped."""

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Read the next bytes; yield, in steps, the events of complete lines."""
        self._pending += data
        # A final "\r" waits for the next bytes: it may be the first half of "\r\n".
        end = max(self._pending.rfind(b"\n"), self._pending.rfind(b"\r", 0, -1)) + 1
        lines = self._pending[:end]
        self._pending = self._pending[end:]
        if lines:
            yield from self._read_lines(lines)
        if len(self._pending) > self._max_bytes:
            events: list[Event] = []
            if not self._is_too_long:
                self._stats.drop_record(
                    events, IssueCode.FIELD_TOO_LONG, line=self._line
                )
            self._is_too_long = True
            self._pending = b""
            yield events

    def close(self, cut: IssueCode | None, data: bytes = b"") -> Iterator[list[Event]]:
        """Read the last bytes, and a last line without a line end.

        If the document was cut, that line may be half a URL and is dropped; `cut` is the reason.
        """
        yield from self.feed(data)
        events: list[Event] = []
        if self._is_too_long:
            last = ""
        else:
            last = trim(self._pending.decode("utf-8", "replace"))
        if cut and last:
            self._stats.drop_record(events, cut, line=self._line, value=last)
        elif not cut:
            yield from self._read_lines(self._pending)
        if not self._stats.records and not list_errors(self._stats.counts):
            self._stats.add_issue_once(events, IssueCode.EMPTY)
        yield events

    def _read_lines(self, data: bytes) -> Iterator[list[Event]]:
        urls = split_lines(data.decode("utf-8", "replace"))
        if self._is_too_long:
            self._is_too_long, urls[0] = False, ""
        # Unlike XML, a text may hold any control character, and `are_clean_urls` knows a few only.
        if are_clean_urls(urls) and _are_bare("".join(urls)):
            self._stats.count_entries(len(urls))
            sitemap = self._stats.sitemap
            yield [UrlEntry(url, sitemap=sitemap) for url in urls]
        else:
            yield from self._read_odd_lines(urls)
        self._line += len(urls)

    def _read_odd_lines(self, lines: list[str]) -> Iterator[list[Event]]:
        events: list[Event] = []
        for number, line in enumerate(lines, self._line):
            urls = split_line(line)
            if not urls:
                self._stats.drop_record(
                    events, IssueCode.NOT_A_URL, line=number, value=line
                )
            elif urls != [line]:
                self._stats.add_issue(
                    events, IssueCode.UNTIDY_LINE, line=number, value=line
                )
            for url in filter(None, urls):
                self._read_url(events, url, number)
            if number % _LINES_AT_ONCE == 0:
                yield events
                events = []
        yield events

    def _read_url(
        self,
        events: list[Event],
        text: str,
        line: int,
    ) -> None:
        if has_web_scheme(text):
            found = read_loc(text, "")
        else:
            found = ("", [IssueCode.NOT_A_URL])
        url, codes = found
        if not url:
            self._stats.drop_record(events, codes[0], line=line, value=text)
            return
        for code in codes:
            self._stats.add_issue(events, code, line=line, url=url)
        self._stats.count_entries()
        events.append(UrlEntry(url, sitemap=self._stats.sitemap))


def _are_bare(text: str) -> bool:
    """Return whether joined lines seem to be nothing but URLs."""
    is_separated = "," in text or ";" in text or "|" in text
    is_wrapped = any(mark in text for mark in '<>"`“”„')
    return text.isprintable() and not (
        is_wrapped or (is_separated and _SEPARATORS.search(text))
    )
