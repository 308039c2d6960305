"""Cuts the records of an XML document into batches, and has each read in the way that it needs.

A batch ends behind a record's end tag, so it is a document of its own: it is read fast if it is
plain, exactly if it is not, and leniently if it is broken. Whatever happens in one batch, the next
one starts afresh, and a broken record costs at most itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.fast import FastReader
from sitemapreader.readers.slow import SlowReader
from sitemapreader.readers.xml.boundaries import (
    COMMENT_END,
    HIDING,
    Scanner,
    count_lines,
    record_begin,
    record_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats
    from sitemapreader.readers.xml.prolog import Prolog

_LARGE_BATCH = 131_072
"""No batch of plain records is as large, which `exact.TEXT_BUFFER` and `lexicon` rest on."""
_COMMENT = re.compile(re.escape(COMMENT_END))
_TAG_END = re.compile(b">")
_LONGEST_MARK = 256
"""Bytes that are kept of what is passed over, for what is looked for may begin in them."""


class BatchReader:
    """Reads all that follows the root's start tag; `line` is the line on which that ends.

    Steps that give nothing yield empty lists, so that whoever waits for the next one never waits
    long.
    """

    def __init__(self, stats: ReadStats, limits: Limits, head: Prolog, line: int) -> None:
        self.head = head
        self._stats = stats
        self._limits = limits
        self._line = line
        self._fast = FastReader(head, stats.sitemap, limits)
        self._slow = SlowReader(stats, limits, head)
        self._scanner = Scanner(head.records)
        self._pending = b""
        self._has_begun = False
        self._skips: list[re.Pattern[bytes]] = []
        """What ends the oversized record or comment that is being passed over, one by one."""

    @property
    def finished(self) -> bool:
        """Whether a limit has ended the reading."""
        return self._slow.finished

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Take the next bytes; yield the events of the records that are complete with them."""
        self._pending += data
        if self.finished or not self._has_skipped():
            return
        if not self._scanner.end_tag:
            yield from self._scan()
        if self._scanner.end_tag and not self._has_begun:
            yield from self._read_lead()
        entries = self._read_fast()
        if entries is not None:
            yield entries
        else:
            yield from self._scan()
            if self._scanner.end:
                yield from self._read_slowly(self._scanner.end)
        if len(self._pending) > self._limits.record_bytes and not self.finished:
            yield from self._scan()
            yield from self._shorten()

    def close(self, why: IssueCode) -> Iterator[list[Event]]:
        """Yield the events of what is still there, and say what the document lacks.

        `why` says what has cut it, if it turns out to be cut.
        """
        yield from self.feed(b"")
        if self.finished:
            return
        if not self._has_skipped():
            self._pending = b""
        yield from self._slow.read_tail(self._pending, self._line, why)
        events: list[Event] = []
        if not self._stats.records and not self._stats.has_errors:
            self._stats.note_once(events, IssueCode.EMPTY)
        yield events

    def _scan(self) -> Iterator[list[Event]]:
        if self._scanner.records != self.head.records:  # a root inside the root
            self._scanner = Scanner(self.head.records)
        for _ in self._scanner.scan(self._pending):
            yield []

    def _take(self, end: int) -> bytes:
        taken, self._pending = self._pending[:end], self._pending[end:]
        self._line += count_lines(taken)
        self._scanner.drop(end)
        return taken

    # -- batches

    def _read_lead(self) -> Iterator[list[Event]]:
        """Read what stands before the first record, such as a feed's title: it is not plain."""
        self._has_begun = True
        first = record_begin(self.head.records).search(self._pending)
        lead = self._pending[: first.start()].rstrip() if first else b""
        if lead and not HIDING.search(lead):
            yield from self._read_slowly(len(lead))

    def _read_fast(self) -> list[Event] | None:
        """Read up to the last end tag of a record; return `None` if that is not plain.

        If all before the end tag is well-formed, it stands in no comment; if not, the scanner has
        to tell.
        """
        end_tag = self._scanner.end_tag
        if self._scanner.records != self.head.records:  # a root of another format inside the root
            return None
        start = self._pending.rfind(end_tag) if end_tag else -1
        end = start + len(end_tag)
        if start < 0 or end > _LARGE_BATCH or self._scanner.ends_record(self._pending, end):
            return None
        entries = self._fast.read(self._pending[:end])
        if entries is None:
            return None
        self._take(end)
        self._scanner.reset()
        self._stats.deliver(len(entries))
        return [*entries]

    def _read_slowly(self, end: int) -> Iterator[list[Event]]:
        """Take a batch, and read it exactly or leniently."""
        line = self._line
        yield from self._slow.read(self._take(end), line)

    # -- what is too long to be kept

    def _shorten(self) -> Iterator[list[Event]]:
        """Let go of pending bytes that have grown past the size of a record."""
        scanner = self._scanner
        if scanner.closing == COMMENT_END:
            yield self._pass_over(_COMMENT)
        elif end := self._find_hidden_end():
            scanner.reset()
            yield from self._read_slowly(end)
        elif scanner.starts > 1:  # no record has an end tag
            yield from self._read_slowly(scanner.last_start)
        elif scanner.starts:
            yield self._pass_over(record_end(scanner.records), _TAG_END)
        elif scanner.closing:
            yield self._pass_over(re.compile(re.escape(scanner.closing)))
        else:
            yield self._pass_over()

    def _find_hidden_end(self) -> int:
        """Find a record's end behind a CDATA section or PI that is not closed; 0: there is none."""
        if not self._scanner.closing:
            return 0
        tag = self._scanner.end_tag
        if not tag and (found := record_end(self.head.records).search(self._pending)):
            tag = found[0] + b">"
        start = self._pending.rfind(tag) if tag else -1
        return start + len(tag) if start >= 0 else 0

    def _pass_over(self, *skips: re.Pattern[bytes]) -> list[Event]:
        events: list[Event] = []
        if self._scanner.starts:
            self._stats.drop(events, IssueCode.RECORD_TOO_LONG, line=self._line)
        self._skips = list(skips)
        position = self._scanner.position
        is_kept = self._scanner.closing or (skips and skips[0].match(self._pending, position))
        self._take(position if is_kept else len(self._pending))
        return events

    def _has_skipped(self) -> bool:
        """Pass over what is too long; tell whether its end has been reached."""
        while self._skips:
            found = self._skips[0].search(self._pending)
            if found is None:
                self._take(max(0, len(self._pending) - _LONGEST_MARK))
                return False
            self._take(found.end())
            del self._skips[0]
            self._scanner.reset()
        return True
