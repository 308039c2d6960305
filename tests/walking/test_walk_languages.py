"""`language`: what records say of their languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader import walk
from tests.support.commands import run
from tests.support.serving import serve
from tests.support.walking import walk_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.serving import Page

SITE = "https://example.org/"
TOP = f"{SITE}top.xml"
XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
NEWS = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'


def record(
    loc: str, links: Mapping[str, str], *, lastmod: str = "", news: str = ""
) -> str:
    alternates = "".join(
        f'<xhtml:link rel="alternate" hreflang="{code}" href="{url}"/>'
        for code, url in links.items()
    )
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    told = (
        f"<news:news><news:publication><news:language>{news}</news:language>"
        "</news:publication></news:news>"
        if news
        else ""
    )
    return f"<url><loc>{loc}</loc>{dated}{alternates}{told}</url>"


def document(*records: str) -> bytes:
    head = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" {XHTML} {NEWS}>'
    )
    return f"{head}{''.join(records)}</urlset>".encode()


def at(base: str) -> dict[str, str]:
    return {
        "x-default": f"{base}en",
        "en-GB": f"{base}en",
        "de": f"{base}de",
        "fr": "/fr",
        "nl": "https://other.example/nl",
    }


async def test_languages() -> None:
    """Only records that say their language pass, each code with its regions, at a real server."""

    def make_pages(base: str) -> Mapping[str, Page]:
        links = at(f"{base}/")
        return {
            "/top.xml": document(
                record(f"{base}/en", links),
                record(f"{base}/de", links),
                record(f"{base}/plain", {}),
                record(f"{base}/news", {}, news="EN"),
                record(f"{base}/other", {"eng": f"{base}/other"}),
            )
        }

    async with serve(make_pages) as served:
        found = {}
        for codes in ("en", "de,EN", ("en-US",), "en-gb"):
            async with walk(
                sitemaps=[f"{served.base}/top.xml"], language=codes
            ) as entries:
                found[str(codes)] = [
                    e.loc.removeprefix(served.base) async for e in entries
                ]
            (read,) = [each for each in entries.report.documents if each.listed]
            assert read.listed == read.entries + read.filtered == 5
    assert list(found.values()) == [
        ["/en", "/news"],
        ["/en", "/de", "/news"],
        [],
        ["/en"],
    ]


def test_in_the_shell() -> None:
    """It is an option, and the column `language` can be asked for."""
    words = ["testdata/site", "--language", "en,fr", "--format", "csv"]
    assert run(*words, "--fields", "loc,language").stdout.split()[0] == "loc,language"
    assert set(run(*words, "--fields", "language", "--no-header").stdout.split()) == {
        "en",
        "fr",
    }


@pytest.mark.parametrize(
    ("links", "code"),
    [
        ({"zh_CN": f"{SITE}a"}, "zh"),
        ({"zh-CN": f"{SITE}a"}, "ZH_cn"),
        ({"PT_br": f"{SITE}a"}, "pt-BR"),
        ({"en": f"{SITE}a", "en-GB": f"{SITE}a"}, "en-GB"),
        ({"x-default": f"{SITE}a", "de": f"{SITE}a", "de-AT": f"{SITE}a"}, "de-at"),
        ({"fr": "https://EXAMPLE.org:443/a"}, "fr"),
        ({"fr": f"{SITE}%61#top"}, "fr"),
        ({"fr": "/a"}, "fr"),
    ],
)
async def test_a_language_in_any_spelling(links: Mapping[str, str], code: str) -> None:
    """An underscore is a hyphen, own links may be spelled otherwise, and each code counts."""
    pages = {
        TOP: document(record(f"{SITE}a", links), record(f"{SITE}b", {"es": f"{SITE}b"}))
    }
    walked = await walk_all(pages, None, sitemaps=[TOP], language=code)
    assert walked.locs == [f"{SITE}a"]


@pytest.mark.parametrize(
    ("codes", "paths", "without"),
    [("en", ["en"], 2), ("en,und", ["en", "a", "b"], 0), ("und", ["a", "b"], 0)],
)
async def test_records_without_a_language_are_counted_or_kept(
    codes: str, paths: list[str], without: int
) -> None:
    """The code for an unknown language keeps them, also where no record names any."""
    plain = document(*(record(SITE + name, {}) for name in "ab"))
    pages = {
        TOP: document(record(f"{SITE}en", at(SITE)), record(f"{SITE}de", at(SITE))),
        f"{SITE}plain.xml": plain,
    }
    walked = await walk_all(pages, None, sitemaps=[*pages], language=codes)
    assert sorted(walked.locs) == sorted(SITE + path for path in paths)
    assert walked.report.without_language == without


def test_the_shell_says_how_many_have_no_language(tmp_path: Path) -> None:
    """And how to keep them."""
    text = document(record(f"{SITE}en", at(SITE)), record(f"{SITE}plain", {}))
    (tmp_path / "sitemap.xml").write_bytes(text)
    done = run("sitemap.xml", "--language", "en", cwd=tmp_path)
    assert done.stdout == f"{SITE}en\n"
    said = "excluded 1 URL without a language (add the code und to --language to keep"
    assert said in done.stderr
    kept = run("sitemap.xml", "--language", "en,und", cwd=tmp_path)
    assert kept.stdout == f"{SITE}en\n{SITE}plain\n"
    assert "without a language" not in kept.stderr
