"""Pages of feeds and documents of ResourceSync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Change, Changes, IssueCode, UrlEntry, walk
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.reading import check_ways
from tests.support.walking import at_once, walk_all

if TYPE_CHECKING:
    from pathlib import Path

HOME = "https://example.org/"
ATOM = "http://www.w3.org/2005/Atom"


def feed(*posts: str, links: str = "") -> bytes:
    """Write an Atom feed of posts."""
    entries = "".join(f"<entry><link href='{HOME}{each}'/></entry>" for each in posts)
    return f"<feed xmlns='{ATOM}'><title>A</title>{links}{entries}</feed>".encode()


def next_page(href: str) -> str:
    """Write the link to the next page."""
    return f"<link rel='next' type='application/atom+xml' href='{href.replace('&', '&amp;')}'/>"


TERMS = "http://www.openarchives.org/rs/terms/"


NEXT = [
    f"{HOME}feed?page=2",
    "https://www.blogger.com/feeds/7/posts/default?start-index=26&max-results=25",
]


@pytest.mark.parametrize("page", NEXT)
async def test_the_next_page_of_a_feed_is_named(page: str) -> None:
    """It is an event and an Issue, is not asked for, and the walk is not complete without it."""
    pages = {HOME + "feed": feed("a", links=next_page(page)), page: feed("b")}
    walked = await walk_all(pages, None, sitemaps=[HOME + "feed"])
    assert walked.locs == [HOME + "a"]
    assert walked.requested[-1] == HOME + "feed"
    assert walked.codes == ["feed-has-more"]
    assert walked.outcome(page) == ("skipped", "feed-has-more")
    assert not walked.report.complete


async def test_a_page_without_an_end_leads_nowhere() -> None:
    """A feed that is its own next page is read once, and is complete."""
    pages = {HOME + "feed": feed("a", links=next_page("/feed"))}
    walked = await walk_all(pages, None, sitemaps=[HOME + "feed"])
    assert (walked.locs, walked.codes) == ([HOME + "a"], ["cycle"])
    assert walked.report.complete


async def test_no_loss_waits_for_the_next_page(db: Path) -> None:
    """What a sitemap beside a feed with pages has no longer is unlisted, day for day."""
    names = [HOME + "feed", HOME + "all.txt"]
    pages = {
        names[0]: feed("a", links=next_page(NEXT[0])),
        names[1]: f"{HOME}b\n{HOME}c".encode(),
    }
    for listed, unlisted in (("b", 0), ("b", 1)):
        walked = await walk_all(
            pages, None, sitemaps=names, state=at_once(db), changes=True
        )
        pages[names[1]] = f"{HOME}{listed}".encode()
        assert walked.report.unlisted == unlisted
    assert walked.report.waiting == 0


def change_list(*changes: tuple[str, str], prefix: str = "rs") -> bytes:
    """Write a change list: each URL with what has happened to it."""
    records = "".join(
        f"<url><loc>{HOME}{name}</loc><lastmod>2026-01-0{day}</lastmod>"
        f'<{prefix}:md change="{change}" hash="md5:1584abdf8ebdc9802ac0c6a7402c03b6" length="8876"'
        f' type="text/html"/><{prefix}:ln rel="duplicate" pri="1" href="{HOME}m/{name}"/></url>'
        for day, (name, change) in enumerate(changes, 1)
    )
    return (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:{prefix}="{TERMS}">'
        f'<{prefix}:md capability="changelist" from="2026-01-01"/>{records}</urlset>'
    ).encode()


CHANGES = change_list(
    ("a", "created"), ("b", "updated"), ("c", "deleted"), ("d", " Deleted ")
)


def told(events: Any) -> list[tuple[str, Change | None]]:
    """List what is said of each URL."""
    return [
        (e.loc.removeprefix(HOME), e.change) for e in events if isinstance(e, UrlEntry)
    ]


@pytest.mark.parametrize("prefix", ["rs", "s"])
def test_a_deleted_url_is_none_of_the_site(prefix: str) -> None:
    """What a record says was deleted is dropped, with an Issue; the others say what they are."""
    data = CHANGES.replace(b"<rs:", b"<%b:" % prefix.encode()).replace(
        b"xmlns:rs", b"xmlns:%b" % prefix.encode()
    )
    events = check_ways(data)
    assert told(events) == [("a", Change.NEW), ("b", Change.CHANGED)]
    issues = [event for event in events if not isinstance(event, UrlEntry)]
    assert [getattr(issue, "code", "") for issue in issues] == [IssueCode.DELETED] * 2


@pytest.mark.parametrize("unique", [False, True])
async def test_what_says_that_it_was_deleted(db: Path, *, unique: bool) -> None:
    """A walk with changes calls it unlisted at once and once; another record makes it new again."""
    pages: dict[str, bytes] = {}

    async def come(
        *changes: tuple[str, str],
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        pages[HOME + "c.xml"] = change_list(*changes)
        async with walk(
            sitemaps=[HOME + "c.xml", HOME + "all.txt"],
            fetcher=MemoryFetcher(pages),
            state=Changes(db),
            unique=unique,
        ) as entries:
            found = dict(told([entry async for entry in entries]))
            return found, [
                (row.loc.removeprefix(HOME), row.why) for row in entries.unlisted()
            ]

    first = ("a", "created"), ("b", "created"), ("never", "deleted"), ("b", "deleted")
    pages[HOME + "all.txt"] = f"{HOME}d\n{HOME}e".encode()
    # nothing to compare
    assert await come(*first) == (
        dict.fromkeys("abde", Change.NEW),
        [],
    )
    assert await come(*first, ("d", "deleted")) == ({}, [("b", "deleted")])
    pages[HOME + "all.txt"] = f"{HOME}f".encode()  # e waits for a second day
    both = await come(*first, ("d", "deleted"), ("g", "updated"))
    assert both == ({"f": Change.NEW, "g": Change.NEW}, [("d", "deleted")])
    assert await come(*first[:2]) == ({}, [])
    again = ("x", "created"), ("b", "created")
    assert await come(*first[:2], *again) == ({"x": Change.NEW, "b": Change.NEW}, [])
    both = await come(first[0], ("y", "updated"), *again, ("b", "deleted"))
    assert both == ({"y": Change.NEW}, [("b", "deleted")])
