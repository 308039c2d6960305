from __future__ import annotations

import random
from datetime import date
from itertools import combinations

import attrs
import audits
import pytest

from sitemapreader.audit import report as figures
from sitemapreader.audit.models import DocumentFact, LanguagePair, MonthCount, SectionCount
from sitemapreader.audit.report.charts import (
    MAX_CHILDREN,
    MAX_LANGUAGES,
    AxisLabel,
    TreeNode,
    build_matrix,
    build_sitemap_tree,
    chart_months,
    find_main_origin,
    shorten_url,
    stack_parts,
    sum_years,
)
from sitemapreader.audit.report.treemap import Area, chart_sections, squarify

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0%"),
        (0, 7, "0%"),
        (1, 3, "33.3%"),
        (9, 9, "100%"),
        (999_999, 1_000_000, ">99.9%"),
        (1, 1_000_000, "<0.1%"),
    ],
)
def test_only_all_is_a_hundred_percent(part: int, whole: int, text: str) -> None:
    """A share is rounded, but never to nothing or to all."""
    assert figures.show_share(part, whole) == text


@pytest.mark.parametrize(
    ("count", "units", "text"),
    [
        (1, "URLs", "1 URL"),
        (0, "URLs", "0 URLs"),
        (201_944, "sitemaps", "201,944 sitemaps"),
        (1, "indexes", "1 index"),
    ],
)
def test_nouns_fit_their_numbers(count: int, units: str, text: str) -> None:
    """One thing is named in the singular."""
    assert figures.count_units(count, units) == text


def test_short_numbers_of_an_axis() -> None:
    """An axis has room for four characters."""
    texts = [figures.show_short_number(each) for each in (0, 5, 999, 1_000, 250_000, 1_500_000)]
    assert texts == ["0", "5", "999", "1k", "250k", "1.5M"]


def test_parts_of_a_bar_touch() -> None:
    """Parts of a bar begin where the one before ends, and none is drawn for nothing."""
    parts = stack_parts([("error", 3), ("warning", 0), ("info", 1)], 8)
    assert parts == [("error", 0, 37.5), ("info", 37.5, 12.5)]


def test_months_outside_the_chart_share_bars() -> None:
    """Dates of all ages stay in the chart, the oldest and the latest in one bar each."""
    months = [
        MonthCount(date(year, month, 1), 10, future=10 if (year, month) > (2026, 11) else 0)
        for year in (1970, 1999, 2024, 2026, 2027, 2028, 9999)
        for month in (3, 11)
    ]
    chart = chart_months(months, TODAY)
    assert [label.text for label in chart.labels] == [
        "older", "2022", "2023", "2024", "2025", "2026", "2027", "later",
    ]  # fmt: skip
    assert all(0 <= each.x <= each.x + each.width <= 100 for each in chart.columns)
    assert all(0 <= each.y <= each.y + each.height <= 100 for each in chart.columns)
    assert chart.columns[0].title == "older: 40 URLs"
    assert chart.columns[-1].title == "later: 40 URLs, of these 40 in the future"


def test_a_young_site_has_no_empty_years() -> None:
    """The chart begins with the first month that has URLs, a year ago at the latest."""
    chart = chart_months([MonthCount(date(2026, 10, 1), 5)], TODAY)
    assert [label.text for label in chart.labels] == ["2026", "Apr", "Jul", "Oct"]
    (column,) = chart.columns
    assert column.x == pytest.approx(100 * 10 / 12)
    assert column.height == 100


def test_parts_of_a_month_do_not_exceed_it() -> None:
    """URLs that are stamped alike and lie in the future are drawn once, as the graver of both."""
    (future,) = chart_months([MonthCount(date(2026, 12, 1), 8, alike=8, future=8)], TODAY).columns
    assert (future.kind, future.y, future.height) == ("future", 0, 100)
    alike, plain = chart_months([MonthCount(date(2026, 11, 1), 8, alike=6)], TODAY).columns
    assert (alike.kind, alike.height, plain.kind, plain.height) == ("alike", 75, "plain", 25)
    assert (alike.y, plain.y) == (25, 0)


@pytest.mark.parametrize("most", [1, 3, 4, 5, 9, 30_000, 41_999, 1_000_000])
def test_ticks_are_few_and_round(most: int) -> None:
    """An axis has two to five numbers, from nothing to at most the highest bar."""
    ticks = chart_months([MonthCount(date(2026, 11, 1), most)], TODAY).ticks
    assert 2 <= len(ticks) <= 5
    assert ticks[0] == AxisLabel(100, "0")
    assert 0 <= ticks[-1].at < 50


def test_years_are_sums_of_months() -> None:
    """The table beside the chart loses no URL."""
    months = [MonthCount(date(year, 5, 1), year, 2, 1) for year in (2024, 2026, 2026)]
    rows = [attrs.astuple(row) for row in sum_years(months)]
    assert rows == [(2026, 4052, 4, 2), (2024, 2024, 2, 1)]


@pytest.mark.parametrize("seed", range(20))
def test_squares_fill_their_area(seed: int) -> None:
    """Rectangles have the areas of their sizes, overlap nowhere, and are nearly squares."""
    chance = random.Random(seed)
    sizes = sorted((chance.randint(1, 10 ** chance.randint(1, 6)) for _ in range(25)), reverse=True)
    areas = squarify(sizes, Area(5, 7, 800, 300))
    for size, area in zip(sizes, areas, strict=True):
        assert area.width * area.height == pytest.approx(size / sum(sizes) * 800 * 300)
        assert area.x >= 5
        assert area.y >= 7
        assert area.x + area.width <= 805.001
        assert area.y + area.height <= 307.001
    for one, other in combinations(areas, 2):
        across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
        down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
        assert across < 0.001 or down < 0.001
    assert max(areas[0].width / areas[0].height, areas[0].height / areas[0].width) < 4


def test_tiles_are_folders() -> None:
    """Tiles have the area of their URLs; a large folder is divided, a small one is not."""
    facts = audits.make_facts(
        urls=1_000,
        sections=(
            SectionCount("e.org", "/shop/boots/", 400),
            SectionCount("e.org", "/shop/maps/", 200),
            SectionCount("cdn.e.org", "/shop/", 150),
            SectionCount("e.org", "/", 100),
            SectionCount("e.org", "/blog/2025/", 30),
            SectionCount("e.org", "/blog/2026/", 20),
        ),
        sections_others=100,
    )
    tiles = chart_sections(facts, 1000, 300)
    shares = {tile.title: round(tile.width * tile.height / 100, 3) for tile in tiles}
    assert shares == {
        "/shop/boots/: 400 URLs, 40.0%": 40,
        "/shop/maps/: 200 URLs, 20.0%": 20,
        "cdn.e.org/shop/: 150 URLs, 15.0%": 15,
        "/: 100 URLs, 10.0%": 10,
        "/blog/: 50 URLs, 5.0%": 5,
        "other folders: 100 URLs, 10.0%": 10,
    }
    assert [tile.color for tile in tiles] == ["c0", "c0", "c1", "c2", "c3", "others"]


def test_many_folders_are_summed_up() -> None:
    """The treemap names the largest folders and subfolders; the others are one tile each."""
    sections = [SectionCount("e.org", f"/a/{n:03}/", 100) for n in range(60)]
    sections += [SectionCount("e.org", f"/{n:03}/", 50) for n in range(60)]
    facts = audits.make_facts(urls=9_000, sections=tuple(sections))
    titles = {tile.title.partition(":")[0] for tile in chart_sections(facts, 1000, 300)}
    assert len(titles) == 20 + 1 + 13 + 1
    assert {"others in /a/", "other folders"} < titles


def test_labels_fit_their_tiles() -> None:
    """A label is cut to its tile; what tells it from the others stays, and no room means none."""
    sections = (
        SectionCount("e.org", "/pt-br/guides-for-outdoor-cooking/", 400),
        SectionCount("e.org", "/products/waterproof-boots/", 250),
        SectionCount("e.org", "/products/waterproof-jackets/", 250),
        SectionCount("e.org", f"/{'x' * 5_000}/", 99),
        SectionCount("e.org", "/tiny/", 1),
    )
    facts = audits.make_facts(urls=1_000, sections=sections)
    labels = [tile.label for tile in chart_sections(facts, 330, 300)]
    cut = f"/{'x' * 17}…"
    assert labels == ["…/waterproof-boots/", "waterproof-jackets", "/pt-br/", cut, ""]


def test_matrix_of_languages() -> None:
    """A cell is the share of all pages whose link is returned; x-default is only linked to."""
    matrix = build_matrix(
        [
            LanguagePair("en", "en", 200, 200, 200),
            LanguagePair("en", "de", 200, 200, 200),
            LanguagePair("en", "x-default", 200, 150, 150),
            LanguagePair("de", "en", 300, 300, 40),
        ]
    )
    assert matrix.targets == ["de", "en", "x-default"]
    cells = {page: [(cell.kind, cell.text) for cell in row] for page, row in matrix.rows}
    assert cells == {
        "de": [("own", "300"), ("few", "13.3%"), ("none", "\N{EN DASH}")],
        "en": [("all", "100%"), ("own", "200"), ("most", "75.0%")],
    }
    assert matrix.rows[0][1][1].title == (
        "300 of 300 pages in de link to en; 260 of these links are not returned"
    )


def test_matrix_of_many_languages_is_cut() -> None:
    """A site of 60 languages gets a table that can be read, and the others are counted."""
    names = [f"l{n:02}" for n in range(60)]
    matrix = build_matrix([LanguagePair(one, two, 9, 9, 9) for one in names for two in names])
    assert len(matrix.rows) == MAX_LANGUAGES
    assert len(matrix.targets) + matrix.left_out == 60


def collect(node: TreeNode) -> list[tuple[str, int]]:
    """Return URL and depth of all that is below a node."""
    rows = []
    for child in node.children:
        rows += [(child.document.url, child.depth), *collect(child)]
    return rows


def test_tree_shows_what_was_not_read() -> None:
    """Of many children those that failed are shown first, then the largest; the rest is counted."""
    children = [
        DocumentFact(f"{n}", "index", urls=n, status="failed" if n == 3 else "complete")
        for n in range(MAX_CHILDREN + 10)
    ]
    (root,) = build_sitemap_tree([DocumentFact("index"), *children]).children
    assert [child.document.url for child in root.children[:3]] == ["3", "34", "33"]
    assert (len(root.children), root.hidden, root.hidden_lost) == (MAX_CHILDREN, 10, 0)
    assert root.hidden_urls == sum(set(range(11)) - {3})


def test_tree_has_an_end() -> None:
    """Documents below each other by the thousand, and those that list each other, are all shown."""
    deep = [DocumentFact(f"{n}", f"{n - 1}") for n in range(1_000)]
    rows = collect(build_sitemap_tree(deep))
    assert max(depth for _, depth in rows) == 10
    assert len(rows) == 10 + MAX_CHILDREN
    circle = [DocumentFact("a", "b"), DocumentFact("b", "a"), DocumentFact("c", "c")]
    assert collect(build_sitemap_tree(circle)) == [("a", 0), ("b", 1), ("c", 0)]


def test_tree_of_many_roots_is_cut() -> None:
    """Sitemaps that no document lists are not shown by the thousand either."""
    top = build_sitemap_tree([DocumentFact(f"{n}", urls=2) for n in range(1_000)])
    assert [child.document.url for child in top.children] == [f"{n}" for n in range(MAX_CHILDREN)]
    assert (top.hidden, top.hidden_urls) == (1_000 - MAX_CHILDREN, 2 * (1_000 - MAX_CHILDREN))


def test_failed_probes_are_not_in_the_tree() -> None:
    """Paths that were tried on suspicion are left out; a listed sitemap that was skipped is not."""
    documents = [
        DocumentFact("robots", role="robots", status="skipped"),
        DocumentFact("tried", status="skipped", reason="http-status", http_status=404),
        DocumentFact("found", format="urlset"),
        DocumentFact("listed", "robots", status="skipped"),
    ]
    rows = collect(build_sitemap_tree(documents))
    assert rows == [("robots", 0), ("listed", 1), ("found", 0)]


def test_urls_of_the_main_origin_are_paths() -> None:
    """Only a URL that begins with the whole origin is shortened."""
    documents = [DocumentFact(f"https://e.org/{n}.xml") for n in range(3)]
    origin = find_main_origin([DocumentFact("https://cdn.org/a.xml"), *documents])
    assert origin == "https://e.org"
    urls = ("https://e.org/a", "https://e.org.evil/a", "http://e.org/a", "folder/a.xml", "")
    assert [shorten_url(url, origin) for url in urls] == ["/a", *urls[1:]]
    assert find_main_origin([DocumentFact("a.xml")]) == ""
    assert shorten_url("/srv/a.xml", "") == "/srv/a.xml"
