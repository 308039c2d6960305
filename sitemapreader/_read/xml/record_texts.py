"""The texts of many records, by fields, and the entries that are made of them at once.

The pattern and the tree find the texts. A record that needs an Issue is odd, and left to
`read_record`, unless the Issue is only counted: after the first few of a code, Issues are not
shown.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from itertools import compress, count, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

import attrs

from sitemapreader._read.record import MARKUP
from sitemapreader._read.vocabulary import CHANGEFREQS, parse_changefreq, parse_priority
from sitemapreader._read.xml.markup import (
    are_closed,
    cut_sections,
    decode_texts,
    find_coded,
    find_odd_references,
    has_odd_reference,
    mend_references,
)
from sitemapreader._types.dates import parse_column
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Format, SitemapEntry, Via
from sitemapreader._types.rows import EntryColumns
from sitemapreader._types.urls import (
    PLAIN_URL,
    are_clean_urls,
    has_web_scheme,
    read_loc,
    trim,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._types.models import Event, Image, UrlEntry
    from sitemapreader._types.options import Limits
    from sitemapreader._types.rows import Events

    ValuesAndTexts: TypeAlias = tuple[Sequence[Any] | None, Sequence[Any] | None]
    """The values of one field, and its texts as written; `None` if no record has it."""
    Repairs: TypeAlias = dict[int, set[IssueCode]]
    """Place of a record in a batch -> what was repaired in it."""

Odd = TypeVar("Odd")


class Segment(NamedTuple, Generic[Odd]):
    """Entries of a batch that follow one another, and the odd records after them."""

    events: Events
    """The entries, each after its Issue; by columns if no entry has one."""
    size: int
    """Number of entries."""
    odd: Odd | None


_MOST_RELATIVE = 100
"""Relative URLs of a batch that are resolved without a pause, in 10 to 30 us each."""
_LEAST = {
    "attributes": 8,
    "record_depth": 32,
    "record_elements": 8_192,
    "field_chars": 65_536,
}
"""Limits below which records are read one by one, which keeps them; no text has more elements."""


@lru_cache(maxsize=16)
def are_low(limits: Limits) -> bool:
    """Return whether common records may break a limit."""
    return any(getattr(limits, name) < least for name, least in _LEAST.items())


class _ParsedTexts(NamedTuple):
    """Different texts of a field, as written, and their values."""

    values: dict[str, Any]
    texts: dict[str, str | None]
    """The texts without blanks; the same dict, where the values are texts."""
    unread: set[str]
    """The texts that have no value."""


def _parse_texts(parse: Callable[[str], Any], written: Iterable[str]) -> _ParsedTexts:
    texts = {raw: raw.strip() or None for raw in written}
    values = {raw: text and parse(text) for raw, text in texts.items()}
    unread = {raw for raw, text in texts.items() if text and values[raw] is None}
    return _ParsedTexts(texts if values == texts else values, texts, unread)


_HUNDREDTHS = {f"{number / 100:.2f}" for number in range(101)}
_COMMON_TEXTS = {
    parse_changefreq: _parse_texts(parse_changefreq, {"", *CHANGEFREQS}),
    parse_priority: _parse_texts(
        parse_priority,
        {"", "0", "1", *_HUNDREDTHS, *(text.removesuffix("0") for text in _HUNDREDTHS)},
    ),
}
"""Parser -> the texts that nearly all documents have, and none, parsed beforehand."""
COMMON_PRIORITIES = _COMMON_TEXTS[parse_priority].values
"""Common text of a priority -> its value."""


def build_sitemap_entries(
    sitemap: str, locs: list[str], dates: ValuesAndTexts
) -> list[Any]:
    """Make the entry of each record of an index."""
    none = repeat(None)
    moments, texts = dates
    columns = (moments or none, repeat(Via.INDEX), repeat(sitemap), texts or none)
    return list(map(SitemapEntry, locs, *columns))


def build_url_entries(
    sitemap: str,
    locs: list[str],
    dates: ValuesAndTexts,
    changefreqs: ValuesAndTexts,
    priorities: ValuesAndTexts,
) -> EntryColumns:
    """Make the entry of each record of a urlset."""
    return EntryColumns(
        locs,
        [sitemap] * len(locs),
        dates[0],
        changefreqs[0],
        priorities[0],
        dates[1],
        changefreq_text=changefreqs[1],
        priority_text=priorities[1],
    )


@attrs.define
class RecordTexts:
    """The records of a batch by columns, which hold the texts of each field.

    Attributes:
        stats: the counts of the document.
        size: the number of records.
        fields: the fields of the protocol, in the order of `PROTOCOL_FIELDS`; an empty column if no
            record has the field.
        odd: the places of the records that are read one by one.
        runs: the elements of each extension that occurs, by its prefix.
        extras: the elements of other namespaces.
        titles: the titles of a feed's records.
        base: the URL against which relative ones are resolved; without it, they are odd.
        images: the images of the records of a feed that have some, by their places.
    """

    stats: ReadStats
    size: int
    fields: list[list[str]]
    odd: set[int] = attrs.field(factory=set)
    runs: dict[str, list[str]] = attrs.field(factory=dict)
    extras: list[str] = attrs.field(factory=list)
    titles: Sequence[str] = ()
    base: str = ""
    images: Mapping[int, tuple[Image, ...]] = MappingProxyType({})
    relative: dict[int, str] = attrs.field(factory=dict, init=False)
    """The relative URLs as written, by the places of their records."""
    _counted: list[tuple[IssueCode, set[int]]] = attrs.field(factory=list, init=False)
    """Issues that are not shown, and the places of their records."""

    @property
    def _columns(self) -> Iterator[list[str]]:
        """All texts that were found, by columns; an absent field has none."""
        columns = [*self.fields, *self.runs.values(), self.extras]
        return filter(None, columns)

    # -- faults

    def blame(self, marks: Iterable[object]) -> None:
        """Mark records as odd."""
        self.odd.update(compress(count(), marks))

    def note(self, code: IssueCode, places: Iterable[int]) -> None:
        """Note an Issue of each of some records: to be counted, if it is not shown."""
        if self.stats.shows(code):
            self.odd.update(places)
        else:
            self._counted.append((code, set(places)))

    def note_repairs(self, repairs: Repairs) -> None:
        """Note the repairs of each record."""
        for place, codes in repairs.items():
            for code in codes:
                self.note(code, [place])

    def check_element_runs(
        self,
        runs: Sequence[str],
        are_clean: Callable[[list[str]], bool],
    ) -> None:
        """Mark the records with a run of elements that needs an Issue as odd."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)

    # -- texts

    def blank_odd(self) -> None:
        """Remove the texts of odd records, which may be no XML."""
        if self.odd:
            for column in self._columns:
                for place in self.odd:
                    column[place] = ""

    def decode(self) -> None:
        """Decode all fields; records with a section that is not closed are odd."""
        columns = [*self.fields, *self.runs.values(), self.extras]
        coded = list(map(find_coded, columns))
        outsides = [
            cut_sections("\0".join([column[place] for place in places]))
            for column, places in zip(columns, coded, strict=True)
        ]
        if not all(map(are_closed, outsides)):
            for column in columns:
                self.blame(not are_closed(cut_sections(text)) for text in column)
            self.blank_odd()
        if any(map(has_odd_reference, outsides)):
            self._mend_references()
        for column, places in zip(self.fields, coded, strict=False):
            if places:
                decode_texts(column, places)

    def _mend_references(self) -> None:
        """Mend the references in fields.

        Records with a reference that is no character are odd, and so are ones with an odd reference
        in an extension.
        """
        repairs: defaultdict[int, set[IssueCode]] = defaultdict(set)
        for column in self.fields:
            places = find_odd_references(column)
            for place in places:
                column[place] = mend_references(column[place], repairs[place])
            if places:
                self.odd.update(find_odd_references(column))
        for column in [*self.runs.values(), self.extras]:
            self.odd.update(find_odd_references(column))
        self.note_repairs(repairs)
        self.blank_odd()

    # -- values

    def make_entries(self, format_: Format) -> Events:
        """Make the entry of each record; the ones of odd records mean nothing."""
        loc, lastmod, changefreq, priority = self.fields
        sitemap = self.stats.sitemap
        locs = self._check_locs(loc)
        dates = self._parse_dates(lastmod)
        if format_ is Format.INDEX:
            return build_sitemap_entries(sitemap, locs, dates)
        entries = build_url_entries(
            sitemap,
            locs,
            dates,
            self._parse_repeated(changefreq, parse_changefreq, IssueCode.CHANGEFREQ),
            self._parse_repeated(priority, parse_priority, IssueCode.PRIORITY),
        )
        if any(self.titles):
            entries.title = [text.strip() or None for text in self.titles]
        if not self.images:
            return entries
        given: list[Any] = list(entries)
        for place, images in self.images.items():
            given[place].images = images
        return given

    def _check_locs(self, texts: list[str]) -> list[str]:
        """Check all URLs; return them, as they are after a closer look."""
        if not texts:
            self.odd.update(range(self.size))
            return [""] * self.size
        if all(texts) and are_clean_urls(texts):
            return texts
        locs = list(map(str.strip, texts))
        for place, loc in enumerate(locs):
            if PLAIN_URL.fullmatch(loc):
                continue
            url = trim(loc)
            is_absolute = has_web_scheme(url)
            if is_absolute and are_clean_urls([loc]):
                continue
            may_be_url = "<" not in url if is_absolute else self._may_be_relative(url)
            if not may_be_url:
                self.odd.add(place)
                continue
            read, codes = read_loc(loc, self.base)
            locs[place] = read
            if not read:
                self.odd.add(place)
            for code in codes:
                if code is IssueCode.RELATIVE_LOC:
                    self.relative[place] = loc
                else:
                    self.note(code, [place])
        return locs

    def _may_be_relative(self, url: str) -> bool:
        """Return whether it may be a relative URL; a few are read, in common records alone."""
        if self.odd or len(self.relative) >= _MOST_RELATIVE:
            return False
        return bool(url) and url.isascii() and not MARKUP.search(url)

    def _parse_dates(self, column: list[str]) -> ValuesAndTexts:
        """Parse a column of dates."""
        if not any(column):
            return None, None
        texts = list(map(str.strip, column))
        values = parse_column(texts)
        if all(values):
            return values, texts
        pairs = zip(values, texts, strict=True)
        unread = [value is None and bool(text) for value, text in pairs]
        self.note(IssueCode.LASTMOD, compress(count(), unread))
        return values, [text or None for text in texts]

    def _parse_repeated(
        self,
        column: list[str],
        parse: Callable[[str], Any],
        code: IssueCode,
    ) -> ValuesAndTexts:
        """Parse a column of few different texts, each once.

        The same text is one object, so that it takes no memory.
        """
        if not any(column):
            return None, None
        values, texts, unread = _COMMON_TEXTS[parse]
        try:
            found = list(map(values.__getitem__, column))
        except KeyError:  # a text that few documents have
            values, texts, unread = _parse_texts(parse, set(column))
            found = list(map(values.__getitem__, column))
        if unread:
            marks = map(unread.__contains__, column)
            self.note(code, compress(count(), marks))
        if values is texts:
            return found, found
        return found, list(map(texts.__getitem__, column))

    # -- segments

    def cut(
        self,
        entries: Events,
        take_odd: Callable[[slice], Odd],
        find_line: Callable[[int], int],
    ) -> Iterator[Segment[Odd]]:
        """Cut the batch into segments; count the Issues that are not shown.

        After each segment are the odd records up to the next one, which `take_odd` finds. Before
        an entry is the Issue of its relative URL, with the line of its record.
        """
        if self.odd:  # some may have relative URLs too, and all Issues have an order
            self.note(IssueCode.RELATIVE_LOC, self.relative)
        for code, places in self._counted:
            self.stats.counts[code] += len(places - self.odd)
        if not self.odd:
            if self.relative:
                entries = self._report_relative(entries, find_line)
            yield Segment(entries, self.size, None)
            return
        given = list(entries)
        start = 0
        for first in sorted(self.odd):
            if first < start:
                continue
            end = first
            while end in self.odd:
                end += 1
            odd = take_odd(slice(first, end))
            yield Segment(given[start:first], first - start, odd)
            start = end
        if start < self.size:
            yield Segment(given[start:], self.size - start, None)

    def _report_relative(
        self, entries: Events, find_line: Callable[[int], int]
    ) -> Events:
        """Return the entries, each after the Issue of its relative URL."""
        code = IssueCode.RELATIVE_LOC
        events: list[Event] = []
        for place, entry in enumerate(
            cast("Iterable[UrlEntry | SitemapEntry]", entries)
        ):
            if written := self.relative.get(place):
                line = find_line(place) if self.stats.shows(code) else None
                self.stats.add_issue(
                    events, code, line=line, url=entry.loc, value=written
                )
            events.append(entry)
        return events
