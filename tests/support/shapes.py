"""Markup that is aimed at the patterns of a reader: long, deep, not ended, or nearly right.

`python benchmarks/hostile_shapes.py` prints what each of them costs.
"""

from __future__ import annotations

import gc
import time
from typing import NamedTuple

from sitemapreader.readers import SitemapReader

KIB = 1024
SIZES = (16 * KIB, 64 * KIB, 256 * KIB)
CHUNK_BYTES = 32 * KIB
"""As it comes from the network."""
ROUNDS = 1
LEAST_MS = 20.0
"""Less than this for 64 KiB is cheap: growth from there may be another way of reading (mending)."""
URLSET = (
    b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    b' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    b' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    b' xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:x="urn:x">'
)
RSS = b'<rss xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:x="urn:x"><channel>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="urn:x">'
ENDS = {URLSET: b"</urlset>", RSS: b"</channel></rss>", ATOM: b"</feed>"}
GOOD = {
    URLSET: b"<url><loc>https://www.example.com/good</loc><lastmod>2024-01-02</lastmod></url>",
    RSS: b"<item><link>https://www.example.com/good</link></item>",
    ATOM: b'<entry><link href="https://www.example.com/good"/></entry>',
}
LOC = b"<loc>https://www.example.com/1</loc>"
LINK = b'<xhtml:link rel="alternate" hreflang="de" href="https://www.example.com/de"/>'
PREFIXES = b"".join(b' xmlns:%sp{n}-%03d="u"' % (b"x" * 50, number) for number in range(180))
IMAGE = b"<image:image><image:loc>https://cdn.example.com/1.jpg</image:loc></image:image>"


class Shape(NamedTuple):
    """A flood of one thing, between healthy records.

    Attributes:
        name: what is repeated where.
        before: what stands before the flood.
        unit: what is repeated until the document has its size; `{n}` is a number of six digits.
        after: what stands behind the flood.
        root: the start of the document.
    """

    name: str
    before: bytes
    unit: bytes
    after: bytes
    root: bytes = URLSET

    def make(self, size: int) -> bytes:
        """Make a document of about so many bytes."""
        good = GOOD[self.root]
        unit = self.unit.replace(b"{n}", b"%06d")
        count = size // len(unit.replace(b"%06d", b"000000"))
        places = unit.count(b"%06d")
        flood = (
            b"".join(unit % ((number,) * places) for number in range(count))
            if places
            else unit * count
        )
        return self.root + good + self.before + flood + self.after + good + ENDS[self.root]


def in_loc(name: str, unit: bytes, after: bytes = b"</loc></url>") -> Shape:
    """Flood the loc of a record."""
    return Shape(f"loc: {name}", b"<url><loc>https://www.example.com/", unit, after)


def in_record(name: str, unit: bytes, after: bytes = b"</url>") -> Shape:
    """Flood a record, behind its loc."""
    return Shape(f"record: {name}", b"<url>" + LOC, unit, after)


def in_tag(name: str, unit: bytes, after: bytes = b">" + LOC + b"</url>") -> Shape:
    """Flood the start tag of a record."""
    return Shape(f"tag: {name}", b"<url ", unit, after)


def between(name: str, unit: bytes) -> Shape:
    """Flood the place between two records; or it with records of a kind."""
    return Shape(f"records: {name}", b"", unit, b"")


def in_feed(name: str, before: bytes, unit: bytes, after: bytes, root: bytes = RSS) -> Shape:
    """Flood a feed."""
    return Shape(f"{'rss' if root is RSS else 'atom'}: {name}", before, unit, after, root)


SHAPES = (
    in_loc("blanks", b" "),
    in_loc("lines", b"\r\n"),
    in_loc("blanks, not ended", b" ", b""),
    in_loc("letters, not ended", b"a", b""),
    in_loc("half end tags", b"</lo"),
    in_loc("end tags without >", b"</loc "),
    in_loc("start tags", b"<loc>"),
    in_loc("less-than signs", b"<"),
    in_loc("greater-than signs", b">"),
    in_loc("ampersands", b"&"),
    in_loc("references", b"&amp;"),
    in_loc("references, not ended", b"&amp"),
    in_loc("references to characters", b"&#x41;"),
    in_loc("half references", b"&#x"),
    in_loc("ends of sections", b"]]>"),
    in_loc("sections", b"<![CDATA[a]]>"),
    in_loc("sections, not ended", b"<![CDATA["),
    in_loc("brackets in a section, not ended", b"]]", b"</loc></url>")._replace(
        before=b"<url><loc><![CDATA["
    ),
    in_loc("comments", b"<!-- c -->"),
    in_loc("comments, not ended", b"<!-- "),
    in_loc("hyphens in a comment, not ended", b"-")._replace(before=b"<url><loc><!--"),
    in_loc("instructions, not ended", b"<?a "),
    in_loc("bytes that are no UTF-8", b"\xff"),
    in_loc("long characters", "日本".encode()),
    in_record("locs", LOC),
    in_record("dates", b"<lastmod>2024-01-02</lastmod>"),
    in_record("fields in turn", b"<lastmod/><changefreq>daily</changefreq><priority>1</priority>"),
    in_record("unknown elements", b"<x:a>b</x:a>"),
    in_record("unknown elements, nested", b"<x:a>"),
    in_record("elements of no namespace", b"<y:a/>"),
    in_record("records in the record", b"<url>"),
    in_record("names nearly known", b"<lastmo>2024</lastmo>"),
    in_record("fields with blanks in their tags", b"<lastmod  >2024-01-02</lastmod  >"),
    in_record("digits of a date", b"0", b"</lastmod></url>")._replace(
        before=b"<url>" + LOC + b"<lastmod>2024-01-02T03:04:05."
    ),
    in_record("digits of a priority", b"1", b"</priority></url>")._replace(
        before=b"<url>" + LOC + b"<priority>0."
    ),
    in_record("declarations in a text", b"xmlns", b"</x:a></url>")._replace(
        before=b"<url>" + LOC + b"<x:a>"
    ),
    in_record("declarations in a text, nearly", b" xmlns=", b"</x:a>&</url>")._replace(
        before=b"<url>" + LOC + b"<x:a>"
    ),
    in_record(
        "declarations in a text, with quotes", b" xmlns='\" xmlns=\"'", b"</x:a></url>"
    )._replace(before=b"<url>" + LOC + b"<x:a>"),
    in_record("zeros of a reference", b"0", b"65;</x:a></url>")._replace(
        before=b"<url>" + LOC + b"<x:a>&#"
    ),
    in_record("zeros of a reference, not ended", b"&#0", b"</x:a></url>")._replace(
        before=b"<url>" + LOC + b"<x:a>"
    ),
    in_record("references with zeros", b"&#" + b"0" * 5_000 + b"65;", b"</x:a></url>")._replace(
        before=b"<url>" + LOC + b"<x:a>"
    ),
    in_record("images", IMAGE),
    in_record("images, record not ended", IMAGE, b""),
    in_record("images, not ended", b"<image:image><image:loc>https://cdn.example.com/</image:loc>"),
    in_record("images that are empty", b"<image:image></image:image>\n"),
    in_record("images with a half end tag", IMAGE[:-8]),
    in_record("links", LINK),
    in_record("links, record not ended", LINK, b""),
    in_record("links, not ended", LINK[:-2]),
    in_record("links without quotes", b"<xhtml:link rel=alternate href=/x />"),
    in_record("links with many blanks", b"<xhtml:link" + b" " * 200 + b'href = "/x"/>'),
    in_record("tags of a video", b"<video:tag>t</video:tag>", b"</video:video></url>")._replace(
        before=b"<url>" + LOC + b"<video:video>"
    ),
    in_record("digits of a video", b"9", b"</video:duration></video:video></url>")._replace(
        before=b"<url>" + LOC + b"<video:video><video:duration>"
    ),
    in_record("sections in a comment", b"<![CDATA[", b"--></url>")._replace(
        before=b"<url>" + LOC + b"<!--"
    ),
    in_record("sections in a comment with hyphens", b"<![CDATA[", b"--></url>")._replace(
        before=b"<url>" + LOC + b"<!-- -- "
    ),
    in_record("sections in an instruction", b"<![CDATA[", b"?></url>")._replace(
        before=b"<url>" + LOC + b"<?a "
    ),
    in_record("sections and comments in an instruction", b"<![CDATA[<!--", b"?>&</url>")._replace(
        before=b"<url>" + LOC + b"<?a "
    ),
    in_record("comments and instructions in a section", b"<!--<?", b"]]>&</url>")._replace(
        before=b"<url>" + LOC + b"<![CDATA["
    ),
    in_record("records, sections in a comment", b"<![CDATA[<url>", b"--></url>")._replace(
        before=b"<url>" + LOC + b"<x:a><!-- -- "
    ),
    in_record("sections with ends in many elements", b"<x:a{n}><![CDATA[</url>]]></x:a{n}>&"),
    in_record("sections with ends, elements not closed", b"<x:a{n}><![CDATA[</url>]]>&"),
    in_record("sections in sections", b"<x:a><![CDATA[<![CDATA[</url><x:a>]]></x:a>&"),
    in_record("sections in sections, not closed", b"<x:a{n}><![CDATA[<![CDATA[</x:a{n}></url>]]>"),
    in_tag("blanks", b" "),
    in_tag("attributes", b'a="b" '),
    in_tag("attributes without value", b"a "),
    in_tag("equals signs", b"="),
    in_tag("double quotes", b'"'),
    in_tag("both quotes", b"'\""),
    in_tag("a value, not ended", b"a", b"")._replace(before=b'<url a="'),
    in_tag("namespaces", b'xmlns:n="urn:n" '),
    in_tag("letters of a name", b"l", b">")._replace(before=b"<url"),
    between("blanks", b" \n"),
    between("half tags", b"<url"),
    between("end tags", b"</url>"),
    between("end tags with blanks", b"</url" + b" " * 50),
    between("that are empty", b"<url></url>"),
    between("with a comment each", b"<url>" + LOC + b"<!-- c --></url>"),
    between("with an ampersand each", b"<url><loc>https://www.example.com/?a&b</loc></url>"),
    between("with an end tag missing", b"<url>" + LOC),
    between("in a section", b"<![CDATA[<url>" + LOC + b"</url>]]>"),
    between("that bind a prefix each", b'<w xmlns:p{n}="urn:p">' + GOOD[URLSET] + b"</w>"),
    between("that bind a prefix each, not closed", b'<w xmlns:p{n}="urn:p">' + GOOD[URLSET]),
    between("behind long prefixes", b'<w xmlns:p="urn:{n}"/><url/>')._replace(
        before=b"<w" + PREFIXES[:720] + b">", after=b"</w>"
    ),
    between("with other prefixes each", b"<w" + PREFIXES + b">" + GOOD[URLSET] + b"</w>"),
    in_feed("other prefixes each", b"", b"<w" + PREFIXES + b">" + GOOD[RSS] + b"</w>", b""),
    in_feed(
        "others for each entry", b"", b"<w" + PREFIXES + b">" + GOOD[ATOM] + b"</w>", b"", ATOM
    ),
    between("in other namespaces", b"<x:url>" + LOC + b"</x:url>"),
    in_feed("records of another namespace", b"<item>", b"<x:item>a</x:item>", b"</item>"),
    in_feed("sections, not ended", b"<item><link>", b"<![CDATA[</link></item><item><link>", b""),
    in_feed(
        "items in a section",
        b"<item><content:encoded><![CDATA[",
        b"<item><link>https://x.example/</link></item>",
        b"]]></content:encoded></item>",
    ),
    in_feed("blanks in a link", b"<item><link>", b" \n", b"</link></item>"),
    in_feed("titles", b"<item>", b"<title>a &amp; b</title>", b"</item>"),
    in_feed("links", b"<entry>", b'<link href="/1"/>', b"</entry>", ATOM),
    in_feed("markup", b'<entry><content type="xhtml">', b"<p>a</p>", b"</content></entry>", ATOM),
    in_feed("quotes in a link", b"<entry><link href=", b"\"'", b"/></entry>", ATOM),
)


class Timing(NamedTuple):
    """What reading a document took: CPU milliseconds in all, and of the longest step."""

    milliseconds: float
    longest_step: float


def read_once(data: bytes) -> Timing:
    """Read a document in chunks, step by step."""
    reader = SitemapReader("https://www.example.com/sitemap.xml")
    longest = 0.0
    start = last = time.thread_time()
    chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    for steps in (*map(reader.feed_steps, chunks), reader.close_steps()):
        for _ in steps:
            now = time.thread_time()
            longest, last = max(longest, now - last), now
    return Timing((time.thread_time() - start) * 1000, longest * 1000)


def measure(shape: Shape) -> list[Timing]:
    """Read a shape in each size; the shortest of some rounds counts, for what else is going on."""
    timings = []
    for size in SIZES:
        data = shape.make(size)
        gc.collect()
        rounds = [read_once(data) for _ in range(ROUNDS)]
        timings.append(Timing(*map(min, zip(*rounds, strict=True))))
    return timings


def per_block(timings: list[Timing]) -> float:
    """Return the milliseconds that the costliest size takes for 32 KiB."""
    sizes = (size / (32 * KIB) for size in SIZES)
    return max(timing.milliseconds / blocks for timing, blocks in zip(timings, sizes, strict=True))


def growth(timings: list[Timing], slow: float = 1.0) -> float:
    """Return how many times longer four times the size takes: 4 if time is linear, 16 if square.

    Args:
        timings: of sizes that follow each other.
        slow: how many times slower the machine is than the one `LEAST_MS` is written for.
    """
    *_, middle, large = (max(timing.milliseconds, LEAST_MS * slow) for timing in timings)
    return large / middle
