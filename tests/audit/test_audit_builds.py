"""What publishing software really builds and serves is judged for what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from sitemapreader import SiteTask
from sitemapreader.audit import audit, audit_sync
from tests.audit.page_audits import (
    FIGURES,
    OPTIONS,
    WORDS,
    build,
    hits,
    judge,
    page,
    publish,
)
from tests.support.commands import run
from tests.support.serving import Answer, serve_pages
from tests.support.there import known
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.audit import Audit

pytestmark = pytest.mark.slow  # each test audits a small site

XHTML = "http://www.w3.org/1999/xhtml"


def reasons(result: Audit) -> dict[str, str]:
    """Return why rules were not run, by their codes."""
    return {each.rule.code: each.reason for each in result.facts.not_run}


def counts(result: Audit) -> dict[str, tuple[str, int]]:
    """Return severity and number of hits of each finding, by its code."""
    return {each.rule.code: (each.severity, each.count) for each in result.findings}


def build_pages(folder: Path, urls: list[str], *names: str, robots: str = "") -> Path:
    """Write a built site: a sitemap, and pages of some names."""
    texts = {name: page(text=f"{WORDS} {name}") for name in names}
    texts["sitemap.xml"] = urlset(*urls).decode()
    if robots:
        texts["robots.txt"] = robots
    return build(folder, **texts)


def link_languages(
    links: dict[str, str], rel: str = "alternate", kind: str = ""
) -> str:
    """Write links to versions in other languages, by their codes."""
    mime = f' type="{kind}"' if kind else ""
    return "".join(
        f'<link rel="{rel}" hreflang="{code}" href="{url}"{mime}>'
        for code, url in links.items()
    )


def list_languages(pages: dict[str, dict[str, str]]) -> str:
    """Write a sitemap of URLs with links to versions in other languages."""
    records = "".join(
        f"<url><loc>{loc}</loc>"
        + "".join(
            f'<x:link rel="alternate" hreflang="{code}" href="{url}"/>'
            for code, url in links.items()
        )
        + "</url>"
        for loc, links in pages.items()
    )
    return (
        urlset("")
        .decode()
        .replace("<urlset", f'<urlset xmlns:x="{XHTML}"')
        .replace("</urlset>", f"{records}</urlset>")
    )


# -- folders below a path


@pytest.mark.parametrize(
    ("base", "paths"),
    [
        ("https://docs.example/manual/", ["", "install", "usage/"]),
        ("https://docs.example/team/manual/", ["", "install.html", "usage/"]),
        ("https://docs.example/handb%C3%BCcher/", ["install", "usage/"]),
        ("https://docs.example/manual/", ["install", "usage"]),
        ("https://docs.example/manual/", ["install", "usage", "lost", "gone", "away"]),
    ],
)
def test_a_folder_below_a_path_is_found_by_its_urls(
    base: str, paths: list[str], tmp_path: Path
) -> None:
    """A project page is built without its path: where its files fit the URLs, that is its base."""
    urls = [base + path for path in paths]
    folder = build_pages(
        tmp_path, urls, "index.html", "install.html", "usage/index.html"
    )
    ignored = ["page-unlisted", "page-may-redirect"]
    with audit_sync(folder, ignore=ignored) as result:
        lost = sum(path in ("lost", "gone", "away") for path in paths)
        assert counts(result) == ({"page-missing": ("error", lost)} if lost else {})
        assert result.facts.base_url == base.rstrip("/") + "/"
        assert known(result.facts.pages).judged == len(paths)
        assert f", at {base.rstrip('/')}/\n" in result.format("text")


@pytest.mark.parametrize(
    ("urls", "names"),
    [
        # the folder itself has the path
        (
            ["https://docs.example/en/a", "https://docs.example/en/b"],
            ("en/a.html", "en/b.html"),
        ),
        # a start page answers for any path
        (["https://docs.example/lost/page/"], ("index.html", "about.html")),
        (["https://docs.example/", "https://docs.example/a"], ("index.html", "a.html")),
    ],
)
def test_a_folder_at_the_root_stays_there(
    urls: list[str], names: tuple[str, ...], tmp_path: Path
) -> None:
    """The origin is the base where files answer for the URLs, or no path can be told."""
    with audit_sync(build_pages(tmp_path, urls, *names)) as result:
        assert result.facts.base_url == "https://docs.example/"


@pytest.mark.parametrize(
    ("base", "urls"),
    [
        (
            "https://docs.example/manual/",
            ["https://docs.example/", "https://docs.example/install"],
        ),
        (
            "https://docs.example/v2/",
            ["https://docs.example/v1/", "https://docs.example/v1/install"],
        ),
        (
            "https://docs.example/",
            ["https://docs.example/en/", "https://docs.example/en/install"],
        ),
    ],
)
def test_pages_at_other_urls_than_the_listed_are_missing(
    base: str, urls: list[str], tmp_path: Path
) -> None:
    """A folder with pages is a built site, even if none of its files answers for a listed URL."""
    folder = build_pages(tmp_path, urls, "index.html", "install.html")
    ended = run("audit", str(folder), "--base-url", base)
    assert ended.returncode == 5
    assert re.search(r"\[page-missing\](,|\n   ) 2 of 2 pages", ended.stdout)
    assert ("is below this URL" in ended.stdout) == (not urls[0].startswith(base))


@pytest.mark.parametrize(
    "wrong",
    [
        "http://docs.example",
        "https://www.docs.example/",
        "https://docs.example:8443/manual/",
        "https://staging.example/manual/",
    ],
)
@pytest.mark.parametrize("files", [("index.html", "install.html"), ("index.html",)])
def test_a_base_url_on_a_host_that_is_not_listed_is_the_first_error(
    wrong: str, files: tuple[str, ...], tmp_path: Path
) -> None:
    """No page is judged, so none of their rules passes, and the URL that fits is named."""
    base = "https://docs.example/manual/"
    urls = [base + path for path in ("", "install", "usage", "lost")]
    robots = f"Sitemap: {base}sitemap.xml"
    folder = build_pages(tmp_path, urls, *files, robots=robots)
    with audit_sync(folder, base_url=wrong) as result:
        first, *others = result.findings
        assert (first.rule.code, first.severity) == ("base-url-elsewhere", "error")
        assert "none of 4 listed URLs" in first.examples[0].detail
        assert first.examples[0].detail.endswith(f"fits {base}")
        assert {each.cause for each in others} <= {"base-url-elsewhere"}
        tally = known(result.facts.pages)
        assert (tally.judged, tally.not_judged) == (0, {"elsewhere": 4})
        assert "have an error or a warning" not in result.format("text")
        passed = {each.code for each in result.facts.passed}
        assert not [code for code in passed if code.startswith("page-")]
    for words in (["--ignore", "base-url-elsewhere"], ["--select", "page-missing"]):
        done = run("audit", str(folder), "--base-url", wrong, "--fail-on=never", *words)
        assert done.returncode == 3


@pytest.mark.parametrize("wrong", ["manual/v2/", "docs/", "docs"])
def test_a_base_url_with_a_path_too_many_names_the_one_that_fits(
    wrong: str, tmp_path: Path
) -> None:
    """The pages that have no file there are the same fault, and nothing is said to be built."""
    base = "https://docs.example/manual/"
    names = ("index.html", "install.html", "usage.html")
    urls = [base + path for path in ("", "install", "usage")]
    folder = build_pages(tmp_path, urls, *names)
    (folder / "robots.txt").write_text(f"Sitemap: {base}sitemap.xml")
    with audit_sync(folder, base_url=f"https://docs.example/{wrong}") as result:
        first, *others = result.findings
        assert first.rule.code == "base-url-elsewhere"
        assert first.examples[0].detail.endswith(f"fits {base}")
        assert {each.cause for each in others} <= {"base-url-elsewhere"}
        assert counts(result)["page-missing"] == ("error", 3)
        reasons = {each.reason for each in result.facts.not_run}
        assert not [each for each in reasons if "has no robots.txt" in each]


@pytest.mark.parametrize("robots", ["", "User-agent: *\nDisallow: /x"])
def test_rules_about_robots_txt_are_run_for_a_folder_that_has_one(
    robots: str, tmp_path: Path
) -> None:
    """The robots.txt of the site may come from elsewhere, so a folder without one says nothing."""
    urls = ["https://docs.example/a"]
    folder = build_pages(tmp_path, urls, "a.html", robots=robots)
    with audit_sync(folder, base_url="https://docs.example/") as result:
        left_out = reasons(result)
    for code in ("robots-blocked-url", "robots-blocks-site", "robots-too-large"):
        is_left_out = left_out.get(code) == "the folder has no robots.txt"
        assert is_left_out is not bool(robots), code


def test_robots_txt_of_another_host_than_the_base_url_is_that_error(
    tmp_path: Path,
) -> None:
    """The sitemap is not read, because its URL is not one of the folder."""
    folder = build(tmp_path, **{"index.html": page(), "a/index.html": page()})
    (folder / "s.xml").write_bytes(urlset("https://docs.example/a/"))
    (folder / "robots.txt").write_text("Sitemap: https://docs.example/s.xml")
    with audit_sync(folder, base_url="http://docs.example") as result:
        (first,) = (each for each in result.findings if not each.cause)
        assert first.rule.code == "base-url-elsewhere"
        assert first.examples[0].detail.endswith("fits https://docs.example/")


def test_listed_pages_of_another_host_do_not_pass_with_the_folder(
    tmp_path: Path,
) -> None:
    """They are not judged, while the pages of the folder are, however few they are."""
    urls = ["https://docs.example/", "https://docs.example/lost"]
    urls += [f"https://blog.example/{number}" for number in range(8)]
    with audit_sync(build_pages(tmp_path, urls, "index.html")) as result:
        tally = known(result.facts.pages)
        assert (tally.judged, tally.not_judged) == (2, {"elsewhere": 8})
        assert counts(result)["page-missing"] == ("error", 1)
        assert "base-url-elsewhere" not in counts(result)


def test_a_folder_of_sitemaps_is_no_built_site(tmp_path: Path) -> None:
    """Sitemaps beside a page that shows them to people are no site without its pages."""
    urls = [f"https://shop.example/p/{number}" for number in range(9)]
    with audit_sync(build_pages(tmp_path, urls, "index.html")) as result:
        assert counts(result) == {}
        assert "does not look like a site" in reasons(result)["page-not-found"]


# -- versions in other languages


@pytest.mark.parametrize(
    "source", ["folder", "server", "server, named in the sitemap as well"]
)
async def test_versions_that_only_pages_name_have_to_be_listed(
    source: str, tmp_path: Path
) -> None:
    """A language whose sitemap nothing names is found by the links of visited pages."""

    def make_pages(base: str) -> dict[str, str]:
        links = {code: f"{base}{code}/a" for code in ("en", "fr", "ja")}
        return {
            f"{code}/a": page(link_languages(links), f"{WORDS} {code}")
            for code in links
        }

    selected = ["hreflang-target-not-listed"]
    if source == "folder":
        base = "https://docs.example/"
        pages = {f"{path}.html": text for path, text in make_pages(base).items()}
        folder = build(
            tmp_path, **pages, **{"sitemap.xml": urlset(f"{base}en/a").decode()}
        )
        result = await judge(folder, None, select=selected)
    else:
        async with serve_pages() as server:
            base = server.base
            server.pages |= {
                f"/{path}": text for path, text in make_pages(base).items()
            }
            publish(server, "en/a")
            if "named" in source:
                own = {f"{base}en/a": {"en": f"{base}en/a", "fr": f"{base}fr/a"}}
                server.pages["/sitemap.xml"] = web.Response(text=list_languages(own))
            result = await judge(base, select=selected)
    with result:
        assert hits(result) == {
            "hreflang-target-not-listed": [
                ("en/a", f"{base}fr/a"),
                ("en/a", f"{base}ja/a"),
            ]
        }


@pytest.mark.parametrize(
    "other",
    [
        page('<meta name="robots" content="noindex">'),
        page('<link rel="canonical" href="https://docs.example/en/a">'),
        page('<meta http-equiv="refresh" content="0; url=/en/a">'),
    ],
)
def test_versions_that_keep_out_of_the_index_need_not_be_listed(
    other: str, tmp_path: Path
) -> None:
    """A version without a place in the index is rightly in no sitemap."""
    base = "https://docs.example/"
    links = link_languages({"en": f"{base}en/a", "fr": f"{base}fr/a"})
    pages = {"en/a.html": page(links), "fr/a.html": other}
    folder = build(tmp_path, **pages, **{"sitemap.xml": urlset(f"{base}en/a").decode()})
    with audit_sync(folder, select=["hreflang-target-not-listed"]) as result:
        assert counts(result) == {}


@pytest.mark.parametrize(
    ("on_page", "differs"),
    [
        ({"x-default": "en/"}, False),
        ({"x-default": "choose"}, False),
        ({"x-default": "en/", "ja": "ja/"}, True),
        ({"ja": "ja/"}, True),
    ],
)
@pytest.mark.parametrize("place", ["page", "sitemap"])
async def test_a_default_version_in_one_place_contradicts_nothing(
    on_page: dict[str, str], differs: bool, place: str
) -> None:
    """x-default on the page alone, or in the sitemap alone, is no difference; a language is."""
    both = {"en": "en/", "fr": "fr/"}
    said = {"page": both, "sitemap": both, place: both | on_page}
    async with serve_pages() as server:
        base = server.base

        def resolve(place: str) -> dict[str, str]:
            return {code: base + path for code, path in said[place].items()}

        links = link_languages(resolve("page"))
        server.pages |= {
            f"/{path}": page(links, f"{WORDS} {path}") for path in both.values()
        }
        listed = {base + path: resolve("sitemap") for path in both.values()}
        publish(server)
        server.pages["/sitemap.xml"] = web.Response(text=list_languages(listed))
        with await judge(base, select=["page-hreflang-differs"]) as result:
            assert counts(result) == (
                {"page-hreflang-differs": ("warning", 2)} if differs else {}
            )


async def test_two_default_versions_contradict_each_other() -> None:
    """Where both name an x-default, another URL is a difference, its own page included."""
    async with serve_pages() as server:
        base, both = server.base, {"en": f"{server.base}en/", "fr": f"{server.base}fr/"}
        links = link_languages(both | {"x-default": f"{base}en/"})
        server.pages |= {
            f"/{path}/": page(links, f"{WORDS} {path}") for path in ("en", "fr")
        }
        listed = {url: both | {"x-default": f"{base}fr/"} for url in both.values()}
        publish(server)
        server.pages["/sitemap.xml"] = web.Response(text=list_languages(listed))
        with await judge(base, select=["page-hreflang-differs"]) as result:
            assert counts(result) == {"page-hreflang-differs": ("warning", 2)}


@pytest.mark.parametrize("fallback", ["", "en/", "choose"])
async def test_a_default_version_on_the_page_is_one(fallback: str) -> None:
    """That the sitemap names no x-default is no note where the pages do."""
    async with serve_pages() as server:
        base, both = server.base, {"en": f"{server.base}en/", "fr": f"{server.base}fr/"}
        links = link_languages(
            both | ({"x-default": base + fallback} if fallback else {})
        )
        server.pages |= {
            f"/{path}/": page(links, f"{WORDS} {path}") for path in ("en", "fr")
        }
        publish(server)
        listed = dict.fromkeys(both.values(), both)
        server.pages["/sitemap.xml"] = web.Response(text=list_languages(listed))
        with await judge(base, select=["hreflang-no-x-default"]) as result:
            assert counts(result) == (
                {} if fallback else {"hreflang-no-x-default": ("info", 1)}
            )


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("application/rss+xml", "rss-{}.xml"),
        ("application/atom+xml; charset=utf-8", "{}/feed"),
        ("application/feed+json", "{}/feed.json"),
        ("", "{}/atom.xml"),
    ],
)
async def test_feeds_are_no_language_versions(kind: str, file: str) -> None:
    """A feed with an hreflang is no version of the page that names it."""
    async with serve_pages() as server:
        base, codes = server.base, ("de", "en")
        feeds = {code: base + file.format(code) for code in codes}
        versions = {code: f"{base}{code}/" for code in codes}
        head = link_languages(feeds, kind=kind) + link_languages(versions)
        paths = [f"{code}/" for code in codes]
        server.pages |= {f"/{path}": page(head, f"{WORDS} {path}") for path in paths}
        publish(server, *paths)
        selected = ["hreflang", "page-hreflang-differs"]
        with await judge(
            base, select=selected, ignore=["hreflang-no-x-default"]
        ) as result:
            assert counts(result) == {}
            assert result.sql("SELECT count(*) FROM alternate").fetchall() == [(4,)]


# -- robots.txt, and how many sitemaps there are


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, "the site has no robots.txt (404)"),
        (410, "the site has no robots.txt (410)"),
        (403, "no robots.txt was read (http-status 403)"),
    ],
)
@pytest.mark.parametrize("path", ["", "blog/"])
async def test_a_site_without_robots_txt_is_told_the_truth(
    status: int, reason: str, path: str
) -> None:
    """That there is none is no reason to ask for the site, which was given."""
    async with serve_pages(**{"robots.txt": status}) as server:
        server.pages[f"/{path}sitemap.xml"] = urlset(f"{server.base}{path}a")
        with await audit(server.base + path, options=OPTIONS) as result:
            said = reasons(result)
        assert said["robots-no-sitemap-line"] == said["robots-sitemap-broken"] == reason
        given = f"{server.base}{path}sitemap.xml"
        with await audit(SiteTask(given, "sitemap"), options=OPTIONS) as result:
            assert "a sitemap was given" in reasons(result)["robots-no-sitemap-line"]


@pytest.mark.parametrize("start", [200, 404])
@pytest.mark.parametrize("path", ["docs/", "docs/v2/", "~me/"])
async def test_guesses_without_a_sitemap_are_not_counted(start: int, path: str) -> None:
    """A start page, and addresses where a sitemap might be, are no sitemaps of the site."""
    pages = {path: page() if start == 200 else start}
    async with serve_pages(**pages) as server:
        server.pages[f"/{path}sitemap.xml"] = urlset(f"{server.base}{path}a")
        with await audit(server.base + path, options=OPTIONS) as result:
            assert result.facts.sitemaps == 1
            totals = {each.rule.code: each.of for each in result.findings}
            assert totals["response-no-validator"] == 1


# -- pages


@pytest.mark.parametrize("status", [404, 410, 200, 400, 403, 500])
async def test_a_listed_error_page_is_known_by_its_text(status: int) -> None:
    """A page with the text of what a made-up path gets is none, whatever the status of that."""
    text = "The page that you wanted is away. Perhaps the search has it?"

    def say_no(request: web.Request) -> Any:
        body = page(text=f"{text} {request.path}")
        return web.Response(text=body, status=status, content_type="text/html")

    names = [f"{folder}{number}" for folder in ("", "a/") for number in range(4)]
    fine = {name: page(text=f"{WORDS} {name}") for name in names}
    errors = {
        path: page(text=f"{text} /{path}") for path in ("404.html", "a/gone", "a/lost")
    }
    async with serve_pages(**fine, **errors, **{"": page(text="Welcome")}) as server:
        server.default = say_no
        publish(server, "", *fine, *errors)
        with await judge(server.base) as result:
            assert hits(result) == {"page-soft-404": [(path, "") for path in errors]}


async def test_small_folders_have_the_error_pages_of_their_host() -> None:
    """A made-up path is requested in the largest folders; its error page is that of all others."""
    lost = page(text="The page that you wanted is away. Perhaps the search has it?")
    fine = {
        f"f{folder}/{number}": page(text=f"{WORDS} {folder} {number}")
        for folder in range(4)
        for number in range(6 - folder)
    }
    gone = ["f2/gone", "f3/gone"]
    async with serve_pages(**fine, **dict.fromkeys(gone, lost)) as server:
        server.default = lambda _: web.Response(
            text=lost, status=404, content_type="text/html"
        )
        publish(server, *fine, *gone)
        figures = attrs.evolve(FIGURES, page_probes=1)
        with await judge(server.base, figures=figures) as result:
            assert hits(result) == {"page-soft-404": [(path, "") for path in gone]}


@pytest.mark.parametrize("path", ["404.html", "404/", "de/404.html", "404"])
async def test_a_listed_error_page_is_known_by_its_name_and_words(path: str) -> None:
    """A host with an error page of its own still serves the listed one of the site with 200.

    A page is none that has only the name, or only such words without a sentence about itself.
    """
    text = "404, nicht gefunden" if "de" in path else "404 Not Found"
    fine = {f"a/{number}": page(text=f"{WORDS} {number}") for number in range(4)}
    fine |= {"b/404": page(text=text), "fr/404.html": page(text=WORDS)}
    async with serve_pages(**fine, **{path: page(text=text)}) as server:
        server.default = lambda _: web.Response(text="404: see our help", status=404)
        publish(server, path, *fine)
        with await judge(server.base) as result:
            assert hits(result) == {"page-soft-404": [(path, "")]}


@pytest.mark.parametrize(
    "text",
    [
        "The page that you wanted is away. Perhaps the search has it?",
        "Sorry, this page does not exist.",
        "Страница не найдена. Попробуйте поиск по сайту.",
    ],
)
@pytest.mark.parametrize("language", ["", "de/"])
def test_pages_of_a_folder_are_compared_with_its_error_page(
    text: str, language: str, tmp_path: Path
) -> None:
    """404.html is the response to made-up paths; a page with its text is none."""
    base = "https://docs.example/"
    names = [f"{language}{number}.html" for number in range(4)]
    texts = {name: page(text=f"{WORDS} {name}") for name in names}
    texts |= {f"{language}lost.html": page("<title>Lost</title>", text)}
    urls = [base + name for name in texts]
    build(tmp_path, **texts, **{"sitemap.xml": urlset(*urls).decode()})
    codes = ["page-soft-404"]
    with audit_sync(tmp_path, base_url=base, select=codes) as result:
        assert reasons(result) == {
            "page-soft-404": "the folder has no 404.html to compare pages with"
        }
    build(tmp_path, **{f"{language}404.html": page("<title>Away</title>", text)})
    with audit_sync(tmp_path, base_url=base, select=codes) as result:
        assert hits(result) == {"page-soft-404": [(f"{language}lost.html", "")]}


@pytest.mark.parametrize("listed", [["a/", "b/"], ["a", "b/"], ["b/"]])
def test_a_file_behind_a_forced_redirect_is_no_page(
    listed: list[str], tmp_path: Path
) -> None:
    """Its listed URL is judged once, by the redirect; no second visit finds the file."""
    base = "https://docs.example/"
    names = ("a/index.html", "b/index.html")
    build_pages(tmp_path, [base + path for path in listed], *names)
    (tmp_path / "_redirects").write_text("/a/ /b/ 301!\n")
    codes = ["page-redirects", "page-unlisted"]
    with audit_sync(tmp_path, base_url=base, select=codes) as result:
        tally = known(result.facts.pages)
        assert (tally.listed, tally.visited) == (len(listed), len(listed))
        found = {code: count for code, (_, count) in counts(result).items()}
        assert found == ({"page-redirects": 1} if len(listed) == 2 else {})
        assert result.write_pages(tmp_path / "pages.csv") == len(listed)


async def test_pages_made_by_the_browser_are_no_error_pages() -> None:
    """One shell for all pages, the error page too, says nothing about any of them."""
    shell = page(text="Loading, please wait")
    paths = [f"p/{number}" for number in range(6)]
    async with serve_pages(**dict.fromkeys(paths, shell)) as server:
        server.default = lambda _: web.Response(
            text=shell, status=404, content_type="text/html"
        )
        publish(server, *paths)
        with await judge(server.base) as result:
            assert hits(result) == {}
            assert "a browser renders these pages" in reasons(result)["page-soft-404"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.pdf", "application/pdf"),
        ("data.csv", "text/csv"),
        ("photo.jpg", "image/jpeg"),
    ],
)
async def test_a_canonical_of_the_link_header_is_heeded(path: str, kind: str) -> None:
    """A file without a head names its page in the header, whatever its type."""
    async with serve_pages(page=page()) as server:
        link = f'<{server.base}page>; rel="canonical"'
        for name, value in {
            path: link,
            f"own-{path}": link.replace("page", f"own-{path}"),
        }.items():
            server.pages[f"/{name}"] = Answer(
                b"%", 200, {"Link": value, "Content-Type": kind}
            )
        publish(server, "page", path, f"own-{path}")
        with await judge(server.base) as result:
            assert hits(result) == {
                "page-canonical-elsewhere": [
                    (path, f"{server.base}page, which is listed")
                ]
            }


@pytest.mark.parametrize(
    ("unlisted", "severity"),
    [
        (["page/2/index.html", "blog/page/31/index.html", "blog/page4.html"], None),
        (["index2.html", "blog/index-7.html", "blog/seite-2.html"], None),
        (["2026/index.html", "blog/2026/11/index.html", "2026/11/28.html"], None),
        (
            ["archives/index.html", "archives/2026/index.html", "page/2/index.html"],
            "info",
        ),
        (["tags/sea/index.html", "category/geese.html", "authors/index.html"], "info"),
        (["posts/2/index.html", "p/12.html", "notes-3.html"], "warning"),
        (["landing-page-2.html", "about/index.html", "tagged.html"], "warning"),
    ],
)
def test_lists_of_pages_need_not_be_listed(
    unlisted: list[str], severity: str | None, tmp_path: Path
) -> None:
    """Numbered parts of lists are no finding, archives a note, all other pages a warning."""
    listed = build_pages(tmp_path, ["https://blog.example/"], "index.html", *unlisted)
    with audit_sync(listed) as result:
        assert [each.severity for each in result.findings] == [severity] * bool(
            severity
        )


def test_archives_have_a_rule_of_their_own(tmp_path: Path) -> None:
    """Another page that no sitemap lists makes no difference to them, nor to a baseline."""
    names = ("index.html", "archives/index.html", "tags/sea.html")
    listed = build_pages(tmp_path, ["https://blog.example/"], *names)
    archives = [("archives/", names[1]), (names[2], names[2])]
    known = tmp_path / "known.json"
    with audit_sync(listed) as result:
        assert hits(result) == {"page-unlisted-archive": archives}
        result.write_baseline(known)
    (listed / "about.html").write_text(page())
    with audit_sync(listed, baseline=known) as result:
        assert hits(result) == {
            "page-unlisted": [("about.html", "about.html")],
            "page-unlisted-archive": archives,
        }
        assert result.facts.mended_hits == {}


# -- empty sitemaps, and feeds


@pytest.mark.parametrize(
    "name", ["sitemap.xml", "sitemap_index.xml", "feed.xml", "index of two"]
)
async def test_a_site_without_any_url_is_an_error(name: str) -> None:
    """Where the only sitemaps are empty, search engines get nothing: that is an error."""
    async with serve_pages() as server:
        base = server.base
        bodies = {
            "feed.xml": b'<rss version="2.0"><channel><title>t</title></channel></rss>',
            "sitemap_index.xml": index(),
            "index of two": index(f"{base}a.xml", f"{base}b.xml"),
        }
        body, path = bodies.get(name, urlset()), name.replace(" ", "-")
        server.pages |= {"/a.xml": urlset(), "/b.xml": urlset(), f"/{path}": body}
        server.pages["/robots.txt"] = f"Sitemap: {base}{path}\n".encode()
        with await audit(
            base, options=OPTIONS, figures=FIGURES, select=["reading"]
        ) as result:
            assert counts(result)["empty"][0] == "error"


async def test_an_empty_news_sitemap_is_no_fault() -> None:
    """A site without news of today has an empty news sitemap."""
    async with serve_pages() as server:
        server.pages["/news.xml"] = urlset()
        server.pages["/robots.txt"] = f"Sitemap: {server.base}news.xml\n".encode()
        with await audit(server.base, options=OPTIONS, select=["empty"]) as result:
            assert counts(result) == {}


@pytest.mark.parametrize("kind", ["rss", "atom", "empty rss"])
async def test_feeds_of_an_index_are_no_tiny_sitemaps(kind: str) -> None:
    """Feeds list what is recent: that they are small, or empty, is no fault of an index."""
    item = "<item><title>t</title><link>HOSTa</link></item>"
    entry = '<entry><title>t</title><id>HOSTa</id><link href="HOSTa"/></entry>'
    feeds = {
        "rss": f'<rss version="2.0"><channel><title>t</title>{item}</channel></rss>',
        "atom": f'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>{entry}</feed>',
        "empty rss": '<rss version="2.0"><channel><title>t</title></channel></rss>',
    }
    async with serve_pages() as server:
        base = server.base
        names = [f"feed-{number}.xml" for number in range(25)]
        feed = feeds[kind].replace("HOST", base).encode()
        server.pages |= {f"/{name}": feed for name in names}
        server.pages["/main.xml"] = urlset(f"{base}a", f"{base}b")
        server.pages["/index.xml"] = index(
            *(base + name for name in ["main.xml", *names])
        )
        server.pages["/robots.txt"] = f"Sitemap: {base}index.xml\n".encode()
        chosen = ["index-tiny-children", "empty"]
        with await audit(base, options=OPTIONS, select=chosen) as result:
            assert counts(result) == {}
            assert result.facts.sitemaps == 27


# -- the index of a folder, listed without the slash


@pytest.mark.parametrize(
    ("base", "path", "files", "expected"),
    [
        # most hosts redirect, and this one is unknown
        ("https://a.example/", "about", {}, ("page-may-redirect", "info")),
        ("https://a.example/", "about?a=1", {}, ("page-may-redirect", "info")),
        ("https://a.example/docs/", "", {}, ("page-may-redirect", "info")),
        # the folder, its URL, or a line of it names the host
        ("https://me.github.io/docs/", "about", {}, ("page-redirects", "301")),
        ("https://me.pages.dev/", "about", {}, ("page-redirects", "308")),
        ("https://a.example/", "about", {"CNAME": "a"}, ("page-redirects", "301")),
        (
            "https://a.example/",
            "about",
            {"_redirects": "/about /about/ 302"},
            ("page-redirects", "302"),
        ),
        # it responds without a redirect
        ("https://me.vercel.app/", "about", {}, None),
        (
            "https://a.example/",
            "about",
            {"_redirects": "/about /about/index.html 200"},
            None,
        ),
        # with the slash, or with a file of its own
        ("https://a.example/", "about/", {}, None),
        ("https://a.example/", "about/index.html", {}, None),
        ("https://a.example/", "about", {"about.html": page(text="about")}, None),
    ],
)
def test_the_index_of_a_folder_without_a_slash(
    base: str,
    path: str,
    files: dict[str, str],
    expected: tuple[str, str] | None,
    tmp_path: Path,
) -> None:
    """Most servers redirect to the slash: a note, and exact where the host is known."""
    url = base + path if path else base.rstrip("/")
    folder = build_pages(
        tmp_path, [url, f"{base}other"], "index.html", "about/index.html", "other.html"
    )
    build(folder, **files)
    with audit_sync(
        folder,
        base_url=base,
        select=["page-may-redirect", "page-redirects", "page-missing"],
    ) as result:
        found = [(each.rule.code, each.severity) for each in result.findings]
        if expected is None:
            assert found == []
            return
        code, said = expected
        assert [each for each, _ in found] == [code]
        (hit,) = result.findings[0].examples
        assert hit.url == url
        if code == "page-redirects":
            assert hit.detail.startswith(f"{said} to {base}about/")
        else:
            assert found == [(code, said)]
            assert hit.detail.endswith("index.html")
