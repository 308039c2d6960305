"""Fast reading: plain records by the thousand, without a Python call for each tag.

A batch is read here only if it can be shown to be plain; of any other, `read` makes `None`, and the
exact reader has its turn. No Issue is made here: a record that would have one is not plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.readers.columns import read_rows
from sitemapreader.readers.locs import are_plain
from sitemapreader.readers.parsed import ParsedReader
from sitemapreader.readers.templates import TemplateReader
from sitemapreader.readers.tokens import CAN_TOKENIZE, Doubt, Tokenizer

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.tokens import Entry
    from sitemapreader.readers.xml.prolog import Prolog

_GIVE_UP_AFTER = 8
"""Batches in doubt before a document is left to the exact reader, if none was plain meanwhile."""


class FastReader:
    """Reads the plain batches of one document."""

    def __init__(self, head: Prolog, sitemap: str, limits: Limits) -> None:
        self._head = head
        self._format = head.format
        self._sitemap = sitemap
        tokenizer = Tokenizer(head, limits)
        self._templates = TemplateReader(head, limits, tokenizer)
        self._parsed = ParsedReader(head, limits, tokenizer)
        self._doubts = 0 if CAN_TOKENIZE else _GIVE_UP_AFTER

    def read(self, batch: bytes) -> list[Entry] | None:
        """Return the entries of a batch, or `None` if it is not plain."""
        if self._doubts >= _GIVE_UP_AFTER or not self._head.has_one_vocabulary:
            return None
        try:
            entries = self._read(batch)
        except Doubt:
            entries = []
        are_sure = bool(entries) and are_plain([entry.loc for entry in entries])
        self._doubts = 0 if are_sure else self._doubts + 1
        return entries if are_sure else None

    def _read(self, batch: bytes) -> list[Entry]:
        entries: dict[int, Entry] = {}
        found = self._templates.read(batch) or self._parsed.read(batch)
        if len(found) == 1:
            return read_rows(found[0], self._format, self._sitemap)
        for rows in found:
            made = read_rows(rows, self._format, self._sitemap)
            entries.update(zip(rows.starts, made, strict=True))
        return [entries[start] for start in sorted(entries)]
