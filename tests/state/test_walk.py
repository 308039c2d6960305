"""A walk that comes back: what it asks, what it leaves out, and when it does not believe."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import walk
from sitemapreader._types.issues import IssueCode
from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.clock import DAY, SetClock
from tests.support.walking import (
    SITE,
    Pages,
    Walked,
    fault,
    index,
    moved,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import _AsyncGeneratorContextManager
    from pathlib import Path

TOP = "https://example.org/top.xml"
ONE = "https://example.org/one.xml"
TWO = "https://example.org/two.xml"
PAGE = "https://example.org/page/{}"
LONG_AGO = "2020-02-02"


class Asked(MemoryFetcher):
    """Pages in memory; keeps the validators of each request."""

    def __init__(self, pages: Pages) -> None:
        super().__init__(pages)
        self.validators: dict[str, dict[str, str]] = {}

    def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> _AsyncGeneratorContextManager[StoredResponse]:
        self.validators[url] = dict(headers or {})
        return super().open(url, headers=headers)


def tagged(url: str, body: bytes, etag: str = '"1"') -> StoredResponse:
    """Return a page with a validator."""
    return StoredResponse(url, body, headers={"etag": etag})


def page(*numbers: int) -> bytes:
    return urlset(*(PAGE.format(number) for number in numbers))


async def come(
    pages: Pages, state: Path | State, *maps: str, **arguments: Any
) -> Walked:
    """Walk over the maps, or the top, with a state."""
    return await walk_all(pages, None, sitemaps=maps or [TOP], state=state, **arguments)


def fetched(walked: Walked) -> list[str]:
    """List the sitemaps that were requested."""
    return [url for url in walked.requested if url.endswith(".xml")]


async def test_validators_are_sent_back(db: Path) -> None:
    """The next walk names the version that it has; the answer is 304, and nothing comes out."""
    headers = {"etag": 'W/"7"', "last-modified": "Sun, 02 Feb 2020 10:00:00 GMT"}
    fetcher = Asked({TOP: StoredResponse(TOP, page(1), headers=headers)})
    for turn in range(3):
        async with walk(sitemaps=[TOP], state=db, fetcher=fetcher) as entries:
            assert [entry.loc async for entry in entries] == (
                [] if turn else [PAGE.format(1)]
            )
        (document,) = entries.report.documents
        if turn:
            assert fetcher.validators[TOP] == {
                "If-None-Match": 'W/"7"',
                "If-Modified-Since": headers["last-modified"],
            }
            assert (document.status, document.http_status) == ("unchanged", 304)
            assert (document.bytes_raw, document.entries) == (0, 0)
        assert entries.report.complete
    assert fetcher.validators.keys() == {TOP}


NO_TAGS = ["*", "abc", '"a', 'w/"a"', '"a", "b"', ""]
"""ETags that are no entity tags (RFC 9110, section 8.8.3)."""


@pytest.mark.cases(9)
@pytest.mark.parametrize("etag", NO_TAGS)
async def test_what_is_no_entity_tag_is_not_sent(db: Path, etag: str) -> None:
    """Least of all `*`, which any version matches: the change would never be seen."""
    fetcher = Asked({TOP: tagged(TOP, page(1), etag)})
    for number in (1, 2):
        fetcher.pages = {TOP: tagged(TOP, page(number), etag)}
        async with walk(sitemaps=[TOP], state=db, fetcher=fetcher) as entries:
            assert [entry.loc async for entry in entries] == [PAGE.format(number)]
        assert fetcher.validators[TOP] == {}
        assert entries.report.documents[0].etag is None


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (page(1, 2, 3), page(1, 2, 4)),
        (page(1, 2, 3), page(1, 2, 3, 4)),
        (page(1, 2, 3), page(1, 2)),
        (page(1, 2, 3), page(1, 2, 3) + b" "),
    ],
    ids=["other", "longer", "shorter", "blank"],
)
@pytest.mark.parametrize("declared", [False, True])
async def test_another_body_is_read_whole(
    db: Path, before: bytes, after: bytes, declared: bool
) -> None:
    """Whatever differs, with the length declared or not, all of the new body comes out."""
    for body in (before, after):
        length = {"content-length": str(len(body))} if declared else {}
        pages: Pages = {TOP: StoredResponse(TOP, body, headers=length, chunk_bytes=7)}
        walked = await come(pages, db)
        plain = await walk_all(pages, None, sitemaps=[TOP])
        assert walked.locs == plain.locs != []
        assert walked.outcome(TOP) == ("complete", "")


@pytest.mark.parametrize("stamps", [(1, 2), (1, 1)])
async def test_a_body_that_is_compressed_anew_is_the_same(
    db: Path, stamps: tuple[int, int]
) -> None:
    """Bytes are compared decompressed: a server may compress each answer with another date."""
    for stamp, numbers, came in zip(
        (*stamps, 3), ((1, 2), (1, 2), (1, 3)), (2, 0, 2), strict=True
    ):
        packed = gzip.compress(page(*numbers), mtime=stamp)
        walked = await come({TOP: StoredResponse(TOP, packed)}, db)
        assert len(walked.locs) == came
        assert walked.outcome(TOP) == (
            ("complete", "") if came else ("unchanged", "same-body")
        )
        assert walked.document(TOP).bytes_raw == len(packed)


@pytest.mark.cases(9)
@pytest.mark.parametrize("chunk_bytes", [1, 5, 4096])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"<!-- rendered at 10:00 -->%s", b"<!-- rendered at 9:59:59 -->%s"),
        (
            b"%s\n<!-- cached at 1 -->",
            b"%s\n<!-- cached at 2, for 60 s --><!-- by x -->",
        ),
        (b"\xef\xbb\xbf%s<!---->", b"\xef\xbb\xbf%s<!-- a > b -- - -->"),
    ],
    ids=["first", "last", "empty"],
)
async def test_another_comment_is_no_other_body(
    db: Path, before: bytes, after: bytes, chunk_bytes: int
) -> None:
    """Generators and caches write when they were at work, in chunks of any size."""
    sizes = (7, chunk_bytes)
    for text, size, came in zip((before, after), sizes, (2, 0), strict=True):
        body = text.replace(b"%s", page(1, 2))
        walked = await come({TOP: StoredResponse(TOP, body, chunk_bytes=size)}, db)
        assert len(walked.locs) == came
    assert walked.outcome(TOP) == ("unchanged", "same-body")


async def test_a_comment_that_lies_in_two_blocks_is_no_other_body(db: Path) -> None:
    """A body is hashed in blocks of 32 KiB; here nearly all is comments of 900 bytes."""
    record = b"<url><loc>https://example.org/%d</loc></url>"
    for stamp, came in ((b"10:00", 70), (b"9:59:59", 0)):
        comment = b"<!-- " + stamp.ljust(900) + b" -->"
        records = comment.join(record % number for number in range(70))
        body = urlset().replace(b"</urlset>", records + b"</urlset>")
        assert len(body) > 2 * 32_768
        walked = await come({TOP: StoredResponse(TOP, body)}, db)
        assert len(walked.locs) == came
    assert walked.outcome(TOP) == ("unchanged", "same-body")


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            page(1).replace(b"</url>", b"</url><!--"),
            page(1, 2).replace(b"</url>", b"</url><!--"),
        ),
        (page(1) + b"<!-- <a> -->", page(1) + b"<!-- <b> -->"),
        (b"https://example.org/1\n<!-- 1 -->", b"https://example.org/1\n<!-- 2 -->"),
        (page(1) + b"<!-- 1 -->" * 9_999, page(1) + b"<!-- 1 -->" * 9_998),
    ],
    ids=["open", "markup", "text", "flood"],
)
async def test_what_may_be_no_comment_counts(
    db: Path, before: bytes, after: bytes
) -> None:
    """Markup in it may be read, nothing closes it, it is no markup, or there is no end of it."""
    for body in (before, after):
        walked = await come({TOP: StoredResponse(TOP, body)}, db)
        assert walked.outcome(TOP)[1] != "same-body"
    assert walked.outcome(TOP)[0] in ("complete", "partial")


async def test_a_body_that_cannot_be_unpacked_is_no_known_one(db: Path) -> None:
    """A damaged body is read as far as it goes, and the sound one that comes back is whole."""
    sound = gzip.compress(page(1, 2))
    for body, how in (
        (sound, "complete"),
        (sound[:-12] + bytes(12), "partial"),
        (sound, "complete"),
    ):
        walked = await come({TOP: StoredResponse(TOP, body)}, db)
        assert walked.outcome(TOP)[0] == how


async def test_a_child_whose_lastmod_stands_is_not_fetched(db: Path) -> None:
    """What the index says has not moved is left; what it says has, or nothing of, is asked for."""
    pages: Pages = {
        TOP: index((ONE, LONG_AGO), TWO),
        ONE: page(1),
        TWO: page(2),
    }
    await come(pages, db)
    again = await come(pages, db)
    assert fetched(again) == [TOP, TWO]
    assert again.outcome(ONE) == ("unchanged", "same-lastmod")
    assert again.report.complete
    assert fetched(await come(pages, db, prune=False)) == [TOP, ONE, TWO]
    pages |= {TOP: index((ONE, "2020-02-03"), TWO), ONE: page(1, 3)}
    moved_on = await come(pages, db)
    assert fetched(moved_on) == [TOP, ONE, TWO]
    assert moved_on.locs == [PAGE.format(1), PAGE.format(3)]


async def test_a_child_that_was_not_read_completely_is_fetched(db: Path) -> None:
    """A failure, or a loss inside, is not remembered as a reading, whatever the index says."""
    pages: Pages = {
        TOP: index((ONE, LONG_AGO), (TWO, LONG_AGO)),
        ONE: fault(IssueCode.TIMEOUT, ONE),
        TWO: tagged(TWO, page(2)[:-9]),
    }
    await come(pages, db)
    pages[ONE] = page(1)
    again = await come(pages, db)
    assert fetched(again) == [TOP, ONE, TWO]
    assert sorted(again.locs) == [PAGE.format(1), PAGE.format(2)]


async def test_an_index_is_not_believed_for_ever(db: Path) -> None:
    """After `revalidate_after` the server is asked, and an index that lies is found out."""
    pages: Pages = {TOP: index((ONE, LONG_AGO)), ONE: tagged(ONE, page(1))}
    await come(pages, db)
    pages[ONE] = tagged(ONE, page(1, 2), '"2"')
    assert (await come(pages, State(db, revalidate_after=timedelta(days=1)))).locs == []
    found_out = await come(pages, State(db, revalidate_after=timedelta(0)))
    assert found_out.locs == [PAGE.format(1), PAGE.format(2)]


async def test_a_lastmod_of_today_is_not_believed(db: Path) -> None:
    """A date that is not over yet can stand for another version: such a child is asked for."""
    for lastmod in ("2999", "2999-01-01", "2999-01-01T00:00:00Z"):
        pages: Pages = {TOP: index((ONE, lastmod)), ONE: tagged(ONE, page(1))}
        await come(pages, db)
        assert fetched(await come(pages, db)) == [TOP, ONE]


async def test_the_children_of_an_unchanged_index_are_walked(db: Path) -> None:
    """An index that answers 304 still has its children, and theirs, and these may have changed."""
    deep = "https://example.org/deep.xml"
    pages: Pages = {
        TOP: tagged(TOP, index(ONE, deep)),
        deep: index((TWO, LONG_AGO)),
        ONE: tagged(ONE, page(1)),
        TWO: tagged(TWO, page(2)),
    }
    await come(pages, db)
    pages[ONE] = tagged(ONE, page(1, 3), '"2"')
    again = await come(pages, db)
    assert again.outcome(TOP) == ("unchanged", "")
    assert again.document(TOP).children == 2
    assert again.outcome(deep) == ("unchanged", "same-body")
    assert again.outcome(TWO) == ("unchanged", "same-lastmod")
    assert again.locs == [PAGE.format(1), PAGE.format(3)]
    assert [type(event).__name__ for event in again.events].count("SitemapEntry") == 3


async def test_a_guessed_sitemap_that_is_unchanged_ends_the_search(db: Path) -> None:
    """304 at a well-known path is as good as its content: no other path is tried."""
    url = "https://example.org/sitemap.xml"
    pages: Pages = {url: tagged(url, page(1))}
    first = await walk_all(pages, SITE, state=db)
    again = await walk_all(pages, SITE, state=db)
    assert first.requested == again.requested
    assert again.outcome(url) == ("unchanged", "")
    assert again.codes == []


async def test_redirects(db: Path) -> None:
    """What a redirect led to is asked with its validators; another target is read anew."""
    new = "https://example.org/new.xml"
    pages: Pages = {TOP: StoredResponse(new, page(1), headers={"etag": '"1"'})}
    await come(pages, db)
    assert (await come(pages, db)).outcome(TOP) == ("unchanged", "")
    pages[TOP] = StoredResponse(ONE, page(2), headers={"etag": '"1"'})
    again = await come(pages, db)
    assert again.locs == [PAGE.format(2)]
    assert again.requested == [TOP, TOP]


async def test_two_redirects_to_one_document(db: Path) -> None:
    """A document with two addresses is walked once, also where neither has to be fetched."""
    new = "https://example.org/new.xml"
    body = index((TWO, LONG_AGO))
    pages: Pages = {
        TOP: index((ONE, LONG_AGO), (new, LONG_AGO)),
        ONE: moved(new, body),
        new: body,
        TWO: page(1),
    }
    first = await come(pages, db)
    assert first.locs == [PAGE.format(1)]
    again = await come(pages, db)
    assert fetched(again) == [TOP]
    outcomes = {each.url: str(each.status) for each in again.report.documents}
    assert {url: outcomes.get(url) for url in (TOP, ONE, new, TWO)} == {
        TOP: "unchanged",
        ONE: "unchanged",
        new: None,  # merged with the one that leads to it
        TWO: "unchanged",
    }


async def test_two_sites_in_one_file(db: Path) -> None:
    """Each site has its own memory of a document, even of the same one."""
    pages: Pages = {ONE: tagged(ONE, page(1)), TWO: page(2)}
    assert (await come(pages, db, ONE)).locs == [PAGE.format(1)]
    assert len((await come(pages, db, ONE, TWO)).locs) == 2
    assert (await come(pages, db, ONE)).locs == []
    assert [site.documents for site in State(db).sites()] == [1, 2]
    assert [document.url for document in State(db).documents()] == [ONE, ONE, TWO]


async def test_a_document_that_is_gone_is_forgotten(db: Path, clock: SetClock) -> None:
    """What no index lists any more leaves the state, unless one that was never read may list it."""
    pages: Pages = {TOP: index(ONE, TWO), ONE: page(1), TWO: page(2)}
    await come(pages, db)
    pages |= {TOP: index(ONE, TWO + "x"), TWO + "x": fault(IssueCode.CONNECT, TWO)}
    await come(pages, db)
    assert TWO in {document.url for document in State(db).documents()}
    pages |= {TOP: index(ONE)}
    for days in range(3):
        clock.now += DAY * days
        await come(pages, db)
    assert {document.url for document in State(db).documents()} == {TOP, ONE}


async def test_what_is_not_wanted_is_kept(db: Path) -> None:
    """A child that `since` or `follow` leaves out is not gone, and its reading is remembered."""
    pages: Pages = {
        TOP: index((ONE, LONG_AGO), (TWO, "2021-01-01")),
        ONE: page(1),
        TWO: page(2),
    }
    await come(pages, db)
    await come(pages, db, follow=lambda entry: entry.loc != ONE)
    assert fetched(await come(pages, db)) == [TOP]


class _Breaking(StoredResponse):
    """A body that is cut off."""

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body
        raise fault(IssueCode.BODY_CUT, self.url)


async def test_a_body_that_breaks_off_while_it_is_compared(db: Path) -> None:
    """What was held back to be compared is read before the fault is said."""
    pages: Pages = {TOP: page(1, 2, 3)}
    await come(pages, db)
    pages = {TOP: _Breaking(TOP, page(1, 2, 3))}
    again = await come(pages, db)
    assert len(again.locs) == 3
    assert again.outcome(TOP) == ("partial", "body-cut")
    pages = {TOP: _Breaking(TOP, page(1, 2, 3)[:-30])}
    assert len((await come(pages, db)).locs) == 2


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


CHILDREN = [f"https://example.org/{name}.xml" for name in "abcdef"]


def dated(changed: Mapping[str, int], days: Mapping[str, int]) -> Pages:
    """Make an index of six children: how often each has changed, and the day that it is given."""
    top = index(*((url, f"2020-01-{1 + days.get(url, 0):02}") for url in CHILDREN))
    return {
        TOP: top,
        **{url: page(*range(1 + changed.get(url, 0))) for url in CHILDREN},
    }


async def test_a_date_that_lied_is_not_believed(db: Path, clock: SetClock) -> None:
    """A child that changed under the same date is asked for each time; the others once a week."""
    changed = dict.fromkeys(CHILDREN, 0)

    async def walk_on(after: float = 1) -> list[str]:
        clock.now += after * DAY
        return fetched(await come(dated(changed, {}), db, changes=True))[1:]

    await walk_on()
    changed[CHILDREN[0]] += 1
    assert await walk_on() == []
    assert await walk_on(8) == CHILDREN  # a week is over
    for _ in range(5):
        changed[CHILDREN[0]] += 1
        assert await walk_on() == CHILDREN[:1]


async def test_an_honest_index_saves_its_requests(db: Path, clock: SetClock) -> None:
    """What it does not announce is not asked for, be it one child each time, or all but one."""
    changed, days = dict.fromkeys(CHILDREN, 0), dict.fromkeys(CHILDREN, 0)
    await come(dated(changed, days), db, changes=True)
    for step in range(12):
        clock.now += DAY / 2  # within the week in which it is believed
        moving = CHILDREN[1:] if step > 5 else CHILDREN[step : step + 1]
        for url in moving:
            changed[url] += 1
            days[url] += 1
        walked = await come(dated(changed, days), db, changes=True)
        assert fetched(walked) == [TOP, *moving]
