"""`parse_robots` as callers use it: rules, delays, sitemaps; and what is bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from each_case import for_each
from walking import ROBOTS, SITE, index, urlset, walk_all

from sitemapreader import IssueCode, parse_robots
from sitemapreader.options import MAX_URL_CHARS, ROBOTS_MAX_LINE_CHARS

BOT = "mybot/1.0"


@pytest.mark.parametrize("data", ["User-agent: *", None, bytearray(b"x")])
def test_only_bytes(data: Any) -> None:
    """Text is refused with what to give instead: its encoding was somebody's guess."""
    with pytest.raises(TypeError, match="must be bytes"):
        parse_robots(data)


@for_each("kept", range(8))
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


def test_more_agents_than_are_remembered() -> None:
    """Asking for many robots in turn gives each its own answer, every time."""
    groups = "".join(f"User-agent: r{n}\nDisallow: /{n}/\n" for n in range(12))
    robots = parse_robots(groups.encode(), ROBOTS)
    for _ in range(2):
        for n in range(12):
            assert not robots.can_fetch(f"{SITE}{n}/x", f"r{n}/1")
            assert robots.can_fetch(f"{SITE}{n + 1}/x", f"r{n}/1")


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


async def test_a_large_robots_does_not_hold_the_loop() -> None:
    """Half a megabyte of rules is parsed and arranged beside the loop, not in it."""
    rules = "".join(f"Disallow: /{n}/x\n" for n in range(22_000))
    robots = f"Sitemap: /i.xml\nUser-agent: *\n{rules}".encode()
    pages = {ROBOTS: robots, f"{SITE}i.xml": index(f"{SITE}a.xml"), f"{SITE}a.xml": urlset(SITE)}
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(count_turns())
    walked = await walk_all(pages)
    task.cancel()
    assert walked.locs == [SITE]
    assert turns > 200  # in the loop it would be some tens: one for each step of the walk
