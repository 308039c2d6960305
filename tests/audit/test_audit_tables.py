"""The tables of an audit: codes, their groups, headers, settings, languages, and the docs."""

from __future__ import annotations

import re

import attrs
import package
import pytest
from each_case import for_each

from sitemapreader import IssueCode
from sitemapreader.audit.functions import is_news_language, judge_host, judge_hreflang
from sitemapreader.audit.models import AuditInputError, AuditOptions, Category
from sitemapreader.audit.report import FORMATS
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
from sitemapreader.cli.options import AUDIT_FORMATS

SAME = frozenset(
    """
    leading-bytes trailing-bytes encoding encoding-unsupported content-encoding
    wrong-content-encoding doctype dtd-refused missing-root nested-root truncated
    html-not-sitemap not-a-sitemap feed-salvaged feed-unreadable compression-nested
    compression-too-many-layers compression-too-many-members
    compression-trailing-bytes compression-trailing-document
    compression-truncated compression-corrupt html-entity bare-ampersand bare-less-than
    control-character unbound-prefix mismatched-tag not-well-formed malformed template
    record-too-long field-too-long too-deep too-many-elements too-many-attributes
    repeated-loc not-a-url untidy-line repeated-field changefreq priority extension invalid-url
    child-url-too-long userinfo-removed tls bad-http surplus-bytes http-status
    redirect-loop too-many-redirects downgrade robots-unreachable
    robots-not-text robots-too-large robots-too-complex site-moved other-site no-sitemap cycle
    redirects-up duplicate-document
    """.split()  # noqa: SIM905 (a table)
)
"""Codes that mean in an audit what they mean to the reader."""


def test_the_docs_count_the_rules() -> None:
    """The number of rules that README and the page of audits name is that of the package."""
    for path in ("README.md", "docs/audit.md"):
        text = (package.ROOT / path).read_text("utf-8")
        assert set(re.findall(r"(\d+) rules", text)) == {str(len(load_rules()))}, path


def test_each_issue_is_in_one_group() -> None:
    """A code has the severity of the reader, one of its own, or is about us."""
    changed = {code for code, own in ISSUES.items() if "severity" in own}
    groups = (SAME, changed, ABOUT_US)
    for code in IssueCode:
        assert sum(code in group for group in groups) == 1, code
    keys = {key for own in ISSUES.values() for key in own}
    assert keys == {"severity", "what", "meaning", "advice", "known-as", "cause"}
    plain = [own for own in ISSUES.values() if "what" in own]
    assert len(plain) == 15
    assert all({"meaning", "advice"} <= own.keys() for own in plain)


def test_codes_share_one_name_space() -> None:
    """No rule has the code of an Issue, nor of another rule, nor the name of a category."""
    rules = [rule.code for rule, _ in load_rules()]
    assert len(rules) == len(set(rules))
    assert not set(rules) & {str(code) for code in IssueCode}
    everything = list_rules()
    assert len(everything) == len(rules) + len(IssueCode)
    assert not everything.keys() & {category.lower() for category in Category}


@for_each("code", [rule.code for rule, _ in load_rules()])
def test_each_header_is_complete(code: str) -> None:
    """A rule says what it detects, why it matters, what to do, and where that is from."""
    rule = list_rules()[code]
    for text in (rule.title, rule.detects, rule.meaning, rule.advice, rule.unit):
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
    others |= {"page_seconds", "page_seed", "page_probes"}
    assert parameters.keys() - named == others


def test_texts_of_an_audit_have_values_and_no_names_of_figures() -> None:
    """Each figure in a text is written as its value, in the words of its unit."""
    figures = AuditOptions(future_hours=1, equal_share=0.755, session_parameters=("sid",))
    filled = {code: fill_figures(rule.detects, figures) for code, rule in list_rules().items()}
    assert filled["lastmod-future"].startswith("lastmod is later than 1 hour from now")
    assert "over 76% have one lastmod" in filled["lastmod-all-equal"]
    assert filled["url-session-id"] == "A parameter in query or path is one of sid."
    assert "utm_*, gclid" in filled["url-tracking-parameter"]
    assert " and 18 others." in filled["url-tracking-parameter"]
    assert "45,000 URLs or 45.0 MiB inflated" in filled["near-protocol-limit"]
    names = set(attrs.fields_dict(AuditOptions)) | {"url_key"}
    assert not any(f"`{name}`" in text for text in filled.values() for name in names)
    explained = explain_rule(list_rules()["lastmod-future"])
    assert "later than 24 hours (`future_hours`)" in " ".join(explained.split())


def test_the_list_has_every_rule() -> None:
    """`--list-rules` has a line for each rule, below its category."""
    lines = format_rules(list_rules().values()).splitlines()
    codes = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(codes) == sorted(list_rules())
    assert codes.index("robots-blocked-sitemap") < codes.index("robots-no-sitemap-line")


def test_words_choose_codes() -> None:
    """A word is a code, a category in any case, or a prefix with a star."""
    rules = list_rules()
    assert match_codes(rules, "empty") == {"empty"}
    assert match_codes(rules, "HREFLANG") == {code for code in rules if code.startswith("hreflang")}
    assert "url-characters" in match_codes(rules, "url-*")
    with pytest.raises(AuditInputError, match="--list-rules"):
        match_codes(rules, "zzz")


LANGUAGES = {
    "en": True,
    "en-gb": True,
    "zh-hant": True,
    "zh-hant-tw": True,
    "x-default": True,
    "eu": True,
    "en-uk": False,
    "en-eu": False,
    "en-un": False,
    "es-419": False,
    "en_gb": False,
    "english": False,
    "en-gb-x": False,
    "zh-abcd": False,
    "": False,
    "-": False,
    "deu": False,
}


@for_each("code", LANGUAGES)
def test_language_codes_are_judged(code: str) -> None:
    """Hreflang takes ISO 639-1, a script, a region, and no more."""
    is_valid, hint = judge_hreflang(code)
    assert is_valid is LANGUAGES[code]
    assert not (is_valid and hint)


@pytest.mark.parametrize(
    ("code", "valid"),
    [("en", True), ("deu", True), ("zh-cn", True), ("en-us", False), ("xx", False)],
)
def test_languages_of_news_are_judged(code: str, valid: bool) -> None:
    """News take ISO 639 with two or three letters, and two kinds of Chinese."""
    assert is_news_language(code) is valid


HOSTS = {
    "www.example.org": "",
    "dev.example": "",
    "example.org:8443": "",
    "localhost": "not a public name",
    "localhost:8000": "not a public name",
    "intranet": "not a public name",
    "shop.local": "not a public name",
    "10.0.0.1": "literal address",
    "[::1]:80": "literal address",
    "staging.example.org": "not a production host",
    "uat.shop.example.org": "not a production host",
}


@for_each("host", HOSTS)
def test_hosts_that_nobody_can_reach(host: str) -> None:
    """Names of local networks, addresses, and names that sound like staging are told apart."""
    why, is_staging = judge_host(host)
    assert HOSTS[host] in why
    assert bool(why) is bool(HOSTS[host])
    assert is_staging is ("production" in HOSTS[host])


def test_the_shell_knows_the_formats() -> None:
    """What the command line offers without importing an audit is what there is."""
    assert AUDIT_FORMATS == FORMATS
