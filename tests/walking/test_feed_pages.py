"""Pages of feeds and documents of ResourceSync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest
from reading import check_ways
from serving import Answer, Site, serve_site
from walking import Walked, read_site, walk_all

from sitemapreader import Change, IssueCode, Limits, UrlEntry, walk
from sitemapreader.fetch.local import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aiohttp import web

    from sitemapreader.state import State

ATOM = "http://www.w3.org/2005/Atom"


def feed(base: str, posts: Iterable[object], links: str = "") -> Answer:
    """Write an Atom feed of posts, whose links may come before them."""
    entries = "".join(f"<entry><link href='{base}/feed/{each}'/></entry>" for each in posts)
    return Answer(f"<feed xmlns='{ATOM}'><title>A</title>{links}{entries}</feed>".encode())


def next_page(href: str) -> str:
    """Write the link to the next page."""
    return f"<link rel='next' type='application/atom+xml' href='{href.replace('&', '&amp;')}'/>"


@attrs.define
class Blog:
    """A feed in Blogger's form, whose newest posts come first; it counts its answers."""

    site: Site
    posts: list[str]
    size: int = 25
    fails_at: int = 0
    asked: list[int] = attrs.field(factory=list)

    async def answer(self, request: web.Request) -> Answer:
        """Return the page that begins with a post."""
        start = int(request.query.get("start-index", 1))
        self.asked.append(start)
        if start == self.fails_at:
            return Answer(status=404)
        end = start + self.size
        query = f"?start-index={end}&max-results={self.size}"
        link = next_page(f"{self.site.base}/feed{query}") if end <= len(self.posts) else ""
        return feed(self.site.base, self.posts[start - 1 : end - 1], link)

    async def walk(self, state: Path | State | None = None, **arguments: Any) -> Walked:
        """Walk over the feed; `asked` holds then what this walk asked for."""
        self.site.pages["/feed"] = self.answer
        self.asked.clear()
        return await read_site(None, sitemaps=[f"{self.site.base}/feed"], state=state, **arguments)


def names(reading: Walked) -> list[str]:
    """Return the last parts of the URLs that came."""
    return [loc.rpartition("/")[2] for loc in reading.locs]


def count(number: int) -> list[str]:
    """Name posts, the newest first."""
    return [f"{each}.html" for each in range(number, 0, -1)]


async def test_all_pages_are_read() -> None:
    """Of 1,200 posts in Blogger's form all come, each once, from 48 requests one after another."""
    async with serve_site() as site:
        blog = Blog(site, count(1_200))
        reading = await blog.walk()
    assert names(reading) == blog.posts
    assert blog.asked == list(range(1, 1_200, 25))
    assert reading.report.complete
    pages = [each for each in reading.report.documents if each.via == "page"]
    assert len(pages) == 47
    assert {page.parent for page in pages} == {f"{site.base}/feed"}


async def test_archives_are_read() -> None:
    """An archived feed (RFC 5005, section 4) is read back to its first archive."""
    async with serve_site() as site:
        for year in range(2000, 2040):
            link = f"<link rel='prev-archive' href='/feed/{year - 1}'/>" if year > 2000 else ""
            mark = "<fh:archive xmlns:fh='http://purl.org/syndication/history/1.0'/>"
            site.pages[f"/feed/{year}"] = feed(site.base, [f"{year}.html"], mark + link)
        site.pages["/feed"] = feed(
            site.base, ["2040.html"], "<link rel='prev-archive' href='/feed/2039'/>"
        )
        reading = await read_site(None, sitemaps=[f"{site.base}/feed"])
    assert names(reading) == [f"{year}.html" for year in range(2040, 1999, -1)]
    assert reading.report.complete


# -- bad feeds


async def test_endless_pages_end() -> None:
    """Of a feed with 10,000 pages a hundred are read; the next one is named, and is lost."""
    async with serve_site() as site:
        blog = Blog(site, count(10_000), size=1)
        reading = await blog.walk()
        assert blog.asked == list(range(1, 101))
        few = await blog.walk(limits=Limits(feed_pages=3))
        assert len(few.locs) == 3
    assert {*reading.codes} >= {"feed-has-more"}
    assert not reading.report.complete
    (left,) = [each for each in reading.report.documents if each.is_left_out]
    assert left.url.endswith("?start-index=101&max-results=1")
    assert left.reason == "feed-has-more"


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_circles_end(size: int) -> None:
    """Pages that lead back to themselves, or around, are read once each; nothing is lost."""
    async with serve_site() as site:
        for each in range(size):
            link = next_page(f"/feed/{(each + 1) % size}")
            site.pages[f"/feed/{each}"] = feed(site.base, [f"{each}.html"], link)
        reading = await read_site(None, sitemaps=[f"{site.base}/feed/0"])
    assert names(reading) == [f"{each}.html" for each in range(size)]
    assert all(site.times[f"/feed/{each}"] == 1 for each in range(size))
    assert "cycle" in reading.codes
    assert reading.report.complete


async def test_another_host_is_not_asked() -> None:
    """A page on another host is not followed, though `hosts` would allow it, but named."""
    async with serve_site() as site:
        other = site.base.replace("127.0.0.1", "localhost")
        site.pages["/feed"] = feed(site.base, ["1.html"], next_page(f"{other}/feed/2"))
        reading = await read_site(None, sitemaps=[f"{site.base}/feed"], hosts="any")
    assert site.requested == ["/feed"]
    assert {*reading.codes} >= {"feed-has-more"}
    assert not reading.report.complete


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(status=404), "http-status"),
        (Answer(b"<!doctype html><html><body>Page 2</body></html>"), "html-not-sitemap"),
        (Answer(b"not found"), "not-a-sitemap"),
    ],
)
async def test_a_lost_page_is_lost(answer: Answer, reason: str) -> None:
    """With a page that is no feed, or not there, the walk does not claim to be complete."""
    async with serve_site() as site:
        site.pages["/feed"] = feed(site.base, ["1.html"], next_page("/feed/2"))
        site.pages["/feed/2"] = answer
        reading = await read_site(None, sitemaps=[f"{site.base}/feed"])
    assert names(reading) == ["1.html"]
    assert not reading.report.complete
    assert reading.document("/feed/2").reason == reason


# -- Blogger, whose links lead to its own host


def blogger(start: int, posts: Iterable[str], path: str = "/feeds/7/posts/default") -> bytes:
    """Write a page as Blogger does, with the link to the one that begins with a post."""
    query = f"?start-index={start}&max-results=2&redirect=false"
    link = next_page(f"https://www.blogger.com{path}{query}") if start else ""
    return feed("https://blog.example.org", posts, link).body


async def test_blogger_serves_pages_at_the_host_of_the_blog() -> None:
    """The page that is linked at www.blogger.com is read from the blog's own host."""
    top = "https://blog.example.org/feeds/posts/default"
    query = "?start-index={}&max-results=2&redirect=false"
    pages = {
        top: blogger(3, "ab"),
        top + query.format(3): blogger(5, "cd"),
        top + query.format(5): blogger(0, "e"),
    }
    walked = await walk_all(pages, None, sitemaps=[top])
    assert [loc[-1] for loc in walked.locs] == list("abcde")
    assert walked.report.complete


# -- with a state


async def test_pages_that_are_unchanged_bring_nothing(db: Path) -> None:
    """Each page is asked again, as any sitemap is, and has its outcome."""
    async with serve_site() as site:
        blog = Blog(site, count(100), size=10)
        await blog.walk(db)
        again = await blog.walk(db)
        assert (again.locs, again.report.complete) == ([], True)
        pages = [each for each in again.report.documents if each.via == "page"]
        assert [page.status for page in pages] == ["unchanged"] * 9


async def test_a_new_post_brings_all_that_moved(db: Path) -> None:
    """Pages are read on as long as they change; what is new comes, wherever it stands."""
    async with serve_site() as site:
        blog = Blog(site, count(100), size=10)
        await blog.walk(db, changes=True)
        blog.posts = ["new.html", *blog.posts]
        blog.posts.insert(33, "backdated.html")
        again = await blog.walk(db, changes=True)
        assert names(again) == ["new.html", "backdated.html"]
        blog.posts[5] = "edited.html"
        again = await blog.walk(db, changes=True)
    assert names(again) == ["edited.html"]


async def test_a_page_that_failed_is_asked_again(db: Path) -> None:
    """Posts that moved to a page which failed come with the next walk, though the head stays."""
    async with serve_site() as site:
        blog = Blog(site, count(40), size=10)
        await blog.walk(db, changes=True)
        blog.posts = [*(f"new-{each}.html" for each in range(15)), *blog.posts]
        blog.fails_at = 11
        lost = await blog.walk(db, changes=True)
        assert not lost.report.complete
        blog.fails_at = 0
        again = await blog.walk(db, changes=True)
    assert {*names(lost), *names(again)} >= {*blog.posts[:15]}


# -- random walks over a feed that grows


HOME = "https://example.org/"
TERMS = "http://www.openarchives.org/rs/terms/"


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


CHANGES = change_list(("a", "created"), ("b", "updated"), ("c", "deleted"), ("d", " Deleted "))


def told(events: Any) -> list[tuple[str, Change | None]]:
    """List what is said of each URL."""
    return [(e.loc.removeprefix(HOME), e.change) for e in events if isinstance(e, UrlEntry)]


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

    async def come(*changes: tuple[str, str]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        pages[HOME + "c.xml"] = change_list(*changes)
        async with walk(
            sitemaps=[HOME + "c.xml", HOME + "all.txt"],
            fetcher=MemoryFetcher(pages),
            state=db,
            changes=True,
            unique=unique,
        ) as entries:
            found = dict(told([entry async for entry in entries]))
            return found, [(row.loc.removeprefix(HOME), row.why) for row in entries.unlisted()]

    first = ("a", "created"), ("b", "created"), ("never", "deleted"), ("b", "deleted")
    pages[HOME + "all.txt"] = f"{HOME}d\n{HOME}e".encode()
    assert await come(*first) == (dict.fromkeys("abde", Change.NEW), [])  # nothing to compare
    assert await come(*first, ("d", "deleted")) == ({}, [("b", "deleted")])
    pages[HOME + "all.txt"] = f"{HOME}f".encode()  # e waits for a second day
    both = await come(*first, ("d", "deleted"), ("g", "updated"))
    assert both == ({"f": Change.NEW, "g": Change.NEW}, [("d", "deleted")])
    assert await come(*first[:2]) == ({}, [])
    again = ("x", "created"), ("b", "created")
    assert await come(*first[:2], *again) == ({"x": Change.NEW, "b": Change.NEW}, [])
    both = await come(first[0], ("y", "updated"), *again, ("b", "deleted"))
    assert both == ({"y": Change.NEW}, [("b", "deleted")])
