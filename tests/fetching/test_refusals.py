"""Refusals that are no absence: bot protections, and plain 403s."""

from __future__ import annotations

from typing import Any

import pytest

from sitemapreader._types.options import FetchOptions
from sitemapreader._walk.search import WELL_KNOWN_PATHS
from sitemapreader.fetch.refusals import is_success, make_refusal
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


OPTIONS = FetchOptions(retry_after_seconds=60)
LATER = {"retry-after": "60"}


@pytest.mark.parametrize(
    ("status", "headers", "options", "error"),
    [
        (404, {}, {}, ("http-status", "404", None)),
        (404, {}, {"reason": "Not Found"}, ("http-status", "404 Not Found", None)),
        (404, LATER, {}, ("http-status", "404", None)),
        (401, LATER, {}, ("login-required", "401", None)),
        (429, LATER, {}, ("http-status", "429", 60)),
        (503, LATER, {"seconds_left": 60}, ("http-status", "503", 60)),
        (
            503,
            LATER,
            {"seconds_left": 59.5},
            ("retry-later", "503, requested to wait for 60 s", 60),
        ),
        (
            503,
            {"retry-after": "61"},
            {"seconds_left": 600},
            ("retry-later", "503, requested to wait for 61 s", 61),
        ),
        (
            429,
            {"server": "AkamaiGHost", "retry-after": "999"},
            {},
            ("blocked-by-site", "429, Akamai (server: AkamaiGHost)", 999),
        ),
        (503, {"server": "AkamaiGHost"}, {}, ("http-status", "503", None)),
        (
            503,
            {"x-sucuri-block": "b" * 50},
            {},
            ("blocked-by-site", f"503, Sucuri (x-sucuri-block: {'b' * 40})", None),
        ),
        (
            401,
            {"accept-signature": "a"},
            {},
            (
                "blocked-by-site",
                "401, requires a signed request (Accept-Signature)",
                None,
            ),
        ),
        (404, {"accept-signature": "a"}, {}, ("http-status", "404", None)),
        (
            400,
            {"signature-error": "late", "date": "no date"},
            {"signed_as": "me"},
            ("http-status", "400, though signed as me; Signature-Error: late", None),
        ),
    ],
)
def test_what_is_made_of_a_refusal(
    status: int,
    headers: dict[str, str],
    options: dict[str, Any],
    error: tuple[str, str, float | None],
) -> None:
    """The status, whose refusal it is, and a wait that is too long to be waited for."""
    made = make_refusal(status, headers, "https://a.example/", OPTIONS, **options)
    assert (str(made.code), made.detail, made.retry_after_seconds) == error
    assert (made.http_status, made.url) == (status, "https://a.example/")


@pytest.mark.parametrize(
    ("status", "is_one"),
    [(199, False), (200, True), (205, True), (206, False), (299, True), (300, False)],
)
def test_what_a_success_is(status: int, *, is_one: bool) -> None:
    """A part of a document is none."""
    assert is_success(status) is is_one
