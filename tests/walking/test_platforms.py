"""The sitemaps that platforms do not name: found with `probe="deep"`, and only then."""

from __future__ import annotations

from typing import Any

import pytest
from serving import Answer, Site, read_site, serve_site
from walking import urlset

from sitemapreader import Format
from sitemapreader.discovery import load_platforms

PAGES = {
    "Wix": '<meta name="generator" content="Wix.com Website Builder"/>',
    "BigCommerce": '<link href="https://cdn11.bigcommerce.com/s-1/theme.css" rel="stylesheet">',
    "vBulletin": '<meta name="generator" content="vBulletin 5.6.4" />',
    "Blogger": "<meta content='blogger' name='generator'/>",
    "TYPO3": '<meta name="generator" content="TYPO3 CMS">',
    "Magento": '<script type="text/x-magento-init">{"*": {}}</script>',
    "DSpace": '<meta name="Generator" content="DSpace 7.6" />',
    "PrestaShop": '<meta name="generator" content="PrestaShop">',
    "ResourceSync": "<p>Nothing to see.</p>",
}
DESCRIPTION = """\
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:md capability="{own}"/>
  <url><loc>{loc}</loc><lastmod>2026-01-01</lastmod><rs:md capability="{listed}"/></url>
</urlset>"""


def page(markup: str = "") -> Answer:
    """Write a start page."""
    return Answer(f"<!doctype html><html><head>{markup}</head></html>".encode())


def fill(site: Site, platform: str = "ResourceSync") -> None:
    """Give a site a start page of a platform, and a sitemap that robots.txt names."""
    site.pages["/"] = page(PAGES[platform])
    site.pages["/robots.txt"] = Answer(f"Sitemap: {site.base}/named.xml".encode())
    site.pages["/named.xml"] = Answer(urlset(f"{site.base}/a"))


@pytest.mark.parametrize("platform", load_platforms())
async def test_each_platform_has_its_paths(platform: str) -> None:
    """Each path of a platform that the start page shows is tried, and no path of another."""

    async def answer(request: Any) -> Answer:
        asked.append(request.path_qs.removeprefix("/"))
        return start if request.path_qs == "/" else Answer(status=404)

    asked: list[str] = []
    async with serve_site(answer) as site:
        fill(site, platform)
        start = page(PAGES[platform])
        del site.pages["/"]
        await read_site(f"{site.base}/", probe="always")
        usual = set(asked)
        asked.clear()
        await read_site(f"{site.base}/", probe="deep")
    paths = load_platforms()[platform]["paths"]
    assert set(asked) - usual == {*paths, ".well-known/resourcesync"} - usual
    assert max(map(asked.count, asked)) == 1


async def test_wix_tells_of_siblings() -> None:
    """The name of one sitemap in robots.txt is enough: its siblings are read as well, once each."""
    async with serve_site() as site:
        fill(site)
        site.pages["/robots.txt"] = Answer(f"Sitemap: {site.base}/pages-sitemap.xml".encode())
        for name in ("pages", "blog-posts", "store-products", "forum-posts"):
            site.pages[f"/{name}-sitemap.xml"] = Answer(urlset(f"{site.base}/{name}"))
        usual = await read_site(f"{site.base}/", probe="always")
        site.requested.clear()
        deep = await read_site(f"{site.base}/", probe="deep")
    names = [loc.rpartition("/")[2] for loc in deep.locs]
    assert [loc.rpartition("/")[2] for loc in usual.locs] == ["pages"]
    assert sorted(names) == ["blog-posts", "forum-posts", "pages", "store-products"]
    assert max(site.times.values()) == 1
    assert deep.report.complete


@pytest.mark.parametrize("probe", ["auto", "few", "always", "never"])
async def test_it_is_off_by_default(probe: Any) -> None:
    """No other way of probing asks for the path of a platform."""
    async with serve_site() as site:
        fill(site, "PrestaShop")
        site.pages["/1_index_sitemap.xml"] = Answer(urlset(f"{site.base}/b"))
        reading = await read_site(f"{site.base}/", probe=probe)
    assert reading.locs == [f"{site.base}/a"]
    assert site.times.keys().isdisjoint({"/1_index_sitemap.xml", "/.well-known/resourcesync"})


async def test_refusals_end_it() -> None:
    """A site that refuses is not asked for every path."""

    async def refuse(request: Any) -> Answer:
        asked.append(request.path)
        return Answer(status=401)

    asked: list[str] = []
    async with serve_site(refuse) as site:
        fill(site, "Wix")
        await read_site(f"{site.base}/", probe="deep")
    assert sum(path.endswith("-sitemap.xml") for path in asked) <= 3


async def test_resourcesync_is_read_to_its_resources() -> None:
    """From the well-known document to capability lists, and to the lists of resources."""
    async with serve_site() as site:
        fill(site)
        chain = ("description", "capabilitylist", "resourcelist")
        places = ("/.well-known/resourcesync", "/rs/capabilities.xml", "/rs/resources.xml")
        for own, listed, place, target in zip(chain, chain[1:], places, places[1:], strict=False):
            loc = f"{site.base}{target}"
            text = DESCRIPTION.format(own=own, listed=listed, loc=loc)
            site.pages[place] = Answer(text.encode())
        site.pages["/rs/resources.xml"] = Answer(urlset(f"{site.base}/rs/1"))
        reading = await read_site(f"{site.base}/", probe="deep")
    assert sorted(reading.locs) == [f"{site.base}/a", f"{site.base}/rs/1"]
    assert reading.report.complete
    assert reading.document("/.well-known/resourcesync").format is Format.URLSET
