"""Cuts the records of an XML document into batches, and has each read in the way that it needs.

A batch ends behind a record's end tag, so it is a document of its own: it is read fast if it is
plain, exactly if it is not, and leniently if it is broken. Whatever happens in one batch, the next
one starts afresh, and a broken record costs at most itself.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.builder import ElementBuilder
from sitemapreader.readers.exact import UnreadableError, read_exact
from sitemapreader.readers.fast import FastReader
from sitemapreader.readers.findings import Findings
from sitemapreader.readers.records import read_record
from sitemapreader.readers.repair import MAX_TAG_CHARS, Repair
from sitemapreader.readers.roots import RECORD_OF
from sitemapreader.readers.scan import COMMENT_END, HIDING, Scanner, record_begin, record_end
from sitemapreader.readers.triage import sort_out

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.head import Head
    from sitemapreader.readers.ledger import Ledger

_LARGE_BATCH = 131_072
"""No batch of plain records is as large, which `exact.TEXT_BUFFER` and `lexicon` rest on. Of larger
ones, expat takes 120 bytes for each element that is open, and 500 for each attribute."""
_STEP = 500
"""Parts of records that one step reads, in about 5 ms."""
_COMMENT = re.compile(re.escape(COMMENT_END))
_TAG_END = re.compile(b">")
_LONGEST_MARK = 256
"""Bytes that are kept of what is passed over, for what is looked for may begin in them."""


class BatchReader:
    """Reads all that follows the root's start tag; `line` is the line on which that ends.

    `finished` is set once a limit has ended the reading. Steps that give nothing yield empty lists,
    so that whoever waits for the next one never waits long.
    """

    def __init__(self, ledger: Ledger, limits: Limits, head: Head, line: int) -> None:
        self.head = head
        self.finished = False
        self._ledger = ledger
        self._limits = limits
        self._line = line
        self._fast = FastReader(head, ledger.sitemap, limits)
        self._scanner = Scanner(head.records)
        self._pending = b""
        self._has_begun = False
        self._names: set[int] = set()
        self._skips: list[re.Pattern[bytes]] = []
        """What ends the oversized record or comment that is being passed over, one by one."""

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
                yield from self._read_slowly(self._take(self._scanner.end))
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
        yield from self._read_tail(why)
        events: list[Event] = []
        if not self._ledger.records and not self._ledger.has_errors:
            self._ledger.note_once(events, IssueCode.EMPTY)
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

    # -- a batch, in the three ways

    def _read_lead(self) -> Iterator[list[Event]]:
        """Read what stands before the first record, such as a feed's title: it is not plain."""
        self._has_begun = True
        first = record_begin(self.head.records).search(self._pending)
        lead = self._pending[: first.start()].rstrip() if first else b""
        if lead and not HIDING.search(lead):
            yield from self._read_slowly(self._take(len(lead)))

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
        self._ledger.deliver(len(entries))
        return [*entries]

    def _read_slowly(self, batch: bytes) -> Iterator[list[Event]]:
        """Read a batch that has just been taken, exactly or, what is broken of it, leniently."""
        line = self._line - count_lines(batch)
        if self._is_heavy(batch):
            yield from self._mend(batch, line)
            return
        builder = yield from self._read_exactly(batch, line)
        if builder:
            yield from self._read_records(builder)
            return
        for part in sort_out(batch, self.head):
            if part is None:
                yield []
                continue
            data = batch[part.start : part.end]
            builder = (yield from self._read_exactly(data, line)) if part.is_sound else None
            if builder:
                yield from self._read_records(builder)
            elif not self.finished:
                yield from self._mend(data, line, is_refused=True)
            line += count_lines(data)

    def _mend(self, data: bytes, line: int, *, is_refused: bool = False) -> Iterator[list[Event]]:
        """Read records leniently; of what expat has refused, something is to be said."""
        builder = self._new_builder()
        is_said = yield from self._repair(builder, data, line)
        if builder.open:
            builder.finish(IssueCode.MISMATCHED_TAG)
            is_said = True
        yield from self._read_records(builder)
        if is_refused and not is_said:
            events: list[Event] = []
            self._ledger.note_once(events, IssueCode.NOT_WELL_FORMED)
            yield events

    def _read_exactly(
        self, batch: bytes, line: int
    ) -> Generator[list[Event], None, ElementBuilder | None]:
        builder, before = self._new_builder(), self.head.copy()
        try:
            for _ in read_exact(builder, self.head, batch, line):
                yield []
        except UnreadableError:
            self.head.restore(before)
            return None
        return builder

    def _is_heavy(self, batch: bytes) -> bool:
        """Tell whether expat could be made to take a lot of memory for a batch."""
        return len(batch) > _LARGE_BATCH and (
            batch.count(b"<") > self._limits.record_elements
            or max(map(len, batch.split(b"<"))) > MAX_TAG_CHARS
        )

    def _repair(
        self, builder: ElementBuilder, batch: bytes, line: int
    ) -> Generator[list[Event], None, bool]:
        """Read a batch leniently; the record that its end cuts stays open in the builder.

        Returns whether it was said of anything that it had to be mended.
        """
        repair = Repair(builder, self.head, self._limits, batch, line)
        is_said, dropped = False, self._ledger.dropped
        for _ in chain(repair.read(), (None,)):
            is_said = is_said or any(record.mended for record in builder.records)
            yield from self._read_records(builder)
        events: list[Event] = []
        if repair.is_odd:
            self._ledger.note_once(events, IssueCode.NOT_WELL_FORMED)
        if repair.trailing:
            self._ledger.note_once(events, IssueCode.TRAILING_BYTES, value=repair.trailing)
        yield events
        is_said = is_said or repair.is_odd or bool(repair.trailing) or builder.nested_root
        return is_said or self._ledger.dropped > dropped

    def _read_tail(self, why: IssueCode) -> Iterator[list[Event]]:
        """Read what stands behind the last complete record."""
        builder = self._new_builder()
        yield from self._repair(builder, self._pending, self._line)
        events: list[Event] = []
        if builder.open:
            record = builder.open[0]
            self._ledger.drop(events, why, line=record.line, value=record.all_text() or None)
        elif not self.head.closed:
            self._ledger.note_once(events, why)
        yield events

    def _read_records(self, builder: ElementBuilder) -> Iterator[list[Event]]:
        findings = Findings([], self._ledger, self.head.base)
        if builder.nested_root:
            self._ledger.note_once(findings.events, IssueCode.NESTED_ROOT)
        if builder.foreign_uri is not None:
            value = builder.foreign_uri
            self._ledger.note_once(findings.events, IssueCode.NAMESPACE, value=value)
        work = 0
        records, builder.records = builder.records, []
        for record in records:
            if record.tag != RECORD_OF.get(self.head.format, record.tag):
                value = f"<{record.name}>"
                self._ledger.note_once(findings.events, IssueCode.NESTED_ROOT, value=value)
            for _ in read_record(findings, record):
                work += 1
                if work % _STEP == 0:
                    yield findings.take_events()
        if len(self._names) > self._limits.names and not self.finished:
            self._ledger.note(findings.events, IssueCode.TOO_MANY_NAMES)
            self.finished = True
        yield findings.take_events()

    def _new_builder(self) -> ElementBuilder:
        return ElementBuilder(self.head, self._limits, self._names)

    # -- what is too long to be kept

    def _shorten(self) -> Iterator[list[Event]]:
        """Let go of pending bytes that have grown past the size of a record."""
        scanner = self._scanner
        if scanner.closing == COMMENT_END:
            yield self._pass_over(_COMMENT)
        elif end := self._find_hidden_end():
            batch = self._take(end)
            scanner.reset()
            yield from self._read_slowly(batch)
        elif scanner.starts > 1:  # no record has an end tag
            yield from self._read_slowly(self._take(scanner.last_start))
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
            self._ledger.drop(events, IssueCode.RECORD_TOO_LONG, line=self._line)
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


def count_lines(data: bytes) -> int:
    """Count the ends of lines (XML 1.0, section 2.11)."""
    lines = data.count(b"\n")
    return lines + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else lines
