"""A site whose sitemaps are another's: the walk says so, and knows what robots.txt proves."""

from __future__ import annotations

from typing import Any

import pytest
from walking import Pages, Walked, index, urlset, walk_all

STAGING = "https://staging.acme.example/"
LIVE = "https://www.acme.example"
CDN = "https://maps.cdn.example"


def pages_of(site: str, sitemap: str, *locs: str) -> Pages:
    return {f"{site}robots.txt": f"Sitemap: {sitemap}".encode(), sitemap: urlset(*locs)}


def said(walked: Walked) -> list[str | None]:
    """Return what each `other-site` says."""
    return [issue.value for issue in walked.report.issues if issue.code == "other-site"]


@pytest.mark.parametrize("sitemap", [f"{LIVE}/sitemap.xml", f"{STAGING}sitemap.xml"])
async def test_a_copy_that_names_the_original(sitemap: str) -> None:
    """Where robots.txt or the sitemap of a copy names the original's URLs, a warning says so."""
    locs = [f"{LIVE}/{number}" for number in range(78)]
    walked = await walk_all(pages_of(STAGING, sitemap, *locs), STAGING)
    assert len(walked.locs) == 78
    assert said(walked) == ["all 78 URLs are on www.acme.example"]


async def test_several_other_hosts() -> None:
    """If there are several hosts, the one with the most URLs is named."""
    locs = ["https://a.example/1", "https://b.example/1", "https://b.example/2"]
    walked = await walk_all(pages_of(STAGING, f"{STAGING}s.xml", *locs), STAGING)
    assert said(walked) == ["2 of 3 URLs are on b.example"]


@pytest.mark.parametrize(
    ("site", "loc"),
    [
        ("https://acme.example/", "https://www.acme.example/1"),
        ("https://www.acme.example/", "http://acme.example/1"),
        ("https://acme.example:8443/blog/", "https://ACME.example/1"),
    ],
)
async def test_another_spelling_of_the_site(site: str, loc: str) -> None:
    """Neither `www.` nor scheme, port and case make another site."""
    robots = f"{site.removesuffix('blog/')}robots.txt"
    pages = {robots: f"Sitemap: {site}s.xml".encode(), f"{site}s.xml": urlset(loc)}
    assert said(await walk_all(pages, site)) == []


async def test_one_url_of_the_site_is_enough() -> None:
    """A site that lists others' URLs beside its own is not another site; nor are filters heeded."""
    locs = [*(f"{LIVE}/{number}" for number in range(9)), f"{STAGING}own"]
    pages = pages_of(STAGING, f"{STAGING}s.xml", *locs)
    assert said(await walk_all(pages, STAGING)) == []
    assert said(await walk_all(pages, STAGING, exclude="own")) == []


async def test_a_site_without_urls_and_sitemaps_without_a_site() -> None:
    """Without a URL, or without a site that was named, there is nothing to be said."""
    assert said(await walk_all(pages_of(STAGING, f"{STAGING}s.xml"), STAGING)) == []
    pages: Pages = {f"{STAGING}s.xml": urlset(f"{LIVE}/1")}
    assert said(await walk_all(pages, None, sitemaps=[f"{STAGING}s.xml"])) == []


def codes(walked: Walked) -> set[str]:
    return {str(issue.code) for issue in walked.report.issues}


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("how", ["child", "grandchild", "named"])
async def test_a_cross_submit_that_was_proven(how: str, *, lists: bool) -> None:
    """Entries of a site whose robots.txt lists their sitemap elsewhere are in its scope."""
    child, top = f"{CDN}/a.xml", f"{LIVE}/maps/index.xml"
    robots = f"Sitemap: {child}" if lists else "User-agent: *\nDisallow: /private"
    pages: Pages = {
        f"{LIVE}/robots.txt": robots.encode(),
        f"{CDN}/robots.txt": f"Sitemap: {child}".encode(),
        top: index(child),
        child: urlset(f"{LIVE}/1", f"{LIVE}/blog/2"),
    }
    arguments: dict[str, Any] = {"sitemaps": [top], "scope": "drop"}
    if how == "grandchild":
        pages[child] = index(f"{CDN}/b/c.xml")
        pages[f"{CDN}/b/c.xml"] = urlset(f"{LIVE}/1", f"{LIVE}/blog/2")
    walked = await walk_all(pages, None if how != "named" else f"{LIVE}/", **arguments)
    assert len(walked.locs) == (2 if lists else 0)
    assert ("out-of-scope" in codes(walked)) is not lists
