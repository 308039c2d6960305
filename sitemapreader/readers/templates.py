"""Records that come out of a template: the same markup around ever other texts.

A parser has to look at the markup only once for all records that have the same, with fillers in
place of the texts: what it makes of that, it would make of each of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from sitemapreader.readers.layouts import Layout, Value, lay_out
from sitemapreader.readers.pieces import cut
from sitemapreader.readers.rows import Rows, find_usual, group
from sitemapreader.readers.tokens import Doubt, Tokenizer, known_only, sure

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.tokens import Token
    from sitemapreader.readers.xml.prolog import Prolog

_MAX_TEMPLATES, _MAX_WORDS, _MAX_CHARS = 200, 400, 8_000
"""Templates that are remembered of one document; what one is made of. 12 MB at the most."""
_MAX_NEW = 8
"""New templates that one batch may bring."""
_GIVE_UP_AFTER = 8
"""Batches in a row that do not come out of a template, before no more are tried."""

_FILLER = "gap"
_ODD_TAG = re.compile(rf"\A[!?]|{_FILLER}")
"""Comments and instructions, and what could be taken for a filler."""
_ODD_VALUED_TAG = re.compile(rf"{_ODD_TAG.pattern}|xmlns|'")
"""Where values are cut out: those that matter to names, and those in other quotes."""


@attrs.frozen(eq=False)
class _Template:
    """The markup of a record, and where the texts between are."""

    words: list[str]
    marks: bytes
    layout: Layout


class TemplateReader:
    """Finds the templates of one document, and reads the batches that come out of them."""

    def __init__(self, head: Prolog, limits: Limits, tokenizer: Tokenizer) -> None:
        self._head = head
        self._limits = limits
        self._tokenizer = tokenizer
        self._bound = -1
        self._templates: dict[tuple[bytes, tuple[str, ...]], _Template] = {}
        self._usual: _Template | None = None
        self._doubts = 0

    def read(self, batch: bytes) -> list[Rows] | None:
        """Return the records of a batch by their templates; `None` if one comes out of none."""
        if self._doubts >= _GIVE_UP_AFTER or len(batch) > self._limits.field_chars:
            return None
        if self._bound != len(self._head.namespaces):  # what a name stands for may be new
            self._bound = len(self._head.namespaces)
            self._templates.clear()
            self._usual = None
        try:
            rows = self._read(batch)
        except Doubt:
            self._doubts += 1
            return None
        self._doubts = 0
        return rows

    def _read(self, batch: bytes) -> list[Rows]:
        pieces, marks = cut(batch)
        words, usual = pieces[1::2], self._usual
        if usual:
            count = len(words) // len(usual.words)
            if marks == usual.marks * count and words == usual.words * count:
                return [Rows(pieces, range(0, len(pieces), len(usual.marks)), usual.layout)]
        groups = self._group(words, marks)
        self._usual = find_usual(groups)
        return [Rows(pieces, starts, template.layout) for template, starts in groups.items()]

    def _group(self, words: list[str], marks: bytes) -> dict[_Template, list[int]]:
        """Return at which pieces the records begin, by their templates."""
        known = len(self._templates)

        def fit(template: _Template, start: int) -> int:
            end = start + len(template.marks)
            is_same = (
                words[start // 2 : end // 2] == template.words
                and marks[start:end] == template.marks
            )
            return end if is_same else 0

        def find(start: int) -> tuple[_Template, int]:
            end = words.index(words[-1], start // 2) + 1
            template = self._find(words[start // 2 : end], marks[start : 2 * end])
            if len(self._templates) > known + _MAX_NEW:
                raise Doubt
            return template, 2 * end

        return group(len(marks), self._usual, fit, find)

    def _find(self, words: list[str], marks: bytes) -> _Template:
        key = (marks, tuple(words))
        template = self._templates.get(key)
        if template is None:
            size = sum(map(len, words))
            is_large = len(words) > _MAX_WORDS or size > _MAX_CHARS
            if is_large or len(self._templates) >= _MAX_TEMPLATES:
                raise Doubt
            template = self._templates[key] = _Template(words, marks, self._lay_out(words, marks))
        return template

    def _lay_out(self, words: list[str], marks: bytes) -> Layout:
        """Have a parser look at the markup of a record, and find its texts again."""
        odd = _ODD_VALUED_TAG if b'"' in marks else _ODD_TAG
        if any(map(odd.search, words)):
            raise Doubt
        record = "".join(
            f"{words[place // 2] if place % 2 else _filler(place)}{mark:c}"
            for place, mark in enumerate(marks)
        )
        tokens = self._tokenizer.tokenize(record.encode())
        layout = lay_out(list(map(type, tokens)), self._head.format, self._limits.record_depth)
        Rows(tokens, [0], layout).check_attributes(self._limits.attributes)
        return _find_again(layout, tokens, len(marks))


def _filler(place: int) -> str:
    return f"{_FILLER}{place}"


def _find_again(layout: Layout, tokens: list[Token], size: int) -> Layout:
    """Put the places of pieces in place of those of tokens, by the fillers that the tokens are."""
    places = {_filler(place): place for place in range(size)}

    def find(token: str) -> int:
        return sure(places.get(token))

    return Layout(
        [str] * size,
        fields={slot: find(tokens[place]) for slot, place in layout.fields.items()},
        attributes=[
            {name: find(value) for name, value in known_only(tokens[place]).items()}
            for place in layout.links
        ],
        values=[
            Value(
                value.part,
                {slot: find(tokens[place]) for slot, place in value.texts.items()},
                [find(tokens[place]) for place in value.tags],
            )
            for value in layout.values
        ],
    )
