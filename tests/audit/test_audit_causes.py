"""The same fault is one finding: what others see of it stands below it, or says so."""

from __future__ import annotations

from typing import Any

import pytest

from sitemapreader.audit.values import SharedHits
from tests.audit.page_audits import WORDS, finding_of, judge, page, publish
from tests.support.auditing import link, urlset
from tests.support.serving import answer, serve_pages
from tests.support.there import known

FINE: dict[str, Any] = {
    f"fine/{number}": page(text=f"{WORDS} {number}") for number in range(12)
}


def list_causes(result: Any) -> dict[str, str]:
    """Return the cause of each finding, by its code."""
    return {each.rule.code: each.cause for each in result.findings}


async def test_orphans_that_are_no_pages_are_the_fault_of_their_pages() -> None:
    """What a crawl does not know because it redirects or is gone is told once."""
    answers = FINE | {f"gone/{number}": 404 for number in range(6)}
    answers |= {f"moved/{number}": answer(301, Location="/fine/1") for number in (1, 2)}
    async with serve_pages(**answers) as server:
        publish(server, *answers)
        known = [server.base + path for path in FINE]
        select = ["pages", "orphan-url"]
        with await judge(server.base, urls=known, select=select) as result:
            assert list_causes(result) == {
                "page-not-found": "",
                "page-redirects": "",
                "orphan-url": "page-not-found",
            }
            assert "the same fault: Listed URLs" in result.format("text")
        # of which some are pages: the finding stands by itself, and says what others say
        with await judge(server.base, urls=known[1:], select=select) as result:
            finding = finding_of(result, "orphan-url")
            assert (finding.cause, finding.count) == ("", 9)
            assert finding.also == [
                SharedHits(code="page-not-found", count=6),
                SharedHits(code="page-redirects", count=2),
            ]
            said = "6 by page-not-found, 2 by page-redirects"
            for name in ("text", "markdown", "html"):
                text = result.format(name).replace("`", "")
                assert said in text.replace("<code>", "").replace("</code>", "")
            assert "6 also found by page-not-found" in result.format("junit")
            assert "also found by page-not-found" in result.format("sarif")


async def test_a_site_that_robots_txt_blocks_is_one_fault() -> None:
    """Its sitemap and its URLs are blocked with it."""
    async with serve_pages(**FINE) as server:
        publish(server, *FINE, robots="User-agent: *\nDisallow: /")
        with await judge(
            server.base, None, select=["robots-blocked*", "robots-blocks*"]
        ) as result:
            assert list_causes(result) == {
                "robots-blocks-site": "",
                "robots-blocked-sitemap": "robots-blocks-site",
                "robots-blocked-url": "robots-blocks-site",
            }


async def test_tracked_urls_that_name_their_page_are_one_fault() -> None:
    """A canonical link says the same as the parameters of the URL."""
    paths = [f"a{number}?utm_source=mail" for number in range(6)]
    async with serve_pages(**FINE) as server:
        for number in range(6):
            head = f"<link rel=canonical href={server.base}a{number}>"
            server.pages[f"/a{number}"] = page(head, f"{WORDS} {number}")
        publish(server, *FINE, *paths)
        select = ["pages", "url-tracking-parameter"]
        with await judge(server.base, select=select) as result:
            assert list_causes(result) == {
                "page-canonical-elsewhere": "",
                "url-tracking-parameter": "page-canonical-elsewhere",
            }


@pytest.mark.parametrize(
    ("target", "cause", "code"),
    [
        (page("<meta name=robots content=noindex>"), "page-noindex", "not-indexed"),
        (answer(302, Location="/en/fine"), "page-redirects", "not-indexed"),
        (404, "page-not-found", "broken"),
        ("", "page-empty", "broken"),
    ],
)
async def test_a_link_to_a_page_with_a_fault_is_that_fault(
    target: Any, cause: str, code: str
) -> None:
    """The page with the link has none of its own; a link to an unlisted page has no such page."""
    code = f"hreflang-target-{code}"
    paths = ["en/fine", "de/fine", "en/bad", "de/bad"]
    pages: dict[str, Any] = {path: page(text=f"{WORDS} {path}") for path in paths}
    async with serve_pages(**FINE, **pages) as server:
        for name in ("fine", "bad"):
            both = [
                f"<link rel=alternate hreflang={each} href={server.base}{each}/{name}>"
                for each in ("en", "de")
            ]
            server.pages[f"/en/{name}"] = page("".join(both), f"{WORDS} en {name}")
        server.pages["/de/bad"] = target
        publish(server, *FINE, *paths)
        select = ["pages", code]
        with await judge(server.base, select=select) as result:
            assert list_causes(result) == {cause: "", code: cause}
            assert known(known(result.facts.pages).faulty).count == 1
        publish(server, *FINE, *paths[:3])
        with await judge(server.base, select=select) as result:
            assert list_causes(result) == {code: ""}
            assert known(known(result.facts.pages).faulty).count == 1


@pytest.mark.parametrize("by_page", [False, True])
async def test_alternates_that_are_not_indexed(by_page: bool) -> None:
    """A language version that redirects, is gone, or forbids indexing is found by its link."""
    targets: dict[str, Any] = {
        "de/moved": answer(301, Location="/de/fine"),
        "de/gone": 410,
        "de/blank": "",
        "de/dark": page("<meta name=robots content=noindex>"),
        "de/other": page("<link rel=canonical href=/de/fine>"),
        "de/fine": page(text=f"{WORDS} de"),
    }
    names = [path.removeprefix("de/") for path in targets]
    async with serve_pages(**FINE, **targets) as server:
        records = []
        for name in names:
            links = {code: f"{server.base}{code}/{name}" for code in ("en", "de")}
            head = "".join(
                f"<link rel=alternate hreflang={code} href={url}>"
                for code, url in links.items()
            )
            server.pages[f"/en/{name}"] = page(
                head if by_page else "", f"{WORDS} {name}"
            )
            alternates = (
                "" if by_page else "".join(link(*each) for each in links.items())
            )
            records.append(f"<url><loc>{links['en']}</loc>{alternates}</url>")
            records.append(f"<url><loc>{links['de']}</loc></url>")
        publish(server)
        server.pages["/sitemap.xml"] = urlset("".join(records))
        with await judge(server.base, select=["hreflang-target-*"]) as result:
            found = {
                finding.rule.code: (
                    finding.severity,
                    {
                        hit.url.removeprefix(server.base): hit.detail.replace(
                            server.base, ""
                        )
                        for hit in finding.hits
                    },
                )
                for finding in result.findings
            }
            faulty = known(known(result.facts.pages).faulty)
        assert found == {
            "hreflang-target-broken": (
                "error",
                {
                    "en/gone": "de/gone returns 410",
                    "en/blank": "de/blank is empty",
                },
            ),
            "hreflang-target-not-indexed": (
                "warning",
                {
                    "en/moved": "de/moved redirects to de/fine",
                    "en/dark": "de/dark forbids indexing",
                    "en/other": "de/other names de/fine as canonical",
                },
            ),
        }
        assert faulty.count == 5
