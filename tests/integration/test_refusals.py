"""Refusals that are no absence: bot protections, error statuses with a sitemap, and plain 403s."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING

import brotli
import httpx
import pytest
from answering import Answer, make_index, make_urlset, read_site, serve_site

import sitemapreader
from sitemapreader.discovery import WELL_KNOWN_PATHS
from sitemapreader.errors import FetchError
from sitemapreader.fetch.answers import MAX_PAGE_BYTES, find_protection
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.httpx import HttpxFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover

if TYPE_CHECKING:
    from aiohttp import web

HTML = {"Content-Type": "text/html"}
CHALLENGE = b"""<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head>
<body><script>(function(){window._cf_chl_opt = {cvId: '3'};}());</script></body></html>"""
INCAPSULA = b"""<html><head><META NAME="robots" CONTENT="noindex,nofollow">
<script src="/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814"></script><body></html>"""
PADDING = b"<p>An ordinary page.</p>" * 200

REFUSED: dict[str, tuple[Answer, str]] = {
    "Cloudflare challenge": (Answer(CHALLENGE, 403, {"cf-mitigated": "challenge"}), "Cloudflare"),
    "Cloudflare by its page": (Answer(CHALLENGE, 503, HTML), "Cloudflare"),
    "Cloudflare 1020": (Answer(b"error code: 1020", 403), "Cloudflare"),
    "page in gzip": (
        Answer(gzip.compress(CHALLENGE), 403, {"Content-Encoding": "gzip"}),
        "Cloudflare",
    ),
    "page in br": (
        Answer(brotli.compress(CHALLENGE), 403, {"Content-Encoding": "br"}),
        "Cloudflare",
    ),
    "AWS challenge": (Answer(b"", 202, {"x-amzn-waf-action": "challenge"}), "AWS WAF"),
    "AWS captcha": (Answer(b"", 405, {"x-amzn-waf-action": "captcha"}), "AWS WAF"),
    "Vercel": (Answer(b"", 429, {"x-vercel-mitigated": "challenge"}), "Vercel"),
    "Vercel denies": (Answer(b"", 403, {"X-Vercel-Mitigated": "deny"}), "Vercel"),
    "Sucuri": (Answer(b"", 403, {"x-sucuri-block": "FBP007"}), "Sucuri"),
    "DataDome": (Answer(b"", 403, {"x-datadome": "protected"}), "DataDome"),
    "DataDome by its page": (
        Answer(b"<script src='https://geo.captcha-delivery.com/captcha/'>", 403),
        "DataDome",
    ),
    "Akamai": (Answer(b"<TITLE>Access Denied</TITLE>", 403, {"server": "AkamaiGHost"}), "Akamai"),
    "Akamai by its page": (
        Answer(b"Reference #18.1 https://errors.edgesuite.net/18.1", 403),
        "Akamai",
    ),
    "HUMAN": (Answer(b'<div id="px-captcha"></div>', 403), "HUMAN"),
    "Imperva": (Answer(b"Request unsuccessful. Incapsula incident ID: 1-2", 403), "Imperva"),
}
"""Refusals, and whose they are."""
IN_PLACE: dict[str, bytes] = {
    "Cloudflare": CHALLENGE,
    "Imperva": INCAPSULA,
    "Anubis": b'<html><title>Making sure</title><script id="anubis_challenge">{}</script></html>',
}
"""Challenges that come with status 200."""


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


@pytest.mark.parametrize("name", IN_PLACE)
async def test_a_challenge_page_with_status_200(name: str) -> None:
    """It is neither a robots.txt without rules nor a page that is no sitemap."""
    async with serve_site(Answer(IN_PLACE[name], 200, HTML)) as site:
        read = await read_site(site.base)
        assert site.requested == ["/robots.txt", "/"]
    assert read.codes == {"robots-unreachable", "blocked-by-site"}
    assert name in read.value("blocked-by-site")


@pytest.mark.parametrize("name", IN_PLACE)
async def test_a_challenge_page_in_place_of_a_sitemap(name: str) -> None:
    """The sitemaps that are let through are read, the other one is named."""
    async with serve_site() as site:
        index = make_index(f"{site.base}/a.xml", f"{site.base}/b.xml")
        site.pages |= {
            "/robots.txt": Answer(f"Sitemap: {site.base}/index.xml".encode()),
            "/index.xml": Answer(index),
            "/a.xml": Answer(make_urlset(f"{site.base}/1")),
            "/b.xml": Answer(gzip.compress(IN_PLACE[name]), 200, {"Content-Encoding": "gzip"}),
        }
        read = await read_site(site.base)
        assert read.locs == [f"{site.base}/1"]
    assert read.codes == {"blocked-by-site"}
    assert read.document("/b.xml").reason == "blocked-by-site"


async def test_named_sitemaps_and_one_probe_are_enough() -> None:
    """robots.txt is let through, as it often is; its sitemap, and one guessed path, are not."""
    async with serve_site(Answer(CHALLENGE, 403, {"cf-mitigated": "challenge"})) as site:
        site.pages["/robots.txt"] = Answer(f"Sitemap: {site.base}/maps/all.xml".encode())
        read = await read_site(site.base)
        assert site.requested == ["/robots.txt", "/maps/all.xml", "/sitemap.xml"]
    assert read.codes == {"blocked-by-site"}


async def test_a_discovery_says_the_same() -> None:
    """`discover` stops as a walk does."""
    async with serve_site(Answer(b"", 403, {"cf-mitigated": "challenge"})) as site:
        site.pages["/robots.txt"] = Answer(status=404)
        found = await discover(site.base)
        assert site.requested == ["/robots.txt", "/sitemap.xml", "/sitemap_index.xml"]
    assert {str(issue.code) for issue in found.issues} == {"blocked-by-site"}


async def test_a_site_of_which_some_paths_are_refused() -> None:
    """As long as others answer, the search goes on, and finds what is there."""
    async with serve_site() as site:
        refused = Answer(b"", 403, {"x-sucuri-block": "X"})
        site.pages |= {f"/{path}": refused for path in WELL_KNOWN_PATHS[1:4]}
        site.pages["/sitemap.xml.gz"] = Answer(gzip.compress(make_urlset(f"{site.base}/1")))
        read = await read_site(site.base)
        assert read.locs == [f"{site.base}/1"]


@pytest.mark.parametrize(
    "body",
    [
        make_urlset("https://a.example/_cf_chl_opt", "https://a.example/geo.captcha-delivery.com"),
        b"<urlset><url><loc>https://a.example/1</loc></url><!-- _cf_chl_opt <html> --></urlset>",
        b"https://errors.edgesuite.net/1\nhttps://geo.captcha-delivery.com/2\n",
    ],
)
@pytest.mark.parametrize("headers", [{}, {"x-datadome": "protected", "server": "AkamaiGHost"}])
async def test_a_sitemap_that_speaks_of_protections_is_read(
    body: bytes, headers: dict[str, str]
) -> None:
    """Neither what it lists nor a header that every answer has is a refusal."""
    async with serve_site() as site:
        site.pages["/robots.txt"] = Answer(
            f"# _cf_chl_opt is none of ours\nSitemap: {site.base}/s.xml".encode(), headers=headers
        )
        site.pages["/s.xml"] = Answer(body, headers=headers)
        read = await read_site(site.base)
    assert read.locs
    assert "blocked-by-site" not in read.codes


@pytest.mark.parametrize(
    "page",
    [
        b"<html><script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>" + PADDING,
        b"<html><script>window._pxAppId='PX1'</script>" + PADDING,
        b"<html><script src='/_Incapsula_Resource?SWJIYLWA=1'></script>" + PADDING,
        b"<html>How Cloudflare shows 'Just a moment...' and what DataDome does" + PADDING,
        b"<html>" + b" " * MAX_PAGE_BYTES + b"window._cf_chl_opt explained",
    ],
)
def test_ordinary_pages_are_no_refusals(page: bytes) -> None:
    """Pages that were let through have the vendors' scripts in them, or write about them."""
    headers = {"server": "cloudflare", "cf-ray": "1", "x-iinfo": "1", "x-datadome": "protected"}
    assert find_protection(200, headers, page) == ""
    assert find_protection(404, headers, page) == ""


async def test_plain_403s_are_tried_to_the_end_and_counted() -> None:
    """Object stores answer so for what is not there; the last word says how many did."""
    async with serve_site(Answer(b"<Error><Code>AccessDenied</Code></Error>", 403)) as site:
        site.pages["/"] = Answer(b"<html></html>", 200, HTML)
        read = await read_site(site.base)
        assert len(site.requested) == 2 + len(WELL_KNOWN_PATHS)
    assert read.codes == {"no-sitemap"}
    number = len(WELL_KNOWN_PATHS)
    assert read.value("no-sitemap") == f"{number} of {number} guessed paths answer with 403"


# -- a sitemap under an error status


@pytest.mark.parametrize("status", [404, 410, 403, 500, 429])
@pytest.mark.parametrize("compressed", [False, True])
async def test_a_sitemap_under_an_error_status_is_named(status: int, compressed: bool) -> None:
    """It is not read, for the server says that it is not there; but what it is, is said."""
    async with serve_site() as site:
        body = make_urlset(*(f"{site.base}/{number}" for number in range(2_000)))
        headers = {"Content-Encoding": "gzip"} if compressed else {}
        site.pages |= {
            "/robots.txt": Answer(f"Sitemap: {site.base}/s.xml".encode()),
            "/s.xml": Answer(gzip.compress(body) if compressed else body, status, headers),
        }
        options = FetchOptions(retry_wait_seconds=0.01)
        read = await read_site(site.base, probe="never", options=options)
        assert read.locs == []
    assert "sitemap-with-error-status" in read.codes
    assert str(status) in read.value("sitemap-with-error-status")


async def test_a_guessed_sitemap_under_404_is_named_too() -> None:
    """A probe is skipped in silence where there is nothing, and there is something."""
    async with serve_site() as site:
        site.pages["/sitemap.xml"] = Answer(make_index(f"{site.base}/a.xml"), 404)
        read = await read_site(site.base)
    assert read.codes >= {"sitemap-with-error-status", "no-sitemap"}


async def test_an_error_body_is_read_a_little() -> None:
    """An endless one costs neither memory nor more than a moment; a silent one as little."""

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html>")
        try:
            for _ in range(10_000):
                writer.write(b" " * 65_536)
                await writer.drain()
                sent.append(65_536)
        except ConnectionError:
            pass
        finally:
            writer.close()

    sent: list[int] = []
    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    async with server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with HttpFetcher() as fetcher:
            fetcher.trust(base)
            with pytest.raises(FetchError, match="404"):
                async with fetcher.open(base):
                    pass
    assert sum(sent) < 16 * 1024 * 1024


async def test_the_recipe_for_httpx_says_the_same() -> None:
    """Another client, the same words."""
    async with serve_site(Answer(CHALLENGE, 403, HTML)) as site, httpx.AsyncClient() as client:
        site.pages["/s.xml"] = Answer(make_urlset("https://a.example/1"), 404)
        fetcher = HttpxFetcher(client)
        fetcher.trust(site.base)
        codes = []
        for path in ("/s.xml", "/x.xml"):
            with pytest.raises(FetchError) as caught:
                async with fetcher.open(site.base + path):
                    pass
            codes.append(str(caught.value.code))
    assert codes == ["sitemap-with-error-status", "blocked-by-site"]


# -- who asks


async def test_the_default_user_agent_names_package_and_version() -> None:
    """It has no link in it: there is no page of ours that tells an owner who asks."""
    agents = []

    async def answer(request: web.Request) -> Answer:
        agents.append(request.headers["User-Agent"])
        return Answer(status=404)

    async with serve_site(answer) as site:
        await read_site(site.base, probe="never")
    assert set(agents) == {f"sitemapreader/{sitemapreader.__version__}"}
