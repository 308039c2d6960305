"""The first block of a document is a small one, where it tells all that a larger one would."""

from __future__ import annotations

import gzip

import pytest

from sitemapreader import Format, IssueCode, SitemapReader, UrlEntry

KIB = 1024
XML = b"<urlset>" + b"<url><loc>https://example.org/a</loc></url>\n" * 1_000 + b"</urlset>"
TEXT = b"https://example.org/a\n" * 1_000


def read_piecemeal(data: bytes, charset: str | None = None) -> tuple[SitemapReader, int]:
    """Feed a kibibyte at a time; return the reader and the kibibytes up to the first entry."""
    reader = SitemapReader(charset=charset)
    needed = 0
    for start in range(0, len(data), KIB):
        events = reader.feed(data[start : start + KIB])
        if not needed and any(isinstance(event, UrlEntry) for event in events):
            needed = start // KIB + 1
    reader.close()
    return reader, needed


@pytest.mark.parametrize("data", [XML, TEXT], ids=["xml", "text"])
def test_four_kibibytes_are_enough_for_the_first_urls(data: bytes) -> None:
    """What begins as XML or as a URL is read from its fourth kibibyte on."""
    _, needed = read_piecemeal(data)
    assert needed == 4


def test_the_first_urls_of_gzip_come_with_its_first_bytes() -> None:
    """What inflates from little is read at once as well."""
    _, needed = read_piecemeal(gzip.compress(XML))
    assert needed == 1


def test_what_begins_otherwise_is_judged_by_more() -> None:
    """Behind ten kibibytes of front matter the sitemap is found as before."""
    reader, needed = read_piecemeal(b"PHP Warning: nothing\n" * 500 + XML)
    assert (reader.format, reader.stats.delivered) == (Format.URLSET, 1_000)
    assert needed == 32


def test_blanks_of_a_whole_block_are_no_empty_document() -> None:
    """A sitemap that begins behind five kibibytes of blanks is one."""
    reader, _ = read_piecemeal(b"\n" * 5_000 + XML)
    assert reader.stats.delivered == 1_000


def test_rival_encodings_are_judged_by_more() -> None:
    """A letter far behind the first block shows that the header is wrong, and the text right."""
    head = b'<?xml version="1.0" encoding="windows-1252"?><urlset>'
    accented = b"<url><loc>https://example.org/caf\xe9</loc></url></urlset>"
    data = head + b"<url><loc>https://example.org/a</loc></url>\n" * 200 + accented
    reader = SitemapReader(charset="utf-8")
    events = [*reader.feed(data), *reader.close()]
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    assert len(data) > 2 * 4_096
    assert locs[-1] == "https://example.org/café"
    assert reader.stats.counts[IssueCode.ENCODING] == 1
