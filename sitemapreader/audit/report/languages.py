"""The matrix of hreflang links: which languages link to which, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.audit.figures import show_number, show_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.audit.models import LanguagePair

MAX_LANGUAGES = 24
"""Rows and columns that are shown, by number of pages."""
_X_DEFAULT = "x-default"


@attrs.frozen
class MatrixCell:
    """The links from one language to another.

    Attributes:
        kind: "own", "none", "all", "most" or "few".
        text: share of the pages whose link is returned; the number of pages for "own".
        title: the numbers in a sentence.
    """

    kind: str
    text: str
    title: str


@attrs.frozen
class LanguageMatrix:
    """Languages, and a row of cells for each; `left_out` is how many are not shown."""

    targets: list[str]
    rows: list[tuple[str, list[MatrixCell]]]
    left_out: int


def build_matrix(pairs: Sequence[LanguagePair]) -> LanguageMatrix:
    """Arrange the pairs of languages as a table, the language with most pages first."""
    by_pair = {(pair.page, pair.target): pair for pair in pairs}
    pages = {pair.page: pair.pages for pair in pairs}
    links: dict[str, int] = {}
    for pair in pairs:
        links[pair.target] = links.get(pair.target, 0) + pair.links
    own = sorted(pages, key=lambda name: (-pages[name], name))
    others = sorted(
        links.keys() - pages.keys(), key=lambda name: (name == _X_DEFAULT, -links[name])
    )
    shown = own[:MAX_LANGUAGES]
    targets = shown + others[: max(MAX_LANGUAGES - len(shown), 1)]
    rows = [
        (page, [_make_cell(page, target, pages[page], by_pair) for target in targets])
        for page in shown
    ]
    return LanguageMatrix(targets, rows, len(own) + len(others) - len(targets))


def _make_cell(
    page: str, target: str, pages: int, by_pair: dict[tuple[str, str], LanguagePair]
) -> MatrixCell:
    if page == target:
        return MatrixCell("own", show_number(pages), f"{show_number(pages)} pages in {page}")
    pair = by_pair.get((page, target))
    if pair is None or not pair.links:
        return MatrixCell("none", "\N{EN DASH}", f"no page in {page} links to {target}")
    lost = pair.links - pair.returned
    title = (
        f"{show_number(pair.links)} of {show_number(pages)} pages in {page} link to {target}; "
        f"{show_number(lost)} of these links are not returned"
    )
    kind = "all" if pair.returned == pages else "most" if pair.returned > pages / 2 else "few"
    return MatrixCell(kind, show_share(pair.returned, pages), title)
