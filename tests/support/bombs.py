"""Documents that are made to take all memory (50 MB and more) or time, made piece by piece.

`python tests/support/bombs.py ID` reads one in a fresh process and prints, as JSON, what came out,
and what it took: seconds, the most memory, and how long an event loop would have been held up.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
import zlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import badinputs
import launcher
from badinputs import AFTER, ALL, BEFORE, DECLARATION, END, FIRST, NONE, ODD, ROOT, BadInput, row
from launcher import get_launcher, launch
from timing import is_within

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from launcher import Order

    from sitemapreader.models import Event

MB = 1_000_000
CHUNK_BYTES = 65_536
"""As they come from the network."""
KEPT = 20
"""Locs of records that are kept, besides the good ones."""


def flood(unit: bytes, size: int = 50 * MB) -> Iterator[bytes]:
    """Repeat something up to a size, in chunks."""
    times = max(1, CHUNK_BYTES // len(unit))
    return (unit * times for _ in range(size // (times * len(unit))))


def around(
    before: bytes, unit: bytes, behind: bytes = b"", size: int = 50 * MB
) -> Callable[[], Iterable[bytes]]:
    """Put a flood, and what stands before and behind it, between the good records."""
    start = DECLARATION + ROOT + BEFORE + before
    return lambda: chain([start], flood(unit, size), [behind + AFTER + END])


def instead(
    before: bytes, unit: bytes, behind: bytes = b"", size: int = 50 * MB
) -> Callable[[], Iterable[bytes]]:
    """Begin a document with a flood."""
    return lambda: chain([before], flood(unit, size), [behind + badinputs.BODY])


def packed(pieces: Callable[[], Iterable[bytes]], level: int = 9) -> Callable[[], Iterable[bytes]]:
    """Compress what is made, while it is made."""

    def compress() -> Iterator[bytes]:
        packer = zlib.compressobj(level, wbits=31)
        yield from filter(None, map(packer.compress, pieces()))
        yield packer.flush()

    return compress


def whole(pieces: Callable[[], Iterable[bytes]]) -> Callable[[], Iterable[bytes]]:
    """Give all in one piece."""
    return lambda: [b"".join(pieces())]


START = DECLARATION + ROOT + BEFORE + AFTER
OPEN = b"<url><loc>https://www.example.org/odd"
CLOSE = b"</loc></url>"
OVER = IssueCode.OVER_PROTOCOL_LIMIT
LONG = IssueCode.RECORD_TOO_LONG
NOTHING = IssueCode.NOT_A_SITEMAP
LARGE = IssueCode.TOO_LARGE
FEWER = Limits(entries=100_000)
"""For what takes 15 s with the default, a million."""

TOKENS = (
    row(18, "attribute", around(b'<url a="', b"x", b'">' + OPEN[5:] + CLOSE), LONG),
    row(18, "attribute-of-the-root", instead(b'<urlset a="', b"x", b'">'), NOTHING, good=NONE),
    row(19, "comment", around(b"<!--", b"x", b"-->")),
    row(19, "comment-of-hyphens", around(b"<!--", b"- ", b"-->")),
    row(19, "comment-before-the-root", instead(b"<!--", b"x", b"-->"), NOTHING, good=NONE),
    row(20, "instruction", around(b"<?x ", b"x", b"?>")),
    row(21, "name", around(b"<url><", b"x", b"/>" + OPEN[5:] + CLOSE), LONG),
    row(21, "name-outside", around(b"<", b"x", b"/>")),
    row(22, "end-tag", around(OPEN + b"</loc></url", b" ", b">"), LONG),
    row(23, "doctype", instead(b'<!DOCTYPE urlset SYSTEM "', b"x", b'">'), NOTHING, good=NONE),
    row(24, "declaration", instead(b"<?xml ", b" ", b'version="1.0"?>'), NOTHING, good=NONE),
    row(25, "loc", around(OPEN, b"x", CLOSE), LONG),
    row(
        25, "loc-that-is-cut", lambda: chain([START, OPEN], flood(b"x")), LONG, IssueCode.TRUNCATED
    ),
    row(25, "loc-below-the-limit", around(OPEN, b"x", CLOSE, MB), IssueCode.FIELD_TOO_LONG),
    row(26, "references", around(OPEN, b"&amp;", CLOSE), LONG),
    row(
        26,
        "references-below-the-limit",
        around(OPEN, b"&amp;", CLOSE, MB),
        IssueCode.FIELD_TOO_LONG,
    ),
    row(
        26,
        "ampersands-below-the-limit",
        around(OPEN, b"&", CLOSE, MB),
        IssueCode.FIELD_TOO_LONG,
        IssueCode.BARE_AMPERSAND,
    ),
    row(27, "cdata", around(b"<url><loc><![CDATA[", b"x", b"]]>" + CLOSE), LONG),
    row(28, "newlines", around(b"", b"\n")),
    row(
        28,
        "newlines-in-text",
        instead(ODD.encode() + b"\n", b"\n", size=8 * MB),
        IssueCode.NOT_A_URL,
        IssueCode.UNTIDY_LINE,
        good=NONE,
        others=(ODD,),
    ),
)

# -- 30 to 36: more than anybody would write

SPLIT = b"x<!---->"
IMAGES = b'<url xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><loc>https://www.example.org/odd</loc>'
VIDEO = b'<url xmlns:v="http://www.google.com/schemas/sitemap-video/1.1"><loc>https://www.example.org/odd</loc><v:video>'
LINKS = b'<url xmlns:h="http://www.w3.org/1999/xhtml"><loc>https://www.example.org/odd</loc>'


def attributes(pattern: bytes, count: int) -> bytes:
    """Make a record whose one child has many attributes."""
    return OPEN + b"</loc><a" + b"".join(pattern % n for n in range(count)) + b"/></url>"


def numbered(unit: bytes, number: int, count: int = 1000) -> bytes:
    """Make a thousand of something, each with two numbers that no other has."""
    return b"".join(unit % (n, n) for n in range(number * count, number * count + count))


def differing(
    start: bytes, unit: bytes, end: bytes = b"", count: int = 1000
) -> Callable[[], Iterable[bytes]]:
    """Put a thousand times a thousand of something that differs behind the start of a document."""
    return lambda: chain([start], (numbered(unit, n) for n in range(count)), [end])


def long_name(number: int) -> bytes:
    """Make a record with an element whose name is half a megabyte long."""
    name = b"x%d" % number * 120_000
    return b"<url><loc>http://x/%d</loc><%s/></url>" % (number, name[:500_000])


def long_namespace(number: int) -> bytes:
    """Make a record with an element whose namespace is half a megabyte long."""
    uri = b"x%d" % number * 120_000
    return b'<url><loc>http://x/%d</loc><x xmlns="%s"/></url>' % (number, uri[:60_000])


TOP = DECLARATION + ROOT + BEFORE
NAMED = b"<url><loc>http://x/%d</loc><x%d/></url>"
FEED_NAMED = b"<item><link>http://x/%d</link><x:x%d/></item>"
RECORDS = (
    row(30, "depth", around(b"<url>", b"<a>", b"</url>"), LONG),
    row(30, "depth-outside", around(b"", b"<a>"), IssueCode.NOT_WELL_FORMED),
    row(30, "depth-below-the-limit", around(b"<url>", b"<a>", b"</url>", MB), IssueCode.TOO_DEEP),
    row(31, "children", around(OPEN + b"</loc>", b"<a/>", b"</url>"), LONG),
    row(
        31,
        "children-below-the-limit",
        around(OPEN + b"</loc>", b"<a/>", b"</url>", MB),
        IssueCode.TOO_MANY_ELEMENTS,
    ),
    row(31, "extras", around(OPEN + b"</loc>", b"<a>x</a>", b"</url>", 79_000), others=(ODD,)),
    row(
        31,
        "locs",
        around(OPEN + b"</loc>", b"<loc>https://www.example.org/x</loc>", b"</url>", 340_000),
        IssueCode.REPEATED_LOC,
        others=9_000,
    ),
    row(
        31,
        "images",
        around(IMAGES, b"<i:image><i:loc>http://x/</i:loc></i:image>", b"</url>", 200_000),
        others=(ODD,),
    ),
    row(
        31,
        "tags-of-a-video",
        around(VIDEO, b"<v:tag>x</v:tag>", b"</v:video></url>", 150_000),
        others=(ODD,),
    ),
    row(
        31,
        "alternates",
        around(LINKS, b'<h:link rel="alternate" href="/x" hreflang="x"/>', b"</url>", 440_000),
        others=(ODD,),
    ),
    row(
        31,
        "pieces-of-text",
        around(OPEN, SPLIT, CLOSE, len(SPLIT) * 60_000),
        IssueCode.LONG_LOC,
        others=1,
    ),
    row(31, "pieces-of-long-text", around(OPEN, SPLIT, CLOSE, MB), IssueCode.FIELD_TOO_LONG),
    row(
        31,
        "text-between-children",
        around(OPEN + b"</loc>", b"xxxxxxxxxxxxxxxxxxxx<a/>", b"</url>", 132_000),
        others=(ODD,),
    ),
    row(
        32,
        "attributes",
        lambda: [badinputs.around(attributes(b' a%d="1"', 90_000))],
        IssueCode.FIELD_TOO_LONG,
    ),
    row(
        32,
        "attributes-and-a-fault",
        lambda: [badinputs.around(b"<url>&</url>" + attributes(b' a%d="1"', 90_000))],
        IssueCode.BARE_AMPERSAND,
        IssueCode.MALFORMED,
        IssueCode.FIELD_TOO_LONG,
    ),
    row(
        32,
        "attributes-of-the-root",
        instead(b"<urlset ", b'a="b" ', b">", 200_000),
        IssueCode.NAMESPACE,
        IssueCode.NESTED_ROOT,
        IssueCode.NOT_WELL_FORMED,
    ),
    row(
        32,
        "one-long-attribute",
        around(b'<url a="', b"&amp;", b'">' + OPEN[5:] + CLOSE, MB),
        IssueCode.FIELD_TOO_LONG,
    ),
    row(33, "many-names", differing(TOP, NAMED), IssueCode.TOO_MANY_NAMES, good=FIRST, others=2000),
    row(
        33, "long-names", lambda: chain([TOP], map(long_name, range(60)), [AFTER + END]), others=60
    ),
    row(
        33,
        "names-in-a-feed",
        differing(b"<rss xmlns:x='x'><channel>", FEED_NAMED),
        OVER,
        IssueCode.TRUNCATED,
        good=NONE,
        others=1_000_000,
    ),
    row(
        34,
        "namespaces-of-the-root",
        differing(
            TOP.replace(b"<urlset", b"<urlset" + numbered(b' xmlns:a%d="u%d"', 0, 9000)),
            b"<url><loc>http://x/%d?a&b=%d</loc></url>",
            AFTER + END,
            20,
        ),
        IssueCode.BARE_AMPERSAND,
        IssueCode.NAMESPACE,
        IssueCode.TOO_MANY_ATTRIBUTES,
        others=20_000,
    ),
    row(
        34,
        "namespaces-of-one-element",
        lambda: [badinputs.around(attributes(b' xmlns:a%d="u"', 60_000))],
        IssueCode.FIELD_TOO_LONG,
    ),
    row(
        34,
        "namespaces-of-inner-roots",
        differing(TOP, b'<urlset xmlns:a%d="u%d">', AFTER + END, 500),
        IssueCode.NESTED_ROOT,
    ),
    row(
        34,
        "long-namespaces",
        lambda: chain([TOP], map(long_namespace, range(60)), [AFTER + END]),
        others=60,
    ),
    row(
        35,
        "empty-records",
        around(b"", b"<url/>"),
        IssueCode.MISSING_LOC,
        LARGE,
        good=FIRST,
        limits=FEWER,
    ),
    row(
        35,
        "empty-records-with-end-tags",
        around(b"", b"<url></url>"),
        IssueCode.MISSING_LOC,
        LARGE,
        good=FIRST,
        limits=FEWER,
    ),
    row(
        35,
        "open-records",
        around(b"", b"<url>"),
        IssueCode.MISMATCHED_TAG,
        IssueCode.MALFORMED,
        LARGE,
        good=FIRST,
        limits=FEWER,
    ),
    row(
        35,
        "broken-records",
        around(b"", b"<url>&</url>"),
        IssueCode.BARE_AMPERSAND,
        IssueCode.MALFORMED,
        LARGE,
        good=FIRST,
        limits=FEWER,
    ),
    row(35, "good-records", around(b"", badinputs.record()), OVER, others=900_000),
    row(
        35,
        "lines",
        instead(ODD.encode() + b"\n", b"x\n"),
        IssueCode.NOT_A_URL,
        LARGE,
        good=NONE,
        others=(ODD,),
    ),
)
FLOODS = (
    row(36, "comments", around(b"", b"<!---->", size=8 * MB)),
    row(36, "instructions", around(b"", b"<?x?>", size=8 * MB)),
    row(36, "sections", around(b"", b"<![CDATA[]]>", size=8 * MB)),
    row(36, "open-comments", around(b"", b"<!--"), IssueCode.TRUNCATED, good=FIRST),
    row(
        36,
        "open-sections",
        around(OPEN, b"<![CDATA[", CLOSE),
        LONG,
        IssueCode.TRUNCATED,
        good=FIRST,
    ),
    row(36, "open-sections-outside", around(b"", b"<![CDATA["), IssueCode.TRUNCATED, good=FIRST),
    row(36, "open-instructions", around(b"", b"<?"), IssueCode.TRUNCATED, good=FIRST),
    row(
        36,
        "records-in-open-sections",
        around(b"", b"<url><loc><![CDATA[http://x/</loc></url>", size=2_600_000),
        IssueCode.MISMATCHED_TAG,
        OVER,
        others=54_000,
    ),
    row(
        36,
        "records-in-an-open-instruction",
        around(b"", b"<url><?x <loc>http://x/</loc></url>", size=2_600_000),
        IssueCode.NOT_WELL_FORMED,
        OVER,
        others=54_000,
    ),
    row(
        36,
        "end-tags-in-comments",
        around(b"", b"<url><!--</url>--><loc>http://x/</loc></url>", size=2_600_000),
        OVER,
        others=54_000,
    ),
    row(
        36,
        "hidden-end-tag",
        around(OPEN + b"<![CDATA[</url>", b"<?x?>", b"</url>", 3 * MB),
        IssueCode.MALFORMED,
        IssueCode.MISMATCHED_TAG,
        IssueCode.NOT_WELL_FORMED,
    ),
    row(36, "less-than", around(b"", b"<", size=8 * MB), IssueCode.NOT_WELL_FORMED),
    row(
        36,
        "less-than-in-a-record",
        around(OPEN, b"<", CLOSE, MB),
        IssueCode.BARE_LESS_THAN,
        IssueCode.FIELD_TOO_LONG,
    ),
    row(36, "tag-ends", around(b"", b"</", size=8 * MB), IssueCode.NOT_WELL_FORMED),
    row(
        36,
        "tag-ends-in-a-section",
        around(OPEN + b"<![CDATA[", b"</", b"</url>", MB),
        IssueCode.TRUNCATED,
        good=FIRST,
    ),
    row(36, "end-tags", around(b"", b"</a>", size=8 * MB), IssueCode.NOT_WELL_FORMED),
    row(36, "end-tags-of-records", around(b"", b"</url>", size=8 * MB), IssueCode.NOT_WELL_FORMED),
    row(36, "end-tags-of-roots", around(b"", b"</urlset>", size=8 * MB), IssueCode.NOT_WELL_FORMED),
    row(36, "roots", around(b"", b"<urlset>"), IssueCode.NESTED_ROOT),
    row(
        36,
        "quotes",
        around(OPEN, b'<a "', CLOSE, MB),
        IssueCode.BARE_LESS_THAN,
        IssueCode.FIELD_TOO_LONG,
    ),
    row(36, "quotes-of-two-kinds", around(OPEN, b"<a b=\"'>", CLOSE, MB), IssueCode.TOO_DEEP),
    row(
        36, "controls", around(OPEN, b"\x0b", CLOSE, MB), IssueCode.CONTROL_CHARACTER, others=(ODD,)
    ),
    row(
        36,
        "bad-bytes",
        around(OPEN, b"\xff", CLOSE, MB),
        IssueCode.FIELD_TOO_LONG,
        IssueCode.ENCODING,
    ),
    row(36, "tags-before-the-root", instead(b"", b"<a>"), NOTHING, good=NONE),
    row(36, "less-than-before-the-root", instead(b"", b"<"), NOTHING, good=NONE),
    row(36, "quotes-before-the-root", instead(b"", b'<a "'), NOTHING, good=NONE),
    row(36, "doctypes-before-the-root", instead(b"", b"<!doctype a>"), NOTHING, good=NONE),
    row(36, "open-doctypes-before-the-root", instead(b"", b'<!doctype a "'), NOTHING, good=NONE),
    row(
        36,
        "declaration-of-encodings",
        instead(b"", b"<?xml encoding='"),
        IssueCode.ENCODING_UNSUPPORTED,
        good=NONE,
    ),
    row(
        36,
        "japanese-escapes",
        instead(DECLARATION.replace(b"UTF-8", b"iso-2022-jp") + ROOT, b"\x1b$B"),
        IssueCode.ENCODING,
        IssueCode.TRUNCATED,
        good=NONE,
    ),
)

# -- 65 to 78: compression

COMPRESSED = (
    row(65, "zeros", packed(lambda: chain([START], flood(b"\0", 300 * MB))), OVER, LARGE),
    row(
        65,
        "zeros-in-one-piece",
        whole(packed(lambda: chain([START], flood(b"\0", 300 * MB)))),
        OVER,
        LARGE,
    ),
    row(65, "newlines", packed(lambda: chain([START], flood(b"\n", 300 * MB))), OVER, LARGE),
    row(
        66,
        "packed-twice",
        packed(packed(lambda: chain([START], flood(b"\n", 300 * MB)))),
        IssueCode.COMPRESSION_NESTED,
        OVER,
        LARGE,
    ),
    row(
        66,
        "zeros-behind-the-inner",
        packed(lambda: chain([badinputs.PACKED], flood(b"\0", 300 * MB))),
        IssueCode.COMPRESSION_NESTED,
        LARGE,
    ),
    row(
        66,
        "garbage-behind-the-inner",
        packed(lambda: chain([badinputs.PACKED], flood(b"x", 400 * MB))),
        IssueCode.COMPRESSION_NESTED,
        LARGE,
    ),
    row(
        72,
        "garbage-behind",
        lambda: chain([badinputs.PACKED], flood(b"x")),
        IssueCode.COMPRESSION_TRAILING_BYTES,
    ),
    row(
        77,
        "members",
        lambda: chain([badinputs.PACKED], flood(badinputs.member(b""), 4 * MB)),
        IssueCode.COMPRESSION_TOO_MANY_MEMBERS,
    ),
    row(
        77,
        "members-in-one-piece",
        whole(lambda: chain([badinputs.PACKED], flood(badinputs.member(b""), 4 * MB))),
        IssueCode.COMPRESSION_TOO_MANY_MEMBERS,
    ),
    row(77, "stored-in-one-piece", whole(packed(around(b"", b"\n"), level=0))),
    row(
        78,
        "name",
        lambda: chain([badinputs.HEADER[:3] + b"\x08" + badinputs.HEADER[4:]], flood(b"n")),
        IssueCode.COMPRESSION_TRUNCATED,
        good=NONE,
    ),
)

# -- 157: feeds

ITEM = b"<item><title>x &amp; y</title><link>http://x/</link><pubDate>2024-01-01</pubDate></item>"
FEED = row(
    157,
    "feed",
    lambda: chain([b"<rss><channel>"], flood(ITEM, 21 * MB), [b"</channel></rss>"]),
    OVER,
    good=NONE,
    others=200_000,
)

BOMBS = (*TOKENS, *RECORDS, *FLOODS, *COMPRESSED, FEED)
ALL_INPUTS = tuple(sorted((*badinputs.BAD_INPUTS, *BOMBS), key=lambda bad: bad.id))


# -- reading one, and what it takes


class Probe:
    """Feeds a reader as an event loop would, and remembers how long that was held up."""

    def __init__(self, bad: BadInput) -> None:
        self.reader = SitemapReader(badinputs.URL, limits=bad.limits)
        self.gap_seconds = 0.0
        self.good: list[str] = []
        self.others: list[str] = []
        self.count = 0

    def read(self, pieces: Iterable[bytes]) -> None:
        """Read a document; once the reader has enough, the rest is not made."""
        for piece in pieces:
            self._take(self.reader.feed_steps(piece))
            if self.reader.finished:
                break
        self._take(self.reader.close_steps())

    def _take(self, steps: Iterator[list[Event]]) -> None:
        start = time.thread_time()
        for events in steps:
            self.gap_seconds = max(self.gap_seconds, time.thread_time() - start)
            for event in events:
                if not isinstance(event, Issue):
                    self._note(event.loc)
            start = time.thread_time()
        self.gap_seconds = max(self.gap_seconds, time.thread_time() - start)

    def _note(self, loc: str) -> None:
        self.count += 1
        if loc in ALL:
            self.good.append(loc)
        elif len(self.others) < KEPT:
            self.others.append(loc)


@attrs.frozen
class Reading:
    """What came out of a bad input, and what it took.

    Attributes:
        issues: the codes of all Issues.
        good: the good records that were delivered, in their order.
        others: locs of other records that were delivered, the first of them.
        count: how many records were delivered.
        is_sound: records = delivered + dropped, and what the ledger says was delivered was.
        seconds: of the processor, with what a process that salvages a feed has used.
        gap_ms: the longest time, of the processor, between two steps.
        peak_mb: the most memory in use while reading, above what was in use before.
    """

    issues: frozenset[str]
    good: tuple[str, ...]
    others: tuple[str, ...]
    count: int
    is_sound: bool
    seconds: float
    gap_ms: float
    peak_mb: float

    def judge(self, bad: BadInput) -> list[str]:
        """List what is not as it should be."""
        faults = []
        if self.issues != bad.issues:
            faults.append(f"issues {sorted(self.issues)}, not {sorted(bad.issues)}")
        if not self.is_sound:
            faults.append("the counts do not add up")
        if isinstance(bad.others, int):
            if self.good != bad.good or self.count < len(bad.good) + bad.others:
                faults.append(f"{self.count} records, {len(self.good)} of them good")
        elif sorted(self.good + self.others) != sorted(bad.good + bad.others):
            faults.append(f"{len(self.good)} good records, and {self.others}")
        if not is_within(self.seconds, bad.seconds):
            faults.append(f"{self.seconds:.1f} seconds")
        return faults


def read(bad: BadInput) -> Reading:
    """Read a bad input, as it is fed by a network."""
    pieces = bad.make()
    probe = Probe(bad)
    start, before = cpu_seconds(), reset_peak_mb()
    probe.read(pieces)
    ledger = probe.reader.stats
    return Reading(
        issues=frozenset(ledger.counts),
        good=tuple(probe.good),
        others=tuple(probe.others),
        count=probe.count,
        is_sound=ledger.records == ledger.delivered + ledger.dropped
        and ledger.delivered == probe.count,
        seconds=cpu_seconds() - start,
        gap_ms=probe.gap_seconds * 1000,
        peak_mb=peak_mb() - before,
    )


def read_apart(bad: BadInput) -> Reading:
    """Read a bad input in a process of its own, so that its memory is nobody else's."""
    if launcher.IS_POSSIBLE:
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        order: Order = (f"{code}import bombs; bombs.main()", [bad.id], "/", dict(os.environ))
        printed = launch(get_launcher().start, order, timeout=600).stdout
    else:
        command = [sys.executable, __file__, bad.id]
        printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    values = json.loads(printed)
    for name in ("good", "others"):
        values[name] = tuple(values[name])
    return Reading(**values | {"issues": frozenset(values["issues"])})


def cpu_seconds() -> float:
    """Return what this process and those that it waited for have used."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def reset_peak_mb() -> float:
    """Forget the most memory that this process has had, where the system can; return it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_mb()


def peak_mb() -> float:
    """Return the most memory that this process has had, in MB."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:  # not Linux
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (MB if sys.platform == "darwin" else 1000)
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / MB


def main() -> None:
    """Read the input that is named on the command line, and print what came of it."""
    bad = next(bad for bad in ALL_INPUTS if bad.id == sys.argv[1])
    read(ALL_INPUTS[0])  # what is imported or cached on first use is not the bomb's
    json.dump(attrs.asdict(read(bad)), sys.stdout, default=sorted)


if __name__ == "__main__":
    main()
