"""The report of an audit: its numbers, charts and tables, and the HTML that shows them."""

from __future__ import annotations

import re
from base64 import b64decode
from datetime import date
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import attrs
import audits
import pytest

from sitemapreader.audit import report as figures
from sitemapreader.audit.models import (
    FOREMOST,
    AuditRule,
    Category,
    DocumentFact,
    Example,
    Finding,
    LanguagePair,
    MonthCount,
    NotRun,
    Place,
    SectionCount,
)
from sitemapreader.audit.report import rank_findings
from sitemapreader.audit.report.charts import (
    MAX_LANGUAGES,
    AxisLabel,
    build_matrix,
    chart_months,
    find_main_origin,
    shorten_url,
    stack_parts,
    sum_years,
)
from sitemapreader.audit.report.texts import format_audit
from sitemapreader.issues import Severity

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


def test_bars_are_the_largest_folders() -> None:
    """A folder's bar is compared with the largest; those behind the 20th are counted."""
    sections = [SectionCount("e.org", "/shop/", 400), SectionCount("cdn.e.org", "/img/", 100)]
    sections += [SectionCount("e.org", f"/{n:03}/", 5) for n in range(60)]
    report = format_audit("html", [], audits.make_facts(urls=800, sections=tuple(sections)))
    (part,) = re.findall(r"(?s)The largest folders</h3>(.*?)</ul>", report)
    bars = re.findall(r'class="url">(.*?)</span>.*? width="(.*?)%".*?class="dim">(.*?)<', part)
    assert bars[:2] == [("/shop/", "100", "50.0%"), ("cdn.e.org/img/", "25", "12.5%")]
    assert len(bars) == 20
    assert "and 42 more" in part


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


def test_urls_of_the_main_origin_are_paths() -> None:
    """Only a URL that begins with the whole origin is shortened."""
    documents = [DocumentFact(f"https://e.org/{n}.xml") for n in range(3)]
    origin = find_main_origin([DocumentFact("https://cdn.org/a.xml"), *documents])
    assert origin == "https://e.org"
    urls = ("https://e.org/a", "https://e.org.evil/a", "http://e.org/a", "folder/a.xml", "")
    assert [shorten_url(url, origin) for url in urls] == ["/a", *urls[1:]]
    assert find_main_origin([DocumentFact("a.xml")]) == ""
    assert shorten_url("/srv/a.xml", "") == "/srv/a.xml"


# -- HTML

VOID = {"meta", "link", "br", "input"}
HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "single quote": "'><svg onload=alert(1)>",
    "style": "</style></title><base href=//evil>",
    "template": "{{ facts.__class__ }}{% raw %}<!--]]>",
    "scheme": "javascript:alert(1)",
    "bidi": "\u202egnp.exe\u2066\u2069",
    "control": "\x00\x07\x1b[31m\r\n\x9b\u2028",
    "surrogate": "\udc80\ud800",
    "long": "a" * 65_536,
}
"""What strangers write into URLs to break a report, or its reader."""


class ElementReader(HTMLParser):
    """Keeps elements with the names of their attributes, links, and the text of all."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def find_values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


def read(report: str) -> ElementReader:
    reader = ElementReader()
    reader.feed(report)
    reader.close()
    return reader


def write_shop(mark: str = "") -> str:
    """Write the report of a shop in which each text of a stranger has the mark."""
    findings, facts = audits.make_shop(sitemaps=6)
    return format_audit("html", add_mark(findings, mark), add_mark(facts, mark))


def add_mark(value: Any, mark: str) -> Any:
    """Put the mark into URLs, details, reasons and languages, however deep."""
    if isinstance(value, str) and mark and ("://" in value or "-" in value):
        return value + mark
    if isinstance(value, tuple):
        return tuple(add_mark(each, mark) for each in value)
    if attrs.has(type(value)) and not isinstance(value, AuditRule):
        fields = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
        return attrs.evolve(value, **{name: add_mark(each, mark) for name, each in fields.items()})
    return value


@pytest.fixture(scope="module")
def plain() -> ElementReader:
    return read(write_shop("mark"))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_stay_text(text: str, plain: ElementReader) -> None:
    """Whatever a site writes, the report has the same elements, and no character that acts."""
    report = write_shop(text)
    assert all(char.isprintable() or char == "\n" for char in report)
    report.encode("utf-8")
    hostile = read(report)
    assert hostile.elements == plain.elements
    for name in ("href", "content", "rel", "http-equiv", "class"):
        assert hostile.find_values(name) == plain.find_values(name)


def test_hostile_texts_are_shown() -> None:
    """An example is shown as it was found, but for what would act or has no end."""
    examples = (Example("https://e.org/</script>&amp;\x1b" + "b" * 65_536),)
    finding = audits.make_finding(count=1, examples=examples)
    texts = read(format_audit("html", [finding], audits.make_facts())).texts
    assert f"https://e.org/</script>&amp;\\x1b{'b' * 471}…" in texts


def test_policy_allows_only_the_style_and_the_script() -> None:
    """The Content-Security-Policy names the hashes of the one style and the one script."""
    report = write_shop()
    (policy,) = re.findall(r'Policy" content="([^"]*)"', report)
    for kind, tag in (("style", "style"), ("script", "script")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", report, re.DOTALL)
        (digest,) = re.findall(f"{kind}-src 'sha256-([^']*)'", policy)
        assert b64decode(digest) == sha256(text.encode()).digest()
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_nothing_is_loaded() -> None:
    """The file names no image, style or script; links lead to its sections and to sources."""
    reader = read(write_shop())
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert names.isdisjoint({"src", "srcset", "style", "action", "background", "xlink:href"})
    links = set(reader.find_values("href"))
    outside = {link for link in links if not link.startswith("#")}
    assert outside == {"data:,", "https://www.sitemaps.org/protocol.html"}
    assert {link[1:] for link in links - outside} <= set(reader.find_values("id"))


def test_report_is_not_for_search_engines() -> None:
    """A report that is left on a server is not indexed, and tells no site of its reader."""
    report = write_shop()
    assert '<meta name="robots" content="noindex">' in report
    assert '<meta name="referrer" content="no-referrer">' in report


def test_elements_are_closed() -> None:
    """Each element that has an end tag is ended in its order; rows of documents need none."""
    stack: list[str] = []
    report = re.sub(r"(?s)<table class=\"sortable documents\">.*?</table>", "", write_shop())
    report = re.sub(r"(?s)<(style|script)>.*?</\1>", "", report)
    for slash, tag, end in re.findall(r"<(/?)([a-z][a-z0-9]*)[^>]*?(/?)>", report):
        if slash:
            assert stack.pop() == tag
        elif not end and tag not in VOID:
            stack.append(tag)
    assert stack == []


def test_ids_are_given_once() -> None:
    """A link to a finding leads to one place."""
    ids = read(write_shop()).find_values("id")
    assert len(ids) == len(set(ids))


def test_report_of_a_clean_site() -> None:
    """Without findings and URLs, the report says so and leaves out charts of nothing."""
    documents = (DocumentFact(f"{audits.SITE}/sitemap.xml", format="urlset"),)
    passed = (audits.make_rule("a"), audits.make_rule("b"))
    facts = audits.make_facts(passed=passed, documents=documents, documents_total=1)
    report = format_audit("html", [], facts)
    assert 'class="notice passed"' in report
    assert "No rule hit." in report
    assert "2 rules passed" in report
    ids = set(read(report).find_values("id"))
    assert ids.isdisjoint({"freshness", "folders", "languages", "search"})
    assert {"summary", "findings", "sitemaps", "rules"} < ids


def test_site_that_was_not_read_is_neither_blamed_nor_praised() -> None:
    """Where no sitemap was read, the report says that first, and ticks nothing off."""
    robots = DocumentFact(f"{audits.SITE}/robots.txt", role="robots", status="failed")
    not_run = (NotRun(audits.make_rule(), "no sitemap was read"),)
    facts = audits.make_facts(documents=(robots,), not_run=not_run, complete=False)
    report = format_audit("html", [], facts)
    assert "No sitemap was read." in report
    assert "notice passed" not in report
    assert "card passed" not in report
    assert '<svg class="icon passed"' not in report


def test_rules_that_were_not_run_have_their_reason() -> None:
    """What was not looked at is not passed, and a broken rule is told from one without input."""
    rule = audits.make_rule("orphan-url", title="URLs that nothing else knows")
    not_run = (NotRun(rule, "no list of known URLs: give one with --urls"),)
    broken = (NotRun(audits.make_rule("mine"), "Binder Error: no column <x>", is_error=True),)
    report = format_audit("html", [], audits.make_facts(not_run=not_run + broken, complete=False))
    assert "No list of known URLs: give one with --urls" in report
    assert "Binder Error: no column &lt;x&gt;" in report
    assert "Not run (2)" in report
    assert "Passed (0)" in report


def test_walk_that_was_not_complete() -> None:
    """A report of a part of the sitemaps says so before its figures."""
    report = format_audit("html", *audits.make_shop())
    assert "Not everything could be read." in report.partition("<dl")[0]


def test_hits_that_a_baseline_has_not() -> None:
    """With a baseline, each finding says how many hits are new."""
    finding = audits.make_finding(count=1_200, new=34)
    report = format_audit("html", [finding], audits.make_facts(baseline=1_166))
    assert ">34 new<" in report
    assert "Compared with a baseline of 1,166 hits: 34 new." in report
    finding = audits.make_finding(count=1_200)
    assert " new<" not in format_audit("html", [finding], audits.make_facts())


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("https://e.org/", "sitemapreader audit https://e.org/ --select url-fragment"),
        ("https://e.org/?a=1&b", "sitemapreader audit &#39;https://e.org/?a=1&amp;b&#39; --select"),
        ("; rm -rf ~", "sitemapreader audit &#39;; rm -rf ~&#39; --select url-fragment"),
    ],
)
def test_command_that_lists_all_can_be_pasted(source: str, command: str) -> None:
    """The command quotes what was audited for a shell."""
    report = format_audit("html", [audits.make_finding(count=99)], audits.make_facts(source=source))
    assert f"<code>{command}" in report


def test_sources_that_are_no_addresses_are_no_links() -> None:
    """A rule of the user's own may name a book, or something that a browser should not open."""
    address = "https://e.org/rules"
    sources = ("page 7", "javascript://e.org/%0aalert(1)", "http://[", "data:text/html,x", address)
    finding = audits.make_finding(rule=audits.make_rule(sources=sources))
    reader = read(format_audit("html", [finding], audits.make_facts()))
    assert [link for link in reader.find_values("href") if link[0] != "#"] == ["data:,", address]
    assert any("javascript://e.org/%0aalert(1)" in text for text in reader.texts)


def test_report_of_ten_thousand_documents_is_small() -> None:
    """A million URLs in 10,000 sitemaps make a file that can be sent by mail."""
    report = format_audit("html", *audits.make_shop(sitemaps=9_996, urls_each=100))
    assert len(report.encode()) < 1_500_000
    assert report.count("<tr><th>/sitemaps/") == 9_998


def test_long_urls_do_not_fill_the_report() -> None:
    """Twelve rules with twenty examples of 64 kB each, and all sitemaps too, stay below 400 kB."""
    assert len(write_shop("a" * 65_536)) < 400_000


def test_gravest_categories_come_first() -> None:
    """Categories are ordered by errors, then by warnings, then by notes."""
    report = format_audit("html", *audits.make_shop())
    rows = re.findall(r"<li><span>([\w ]+)</span><svg.*?</svg><span class=\"dim\">(.*?)<", report)
    assert rows[:2] == [("Freshness", "1 error, 1 warning"), ("Hosts", "1 error, 1 warning")]
    assert rows[-1] == ("Response", "1 note")
    assert len(audits.make_shop()[0]) == sum(
        int(number) for _, words in rows for number in re.findall(r"\d+", words)
    )


def test_severity_is_that_of_the_audit() -> None:
    """A severity that the settings changed is shown, not the rule's own."""
    finding = audits.make_finding(severity=Severity.INFO)
    report = format_audit("html", [finding], audits.make_facts())
    assert '<details class="finding info" data-kind="info">' in report


def test_begin_with_what_touches_most() -> None:
    """Among findings of one severity that which touches most of what was looked at comes first."""
    error = Severity.ERROR
    shares = {"few": (10, 1_000), "most": (9, 10), "some": (300, 1_000), FOREMOST: (1, 0)}
    findings = [
        Finding(AuditRule(code, Category.URLS, error, code, "URLs"), error, count, of)
        for code, (count, of) in shares.items()
    ]
    ranked = [finding.code for finding in rank_findings(findings, audits.make_facts(urls=1_000))]
    assert ranked == [FOREMOST, "most", "some", "few"]


def test_begin_with_what_was_not_read() -> None:
    """A sitemap that was not read ranks as the whole site, an Issue by the URLs that it touches."""
    error, reading = Severity.ERROR, Category.READING

    def find(code: str, document: str, count: int, url: str = "", unit: str = "places") -> Finding:
        rule = AuditRule(code, reading if unit == "places" else Category.INDEX, error, code, unit)
        example = Example(url, document=document)
        of = 0 if unit == "places" else 2
        return Finding(rule, error, count, of, (Place(document, count),), 1, (example,))

    documents = tuple(
        DocumentFact(name, status=status, urls=urls)
        for name, status, urls in (
            ("a", "complete", 900),
            ("b", "complete", 100),
            ("c", "failed", 0),
        )
    )
    findings = [
        find("one-record", "a", 1, "https://e.example/x"),
        find("small-sitemap", "b", 1, unit="sitemaps"),
        find("large-sitemap", "a", 1, unit="sitemaps"),
        find("a-namespace", "b", 1),
        find("not-read", "c", 1),
    ]
    facts = audits.make_facts(urls=1_000, documents=documents)
    assert [each.code for each in rank_findings(findings, facts)] == [
        *("not-read", "large-sitemap", "small-sitemap", "a-namespace", "one-record")
    ]


def test_shares_are_written_as_people_do() -> None:
    """No share has an exponent, and only what is nearly all is written as 100."""
    shares = (0.0, 1e-7, 0.00017, 0.018, 0.25, 0.994, 0.997, 0.9999, 1.0)
    assert " ".join(map(figures.show_percent, shares)) == "0 <0.001 0.017 1.8 25 99 99.7 100 100"
