"""What findings about pages say: statuses, files, lines, and which pages they leave alone."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from aiohttp import web

from sitemapreader.presence import CauseCode, why
from tests.audit.page_audits import (
    FIGURES,
    OPTIONS,
    WORDS,
    build,
    finding_of,
    hits,
    judge,
    list_pages,
    page,
    publish,
)
from tests.support.serving import Answer, answer, serve_pages

pytestmark = pytest.mark.slow  # each test audits a site, and visits its pages

BASE = "https://example.org/"
FINE: dict[str, Any] = {
    f"fine/{number}": page(text=f"{WORDS} {number}") for number in range(8)
}


async def test_the_status_of_a_redirect_is_told() -> None:
    """Wherever it leads, to an error, in a circle, or to nowhere: the finding begins with it."""
    answers = FINE | {
        "nowhere": 301,
        "mail": answer(302, Location="mailto:me@example.org"),
        "circle": answer(307, Location="/circle"),
        "lost": answer(308, Location="/none"),
        "broken": answer(301, Location="/error"),
        "hop": answer(301, Location="/hop2"),
        "hop2": answer(302, Location="/fine/1"),
        "error": 500,
    }
    async with serve_pages(**answers) as server:
        publish(server, *(path for path in answers if path not in ("hop2", "error")))
        with await judge(server.base) as result:
            found = hits(result)
    said = {path: detail for each in found.values() for path, detail in each}
    assert said.pop("mail").startswith("302 invalid-url: redirect to mailto:")
    assert said == {
        "nowhere": "301",
        "circle": f"307 redirect-loop: to {server.base}circle",
        "lost": "308 404",
        "broken": "301 500",
        "hop": f"301 302 to {server.base}fine/1 which is listed",
    }
    assert [path for path, _ in found["page-error"]] == [
        "broken",
        "circle",
        "mail",
        "nowhere",
    ]


async def test_empty_pages(tmp_path: Path) -> None:
    """A page of no byte, or whose body shows nothing, hits, live and in a folder."""
    shell = "<title>T</title><script src=app.js></script><div id=app></div>"
    empty = {
        "none": "",
        "blank": "<!doctype html><title>T</title><body>\n<p>&nbsp;</body>",
        "shell": shell,
    }
    pdf = {"Content-Type": "application/pdf"}
    files = {"full.pdf": Answer(b"%PDF", 200, pdf)}
    files |= {"none.pdf": Answer(b"", 200, pdf)}
    pages = FINE | empty | {"image": "<body><img src=a.png>"}
    async with serve_pages(**pages, **files) as server:
        publish(server, *pages, *files)
        with await judge(server.base) as result:
            live = hits(result)
    expected = [
        ("blank", ""),
        ("none", ""),
        ("none.pdf", ""),
        ("shell", "only scripts"),
    ]
    assert live == {"page-empty": expected}

    texts = {f"{path}.html": text for path, text in pages.items()}
    texts["sitemap.xml"] = list_pages(BASE, *(name for name in texts))
    with await judge(build(tmp_path, **texts), base_url=BASE) as result:
        found = hits(result)
    assert found == {
        "page-empty": [
            (f"{path}.html", text) for path, text in expected if "." not in path
        ]
    }

    shells = {f"app/{number}": shell for number in range(9)} | {"none": ""}
    async with serve_pages(**shells) as server:
        publish(server, *shells)
        with await judge(server.base, select=["page-empty"]) as result:
            assert hits(result) == {"page-empty": [("none", "")]}


async def test_soft_errors_of_one_section() -> None:
    """A shop that answers 200 for what it has not, with a nonce, is known by four real pages."""
    nonces = itertools.count()

    def say_no(request: web.Request) -> Any:
        if not request.path.startswith("/shop/"):
            return web.Response(status=404)
        script = f"<script>var nonce = 'n{next(nonces)}'</script>"
        return page(script, f"Sorry, we no longer have this. {WORDS}")

    shop = {
        f"shop/{number}": page(text=f"{WORDS} thing {number}") for number in range(4)
    }
    gone = [f"shop/gone{number}" for number in range(5)]
    async with serve_pages(**FINE, **shop) as server:
        server.default = say_no
        publish(server, *FINE, *shop, *gone)
        with await judge(server.base) as result:
            assert hits(result) == {"page-soft-404": [(path, "") for path in gone]}


SORRY = (
    "Sorry, this product is no longer available. Try our search or go back to the homepage and "
    "enjoy shopping with us."
)
MENU = " ".join(f"entry{number}" for number in range(60))


async def test_audit_old_urls_and_why_judge_error_pages_alike() -> None:
    """A soft 404 may differ from the error page in title and a few words, and a page in no more.

    Pages that are alike by their template, that write about errors, or that share a long menu with
    the error page are real ones.
    """
    soft = {
        f"shop/gone{n}": page("<h1>Not available</h1>", f"{SORRY} {MENU}")
        for n in range(2)
    }
    real = {
        "shop/boot": page(text=f"Boots, 40 pounds {MENU}"),
        "shop/hat": page(text=f"Hats, 30 pounds {MENU}"),
        "news/404": page(text=f"404 not found: how to mend a broken link. {WORDS}"),
        "size/1": page(text="The size of number 1"),
        "size/2": page(text="The size of number 2"),
    }

    def say_no(request: web.Request) -> Any:
        _, section, name = request.path.split("/")
        if section == "size":
            return page(text=f"The size of {name}")
        text = page("<h1>Not found</h1>", f"404 page. {SORRY} {MENU}")
        return web.Response(status=404, text=text, content_type="text/html")

    async with serve_pages(**soft, **real) as server:
        server.default = say_no
        publish(server, *soft, *real)
        server.pages["/old/boot"] = answer(301, Location="/shop/boot")
        server.pages["/old/sock"] = answer(301, Location="/shop/gone0")
        old = [f"{server.base}old/{name}" for name in ("boot", "sock")]
        codes = ["page-soft-404", "was-lost"]
        with await judge(server.base, was=old, select=codes) as result:
            found = hits(result)
        urls = [server.base + path for path in [*soft, *real]]
        explanations = await why(urls, options=OPTIONS)
    assert [path for path, _ in found["page-soft-404"]] == [*soft]
    assert [path for path, _ in found["was-lost"]] == ["old/sock"]
    accused = [
        each.url.removeprefix(server.base)
        for each in explanations
        if CauseCode.SOFT_404 in {cause.code for cause in each.causes}
    ]
    assert accused == [*soft]


async def test_why_learns_from_other_pages_if_an_error_page_is_none() -> None:
    """An error page without such words is known by the other pages that the sitemap lists."""
    shell = page(text="Loading the application")
    app = {f"app/{number}": shell for number in range(6)}
    goods = {f"shop/{number}": page(text=f"{WORDS} {number}") for number in range(4)}
    async with serve_pages(**app, **goods) as server:
        server.default = lambda request: (
            shell if "/app/" in request.path else page(text="Lost")
        )
        publish(server, *app, *goods, "shop/gone")
        for path, is_soft in (("app/1", False), ("shop/1", False), ("shop/gone", True)):
            [explanation] = await why(server.base + path, options=OPTIONS)
            codes = {cause.code for cause in explanation.causes}
            assert (CauseCode.SOFT_404 in codes) is is_soft


async def test_a_site_that_answers_no_made_up_path() -> None:
    """Where robots.txt forbids to ask for one, nobody knows what is there for what is not."""
    async with serve_pages(**FINE) as server:
        publish(server, *FINE, robots="User-agent: *\nDisallow: /fine/sitemapreader-")
        with await judge(server.base, select=["page-soft-404"]) as result:
            (left_out,) = result.facts.not_run
        assert left_out.reason == "no made-up path got a response"


@pytest.mark.parametrize(
    "said",
    ["Loading the application, one moment", "This is not available in your country"],
)
async def test_pages_that_are_made_in_the_browser(said: str) -> None:
    """Where a section has the words of a made-up page, what is one error page is not known.

    In another section it is, and the finding says what it does not know.
    """
    code = "page-soft-404"
    shell = page(text=said)
    start = {
        "app/help": page(text=f"{WORDS} help"),
        "app/about": page(text=f"{WORDS} about"),
    }
    async with serve_pages(**FINE, **start) as server:
        server.default = lambda request: (
            shell if request.path.startswith("/app/") else None
        )
        publish(server, *FINE, *start, *(f"app/{number}" for number in range(6)))
        with await judge(server.base) as result:
            assert hits(result) == {}
            reasons = {each.rule.code: each.reason for each in result.facts.not_run}
        why = f"every path in {server.base}app/ has the same text, because a browser renders these"
        assert reasons.pop(code) == f"{why} pages or all are errors"
        lost = page(text="Lost")
        server.default = lambda request: shell if "/app/" in request.path else lost
        publish(
            server,
            *FINE,
            *start,
            *(f"app/{number}" for number in range(6)),
            "fine/sold",
        )
        with await judge(server.base) as result:
            assert hits(result) == {code: [("fine/sold", "")]}
            assert finding_of(result, code).doubt == f"{why} pages or all are errors"


SAID = (
    "Sorry, this page was not found",
    "There is no product {path} here: it does not\nexist",
    "We can\u2019t seem to find {name}",
    "{path} has been removed",
    "Die Seite {name} wurde nicht gefunden",
    "404",
)


async def test_sections_in_which_no_page_is_left() -> None:
    """Where every page says as a made-up one does that it is none, each is found."""

    def say_no(request: web.Request) -> Any:
        section, _, name = request.path.removeprefix("/sold-").partition("/")
        if not section.isdigit():
            return web.Response(status=404)
        return page(text=SAID[int(section)].format(path=request.path, name=name))

    gone = [f"sold-{number}/thing-{n}" for number in range(len(SAID)) for n in range(5)]
    async with serve_pages(**FINE) as server:
        server.default = say_no
        publish(server, *FINE, *gone)
        figures = attrs.evolve(FIGURES, examples=len(gone))
        with await judge(server.base, figures=figures) as result:
            assert hits(result) == {"page-soft-404": [(path, "") for path in gone]}
            assert result.findings[0].doubt == ""


async def test_the_file_to_mend_is_known(tmp_path: Path) -> None:
    """In a built folder each finding about what a page says has its HTML file and line."""
    texts = {f"a/{number}.html": page() for number in range(9)}
    texts |= {
        "noindex.html": page(
            "\n<meta charset=utf-8>\n<meta name=robots content='noindex'>"
        ),
        "other.html": page(
            "\n<link rel=icon href=x>\n\n<link rel=canonical href=/a/1>"
        ),
        "two.html": page(
            "<link rel=canonical href=/a/1>\n<link rel=canonical href=/a/2>"
        ),
        "refresh.html": page("\n<meta http-equiv=refresh content='0; url=/a/2'>"),
        "header.html": page(),
        "unlisted.html": page(),
        "404.html": page(),
        "_headers": "/header\n  X-Robots-Tag: noindex\n",
    }
    listed = [
        name.removesuffix(".html")
        for name in texts
        if name not in ("_headers", "unlisted.html")
    ]
    site = build(tmp_path, **texts, **{"sitemap.xml": list_pages(BASE, *listed)})
    with await judge(site, None) as result:
        found = {
            (finding.rule.code, Path(hit.file).name, hit.file_line)
            for finding in result.findings
            for hit in finding.examples
        }
        report = json.loads(result.format("sarif"))
        told = dict(hits(result)["page-canonical-elsewhere"])
        assert told["two"] == f"2 different ones, {BASE}a/1, which is listed"
    assert found == {
        ("page-noindex", "noindex.html", 3),
        ("page-noindex", "header.html", None),
        ("page-canonical-elsewhere", "other.html", 4),
        ("page-canonical-elsewhere", "two.html", 1),
        ("page-redirects", "refresh.html", 2),
        ("page-unlisted", "unlisted.html", None),
        ("page-soft-404", "404.html", None),
    }
    assert all(file in json.dumps(report) for _, file, _ in found)


def translate(path: str, base: str = "", **others: str) -> str:
    """Write a page that names versions of it in other languages."""
    links = "".join(
        f"\n<link rel=alternate hreflang={code} href={base}/{other}>"
        for code, other in others.items()
    )
    return page(links, f"{WORDS} {path}")


LANGUAGES: dict[str, Any] = {
    "en/both": translate("en/both", en="en/both", de="de/both"),
    "de/both": translate("de/both", en="en/both", de="de/both"),
    "en/one": translate("en/one", en="en/one", de="de/one"),
    "de/one": page(text=f"{WORDS} alone"),
    "en/hidden": translate("en/hidden", en="en/hidden", de="de/hidden"),
    "de/hidden": page("<meta name=robots content=noindex>"),
    "en/far": translate("en/far", en="en/far", de="de/far"),
    "en/self": translate("en/self", de="de/self"),
    "de/self": translate("de/self", de="de/self", en="en/self"),
    "en/code": translate("en/code", en="en/code", enx="en/code"),
}


async def test_languages_that_pages_name() -> None:
    """Links to languages of pages are judged as those of sitemaps, where both were visited."""
    async with serve_pages(**LANGUAGES) as server:
        publish(server, *LANGUAGES, "de/far")
        with await judge(server.base, select=["hreflang"]) as result:
            found = hits(result)
        assert {code: [path for path, _ in each] for code, each in found.items()} == {
            "hreflang-no-return-link": ["de/one"],
            "hreflang-no-self-reference": ["en/self"],
            "hreflang-invalid-code": ["en/code"],
            "hreflang-conflict": ["en/code"],
            "hreflang-no-x-default": ["en/both", "en/code", "en/self"],
            "hreflang-target-broken": ["en/far"],
            "hreflang-target-not-indexed": ["en/hidden"],
        }
        with await judge(server.base, 0, select=["hreflang"]) as result:
            assert [*result.findings, *result.facts.passed] == []
            (reason,) = {each.reason for each in result.facts.not_run}
        assert reason.startswith(
            "no sitemap has links to other languages: visit pages with"
        )


async def test_the_file_that_names_a_language(tmp_path: Path) -> None:
    """In a built folder a missing link back has the file of the page that should have it."""
    site = build(
        tmp_path,
        **{f"{path}.html": text for path, text in LANGUAGES.items()},
        **{"sitemap.xml": list_pages(BASE, *LANGUAGES)},
    )
    with await judge(site, None, select=["hreflang-no-return-link"]) as result:
        (finding,) = result.findings
        (hit,) = finding.examples
    assert (hit.url, Path(hit.file).name, hit.file_line) == (
        f"{BASE}de/one",
        "one.html",
        None,
    )


async def test_a_page_answers_for_a_sitemap() -> None:
    """A link back that only the page has is one; what both say of a page counts once."""
    answers = {"a": translate("a", en="a", de="b"), "b": translate("b", en="a", de="b")}
    async with serve_pages(**answers) as server:
        publish(server)
        link = '<xhtml:link rel="alternate" hreflang="{}" href="{}"/>'
        links = link.format("en", f"{server.base}a") + link.format(
            "de", f"{server.base}b"
        )
        text = (
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
            'xmlns:xhtml="http://www.w3.org/1999/xhtml">'
            f"<url><loc>{server.base}a</loc>{links}</url><url><loc>{server.base}b</loc></url></urlset>"
        )
        server.pages["/sitemap.xml"] = lambda _: web.Response(
            text=text, content_type="application/xml"
        )
        for pages, count in ((0, 1), ("all", 0)):
            with await judge(
                server.base, pages, select=["hreflang-no-return-link"]
            ) as result:
                assert len(result.findings) == count
        with await judge(server.base, select=["hreflang"]) as result:
            assert result.facts.alternates == 2
            assert result.sql("SELECT count(*) FROM alternate").fetchall() == [(4,)]
