"""Rules are read from files, chosen by words, and explained, to the letter."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Limits
from sitemapreader._types.issues import Severity
from sitemapreader.audit import AuditOptions, audit_sync
from sitemapreader.audit.models import (
    AuditInputError,
    Category,
    check_file,
    is_url_list,
    make_rule,
    move_urls,
    read_json,
)
from sitemapreader.audit.rules import (
    explain_rule,
    fill_figures,
    format_rules,
    list_rules,
    load_rules,
    match_codes,
    parse_rule,
    plan_rules,
    read_own_rules,
)
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cases(50)  # nothing is audited

SITE = "https://example.org/"
TEXT = """\ufeff-- title: Odd pages
-- severity: warning
-- unit: pages
-- needs: pages, was
-- detects: A page
--   is odd.
-- source: https://a.example/, https://b.example/
-- cause: page-empty
--
-- search-console: Odd
SELECT loc AS url
FROM url;
"""


def test_a_file_is_a_rule_and_its_query() -> None:
    """A line without a key goes on with the last one, and the query is what follows."""
    rule, query = parse_rule(TEXT, "my-rule", Category.CUSTOM)
    assert rule == make_rule(
        "my-rule",
        Category.CUSTOM,
        "warning",
        "Odd pages",
        "pages",
        detects="A page is odd.",
        source="https://a.example/,https://b.example/",
        needs="pages,was",
        cause="page-empty",
        **{"search-console": "Odd"},
    )
    assert (rule.unit, rule.needs, rule.known_as) == ("pages", ["pages", "was"], "Odd")
    assert query == "SELECT loc AS url\nFROM url"


HEADER = "-- title: a\n-- severity: error\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            f"{HEADER}SELECT 1",
            "My-rule",
            "'My-rule' is not a valid code: name the file in lower case, as my-rule.sql",
        ),
        (
            "-- severity: error\nSELECT 1",
            "a",
            "the header has no title: begin the file with `-- title: ...`",
        ),
        (
            "-- title: a\n-- severity:\nSELECT 1",
            "a",
            "the header has no severity: begin the file with `-- severity: ...`",
        ),
        (HEADER, "a", "there is no query below the header: write one SELECT"),
        (f"{HEADER};", "a", "there is no query below the header: write one SELECT"),
        (
            "-- title: a\n-- severity: huge\nSELECT 1",
            "a",
            "'huge' is not a severity: write error, warning, info",
        ),
        (
            f"{HEADER}-- why: x\nSELECT 1",
            "a",
            (
                "'why' is not a header key: write title, severity, unit, needs, detects, meaning,"
                " advice, source, search-console, cause"
            ),
        ),
        (
            f"{HEADER}-- needs: pages, money\nSELECT 1",
            "a",
            (
                "'money' is not a need: write robots, url-robots, image-robots, site, fetch,"
                " complete, urls, pages, visits, probes, hreflang, was, folder, base, overlap"
            ),
        ),
    ],
)
def test_a_file_that_is_no_rule(text: str, code: str, said: str) -> None:
    """The message names what is wrong, and what to write."""
    with pytest.raises(AuditInputError) as refused:
        parse_rule(text, code, Category.CUSTOM)
    assert str(refused.value) == said


def test_a_folder_of_rules(tmp_path: Path) -> None:
    """Files that end with .sql are rules; the broken ones do not hide the others."""
    (tmp_path / "b.sql").write_text(f"{HEADER}SELECT 2")
    (tmp_path / "a.sql").write_text(f"{HEADER}SELECT 1")
    (tmp_path / "c.sql").write_text(HEADER)
    (tmp_path / "d.txt").write_text("no rule")
    rules, broken = read_own_rules(tmp_path)
    found = [(rule.code, rule.category, query) for rule, query in rules]
    assert found == [("a", "Custom", "SELECT 1"), ("b", "Custom", "SELECT 2")]
    assert broken == {"c": "there is no query below the header: write one SELECT"}
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(
        AuditInputError, match=r"there is no rule in .*: its files must end"
    ):
        read_own_rules(empty)
    with pytest.raises(
        AuditInputError, match=r"`rules`: .*none cannot be read: No such"
    ):
        read_own_rules(tmp_path / "none")


def test_own_rules_are_planned_beside_those_of_the_package(tmp_path: Path) -> None:
    """A broken one that is chosen is told; a name that is taken is refused."""
    (tmp_path / "mine.sql").write_text(f"{HEADER}SELECT 1")
    (tmp_path / "broken.sql").write_text(HEADER)
    figures = AuditOptions(future_hours=1)
    severities = {"mine": Severity.INFO}
    plan = plan_rules(
        tmp_path, ["custom", "freshness"], ["lastmod-all*"], severities, figures
    )
    fresh = {
        code for code, rule in list_rules().items() if rule.category == "Freshness"
    }
    gone = {code for code in fresh if code.startswith("lastmod-all")}
    assert gone
    assert plan.chosen.keys() == {"mine", "broken"} | (fresh - gone)
    queries = {rule.code: query for rule, query in load_rules()} | {"mine": "SELECT 1"}
    assert plan.queries == {
        code: queries[code] for code in plan.chosen if code in queries
    }
    assert plan.severities == {"mine": "info"}
    assert plan.ignored == {}
    reason = "there is no query below the header: write one SELECT"
    assert [(each.rule.code, each.reason, each.is_error) for each in plan.broken] == [
        ("broken", reason, True)
    ]
    assert plan.chosen["lastmod-future"].detects.startswith(
        "lastmod is more than 1 hour"
    )
    assert plan_rules(tmp_path, ["mine"], [], {}, figures).broken == []
    (tmp_path / "empty.sql").write_text(f"{HEADER}SELECT 1")
    with pytest.raises(AuditInputError) as refused:
        plan_rules(tmp_path, [], [], {}, figures)
    said = "there is a rule 'empty' already: give yours another name"
    assert str(refused.value) == said


def test_patterns_of_ignored_urls_leave_their_rules_chosen() -> None:
    """Each rule of a word has the pattern; a word without one takes its rules away."""
    figures = AuditOptions()
    words = ["url-*:/en/*", "url-fragment:/de/*", "hosts"]
    plan = plan_rules(None, [], words, {}, figures)
    codes = {code for code in list_rules() if code.startswith("url-")}
    assert plan.ignored.keys() == codes
    assert {code: len(found) for code, found in plan.ignored.items()} == {
        code: 1 + (code == "url-fragment") for code in codes
    }
    hosts = {code for code, rule in list_rules().items() if rule.category == "Hosts"}
    assert plan.chosen.keys() == list_rules().keys() - hosts
    (first,) = plan.ignored["url-asset"]
    assert first.search("https://a.example/en/x")


@pytest.mark.parametrize(
    ("select", "ignore", "severities", "said"),
    [
        (
            ["url-fragmen"],
            [],
            {},
            (
                "`select`: there is no rule, category or prefix 'url-fragmen':"
                " did you mean url-fragment?"
            ),
        ),
        (
            [],
            ["zzzz"],
            {},
            (
                "`ignore`: there is no rule, category or prefix 'zzzz':"
                " `sitemapreader audit --list-rules` lists all codes"
            ),
        ),
        (
            ["hreflang-"],
            [],
            {},
            (
                "`select`: there is no rule, category or prefix 'hreflang-':"
                " did you mean hreflang-*?"
            ),
        ),
        (
            ["zz*"],
            [],
            {},
            (
                "`select`: there is no rule, category or prefix 'zz*':"
                " `sitemapreader audit --list-rules` lists all codes"
            ),
        ),
        (
            [],
            [],
            {"emptyy": Severity.INFO},
            "`severities`: there is no rule 'emptyy': did you mean empty?",
        ),
        (
            [],
            ["empty:"],
            {},
            (
                "`ignore`: 'empty:' ends with a colon: write a pattern of URLs behind it, as in"
                " empty:/en/*, or leave it out"
            ),
        ),
    ],
)
def test_words_that_mean_no_rule(
    select: list[str], ignore: list[str], severities: dict[str, Severity], said: str
) -> None:
    """The nearest that does is named, or where all are listed."""
    with pytest.raises(AuditInputError) as refused:
        plan_rules(None, select, ignore, severities, AuditOptions())
    assert str(refused.value) == said


def test_a_word_is_a_code_before_it_is_anything_else() -> None:
    """A prefix is what stands before the star, and a category has any case."""
    rules = {
        code: make_rule(code, category, "error", code)
        for code, category in (
            ("urls", Category.HOSTS),
            ("urls-a", Category.URLS),
            ("b", Category.URLS),
        )
    }
    assert match_codes(rules, "urls") == {"urls"}
    assert match_codes(rules, "URLS") == {"urls-a", "b"}
    assert match_codes(rules, "urls*") == {"urls", "urls-a"}
    assert match_codes(rules, "*") == {*rules}
    assert match_codes(rules, "hosts") == {"urls"}


SEVEN = tuple("abcdefg")


@pytest.mark.parametrize(
    ("figures", "text", "said"),
    [
        ({"news_hours": 1}, "`news_hours`", "1 hour"),
        ({"news_hours": 4_000}, "over `news_hours`", "over 4,000 hours"),
        ({"dated_share": 0.995}, "`dated_share`", "100%"),
        ({"least_overlap": 0.25}, "`least_overlap`", "25%"),
        ({"large_bytes": 2_048}, "`large_bytes`", "2.0 KiB"),
        ({"many_parameters": 4_000}, "`many_parameters` or `x`", "4,000 or `x`"),
        ({"robots": SEVEN}, "`robots`", "a, b, c, d, e, f, g"),
        ({"robots": (*SEVEN, "h")}, "`robots`", "a, b, c, d, e, f, g and 1 others"),
        ({}, "`now`", "`now`"),
    ],
)
def test_a_figure_is_written_in_its_unit(
    figures: dict[str, Any], text: str, said: str
) -> None:
    """Seven words are named; a text that is no figure stays."""
    given = AuditOptions(**figures)
    assert fill_figures(text, given) == said
    name = text.removeprefix("over ").partition(" ")[0]
    if said != text:
        first = said.removesuffix(" or `x`")
        assert fill_figures(name, given, named=True) == (
            f"{first.removeprefix('over ')} ({name})"
        )


def test_a_rule_is_explained_in_a_few_lines() -> None:
    """Each text has its name, and lines of 88 characters; what is empty is left out."""
    long = "word " * 20 + "end"
    rule = make_rule(
        "my-rule",
        Category.CUSTOM,
        "warning",
        "Odd pages",
        detects="Over `news_hours`.",
        meaning=long,
        advice="Do.",
        source="https://a.example/,https://b.example/",
        needs="was,pages",
        **{"search-console": "Odd"},
    )
    assert explain_rule(rule) == (
        "my-rule: Odd pages (Custom, warning)\n"
        "  hits when: Over 48 hours (`news_hours`).\n"
        f"  why: {'word ' * 15}word\n    word word word word end\n"
        "  do: Do.\n"
        "  needs: `--pages`, `--was`\n"
        "  Search Console calls it: Odd\n"
        "  source: https://a.example/, https://b.example/\n"
    )
    bare = make_rule("b", Category.CUSTOM, "info", "Bare")
    assert explain_rule(bare) == "b: Bare (Custom, info)\n"
    rules = [
        bare,
        rule,
        make_rule("z", Category.READING, "error", "Last"),
        make_rule("a", Category.READING, "error", "First"),
    ]
    assert format_rules(rules) == (
        "Reading\n"
        f"  {'a':<30} error    First\n"
        f"  {'z':<30} error    Last\n"
        "Custom\n"
        f"  {'my-rule':<30} warning  Odd pages\n"
        f"  {'b':<30} info     Bare\n"
    )


# -- files

REPORT = "the JSON report of an audit"


@pytest.mark.parametrize(
    ("name", "is_list"),
    [
        *((f"a{suffix}", True) for suffix in (".txt", ".CSV", ".jsonl", ".parquet")),
        *((f"a{suffix}", True) for suffix in (".xml", ".rss.gz", ".txt.gz", ".log")),
        *((f"a{suffix}", False) for suffix in (".json", ".sql", ".html", "", ".gz")),
    ],
)
def test_a_list_of_urls_is_known_by_its_suffix(name: str, is_list: bool) -> None:
    """A report is none; the suffix of a packed file is the one before it."""
    assert is_url_list(name) is is_list


@pytest.mark.parametrize(
    ("content", "is_list"),
    [
        (b" \n[1]", True),
        (b'{"a": []}', False),
        (b" " * 999 + b"[", True),
        (b" " * 1_000 + b"[", False),
        (b"", False),
    ],
)
def test_a_json_file_is_a_list_if_it_is_an_array(
    tmp_path: Path, content: bytes, is_list: bool
) -> None:
    """Its first 1,000 bytes show that."""
    path = tmp_path / "a.JSON"
    path.write_bytes(content)
    assert is_url_list(path) is is_list
    assert not is_url_list(tmp_path / "none.json")
    assert not is_url_list(tmp_path)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    """A folder, a pipe and nothing at all each have their own remedy."""
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    check_file(tmp_path / "file")
    for name, said in (
        ("none", f"`was`: there is no file {tmp_path / 'none'}"),
        ("", f"`was`: {tmp_path} is a folder: name a file in it"),
        (
            "pipe",
            (
                f"`was`: {tmp_path / 'pipe'} is a pipe, and is to be read twice:"
                " write it into a file"
            ),
        ),
    ):
        with pytest.raises(AuditInputError) as refused:
            check_file(tmp_path / name, "`was`: ")
        assert str(refused.value) == said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", {"hits": {}, "schema": 1}, f"must be {REPORT}, got a baseline"),
        ("a.json", {"findings": 1, "hits": 1, "schema": 1}, f"is not {REPORT}"),
        ("a.json", {"schema": 1}, f"is not {REPORT}"),
        ("a.json", {"findings": [], "schema": 2}, "was written by another version"),
        ("a.json", {"findings": []}, f"is not {REPORT}"),
        ("a.json", {"findings": [], "schema": 1, "x": "\ud800"}, f"is not {REPORT}"),
        (
            "a.XLSX",
            {},
            "is a workbook, which is not read back, and not the JSON report of an audit",
        ),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, name: str, content: dict[str, Any], said: str
) -> None:
    """With the name of its kind, and how to write the right one."""
    path = tmp_path / name
    path.write_text(json.dumps(content))
    with pytest.raises(AuditInputError) as refused:
        read_json(path, "findings", "write one", lambda _: None)
    assert str(refused.value) == f"{path} {said}: write one"
    good = tmp_path / "good.json"
    good.write_text(json.dumps({"findings": 3, "schema": 7}))
    assert read_json(good, "findings", "", lambda found: found["findings"], 7) == 3


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("https://a.example/x", "https://b.example/y"),
        ("HTTPS://A.example/x", "https://b.example/y"),
        ("see (https://a.example/x), ok", "see (https://b.example/y), ok"),
        ("https://a.example/x/z", "https://a.example/x/z"),
        ("https://a.example/x;", "https://b.example/y;"),
    ],
)
def test_urls_of_a_text_are_moved(text: str, moved: str) -> None:
    """Whole URLs, without the brackets and commas around them."""
    moves = {"https://a.example/x": "https://b.example/y"}
    assert move_urls(text, moves) == moved
    assert move_urls(text, {}) == text


@pytest.mark.parametrize("value", [-1, 2**31, float("nan")])
def test_a_figure_is_a_number_that_a_query_takes(value: float) -> None:
    """From zero to the largest integer."""
    with pytest.raises(
        ValueError, match="examples must be a number from 0 to 2147483647"
    ):
        AuditOptions(examples=value)  # type: ignore[arg-type]
    assert AuditOptions(examples=0, near_urls=2**31 - 1).near_urls == 2**31 - 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sid", r"write several words as a list: \['sid'\]"),
        ((1,), "write a list of words"),
    ],
)
def test_words_are_a_list(words: Any, said: str) -> None:
    """A single text is most likely a mistake."""
    with pytest.raises(TypeError, match=said):
        AuditOptions(session_parameters=words)
    given: Any = ["a"]
    assert AuditOptions(session_parameters=given).session_parameters == ("a",)


# -- arguments that make no sense


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (
            {"limits": Limits(max_urls=3)},
            TypeError,
            "an audit cannot be combined with Limits(max_urls=...), because it judges all URLs",
        ),
        ({"pages": -1}, ValueError, 'pages must be a number or "all", got -1'),
        (
            {"pages": "some"},
            ValueError,
            "pages must be a number or \"all\", got 'some'",
        ),
        ({"pages": 2.5}, ValueError, 'pages must be a number or "all", got 2.5'),
        (
            {"was": [SITE], "pages": 0},
            ValueError,
            "`was` requires visits, but `pages` is 0: write another number",
        ),
        (
            {"rules": "none"},
            ValueError,
            "`rules`: none cannot be read: No such file or directory",
        ),
        (
            {"select": ["zzzz"]},
            ValueError,
            (
                "`select`: there is no rule, category or prefix 'zzzz':"
                " `sitemapreader audit --list-rules` lists all codes"
            ),
        ),
    ],
)
def test_arguments_that_make_no_sense(
    given: dict[str, Any], kind: type[Exception], said: str
) -> None:
    """They are refused before anything is read."""
    fetcher = MemoryFetcher({})
    with pytest.raises(kind) as refused:
        audit_sync(SITE, fetcher=fetcher, **given)
    assert str(refused.value) == said
    assert fetcher.requested == []
