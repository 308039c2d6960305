"""A folder of 3,000 URLs with known faults, of `tests/cases/planted.toml`; and a clean one."""

from __future__ import annotations

import os
import tomllib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.support.auditing import (
    HOST,
    NOW,
    image,
    index,
    link,
    news,
    page,
    urlset,
    video,
)
from tests.support.package import TESTS

if TYPE_CHECKING:
    from pathlib import Path

BUILT = NOW - timedelta(hours=1)
"""When the files were written."""
_SITEMAPS: dict[str, Any] = tomllib.loads(
    (TESTS / "cases" / "planted.toml").read_text("utf-8")
)
_LARGE = ("products", "blog", "stale", "undated", "some", "built", "languages", "media")
"""Sitemaps of the second index."""

FIGURES: dict[str, Any] = {"near_urls": 1_000}


def _day(number: int) -> str:
    """Return one of many days of this year, none of them older than the others' day."""
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number % 300)).strftime(
        "%Y-%m-%d"
    )


def _write_records(row: dict[str, Any], lastmod: str) -> str:
    """Write the records of a row, with the lastmod of all where it has none of its own."""
    more = "".join(
        link(hreflang, href) for hreflang, href in row.get("links", {}).items()
    )
    more += "".join(image(url, row.get("image", "")) for url in row.get("images", ()))
    more = more * row.get("times", 1) + row.get("more", "")
    more += news(**row["news"]) if "news" in row else ""
    more += video(**row["video"]) if "video" in row else ""
    records, start = "", row.get("start", 1)
    for n in range(start, start + row.get("count", 1)):
        day = _day(row.get("day", n))
        built = f"{BUILT + timedelta(seconds=n):%Y-%m-%dT%H:%M:%SZ}"
        days = {"day": day, "odd_day": day if n % 2 else "", "month_day": 1 + n % 28}
        date = row.get("lastmod", lastmod).format(n=n, moment=built, **days)
        records += page(row["loc"].replace("{n}", str(n)), date, more)
    return records


def plant_site(folder: Path) -> list[str]:
    """Write the planted site, and return the URLs that are known besides its own."""
    tiny = [f"tiny-{n:02}" for n in range(20)]
    files = {
        **{
            name: urlset(
                "".join(
                    _write_records(r, rows.get("lastmod", "{day}"))
                    for r in rows["records"]
                )
            )
            for name, rows in _SITEMAPS.items()
        },
        **{
            name: urlset("".join(page(f"/tiny/{n}-{i}", _day(i)) for i in range(5)))
            for n, name in enumerate(tiny)
        },
        "index-a": index(
            *((f"/{name}.xml", f"{BUILT:%Y-%m-%dT%H:%M:%SZ}") for name in tiny)
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
    records = _write_records({"loc": "/birds/{n}", "start": 0, "count": 100}, "{day}")
    files = {"sitemap": index(("/birds.xml", "2026-11-20")), "birds": urlset(records)}
    _write(folder, files, ["User-agent: *", "Allow: /", f"Sitemap: {HOST}/sitemap.xml"])


def _write(folder: Path, files: dict[str, bytes], robots: list[str]) -> None:
    (folder / "robots.txt").write_text("\n".join(robots))
    for name, body in files.items():
        (folder / f"{name}.xml").write_bytes(body)
    for path in folder.iterdir():
        os.utime(path, (BUILT.timestamp(), BUILT.timestamp()))
