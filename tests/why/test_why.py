"""Why a URL is missing: planted causes, each named with its place."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest

from sitemapreader import Changes, FetchOptions, Follow, Limits, State, walk
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from sitemapreader.presence import Cause, CauseCode, Explanation, Verdict, why, why_sync
from tests.support.clock import DAY, SetClock
from tests.support.commands import run, serving
from tests.support.grouping import grouped
from tests.support.serving import Answer, Site, serve_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DIALECTS = {"csv": "excel", "tsv": "excel-tab"}
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*locs: str) -> bytes:
    """Write a urlset; a loc that begins with `<` is a record as it is."""
    records = (
        loc if loc.startswith("<") else f"<url><loc>{loc}</loc></url>" for loc in locs
    )
    return f"<urlset {NAMESPACE}>{''.join(records)}</urlset>".encode()


def index(*locs: str) -> bytes:
    records = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f"<sitemapindex {NAMESPACE}>{records}</sitemapindex>".encode()


def html(head: str = "", words: str = "A page about the marsh.") -> Answer:
    text = f"<!doctype html><head><title>Marsh</title>{head}</head><body><p>{words}</p></body>"
    return Answer(text.encode(), 200, {"Content-Type": "text/html"})


def make_pages(base: str) -> dict[str, Any]:
    """Make a site with a sitemap that is whole, and pages of every kind."""
    dated = f"<url><loc>{base}/old</loc><lastmod>2024-03-01</lastmod></url>"
    return {
        "/robots.txt": f"User-agent: *\nDisallow: /private/\nSitemap: {base}/map.xml\n".encode(),
        "/map.xml": urlset(
            f"{base}/plain",
            f"{base}/slash/",
            f"{base}/Capital",
            f"https{base[4:]}/secure",
            f"{base}/dir/index.html",
            f"{base}/caf%C3%A9",
            f"{base}/target",
            f"{base}/hidden",
            f"{base}/soft",
            f"{base}/private/listed",
            dated,
            f"<url><loc>{base}/twice</loc></url>",
            f"<url><loc>{base}/twice</loc><lastmod>2025-01-01</lastmod></url>",
            "<url><loc>https://[broken/dropped</loc></url>",
        ),
        "/": html('<link rel="alternate" type="application/rss+xml" href="/feed">'),
        "/feed": f'<rss version="2.0"><channel><title>F</title>'
        f"<item><link>{base}/post</link></item></channel></rss>".encode(),
        "/plain": html(),
        "/moved": "/target",
        "/target": html(),
        "/hidden": html('<meta name="robots" content="noindex">'),
        "/copy": html(f'<link rel="canonical" href="{base}/plain">'),
        "/soft": html(words="There is nothing here."),
        "/removed": 410,
    }


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    missing = html(words="There is nothing here.")
    async with serve_site(missing, make_pages) as site:
        site.pages |= dict.fromkeys(("/dead", "/old", "/twice"), html())
        yield site


def causes_of(explanation: Explanation) -> dict[CauseCode, Cause]:
    return {cause.code: cause for cause in explanation.causes}


@pytest.mark.parametrize(
    ("path", "verdict", "code", "words"),
    [
        ("/plain", Verdict.LISTED, CauseCode.LISTED, "map.xml, record 1"),
        ("/slash", Verdict.NOT_LISTED, CauseCode.OTHER_SPELLING, "slash at the end"),
        ("/capital", Verdict.NOT_LISTED, CauseCode.OTHER_SPELLING, "capital letters"),
        ("/secure", Verdict.NOT_LISTED, CauseCode.OTHER_SPELLING, "scheme"),
        ("/dir/", Verdict.NOT_LISTED, CauseCode.OTHER_SPELLING, "index page"),
        ("/café", Verdict.LISTED, CauseCode.LISTED, "written http"),
        (
            "/moved",
            Verdict.NOT_LISTED,
            CauseCode.REDIRECTS,
            "/target, which is listed by",
        ),
        (
            "/hidden",
            Verdict.LISTED,
            CauseCode.NOINDEX,
            "forbids indexing (robots: noindex)",
        ),
        (
            "/copy",
            Verdict.NOT_LISTED,
            CauseCode.CANONICAL,
            "/plain, which is listed by",
        ),
        (
            "/soft",
            Verdict.LISTED,
            CauseCode.SOFT_404,
            "content of a page that does not exist",
        ),
        ("/removed", Verdict.NOT_LISTED, CauseCode.STATUS, "returns 410"),
        (
            "/private/listed",
            Verdict.LISTED,
            CauseCode.ROBOTS,
            "robots.txt disallows the page",
        ),
        (
            "/private/page",
            Verdict.NOT_LISTED,
            CauseCode.ROBOTS,
            "robots.txt disallows the page",
        ),
        (
            "/twice",
            Verdict.LISTED,
            CauseCode.LISTED_TWICE,
            "2 records list it with different",
        ),
        ("/post", Verdict.NOT_LISTED, CauseCode.FEED_ONLY, "only a feed lists it"),
        ("/dead", Verdict.NOT_LISTED, CauseCode.IN_NO_SITEMAP, "records in"),
    ],
)
async def test_a_cause_is_named_with_its_place(
    site: Site, path: str, verdict: Verdict, code: CauseCode, words: str
) -> None:
    """What is listed, what is spelled otherwise, and what the page itself answers."""
    [explanation] = await why(f"{site.base}{path}")
    assert explanation.verdict is verdict
    assert words in causes_of(explanation)[code].message


SPELLINGS = [
    ("http://a.example/secure", "/secure", "scheme"),
    ("https://www.a.example/www", "/www", "www."),
    ("https://a.example:8443/port", "/port", "port"),
    ("/dir/", "/dir/index.html", "index page"),
    ("/both/index.php", "/both/Index.php", "capital letters"),
    ("/slash/", "/slash", "slash at the end"),
    ("/stroke", "/stroke/", "slash at the end"),
    ("/Capital", "/capital", "capital letters"),
    ("/q?A=1", "/q?a=1", "query"),
    ("/a/b", "/a%2Fb", "encoding"),
    ("/c%2Fd", "/c/d", "encoding"),
    ("/Caf%C3%A9", "/caf%C3%A9", "capital letters"),
    ("/\u00e9", "/%C3%A9/", "slash at the end, encoding"),
    (
        "http://www.a.example/All/",
        "/all",
        "scheme, www., slash at the end, capital letters",
    ),
]
"""URL that is asked for, path of the listed one, and the differences."""


async def test_all_differences_of_two_spellings_are_named() -> None:
    """And nothing else is called a difference."""
    home = "https://a.example"
    pages: dict[str, Any] = {
        f"{home}/robots.txt": f"Sitemap: {home}/s.xml".encode(),
        f"{home}/s.xml": urlset(*(home + listed for _, listed, _ in SPELLINGS)),
    }
    asked = [url if ":" in url else home + url for url, _, _ in SPELLINGS]
    fetcher = MemoryFetcher(pages)
    explanations = await why(asked, home, fetcher=fetcher, max_visits=0)
    for explanation, (_, listed, words) in zip(explanations, SPELLINGS, strict=True):
        message = causes_of(explanation)[CauseCode.OTHER_SPELLING].message
        assert f"spelling ({words}): {home}{listed} in" in message


async def test_a_status_that_is_no_success_is_named(site: Site) -> None:
    """Each from 300 on, and no other; a redirect is named by its target."""
    statuses = (201, 299, 300, 404)
    site.pages |= {f"/status-{status}": status for status in statuses}
    asked = [f"{site.base}/status-{status}" for status in statuses]
    explanations = await why(asked, options=FetchOptions(max_attempts=1))
    said = [causes_of(each).get(CauseCode.STATUS) for each in explanations]
    assert [each and each.message[-11:] for each in said] == [
        None,
        None,
        "returns 300",
        "returns 404",
    ]


async def test_a_record_that_was_dropped_is_found_by_its_issue(site: Site) -> None:
    """The Issue's sitemap is named."""
    site.pages["/map.xml"] = urlset(
        f"{site.base}/a", f"{site.base.replace('//', '')}/lost"
    )
    [explanation] = await why(f"{site.base}/lost", max_visits=0)
    cause = causes_of(explanation)[CauseCode.DROPPED]
    assert cause.sitemap == f"{site.base}/map.xml"
    assert cause.line == 1


@pytest.mark.parametrize(
    ("filters", "name"),
    [
        ({"since": date(2026, 1, 1)}, "since"),
        ({"until": date(2020, 1, 1)}, "until"),
        ({"include": "/blog/"}, "include"),
        ({"exclude": ["old"]}, "exclude"),
        ({"language": "de"}, "language"),
    ],
)
async def test_a_filter_that_holds_a_url_back_is_named(
    site: Site, filters: dict[str, Any], name: str
) -> None:
    """The URL is listed, and the argument of the walk that drops it is said."""
    [explanation] = await why(f"{site.base}/old", max_visits=0, **grouped(filters))
    assert explanation.verdict is Verdict.LISTED
    assert f"`{name}` excludes it" in causes_of(explanation)[CauseCode.FILTERED].message


@pytest.mark.parametrize(
    ("child", "body", "reason"),
    [
        ("broken.xml", 500, "http-status 500"),
        ("private/child.xml", urlset("https://a.example/"), "robots-disallowed"),
        ("cut.xml", urlset("https://a.example/")[:-20], "truncated"),
        ("part.xml", urlset(*["https://a.example/"] * 2)[:-20], "truncated"),
        ("page.xml", html(), "html-not-sitemap"),
    ],
)
async def test_a_sitemap_that_was_not_read_makes_the_answer_unknown(
    site: Site, child: str, body: Any, reason: str
) -> None:
    """Nobody can know what it lists, so it is named with its reason."""
    site.pages["/map.xml"] = index(f"{site.base}/{child}")
    site.pages[f"/{child}"] = body
    once = FetchOptions(max_attempts=1)
    [explanation] = await why(f"{site.base}/dead", options=once)
    assert explanation.verdict is Verdict.UNKNOWN
    cause = causes_of(explanation)[CauseCode.SITEMAP_NOT_READ]
    assert cause.sitemap == f"{site.base}/{child}"
    part = "it was not read"
    if child == "part.xml":
        part = "only a part of it was read"
    assert f"but {part} ({reason})" in cause.message


async def test_another_spelling_answers_beside_a_sitemap_that_was_not_read(
    site: Site,
) -> None:
    """The URL was found as it is spelled there, so nothing that was not read explains it."""
    site.pages["/map.xml"] = index(f"{site.base}/part.xml", f"{site.base}/broken.xml")
    site.pages["/part.xml"] = urlset(f"{site.base}/Contact")
    site.pages["/broken.xml"] = 404
    [explanation] = await why(f"{site.base}/contact", max_visits=0)
    assert explanation.verdict is Verdict.NOT_LISTED
    assert CauseCode.OTHER_SPELLING in causes_of(explanation)


@pytest.mark.parametrize(
    "record",
    ["<url><loc>{{ slug }}</loc></url>", "<url><loc>https:///x</loc></url>"],
)
async def test_a_record_that_was_dropped_leaves_no_other_url_open(
    site: Site, record: str
) -> None:
    """Its Issue says what it was, so the sitemap counts as read for every other URL."""
    site.pages["/map.xml"] = urlset(f"{site.base}/plain", record)
    [explanation] = await why(f"{site.base}/dead", max_visits=0)
    assert explanation.verdict is Verdict.NOT_LISTED
    assert CauseCode.IN_NO_SITEMAP in causes_of(explanation)


@pytest.mark.parametrize(
    ("hosts", "verdict"), [("site", Verdict.UNKNOWN), ("any", Verdict.LISTED)]
)
async def test_a_sitemap_on_another_host_is_read_if_asked(
    hosts: Literal["site", "any"], verdict: Verdict
) -> None:
    """`Follow(hosts="any")` reads what no robots.txt proves."""
    pages = {
        "https://a.example/sitemap.xml": index("https://b.example/map.xml"),
        "https://b.example/map.xml": urlset("https://a.example/far"),
    }
    [explanation] = await why(
        "https://a.example/far",
        max_visits=0,
        follow=Follow(hosts=hosts),
        fetcher=MemoryFetcher(pages),
    )
    assert explanation.verdict is verdict


async def test_a_sitemap_on_another_site_is_named(site: Site) -> None:
    """A child that no robots.txt proves is not fetched, and may list the URL."""
    site.pages["/map.xml"] = index("https://other.example/map.xml")
    [explanation] = await why(f"{site.base}/dead")
    assert explanation.verdict is Verdict.UNKNOWN
    assert (
        "cross-host-child" in causes_of(explanation)[CauseCode.SITEMAP_NOT_READ].message
    )


async def test_a_limit_leaves_the_answer_open(site: Site) -> None:
    """What lies past a limit was not read."""
    [explanation] = await why(
        f"{site.base}/dead", limits=Limits(entries=3), max_visits=0
    )
    assert explanation.verdict is Verdict.UNKNOWN
    assert "(too-large)" in causes_of(explanation)[CauseCode.SITEMAP_NOT_READ].message


async def test_an_empty_sitemap_is_named(site: Site) -> None:
    """A sitemap without records is listed, and explains the absence."""
    site.pages["/map.xml"] = urlset()
    [explanation] = await why(f"{site.base}/plain")
    assert explanation.verdict is Verdict.NOT_LISTED
    assert (
        causes_of(explanation)[CauseCode.SITEMAP_EMPTY].sitemap
        == f"{site.base}/map.xml"
    )


async def test_a_site_without_a_sitemap_is_named() -> None:
    """There is nothing that could list the URL."""
    async with serve_site(make_pages=lambda _: {"/": html(), "/a": html()}) as site:
        [explanation] = await why(f"{site.base}/a")
    assert CauseCode.NO_SITEMAP in causes_of(explanation)


async def test_a_state_says_since_when_a_url_is_unlisted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last sitemap that listed it is named."""
    clock = SetClock(monkeypatch)
    state = State(tmp_path / "site.db")
    site = "https://a.example/"
    robots = f"Sitemap: {site}map.xml".encode()
    both = {
        f"{site}robots.txt": robots,
        f"{site}map.xml": urlset(f"{site}a", f"{site}b"),
    }
    one = both | {f"{site}map.xml": urlset(f"{site}a")}
    for pages in (both, *[one] * 4):
        fetcher = MemoryFetcher(pages)
        async with walk(site, fetcher=fetcher, state=Changes(state)) as entries:
            async for _ in entries:
                pass
        clock.now += 4 * DAY
    [explanation] = await why(
        f"{site}b", state=state, fetcher=MemoryFetcher(one), max_visits=0
    )
    cause = causes_of(explanation)[CauseCode.UNLISTED]
    assert cause.sitemap == f"{site}map.xml"
    assert "unlisted since 20" in cause.message
    assert "no status" not in cause.message


async def test_a_state_names_the_last_sitemap_of_a_url_on_the_first_day(
    tmp_path: Path,
) -> None:
    """Though its loss is not confirmed yet; one that is listed again is only listed."""
    state = State(tmp_path / "site.db")
    site = "https://a.example/"
    parts = [f"{site}{name}.xml" for name in ("one", "two")]
    pages = {
        f"{site}robots.txt": "\n".join(f"Sitemap: {url}" for url in parts).encode(),
        parts[0]: urlset(f"{site}a"),
        parts[1]: urlset(f"{site}b", f"{site}c"),
    }
    less = pages | {parts[1]: urlset(f"{site}c")}
    for served in (pages, less):
        fetcher = MemoryFetcher(served)
        async with walk(site, fetcher=fetcher, state=Changes(state)) as entries:
            async for _ in entries:
                pass
    urls = [f"{site}{name}" for name in "bcd"]
    lost, listed, unknown = await why(urls, state=state, fetcher=fetcher, max_visits=0)
    cause = causes_of(lost)[CauseCode.LISTED_BEFORE]
    assert (lost.verdict, cause.sitemap) == (Verdict.NOT_LISTED, parts[1])
    assert cause.message.endswith(f"last listed by {parts[1]}")
    for other in (listed, unknown):
        assert CauseCode.LISTED_BEFORE not in causes_of(other)
    [again] = await why(
        urls[:1], state=state, fetcher=MemoryFetcher(pages), max_visits=0
    )
    assert again.verdict is Verdict.LISTED
    assert CauseCode.LISTED_BEFORE not in causes_of(again)


async def test_a_state_says_why_the_page_of_an_unlisted_url_is_not_gone(
    tmp_path: Path,
) -> None:
    """Its listed neighbour is 404 itself, so the page was not requested."""
    state = State(tmp_path / "site.db", confirm_after=timedelta(0))
    site = "https://a.example/"
    for names in ("ab", "a"):
        listed = urlset(*(site + name for name in names))
        fetcher = MemoryFetcher({f"{site}sitemap.xml": listed})
        async with walk(site, fetcher=fetcher, state=Changes(state)) as entries:
            async for _ in entries:
                pass
            assert [page async for page in entries.gone()] == []
    [explanation] = await why(f"{site}b", state=state, fetcher=fetcher, max_visits=0)
    message = causes_of(explanation)[CauseCode.UNLISTED].message
    assert "(dead-neighbor): a listed page beside it returned 404 or 410" in message


SOON = "<!doctype html><title>Maintenance</title><body>We will be back soon."


async def test_pages_in_place_of_sitemaps_leave_the_answer_open() -> None:
    """A site that responds to everything with 200 and a page hides what it lists."""
    async with serve_site(SOON) as site:
        [explanation] = await why(f"{site.base}/a")
    assert explanation.verdict is Verdict.UNKNOWN
    cause = causes_of(explanation)[CauseCode.SITEMAP_NOT_READ]
    assert "a page in place of each sitemap" in cause.message


@pytest.mark.parametrize("robots", ["User-agent: *\nDisallow:", SOON, None])
@pytest.mark.parametrize("answer", [SOON, 404, 410])
async def test_a_state_that_knows_a_url_as_listed_leaves_the_answer_open(
    tmp_path: Path, robots: str | None, answer: str | int
) -> None:
    """Unless the document that listed it was read, and lacks it."""
    state = State(tmp_path / "site.db")
    async with serve_site() as site:
        urls = [f"{site.base}/{name}" for name in "ab"]
        site.pages["/sitemap.xml"] = urlset(*urls)
        async with walk(site.base, state=Changes(state)) as entries:
            assert len([entry async for entry in entries]) == 2
        found = await why(urls, state=state)
        assert [each.verdict for each in found] == [Verdict.LISTED] * 2
        site.pages["/sitemap.xml"] = answer
        if robots is not None:
            site.pages["/robots.txt"] = robots
        found = await why([*urls, f"{site.base}/c"], state=state)
        assert [each.verdict for each in found[:2]] == [Verdict.UNKNOWN] * 2
        cause = causes_of(found[0])[CauseCode.LISTED_BEFORE]
        assert cause.sitemap == f"{site.base}/sitemap.xml"
        assert cause.message.endswith("which was not read now")
        assert CauseCode.LISTED_BEFORE not in causes_of(found[2])
        site.pages["/sitemap.xml"] = urlset(urls[1])
        lost, listed = await why(urls, state=state)
    assert (lost.verdict, listed.verdict) == (Verdict.NOT_LISTED, Verdict.LISTED)
    assert "the last walk" in causes_of(lost)[CauseCode.LISTED_BEFORE].message


async def test_a_page_that_says_that_it_is_missing_is_no_page_to_add() -> None:
    """Alone: made-up paths return 404 as they should."""
    async with serve_site() as site:
        site.pages |= {
            "/sitemap.xml": urlset(f"{site.base}/a"),
            "/b": "<!doctype html><title>Page not found</title><p>Try the search.",
            "/c": html(),
        }
        missing, fine = await why([f"{site.base}/b", f"{site.base}/c"])
    codes = causes_of(missing)
    assert "a page that does not exist" in codes[CauseCode.SOFT_404].message
    assert CauseCode.PAGE_FINE not in codes
    assert CauseCode.PAGE_FINE in causes_of(fine)


async def test_a_url_that_is_only_an_alternate_is_named_with_its_record() -> None:
    """Which is no record of its own, so it is not listed."""
    async with serve_site() as site:
        url, other = f"{site.base}/en/a", f"{site.base}/de/a"
        link = f'<xhtml:link rel="alternate" hreflang="en" href="{url}"/>'
        space = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
        body = urlset(f"<url><loc>{other}</loc>{link}</url>")
        site.pages["/sitemap.xml"] = body.replace(
            b"<urlset", f"<urlset {space}".encode()
        )
        [explanation] = await why(url)
    assert explanation.verdict is Verdict.NOT_LISTED
    cause = causes_of(explanation)[CauseCode.ALTERNATE]
    assert (cause.url, cause.record) == (other, 1)
    assert cause.message.startswith(f"named as an alternate (en) of {other} in ")


@pytest.mark.parametrize(
    "url", ["", "/page", "page", "ftp://a.example/", "https://", "a b"]
)
async def test_what_is_no_url_is_said_to_be_none(url: str) -> None:
    """It is answered like the others, and nothing is fetched."""
    [explanation] = await why([url])
    assert explanation.verdict is Verdict.NOT_LISTED
    assert [cause.code for cause in explanation.causes] == [CauseCode.NOT_A_URL]


@pytest.mark.slow
async def test_ten_thousand_urls_take_one_walk(site: Site) -> None:
    """The sitemaps are read once, and few pages are requested."""
    urls = [f"{site.base}/page/{number}" for number in range(10_000)]
    explanations = await why([*urls, f"{site.base}/plain"], max_visits=3)
    assert [each.url for each in explanations] == [*urls, f"{site.base}/plain"]
    assert explanations[-1].verdict is Verdict.LISTED
    assert site.times["/map.xml"] == 1
    assert len(site.requested) < 40


def test_without_await() -> None:
    """`why_sync` gives the same, and JSON has no empty fields."""
    pages = {"https://a.example/robots.txt": b"Sitemap: https://a.example/m.xml"}
    pages["https://a.example/m.xml"] = urlset("https://a.example/a")
    [explanation] = why_sync(
        "https://a.example/a", fetcher=MemoryFetcher(pages), max_visits=0
    )
    assert explanation.to_dict() == {
        "url": "https://a.example/a",
        "verdict": "listed",
        "causes": [
            {
                "code": "listed",
                "message": "listed by https://a.example/m.xml, record 1",
                "sitemap": "https://a.example/m.xml",
                "record": 1,
            }
        ],
    }


# -- the shell


FOLDER = "testdata/site"
LISTED = "https://www.example.org/trails/sea-wall"


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        ((LISTED,), 0, f"{LISTED}: listed\n  listed by "),
        ((LISTED.title(),), 1, "not listed"),
        ((LISTED, "https://www.example.org/nothing"), 1, "lists it"),
        ((LISTED, "--since", "1d"), 0, "--since excludes it"),
    ],
)
def test_the_exit_code_is_the_answer(
    words: tuple[str, ...], code: int, output: str
) -> None:
    """0 listed, 1 not listed; filters have the names of the shell."""
    done = run("why", *words, "--in", FOLDER)
    assert (done.returncode, output in done.stdout) == (code, True), done.stdout


def test_unknown_is_exit_code_3() -> None:
    """A sitemap that fails leaves the answer open."""
    with serving(
        {"/robots.txt": b"Sitemap: HOST/map.xml\n", "/map.xml": b"\x00\x01"}
    ) as (base,):
        done = run("why", f"{base}/a")
    assert (done.returncode, "unknown" in done.stdout) == (3, True)


def test_the_shell_reads_a_state(tmp_path: Path) -> None:
    """With `--state` it is said since when a URL is missing, in text and as JSON."""
    folder, db = tmp_path / "site", str(tmp_path / "s.db")
    folder.mkdir()
    urls = ["https://a.example/1", "https://a.example/2"]
    place = "https://a.example/sitemap.txt"
    (folder / "robots.txt").write_text(f"Sitemap: {place}")
    for listed in (urls, urls[:1]):
        (folder / "sitemap.txt").write_text("\n".join(listed))
        assert run(str(folder), "--state", db, "--changes").returncode == 0
    words = ["why", *urls, "--in", str(folder), "--state", db]
    done, plain = run(*words), run(*words[:-2])
    assert done.returncode == plain.returncode == 1
    assert re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "DAY", done.stdout).splitlines() == [
        f"{urls[0]}: listed",
        f"  listed by {place}, record 1",
        f"{urls[1]}: not listed",
        f"  missing since DAY, and not confirmed as unlisted; last listed by {place}",
        "  none of 1 record in 1 sitemap lists it",
    ]
    assert plain.stdout.splitlines() == [
        line for line in done.stdout.splitlines() if "missing" not in line
    ]


def test_a_url_of_another_site_is_not_listed() -> None:
    """It is said that its host is another one, with exit code 1."""
    done = run("why", "https://other.example/", "--in", FOLDER)
    assert done.returncode == 1
    assert "its host differs from https://www.example.org/" in done.stdout


@pytest.mark.parametrize(
    ("path", "is_fine"),
    [
        ("/extra", True),
        ("/hidden-extra", False),
        ("/copy-extra", False),
        ("/no", False),
    ],
)
async def test_an_unlisted_page_that_is_fine_is_called_so(
    site: Site, path: str, *, is_fine: bool
) -> None:
    """Its record in a sitemap is all that it lacks; a page with another fault is not fine."""
    site.pages |= {
        "/extra": html(),
        "/hidden-extra": html('<meta name="robots" content="noindex">'),
        "/copy-extra": html(f'<link rel="canonical" href="{site.base}/plain">'),
    }
    [explanation] = await why(site.base + path)
    causes = causes_of(explanation)
    assert explanation.verdict is Verdict.NOT_LISTED
    assert (CauseCode.PAGE_FINE in causes) is is_fine
    if is_fine:
        assert "add it to a sitemap" in causes[CauseCode.PAGE_FINE].message


def test_a_site_that_is_not_there_is_unknown() -> None:
    """Nobody forbids a page whose robots.txt cannot be read."""
    done = run("why", "https://nowhere.invalid/page")
    assert (done.returncode, "unknown" in done.stdout) == (3, True)
    assert "the page could not be judged: dns: " in done.stdout


def test_a_path_is_one_of_the_site() -> None:
    """With --in a path is enough, in a list as well."""
    done = run("why", "/trails/sea-wall", "--in", FOLDER)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{LISTED}: listed")
    listed = run("why", "-i", "-", "--in", FOLDER, input="/trails/sea-wall\n")
    assert listed.stdout == done.stdout


def test_the_answer_goes_to_a_file(tmp_path: Path) -> None:
    """The suffix of the file decides the format, as elsewhere."""
    for name, begin in ("why.txt", LISTED), ("why.json", "["), ("why.jsonl", "{"):
        file = tmp_path / name
        done = run("why", LISTED, "--in", FOLDER, "-o", str(file))
        assert (done.returncode, done.stdout) == (0, "")
        assert file.read_text("utf-8").startswith(begin)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_has_a_row_for_each_url(tmp_path: Path, suffix: str) -> None:
    """It has the verdict, all causes and the place, and no cell is a formula."""
    asked = [LISTED, LISTED.replace("sea", "Sea"), "=1+1"]
    (tmp_path / "urls.txt").write_text("\n".join(asked))
    file = tmp_path / f"why.{suffix}"
    words = ("why", "-i", str(tmp_path / "urls.txt"), "--in", FOLDER)
    done = run(*words, "-o", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    text = file.read_text("utf-8")
    assert run(*words, "--format", suffix).stdout == text
    rows = list(csv.DictReader(io.StringIO(text), dialect=DIALECTS[suffix]))
    assert [row["url"] for row in rows] == [*asked[:2], "'=1+1"]
    verdicts = ["listed", "not listed", "not listed"]
    assert [row["verdict"] for row in rows] == verdicts
    assert [row["causes"] for row in rows][1:] == ["other-spelling", "not-a-url"]
    assert rows[0]["sitemap"] == rows[1]["sitemap"] != ""
    assert rows[0]["record"] == "6"
    assert (rows[1]["other_url"], rows[2]["sitemap"]) == (LISTED, "")


def test_a_sitemap_that_was_not_read_is_named_once() -> None:
    """Further URLs only say how many there are."""
    pages = {
        "/robots.txt": b"Sitemap: HOST/a.xml\nSitemap: HOST/b.xml\nSitemap: HOST/c.xml\n",
        "/a.xml": b"\x00\x01",
        "/b.xml": b"\x00\x01",
    }
    with serving(pages) as [base]:
        done = run("why", f"{base}/1", f"{base}/2", f"{base}/3", "--visits", "0")
    for name in "abc":
        assert done.stdout.count(f"/{name}.xml") == 1
    assert done.stdout.count("returns 404, so it lists nothing") == 1
    assert done.stdout.count("2 sitemaps that may list it could not be read") == 2


def test_a_list_is_read_and_answered_in_lines_of_json(tmp_path: Path) -> None:
    """Lines that are no URL are answered, too."""
    file = tmp_path / "urls.txt"
    file.write_text(f"{LISTED}\nnonsense\n# a comment\n")
    done = run("why", "-i", str(file), "--in", FOLDER, "--format", "jsonl")
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    assert (done.returncode, verdicts) == (1, ["listed", "not listed"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no URL was given: name one, or a list of URLs with -i FILE"),
        (("/page",), "'/page' is not an http(s) URL: write https://example.org/page"),
        (("nonsense",), "'nonsense' is not an http(s) URL: write https://"),
        (("mailto:a@a.example",), "is not an http(s) URL: write https://"),
        (("ftp://a.example/",), "is not an http(s) URL: write https://"),
        (("http://",), "'http://' is not an http(s) URL: write https://"),
        (("",), "'' is not an http(s) URL: write https://"),
        ((LISTED, "--in", "nix/"), "--in: 'nix/' is neither"),
        ((LISTED, "--undated", "drop"), "--undated requires"),
        (("-i", "missing.txt"), "missing.txt"),
    ],
)
def test_wrong_usage_says_what_to_write(words: tuple[str, ...], message: str) -> None:
    """It is exit code 2, and nothing is fetched."""
    done = run("why", *words)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("is_text", [False, True])
async def test_a_list_of_sitemaps_is_why(is_text: bool) -> None:
    """A urlset or a text that lists sitemaps as pages leads to none of their URLs."""
    home = "https://example.org/"
    listed = f"{home}a.xml"
    pages = {
        f"{home}robots.txt": f"Sitemap: {home}all".encode(),
        f"{home}all": listed.encode() if is_text else urlset(listed),
        listed: urlset(f"{home}page"),
        f"{home}page": b"",
    }
    (explanation,) = await why(f"{home}page", fetcher=MemoryFetcher(pages))
    cause = causes_of(explanation)[CauseCode.SITEMAPS_AS_PAGES]
    assert cause.sitemap == f"{home}all"
    assert "list them in a sitemapindex" in cause.message


async def test_what_a_redirect_leads_to_is_not_the_page() -> None:
    """The status is said of the address that has returned it."""
    async with serve_site(404, lambda _: {"/moved": "/nowhere"}) as site:
        (explanation,) = await why(f"{site.base}/moved")
    cause = causes_of(explanation)[CauseCode.STATUS]
    assert cause.message == "the page to which it redirects returns 404"


async def test_records_that_could_not_be_read_are_counted() -> None:
    """A URL that no readable record has may be in one that was dropped."""
    home = "https://example.org/"
    broken = f"<url><loc>{home}page<br/>Notice</loc></url>"
    pages = {
        f"{home}robots.txt": f"Sitemap: {home}all".encode(),
        f"{home}all": urlset(f"{home}a", f"{home}b", broken, "<url/>"),
    }
    (explanation,) = await why(f"{home}page", fetcher=MemoryFetcher(pages))
    cause = causes_of(explanation)[CauseCode.IN_NO_SITEMAP]
    assert cause.message == (
        "none of 2 records in 1 sitemap lists it; 1 record more could not be read"
    )


@pytest.mark.parametrize("urls", [[5], ["https://example.org/", b"https://a.org/"]])
async def test_a_url_that_is_no_text_is_refused(urls: Any) -> None:
    """Before anything is requested."""
    fetcher = MemoryFetcher({})
    with pytest.raises(TypeError, match="each of urls must be a text, got"):
        await why(urls, fetcher=fetcher)
    assert not fetcher.requested


async def test_a_fetcher_that_names_no_redirects_leaves_their_statuses_out() -> None:
    """The target is known by the address of the response."""
    home = "https://example.org/"
    pages: dict[str, Any] = {
        f"{home}robots.txt": f"Sitemap: {home}all".encode(),
        f"{home}all": urlset(f"{home}new"),
        f"{home}old": StoredResponse(f"{home}new", b"A page"),
    }
    (explanation,) = await why(f"{home}old", fetcher=MemoryFetcher(pages))
    cause = causes_of(explanation)[CauseCode.REDIRECTS]
    assert cause.message.startswith(f"the page redirects to {home}new, which is listed")
