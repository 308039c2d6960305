"""Words of servers that tell of no change: dates, validators, caches, and the order of links."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import State
from sitemapreader.fetch.local import StoredResponse
from tests.support.clock import DAY, HOUR, SetClock
from tests.support.diary import Diary, lists, named
from tests.support.serving import Answer, serve_site
from tests.support.walking import ROBOTS, SITE, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web

TOP, ONE = f"{SITE}top.xml", f"{SITE}one.xml"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


@pytest.fixture
def diary(db: Path, clock: SetClock) -> Diary:
    return Diary(db, clock)


def http_date(seconds: float) -> str:
    return formatdate(seconds, usegmt=True)


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


@pytest.mark.parametrize(
    ("date", "pages"),
    [
        ("2026-03-05", [("a", "2026-03-05"), ("b", "2026-01-01")]),
        ("2026-03-05T10:00:00+00:00", [("a", "2026-03-05T10:00:00Z")]),
        ("2026-03-05T12:00:00+02:00", [("a", ""), ("b", "2026-03-05T10:00:00Z")]),
    ],
    ids=["days", "seconds", "zones"],
)
async def test_an_index_that_is_dated_by_pages_is_not_believed(
    diary: Diary, date: str, pages: list[tuple[str, str]]
) -> None:
    """An undated page that is added changes no such date, and is found by the next walk."""
    for day in range(3):
        more = [("c", "")] if day == 2 else []
        child = urlset(*((SITE + name, lastmod) for name, lastmod in pages + more))
        await diary.walk(
            {ROBOTS: named("top.xml"), TOP: index((ONE, date)), ONE: child}
        )
    assert diary.days[2].new == ["c"]


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("cut", "later"),
    [
        ("%Y-%m-%dT%H:%M:00Z", 20),
        ("%Y-%m-%dT%H:%MZ", 20),
        ("%Y-%m-%dT%H:%M:%SZ", 0.5),
        ("%Y-%m-%dT00:00:00Z", HOUR),
        ("%Y-%m-%dT00:00:00.000+00:00", HOUR),
        ("%Y-%m-%dT00:00Z", HOUR),
    ],
)
async def test_a_sitemap_that_is_built_again_within_its_date_is_read_again(
    diary: Diary, clock: SetClock, cut: str, later: float
) -> None:
    """Generators cut dates to seconds, minutes or days: two builds may have the same date."""
    clock.now += 10 * 60 - clock.now % 60
    date = datetime.fromtimestamp(clock.now, UTC).strftime(cut)
    clock.now += 0.25
    for names in ("a", "ab"):
        served = {ROBOTS: named("top.xml"), TOP: index((ONE, date)), ONE: lists(*names)}
        await diary.walk(served, later=later)
    assert diary.days[1].new == ["b"]


def link(code: str, name: str) -> str:
    return f'<x:link rel="alternate" hreflang="{code}" href="{SITE}{name}"/>'


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0], [0, 2, 1]])
async def test_the_order_of_language_versions_is_no_change(
    diary: Diary, order: list[int]
) -> None:
    """The same links in another order are the same record; another link is not."""
    links = [link("en", "a"), link("de", "b"), link("fr", "c")]

    def serve(several: list[str]) -> dict[str, Any]:
        head = urlset().replace(
            b"></urlset>", b' xmlns:x="http://www.w3.org/1999/xhtml">'
        )
        record = f"<url><loc>{SITE}a</loc>{''.join(several)}</url></urlset>"
        return {ROBOTS: named("one.xml"), ONE: head + record.encode()}

    await diary.walk(serve(links))
    await diary.walk(serve([links[n] for n in order]))
    assert not diary.changed
    await diary.walk(serve(links[:2]))
    assert diary.changed == {"a": 1}


@pytest.mark.parametrize("days", [100, 130, 200])
async def test_what_became_unlisted_long_ago_is_forgotten(
    diary: Diary, db: Path, days: int
) -> None:
    """A state is bounded, told or not: it forgets after 90 days, and seven walks."""
    for day in range(0, days, 10):
        served = {ROBOTS: named("one.xml"), ONE: lists(f"{day}/a", f"{day}/b")}
        await diary.walk(served, later=10 * DAY, asks=days > 100)
    known = len([*State(db).unlisted()])
    assert 2 * 6 <= known <= 2 * (10 + 7)


@pytest.mark.parametrize("age", [HOUR, 5 * HOUR, 2 * DAY])
async def test_a_stale_child_is_as_old_as_its_age(
    diary: Diary, clock: SetClock, age: float
) -> None:
    """A cache serves the old child under the new date of its index: the next walk asks again."""
    now = clock.now

    await diary.walk(
        {
            ROBOTS: named("top.xml"),
            TOP: index((ONE, moment(now - 9 * DAY))),
            ONE: lists("a"),
        }
    )
    changed = now + DAY - min(age, 20 * HOUR) / 2
    stale = StoredResponse(ONE, lists("a"), headers={"age": str(int(age))})
    await diary.walk(
        {ROBOTS: named("top.xml"), TOP: index((ONE, moment(changed))), ONE: stale}
    )
    fresh = lists("a", "b")
    await diary.walk(
        {ROBOTS: named("top.xml"), TOP: index((ONE, moment(changed))), ONE: fresh}
    )
    assert diary.days[2].new == ["b"]


# -- conditional requests, on a real server


@attrs.define
class Server:
    """A server of one sitemap, and the conditions of the requests for it.

    Attributes:
        answer: what it answers to the conditions.
        asked: the conditions of each request: If-None-Match and If-Modified-Since.
    """

    answer: Callable[[str, str], Answer]
    asked: list[tuple[str, str]] = attrs.field(factory=list)

    def serve(self, request: web.Request) -> Any:
        if request.path == "/robots.txt":
            return f"Sitemap: http://{request.host}/one.xml".encode()
        found = request.headers
        words = found.get("If-None-Match", ""), found.get("If-Modified-Since", "")
        self.asked.append(words)
        answer = self.answer(*words)
        return attrs.evolve(
            answer, body=answer.body.replace(b"HOST", request.host.encode())
        )


async def walk_days(db: Path, clock: SetClock, server: Server, days: int) -> Diary:
    async with serve_site(default=server.serve) as site:
        diary = Diary(db, clock, site=f"{site.base}/", base=f"{site.base}/")
        for _ in range(days):
            await diary.walk(asks=False)
    return diary


def listing(*names: str, date: str = "") -> bytes:
    return urlset(*((f"http://HOST/{name}", date) for name in names))


OLD, NEW = 1_780_000_000, 1_785_000_000


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"Last-Modified": http_date(NEW)}, {"Last-Modified": http_date(OLD)}),
        ({"ETag": '"7-b"'}, {"ETag": '"7-a"'}),
        ({"ETag": 'W/"7-b"'}, {"ETag": '"7-a-gzip"', "Last-Modified": http_date(OLD)}),
    ],
    ids=["a date", "a tag", "a weak tag"],
)
async def test_a_304_about_another_version_proves_nothing(
    db: Path, clock: SetClock, first: dict[str, str], then: dict[str, str]
) -> None:
    """An older file in place of a newer one is read, though the server says it has not changed."""

    def answer(tag: str, date: str) -> Answer:
        if tag or date:
            return Answer(status=304, headers=then)
        if len(server.asked) == 1:
            return Answer(listing("a"), headers=first)
        return Answer(listing("a", "b"), headers=then)

    server = Server(answer)
    diary = await walk_days(db, clock, server, 2)
    assert diary.days[1].new == ["b"]


@pytest.mark.parametrize(
    "tag", ["", f'"{NEW:x}-2a"', '"tixiqo1"'], ids=["none", "nginx", "Caddy"]
)
async def test_a_date_of_this_second_is_not_sent_back(
    db: Path, clock: SetClock, tag: str
) -> None:
    """A version of the same second and size has the same validators, so it is read in full once."""
    tag = tag.replace("tixiqo1", _write_base_36(NEW) + "1a")
    headers = {"Last-Modified": http_date(NEW)} | ({"ETag": tag} if tag else {})

    def answer(sent: str, date: str) -> Answer:
        now = http_date(NEW + (DAY if len(server.asked) > 1 else 20))
        if sent or date:
            return Answer(status=304, headers={**headers, "Date": now})
        names = "ab" if len(server.asked) > 1 else "a"
        return Answer(listing(*names), headers={**headers, "Date": now})

    server = Server(answer)
    diary = await walk_days(db, clock, server, 3)
    assert diary.days[1].new == ["b"]
    assert server.asked[1] == ("", "")
    assert server.asked[2] != ("", "")


def _write_base_36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
    return text


@pytest.mark.parametrize("tag", ['"x-gzip"', '"5f-3e;gzip"', 'W/"2a-br"'])
async def test_a_tag_of_a_compressed_body_is_sent_without_its_mark(
    db: Path, clock: SetClock, tag: str
) -> None:
    """Servers that mark the tag of a compressed body compare it without the mark."""
    plain = f'{tag[: max(tag.rfind("-"), tag.rfind(";"))]}"'

    def answer(sent: str, date: str) -> Answer:
        del date
        if plain in sent.split(", "):
            return Answer(status=304, headers={"ETag": tag})
        return Answer(listing("a"), headers={"ETag": tag})

    server = Server(answer)
    diary = await walk_days(db, clock, server, 2)
    assert server.asked[1][0].split(", ") == [tag, plain]
    assert diary.new == {"a": 1}


@pytest.mark.parametrize("date", ["2026-09-01", "2026-08-30T10:00:00Z", "2026-09"])
async def test_a_date_before_that_of_an_entry_is_not_sent_back(
    db: Path, clock: SetClock, date: str
) -> None:
    """A server with one date for all its files tells of no change."""
    headers = {"Last-Modified": http_date(OLD)}

    def answer(sent: str, since: str) -> Answer:
        if sent or since:
            return Answer(status=304, headers=headers)
        names = "ab" if len(server.asked) > 1 else "a"
        return Answer(listing(*names, date=date), headers=headers)

    server = Server(answer)
    diary = await walk_days(db, clock, server, 2)
    assert diary.days[1].new == ["b"]
