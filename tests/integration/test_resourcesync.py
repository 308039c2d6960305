"""Change lists of ResourceSync (ANSI/NISO Z39.99), which are sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from reading import check_ways
from walking import Pages, walk_all

from sitemapreader import (
    Change,
    Extra,
    IssueCode,
    SitemapReader,
    UrlEntry,
    walk_many,
)
from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.recipes.documents import SiteDocuments

if TYPE_CHECKING:
    from pathlib import Path

HOME = "https://example.org/"
SITEMAP = HOME + "changes.xml"
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


def test_every_record_is_accounted_for() -> None:
    """Records are delivered or dropped, whether deleted ones are asked for or not."""
    for keeps_deleted, counts in ((False, (4, 2, 2)), (True, (4, 4, 0))):
        reader = SitemapReader(SITEMAP, keeps_deleted=keeps_deleted)
        events = reader.feed(CHANGES) + reader.close()
        stats = reader.stats
        assert (stats.records, stats.delivered, stats.dropped) == counts
        assert stats.counts[IssueCode.DELETED] == stats.dropped
    assert told(events)[2:] == [("c", Change.REMOVED), ("d", Change.REMOVED)]


def test_what_is_said_besides_is_kept() -> None:
    """Hash, length, type and links are extras, with their attributes."""
    entry = check_ways(CHANGES)[0]
    assert isinstance(entry, UrlEntry)
    facts, link = entry.extras
    assert facts == Extra(TERMS, "md", "", facts.attributes)
    assert facts.attributes["hash"] == "md5:1584abdf8ebdc9802ac0c6a7402c03b6"
    assert (facts.attributes["length"], facts.attributes["type"]) == ("8876", "text/html")
    assert link.attributes == {"rel": "duplicate", "pri": "1", "href": f"{HOME}m/a"}


@pytest.mark.parametrize(
    "field",
    ['<md change="deleted"/>', '<x:md xmlns:x="urn:x" change="deleted"/>',
     '<rs:md rs:change="deleted"/>',
     '<rs:md change="moved"/>', '<rs:ln change="deleted"/>', "<!--<rs:md change='deleted'/>-->"],
)  # fmt: skip
def test_other_words_delete_nothing(field: str) -> None:
    """Only the attribute of ResourceSync's own element says that a URL was deleted."""
    data = change_list(("a", "x")).replace(b"</url>", field.encode() + b"</url>")
    assert told(check_ways(data.replace(b'<rs:md change="x"', b"<rs:ln"))) == [("a", None)]


async def test_a_walk_without_changes_drops_them(tmp_path: Path) -> None:
    """A plain walk delivers no deleted URL, with a state and without one, and is complete."""
    for state in (None, tmp_path / "site.db"):
        walked = await walk_all({SITEMAP: CHANGES}, None, sitemaps=[SITEMAP], state=state)
        assert [name for name, _ in told(walked.events)] == ["a", "b"]
        assert walked.report.complete
        assert walked.report.counts[IssueCode.DELETED] == 2


@pytest.mark.parametrize("unique", [False, True])
async def test_a_walk_with_changes_delivers_them_once_as_removed(
    tmp_path: Path, *, unique: bool
) -> None:
    """A URL that was listed and is then said to be deleted is `removed`, and that only once."""
    arguments: dict[str, Any] = {
        "sitemaps": [SITEMAP],
        "state": tmp_path / "site.db",
        "changes": True,
        "unique": unique,
    }

    async def come(*changes: tuple[str, str]) -> list[tuple[str, Change | None]]:
        pages: Pages = {SITEMAP: change_list(*changes)}
        return told((await walk_all(pages, None, **arguments)).events)

    listed = ("a", "created"), ("b", "created")
    assert await come(*listed) == [("a", Change.NEW), ("b", Change.NEW)]
    assert await come(*listed, ("b", "deleted")) == [("b", Change.REMOVED)]
    assert await come(*listed, ("b", "deleted"), ("c", "updated")) == [("c", Change.NEW)]
    assert await come(*listed, ("b", "created")) == [("b", Change.CHANGED)]


async def test_lists_of_sites_give_them_only_if_removed_ones_are_asked_for(tmp_path: Path) -> None:
    """Nobody who did not ask for removed URLs takes a deleted one for a page."""
    pages = {HOME + "robots.txt": b"Sitemap: " + SITEMAP.encode(), SITEMAP: CHANGES}
    for removed, names in ((False, "ab"), (True, "abcd")):
        state = tmp_path / f"{removed}.db"
        walked = walk_many(
            [HOME], fetcher=MemoryFetcher(pages), state=state, changes=True, removed=removed
        )
        async with walked as run:
            found = [entry async for _, entries in run.batches() for entry in entries]
        assert "".join(name for name, _ in told(found)) == names


async def test_an_index_of_pages_loses_them(tmp_path: Path) -> None:
    """The recipe for search indexes says that a deleted page is gone, and does not fetch it."""
    pages = {SITEMAP: change_list(("a", "created"), ("c", "deleted")), HOME + "a": b"<p>Avocets"}
    pages[HOME + "robots.txt"] = b"Sitemap: " + SITEMAP.encode()
    changes = SiteDocuments(HOME, state=tmp_path / "site.db", fetcher=MemoryFetcher(pages))
    found = [(change.kind, change.url) async for batch in changes.batches() for change in batch]
    assert ("delete", HOME + "c") in found
    assert ("upsert", HOME + "a") in found
