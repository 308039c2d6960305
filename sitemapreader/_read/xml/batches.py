"""The reader of XML formats: prolog, then batches, each in the cheapest way.

The pattern reads records as far as it matches. Behind that, they are cut out for the tree builder,
and those that it refuses are mended. A broken record does not affect the next one.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from functools import lru_cache, partial
from io import IncrementalNewlineDecoder
from typing import TYPE_CHECKING

from sitemapreader._bytes.lines import read_line_ends
from sitemapreader._read.entries import deliver_pages, read_record
from sitemapreader._read.record import Record, RecordContext
from sitemapreader._read.vocabulary import (
    KNOWN_TAGS,
    MAX_NAMESPACES,
    NAMESPACES,
    OWN,
    RECORD_OF,
    XHTML,
)
from sitemapreader._read.xml.markup import (
    ATTRIBUTES,
    CLOSINGS,
    HIDDEN,
    count_sound_lines,
    is_well_formed,
    pass_nothing,
    write_name,
    write_tag_pattern,
)
from sitemapreader._read.xml.mend import Mender
from sitemapreader._read.xml.patterns import LONGEST_TRIED, PatternReader
from sitemapreader._read.xml.prolog import Prolog, read_around, read_common_prolog
from sitemapreader._read.xml.tree import TreeReader
from sitemapreader._types.issues import IssueCode, list_errors
from sitemapreader._types.rows import join_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._read.xml.patterns import Span
    from sitemapreader._read.xml.record_texts import Odd, Segment
    from sitemapreader._types.models import Event, Format
    from sitemapreader._types.options import Limits
    from sitemapreader._types.rows import Events

_UTF_8 = getincrementaldecoder("utf-8")
_SEARCHED_CHARS = 8_192
"""Characters of a record that are searched between two pauses, in 5 ms if all of it is tags."""
_SEARCH_STEP_CHARS = 131_072
"""Characters in which the next tag is looked for at once: some 5 ms if they are full of others."""
_SHORT_REST_CHARS = 1_024
"""Characters behind the common records of a block that are mostly the beginning of one more."""
_LONGEST_MARK = 256
"""Characters that are kept of skipped text: the end may begin in them."""
_ANY_TAG = re.compile(rf"{HIDDEN}|<(/?)([^\s<>/!?]++)[^<>]*+(?<!/)>")
_URL_FIELDS = ("loc", "link", "guid")
_OF_MARKUP = {
    IssueCode.NESTED_ROOT,
    IssueCode.TRAILING_BYTES,
    IssueCode.MALFORMED,
    IssueCode.ENCODING,
    IssueCode.MISMATCHED_TAG,
    IssueCode.BARE_LESS_THAN,
    IssueCode.BARE_AMPERSAND,
    IssueCode.HTML_ENTITY,
    IssueCode.UNBOUND_PREFIX,
    IssueCode.CONTROL_CHARACTER,
    IssueCode.NOT_WELL_FORMED,
}
"""Issues that say what is not well-formed."""


def is_end(
    text: str,
    position: int,
    names: Iterable[str],
) -> bool:
    """Return whether only the end tags of these elements follow a place."""
    for tag in (f"</{name}>" for name in names):
        position = pass_nothing(text, position)
        if not text.startswith(tag, position):
            return False
        position += len(tag)
    return pass_nothing(text, position) == len(text)


# -- cutting


@lru_cache(maxsize=16)
def _write_markup_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of a record's tags, and of how markup without elements begins."""
    name = write_name(records)
    return re.compile(
        rf"<(?:!--|\?|!\[CDATA\[|/({name})\s*+>|({name})(?=[\s/>]){ATTRIBUTES}(>)?)"
    )


def find_record(
    text: str,
    position: int,
    records: frozenset[str],
    step: int = _SEARCH_STEP_CHARS,
) -> Generator[list[Event], None, tuple[Span, bool] | None]:
    """Return where the next record begins and ends, and whether it lacks its end tag.

    It ends with the end tag of the name that it began with. Elements of that name inside of it are
    counted; those with another prefix are ignored. If its end tag is missing, it ends where the
    next one begins. `None` if that is not in the text yet. A long search yields empty lists, and
    looks at `step` characters at once.
    """
    name = ""
    begin = 0
    depth = 0
    checked = 0
    around: list[str] = []
    for tag in _find_tags(text, position, records, step):
        if tag is None:
            yield []
            continue
        position = tag.end()
        if tag[1]:
            depth -= tag[1] == name
        elif tag[2] == name or not name:
            if not tag[3] and position == len(text):  # it may go on
                break
            is_empty = tag[0].endswith("/>")
            if not name:
                name = tag[2]
                begin = tag.start()
                checked = position
            else:
                if not _is_nested(
                    text, checked, tag.start(), around, is_empty=is_empty
                ):
                    return (begin, tag.start()), True
                checked = tag.start()
            depth += not is_empty
        if name and not depth:
            return (begin, position), False
    return None


def _find_tags(
    text: str,
    position: int,
    records: frozenset[str],
    step: int,
) -> Iterator[re.Match[str] | None]:
    """Yield the tags of records that nothing hides, and `None` for a pause in a long search."""
    markup = _write_markup_pattern(records)
    paused = position
    while True:
        end = position + step
        tag = markup.search(text, position, end)
        if tag is None and end >= len(text):
            return
        if tag is None:
            # the step may have cut the tag that begins last
            begin = text.rfind("<", position, end)
            if begin == position:
                step *= 2
            else:
                position = begin if begin > 0 else end
            yield None
            continue
        if tag[2] and not tag[3]:
            tag = markup.search(text, tag.start()) or tag
        position = tag.end()
        if closing := CLOSINGS.get(tag[0]):
            end = text.find(closing, position)
            if end < 0:
                return
            position = end + len(closing)
        else:
            yield tag
        if position - paused > _SEARCHED_CHARS:
            yield None
            paused = position


def _is_nested(
    text: str,
    start: int,
    end: int,
    around: list[str],
    *,
    is_empty: bool,
) -> bool:
    """Return whether a tag with the record's name is inside a foreign element.

    Directly in the record, or in an element of the vocabulary, it begins another record; but not in
    the latter if it is empty. `around` are the names of the elements that are open on the way.
    """
    for tag in _ANY_TAG.finditer(text, start, end):
        if tag[1] == "":
            around.append(tag[2])
        elif tag[1] and around and around[-1] == tag[2]:
            around.pop()
    is_known = bool(around) and around[-1].rpartition(":")[2].lower() in KNOWN_TAGS
    return bool(around) and (is_empty or not is_known)


# -- reading


class TextWindow:
    """The text of a document that has arrived and is not read yet, and its place in the document.

    Bytes that are not UTF-8 become lone surrogates.
    """

    def __init__(self, start: int, *, is_checked: bool) -> None:
        self.text = ""
        self.position = start
        """Place in the text where the unread part begins."""
        self._decoder = IncrementalNewlineDecoder(
            _UTF_8("surrogateescape"), translate=True
        )
        self.is_sound = is_checked
        """True if all characters are XML's, as far as they are checked."""
        self._line = 1
        self._counted = 0
        """`_line` is the line of this place in the text."""
        self._last_line = 1

    def add(self, data: bytes, *, final: bool) -> None:
        """Add the next bytes, perhaps the last."""
        text = self._decoder.decode(data, final)
        lines = count_sound_lines(text) if self.is_sound else None
        if lines is None:
            self.is_sound = False
            lines = text.count("\n")
        self._last_line += lines
        self.text += text

    def drop_read(self) -> None:
        """Drop the text before the position."""
        self.text = self.text[self.position :]
        self.position = self._counted = 0
        self._line = self._last_line - self.text.count("\n")

    def count_lines(self, position: int) -> int:
        """Return the line of a place; places must not decrease."""
        self._line += self.text.count("\n", self._counted, position)
        self._counted = position
        return self._line


class XmlReader:
    """Reader of urlset, sitemapindex, RSS and Atom, in UTF-8, behind the prolog.

    Bytes that are not UTF-8 break only the record in which they stand. Long steps yield empty lists
    in between, so that the caller never waits long.
    """

    finished = False

    def __init__(
        self,
        stats: ReadStats,
        limits: Limits,
        prolog: Prolog,
        start: int,
    ) -> None:
        self.prolog = prolog
        self.format = prolog.format
        self._stats = stats
        self._limits = limits
        self._window = TextWindow(start, is_checked=prolog.format.is_protocol)
        self._next_size = 0
        """Size that the window must reach before it is searched again."""
        self._context = RecordContext(
            stats, prolog.names, prolog.bases, limits.field_chars
        )
        self._tree = TreeReader(prolog, limits)
        self._patterns = PatternReader(prolog, self._tree, limits)
        self._skip: list[re.Pattern[str]] = []
        """The ends of the oversized section and record that are being skipped."""

    def feed(self, data: bytes, *, final: bool = False) -> Iterator[Events]:
        """Read the next bytes; yield, in steps, the events of complete records."""
        window = self._window
        most = self._limits.record_bytes
        window.add(data, final=final)
        if not self._has_skipped():
            return
        if len(window.text) < self._next_size and not final:
            return
        yield from self._read_common_records()
        if final or self._may_hold_record():
            yield from self._read_complete()
        window.position = pass_nothing(window.text, window.position)
        unread = len(window.text) - window.position
        if unread > most:
            yield from self._shorten()
        window.drop_read()
        size = len(window.text)
        self._next_size = 0
        # a long record is not looked at again before it has doubled: so time is linear
        if size > LONGEST_TRIED:
            self._next_size = min(2 * size, most)

    def close(self, cut: IssueCode | None, data: bytes = b"") -> Iterator[Events]:
        """Read the last bytes, and report the missing parts of the document.

        The markup shows whether the document was cut; `cut` is the cause.
        """
        yield from self.feed(data, final=True)
        window = self._window
        prolog = self.prolog
        if not self._has_skipped():
            window.text = ""
        names = [*reversed(prolog.wrappers), prolog.root]
        if not is_end(window.text, window.position, names):
            why = cut or IssueCode.TRUNCATED
            yield from self._read_outside(len(window.text), why)
        if not self._stats.records and not list_errors(self._stats.counts):
            self._add_once(IssueCode.EMPTY)
        deliver_pages(self._context.events, self._stats, prolog.pages)
        yield self._context.take_events()

    # -- cutting

    def _may_hold_record(self) -> bool:
        """Return whether the unread text may hold a whole record; a short one rarely does."""
        window = self._window
        if len(window.text) - window.position > _SHORT_REST_CHARS:
            return True
        rest = window.text[window.position :]
        tags = write_tag_pattern(self.prolog.records).findall(rest)
        return len(tags) > 1 or "/>" in rest

    def _read_complete(self, odd_span: Span | None = None) -> Iterator[Events]:
        """Read whole records by the tree: all, or odd ones between common records."""
        end = len(self._window.text)
        if odd_span:
            self._window.position, end = odd_span
        while (yield from self._read_next(end, is_odd_span=odd_span is not None)):
            pass
        if odd_span and self._window.position < end:
            yield from self._read_outside(end)

    def _read_next(
        self, end: int, *, is_odd_span: bool
    ) -> Generator[Events, None, bool]:
        """Read the next records before a place; mend a refused one; return if there are any."""
        window = self._window
        start = window.position
        count_lines = partial(window.count_lines, start)
        batch = yield from self._tree.parse_batch(window.text, start, end, count_lines)
        if batch:
            window.position = batch.end
            segments = self._tree.read_columns(batch, self._stats)
            yield from self._read_segments(segments, self._read_records)
            return True
        found = yield from find_record(window.text, start, self.prolog.records)
        if not found:
            return False
        span, is_cut = found
        record_start, record_end = span
        if record_start >= end:
            return False
        if record_end - start > _SEARCHED_CHARS:
            yield []
        if pass_nothing(window.text, start) != record_start:
            yield from self._read_outside(record_start)
            if not is_odd_span:
                yield from self._read_common_records()  # names may mean something else
            return True
        record = None
        if not is_cut:
            text = window.text[record_start:record_end]
            count_lines = partial(window.count_lines, record_start)
            record = yield from self._tree.parse_record(text, count_lines)
        if record is None:
            yield from self._mend_record(span)
        else:
            yield from self._read_records([record])
            window.position = record_end
        return True

    # -- the ways of reading

    def _read_common_records(self) -> Iterator[Events]:
        """Read as far as the pattern goes, and the odd records on the way by the tree."""
        segments, end = self._patterns.read(
            self._window.text,
            self._window.position,
            self._stats,
            self._window.count_lines,
            is_sound=self._window.is_sound,
        )
        yield from self._read_segments(segments, self._read_complete)
        self._window.position = end

    def _read_segments(
        self,
        segments: Iterable[Segment[Odd]],
        read_odd: Callable[[Odd], Iterator[Events]],
    ) -> Iterator[Events]:
        """Deliver entries by columns, and read the odd records between them."""
        for segment in segments:
            self._stats.count_entries(segment.size)
            yield segment.events
            if segment.odd:
                yield from read_odd(segment.odd)

    def _mend_record(self, span: Span) -> Iterator[Events]:
        document = self._tree.wrap(self._window.text[slice(*span)])
        yield from self._mend(*span, is_sound=lambda: is_well_formed(document))

    def _read_outside(self, end: int, why: IssueCode | None = None) -> Iterator[Events]:
        """Read text outside of whole records, up to a place; `why` is the cause of a cut."""
        prolog = self.prolog
        start = self._window.position
        text = self._window.text[start:end]
        is_sound = bool(prolog.closed or (why and prolog.has_nested_root))
        if not is_sound:
            is_tail = why is not None
            is_sound = self._tree.is_well_formed_around(text, is_tail=is_tail)
            most = self._limits.attributes + MAX_NAMESPACES
            if is_sound and not is_tail and read_around(prolog, text, most):
                self._window.position = end
                return
        yield from self._mend(start, end, is_sound=lambda: is_sound, why=why)

    def _mend(
        self,
        start: int,
        end: int,
        *,
        is_sound: Callable[[], bool] = lambda: True,
        why: IssueCode | None = None,
        is_part: bool = False,
    ) -> Generator[Events, None, Mender]:
        """Mend a text and read its records; report at least one Issue if it is not sound.

        `why` is what may have cut the document, if it ends with the text. If it `is_part` of a
        longer one, what is open at its end is not read.
        """
        faults_before = self._count_faults()
        text = self._window.text[start:end]
        line = self._window.count_lines(start)
        mender = Mender(self.prolog, self._limits, text, line, self._add_once, why)
        for record in mender.read():
            yield from self._read_records([record] if record else [])
        if not is_part:
            yield from self._read_records(mender.finish())
        if mender.is_odd:
            self._add_once(IssueCode.NOT_WELL_FORMED)
        if why and not self.prolog.closed:
            self._add_once(why)
        elif faults_before == self._count_faults() and not is_sound():
            self._add_once(IssueCode.NOT_WELL_FORMED)
        yield self._context.take_events()
        self._window.position = start if is_part else end
        return mender

    def _count_faults(self) -> int:
        counts = self._stats.counts
        return sum(counts[code] for code in _OF_MARKUP.intersection(counts))

    def _add_once(self, code: IssueCode, value: str | None = None) -> None:
        self._stats.add_issue_once(self._context.events, code, value=value)

    def _read_records(self, records: list[Record]) -> Iterator[Events]:
        for record in records:
            if self._accept(record):
                for _ in read_record(self._context, record):
                    yield self._context.take_events()
                self._context.report_cut()
            if self._context.is_due():
                yield self._context.take_events()
        yield self._context.take_events()

    def _accept(self, record: Record) -> bool:
        """Return whether an element is a record; report one with a foreign name."""
        name = self.prolog.names[record.element.tag]
        if name.own not in self.prolog.records:
            is_record = self.prolog.is_foreign_record(name, record.repairs)
            if not (is_record and self._is_meant(record)):
                return False
            if IssueCode.UNBOUND_PREFIX not in record.repairs:
                self._add_once(IssueCode.NAMESPACE, name.uri)
            self.prolog.names.add_own(name.uri)
        if name.tag != RECORD_OF.get(self.prolog.format, name.tag):
            self._add_once(IssueCode.NESTED_ROOT, f"<{name.local}>")
        return True

    def _is_meant(self, record: Record) -> bool:
        """Return whether a record in a foreign namespace is meant as one of the document's.

        It has a field for its URL, and no element of a foreign vocabulary around it: elements of
        generators and tools may be called `url`, too.
        """
        names = self.prolog.names
        namespaces = self.prolog.namespaces
        prefixes = {wrapper.rpartition(":")[0] for wrapper in self.prolog.wrappers}
        keys = {names.find_key(namespaces.get(prefix, prefix)) for prefix in prefixes}
        has_url = any(names[child.tag].tag in _URL_FIELDS for child in record.element)
        is_link = names[record.element.tag].key == XHTML
        known_keys = {OWN, *NAMESPACES.values()}
        return (has_url or is_link) and keys <= known_keys

    # -- what is too long to be kept

    def _shorten(self) -> Iterator[Events]:
        """Read the records of a text that is too long; drop one that is by itself."""
        yield []  # all of it was searched just now, and is once more
        window = self._window
        start = window.position
        size = len(window.text)
        pattern = _write_markup_pattern(self.prolog.records)
        markup = pattern.search(window.text, start)
        if not markup:
            window.position = max(start, size - _LONGEST_MARK)
            return
        closing = CLOSINGS.get(markup[0])
        if closing and window.text.find(closing, markup.end()) < 0:
            self._skip_to(closing)
            window.position = max(markup.end(), size - _LONGEST_MARK)
            return
        mender = yield from self._mend(start, size, is_part=True)
        window.position += mender.end
        if window.position > start:
            return
        if mender.closing:
            self._skip_to(mender.closing)
        if mender.opened:
            name = write_name(self.prolog.records)
            # blanks may flood it
            self._skip.append(re.compile(rf"</{name}(?:\s*+>|(?=\s))"))
            code = IssueCode.RECORD_TOO_LONG
            line = window.count_lines(start)
            self._stats.drop_record(self._context.events, code, line=line)
            yield self._context.take_events()
        last_tag = window.text.rfind("<", start)  # an end tag, perhaps
        window.position = max(start, last_tag)

    def _skip_to(self, closing: str) -> None:
        """Skip text up to the end of a section."""
        self._skip.append(re.compile(re.escape(closing)))

    def _has_skipped(self) -> bool:
        """Skip a record that is too long; return whether its end has been reached."""
        window = self._window
        while self._skip:
            found = self._skip[0].search(window.text)
            if found:
                window.position = found.end()
            else:
                window.position = max(0, len(window.text) - _LONGEST_MARK)
            window.drop_read()
            if not found:
                return False
            del self._skip[0]
        return True


@lru_cache(maxsize=64)
def _start_patterns(prolog: Prolog, limits: Limits) -> PatternReader:
    """Start the reader of the records of all documents that begin alike."""
    # learns their looks alone
    return PatternReader(prolog, TreeReader(prolog, limits), limits)


def read_whole(
    data: bytes,
    stats: ReadStats,
    limits: Limits,
) -> tuple[Format, Events] | None:
    """Return format and events of a whole document; `None` if it is not all common.

    Most documents are small, and what this leaves out takes twice as long as their records.
    """
    try:
        text = read_line_ends(data.decode())
    except UnicodeDecodeError:
        return None
    found = read_common_prolog(text)
    if not found or len(data) > limits.record_bytes:
        return None
    prolog, start = found
    segments, end = _start_patterns(prolog, limits).read(
        text, start, stats, lambda place: 1 + text.count("\n", 0, place)
    )
    # without comments: mostly
    is_bare = text[end:].strip(" \t\r\n") == f"</{prolog.root}>"
    if not (is_bare or is_end(text, end, [prolog.root])):
        return None
    parts: list[Events] = []
    count = 0
    for part in segments:
        if part.odd:
            return None
        parts.append(part.events)
        count += part.size
    if not parts:
        return None
    stats.count_entries(count)
    return prolog.format, join_rows(parts)
