"""Properties of every input, however damaged: each function lists what does not hold.

This oracle is frozen. Where it cannot judge an input (see `is_ambiguous`), the input passes: a new
case of that kind is a reason to look at the reader, not to teach the oracle.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING
from unittest import mock
from xml.parsers import expat

import attrs

from sitemapreader._read import SitemapReader
from sitemapreader._read.vocabulary import FIELDS, RECORDS, ROOTS
from sitemapreader._read.xml import batches, tree
from sitemapreader._types.issues import MAX_ISSUES_PER_DOCUMENT, Issue, IssueCode
from sitemapreader._types.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader._types.urls import has_web_scheme
from tests.laws import witness
from tests.laws.witness import inflate
from tests.slow.fuzz.cases import URL, Case
from tests.support import strategies
from tests.support.reading import read_with, without_patterns

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator
    from random import Random

    from sitemapreader._types.models import Event

RECORD_END = re.compile(rb"</(?:\w+:)?(?:url|sitemap|item|entry)\s*>", re.IGNORECASE)
TAG = re.compile(
    rb"""<(/?)(?:[\w.-]*:)?([\w.-]+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>"""
)
ROOT_BEGIN = re.compile(
    rb"<(?:\w+:)?(?:urlset|sitemapindex|rss|RDF|feed)\b[^<>]*>", re.IGNORECASE
)
SECTION = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?[^<]*?\?>", re.DOTALL)
"""Comments, CDATA sections and PIs; a PI that holds a tag may be one that nothing ends."""
SECTION_BEGIN = re.compile(rb"<!--|<!\[CDATA\[|<\?")
LONG_NAMESPACE = re.compile(rb"""xmlns[^\s=]*\s*=\s*["'][^"'<]{1000}""")
NAMESPACE = re.compile(rb"""\b(xmlns[^\s=]*)\s*=\s*["']([^"']*)""")
JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
XML_FORMATS = {format_ for format_, _ in ROOTS.values()}
TOKENS = re.compile(r"[<>\"'\s\[\]]+")
URL_FIELDS = (
    "loc",
    "license",
    "thumbnail_loc",
    "content_loc",
    "player_loc",
    "gallery_loc",
)
OF_VALUES = {IssueCode.NAMESPACE, IssueCode.EMPTY, IssueCode.DOCTYPE} | {
    code
    for place, code in enumerate(IssueCode)
    if place >= [*IssueCode].index(IssueCode.MISSING_LOC)
}
"""Issues of what may be well-formed all the same."""
READ_DIFFERENTLY = {
    IssueCode.NOT_WELL_FORMED,
    IssueCode.TRAILING_BYTES,
    IssueCode.TOO_DEEP,
}
"""Noted where expat refuses what could be read all the same; text between records, if mended.

Of a record that is too deep the mender writes no more, and shows less text.
"""


@attrs.frozen
class Reading:
    """All that a reader says of a document."""

    events: tuple[Event, ...]
    format: Format | None
    records: int
    delivered: int
    dropped: int
    counts: Counter[IssueCode]

    @property
    def entries(self) -> list[UrlEntry | SitemapEntry]:
        """The records that were delivered."""
        return [event for event in self.given if not is_page(event)]

    @property
    def given(self) -> list[UrlEntry | SitemapEntry]:
        """The records, and the next pages of a feed, which come last."""
        return [event for event in self.events if not isinstance(event, Issue)]


def read(
    case: Case, pieces: Iterable[bytes] | None = None, *, cut: bool = False
) -> Reading:
    """Read a case's data, or these pieces of it."""
    with read_with(BLOCK_BYTES=case.block_bytes):
        sitemap = SitemapReader(URL, limits=case.limits)
        events: list[Event] = []
        for piece in (case.data,) if pieces is None else pieces:
            events += sitemap.feed(piece)
        events += sitemap.close(cut=cut)
    ledger = sitemap.stats
    counts = ledger.counts
    return Reading(
        tuple(events),
        sitemap.format,
        ledger.records,
        ledger.delivered,
        ledger.dropped,
        +counts,
    )


@lru_cache(maxsize=256)
def read_undamaged(data: bytes, block_bytes: int) -> Reading:
    """Read a document before its damage; many are the same."""
    return read(Case(data, data, block_bytes=block_bytes))


def keeps_its_counts(reading: Reading) -> Iterator[str]:
    """Law 1: every record is delivered, or dropped with an Issue; every Issue is counted."""
    if reading.records != reading.delivered + reading.dropped:
        yield f"{reading.records} records, {reading.delivered} + {reading.dropped}"
    if reading.delivered != len(reading.entries):
        yield f"{reading.delivered} delivered, {len(reading.entries)} seen"
    if reading.dropped > reading.counts.total():
        yield f"{reading.dropped} dropped, {reading.counts.total()} Issues"
    if not reading.entries and not reading.counts:
        yield "neither an entry nor an Issue"
    given: dict[IssueCode, int] = dict.fromkeys(reading.counts, 0)
    for event in reading.events:
        if isinstance(event, Issue):
            given[event.code] = given.get(event.code, 0) + 1
    for code, count in given.items():
        if count != min(reading.counts[code], MAX_ISSUES_PER_DOCUMENT):
            yield f"{count} of {reading.counts[code]} {code} given out"


def is_page(entry: UrlEntry | SitemapEntry) -> bool:
    """Tell whether it is the next page of a feed, which is no record of this one."""
    return isinstance(entry, SitemapEntry) and entry.via is Via.PAGE


def invents_nothing(case: Case, reading: Reading) -> Iterator[str]:
    """Law 3: every loc stands in the document, as it is or relative; so does every other URL."""
    urls = {url for entry in reading.given for url in urls_of(entry)}
    tokens = set(
        TOKENS.split(html.unescape(inflate(case.data).decode("utf-8", "replace")))
    )
    unseen = urls - tokens
    if unseen:  # ever dearer ways of looking for what is nearly always there
        unseen.difference_update(
            url for token in tokens for url in witness.joins(URL, token)
        )
    if unseen:
        unseen = witness.unseen(unseen, case.data, URL)
    for url in sorted(unseen):
        yield f"invented {url!r}"


def urls_of(entry: UrlEntry | SitemapEntry) -> Iterator[str]:
    """List an entry's loc, and the absolute URLs beside it: those are given as written."""
    yield entry.loc
    if isinstance(entry, UrlEntry):
        beside = [link.href for link in entry.alternates]
        for value in (*entry.images, *entry.videos):
            beside += [
                getattr(value, field) or ""
                for field in URL_FIELDS
                if hasattr(value, field)
            ]
        yield from (url.strip() for url in beside if has_web_scheme(url.strip()))


def knows_no_borders(case: Case, reading: Reading, random: Random) -> Iterator[str]:
    """Law 5: any split gives the same events."""
    pieces = chop(random, case.data)
    if read(case, pieces) != reading:
        yield f"other events in pieces of {[len(piece) for piece in pieces][:50]}"


def reads_alike(case: Case, reading: Reading) -> Iterator[str]:
    """Pattern, tree and mender agree wherever more than one of them can read.

    Without the pattern all events are the same. Without the tree they are too, where it refuses
    nothing; but for fields inside of fields and records inside of records, where the mender
    believes that an end tag is missing, and what else `is_ambiguous` names.
    """
    mend = batches.XmlReader._mend
    with (
        without_patterns(),
        mock.patch.object(
            batches.XmlReader, "_mend", autospec=True, side_effect=mend
        ) as spy,
    ):
        by_tree = read(case)
    if by_tree != reading:
        yield "the pattern is not the tree: " + first_difference(reading, by_tree)
    # what the tree refuses is mended, with nothing around it
    if not all(call.kwargs["is_sound"]() for call in spy.call_args_list):
        return
    with (
        without_patterns(),
        mock.patch.object(tree.TreeReader, "_is_refused", return_value=True),
    ):
        mended = read(case)
    if _without(mended) != _without(by_tree) and not is_ambiguous(inflate(case.data)):
        yield "the tree is not the mender: " + first_difference(by_tree, mended)


def says_what_is_broken(case: Case, reading: Reading) -> Iterator[str]:
    """A document in UTF-8 that expat refuses has an Issue that says that something is wrong.

    A DOCTYPE is an Issue itself.
    """
    data = case.data
    is_known = (
        reading.format in XML_FORMATS and data.startswith(b"<") and b"\0" not in data
    )
    if (
        not is_known
        or b"<!doctype" in data.lower()
        or reading.counts.keys() - OF_VALUES
    ):
        return
    if b"utf-8" not in (data.partition(b"encoding=")[2][:7] or b"utf-8").lower():
        return
    try:
        expat.ParserCreate("utf-8", namespace_separator="\1").Parse(data, True)
    except expat.ExpatError as error:
        yield f"nothing says: {error}"


def is_ambiguous(data: bytes) -> bool:
    """Tell whether exact reading and mending may differ where nothing is broken, naively.

    They do where a field begins inside of a field, or a record inside of another; where the end of
    a record stands in a CDATA section, which may be one that is not closed; where a namespace is
    bound that is too long to be kept, or outside of records another to the same prefix, which
    counts until that element ends, or not at all.
    """
    data = data.replace(b"\0", b"")  # UTF-16 as well
    if LONG_NAMESPACE.search(data):
        return True
    if any(RECORD_END.search(section) for section in SECTION.findall(data)):
        return True
    open_tags: list[str] = []
    bound: dict[bytes, bytes] = {}
    for end, name, attributes in TAG.findall(SECTION.sub(b"", data)):
        tag = name.decode("latin-1").lower()
        if end:
            del open_tags[-1:]
            continue
        if tag in ROOTS or tag == "channel":
            binds = dict(NAMESPACE.findall(attributes))
            if any(
                bound.setdefault(prefix, uri) != uri for prefix, uri in binds.items()
            ):
                return True
        if open_tags and open_tags[-1] in FIELDS and tag in FIELDS:
            return True
        if tag in RECORDS and not RECORDS.isdisjoint(open_tags):
            return True
        if not attributes.endswith(b"/"):
            open_tags.append(tag)
    return False


def _without(reading: Reading) -> tuple[object, ...]:
    # noted with what is read at once
    misplaced = READ_DIFFERENTLY | {IssueCode.NESTED_ROOT}
    events = [e for e in reading.events if getattr(e, "code", None) not in misplaced]
    counts = {
        code: n for code, n in reading.counts.items() if code not in READ_DIFFERENTLY
    }
    return (*events, counts, reading.records, reading.delivered, reading.format)


def first_difference(one: Reading, other: Reading) -> str:
    """Show where two readings part."""
    for a, b in zip(one.events, other.events, strict=False):
        if a != b:
            return f"{a} / {b}"
    longer = max(one.events, other.events, key=len)
    rest = longer[min(len(one.events), len(other.events)) :]
    numbers = f"{len(one.events)} / {len(other.events)} events"
    return f"{numbers}, {rest[:1]}, {one.counts} / {other.counts}"


def keeps_what_came_before(case: Case, reading: Reading) -> Iterator[str]:
    """What stands before the damage is read as if there were none.

    Precisely: let P be what the bytes before the first damaged one inflate to. If P holds the
    root's start tag or, of a text, the first line, if no tag, comment, CDATA section or PI is open
    at its end, and no record stands inside of another, then the entries of P, read as a document
    that was cut, up to the first whose end tag is missing, and without the last, which may be cut
    behind its loc, are the first entries of the damaged
    document, and of the one that is not. And if
    P is ASCII markup without comments and the like, in which nothing had to be mended, they are as
    many as records end in it.
    """
    before = inflate(case.data[: same_bytes(case.original, case.data)])
    small = attrs.evolve(case, data=before)
    part = read(small, cut=True)
    if (
        part.format is None
        or part.format != reading.format
        or not _is_decided(before, part.format)
    ):
        return
    if is_ambiguous(inflate(case.data)) or is_ambiguous(inflate(case.original)):
        return
    issues = (event for event in part.events if isinstance(event, Issue))
    unclosed = {issue.url for issue in issues if issue.code is IssueCode.MISMATCHED_TAG}
    whole = list(takewhile(lambda entry: entry.loc not in unclosed, part.entries))
    count = len(whole)
    if part.format != Format.TEXT and IssueCode.TRUNCATED in part.counts:
        # a record that is cut behind its loc lacks what stands behind it
        whole = whole[:-1]
    if whole != reading.entries[: len(whole)]:
        yield f"entries before {len(before)} changed: " + first_difference(
            part, reading
        )
    undamaged = read_undamaged(case.original, case.block_bytes)
    if undamaged.format == part.format and whole != undamaged.entries[: len(whole)]:
        yield f"entries before {len(before)} were others: " + first_difference(
            part, undamaged
        )
    if part.format != Format.TEXT and not part.counts.keys() - {IssueCode.TRUNCATED}:
        ends = len(RECORD_END.findall(before))
        if before.isascii() and not SECTION_BEGIN.search(before) and count < ends:
            yield f"{ends} records end before {len(before)}, {count} were read"


def _is_decided(before: bytes, format_: Format) -> bool:
    """Tell whether nothing that follows can change how these bytes are read."""
    if b"\0" in before:  # UTF-16, in which the naive patterns below see nothing
        return False
    if format_ is Format.TEXT:
        first, end, _ = before.lstrip().partition(b"\n")
        return bool(end) and has_web_scheme(first.decode("latin-1"))
    visible = SECTION.sub(b"", before)
    is_open = SECTION_BEGIN.search(visible) or before.rfind(b"<") > before.rfind(b">")
    return bool(ROOT_BEGIN.search(visible)) and not is_open


def chop(random: Random, data: bytes) -> list[bytes]:
    """Cut a document into pieces: two, many, or of one size."""
    if not data:
        return [data]
    if random.random() < 0.3:
        size = random.randint(1, len(data))
        return [data[at : at + size] for at in range(0, len(data), size)]
    count = random.choice([1, 1, 2, 5, 20])
    return strategies.pieces_at(
        data, (random.randint(0, len(data)) for _ in range(count))
    )


def same_bytes(one: bytes, other: bytes) -> int:
    """Count the bytes before the first difference."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
