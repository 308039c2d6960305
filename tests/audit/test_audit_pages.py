"""An audit visits listed pages: each rule hits what is planted, and nothing on clean sites."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from sitemapreader._cli.parser import NOTHING_FETCHED
from sitemapreader.audit import audit
from sitemapreader.presence import CauseCode, why
from tests.audit.page_audits import (
    FIGURES,
    OPTIONS,
    WORDS,
    build,
    finding_of,
    fix_name,
    hits,
    judge,
    list_pages,
    page,
    publish,
)
from tests.support.commands import run
from tests.support.serving import Answer, answer, serve_pages
from tests.support.there import known

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.audit import Audit


async def slow(_: web.Request) -> str:
    import asyncio  # noqa: PLC0415 (the only use)

    await asyncio.sleep(1.1)  # on a busy machine others take a fifth
    return page(text=f"{WORDS} slow")


def login(request: web.Request) -> Any:
    return web.Response(status=302, headers={"Location": f"/login?to={request.path}"})


async def test_each_rule_hits_what_is_planted() -> None:
    """Of a site with one page for each fault, each rule names its page, and no rule another."""
    answers: dict[str, Any] = {f"fine/{number}": page() for number in range(12)}
    answers |= {f"soft/{number}": page() for number in range(4)}
    answers |= {
        "gone": 410,
        "broken": 500,
        "login": page(text=f"{WORDS} log in"),
        "member": login,
        "secret": 401,
        "forbidden": 403,
        "soft/none": page(text=f"{WORDS} not found"),
        "moved": answer(301, Location="/fine/1"),
        "slash": answer(301, Location="/slash/"),
        "slash/": page(),
        "refresh": page("<meta http-equiv=refresh content='0;url=/fine/2'>"),
        "slow": slow,
        "hidden": page("<meta name=robots content=noindex>"),
        "other": page("<link rel=canonical href=/fine/3>"),
        "dated": page('<meta property="article:modified_time" content="2026-01-01">'),
        "fine/self": page("<link rel=canonical href=/fine/self>"),
    }
    async with serve_pages(**answers) as server:

        def soft(request: web.Request) -> Any:
            is_soft = request.path.startswith("/soft/sitemapreader-")
            return answers["soft/none"] if is_soft else web.Response(status=404)

        server.default = soft
        listed = [path for path in answers if path not in ("login", "slash/", "dated")]
        publish(server, *listed, "missing", dated="2026-02-01")
        with await judge(server.base) as result:
            assert hits(result) == {
                "page-not-found": [("missing", "404")],
                "page-gone": [("gone", "410")],
                "page-error": [("broken", "500")],
                "page-login": [
                    ("member", f"302 to {server.base}login?to=/member"),
                    ("secret", "401"),
                ],
                "page-forbidden": [("forbidden", "403")],
                "page-soft-404": [("soft/none", "")],
                "page-redirects": [
                    ("moved", f"301 to {server.base}fine/1 which is listed"),
                    ("refresh", f"refresh to {server.base}fine/2"),
                    ("slash", f"301 to {server.base}slash/ (slash)"),
                ],
                "page-slow": [("slow", result_detail(result, "page-slow"))],
                "page-noindex": [("hidden", "meta robots: noindex")],
                "page-canonical-elsewhere": [
                    ("other", f"{server.base}fine/3, which is listed")
                ],
                "lastmod-false": [("dated", "2026-02-01, the page says 2026-01-01")],
            }
            tally = known(result.facts.pages)
            assert (tally.visited, tally.judged, tally.exact) == (
                tally.listed,
                tally.listed,
                True,
            )
            assert all(finding.rate is None for finding in result.findings)


def result_detail(result: Audit, code: str) -> str:
    return str(finding_of(result, code).examples[0].detail)


async def test_a_sample_gives_rates() -> None:
    """Of 300 pages 60 are visited; findings tell the share of all, and how sure it is."""
    bad = {f"p/{number}" for number in range(0, 300, 5)}
    answers: dict[str, Any] = {
        f"p/{number}": page() for number in range(300) if f"p/{number}" not in bad
    }
    async with serve_pages(**answers) as server:
        named = fix_name(server)
        publish(server, *(f"p/{number}" for number in range(300)))
        with await judge(server.base, 60, **named) as result:
            finding = finding_of(result, "page-not-found")
            assert known(finding.rate).low < 0.2 < known(finding.rate).high
            assert finding.urls == round(known(finding.rate).share * 300)
            assert (known(finding.rate).judged, known(finding.rate).population) == (
                60,
                300,
            )
            assert finding.count == round(known(finding.rate).share * 60)
            html = result.format("html")
            assert "60 of 300 pages were visited, and 60 could be judged." in html
            assert f"{100 * known(finding.rate).share:.2g}% (" in result.format("text")
        asked = sum(
            count for path, count in server.times.items() if path.startswith("/p/")
        )
        assert asked <= 67
        assert server.most_at_once <= OPTIONS.per_host
        server.requested.clear()
        with await judge(server.base, 60, **named) as again:
            assert finding_of(again, "page-not-found").count == finding.count


async def test_a_sample_has_parts_for_each_sitemap(tmp_path: Path) -> None:
    """Sitemaps that share a folder are sampled each by its size, as the walk finds them."""
    base = "https://example.org/"
    texts = {
        f"{name}.xml": list_pages(
            base, *(f"p/{name}{number}" for number in range(size))
        )
        for name, size in (("a", 90), ("b", 30))
    }
    named = "".join(f"Sitemap: {base}{name}\n" for name in texts)
    site = build(tmp_path, **texts, **{"robots.txt": named})
    with await judge(site, 40) as result:
        parts = result.sql(
            "SELECT size, count(*) FROM sample GROUP BY stratum, size ORDER BY ALL"
        )
        assert parts.fetchall() == [(30, 10), (90, 30)]


@pytest.mark.slow
async def test_visits_that_end_early_are_a_sample() -> None:
    """When the time is over, rates hold for what was seen, and nothing else counts as visited."""

    async def answer_later(_: web.Request) -> web.Response:
        await asyncio.sleep(0.05)
        return web.Response(status=404)

    async with serve_pages() as server:
        server.default = answer_later
        publish(server, *(f"p/{number}" for number in range(400)))
        figures = attrs.evolve(FIGURES, page_seconds=1, page_probes=0)
        with await judge(server.base, figures=figures) as result:
            tally = known(result.facts.pages)
            rate = known(finding_of(result, "page-not-found").rate)
            assert tally.visited == tally.judged == rate.judged < 200
            assert tally.not_judged == {"time": 400 - tally.visited}
            assert (rate.share, rate.population) == (1, 400)
            assert f"{tally.visited} of 400 pages visited" in result.format("text")


async def test_the_time_of_an_audit_ends_its_visits() -> None:
    """`max_time` is that of walk and visits together: a page that never answers holds nobody."""

    async def wait(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with serve_pages() as server:
        server.default = wait
        publish(server, *(f"p/{number}" for number in range(20)))
        async with asyncio.timeout(60):
            with await judge(server.base, max_time=timedelta(seconds=2)) as result:
                assert known(result.facts.pages).not_judged == {"time": 20}


async def test_no_page_is_visited_without_being_asked() -> None:
    """By default, and with 0, an audit of a site opens no page, and says so; nor does -1."""
    async with serve_pages(page=page()) as server:
        publish(server, "page")
        for pages in (None, 0):
            with await judge(server.base, pages) as result:
                assert result.facts.pages is None
                assert "pass a number" in result.facts.not_run[0].reason
        for wrong in (-1, "some", 1.5):
            with pytest.raises(match='pages must be a number or "all"'):
                await audit(server.base, pages=wrong)  # type: ignore[arg-type]  # a mistake
        assert "/page" not in server.times


async def test_a_folder_that_is_disallowed_is_not_spoken_for() -> None:
    """What the other pages show holds for the others only."""
    names = [
        f"{folder}/{number}" for folder in ("open", "private") for number in range(30)
    ]
    async with serve_pages(**dict.fromkeys(names, page())) as server:
        publish(server, *names, robots="User-agent: *\nDisallow: /private/")
        with await judge(server.base, "all") as result:
            pages = known(result.facts.pages)
            assert (pages.listed, pages.judged, pages.population) == (60, 30, 30)
            assert (pages.exact, pages.bound, "none in" in result.format("text")) == (
                False,
                None,
                False,
            )


@pytest.mark.slow
async def test_what_is_not_visited_says_nothing(tmp_path: Path) -> None:
    """A disallowed page gets no request; nor does any when the time is over: no rule is run.

    Where a crawl file and a visit disagree, the visit counts.
    """
    async with serve_pages(**{"page": page(), "private/x": page()}) as server:
        publish(
            server, "page", "private/x", robots="User-agent: *\nDisallow: /private/"
        )
        crawl = tmp_path / "crawl.csv"
        crawl.write_text(f"Address,Status Code\n{server.base}page,404\n")
        with await judge(server.base, urls=crawl) as result:
            assert hits(result) == {}
            assert known(result.facts.pages).not_judged == {"robots": 1}
        assert "/private/x" not in server.times
        with await judge(
            server.base, figures=attrs.evolve(FIGURES, page_seconds=0)
        ) as result:
            said = {each.rule.code: each.reason for each in result.facts.not_run}
            assert (
                said["page-gone"]
                == "only 0 of 1 page could be judged (robots 1, time 1): to request what "
                "robots.txt disallows, pass `FetchOptions(respect_robots=False)`"
            )
        with await judge(server.base, None, urls=crawl) as result:
            assert hits(result) == {"page-not-found": [("page", "404")]}


async def test_a_built_folder_is_judged_by_its_pages(tmp_path: Path) -> None:
    """Without being asked, all pages of a folder are looked up, and unlisted ones are found."""
    base = "https://example.org/"
    texts = {f"a/{number}.html": page() for number in range(10)}
    texts |= {
        "index.html": page(),
        "404.html": page(),
        "issues/404.html": page(),
        "hidden.html": page("<meta name=robots content=noindex>"),
        "unlisted.html": page(),
        "part.html": "<p>a part",
        "private/x.html": page(),
        "de/404.html": page(),
        "500.html": page(),
        **dict.fromkeys(
            ("own/index.html", "copy/index.html"),
            page(f"<link rel=canonical href={base}own>"),
        ),
        "_redirects": "/old /a/1 301\n",
        "robots.txt": f"User-agent: *\nDisallow: /private/\nSitemap: {base}sitemap.xml\n",
    }
    listed = [*(f"a/{number}" for number in range(10)), "", "hidden", "old", "none"]
    listed += ["404.html", "issues/404"]
    site = build(tmp_path, **texts, **{"sitemap.xml": list_pages(base, *listed)})
    with await judge(site, None) as result:
        assert hits(result) == {
            "page-missing": [("none", "")],
            "page-noindex": [("hidden", "meta robots: noindex")],
            "page-redirects": [("old", f"301 to {base}a/1 which is listed")],
            "page-soft-404": [("404.html", "")],
            "page-unlisted": [
                ("own/", "own/index.html"),
                ("unlisted.html", "unlisted.html"),
            ],
        }
    with await judge(site, 0) as result:
        assert hits(result) == {}
    (site / ".htaccess").write_text("RewriteEngine On")
    with await judge(site, None) as result:
        assert finding_of(result, "page-missing").severity == "warning"
    for number in range(10):
        (site / f"a/{number}.html").unlink()
    (site / "sitemap.xml").write_text(
        list_pages(base, *(f"b/{number}" for number in range(99)))
    )
    with await judge(site, None) as result:
        assert "files for 0 of 99 URLs" in result.facts.not_run[0].reason


@pytest.mark.parametrize(
    ("canonicals", "found"),
    [
        (("b",), ("page-canonical-elsewhere", "error", "b, which is listed")),
        (("A",), ("page-canonical-variant", "warning", "A, which returns 404")),
        (
            ("a", "A"),
            ("page-canonical-elsewhere", "error", "A, which returns 404"),
        ),
    ],
)
async def test_how_much_a_canonical_differs(
    tmp_path: Path, canonicals: tuple[str, ...], found: tuple[str, str, str]
) -> None:
    """Another page is an error, as are two; another spelling of this one is a warning."""
    base = "https://example.org/"
    links = "".join(f"<link rel=canonical href={base}{path}>" for path in canonicals)
    texts = {
        "a.html": page(links),
        "b.html": page(),
        "sitemap.xml": list_pages(base, "a", "b"),
    }
    code = "page-canonical-*"
    with await judge(build(tmp_path, **texts), None, select=[code]) as result:
        (finding,) = result.findings
        shown = finding.examples[0].detail.rpartition(base)[2]
        assert (finding.rule.code, finding.severity, shown) == found


TARGETS = ["page-canonical-*", "hreflang-target-*", "page-not-found"]


async def test_pages_that_are_only_named_are_requested() -> None:
    """What a canonical link and hreflang name need not be listed to be found wrong."""
    requested: list[str] = []

    def note(text: str, **headers: str) -> Any:
        def respond(request: web.Request) -> web.Response:
            requested.append(request.path)
            status = 301 if headers else 200
            return web.Response(
                text=text, status=status, headers=headers, content_type="text/html"
            )

        return respond

    async with serve_pages() as server:

        def name(relation: str, path: str) -> str:
            return page(f'<link {relation} href="{server.base}{path}">')

        server.pages |= {
            "/lost": name("rel=canonical", "none"),
            "/moves": name("rel=canonical", "old"),
            "/fine": name("rel=canonical", "good"),
            "/en": name("rel=alternate hreflang=de", "de"),
            "/old": note("", Location="/good"),
            "/good": note(page()),
            "/de": note("", Location="/good"),
        }
        publish(server, "lost", "moves", "fine", "en")
        with await judge(server.base, select=TARGETS) as result:
            base = server.base
            assert hits(result) == {
                "page-canonical-elsewhere": [("fine", f"{base}good")],
                "page-canonical-broken": [("lost", f"{base}none, which returns 404")],
                "page-canonical-leads-on": [
                    ("moves", f"{base}old, which redirects to {base}good")
                ],
                "hreflang-target-not-indexed": [
                    ("en", f"{base}de redirects to {base}good")
                ],
            }
            tally = known(result.facts.pages)
            assert (tally.listed, tally.visited, tally.judged) == (4, 4, 4)
        requested.clear()
        figures = attrs.evolve(FIGURES, page_targets=1)
        with await judge(server.base, select=TARGETS, figures=figures) as result:
            assert len({*requested} - {"/good"}) <= 1
            canonical = [
                each.count
                for each in result.findings
                if each.rule.code.startswith("page-canonical-")
            ]
            assert sum(canonical) == 3
        requested.clear()
        with await judge(server.base, select=["page-not-found"]):
            assert not requested


async def test_a_canonical_page_that_is_none_has_a_rule_of_its_own() -> None:
    """A broken, a redirecting and an off-site canonical page are told apart, listed or not.

    `why` names the same fault of each.
    """

    def name(path: str) -> str:
        return page(f'<link rel=canonical href="{path}">', f"{WORDS} to {path}")

    targets: dict[str, Any] = {
        "gone": 410,
        "hidden": page("<meta name=robots content=noindex>"),
        "moved": answer(301, Location="/fine"),
        "copy": name("/fine"),
        "fine": page(),
    }
    answers = {f"to-{target}": name(f"/{target}") for target in targets}
    answers["to-other"] = name("http://localhost:1/page")
    wanted = {
        "page-canonical-broken": {
            "to-gone": "which returns 410",
            "to-hidden": "which forbids indexing",
        },
        "page-canonical-leads-on": {
            "to-moved": "which redirects to {}fine",
            "to-copy": "which names {}fine as canonical",
        },
        "page-canonical-offsite": {"to-other": "http://localhost:1/page"},
        "page-canonical-elsewhere": {"to-fine": "{}fine"},
    }
    for listed in ([*answers], [*answers, *targets]):
        async with serve_pages(**targets, **answers) as server:
            publish(server, *listed)
            with await judge(server.base, select=["page-canonical-*"]) as result:
                found = hits(result)
            urls = [f"{server.base}{path}" for path in answers]
            explanations = await why(urls, options=OPTIONS)
        messages = {
            cause.message
            for each in explanations
            for cause in each.causes
            if cause.code is CauseCode.CANONICAL
        }
        for code, faults in wanted.items():
            details = {
                path: detail for path, detail in found[code] if path.startswith("to-")
            }
            assert details.keys() == faults.keys()
            for path, words in faults.items():
                shown = words.format(server.base)
                assert shown in details[path]
                assert any(shown in message for message in messages)
        assert any("is on another host" in message for message in messages)


async def test_a_sitemap_that_nothing_names(tmp_path: Path) -> None:
    """It is found once, its pages are not called unlisted, and other files of its name are none.

    Below a path it is a note, for the host's robots.txt is not in the folder.
    """
    base = "https://example.org/"
    texts = {
        f"{folder}/{number}.html": page()
        for folder in ("a", "de")
        for number in range(5)
    }
    texts |= {
        "lone.html": page(),
        "search.html": page(),
        "assets/sitemap-icon.xml": "<svg/>",
    }
    de = list_pages(base, *(f"de/{number}" for number in range(5)))
    site = build(
        tmp_path,
        **texts,
        **{
            "robots.txt": f"User-agent: *\nSitemap: {base}sitemap.xml\n",
            "sitemap.xml": list_pages(base, *(f"a/{number}" for number in range(5))),
            "de/sitemap.xml": de,
            "de/sitemap-copy.xml": de,
        },
    )
    with await judge(site, None, select=["pages", "sitemap-unnamed"]) as result:
        assert hits(result) == {
            "sitemap-unnamed": [("de/sitemap-copy.xml", "5 pages")],
            "page-unlisted": [("lone.html", "lone.html")],
        }
        assert finding_of(result, "sitemap-unnamed").severity == "warning"
    (site / "de/sitemap-copy.xml").unlink()
    for path in (site / "sitemap.xml", site / "de/sitemap.xml"):
        path.write_text(path.read_text().replace(base, f"{base}docs/"))
    with await judge(
        site, None, select=["sitemap-unnamed"], base_url=f"{base}docs/"
    ) as result:
        assert hits(result) == {"sitemap-unnamed": [("docs/de/sitemap.xml", "5 pages")]}
        assert finding_of(result, "sitemap-unnamed").severity == "info"


FROG = (
    "Address,Content Type,Status Code,Indexability,Indexability Status,"
    "Canonical Link Element 1,Redirect URL\n"
)
FROG += """\
{0}a,text/html; charset=utf-8,200,Indexable,,{0}a,
{0}lost,text/html,404,Non-Indexable,Client Error,,
{0}old,,301,Non-Indexable,Redirected,,{0}a
{0}away,,302,Non-Indexable,Redirected,,{0}lost
{0}hidden,text/html,200,Non-Indexable,noindex,,
{0}other,text/html,200,Non-Indexable,Canonicalised,{0}a,
{0}blocked,,0,Non-Indexable,Blocked by robots.txt,,
{0}wait,,429,Non-Indexable,Client Error,,
{0}gone,text/html, 410.0 ,Non-Indexable,Client Error,,
{0}unlisted,text/html,200,Indexable,,,
{0}unlisted-old,,301,Non-Indexable,Redirected,,{0}a
{0}unlisted.pdf,application/pdf,200,Indexable,,,
"""


async def test_a_crawl_file_is_judged_without_a_request(tmp_path: Path) -> None:
    """What somebody else's crawl says of listed pages is judged by the same rules, exactly.

    A status that is no number of three digits says nothing. What no crawl says has not passed.
    """
    base = "https://example.org/"
    listed = (
        "a",
        "lost",
        "old",
        "away",
        "hidden",
        "other",
        "wait",
        "blocked",
        "unknown",
        "gone",
    )
    strange = ("\u00b2", "9" * 5_000, "65536", "-1", "1e3", "404 Not Found")
    names = [f"p{number}" for number in range(len(strange))]
    site = build(
        tmp_path / "site", **{"sitemap.xml": list_pages(base, *listed, *names)}
    )
    crawl = tmp_path / "frog.csv"
    rows = [
        f"{base}{name},,{status},,,,\n"
        for name, status in zip(names, strange, strict=True)
    ]
    crawl.write_text(FROG.replace("{0}", base) + "".join(rows), encoding="utf-8")
    with await judge(site, 0, urls=crawl, select=["pages", "missing-url"]) as result:
        assert hits(result) == {
            "page-not-found": [("away", "302 404"), ("lost", "404")],
            "page-gone": [("gone", "410")],
            "page-redirects": [("old", f"301 to {base}a which is listed")],
            "page-noindex": [("hidden", "")],
            "page-canonical-elsewhere": [("other", f"{base}a, which is listed")],
            "missing-url": [("unlisted", "")],
        }
        assert known(result.facts.pages).judged == 7
        assert not known(result.facts.pages).exact
        left_out = {each.rule.code: each.reason for each in result.facts.not_run}
        for code in ("page-soft-404", "page-slow", "page-hreflang-differs"):
            assert (
                left_out[code]
                == "a crawl does not report this: visit pages with `pages`"
            )


# -- who is asked for pages


async def test_a_disallowed_page_is_requested_only_if_asked_for() -> None:
    """A staging host disallows all: the report says so, and `respect_robots=False` visits it."""
    async with serve_pages(one=page(), two=404) as server:
        publish(server, "one", "two", robots="User-agent: *\nDisallow: /")
        with await judge(server.base) as result:
            tally = known(result.facts.pages)
            assert (tally.visited, tally.judged) == (0, 0)
            assert tally.not_judged == {"robots": 2}
            text = result.format("text")
            assert "0 of 2 pages visited, 0 judged; not judged: robots 2" in text
            reasons = {each.reason for each in result.facts.not_run}
            assert any(
                each.endswith("`FetchOptions(respect_robots=False)`")
                for each in reasons
            )
        assert not {"/one", "/two"}.intersection(server.requested)
        with await judge(server.base, respect_robots=False) as result:
            assert hits(result) == {"page-not-found": [("two", "404")]}
            assert known(result.facts.pages).visited == 2


@pytest.mark.parametrize("name", ["list.txt", "map.xml", ""])
async def test_pages_of_lists_and_folders_are_requested_from_a_mapped_host(
    name: str, tmp_path: Path
) -> None:
    """A list or a sitemap in a file has no pages beside it: servers are asked for them."""
    base = "http://www.shop.example/"
    text = list_pages(base, "one", "two")
    if name == "list.txt":
        text = f"{base}one\n{base}two\n"
    build(tmp_path, **{name or "sitemap.xml": text})
    async with serve_pages(one=page(), two=404) as server:
        mapped = {"map_hosts": {"http://www.shop.example": server.base.rstrip("/")}}
        with await judge(tmp_path / name, **mapped) as result:
            assert hits(result) == {"page-not-found": [("two", "404")]}
        with await judge(tmp_path / name, None, **mapped) as result:
            assert result.facts.pages is None


async def test_a_row_for_each_page(tmp_path: Path) -> None:
    """Files of pages have what each one answered, whatever rules are chosen."""
    answers: dict[str, Any] = {
        "dark": page("<meta name=robots content=noindex>"),
        "fine": page("<link rel=canonical href=/fine>"),
        "gone": 404,
        "moved": answer(301, Location="/fine"),
        "silent": Answer(b"", 200, {"X-Robots-Tag": "noindex"}),
    }
    dark = "page-noindex robots-blocked-url"
    robots = (
        "User-agent: *\nDisallow: /private\n\nUser-agent: Googlebot\nDisallow: /dark"
    )
    async with serve_pages(**answers) as server:
        publish(server, *answers, "private", robots=robots)
        selected = ["pages", "robots-blocked-url"]
        with await judge(server.base, select=selected) as result:
            for name in ("pages.csv", "pages.jsonl", "pages.parquet"):
                assert result.write_pages(tmp_path / name) == 6
        base = server.base
        with (
            await judge(server.base, None) as result,
            pytest.raises(ValueError, match="visit pages with `pages`"),
        ):
            result.write_pages(tmp_path / "none.csv")
    lines = (tmp_path / "pages.jsonl").read_text().splitlines()
    rows = {row["url"].removeprefix(base): row for row in map(json.loads, lines)}
    assert rows["fine"].items() >= {
        "status": 200, "final_url": f"{base}fine", "title": "T", "noindex": False,
        "canonical": f"{base}fine", "redirects": "", "list": "listed", "findings": "",
    }.items()  # fmt: skip
    assert rows["fine"]["ms"] >= 0
    assert rows["dark"].items() >= {"noindex_by": "meta", "findings": dark}.items()
    assert rows["silent"].items() >= {"noindex": True, "noindex_by": "header"}.items()
    assert rows["gone"].items() >= {"status": 404, "findings": "page-not-found"}.items()
    moved = {"status": 200, "final_url": f"{base}fine", "findings": "page-redirects"}
    assert rows["moved"].items() >= (moved | {"first_status": 301}).items()
    assert rows["moved"]["redirects"] == f"301 to {base}fine"
    unknown = {"status": None, "final_url": "", "not_judged": "robots"}
    assert rows["private"].items() >= unknown.items()
    head, *_ = (tmp_path / "pages.csv").read_text().splitlines()
    assert head.startswith("url,status,final_url,ms,title,noindex,canonical,")


async def test_a_robots_file_that_cannot_be_read_is_a_reason_of_its_own() -> None:
    """It forbids nothing, so the reason is not `robots`."""
    async with serve_pages(page=page()) as server:
        publish(server, "page")
        sitemap = list_pages(server.base, "page")
        secure = server.base.replace("http:", "https:")
        sitemap = sitemap.replace(
            "</urlset>", f"<url><loc>{secure}page</loc></url></urlset>"
        )
        server.pages["/sitemap.xml"] = lambda _: web.Response(text=sitemap)
        with await judge(server.base, select=["page-not-found"]) as result:
            tally = known(result.facts.pages)
    assert (tally.not_judged, tally.judged) == ({"robots-unreachable": 1}, 1)


def test_a_site_without_a_page_has_no_file_of_pages(tmp_path: Path) -> None:
    """A site that cannot be reached is told by the exit code and in one line."""
    output = tmp_path / "pages.csv"
    done = run(
        "audit", "https://site.invalid/", "--pages", "5", "-q", "-o", str(output)
    )
    assert done.returncode == NOTHING_FETCHED
    assert "pages.csv was not written, because no page was visited" in done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()
