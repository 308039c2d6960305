"""The tables of an audit: codes, their groups, headers, settings, languages, and the docs."""

from __future__ import annotations

import re
from contextlib import closing

import attrs
import pytest

from sitemapreader import IssueCode
from sitemapreader._cli.options import AUDIT_FORMATS
from sitemapreader.audit.database import (
    AuditDatabase,
    is_language_switch,
    judge_hreflang,
)
from sitemapreader.audit.models import AuditInputError, AuditOptions, Category, Need
from sitemapreader.audit.report import REPORT_FORMATS
from sitemapreader.audit.rules import (
    ABOUT_US,
    ISSUES,
    explain_rule,
    fill_figures,
    format_rules,
    list_rules,
    load_rules,
    match_codes,
)
from tests.support import package


def test_the_docs_count_the_rules() -> None:
    """The number of rules that README and the page of audits name is that of the package."""
    for path in ("README.md", "docs/audit.md"):
        text = (package.ROOT / path).read_text("utf-8")
        assert set(re.findall(r"(\d+) rules", text)) == {str(len(load_rules()))}, path


def test_what_an_audit_says_of_issues() -> None:
    """A code is about us, or has a severity and words of its own; other keys there are none."""
    changed = {code for code, own in ISSUES.items() if "severity" in own}
    assert not changed & ABOUT_US
    keys = {key for own in ISSUES.values() for key in own}
    assert keys == {"severity", "what", "meaning", "advice", "known-as", "cause"}
    plain = [own for own in ISSUES.values() if "what" in own]
    assert len(plain) == 15
    assert all({"meaning", "advice"} <= own.keys() for own in plain)


def test_codes_share_one_name_space() -> None:
    """A code is an Issue or a rule; two faults are both, and each of them is one finding."""
    rules = [rule.code for rule, _ in load_rules()]
    everything = list_rules()
    assert {*rules} & {*IssueCode} == {"host-not-public", "template"}
    assert len(everything) == len(rules) + len(IssueCode) - 2
    assert not everything.keys() & {category.lower() for category in Category}
    lines = format_rules(everything.values()).splitlines()
    codes = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(codes) == sorted(everything)
    assert codes.index("robots-blocked-sitemap") < codes.index("robots-no-sitemap-line")
    hreflang = {code for code in everything if code.startswith("hreflang")}
    assert (
        match_codes(everything, "HREFLANG")
        == match_codes(everything, "hreflang-*")
        == hreflang
    )
    assert match_codes(everything, "empty") == {"empty"}
    with pytest.raises(AuditInputError, match="--list-rules"):
        match_codes(everything, "zzz")


def test_each_header_is_complete(subtests: pytest.Subtests) -> None:
    """A rule says what it detects, why it matters, what to do, and where that is from."""
    for code in [rule.code for rule, _ in load_rules()]:
        with subtests.test(code=code):
            rule = list_rules()[code]
            for text in (
                rule.title,
                rule.detects,
                rule.meaning,
                rule.advice,
                rule.unit,
            ):
                assert text
                assert text == text.strip()
            assert rule.detects.endswith(".")
            assert rule.sources
            assert all(source.startswith("https://") for source in rule.sources)
            assert code in explain_rule(rule)


def test_figures_that_rules_name_are_there() -> None:
    """Each parameter of a query is one that an audit passes, and each figure is in some rule."""
    from datetime import UTC, datetime  # noqa: PLC0415 (only here)

    parameters = AuditOptions().make_parameters(datetime.now(UTC))
    named = set()
    for rule, query in load_rules():
        parts = set(re.findall(r"\$([a-z_]+)", query))
        assert parts <= parameters.keys(), rule.code
        named |= parts
    others = {"least_overlap", "examples"}  # the run needs these, and the visits those
    others |= {"page_seconds", "page_seed", "page_probes", "page_targets"}
    assert parameters.keys() - named == others


def test_texts_of_an_audit_have_values_and_no_names_of_figures() -> None:
    """Each figure in a text is written as its value, in the words of its unit."""
    figures = AuditOptions(
        future_hours=1, equal_share=0.755, session_parameters=("sid",)
    )
    filled = {
        code: fill_figures(rule.detects, figures) for code, rule in list_rules().items()
    }
    assert filled["lastmod-future"].startswith("lastmod is more than 1 hour after now")
    assert "Over 76% of at least" in filled["lastmod-all-equal"]
    assert filled["url-session-id"] == "A parameter of the query or path is one of sid."
    assert "utm_*, gclid" in filled["url-tracking-parameter"]
    assert " and 18 others." in filled["url-tracking-parameter"]
    assert "over 45,000 URLs or over 45.0 MiB after" in filled["near-protocol-limit"]
    names = set(attrs.fields_dict(AuditOptions)) | {"url_key"}
    assert not any(f"`{name}`" in text for text in filled.values() for name in names)
    explained = explain_rule(list_rules()["lastmod-future"])
    assert "more than 24 hours (`future_hours`) after now" in " ".join(
        explained.split()
    )


def test_every_rule_is_explained_whole() -> None:
    """No line has over 88 characters, but for a URL, and no word of a text is broken."""
    for code, rule in list_rules().items():
        lines = explain_rule(rule).splitlines()
        assert lines[0] == f"{code}: {rule.title} ({rule.category}, {rule.severity})"
        assert all(len(line) <= 88 or len(line.split()) == 1 for line in lines[1:]), (
            code
        )
        said = " ".join(" ".join(lines).split())
        texts = (
            f"why: {rule.meaning}" * bool(rule.meaning),
            f"do: {rule.advice}",
            *rule.sources,
        )
        assert all(" ".join(text.split()) in said for text in texts), code
        assert all(need.meaning in said for need in Need if need in rule.needs), code


VALID = ("en", "en-gb", "zh-hant", "zh-hant-tw", "x-default", "eu")
WRONG = {
    "en-uk": "the United Kingdom is GB; uk is Ukrainian",
    "en-eu": "the European Union is not a region: name a country",
    "en-xx": "xx is not a region of ISO 3166-1",
    "en_gb": "write a hyphen, not an underscore",
    "jp": "Japanese is ja",
    "zh-abcd": "abcd is not a script of ISO 15924",
    "zh-hant-abcd": "abcd is not a region of ISO 3166-1",
    **dict.fromkeys(
        ("en-gb-x", "zh-hant-tw-x"), "only language, script and region are allowed"
    ),
    **dict.fromkeys(("english", "", "-", "deu"), ""),
}
"""A code that is wrong -> what is said of it."""


def test_language_codes_are_judged() -> None:
    """Hreflang takes ISO 639-1, a script, a region, and no more."""
    assert [judge_hreflang(code) for code in VALID] == [(True, "")] * len(VALID)
    assert {code: judge_hreflang(code) for code in WRONG} == {
        code: (False, hint) for code, hint in WRONG.items()
    }


BASE = "https://www.shop.example/a/b"
SWITCHED = (
    *("https://www.shop.example/de/a/b", "https://www.shop.example/a/b/pt-br/"),
    *("https://www.shop.example/a/b?lang=en", "http://www.shop.example/a/b.fr?"),
    *(
        "https://de.shop.example/a/b",
        "https://fr.www.shop.example/a/b",
        "https://www.shop.de/a/b",
    ),
)
ELSEWHERE = (
    *("https://www.shop.example/de/a", "https://www.shop.example/de/b", BASE),
    *("https://www.shop.example/a/b?page=2", "https://login.shop.example/a/b"),
    "https://shop.example/a/b",
)


def test_redirects_to_another_language() -> None:
    """A language is added to path, host or parameters, or takes the place of one or of a label."""
    assert all(is_language_switch(BASE, final) for final in SWITCHED)
    assert not any(is_language_switch(BASE, final) for final in ELSEWHERE)
    assert is_language_switch("https://e.example/en/x", "https://e.example/de/x")
    assert not is_language_switch("https://e.example/old/x", "https://e.example/de/x")
    assert not is_language_switch("https://e.example/de/x", "https://e.example/x")


HOSTS = {
    **dict.fromkeys(("www.example.org", "dev.example", "example.org"), ""),
    **dict.fromkeys(("localhost", "intranet", "shop.local"), "not a public name"),
    **dict.fromkeys(("10.0.0.1", "[::1]"), "literal address"),
    "[bad": "is no host",
    **dict.fromkeys(
        ("staging.example.org", "uat.shop.example.org"), "not a production host"
    ),
}


def test_hosts_that_nobody_can_reach() -> None:
    """Names of local networks, addresses, and names that sound like staging are told apart."""
    with closing(AuditDatabase()) as database:
        query = "SELECT why_hidden($name), is_staging($name)"
        for name, words in HOSTS.items():
            ((why, is_staging),) = database.ask(query, name=name)
            assert words in why
            assert bool(why) is bool(words)
            assert is_staging is ("production" in words)
        query = "SELECT name_difference($key, $other)"
        for (key, other), name in DIFFERENCES.items():
            assert database.ask(query, key=key, other=other) == [(name,)]


DIFFERENCES = {
    ("https://e.org/a", "https://e.org/a"): "",
    ("http://e.org/a", "https://e.org/a"): "https",
    ("https://www.e.org/a", "https://e.org/a"): "www",
    ("https://e.org/a", "https://e.org/a/"): "slash",
    ("https://e.org/a", "https://e.org/A"): "case",
    ("https://e.org/a", "https://e.org/b"): "",
}


def test_the_shell_knows_the_formats() -> None:
    """What the command line offers without importing an audit is what there is."""
    assert AUDIT_FORMATS == REPORT_FORMATS
