"""Fields longer than the limit, in records that the tree reads."""

from __future__ import annotations

from unittest import mock

import pytest
from reading import issues, locs, read, read_by_tree, url, urlset

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import UrlEntry
from sitemapreader.readers.xml.markup import RecordBuilder
from sitemapreader.readers.xml.tree import TreeReader

LONG = b"long text " * 10
VIDEO = (
    b"<video:video><video:title>T</video:title><video:description>%b</video:description>"
    b"<video:tag>A &amp; B</video:tag></video:video>"
)
REFUSED = (
    b"<lastmod>%b</lastmod>" % LONG + b"<changefreq>daily",
    LONG,
    b'<x:y z="%b"/>' % LONG,
    b"<x:y>T</x:y>" + LONG,
)
"""What is broken, or too long for the record itself."""


def read_leniently(data: bytes) -> list[object]:
    with mock.patch.object(TreeReader, "_is_too_much", return_value=True):
        return [*read(data, field_chars=60)]


@pytest.mark.parametrize(
    "fields",
    [
        b"<lastmod>%b</lastmod>" % LONG,
        VIDEO % LONG,
        VIDEO % b"<b>B</b>%b" % LONG,
        VIDEO % (LONG + b"<b>B</b>"),
        b"<x:y>%b</x:y>" % LONG,
        b"<lastmod>2026-01-01</lastmod>" + b" " * 100,
        *REFUSED,
    ],
)
def test_a_long_text_gives_the_same_however_it_is_read(fields: bytes) -> None:
    """A text past the limit costs its field or its record, whichever way reads the record."""
    data = urlset(url(b"<priority>0.1</priority>") + url(fields) + url(b""))
    events = read(data, field_chars=60)
    assert events == read_by_tree(data, field_chars=60) == read_leniently(data)
    assert len(locs(events)) >= 2


def test_a_long_field_is_named_by_its_line() -> None:
    """The Issue of a long field has the line on which it begins; the others keep their values."""
    data = urlset(url(b"\n" + VIDEO.replace(b"<video:d", b"\n<video:d") % LONG) + url(b""))
    events = read_by_tree(data, field_chars=60)
    first = events[1]
    assert isinstance(first, UrlEntry)
    assert [(video.title, video.description, video.tags) for video in first.videos] == [
        ("T", None, ("A & B",))
    ]
    assert [(e.code, e.line) for e in events if isinstance(e, Issue)] == [
        (IssueCode.FIELD_TOO_LONG, 3)
    ]


@pytest.mark.parametrize("size", [70_000, 300_000])
def test_a_long_body_is_read_by_the_tree(size: int) -> None:
    """An item whose body is longer than a field may be needs no repair, and has no Issue."""
    body = "<description>" + "&lt;p&gt; A &#8217; B" * (size // 20) + "</description>"
    item = "<item><title>T</title><link>https://a.b/{}</link>{}</item>"
    items = "".join(item.format(number, body) for number in range(3))
    data = f"<rss version='2.0'><channel>{items}</channel></rss>".encode()
    with mock.patch.object(RecordBuilder, "start") as start:
        events = read(data)
    assert locs(events) == [f"https://a.b/{number}" for number in range(3)]
    assert not issues(events)
    assert not start.called
