"""Long lists that change here and there: what has stayed is neither compared nor written alone."""

from __future__ import annotations

import random
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING

import attrs
import pytest

from sitemapreader import Changes, FetchOptions, walk
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.clock import HOUR, SetClock
from tests.support.diary import Diary, named
from tests.support.walking import ROBOTS, SITE, index, urlset

if TYPE_CHECKING:
    from pathlib import Path

TOP = f"{SITE}top.xml"
LISTS = [f"{SITE}list-{number}.xml" for number in range(2)]
DAYS = 12


@pytest.fixture
def diary(db: Path, monkeypatch: pytest.MonkeyPatch) -> Diary:
    """Read each list once: a loss is confirmed at once."""
    return Diary(db, SetClock(monkeypatch), confirm_after=timedelta(0))


@attrs.define
class LongLists:
    """Two lists of hundreds of URLs, some of them in both, and some twice in one.

    Attributes:
        choose: the source of what happens to them.
        names: the URLs of each list, in order.
        days: the lastmod of each URL.
        made: how many URLs there ever were.
    """

    choose: random.Random
    names: list[list[str]] = attrs.field(factory=lambda: [[], []])
    days: dict[str, int] = attrs.field(factory=dict)
    made: int = 0

    def add(self, names: list[str], number: int) -> None:
        """Add new URLs at one place of a list."""
        new = [f"p{self.made + each}" for each in range(number)]
        self.made += number
        self.days.update(dict.fromkeys(new, 1))
        place = self.choose.choice([0, len(names), self.choose.randint(0, len(names))])
        names[place:place] = new

    def change(self) -> None:
        """Change a list at one place."""
        names, other = self.choose.sample(self.names, 2)
        place = self.choose.randrange(len(names))
        part = names[place : place + self.choose.choice([1, 1, 5, 200])]
        what = self.choose.choice(["add", "drop", "move", "repeat", "date", "turn"])
        if what == "add":
            self.add(names, len(part))
        elif what == "drop":
            del names[place : place + len(part)]
        elif what == "move":
            del names[place : place + len(part)]
            at = self.choose.randint(0, len(other))
            other[at:at] = part
        elif what == "repeat":
            at = self.choose.randint(0, len(names))
            names[at:at] = part
        elif what == "date":
            self.days.update({name: self.days[name] % 28 + 1 for name in part})
        else:
            names[place : place + len(part)] = reversed(part)

    def serve(self) -> dict[str, bytes]:
        """Return the site."""
        pages = {ROBOTS: named("top.xml"), TOP: index(*LISTS)}
        for url, names in zip(LISTS, self.names, strict=True):
            dated = ((SITE + n, f"2026-01-{self.days[n]:02}") for n in names)
            pages[url] = urlset(*dated)
        return pages


@pytest.mark.parametrize("seed", range(4))
async def test_long_lists_are_told_as_if_each_url_were_compared(
    diary: Diary, seed: int
) -> None:
    """What is new, changed and unlisted is the difference of two days, whatever has moved."""
    lists = LongLists(random.Random(seed))
    for names in lists.names:
        lists.add(names, 600)
    known: dict[str, int] = {}
    for _ in range(DAYS):
        listed = {*lists.names[0], *lists.names[1]}
        day = await diary.walk(lists.serve())
        assert {*day.new} == listed - known.keys()
        assert {*day.changed} == {
            name for name in listed & known.keys() if known[name] != lists.days[name]
        }
        assert {*day.unlisted} == known.keys() - listed
        known = {name: lists.days[name] for name in listed}
        for _ in range(lists.choose.randint(0, 3)):
            lists.change()
        lists.add(lists.names[0], 1)


def read_rows(db: Path) -> set[tuple[object, ...]]:
    """Return the rows of the URLs in a state."""
    with sqlite3.connect(db) as opened:
        return {*opened.execute("SELECT * FROM url")}


async def test_a_url_more_leaves_the_others_unwritten(diary: Diary, db: Path) -> None:
    """Those around it are written again, at the begin of a list and within it."""
    lists = LongLists(random.Random(1))
    lists.add(lists.names[0], 2_000)
    for _ in range(2):  # the second walk merges what the first one has read
        await diary.walk(lists.serve())
    before = read_rows(db)
    for place in (0, 1_000, 2_002):
        lists.names[0].insert(place, f"more-{place}")
        lists.days[f"more-{place}"] = 1
        day = await diary.walk(lists.serve())
        assert day.new == [f"more-{place}"]
    after = read_rows(db)
    assert len(after) == 2_003
    assert 0 < len(before - after) < 600


@pytest.mark.cases(3)
@pytest.mark.parametrize("first", [0, 2, 9])
async def test_urls_of_several_origins_are_told_as_they_were_listed(
    diary: Diary, first: int
) -> None:
    """A state keeps the origin of most URLs of a list once, whichever URL comes first."""
    listed = [
        SITE.removesuffix("/"),
        SITE,
        f"{SITE}a",
        f"{SITE}/a",
        f"{SITE.upper()}b",
        SITE.replace("://", "://www.") + "c",
        SITE.replace("https:", "http:") + "d",
        f"{SITE[:-1]}:8443/e",
        f"{SITE[:-1]}.example/f",
        "https://other.example/g",
    ]
    pages = {ROBOTS: named("list.xml")}
    pages[f"{SITE}list.xml"] = urlset(*listed[first:], *listed[:first])
    await diary.walk(pages)
    pages[f"{SITE}list.xml"] = urlset(f"{SITE}more")
    await diary.walk(pages)
    assert [page.loc for page in diary.state.unlisted()] == sorted(listed)


async def test_a_list_that_becomes_a_window_loses_nothing(diary: Diary) -> None:
    """What drops out of a list of fresh news has left; until then it is listed."""
    lists = LongLists(random.Random(1))
    lists.add(lists.names[0], 300)
    pages = lists.serve()
    await diary.walk(pages)
    # the stretch of what is repeated is written anew
    records = pages[LISTS[0]].removesuffix(b"</urlset>")
    head, *bodies = records.split(b"<url>")
    head += b'<rs:md xmlns:rs="http://www.openarchives.org/rs/terms/" capability="changelist"/>'
    bodies.append(bodies[0])
    pages[LISTS[0]] = b"<url>".join([head, *bodies]) + b"</urlset>"
    assert (await diary.walk(pages)).new == []
    pages[LISTS[0]] = head + b"</urlset>"
    day = await diary.walk(pages)
    assert day.left == 300
    assert day.unlisted == []


async def test_an_older_copy_of_a_list_loses_nothing(diary: Diary) -> None:
    """A cache that is two days behind has not seen what is new, and proves no loss."""
    lists = LongLists(random.Random(1))
    lists.add(lists.names[0], 300)
    old = lists.serve()
    await diary.walk(old)
    lists.names[0].insert(150, "more")
    lists.days["more"] = 1
    assert (await diary.walk(lists.serve())).new == ["more"]
    copy = StoredResponse(LISTS[0], old[LISTS[0]], headers={"age": "172800"})
    for _ in range(2):
        day = await diary.walk(lists.serve() | {LISTS[0]: copy})
        assert day.unlisted == []
    assert (await diary.walk(lists.serve())).new == []


async def test_a_url_that_is_listed_twice_is_missing_when_both_are(
    diary: Diary,
) -> None:
    """One of two places in a list is enough, whichever was written last."""
    lists = LongLists(random.Random(1))
    lists.add(lists.names[0], 300)
    names = lists.names[0][:]
    repeated = names[100:110]
    for listed in (names, names + repeated, names, names + repeated):
        lists.names[0][:] = listed
        assert (await diary.walk(lists.serve())).unlisted == []
    lists.names[0][:] = names[:100] + names[110:] + repeated
    assert (await diary.walk(lists.serve())).unlisted == []
    lists.names[0][:] = names[:100] + names[110:]
    assert sorted((await diary.walk(lists.serve())).unlisted) == sorted(repeated)


async def test_a_record_beside_another_one_of_its_url_is_known_while_it_is_listed(
    diary: Diary,
) -> None:
    """As one of two records leaves, what it said is no record of the URL any more."""
    names = [f"p{number}" for number in range(300)]
    listed = [(SITE + name, "2026-01-01") for name in names]
    second = (listed[5][0], "2026-01-02")
    pages = {ROBOTS: named("list.xml")}
    days = [
        (listed, []),
        ([*listed, second], ["p5"]),
        (listed[:5] + listed[6:] + [second], []),
        (listed[:5] + listed[6:] + [listed[5]], ["p5"]),
    ]
    for records, changed in days:
        pages[f"{SITE}list.xml"] = urlset(*records)
        assert (await diary.walk(pages)).changed == changed


async def test_a_list_that_is_named_again_loses_what_it_lacks(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it was read in a walk that was left before it found what names the list."""
    clock = SetClock(monkeypatch)
    diary = Diary(db, clock)
    lists = LongLists(random.Random(1))
    for names in lists.names:
        lists.add(names, 300)
    await diary.walk(lists.serve())
    await diary.walk(lists.serve() | {TOP: index(LISTS[1])})
    missing = lists.names[0].pop(150)
    lists.add(lists.names[1], 1_200)
    clock.now += HOUR
    fetcher = MemoryFetcher(lists.serve())
    options = FetchOptions(concurrency=1)
    async with walk(
        SITE, state=Changes(diary.state), fetcher=fetcher, options=options
    ) as entries:
        batches = entries.batches()
        for _ in range(2):
            await anext(batches)
    await diary.walk(lists.serve(), later=HOUR)
    assert LISTS[0] not in diary.days[-1].requested
    for _ in range(3):
        lists.names[0].pop()
        await diary.walk(lists.serve())
    assert missing in [name for day in diary.days for name in day.unlisted]
