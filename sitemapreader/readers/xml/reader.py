"""The reader of XML formats: the head, then batch after batch of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.xml.batches import BatchReader
from sitemapreader.readers.xml.boundaries import count_lines
from sitemapreader.readers.xml.prolog import NotXmlError, PrologReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event, Format
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats


class XmlReader:
    """Reads urlset, sitemapindex, RSS and Atom, in UTF-8."""

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._limits = limits
        self._head_reader = PrologReader(stats)
        self._refused = False
        self._batches: BatchReader | None = None

    @property
    def format(self) -> Format | None:
        """The format, once the root element was met."""
        return self._batches.head.format if self._batches else None

    @property
    def finished(self) -> bool:
        """Whether a limit or a refusal has ended the reading."""
        return self._batches.finished if self._batches else self._refused

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Take the next bytes; yield, in steps, the events of the records that are complete."""
        if self._batches:
            yield from self._batches.feed(data)
        else:
            yield from self._read_head(data, final=False)

    def close(self, cut: IssueCode | None) -> Iterator[list[Event]]:
        """Yield the last events: what is still complete, and what the document lacks.

        That it was cut shows in the markup; `cut` says by what.
        """
        if not self._batches:
            yield from self._read_head(b"", final=True)
        if self._batches:
            yield from self._batches.close(cut or IssueCode.TRUNCATED)

    def _read_head(self, data: bytes, *, final: bool) -> Iterator[list[Event]]:
        events: list[Event] = []
        try:
            found = self._head_reader.feed(events, data, final=final)
        except NotXmlError as error:
            self._stats.note(events, error.code, value=error.value)
            self._refused = True
            found = None
        yield events
        if found:
            head, end = found
            start, self._head_reader.data = self._head_reader.data, b""
            line = 1 + count_lines(start[:end])
            self._batches = BatchReader(self._stats, self._limits, head, line)
            yield from self._batches.feed(start[end:])
