"""`changes=True`: what is new, what changed, and what was removed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Changes, walk, walk_sync
from sitemapreader._types.models import UrlEntry
from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.walking import Pages, Walked, at_once, index, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path

TOP = "https://example.org/top.xml"
ONE = "https://example.org/one.xml"
TWO = "https://example.org/two.xml"
HOME = "https://example.org/"


def site(one: list[Any], two: list[Any]) -> Pages:
    """Make a site of two sitemaps; a pair is a path and its lastmod."""

    def absolute(items: list[Any]) -> list[Any]:
        return [HOME + i if isinstance(i, str) else (HOME + i[0], i[1]) for i in items]

    return {
        TOP: index(ONE, TWO),
        ONE: urlset(*absolute(one)),
        TWO: urlset(*absolute(two)),
    }


async def come(pages: Pages, db: Path, **arguments: Any) -> Walked:
    """Walk over a site and ask for what changed."""
    return await walk_all(
        pages, None, sitemaps=[TOP], state=at_once(db), changes=True, **arguments
    )


def differences(walked: Walked) -> dict[str, str]:
    """Return what each URL is said to be; it is said once."""
    found = [
        (event.loc.removeprefix(HOME), str(event.change))
        for event in walked.events
        if isinstance(event, UrlEntry)
    ]
    assert len(found) == len(dict(found))
    return dict(found)


def unlisted(db: Path) -> list[str]:
    """List what the state says is unlisted."""
    return [row.loc.removeprefix(HOME) for row in State(db).unlisted()]


async def test_new_changed_and_removed(db: Path) -> None:
    """Only differences come out; the rest is counted, and what is gone can be listed."""
    first = await come(site(["a", ("b", "2020-01-01")], ["c", "d"]), db)
    assert differences(first) == dict.fromkeys("abcd", "new")
    assert first.report.unlisted == 0
    again = await come(site(["a", ("b", "2020-01-02"), "e"], ["c"]), db)
    assert differences(again) == {"b": "changed", "e": "new"}
    one = again.document(ONE)
    assert (one.listed, one.entries, one.known) == (3, 2, 1)
    assert (again.report.entries, again.report.unlisted) == (2, 1)
    assert unlisted(db) == ["d"]
    calm = await come(site(["a", ("b", "2020-01-02"), "e"], ["c"]), db)
    assert (differences(calm), calm.report.unlisted, unlisted(db)) == ({}, 0, ["d"])


@pytest.mark.parametrize("reverse", [False, True])
async def test_a_url_that_moves_is_neither_new_nor_removed(
    db: Path, reverse: bool
) -> None:
    """From one sitemap to another, whichever is read first, with its record as it was."""
    before, after = (["a", "b"], ["c"]), (["a"], ["b", "c"])
    if reverse:
        before, after = (before[1], before[0]), (after[1], after[0])
    await come(site(*before), db)
    moved = await come(site(*after), db)
    assert (differences(moved), moved.report.unlisted) == ({}, 0)
    gone = await come(site([], ["c"]), db)
    assert unlisted(db) == ["a", "b"]
    assert gone.report.unlisted == 2


async def test_two_records_of_one_url(db: Path) -> None:
    """Each sitemap's own record counts, so two that differ are not changes for ever."""
    await come(site([("a", "2020-01-01"), "x"], [("a", "2020-02-02")]), db)
    again = await come(site([("a", "2020-01-01"), "y"], [("a", "2020-02-02"), "z"]), db)
    assert differences(again) == {"y": "new", "z": "new"}
    one = await come(site(["y"], [("a", "2020-02-02"), "z"]), db)
    assert (differences(one), one.report.unlisted) == ({}, 0)
    other = await come(site(["y", ("a", "2020-01-01")], [("a", "2020-02-02"), "z"]), db)
    assert differences(other) == {"a": "changed"}


_GOOGLE = "http://www.google.com/schemas/sitemap-"


@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        (
            "<x:link rel='alternate' hreflang='de' href='https://example.org/de'/>",
            "<x:link href='https://example.org/fr' hreflang='fr' rel='alternate'/>",
            "<x:link href='https://example.org/fr' hreflang='nl' rel='alternate'/>",
        ),
        (
            "<i:image><i:loc>https://example.org/1.png</i:loc></i:image>",
            "<i:image><i:loc>https://example.org/2.png</i:loc></i:image>",
            "<i:image><i:loc>https://example.org/3.png</i:loc></i:image>",
        ),
        ("<y:a b='1' c='2'/>", "<y:d><y:e/></y:d>", "<y:d><y:f/></y:d>"),
    ],
    ids=["alternates", "images", "extras"],
)
async def test_another_order_is_no_change(
    db: Path, first: str, second: str, other: str
) -> None:
    """Elements that are a set, and attributes, come in any order, as after an upgrade."""
    turned = first.replace("b='1' c='2'", "c='2' b='1'")
    told = [{"a": "new"}, {}, {"a": "changed"}]
    for fields, changes in zip(
        (first + second, second + turned, first + other), told, strict=True
    ):
        body = urlset(HOME + "a").replace(b"</url>", f"{fields}</url>".encode())
        root = f"<urlset xmlns:x='http://www.w3.org/1999/xhtml' xmlns:i='{_GOOGLE}image/1.1'"
        body = body.replace(b"<urlset", f"{root} xmlns:y='urn:y'".encode())
        assert differences(await come({TOP: body}, db)) == changes


@pytest.mark.parametrize("name", ["tag", "price currency='EUR'"])
async def test_another_order_in_a_video_is_no_change(db: Path, name: str) -> None:
    """Tags and prices are sets, too."""

    def write(*texts: str) -> bytes:
        inner = "".join(
            f"<v:{name}>{text}</v:{name.split(maxsplit=1)[0]}>" for text in texts
        )
        video = f"<v:video><v:title>T</v:title>{inner}</v:video></url>"
        root = f"<urlset xmlns:v='{_GOOGLE}video/1.1'".encode()
        body = urlset(HOME + "a").replace(b"</url>", video.encode())
        return body.replace(b"<urlset", root)

    told = [{"a": "new"}, {}, {"a": "changed"}]
    for texts, changes in zip((("1", "2"), ("2", "1"), ("2", "3")), told, strict=True):
        assert differences(await come({TOP: write(*texts)}, db)) == changes


async def test_the_first_walk_with_changes_reads_all(db: Path) -> None:
    """A state that a walk without `changes` made has no URLs, so they are all new once."""
    pages = site(["a"], ["b"])
    await walk_all(pages, None, sitemaps=[TOP], state=db)
    assert differences(await come(pages, db)) == {"a": "new", "b": "new"}
    pages |= {ONE: urlset(HOME + "a", HOME + "c")}
    plain = await walk_all(pages, None, sitemaps=[TOP], state=db)
    assert plain.locs == [HOME + "a", HOME + "c"]
    assert differences(await come(pages, db)) == {"c": "new"}


async def test_what_a_filter_kept_back_is_not_known(db: Path) -> None:
    """What `since` keeps back is listed, so it is not removed; and it is new once it passes."""
    since = datetime(2020, 6, 1, tzinfo=UTC)
    pages = site([("a", "2020-01-01"), ("b", "2020-07-01")], [])
    first = await come(pages, db, since=since)
    assert differences(first) == {"b": "new"}
    assert first.document(ONE).filtered == 1
    again = await come(pages, db)
    assert (differences(again), again.report.unlisted) == ({"a": "new"}, 0)


async def test_unique_and_changes(db: Path) -> None:
    """`unique` looks at what is delivered: a change in a second sitemap counts."""
    await come(site([("a", "2020-01-01")], [("a", "2020-01-01")]), db, unique=True)
    again = await come(
        site(["x", ("a", "2020-01-01")], [("a", "2020-03-01")]), db, unique=True
    )
    assert differences(again) == {"x": "new", "a": "changed"}


async def test_what_changes_in_two_lists_is_told_once(db: Path) -> None:
    """With `unique` a change is that of one list; it does not come again when the other is read."""
    old, new = ("a", "2020-01-01"), ("a", "2020-01-02")
    steps: list[tuple[list[Any], list[Any], dict[str, str]]] = [
        (["b"], [old], {"a": "new", "b": "new"}),
        (["b", old], [old], {}),
        (["b", new], [new], {"a": "changed"}),
        (["b", new], [new, "c"], {"c": "new"}),
    ]
    for one, two, told in steps:
        assert differences(await come(site(one, two), db, unique=True)) == told


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a_limit_costs_no_change_of_what_two_lists_have(
    db: Path, limit: int
) -> None:
    """What a limit cuts off in one list is not taken for sent because another one has it."""
    pages = [f"p{number}" for number in range(7)]
    for day in ("2020-01-01", "2020-01-02"):
        items, told = [(page, day) for page in pages], dict[str, str]()
        while len(told) < len(pages):
            walked = await come(
                site(items, items[::-1]), db, unique=True, max_urls=limit
            )
            found = differences(walked)
            assert found
            assert found.keys().isdisjoint(told)
            told |= found
        assert set(told.values()) == {"new" if day.endswith("1") else "changed"}


@pytest.mark.parametrize("order", [1, -1])
async def test_what_a_list_has_as_it_was_is_not_taken_for_sent(
    db: Path, order: int
) -> None:
    """A walk that goes on tells what changed in one list, though another has it as before."""
    same, other = ("a", "2020-01-01"), ("a", "2020-01-02")
    await come(site([same], [same, "z"][::order]), db, unique=True)
    later, told = site(["b", same, "c"], [other, "z"][::order]), dict[str, str]()
    while len(told) < 3:
        found = differences(await come(later, db, unique=True, max_urls=1))
        assert found
        assert found.keys().isdisjoint(told)
        told |= found
    assert told == {"a": "changed", "b": "new", "c": "new"}


async def test_the_walk_lists_what_is_unlisted(db: Path) -> None:
    """`unlisted` of a walk, with and without await; it is refused where nothing is known."""
    await come(site(["a", "b"], ["c"]), db)
    fetcher = MemoryFetcher(site(["a"], ["c"]))
    async with walk(
        sitemaps=[TOP], state=Changes(at_once(db)), fetcher=fetcher
    ) as entries:
        with pytest.raises(ValueError, match="end of a walk"):
            next(entries.unlisted())
        async for _ in entries:
            pass
        (row,) = entries.unlisted()
        assert (row.loc, row.document, row.why) == (HOME + "b", ONE, "missing")
        assert list(entries.unlisted()) == []  # told once
    with pytest.raises(ValueError, match=r"State\.unlisted"):
        next(entries.unlisted())
    fetcher = MemoryFetcher(site(["a"], []))
    with walk_sync(
        sitemaps=[TOP], state=Changes(at_once(db)), fetcher=fetcher
    ) as blocking:
        assert list(blocking) == []
        assert [row.loc for row in blocking.unlisted()] == [HOME + "c"]
    assert list(State(db).unlisted("https://example.org/other.xml")) == []
    assert [row.loc for row in State(db).unlisted(TOP)] == [HOME + "b", HOME + "c"]


def count_urls(db: Path) -> int:
    """Count the rows of URLs in the state."""
    with closing(sqlite3.connect(db)) as connection:
        ((number,),) = connection.execute("SELECT count(*) FROM url")
    return int(number)


async def test_unlisted_urls_are_delivered(db: Path) -> None:
    """With `unlisted` they come at the end, beside what is new; the report does not count them."""
    await come(site(["a", "b"], ["c"]), db)
    again = await come(site(["a", "d"], ["c"]), db, unlisted=True)
    assert differences(again) == {"d": "new", "b": "unlisted"}
    assert (again.report.entries, again.report.unlisted) == (1, 1)
    calm = await come(site(["a", "d"], ["c"]), db, unlisted=True)
    assert (differences(calm), unlisted(db)) == ({}, ["b"])
    assert count_urls(db) == 3  # what was delivered as unlisted is known from its page


async def test_an_unlisted_url_that_was_not_handled_is_delivered_again(
    db: Path,
) -> None:
    """It counts as delivered when the consumer requests more, and not before."""
    await come(site(["a", "b"], ["c"]), db)
    pages = site(["a"], ["c"])
    unlisted_is_done = False
    for requests_more in (False, True, True):
        found: list[str] = []
        changes = Changes(at_once(db), unlisted=True)
        fetcher = MemoryFetcher(pages)
        async with walk(sitemaps=[TOP], state=changes, fetcher=fetcher) as entries:
            async for batch in entries.batches():
                found += [each.loc.removeprefix(HOME) for each in batch]
                if not requests_more:
                    break
        assert found == ([] if unlisted_is_done else ["b"])
        unlisted_is_done = requests_more


@pytest.mark.parametrize("name", ["changes", "unlisted", "gone", "revisit"])
def test_changes_cannot_be_written_without_a_state(name: str) -> None:
    """The arguments of 0.3 answer with the object that has a state, and cannot be without one."""
    arguments: Any = {name: True}
    with pytest.raises(TypeError, match=r"write state=Changes\(state"):
        walk(sitemaps=[TOP], **arguments)
    make: Any = Changes
    with pytest.raises(TypeError, match="state"):
        make(unlisted=True)


async def test_more_than_one_portion(db: Path) -> None:
    """Nothing depends on how entries are grouped: thousands, in both directions of change."""
    numbers = [f"p/{number}" for number in range(3_210)]
    assert len(differences(await come(site(numbers, []), db))) == 3_210
    other = [f"p/{number}" for number in range(0, 4_000, 2)]
    again = await come(site(["first", *other], []), db)
    assert differences(again) == dict.fromkeys(
        ["first", *(f"p/{number}" for number in range(3_210, 4_000, 2))], "new"
    )
    assert again.report.unlisted == 1_605
    assert unlisted(db) == sorted(f"p/{number}" for number in range(1, 3_210, 2))


@pytest.mark.cases(9)
@pytest.mark.parametrize("where", ["robots.txt", "sitemap.xml", "one.xml"])
@pytest.mark.parametrize("state", [False, True])
async def test_an_address_that_is_no_text(db: Path, where: str, state: bool) -> None:
    """What a fetcher of one's own says of an answer is an Issue, if it cannot be written down."""
    pages: Pages = {
        HOME + "robots.txt": f"Sitemap: {HOME}sitemap.xml".encode(),
        HOME + "sitemap.xml": index(ONE),
        ONE: urlset(HOME + "a"),
    }
    odd = {"etag": '"\udcff"', "last-modified": "\udcff"}
    url = HOME + (where if state else f"\udcff{where}")
    pages[HOME + where] = StoredResponse(url, pages[HOME + where], headers=odd)  # type: ignore[arg-type]
    for _ in range(2):
        walked = await walk_all(pages, state=at_once(db), changes=True)
    assert state or "invalid-url" in walked.codes
