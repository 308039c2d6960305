"""A built folder answers for its URLs as a host will answer once it is deployed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sitemapreader.pages import NotJudged, PageFolder, PageVisit
from tests.support.walking import index, urlset

PAGE = "<!doctype html><title>T</title><meta name=robots content=noindex><body>x"
BASE = "https://example.org/docs/"


def build(folder: Path, *names: str, **texts: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE)
    for name, text in texts.items():
        (folder / f"_{name}").write_text(text)
    return folder


def answers(folder: Path, *paths: str) -> list[PageVisit]:
    site = PageFolder(folder, BASE)
    return [site.visit(f"https://example.org{path}") for path in paths]


FILES = {
    **dict.fromkeys(("/docs/", "/docs"), "index.html"),
    **dict.fromkeys(("/docs/a/", "/docs/a", "/docs/a/index"), "a/index.html"),
    **dict.fromkeys(("/docs/b", "/docs/b.html", "/docs/b?page=2"), "b.html"),
    "/docs/c": "c.htm",
    "/docs/d": "d",
    "/docs/caf%C3%A9": "caf\u00e9.html",
    **dict.fromkeys(
        ("/docs/b/", "/docs/B", "/docs/../secret", "/docs/%2e%2e/secret"), ""
    ),
    **dict.fromkeys(("/other", "/docs/b%00"), ""),
}


def test_urls_have_files(tmp_path: Path) -> None:
    """With and without a slash, with and without a suffix: what hosts serve is found."""
    (tmp_path / "secret").write_text("x")
    site = build(
        tmp_path / "site",
        "index.html",
        ".html",
        "a/index.html",
        "b.html",
        "c.htm",
        "d",
        "caf\u00e9.html",
    )
    found = [(visit.file, visit.status) for visit in answers(site, *FILES)]
    assert found == [(file, 200 if file else 404) for file in FILES.values()]


def test_redirects_are_followed(tmp_path: Path) -> None:
    """Rules lead to files, abroad, in a circle, or nowhere; a file goes before an unforced one."""
    rules = "/docs/old /docs/b\n/docs/b /x 301\n/docs/c /docs/b 301!\n/docs/r /docs/r2 302\n"
    rules += "/docs/r2 /docs/r\n/docs/away https://other.example/\n"
    rules += "/docs/app/* /docs/b 200\n/docs/no /x 404\n"
    rules += "/docs/api/* https://api.example/:splat 200\n"
    site = build(tmp_path, "b.html", "c.html", redirects=rules)
    old, b, forced, circle, away, app, gone, proxy = answers(
        site,
        *(
            f"/docs/{name}"
            for name in ("old", "b", "c", "r", "away", "app/x", "no", "api/b")
        ),
    )
    assert [(each.url, each.status) for each in old.redirects] == [
        ("https://example.org/docs/old", 301)
    ]
    assert (old.final_url, old.file) == ("https://example.org/docs/b", "b.html")
    assert (b.redirects, b.file) == ((), "b.html")
    assert forced.final_url == "https://example.org/docs/b"
    assert "redirect loop" in circle.error
    assert (away.final_url, away.status, away.error) == (
        "https://other.example/",
        None,
        "",
    )
    assert (app.file, app.status) == ("b.html", 200)
    assert (gone.status, gone.file) == (404, "")
    assert (proxy.status, proxy.file, proxy.facts) == (200, "", None)


def test_facts_and_headers(tmp_path: Path) -> None:
    """A page's facts are those of its file and of `_headers`."""
    rules = (
        '/docs/*\n  Link: </docs/x>; rel="canonical"\n  X-Robots-Tag: googlebot: none\n'
    )
    (visit,) = answers(build(tmp_path, "b.html", headers=rules), "/docs/b")
    assert visit.facts is not None
    assert visit.facts.canonicals == ("https://example.org/docs/x",)
    assert visit.facts.robots == {"robots": {"noindex"}, "googlebot": {"none"}}
    assert visit.facts.title == "T"


def test_pages_that_may_be_unlisted(tmp_path: Path) -> None:
    """Error pages, parts of pages and tokens of search engines need no sitemap."""
    names = [
        "index.html",
        "a/index.html",
        "b.html",
        "404.html",
        "50x.html",
        "offline.html",
    ]
    names += [
        "_next/x.html",
        ".vitepress/y.html",
        "google0123456789abcdef.html",
        "a.txt",
    ]
    names += [
        "en/search/index.html",
        "search.html",
        "genindex-A.html",
        "en/py-modindex.html",
    ]
    folder = PageFolder(build(tmp_path, *names), BASE)
    assert not folder.may_answer_more
    pages = folder.list_pages()
    assert dict(pages) == {
        "index.html": BASE,
        "a/index.html": f"{BASE}a/",
        "b.html": f"{BASE}b.html",
    }
    assert PageFolder(build(tmp_path, ".htaccess"), BASE).may_answer_more
    assert PageFolder(build(tmp_path, redirects="/* /index.html 200"), BASE).answers_all


def test_links(tmp_path: Path) -> None:
    """A link to a file outside or to itself is no page, and one inside is; names need no UTF-8."""
    build(tmp_path, "secret.html")
    site = build(tmp_path / "site", "a.html")
    (site / "out.html").symlink_to(tmp_path / "secret.html")
    (site / "in.html").symlink_to(site / "a.html")
    (site / os.fsdecode(b"\xff.html")).write_text(PAGE)
    for name, target in (
        ("self", "self"),
        ("dead", "none"),
        ("up", "."),
        ("b.html", "c.html"),
    ):
        (site / name).symlink_to(target)
    (site / "c.html").symlink_to("b.html")
    found = answers(site, *(f"/docs/{name}" for name in ("out", "in", "%FF", "a")))
    assert [each.status for each in found] == [404, 200, 200, 200]
    found = answers(site, *(f"/docs/{name}" for name in ("self", "dead", "up/a", "b")))
    assert {each.status for each in found} == {404}


def test_a_file_that_goes_while_the_folder_is_read(tmp_path: Path) -> None:
    """The visit has an error, and the next one goes on."""
    site = build(tmp_path, "a.html", "b.html")
    folder = PageFolder(site, BASE)
    (site / "a.html").unlink()
    gone, there = (folder.visit(f"{BASE}{name}") for name in "ab")
    assert gone.status is None
    assert gone.error == os.strerror(errno.ENOENT)
    assert there.status == 200


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe and a link out of the folder are no rules of a host, and no pages."""
    build(tmp_path, "secret", "b.html")
    (tmp_path / "secret").write_text("/docs/* /docs/b 301")
    site = build(tmp_path / "site", "b.html")
    os.mkfifo(site / "_headers")
    os.mkfifo(site / "c.html")
    (site / "_redirects").symlink_to(tmp_path / "secret")
    assert [each.status for each in answers(site, "/docs/b", "/docs/c")] == [200, 404]


def test_a_folder_that_is_too_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders whose path is longer than the system allows are left out, and the others read."""
    site = build(tmp_path / "site", "b.html")
    monkeypatch.chdir(site)
    for _ in range(25):  # 25 * 200 characters, and Linux allows 4,096
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    assert [each.status for each in answers(site, "/docs/b")] == [200]


@pytest.mark.parametrize(
    ("base", "extra", "steps"),
    [
        ("https://a.example/", (), [(200, "a/index.html", True)]),
        ("https://a.example/", ("CNAME",), [(301, ""), (200, "a/index.html", False)]),
        ("https://u.github.io/", (), [(301, ""), (200, "a/index.html", False)]),
        ("https://u.gitlab.io/", (), [(302, ""), (200, "a/index.html", False)]),
        ("https://u.netlify.app/", (), [(301, ""), (200, "a/index.html", False)]),
        ("https://u.pages.dev/", (), [(308, ""), (200, "a/index.html", False)]),
        ("https://u.vercel.app/", (), [(200, "a/index.html", False)]),
    ],
)
def test_the_slash_of_a_folder_is_added_as_its_host_does(
    tmp_path: Path, base: str, extra: tuple[str, ...], steps: list[Any]
) -> None:
    """By a redirect of its own status, or not at all; of an unknown host either may be."""
    names = "index.html", "a/index.html", "b.html", *extra
    folder = PageFolder(build(tmp_path, *names), base)
    found = folder.visit(f"{base}a?x=1")
    told = [(each.status, "") for each in found.redirects]
    told.append((found.status, found.file, found.may_redirect))  # type: ignore[arg-type]
    assert told == steps
    slash = "/" if found.redirects else ""
    assert found.final_url == f"{base}a{slash}?x=1"
    for path in ("", "a/", "a/index.html", "b"):
        direct = folder.visit(base + path)
        assert (direct.status, direct.redirects, direct.may_redirect) == (
            200,
            (),
            False,
        )
    assert not folder.visit(f"{base}c").may_redirect


def test_a_url_of_another_site_is_not_judged(tmp_path: Path) -> None:
    """Its host is asked by nobody; a fragment does not count."""
    site = PageFolder(build(tmp_path, "a.html"), BASE)
    url = "https://other.example/docs/a#b"
    found = site.visit(url)
    assert found == PageVisit(
        url, "https://other.example/docs/a", not_judged=NotJudged.ELSEWHERE
    )
    assert site.visit(f"{BASE}a#b").final_url == f"{BASE}a"


def test_redirects_of_rules_are_bounded(tmp_path: Path) -> None:
    """Ten lead to a page, and eleven are a fault; so is one to something that is not a URL."""
    steps = "".join(f"/docs/r{n} /docs/r{n - 1}\n" for n in range(1, 12))
    rules = f"{steps}/docs/odd http://[x\n"
    site = build(tmp_path, "r0.html", redirects=rules)
    ten, eleven, odd = answers(site, "/docs/r10", "/docs/r11", "/docs/odd")
    assert (ten.status, len(ten.redirects), ten.error) == (200, 10, "")
    assert (eleven.status, len(eleven.redirects)) == (None, 11)
    assert eleven.error == "a redirect loop, or too many redirects"
    assert odd.error == "a redirect to something that is not a URL"
    assert [each.target for each in odd.redirects] == ["http://[x"]


@pytest.mark.parametrize(
    ("rule", "path", "found"),
    [
        # the rule says how the host comes to an index
        ("/docs/a /docs/a/ 302", "a", (200, "a/index.html", [302])),
        # the file goes before a rule that leads elsewhere
        ("/docs/a /docs/b 302", "a", (200, "a/index.html", [])),
        ("/docs/a/ /docs/b 302", "a/", (200, "a/index.html", [])),
        ("/docs/b /docs/a/ 302", "b", (200, "b.html", [])),
        ("/docs/b /x 400", "b", (200, "b.html", [])),
        ("/docs/c /docs/b 200", "c", (200, "b.html", [])),
        ("/docs/c /docs/none 200", "c", (404, "", [])),
        ("/docs/c /404.html 404", "c", (404, "", [])),
        ("/docs/b /404.html 410!", "b", (410, "", [])),
    ],
)
def test_a_rule_beside_a_file(
    tmp_path: Path, rule: str, path: str, found: tuple[int, str, list[int]]
) -> None:
    """The file counts, unless the rule is forced or leads to the same index."""
    site = build(tmp_path, "a/index.html", "b.html", redirects=rule)
    (visit,) = answers(site, f"/docs/{path}")
    statuses = [each.status for each in visit.redirects]
    assert (visit.status, visit.file, statuses) == found


def test_error_pages_are_those_of_the_top_and_of_languages(tmp_path: Path) -> None:
    """The first file of a folder counts; they are responses to made-up paths, with their text."""
    names = (
        "404.html",
        "404/index.html",
        "de/404.htm",
        "x/y/404.html",
        "en/404",
        "a.html",
    )
    folder = PageFolder(build(tmp_path, *names), "https://example.org/")
    found = folder.error_pages
    assert {key: visit.file for key, visit in found.items()} == {
        "https://example.org/": "404.html",
        "https://example.org/de/": "de/404.htm",
    }
    for key, visit in found.items():
        assert visit.url.startswith(f"{key}sitemapreader-")
        assert (visit.status, visit.final_url) == (404, visit.url)
        assert visit.facts is not None
        assert visit.facts.text_hash is not None


def test_texts_are_read_of_pages_like_an_error_page(tmp_path: Path) -> None:
    """Half of its longest words make a page like it; all texts are read if it is asked for."""
    words = [f"word{number:02}" for number in range(30)]
    build(tmp_path, "404.html")
    texts = {
        "404": words[:20],
        "half": words[10:30],
        "less": words[11:30],
        "other": ["another"],
    }
    for name, text in texts.items():
        page = f"<title>T</title><p>{' '.join(text)} <p>{name}"
        (tmp_path / f"{name}.html").write_text(page)

    def list_read(folder: PageFolder) -> list[str]:
        visits = {name: folder.visit(f"{BASE}{name}").facts for name in texts}
        return [name for name, facts in visits.items() if facts and facts.text_hash]

    assert list_read(PageFolder(tmp_path, BASE)) == ["404", "half"]
    assert list_read(PageFolder(tmp_path, BASE, text=True)) == list(texts)
    (tmp_path / "404.html").unlink()
    assert list_read(PageFolder(tmp_path, BASE)) == []


def test_what_is_no_page_is_no_html(tmp_path: Path) -> None:
    """A file has the type that `_headers` says, or none that is read."""
    rules = "/docs/b.bin\n  Content-Type: text/html\n"
    site = build(tmp_path, "a.bin", "b.bin", "c.HTM", headers=rules)
    found = answers(site, "/docs/a.bin", "/docs/b.bin", "/docs/c.HTM")
    assert [each.facts and each.facts.title for each in found] == [None, "T", "T"]
    types = [each.headers.get("content-type") for each in found]
    assert types == ["application/octet-stream", "text/html", None]


def test_sitemaps_of_a_folder(tmp_path: Path) -> None:
    """They are known by their names, and have their URLs."""
    names = (
        "sitemap.xml",
        "a/My-Sitemap-1.xml.gz",
        "sitemap.txt",
        "map.xml",
        "a b/sitemap.XML",
    )
    folder = PageFolder(build(tmp_path, *names), BASE)
    assert list(folder.list_sitemaps()) == [
        ("a b/sitemap.XML", f"{BASE}a%20b/sitemap.XML"),
        ("a/My-Sitemap-1.xml.gz", f"{BASE}a/My-Sitemap-1.xml.gz"),
        ("sitemap.xml", f"{BASE}sitemap.xml"),
    ]


ROOT = "https://u.example/"


@pytest.mark.parametrize(
    ("names", "listed", "base"),
    [
        (["index.html", "a.html"], ["project/", "project/a"], f"{ROOT}project/"),
        (["index.html", "a.html"], ["", "a"], ROOT),
        (["index.html", "a.html"], ["x/y/", "x/y/a"], f"{ROOT}x/y/"),
        (["index.html", "a.html", "x/a.html"], ["x/a", "x/"], f"{ROOT}x/"),
        (["x/a.html", "b.html"], ["x/a"], ROOT),
        (["a.html", "b.html", "x/a.html", "x/b.html"], ["x/a", "x/b"], ROOT),
        (["a.html", "b.html"], ["x/a", "x/b", "y/c"], ROOT),
        # a start page alone answers for a URL of any depth
        (["index.html", "a.html"], ["project/"], ROOT),
        (["index.html"], ["project/"], f"{ROOT}project/"),
        (["index.html", "a.html"], ["project/", "project/none"], ROOT),
        (["index.html", "a.html"], ["project/", "other/a"], ROOT),
        (["index.html", "a.html"], [], ROOT),
        (["index.html", "a.html"], ["ü/", "ü/a"], f"{ROOT}%C3%BC/"),
    ],
)
def test_the_url_of_a_folder_is_found_by_what_it_lists(
    tmp_path: Path, names: list[str], listed: list[str], base: str
) -> None:
    """It is the shared folder of the listed URLs below which most of them have a file."""
    site = build(tmp_path, *names)
    others = [f"https://other.example/{path}" for path in ("z/", "z/a")]
    locs = [*others, *(ROOT + path for path in listed)]
    (site / "sitemap.xml").write_bytes(urlset(*locs))
    (site / "sitemap-index.xml").write_bytes(index(f"{ROOT}z.xml"))
    assert PageFolder(site, ROOT).find_base_url() == base


def test_the_url_of_a_folder_is_kept_as_it_is_written(tmp_path: Path) -> None:
    """Nothing listed says that it is another one."""
    base = f"{ROOT}a(b)/"
    assert PageFolder(build(tmp_path, "index.html"), base).find_base_url() == base
