"""The reader of XML formats: the head, then batch after batch of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.readers.batches import BatchReader
from sitemapreader.readers.head import NotXmlError, read_head

if TYPE_CHECKING:
    from sitemapreader.models import Event, Format
    from sitemapreader.options import Limits
    from sitemapreader.readers.ledger import Ledger


class XmlReader:
    """Reads urlset, sitemapindex, RSS and Atom, in UTF-8."""

    def __init__(self, ledger: Ledger, limits: Limits) -> None:
        self._ledger = ledger
        self._limits = limits
        self._start = b""
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

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; return the events of the records that are complete with them."""
        return self._batches.feed(data) if self._batches else self._read_head(data, final=False)

    def close(self, *, cut: bool) -> list[Event]:
        """Return the last events: what is still complete, and what the document lacks."""
        del cut  # a cut document shows in the markup
        events = [] if self._batches else self._read_head(b"", final=True)
        return events + self._batches.close() if self._batches else events

    def _read_head(self, data: bytes, *, final: bool) -> list[Event]:
        events: list[Event] = []
        self._start += data
        try:
            found = read_head(events, self._ledger, self._start, final=final)
        except NotXmlError as error:
            self._ledger.note(events, error.code, value=error.value)
            self._refused = True
            return events
        if found:
            head, end = found
            line = 1 + self._start.count(b"\n", 0, end)
            self._batches = BatchReader(self._ledger, self._limits, head, line)
            events += self._batches.feed(self._start[end:])
            self._start = b""
        return events
