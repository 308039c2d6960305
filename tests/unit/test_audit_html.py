from __future__ import annotations

import re
from base64 import b64decode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import attrs
import audits
import pytest

from sitemapreader.audit.models import AuditRule, DocumentFact, Example, NotRun
from sitemapreader.audit.report.texts import format_audit
from sitemapreader.audit.report.treemap import COLORS
from sitemapreader.issues import Severity

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
    """Whatever a site writes into its URLs, the report has the same elements and attributes."""
    hostile = read(write_shop(text))
    assert hostile.elements == plain.elements
    for name in ("href", "content", "rel", "http-equiv", "class"):
        assert hostile.find_values(name) == plain.find_values(name)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_character_acts(text: str) -> None:
    """Neither control nor bidi characters reach the report; they are shown as escapes."""
    report = write_shop(text)
    assert all(char.isprintable() or char == "\n" for char in report)
    report.encode("utf-8")


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


def test_tiles_have_colours_under_white_text() -> None:
    """Each colour of the treemap has a class, whose contrast to white is 4.5:1 at least."""
    style = re.findall(r"(?s)<style>(.*?)</style>", write_shop())[0]
    colors = re.findall(r"\.(?:c\d|others) \{ fill: #(\w{6}); \}", style)
    assert len(colors) == COLORS + 1
    for color in colors:
        channels = [int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 4.5


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
