"""An audit follows old URLs to the new site, and says which of them are lost."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from sitemapreader.audit import AuditOptions
from tests.audit.page_audits import (
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
from tests.support.serving import answer, serve_pages
from tests.support.there import known

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # each test audits two sites

OLD = (
    "gone",
    "lost",
    "a/1",
    "a/2",
    "a/3",
    "b/x",
    "b/y",
    "b/soft",
    "d/1",
    "c",
    "fine/1",
    "moved",
    "down",
)
WAS = ("was-*",)


async def test_old_urls_are_to_lead_to_listed_pages() -> None:
    """Each old URL has one fate: lost, to the start page, temporary, unlisted, or none.

    A folder that redirects whatever is asked for to one page has lost its pages.
    """
    answers: dict[str, Any] = {
        "": page(text=f"{WORDS} start"),
        "fine/1": page(),
        "fine/2": page(text=f"{WORDS} two"),
        "unlisted": page(text=f"{WORDS} unlisted"),
        "gone": answer(301, Location="/none"),
        "lost": 410,
        "a/1": answer(301, Location="/"),
        "a/2": answer(302, Location="/"),
        "a/3": page("<meta http-equiv=refresh content='0;url=/'>"),
        "b/x": answer(301, Location="/fine/1"),
        "b/y": answer(302, Location="/fine/1"),
        "b/soft": page(text=f"{WORDS} not found"),
        "d/1": answer(301, Location="/fine/1"),
        "c": page("<link rel=canonical href=/fine/2>"),
        "moved": answer(301, Location="/unlisted"),
        "down": 503,
    }
    async with serve_pages(**answers) as server:

        def soft(request: web.Request) -> Any:
            if request.path.startswith("/d/"):
                return answers["d/1"]
            return (
                answers["b/soft"] if "/b/" in request.path else web.Response(status=404)
            )

        server.default = soft
        publish(server, "", "fine/1", "fine/2")
        old = [server.base + path for path in OLD]
        with await judge(server.base, None, was=old, select=WAS) as result:
            start = server.base
            assert hits(result) == {
                "was-lost": [
                    ("b/soft", "200"),
                    ("d/1", f"301 to {start}fine/1"),
                    ("gone", "301 404"),
                    ("lost", "410"),
                ],
                "was-to-start": [
                    ("a/1", f"301 to {start}"),
                    ("a/2", f"302 to {start}"),
                    ("a/3", f"refresh to {start}"),
                ],
                "was-temporary": [("b/y", f"302 to {start}fine/1")],
                "was-unlisted": [("moved", f"301 to {start}unlisted")],
                "was-error": [("down", "503")],
            }
            tally = known(result.facts.old_pages)
            assert (tally.listed, tally.visited, tally.exact) == (13, 13, True)
            assert result.facts.pages is None
            rows = [[*attrs.astuple(each)] for each in result.facts.old_folders]
            folders = {folder.removeprefix(start): counts for folder, *counts in rows}
            assert folders["a/"] == [3, 0, 3, 0, 0, 0, 0, 0]
            assert folders["b/"] == [3, 1, 0, 1, 0, 0, 0, 0]
            assert f"| `{start}b/` | 3 | 1 | 0 | 1 | 0 |" in result.format("markdown")
            assert f"{start}b/".ljust(50) + "          3          1" in result.format(
                "text"
            )
            html = result.format("html")
            assert "All 13 old URLs were visited, and 13 could be judged." in html
            assert (
                f'<th scope="row" class="url">{start}b/</th><td>3</td><td>1</td>'
                in html
            )


async def test_a_sample_of_old_urls_gives_rates() -> None:
    """With a number of pages, as many old ones are visited, and rates speak for all of them."""
    answers = {f"p/{number}": page() for number in range(0, 200, 2)}
    async with serve_pages(**answers) as server:
        named = fix_name(server)
        publish(server, *answers)
        old = [f"{server.base}p/{number}" for number in range(200)]
        # a slow machine does not make a page slow, which would be asked for again
        figures = AuditOptions(slow_page_seconds=60)
        with await judge(
            server.base, 50, was=old, select=WAS, figures=figures, **named
        ) as result:
            rate = known(finding_of(result, "was-lost").rate)
            assert (rate.judged, rate.population) == (50, 200)
            assert rate.low < 0.5 < rate.high
            assert "of 200 old URLs" in result.format("text")
            assert known(result.facts.pages).visited == 50
        # a page that is listed and old is visited once
        assert all(server.times[f"/{path}"] <= 1 for path in answers)


async def test_old_urls_of_several_folders() -> None:
    """Those that lead to the start page are told, not excused as a consent page.

    Without `was` the report says what to give; `pages=0` would ask for none, and is refused.
    """
    old = [f"{folder}/{number}" for folder in "ab" for number in range(4)]
    answers: dict[str, Any] = {
        "": page(),
        **dict.fromkeys(old, answer(302, Location="/")),
    }
    async with serve_pages(**answers) as server:
        publish(server, "")
        urls = [server.base + path for path in old]
        with await judge(server.base, 0, select=WAS) as result:
            reason = "there are no old URLs: pass the old sitemap with `was`"
            assert {each.reason for each in result.facts.not_run} == {reason}
        with pytest.raises(ValueError, match="`pages` is 0: write another number"):
            await judge(server.base, 0, select=WAS, was=urls)
        assert "/a/1" not in server.times
        with await judge(server.base, None, was=urls, select=WAS) as result:
            assert finding_of(result, "was-to-start").count == 8


async def test_a_built_folder_answers_for_the_old_host(tmp_path: Path) -> None:
    """Before the new site is deployed, its files and `_redirects` answer for old URLs."""
    base = "https://new.example/"
    site = build(
        tmp_path,
        **{
            "index.html": page(),
            "a.html": page(),
            "b.html": page("<meta http-equiv=refresh content='0;url=/a'>"),
            "unlisted.html": page(),
            "_redirects": "/moved /a 301\n/home / 301\n/soon /a 302\n",
            "sitemap.xml": list_pages(base, "", "a"),
            "robots.txt": f"Sitemap: {base}sitemap.xml",
        },
    )
    paths = ("", "a", "b", "moved", "home", "soon", "unlisted", "none")
    old = [f"http://www.old.example/{path}" for path in paths]
    with await judge(site, None, was=old, base_url=base, select=WAS) as result:
        assert hits(result) == {
            "was-lost": [("none", "404")],
            "was-to-start": [("home", f"301 to {base}")],
            "was-temporary": [("soon", f"302 to {base}a")],
            "was-unlisted": [("unlisted", "")],
        }
        assert result.facts.old_folders[0].folder == "http://www.old.example/"
    old = [f"{base}{path}" for path in ("a", "unlisted.html")]
    with await judge(site, None, was=old, base_url=base, select=WAS) as result:
        assert hits(result) == {"was-unlisted": [("unlisted.html", "")]}
        tally = known(result.facts.old_pages)
        assert (tally.listed, tally.visited, tally.judged) == (2, 2, 2)


async def test_a_staging_site_answers_for_old_urls() -> None:
    """The old sitemap is read where it is now, and its URLs are asked for where they will be."""
    async with serve_pages(old=page()) as live, serve_pages(new=page()) as staging:
        publish(live, "old", "new")
        publish(staging, "new")
        text = list_pages(live.base, "new")
        staging.pages["/sitemap.xml"] = lambda _: web.Response(
            text=text, content_type="application/xml"
        )
        hosts = {live.base.rstrip("/"): staging.base.rstrip("/")}
        was = f"{live.base}sitemap.xml"
        with await judge(
            live.base, None, was=was, select=WAS, map_hosts=hosts
        ) as result:
            assert hits(result) == {"was-lost": [("old", "404")]}
            assert result.facts.urls == 1
        assert set(live.times) == {"/sitemap.xml"}


async def test_what_became_of_old_urls_at_another_host(tmp_path: Path) -> None:
    """A page that is still alive, a chain, a page without indexing: each is told, and listed."""
    new_pages: dict[str, Any] = {
        "fine/1": page(),
        "fine/2": page(text=f"{WORDS} two"),
        "dark": page("<meta name=robots content=noindex>"),
        "hop": answer(302, Location="/fine/2"),
    }
    async with serve_pages(**new_pages) as new, serve_pages() as old:
        targets = {"moved": "fine/1", "dark": "dark", "chain": "hop"}
        for path, target in targets.items():
            old.pages[f"/{path}"] = answer(301, Location=new.base + target)
        old.pages |= {"/twice": answer(308, Location="/moved"), "/alive": page()}
        publish(new, "fine/1", "fine/2", "dark")
        paths = ("alive", "chain", "dark", "lost", "moved", "twice")
        was = [old.base + path for path in paths]
        with await judge(new.base, None, was=was, select=WAS) as result:
            assert hits(result) == {
                "was-alive": [("alive", "200")],
                "was-chain": [
                    ("chain", f"301 to {new.base}hop, 302 to {new.base}fine/2"),
                    ("twice", f"308 to {old.base}moved, 301 to {new.base}fine/1"),
                ],
                "was-lost": [("lost", "404")],
                "was-noindex": [("dark", f"301 to {new.base}dark")],
                "was-temporary": [("chain", f"301 302 to {new.base}fine/2")],
            }
            assert result.write_pages(tmp_path / "moved.csv") == len(paths)
    rows = list(csv.DictReader((tmp_path / "moved.csv").read_text().splitlines()))
    assert [
        (
            row["url"].removeprefix(old.base),
            row["final_url"].removeprefix(new.base).removeprefix(old.base),
            row["status"],
            row["findings"],
        )
        for row in rows
    ] == [
        ("alive", "alive", "200", "was-alive"),
        ("chain", "fine/2", "200", "was-chain was-temporary"),
        ("dark", "dark", "200", "was-noindex"),
        ("lost", "lost", "404", "was-lost"),
        ("moved", "fine/1", "200", ""),
        ("twice", "fine/1", "200", "was-chain"),
    ]


@pytest.mark.parametrize(
    "header",
    [
        *("old,new", "url,new", "Old URL,New URL", "old_url,new_url"),
        *("from,to", "source,target", "Source_URL,Destination_URL"),
    ],
)
@pytest.mark.parametrize("is_relative", [False, True])
async def test_a_list_says_where_old_urls_are_to_lead(
    tmp_path: Path, header: str, *, is_relative: bool
) -> None:
    """An old URL that leads to another page than the list says is found; a path is of the site."""
    async with serve_pages(one=page(), two=page(text=f"{WORDS} two")) as server:
        server.pages |= {
            "/right": answer(301, Location="/one"),
            "/wrong": answer(301, Location="/two"),
        }
        publish(server, "one", "two")
        base = "/" if is_relative else server.base
        rows = [f"{base}{path},{base}one" for path in ("right", "wrong")]
        (tmp_path / "map.csv").write_text("\n".join([header, *rows]))
        was = tmp_path / "map.csv"
        with await judge(server.base, None, was=was, select=WAS) as result:
            detail = f"to {server.base}two, not {server.base}one"
            assert hits(result) == {"was-elsewhere": [("wrong", detail)]}


async def test_a_list_of_old_urls_that_cannot_be_followed(tmp_path: Path) -> None:
    """Two targets, a broken one, and a page that stays where it is: each is told as it is."""
    async with serve_pages(one=page(), two=page(text=f"{WORDS} two")) as server:
        server.pages |= {
            "/both": answer(301, Location="/two"),
            "/stays": page(text=f"{WORDS} stays"),
        }
        publish(server, "one", "two")
        rows = ["/both,/one", "/both,/two", "/stays,/one", "/lost,/broken"]
        (tmp_path / "map.csv").write_text("\n".join(["old,new", *rows]))
        was = tmp_path / "map.csv"
        with await judge(server.base, None, was=was, select=WAS) as result:
            base = server.base
            assert hits(result) == {
                "was-alive": [("stays", f"200, not to {base}one")],
                "was-lost": [("lost", "404")],
                "was-target-wrong": [
                    ("both", f"to {base}one and to {base}two"),
                    ("lost", f"{base}broken returns 404"),
                ],
            }
            result.write_pages(tmp_path / "moved.csv")
    rows_by_url = {
        row["url"].removeprefix(base): row["planned"].removeprefix(base)
        for row in csv.DictReader((tmp_path / "moved.csv").read_text().splitlines())
    }
    assert rows_by_url == {
        "both": "one",
        "stays": "one",
        "lost": "broken",
        "broken": "",
    }


async def test_old_urls_that_fail_have_not_arrived(tmp_path: Path) -> None:
    """A loop, a failing target and a target like an error page are errors, each with its reason.

    The made-up path is of the folder that old URLs lead to, on another host.
    """
    missing = page(text=f"{WORDS} we could not find that page")
    new_pages: dict[str, Any] = {
        "fine/1": page(),
        "soft/1": missing,
        "broken": 500,
        "secret": 401,
        "closed": 403,
    }
    async with serve_pages(**new_pages) as new, serve_pages() as old:
        new.default = lambda _: web.Response(
            text=missing, content_type="text/html", status=404
        )
        arriving = [f"arrives/{number}" for number in range(8)]
        targets = {
            **dict.fromkeys(arriving, "fine/1"),
            "to-soft": "soft/1",
            "to-broken": "broken",
            "to-secret": "secret",
            "to-closed": "closed",
        }
        for path, target in targets.items():
            old.pages[f"/{path}"] = answer(301, Location=new.base + target)
        old.pages |= {
            "/loop": answer(301, Location="/loop"),
            "/long": answer(301, Location="/long0"),
            "/broken": answer(502),
            **{
                f"/long{number}": answer(301, Location=f"/long{number + 1}")
                for number in range(12)
            },
        }
        publish(new, "fine/1", "soft/1")
        was = [f"{old.base}{path}" for path in (*targets, "loop", "long", "broken")]
        with await judge(new.base, None, was=was, select=WAS) as result:
            found = hits(result)
            result.write_pages(tmp_path / "moved.csv")
        assert dict(found.pop("was-error")) == {
            "broken": "502",
            "long": f"301 too-many-redirects: to {old.base}long10",
            "loop": f"301 redirect-loop: to {old.base}loop",
            "to-broken": "301 500",
            "to-closed": "301 403",
            "to-secret": "301 401",
        }
        assert found == {"was-lost": [("to-soft", f"301 to {new.base}soft/1")]}
    rows = list(csv.DictReader((tmp_path / "moved.csv").read_text().splitlines()))
    fates = {row["url"].removeprefix(old.base): row["findings"] for row in rows}
    assert [path for path, fate in fates.items() if not fate] == arriving


async def test_a_page_without_a_redirect_at_the_same_host_has_not_moved() -> None:
    """Where the site keeps its host, a page that responds and is not listed is only unlisted."""
    async with serve_pages(new=page(), old=page(text=f"{WORDS} old")) as server:
        publish(server, "new")
        was = [f"{server.base}old"]
        with await judge(server.base, None, was=was, select=WAS) as result:
            assert list(hits(result)) == ["was-unlisted"]
