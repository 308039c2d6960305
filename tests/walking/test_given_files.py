"""Files on this machine, and a robots.txt in any folder, as the caller gives them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import FetchOptions, State, discover, walk, walk_sync
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.outcomes import Role, Status
from sitemapreader.fetch import MemoryFetcher
from tests.support.grouping import grouped
from tests.support.serving import answer, serve_pages
from tests.support.walking import ROBOTS, SITE, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader import Report

PAGE, OTHER = f"{SITE}a", "https://other.example/b"
FEED = f"<rss version='2.0'><channel><item><link>{PAGE}</link></item></channel></rss>".encode()
DOCUMENTS = {
    "map.xml": urlset(PAGE),
    "a map, zipped.xml.gz": gzip.compress(urlset(PAGE)),
    "list.txt": PAGE.encode(),
    "caf\u00e9%20#1.rss": FEED,
}


async def walk_locs(*site: Any, **arguments: Any) -> tuple[list[str], Report]:
    """Walk; return the URLs in their order, and the report."""
    async with walk(*site, **grouped(arguments)) as entries:
        locs = sorted([entry.loc async for entry in entries])
    return locs, entries.report


@pytest.mark.parametrize("write", [Path, Path.as_uri])
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_file_is_read(
    name: str, write: Callable[[Path], Any], tmp_path: Path
) -> None:
    """As the site or among the sitemaps, by its path or URL: its content decides the format."""
    file = tmp_path / name
    file.write_bytes(DOCUMENTS[name])
    as_site, report = await walk_locs(write(file))
    as_sitemap, _ = await walk_locs(sitemaps=[write(file)])
    assert as_site == as_sitemap == [PAGE]
    assert report.complete
    assert not report.counts
    assert [each.url for each in report.documents] == [file.as_uri()]


def test_a_file_by_a_relative_path_is_read(tmp_path: Path, monkeypatch: Any) -> None:
    """It is found from the current folder, without `await` as well."""
    (tmp_path / "map.xml").write_bytes(urlset(PAGE))
    monkeypatch.chdir(tmp_path)
    with walk_sync(Path("map.xml")) as entries:
        assert [entry.loc for entry in entries] == [PAGE]


async def test_the_sitemaps_that_a_file_lists_are_fetched(tmp_path: Path) -> None:
    """An index and a robots.txt on disk lead to any host, from where the usual rules hold."""
    pages = {
        f"{SITE}1.xml": urlset(PAGE),
        "https://other.example/2.xml": index("https://third.example/3.xml"),
        "https://third.example/3.xml": urlset(OTHER),
    }
    listed = [f"{SITE}1.xml", "https://other.example/2.xml"]
    (tmp_path / "index.xml").write_bytes(index(*listed))
    (tmp_path / "robots.txt").write_text(
        "".join(f"Sitemap: {each}\n" for each in listed)
    )
    for name in ("index.xml", "robots.txt"):
        locs, report = await walk_locs(tmp_path / name, fetcher=MemoryFetcher(pages))
        assert locs == [PAGE], name
        assert report.counts[IssueCode.CROSS_HOST_CHILD] == 1, name
        children = {each.url for each in report.children((tmp_path / name).as_uri())}
        assert children == {*listed}, name


async def test_a_folder_is_a_site(tmp_path: Path) -> None:
    """Its files are served under the address that they name; it needs no fetcher."""
    (tmp_path / "robots.txt").write_text(f"Sitemap: {SITE}map.xml\n")
    (tmp_path / "map.xml").write_bytes(urlset(PAGE))
    for given in (tmp_path, tmp_path.as_uri()):
        assert (await walk_locs(given))[0] == [PAGE]
    with pytest.raises(TypeError, match="fetcher= cannot be combined"):
        walk(tmp_path, fetcher=MemoryFetcher({}))


@pytest.mark.parametrize(
    "robots", [b"", b"User-agent: *\nDisallow: /x\n", b"Sitemap: /missing.xml\n"]
)
async def test_a_folder_is_searched_if_its_robots_txt_names_no_sitemap(
    robots: bytes,
) -> None:
    """The search begins below the folder of that robots.txt, and its start page is read."""
    shop = f"{SITE}shop/"
    for found in ({f"{shop}sitemap.xml": urlset(PAGE)}, {}):
        pages = {f"{shop}robots.txt": robots, **found}
        locs, report = await walk_locs(
            f"{shop}robots.txt", fetcher=MemoryFetcher(pages)
        )
        requested = [document.url for document in report.documents]
        assert f"{shop}sitemap.xml" in requested
        assert f"{shop}robots.txt/sitemap.xml" not in requested
        assert locs == ([PAGE] if found else [])
        if not found:
            assert report.counts[IssueCode.NO_SITEMAP] == 1
            issue = report.issues[-1]
            assert issue.sitemap == shop


async def test_a_file_has_no_base(tmp_path: Path) -> None:
    """A relative URL in it is dropped with an Issue, and never becomes a path of the machine."""
    (tmp_path / "map.xml").write_bytes(urlset("/a", "b/c", PAGE))
    locs, report = await walk_locs(tmp_path / "map.xml")
    assert locs == [PAGE]
    assert report.counts.total() == 2


async def test_no_document_opens_a_file(tmp_path: Path) -> None:
    """An index or robots.txt that lists one is not heeded; only the caller names files."""
    secret = tmp_path / "secret.xml"
    secret.write_bytes(urlset("https://secret.example/"))
    listed = secret.as_uri()
    (tmp_path / "index.xml").write_bytes(index(listed, "secret.xml", str(secret)))
    (tmp_path / "robots.txt").write_text(f"Sitemap: {listed}\nSitemap: /secret.xml\n")
    pages = {
        ROBOTS: f"Sitemap: {listed}".encode(),
        f"{SITE}i.xml": index(listed, "secret.xml"),
    }
    for given in (
        tmp_path / "index.xml",
        tmp_path / "robots.txt",
        SITE,
        f"{SITE}i.xml",
    ):
        assert (await walk_locs(given, fetcher=MemoryFetcher(pages)))[0] == [], given


def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    """A missing one, a folder among the sitemaps, and any for names that others wrote."""
    (tmp_path / "map.xml").write_bytes(urlset(PAGE))
    with pytest.raises(FileNotFoundError, match=r"gone\.xml does not exist"):
        walk(tmp_path / "gone.xml")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        walk("file://elsewhere.example/map.xml")
    with pytest.raises(IsADirectoryError, match="walk"):
        walk(sitemaps=[tmp_path])
    with pytest.raises(ValueError, match="trusted=False"):
        walk((tmp_path / "map.xml").as_uri(), trusted=False)


async def test_a_state_knows_a_file(tmp_path: Path) -> None:
    """What has not changed is not delivered again; what was added is."""
    file, state = tmp_path / "map.xml", State(tmp_path / "state.db")
    found = []
    for locs in ([PAGE], [PAGE], [PAGE, OTHER]):
        file.write_bytes(urlset(*locs))
        found.append((await walk_locs(file, state=state, changes=True))[0])
    assert found == [[PAGE], [], [OTHER]]


# -- a robots.txt that the caller names

LISTS = ["x/robots.txt", "robots.txt", "deep/er/Robots.TXT?v=2"]


@pytest.mark.parametrize("path", LISTS)
async def test_the_sitemaps_of_a_robots_txt_are_walked(path: str) -> None:
    """Wherever it lies, as the site or among the sitemaps; it is no sitemap itself."""
    url = f"{SITE}{path}"
    pages = {url: f"Sitemap: {SITE}1.xml\nSitemap: /2.xml\n".encode()}
    pages |= {f"{SITE}1.xml": urlset(PAGE), f"{SITE}2.xml": urlset(f"{SITE}b")}
    for how in ((url,), ()):
        arguments = {} if how else {"sitemaps": [url]}
        locs, report = await walk_locs(*how, fetcher=MemoryFetcher(pages), **arguments)
        assert locs == [PAGE, f"{SITE}b"]
        assert report.complete
        lists = [each for each in report.documents if each.url == url]
        assert [(each.role, each.children) for each in lists] == [(Role.ROBOTS, 2)]
    found = await discover(url, fetcher=MemoryFetcher(pages))
    assert [each.loc for each in found.sitemaps] == [f"{SITE}1.xml", f"{SITE}2.xml"]


async def test_a_robots_txt_without_sitemaps_is_searched_around() -> None:
    """Given as the site, its folder is searched; given as a sitemap, an Issue says it has none."""
    url = f"{SITE}x/robots.txt"
    pages = {url: b"User-agent: *\nDisallow:\n", f"{SITE}x/sitemap.xml": urlset(PAGE)}
    locs, report = await walk_locs(url, fetcher=MemoryFetcher(pages))
    assert locs == [PAGE]
    assert report.complete
    locs, report = await walk_locs(sitemaps=[url], fetcher=MemoryFetcher(pages))
    assert locs == []
    assert [(each.code, each.sitemap) for each in report.issues] == [
        (IssueCode.NO_SITEMAP, url)
    ]


@pytest.mark.parametrize("code", [404, 403, 500])
async def test_a_robots_txt_that_fails_is_no_complete_walk(code: int) -> None:
    """Over HTTP, one that cannot be read leaves an Issue; the other sitemaps are read."""
    pages: dict[str, Any] = {"x/robots.txt": answer(code), "map.xml": urlset(PAGE)}
    async with serve_pages(**pages) as server:
        named = [f"{server.base}x/robots.txt", f"{server.base}map.xml"]
        once = FetchOptions(max_attempts=1)
        locs, report = await walk_locs(sitemaps=named, options=once)
    assert locs == [PAGE]
    assert not report.complete
    (robots,) = [each for each in report.documents if each.role is Role.ROBOTS]
    assert robots.http_status == code
    assert robots.status is (Status.FAILED if code == 500 else Status.SKIPPED)
