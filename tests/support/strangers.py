"""Sites that are floods of one thing, each in any size: what they cost a walk or a visit.

`python benchmarks/hostile_shapes.py --sites` prints it.
"""

from __future__ import annotations

import gc
import gzip
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from sitemapreader import Search, walk
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from sitemapreader.pages import visit_pages
from tests.support.faults import FaultServer, Request, chunk
from tests.support.probe import measure_hold

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    Pages = dict[str, bytes | StoredResponse | Exception]

SITE = "https://www.example.com/"
SIZES = (50_000, 200_000)
URLSET = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="urn:x"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>https://www.example.com/1</loc>'
)
FEED = '<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><link>/1</link>'
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><entry>'
MARKED, DOTTED = "\u00fc{n}.example", "{n}" + "\u00fc." * 40 + "example"


class Costs(NamedTuple):
    """CPU milliseconds in all, and those for which the event loop was held at most."""

    milliseconds: float
    held: float


def repeat(unit: str, size: int) -> str:
    """Repeat a text up to a size; each `{n}` in it is a number."""
    number = max(1, size // len(unit.encode()))
    if "{n}" not in unit:
        return unit * number
    return "".join(unit.replace("{n}", f"{each:06}") for each in range(number))


# -- what a stranger writes: name -> what stands before the flood, the flood, and what ends it

HEADS = {
    "styles": ("<html>", "<style></style>", ""),
    "comments": ("<html>", "<!---->", ""),
    "templates": ("<html>", "<template>", ""),
    "sitemap links": ("<html>", "<link rel=sitemap href=/{n}.xml>", ""),
    "attributes": ("<html><link ", "a{n}=b ", " rel=sitemap href=/s.xml>"),
    "references": ("<html><link rel=sitemap href='/", "&notit;", "'>"),
    "tags without an end": ("<html>", '<link a="', ""),
    "paragraphs": ("<html>", "<p>x</p>", ""),
    "nested elements": ("<html>", "<div>", ""),
    "meta elements": ("<html>", "<meta name=robots content=noindex>", ""),
    "links in the head": ("<html>", "<link rel=alternate hreflang=de href=/{n}>", ""),
}
LINK_HEADERS = {
    "links": ("", "</{n}.xml>; rel=sitemap, ", ""),
    "parameters": ("</s.xml>", "; a=b", "; rel=sitemap"),
    "escapes in quotes": ('</s.xml>; a="', '\\"', '"; rel=sitemap'),
}
SITE_MAPS = {
    "links": ("<html>", "<a href=/{n}>x</a>", ""),
    "comments in a site map": ("<html>", "<!---->", ""),
    "areas without a target": ("<html>", "<area>", ""),
    "links on other hosts": ("<html>", f"<a href=https://{MARKED}/>x</a>", ""),
    "links on long hosts": ("<html>", f"<a href=https://{DOTTED}/>x</a>", ""),
    "attributes of a link": ("<html><a ", "a{n}=b ", "href=/x>"),
}
SITEMAPS = {
    "hosts": (URLSET, f"</url><url><loc>https://{MARKED}/</loc>", "</url></urlset>"),
    "long hosts": (
        URLSET,
        f"</url><url><loc>https://{DOTTED}/</loc>",
        "</url></urlset>",
    ),
    "hosts as paths": (URLSET, f"</url><url><loc>{DOTTED}/</loc>", "</url></urlset>"),
    "broken records": (URLSET, "</url><url><loc>/{n}</lo>", "</url></urlset>"),
}
RECORDS = {
    "images": (
        URLSET,
        "<image:image><image:loc>/{n}</image:loc></image:image>",
        "</url></urlset>",
    ),
    "alternates": (
        URLSET,
        "<xhtml:link rel='alternate' hreflang='de' href='/{n}'/>",
        "</url></urlset>",
    ),
    "tags of a video": (
        f"{URLSET}<video:video>",
        "<video:tag>{n}</video:tag>",
        "</video:video></url></urlset>",
    ),
    "attributes of an element": (f"{URLSET}<x:a ", "a{n}='b' ", "/></url></urlset>"),
    "deep elements": (URLSET, "<x:a>", "</url></urlset>"),
    "records in a foreign element": (
        f"{URLSET}<x:a>",
        "<url/>",
        "</x:a></url></urlset>",
    ),
    "media": (FEED, "<media:content url='/{n}.jpg'/>", "</item></channel></rss>"),
    "groups of media": (
        FEED,
        "<media:group><media:content url='/{n}.mp4'/></media:group>",
        "</item></channel></rss>",
    ),
    "thumbnails": (
        FEED,
        "<media:thumbnail url='/{n}.jpg'/>",
        "</item></channel></rss>",
    ),
    "titles": (
        FEED,
        "<title>{n} and so on, as long as a title mostly is</title>",
        "</item></channel></rss>",
    ),
    "locs": (URLSET, "<loc>/{n}</loc>", "</url></urlset>"),
    "locs on long hosts": (URLSET, f"<loc>https://{DOTTED}/</loc>", "</url></urlset>"),
    "locs of an image": (
        f"{URLSET}<image:image>",
        "<image:loc>/{n}</image:loc>",
        "</image:image></url></urlset>",
    ),
    "images on long hosts": (
        URLSET,
        f"<image:image><image:loc>https://{DOTTED}/</image:loc></image:image>",
        "</url></urlset>",
    ),
    "alternates without quotes": (
        URLSET,
        "<xhtml:link rel=alternate hreflang='de' href='/{n}'/>",
        "</url></urlset>",
    ),
    "players of a video": (
        f"{URLSET}<video:video>",
        "<video:player_loc allow_embed='?'>/{n}</video:player_loc>",
        "</video:video></url></urlset>",
    ),
    "unknown elements": (URLSET, "<x:a b='{n}'>c</x:a>", "</url></urlset>"),
    "unknown namespaces": (URLSET, "<a xmlns='urn:{n}'/>", "</url></urlset>"),
    "media on long hosts": (
        FEED,
        f"<media:content url='https://{DOTTED}/{{n}}.jpg'/>",
        "</item></channel></rss>",
    ),
    "enclosures": (FEED, "<enclosure url='/{n}.mp4'/>", "</item></channel></rss>"),
    "links of an entry": (ATOM, "<link href='/{n}' type='x/y'/>", "</entry></feed>"),
    "enclosures of an entry": (
        f"{ATOM}<link href='/1'/>",
        "<link href='/{n}.mp4' rel='enclosure'/>",
        "</entry></feed>",
    ),
    "words of a description": (
        f"{FEED}<description>",
        "&lt;p&gt;x&lt;/p&gt;",
        "</description></item></channel></rss>",
    ),
    "markup of a title": (
        FEED + "<title>",
        "<b>x</b>",
        "</title></item></channel></rss>",
    ),
}
"""Floods of one record: name -> what stands before, the flood, and what ends it."""
ROBOTS = {
    "rules": ("User-agent: *\n", "Disallow: /*{n}*b\n", ""),
    "agents": ("", "User-agent: r{n}\nDisallow: /\n", ""),
    "sitemaps on hosts": ("", f"Sitemap: https://{MARKED}/s.xml\n", ""),
    "unknown lines": ("", "\u00dcnknown: {n}\n", ""),
}


class Stranger(NamedTuple):
    """One site, and what is done with it."""

    name: str
    work: Callable[[int], Awaitable[object]]


def _write(texts: tuple[str, str, str], size: int) -> bytes:
    before, unit, behind = texts
    return (before + repeat(unit, size) + behind).encode()


async def _walk(pages: Pages, url: str = SITE, *, html: bool = False) -> None:
    formats: list[Literal["html"]] = ["html"] if html else []
    async with walk(
        url, fetcher=MemoryFetcher(pages), search=Search(extra_formats=formats)
    ) as entries:
        async for _ in entries:
            pass


async def _visit(page: StoredResponse) -> None:
    async with aclosing(visit_pages([SITE], MemoryFetcher({SITE: page}))) as visits:
        async for _ in visits:
            pass


def _make_page(texts: tuple[str, str, str], size: int) -> StoredResponse:
    return StoredResponse(
        SITE, _write(texts, size), headers={"content-type": "text/html"}
    )


def _make_links(texts: tuple[str, str, str], size: int) -> StoredResponse:
    headers = {"content-type": "text/html", "link": _write(texts, size).decode()}
    return StoredResponse(SITE, b"<html>", headers=headers)


def _members(size: int) -> bytes:
    """Compress blocks without content, which take a hundred times their size to pass over."""
    return gzip.compress(gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * (20 * size))


# -- what a stranger's server does on the wire

START = b"HTTP/1.1 200 OK\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
ENTRY = f"{URLSET}</url></urlset>".encode()
ANSWERS: dict[str, Callable[[int], bytes]] = {
    "chunks of one byte": lambda size: (
        CHUNKED + chunk(b"x") * (size // 6) + b"0\r\n\r\n"
    ),
    "chunk extensions": lambda size: (
        CHUNKED + (b"1;" + b"e" * 200 + b"\r\nx\r\n") * (size // 206) + b"0\r\n\r\n"
    ),
    "trailers": lambda size: (
        CHUNKED + chunk(ENTRY) + b"0\r\n" + b"X-A: b\r\n" * (size // 8) + b"\r\n"
    ),
    "interim responses": lambda size: (
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * (size // 28)
    ),
    "fields of a head": lambda size: START + b"X-A: b\r\n" * (size // 8) + b"\r\n",
}


class _Server(FaultServer):
    """A server whose answers are all alike."""

    body = b""

    def answer(self, request: Request) -> Iterable[bytes]:  # noqa: ARG002 (all are alike)
        return [self.body]


async def _fetch(write: Callable[[int], bytes], size: int) -> None:
    async with _Server() as server:
        server.body = write(size)
        async with walk(server.url("s.xml")) as entries:
            async for _ in entries:
                pass


async def _walk_start(texts: tuple[str, str, str], size: int) -> None:
    await _walk({SITE: _make_page(texts, size)})


async def _visit_page(texts: tuple[str, str, str], size: int) -> None:
    await _visit(_make_page(texts, size))


async def _walk_links(texts: tuple[str, str, str], size: int) -> None:
    await _walk({SITE: _make_links(texts, size)})


async def _visit_links(texts: tuple[str, str, str], size: int) -> None:
    await _visit(_make_links(texts, size))


async def _walk_site_map(texts: tuple[str, str, str], size: int) -> None:
    url = f"{SITE}map"
    await _walk({url: _make_page(texts, size)}, url, html=True)


async def _walk_sitemap(texts: tuple[str, str, str], size: int) -> None:
    url = f"{SITE}s.xml"
    await _walk({url: _write(texts, size)}, url)


async def _walk_robots(texts: tuple[str, str, str], size: int) -> None:
    await _walk({f"{SITE}robots.txt": _write(texts, size)})


async def _walk_members(path: str, size: int) -> None:
    await _walk({SITE + path: _members(size)})


PLACES = (
    ("start page", HEADS, _walk_start),
    ("visited page", HEADS, _visit_page),
    ("Link header", LINK_HEADERS, _walk_links),
    ("Link header of a visited page", LINK_HEADERS, _visit_links),
    ("site map", SITE_MAPS, _walk_site_map),
    ("sitemap", SITEMAPS, _walk_sitemap),
    ("record", RECORDS, _walk_sitemap),
    ("robots.txt", ROBOTS, _walk_robots),
)
STRANGERS = [
    *(
        Stranger(f"{place}: {name}", partial(work, texts))
        for place, floods, work in PLACES
        for name, texts in floods.items()
    ),
    *(
        Stranger(f"nested gzip: /{path}", partial(_walk_members, path))
        for path in ("robots.txt", "", "sitemap.xml")
    ),
    *(
        Stranger(f"wire: {name}", partial(_fetch, write))
        for name, write in ANSWERS.items()
    ),
]


async def measure_costs(stranger: Stranger, size: int) -> Costs:
    """Walk or visit a site once."""
    gc.collect()
    start = time.process_time()
    held = await measure_hold(stranger.work(size))
    return Costs((time.process_time() - start) * 1000, held * 1000)
