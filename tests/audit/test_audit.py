"""Audits as a whole: selection, baselines, lists, formats, hostile content, and what goes wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sitemapreader import FetchOptions, IssueCode, Limits, Severity
from sitemapreader._types.errors import FetchError
from sitemapreader.audit import Audit, AuditOptions, RuleSettings, audit, audit_sync
from sitemapreader.audit.database import AuditDatabase
from sitemapreader.audit.models import AuditInputError
from sitemapreader.audit.report.outcome import find_outcome
from sitemapreader.audit.sources import load_known
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from tests.audit.audits import check_sarif
from tests.support.auditing import (
    HOST,
    NOW,
    index,
    limit_memory,
    page,
    pages,
    served,
    site,
    urlset,
)
from tests.support.commands import run
from tests.support.grouping import grouped
from tests.support.there import known

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = page("/a#1") + page("/b#2") + page("/Upper")
FIGURES = AuditOptions(now=NOW)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    (made / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml")
    (made / "s.xml").write_bytes(urlset(RECORDS))
    return made


@pytest.fixture(scope="module")
def audited(folder: Path) -> Iterator[Audit]:
    """Audit the folder with all rules, once for the tests that only look at the result."""
    with audit_sync(folder, figures=FIGURES) as result:
        yield result


def codes(result: Audit) -> dict[str, int]:
    return {finding.rule.code: finding.count for finding in result.findings}


def audit_memory(documents: dict[str, Any], **arguments: Any) -> Audit:
    """Audit the shop, served from memory."""
    fetcher = site(RECORDS, documents=documents).make_fetcher()
    arguments.setdefault("figures", FIGURES)
    with audit_sync(f"{HOST}/", fetcher=fetcher, **grouped(arguments)) as result:
        return result


# -- selection and severities


def test_rules_are_chosen(folder: Path) -> None:
    """Codes, categories and prefixes choose; what is ignored is not run, whatever chose it."""
    with audit_sync(
        folder, select=["urls"], ignore=["url-f*"], figures=FIGURES
    ) as result:
        assert codes(result) == {"url-uppercase": 1}
        assert "url-fragment" not in {rule.code for rule in result.facts.passed}


def test_an_unknown_code_names_the_nearest(folder: Path) -> None:
    """A code that is no rule is an error, which names the one that was meant."""
    with pytest.raises(AuditInputError, match="did you mean url-fragment"):
        audit_sync(folder, select=["url-fragmnt"])
    with pytest.raises(AuditInputError, match="did you mean url-fragment"):
        audit_sync(
            folder, rules=RuleSettings(severities={"url-fragmet": Severity.INFO})
        )
    hiding: Any = {"unique": True}
    with pytest.raises(TypeError, match="nothing, because an audit judges all URLs"):
        audit_sync(folder, **hiding)
    with pytest.raises(TypeError, match="max_urls"):
        audit_sync(folder, limits=Limits(max_urls=3))


def test_settings_change_a_severity(folder: Path) -> None:
    """The severity of a code is that of the settings; the gravest finding stands first."""
    graver = RuleSettings(severities={"url-uppercase": Severity.ERROR})
    with audit_sync(folder, select=["urls"], rules=graver, figures=FIGURES) as result:
        assert [(f.rule.code, f.severity) for f in result.findings] == [
            ("url-uppercase", "error"),
            ("url-fragment", "warning"),
        ]


# -- the result


def test_the_database_can_be_asked(audited: Audit) -> None:
    """Queries, hits and a table of findings come from the result while it is open."""
    rows = audited.sql(
        "SELECT path FROM url WHERE path = $wanted", {"wanted": "/Upper"}
    )
    assert rows.fetchall() == [("/Upper",)]
    hits = sorted(audited.hits("url-fragment").fetchall())
    assert hits[0] == ("url-fragment", f"{HOST}/a#1", "", f"{HOST}/s.xml")
    with pytest.raises(ValueError, match="was not run"):
        audited.hits("response-slow")


@pytest.mark.slow
def test_findings_become_a_table(audited: Audit) -> None:
    """A table of the findings is made by pandas, as docs/audit.md says."""
    pd = pytest.importorskip("pandas")
    frame = pd.json_normalize(audited.describe()["findings"])
    assert dict(zip(frame["rule.code"], frame["count"], strict=True)) == codes(audited)


async def test_an_audit_runs_inside_an_event_loop(folder: Path) -> None:
    """`audit_sync` works in a notebook, and `audit` is awaited."""
    one = audit_sync(folder, select=["urls"], figures=FIGURES)
    with one, await audit(folder, select=["urls"], figures=FIGURES) as other:
        assert codes(one) == codes(other) == {"url-fragment": 2, "url-uppercase": 1}


def test_a_database_is_kept(folder: Path, tmp_path: Path) -> None:
    """A database that is named stays, is replaced by the next audit, and no other file is."""
    path = tmp_path / "site.duckdb"
    for _ in range(2):
        with audit_sync(folder, select=["url-fragment"], database=path):
            pass
        with duckdb.connect(str(path), read_only=True) as kept:
            assert kept.execute("SELECT count(*) FROM url").fetchone() == (3,)
    other = tmp_path / "thesis.txt"
    other.write_text("years of work")
    with pytest.raises(AuditInputError, match="not an audit database"):
        audit_sync(folder, database=other)
    assert other.read_text() == "years of work"


def test_hits_are_written(folder: Path, tmp_path: Path) -> None:
    """All hits come as Parquet, CSV and JSON lines, compressed or not."""
    with audit_sync(folder, select=["urls"], figures=FIGURES) as result:
        for name in ("h.parquet", "h.csv", "h.jsonl", "h.csv.gz"):
            assert result.write_hits(tmp_path / name) == 3
        with pytest.raises(AuditInputError, match=r"end the name.*a workbook has all"):
            result.write_hits(tmp_path / "h.xlsx")
    rows = pq.read_table(tmp_path / "h.parquet").to_pylist()
    assert [
        json.loads(line) for line in (tmp_path / "h.jsonl").read_text().splitlines()
    ] == rows
    text = (tmp_path / "h.csv").read_text()
    assert list(csv.DictReader(io.StringIO(text))) == rows
    assert gzip.decompress((tmp_path / "h.csv.gz").read_bytes()).decode() == text
    assert not (tmp_path / "h.xlsx").exists()


# -- baselines


def test_only_new_hits_count_as_new(tmp_path: Path) -> None:
    """What a baseline has is not new; another URL of the same rule is."""
    (tmp_path / "s.xml").write_bytes(urlset(page("/a#1")))
    known = tmp_path / "known.json"
    with audit_sync(tmp_path / "s.xml", select=["urls"], figures=FIGURES) as first:
        first.write_baseline(known)
    (tmp_path / "s.xml").write_bytes(urlset(page("/b#2") + page("/a#1") + page("/C")))
    with audit_sync(
        tmp_path / "s.xml", select=["urls"], figures=FIGURES, baseline=known
    ) as then:
        assert {f.rule.code: (f.count, f.new) for f in then.findings} == {
            "url-fragment": (2, 1),
            "url-uppercase": (1, 1),
        }
        assert (then.facts.baseline, then.facts.mended) == (1, 0)
        said = "2 new (1 warning, 1 note), 1 known, 0 mended"
        assert f"\nhits: {said}; findings: 1 warning, 1 note; " in then.format("text")
        assert f"; compared with the baseline: {said}\n" in then.format("markdown")
    (tmp_path / "s.xml").write_bytes(urlset(page("/b#2")))
    for ignored, mended in (((), 1), (("url-fragment",), 0)):
        with audit_sync(
            tmp_path / "s.xml", select=["urls"], ignore=ignored, baseline=known
        ) as then:
            assert then.facts.mended == mended
    (tmp_path / "s.xml").write_bytes(urlset(page("/b#2") + page("/a#1") + page("/C")))
    # people may strike out what they have mended, and note what they know
    content = json.loads(known.read_text())
    content["hits"] = {"url-uppercase": [f"{HOST}/C"]}
    known.write_text(json.dumps(content))
    with audit_sync(
        tmp_path / "s.xml", select=["urls"], figures=FIGURES, baseline=known
    ) as then:
        assert {f.rule.code: f.new for f in then.findings} == {
            "url-fragment": 2,
            "url-uppercase": 0,
        }


def test_hits_are_ignored_by_the_pattern_of_their_urls(tmp_path: Path) -> None:
    """A rule, a category or an Issue may be ignored for some URLs, and each report counts that."""
    records = page("/en/A#1", "never") + page("/fr/B#1", "never") + page("/fr/C#1")
    (tmp_path / "s.xml").write_bytes(urlset(records))
    known = tmp_path / "known.json"
    select = ["url-*", "lastmod"]
    with audit_sync(tmp_path / "s.xml", select=select) as result:
        result.write_baseline(known)
    ignore = ["url-fragment:/en/*", "reading:/en/*", f"url-upper*:{HOST}/*"]
    with audit_sync(
        tmp_path / "s.xml", select=select, ignore=ignore, baseline=known
    ) as result:
        assert {each.rule.code: each.count for each in result.findings} == {
            "lastmod": 1,
            "url-fragment": 2,
        }
        assert result.facts.ignored == {
            "lastmod": 1,
            "url-fragment": 1,
            "url-uppercase": 3,
        }
        assert result.facts.mended == 0
        assert result.hits("url-fragment").fetchall() == [
            ("url-fragment", f"{HOST}/fr/{name}#1", "", result.report.documents[0].url)
            for name in ("B", "C")
        ]
        for name in ("text", "markdown", "html"):
            plain = re.sub(r"<[^>]+>|`", "", result.format(name))
            assert "its ignored by their URLs: 1 of lastmod, 1 of url-fragment" in plain
    (tmp_path / "sitemapreader.toml").write_text(
        '[audit]\nselect = ["url-fragment"]\nignore = ["url-fragment:/en/", "url-fragment:/fr/"]\n'
    )
    done = run("audit", "s.xml", "--fail-on", "info", cwd=tmp_path)
    assert done.returncode == 0
    assert "hits ignored by their URLs: 3 of url-fragment" in done.stdout


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("url-fragment:", "write a pattern of URLs behind it"),
        ("url-fragment:[", "is not a regular expression"),
        ("url-fragmnt:/en/*", "did you mean"),
    ],
)
def test_a_wrong_pattern_of_ignored_urls(word: str, message: str, folder: Path) -> None:
    """It is refused, with what to write."""
    with pytest.raises(AuditInputError, match=message):
        audit_sync(folder, ignore=[word])


def test_a_large_baseline_names_all_its_hits(tmp_path: Path) -> None:
    """One of very many hits is swapped for another: that one is new, and named."""
    numbers = range(1_100)
    known = tmp_path / "known.json"
    for name, lost in (("s", 1_050), ("t", 30)):  # the sitemap has another name, too
        path = tmp_path / f"{name}.xml"
        path.write_bytes(urlset("".join(page(f"/{n}#x") for n in numbers if n != lost)))
    few: dict[str, Any] = {"select": ["url-fragment"], "figures": FIGURES}
    with audit_sync(tmp_path / "s.xml", **few) as first:
        assert first.write_baseline(known) == 1_099
    with audit_sync(tmp_path / "t.xml", baseline=known, **few) as then:
        assert then.findings[0].new == 1
        assert f"new: {HOST}/1050#x" in then.format("text")
        assert then.facts.mended_hits == {"url-fragment": [f"{HOST}/30#x"]}
        for name in ("text", "markdown", "html"):
            said = then.format(name)
            assert f"{HOST}/30#x" in said[said.casefold().index("mended") :]


def test_hits_without_names_are_counted(tmp_path: Path) -> None:
    """A baseline has the number of the Issues that a sitemap has beyond ten."""
    known = tmp_path / "known.json"
    few: dict[str, Any] = {"select": ["priority"], "baseline": None}
    for number, new in ((30, None), (30, 0), (33, 3), (9, 0)):
        listed = (
            f"<url><loc>{HOST}/{n}</loc><priority>x</priority></url>"
            for n in range(50, 50 + number)
        )
        (tmp_path / "s.xml").write_bytes(urlset("".join(listed)))
        with audit_sync(tmp_path / "s.xml", **few) as result:
            assert (result.findings[0].count, result.findings[0].new) == (number, new)
            if new is None:
                assert result.write_baseline(known) == 30
        few["baseline"] = known


def known_hits(hits: str, counts: str = "5") -> str:
    named = f'"hits": {{"url-asset": {hits}}}'
    return f'{{"schema": 3, {named}, "counts": {{"empty": {{"": {counts}}}}}}}'


BAD_BASELINES = {
    **{text: text for text in ("", "[]", '{"schema": 1, "findings": {}}', "\udcff")},
    "deep": "[" * 99_999,
    "long number": f'{{"schema": {"9" * 5_000}}}',
    "earlier": '{"schema": 2, "hits": {"url-asset": {"s.xml": ["a"]}}}',
    **{
        hits: known_hits(hits)
        for hits in ("5", '"a"', "{}", "[null]", "[1]", '["\\ud800"]')
    },
    **{number: known_hits("[]", number) for number in ("-1", "true", "1e3")},
}


@pytest.mark.cases(16)
@pytest.mark.parametrize("text", BAD_BASELINES)
def test_a_file_that_is_no_baseline(text: str, folder: Path, tmp_path: Path) -> None:
    """A baseline that cannot be read is an error before anything is fetched."""
    path = tmp_path / "known.json"
    path.write_text(BAD_BASELINES[text], errors="surrogateescape")
    with pytest.raises(AuditInputError, match="write a new one with `write_baseline`"):
        audit_sync(folder, baseline=path)


# -- known URLs


LISTS: dict[str, bytes] = {
    "list.txt": f"{HOST}/a\n {HOST}/b \n# no URL\n".encode(),
    "gsc.csv.gz": gzip.compress(
        f'Top pages,Clicks\n{HOST}/a,"1,000"\n"{HOST}/b",2\n'.encode()
    ),
    "crawl.csv": f"\ufeffStatus;Address\n200;{HOST}/a\n404;{HOST}/b\n".encode(),
    "excel.csv": f"URL\tTitle\n{HOST}/a\tA\n{HOST}/b\tB\n".encode("utf-16"),
    "table.tsv": f"id\tpage\n1\t{HOST}/a\n2\t{HOST}/b\n".encode(),
    "a[1]*?.csv": f'url,title\n{HOST}/a,"one, two;\nthree ""x"""\n\n{HOST}/b\n'.encode(),
    "columns.CSV": f'loc,"URL, absolute",URL\n/a,x,{HOST}/a\n/b,x,{HOST}/b,more\n'.encode(),
    "mixed.ndjson.gz": gzip.compress(
        f'{{"URL ": "{HOST}/a"}}\n[1]\n{{"x": 2}}\n\n"{HOST}/b"\n{{"Page": "{HOST}/b"}}\n'.encode()
    ),
    "list": f"{HOST}/a\r\n\t{HOST}/b\n\n{HOST}/b#c\r\n".encode(),  # of two systems
}


@pytest.fixture(scope="module")
def database() -> Iterator[AuditDatabase]:
    shared = AuditDatabase()
    yield shared
    shared.close()


def load(database: AuditDatabase, source: Any) -> set[str]:
    database.ask("DELETE FROM known")
    load_known(database, source)
    return {loc for (loc,) in database.ask("SELECT loc FROM known")}


@pytest.mark.cases(10)
@pytest.mark.parametrize("name", LISTS)
def test_lists_are_read(name: str, database: AuditDatabase, tmp_path: Path) -> None:
    """Lists of crawlers, logs and Search Console are read as they come."""
    (tmp_path / name).write_bytes(LISTS[name])
    assert load(database, tmp_path / name) == {f"{HOST}/a", f"{HOST}/b"}


def test_a_list_in_parquet(database: AuditDatabase, tmp_path: Path) -> None:
    """A Parquet file is read by the name of its column."""
    pq.write_table(
        pa.table({"n": [1, 2], "Page": [f"{HOST}/a", None]}), tmp_path / "l.parquet"
    )
    assert load(database, str(tmp_path / "l.parquet")) == {f"{HOST}/a"}


BAD_LISTS = {
    "no column of URLs": (
        "l.csv",
        b"Name,Clicks\nx,1\n",
        r"no column of URLs.*\(Name, Clicks\)",
    ),
    "no URL": ("l.txt", b"hello\n", "has no URL"),
    "another suffix": ("l.xlsx", b"PK", "end the name with"),
    "cut gzip": ("l.txt.gz", gzip.compress(b"x" * 999)[:20], "cannot be read"),
    "damaged gzip": (
        "l.txt.gz",
        b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 99,
        "cannot be read",
    ),
    "no Parquet": ("l.parquet", b"PAR1", "cannot be read"),
    "another encoding": ("l.txt", b"\xe4\n" * 9, "cannot be read"),
    "deep JSON": ("l.jsonl", b"[" * 99_999, "cannot be read: .*JSON"),
    "endless line": (
        "l.csv.gz",
        gzip.compress(b"url\n" + b"x" * 3 * 2**20),
        "(size|line)",
    ),
}


@pytest.mark.cases(10)
@pytest.mark.parametrize("what", BAD_LISTS)
def test_a_list_that_cannot_be_read(
    what: str, database: AuditDatabase, tmp_path: Path
) -> None:
    """A list that is none says what is wrong, and what to do; one line has 2 MiB at most."""
    name, content, message = BAD_LISTS[what]
    with pytest.raises(AuditInputError, match="there is no file"):
        load_known(database, tmp_path / name)
    (tmp_path / name).write_bytes(content)
    database.ask("DELETE FROM known")
    with pytest.raises(AuditInputError, match=message):
        load_known(database, tmp_path / name)


# -- rules of one's own


def own_rule(folder: Path, text: str, name: str = "no-price") -> Path:
    (folder / "rules").mkdir(exist_ok=True)
    (folder / "rules" / f"{name}.sql").write_text(text)
    return folder / "rules"


GOOD = """-- title: Pages without a price
-- severity: error
-- meaning: They sell nothing.
SELECT loc AS url, path AS detail, document
FROM url
WHERE path = '/Upper'
"""


def test_a_rule_of_ones_own(folder: Path, tmp_path: Path) -> None:
    """A file of SQL is a rule like the others."""
    rules = own_rule(tmp_path, GOOD)
    with audit_sync(folder, rules=rules, select=["custom"], figures=FIGURES) as result:
        (finding,) = result.findings
        assert (finding.rule.code, finding.severity, finding.count) == (
            "no-price",
            "error",
            1,
        )
        assert finding.examples[0].detail == "/Upper"


HEAD = "-- title: x\n-- severity: info\n"
BROKEN = {
    "a column that is not there": GOOD.replace("path", "pth"),
    "no title": "-- severity: info\nSELECT 1",
    "a word that is none": "-- title: x\n-- severity: grave\nSELECT 1",
    "a key that is none": "-- title: x\n-- severity: info\n-- colour: red\nSELECT 1",
    "no query": HEAD,
    "other columns": f"{HEAD}SELECT 1 AS one",
    "a cast": GOOD.replace("path AS", "loc::INTEGER AS").replace("path =", "loc >"),
}


def test_a_broken_rule_hides_no_other(folder: Path, tmp_path: Path) -> None:
    """A rule that fails is not run, with its error; the others have their results."""
    rules = own_rule(tmp_path, GOOD, "good-rule")
    own_rule(tmp_path, f'{HEAD}FROM rule."url-fragment"', "of-another")
    for number, text in enumerate(BROKEN.values()):
        own_rule(tmp_path, text, f"broken-{number}")
    with audit_sync(
        folder, rules=rules, select=["custom", "urls"], figures=FIGURES
    ) as result:
        hits = {"good-rule": 1, "of-another": 2, "url-fragment": 2, "url-uppercase": 1}
        assert codes(result) == hits
        failed = {each.rule.code: each for each in result.facts.not_run}
        assert failed.keys() == {f"broken-{number}" for number in range(len(BROKEN))}
        assert all(each.is_error and each.reason for each in failed.values())


def test_rules_cannot_take_the_names_of_others(folder: Path, tmp_path: Path) -> None:
    """A rule of one's own has a code of its own, and a folder without rules is a mistake."""
    with pytest.raises(AuditInputError, match="a rule 'url-asset' already"):
        audit_sync(folder, rules=own_rule(tmp_path, GOOD, "url-asset"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(AuditInputError, match="there is no rule in"):
        audit_sync(folder, rules=tmp_path / "empty")
    with pytest.raises(AuditInputError, match="cannot be read"):
        audit_sync(folder, rules=tmp_path / "none")


READING = {
    "a text": "SELECT content AS url, '' AS detail, NULL AS document FROM read_text('{}')",
    "a name": "SELECT line AS url, '' AS detail, NULL AS document FROM '{}' AS t(line)",
    "a table": "SELECT column0 AS url, '' AS detail, NULL AS document FROM read_csv('{}')",
    "a folder": "SELECT file AS url, '' AS detail, NULL AS document FROM glob('{}*')",
    "another statement": (
        "SELECT loc AS url, path AS detail, document FROM url WHERE 1 = 1) AS a; "
        "COPY url TO '{}'; SELECT * FROM (SELECT 1"
    ),
    "all": (
        "SELECT 1) AS a; SET enable_external_access = true; "
        "SELECT content AS url, '' AS detail, NULL AS document FROM (SELECT * FROM read_text('{}')"
    ),
}


@pytest.mark.parametrize("database", [None, "kept.duckdb"])
def test_rules_read_no_file(
    database: str | None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that may have come with a pull request reads and writes nothing but the audit."""
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n", "utf-8")
    rules = own_rule(tmp_path, GOOD, "good-rule")
    for number, query in enumerate(READING.values()):
        own_rule(tmp_path, f"{HEAD}{query.format(secret)}", f"reading-{number}")
    with audit_sync(
        folder, rules=rules, select=["custom"], figures=FIGURES, database=database
    ) as result:
        assert codes(result) == {"good-rule": 1}
        assert [each.is_error for each in result.facts.not_run] == [True] * len(READING)
        assert "hunter2" not in result.format("json")
        assert result.write_hits(tmp_path / "hits.csv") == 1
    assert secret.read_text("utf-8") == "password\nhunter2\n"


# -- sites that cannot be read


def refuse(code: IssueCode, status: int | None = None) -> Any:
    return FetchError(code, HOST, "refused", http_status=status)


REFUSALS = {
    "429": refuse(IssueCode.HTTP_STATUS, 429),
    "a bot protection": refuse(IssueCode.BLOCKED_BY_SITE, 403),
    "a login": refuse(IssueCode.LOGIN_REQUIRED, 401),
    "no answer": refuse(IssueCode.CONNECT),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("how", REFUSALS)
def test_a_site_that_refuses_us_is_not_accused(how: str) -> None:
    """Nothing is found, nothing has passed, and what was not read is said."""
    answers = {
        f"{HOST}{path}": REFUSALS[how] for path in ("/robots.txt", "/s.xml", "/")
    }
    select, web = ["reading", "discovery", "urls"], MemoryFetcher(answers)
    with audit_sync(f"{HOST}/", fetcher=web, select=select, figures=FIGURES) as result:
        assert [f.rule.code for f in result.findings if f.severity != "info"] == []
        assert result.facts.passed == []
        assert not result.facts.complete


def test_a_sitemap_that_is_refused_is_not_accused() -> None:
    """A sitemap that robots.txt names and that we may not read is no broken one."""
    closed = {
        f"{HOST}/{number}.xml": how for number, how in enumerate(REFUSALS.values())
    }
    sitemaps = "".join(f"Sitemap: {url}\n" for url in (f"{HOST}/s.xml", *closed))
    documents = {
        f"{HOST}/robots.txt": StoredResponse(f"{HOST}/robots.txt", sitemaps.encode())
    }
    documents[f"{HOST}/s.xml"] = StoredResponse(f"{HOST}/s.xml", urlset(pages(1)))
    fetcher = MemoryFetcher(documents | closed)
    options = FetchOptions(host_pause_seconds=0.01)
    select = ["discovery", "reading"]
    with audit_sync(
        f"{HOST}/", fetcher=fetcher, select=select, options=options
    ) as result:
        assert [f.rule.code for f in result.findings if f.severity != "info"] == []
        unread = {
            each.url for each in result.facts.documents if each.status == "failed"
        }
        assert unread == closed.keys()


NAMED = f"Sitemap: {HOST}/1.xml".encode()
NAMING = b'<html><link rel="sitemap" href="/3.xml">'
THREE = "/robots.txt 0 ; /1.xml 1 /robots.txt; /2.xml 2 /1.xml; /3.xml 2 /1.xml"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        (
            {
                "/robots.txt": NAMED,
                "/1.xml": index("/2.xml"),
                "/2.xml": index("/3.xml", "/4.xml"),
            },
            THREE.replace("/3.xml 2 /1.xml", "/3.xml 3 /2.xml; /4.xml 3 /2.xml"),
        ),
        # They list each other.
        (
            {
                "/robots.txt": NAMED,
                "/1.xml": index("/2.xml", "/3.xml"),
                "/2.xml": index("/1.xml"),
            },
            THREE,
        ),
        # One leads up, to robots.txt, or to the address of an index that leads elsewhere.
        (
            {
                "/robots.txt": NAMED,
                "/1.xml": index("/2.xml", "/3.xml"),
                "/2.xml": StoredResponse(f"{HOST}/robots.txt", NAMED),
            },
            THREE,
        ),
        (
            {
                "/robots.txt": NAMED,
                "/1.xml": StoredResponse(f"{HOST}/0.xml", index("/2.xml", "/3.xml")),
                "/2.xml": StoredResponse(f"{HOST}/1.xml", index("/3.xml")),
            },
            THREE,
        ),
        # One leads to the index that is still read.
        (
            {
                "/robots.txt": NAMED,
                "/1.xml": StoredResponse(
                    f"{HOST}/0.xml", index("/2.xml", *["/3.xml"] * 4_000)
                ),
                "/2.xml": StoredResponse(f"{HOST}/0.xml", b""),
            },
            THREE,
        ),
        # What names the sitemaps has moved.
        (
            {
                "/robots.txt": StoredResponse(f"{HOST}/r.txt", NAMED),
                "/1.xml": index("/3.xml"),
            },
            "/robots.txt 0 ; /1.xml 1 /robots.txt; /3.xml 2 /1.xml",
        ),
        ({"/": StoredResponse(f"{HOST}/home", NAMING)}, "/ 0 ; /3.xml 1 /"),
        # robots.txt leads to the start page, which names one.
        (
            {"/robots.txt": StoredResponse(f"{HOST}/", NAMING), "/": NAMING},
            "/ 0 ; /robots.txt 0 ; /3.xml 1 /",
        ),
    ],
)
def test_each_document_stands_below_the_one_that_lists_it(
    documents: dict[str, Any], expected: str
) -> None:
    """The depth of a document is one more than that of the one that lists it."""
    leaves = dict.fromkeys(("/3.xml", "/4.xml"), urlset(pages(1)))
    fetcher = MemoryFetcher(
        {HOST + path: body for path, body in (leaves | documents).items()}
    )
    with audit_sync(f"{HOST}/", fetcher=fetcher, select=["discovery"]) as result:
        shown = [each for each in result.facts.documents if each.status != "skipped"]
    told = [
        f"{each.url} {each.depth} {each.parent}".replace(HOST, "") for each in shown
    ]
    assert sorted(told) == sorted(expected.split("; "))


@pytest.mark.parametrize("site", [HOST, HOST + "/"], ids=["bare", "slash"])
def test_a_site_without_sitemaps_has_not_passed(site: str) -> None:
    """Without a sitemap there is one error, and no rule that looks at URLs has passed."""
    start = {
        f"{HOST}/robots.txt": b"User-agent: *",
        f"{HOST}/": b"<html><p>Boots</p></html>",
    }
    fetcher = MemoryFetcher(start)
    with audit_sync(site, fetcher=fetcher, figures=FIGURES) as result:
        assert codes(result) == {"no-sitemap": 1}
        assert result.facts.passed == []
        (example,) = result.findings[0].examples
        assert site in (example.url, example.document)


def test_a_path_that_nothing_names_is_not_called_unread() -> None:
    """Only what something names counts as not read: no guess, and no cycle."""
    page = {"content-type": "text/html"}
    urls = [f"{HOST}/{path}" for path in ("", "robots.txt", "sitemap.xml", "sitemap")]
    soft = {url: StoredResponse(url, b"<html>x", headers=page) for url in urls}
    with audit_sync(f"{HOST}/", fetcher=MemoryFetcher(soft)) as result:
        assert (
            "html-not-sitemap"
            not in find_outcome(result.findings, result.facts, Severity.WARNING).reason
        )
    children = "".join(
        f"<sitemap><loc>{HOST}/{name}.xml</loc></sitemap>" for name in ("i", "lost")
    )
    site = {
        f"{HOST}/robots.txt": f"Sitemap: {HOST}/i.xml".encode(),
        f"{HOST}/i.xml": f"<sitemapindex>{children}</sitemapindex>".encode(),
    }
    with audit_sync(f"{HOST}/", fetcher=MemoryFetcher(site)) as result:
        reason = find_outcome(result.findings, result.facts, Severity.WARNING).reason
    assert f"not read: {HOST}/lost.xml (http-status 404)" in reason
    assert "cycle" not in reason


@pytest.mark.parametrize("broken", ["robots.txt", "sitemap.xml", ""])
def test_nobody_knows_that_there_is_no_sitemap_where_nobody_could_look(
    broken: str,
) -> None:
    """No finding says so while robots.txt, a usual address or the start page answers with 503."""
    site: dict[str, Any] = {
        f"{HOST}/robots.txt": b"User-agent: *",
        f"{HOST}/": b"<html><p>Boots</p></html>",
    }
    site[f"{HOST}/{broken}"] = StoredResponse(f"{HOST}/{broken}", status=503)
    with audit_sync(f"{HOST}/", fetcher=MemoryFetcher(site)) as result:
        left_out = {each.rule.code: each.reason for each in result.facts.not_run}
        assert "no-sitemap" not in codes(result)
        assert (
            left_out["no-sitemap"] == "the site refused the search, or did not respond"
        )


def test_a_source_that_is_none() -> None:
    """What is neither a URL nor a file is an error that says so."""
    for source in ("ftp://example.org/", "/no/such/place", "https://[::1/"):
        with pytest.raises(AuditInputError, match=r"neither|not a URL"):
            audit_sync(source)


def test_empty_children_of_an_index_are_found_but_news_are_not() -> None:
    """An empty child is a finding, and so is an empty root; an empty news sitemap is none."""
    children = ("/a.xml", "/news.xml")
    root = sitemaps_of(*children)
    empty = served(urlset(""))
    found = audit_memory(
        {"/s.xml": root, "/a.xml": empty, "/news.xml": empty}, select=["empty"]
    )
    (finding,) = found.findings
    assert (finding.count, finding.examples[0].document) == (1, f"{HOST}/a.xml")
    assert codes(audit_memory({"/s.xml": empty}, select=["empty"])) == {"empty": 1}


# -- hostile content

HOSTILE = (
    "/</script><script>alert(1)</script>",
    '/"><img src=x onerror=alert(1)>',
    "/'; DROP TABLE url_row; --",
    "/$now $tracking {url}",
    "/\u202egpj.exe\x9b31m\u2066\x7f\u2028",
    "/%00%0a%1b[31m",
    "/" + "a" * 60_000,
)


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.slow
def test_hostile_urls_are_text(tmp_path: Path) -> None:
    """URLs that are made to break HTML, SQL and terminals are text in each format, and harmless."""
    records = "".join(page(escape(f"{loc}#x")) for loc in HOSTILE)
    (tmp_path / "s.xml").write_bytes(urlset(records))
    own_rule(
        tmp_path,
        GOOD.replace("path AS", "'a\u202e\x9b31m' AS").replace("= '/Upper'", "<> ''"),
    )
    with audit_sync(
        tmp_path / "s.xml",
        rules=tmp_path / "rules",
        select=["custom", "urls", "hosts"],
        figures=FIGURES,
    ) as result:
        assert (
            codes(result)["url-fragment"] == codes(result)["no-price"] == len(HOSTILE)
        )
        assert result.sql("SELECT count(*) FROM url_row").fetchall() == [
            (len(HOSTILE),)
        ]
        texts = {
            form: result.format(form)
            for form in ("text", "json", "sarif", "html", "markdown")
        }
        result.write_hits(tmp_path / "h.csv")
    for form, text in texts.items():
        assert set(text).isdisjoint("\x1b\u202e\x9b\u2066\x7f\u2028"), form
    json.loads(texts["json"])
    check_sarif(json.loads(texts["sarif"]))
    assert "<script>alert" not in texts["html"]
    assert "<img" not in texts["html"]
    assert "\u202e" not in (tmp_path / "h.csv").read_text()
    assert max(map(len, texts["text"].splitlines())) < 1_100


# -- formats


def test_a_folder_is_named_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SARIF and text name each file relative to the working directory, and the line of a hit."""
    public = tmp_path / "site built" / "öffentlich"
    public.mkdir(parents=True)
    (public / "robots.txt").write_text(f"Sitemap: {HOST}/i.xml")
    (public / "i.xml").write_text(
        f"<sitemapindex>\n<sitemap><loc>{HOST}/s.xml</loc></sitemap>\n"
        f"<sitemap><loc>{HOST}/z.xml.gz</loc></sitemap></sitemapindex>"
    )
    records = [
        page("/Long").replace("/Long", "/Longer"),  # begins like the next one
        page("/Long"),
        page("/plain"),
        page("/a?b=1&amp;sid=2"),
        page("/c").replace(f"{HOST}/c", f"<![CDATA[{HOST}/c#3]]>"),
    ]
    (public / "s.xml").write_bytes(urlset("\n".join(records)))
    (public / "z.xml.gz").write_bytes(gzip.compress(urlset("\n" + page("/d#4"))))
    monkeypatch.chdir(tmp_path)
    with audit_sync(
        "site built/öffentlich", select=["urls"], figures=FIGURES
    ) as result:
        log, text = json.loads(result.format("sarif")), result.format("text")
    check_sarif(log)
    named = set()
    for each in log["runs"][0]["results"]:
        (location,) = each["locations"]
        place = location["physicalLocation"]
        uri, line = place["artifactLocation"]["uri"], place["region"]["startLine"]
        named.add((each["ruleId"], uri, line, each["properties"]["sitemap"]))
    folder = "site%20built/%C3%B6ffentlich"
    assert named == {
        ("url-uppercase", f"{folder}/s.xml", 2, f"{HOST}/s.xml"),
        ("url-session-id", f"{folder}/s.xml", 4, f"{HOST}/s.xml"),
        ("url-fragment", f"{folder}/s.xml", 5, f"{HOST}/s.xml"),
        # compressed: no lines
        (
            "url-fragment",
            f"{folder}/z.xml.gz",
            1,
            f"{HOST}/z.xml.gz",
        ),
    }
    assert f"{HOST}/Long in site built/öffentlich/s.xml, line 2" in text
    assert f"{HOST}/c#3 in site built/öffentlich/s.xml, line 5" in text
    assert f"{HOST}/d#4 in site built/öffentlich/z.xml.gz\n" in text


def test_lines_of_a_list(tmp_path: Path) -> None:
    """Each URL of a text has its line: the first and last byte, and where it begins another."""
    urls = [f"{HOST}/a#12", f"{HOST}/a#1", f"{HOST}/b#3"]
    (tmp_path / "robots.txt").write_text(f"Sitemap: {HOST}/urls.txt")
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    with audit_sync(tmp_path, select=["url-fragment"], figures=FIGURES) as result:
        (finding,) = result.findings
    lines = {each.url: each.line for each in finding.examples}
    assert lines == {url: line for line, url in enumerate(urls, 1)}


def test_sarif_of_a_site_has_relative_references() -> None:
    """A sitemap of a server has a stand-in, as code hosts refuse web addresses; text names it."""
    documents = {
        "/s.xml": sitemaps_of("/a.xml?page=1"),
        "/a.xml?page=1": urlset(RECORDS),
    }
    found = audit_memory(
        documents, select=["urls", "missing-url"], urls=[f"{HOST}/other"]
    )
    log = json.loads(found.format("sarif"))
    check_sarif(log)
    places = {
        each["ruleId"]: each["locations"][0]["physicalLocation"]["artifactLocation"][
            "uri"
        ]
        for each in log["runs"][0]["results"]
    }
    name = HOST.removeprefix("https://")
    assert places == {
        "url-fragment": f"{name}/a.xml%3Fpage%3D1",
        "url-uppercase": f"{name}/a.xml%3Fpage%3D1",
        "missing-url": name,  # it is in no sitemap
    }
    for each in log["runs"][0]["results"][:2]:
        if each["ruleId"] != "missing-url":
            assert f"in {HOST}/a.xml?page=1" in each["message"]["text"]
            assert each["properties"]["sitemap"] == f"{HOST}/a.xml?page=1"


def sitemaps_of(*children: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{HOST}{name}</loc></sitemap>" for name in children)
    return f"<sitemapindex>{listed}</sitemapindex>".encode()


@pytest.mark.slow
def test_a_query_gets_the_memory_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit with too little memory finds what one with enough finds."""
    (tmp_path / "robots.txt").write_text(
        f"Sitemap: {HOST}/a.xml\nSitemap: {HOST}/b.xml"
    )
    for name, end in (("a", ""), ("b", "/")):
        records = "".join(page(f"/{number}{end}") for number in range(3_000))
        (tmp_path / f"{name}.xml").write_bytes(urlset(records))
    chosen: dict[str, Any] = {"select": ["variant-*"], "figures": FIGURES}
    with audit_sync(tmp_path, **grouped(chosen)) as result:
        expected = codes(result)
    limit_memory(monkeypatch, 64)
    with audit_sync(tmp_path, **grouped(chosen)) as result:
        assert codes(result) == expected
    assert expected["variant-trailing-slash"] == 3_000


@pytest.mark.skipif(
    sys.platform != "linux", reason="no names that are not UTF-8: run it on Linux"
)
def test_names_that_are_not_utf_8(folder: Path, tmp_path: Path) -> None:
    """A folder with such a name is audited and its report written; a database cannot have one."""
    odd = tmp_path / os.fsdecode(b"\xff")
    odd.symlink_to(folder)
    with audit_sync(odd, select=["urls"], figures=FIGURES) as result:
        for suffix in ("html", "json", "txt"):
            result.write(tmp_path / f"report.{suffix}")
            assert rb"\udcff" in (tmp_path / f"report.{suffix}").read_bytes()
    with pytest.raises(AuditInputError, match="choose a name"):
        audit_sync(folder, database=odd / "audit.duckdb")


def test_an_unknown_suffix_is_an_error(audited: Audit, tmp_path: Path) -> None:
    """The name of a file says its format, or it is a mistake."""
    with pytest.raises(ValueError, match="end it"):
        audited.write(tmp_path / "report.pdf")
    with pytest.raises(ValueError, match="choose from text, json, sarif, html"):
        audited.format("pdf")


def test_a_folder_of_sitemaps_is_known(tmp_path: Path) -> None:
    """A few URLs of many show that a folder has no pages, as files for less than a tenth do."""
    names = [f"/{number}.html" for number in range(10_001)]
    (tmp_path / "sitemap.xml").write_bytes(urlset("".join(map(page, names))))
    with audit_sync(tmp_path, select=["pages"]) as result:
        reasons = {each.reason for each in result.facts.not_run}
        assert result.facts.pages is None
    unlike = "this does not look like a site build"
    assert f"the folder has files for 0 of 1,000 URLs: {unlike}" in reasons
    (tmp_path / "7.html").write_text("<title>T</title>")
    (tmp_path / "sitemap.xml").write_bytes(urlset("".join(map(page, names[:11]))))
    with audit_sync(tmp_path, select=["pages"]) as result:
        reasons = {each.reason for each in result.facts.not_run}
        assert result.facts.pages is None
    assert f"the folder has files for 1 of 11 URLs: {unlike}" in reasons
    (tmp_path / "sitemap.xml").write_bytes(urlset("".join(map(page, names[:10]))))
    with audit_sync(tmp_path, select=["pages"]) as result:
        assert known(result.facts.pages).judged == 10
