"""Reads the batches that are not plain: exactly, and what expat refuses of them leniently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.builder import ElementBuilder
from sitemapreader.readers.exact import UnreadableError, read_exact
from sitemapreader.readers.records.context import RecordContext
from sitemapreader.readers.records.url import read_record
from sitemapreader.readers.roots import RECORD_OF
from sitemapreader.readers.xml.boundaries import count_lines
from sitemapreader.readers.xml.lenient.isolate import isolate_broken
from sitemapreader.readers.xml.lenient.parser import MAX_TAG_CHARS, LenientParser

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats
    from sitemapreader.readers.xml.prolog import Prolog

_MANY_BYTES = 131_072
"""Of larger batches, expat takes 120 bytes for each element that is open, 500 for an attribute."""
_STEP = 500
"""Parts of records that one step reads, in about 5 ms."""
_OF_MARKUP = frozenset(
    {
        IssueCode.ENCODING,
        IssueCode.TRAILING_BYTES,
        IssueCode.NESTED_ROOT,
        IssueCode.HTML_ENTITY,
        IssueCode.BARE_AMPERSAND,
        IssueCode.BARE_LESS_THAN,
        IssueCode.CONTROL_CHARACTER,
        IssueCode.UNBOUND_PREFIX,
        IssueCode.MISMATCHED_TAG,
        IssueCode.NOT_WELL_FORMED,
        IssueCode.MALFORMED,
    }
)
"""Issues that say why expat may have refused a batch."""


class SlowReader:
    """Reads batches of one document, each of whole records.

    `finished` is set once a limit has ended the reading. Steps that give nothing yield empty lists.
    """

    def __init__(self, stats: ReadStats, limits: Limits, head: Prolog) -> None:
        self.finished = False
        self._head = head
        self._stats = stats
        self._limits = limits
        self._names: set[int] = set()

    def read(self, batch: bytes, line: int) -> Iterator[list[Event]]:
        """Read a batch whose first line is `line`."""
        if self._is_heavy(batch):
            yield from self._mend(batch, line)
            return
        builder = yield from self._read_exactly(batch, line)
        if builder:
            yield from self._read_records(builder)
            return
        for part in isolate_broken(batch, self._head):
            if part is None:
                yield []
                continue
            data = batch[part.start : part.end]
            builder = (yield from self._read_exactly(data, line)) if part.is_sound else None
            if builder:
                yield from self._read_records(builder)
            elif not self.finished:
                yield from self._mend_refused(data, line)
            line += count_lines(data)

    def read_tail(self, data: bytes, line: int, why: IssueCode) -> Iterator[list[Event]]:
        """Read what stands behind the last complete record; `why` says what may have cut it."""
        builder = self._new_builder()
        yield from self._repair(builder, data, line)
        events: list[Event] = []
        if builder.open:
            record = builder.open[0]
            self._stats.drop(events, why, line=record.line, value=record.all_text() or None)
        elif not self._head.closed:
            self._stats.note_once(events, why)
        yield events

    def _is_heavy(self, batch: bytes) -> bool:
        """Tell whether expat could be made to take a lot of memory for a batch."""
        return len(batch) > _MANY_BYTES and (
            batch.count(b"<") > self._limits.record_elements
            or max(map(len, batch.split(b"<"))) > MAX_TAG_CHARS
        )

    # -- the two ways

    def _read_exactly(
        self, batch: bytes, line: int
    ) -> Generator[list[Event], None, ElementBuilder | None]:
        builder, before = self._new_builder(), self._head.copy()
        try:
            for _ in read_exact(builder, self._head, batch, line):
                yield []
        except UnreadableError:
            self._head.restore(before)
            return None
        return builder

    def _mend_refused(self, data: bytes, line: int) -> Iterator[list[Event]]:
        """Read records leniently that expat has refused: something is to be said of that."""
        said = self._count_said()
        yield from self._mend(data, line)
        if self._count_said() == said:
            events: list[Event] = []
            self._stats.note_once(events, IssueCode.NOT_WELL_FORMED)
            yield events

    def _count_said(self) -> int:
        return sum(self._stats.counts[code] for code in _OF_MARKUP)

    def _mend(self, data: bytes, line: int) -> Iterator[list[Event]]:
        builder = self._new_builder()
        yield from self._repair(builder, data, line)
        if builder.open:
            builder.finish(IssueCode.MISMATCHED_TAG)
        yield from self._read_records(builder)

    def _repair(self, builder: ElementBuilder, data: bytes, line: int) -> Iterator[list[Event]]:
        """Read a batch leniently; the record that its end cuts stays open in the builder."""
        repair = LenientParser(builder, self._head, self._limits, data, line)
        for _ in repair.read():
            yield from self._read_records(builder)
        yield from self._read_records(builder)
        events: list[Event] = []
        if repair.is_odd:
            self._stats.note_once(events, IssueCode.NOT_WELL_FORMED)
        if repair.trailing:
            self._stats.note_once(events, IssueCode.TRAILING_BYTES, value=repair.trailing)
        yield events

    def _read_records(self, builder: ElementBuilder) -> Iterator[list[Event]]:
        context = RecordContext([], self._stats, self._head.base)
        if builder.nested_root:
            self._stats.note_once(context.events, IssueCode.NESTED_ROOT)
        if builder.foreign_uri is not None:
            value = builder.foreign_uri
            self._stats.note_once(context.events, IssueCode.NAMESPACE, value=value)
        work = 0
        records, builder.records = builder.records, []
        for record in records:
            if record.tag != RECORD_OF.get(self._head.format, record.tag):
                value = f"<{record.name}>"
                self._stats.note_once(context.events, IssueCode.NESTED_ROOT, value=value)
            for _ in read_record(context, record):
                work += 1
                if work % _STEP == 0:
                    yield context.take_events()
        if len(self._names) > self._limits.names and not self.finished:
            self._stats.note(context.events, IssueCode.TOO_MANY_NAMES)
            self.finished = True
        yield context.take_events()

    def _new_builder(self) -> ElementBuilder:
        return ElementBuilder(self._head, self._limits, self._names)
