"""The law of removal: what some document lists is not unlisted, and not new again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Limits
from sitemapreader.fetch import StoredResponse
from tests.support.clock import DAY, SetClock
from tests.support.diary import Diary, alive, lists, named
from tests.support.histories import Page, write_feed
from tests.support.walking import ROBOTS, SITE, index, status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[[int], dict[str, Any]]

TOP = f"{SITE}top.xml"


@pytest.fixture
def diary(db: Path, monkeypatch: pytest.MonkeyPatch) -> Diary:
    return Diary(db, SetClock(monkeypatch))


# -- pages that move while the dates stay


def tagged(url: str, body: bytes, tag: str) -> StoredResponse:
    return StoredResponse(url, body, headers={"etag": f'"{tag}"'})


def move_to_another_category(day: int) -> dict[str, Any]:
    """Serve two lists whose date in the index and whose tag are those of their newest article."""
    recipes = ["soup", "stew", "pie"] if day < 4 else ["curry", "soup"]
    baking = ["bread", "cake"] if day < 4 else ["bread", "cake", "stew"]
    dates = {
        "recipes.xml": f"2026-02-0{1 if day < 4 else 5}",
        "baking.xml": "2026-03-01",
    }
    bodies = {"recipes.xml": lists(*recipes), "baking.xml": lists(*baking)}
    served = {
        SITE + name: tagged(SITE + name, bodies[name], dates[name]) for name in bodies
    }
    top = index(*((SITE + name, date) for name, date in dates.items()))
    live = alive(["soup", "stew", "bread", "cake", "curry"])
    return {ROBOTS: named("top.xml"), TOP: top, **served, **live}


def move_behind_last_modified(day: int) -> dict[str, Any]:
    """Serve two lists whose Last-Modified is the date of the newest product."""
    shoes = ["red-shoe", "old-boot"] if day < 6 else ["red-shoe"]
    sale = (
        ["hat"]
        + (["scarf"] if day >= 2 else [])
        + (["old-boot"] if day >= 6 else ["glove"])
    )
    newest = f"Mon, 0{'7' if day < 2 else '9'} Mar 2026 10:00:00 GMT"
    head = {"last-modified": newest}
    return {
        ROBOTS: named("shoes.xml", "sale.xml"),
        f"{SITE}shoes.xml": lists(*shoes),
        f"{SITE}sale.xml": StoredResponse(
            f"{SITE}sale.xml", lists(*sale), headers=head
        ),
        **alive(["red-shoe", "old-boot", "hat", "scarf"]),
    }


def slide_between_parts(day: int) -> dict[str, Any]:
    """Serve parts of three topics, the newest first, of which one in the first part is deleted.

    The first topic of the second part slides into the first part, which keeps its date.
    """
    topics = [f"topic-{number}" for number in range(20, 11, -1)]
    if day >= 3:
        topics.remove("topic-19")
    parts = [topics[start : start + 3] for start in range(0, len(topics), 3)]
    names = [f"{SITE}part-{number}.xml" for number in range(len(parts))]
    dates = [f"2026-04-{part[0][-2:]}" for part in parts]
    top = tagged(TOP, index(*zip(names, dates, strict=True)), "-".join(dates))
    bodies = {
        name: tagged(name, lists(*part), date)
        for name, part, date in zip(names, parts, dates, strict=True)
    }
    return {ROBOTS: named("top.xml"), TOP: top, **bodies, **alive(topics)}


@pytest.mark.parametrize(
    ("serve", "deleted"),
    [
        (move_to_another_category, {"pie"}),
        (move_behind_last_modified, {"glove"}),
        (slide_between_parts, {"topic-19"}),
    ],
)
async def test_a_page_that_moves_behind_an_old_date_stays_listed(
    diary: Diary, serve: Serve, deleted: set[str]
) -> None:
    """A date proves nothing about what is missing: the bytes of all lists do."""
    await diary.live(30, serve)
    assert diary.unlisted.keys() == deleted
    assert diary.gone.keys() == deleted
    assert set(diary.new.values()) == {1}


@pytest.mark.parametrize("kept", [3, 5])
async def test_a_page_that_moves_to_a_list_without_an_end_stays_listed(
    diary: Diary, kept: int
) -> None:
    """What a list lacks of which only a part is ever read is known a week later, each time."""
    moves = 12

    def serve(day: int) -> dict[str, Any]:
        first = ["soup", "pie"] if day < moves else ["soup"]
        second = ["bread"] if day < moves + kept else ["bread", "pie"]
        return {
            ROBOTS: named("first.xml", "second.xml"),
            f"{SITE}first.xml": lists(*first),
            f"{SITE}second.xml": lists(*second).removesuffix(b"</urlset>"),
            **alive(["soup", "pie", "bread"]),
        }

    await diary.live(moves + kept + 8, serve)
    assert diary.waits(moves, moves + kept) == [1] * kept
    assert not diary.told
    assert set(diary.new.values()) == {1}


# -- lists that nothing names for some hours

HALF = DAY / 2


def name_nothing_in_the_index(is_short: bool) -> dict[str, Any]:
    children = [] if is_short else [f"{SITE}first.xml", f"{SITE}second.xml"]
    return {ROBOTS: named("top.xml"), TOP: index(*children)}


def name_half_in_robots(is_short: bool) -> dict[str, Any]:
    names = ["other.xml"] if is_short else ["other.xml", "first.xml", "second.xml"]
    return {ROBOTS: named(*names), f"{SITE}other.xml": lists("inn")}


def name_no_index_in_robots(is_short: bool) -> dict[str, Any]:
    names = ["other.xml"] if is_short else ["other.xml", "top.xml"]
    return {
        **name_nothing_in_the_index(is_short=False),
        ROBOTS: named(*names),
        f"{SITE}other.xml": lists("inn"),
    }


@pytest.mark.parametrize(
    "name", [name_nothing_in_the_index, name_half_in_robots, name_no_index_in_robots]
)
async def test_a_page_that_moved_to_a_list_that_is_not_named_for_a_day_stays_listed(
    diary: Diary, name: Callable[[bool], dict[str, Any]]
) -> None:
    """Two readings prove that a list is named no more; until then, losses wait for it."""
    died, moved = 6, 8
    short = (9, 10)

    def serve(half: int) -> dict[str, Any]:
        first = ["soup"]
        if half < died:
            first.append("curry")
        second = ["bread"]
        (first if half < moved else second).append("pie")
        second_url = f"{SITE}second.xml"
        return {
            **name(half in short),
            f"{SITE}first.xml": lists(*first),
            second_url: tagged(second_url, lists(*second), "constant"),
            **alive(["soup", "pie", "bread"]),
        }

    for half in range(24):
        await diary.walk(serve(half), later=HALF)
    assert diary.told.keys() == {"curry"}
    assert set(diary.new.values()) == {1}


# -- lists that are not read to their end


async def test_what_a_limit_of_the_walk_leaves_unread_stays_listed(
    diary: Diary,
) -> None:
    """The site has not cut its list: what lies behind the limit is not missing."""
    names = [f"{number:0100}" for number in range(2_000)]
    site = {ROBOTS: named("list.xml"), f"{SITE}list.xml": lists(*names)}
    await diary.walk(site)
    for _ in range(10):
        await diary.walk(site, limits=Limits(walk_bytes=120_000))
    await diary.walk(site)
    assert diary.waits(0, 12) == [0] * 12
    assert not diary.told
    assert set(diary.new.values()) == {1}


# -- lists that are short for some days


def empty_the_list(day: int) -> dict[str, Any]:
    pages = [] if 4 <= day < 7 else ["inn", "bar", "spa"]
    return {ROBOTS: named("list.xml"), f"{SITE}list.xml": lists(*pages)}


def halve_the_index(day: int) -> dict[str, Any]:
    children = {f"{SITE}{name}.xml": lists(f"{name}/1", f"{name}/2") for name in "pqrs"}
    count = 2 if 3 <= day < 6 else 4
    top = index(*list(children)[:count])
    return {ROBOTS: named("top.xml"), TOP: top, **children}


def blank_the_text(day: int) -> dict[str, Any]:
    text = "\n".join(f"{SITE}{number}" for number in range(30))
    body = "\n\n" if day in {3, 4, 5, 9, 10, 11} else text
    return {ROBOTS: named("urls.txt"), f"{SITE}urls.txt": body.encode()}


@pytest.mark.parametrize("serve", [empty_the_list, halve_the_index, blank_the_text])
async def test_what_was_never_told_as_unlisted_comes_back_in_silence(
    diary: Diary, serve: Serve
) -> None:
    """A consumer that was told nothing of a loss is told nothing of the return."""
    await diary.live(16, serve, asks=False)
    assert set(diary.new.values()) == {1}
    assert not diary.changed


# -- a robots.txt that is longer than a reader reads


def name_too_many(day: int) -> dict[str, Any]:
    """Name 1,000 sitemaps of languages before the one that has always been there."""
    more = [f"lang-{number}.xml" for number in range(1_000)] if day >= 3 else []
    bodies = {SITE + name: lists() for name in more}
    return {
        ROBOTS: named("first.xml", *more, "main.xml"),
        f"{SITE}first.xml": lists("one"),
        f"{SITE}main.xml": lists("two"),
        **bodies,
    }


def forbid_too_much(day: int) -> dict[str, Any]:
    """Write half a megabyte of rules above the line of a sitemap."""
    rules = "\n".join(
        f"Disallow: /trap/{number:040}" for number in range(9_500 if day >= 3 else 1)
    )
    tail = f"\nSitemap: {SITE}main.xml\n".encode()
    robots = named("first.xml", rules=rules) + tail
    return {
        ROBOTS: robots,
        f"{SITE}first.xml": lists("one"),
        f"{SITE}main.xml": lists("two"),
    }


def cut_inside_a_line(day: int) -> dict[str, Any]:
    """Let the 500 KiB end inside of the line that names a sitemap."""
    line = f"Sitemap: {SITE}main.xml\n".encode()
    head = named("first.xml") + b"# "
    filler = b"x" * (500 * 1024 - len(head) - len(line) + 4) if day >= 3 else b"x"
    robots = head + filler + b"\n" + line
    return {
        ROBOTS: robots,
        f"{SITE}first.xml": lists("one"),
        f"{SITE}main.xml": lists("two"),
    }


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "serve",
    [
        pytest.param(name_too_many, marks=pytest.mark.slow),
        forbid_too_much,
        cut_inside_a_line,
    ],
)
async def test_what_a_cut_robots_txt_hides_stays_listed(
    diary: Diary, serve: Serve
) -> None:
    """What stands beyond the end of what is read was named, and nobody says that it is not."""
    for day in (0, 3, 4, 12):
        pages = serve(day) | alive(["one", "two"])
        await diary.walk(pages, later=86_400.0 * (day - diary.at))
    assert (diary.unlisted, diary.gone) == ({}, {})
    assert set(diary.new.values()) == {1}


# -- what a cache has kept


def age_a_list(day: int) -> dict[str, Any]:
    """Serve a list that loses a page each day, and on some days the list of three days ago."""
    shown = day - 3 if day in {8, 12} else day
    pages = [f"day-{number}" for number in range(shown, shown + 9)]
    url = f"{SITE}list.xml"
    age = {"age": str((day - shown) * 86_400)}
    return {
        ROBOTS: named("list.xml"),
        url: StoredResponse(url, lists(*pages), headers=age),
    }


def age_a_child(day: int) -> dict[str, Any]:
    """Serve a child of an index that has had no pages of a year since the third day."""
    pages = ["2026/a", "2026/b", *(["2025/a"] if day < 3 or day in {7, 9} else [])]
    url = f"{SITE}child.xml"
    age = {"age": "500000"} if day in {7, 9} else {}
    child = StoredResponse(url, lists(*pages), headers=age)
    return {ROBOTS: named("top.xml"), TOP: index(url), url: child}


def age_an_index(day: int) -> dict[str, Any]:
    """Serve an index that has had one child only since the third day."""
    names = [f"{SITE}{name}.xml" for name in ("x", "y")]
    is_old = day in {7, 10}
    listed = names if day < 3 or is_old else names[:1]
    top = StoredResponse(
        TOP, index(*listed), headers={"age": "500000"} if is_old else {}
    )
    bodies = {name: lists(f"{name[-5]}/1") for name in names}
    return {ROBOTS: named("top.xml"), TOP: top, **bodies}


@pytest.mark.parametrize(
    ("serve", "missing"),
    [
        (age_a_list, [f"day-{number}" for number in range(15)]),
        (age_a_child, ["2025/a"]),
        (age_an_index, ["y/1"]),
    ],
)
async def test_an_old_answer_brings_nothing_back_for_good(
    diary: Diary, serve: Serve, missing: list[str]
) -> None:
    """A URL that a cache still lists is not new, or it is told as unlisted once more."""
    await diary.live(18, serve)
    told = Counter(url for day in diary.days for url in day.unlisted)
    assert {url: told[url] for url in missing} == {
        url: diary.new[url] for url in missing
    }
    assert all(told[url] for url in missing)


async def test_an_old_answer_of_a_site_that_was_empty_brings_nothing_back(
    diary: Diary,
) -> None:
    """All is unlisted, and listed again; what is lost then is in a cache for some days."""

    def serve(day: int) -> dict[str, Any]:
        url = f"{SITE}list.xml"
        age = {}
        names = ["one", "two"]
        if 2 <= day < 5:
            names = []
        elif day == 6:
            names = ["one"]
        elif day > 6:
            age = {"age": str((day - 5) * 86_400)}
        listed = StoredResponse(url, lists(*names), headers=age)
        return {ROBOTS: named("list.xml"), url: listed}

    await diary.live(12, serve)
    assert diary.new == {"one": 2, "two": 2}


async def test_an_old_answer_brings_nothing_back_that_has_moved_before(
    diary: Diary,
) -> None:
    """A page moves, is lost and told as gone, and a cache has its second list from before."""

    def serve(day: int) -> dict[str, Any]:
        url = f"{SITE}second.xml"
        moved_here = ["oak"] if 2 <= day < 6 or day > 8 else []
        age = {"age": str((day - 5) * 86_400)} if day > 8 else {}
        failed = f"{SITE}failed.xml"
        return {
            ROBOTS: named("first.xml", "second.xml", "failed.xml"),
            f"{SITE}first.xml": lists("elm", *(["oak"] if day < 2 else [])),
            url: StoredResponse(url, lists("ash", *moved_here), headers=age),
            failed: lists("fir") if day == 0 else status(503, failed),
            **alive(["elm", "ash", "fir"]),
        }

    await diary.live(14, serve)
    assert diary.gone["oak"] <= 8
    assert diary.new["oak"] == 1


# -- a list and a feed


async def test_what_leaves_a_feed_is_looked_for_in_the_lists_again(
    diary: Diary,
) -> None:
    """A list leaves out a page for four days, and its date stays; the feed has it until later."""

    def serve(day: int) -> dict[str, Any]:
        pages = ["oak", "elm"] if day < 2 or day >= 6 else ["elm"]
        posts = ["oak", "ash"] if day < 8 else ["ash", "fir"]
        changed = "2026-09-01" if day < 2 else "2026-09-05"
        return {
            ROBOTS: named("top.xml", "feed"),
            TOP: index((f"{SITE}list.xml", changed)),
            f"{SITE}list.xml": lists(*pages),
            f"{SITE}feed": write_feed(
                "rss", [Page(SITE + post, 0, "") for post in posts]
            ),
            **alive(["oak", "elm", "ash", "fir"]),
        }

    await diary.live(14, serve, unique=True)
    assert not diary.told
    assert diary.new["oak"] == 1


# -- what was told


async def test_a_page_that_is_gone_is_not_gone_again_before_it_is_read(
    diary: Diary,
) -> None:
    """Its sitemap is named again unchanged, and then loses it; another one keeps all waiting."""
    dated = [(f"{SITE}{name}.xml", "2026-01-01") for name in ("left", "right")]

    def serve(day: int) -> dict[str, Any]:
        listed = dated[:1] if 2 <= day < 5 else dated
        right = ["oak"] if day < 7 else ["elm"]
        if day >= 7:
            listed = [dated[0], (f"{SITE}right.xml", "2026-09-01")]
        other = lists("ash") if day < 2 else status(503, f"{SITE}other.xml")
        return {
            ROBOTS: named("top.xml", "other.xml"),
            TOP: index(*listed),
            f"{SITE}left.xml": lists("fir"),
            f"{SITE}right.xml": lists(*right),
            f"{SITE}other.xml": other,
            **alive(["fir", "elm", "ash"]),
        }

    await diary.live(20, serve)
    gone = Counter(url for day in diary.days for url in day.gone)
    assert gone["oak"] == diary.new["oak"]
    assert diary.gone.keys() == {"oak"}


# -- a record that is broken for a day or more

OAK = f"<loc>{SITE}oak</loc>"
FLAWS = [
    f"<loc>{SITE}o&ak</loc>",
    f"<loc>&{SITE}oak</loc>",
    f"<loc>{SITE}\noak</loc>",
    f"<loc>{SITE}o ak</loc>",
    f"<loc>{SITE}<br/>oak</loc>",
    f"<loc>{SITE}</loc><loc>oak</loc>",
    f"<loc>{SITE}</url><url>oak</loc>",
    f"<loc>{SITE}o\ufffeak</loc>",
    f"<loc>{SITE}o<ak</loc>",
    "<loc>{{ url }}</loc>",
    "<loc></loc>",
    "<loc>oak</loc>",
    "<loc>htps://example.org/oak</loc>",
    "<loc>https%3A%2F%2Fexample.org/oak</loc>",
]
TREES = ["oak", *(f"tree-{number}" for number in range(20))]


def break_oak(flaw: str) -> bytes:
    return lists(*TREES).replace(OAK.encode(), flaw.encode())


@pytest.mark.parametrize("flaw", FLAWS)
async def test_a_url_whose_own_record_is_broken_for_two_days_stays_listed(
    diary: Diary, flaw: str
) -> None:
    """A record that was dropped, or whose URL was repaired, may be any URL that was listed."""

    def serve(day: int) -> dict[str, Any]:
        body = break_oak(flaw) if day in (3, 4) else lists(*TREES)
        return {ROBOTS: named("list.xml"), f"{SITE}list.xml": body, **alive(TREES)}

    await diary.live(12, serve)
    assert "oak" not in diary.told
    assert diary.new["oak"] == 1
    # a relative URL is resolved, so nothing is missing
    is_missing = "<loc>oak</loc>" not in flaw
    assert diary.waits(3, 5) == [is_missing, is_missing]


@pytest.mark.parametrize(
    ("suffix", "listed", "broken"),
    [
        ("txt", f"{SITE}oak\n", f"{SITE[1:]}oak\n"),
        ("txt", f"{SITE}oak\n", f"{SITE}o\0ak\n"),
        ("xml", f"<url>{OAK}", f"<urlloc>{SITE}oak</loc>"),
    ],
)
async def test_a_line_or_a_start_tag_that_is_broken_hides_its_url(
    diary: Diary, suffix: str, listed: str, broken: str
) -> None:
    """What no reader takes for a record is a flaw as well."""
    if suffix == "xml":
        whole = lists(*TREES)
    else:
        whole = "".join(f"{SITE}{tree}\n" for tree in TREES).encode()

    def serve(day: int) -> dict[str, Any]:
        body = (
            whole.replace(listed.encode(), broken.encode()) if day in (3, 4) else whole
        )
        name = f"list.{suffix}"
        return {ROBOTS: named(name), SITE + name: body, **alive(TREES)}

    await diary.live(12, serve)
    assert "oak" not in diary.told


@pytest.mark.parametrize("flaw", ["<loc/>", "<loc>{{ child }}</loc>", "<loc <{}</loc>"])
async def test_an_index_with_a_broken_record_goes_on_naming_its_children(
    diary: Diary, flaw: str
) -> None:
    """The child whose record is broken is named as long as the index is damaged."""
    child = f"{SITE}oaks.xml"
    top = index(child, f"{SITE}elms.xml")

    def serve(day: int) -> dict[str, Any]:
        bad = top.replace(f"<loc>{child}</loc>".encode(), flaw.format(child).encode())
        return {
            ROBOTS: named("top.xml"),
            TOP: bad if day in (3, 4) else top,
            child: lists("oak"),
            f"{SITE}elms.xml": lists("elm"),
            **alive(["oak", "elm"]),
        }

    await diary.live(12, serve)
    assert not diary.told


async def test_a_flaw_that_lasts_costs_itself_and_delays_nothing_later(
    diary: Diary,
) -> None:
    """After seven days with it a list counts as read, and its other losses are told as ever."""

    def serve(day: int) -> dict[str, Any]:
        trees = TREES if day < 20 else TREES[:-1]
        body = lists(*trees)
        if day >= 3:
            body = body.replace(OAK.encode(), b"<loc>{{ url }}</loc>")
        return {ROBOTS: named("list.xml"), f"{SITE}list.xml": body, **alive(trees)}

    await diary.live(24, serve)
    assert 10 <= diary.unlisted["oak"] <= 12
    assert diary.unlisted[TREES[-1]] == 21


@pytest.mark.parametrize("first", range(9, 13))
async def test_a_flaw_that_is_usual_by_now_lets_no_later_one_be(
    diary: Diary, first: int
) -> None:
    """Another record is broken when the seven days of the first one end."""
    elm = f"<loc>{SITE}{TREES[1]}</loc>".encode()

    def serve(day: int) -> dict[str, Any]:
        body = lists(*TREES)
        if day >= 3:
            body = body.replace(elm, b"<loc></loc>")
        if first <= day < first + 3:
            body = body.replace(OAK.encode(), b"<loc></loc>")
        return {ROBOTS: named("list.xml"), f"{SITE}list.xml": body, **alive(TREES)}

    await diary.live(22, serve)
    assert diary.unlisted.keys() == {TREES[1]}
    assert diary.unlisted[TREES[1]] <= 20


@pytest.mark.parametrize("pause", [1, 2, 3, 7])
async def test_a_list_that_has_more_flaws_each_time_delays_a_loss_by_seven_days(
    diary: Diary, pause: int
) -> None:
    """Nothing waits for longer, however often there are new ones."""

    def serve(day: int) -> dict[str, Any]:
        trees = TREES if day < 12 else TREES[1:]
        flawed = [f"x?a=1&b={number}" for number in range(day // pause)]
        body = lists(*trees, *flawed)
        return {ROBOTS: named("list.xml"), f"{SITE}list.xml": body, **alive(TREES)}

    await diary.live(24, serve)
    assert 12 < diary.unlisted["oak"] <= 20


async def test_a_flaw_that_a_clock_ahead_has_seen_is_usual_in_time(
    diary: Diary,
) -> None:
    """What lies in the future of a walk is as old as the moment before it."""

    def serve(day: int) -> dict[str, Any]:
        body = lists(*TREES)
        if day >= 3:
            body = body.replace(OAK.encode(), b"<loc></loc>")
        return {ROBOTS: named("list.xml"), f"{SITE}list.xml": body, **alive(TREES)}

    for day in range(24):
        later = {3: 400 * DAY, 4: -399 * DAY}.get(day, DAY)
        await diary.walk(serve(day), later=later)
    assert 10 <= diary.unlisted["oak"] <= 14


# -- a line of robots.txt that names no sitemap

LINES = [
    "Sitemap: {{ url }}\n",
    "Sitemap: htps://example.org/elms.xml\n",
    "Sitemap: https:/example.org/elms.xml\n",
    "Sitemap: undefined/elms.xml\n",
]


def serve_trees(line: str, *, has_elms: bool) -> dict[str, Any]:
    names = ["oaks.xml", "elms.xml"] if has_elms else ["oaks.xml"]
    served = {f"{SITE}oaks.xml": lists("oak"), f"{SITE}elms.xml": lists("elm")}
    live = alive(["oak", "elm"] if has_elms else ["oak"])
    return {ROBOTS: named(*names) + line.encode(), **served, **live}


@pytest.mark.parametrize("line", LINES)
async def test_a_line_that_is_broken_for_two_days_hides_a_sitemap(
    diary: Diary, line: str
) -> None:
    """The sitemap that robots.txt named before may be meant."""

    def serve(day: int) -> dict[str, Any]:
        if day not in (3, 4):
            return serve_trees("", has_elms=True)
        return serve_trees(line, has_elms=False) | alive(["elm"])

    await diary.live(12, serve)
    assert not diary.told


@pytest.mark.parametrize("line", LINES)
async def test_a_line_that_was_always_broken_hides_nothing(
    diary: Diary, line: str
) -> None:
    """A sitemap that nothing names any more is told, whatever else robots.txt has."""
    await diary.live(12, lambda day: serve_trees(line, has_elms=day < 3))
    assert diary.unlisted == {"elm": 4}
    assert diary.gone == {"elm": 4}
