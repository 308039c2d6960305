"""`parse_robots` as callers use it: rules, delays, sitemaps; and what is bounded."""

from __future__ import annotations

from typing import Any

import pytest

from sitemapreader import IssueCode
from sitemapreader._types.options import (
    MAX_URL_CHARS,
    ROBOTS_MAX_LINE_CHARS,
    FetchOptions,
)
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.robots import parse_robots
from tests.support.walking import ROBOTS, SITE, index, read_site, urlset, walk_all

BOT = "mybot/1.0"


@pytest.mark.parametrize("kept", range(8))
def test_a_disallow_that_is_too_long_still_forbids(kept: int) -> None:
    """Wherever a Disallow is cut, all that it would forbid stays forbidden, and it is said."""
    begin, end = "Disallow: /no/", "b%41cd$"
    stars = "*" * (ROBOTS_MAX_LINE_CHARS - len(begin) - kept)
    robots = parse_robots(f"User-agent: *\n{begin}{stars}{end}\n".encode(), ROBOTS)
    assert not robots.can_fetch(f"{SITE}no/xbAcd", BOT)
    assert robots.can_fetch(f"{SITE}yes", BOT)
    assert robots.counts == {IssueCode.FIELD_TOO_LONG: 1}


def test_an_allow_that_is_too_long_allows_nothing() -> None:
    """Half an Allow would allow more than the site said, so it is dropped, with an Issue."""
    line = f"Allow: /{'*' * ROBOTS_MAX_LINE_CHARS}"
    robots = parse_robots(f"User-agent: *\n{line}\nDisallow: /\n".encode(), ROBOTS)
    assert not robots.can_fetch(f"{SITE}a", BOT)
    assert robots.counts == {IssueCode.FIELD_TOO_LONG: 1}


def test_a_url_that_no_server_takes_is_not_judged() -> None:
    """A URL past 8,192 characters, as written or once encoded, is refused, if there are rules."""
    robots = parse_robots(b"User-agent: *\nDisallow: /no", ROBOTS)
    for url in (SITE + "a" * MAX_URL_CHARS, SITE + "é" * (MAX_URL_CHARS // 5)):
        assert robots.find_refusal(url, BOT) is IssueCode.ROBOTS_TOO_COMPLEX
        assert parse_robots(b"User-agent: *\nDisallow:", ROBOTS).can_fetch(url, BOT)


async def test_a_walk_over_many_wildcards() -> None:
    """In a walk the child is skipped for that reason, and the others are read."""
    words = "".join(f"Disallow: /*{n:05}*zz\n" for n in range(1_000))
    digits = "".join(f"{n:05}" for n in range(1_000))
    dear, cheap = f"{SITE}{digits}.xml", f"{SITE}00001.xml"
    walked = await walk_all(
        {
            ROBOTS: f"Sitemap: /i.xml\nUser-agent: *\n{words}".encode(),
            f"{SITE}i.xml": index(dear, cheap),
            cheap: urlset(f"{SITE}page"),
        }
    )
    assert walked.locs == [f"{SITE}page"]
    assert walked.outcome(dear) == ("skipped", "robots-too-complex")
    assert walked.report.counts[IssueCode.ROBOTS_TOO_COMPLEX] == 1
    assert dear not in walked.requested


async def test_files_that_are_large_are_not_all_kept() -> None:
    """Two of the largest fit into a walk's memory; the one that was used longest ago goes."""
    order = ["a1", "b1", "a2", "c1", "a3", "b2"]  # c1 ends the memory of b
    children = [f"https://{name[0]}.example/{name}.xml" for name in order]
    pages = {url: urlset(f"{url}/page") for url in children}
    pages |= {f"https://{host}.example/robots.txt": b"#" * 511_000 for host in "abc"}
    top = f"{SITE}i.xml"
    walked = await walk_all(
        pages | {top: index(*children)},
        None,
        sitemaps=[top],
        hosts="any",
        options=FetchOptions(concurrency=1),
    )
    robots = [url[8] for url in walked.requested if url.endswith(".example/robots.txt")]
    assert (len(walked.locs), robots) == (6, [*"abcb"])


@pytest.mark.parametrize("respect", [True, False])
async def test_a_walk_keeps_the_crawl_delay(respect: bool) -> None:
    """The Crawl-delay is set before anything but robots.txt is asked for, unless it is ignored."""
    heard: list[object] = []

    class Fetcher(MemoryFetcher):
        def set_crawl_delay(self, host_url: str, seconds: float) -> None:
            del host_url
            heard.append(seconds)

        def open(self, url: str, **how: Any) -> Any:
            heard.append(url)
            return super().open(url, **how)

    rules = b"Sitemap: /a.xml\nUser-agent: *\nCrawl-delay: 7"
    fetcher = Fetcher({ROBOTS: rules, f"{SITE}a.xml": urlset(f"{SITE}page")})
    reading = await read_site(SITE, fetcher=fetcher, respect_robots=respect)
    delays: list[object] = [7.0] if respect else []
    assert heard == [ROBOTS, *delays, f"{SITE}a.xml"]
    assert reading.report.outcome.crawl_delay == (7.0 if respect else None)


@pytest.mark.parametrize(
    "robots",
    [
        b"".join(b"Sitemap: /%d.xml\n" % number for number in range(1_001)),
        b"Sitemap: /1.xml\n" + b"# nothing\n" * 52_000 + b"Sitemap: /1000.xml\n",
    ],
)
async def test_a_sitemap_behind_the_end_of_robots_txt_is_missed(robots: bytes) -> None:
    """What robots.txt names and the walk does not read is not read: nothing is complete."""
    pages = {
        f"{SITE}{number}.xml": urlset(f"{SITE}{number}") for number in range(1_001)
    }
    reading = await read_site(SITE, fetcher=MemoryFetcher({ROBOTS: robots, **pages}))
    report = reading.report
    lost = [
        (each.url, each.status, each.reason)
        for each in report.documents
        if each.is_lost
    ]
    assert not report.complete
    assert lost == [(ROBOTS, "partial", "robots-too-large")]


async def test_a_robots_txt_that_was_read_has_not_failed() -> None:
    """Its rules hold, though the only sitemap that it names cannot be requested."""
    rules = b"Sitemap: undefined/sitemap.xml\n"
    pages = {ROBOTS: rules, f"{SITE}sitemap.xml": urlset(f"{SITE}page")}
    reading = await read_site(SITE, fetcher=MemoryFetcher(pages))
    first = reading.report.documents[0]
    assert (first.status, first.reason) == ("partial", "host-not-public")
