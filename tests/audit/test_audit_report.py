"""The report of an audit: its numbers, charts and tables, and the HTML that shows them."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import attrs
import pytest

from sitemapreader._types.counts import count_units
from sitemapreader._types.outcomes import show_bytes
from sitemapreader.audit import Rate, report as figures
from sitemapreader.audit.models import Category
from sitemapreader.audit.report.templates import format_audit
from sitemapreader.audit.values import Hit, HostCount, LanguagePair, Place, Section
from tests.audit import audits
from tests.audit.audits import (
    leave_out,
    make_document,
    make_example,
    make_facts,
    make_finding,
    make_month,
    make_rule,
    make_tally,
    render,
)

NUMBERS: list[tuple[str, str]] = [
    *((figures.show_share(*pair), text) for pair, text in {
        (0, 0): "0%", (1, 3): "33.3%", (9, 9): "100%", (1, 1_000): "0.1%", (999, 1_000): "99.9%",
        (999_999, 1_000_000): ">99.9%", (1, 1_000_000): "<0.1%",
    }.items()),
    *((count_units(*pair), text) for pair, text in {
        (1, "URLs"): "1 URL", (0, "URLs"): "0 URLs", (201_944, "URLs"): "201,944 URLs",
        (1, "indexes"): "1 index", (1, "folders or sites"): "1 folder or site",
    }.items()),
    *((figures.show_percent(share), text) for share, text in {
        0.0: "0", 1e-7: "<0.001", 0.00001: "0.001", 0.00017: "0.017", 0.018: "1.8", 0.994: "99",
        0.995: "99.5", 0.997: "99.7", 1.0: "100",
    }.items()),
    *((show_bytes(count), text) for count, text in {
        0: "0 B", 1_023: "1023 B", 1_024: "1.0 KiB", 1 << 20: "1.0 MiB", 5 << 40: "5120.0 GiB",
    }.items()),
]  # fmt: skip


def test_numbers_are_written_as_people_do() -> None:
    """Only all is 100%, one thing is in the singular, and no share has an exponent."""
    assert [shown for shown, _ in NUMBERS] == [text for _, text in NUMBERS]


def test_tables_of_what_a_site_has() -> None:
    """Months, folders and languages are tables; a folder of another host is named with it."""
    folders = [("e.org", "/shop/", 400), ("cdn.e.org", "/img/", 100)]
    sections = [
        Section(host=host, path=path, urls=urls) for host, path, urls in folders
    ]
    pair: dict[str, Any] = {
        "page": "en",
        "target": "de",
        "pages": 200,
        "links": 160,
        "returned": 150,
    }
    own: dict[str, Any] = {**pair, "target": "en", "links": 200, "returned": 200}
    months = [make_month("2026-10", 1_250, 3, 0), make_month("2026-12", 8, 0, 8)]
    facts = make_facts(
        urls=800,
        sections=sections,
        languages=[LanguagePair(**own), LanguagePair(**pair)],
        months=months,
    )
    report = render("html", [], facts)
    assert ">/shop/</th><td>400</td><td>50.0%</td>" in report
    assert ">cdn.e.org/img/</th><td>100</td><td>12.5%</td>" in report
    row = (
        '<th scope="row">en → de</th><td>200</td><td>160</td><td>150</td><td>75.0%</td>'
    )
    assert report.count('<th scope="row">en →') == report.count(row) == 1
    year = re.search(
        r'<th scope="row">2026</th>(<td></td>)*<td class="m4">1,250 <b>=</b></td>(.*)',
        report,
    )
    assert year is not None
    assert year[2] == '<td></td><td class="m1">8 <b>+</b></td></tr>'


def test_documents_are_indented(site_report: str) -> None:
    """Each document stands below the one that lists it; of a depth of six, at the fifth."""
    rows = re.findall(r"<tr><th(?: class=(d\d))?>(\S+?)<td>", site_report)
    assert rows == [
        ("", "/robots.txt"),
        ("d1", "/index.xml"),
        ("d5", "/deep.xml"),
        ("", "https://cdn.org/x"),
    ]
    assert "2 well-known paths tried, without a sitemap." in site_report


@pytest.fixture
def site_report() -> str:
    """Write the report of a few documents, of which one host has most."""
    site = "https://e.org"
    probe: dict[str, Any] = {
        "status": "skipped",
        "reason": "http-status",
        "http_status": 404,
    }
    documents = [
        make_document(f"{site}/robots.txt", role="robots"),
        make_document(f"{site}/index.xml", f"{site}/robots.txt", depth=1),
        make_document(f"{site}/deep.xml", f"{site}/index.xml", depth=6),
        make_document("https://cdn.org/x", format="urlset"),
        *(make_document(f"{site}/{name}", **probe) for name in ("a.xml", "b.xml")),
    ]
    hosts = [
        HostCount(origin=site, urls=9),
        HostCount(origin="https://cdn.org", urls=1),
    ]
    return render("html", [], make_facts(documents=documents, hosts=hosts))


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
    return format_audit("html", audits.mark_texts(audits.audit_shop(), mark))


@pytest.fixture(scope="module")
def plain() -> ElementReader:
    return read(write_shop("mark"))


@pytest.mark.cases(5)
@pytest.mark.parametrize("text", HOSTILE.values())
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
    examples = [make_example("https://e.org/</script>&amp;\x1b" + "b" * 65_536)]
    finding = make_finding(count=1, examples=examples)
    texts = read(render("html", [finding], make_facts())).texts
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
    """The file names no image, style or script; no search engine lists it; links are its own."""
    report = write_shop()
    assert '<meta name="robots" content="noindex">' in report
    assert '<meta name="referrer" content="no-referrer">' in report
    reader = read(report)
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert names.isdisjoint(
        {"src", "srcset", "style", "action", "background", "xlink:href"}
    )
    links = set(reader.find_values("href"))
    outside = {link for link in links if not link.startswith("#")}
    rules = (each.rule for each in audits.audit_shop().findings)
    assert outside <= {"data:,", *(source for rule in rules for source in rule.sources)}
    assert {link[1:] for link in links - outside} <= set(reader.find_values("id"))


def test_elements_are_closed_and_ids_given_once() -> None:
    """Each element that has an end tag is ended in its order; rows of documents need none."""
    stack: list[str] = []
    report = re.sub(
        r"(?s)<table class=\"sortable documents\">.*?</table>", "", write_shop()
    )
    ids = read(report).find_values("id")
    assert len(ids) == len(set(ids))
    report = re.sub(r"(?s)<(style|script)>.*?</\1>", "", report)
    for slash, tag, end in re.findall(r"<(/?)([a-z][a-z0-9]*)[^>]*?(/?)>", report):
        if slash:
            assert stack.pop() == tag
        elif not end and tag not in VOID:
            stack.append(tag)
    assert stack == []


def test_report_of_a_clean_site() -> None:
    """Without findings and URLs, the report says so and leaves out charts of nothing."""
    documents = (make_document(f"{audits.SITE}/sitemap.xml", format="urlset"),)
    passed = (make_rule("a"), make_rule("b"))
    facts = make_facts(passed=passed, documents=documents, documents_total=1)
    report = render("html", [], facts)
    assert 'class="notice passed"' in report
    assert "No rule hit." in report
    assert "2 rules passed" in report
    ids = set(read(report).find_values("id"))
    assert ids.isdisjoint({"freshness", "folders", "languages", "search"})
    assert {"summary", "findings", "sitemaps", "rules"} < ids


def test_site_that_was_not_read_is_neither_blamed_nor_praised() -> None:
    """Where no sitemap was read, the report says that first, and ticks nothing off."""
    robots = make_document(f"{audits.SITE}/robots.txt", role="robots", status="failed")
    not_run = (leave_out(make_rule(), "no sitemap was read"),)
    facts = make_facts(documents=(robots,), not_run=not_run, complete=False)
    report = render("html", [], facts)
    assert "No sitemap was read." in report
    assert "notice passed" not in report
    assert "card passed" not in report
    assert '<svg class="icon passed"' not in report


def test_rules_that_were_not_run_have_their_reason() -> None:
    """What was not looked at is not passed, and a broken rule is told from one without input."""
    rule = make_rule("orphan-url", title="URLs that nothing else knows")
    not_run = (leave_out(rule, "no list of known URLs: give one with --urls"),)
    document = make_document(f"{audits.SITE}/s.xml", format="urlset")
    broken = (
        leave_out(make_rule("mine"), "Binder Error: no column <x>", is_error=True),
    )
    report = render(
        "html",
        [],
        make_facts(not_run=not_run + broken, complete=False, documents=[document]),
    )
    assert "No list of known URLs: give one with --urls" in report
    assert "Binder Error: no column &lt;x&gt;" in report
    assert "Not run (2)" in report
    assert "Passed (0)" in report
    assert "Not everything could be read." in report.partition("<dl")[0]


def test_hits_that_a_baseline_has_not() -> None:
    """With a baseline, each finding says how many hits are new."""
    finding = make_finding(count=1_200, new=34)
    report = render("html", [finding], make_facts(baseline=1_166))
    assert ">34 new<" in report
    assert "Compared with a baseline of 1,166 hits: 34 new (34 warnings)," in report
    finding = make_finding(count=1_200)
    assert " new<" not in render("html", [finding], make_facts())


def test_what_lists_all_is_said_of_the_same_command() -> None:
    """No report knows the options of its run, so it names only those to add; not the source."""
    report = render("html", [make_finding(count=99, severity="info")], make_facts())
    assert (
        "the same command with <code>--select url-fragment --hits hits.csv</code>"
        in report
    )
    assert '<details class="finding info" data-kind="info">' in report


def test_sources_that_are_no_addresses_are_no_links() -> None:
    """A rule of the user's own may name a book, or something that a browser should not open."""
    address = "https://e.org/rules"
    sources = (
        "page 7",
        "javascript://e.org/%0aalert(1)",
        "http://[",
        "data:text/html,x",
        address,
    )
    finding = make_finding(rule=make_rule(sources=sources))
    reader = read(render("html", [finding], make_facts()))
    assert [link for link in reader.find_values("href") if link[0] != "#"] == [
        "data:,",
        address,
    ]
    assert any("javascript://e.org/%0aalert(1)" in text for text in reader.texts)


def test_reports_stay_small() -> None:
    """A million URLs in 10,000 sitemaps make a file for a mail; long URLs are cut."""
    shop = audits.audit_shop()
    many = [
        attrs.evolve(each, url=f"{audits.SITE}/sitemaps/products-{number:05}.xml.gz")
        for number, each in enumerate([d for d in shop.facts.documents if d.urls] * 400)
    ][:10_000]
    report = format_audit(
        "html", attrs.evolve(shop, facts=attrs.evolve(shop.facts, documents=many))
    )
    assert len(report.encode()) < 1_500_000
    assert report.count("/sitemaps/products-") >= len(many) > 9_000
    assert len(write_shop("a" * 65_536)) < 500_000


def test_what_a_sample_stands_for_is_shown() -> None:
    """The head of the report tells the pages that a sample stands for, and URLs of sitemaps."""
    rate = Rate(share=0.0434, low=0.02, high=0.07, judged=300, population=19_800)
    rule = make_rule("page-not-found", unit="pages")
    finding = make_finding(count=13, rule=rule, rate=rate, urls=860)
    assert "about 860 of 19,800 pages" in render("html", [finding], make_facts())
    rule = make_rule("lastmod-missing-all", unit="sitemaps")
    finding = make_finding(count=1, rule=rule, urls=18_000)
    assert ">1 sitemap, 18,000 URLs<" in render("html", [finding], make_facts())


def test_a_sample_without_a_hit_says_how_sure_that_is() -> None:
    """A rule that hit none of 300 pages has passed so far: each format says what that is worth."""
    rule = make_rule("page-gone", unit="pages", category=Category.PAGES)
    tally = make_tally(19_800, 300, 300, bound=0.0126)
    facts = make_facts(pages=tally, passed=[rule], sitemaps=1)
    said = "none in 300, so at most 1.3% of 19,800"
    for form in ("text", "markdown", "html", "junit", "sarif"):
        assert said in render(form, [], facts), form
    facts.pages = make_tally(300, 300, 300)
    assert "at most" not in render("text", [], facts)


@pytest.mark.parametrize(
    ("url", "detail"),
    [
        ("https://example.org/[click](https://evil.example/)", ""),
        ("https://example.org/", "[a] [b](https://evil.example/ 'title')"),
        ("https://example.org/](https://evil.example/)", "[x"),
    ],
)
def test_strangers_write_no_links_into_sarif(url: str, detail: str) -> None:
    """A code host shows `[text](URL)` in a message as a link: none comes from a sitemap."""
    hit = Hit(url=url, detail=detail, document=url, line=1)
    place = Place(document=url, count=3, line=1)
    finding = make_finding(count=3, examples=[hit], places=[place])
    (result,) = json.loads(render("sarif", [finding], make_facts()))["runs"][0][
        "results"
    ]
    assert "evil.example" in result["message"]["text"]
    assert "](" not in result["message"]["text"]


def test_findings_of_one_cause_are_one() -> None:
    """What is the same fault stands below its cause, and only that one is to begin with."""
    cause = make_finding("host-not-public", urls=3)
    other = make_finding("scheme-http", urls=3, cause="host-not-public")
    audit = ([cause, other], make_facts(sitemaps=1))
    text = render("text", *audit)
    assert "    - the same fault: What scheme-http finds [scheme-http], 3 URLs" in text
    assert text.count("warning: ") == 1
    html = render("html", *audit)
    assert html.count('<a href="#rule-host-not-public">') == 1
    assert "#rule-scheme-http" not in html
    assert html.index("seen from another side") < html.index('id="rule-scheme-http"')
    assert "the same fault: What scheme-http finds" in render("markdown", *audit)
    for form in ("junit", "sarif"):
        assert "he same fault as host-not-public" in render(form, *audit)
