"""PatternReader: reads all common records of a batch by one regular expression.

A batch is read as far as it consists of records. The texts of common records become columns, and
these columns of values. Odd records, and records with a value that needs an Issue, are left to the
tree.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import compress, count, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from sitemapreader.dates import parse_lastmod
from sitemapreader.models import (
    Event,
    Format,
    SitemapEntry,
    UrlEntry,
    Via,
    leave_media_unread,
    leave_unread,
)
from sitemapreader.readers.records.vocabulary import (
    ATOM,
    HISTORY,
    MEDIA,
    OWN,
    PROTOCOL_FIELDS,
    RECORD_OF,
    RESOURCESYNC,
    XHTML,
    Names,
    parse_changefreq,
    parse_priority,
)
from sitemapreader.readers.xml.boundaries import find_unsound, pass_nothing
from sitemapreader.readers.xml.characters import SECTION, are_sound
from sitemapreader.readers.xml.patterns.grammar import (
    BORDER,
    FEED_DATE_NAMES,
    FEED_RECORDS,
    LONGEST_ATTRIBUTE,
    MOST_ATTRIBUTES,
    RUNS,
    learn_shape,
    name_fields,
    write_clean_media_pattern,
    write_clean_pattern,
    write_head_pattern,
    write_item_pattern,
    write_record_pattern,
    write_uniform_pattern,
)
from sitemapreader.readers.xml.patterns.values import (
    Columns,
    UnreadMedia,
    UnreadParts,
    Vocabulary,
    are_clean_media,
    make_posts,
)
from sitemapreader.rows import EntryColumns, Events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.options import Limits
    from sitemapreader.readers.xml.boundaries import Span
    from sitemapreader.readers.xml.prolog import Prolog
    from sitemapreader.readers.xml.tree import TreeReader

    Part: TypeAlias = tuple[Events, list[Span]]
    """Entries, by columns where none has extensions, and the spans of the odd records behind."""
    Texts: TypeAlias = list[Sequence[str]]
    """The texts of records by columns."""


_FIELDS = len(PROTOCOL_FIELDS)
"""Groups of the record pattern that are fields of the protocol."""
_RECORDS = RECORD_OF | FEED_RECORDS
_FEW_RECORDS = 30
_DEEPEST = 32
"""Of what the patterns take: elements in one another."""
_NAME = re.compile(rf"{SECTION}|<([^\s<>/:]++):([^\s<>/]++)")
"""A section, which holds no names, or the name of an element."""
_PAGE_LINK = re.compile(r"""rel\s*+=\s*+["'][^"'<]*?(?:next|archive|&)""")
_MAX_PREFIX_CHARS, _MAX_PREFIXES_CHARS = 64, 500
"""Of one prefix, and of all: each stands in a pattern up to 15 times."""
_MOST_CHANGES = 8
"""Of what names mean in one document, each of which takes new patterns, in 15 ms."""
_SHORTEST_ELEMENT = len("<a/>")


class PatternReader:
    """Reader of the common records of one document.

    The tree tells whether extras are well-formed. Where limits are lower than what a pattern
    takes, none is used.
    """

    def __init__(self, prolog: Prolog, names: Names, tree: TreeReader, limits: Limits) -> None:
        self._prolog = prolog
        self._tree = tree
        self._names = names
        self._limits = limits
        self._is_feed = prolog.format.is_feed
        self._record = _RECORDS[prolog.format]
        self._can_read = (
            limits.attributes >= MOST_ATTRIBUTES
            and limits.record_depth >= _DEEPEST
            and limits.field_chars >= LONGEST_ATTRIBUTE
        )
        self._learnt: object = None
        self._changes = 0
        self._start = ""
        """How a link of Atom begins."""
        self.end_tag = "</"
        """How the end tag of a record begins."""
        self._fields: tuple[str, ...] = ()
        self._is_long, self._is_uniform = False, True
        """Whether a batch had many records, and whether these were alike."""
        self._uniform: tuple[re.Pattern[str], tuple[int, ...]] | None = None
        """The pattern of records that are alike, and the columns of its groups."""
        self._pattern: re.Pattern[str] | None = None
        self._media: tuple[str, ...] = ()
        """The prefixes of Media RSS."""
        self._says_more = False
        """Whether an element may say something of the feed as a whole."""
        self._head: re.Pattern[str] | None = None
        """The pattern of what stands before the first record of a feed."""

    def read(self, text: str, start: int, sitemap: str) -> tuple[list[Part], int]:
        """Read common records from a place on; return also where the last ends."""
        pattern = self._find_pattern()
        if pattern is None:
            return [], start
        start = pass_nothing(text, start)
        found, rest = self._find_columns(pattern, text, start)
        size = len(found[0])
        end = len(text) - len(rest)
        read = text[start:end]
        most = self._limits.record_elements
        if not size or (len(read) > most * _SHORTEST_ELEMENT and read.count("<") > most):
            return [], start
        odd = set(compress(count(), found[-1]))
        if end - start > (longest := self._limits.field_chars):
            for column in found[:-1]:
                odd.update(place for place, one in enumerate(column) if len(one) > longest)
        spans: list[Span] = []
        is_sound = are_sound(read)
        if odd or not is_sound:
            spans = _find_spans(pattern, text, start, end)
            if not is_sound:
                unsound, size, end = find_unsound(text, spans, end)
                read, spans, found = text[start:end], spans[:size], [one[:size] for one in found]
                odd = {place for place in odd if place < size} | unsound
            found = [_blank(column, odd) for column in found]
        columns = Columns(read)
        entries = self._make_entries(columns, found, sitemap)
        if not (odd := odd | columns.odd):
            return [(entries, [])], end
        spans = spans or _find_spans(pattern, text, start, end)
        return _part(entries, spans, odd), end

    def find_head(self, text: str, start: int) -> tuple[int, str | None]:
        """Return where the first record of a feed begins, and the channel around it.

        That is `start` if there is more before it than well-formed elements, or one of them may
        say that the feed is complete, or link to its next page.
        """
        if self._find_pattern() and self._head and not self._says_more:
            head = self._head.match(text, start)
            if head and are_sound(head[0]) and not _PAGE_LINK.search(head[0].lower()):
                return head.end(), head[1]
        return start, None

    def _find_columns(self, pattern: re.Pattern[str], text: str, start: int) -> tuple[Texts, str]:
        """Find the records from a place on; return a column a group, and the rest."""
        alike: Texts = []
        if known := self._learn_uniform(pattern, text, start):
            uniform, places = known
            found, rest = _find_alike(uniform, text, start)
            size = len(found[0])
            alike = [[""] * size] * (pattern.groups - 2)
            for place, column in zip(places, found, strict=True):
                alike[place] = column
            if self.end_tag not in rest:
                return alike, rest
            if size < _FEW_RECORDS:
                self._is_uniform, self._uniform = False, None
            start = pass_nothing(text, len(text) - len(rest))
        found, rest = _find_records(pattern, text, start)
        self._is_long = self._is_long or len(found[0]) > _FEW_RECORDS
        return [[*a, *b] for a, b in zip(alike, found, strict=True)] if alike else found, rest

    def _learn_uniform(
        self, pattern: re.Pattern[str], text: str, start: int
    ) -> tuple[re.Pattern[str], tuple[int, ...]] | None:
        """Return the pattern of records like the first one, and the columns of its groups."""
        # To make one pays in a long document; to compile a feed's, where most records are alike
        if self._uniform or not self._is_long or (self._is_feed and not self._is_uniform):
            return self._uniform
        first = pattern.match(text, start)
        others = pattern.groups - 4 if self._is_feed else _FIELDS
        is_record = first and first.lastindex == pattern.groups - 1
        if first and is_record and max(at for at, _ in first.regs[1 + others : -2]) < 0:
            link = self._fields[0] if self._prolog.format is Format.ATOM else ""
            self._uniform = write_uniform_pattern(learn_shape(first[0]), self._fields, link)
        return self._uniform

    def _find_pattern(self) -> re.Pattern[str] | None:
        """Return the pattern for the names that records have here, if there is one."""
        prolog = self._prolog
        if not (self._can_read and self._record in prolog.records):
            return None
        learnt = prolog.namespaces, self._names.own_count
        if learnt != self._learnt:
            self._learnt = learnt
            self._uniform = self._pattern = None
            self._changes += 1
            if self._changes <= _MOST_CHANGES:
                self._learn()
        return self._pattern

    def _learn(self) -> None:
        """Learn the prefixes of the document's own vocabulary and of the extensions."""
        keys = {
            prefix: self._names.find_key(uri)
            for prefix, uri in self._prolog.namespaces.items()
            # SECURITY: patterns have the prefix in them many times, and are kept in a cache
            if (len(prefix) <= _MAX_PREFIX_CHARS and prefix.replace("-", "").isalnum())
            or not prefix
        }
        own, _, root = self._prolog.root.rpartition(":")
        if root.lower() == "rdf":  # RSS 1.0, whose root alone is RDF's
            own = ""
        is_known = own in keys or not own
        if keys.get(own, OWN) != OWN or not is_known or sum(map(len, keys)) > _MAX_PREFIXES_CHARS:
            return
        prefixes = {key: prefix for prefix, key in reversed(keys.items()) if prefix}
        runs = {prefixes[key]: key for key in RUNS if key in prefixes}
        self._vocabulary = Vocabulary(runs, self._tree.start_tag)
        start = f"{own}:" if own else ""
        self._start = f"<{start}link"
        self.end_tag = f"</{start}{self._record}"
        if self._is_feed:
            self._says_more = HISTORY in keys.values()
            named = {MEDIA, OWN, *(key for key, _ in FEED_DATE_NAMES[self._prolog.format])}
            # SECURITY: the key of an unknown namespace is its URI, and the pattern is cached by it
            bound = tuple(
                (each, key if key in named else "?")
                for each, key in keys.items()
                if each and each != own
            )
            self._media = tuple(each for each, key in bound if key == MEDIA)
            self._fields = tuple(name_fields(self._prolog.format, start, bound))
            self._pattern = write_item_pattern(self._prolog.format, start, bound)
            self._head = write_head_pattern(self._prolog.format, start, bound)
            return
        self._fields = tuple(start + tag for tag in PROTOCOL_FIELDS)
        known = {*RUNS, ATOM, OWN, RESOURCESYNC}
        others = tuple(each for each, key in keys.items() if each and key not in known)
        self._pattern = write_record_pattern(self._prolog.format, start, tuple(runs), others)

    # -- entries

    def _make_entries(self, columns: Columns, found: Texts, sitemap: str) -> Events:
        if self._is_feed:
            return self._make_posts(columns, found, sitemap)
        locs, lastmods = columns.texts(found[0]) or found[0], columns.texts(found[1])
        columns.check_locs(locs)
        moments = columns.values(lastmods, parse_lastmod)
        written = columns.or_none(lastmods)
        sitemaps = [sitemap] * len(locs)
        runs = found[_FIELDS:-1]
        if self._prolog.format is Format.INDEX:
            columns.blame(map(any, zip(*runs, strict=True)))
            none, vias = repeat(None), repeat(Via.INDEX)
            return list(map(SitemapEntry, locs, moments or none, vias, sitemaps, written or none))
        changefreqs = columns.values(columns.texts(found[2]), parse_changefreq)
        priorities = columns.values(columns.texts(found[3]), parse_priority)
        plain = EntryColumns(locs, sitemaps, moments, changefreqs, priorities, written)
        if not any(map(any, runs)):
            return plain
        entries: list[Any] = list(plain)
        self._leave_unread(columns, entries, runs)
        return entries

    def _leave_unread(self, columns: Columns, entries: list[UrlEntry], runs: Texts) -> None:
        """Leave elements of extensions unread until asked for, if all are clean."""
        *known, others = runs
        for (prefix, key), run in zip(self._vocabulary.keys.items(), known, strict=True):
            columns.check_runs(run, partial(_are_clean, write_clean_pattern(key, prefix)))
        columns.check_runs(others, self._are_extras)
        blank = [""] * len(others)
        links = known.pop() if XHTML in self._vocabulary.keys.values() else blank
        texts = list(map("".join, zip(*known, strict=True))) or blank
        marks = list(map(any, zip(texts, links, others, strict=True)))
        parts = (compress(column, marks) for column in (texts, links, others))
        leave_unread(compress(entries, marks), map(UnreadParts, repeat(self._vocabulary), *parts))

    def _are_extras(self, runs: list[str]) -> bool:
        if not self._are_within_limits(runs):
            return False
        namespaces = self._prolog.namespaces
        found = set(_NAME.findall("".join(runs))) - {("", "")}
        names = {f"{{{namespaces[prefix]}}}{local}" for prefix, local in found}
        return self._names.count_extras(names)

    def _are_within_limits(self, runs: list[str]) -> bool:
        """Return whether elements are well-formed and within limits, and bind no prefix."""
        text = f"<r>{'</r><r>'.join(runs)}</r>"
        return not (
            "xmlns" in text
            or max(run.count("<") for run in runs) >= self._limits.record_depth
            or not self._tree.is_well_formed(text)
            or self._tree.has_many_attributes(text)
        )

    def _make_posts(self, columns: Columns, found: Texts, sitemap: str) -> Events:
        """Make the entries of a feed's records, and leave their media unread."""
        posts = make_posts(columns, found, sitemap, self._prolog.format, self._start)
        media = found[-2]
        if not any(media):
            return posts
        columns.check_runs(media, self._are_media)
        entries: list[Any] = list(posts)
        unread = map(
            UnreadMedia, repeat(self._names), repeat(self._tree.start_tag), filter(None, media)
        )
        leave_media_unread(compress(entries, media), unread)
        return entries

    def _are_media(self, runs: list[str]) -> bool:
        """Return whether elements of media can be read later, without an Issue."""
        is_simple = _are_clean(write_clean_media_pattern(self._media), runs)
        return is_simple or (are_clean_media(runs) and self._are_within_limits(runs))


def _are_clean(pattern: re.Pattern[str], runs: list[str]) -> bool:
    return pattern.sub("", BORDER.join(runs)) == BORDER * (len(runs) - 1)


def _find_alike(pattern: re.Pattern[str], text: str, start: int) -> tuple[Texts, str]:
    """Find records that have all groups; return a column a group, and the rest."""
    # One flat list makes no work for the garbage collector; a tuple for each record does
    flat = pattern.split(text[start:])
    size = pattern.groups + 1
    rest = (len(flat) > 1 and flat[-2]) or ""
    if rest:
        del flat[-size:]
    return [flat[group::size] for group in range(1, pattern.groups)], rest


def _find_records(pattern: re.Pattern[str], text: str, start: int) -> tuple[Texts, str]:
    """Find records from a place on; return a column a group, and the rest."""
    rows = pattern.findall(text, start)
    rest = rows[-1][-1] if rows else ""
    if rest:
        del rows[-1]
    columns: Texts = list(zip(*rows, strict=True)) or [()] * pattern.groups
    return columns[:-2], rest


def _blank(column: Sequence[str], odd: set[int]) -> list[str]:
    """Remove the texts of odd records, which may be no XML."""
    texts = list(column)
    for place in odd:
        texts[place] = ""
    return texts


def _find_spans(pattern: re.Pattern[str], text: str, start: int, end: int) -> list[Span]:
    """Return where records begin and end, without the comments behind them."""
    last = pattern.groups - 1
    return [(match.start(), match.end(last)) for match in pattern.finditer(text, start, end)]


def _part(entries: Events, spans: list[Span], odd: set[int]) -> list[Part]:
    """Cut a batch into parts: entries, and the spans of the odd records behind them."""
    parts: list[tuple[list[Event], list[Span]]] = [([], [])]
    for place, (entry, span) in enumerate(zip(entries, spans, strict=True)):
        if place in odd:
            parts[-1][1].append(span)
            continue
        if parts[-1][1]:
            parts.append(([], []))
        parts[-1][0].append(entry)
    return list(parts)
