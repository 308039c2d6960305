"""Records whose batch a parser has seen whole: any markup, around any texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.readers.layouts import Layout, lay_out
from sitemapreader.readers.rows import Rows, find_usual, group
from sitemapreader.readers.tokens import Doubt, Tokenizer

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.layouts import Kinds
    from sitemapreader.readers.xml.prolog import Prolog

_MAX_LAYOUTS, _MAX_KINDS = 200, 400
"""Layouts that are remembered of one document, and tokens of one."""


class ParsedReader:
    """Has the batches of one document parsed, and finds the layouts of its records."""

    def __init__(self, head: Prolog, limits: Limits, tokenizer: Tokenizer) -> None:
        self._format = head.format
        self._limits = limits
        self._tokenizer = tokenizer
        self._layouts: dict[tuple[type, ...], Layout] = {}
        self._usual: Layout | None = None

    def read(self, batch: bytes) -> list[Rows]:
        """Return the records of a batch by their layouts; raise Doubt if it is not plain."""
        tokens = self._tokenizer.tokenize(batch)
        groups = self._group(list(map(type, tokens)))
        found = [Rows(tokens, starts, layout) for layout, starts in groups.items()]
        for rows in found:
            rows.check_attributes(self._limits.attributes)
        return found

    def _group(self, kinds: Kinds) -> dict[Layout, range] | dict[Layout, list[int]]:
        """Return where the records begin, by their layouts."""
        usual = self._usual
        if usual and kinds == usual.kinds * (len(kinds) // len(usual.kinds)):
            return {usual: range(0, len(kinds), len(usual.kinds))}

        def fit(layout: Layout, start: int) -> int:
            end = start + len(layout.kinds)
            return end if kinds[start:end] == layout.kinds else 0

        def find(start: int) -> tuple[Layout, int]:
            try:
                end = kinds.index(self._tokenizer.lexicon.record, start) + 1
            except ValueError:
                raise Doubt from None
            return self._lay_out(kinds[start:end]), end

        groups = group(len(kinds), usual, fit, find)
        self._usual = find_usual(groups)
        return groups

    def _lay_out(self, kinds: Kinds) -> Layout:
        key = tuple(kinds)
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            layout = lay_out(kinds, self._format, self._limits.record_depth)
            if len(kinds) <= _MAX_KINDS:
                self._layouts[key] = layout
        return layout
