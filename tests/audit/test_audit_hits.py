"""Each page that a rule hits is known by its URL: to a baseline, to SARIF, and to `compare`."""

from __future__ import annotations

import csv
import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Severity
from sitemapreader.audit import (
    AuditOptions,
    RuleSettings,
    Trend,
    audit_sync,
    compare_audits,
)
from tests.audit.page_audits import WORDS, build, list_pages, page
from tests.support.auditing import limit_memory
from tests.support.commands import run
from tests.support.there import known
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

BASE = "https://example.org/"
GONE = [f"gone{number}" for number in range(25)]
FINE = [f"fine{number}" for number in range(60)]


def build_site(folder: Path, *, lost: list[str], listed: list[str]) -> Path:
    """Write a built site in which some listed pages have no file."""
    texts = {f"{name}.html": page(text=f"{WORDS} {name}") for name in listed}
    for name in lost:
        texts.pop(f"{name}.html", None)
        (folder / f"{name}.html").unlink(missing_ok=True)
    return build(folder, **texts, **{"sitemap.xml": list_pages(BASE, *listed)})


def judge(folder: Path, **arguments: Any) -> Any:
    """Audit the pages of a folder."""
    return audit_sync(
        folder, base_url=BASE, select=["page-missing", "page-noindex"], **arguments
    )


@pytest.mark.parametrize("new", [["zlost"], ["alost", "zlost"], ["alost"]])
def test_new_hits_come_first_in_every_format(new: list[str], tmp_path: Path) -> None:
    """A gate that fails names the page that made it fail, and not three old ones."""
    site = build_site(tmp_path / "site", lost=GONE, listed=GONE + FINE)
    known = tmp_path / "known.json"
    with judge(site) as result:
        result.write_baseline(known)
        assert all(each.new is None for each in result.findings[0].hits)
        assert "baselineState" not in result.format("sarif")
    build_site(site, lost=GONE + new, listed=GONE + FINE + new)
    with judge(site, baseline=known, figures=AuditOptions(examples=5)) as result:
        (finding,) = result.findings
        assert (finding.count, finding.new) == (25 + len(new), len(new))
        assert [hit.url for hit in finding.hits if hit.new] == [BASE + n for n in new]
        shown = [f"new: {BASE}{name}" for name in new]
        for name in ("text", "markdown", "junit"):
            text = result.format(name).replace("`", "")
            assert [line for line in shown if line in text] == shown
            assert text.index(shown[-1]) < text.index(f"{BASE}gone")
        report = result.format("html")
        assert report.count('<span class="new">new</span>') == len(new)
        results = json.loads(result.format("sarif"))["runs"][0]["results"]
        states = [each["baselineState"] for each in results]
        assert states == ["new"] * len(new) + ["unchanged"] * 25
        assert new[0] in results[0]["message"]["text"]
        result.write_hits(tmp_path / "hits.csv")
    rows = list(csv.DictReader((tmp_path / "hits.csv").read_text().splitlines()))
    assert [row["new"] for row in rows] == ["new"] * len(new) + [""] * 25
    assert {row["severity"] for row in rows} == {"error"}
    assert {row["title"] for row in rows} == {"Listed pages without a file"}


def test_a_page_of_sarif_has_a_fingerprint_of_its_own(tmp_path: Path) -> None:
    """However many examples a report shows, SARIF has all pages; a second one is not the first."""
    site = build_site(tmp_path / "site", lost=GONE, listed=GONE + FINE)
    prints = []
    for lost in (GONE, [*GONE, "more"]):
        build_site(site, lost=lost, listed=lost + FINE)
        with judge(site, figures=AuditOptions(examples=2)) as result:
            assert len(result.findings[0].examples) == 2
            results = json.loads(result.format("sarif"))["runs"][0]["results"]
        prints.append([str(each["partialFingerprints"]) for each in results])
        lines = {
            each["locations"][0]["physicalLocation"]["region"]["startLine"]
            for each in results
        }
        assert len(results) == len(lost)
        assert len(lines) == 1  # the sitemap of the site is one line
    before, after = map(set, prints)
    assert len(before) == len(GONE)
    assert len(after - before) == 1
    assert before < after


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("select", "severities", "said"),
    [
        (["page-noindex"], {}, True),
        (["page-missing"], {}, True),
        (["url-*", "was-*"], {}, False),
        (["page-noindex"], {"page-noindex": Severity.INFO}, False),
        (["page-missing"], {"page-missing": Severity.INFO}, False),
    ],
)
def test_pages_are_called_fine_only_by_rules_that_ran(
    select: list[str], severities: dict[str, Severity], said: bool, tmp_path: Path
) -> None:
    """Without an error or a warning among the rules that ran, no report counts faulty pages."""
    site = build_site(tmp_path, lost=["lost"], listed=["lost", *FINE])
    rules = RuleSettings(severities=severities)
    with audit_sync(site, base_url=BASE, select=select, rules=rules) as result:
        assert (known(result.facts.pages).faulty is not None) is said
        for name in ("text", "markdown", "html"):
            is_counted = re.search(
                "ha(s|ve) an error or a warning", result.format(name)
            )
            assert (is_counted is not None) is said


def test_the_hit_of_two_variants_is_the_one_to_remove(tmp_path: Path) -> None:
    """The URL with parameters is wrong, so `compare` names it as mended, and not the good one."""
    names = [tmp_path / f"{name}.json" for name in ("before", "after")]
    for path, listed in zip(names, (["a?utm_source=x", "a"], ["a"]), strict=True):
        (tmp_path / "s.xml").write_text(list_pages(BASE, *listed))
        with audit_sync(tmp_path / "s.xml", select=["variant-parameters"]) as result:
            result.write(path)
    (change,) = compare_audits(*names)
    assert change.mended == [f"{BASE}a?utm_source=x"]


@pytest.mark.parametrize("pages", [None, 40])
def test_a_swap_of_pages_is_found(pages: int | None, tmp_path: Path) -> None:
    """Two pages mended and two others broken are worse, of all pages or of the same sample."""
    site = build_site(tmp_path / "site", lost=GONE, listed=GONE + FINE)
    names = [str(tmp_path / f"{name}.json") for name in ("before", "after")]
    with judge(site, pages=pages) as result:
        result.write(names[0])
        hit = [each.url.removeprefix(BASE) for each in result.findings[0].hits]
        sample = known(result.facts.pages).sample or [BASE + name for name in FINE]
    fine = [url.removeprefix(BASE) for url in sample if "fine" in url]
    mended = hit[:2]
    broken = fine[:2]
    lost = [name for name in GONE if name not in mended] + broken
    build_site(site, lost=lost, listed=GONE + FINE)
    with judge(site, pages=pages) as result:
        result.write(names[1])
    (found,) = compare_audits(*names)
    assert found.trend is Trend.WORSE
    assert found.before == found.after
    assert found.new == sorted(BASE + name for name in broken)
    assert found.mended == sorted(BASE + name for name in mended)
    assert found.still == len(hit) - 2
    ran = run("compare", *names)
    assert ran.returncode == 5
    assert f"new: {BASE}{broken[0]}\n" in ran.stdout
    for name in ("d.json", "d.md", "d.txt", "d.csv"):
        output = tmp_path / name
        ran = run("compare", *names, "-o", str(output))
        assert (ran.returncode, ran.stdout) == (5, "")
        assert f"{BASE}{broken[0]}" in output.read_text()
    assert (
        "end it with .txt, .json, .md" in run("compare", *names, "-o", "x.pdf").stderr
    )
    # what is mended alone is better
    build_site(site, lost=[*lost, *mended], listed=GONE + FINE)
    with judge(site, pages=pages) as result:
        result.write(names[0])
    (found,) = compare_audits(names[0], names[1])
    assert (found.trend, found.new) == (Trend.BETTER, [])


def test_a_workbook_has_all_hits_and_the_pages(tmp_path: Path) -> None:
    """A sheet has each hit with its finding, new ones marked, and another sheet the pages."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    site = build_site(tmp_path / "site", lost=GONE[1:], listed=GONE + FINE)
    base = tmp_path / "known.json"
    with judge(site) as result:
        result.write_baseline(base)
    build_site(site, lost=GONE, listed=GONE + FINE)
    words = ("audit", str(site), "--base-url", BASE, "--select", "page-missing")
    book = tmp_path / "report.xlsx"
    ran = run(*words, "--baseline", str(base), "-o", str(book))
    assert ran.returncode == 5
    sheets = {
        sheet.title: [*sheet.iter_rows(values_only=True)]
        for sheet in openpyxl.load_workbook(book)
    }
    head, *rows = sheets["findings"]
    assert head == ("severity", "title", "code", "url", "detail", "document", "new")
    assert {(row[0], row[2]) for row in rows} == {("error", "page-missing")}
    assert {row[3]: row[6] for row in rows} == {
        BASE + name: "new" if name == GONE[0] else None for name in GONE
    }
    head, *rows = sheets["pages"]
    assert head[:2] == ("url", "status")
    assert {row[0] for row in rows} == {BASE + name for name in GONE + FINE}
    (tmp_path / "s.xml").write_text(list_pages(BASE, "a#x"))
    with audit_sync(tmp_path / "s.xml", select=["url-fragment"]) as result:
        result.write(book)
    assert openpyxl.load_workbook(book).sheetnames == ["findings"]


def write_links(site: Path, *dead: str) -> None:
    """Write a page that links to versions which do not exist."""
    links = "".join(
        f"<link rel=alternate hreflang={code} href={BASE}{name}>"
        for code, name in zip(("en", "de", "fr"), ("fine0", *dead), strict=False)
    )
    build(site, **{"fine0.html": page(links)})


def test_hits_of_pages_that_have_moved_stay_known(tmp_path: Path) -> None:
    """A table of old and new paths is heeded by `compare` and by a baseline, in details too."""
    site = build_site(
        tmp_path / "site", lost=["old/a", "old/b"], listed=["old/a", "old/b", *FINE]
    )
    names = [str(tmp_path / f"{name}.json") for name in ("before", "after")]
    base = tmp_path / "known.json"
    few: dict[str, Any] = {
        "base_url": BASE,
        "ignore": ["was-*"],
        "select": ["page-missing", "hreflang-target-*"],
    }
    write_links(site, "old/no")
    with audit_sync(site, **few) as result:
        result.write_baseline(base)
        result.write(names[0])
    shutil.rmtree(site)
    build_site(
        site,
        lost=["new/a", "new/b", "new/c"],
        listed=["new/a", "new/b", "new/c", *FINE],
    )
    write_links(site, "new/no")
    moved = tmp_path / "moved.csv"
    moved.write_text(
        "from,to\n" + "".join(f"/old/{name},/new/{name}\n" for name in ("a", "b", "no"))
    )
    with audit_sync(site, was=moved, baseline=base, **few) as result:
        assert {each.rule.code: each.new for each in result.findings} == {
            "page-missing": 1,
            "hreflang-target-broken": 0,
        }
        assert result.facts.mended == 0
        assert result.facts.old_pages is None
        result.write(names[1])
    trends = {each.code: each for each in compare_audits(*names, was=moved)}
    assert trends["hreflang-target-broken"].trend is Trend.SAME
    assert (trends["page-missing"].new, trends["page-missing"].mended) == (
        [f"{BASE}new/c"],
        [],
    )
    ran = run("compare", *names, "--was", str(moved))
    assert (ran.returncode, "mended" in ran.stdout) == (5, False)
    moved.write_text(f"url\n{BASE}old/a\n")
    assert "no column of new URLs" in run("compare", *names, "--was", str(moved)).stderr


def test_a_hit_is_known_in_whatever_sitemap(tmp_path: Path) -> None:
    """The generator splits its sitemap and adds a dead link: that one alone is new."""
    site = build_site(tmp_path / "site", lost=GONE, listed=GONE + FINE)
    known = tmp_path / "known.json"
    names = [str(tmp_path / f"{name}.json") for name in ("before", "after")]
    few: dict[str, Any] = {
        "base_url": BASE,
        "select": ["page-missing", "hreflang-target-*"],
    }
    write_links(site, "no")
    with audit_sync(site, **few) as result:
        result.write_baseline(known)
        result.write(names[0])
    (site / "sitemap.xml").unlink()
    half = GONE + FINE[:20]
    build(site, **{"sitemap-0.xml": list_pages(BASE, *half)})
    build(site, **{"sitemap-1.xml": list_pages(BASE, *FINE[20:])})
    indexed = "".join(f"Sitemap: {BASE}sitemap-{number}.xml\n" for number in (0, 1))
    build(site, **{"robots.txt": indexed})
    write_links(site, "no", "none")
    with audit_sync(site, baseline=known, **few) as result:
        new = [each for each in result.findings if each.new]
        assert [each.new for each in new] == [1]
        assert f"{BASE}none" in new[0].examples[0].detail
        assert result.facts.mended == 0
        result.write(names[1])
    trends = {each.code: each for each in compare_audits(*names)}
    assert trends["page-missing"].trend is Trend.SAME
    (changed,) = (each for each in trends.values() if each.trend is Trend.WORSE)
    assert [hit.split()[:2] for hit in changed.new or []] == [
        [f"{BASE}fine0", f"({BASE}none"]
    ]


def link_versions(**names: str) -> str:
    """Write a page that names its versions in languages, one a line."""
    return page(
        "".join(
            f"\n<link rel=alternate hreflang={code} href={BASE}{name}>"
            for code, name in names.items()
        )
    )


@pytest.mark.parametrize("is_staging", [False, True])
def test_a_language_hit_has_the_file_and_the_line_to_mend(
    tmp_path: Path, *, is_staging: bool
) -> None:
    """It is the line of that link, or the page that lacks one; a noindex of all hides no page."""
    texts = {
        "en/code": link_versions(en="en/code", enx="en/code"),
        "en/one": link_versions(en="en/one", de="de/one"),
        "de/one": page(),
        "en/dead": link_versions(en="en/dead", de="de/none"),
        "en/half": link_versions(en="en/half", de="de/half"),
        "de/half": link_versions(de="de/half", en="en/half"),
    }
    site = build(tmp_path, **{f"{name}.html": text for name, text in texts.items()})
    build(site, **{"sitemap.xml": list_pages(BASE, *texts)})
    if is_staging:
        build(site, _headers="/*\n  X-Robots-Tag: noindex\n")
    with audit_sync(site, base_url=BASE, select=["hreflang"]) as result:
        found = {
            each.rule.code: [
                (hit.file.removeprefix(f"{site}/"), hit.file_line) for hit in each.hits
            ]
            for each in result.findings
        }
    assert found.pop("hreflang-no-x-default") == [
        ("en/code.html", 2),
        ("en/one.html", 2),
    ]
    assert found == {
        "hreflang-invalid-code": [("en/code.html", 3)],
        "hreflang-conflict": [("en/code.html", 3)],
        "hreflang-no-return-link": [("de/one.html", None)],
        "hreflang-target-broken": [("en/dead.html", 3)],
    }


def test_the_reason_for_no_languages_is_true(tmp_path: Path) -> None:
    """A page that may not be indexed has links to languages, and is not called one without."""
    text = link_versions(en="a").replace(
        "<title>", "<meta name=robots content=noindex><title>"
    )
    site = build(tmp_path, **{"a.html": text, "b.html": page(), "c.html": page()})
    build(site, **{"sitemap.xml": list_pages(BASE, "a", "b", "c")})
    with audit_sync(site, base_url=BASE, select=["hreflang-conflict"]) as result:
        (left_out,) = result.facts.not_run
    assert "no visited page that may be indexed" in left_out.reason


def test_a_finding_that_the_earlier_audit_could_not_have_fails(tmp_path: Path) -> None:
    """Old URLs were not checked before, and some are lost: the gate does not let them through."""
    site = build_site(tmp_path / "site", lost=[], listed=FINE)
    names = [str(tmp_path / f"{name}.json") for name in ("before", "after")]
    for path, was in zip(names, (None, [f"{BASE}gone"]), strict=True):
        with audit_sync(site, base_url=BASE, select=["was-lost"], was=was) as result:
            result.write(path)
    (found,) = compare_audits(*names)
    assert (found.trend, found.before, found.after) == (Trend.UNKNOWN, None, 1)
    assert found.is_worse
    (back,) = compare_audits(*names[::-1])
    assert not back.is_worse
    for order, code in ((names, 5), (names[::-1], 0)):
        assert run("compare", *order, "--fail-on", "error").returncode == code
    assert run("compare", *names, "--fail-on", "never").returncode == 0


def test_codes_of_languages_are_told_as_they_are_written(tmp_path: Path) -> None:
    """A site can be searched for the code in a detail, and each report has it."""
    texts = {
        name: page(
            "".join(
                f"<link rel=alternate hreflang={code} href={BASE}{code}>"
                for code in ("en-GB", "zh-Hant", "en-UK")
            )
        )
        for name in ("en-GB", "zh-Hant")
    }
    site = build(tmp_path, **{f"{name}.html": text for name, text in texts.items()})
    build(site, **{"sitemap.xml": list_pages(BASE, *texts)})
    with audit_sync(site, base_url=BASE, select=["hreflang"]) as result:
        found = {each.rule.code: each.hits[0].detail for each in result.findings}
        pairs = {(each.page, each.target) for each in result.facts.languages}
    assert found["hreflang-invalid-code"].startswith("en-UK: ")
    assert found["hreflang-no-x-default"] == "en-GB, en-UK, zh-Hant (2 URLs)"
    assert ("en-GB", "zh-Hant") in pairs


def test_a_record_that_was_dropped_is_one_of_those_that_were_read(
    tmp_path: Path,
) -> None:
    """The share of an Issue of records counts dropped records as well."""
    locs = [f"{BASE}{number}" for number in range(30)]
    locs += [f"{BASE}{{{{ page{number} }}}}" for number in range(40)]
    (tmp_path / "sitemap.xml").write_bytes(urlset(*locs))
    with audit_sync(tmp_path, base_url=BASE, select=["template"]) as result:
        (finding,) = result.findings
    assert (finding.count, finding.of) == (40, 70)


RULE = """-- title: URLs
-- severity: warning
-- unit: URLs
-- meaning: none
-- advice: none
SELECT u.loc AS url, '{}' AS detail, u.document
FROM url_row u JOIN page p USING (loc) LEFT JOIN document d ON d.id = u.document
"""
"""A rule that needs some memory, for its joins; the number makes it another query."""


def test_files_need_no_more_memory_for_more_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules of each page are found one after the other, in the memory of one of them."""
    site = build_site(tmp_path / "public", lost=[], listed=FINE[:3])
    rules = build(
        tmp_path / "rules",
        **{f"own-{number}.sql": RULE.format(number) for number in range(80)},
    )
    limit_memory(monkeypatch, 8)
    with audit_sync(site, base_url=BASE, select=["custom"], rules=rules) as result:
        assert result.write_pages(tmp_path / "pages.jsonl") == 3
        result.write(tmp_path / "report.xlsx")
    row, *_ = map(json.loads, (tmp_path / "pages.jsonl").read_text().splitlines())
    assert len(row["findings"].split()) == 80


def test_a_query_that_needs_too_much_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No advice about the disk, which has room."""
    site = build_site(tmp_path / "public", lost=[], listed=FINE[:3])
    large = RULE.format("' || repeat(loc, 1000000) || '")
    rules = build(tmp_path / "rules", **{"own.sql": large})
    limit_memory(monkeypatch, 8)
    with pytest.raises(OSError, match=r"more than 16 MB of memory.*`select`") as error:
        audit_sync(site, base_url=BASE, select=["custom"], rules=rules)
    assert "disk" not in str(error.value)
