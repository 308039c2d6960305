"""A folder of 3,000 URLs with known faults, and one of a hundred without any."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from auditing import HOST, NOW, image, index, link, news, page, urlset, video

if TYPE_CHECKING:
    from pathlib import Path

BUILT = NOW - timedelta(hours=1)
"""When the files were written."""
_FILLERS = 972
"""URLs without a fault, so that the site has 3,000."""
_LARGE = ("products", "blog", "stale", "undated", "some", "built", "languages", "media")
"""Sitemaps of the second index."""

FIGURES: dict[str, Any] = {"near_urls": 1_000}


def _day(number: int) -> str:
    """Return one of many days of this year, none of them older than the others' day."""
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number % 300)).strftime("%Y-%m-%d")


def _products() -> str:
    fillers = [page(f"/products/p-{n}", _day(n)) for n in range(1, _FILLERS + 1)]
    fillers[7] = page("/products/p-8", "2026-05-05")  # the day of blog.xml
    faults = [
        page("/products/f-1#a", _day(1)),
        page("/products/f-2#b", _day(2)),
        *(page(f"/products/U-{n}", _day(n)) for n in range(3)),
        page("/products/P-1", _day(1)),
        page("/products/p-2?fbclid=1", _day(2)),
        page("/products/p-3", _day(30)),
        page("/products/p-4", _day(4)),
        page("/products/p-4", _day(4)),
        page("/products/p-5/", _day(5)),
        page("http://www.shop.example/products/p-6", _day(6)),
        page("https://shop.example/products/p-7", _day(7)),
        page("/products//d-1", _day(1)),
        page("/products//d-2", _day(2)),
        page("/products/k-1?utm_source=mail", _day(1)),
        page("/products/k-2?gclid=1", _day(2)),
        page("/products/s-1?sid=1", _day(1)),
        page("/products/s-2;jsessionid=9", _day(2)),
        page("/products/m?a=1&amp;b=2&amp;c=3&amp;d=4", _day(1)),
        page("/products/m?sort=price", _day(2)),
        page("/products/a.css", _day(1)),
        page("/products/b.js", _day(2)),
        page("/products/ü-1", _day(1)),
        page("/products/ü-2", _day(2)),
        page("https://10.0.0.1/x", _day(1)),
        page("https://other.example/1", _day(1)),
        page("https://other.example/2", _day(2)),
        *(page(f"/cart/{n}", _day(n)) for n in range(3)),
        *(page(f"/products/z-{n}", f"2026-02-0{n}T10:00:00") for n in range(1, 4)),
        page("/products/y-1", "2026-11-24"),
        page("/products/y-2", "2027-01-11"),
    ]
    return "".join(fillers + faults)


def _languages() -> str:
    def version(loc: str, *links: str) -> str:
        return page(loc, "2026-04-01", "".join((*links, link("x-default", loc))))

    return "".join(
        (
            version("/en/1", link("en", "/en/1"), link("de", "/de/1")),
            version("/de/1", link("de", "/de/1")),  # has no link back
            version("/en/2", link("en", "/en/2"), link("fr", "/fr/nowhere")),
            version("/en/3", link("en-UK", "/en/3")),
            page("/en/4", "2026-04-01", link("de", "/de/4") + link("x-default", "/de/4")),
            version("/de/4", link("de", "/de/4"), link("en", "/en/4")),
            page("/en/5", "2026-04-01", link("en", "/en/5") + link("pt", "/pt/5")),
            page("/pt/5", "2026-04-01", link("en", "/en/5") + link("pt", "/pt/5")),
            version("/en/6", link("en", "/en/6"), link("fr", "/en/6")),
        )
    )


def _media() -> str:
    secure, plain = "https://cdn.example/1.jpg", "http://cdn.example/2.jpg"
    return "".join(
        (
            page("/media/1", "2026-04-01", image(secure) * 1_001),
            page("/media/2", "2026-04-02", image(plain) + image(plain)),
            page("/media/3", "2026-04-03", image(secure, "<image:title>Boots</image:title>")),
            page("/media/4", "2026-04-04", image(f"{HOST}/img/1.jpg") + image(f"{HOST}/img/2.jpg")),
            page("/media/5", "2026-04-05", video(title="")),
            page("/media/6", "2026-04-06", video(player_loc=f"{HOST}/media/6")),
            page("/media/7", "2026-04-07", video(expiration_date="2025-03-01")),
        )
    )


def _news() -> str:
    articles = [
        page(f"/news/{n}", "2026-11-22T09:00:00Z", news(publication_date="2026-11-22T09:00:00Z"))
        for n in range(996)
    ]
    articles += [
        page(f"/news/old-{n}", "2026-11-01", news(publication_date="2026-11-01")) for n in range(5)
    ]
    faults = {"title": "", "language": "english"}
    articles += [
        page(f"/news/bad-{name}", "2026-11-22", news(**{name: value}))
        for name, value in faults.items()
    ]
    return "".join(articles)


def plant_site(folder: Path) -> list[str]:
    """Write the planted site, and return the URLs that are known besides its own."""
    undated = "<changefreq>daily</changefreq>"
    some = [page(f"/some/{n}", _day(n) if n % 2 else "") for n in range(100)]
    files = {
        "products": urlset(_products()),
        "blog": urlset(
            "".join(page(f"/blog/{n}", "2026-05-05") for n in range(300))
            + page("/products/p-8", "2026-05-05")
        ),
        "stale": urlset(
            "".join(page(f"/stale/{n}", f"2019-01-{1 + n % 28:02}") for n in range(200))
        ),
        "undated": urlset("".join(page(f"/undated/{n}", "", undated) for n in range(200))),
        "some": urlset("".join(some)),
        "built": urlset("".join(page(f"/built/{n}", _build_time(n)) for n in range(70))),
        "languages": urlset(_languages()),
        "media": urlset(_media()),
        "news": urlset(_news()),
        "misc": urlset(page("/misc/1", "2026-06-01") + page("/misc/2", "2026-06-02")),
        **{
            f"tiny-{n:02}": urlset("".join(page(f"/tiny/{n}-{i}", _day(i)) for i in range(5)))
            for n in range(20)
        },
        "index-a": index(
            *((f"/tiny-{n:02}.xml", f"{BUILT:%Y-%m-%dT%H:%M:%SZ}") for n in range(20))
        ),
        "index-b": index(*(f"/{name}.xml" for name in _LARGE)),
        "index-c": index(("/news.xml", "2026-11-01"), ("/misc.xml", "2026-11-22")),
    }
    robots = ["User-agent: Googlebot", "Disallow: /cart/", "Disallow: /img/"]
    robots += ["Disallow: /tiny-19.xml"]
    robots += [f"Sitemap: {HOST}/index-{letter}.xml" for letter in "abc"]
    _write(folder, files, robots)
    return [f"{HOST}/missing/{n}" for n in range(3)]


def plant_clean_site(folder: Path) -> None:
    """Write a site of a hundred URLs without a fault."""
    records = "".join(page(f"/birds/{n}", _day(n)) for n in range(100))
    files = {"sitemap": index(("/birds.xml", "2026-11-20")), "birds": urlset(records)}
    _write(folder, files, ["User-agent: *", "Allow: /", f"Sitemap: {HOST}/sitemap.xml"])


def _build_time(number: int) -> str:
    return (BUILT + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _write(folder: Path, files: dict[str, bytes], robots: list[str]) -> None:
    (folder / "robots.txt").write_text("\n".join(robots))
    for name, body in files.items():
        (folder / f"{name}.xml").write_bytes(body)
    for path in folder.iterdir():
        os.utime(path, (BUILT.timestamp(), BUILT.timestamp()))
