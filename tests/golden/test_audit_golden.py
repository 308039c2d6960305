"""Whole audits: a planted site that every static rule hits, a clean one, the one of testdata."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs
import pytest

from sitemapreader import walk_sync
from sitemapreader._types.issues import Severity
from sitemapreader.audit import Audit, AuditOptions, audit_sync
from sitemapreader.audit.report import REPORT_SUFFIXES
from sitemapreader.audit.report.templates import format_audit
from sitemapreader.audit.values import AuditReport
from sitemapreader.fetch import FolderFetcher
from tests.support import package
from tests.support.auditing import HOST, NOW
from tests.support.golden import SITE
from tests.support.planted import FIGURES, plant_clean_site, plant_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPECTED = package.TESTS / "golden" / "audits"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    folder = tmp_path_factory.mktemp("planted")
    missing = plant_site(folder)
    fetcher = FolderFetcher(folder)
    with walk_sync(fetcher.base_url, fetcher=fetcher) as entries:
        listed = [entry.loc for entry in entries]
    known = [loc for loc in listed if not loc.startswith(f"{HOST}/misc/")] + missing
    figures = AuditOptions(now=NOW, **FIGURES)
    with audit_sync(folder, urls=known, figures=figures) as result:
        yield result


def write_golden(result: Audit) -> str:
    """Write an audit as text, without the folder of this run and the number of rules."""
    head = f"Sitemaps of {result.facts.source}\n"
    text = result.format("text").replace(head, "Sitemaps of the site\n")
    for url, file in sorted(result.facts.files.items(), key=lambda item: -len(item[1])):
        text = text.replace(file, urlsplit(url).path.lstrip("/"))
    text, _, _ = text.partition(f"; {len(result.facts.passed)} rules passed")
    counts = [f"{each.rule.code} {each.count}\n" for each in result.findings]
    not_run = {each.reason for each in result.facts.not_run}
    return "".join(
        (text, "\n", *counts, *(f"not run: {reason}\n" for reason in sorted(not_run)))
    )


def check_golden(name: str, text: str, *, regenerate: bool) -> None:
    path = EXPECTED / (name if "." in name else f"{name}.txt")
    if regenerate:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_the_planted_site(planted: Audit, regenerate: bool) -> None:
    """Each rule hits what was planted, as often, and the report is the one that was looked at."""
    assert planted.facts.urls == 3_000
    check_golden("planted", write_golden(planted), regenerate=regenerate)


def test_a_clean_site(tmp_path: Path, regenerate: bool) -> None:
    """A site without a fault has no finding."""
    plant_clean_site(tmp_path)
    with audit_sync(tmp_path, figures=AuditOptions(now=NOW)) as result:
        assert result.findings == []
        check_golden("clean", write_golden(result), regenerate=regenerate)


def test_the_site_of_testdata(
    regenerate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site that the other tests read has three faults, which are all real, in every format."""
    monkeypatch.chdir(package.ROOT)
    with audit_sync(SITE, figures=AuditOptions(now=NOW)) as result:
        check_golden("site", write_golden(result), regenerate=regenerate)
    facts = attrs.evolve(
        result.facts,
        version="1.0",
        seconds=0.5,
        begun=NOW,
        source="site",
        # of a hundred alike
        passed=result.facts.passed[:2],
        not_run=result.facts.not_run[:2],
    )
    audit = AuditReport(result.findings, facts)
    for suffix in REPORT_SUFFIXES.keys() - {".txt", ".htm"}:
        form = REPORT_SUFFIXES[suffix]
        text = format_audit(form, audit, Severity.INFO, title="Every format")
        # assets
        text = re.sub(r"(?s)(<(style|script)\b).*?</\2>|'sha256-[^']+'", r"\1", text)
        text = text.replace(str(SITE), "testdata/site")
        check_golden(f"site{suffix}", text, regenerate=regenerate)


def test_examples_are_spread_over_the_sitemaps(planted: Audit) -> None:
    """Examples come in turn from the sitemaps with hits, in the order of their URLs."""
    missing = next(each for each in planted.findings if each.rule.code == "missing-url")
    assert [each.url for each in missing.examples] == [
        f"{HOST}/missing/{n}" for n in range(3)
    ]
    near = next(
        each for each in planted.findings if each.rule.code == "near-protocol-limit"
    )
    assert len({each.document for each in near.examples}) == 2


def test_facts_of_the_planted_site(planted: Audit) -> None:
    """The facts are those of the site: months, sections, hosts, languages, documents."""
    facts = planted.facts
    assert (
        sum(section.urls for section in facts.sections) + facts.sections_others == 3_000
    )
    assert sum(host.urls for host in facts.hosts) == 3_000
    assert sum(month.urls for month in facts.months) == facts.dated
    assert sum(month.future for month in facts.months) == 2
    assert sum(month.alike for month in facts.months) == 301 + 70
    english = next(p for p in facts.languages if (p.page, p.target) == ("en", "de"))
    assert (english.links, english.returned) == (1, 0)
    by_url = {document.url: document for document in facts.documents}
    assert by_url[f"{HOST}/products.xml"].parent == f"{HOST}/index-b.xml"
    assert by_url[f"{HOST}/products.xml"].findings > 40
    order = [document.url for document in facts.documents]
    assert order.index(f"{HOST}/index-b.xml") < order.index(f"{HOST}/products.xml")
