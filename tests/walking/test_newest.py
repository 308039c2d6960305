"""`newest`: the N newest URLs of a site, and whether that is proven; the gate of a walk."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Newest, newest, newest_sync, walk_sync
from sitemapreader._types.dates import latest_moment, parse_lastmod
from sitemapreader._types.urls import url_key
from sitemapreader.fetch import MemoryFetcher
from tests.support.commands import run
from tests.support.grouping import grouped
from tests.support.walking import index, status, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.walking import Pages


SITE = "https://example.org/"
TOP = f"{SITE}top.xml"
ROBOTS = {f"{SITE}robots.txt": f"Sitemap: {TOP}\n".encode()}
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
Listed = list[tuple[str, str]]


def child(name: object) -> str:
    return f"{SITE}{name}.xml"


def page(name: object) -> str:
    return f"{SITE}{name}"


async def find(pages: Any, number: int = 20, **arguments: Any) -> Newest:
    return await newest(
        SITE, number, fetcher=MemoryFetcher(ROBOTS | pages), **grouped(arguments)
    )


def make_site(
    children: dict[str, Listed], lastmods: dict[str, str] | None = None
) -> Pages:
    """Make a site of an index, whose children are dated by their newest URL."""
    dates = {
        name: max((date for _, date in urls), default="")
        for name, urls in children.items()
    }
    dates |= lastmods or {}
    pages: Pages = {TOP: index(*((child(name), dates[name]) for name in children))}
    return pages | {child(name): urlset(*urls) for name, urls in children.items()}


def write_day(hours: float, form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    return (NOW - timedelta(hours=hours)).strftime(form)


def make_blog(form: str) -> dict[str, Listed]:
    """Make 50 children, the newest first, with 100 URLs each, one an hour."""
    return {
        f"posts-{k}": [
            (page(f"{k}/{n}"), write_day(100 * k + n, form)) for n in range(100)
        ]
        for k in range(50)
    }


BLOG, DAYS = make_blog("%Y-%m-%dT%H:%M:%SZ"), make_blog("%Y-%m-%d")
MONTHS = {
    f"2025-{m:02}": [(page(f"{m}/{d}"), f"2025-{m:02}-{d:02}") for d in range(1, 28)]
    for m in range(1, 13)
}


@pytest.mark.parametrize(
    "pages",
    [
        make_site(BLOG),
        make_site(dict(reversed(DAYS.items()))),
        make_site(MONTHS, {name: name for name in MONTHS}),
        {TOP: urlset(*BLOG["posts-0"])},
    ],
    ids=["dated children", "dated by days", "archives by month", "news"],
)
async def test_proven_from_three_documents(pages: Pages) -> None:
    """Dates in the index prove 20 of up to 5,000 URLs by 3 documents, robots.txt included."""
    found = await find(pages)
    assert (found.proven, found.reason, len(found.entries)) == (True, "", 20)
    assert (
        len([each for each in found.report.documents if each.tries or each.http_status])
        <= 3
    )
    assert found.report.complete
    assert set(found.report.left_out) <= {"not-newer"}
    with walk_sync(SITE, fetcher=MemoryFetcher(ROBOTS | pages)) as entries:
        dates = sorted((entry.date for entry in entries if entry.date), reverse=True)
    assert [entry.date for entry in found.entries] == dates[:20]


UNPROVEN: dict[str, tuple[Any, int]] = {
    "undated-sitemaps": (make_site(BLOG, dict.fromkeys(BLOG, "")), 5),
    "equal-dates": (make_site(BLOG, dict.fromkeys(BLOG, write_day(0))), 49),
    "dates-exceeded": (make_site(BLOG, dict.fromkeys(BLOG, "2020-01-01")), 5),
    "documents-limit": (make_site(BLOG), 2),
    "undated-urls": ({TOP: urlset((page("a"), "2026-01-01"), page("b"))}, 20),
    "http-status": (
        {**make_site(BLOG), child("posts-0"): status(500, child("posts-0"))},
        20,
    ),
}


async def test_dates_of_a_nested_index_are_compared() -> None:
    """One above the date that the index has in its own index proves nothing, as one of a URL."""
    first, second = page("first.xml"), page("second.xml")
    lists = {
        TOP: index((first, "2026-01-02"), (second, "2025-01-01")),
        second: urlset((page("b"), "2025-01-01")),
        child("a"): urlset((page("a"), "2026-01-02")),
    }
    for date, reason in (("2026-01-03", ""), ("2026-01-04", "dates-exceeded")):
        pages = lists | {first: index((child("a"), date))}
        found = await find(pages, 1, documents=3)
        assert (found.reason, found.proven) == (reason, not reason), date


@pytest.mark.parametrize("reason", UNPROVEN)
async def test_not_proven(reason: str) -> None:
    """Where it cannot be known, it is said why; and no more is asked for than was allowed."""
    pages, documents = UNPROVEN[reason]
    found = await find(pages, 120, documents=documents)
    assert (found.proven, found.reason) == (False, reason)
    assert found.documents <= documents
    assert found.report.left_out["over-limit"] == (
        51 - documents if documents != 20 else 0
    )


async def test_an_older_sitemap_has_the_second_newest() -> None:
    """Sitemaps are read for as long as they may have a URL that is newer than the oldest found."""
    dated = {
        "a": [(page("a1"), "2026-01-05"), (page("a2"), "2026-01-01")],
        "b": [(page("b1"), "2026-01-03"), (page("b2"), "2026-01-02")],
        "c": [(page("c1"), "2026-01-02")],
    }
    for number, names in ((1, ["a1"]), (2, ["a1", "b1"]), (3, ["a1", "b1", "b2"])):
        found = await find(make_site(dated), number)
        assert [entry.loc for entry in found.entries] == [page(name) for name in names]
        assert found.proven


async def test_what_has_no_rank() -> None:
    """URLs without a date, of the future, and a second time are not among the newest."""
    urls: Any = [page("undated"), (page("far"), "2999-01-01"), *BLOG["posts-0"][:3]]
    again = urlset((page("0/0"), "2020-01-01"), (page("0/0"), write_day(0)))
    found = await find(
        {
            TOP: index((child("a"), "2999-01-01"), child("b")),
            child("a"): urlset(*urls),
            child("b"): again,
        },
        3,
    )
    assert [entry.loc for entry in found.entries] == [page(f"0/{n}") for n in range(3)]
    assert (found.undated, found.future, found.reason) == (1, 1, "future-lastmods")


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026", "2027-01-01T11:59:59.999999Z"),
        ("2026-03", "2026-04-01T11:59:59.999999Z"),
        ("2026-03-05", "2026-03-06T11:59:59.999999Z"),
        ("2026-03-05T10:30", "2026-03-05T22:30:59.999999Z"),
        ("2026-03-05T10:30+02:00", "2026-03-05T08:30:59.999999Z"),
        ("2026-03-05T10:30:00-0500", "2026-03-05T15:30:00.999999Z"),
        ("Thu, 05 Mar 2026 10:30:00 GMT", "2026-03-05T10:30:00.999999Z"),
        ("Thu, 05 Mar 2026", "2026-03-06T11:59:59.999999Z"),
        ("9999-12-31", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_the_last_moment_of_a_date(text: str, last: str) -> None:
    """A date means any moment of its span, in any zone if it names none."""
    assert latest_moment(parse_lastmod(text), text) == parse_lastmod(last)


def make_random_site(rng: random.Random) -> Pages:
    """Make a site with one habit of dating, as sites have: right, late, cut, equal, stale, none."""
    habit = rng.choice(
        ("right", "built", "days", "none", "some", "equal", "stale", "nested")
    )
    form = rng.choice(
        ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ")
    )
    is_mixed = rng.random() < 0.3
    children: dict[str, Listed] = {}
    lastmods: dict[str, str] = {}
    for k in range(rng.randint(1, 30)):
        hours = [
            (0 if is_mixed else 200 * k) + rng.randint(0, 200 * (30 if is_mixed else 1))
            for _ in range(rng.randint(0, 40))
        ]
        children[f"c{k}"] = [
            (
                page(rng.randint(0, 2_000)),
                "" if rng.random() < 0.05 else write_day(each, form),
            )
            for each in hours
        ]
        latest = min(hours, default=200 * k)
        lastmods[f"c{k}"] = {
            "built": write_day(latest - rng.randint(0, 50), form),
            "days": write_day(latest, "%Y-%m-%d"),
            "none": "",
            "some": rng.choice(["", write_day(latest, form)]),
            "equal": write_day(0, form),
            "stale": write_day(latest + 300, form),
        }.get(habit, write_day(latest, form))
    pages = make_site(children, lastmods)
    if habit == "nested":
        inner = pages[TOP]
        pages[TOP] = index(
            (child("inner"), write_day(0)), (child("more"), write_day(7))
        )
        pages |= {
            child("inner"): inner,
            child("more"): urlset((page("m"), write_day(7))),
        }
    return pages


async def test_never_proven_in_vain() -> None:
    """On 20 random sites, what is proven is what a full walk finds."""
    rng = random.Random(27)
    proven = asked = whole = 0
    for _ in range(20):
        pages, number = make_random_site(rng), rng.choice((1, 5, 20))
        found = await find(pages, number, documents=rng.choice((4, 20)))
        if not found.proven:
            assert found.reason
            continue
        truth: dict[str, datetime] = {}
        with walk_sync(SITE, fetcher=MemoryFetcher(ROBOTS | pages)) as entries:
            for entry in entries:
                if date := entry.date:
                    key = url_key(entry.loc)
                    truth[key] = max(date, truth.get(key, date))
        dates = sorted(truth.values(), reverse=True)[:number]
        assert [entry.date for entry in found.entries] == dates
        proven, asked, whole = proven + 1, asked + found.documents, whole + len(pages)
    assert proven > 6
    assert asked < 0.5 * whole


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"number": 0}, "number must be at least 1"),
        ({"number": "3"}, "number must be a whole number"),
        ({"documents": 0}, "documents must be at least 1"),
        ({"revisit": 3}, "newest has no argument 'revisit'"),
        ({"state": "a.db"}, "newest has no argument 'state': see"),
        ({"exlude": "b"}, "did you mean exclude"),
    ],
)
def test_misuse(arguments: dict[str, Any], said: str) -> None:
    """What makes no sense is refused before anything is fetched."""
    with pytest.raises((TypeError, ValueError), match=said):
        newest_sync(SITE, **grouped(arguments))


def test_in_the_shell(tmp_path: Path) -> None:
    """The command prints the newest URLs, says if that is proven, and exits with 3 if not."""
    for url, body in {**ROBOTS, **make_site(BLOG)}.items():
        assert isinstance(body, bytes)
        (tmp_path / url.removeprefix(SITE)).write_bytes(body)
    shown = run(
        "newest", str(tmp_path), "-n", "3", "--format", "csv", "--fields", "date,loc"
    )
    lines = [
        f"{write_day(n, '%Y-%m-%dT%H:%M:%S+00:00')},{page(f'0/{n}')}" for n in range(3)
    ]
    assert shown.stdout.split() == ["date,loc", *lines]
    assert "proven: no other URL with a date is newer (2 sitemaps read)" in shown.stderr
    assert shown.returncode == 0
    shown = run("newest", str(tmp_path), "-n", "150", "--documents", "2")
    assert (shown.returncode, len(shown.stdout.split())) == (3, 100)
    assert (
        "not proven to be the newest: more sitemaps may have newer ones: raise --documents"
        in shown.stderr
    )
    odd = urlset(
        (page("far"), "2999-01-01"), page("x"), page("y"), (page("z"), "2020-01-01")
    )
    (tmp_path / "top.xml").write_bytes(odd)
    shown = run("newest", str(tmp_path))
    assert (
        "a sitemap has dates in the future (1 sitemap read; URLs left out: 2 without a date, 1"
        in shown.stderr
    )
    assert run("newest", str(tmp_path), "-n", "0").returncode == 2
    shown = run("newest", str(tmp_path), "--include", "nothing")
    assert (shown.returncode, "newest" in shown.stderr) == (0, False)
    file = tmp_path / "new.csv"
    assert (
        run("newest", str(tmp_path), "--include", "nothing", "-o", str(file)).returncode
        == 0
    )
    assert file.read_text().startswith("loc,")
    (tmp_path / "empty").mkdir()
    failed = run("newest", str(tmp_path / "empty"), "-o", str(file))
    assert "new.csv was not written, because nothing was found" in failed.stderr
    assert (failed.returncode, file.read_text().startswith("loc,")) == (1, True)


def test_a_site_without_dates(tmp_path: Path) -> None:
    """No URL is printed where none has a date: it is said why, and a file stays as it was."""
    (tmp_path / "sitemap.xml").write_bytes(urlset(page("x"), page("y")))
    file = tmp_path / "new.csv"
    file.write_text("yesterday")
    done = run("newest", str(tmp_path), "-o", str(file))
    assert (done.returncode, file.read_text()) == (1, "yesterday")
    reason = "URLs without a date may be newer (1 sitemap read; URLs left out: 2 without a date)"
    assert f"not proven to be the newest: {reason}" in done.stderr
    (tmp_path / "sitemap.xml").rename(tmp_path / "a.xml")
    (tmp_path / "sitemap.xml").write_bytes(index(page("a.xml"), page("missing.xml")))
    # not everything was read
    assert run("newest", str(tmp_path), "-o", str(file)).returncode == 3
    assert file.read_text() == "yesterday"


STAMP = [(page(f"a/{n}"), "2024-05-01") for n in range(12)]
DATED = [(page(n), f"2024-01-{n:02}") for n in range(1, 20)]


@pytest.mark.parametrize(
    ("stamped", "number", "reason"),
    [
        (STAMP, 5, "equal-lastmods"),
        (STAMP[:9], 5, ""),  # so few may be of one day
        (
            [(page(n), f"2024-05-01T00:00:{n:02}Z") for n in range(12)],
            5,
            "equal-lastmods",
        ),
        ([(loc, "2023-05-01") for loc, _ in STAMP], 5, ""),  # older ones are no matter
        (STAMP, 50, ""),  # all are given
        ([*STAMP, (page("b"), "2024-05-02")], 5, ""),
    ],
)
async def test_dates_of_a_file_prove_nothing(
    stamped: Listed, number: int, reason: str
) -> None:
    """Which of twelve URLs with one date are the newest is unknown; older ones matter not."""
    found = await find(make_site({"a": stamped, "dated": DATED}), number)
    assert (found.proven, found.reason) == (not reason, reason)


async def test_the_moment_of_the_request_is_no_date() -> None:
    """URLs that are all dated with the present do not say which of them are the newest."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    few = [(page(n), now) for n in range(5)]
    assert (await find(make_site({"a": few}), 2)).reason == "now-lastmods"
    mixed = [*few, *DATED[:1]]
    assert (await find(make_site({"a": mixed}), 6)).proven


def test_the_issues_of_the_walk_are_printed(tmp_path: Path) -> None:
    """The command says what it could not read, beside whether the URLs are proven."""
    urls = [(page("a"), "2020-01-01"), ("/relative", "2020-01-01")]
    for url, body in {**ROBOTS, TOP: urlset(*urls)}.items():
        (tmp_path / url.removeprefix(SITE)).write_bytes(body)
    shown = run("newest", str(tmp_path))
    assert "relative-loc" in shown.stderr
    assert "proven" in shown.stderr
