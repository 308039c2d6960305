"""Refusals that are no absence: bot protections, and plain 403s."""

from __future__ import annotations

import pytest

from sitemapreader._types.options import FetchOptions
from sitemapreader._walk.search import WELL_KNOWN_PATHS
from tests.support.serving import Answer, serve_site
from tests.support.walking import read_site

HTML = {"Content-Type": "text/html"}
CHALLENGE = b"""<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head>
<body><script>(function(){window._cf_chl_opt = {cvId: '3'};}());</script></body></html>"""
REFUSED: dict[str, tuple[Answer, str]] = {
    "Cloudflare challenge": (
        Answer(CHALLENGE, 403, {"cf-mitigated": "challenge"}),
        "Cloudflare",
    ),
    "Cloudflare with 200": (
        Answer(CHALLENGE, 200, {"cf-mitigated": "challenge"}),
        "Cloudflare",
    ),
    "AWS challenge": (Answer(b"", 202, {"x-amzn-waf-action": "challenge"}), "AWS WAF"),
    "Vercel": (Answer(b"", 429, {"x-vercel-mitigated": "challenge"}), "Vercel"),
    "Sucuri": (Answer(b"", 403, {"x-sucuri-block": "FBP007"}), "Sucuri"),
    "DataDome": (Answer(b"", 403, {"x-datadome": "protected"}), "DataDome"),
    "Akamai": (
        Answer(b"<TITLE>Access Denied</TITLE>", 403, {"server": "AkamaiGHost"}),
        "Akamai",
    ),
}
"""Refusals, and whose they are."""


@pytest.mark.parametrize("name", REFUSED)
async def test_a_site_behind_a_protection(name: str) -> None:
    """Two requests show it, the vendor is named, and it is not said that there is no sitemap."""
    answer, vendor = REFUSED[name]
    async with serve_site(answer) as site:
        read = await read_site(site.base, options=FetchOptions(retry_wait_seconds=0.01))
        assert len(site.requested) == 2
    assert read.locs == []
    assert "no-sitemap" not in read.codes
    assert vendor in read.value("blocked-by-site")
    assert not read.report.complete


async def test_named_sitemaps_and_one_probe_are_enough() -> None:
    """robots.txt is let through, as it often is; its sitemap, and one guessed path, are not."""
    async with serve_site(
        Answer(CHALLENGE, 403, {"cf-mitigated": "challenge"})
    ) as site:
        site.pages["/robots.txt"] = Answer(
            f"Sitemap: {site.base}/maps/all.xml".encode()
        )
        read = await read_site(site.base)
        assert site.requested == ["/robots.txt", "/maps/all.xml", "/sitemap.xml"]
    assert {*read.codes} == {"blocked-by-site"}


async def test_guesses_alone_are_refused() -> None:
    """Where only guessed paths are behind it, that is why there is no sitemap."""
    async with serve_site(
        Answer(CHALLENGE, 403, {"cf-mitigated": "challenge"})
    ) as site:
        site.pages |= {"/": Answer(b"<html></html>", 200, HTML), "/robots.txt": 404}
        read = await read_site(site.base)
    assert {*read.codes} == {"blocked-by-site"}
    assert all("Cloudflare" in (issue.value or "") for issue in read.report.issues)


async def test_plain_403s_are_tried_to_the_end_and_counted() -> None:
    """Object stores answer so for what is not there; the last word says how many did."""
    async with serve_site(
        Answer(b"<Error><Code>AccessDenied</Code></Error>", 403)
    ) as site:
        site.pages["/"] = Answer(b"<html></html>", 200, HTML)
        read = await read_site(site.base)
        assert len(site.requested) == 2 + len(WELL_KNOWN_PATHS)
    assert {*read.codes} == {"no-sitemap"}
    number = len(WELL_KNOWN_PATHS)
    assert read.value("no-sitemap") == f"{number} of {number} guessed paths return 403"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (Answer(b"<!doctype html><title>Hello</title>", 200, HTML), "html-not-sitemap"),
        (404, "http-status"),
    ],
)
async def test_a_named_sitemap_that_is_none_today_is_named(
    page: Answer | int, reason: str
) -> None:
    """Where robots.txt names a sitemap, that it is not one is the cause, not a missing line."""
    async with serve_site(404) as site:
        named = f"{site.base}/sitemap.xml"
        site.pages |= {
            "/robots.txt": Answer(f"Sitemap: {named}\n".encode(), 200),
            "/sitemap.xml": page,
        }
        read = await read_site(site.base)
    assert read.value("no-sitemap") == (
        f"robots.txt names {named}, which could not be read as a sitemap: {reason}"
    )
