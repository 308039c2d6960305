"""What is to be mended first stands first, in the same order in every format."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from aiohttp import web

from sitemapreader.audit.values import FaultyPages
from tests.audit.page_audits import WORDS, hits, judge, page, publish
from tests.support.serving import serve_pages
from tests.support.there import known

if TYPE_CHECKING:
    from sitemapreader.audit import Audit

ALL: dict[str, Any] = {
    f"fine/{number}": page(text=f"{WORDS} {number}") for number in range(30)
}


def list_codes(result: Audit) -> dict[str, list[str]]:
    """Return the codes of the findings by format, in the order in which each shows them."""
    codes = [each.rule.code for each in result.findings]
    texts = {
        name: result.format(name) for name in ("text", "markdown", "html", "junit")
    }
    found = {
        name: [
            code for code in re.findall(r"[a-z]+(?:-[a-z0-9]+)+", text) if code in codes
        ]
        for name, text in texts.items()
    }
    sarif = json.loads(result.format("sarif"))["runs"][0]
    found["sarif rules"] = [each["id"] for each in sarif["tool"]["driver"]["rules"]]
    found["sarif"] = [each["ruleId"] for each in sarif["results"]]
    found["json"] = codes
    return {
        name: [code for code in dict.fromkeys(each) if code in codes]
        for name, each in found.items()
    }


async def test_findings_stand_by_severity_and_then_by_pages_that_are_wrong() -> None:
    """22 pages of 404 go before 3 with noindex, and both before any number of warnings."""
    answers = ALL | {f"gone/{number}": 404 for number in range(22)}
    answers |= {
        f"hidden/{number}": page(
            "<meta name=robots content=noindex>", f"{WORDS} {number}"
        )
        for number in range(3)
    }
    answers |= {"other": page("<link rel=canonical href=/fine/1>")}
    moved = {f"moved/{number}": 301 for number in range(25)}
    async with serve_pages(**answers) as server:
        for number in range(25):
            server.pages[f"/moved/{number}"] = lambda _: web.Response(
                status=301, headers={"Location": "/fine/1"}
            )
        publish(server, *answers, *moved)
        ignored = ["response-no-validator"]
        with await judge(server.base, select=(), ignore=ignored) as result:
            found = list_codes(result)
            assert found["json"][:4] == [
                "page-not-found",
                "page-noindex",
                "page-canonical-elsewhere",
                "lastmod-missing-all",
            ]
            assert "page-redirects" in found["json"][4:]
            for name, codes in found.items():
                if name != "junit":
                    assert codes == found["json"], name
            assert found["junit"][0] == "page-not-found"
            head = result.format("html").partition("Begin with these")[2]
            assert re.findall(r"#rule-([a-z-]+)", head)[:5] == found["json"][:5]


async def test_a_full_visit_has_one_total_and_no_interval() -> None:
    """Where nothing was sampled, a number is a number, although robots.txt hides some pages."""
    answers = ALL | {"gone/1": 404, "gone/2": 404, "dark/1": page(), "dark/2": page()}
    async with serve_pages(**answers) as server:
        # one page is listed twice
        publish(server, *answers, "fine/1", robots="User-agent: *\nDisallow: /dark/")
        with await judge(server.base) as result:
            (finding,) = result.findings
            assert hits(result).keys() == {"page-not-found"}
            assert (finding.count, finding.of, finding.rate) == (2, 32, None)
            tally = known(result.facts.pages)
            assert (tally.listed, tally.visited, tally.judged) == (34, 32, 32)
            assert (tally.sampled, tally.bound) == (False, None)
            assert tally.faulty == FaultyPages(count=2, of=32)
            for name in ("text", "markdown", "html", "junit", "sarif"):
                text = result.format(name)
                assert not re.search(r"about \d|\d to \d[\d.]*%|at most \d", text), name
            text = result.format("text")
            assert "35 URLs (34 different) in 1 sitemap" in text
            assert "2 of 32 pages have an error or a warning" in text


async def test_a_sample_says_how_many_pages_have_any_fault() -> None:
    """How many of the pages are bad? Each counts once, whatever its faults; notes do not count."""
    answers = ALL | {f"gone/{number}": 404 for number in range(10)}
    answers |= {
        f"both/{number}": page(
            "<meta name=robots content=noindex><link rel=canonical href=/fine/1>",
            f"{WORDS} {number}",
        )
        for number in range(10)
    }
    async with serve_pages(**answers) as server:
        publish(server, *answers)
        with await judge(server.base, 40) as result:
            faulty = known(known(result.facts.pages).faulty)
            urls = {hit.url for each in result.findings for hit in each.hits}
            assert faulty.count == len(urls)
            assert known(faulty.rate).population == 50
            assert (
                known(faulty.rate).low
                < known(faulty.rate).share
                < known(faulty.rate).high
            )
            said = f"{faulty.count} of 40 pages, "
            for name in ("text", "markdown", "html"):
                assert said in result.format(name)
