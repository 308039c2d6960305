"""Odd documents, and the URLs that their authors meant.

They follow the table of decisions on documents and records, row by row; `GROUPS` are its rows. A
document says `/a`, `/b` and `/c` of its own site, the oddity in the middle, unless its case says
otherwise. What is meant was written down before any library had read them, ours included: where
ours refuses a document on purpose, it is counted as losing it.
"""

from __future__ import annotations

import gzip
import zlib
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
ORIGIN = "{origin}"
"""Stands in every document for the site that serves it."""
A, B, C = ABC = ("/a", "/b", "/c")
MANY = tuple(f"/{number}" for number in range(2_000))
CUT = MANY[1_000]
NOTHING: tuple[str, ...] = ()


class Case(NamedTuple):
    """A document: its oddity, its text, and the paths of the URLs that are meant.

    `make` turns the text into bytes; `name` and `type` are how it is served; `others` are further
    documents beside it, by their names.
    """

    what: str
    text: str
    meant: tuple[str, ...] = ABC
    make: Callable[[str], bytes] = str.encode
    name: str = "sitemap.xml"
    type: str = "application/xml"
    headers: Mapping[str, str] = MappingProxyType({})
    others: Mapping[str, str] = MappingProxyType({})


# -- how documents are written


def url(path: str) -> str:
    """Write the URL of a page."""
    return f"{ORIGIN}{path}"


def record(loc: str, more: str = "") -> str:
    """Write a record of a urlset."""
    return f"  <url>\n    <loc>{loc}</loc>{more}\n  </url>\n"


def urlset(
    *records: str, xmlns: str = f' xmlns="{NAMESPACE}"', head: str = DECLARATION
) -> str:
    """Write a urlset."""
    return f"{head}<urlset{xmlns}>\n{''.join(records)}</urlset>\n"


def middle(second: str, **how: str) -> str:
    """Write a urlset of three records; the one in the middle is given."""
    return urlset(record(url(A)), second, record(url(C)), **how)


def index(*children: str) -> str:
    """Write an index; a child that is only a name lies beside it."""
    locs = "".join(f"  <sitemap><loc>{child}</loc></sitemap>\n" for child in children)
    return f'{DECLARATION}<sitemapindex xmlns="{NAMESPACE}">\n{locs}</sitemapindex>\n'


def rss(*items: str, version: str = "2.0") -> str:
    """Write an RSS feed."""
    return (
        f'{DECLARATION}<rss version="{version}"><channel><title>News</title>'
        f"<link>{url('/home')}</link><description>All</description>\n{''.join(items)}"
        "</channel></rss>\n"
    )


def item(path: str, more: str = "") -> str:
    """Write an item of a feed."""
    return f"<item><title>One</title>{more}<link>{url(path)}</link></item>\n"


def atom(*entries: str, namespace: str = "http://www.w3.org/2005/Atom") -> str:
    """Write an Atom feed."""
    return (
        f'{DECLARATION}<feed xmlns="{namespace}"><title>News</title><id>urn:x</id>'
        f'<link rel="self" href="{url("/feed")}"/><link href="{url("/home")}"/>\n'
        f"{''.join(entries)}</feed>\n"
    )


def entry(path: str, before: str = "", rel: str = ' rel="alternate"') -> str:
    """Write an entry of an Atom feed."""
    link = f'<link{rel} type="text/html" href="{url(path)}"/>'
    return f"<entry><title>One</title><id>urn:x:{path}</id>{before}{link}</entry>\n"


def lines(*paths: str, end: str = "\n") -> str:
    """Write a text sitemap."""
    return "".join(f"{url(path)}{end}" for path in paths)


def encoded(encoding: str) -> Callable[[str], bytes]:
    """Return an encoder of texts."""
    return lambda text: text.encode(encoding)


def declared(encoding: str) -> str:
    """Write an XML declaration."""
    return f'<?xml version="1.0" encoding="{encoding}"?>\n'


def squeeze(text: str) -> bytes:
    """Compress a document."""
    return gzip.compress(text.encode(), mtime=0)


def squeeze_twice(text: str) -> bytes:
    """Compress a document, and the outcome again."""
    return gzip.compress(squeeze(text), mtime=0)


def squeeze_in_parts(text: str) -> bytes:
    """Compress the two halves of a document, one behind the other."""
    half = len(text) // 2
    return squeeze(text[:half]) + squeeze(text[half:])


def squeeze_and_damage(text: str) -> bytes:
    """Compress a document, and spoil the checksum."""
    data = bytearray(squeeze(text))
    data[-8] ^= 0xFF
    return bytes(data)


def squeeze_and_cut(text: str) -> bytes:
    """Compress a document, and cut it in the middle of its records."""
    compressor = zlib.compressobj(wbits=31)
    head, _, _ = text.partition(f"{CUT}</loc>")
    start = compressor.compress(head.encode())
    return start + compressor.flush(zlib.Z_SYNC_FLUSH)


PLAIN = middle(record(url(B)))
MINIFIED = PLAIN.replace("\n", "").replace("  ", "")
LONG = urlset(*map(record, map(url, MANY)))
IMAGE = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
VIDEO = ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
XHTML = ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
OURS = f' xmlns="{NAMESPACE}"'
GZIP_TYPE = "application/gzip"

# -- the cases


GROUPS: dict[str, tuple[Case, ...]] = {
    "format by content": (
        Case("XML served as text/html", PLAIN, type="text/html"),
        Case("XML served as text/plain", PLAIN, type="text/plain"),
        Case("XML at a .php address", PLAIN, name="sitemap.php", type="text/html"),
        Case("text at a .xml address", lines(*ABC)),
    ),
    "before the document": (
        Case("byte order mark", PLAIN, make=encoded("utf-8-sig")),
        Case("blank line before <?xml", f"\n{PLAIN}"),
        Case("30 spaces before <?xml", f"{' ' * 30}{PLAIN}"),
    ),
    "encodings": (
        Case(
            "ISO-8859-1, declared",
            middle(record(url("/é")), head=declared("ISO-8859-1")),
            (A, "/é", C),
            make=encoded("iso-8859-1"),
        ),
        Case(
            "ISO-8859-1, by HTTP only",
            middle(record(url("/é")), head=""),
            (A, "/é", C),
            make=encoded("iso-8859-1"),
            type="application/xml; charset=ISO-8859-1",
        ),
        Case(
            "windows-1251, declared",
            middle(record(url("/я")), head=declared("windows-1251")),
            (A, "/я", C),
            make=encoded("windows-1251"),
        ),
        Case(
            "GBK, declared",
            middle(record(url("/中")), head=declared("GBK")),
            (A, "/中", C),
            make=encoded("gbk"),
        ),
        Case(
            "UTF-16 with byte order mark",
            middle(record(url("/é")), head=declared("UTF-16")),
            (A, "/é", C),
            make=encoded("utf-16"),
        ),
    ),
    "namespaces": (
        Case(
            "0.84",
            PLAIN.replace(NAMESPACE, "http://www.google.com/schemas/sitemap/0.84"),
        ),
        Case("https", PLAIN.replace("http://www.sitemaps", "https://www.sitemaps")),
        Case("trailing slash", PLAIN.replace(NAMESPACE, f"{NAMESPACE}/")),
        Case("another one", PLAIN.replace(NAMESPACE, "urn:example:sitemap")),
        Case("none", PLAIN.replace(OURS, "")),
        Case(
            "prefixed",
            PLAIN.replace("</", "</sm:")
            .replace("<u", "<sm:u")
            .replace("<loc", "<sm:loc")
            .replace("xmlns=", "xmlns:sm="),
        ),
        Case(
            "upper-case tags",
            PLAIN.replace("urlset", "URLSET")
            .replace("url>", "URL>")
            .replace("loc>", "LOC>"),
        ),
    ),
    "DOCTYPE without a subset": (
        Case(
            "<!DOCTYPE urlset>",
            middle(record(url(B)), head=f"{DECLARATION}<!DOCTYPE urlset>\n"),
        ),
        Case(
            "<!DOCTYPE urlset SYSTEM>",
            middle(
                record(url(B)), head=f'{DECLARATION}<!DOCTYPE urlset SYSTEM "s.dtd">\n'
            ),
        ),
    ),
    "DOCTYPE with a subset": (
        Case(
            "harmless internal entity",
            middle(
                record(f"{ORIGIN}/&name;"),
                head=f'{DECLARATION}<!DOCTYPE urlset [<!ENTITY name "b">]>\n',
            ),
        ),
        Case(
            "external entity",
            middle(
                record(f"{ORIGIN}/&name;"),
                head=f'{DECLARATION}<!DOCTYPE urlset [<!ENTITY name SYSTEM "b.txt">]>\n',
            ),
            (A, C),
        ),
    ),
    "HTML entities": (
        Case("&eacute; in a URL", middle(record(url("/&eacute;"))), (A, "/é", C)),
        Case(
            "&nbsp; in an image's title",
            middle(
                record(
                    url(B),
                    f"<image:image><image:loc>{url('/i.jpg')}</image:loc>"
                    "<image:title>One&nbsp;two</image:title></image:image>",
                ),
                xmlns=OURS + IMAGE,
            ),
        ),
    ),
    "bare ampersand": (
        Case("?a=1&b=2", middle(record(url("/b?a=1&b=2"))), (A, "/b?a=1&b=2", C)),
    ),
    "damaged records": (
        Case("control character in a URL", middle(record(url("/b\x08")))),
        Case(
            "bytes that are no UTF-8, in a title",
            middle(
                record(
                    url(B),
                    f"<image:image><image:loc>{url('/i.jpg')}</image:loc>"
                    "<image:title>Caf\udce9</image:title></image:image>",
                ),
                xmlns=OURS + IMAGE,
            ),
            make=lambda text: text.encode(errors="surrogateescape"),
        ),
        Case(
            "prefix that is not declared",
            middle(
                record(
                    url(B),
                    f"<image:image><image:loc>{url('/i.jpg')}</image:loc></image:image>",
                )
            ),
        ),
        Case("tag that is not closed", middle(record(url(B), "<lastmod>2026-01-01"))),
        Case("</loc> is missing", middle(f"  <url><loc>{url(B)}</url>\n")),
    ),
    "cut off": (
        Case("in the third URL", PLAIN.partition("/c")[0], (A, B)),
        Case(
            "between two records",
            PLAIN.partition(f"  <url>\n    <loc>{url(C)}")[0],
            (A, B),
        ),
    ),
    "after the root": (
        Case("words", f"{PLAIN}Cached 2026-01-01, 0.03 s"),
        Case("a script", f"{PLAIN}<script>track()</script>"),
    ),
    "more than one root": (
        Case(
            "two documents in one",
            urlset(record(url(A))) + urlset(record(url(B)), record(url(C))),
        ),
        Case("urlset in urlset", middle(f"<urlset>{record(url(B))}</urlset>")),
        Case(
            "sitemap in urlset",
            middle(f"<sitemap><loc>{ORIGIN}/@/child.xml</loc></sitemap>"),
            others={"child.xml": urlset(record(url(B)))},
        ),
    ),
    "no sitemap": (
        Case(
            "HTML page",
            f'<!DOCTYPE html>\n<html><body><a href="{url(A)}">{url(A)}</a></body></html>',
            NOTHING,
            type="text/html",
        ),
        Case("JSON", f'{{"pages": ["{url(A)}"]}}', NOTHING, type="application/json"),
        Case(
            "error in XML",
            f"<Error><Code>AccessDenied</Code><Host>{ORIGIN}</Host></Error>",
            NOTHING,
        ),
    ),
    "empty": (
        Case("no bytes", "", NOTHING),
        Case("no records", urlset(), NOTHING),
    ),
    "gzip": (
        Case("by header", PLAIN, make=squeeze, headers={"Content-Encoding": "gzip"}),
        Case("by name", PLAIN, make=squeeze, name="sitemap.xml.gz", type=GZIP_TYPE),
        Case(
            "by header and name",
            PLAIN,
            make=squeeze,
            name="sitemap.xml.gz",
            headers={"Content-Encoding": "gzip"},
        ),
        Case("by neither", PLAIN, make=squeeze),
        Case("not at all, but by name", PLAIN, name="sitemap.xml.gz", type=GZIP_TYPE),
        Case("twice", PLAIN, make=squeeze_twice, name="sitemap.xml.gz", type=GZIP_TYPE),
        Case(
            "in two members",
            PLAIN,
            make=squeeze_in_parts,
            name="sitemap.xml.gz",
            type=GZIP_TYPE,
        ),
        Case(
            "with bytes behind it",
            PLAIN,
            make=lambda text: squeeze(text) + b"<!-- cached -->\n",
            name="sitemap.xml.gz",
            type=GZIP_TYPE,
        ),
        Case(
            "with a wrong checksum",
            PLAIN,
            make=squeeze_and_damage,
            name="sitemap.xml.gz",
            type=GZIP_TYPE,
        ),
        Case(
            "cut off behind 1,000 records",
            LONG,
            MANY[:1_000],
            make=squeeze_and_cut,
            name="sitemap.xml.gz",
            type=GZIP_TYPE,
        ),
        Case("text", lines(*ABC), make=squeeze, name="sitemap.txt.gz", type=GZIP_TYPE),
    ),
    "too many": (
        Case(
            "50,001 URLs",
            urlset(*(record(url(f"/{number}")) for number in range(50_001))),
            tuple(f"/{number}" for number in range(50_001)),
        ),
    ),
    "text": (
        Case("one a line", lines(*ABC), name="sitemap.txt", type="text/plain"),
        Case(
            "CRLF and byte order mark",
            lines(*ABC, end="\r\n"),
            make=encoded("utf-8-sig"),
            name="sitemap.txt",
            type="text/plain",
        ),
        Case(
            "a line that is no URL",
            f"{lines(A, B)}updated daily\n{lines(C)}",
            name="sitemap.txt",
            type="text/plain",
        ),
    ),
    "feeds": (
        Case(
            "RSS 0.91", rss(*map(item, ABC), version="0.91"), type="application/rss+xml"
        ),
        Case(
            "RSS 1.0",
            f'{DECLARATION}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
            f'xmlns="http://purl.org/rss/1.0/"><channel rdf:about="{url("/feed")}">'
            f"<title>News</title><link>{url('/home')}</link></channel>\n"
            f"{''.join(map(item, ABC))}</rdf:RDF>\n",
            type="application/rdf+xml",
        ),
        Case("RSS 2.0", rss(*map(item, ABC)), type="application/rss+xml"),
        Case(
            "Atom 0.3",
            atom(*map(entry, ABC), namespace="http://purl.org/atom/ns#"),
            type="application/atom+xml",
        ),
        Case("Atom 1.0", atom(*map(entry, ABC)), type="application/atom+xml"),
        Case(
            "RSS with a bare ampersand and an open tag",
            rss(item(A), item(B, "<description>You & <b>me</description>"), item(C)),
            type="application/rss+xml",
        ),
    ),
    "loc as it is written": (
        Case("on a line of its own", middle(record(f"\n      {url(B)}\n    "))),
        Case("in CDATA, with spaces", middle(record(f"<![CDATA[ {url(B)} ]]>"))),
        Case(
            "&amp; and &#38;",
            middle(record(url("/b?a&amp;b&#38;c"))),
            (A, "/b?a&b&c", C),
        ),
    ),
    "relative loc": (Case("/b", middle(record(B))),),
    "other schemes": (
        Case("ftp:", middle(record("ftp://files.example.org/b")), (A, C)),
        Case("mailto:", middle(record("mailto:someone@example.org")), (A, C)),
    ),
    "no loc": (
        Case("empty loc", middle(record("")), (A, C)),
        Case(
            "no loc at all",
            middle("  <url><lastmod>2026-01-01</lastmod></url>\n"),
            (A, C),
        ),
        Case("the URL is the text of <url>", middle(f"  <url>{url(B)}</url>\n")),
    ),
    "several locs": (
        Case("three in one <url>", urlset(record("</loc><loc>".join(map(url, ABC))))),
    ),
    "long loc": (
        Case(
            "2,100 characters",
            middle(record(url(f"/{'b' * 2_100}"))),
            (A, f"/{'b' * 2_100}", C),
        ),
    ),
    "odd fields": (
        Case(
            "lastmod: yesterday", middle(record(url(B), "<lastmod>yesterday</lastmod>"))
        ),
        Case(
            "changefreq: sometimes",
            middle(record(url(B), "<changefreq>sometimes</changefreq>")),
        ),
        Case("priority: high", middle(record(url(B), "<priority>high</priority>"))),
    ),
    "extensions": (
        Case(
            "image before loc",
            middle(
                f"<url><image:image><image:loc>{url('/i.jpg')}</image:loc></image:image>"
                f"<loc>{url(B)}</loc></url>",
                xmlns=OURS + IMAGE,
            ),
        ),
        Case(
            "video with a player",
            middle(
                record(
                    url(B),
                    f"<video:video><video:content_loc>{url('/v.mp4')}</video:content_loc>"
                    f"<video:player_loc>{url('/player')}</video:player_loc></video:video>",
                ),
                xmlns=OURS + VIDEO,
            ),
        ),
        Case(
            "alternates",
            middle(
                record(
                    url(B),
                    f'<xhtml:link rel="alternate" hreflang="fr" href="{url("/fr")}"/>',
                ),
                xmlns=OURS + XHTML,
            ),
        ),
        Case(
            "elements that nobody knows",
            middle(
                record(
                    url(B),
                    '<PageMap><DataObject type="x"><loc>no</loc></DataObject></PageMap>',
                )
            ),
        ),
    ),
    "links of feeds": (
        Case(
            "RSS: guid in the place of link",
            rss(
                item(A),
                f"<item><title>One</title><guid>{url(B)}</guid></item>\n",
                item(C),
            ),
            type="application/rss+xml",
        ),
        Case(
            "Atom: self, edit and enclosure come first",
            atom(
                entry(A),
                entry(
                    B,
                    "".join(
                        f'<link rel="{rel}" href="{url(f"/{rel}")}"/>'
                        for rel in ("self", "edit", "enclosure")
                    ),
                ),
                entry(C),
            ),
            type="application/atom+xml",
        ),
        Case(
            "Atom: link without rel",
            atom(*(entry(path, rel="") for path in ABC)),
            type="application/atom+xml",
        ),
    ),
    "duplicates": (
        Case("one URL twice", urlset(*(record(url(path)) for path in (A, B, A, C)))),
    ),
    "indexes": (
        Case(
            "one child is missing",
            index(f"{ORIGIN}/@/gone.xml", f"{ORIGIN}/@/child.xml"),
            others={"child.xml": PLAIN},
        ),
        Case(
            "it lists itself",
            index(f"{ORIGIN}/@/sitemap.xml", f"{ORIGIN}/@/child.xml"),
            others={"child.xml": PLAIN},
        ),
        Case("relative child", index("child.xml"), others={"child.xml": PLAIN}),
        Case(
            "one child is cut off",
            index(f"{ORIGIN}/@/cut.xml", f"{ORIGIN}/@/child.xml"),
            others={
                "cut.xml": urlset(record(url(A)), record(url(B))).partition("/b")[0],
                "child.xml": urlset(record(url(B)), record(url(C))),
            },
        ),
    ),
}
"""Every case, by what it is about; `@` in an address is the folder that the case is served from."""
