"""Sources for the old site of an audit: a sitemap, a crawl, a build; and refused ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from sitemapreader.audit import audit
from sitemapreader.audit.models import AuditInputError
from tests.audit.page_audits import (
    WORDS,
    build,
    hits,
    judge,
    list_pages,
    page,
    publish,
)
from tests.support.serving import serve_pages
from tests.support.there import known

if TYPE_CHECKING:
    from pathlib import Path

WAS = ("was-*",)


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", ["sitemap", "table", "url"])
async def test_the_old_site_is_given_in_many_ways(tmp_path: Path, kind: str) -> None:
    """A sitemap, a crawl or a URL: its URLs are asked for as they are.

    Only the pages of a crawl that existed and could be indexed count.
    """
    async with serve_pages(**{"": page(), "new": page()}) as server:
        publish(server, "", "new")
        listed = list_pages(server.base, "new", "old")
        server.pages["/old.xml"] = lambda _: web.Response(
            text=listed, content_type="application/xml"
        )
        texts = {
            "old.xml": listed,
            "old.csv": "Address,Status Code,Content Type\n"
            f"{server.base}new,200,text/html\n{server.base}old,200,text/html\n"
            f"{server.base}long-gone,404,text/html\n{server.base}logo.png,200,image/png\n",
        }
        build(tmp_path, **texts)
        sources = {
            "sitemap": tmp_path / "old.xml",
            "table": str(tmp_path / "old.csv"),
            "url": f"{server.base}old.xml",
        }
        with await judge(server.base, None, was=sources[kind], select=WAS) as result:
            assert hits(result) == {"was-lost": [("old", "404")]}
            assert known(result.facts.old_pages).listed == 2


async def test_an_old_site_that_is_read_in_part(tmp_path: Path) -> None:
    """Where an old sitemap is missing, the report says so, and judges the rest."""
    async with serve_pages(new=page()) as server:
        publish(server, "new")
        children = "".join(
            f"<sitemap><loc>{server.base}{name}.xml</loc></sitemap>"
            for name in ("there", "none")
        )
        site = build(
            tmp_path,
            **{
                "old.xml": f"<sitemapindex>{children}</sitemapindex>",
                "there.xml": list_pages(server.base, "new", "old"),
            },
        )
        with await judge(server.base, None, was=site / "old.xml", select=WAS) as result:
            assert hits(result) == {"was-lost": [("old", "404")]}
            assert not result.facts.old_complete
            assert result.facts.complete
            assert "not all old sitemaps were read" in result.format("text")
            assert "Not all of the old sitemaps could be read." in result.format("html")


async def test_an_old_build_is_the_pages_that_it_had(tmp_path: Path) -> None:
    """Its unlisted pages count by their canonical URLs, and what had no page is not lost."""
    base = "https://docs.example/"
    canonical = f"<link rel=canonical href={base}clean>"
    pages = {
        "index.html": page(),
        "kept/index.html": page(text=f"{WORDS} kept"),
        "listed.html": page(text=f"{WORDS} listed"),
    }
    listed = list_pages(base, "", "kept/", "listed", "never-built")
    unlisted = {
        "unlisted.html": page(text=f"{WORDS} unlisted"),
        "clean.html": page(canonical, text=f"{WORDS} clean"),
        "alias.html": page(canonical, text=f"{WORDS} alias"),
        "hidden.html": page("<meta name=robots content=noindex>"),
        "moved.html": page("<meta http-equiv=refresh content='0;url=/kept/'>"),
        "404.html": page(),
    }
    old = build(tmp_path / "old", **pages, **unlisted, **{"sitemap.xml": listed})
    rest = {name: pages[name] for name in ("index.html", "kept/index.html")}
    new = build(
        tmp_path / "new", **rest, **{"sitemap.xml": list_pages(base, "", "kept/")}
    )
    with await judge(new, None, was=old, select=WAS) as result:
        lost = sorted(url for url, _ in hits(result)["was-lost"])
        assert lost == ["clean", "listed", "unlisted.html"]
        assert known(result.facts.old_pages).listed == 5
    # a folder of sitemaps alone says nothing about pages
    alone = build(tmp_path / "alone", **{"sitemap.xml": listed})
    with await judge(new, None, was=alone, select=WAS) as result:
        lost = sorted(url for url, _ in hits(result)["was-lost"])
        assert lost == ["listed", "never-built"]


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("was", "message"),
    [
        ("none.xml", "neither an http"),
        ("empty.csv", "no column of URLs"),
        ("empty.xml", "the old site .*empty.xml has no URL"),
        (".", "no URL of the old site .* was read: no-sitemap"),
        ([], "the list of old URLs has no URL"),
    ],
)
async def test_an_old_site_without_urls_is_refused(
    tmp_path: Path, was: Any, message: str
) -> None:
    """An input without an old URL is wrong usage, and the new site gets no request."""
    build(
        tmp_path,
        **{"empty.csv": "a,b\n", "empty.xml": list_pages("https://a.example/")},
    )
    async with serve_pages() as server:
        with pytest.raises(AuditInputError, match=message):
            await audit(
                server.base, was=tmp_path / was if isinstance(was, str) else was
            )
        assert not server.times
