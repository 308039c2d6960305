"""The date of an entry: lastmod, else the publication date of its news; and what goes by it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from sitemapreader import Issue, IssueCode, UrlEntry, read
from sitemapreader._types.rows import is_recent
from sitemapreader.records import DateSource, News
from tests.support.walking import ROBOTS, Pages, urlset, walk_all

SITEMAP = "https://example.org/news.xml"
PAGE = "https://example.org/"
MARCH = datetime(2026, 3, 5, 12, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)
HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">'
)


def sitemap(*records: tuple[str, str | None, str | None]) -> bytes:
    """Write a news sitemap: of each record its name, lastmod and publication date."""
    parts = [HEAD]
    for name, lastmod, published in records:
        parts.append(f"<url><loc>{PAGE}{name}</loc>")
        if lastmod is not None:
            parts.append(f"<lastmod>{lastmod}</lastmod>")
        if published is not None:
            date = f"<news:publication_date>{published}</news:publication_date>"
            parts.append(f"<news:news>{date}<news:title>T</news:title></news:news>")
        parts.append("</url>")
    return "".join([*parts, "</urlset>"]).encode()


NEWS = sitemap(
    ("old", None, "2020-01-01T08:00:00Z"),
    ("new", None, "2026-03-05T13:00:00Z"),
    ("minute-before", None, "2026-03-05T11:59:00Z"),
    ("same-day", None, "2026-03-05"),
    ("day-before", None, "2026-03-04"),
    ("changed", "2026-04-01", "2020-01-01"),
    ("old-and-changed-before", "2026-01-01", "2026-04-01"),
    ("unreadable", "soon", "2026-04-01"),
    ("undated", None, None),
)
RECENT = ["new", "same-day", "changed", "unreadable"]


@pytest.mark.parametrize(
    ("entry", "date", "source"),
    [
        (UrlEntry(PAGE), None, None),
        (UrlEntry(PAGE, MARCH), MARCH, "lastmod"),
        (UrlEntry(PAGE, news=News(publication_date=MARCH)), MARCH, "news"),
        (UrlEntry(PAGE, MARCH, news=News(publication_date=APRIL)), MARCH, "lastmod"),
        (UrlEntry(PAGE, news=News(title="undated")), None, None),
        (UrlEntry(PAGE, lastmod_text="soon"), None, None),
    ],
)
def test_a_date_comes_from_lastmod_or_else_from_news(
    entry: UrlEntry, date: datetime | None, source: str | None
) -> None:
    """An entry says its date and where that is from; its lastmod stays as it is."""
    lastmod = entry.lastmod
    assert (entry.date, entry.date_source) == (date, source)
    assert entry.date_source is None or isinstance(entry.date_source, DateSource)
    assert entry.lastmod is lastmod


@pytest.mark.parametrize(("undated", "kept"), [("keep", ["undated"]), ("drop", [])])
async def test_walk_goes_by_the_news_date(
    undated: Literal["keep", "drop"], kept: list[str]
) -> None:
    """A walk, and `read`, leave out old news without a lastmod, which are not undated."""
    pages = {SITEMAP: NEWS}
    walked = await walk_all(
        pages, None, sitemaps=[SITEMAP], since=MARCH, undated=undated
    )
    assert [loc.removeprefix(PAGE) for loc in walked.locs] == [*RECENT, *kept]
    assert walked.document(SITEMAP).filtered == 9 - len(RECENT) - len(kept)
    if kept:
        events = list(read(NEWS, SITEMAP, since=MARCH))
        assert [e.loc for e in events if isinstance(e, UrlEntry)] == walked.locs
        assert [e.code for e in events if isinstance(e, Issue)] == [IssueCode.LASTMOD]


FIRST = datetime(2026, 3, 1, tzinfo=UTC)
moments = st.one_of(
    st.integers(0, 8 * 24 * 60).map(lambda minutes: FIRST + timedelta(minutes=minutes)),
    st.integers(0, 8).map(lambda days: FIRST + timedelta(days=days)),
)


@given(moments, moments)
def test_news_and_lastmod_of_one_text_agree(moment: datetime, since: datetime) -> None:
    """News passes `since` exactly as a lastmod with the same text does: day or moment."""
    is_day = moment.time() == datetime.min.time()
    text = (moment.date() if is_day else moment).isoformat()
    news = UrlEntry(PAGE, news=News(publication_date=moment))
    dated = UrlEntry(PAGE, moment, lastmod_text=text)
    assert is_recent(news, since) == is_recent(dated, since)


# -- entries by date: since and until in every kind of moment, and what is said of those kept


TOP = "https://example.org/sitemap.xml"
NOW = datetime.now(UTC)
DAYS = {
    "old": "2019-12-31",
    "eve": "2020-01-30T23:59:00Z",
    "day": "2020-01-31",
    "noon": "2020-01-31T12:00:00Z",
    "next": "2020-02-01T00:00:00Z",
    "yesterday": (NOW - timedelta(days=1)).isoformat(),
    "future": (NOW + timedelta(days=40)).isoformat(),
}
BODY = urlset(
    *((f"https://example.org/{name}", day) for name, day in DAYS.items()),
    "https://example.org/undated",
)
PAGES: Pages = {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: BODY}


def names(locs: list[str]) -> list[str]:
    return [loc.rpartition("/")[2] for loc in locs]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"since": date(2020, 1, 31)}, "day noon next yesterday future undated"),
        (
            {"since": datetime(2020, 1, 31, 11)},  # noqa: DTZ001
            "day noon next yesterday future undated",
        ),
        ({"since": timedelta(days=7)}, "yesterday future undated"),
        ({"until": date(2020, 1, 31)}, "old eve day noon undated"),
        ({"until": datetime(2020, 1, 31, tzinfo=UTC)}, "old eve day undated"),
        ({"until": timedelta(days=7)}, "old eve day noon next undated"),
        ({"until": timedelta(0), "undated": "drop"}, "old eve day noon next yesterday"),
        ({"since": date(2020, 1, 31), "until": date(2020, 1, 31)}, "day noon undated"),
    ],
)
async def test_since_and_until_select_by_date(
    arguments: dict[str, Any], expected: str
) -> None:
    """A moment, a day in UTC, or a time before now bounds the dates on either side."""
    walked = await walk_all(PAGES, **arguments)
    assert names(walked.locs) == expected.split()
    kept = expected.split()
    counts = walked.report.undated, walked.report.future
    assert counts == (kept.count("undated"), kept.count("future"))
    if "until" not in arguments and "undated" in kept:
        read_alone = read(BODY, since=arguments["since"])
        assert [e.loc for e in read_alone if isinstance(e, UrlEntry)] == walked.locs
