"""The report in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import zlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader.audit import Rate, report as figures
from sitemapreader.audit.models import Category
from sitemapreader.audit.report.templates import format_audit
from sitemapreader.audit.values import HostCount, OldFolder, Place, Section
from tests.audit import audits
from tests.audit.audits import render
from tests.support import package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
"""Tags of axe-core's rules: WCAG 2.1 A and AA, and what it recommends besides."""
OPEN_ALL = "for (const each of document.querySelectorAll('details')) each.open = true"

pytestmark = [
    pytest.mark.slow,  # a browser takes seconds to start, and axe-core to look
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium: apt-get install chromium"
    ),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a worker; no network is behind it."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: pip install playwright"
    )
    # a sandbox needs what root and containers do not have; the pages are our own
    flags = ["--no-sandbox"] if os.getuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a shop, in a file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    shop = audits.audit_shop()
    rule = audits.make_rule("page-gone", unit="pages", category=Category.PAGES)
    rate = Rate(share=0.02, low=0.01, high=0.04, judged=396, population=50_000)
    archive = OldFolder(
        folder=f"{audits.SITE}/archive/",
        pages=90,
        lost=30,
        to_start=4,
        temporary=2,
        unlisted=1,
    )
    visited: dict[str, Any] = {
        "pages": audits.make_tally(50_000, 400, 396, not_judged={"protection": 4}),
        "old_pages": audits.make_tally(90, 90, 90),
        "old_folders": [archive],
    }
    gone = audits.make_finding(rule=rule, severity="error", count=8, of=396, rate=rate)
    audit = attrs.evolve(
        shop, findings=[*shop.findings, gone], facts=attrs.evolve(shop.facts, **visited)
    )
    path.write_text(format_audit("html", audit, title="Our shop"), encoding="utf-8")
    return path


class Visit:
    """A page with the report, and what it asked for or complained of."""

    def __init__(self, browser: Browser, report: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.address = report.as_uri()
        self.page.goto(self.address)

    def __enter__(self) -> Page:
        return self.page

    def __exit__(self, *_error: object) -> None:
        self.context.close()
        assert self.complaints == []
        asked = [url for url in self.requests if not url.startswith("data:")]
        assert asked == [self.address]


def count_findings() -> int:
    return len(audits.audit_shop().findings) + 1


def count_shown(page: Page) -> int:
    return page.locator(".finding:visible").count()


def test_findings_are_filtered_searched_and_opened(
    browser: Browser, report: Path
) -> None:
    """Buttons choose a severity, the search a word, and one button opens all that is shown."""
    with Visit(browser, report) as page:
        first = [each for each in audits.audit_shop().findings if not each.cause]
        total, counts = len(first) + 1, figures.count_findings(first)
        assert count_shown(page) == total
        page.get_by_role("button", name="Warnings").click()
        assert count_shown(page) == counts["warning"]
        pressed = page.locator(".tools [aria-pressed=true]").all_inner_texts()
        of_all = figures.count_findings(audits.audit_shop().findings)["warning"]
        assert pressed == [f"Warnings {of_all}"]
        page.get_by_label("Search").fill("URL-TRACKING-PARAMETER")
        assert count_shown(page) == 1
        assert (
            page.locator("#shown").inner_text()
            == f"1 of {count_findings()} findings shown"
        )
        page.get_by_role("button", name="Open all").click()
        assert page.locator(".finding[open]").count() == 1
        page.get_by_role("button", name="Close all").click()
        assert page.locator(".finding[open]").count() == 0
        # a link to a finding that the filter hides shows it
        page.locator(".first a").first.click()
        assert page.locator(".finding[open]").count() == 1
        assert count_shown(page) == total


def test_tables_are_sorted(browser: Browser, report: Path) -> None:
    """Numbers are sorted as numbers, the largest first; the column tells its order."""
    with Visit(browser, report) as page:
        head = page.locator("#folders th", has_text="URLs")
        cells = page.locator("#folders tbody td:nth-child(2)")
        for order, is_falling in (("descending", True), ("ascending", False)):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == order
            numbers = [int(text.replace(",", "")) for text in cells.all_inner_texts()]
            assert numbers == sorted(numbers, reverse=is_falling)
        kind = page.locator(".documents td", has_text="sitemapindex").first
        kind.scroll_into_view_if_needed()
        assert kind.evaluate("each => each.offsetHeight") < 40  # a line


def test_report_is_read_without_javascript(browser: Browser, report: Path) -> None:
    """Without scripts all findings open, links lead to them, and no dead button is shown."""
    with Visit(browser, report, java_script_enabled=False) as page:
        assert not page.locator(".tools").is_visible()
        link = page.locator(".first a").nth(2)
        body = page.locator(str(link.get_attribute("href")))
        assert not body.is_visible()
        link.click()
        assert body.is_visible()
        page.locator(".finding summary").first.click()
        assert page.locator(".finding .body:visible").count() == 2


def test_everybody_can_use_it(browser: Browser, tmp_path: Path) -> None:
    """axe-core finds no violation in a report with some of everything, all of it open.

    In the dark, nothing but the colours is another.
    """
    # it measures the contrast of every word, so there are few of each kind
    shop = audits.audit_shop()
    facts = attrs.evolve(
        shop.facts,
        passed=shop.facts.passed[:1],
        not_run=shop.facts.not_run[:1],
        documents=shop.facts.documents[:9],
    )
    findings = [
        attrs.evolve(each, examples=each.examples[:1]) for each in shop.findings[::9]
    ]
    path = tmp_path / "report.html"
    audit = attrs.evolve(shop, findings=findings, facts=facts)
    path.write_text(format_audit("html", audit), encoding="utf-8")
    axe = (
        files("axe_playwright_python")
        .joinpath("axe.min.js")
        .read_text(encoding="utf-8")
    )
    with Visit(browser, path, color_scheme="light") as page:
        page.evaluate(OPEN_ALL)
        page.evaluate(axe)
        looks: list[tuple[Any, list[str], int]] = [
            ("light", RULES, 31),
            ("dark", ["color-contrast"], 1),
        ]
        for scheme, rules, least in looks:
            page.emulate_media(color_scheme=scheme)
            result = page.evaluate("rules => axe.run({runOnly: rules})", rules)
            assert [
                (each["id"], each["nodes"][0]["html"]) for each in result["violations"]
            ] == []
            assert len(result["passes"]) >= least


def test_phone_needs_no_sideways_scrolling(browser: Browser, tmp_path: Path) -> None:
    """On 390 pixels nothing is wider than the page, however much is open and however long."""
    word = "a" * 400
    url = f"https://e.org/{word}"
    shop = audits.audit_shop()
    rule = audits.make_rule(
        title=word, code=word, meaning=word, advice=word, sources=(url,)
    )
    long = audits.make_finding(
        examples=[audits.make_example(url, word, url)],
        places=[Place(document=each, count=2) for each in (url, word)],
        places_total=2,
        rule=rule,
    )
    document = audits.make_document(url, status="failed", reason=word)
    facts = attrs.evolve(
        shop.facts,
        source=url,
        hosts=[HostCount(origin=word, urls=3), *shop.facts.hosts],
        sections=[*shop.facts.sections, Section(host=word, path=f"/{word}/", urls=1)],
        documents=[*shop.facts.documents, document],
        passed=[rule],
        not_run=[audits.leave_out(rule, word)],
    )
    path = tmp_path / "report.html"
    audit = attrs.evolve(shop, findings=[long, *shop.findings], facts=facts)
    path.write_text(format_audit("html", audit), encoding="utf-8")
    with Visit(browser, path, viewport={"width": 390, "height": 844}) as page:
        page.evaluate(OPEN_ALL)
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_colours_follow_the_reader(browser: Browser, report: Path) -> None:
    """Who prefers dark pages gets one; paper stays white, and shows all findings."""
    ground = "getComputedStyle(document.body).backgroundColor"
    with Visit(browser, report, color_scheme="dark") as page:
        assert page.evaluate(ground) == "rgb(17, 22, 28)"
        page.emulate_media(media="print")
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        assert page.locator(".finding .body:visible").count() == count_findings()
        assert not page.locator(".toc").is_visible()


def test_paper_is_wide_enough(browser: Browser, report: Path) -> None:
    """A page of A4 between its margins has 700 pixels: no table is cut at its right side."""
    with Visit(browser, report, viewport={"width": 700, "height": 990}) as page:
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") == 700


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("name", "last", "width"),
    [
        ("audit-report.png", "#summary > .panel", 1000),
        ("audit-charts.png", "#freshness > .panel", 1132),
    ],
)
def test_a_picture_shows_the_report_of_today(
    browser: Browser, tmp_path: Path, name: str, last: str, width: int, regenerate: bool
) -> None:
    """The committed picture has the headings of the report, which are written into its file."""
    path, picture = tmp_path / "report.html", package.ROOT / "docs" / name
    path.write_text(format_audit("html", audits.audit_shop()), encoding="utf-8")
    view = {"width": width, "height": 760}
    with Visit(browser, path, viewport=view) as page:
        shown = page.locator(last).first
        labels = shown.locator("xpath=..").locator("h2, h3, dt").all_inner_texts()
        headings = " / ".join(labels).encode("latin-1")
        if regenerate:
            drawn = shown.screenshot()
            if "report" in name:  # the first screen
                drawn = page.screenshot()
            picture.write_bytes(write_note(drawn, headings))
    data = picture.read_bytes()
    assert headings in data
    assert len(data) < 100_000


def write_note(png: bytes, text: bytes) -> bytes:
    """Write a comment into a PNG, before its end: https://www.w3.org/TR/png-3/#11tEXt."""
    body = b"tEXtComment\0" + text
    length, check = len(body) - 4, zlib.crc32(body)
    chunk = length.to_bytes(4, "big") + body + check.to_bytes(4, "big")
    return png[:-12] + chunk + png[-12:]


def test_hostile_urls_do_nothing(browser: Browser, tmp_path: Path) -> None:
    """URLs with scripts and elements in them run nothing, load nothing and add nothing."""
    hostile = "</script></title></style>\"'><img src=//e.org/x onerror=alert(1)><script>alert(1)"
    finding = audits.make_finding(
        examples=[audits.make_example(hostile, hostile, hostile)]
    )
    sections = [Section(host=hostile, path=f"/{hostile}/", urls=3)]
    address = f"https://e.org/{hostile}"
    documents = [audits.make_document(address, reason=hostile, status=hostile, urls=3)]
    facts = audits.make_facts(
        source=hostile, urls=3, sections=sections, documents=documents
    )
    path = tmp_path / "report.html"
    path.write_text(render("html", [finding], facts), encoding="utf-8")
    dialogs: list[str] = []
    with Visit(browser, path) as page:
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.get_by_role("button", name="Open all").click()
        assert page.locator("td", has_text="onerror").first.inner_text() == hostile
        assert page.locator("img, iframe, script").count() == 1
    assert dialogs == []
