"""Cuts the records of an XML document into batches, and has each read in the way that it needs.

A batch ends behind a record's end tag, so it is a document of its own: it is read fast if it is
plain, exactly if it is not, and leniently if it is broken. Whatever happens in one batch, the next
one starts afresh, and a broken record costs at most itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format
from sitemapreader.readers.elements import ElementBuilder
from sitemapreader.readers.exact import UnreadableError, read_exact
from sitemapreader.readers.fast import FastReader
from sitemapreader.readers.head import open_section, record_starts
from sitemapreader.readers.records import RecordReader
from sitemapreader.readers.repair import Repair

if TYPE_CHECKING:
    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.head import Head
    from sitemapreader.readers.ledger import Ledger

_RECORD_OF = {Format.URLSET: "url", Format.INDEX: "sitemap"}
_LARGE_BATCH = 131_072
"""No batch of plain records is as large; expat takes 120 bytes for each element that is open."""
_COMMENT, _COMMENT_END = b"<!--", b"-->"


class BatchReader:
    """Reads all that follows the root's start tag; `line` is the line on which that ends.

    `finished` is set once a limit has ended the reading.
    """

    def __init__(self, ledger: Ledger, limits: Limits, head: Head, line: int) -> None:
        self.head = head
        self.finished = False
        self._ledger = ledger
        self._limits = limits
        self._line = line
        self._fast = FastReader(head, ledger.sitemap)
        self._pending = b""
        self._names: set[tuple[str, str]] = set()
        self._record_end = b""
        """The end tag of a record, as this document writes it."""
        self._skip_to = b""
        """What ends the oversized record or comment that is being passed over, if one is."""

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; return the events of the records that are complete with them."""
        events: list[Event] = []
        self._pending += data
        if self.finished or not self._has_skipped():
            return events
        if end := self._find_batch_end():
            self._read_batch(events, self._take(end))
        if len(self._pending) > self._limits.record_bytes:
            self._shorten(events)
        return events

    def close(self) -> list[Event]:
        """Return the events of what is still there, and say what the document lacks."""
        events = self.feed(b"")
        if self.finished:
            return events
        if not self._has_skipped():
            self._pending = b""
        self._read_tail(events)
        if not self._ledger.records and not self._ledger.counts[IssueCode.TRUNCATED]:
            self._ledger.note_once(events, IssueCode.EMPTY)
        return events

    def _take(self, end: int) -> bytes:
        taken, self._pending = self._pending[:end], self._pending[end:]
        self._line += taken.count(b"\n")
        return taken

    def _find_batch_end(self) -> int:
        """Return where the last complete record in the pending bytes ends; 0 if there is none."""
        if self._record_end and (start := self._pending.rfind(self._record_end)) >= 0:
            return start + len(self._record_end)
        names = "|".join(sorted(self.head.records)).encode()
        pattern = re.compile(rb"</(?:[\w.-]+:)?(?:" + names + rb")\s*>", re.IGNORECASE)
        found = list(pattern.finditer(self._pending))
        if not found:
            return 0
        self._record_end = found[-1][0]
        return found[-1].end()

    def _read_batch(self, events: list[Event], batch: bytes) -> None:
        entries = self._fast.read(batch)
        if entries is not None:
            self._ledger.deliver(len(entries))
            events += entries
            return
        section = open_section(batch)
        if section >= 0:  # the end tag that it was cut at stands in a comment or the like
            start = batch.rfind(self._record_end, 0, section)
            end = start + len(self._record_end) if start >= 0 else 0
            self._pending = batch[end:] + self._pending
            self._line -= batch.count(b"\n", end)
            batch = batch[:end]
        if batch:
            self._read_slowly(events, batch)

    def _read_slowly(self, events: list[Event], batch: bytes) -> None:
        """Read a batch that has just been taken, exactly or, if that fails, leniently."""
        line = self._line - batch.count(b"\n")
        builder = self._read_exactly(batch, line) or self._repair(events, batch, line)
        self._read_records(events, builder)

    def _read_exactly(self, batch: bytes, line: int) -> ElementBuilder | None:
        if len(batch) > _LARGE_BATCH and batch.count(b"<") > self._limits.record_elements:
            return None  # more open elements than expat should be given memory for
        builder = self._new_builder()
        try:
            read_exact(builder, self.head, batch, line)
        except UnreadableError:
            return None
        return builder

    def _repair(self, events: list[Event], batch: bytes, line: int) -> ElementBuilder:
        builder = self._new_builder()
        repair = Repair(builder, self.head, batch, line)
        repair.read()
        if builder.open:
            builder.finish(IssueCode.MISMATCHED_TAG)
        self._note_trailing(events, repair)
        return builder

    def _read_tail(self, events: list[Event]) -> None:
        """Read what stands behind the last complete record."""
        builder = self._new_builder()
        repair = Repair(builder, self.head, self._pending, self._line)
        repair.read()
        self._read_records(events, builder)
        if builder.open:
            cut = builder.open[0]
            self._ledger.drop(
                events, IssueCode.TRUNCATED, line=cut.line, value=cut.all_text() or None
            )
        elif not self.head.closed:
            self._ledger.note(events, IssueCode.TRUNCATED)
        self._note_trailing(events, repair)

    def _read_records(self, events: list[Event], builder: ElementBuilder) -> None:
        if builder.nested_root:
            self._ledger.note_once(events, IssueCode.NESTED_ROOT)
        reader = RecordReader(events, self._ledger)
        for record in builder.records:
            if record.tag != _RECORD_OF.get(self.head.format, record.tag):
                self._ledger.note_once(events, IssueCode.NESTED_ROOT, value=f"<{record.name}>")
            reader.read(record)
        if len(self._names) > self._limits.names:
            self._ledger.note(events, IssueCode.TOO_MANY_NAMES)
            self.finished = True

    def _new_builder(self) -> ElementBuilder:
        return ElementBuilder(self.head, self._limits, self._names)

    def _note_trailing(self, events: list[Event], repair: Repair) -> None:
        if repair.trailing:
            self._ledger.note_once(events, IssueCode.TRAILING_BYTES, value=repair.trailing)

    # -- what is too long to be kept

    def _shorten(self, events: list[Event]) -> None:
        """Let go of pending bytes that have grown past the size of a record."""
        section = open_section(self._pending)
        starts = list(record_starts(self._pending, self.head.records))
        if self._pending.startswith(_COMMENT, max(section, 0)):
            self._pass_over(events, _COMMENT_END, starts)
        elif end := self._find_batch_end():  # behind a CDATA section that is not closed
            self._read_slowly(events, self._take(end))
        elif len(starts) > 1:  # no record has an end tag
            self._read_slowly(events, self._take(starts[-1]))
        else:
            self._pass_over(events, self._record_end if starts else b"", starts)

    def _pass_over(self, events: list[Event], skip_to: bytes, starts: list[int]) -> None:
        if starts:
            self._ledger.drop(events, IssueCode.RECORD_TOO_LONG, line=self._line)
            skip_to = skip_to or f"</{min(self.head.records)}>".encode()
        self._skip_to = skip_to
        self._take(len(self._pending))

    def _has_skipped(self) -> bool:
        """Pass over what is too long; tell whether its end has been reached."""
        if not self._skip_to:
            return True
        found = self._pending.find(self._skip_to)
        if found < 0:
            self._take(max(0, len(self._pending) - len(self._skip_to) + 1))
            return False
        self._take(found + len(self._skip_to))
        self._skip_to = b""
        return True
