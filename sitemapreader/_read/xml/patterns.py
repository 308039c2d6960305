"""The common records of a batch, read by one regular expression.

A batch is read as far as it consists of records. The texts of common records become columns, and
these become entries. Odd records are left to the tree. `PATTERNS` turns all of it off.

Many callers never use images, videos, news, alternates and extras. The pattern has proved that they
need no Issue; their values are read from the text of their elements when one of them is asked for.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import Element

import attrs

from sitemapreader._read.entries import read_extensions
from sitemapreader._read.record import Record, RecordContext, run_through
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.vocabulary import (
    ATOM,
    OWN,
    PROTOCOL_FIELDS,
    RECORD_OF,
    RESOURCESYNC,
    Names,
)
from sitemapreader._read.xml.grammar import (
    BORDER,
    ELEMENT_RUN_KEYS,
    write_clean_pattern,
    write_record_pattern,
)
from sitemapreader._read.xml.markup import (
    count_sound_lines,
    is_well_formed,
    pass_nothing,
)
from sitemapreader._read.xml.plain import take_plain_records, write_plain_pattern
from sitemapreader._read.xml.record_texts import RecordTexts, Segment, are_low
from sitemapreader._read.xml.tree import parse_element
from sitemapreader._types.models import Format, leave_unread
from sitemapreader._types.options import PATTERNS
from sitemapreader._types.urls import find_base

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping

    from sitemapreader._read.xml.prolog import Prolog
    from sitemapreader._read.xml.tree import TreeReader
    from sitemapreader._types.options import Limits

    Span: TypeAlias = tuple[int, int]
    """Where records begin and end."""

LONGEST_TRIED = 65_536
"""No pattern is tried on longer texts: on nested ones it takes 350 to 550 bytes a byte."""
_MAX_PREFIX_CHARS = 64
_MAX_PREFIXES_CHARS = 500
"""Limits for one prefix, and for all: each stands in a pattern up to 15 times."""
_MOST_CHANGES = 8
"""Limit for changes of the names' meanings in one document; each takes new patterns, in 15 ms."""


@attrs.define
class PatternReader:
    """Reader of the common records of a urlset or an index.

    The tree tells whether extras are well-formed, and reads all where limits are low.
    """

    _prolog: Prolog
    _tree: TreeReader
    _limits: Limits
    _known: object = None
    """The namespaces and own vocabularies for which `_names` are."""
    _names: NamesAndPattern | None = None
    _changes: int = 0
    _context: RecordContext | None = None
    """Context for values that are left unread; it gets no Issues."""

    def read(
        self,
        text: str,
        start: int,
        stats: ReadStats,
        find_line: Callable[[int], int],
        *,
        is_sound: bool = False,
    ) -> tuple[Iterator[Segment[Span]], int]:
        """Read common records from a place on; return also where the last ends.

        `find_line` returns the line of a place. `is_sound`, if all characters are known to be
        XML's. Nothing is counted before the first segment is taken.
        """
        names = self._find_names()
        if names is None or len(text) > LONGEST_TRIED:
            return iter(()), start
        start = pass_nothing(text, start)
        if not names.may_be_plain(text, start):
            return self._read_common(
                names, text, start, stats, find_line, is_sound=is_sound
            )
        plain, rest = take_plain_records(
            names.plain_pattern, names.format, stats.sitemap, text[start:]
        )
        end = len(text) - len(rest)
        segment = Segment(plain, len(plain), None)
        if names.record_end not in rest:  # the beginning of a record, or the root's end
            return iter((segment,)), end
        end = pass_nothing(text, end)
        others, end = self._read_common(
            names, text, end, stats, find_line, is_sound=is_sound
        )
        return chain((segment,), others), end

    def _read_common(
        self,
        names: NamesAndPattern,
        text: str,
        start: int,
        stats: ReadStats,
        find_line: Callable[[int], int],
        *,
        is_sound: bool,
    ) -> tuple[Iterator[Segment[Span]], int]:
        """Read records that are not plain."""
        record_texts, rest = _find_texts(stats, names, text[start:])
        if not record_texts.size:
            return iter(()), start
        for base in self._prolog.bases:
            record_texts.base = find_base(record_texts.base, base)
        end = len(text) - len(rest)
        read = text[start:end]
        spans: list[Span] = []
        if not (is_sound or _is_sound(read)):
            spans = _find_spans(names.pattern, text, start, end)
            record_texts.blame(not _is_sound(text[slice(*span)]) for span in spans)
        record_texts.blank_odd()
        if "&" in read or "[" in read or "]" in read:  # a reference or a section
            record_texts.decode()
        entries = record_texts.make_entries(self._prolog.format)
        if record_texts.runs or record_texts.extras:
            entries = self._leave_unread(names, list(entries), record_texts)
        if (record_texts.odd or record_texts.relative) and not spans:
            spans = _find_spans(names.pattern, text, start, end)

        segments = record_texts.cut(
            entries,
            lambda places: (spans[places.start][0], spans[places.stop - 1][1]),
            lambda place: find_line(spans[place][0]),
        )
        return segments, end

    def _find_names(self) -> NamesAndPattern | None:
        """Return the meanings of names here, if records can be read by a pattern."""
        prolog = self._prolog
        own_uris = prolog.names.own_uris
        known = (prolog.namespaces, own_uris)
        if known != self._known:
            self._known = known
            self._names = self._context = None
            self._changes += 1
            is_protocol = prolog.format.is_protocol
            is_read = PATTERNS and is_protocol and not are_low(self._limits)
            if is_read and self._changes <= _MOST_CHANGES:
                pairs = tuple(prolog.namespaces.items())
                self._names = _learn_names(prolog.format, prolog.root, pairs, own_uris)
        return self._names

    # -- entries

    def _leave_unread(
        self,
        names: NamesAndPattern,
        entries: list[Any],
        record_texts: RecordTexts,
    ) -> list[Any]:
        """Leave elements of extensions unread until their first use, if all are clean."""
        runs = [*record_texts.runs.values(), record_texts.extras]
        texts = list(map("".join, zip(*filter(None, runs), strict=True)))
        if self._prolog.format is Format.INDEX:
            record_texts.blame(texts)
            return entries
        for prefix, run in record_texts.runs.items():
            pattern = write_clean_pattern(names.keys[prefix], prefix)
            record_texts.check_element_runs(run, partial(_are_clean, pattern))
        record_texts.check_element_runs(record_texts.extras, self._are_extras)
        if self._context is None:
            self._context = RecordContext(
                ReadStats(),
                Names(self._prolog.names.own_uris, self._prolog.format),
                [],
                self._limits.field_chars,
            )
            self._context.record = Record(Element(""), lambda _: None)
        start_tag = self._tree.start_tag
        unread = map(
            UnreadExtensions,
            repeat(self._context),
            repeat(start_tag),
            filter(None, texts),
        )
        leave_unread(list(compress(entries, texts)), unread)
        return entries

    def _are_extras(self, runs: list[str]) -> bool:
        """Return whether elements are well-formed and within limits, and bind no prefix."""
        text = f"<r>{'</r><r>'.join(runs)}</r>"
        return not (
            "xmlns" in text
            or max(run.count("<") for run in runs) >= self._limits.record_depth
            or max(run.count("=") for run in runs) > self._limits.attributes
            or not is_well_formed(self._tree.wrap(text))
        )


@attrs.frozen
class NamesAndPattern:
    """Meanings of names where records stand, and the patterns of these records."""

    format: Format
    prefix: str
    """The prefix of the protocol's names, with its colon, or none."""
    keys: Mapping[str, str]
    """The prefixes whose elements are read in runs, and the keys of their namespaces."""
    others: tuple[str, ...]
    """The prefixes of other namespaces, whose elements become extras."""

    @cached_property
    def plain_pattern(self) -> re.Pattern[str]:
        """The pattern of plain records."""
        return write_plain_pattern(self.format, self.prefix)

    @cached_property
    def _marks(self) -> tuple[str, ...]:
        """Parts of texts whose records are not all plain."""
        prefixes = (*self.keys, *self.others)
        return ("&", "[", "]", *(f"<{prefix}:" for prefix in prefixes))

    def may_be_plain(self, text: str, start: int) -> bool:
        """Return whether a text begins with a plain record, and may have only such records."""
        if any(map(text.__contains__, self._marks)):
            return False
        first = self.plain_pattern.match(text, start)
        return first is not None and first["rest"] is None

    @cached_property
    def record_end(self) -> str:
        """The beginning of a record's end tag."""
        return f"</{self.prefix}{RECORD_OF[self.format]}"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of common records; most documents are read without it."""
        return write_record_pattern(
            self.format, self.prefix, tuple(self.keys), self.others
        )

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The parts of a split text, by groups: from the first field to the odd records."""
        width = self.pattern.groups + 1
        groups = range(1, self.pattern.groupindex["end"])
        return tuple(slice(group, None, width) for group in groups)


@lru_cache(maxsize=64)
def _learn_names(
    format_: Format,
    root: str,
    namespaces: tuple[tuple[str, str], ...],
    own_uris: frozenset[str],
) -> NamesAndPattern | None:
    """Learn the prefixes of the document's own vocabulary and of the extensions."""
    names = Names(own_uris, format_)
    keys = {
        prefix: names.find_key(uri)
        for prefix, uri in namespaces
        # SECURITY: patterns have the prefix in them many times, and are kept in a cache
        if (len(prefix) <= _MAX_PREFIX_CHARS and prefix.replace("-", "").isalnum())
        or not prefix
    }
    own = root.rpartition(":")[0]
    is_known = own in keys or not own
    if (
        keys.get(own, OWN) != OWN
        or not is_known
        or sum(map(len, keys)) > _MAX_PREFIXES_CHARS
    ):
        return None
    prefixes = {key: prefix for prefix, key in reversed(keys.items()) if prefix}
    runs = {prefixes[key]: key for key in ELEMENT_RUN_KEYS if key in prefixes}
    known = {*ELEMENT_RUN_KEYS, ATOM, OWN, RESOURCESYNC}
    others = tuple(each for each, key in keys.items() if each and key not in known)
    return NamesAndPattern(format_, f"{own}:" if own else "", runs, others)


@attrs.define(weakref_slot=False)
class UnreadExtensions:
    """The extensions of a record, as written, whose values are not made yet."""

    context: RecordContext
    start_tag: str
    text: str

    def read(self) -> dict[str, Any]:
        """Return the value of each attribute of the entry that depends on them."""
        names = self.context.names
        elements = [
            (names[element.tag], element)
            for element in parse_element(self.start_tag, self.text)
        ]
        return run_through(read_extensions(self.context, elements, ""))


def _are_clean(pattern: re.Pattern[str], runs: list[str]) -> bool:
    return pattern.sub("", BORDER.join(runs)) == BORDER * (len(runs) - 1)


def _find_texts(
    stats: ReadStats,
    names: NamesAndPattern,
    text: str,
) -> tuple[RecordTexts, str]:
    """Find the records of a text; return their texts by columns, and the rest."""
    # `split` gives one flat list: an empty text, then for each match its groups and an empty text.
    # So the texts of one group are `width` places apart. Two records, the second with a lastmod and
    # an image, and the rest behind them (see `write_record_pattern` for the groups):
    #
    #      loc          lastmod       changefreq priority image            odd   end   rest
    # ["", "https://a", None,         None,      None,    None,            None, "",   None,
    #  "", "https://b", "2026-01-01", None,      None,    "<image:image>", None, "",   None,
    #  "", None,        None,         None,      None,    None,            None, None, "</urlset>",
    #  ""]
    #
    # It makes no work for the garbage collector; a tuple for each record does.
    flat = names.pattern.split(text)
    width = names.pattern.groups + 1
    rest = flat[-2] if len(flat) > 1 else ""
    if rest:
        del flat[-width:]
    *columns, odd = map(_fill_gaps, map(flat.__getitem__, names.columns))
    extras = columns.pop() if names.others else []
    fields = columns[: len(PROTOCOL_FIELDS)]
    runs = columns[len(PROTOCOL_FIELDS) :]
    record_texts = RecordTexts(stats, len(flat) // width, fields, extras=extras)
    record_texts.base = stats.sitemap
    if odd:
        record_texts.blame(odd)
    if any(runs):
        record_texts.runs = dict(compress(zip(names.keys, runs, strict=True), runs))
    return record_texts, rest or ""


def _is_sound(text: str) -> bool:
    return count_sound_lines(text) is not None


def _fill_gaps(column: list[Any]) -> list[str]:
    """Write "" where a group did not match; return no column if it has no text."""
    if all(column):
        return column
    return [text or "" for text in column] if any(column) else []


def _find_spans(
    pattern: re.Pattern[str],
    text: str,
    start: int,
    end: int,
) -> list[Span]:
    """Return where records begin and end, with broken comments behind them."""
    spans = []
    for match in pattern.finditer(text, start, end):
        record_end = match.end("end")
        span_end = match.end()
        has_comment = text.find("<", record_end, span_end) >= 0
        if not has_comment or pass_nothing(text, record_end) >= span_end:
            span_end = record_end
        spans.append((match.start(), span_end))
    return spans
