"""The reader of XML formats: the prolog, then all behind the root's start tag."""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.vocabulary import Names
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.xml.batches import BatchReader, is_end
from sitemapreader.readers.xml.boundaries import count_lines
from sitemapreader.readers.xml.patterns import start_patterns
from sitemapreader.readers.xml.prolog import NotXmlError, PrologReader
from sitemapreader.readers.xml.tree import TreeReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event, Format
    from sitemapreader.options import Limits
    from sitemapreader.rows import Events

_UTF_8 = getincrementaldecoder("utf-8")


class XmlReader:
    """Reader of urlset, sitemapindex, RSS and Atom, in UTF-8.

    Bytes that are not UTF-8 become lone surrogates: so the record in which they stand is broken,
    and no other.
    """

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._limits = limits
        self._decoder = _UTF_8("surrogateescape")
        self._prolog_reader = PrologReader(stats)
        self._refused = False
        self._batches: BatchReader | None = None

    @property
    def format(self) -> Format | None:
        """The format, once the root element has come."""
        return self._batches.prolog.format if self._batches else None

    @property
    def is_window(self) -> bool:
        """Whether the document may leave out what it has listed before."""
        return bool(self._batches and self._batches.prolog.is_window)

    @property
    def finished(self) -> bool:
        """Whether a limit or a refusal has ended the reading."""
        return self._batches.finished if self._batches else self._refused

    def feed(self, data: bytes) -> Iterator[Events]:
        """Read the next bytes; yield, in steps, the events of complete records."""
        yield from self._take(self._decoder.decode(data), final=False)

    def close(self, cut: IssueCode | None) -> Iterator[Events]:
        """Yield the last events: complete records, and what the document lacks.

        The markup shows whether the document was cut; `cut` is the cause.
        """
        yield from self._take(self._decoder.decode(b"", final=True), final=True)
        if self._batches:
            yield from self._batches.close(cut or IssueCode.TRUNCATED)

    def _take(self, text: str, *, final: bool) -> Iterator[Events]:
        if self._batches:
            yield from self._batches.feed(text)
            return
        events: list[Event] = []
        try:
            found = self._prolog_reader.feed(events, text, final=final)
        except NotXmlError as error:
            self._stats.add_issue(events, error.code, value=error.value)
            self._refused = True
            found = None
        yield events
        if found:
            prolog, end = found
            start, self._prolog_reader.data = self._prolog_reader.data, ""
            line = 1 + count_lines(start, 0, end)
            self._batches = BatchReader(self._stats, self._limits, prolog, line)
            yield from self._batches.feed(start[end:])


def read_whole(data: bytes, stats: ReadStats, limits: Limits) -> tuple[Format, Events] | None:
    """Return format and entries of a whole document; `None` if it is not all common.

    Most documents are small, and what this leaves out takes twice as long as their records.
    """
    issues: list[Event] = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    found = PrologReader(ReadStats()).find_common(issues, text)
    if found is None or issues or len(data) > min(limits.inflated_bytes, limits.record_bytes):
        return None
    prolog, start = found
    names = Names(frozenset({prolog.uri, ""}), prolog.format)
    patterns = start_patterns(prolog, names, TreeReader(prolog, limits), limits)
    parts, end = patterns.read(text, start, stats.sitemap) if patterns else ([], 0)
    if len(parts) != 1 or parts[0][1] or not is_end(text[end:], [prolog.root]):
        return None
    entries = parts[0][0]
    if len(entries) > limits.entries:
        return None
    stats.inflated_bytes = len(data)
    stats.deliver(len(entries))
    return prolog.format, entries
