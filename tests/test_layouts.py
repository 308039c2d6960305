"""The fast reader's layouts: records read in columns are what they are when read one by one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from reading import read, urlset

from sitemapreader.issues import Issue
from sitemapreader.models import Alternate, Image, UrlEntry, Video
from sitemapreader.readers import parsed
from sitemapreader.readers.fast import FastReader

if TYPE_CHECKING:
    from sitemapreader.models import Event
    from sitemapreader.readers.tokens import Entry

IMAGES = (
    "<image:image><image:loc>https://i.example/%d.jpg</image:loc></image:image>",
    (
        "<image:image><image:title> a\n title </image:title><image:loc>https://i.example/%d</image:loc>"
        "<image:license>https://l.example/</image:license></image:image>"
    ),
    (
        "<image:image><image:loc>https://i.example/%d.png</image:loc><image:title> </image:title>"
        "</image:image>"
    ),
)
VIDEOS = (
    (
        "<video:video><video:tag>a</video:tag><video:id>t%d</video:id><video:tag> </video:tag>"
        "<video:tag>b</video:tag><video:duration>12</video:duration></video:video>"
    ),
    (
        "<video:video><video:publication_date>2026-01-0%d</video:publication_date><video:live/>"
        "<video:family_friendly>no</video:family_friendly><video:rating>4.5</video:rating></video:video>"
    ),
    "<video:video/>",
)
NEWS = (
    (
        "<news:news><news:publication><news:name>n</news:name><news:language>en</news:language>"
        "</news:publication><news:publication_date>2026-01-0%dT10:00Z</news:publication_date>"
        "<news:title>t</news:title></news:news>"
    ),
)
LINKS = (
    '<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de/%d"/>',
    '<xhtml:link rel="alternate" media="print" href="https://a.example/print/%d"/>',
    '<xhtml:link href="https://a.example/%d" hreflang="fr" rel="ALTERNATE"></xhtml:link>',
)
OWN = (
    "<lastmod>2026-02-0%d</lastmod>",
    "<lastmod> 2026-02-0%dT10:00:00+02:00 </lastmod>",
    "<changefreq>Daily</changefreq>",
    "<changefreq/>",
    "<priority> </priority>",
    "<priority>0.%d</priority>",
)


def record(random: Random, number: int) -> str:
    """Make a plain record with any of the fields, in any order."""
    digit = number % 9 + 1
    fields = [f"<loc>https://a.example/{number}</loc>"]
    fields += random.sample(OWN[:2], random.randrange(2))
    fields += random.sample(OWN[2:4], random.randrange(2))
    fields += random.sample(OWN[4:], random.randrange(2))
    fields += random.sample(NEWS, random.randrange(2))
    for many in (IMAGES, VIDEOS, LINKS):
        fields += random.choices(many, k=random.choice((0, 0, 1, 3)))
    random.shuffle(fields)
    blank = random.choice(("", "\n  "))
    text = blank.join(field % digit if "%d" in field else field for field in fields)
    return f"<url>{blank}{text}{blank}</url>"


def read_fast(document: bytes, **limits: int) -> tuple[list[Event], int]:
    """Return the events of a document, and how many batches were not plain; check both ways."""
    plain: list[bool] = []
    read_batch = FastReader.read

    def spy(self: FastReader, batch: bytes) -> list[Entry] | None:
        entries = read_batch(self, batch)
        plain.append(entries is not None)
        return entries

    with mock.patch.object(FastReader, "read", spy):
        events = read(document, **limits)
    with mock.patch.object(FastReader, "read", return_value=None):
        assert read(document, **limits) == events
    assert plain
    return events, plain.count(False)


@pytest.mark.parametrize("seed", range(30))
def test_any_mixture_of_plain_records(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of all layouts, mixed, are all read fast, in their order, and as the exact reader."""
    random = Random(seed)
    monkeypatch.setattr(parsed, "_MAX_LAYOUTS", random.choice((1, 20, 500)))
    records = [record(random, number) for number in range(random.choice((2, 5, 60)))]
    documents = random.choices(records, k=120)
    events, doubts = read_fast(urlset("\n".join(documents).encode()))
    assert doubts == 0
    assert len(events) == 120
    assert all(isinstance(event, UrlEntry) for event in events)


ITEMS = (
    "<item><title>t</title><link>https://a.example/%d</link><dc:date>2026-01-01</dc:date></item>",
    "<item><link> https://a.example/%d\n</link><a><link>https://b.example/</link><i/></a></item>",
    (
        "<item><pubDate> </pubDate><dc:date>2026-01-02</dc:date><link>https://a.example/%d</link>"
        "<guid isPermaLink='false'>x</guid></item>"
    ),
    (
        "<item><atom:updated>2026-01</atom:updated><pubDate>Tue, 10 Mar 2026 09:00:00 GMT</pubDate>"
        "<link>https://a.example/%d</link></item>"
    ),
)
ENTRIES = (
    "<entry><link href='https://a.example/%d'/><updated>2026-01-01</updated></entry>",
    (
        "<entry><link rel='self' href='https://b.example/'/><link href='https://a.example/%d'/>"
        "<published>2026-01-01</published><updated>2026-01-02</updated></entry>"
    ),
    (
        "<entry><link type='text/plain' href='https://b.example/'/><title>t</title>"
        "<link type='text/html' rel='alternate' href='https://a.example/%d'/>"
        "<content><div><link rel='x'/></div></content></entry>"
    ),
)
FEEDS = {
    "rss": (
        (
            "<rss xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:atom='http://www.w3.org/2005/Atom'>"
            "<channel>%s</channel></rss>"
        ),
        ITEMS,
    ),
    "atom": ("<feed xmlns='http://www.w3.org/2005/Atom'>%s</feed>", ENTRIES),
}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", FEEDS)
def test_any_mixture_of_items(name: str, seed: int) -> None:
    """Items of feeds, mixed, are all read fast, whatever stands deeper in them."""
    random = Random(seed)
    frame, kinds = FEEDS[name]
    some = random.sample(kinds, random.randrange(1, len(kinds) + 1))
    items = [random.choice(some) % number for number in range(100)]
    events, doubts = read_fast((frame % "\n".join(items)).encode())
    assert doubts == 0
    assert [getattr(event, "loc", "") for event in events] == [
        f"https://a.example/{number}" for number in range(100)
    ]


LOC = "<loc>https://a.example/</loc>"
DOUBTFUL = {
    "an-attribute-of-a-detail": "<image:image><image:loc x='1'>https://i/</image:loc></image:image>",
    "news-twice": NEWS[0] % 1 * 2,
    "a-field-twice": OWN[0] % 1 * 2,
    "an-image-without-its-loc": "<image:image><image:title>t</image:title></image:image>",
    "an-empty-image": "<image:image/>",
    "a-field-in-a-field": "<lastmod><x:y/>2026-01-01</lastmod>",
    "unknown": "<x:y/>",
    "no-date": "<lastmod>soon</lastmod>",
    "no-number": "<video:video><video:duration>x</video:duration></video:video>",
    "a-link-with-more": "<xhtml:link rel='alternate' href='https://a/' x='1'/>",
    "a-link-without-relation": "<xhtml:link rel='' href='https://a/'/>",
    "a-link-without-anything": "<xhtml:link/>",
    "a-link-without-href": "<xhtml:link rel='alternate'/>",
    "a-detail-outside": "<image:loc>https://i/</image:loc>",
    "a-detail-of-another": "<video:video><image:loc>https://i/</image:loc></video:video>",
    "another-namespace-s": "</url><url xmlns='urn:y'>",
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_left_to_the_exact_reader(name: str) -> None:
    """A record that is not plain is left to the exact reader, and the one behind it is not."""
    odd, plain = f"<url>{LOC}{DOUBTFUL[name]}</url>", f"<url>{LOC}<priority>1</priority></url>"
    _, doubts = read_fast(urlset(odd.encode()))
    assert doubts == 1
    read_fast(urlset(plain.encode() + odd.encode() + plain.encode()))


def test_limits_hold_in_columns() -> None:
    """Attributes are counted where they do not matter as well."""
    document = urlset(f"<url a='1' b='2'>{LOC}</url>".encode() * 2)
    assert read_fast(document)[1] == 0
    events, doubts = read_fast(document, attributes=1)
    assert doubts == 1
    assert any(isinstance(event, Issue) for event in events)


def test_the_values_of_columns() -> None:
    """What the columns of one record with all kinds of extensions come to, written out."""
    fields = [*IMAGES, VIDEOS[0], *LINKS]
    text = "".join(field % 1 for field in fields)
    [entry] = read(urlset(f"<url><loc>https://a.example/</loc>{text}</url>".encode()))
    assert isinstance(entry, UrlEntry)
    assert entry.images == (
        Image("https://i.example/1.jpg"),
        Image("https://i.example/1", "a\n title", license="https://l.example/"),
        Image("https://i.example/1.png"),
    )
    assert entry.videos == (Video(id="t1", duration=12, tags=("a", "b")),)
    assert entry.alternates == (
        Alternate("https://a.example/de/1", "de"),
        Alternate("https://a.example/print/1", media="print"),
        Alternate("https://a.example/1", "fr"),
    )


def test_what_stands_between_items() -> None:
    """An element between two items makes them none of a plain feed's, and is no harm to them."""
    items = b"<item><link>https://a.example/%d</link></item>"
    middle = items % 1 + b"<x><link>https://b.example/</link></x>" + items % 2
    events, doubts = read_fast(b"<rss><channel>" + middle + b"</channel></rss>")
    assert doubts == 1
    assert [getattr(event, "loc", "") for event in events if not isinstance(event, Issue)] == [
        "https://a.example/1",
        "https://a.example/2",
    ]


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("link", ["rel='' href='https://a/'", "", "href=''", "rel='self'"])
def test_odd_links_many_times(link: str, quote: str) -> None:
    """A link that is odd in every record of many has its Issue in every one."""
    link = link.replace("'", quote)
    read_fast(urlset(f"<url>{LOC}<xhtml:link {link}/></url>".encode() * 30))
    entry = f"<entry><link {link}/><link href={quote}https://a.example/{quote}/></entry>"
    read_fast(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry * 30}</feed>".encode())
