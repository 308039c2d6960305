"""What is unlisted, document by document, and never by an outage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from clock import DAY, SetClock
from walking import ROBOTS, SITE, Pages, at_once, fault, index, status, urlset, walk_all

from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.state import State

if TYPE_CHECKING:
    from pathlib import Path


TOP, DEEP = f"{SITE}top.xml", f"{SITE}deep.xml"
ONE, TWO = f"{SITE}one.xml", f"{SITE}two.xml"


def page(letters: str) -> bytes:
    return urlset(*(SITE + letter for letter in letters))


def unlisted_in(db: Path) -> set[str]:
    return {row.loc for row in State(db).unlisted()} if db.exists() else set()


async def come(pages: Pages, db: Path, **arguments: Any) -> tuple[str, int | None]:
    """Walk; return what became unlisted, and how many URLs wait."""
    common: dict[str, Any] = {"state": at_once(db), "changes": True, **arguments}
    site = None if "sitemaps" in common else SITE
    before = unlisted_in(db)
    report = (await walk_all(pages, site, **common)).report
    unlisted = unlisted_in(db) - before
    assert report.unlisted == len(unlisted)
    return "".join(sorted(loc.removeprefix(SITE) for loc in unlisted)), report.waiting


def site(one: str, two: str) -> Pages:
    return {TOP: index(ONE, TWO), ONE: page(one), TWO: page(two)}


@pytest.mark.parametrize("code", [404, 410])
async def test_a_child_that_is_missing_for_ever(
    db: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its URLs while it is listed; for a week what others lost waits for it."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    clock = SetClock(monkeypatch)
    assert await come(site("abc", "xy"), db, **top) == ("", 0)
    missing: Pages = {TWO: status(code, TWO)}
    for _ in range(7):  # "a" may have moved into the one that is missing
        clock.now += DAY
        assert await come(site("bc", "") | missing, db, **top) == ("", 1)
    clock.now += DAY
    assert await come(site("bc", "") | missing, db, **top) == ("a", 0)
    assert await come(site("c", "") | missing, db, **top) == ("b", 0)
    assert await come(site("c", "") | missing, db, **top) == ("", 0)
    assert await come({TOP: index(ONE), ONE: page("c")}, db, **top) == ("xy", 0)


async def test_a_url_that_moved_while_its_old_document_failed(db: Path) -> None:
    """It is listed by the other document when the old one is read again: it is not removed."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("ab", "xy"), db, **top)
    failing: Pages = {ONE: fault(IssueCode.TIMEOUT, ONE)}
    assert await come(site("", "xyb") | failing, db, **top) == ("", 0)
    assert await come(site("a", "xyb"), db, **top) == ("", 0)
    assert await come(site("a", "xy"), db, **top) == ("b", 0)


async def test_a_url_that_moved_and_is_kept_back_by_a_filter(db: Path) -> None:
    """A filter that hides it in its new document does not make it look removed."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("ab", "xy"), db, **top)
    assert await come(site("a", "xyb"), db, exclude="b$", **top) == ("", 0)
    assert await come(site("a", "xyb"), db, **top) == ("", 0)
    assert await come(site("a", "xyc"), db, exclude="c$", **top) == ("b", 0)
    assert await come(site("a", "xy"), db, **top) == ("", 0)  # c was never handed over


async def test_a_document_that_was_read_in_part(db: Path) -> None:
    """What was not reached is not gone; what it lacks when it is whole again is."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("abc", "x"), db, **top)
    cut: Pages = {ONE: page("abc")[:-60]}
    assert await come(site("", "") | cut, db, **top) == ("", 1)
    assert await come(site("ab", ""), db, **top) == ("cx", 0)


BELOW: Pages = {TOP: index(DEEP, TWO), DEEP: index(ONE), ONE: page("ab"), TWO: page("xy")}


@pytest.mark.parametrize(
    ("other", "arguments"),
    [
        ({DEEP: fault(IssueCode.CONNECT, DEEP)}, {}),
        ({DEEP: status(404, DEEP)}, {}),
        ({}, {"follow": lambda entry: entry.loc != DEEP}),
        ({}, {"limits": Limits(depth=1)}),
        ({}, {"limits": Limits(children=1), "follow": lambda entry: entry.loc != DEEP}),
        ({DEEP: index(f"{SITE}new.xml", ONE)[:-60], f"{SITE}new.xml": page("")}, {}),
    ],
    ids=["outage", "missing", "follow", "depth", "children", "cut"],
)
async def test_what_an_unread_index_listed_is_kept(
    db: Path, other: Pages, arguments: dict[str, Any]
) -> None:
    """The documents below an index that was not read are there until it says otherwise."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(BELOW, db, **top)
    assert (await come(BELOW | other, db, **top, **arguments))[0] == ""
    assert (
        await come(BELOW | {DEEP: index(f"{SITE}n.xml"), f"{SITE}n.xml": page("b")}, db, **top)
    )[0] == "a"


@pytest.mark.parametrize(
    "robots",
    [
        status(503),
        fault(IssueCode.CONNECT),
        status(403),
        b"<!doctype html><title>Home</title>",
        b'{"error": "maintenance"}',
        b"Service unavailable",
    ],
    ids=["503", "connect", "403", "page", "json", "text"],
)
async def test_a_robots_txt_that_cannot_be_read(db: Path, robots: Exception | bytes) -> None:
    """The documents that it names are kept; once it is there and names one less, that is gone."""
    named = f"Sitemap: {ONE}\nSitemap: {TWO}\n"
    pages: Pages = {ROBOTS: named.encode(), ONE: page("ab"), TWO: page("xy")}
    await come(pages, db)
    assert await come(pages | {ROBOTS: robots}, db) == ("", 0)
    assert await come(pages | {ROBOTS: f"Sitemap: {ONE}\n".encode()}, db) == ("xy", 0)


async def test_a_failed_newcomer_may_be_an_index(db: Path) -> None:
    """What the index lists no more may be listed by a new document that could not be read."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("a", "x"), db, **top)
    pages: Pages = {TOP: index(DEEP, TWO), TWO: page("x"), DEEP: fault(IssueCode.DNS, DEEP)}
    assert await come(pages, db, **top) == ("", 0)
    assert await come(pages | {DEEP: index(ONE), ONE: page("a")}, db, **top) == ("", 0)
