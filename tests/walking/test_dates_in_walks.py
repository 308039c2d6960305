"""Dates that are none, and days without a zone: what a walk reads, sends and lets through."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.support.serving import Answer, serve_site
from tests.support.walking import at_once, index, read_site, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

MAP, CHILD = "https://example.org/index.xml", "https://example.org/child.xml"


@pytest.mark.parametrize(
    "zero",
    [
        "0001-01-01T00:00:00Z",
        "1601-01-01",
        "1899-12-30T00:00:00+00:00",
        "1970-01-01T01:00:00+01:00",
        "1980-01-01",
        "Thu, 01 Jan 1970 00:00:00 GMT",
    ],
)
async def test_the_zero_of_a_clock_is_no_date(zero: str) -> None:
    """A date before the web leaves out no child and no page, and is said."""
    pages = {MAP: index((CHILD, zero)), CHILD: urlset(("https://example.org/a", zero))}
    since = datetime(2026, 11, 1, tzinfo=UTC)
    walked = await walk_all(pages, None, sitemaps=[MAP], since=since)
    assert walked.locs == ["https://example.org/a"]
    assert walked.codes == ["lastmod", "lastmod"]


@pytest.mark.parametrize(
    "told",
    [
        "Tue, 01 Jan 1980 00:00:01 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 GMT",
    ],
)
@pytest.mark.parametrize("etag", ["", '"1"'])
async def test_a_last_modified_before_the_web_is_not_sent_back(
    tmp_path: Path, told: str, etag: str
) -> None:
    """Each build has that date: only its ETag tells one from the next."""
    asked: list[dict[str, str]] = []

    def answer(request: web.Request) -> Answer:
        asked.append({name.lower(): value for name, value in request.headers.items()})
        named = {"Last-Modified": told} | ({"ETag": etag} if etag else {})
        return Answer(urlset("https://example.org/a"), headers=named)

    async with serve_site() as site:
        site.pages["/s.xml"] = answer
        state = at_once(tmp_path / "state.db")
        for _ in range(2):
            await read_site(None, sitemaps=[f"{site.base}/s.xml"], state=state)
    assert len(asked) == 2
    assert "if-modified-since" not in asked[1]
    assert asked[1].get("if-none-match", "") == etag


DAY = "2026-11-28"


@pytest.mark.parametrize(
    ("since", "is_read"),
    [
        (datetime(2026, 11, 28, 23, tzinfo=UTC), True),
        (datetime(2026, 11, 29, 7, 59, tzinfo=UTC), True),  # 23:59 in California
        (datetime(2026, 11, 29, 11, 59, tzinfo=UTC), True),
        (datetime(2026, 11, 29, 12, tzinfo=UTC), False),
        (date(2026, 11, 28), True),
        (date(2026, 11, 29), False),
    ],
)
async def test_a_day_ends_where_it_ends_last(since: date, is_read: bool) -> None:
    """A page and a child that are dated by a day may have changed until the day ends anywhere."""
    pages = {MAP: index((CHILD, DAY)), CHILD: urlset(("https://example.org/a", DAY))}
    walked = await walk_all(pages, None, sitemaps=[MAP], since=since)
    assert walked.locs == ["https://example.org/a"] * is_read
    assert (CHILD in walked.requested) is is_read
    walked = await walk_all(pages, None, sitemaps=[CHILD], since=since)
    assert walked.locs == ["https://example.org/a"] * is_read


async def test_news_are_let_through_for_their_day() -> None:
    """A publication date without a time stands for its day, as a lastmod does."""
    news = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">'
        "<url><loc>https://example.org/a</loc><news:news><news:publication><news:name>n</news:name>"
        "<news:language>en</news:language></news:publication><news:title>t</news:title>"
        f"<news:publication_date>{DAY}</news:publication_date></news:news></url></urlset>"
    )
    end = datetime(2026, 11, 29, 12, tzinfo=UTC)
    for since, is_read in ((end - timedelta(minutes=1), True), (end, False)):
        walked = await walk_all(
            {CHILD: news.encode()}, None, sitemaps=[CHILD], since=since
        )
        assert walked.locs == ["https://example.org/a"] * is_read
