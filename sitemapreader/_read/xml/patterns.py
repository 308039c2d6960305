"""The common records of a batch, read by one regular expression.

A batch is read as far as it consists of records. The texts of common records become columns, and
these columns of values. Odd records, and records with a value that needs an Issue, are left to the
tree. `PATTERNS` turns all of it off.

Many callers never use images, videos, news, alternates and extras. The pattern has proved that they
need no Issue; their values are read from the text of their elements when one of them is asked for.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import compress, count, repeat
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from xml.etree.ElementTree import Element

import attrs

from sitemapreader._read.entries import read_extensions
from sitemapreader._read.record import Record, RecordContext, run_through
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.vocabulary import (
    ATOM,
    OWN,
    PROTOCOL_FIELDS,
    RESOURCESYNC,
    Names,
    parse_changefreq,
    parse_priority,
)
from sitemapreader._read.xml.grammar import (
    BORDER,
    ELEMENT_RUN_KEYS,
    write_clean_pattern,
    write_record_pattern,
)
from sitemapreader._read.xml.markup import (
    are_sound,
    decode_many,
    has_open_section,
    is_well_formed,
    pass_nothing,
)
from sitemapreader._read.xml.tree import parse_element
from sitemapreader._types.dates import parse_column
from sitemapreader._types.models import (
    Format,
    SitemapEntry,
    UrlEntry,
    Via,
    leave_unread,
)
from sitemapreader._types.options import PATTERNS
from sitemapreader._types.rows import EntryColumns, Events
from sitemapreader._types.urls import PLAIN_URL, are_clean_urls

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sitemapreader._read.xml.prolog import Prolog
    from sitemapreader._read.xml.tree import TreeReader
    from sitemapreader._types.options import Limits

    Column: TypeAlias = Sequence[Any]
    Span: TypeAlias = tuple[int, int]
    """Where records begin and end."""
    Stretch: TypeAlias = tuple[Events, Span | None]
    """A stretch of a batch: entries (columns where none has extensions), and the place of the odd
    records behind them."""
    Texts: TypeAlias = Sequence[Sequence[str]]
    """The texts of records by columns."""

_FIELD_GROUPS = len(PROTOCOL_FIELDS)
"""Groups of the record pattern that are fields of the protocol."""
LONGEST_TRIED = 65_536
"""No pattern is tried on longer texts: on nested ones it takes 350 to 550 bytes a byte."""
_LEAST = {
    "attributes": 8,
    "record_depth": 32,
    "record_elements": 8_192,
    "field_chars": 65_536,
}
"""Limits below which the tree reads, which keeps them; a text has no more elements."""
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
        sitemap: str,
    ) -> tuple[list[Stretch], int]:
        """Read common records from a place on; return also where the last ends."""
        names = self._find_names()
        if names is None or len(text) > LONGEST_TRIED:
            return [], start
        pattern = names.pattern
        start = pass_nothing(text, start)
        found, rest = _find_columns(pattern, text[start:])
        size = len(found.odd)
        end = len(text) - len(rest)
        read = text[start:end]
        if not size:
            return [], start
        odd = set(compress(count(), found.odd))
        spans: list[Span] = []
        is_sound = are_sound(read)
        if odd or not is_sound:
            spans = _find_spans(pattern, text, start, end)
            if not is_sound:
                whole = (are_sound(text[slice(*span)]) for span in spans)
                odd.update(
                    place for place, is_whole in enumerate(whole) if not is_whole
                )
            if len(odd) == size:  # nothing is left for the columns
                return _cut_into_stretches([], spans, odd), end
            found = found.blank(odd)
        columns = Columns(read)
        entries = self._make_entries(names, columns, found, sitemap)
        if not (odd := odd | columns.odd):
            return [(entries, None)], end
        spans = spans or _find_spans(pattern, text, start, end)
        return _cut_into_stretches(entries, spans, odd), end

    def _find_names(self) -> NamesAndPattern | None:
        """Return the meanings of names here, if records can be read by a pattern."""
        prolog = self._prolog
        own_uris = self._prolog.names.own_uris
        known = prolog.namespaces, own_uris
        if known != self._known:
            self._known = known
            self._names = self._context = None
            self._changes += 1
            is_low = any(
                getattr(self._limits, name) < least for name, least in _LEAST.items()
            )
            is_read = PATTERNS and prolog.format.is_protocol and not is_low
            if is_read and self._changes <= _MOST_CHANGES:
                pairs = tuple(prolog.namespaces.items())
                self._names = _learn_names(prolog.format, prolog.root, pairs, own_uris)
        return self._names

    # -- entries

    def _make_entries(
        self,
        names: NamesAndPattern,
        columns: Columns,
        found: RecordTexts,
        sitemap: str,
    ) -> Events:
        loc, lastmod, changefreq, priority = found.fields
        locs = columns.texts(loc) or loc
        lastmods = columns.texts(lastmod)
        columns.check_locs(locs)
        moments = columns.moments(lastmods)
        written = (
            lastmods if all(lastmods) else [text or None for text in lastmods]
        ) or None
        sitemaps = [sitemap] * len(locs)
        runs = [*found.runs, found.extras]
        if self._prolog.format is Format.INDEX:
            columns.blame(map(any, zip(*runs, strict=True)))
            none = repeat(None)
            vias = repeat(Via.INDEX)
            return list(
                map(
                    SitemapEntry, locs, moments or none, vias, sitemaps, written or none
                )
            )
        changefreqs = columns.repeated(changefreq, parse_changefreq)
        priorities = columns.repeated(priority, parse_priority)
        plain = EntryColumns(
            locs, sitemaps, moments, changefreqs[0], priorities[0], written
        )
        plain.changefreq_text = changefreqs[1]
        plain.priority_text = priorities[1]
        if not any(map(any, runs)):
            return plain
        entries: list[Any] = list(plain)
        self._leave_unread(names, columns, entries, found)
        return entries

    def _leave_unread(
        self,
        names: NamesAndPattern,
        columns: Columns,
        entries: list[UrlEntry],
        found: RecordTexts,
    ) -> None:
        """Leave elements of extensions unread until their first use, if all are clean."""
        for (prefix, key), run in zip(names.keys.items(), found.runs, strict=True):
            columns.check_element_runs(
                run, partial(_are_clean, write_clean_pattern(key, prefix))
            )
        columns.check_element_runs(found.extras, self._are_extras)
        if self._context is None:
            self._context = RecordContext(
                ReadStats(),
                Names(self._prolog.names.own_uris, self._prolog.format),
                [],
                self._limits.field_chars,
            )
            self._context.record = Record(Element(""), lambda _: None)
        start_tag = self._tree.start_tag
        texts = list(map("".join, zip(*found.runs, found.extras, strict=True)))
        unread = map(
            UnreadExtensions,
            repeat(self._context),
            repeat(start_tag),
            filter(None, texts),
        )
        leave_unread(list(compress(entries, texts)), unread)

    def _are_extras(self, runs: list[str]) -> bool:
        """Return whether elements are well-formed and within limits, and bind no prefix."""
        text = f"<r>{'</r><r>'.join(runs)}</r>"
        return not (
            "xmlns" in text
            or has_open_section(text)
            or max(run.count("<") for run in runs) >= self._limits.record_depth
            or max(run.count("=") for run in runs) > self._limits.attributes
            or not is_well_formed(self._tree.wrap(text))
        )


@attrs.frozen
class NamesAndPattern:
    """Meanings of names where records stand, and the pattern of these records."""

    pattern: re.Pattern[str]
    prefix: str
    """Prefix of the names of the document's own vocabulary."""
    keys: Mapping[str, str]
    """The prefixes whose elements are read in runs, and the keys of their namespaces."""


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
    start = f"{own}:" if own else ""
    pattern = write_record_pattern(format_, start, tuple(runs), others)
    return NamesAndPattern(pattern, start, runs)


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


@attrs.frozen
class RecordTexts:
    """The texts that the pattern has found in a batch, a column for each of its groups.

    Attributes:
        fields: the fields of the protocol, in the order of `PROTOCOL_FIELDS`.
        runs: the elements of each known extension.
        extras: the elements of other namespaces.
        odd: the whole records that the tree reads; "" for common ones.
    """

    fields: Texts
    runs: Texts
    extras: Sequence[str]
    odd: Sequence[str]

    def blank(self, odd: set[int]) -> RecordTexts:
        """Return the same without the texts of the records at some places."""
        return RecordTexts(
            [_blank(column, odd) for column in self.fields],
            [_blank(column, odd) for column in self.runs],
            _blank(self.extras, odd),
            self.odd,
        )


class Columns:
    """The texts of a batch by columns; `odd` has the places of records that the tree reads."""

    def __init__(self, text: str) -> None:
        self.odd: set[int] = set()
        # Whether anything must be decoded; "[" for `<![CDATA[`, as one character is found faster
        self._is_marked = "&" in text or "[" in text

    def texts(self, column: Sequence[str]) -> list[str]:
        """Decode texts, and trim them; an empty list if there are none."""
        if not any(column):
            return []
        if self._is_marked:
            column = decode_many(column)
        return list(map(str.strip, column))

    def check_locs(self, locs: Sequence[str]) -> None:
        """Mark the records whose URLs need a closer look as odd."""
        is_whole = all(locs)
        if not is_whole:
            self.blame(not loc for loc in locs)
        if not are_clean_urls(locs if is_whole else list(filter(None, locs))):
            self.blame(
                not PLAIN_URL.fullmatch(loc) and not are_clean_urls([loc])
                for loc in locs
            )

    def check_element_runs(
        self, runs: Sequence[str], are_clean: Callable[[list[str]], bool]
    ) -> None:
        """Mark the records with a run of elements that needs an Issue as odd."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)

    def moments(self, texts: list[str]) -> Column | None:
        """Parse dates; mark unreadable ones as odd."""
        if not any(texts):
            return None
        values = parse_column(texts)
        if not all(values):
            self.blame(
                value is None and bool(text)
                for value, text in zip(values, texts, strict=True)
            )
        return values

    def repeated(
        self, column: Sequence[str], parse: Callable[[str], Any]
    ) -> tuple[Column | None, Column | None]:
        """Decode and parse a column of few different texts, each once; return values and texts.

        Unreadable ones are marked as odd. The same text is one object, so that it takes no memory.
        """
        written = list(filter(None, set(column)))
        if not written:
            return None, None
        texts = dict(zip(written, self.texts(written), strict=True))
        values = {raw: parse(text) for raw, text in texts.items() if text}
        if not values:
            return None, None
        if None in values.values():
            self.blame(raw in values and values[raw] is None for raw in column)
        shared = {raw: texts[raw] for raw in values}
        return list(map(values.get, column)), list(map(shared.get, column))

    def blame(self, marks: Iterable[bool]) -> None:
        """Mark places as odd."""
        self.odd.update(compress(count(), marks))


def _are_clean(pattern: re.Pattern[str], runs: list[str]) -> bool:
    text = BORDER.join(runs)
    if has_open_section(text):  # each would be searched to the same end
        return False
    return pattern.sub("", text) == BORDER * (len(runs) - 1)


def _find_columns(pattern: re.Pattern[str], text: str) -> tuple[RecordTexts, str]:
    """Find the records of a text; return their texts by columns, and the rest."""
    # One flat list makes no work for the garbage collector; a tuple for each record does
    flat = pattern.split(text)
    size = pattern.groups + 1
    rest = (len(flat) > 1 and flat[-2]) or ""
    if rest:
        del flat[-size:]
    columns = (flat[group::size] for group in range(1, pattern.groups - 1))
    *common, extras, odd = map(_fill_gaps, columns)
    fields = common[:_FIELD_GROUPS]
    return RecordTexts(fields, common[_FIELD_GROUPS:], extras, odd), rest


def _fill_gaps(column: list[str | None]) -> list[str]:
    """Write "" where a group did not match."""
    gaps = column.count(None)
    if gaps == len(column):
        return [""] * gaps
    if gaps:
        return [text or "" for text in column]
    return cast("list[str]", column)


def _blank(column: Sequence[str], odd: set[int]) -> list[str]:
    """Remove the texts of odd records, which may be no XML."""
    texts = list(column)
    for place in odd:
        texts[place] = ""
    return texts


def _find_spans(
    pattern: re.Pattern[str],
    text: str,
    start: int,
    end: int,
) -> list[Span]:
    """Return where records begin and end, with broken comments behind them."""
    spans = []
    for match in pattern.finditer(text, start, end):
        record_end = match.end(pattern.groups - 1)
        has_comment = text.find("<", record_end, match.end()) >= 0
        is_sound = not has_comment or pass_nothing(text, record_end) >= match.end()
        spans.append((match.start(), record_end if is_sound else match.end()))
    return spans


def _cut_into_stretches(
    entries: Events,
    spans: list[Span],
    odd: set[int],
) -> list[Stretch]:
    """Cut a batch into stretches, each up to the end of its odd records."""
    given = list(entries)
    stretches: list[Stretch] = []
    start = 0
    for first in sorted(odd):
        if first >= start:
            end = first
            while end in odd:
                end += 1
            stretches.append((given[start:first], (spans[first][0], spans[end - 1][1])))
            start = end
    if start < len(given):
        stretches.append((given[start:], None))
    return stretches
