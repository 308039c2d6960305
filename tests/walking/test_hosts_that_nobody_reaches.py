"""Sitemaps on localhost, on internal hosts and on `undefined`: said as the site's error."""

from __future__ import annotations

import pytest

from sitemapreader.audit import audit_sync
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.walking import ROBOTS, SITE, index, urlset, walk_all

MAP = "https://example.org/index.xml"
HIDDEN = (
    "http://localhost:3000/sitemap-0.xml",
    "http://127.0.0.1/sitemap.xml",
    "http://[::1]:8080/s.xml",
    "https://10.0.0.7/s.xml",
    "https://undefined/sitemap.xml",
    "http://cms/sitemap.xml",
    "https://shop.internal/sitemap.xml",
    "http://wordpress.local./sitemap.xml",
)


@pytest.mark.parametrize("url", HIDDEN)
async def test_a_listed_sitemap_on_a_hidden_host_is_an_error(url: str) -> None:
    """In an index and in robots.txt it is said by one code, and nothing is asked of the host."""
    pages = {MAP: index(url, f"{SITE}a.xml"), f"{SITE}a.xml": urlset(f"{SITE}a")}
    walked = await walk_all(pages, None, sitemaps=[MAP])
    assert walked.codes == ["host-not-public"]
    assert walked.outcome(url) == ("skipped", "host-not-public")
    assert walked.locs == [f"{SITE}a"]
    pages[MAP] = index(f"{SITE}a.xml")
    pages[ROBOTS] = f"Sitemap: {url}\nSitemap: {MAP}\n".encode()
    walked = await walk_all(pages)
    assert walked.codes == ["host-not-public"]
    assert walked.locs == [f"{SITE}a"]
    assert not any(each.startswith(url[:14]) for each in walked.requested)


@pytest.mark.parametrize(
    "text",
    ["undefined", "undefined/sitemap.xml", "null/s.xml", "None/a", "localhost:80/s"],
)
async def test_a_word_for_no_host_is_no_folder(text: str) -> None:
    """What a program writes for the address that it does not know becomes no URL."""
    pages = {
        ROBOTS: f"Sitemap: {text}\nSitemap: {MAP}\n".encode(),
        MAP: index(text, text),
    }
    walked = await walk_all(pages)
    assert {*walked.codes} == {"host-not-public"}
    assert not any(text in each for each in walked.requested)


@pytest.mark.parametrize(
    ("site", "child"),
    [
        ("http://localhost:3000/", "http://127.0.0.1:3000/s.xml"),
        ("https://intranet/", "https://maps.intranet/s.xml"),
        ("https://www.example.org/", "https://news.example.org/s.xml"),
    ],
)
async def test_a_site_that_is_not_public_may_name_others(site: str, child: str) -> None:
    """Only a public site has no use for a hidden host."""
    pages = {
        f"{site}robots.txt": f"Sitemap: {child}".encode(),
        child: urlset(f"{site}a"),
    }
    walked = await walk_all(pages, site)
    assert "host-not-public" not in walked.codes
    assert walked.locs == [f"{site}a"]


async def test_what_the_caller_names_is_read() -> None:
    """A hidden host that the caller has named is no error."""
    url = "http://localhost:3000/sitemap-0.xml"
    walked = await walk_all({url: urlset(f"{SITE}a")}, None, sitemaps=[url])
    assert walked.locs == [f"{SITE}a"]


def test_an_audit_finds_hidden_hosts_of_sitemaps_and_pages() -> None:
    """Both are findings of one rule, counted together, an error."""
    pages = {
        ROBOTS: f"Sitemap: {MAP}".encode(),
        MAP: index(*HIDDEN[:3], f"{SITE}a.xml"),
        f"{SITE}a.xml": urlset(f"{SITE}a", "http://localhost/b", "http://localhost/c"),
    }
    with audit_sync(SITE, fetcher=MemoryFetcher(pages)) as result:
        (found,) = [
            each for each in result.findings if each.rule.code == "host-not-public"
        ]
        hits = [url for _, url, *_ in result.hits("host-not-public").fetchall()]
    assert (str(found.severity), found.count) == ("error", 5)
    assert {*hits} == {*HIDDEN[:3], "http://localhost/b", "http://localhost/c"}
