"""The reader of text sitemaps: one URL a line (https://www.sitemaps.org/protocol.html#otherformats)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format, UrlEntry
from sitemapreader.readers.locs import are_plain, fault_of, oddities_of
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.ledger import Ledger


class TextReader:
    """Reads lines of UTF-8; a line that is not an http(s) URL is dropped with an Issue."""

    format = Format.TEXT
    finished = False

    def __init__(self, ledger: Ledger, limits: Limits) -> None:
        self._ledger = ledger
        self._limits = limits
        self._pending = b""
        self._line = 1
        self._too_long = False

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; return the events of the lines that are complete with them."""
        events: list[Event] = []
        self._pending += data
        end = max(self._pending.rfind(b"\n"), self._pending.rfind(b"\r", 0, -1)) + 1
        lines, self._pending = self._pending[:end], self._pending[end:]
        if lines:
            self._read_lines(events, lines)
        if len(self._pending) > self._limits.field_chars:
            self._pending, self._too_long = b"", True
        return events

    def close(self, *, cut: bool) -> list[Event]:
        """Return the event of a last line without an end.

        Of a document that was cut it may be half a URL, and is not handed over.
        """
        events: list[Event] = []
        if cut:
            value = self._pending.decode("utf-8", "replace").strip() or None
            if value:
                self._ledger.drop(events, IssueCode.TRUNCATED, line=self._line, value=value)
            else:
                self._ledger.note(events, IssueCode.TRUNCATED)
        elif self._pending or self._too_long:
            self._read_lines(events, self._pending)
        if not self._ledger.records:
            self._ledger.note_once(events, IssueCode.EMPTY)
        return events

    def _read_lines(self, events: list[Event], data: bytes) -> None:
        lines = _split(data)
        if self._too_long:
            self._too_long = False
            self._ledger.drop(events, IssueCode.FIELD_TOO_LONG, line=self._line)
            lines[0] = ""
        urls = [line.strip() for line in lines]
        if are_plain(urls):
            self._ledger.deliver(len(urls))
            sitemap = self._ledger.sitemap
            events += [UrlEntry(url, sitemap=sitemap) for url in urls]
        else:
            for number, url in enumerate(urls, self._line):
                if url:
                    self._read_line(events, url, number)
        self._line += len(urls)

    def _read_line(self, events: list[Event], url: str, line: int) -> None:
        if not has_web_scheme(url):
            self._ledger.drop(events, IssueCode.NOT_A_URL, line=line, value=url)
            return
        if fault := fault_of(url):
            self._ledger.drop(events, fault, line=line, value=url)
            return
        for code in oddities_of(url):
            self._ledger.note(events, code, line=line, url=url)
        self._ledger.deliver()
        events.append(UrlEntry(url, sitemap=self._ledger.sitemap))


def _split(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n")
