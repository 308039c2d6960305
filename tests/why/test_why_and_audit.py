"""Pages of every kind, which `why` and an audit judge alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import audit
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.presence import CauseCode, Verdict, why
from tests.audit.page_audits import OPTIONS, hits, judge, page, publish
from tests.support.serving import serve_pages
from tests.support.walking import urlset

if TYPE_CHECKING:
    from sitemapreader.presence import Explanation

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
