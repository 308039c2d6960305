"""JSON Feed: what is read of it, and what no feed can do to its reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from each_case import for_each

from sitemapreader import Event, Format, Limits, SitemapEntry, UrlEntry, read
from sitemapreader.readers.reader import SitemapReader

FEED = "https://example.org/blog/feed.json"
VERSION = "https://jsonfeed.org/version/1.1"


def write(*items: Any, **members: Any) -> bytes:
    """Write a feed."""
    return json.dumps({"version": VERSION, **members, "items": items}).encode()


def post(number: int) -> dict[str, Any]:
    """Make an item."""
    return {"id": str(number), "url": f"https://example.org/{number}"}


def read_all(data: bytes, size: int = 0, **limits: Any) -> tuple[SitemapReader, list[Event]]:
    """Read a feed in pieces; return the reader and the events."""
    reader = SitemapReader(FEED, limits=Limits(**limits))
    pieces = [data[start : start + size] for start in range(0, len(data), size)] if size else [data]
    events = [event for piece in pieces for event in reader.feed(piece)]
    return reader, events + reader.close()


def locs(events: list[Event]) -> list[str]:
    """Return the last parts of the URLs."""
    return [event.loc.rpartition("/")[2] for event in events if isinstance(event, UrlEntry)]


def codes(events: list[Event]) -> list[str]:
    """Return the codes of the Issues."""
    return [event.code for event in events if hasattr(event, "code")]


@for_each(
    "item, loc",
    [
        ({"url": "https://example.org/a"}, "https://example.org/a"),
        ({"url": "https://example.org/a", "external_url": "https://other.org/"}, f"{FEED[:20]}a"),
        ({"external_url": "https://other.org/b"}, "https://other.org/b"),
        ({"url": "", "external_url": "https://other.org/b"}, "https://other.org/b"),
        ({"url": None, "external_url": "https://other.org/b"}, "https://other.org/b"),
        ({"url": " ?p=1\n"}, f"{FEED}?p=1"),
        ({"id": "https://example.org/a"}, None),
        ({"url": 7}, None),
        ({"url": ["https://example.org/a"]}, None),
        ({"url": {"href": "https://example.org/a"}}, None),
        ({}, None),
    ],
)
def test_the_url_of_an_item(item: dict[str, Any], loc: str | None) -> None:
    """An item has its own address, else the one that it writes about; no other field is one."""
    events = list(read(write(item), FEED))
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [loc] * bool(loc)
    assert loc or codes(events) == ["missing-loc"]


@pytest.mark.parametrize(
    ("item", "date"),
    [
        ({"date_modified": "2026-02-01", "date_published": "2026-01-01"}, "2026-02-01"),
        ({"date_published": "2026-01-01T00:00:00Z"}, "2026-01-01T00:00:00Z"),
        ({"date_modified": "", "date_published": "2026-01-01"}, "2026-01-01"),
        ({"date_modified": None}, None),
    ],
)
def test_the_date_of_an_item(item: dict[str, Any], date: str | None) -> None:
    """The date of the last change counts, else that of the publication."""
    (entry,) = read(write({**post(1), **item}), FEED)
    assert isinstance(entry, UrlEntry)
    assert entry.lastmod_text == date
    assert bool(entry.lastmod) is bool(date)


@pytest.mark.parametrize("date", ["soon", 1767225600, 1e400])
def test_a_date_that_is_none_is_an_issue(date: object) -> None:
    """A date in another form than that of RFC 3339 is named, and the item stays."""
    events = list(read(write({**post(1), "date_published": date}), FEED))
    assert (locs(events), codes(events)) == (["1"], ["lastmod"])


@pytest.mark.parametrize("size", [1, 7, 1_000, 40_000])
def test_pieces_do_not_matter(size: int) -> None:
    """However a feed arrives, with its version before the items or behind them, all of it comes."""
    items = [post(number) for number in range(500)]
    members = {"items": items, "next_url": "/2", "version": VERSION}
    reader, events = read_all(json.dumps(members, indent=1).encode(), size)
    assert locs(events) == [str(number) for number in range(500)]
    assert [event.loc for event in events if isinstance(event, SitemapEntry)] == [
        "https://example.org/2"
    ]
    assert reader.format is Format.JSON_FEED
    assert reader.is_window


@pytest.mark.parametrize(
    ("href", "page"),
    [
        ("/2", "https://example.org/2"),
        ("<\n//", None),
        ("/2 3", None),
        ("mailto:a@b.example", None),
    ],
)
def test_the_next_page_is_a_url(href: str, page: str | None) -> None:
    """What is no URL is no page, which is said; markup and blanks in a relative one are neither."""
    _, events = read_all(write(post(1), next_url=href))
    pages = [event.loc for event in events if isinstance(event, SitemapEntry)]
    assert pages == [page] * bool(page)
    assert codes(events) == ["feed-has-more"] * (not page)


@pytest.mark.parametrize(
    "data",
    [
        b'{"items": [{"url": "https://example.org/a"}]}',
        b'{"version": "2.0", "items": [{"url": "https://example.org/a"}]}',
        b'{"text": "a \\"version\\": \\"https://jsonfeed.org/version/1.1\\"", "items": []}',
        b'{"error": "no such page", "page": "<item><link>https://example.org/a</link></item>"}',
        b'{"a": ' + b"[" * 100_000,
        b'{"a"',
    ],
)
def test_other_json_is_no_feed(data: bytes) -> None:
    """What does not say that it is a JSON Feed is none, whatever it holds; nothing is salvaged."""
    reader, events = read_all(data)
    assert reader.format is None
    assert codes(events) == ["not-a-sitemap"]


@for_each("end", range(120, 250, 7))
def test_a_cut_costs_what_is_behind_it(end: int) -> None:
    """Every item that is whole is delivered, and the loss is said."""
    data = write(*map(post, range(10)))
    reader, events = read_all(data[:end])
    assert locs(events) == [str(number) for number in range(data[:end].count(b"}"))]
    assert codes(events) == ["truncated"]
    assert reader.stats.records == reader.stats.delivered


@pytest.mark.parametrize(
    "fault", [b"{'id': 1}", b"nothing", b'{"id": 1,}', b'{"id" 1}', b"-", b'"\\q"', b"]"]
)
def test_a_fault_in_the_syntax_ends_the_feed(fault: bytes) -> None:
    """What stands before a fault is delivered; nothing behind it is guessed."""
    data = write(post(1), "FAULT", post(3)).replace(b'"FAULT"', fault)
    _, events = read_all(data)
    assert locs(events) == ["1"]
    assert codes(events) == ["malformed"]


@pytest.mark.parametrize("depth", [500, 3_000, 90_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_depth_raises_nothing(depth: int, brackets: str) -> None:
    """Values in one another to any depth are passed, or end the feed with an Issue."""
    start = brackets[0] if brackets == "[]" else '{"a":'
    deep = start * depth + "0" + brackets[1] * depth
    data = write(post(1), "DEEP", post(3)).replace(b'"DEEP"', f'{{"x": {deep}}}'.encode())
    _, events = read_all(data, json_bytes=10_000_000)
    assert locs(events)[:1] == ["1"]
    assert set(codes(events)) <= {"too-deep", "too-large", "missing-loc"}
    assert ("too-deep" in codes(events)) or len(locs(events)) == 2


def test_long_numbers_raise_nothing() -> None:
    """A number of thousands of digits is as good as any other."""
    digits = "9" * 50_000
    data = write({**post(1), "size": "N", "date_published": "N"}).replace(b'"N"', digits.encode())
    _, events = read_all(data)
    assert (locs(events), codes(events)) == (["1"], ["lastmod"])


def test_large_feeds_are_read_to_the_limit() -> None:
    """`json_bytes` bounds what is kept; what is whole before it is delivered."""
    data = write(*map(post, range(1_000)))
    reader, events = read_all(data, 5_000, json_bytes=20_000)
    assert 300 < len(locs(events)) < 1_000
    assert codes(events) == ["too-large"]
    assert reader.finished
    assert reader.stats.raw_bytes <= len(data)


@pytest.mark.parametrize("filler", ["[],", "{},", "7,", '"a":1,'])
def test_floods_of_values_are_not_read(filler: str) -> None:
    """A document of too many small values is refused before any of them is made."""
    flood = filler * 250_000
    value = f"{{{flood}}}" if ":" in filler else f"[{flood}0]"
    data = write(post(1), x="FLOOD").replace(b'"FLOOD"', value.encode())
    assert len(data) < Limits().json_bytes
    _, events = read_all(data)
    assert (locs(events), codes(events)) == ([], ["too-large"])


def test_entries_are_limited() -> None:
    """The limit of records holds for items too."""
    _, events = read_all(write(*map(post, range(20)), next_url="/2"), entries=5)
    assert len(locs(events)) == 5
    assert codes(events) == ["too-large"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_titles_in_any_encoding(encoding: str) -> None:
    """A title is read as it was meant, or bytes that are not UTF-8 are said to be lost."""
    feed = json.loads(write({**post(1), "title": "Café"}))
    _, events = read_all(json.dumps(feed, ensure_ascii=False).encode(encoding))
    (entry,) = [event for event in events if isinstance(event, UrlEntry)]
    assert entry.title in ("Café", "Caf\ufffd")
    assert (entry.title == "Café") is ("encoding" not in codes(events))
