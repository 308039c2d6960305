"""A built folder answers for its URLs as a host will answer once it is deployed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.pages import PageFolder, PageVisit

if TYPE_CHECKING:
    import pytest

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
