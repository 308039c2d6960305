"""What documents can hold to hurt or fool a reader, and what must come out all the same.

The numbers are those of the threat list, 1 to 88 and 152 to 158.
Most hold twelve good records, eight of them before what is bad and four behind it. The big ones,
which are made piece by piece, are in `bombs`.
"""

from __future__ import annotations

import codecs
import gzip
import struct
import zlib
from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HOST = "https://www.example.org/"
URL = HOST + "sitemap.xml"
GOOD = tuple(f"{HOST}good/{number}" for number in range(1, 13))
"""The locs of the good records."""
ODD = HOST + "odd"
"""The loc of the record that is not, where it is delivered too."""
ALL, FIRST, NONE = GOOD, GOOD[:8], ()

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
ROOT = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
RECORDS = tuple(f"<url><loc>{loc}</loc></url>\n".encode() for loc in GOOD)
BEFORE, AFTER = b"".join(RECORDS[:8]), b"".join(RECORDS[8:])
END = b"</urlset>\n"
BODY = ROOT + BEFORE + AFTER + END
"""All good records and nothing else, without a declaration."""


def around(bad: bytes) -> bytes:
    """Put something bad between the eighth good record and the ninth."""
    return DECLARATION + ROOT + BEFORE + bad + AFTER + END


def behind(bad: bytes) -> bytes:
    """Put something bad behind all good records, and nothing behind it."""
    return DECLARATION + ROOT + BEFORE + AFTER + bad


def prolog(bad: bytes) -> bytes:
    """Put something bad before the root element."""
    return DECLARATION + bad + BODY


def record(loc: str = ODD, more: str = "") -> bytes:
    """Make the odd record."""
    return f"<url><loc>{loc}</loc>{more}</url>\n".encode()


def declared(encoding: str, codec: str = "utf-8", mark: bytes = b"") -> bytes:
    """Write the good records in a codec, and declare an encoding."""
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + BODY.decode()
    return mark + text.encode(codec)


def corrupt(data: bytes, place: int, *values: int) -> bytes:
    """Change bytes, counted from the end if `place` is below zero."""
    changed = bytearray(data)
    place %= len(data)
    changed[place : place + len(values)] = values
    return bytes(changed)


def member(body: bytes) -> bytes:
    """Compress, the same in every run."""
    return gzip.compress(body, mtime=0)


@attrs.frozen
class BadInput:
    """One row: an input, and what must come out.

    Attributes:
        number: in the threat list.
        make: makes the document, in one piece or many.
        issues: the codes of all Issues that must be counted, and of no others.
        good: the good records that must be delivered.
        others: the locs of other records that are delivered; a number, where they are many.
        seconds: how long it may take on a slow machine.
    """

    number: int
    name: str
    make: Callable[[], Iterable[bytes]]
    issues: frozenset[IssueCode] = frozenset()
    good: tuple[str, ...] = ALL
    others: tuple[str, ...] | int = ()
    limits: Limits = attrs.field(factory=Limits)
    seconds: float = 10.0

    @property
    def id(self) -> str:
        """Number and name."""
        return f"{self.number:03}-{self.name}"


def row(
    number: int,
    name: str,
    data: bytes | Callable[[], Iterable[bytes]],
    *issues: IssueCode,
    good: tuple[str, ...] = ALL,
    others: tuple[str, ...] | int = (),
    limits: Limits | None = None,
    seconds: float = 10.0,
) -> BadInput:
    """Write a row of the table, of a document or of what makes one."""
    make = data if callable(data) else lambda: [data]
    return BadInput(
        number, name, make, frozenset(issues), good, others, limits or Limits(), seconds
    )


# -- 1 to 17: document type declarations


def subset(declarations: str, before: bytes = b"") -> bytes:
    """Make a document with an internal subset, and a reference to what it declares."""
    doctype = f"<!DOCTYPE urlset [{declarations}]>\n".encode()
    return DECLARATION + before + doctype + ROOT + BEFORE + record(f"{HOST}&x;") + AFTER + END


LAUGHS = '<!ENTITY l0 "ha">' + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)
)
QUADRATIC = subset(f'<!ENTITY x "{"x" * 35_000}">').replace(b"&x;", b"&x;" * 11_000)
QUIET = subset(f'<!ENTITY x "{"x" * 15_000}">').replace(b"&x;", b"&x;" * 560)
ATTLIST = subset(f'<!ATTLIST l x CDATA "{"x" * 500_000}">').replace(
    b"</url>", b"<l/>" * 4000 + b"</url>", 1
)
REFUSED = IssueCode.DTD_REFUSED

DOCTYPES = (
    row(1, "laughs", subset(LAUGHS + '<!ENTITY x "&l9;">'), REFUSED, good=NONE),
    row(2, "quadratic", QUADRATIC, REFUSED, good=NONE),
    row(3, "quiet-quadratic", QUIET, REFUSED, good=NONE),
    row(4, "attlist", ATTLIST, REFUSED, good=NONE),
    row(5, "empty-subset", subset(""), REFUSED, good=NONE),
    row(6, "external", subset('<!ENTITY x SYSTEM "file:///etc/hostname">'), REFUSED, good=NONE),
    row(
        7,
        "parameter",
        subset('<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;'),
        REFUSED,
        good=NONE,
    ),
    row(
        8,
        "utf-16",
        subset("").replace(b"UTF-8", b"UTF-16").decode().encode("utf-16"),
        REFUSED,
        good=NONE,
    ),
    row(9, "utf-8-sig", codecs.BOM_UTF8 + subset(""), REFUSED, IssueCode.LEADING_BYTES, good=NONE),
    row(10, "after-comments", subset("", b"<!-- x -->\n" * 500), REFUSED, good=NONE),
    row(11, "without-subset", prolog(b"<!DOCTYPE urlset>\n"), IssueCode.DOCTYPE),
    row(12, "system", prolog(b'<!DOCTYPE urlset SYSTEM "x[]>.dtd">\n'), IssueCode.DOCTYPE),
    row(12, "public", prolog(b'<!DOCTYPE urlset PUBLIC "-//x//y" "x.dtd">\n'), IssueCode.DOCTYPE),
    row(
        13,
        "skipped-entity",
        around(record(f"{ODD}?&copy;=2")).replace(ROOT, b'<!DOCTYPE u SYSTEM "x">' + ROOT),
        IssueCode.DOCTYPE,
        IssueCode.HTML_ENTITY,
        others=(f"{ODD}?\xa9=2",),
    ),
    row(
        13,
        "undefined-entity",
        around(record(f"{ODD}?&what;=2")),
        IssueCode.BARE_AMPERSAND,
        others=(f"{ODD}?&what;=2",),
    ),
    row(
        14,
        "nbsp",
        around(record(f"{ODD}&nbsp;2")),
        IssueCode.HTML_ENTITY,
        IssueCode.URL_CHARACTERS,
        others=(f"{ODD}\xa02",),
    ),
    row(15, "two", prolog(b"<!DOCTYPE urlset>\n<!DOCTYPE urlset>\n"), IssueCode.DOCTYPE),
    row(15, "two-and-a-subset", prolog(b"<!DOCTYPE u>\n<!DOCTYPE u [ ]>\n"), REFUSED, good=NONE),
    row(
        16,
        "inside-the-root",
        around(b"<!DOCTYPE urlset [ <!ENTITY x 'y'> ]>\n"),
        IssueCode.NOT_WELL_FORMED,
    ),
    row(17, "lower-case", prolog(b"<!doctype urlset>\n"), IssueCode.DOCTYPE),
)

# -- 29 to 34: records that are too much


def names(count: int) -> bytes:
    """Make records, each with an element of another name."""
    return b"".join(record(f"{ODD}{n}", f"<x{n}/>") for n in range(count))


def namespaces(count: int) -> bytes:
    """Make records, each with an element in another namespace."""
    return b"".join(record(f"{ODD}{n}", f'<x:x xmlns:x="u{n}"/>') for n in range(count))


def attributes(count: int) -> str:
    """Make attributes of a tag."""
    return "".join(f' a{n}="1"' for n in range(count))


SIZES = (
    row(29, "depth-32", around(record(more="<a>" * 31 + "</a>" * 31)), others=(ODD,)),
    row(29, "depth-33", around(record(more="<a>" * 32 + "</a>" * 32)), IssueCode.TOO_DEEP),
    row(31, "5001-children", around(record(more="<a/>" * 5001)), others=(ODD,)),
    row(31, "10001-children", around(record(more="<a/>" * 10_000)), IssueCode.TOO_MANY_ELEMENTS),
    row(32, "256-attributes", around(record(more=f"<a{attributes(256)}/>")), others=(ODD,)),
    row(
        32,
        "257-attributes",
        around(record(more=f"<a{attributes(257)}/>")),
        IssueCode.TOO_MANY_ATTRIBUTES,
    ),
    row(
        32,
        "257-attributes-of-the-record",
        around(record().replace(b"<url>", f"<url{attributes(257)}>".encode())),
        IssueCode.TOO_MANY_ATTRIBUTES,
    ),
    row(
        33,
        "names",
        lambda: [around(names(3000))],
        IssueCode.TOO_MANY_NAMES,
        good=FIRST,
        others=2000,
    ),
    row(
        34,
        "namespaces",
        lambda: [around(namespaces(3000))],
        IssueCode.TOO_MANY_NAMES,
        good=FIRST,
        others=2000,
    ),
)

# -- 37 to 58: broken markup

MARKUP = (
    row(37, "cut-in-loc", behind(b"<url><loc>https://www.exam"), IssueCode.TRUNCATED),
    row(38, "root-not-closed", behind(b""), IssueCode.TRUNCATED),
    row(39, "junk-behind", behind(END + b"junk & <more"), IssueCode.TRAILING_BYTES),
    row(40, "two-roots", DECLARATION + BODY + BODY, IssueCode.NESTED_ROOT, others=GOOD),
    row(
        41,
        "bare-ampersand",
        around(record(f"{ODD}?a=1&b=2")),
        IssueCode.BARE_AMPERSAND,
        others=(f"{ODD}?a=1&b=2",),
    ),
    row(42, "control", around(record(f"{ODD}\x0b")), IssueCode.CONTROL_CHARACTER, others=(ODD,)),
    row(43, "nul", around(record(f"{ODD}\0")), IssueCode.CONTROL_CHARACTER, others=(ODD,)),
    row(
        44,
        "bad-utf-8",
        around(record().replace(b"odd", b"odd\xff")),
        IssueCode.ENCODING,
        IssueCode.MALFORMED,
    ),
    row(
        45,
        "unbound-prefix",
        around(record(more=f"<image:image><image:loc>{ODD}.jpg</image:loc></image:image>")),
        IssueCode.UNBOUND_PREFIX,
        others=(ODD,),
    ),
    row(
        46,
        "reference-to-nul",
        around(record(f"{ODD}&#0;")),
        IssueCode.CONTROL_CHARACTER,
        others=(ODD,),
    ),
    row(46, "reference-to-surrogate", around(record(f"{ODD}&#xD800;")), IssueCode.MALFORMED),
    row(47, "leading-newline", b"\n" + DECLARATION + BODY, IssueCode.LEADING_BYTES),
    row(47, "mark-and-blank", codecs.BOM_UTF8 + b" " + DECLARATION + BODY, IssueCode.LEADING_BYTES),
    row(48, "xml-1.1", (DECLARATION + BODY).replace(b"1.0", b"1.1")),
    row(49, "shift-jis", declared("Shift_JIS", "shift_jis")),
    row(49, "gb2312", declared("GB2312", "gb2312")),
    row(49, "big5", declared("Big5", "big5")),
    row(50, "unknown", declared("x" * 5000), good=ALL),
    row(50, "unknown-short", declared("x-nothing"), IssueCode.ENCODING_UNSUPPORTED, good=NONE),
    *(
        row(51, name, declared(name), IssueCode.ENCODING_UNSUPPORTED, good=NONE)
        for name in ("unicode_escape", "raw_unicode_escape", "punycode", "idna", "undefined", "hz")
    ),
    row(52, "utf-7", declared("UTF-7"), IssueCode.ENCODING_UNSUPPORTED, good=NONE),
    row(53, "utf-32", declared("UTF-32", "utf-32"), IssueCode.ENCODING_UNSUPPORTED, good=NONE),
    row(53, "ebcdic", declared("cp037", "cp037"), IssueCode.NOT_A_SITEMAP, good=NONE),
    row(54, "utf-8-but-utf-16", declared("UTF-8", "utf-16")),
    row(
        55,
        "xinclude",
        around(
            record(
                more='<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" '
                'href="file:///etc/hostname" parse="text"/>'
            )
        ),
        others=(ODD,),
    ),
    row(56, "nested-in-loc", around(record(f"<b>{ODD}</b>")), others=(ODD,)),
    row(
        57,
        "loc-twice",
        around(record(more=f"<loc>{ODD}/2</loc>")),
        IssueCode.REPEATED_LOC,
        others=(ODD, f"{ODD}/2"),
    ),
    row(58, "no-namespace", BODY.replace(ROOT, b"<urlset>\n"), IssueCode.NAMESPACE),
    row(
        58,
        "wrong-namespace",
        BODY.replace(b"sitemaps.org", b"sitemap.example"),
        IssueCode.NAMESPACE,
    ),
    row(58, "upper-case", BODY.replace(b"urlset", b"URLSET").replace(b"url>", b"URL>")),
)

# -- 59 to 63: what is no sitemap

PAGE = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head><body><p>No<br></body></html>"
NO_SITEMAPS = (
    row(59, "no-bytes", b"", IssueCode.EMPTY, good=NONE),
    row(60, "blanks", b" \r\n\t\n" * 1000, IssueCode.EMPTY, good=NONE),
    row(61, "html", PAGE, IssueCode.HTML_NOT_SITEMAP, good=NONE),
    row(62, "json", b'{"urls": ["https://www.example.org/"]}', IssueCode.NOT_A_SITEMAP, good=NONE),
    row(
        62, "pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj <<>>", IssueCode.NOT_A_SITEMAP, good=NONE
    ),
    row(62, "png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", IssueCode.NOT_A_SITEMAP, good=NONE),
    row(
        63,
        "index-inside",
        around(f"<sitemap><loc>{ODD}</loc></sitemap>".encode()),
        IssueCode.NESTED_ROOT,
        others=(ODD,),
    ),
)

# -- 67 to 88: compression

PLAIN = DECLARATION + BODY
PACKED = member(PLAIN)
HEADER = PACKED[:10]
STORED = gzip.compress(behind(b"<!-- " + b"x" * 3000 + b" -->" + END), 0, mtime=0)
"""A gzip file with a comment in its end, and deflate data that can be damaged at a known place."""


def bad_block(body: bytes) -> bytes:
    """Compress, and go on with a block of a type that there is not."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(body) + packer.flush(zlib.Z_SYNC_FLUSH) + b"\xff" * 100


COMPRESSION = (
    row(
        67,
        "three-layers",
        member(member(PACKED)),
        IssueCode.COMPRESSION_NESTED,
        IssueCode.COMPRESSION_TOO_MANY_LAYERS,
        good=NONE,
    ),
    row(
        68,
        "zstd",
        b"\x28\xb5\x2f\xfd\x04\x58\x21\0\0abcd",
        IssueCode.NOT_A_SITEMAP,
        good=NONE,
    ),
    row(68, "brotli", b"\x0b\x02\x80abcde\x03", IssueCode.NOT_A_SITEMAP, good=NONE),
    row(69, "bad-checksum", corrupt(PACKED, -8, 1, 2, 3, 4), IssueCode.COMPRESSION_CHECKSUM),
    row(70, "bad-length", corrupt(PACKED, -4, 1, 2, 3, 4), IssueCode.COMPRESSION_CHECKSUM),
    row(71, "trailing-nuls", PACKED + bytes(1000)),
    row(72, "trailing-newline", PACKED + b"\n", IssueCode.COMPRESSION_TRAILING_BYTES),
    row(72, "trailing-garbage", PACKED + b"garbage" * 100, IssueCode.COMPRESSION_TRAILING_BYTES),
    row(73, "cut", STORED[:-200], IssueCode.COMPRESSION_TRUNCATED),
    row(74, "trailer-cut", PACKED[:-3], IssueCode.COMPRESSION_TRUNCATED),
    row(74, "trailer-missing", PACKED[:-8], IssueCode.COMPRESSION_TRUNCATED),
    row(75, "three-members", member(ROOT + BEFORE) + member(AFTER) + member(END)),
    row(
        76,
        "second-member-cut",
        member(ROOT + BEFORE + AFTER) + STORED[:-200],
        IssueCode.NESTED_ROOT,
        IssueCode.COMPRESSION_TRUNCATED,
        others=GOOD,
    ),
    row(
        78,
        "long-name",
        HEADER[:3] + b"\x08" + HEADER[4:] + b"n" * 1_000_000,
        IssueCode.COMPRESSION_TRUNCATED,
        good=NONE,
    ),
    row(79, "flipped", corrupt(STORED, -900, *b"yyy"), IssueCode.COMPRESSION_CHECKSUM),
    row(79, "bad-block", bad_block(behind(b"")), IssueCode.COMPRESSION_CORRUPT),
    row(80, "packed-once", PACKED),
    row(81, "packed-twice", member(PACKED), IssueCode.COMPRESSION_NESTED),
    row(82, "plain-though-called-gzip", PLAIN),
    row(86, "zlib", zlib.compress(PLAIN), IssueCode.NOT_A_SITEMAP, good=NONE),
    row(86, "deflate", zlib.compress(PLAIN, wbits=-15), IssueCode.NOT_A_SITEMAP, good=NONE),
    row(87, "packed-nothing", member(b""), IssueCode.EMPTY, good=NONE),
    row(88, "magic-only", b"\x1f\x8b\x08", IssueCode.COMPRESSION_TRUNCATED, good=NONE),
    row(88, "header-only", HEADER, IssueCode.COMPRESSION_TRUNCATED, good=NONE),
    row(
        88,
        "isize-of-4-gib",
        PACKED[:-4] + struct.pack("<I", 0xFFFFFFFF),
        IssueCode.COMPRESSION_CHECKSUM,
    ),
)

# -- 152 and 153: dates and priorities

READABLE_DATES = {
    "2024-01-01": "2024-01-01T00:00:00+00:00",
    "2024-01": "2024-01-01T00:00:00+00:00",
    "2024": "2024-01-01T00:00:00+00:00",
    "2024-01-01T12:00:00Z": "2024-01-01T12:00:00+00:00",
    "2024-01-01T12:00:00+14:00": "2024-01-01T12:00:00+14:00",
    "2024-01-01T12:00:00-00:00": "2024-01-01T12:00:00+00:00",
    "2024-01-01T24:00:00Z": "2024-01-02T00:00:00+00:00",
    "2024-06-30T23:59:60Z": "2024-06-30T23:59:59+00:00",
    "9999-12-31T23:59:59Z": "9999-12-31T23:59:59+00:00",
    "2024-01-01T12:00Z": "2024-01-01T12:00:00+00:00",
    "2024-01-01 12:00:00": "2024-01-01T12:00:00+00:00",
    "2024-01-01t12:00:00z": "2024-01-01T12:00:00+00:00",
    "2024-01-01T12:00:00.1234567890123456789Z": "2024-01-01T12:00:00.123456+00:00",
    "2024-01-01T12:00:00,5Z": "2024-01-01T12:00:00.500000+00:00",
    "Mon, 01 Jan 2024 00:00:00 GMT": "2024-01-01T00:00:00+00:00",
    "1970-01-01T00:00:00+00:00": "1970-01-01T00:00:00+00:00",
    "2024-01-01T12:00:00 +0000": "2024-01-01T12:00:00+00:00",
    "2024-01-01T12:00:00+00": "2024-01-01T12:00:00+00:00",
    "2024-01-01T12:00:00GMT": "2024-01-01T12:00:00+00:00",
    "2024-01-01T12:00:00 UTC": "2024-01-01T12:00:00+00:00",
    " 2024-01-01 \n": "2024-01-01T00:00:00+00:00",
    "2024-1-1": "2024-01-01T00:00:00+00:00",
}
"""Dates that mean something, and what; none is filled up from today."""
UNREADABLE_DATES = (
    "2024-01-01T12:00:00+24:00",
    "2024-01-01T12:00:00+99:99",
    "0000-01-01",
    "0000-00-00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T24:00:00Z",
    "9999-12-31T23:59:59-12:00",
    "10000-01-01",
    "-0001-01-01",
    "2024-02-30",
    "2024-13-01",
    "2024-W01-1",
    "2024-001",
    "20240101",
    "20240101T120000Z",
    "\u0662\u0660\u0662\u0664-\u0660\u0661-\u0660\u0661",
    "\uff12\uff10\uff12\uff14-01-01",
    "01/02/2024",
    "1.2.2024",
    "Mon, 32 Jan 2024 00:00:00 GMT",
    "Jan 1, 2024",
    "1704067200",
    "1704067200000",
    "now",
    "today",
    "2024-01-01T",
    "2024-01-01T12:00:00+00:00Z",
    "1" * 5000,
    "9" * 400,
    "2024-01-01T12:00:00-" + "0" * 1000 + ":00",
    "2024-01-01T12:00:00[Europe/Paris]",
    "Mon, 01 Jan 2024 00:00:00 +9999999999999999",
    "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    "Mon, 01 Jan 2024 00:00:00 -2400",
)
UNREADABLE_PRIORITIES = ("nan", "inf", "1_0", "-1", "9e999", "0,8", "1.1", "\u0660.\u0665", "0x1")


def lastmod(text: str) -> bytes:
    """Put a date into the odd record."""
    return around(record(more=f"<lastmod>{text}</lastmod>"))


def priority(text: str) -> bytes:
    """Put a priority into the odd record."""
    return around(record(more=f"<priority>{text}</priority>"))


VALUES = (
    *(
        row(152, f"date-{ascii(text)[:30]}", lastmod(text), others=(ODD,))
        for text in READABLE_DATES
    ),
    *(
        row(152, f"no-date-{ascii(text)[:30]}", lastmod(text), IssueCode.LASTMOD, others=(ODD,))
        for text in UNREADABLE_DATES
    ),
    *(
        row(153, f"priority-{text!a}", priority(text), IssueCode.PRIORITY, others=(ODD,))
        for text in UNREADABLE_PRIORITIES
    ),
)

# -- 154 to 158: feeds


def feed(bad: str) -> bytes:
    """Put something bad between the items of a feed."""
    items = [f"<item><title>x</title><link>{loc}</link></item>" for loc in GOOD]
    text = "".join(items[:8]) + bad + "".join(items[8:])
    return f'<rss version="2.0"><channel>{text}</channel></rss>'.encode()


FEEDS = (
    row(154, "path", b"/etc/hostname", IssueCode.NOT_A_SITEMAP, good=NONE),
    row(154, "device", b"/dev/zero", IssueCode.NOT_A_SITEMAP, good=NONE),
    row(154, "url", b"http://127.0.0.1:9/", good=NONE, others=("http://127.0.0.1:9/",)),
    row(154, "file-url", b"file:///etc/hostname", IssueCode.NOT_A_SITEMAP, good=NONE),
    row(155, "encodings", b"<?" + b"encoding='" * 3200, IssueCode.NOT_A_SITEMAP, good=NONE),
    row(
        156,
        "author",
        feed(f"<item><author>{'a' * 78_000}@</author><link>{ODD}</link></item>"),
        others=(ODD,),
    ),
    row(
        158,
        "broken-item",
        feed(f"<item><title>a & b</tilte><link>{ODD}</item>"),
        IssueCode.BARE_AMPERSAND,
        IssueCode.MISMATCHED_TAG,
        others=(ODD,),
    ),
    row(158, "item-without-anything", feed("<item/>"), IssueCode.MISSING_LOC),
)

BAD_INPUTS = (*DOCTYPES, *SIZES, *MARKUP, *NO_SITEMAPS, *COMPRESSION, *VALUES, *FEEDS)
