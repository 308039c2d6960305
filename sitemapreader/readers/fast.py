"""Fast reading: plain records by the thousand, without a Python call for each tag.

Tokens are sliced into columns where all records of a batch have one shape, or walked in one loop.
A batch is read here only if it can be shown to be plain; of any other, `read` makes `None`, and the
exact reader has its turn. No Issue is made here: a record that would have one is not plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import Format
from sitemapreader.readers.columns import read_columns, read_dates
from sitemapreader.readers.locs import are_plain
from sitemapreader.readers.mixed import MixedReader
from sitemapreader.readers.shapes import count_alike
from sitemapreader.readers.syndicated import read_items
from sitemapreader.readers.tokens import CAN_TOKENIZE, Doubt, Tokenizer

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.head import Head
    from sitemapreader.readers.tokens import Entry, Token

_MAX_DEPTH = 4
"""Plain records are nested no deeper; whoever allows less wants each to be looked at."""
_GIVE_UP_AFTER = 8
"""Batches in doubt before a document is left to the exact reader, if none was plain meanwhile.

As many that seemed to have one shape and had not, before no more are tried.
"""


class FastReader:
    """Reads the plain batches of one document."""

    def __init__(self, head: Head, sitemap: str, limits: Limits) -> None:
        self._format = head.format
        self._is_feed = head.format in (Format.RSS, Format.ATOM)
        self._sitemap = sitemap
        self._limits = limits
        self._tokenizer = Tokenizer(head, limits)
        self._mixed = MixedReader(head.format, sitemap, limits.attributes)
        self._misfits = 0
        can_read = CAN_TOKENIZE and limits.record_depth > _MAX_DEPTH
        self._doubts = 0 if can_read else _GIVE_UP_AFTER

    def read(self, batch: bytes) -> list[Entry] | None:
        """Return the entries of a batch, or `None` if it is not plain."""
        if self._doubts >= _GIVE_UP_AFTER:
            return None
        try:
            entries = self._read(batch)
        except Doubt:
            self._doubts += 1
            return None
        self._doubts = 0
        return entries

    def _read(self, batch: bytes) -> list[Entry]:
        entries = None if self._is_feed else self._read_alike(batch)
        if entries is None:
            tokens = self._tokenizer.tokenize(batch, starts=True)
            entries = self._read_tokens(tokens)
            read_lastmods(entries)
        if not are_plain([entry.loc for entry in entries]):
            raise Doubt
        return entries

    def _read_alike(self, batch: bytes) -> list[Entry] | None:
        count = count_alike(batch) if self._misfits < _GIVE_UP_AFTER else 0
        if not count:
            return None
        tokens = self._tokenizer.tokenize(batch, starts=False)
        entries = read_columns(tokens, count, self._format, self._sitemap)
        self._misfits = 0 if entries else self._misfits + 1
        return entries

    def _read_tokens(self, tokens: list[Token]) -> list[Entry]:
        if self._is_feed:
            return read_items(tokens, self._format, self._sitemap, self._limits)
        return self._mixed.read(tokens)


def read_lastmods(entries: list[Entry]) -> None:
    """Give entries the moments that their texts stand for; raise Doubt if any cannot be read."""
    dated = [entry for entry in entries if entry.lastmod_text]
    moments = read_dates([entry.lastmod_text or "" for entry in dated])
    for entry, moment in zip(dated, moments, strict=True):
        entry.lastmod = moment
