"""Two reports are compared finding by finding, and said in four formats, to the letter."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader.audit.compare import (
    compare_audits,
    compare_losses,
    format_differences,
)
from sitemapreader.audit.values import Difference, Trend

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cases(50)  # nothing is audited
SITE = "https://example.org"


def finding(code: str, *urls: str, **more: Any) -> dict[str, Any]:
    """Return a finding whose hits are pages, or as many links as `details`."""
    details = more.pop("details", [""] * len(urls))
    hits = [
        {"url": url, "document": f"{SITE}/s.xml", "detail": detail}
        for url, detail in zip(urls, details, strict=True)
    ]
    rule = {
        "code": code,
        "needs": more.pop("needs", []),
        "unit": more.pop("unit", "URLs"),
    }
    return {
        "rule": rule,
        "severity": "error",
        "count": len(hits),
        "hits": hits,
        "rate": None,
        **more,
    }


def write(path: Path, *findings: dict[str, Any], **facts: Any) -> Path:
    said: dict[str, Any] = {"passed": [], "not_run": [], "urls": 9, **facts}
    for name in ("passed", "not_run"):
        said[name] = [{"code": code} for code in said[name]]
    said["not_run"] = [{"rule": rule} for rule in said["not_run"]]
    content = {"schema": 1, "findings": [*findings], "facts": said}
    path.write_text(json.dumps(content))
    return path


def tell(each: Difference) -> tuple[Any, ...]:
    return (each.trend, each.before, each.after, each.new, each.mended, each.still)


def compare(
    tmp_path: Path, before: tuple[Any, Any], after: tuple[Any, Any]
) -> tuple[Any, ...]:
    """Return the difference of two reports of one rule: finding and facts of each."""
    paths = [
        write(tmp_path / f"{number}.json", *each, **facts)
        for number, (each, facts) in enumerate((before, after))
    ]
    (found,) = compare_audits(*paths)
    return tell(found)


PASSED = {"passed": ["f"]}
NOT_RUN = {"not_run": ["f"]}
LOST = {"losses": ["timeout https://example.org/a.xml"]}
ONE, TWO = finding("f", "/a"), finding("f", "/a", "/b")
OTHER = finding("f", "/b")
CUT = {**TWO, "count": 7}
"""A report that does not name all hits."""
WHOLE: dict[str, Any] = {"losses": []}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (([ONE], {}), ([TWO], {}), (Trend.WORSE, 1, 2, ["/b"], [], 1)),
        (([TWO], {}), ([ONE], {}), (Trend.BETTER, 2, 1, [], ["/b"], 1)),
        (([ONE], {}), ([ONE], {}), (Trend.SAME, 1, 1, [], [], 1)),
        # another page is worse, although as many are wrong
        (([ONE], {}), ([OTHER], {}), (Trend.WORSE, 1, 1, ["/b"], ["/a"], 0)),
        (([], PASSED), ([ONE], {}), (Trend.NEW, 0, 1, ["/a"], [], 0)),
        (([ONE], {}), ([], PASSED), (Trend.FIXED, 1, 0, [], ["/a"], 0)),
        (([ONE], {}), ([], NOT_RUN), (Trend.UNKNOWN, 1, None, None, None, None)),
        (([ONE], {}), ([], {}), (Trend.UNKNOWN, 1, None, None, None, None)),
        (([], NOT_RUN), ([ONE], {}), (Trend.UNKNOWN, None, 1, None, None, None)),
        (([ONE], NOT_RUN), ([TWO], {}), (Trend.UNKNOWN, None, 2, None, None, None)),
        # not all hits are named
        (([CUT], {}), ([TWO], {}), (Trend.BETTER, 7, 2, None, None, None)),
        (([TWO], {}), ([CUT], {}), (Trend.WORSE, 2, 7, None, None, None)),
        (([CUT], {}), ([CUT], {}), (Trend.SAME, 7, 7, None, None, None)),
        # what was not read may have what seems mended
        (([TWO], WHOLE), ([ONE], LOST), (Trend.UNKNOWN, 2, 1, [], None, 1)),
        (([TWO], LOST), ([ONE], LOST), (Trend.BETTER, 2, 1, [], ["/b"], 1)),
        (([ONE], WHOLE), ([], PASSED | LOST), (Trend.UNKNOWN, 1, 0, [], None, 0)),
        (([ONE], WHOLE), ([TWO], LOST), (Trend.WORSE, 1, 2, ["/b"], None, 1)),
        (([ONE], WHOLE), ([ONE], LOST), (Trend.SAME, 1, 1, [], None, 1)),
        (([], PASSED | WHOLE), ([ONE], LOST), (Trend.NEW, 0, 1, ["/a"], None, 0)),
        # an earlier version did not name what it lost
        (
            ([TWO], {"complete": False}),
            ([ONE], LOST),
            (Trend.BETTER, 2, 1, [], ["/b"], 1),
        ),
    ],
)
def test_one_finding(
    tmp_path: Path, before: Any, after: Any, found: tuple[Any, ...]
) -> None:
    """New URLs are worse, fewer are better, and what was not run or read is not known."""
    assert compare(tmp_path, before, after) == found


def rated(share: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    rate = {"share": share, "low": low, "high": high}
    hits = {"count": 1, "hits": []}
    return {**finding("f", needs=["pages"]), **hits, "rate": rate, **more}


@pytest.mark.parametrize(
    ("before", "after", "trend"),
    [
        ((0.1, 0.0, 0.2), (0.3, 0.21, 0.4), Trend.WORSE),
        ((0.1, 0.0, 0.2), (0.3, 0.2, 0.4), Trend.SAME),
        ((0.3, 0.2, 0.4), (0.1, 0.0, 0.19), Trend.BETTER),
        ((0.3, 0.2, 0.4), (0.1, 0.0, 0.2), Trend.SAME),
    ],
)
def test_rates_differ_if_their_intervals_do_not_meet(
    tmp_path: Path, before: Any, after: Any, trend: Trend
) -> None:
    """Ends that are equal do meet."""
    facts: tuple[Any, Any] = ({}, {})
    found = compare(tmp_path, ([rated(*before)], facts[0]), ([rated(*after)], facts[1]))
    assert found == (trend, before[0], after[0], None, None, None)


def sampled(*urls: str, **more: Any) -> dict[str, Any]:
    tally = {"population": 900, "judged": len(urls), "exact": False, "sample": urls}
    return {"pages": {**tally, **more}, "passed": ["f"]}


PAGES: dict[str, Any] = {"needs": ["pages"], "unit": "pages"}


def test_of_two_samples_the_common_pages_count(tmp_path: Path) -> None:
    """A hit on a page that one audit did not judge is named by itself."""
    before = write(
        tmp_path / "0.json",
        finding("f", "/a", "/b", "/x", **PAGES),
        **sampled("/a", "/b", "/c", "/x"),
    )
    after = write(
        tmp_path / "1.json",
        finding("f", "/a", "/c", "/y", **PAGES),
        **sampled("/a", "/b", "/c", "/y"),
    )
    (found,) = compare_audits(before, after)
    assert found == Difference(
        code="f",
        severity="error",
        trend=Trend.WORSE,
        before=3,
        after=3,
        new=["/c"],
        mended=["/b"],
        still=1,
        only_before=["/x"],
        only_after=["/y"],
    )
    nothing = write(
        tmp_path / "2.json", finding("f", "/z", **PAGES), **sampled("/z", "/w")
    )
    (found,) = compare_audits(before, nothing)
    assert (found.new, found.mended, found.only_before) == (None, None, None)


def test_a_sample_without_a_hit_may_have_missed_some(tmp_path: Path) -> None:
    """Up to its bound; all pages that were judged without one have none."""
    some = write(tmp_path / "0.json", rated(0.3, 0.2, 0.4), **sampled())
    few = write(tmp_path / "1.json", **sampled(*map(str, range(400))))
    none = write(tmp_path / "2.json", **sampled("/a"))
    whole = write(tmp_path / "3.json", **sampled("/a", exact=True))
    unsampled = write(tmp_path / "4.json", **sampled("/a", sampled=False))
    trends = []
    for after in (few, none, whole, unsampled):
        (found,) = compare_audits(some, after)
        trends.append((found.trend, found.after))
    assert trends == [
        (Trend.BETTER, 0.0),
        (Trend.SAME, 0.0),
        (Trend.FIXED, 0),
        (Trend.FIXED, 0),
    ]


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        ("links", ["/a (/m)", "/a (/n)"]),
        ("images", ["/a (/m)", "/a (/n)"]),
        ("URLs", ["/a"]),
    ],
)
def test_hits_of_a_page_are_told_apart_by_their_details(
    tmp_path: Path, unit: str, told: list[str]
) -> None:
    """Links, images and videos are counted one by one, and all else by its page."""
    hit = finding("f", "/a", "/a", details=["/m", "/n"], unit=unit)
    before = write(tmp_path / "0.json", **PASSED)
    (found,) = compare_audits(before, write(tmp_path / "1.json", hit))
    assert (found.new, found.still) == (told, 0)


def test_pages_that_have_moved_keep_their_hits(tmp_path: Path) -> None:
    """By a list of old and new URLs; a hit of a whole sitemap has the URL of that."""
    pytest.importorskip("duckdb")
    moves = tmp_path / "moves.csv"
    moves.write_text(f"old,new\n{SITE}/a,{SITE}/b\n{SITE}/m,{SITE}/n\n")
    old = finding(
        "f", f"{SITE}/a", f"{SITE}/c", "", details=[f"{SITE}/m", "", ""], unit="links"
    )
    new = finding(
        "f", f"{SITE}/b", f"{SITE}/c", "", details=[f"{SITE}/n", "", ""], unit="links"
    )
    paths = [
        write(tmp_path / f"{n}.json", each, base_url=f"{SITE}/")
        for n, each in enumerate((old, new))
    ]
    (found,) = compare_audits(*paths, was=moves)
    assert tell(found) == (Trend.SAME, 3, 3, [], [], 3)
    (found,) = compare_audits(*paths)
    assert found.new == [f"{SITE}/b ({SITE}/n)"]


def test_the_worst_differences_come_first(tmp_path: Path) -> None:
    """By trend, then by severity, then by code; the severity is that of the later audit."""
    before = write(
        tmp_path / "0.json",
        finding("same", "/a"),
        {**finding("fixed-b", "/a"), "severity": "warning"},
        finding("fixed-a", "/a"),
        {**finding("graver", "/a"), "severity": "info"},
        passed=["new-b", "new-a", "new-c"],
    )
    after = write(
        tmp_path / "1.json",
        finding("same", "/a"),
        {**finding("new-b", "/a"), "severity": "info"},
        {**finding("new-a", "/a"), "severity": "info"},
        finding("new-c", "/a"),
        finding("graver", "/a", "/b"),
        passed=["fixed-a", "fixed-b"],
    )
    found = compare_audits(before, after)
    assert [(each.code, each.severity, each.is_worse) for each in found] == [
        ("new-c", "error", True),
        ("new-a", "info", True),
        ("new-b", "info", True),
        ("graver", "error", True),
        ("fixed-a", "error", False),
        ("fixed-b", "warning", False),
        ("same", "error", False),
    ]


@pytest.mark.parametrize(
    ("trend", "before", "after", "is_worse"),
    [
        (Trend.UNKNOWN, None, 1, True),
        (Trend.UNKNOWN, None, 0, False),
        (Trend.UNKNOWN, 1, 2, False),
        (Trend.UNKNOWN, 1, None, False),
    ],
)
def test_what_the_earlier_audit_did_not_look_for(
    trend: Trend, before: int | None, after: int | None, is_worse: bool
) -> None:
    """Hits of a rule that it did not run are worse, if there are any."""
    each = Difference(
        code="f", severity="error", trend=trend, before=before, after=after
    )
    assert each.is_worse is is_worse


def test_losses_name_five(tmp_path: Path) -> None:
    """The outcome of the later audit has them in order, and counts the rest."""
    losses = [f"timeout /{n}" for n in range(7)]
    before = write(tmp_path / "0.json", losses=losses[:1])
    after = write(tmp_path / "1.json", losses=losses[::-1])
    outcome = compare_losses(before, after)
    named = ", ".join(losses[1:6])
    assert str(outcome) == f"exit code 3: not read: {named} and 1 more"


DIFFERENCES = [
    Difference(
        code="many",
        severity="error",
        trend=Trend.WORSE,
        before=1,
        after=1_021,
        new=[f"/{n:02}" for n in range(21)],
        mended=["/m|x"],
        still=1_000,
        only_before=["/p"],
        only_after=["/q"],
    ),
    Difference(
        code="rate",
        severity="info",
        trend=Trend.BETTER,
        before=0.123,
        after=0.0,
        still=3,
    ),
    Difference(
        code="none", severity="warning", trend=Trend.UNKNOWN, before=None, after=2
    ),
]


def test_the_text_of_a_comparison() -> None:
    """It names twenty URLs of a kind, how many are left, and how many findings of each trend."""
    shown = [f"{'':9}new: /{n:02}" for n in range(20)]
    assert format_differences("text", DIFFERENCES).splitlines() == [
        f"worse    error    {'many':<30} {'1':>8} -> 1,021",
        *shown,
        f"{'':9}new: 1 more",
        f"{'':9}mended: /m|x",
        f"{'':9}judged only before: /p",
        f"{'':9}judged only after: /q",
        f"{'':9}still: 1,000",
        f"better   note     {'rate':<30} {'12%':>8} -> 0%",
        f"unknown  warning  {'none':<30} {'not run':>8} -> 2",
        "",
        "1 worse, 1 unknown, 1 better",
    ]
    assert format_differences("text", []) == "no findings in either audit\n"
    assert format_differences("text", DIFFERENCES).endswith("better\n")
    few = attrs.evolve(DIFFERENCES[0], new=DIFFERENCES[0].new[:20])  # type: ignore[index]
    assert "more" not in format_differences("text", [few])


def test_the_markdown_of_a_comparison() -> None:
    """A table, and the URLs of each finding that has some."""
    lines = format_differences("markdown", DIFFERENCES).splitlines()
    assert lines == [
        "1 worse, 1 unknown, 1 better.",
        "",
        "| | | rule | before | after |",
        "|---|---|---|---|---|",
        "| worse | error | `many` | 1 | 1,021 |",
        "| better | note | `rate` | 12% | 0% |",
        "| unknown | warning | `none` | not run | 2 |",
        "",
        "## many",
        "",
        *(f"- new: `/{n:02}`" for n in range(20)),
        "- new: 1 more",
        "- mended: `/m\\|x`",
        "- judged only before: `/p`",
        "- judged only after: `/q`",
        "- still: 1,000",
    ]
    assert format_differences("markdown", []) == "No findings in either audit.\n"


def test_the_tables_of_a_comparison() -> None:
    """CSV has a row for each URL, or one of a finding without any; JSON has all fields."""
    rows = [*csv.reader(io.StringIO(format_differences("csv", DIFFERENCES)))]
    many = ["worse", "error", "many", "1", "1021"]
    assert rows == [
        ["trend", "severity", "rule", "before", "after", "change", "url"],
        *([*many, "new", f"/{n:02}"] for n in range(21)),
        [*many, "mended", "/m|x"],
        [*many, "judged only before", "/p"],
        [*many, "judged only after", "/q"],
        ["better", "info", "rate", "0.123", "0.0", "", ""],
        ["unknown", "warning", "none", "", "2", "", ""],
    ]
    text = format_differences("json", DIFFERENCES[2:])
    assert text.startswith('{\n  "schema": 1,\n  "differences": [')
    found = json.loads(text)
    nothing = dict.fromkeys(("new", "mended", "still", "only_before", "only_after"))
    difference = {"code": "none", "severity": "warning", "trend": "unknown"}
    values = {"before": None, "after": 2, **nothing}
    assert found == {"schema": 1, "differences": [{**difference, **values}]}
