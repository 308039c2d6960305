"""Pages of every kind, which `why` and an audit judge alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.presence import CauseCode, why
from tests.audit.page_audits import OPTIONS, hits, judge, page, publish
from tests.support.serving import serve_pages

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
