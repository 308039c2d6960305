"""Pages of every kind, which `why` and an audit judge alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import audit
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.presence import CauseCode, Verdict, why
from tests.audit.page_audits import (
    OPTIONS,
    WORDS,
    finding_of,
    hits,
    judge,
    page,
    publish,
)
from tests.support.serving import answer, serve_pages
from tests.support.walking import urlset

if TYPE_CHECKING:
    from sitemapreader.presence import Explanation
    from tests.support.serving import Page

NOTICES = (
    "Sorry, we could not find the page that you are looking for. Try our search.",
    "Sorry, this product is no longer available. You may also like: a chair, a lamp and a rug",
    "The page you requested does not exist.",
    "This item has been removed.",
    "404 - Page not found",
    "Diese Seite wurde nicht gefunden.",
    "La page que vous cherchez n'existe pas.",
    "Página no encontrada",
    "ページが見つかりません",
    "找不到页面",
)
"""Texts of pages that only say that they are missing."""
REAL_TEXTS = (
    "404 Not Found, a poster. It says 404 Not Found on paper of 200 grams, 20 pounds",
    "A shirt that says page not found. Cotton, in three sizes",
    "The not found page: five designs",
    "When a product is no longer available, we refund you.",
    "This page tells why the city was not found. It no longer exists.",
    "This item is currently not available. We expect it in May.",
    "Chairs - page 404",
)
"""Texts of short pages that exist, and write about what does not."""


def paths_of(base: str, explanations: list[Explanation], code: CauseCode) -> set[str]:
    """Return the paths of the pages that have a cause."""
    return {
        each.url.removeprefix(base)
        for each in explanations
        if code in {cause.code for cause in each.causes}
    }


async def test_only_a_page_that_says_so_of_itself_is_a_soft_404() -> None:
    """A poster of the words is a product, and a notice one without a made-up path like it."""
    notices = {f"gone/{n}": page(text=text) for n, text in enumerate(NOTICES)}
    real = {f"real/{n}": page(text=text) for n, text in enumerate(REAL_TEXTS)}
    real["real/poster"] = "<title>404 Not Found</title><p>A poster, 20 pounds"
    async with serve_pages(**notices, **real) as server:
        publish(server, *notices, *real)
        with await judge(server.base) as result:
            found = hits(result)
        urls = [server.base + path for path in (*notices, *real)]
        explanations = await why(urls, options=OPTIONS)
    assert {path for path, _ in found["page-soft-404"]} == {*notices}
    assert paths_of(server.base, explanations, CauseCode.SOFT_404) == {*notices}


async def test_a_sitemap_that_does_not_exist_leaves_no_url_open() -> None:
    """It lists nothing, so the rule about known URLs hits, and the answer is no."""
    async with serve_pages(fine=page()) as server:
        publish(server, "fine", robots=f"Sitemap: {server.base}dead.xml")
        url = f"{server.base}zzz"
        with await audit(server.base, urls=[url], options=OPTIONS) as result:
            assert hits(result)["missing-url"] == [("zzz", "")]
        [explanation] = await why(url, options=OPTIONS)
    assert explanation.verdict is Verdict.NOT_LISTED
    messages = {cause.code: cause.message for cause in explanation.causes}
    assert "returns 404, so it lists nothing" in messages[CauseCode.SITEMAP_MISSING]


async def test_a_page_in_place_of_a_sitemap_leaves_a_doubt() -> None:
    """The rule about known URLs runs, says so, and the answer is open."""
    async with serve_pages(fine=page(), soft=page(text="Nothing is here")) as server:
        publish(server, "fine", robots=f"Sitemap: {server.base}soft")
        url = f"{server.base}zzz"
        with await audit(server.base, urls=[url], options=OPTIONS) as result:
            finding = finding_of(result, "missing-url")
        [explanation] = await why(url, options=OPTIONS)
    assert "1 sitemap was not found" in finding.doubt
    assert explanation.verdict is Verdict.UNKNOWN


async def test_a_listed_page_that_may_be_indexed_is_called_so() -> None:
    """With its status, so that silence is no praise."""
    async with serve_pages(fine=page()) as server:
        publish(server, "fine")
        [explanation] = await why(f"{server.base}fine", options=OPTIONS)
        [silent] = await why(f"{server.base}fine", options=OPTIONS, max_visits=0)
    codes = [cause.code for cause in explanation.causes]
    assert codes == [CauseCode.LISTED, CauseCode.PAGE_FINE]
    assert explanation.causes[1].message == "the page returns 200 and may be indexed"
    assert [cause.code for cause in silent.causes] == [CauseCode.LISTED]


@pytest.mark.parametrize(
    "url",
    [
        "https://a:99999/",
        "http://a.example:x/",
        "https://[::1",
        "https://a..b:-1/x",
        "http://a.example:/",
        "https://[::1]:65536/",
        "http://\0/",
        "https://a:443:1/",
    ],
)
async def test_nonsense_in_place_of_a_port_or_a_host(url: str) -> None:
    """Is no URL, or one that is not listed; nothing is raised."""
    pages = {"https://a.example/sitemap.xml": urlset("https://a.example/x", url)}
    for site in (None, "https://a.example/"):
        [explanation] = await why(
            [url], site, fetcher=MemoryFetcher(pages), max_visits=0
        )
        assert explanation.url == url
    [explanation] = await why(
        "https://a.example:8443/x",
        "https://a.example/",
        fetcher=MemoryFetcher(pages),
        max_visits=0,
    )
    messages = {cause.code: cause.message for cause in explanation.causes}
    assert "(port)" in messages[CauseCode.OTHER_SPELLING]


def make_kinds() -> dict[str, tuple[Page, str, set[CauseCode]]]:
    """Return a page of every kind: its response, the rule of an audit, and the causes."""
    script = "<script src=/app.js></script>"
    refresh = '<meta http-equiv="refresh" content="{}; url=/fine/1">'
    robots = '<meta name="robots" content="{}">'
    login = answer(302, Location="/login")
    return {
        **{f"fine/{n}": (page(text=f"{WORDS} {n}"), "", FINE) for n in range(9)},
        "poster": (page("<title>404 Not Found</title>"), "", FINE),
        "image": ("<!doctype html><title>T</title><img src=/a.png>", "", FINE),
        "lost": (404, "page-not-found", {CauseCode.STATUS}),
        "gone": (410, "page-gone", {CauseCode.STATUS}),
        "broken": (500, "page-error", {CauseCode.STATUS}),
        "closed": (0, "page-error", {CauseCode.FAILS}),
        "loop": (answer(301, Location="/loop"), "page-error", {CauseCode.FAILS}),
        "circle": (answer(302, Location="/circle?a"), "page-error", {CauseCode.FAILS}),
        "members": (401, "page-login", {CauseCode.STATUS}),
        "account": (login, "page-login", {CauseCode.LOGIN}),
        "refused": (403, "page-forbidden", {CauseCode.STATUS}),
        "notice": (
            page(text="Sorry, this product is no longer available."),
            "page-soft-404",
            {CauseCode.SOFT_404},
        ),
        "moved": (
            answer(301, Location="/fine/1"),
            "page-redirects",
            {CauseCode.REDIRECTS},
        ),
        "to-lost": (
            answer(301, Location="/lost"),
            "page-not-found",
            {CauseCode.REDIRECTS, CauseCode.STATUS},
        ),
        "refreshed": (
            page(refresh.format(0)),
            "page-redirects",
            {CauseCode.REDIRECTS},
        ),
        "refreshed-late": (page(refresh.format(60)), "", FINE),
        "empty": (page(text=" "), "page-empty", {CauseCode.EMPTY}),
        "no-byte": (b"<!doctype html>", "page-empty", {CauseCode.EMPTY}),
        "shell": (page(script, text=""), "page-empty", {CauseCode.EMPTY}),
        "noindex": (
            page(robots.format("noindex")),
            "page-noindex",
            {CauseCode.NOINDEX},
        ),
        "none": (page(robots.format("NONE")), "page-noindex", {CauseCode.NOINDEX}),
        "index": (page(robots.format("noarchive, index")), "", FINE),
        "canonical": (
            page('<link rel="canonical" href="/fine/2">'),
            "page-canonical-elsewhere",
            {CauseCode.CANONICAL},
        ),
    }


FINE = {CauseCode.PAGE_FINE}


async def test_every_kind_of_page_is_judged_alike() -> None:
    """Alone, with all others, and by an audit: what is wrong is one of the faults of pages."""
    kinds = make_kinds()
    async with serve_pages(
        login=page(text="Name and word"), **{path: kinds[path][0] for path in kinds}
    ) as server:
        publish(server, *kinds)
        with await judge(server.base) as result:
            found = hits(result)
        together = await why([server.base + path for path in kinds], options=OPTIONS)
        alone = [
            explanation
            for path in kinds
            for explanation in await why(server.base + path, options=OPTIONS)
        ]
    rules = dict.fromkeys(kinds, "")
    rules |= {path: code for code in found for path, _ in found[code]}
    assert rules == {path: rule for path, (_, rule, _) in kinds.items()}
    for explanations in (together, alone):
        causes = {
            each.url.removeprefix(server.base): {cause.code for cause in each.causes}
            - {CauseCode.LISTED}
            for each in explanations
        }
        assert causes == {path: expected for path, (*_, expected) in kinds.items()}
    assert {each.verdict for each in together} == {Verdict.LISTED}
    for path in ("moved", "refreshed", "canonical"):
        [explanation] = [each for each in alone if each.url == server.base + path]
        assert "which is listed by" in explanation.causes[-1].message


async def test_canonical_pages_are_judged_alike() -> None:
    """What is wrong with the page that another one names is said in the same words by both."""
    kinds = make_kinds()
    reasons = {
        "lost": "returns 404",
        "members": "requires a login",
        "account": "requires a login",
        "moved": "redirects to {}fine/1",
        "refreshed": "refreshes to {}fine/1",
        "noindex": "forbids indexing",
        "canonical": "names {}fine/2 as canonical",
    }
    named = {f"fine/{n}": kinds[f"fine/{n}"][0] for n in range(9)}
    named |= {path: kinds[path][0] for path in reasons}
    naming = {
        f"to-{path}": page(f'<link rel="canonical" href="/{path}">') for path in reasons
    }
    login = page(text="Name and word")
    async with serve_pages(login=login, **named, **naming) as server:
        publish(server, *named, *naming)
        with await judge(server.base) as result:
            details = {
                path: detail
                for found in hits(result).values()
                for path, detail in found
                if path in naming
            }
        explained = await why([server.base + path for path in naming], options=OPTIONS)
        base = server.base
    for explanation, path in zip(explained, reasons, strict=True):
        reason = f"{base}{path}, which {reasons[path].format(base)}"
        assert details[f"to-{path}"] == reason
        [cause] = [
            each for each in explanation.causes if each.code is CauseCode.CANONICAL
        ]
        assert f"canonical URL, {reason}: name " in cause.message
