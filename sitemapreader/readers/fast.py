"""Fast reading: plain records by the thousand, without a Python call for each tag.

A batch is read here only if it can be shown to be plain; of any other, `read` makes `None`, and the
exact reader has its turn. No Issue is made here: a record that would have one is not plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import Format
from sitemapreader.readers.columns import read_rows
from sitemapreader.readers.layouts import Layout, lay_out
from sitemapreader.readers.locs import are_plain
from sitemapreader.readers.rows import Rows
from sitemapreader.readers.templates import TemplateReader
from sitemapreader.readers.tokens import CAN_TOKENIZE, Doubt, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.options import Limits
    from sitemapreader.readers.head import Head
    from sitemapreader.readers.layouts import Kinds
    from sitemapreader.readers.tokens import Entry, Token

_MAX_DEPTH = 4
"""Plain records are nested no deeper; whoever allows less wants each to be looked at."""
_GIVE_UP_AFTER = 8
"""Batches in doubt before a document is left to the exact reader, if none was plain meanwhile."""
_MAX_LAYOUTS, _MAX_KINDS = 200, 400
"""Layouts that are remembered of one document, and tokens of one."""


class FastReader:
    """Reads the plain batches of one document."""

    def __init__(self, head: Head, sitemap: str, limits: Limits) -> None:
        self._head = head
        self._format = head.format
        self._is_feed = head.format in (Format.RSS, Format.ATOM)
        self._sitemap = sitemap
        self._limits = limits
        self._tokenizer = Tokenizer(head, limits)
        self._layouts: dict[tuple[type, ...], Layout] = {}
        self._last = Layout([type(None)])
        """That of the record read last."""
        self._templates = TemplateReader(head, limits, self._tokenizer)
        can_read = CAN_TOKENIZE and limits.record_depth > _MAX_DEPTH
        self._doubts = 0 if can_read else _GIVE_UP_AFTER

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
        found = self._templates.read(batch) or self._parse(batch)
        if len(found) == 1:
            return read_rows(found[0], self._format, self._sitemap)
        for rows in found:
            made = read_rows(rows, self._format, self._sitemap)
            entries.update(zip(rows.starts, made, strict=True))
        return [entries[start] for start in sorted(entries)]

    def _parse(self, batch: bytes) -> list[Rows]:
        tokens = self._tokenizer.tokenize(batch)
        found = [Rows(tokens, starts, layout) for layout, starts in self._group(tokens).items()]
        for rows in found:
            rows.check_attributes(self._limits.attributes)
        return found

    def _group(self, tokens: list[Token]) -> dict[Layout, Sequence[int]]:
        """Return where the records begin, by their layouts; the first token is none of them."""
        kinds = list(map(type, tokens))
        width = len(self._last.kinds)
        if kinds[1:] == self._last.kinds * (len(kinds) // width):
            return {self._last: range(1, len(kinds), width)}
        groups: dict[Layout, list[int]] = {}
        start, last = 1, self._last
        while start < len(kinds):
            end = start + len(last.kinds)
            if kinds[start:end] != last.kinds:  # most are as the one before
                end = self._find_end(kinds, start)
                last = self._lay_out(kinds[start:end])
            groups.setdefault(last, []).append(start)
            start = end
        self._last = last
        return {**groups}

    def _find_end(self, kinds: Kinds, start: int) -> int:
        try:
            return kinds.index(self._tokenizer.lexicon.record, start) + 1
        except ValueError:
            raise Doubt from None

    def _lay_out(self, kinds: Kinds) -> Layout:
        key = tuple(kinds)
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            layout = lay_out(kinds, is_feed=self._is_feed, max_depth=self._limits.record_depth)
            if len(kinds) <= _MAX_KINDS:
                self._layouts[key] = layout
        return layout
