"""What a record says is there as its author wrote it, beside the values that it is read as."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import SitemapEntry, SitemapReader, UrlEntry, read
from sitemapreader.output import open_output
from tests.support.reading import FEED, check_ways, read_by_tree, url, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader._types.models import Event

INDEX = (
    "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap>"
    "<loc>http://a.b/1.xml</loc><lastmod>%s</lastmod></sitemap></sitemapindex>"
)
ENTRY = "<entry><link href='http://a.b/1'/><updated>%s</updated></entry></feed>"
RSS = "<rss><channel><item><link>http://a.b/1</link><pubDate>%s</pubDate></item></channel></rss>"


def find_entries(events: list[Event]) -> list[UrlEntry]:
    return [event for event in events if isinstance(event, UrlEntry)]


def read_both_ways(fields: str) -> list[UrlEntry]:
    """Read a record by the pattern, among others, and by the tree."""
    document = urlset(20 * url(b"<priority>0.3</priority>") + url(fields.encode()))
    return [
        find_entries(check_ways(document))[-1],
        find_entries(read_by_tree(document))[-1],
    ]


@pytest.mark.parametrize(
    ("written", "text", "value"),
    [
        ("0.8", "0.8", 0.8),
        ("0.80", "0.80", 0.8),
        (" 1\n", "1", 1.0),
        ("<![CDATA[ .5 ]]>", ".5", 0.5),
        ("11", "11", None),
        ("0,7", "0,7", None),
        ("high &amp; mighty", "high & mighty", None),
        ("1e-07", "1e-07", 1e-07),
        ("", None, None),
        (" ", None, None),
    ],
)
def test_priority_as_written(
    written: str, text: str | None, value: float | None
) -> None:
    """The text of a priority is kept, trimmed, whether it can be read or not."""
    for entry in read_both_ways(f"<priority>{written}</priority>"):
        assert (entry.priority, entry.priority_text) == (value, text)


@pytest.mark.parametrize(
    ("written", "text", "value"),
    [
        ("daily", "daily", "daily"),
        ("Daily", "Daily", "daily"),
        ("\t WEEKLY ", "WEEKLY", "weekly"),
        ("every day", "every day", None),
        ("täglich", "täglich", None),
        ("", None, None),
    ],
)
def test_changefreq_as_written(
    written: str, text: str | None, value: str | None
) -> None:
    """The text of a changefreq is kept, trimmed, whether it is one of the words or not."""
    for entry in read_both_ways(f"<changefreq>{written}</changefreq>"):
        assert (entry.changefreq, entry.changefreq_text) == (value, text)


def test_the_last_of_several_counts() -> None:
    """The text is that of the field whose value counts."""
    for entry in read_both_ways("<priority>0.10</priority><priority>0.90</priority>"):
        assert (entry.priority, entry.priority_text) == (0.9, "0.90")


@pytest.mark.parametrize(
    ("written", "has_zone"),
    [
        ("2026-01-01T10:00:00Z", True),
        ("2026-01-01T10:00+02:00", True),
        ("2026-01-01 10:00:00 UTC", True),
        ("2026-01-01T10:00:00.5-0330", True),
        ("Thu, 01 Jan 2026 12:00:00 GMT", True),
        ("Thu, 01 Jan 2026 12:00:00 EST (New York)", True),
        ("2026-01-01T10:00:00", False),
        ("2026-01-01 10:00", False),
        ("2026-01-01", False),
        ("2026", False),
        ("01 Jan 2026 12:00", False),
        ("Thu, 01 Jan 2026", False),
        ("soon", None),
        ("1970-01-01T00:00:00Z", None),
        ("2026-02-30T00:00:00Z", None),
        ("", None),
    ],
)
def test_dates_say_whether_they_have_a_zone(
    written: str, *, has_zone: bool | None
) -> None:
    """A date that was read as UTC for want of a zone can be told from one that says so."""
    documents = [
        urlset(url(f"<lastmod>{written}</lastmod>".encode())),
        (INDEX % written).encode(),
        FEED + (ENTRY % written).encode(),
        (RSS % written).encode(),
    ]
    for document in documents:
        (entry,) = (
            event
            for event in check_ways(document)
            if isinstance(event, UrlEntry | SitemapEntry)
        )
        assert entry.has_zone is has_zone


def test_outputs_write_them_on_request(tmp_path: Path) -> None:
    """All three are columns, of entries by columns as of objects."""
    zone = "<lastmod>2026-01-01T10:00</lastmod>"
    words = "<changefreq>Daily</changefreq><priority>1</priority>"
    data = urlset(2 * url((zone + words).encode()))
    names = ["changefreq_text", "priority_text", "has_zone"]
    parts: list[Any] = [[*read(data)], *SitemapReader().feed_steps(data)]
    for number, rows in enumerate(parts):
        path = tmp_path / f"{number}.jsonl"
        with open_output(path, fields=names) as output:
            output.write(rows)
        row = dict(zip(names, ("Daily", "1", False), strict=True))
        lines = path.read_text(encoding="utf-8").splitlines()
        assert list(map(json.loads, lines)) == len(rows) * [row]
