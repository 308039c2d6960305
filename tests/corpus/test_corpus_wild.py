"""Real files of public sites: all that is in them comes out, or an Issue says what became of it."""

from __future__ import annotations

import gzip
import html
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin
from xml.etree.ElementTree import Element, ParseError

import attrs
import corpus
import golden
import pytest
from defusedxml.ElementTree import fromstring

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Format
from sitemapreader.readers.robots import parse_robots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sitemapreader.readers.robots import Robots

pytestmark = corpus.needs_corpus

URL = "https://www.example.org/folder/sitemap.xml"
ROBOTS_URL = "https://www.example.org/robots.txt"

FILES = {file.name: file for file in corpus.wild_files()}
DOCUMENTS = [name for name, file in FILES.items() if file.kind != "robots"]
ROBOTS = [name for name, file in FILES.items() if file.kind == "robots"]


@attrs.frozen
class Explained:
    """Why a file gives another number of entries than its manifest has.

    Attributes:
        delivered: how many it gives.
        why: a sentence.
        row: what decides it, as `Section: words in it`.
    """

    delivered: int
    why: str
    row: str


TEMPLATE = Explained(
    0,
    "the locs of an unfilled template are no URLs, and none is made up",
    "Laws: No URL is invented",
)
NO_LINKS = Explained(
    0,
    "no item has a link, and each guid says that it is none; they were counted",
    "Records: RSS item",
)
EXPLAINED = {
    "broken/006-0000040-0000040.github.io.xml": TEMPLATE,
    "broken/010-4kwax-4kwax.github.io.xml": TEMPLATE,
    "broken/020-CarterPape-moab.news.xml": TEMPLATE,
    "broken/021-CarterPape-moab.news.xml": TEMPLATE,
    "broken/023-DTSchroeder-DTSchroeder.github.io.xml": TEMPLATE,
    "broken/030-LetzteReiheParkett-LetzteReiheParkett.github.io.xml": NO_LINKS,
    "broken/031-LetzteReiheParkett-LetzteReiheParkett.github.io.xml": NO_LINKS,
    "broken/042-jekyll-jekyll-sitemap.xml": TEMPLATE,
    "feeds/059-LesliePajuelo-old-blog.xml": Explained(
        1, "links were counted, and the one entry has two to its page", "Records: Atom entry"
    ),
    "feeds/060-LesliePajuelo-old-blog.xml": Explained(
        4, "links were counted, and one of the items has its URL in a guid", "Records: RSS item"
    ),
    "feeds/102-danmactough-node-feedparser.xml": Explained(
        0, "the one link is a tag: URI, which nobody can fetch", "Records: scheme other than"
    ),
    "robots/054-DTSchroeder-DTSchroeder.github.io.txt": TEMPLATE,
    "robots/110-jekyll-jekyll-sitemap.txt": TEMPLATE,
    "text/001-000mole000-dist.txt": Explained(
        22, "it is a urlset under the name of a text, whose lines were counted", "Documents: format"
    ),
}


def expected_count(name: str) -> int:
    return EXPLAINED[name].delivered if name in EXPLAINED else FILES[name].locs


@cache
def read(name: str) -> golden.Reading:
    return golden.read_pieces([FILES[name].read()], URL)


def read_robots(name: str) -> Robots:
    return parse_robots(FILES[name].read(), ROBOTS_URL)


def test_there_are_files() -> None:
    """All files of the manifest are there, so that the tests below are not void."""
    rooms = Counter(name.partition("/")[0] for name in FILES)
    assert rooms == {
        "sitemaps": 155,
        "feeds": 70,
        "robots": 56,
        "indexes": 22,
        "broken": 22,
        "text": 10,
    }
    assert all(file.read() for file in FILES.values())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document(name: str) -> None:
    """A file gives as many entries as are in it, and nothing of it is lost in silence."""
    reading = read(name)
    assert reading.records == reading.delivered + reading.dropped
    assert len(reading.locs) == reading.delivered == expected_count(name)
    if reading.dropped or not reading.delivered:
        assert sum(reading.counts.values()) >= max(reading.dropped, 1)


@pytest.mark.parametrize("name", ROBOTS)
def test_robots(name: str) -> None:
    """A robots.txt gives as many sitemaps as it lists."""
    robots = read_robots(name)
    assert len(robots.sitemaps) == expected_count(name)
    assert robots.counts[IssueCode.TEMPLATE] == FILES[name].locs - len(robots.sitemaps)


@pytest.mark.parametrize("name", EXPLAINED)
def test_explanations_are_needed(name: str) -> None:
    """Each file that is explained gives another number than its manifest has, by a row that is."""
    assert EXPLAINED[name].delivered != FILES[name].locs
    corpus.check_row(EXPLAINED[name].row)


# -- the same files, read in another way


def tag_of(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def texts_of(record: Element, tag: str) -> list[str]:
    texts = [(child.text or "").strip() for child in record if tag_of(child) == tag]
    return [text for text in texts if text]


def pages_of(entry: Element) -> list[str]:
    links = [child for child in entry if tag_of(child) == "link"]
    return [link.attrib["href"] for link in links if link.get("rel", "alternate") == "alternate"]


FEEDS: dict[str, tuple[str, Callable[[Element], list[str]], str]] = {
    "rss": ("item", lambda item: [*texts_of(item, "link"), *texts_of(item, "guid")], "pubDate"),
    "feed": ("entry", pages_of, "updated"),
}
"""Root -> its records, what gives the URLs of one (the first one counts), and its date."""
SITEMAPS = {"urlset": "url", "sitemapindex": "sitemap"}


def inflate(name: str) -> bytes:
    data = FILES[name].read()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def parse(name: str) -> Element | None:
    """Return the tree of a document, if it is a healthy one."""
    try:
        root: Element = fromstring(inflate(name))
    except (ParseError, ValueError):
        return None
    return root if tag_of(root) in {*FEEDS, *SITEMAPS} else None


def list_feed(root: Element) -> Iterator[tuple[str, str | None]]:
    """Yield URL and date of each record that has a URL."""
    tag, find_urls, date = FEEDS[tag_of(root)]
    for record in root.iter():
        if tag_of(record) == tag and (urls := find_urls(record)):
            yield resolve(urls[0]), next(iter(texts_of(record, date)), None)


def list_sitemap(root: Element) -> Iterator[tuple[str, str | None]]:
    """Yield each loc with the lastmod that follows it; some files have many in one record."""
    for record in root:
        locs: list[str] = []
        lastmods: list[str | None] = []
        for child in record:
            text = (child.text or "").strip() or None
            if tag_of(child) == "loc" and text:
                locs.append(resolve(text))
                lastmods.append(None)
            elif tag_of(child) == "lastmod":
                lastmods[-1] = text
        yield from zip(locs, lastmods, strict=True)


def resolve(url: str, base: str = URL) -> str:
    """Return an absolute URL as it is; urljoin would mend it."""
    return url if "://" in url else urljoin(base, url)


HEALTHY = [name for name in DOCUMENTS if parse(name) is not None]
PLAIN = [name for name, file in FILES.items() if file.kind == "text" and name not in HEALTHY]
MARKUP = [name for name in DOCUMENTS if name not in PLAIN]

_ITEM = re.compile(r"<(?:item|entry)[\s>]")
_LOC = re.compile(r"<((?:ns1:)?loc)>(.*?)</\1>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_SITEMAP_LINE = re.compile(r"^[ \t]*sitemap:[ \t]*([^\s#]+)", re.IGNORECASE | re.MULTILINE)


def text_of(name: str) -> str:
    return _COMMENT.sub("", inflate(name).decode("utf-8", "replace"))


def test_most_files_are_healthy() -> None:
    """The comparisons below are with most of the files."""
    assert len(HEALTHY) > 240
    assert len(PLAIN) == 9


@pytest.mark.parametrize("name", HEALTHY)
def test_locs_are_those_of_a_tree(name: str) -> None:
    """A healthy document gives the URLs that a plain parser finds in it, with their dates."""
    root = parse(name)
    assert root is not None
    pairs = list_feed(root) if tag_of(root) in FEEDS else list_sitemap(root)
    events = [event for event in read(name).events if not isinstance(event, Issue)]
    assert [(event.loc, event.lastmod_text) for event in events] == [
        pair for pair in pairs if pair[0].startswith("http")
    ]


@pytest.mark.parametrize("name", HEALTHY)
def test_dates_are_read(name: str) -> None:
    """Every date that is written in a healthy document is one that we can read."""
    assert read(name).counts[IssueCode.LASTMOD] == 0


@pytest.mark.parametrize(
    "name", [name for name in MARKUP if FILES[name].kind in {"urlset", "index"}]
)
def test_locs_are_those_in_the_text(name: str) -> None:
    """Every loc in a document, healthy or not, comes out as it is written, unless a template."""
    found = [_CDATA.sub(r"\1", loc) for _, loc in _LOC.findall(text_of(name))]
    locs = [resolve(html.unescape(loc).strip()) for loc in found if "{{" not in loc]
    assert read(name).locs == locs


@pytest.mark.parametrize(
    "name",
    [name for name in MARKUP if FILES[name].kind in {"rss", "atom"}],
)
def test_each_item_counts_once(name: str) -> None:
    """A feed has as many records as items."""
    assert read(name).records == len(_ITEM.findall(_CDATA.sub("", text_of(name))))


@pytest.mark.parametrize("name", PLAIN)
def test_locs_are_the_lines(name: str) -> None:
    """A text gives its lines."""
    assert read(name).format is Format.TEXT
    assert read(name).locs == inflate(name).decode().split()


@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in EXPLAINED])
def test_sitemaps_are_the_lines(name: str) -> None:
    """A robots.txt gives the values of its Sitemap lines."""
    text = inflate(name).decode("utf-8-sig").replace("\r", "")
    urls = [resolve(value, ROBOTS_URL) for value in _SITEMAP_LINE.findall(text)]
    assert [entry.loc for entry in read_robots(name).sitemaps] == list(dict.fromkeys(urls))
