"""Sites without a network: FolderFetcher and MemoryFetcher."""

from __future__ import annotations

import asyncio
import errno
import gzip
import io
import os
from typing import TYPE_CHECKING

import pytest

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch import Fetcher, Response
from sitemapreader.fetch.local import (
    CHUNK_BYTES,
    FolderFetcher,
    MemoryFetcher,
    StoredResponse,
    read_file,
)
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

BASE = "https://site.example/"
LOC = b"<?xml version='1.0'?><urlset><url><loc> https://first.example/a </loc></url></urlset>"


def write(folder: Path, **files: bytes) -> None:
    """Write files named `a__b_xml` as `a/b.xml`."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with files of all sorts, and one beside it that is none of its business."""
    folder = tmp_path / "site"
    write(
        folder,
        a_xml=b"a",
        blog__b_xml=b"b",
        blog__index_html=b"index",
        empty__x_xml=b"",
    )
    (folder / "list.xml?page=2").write_bytes(b"page 2")
    (folder / "list.xml?tag=ä").write_bytes(b"tag")
    (folder / "list.xml").write_bytes(b"list")
    (folder / "with space.xml").write_bytes(b"space")
    (folder / "ä.xml").write_bytes(b"umlaut")
    (tmp_path / "site-secret.xml").write_bytes(b"secret")
    (folder / "out.xml").symlink_to(tmp_path / "site-secret.xml")
    (folder / "outside").symlink_to(tmp_path)
    (folder / "in.xml").symlink_to(folder / "a.xml")
    (folder / "loop").symlink_to(folder / "loop")
    return folder


async def fetch(fetcher: FolderFetcher, url: str) -> bytes:
    async with fetcher.open(url) as response:
        assert isinstance(fetcher, Fetcher)
        assert response.status == 200
        pieces = [piece async for piece in response.chunks()]
        assert response.headers["content-length"] == str(sum(map(len, pieces)))
        return b"".join(pieces)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.xml", b"a"),
        ("a.xml#part", b"a"),
        ("%61.xml", b"a"),
        ("blog/../a.xml", b"a"),
        ("//a.xml", b"a"),
        ("in.xml", b"a"),
        ("blog/b.xml", b"b"),
        ("blog/", b"index"),
        ("blog/?x", b"index"),
        ("empty/x.xml", b""),
        ("list.xml", b"list"),
        ("list.xml?page=2", b"page 2"),
        ("list.xml?page=3", b"list"),
        ("list.xml?tag=%C3%A4", b"tag"),
        ("with space.xml", b"space"),
        ("%C3%A4.xml", b"umlaut"),
    ],
)
async def test_the_file_of_a_url(path: str, content: bytes, site: Path) -> None:
    """Percent-decoded, with its query or without, and a folder's index."""
    assert await fetch(FolderFetcher(site, BASE), BASE + path) == content


@pytest.mark.parametrize(
    "url",
    [
        BASE + "b.xml",
        BASE,
        BASE + "a.xml/b",
        BASE + "a.xml%00.html",
        BASE + "x" * 5000,
        BASE + "loop",
        # outside of the folder
        BASE + "%2e%2e/site-secret.xml",
        BASE + "..%2fsite-secret.xml",
        BASE + "blog/%2e%2e/%2e%2e/site-secret.xml",
        BASE + "out.xml",
        BASE + "outside/site-secret.xml",
        BASE + "/etc/passwd",
        # elsewhere
        "http://site.example/a.xml",
        "https://www.site.example/a.xml",
        "file:///etc/passwd",
        "https://[::1",
    ],
)
async def test_urls_without_a_file(url: str, site: Path) -> None:
    """They are a 404, wherever they try to lead."""
    with pytest.raises(FetchError) as caught:
        await fetch(FolderFetcher(site, BASE), url)
    assert caught.value.code == IssueCode.HTTP_STATUS
    assert caught.value.http_status == 404


@pytest.mark.parametrize(
    "path",
    ["", "a.xml", "dogs/a.xml", "doc/a.xml", "docs.xml", "DOCS/a.xml", "docsa.xml"],
)
async def test_urls_outside_the_folder_of_a_base(path: str, site: Path) -> None:
    """With a base below the root, the rest of the host is no part of the folder."""
    fetcher = FolderFetcher(site, f"{BASE}docs/")
    assert await fetch(fetcher, f"{BASE}docs/a.xml") == b"a"
    with pytest.raises(FetchError, match="not part of the folder"):
        await fetch(fetcher, BASE + path)


@pytest.mark.skipif(
    os.name != "posix", reason="no named pipes: run it on Linux or macOS"
)
async def test_only_files_are_opened(site: Path) -> None:
    """A named pipe would wait for a writer for ever."""
    os.mkfifo(site / "pipe.xml")
    with pytest.raises(FetchError):
        await fetch(FolderFetcher(site, BASE), BASE + "pipe.xml")


async def test_a_large_file_comes_in_pieces_and_lets_others_work(
    tmp_path: Path,
) -> None:
    """No piece is larger than 64 KiB, and another task runs between two."""
    content = os.urandom(10 * CHUNK_BYTES + 1)
    (tmp_path / "big.xml").write_bytes(content)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(count_turns())
    async with FolderFetcher(tmp_path, BASE).open(BASE + "big.xml#x") as response:
        read: Response = response
        pieces = [piece async for piece in read.chunks()]
    other.cancel()
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) == CHUNK_BYTES
    assert turns >= len(pieces) - 1
    assert response.url == BASE + "big.xml"
    assert response.headers["last-modified"].endswith(" GMT")


async def test_a_disk_that_fails() -> None:
    """A read error in the middle is BODY_CUT, after what could be read."""

    class Worn(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    pieces = read_file(BASE + "a.xml", Worn(b"a"))
    assert await anext(pieces) == b"a"
    with pytest.raises(FetchError, match="Input/output error") as caught:
        await anext(pieces)
    assert caught.value.code == IssueCode.BODY_CUT


# -- the base URL


@pytest.mark.parametrize(
    ("files", "base"),
    [
        ({}, "http://localhost/"),
        (
            {
                "robots_txt": b"# Sitemap: http://no/\nSitemap: /s.xml\nSITEMAP :\thttps://R.example:84/x\r\n",
                "sitemap_xml": LOC,
            },
            "https://r.example:84/",
        ),
        ({"robots_txt": b"Sitemap: http://[::1\n", "sitemap_xml": LOC}, "https://first.example/"),
        ({"sitemap_xml_gz": gzip.compress(LOC)[:-12]}, "https://first.example/"),
        ({"sitemap_xml": b"\x1f\x8bnot gzip"}, "http://localhost/"),
        ({"deep__down__s_xml": LOC.replace(b"loc", b"s:LOC")}, "https://first.example/"),
        ({"a_xml": b"<loc><![CDATA[ http://cdata.example/]]></loc>"}, "http://cdata.example/"),
        # a namespace is no URL of the site, nor is one in the middle of a text
        ({"a_xml": b"<urlset xmlns='http://www.sitemaps.org/'\nx='http://x/'/>"}, "http://localhost/"),
        ({"note_txt": b"see http://elsewhere.example/"}, "http://localhost/"),
        # what is called a sitemap comes first, and the higher one
        ({"a_xml": LOC.replace(b"first", b"a"), "z-sitemap_xml": LOC}, "https://first.example/"),
        ({"a__sitemap_xml": LOC.replace(b"first", b"a"), "sitemap_xml": LOC}, "https://first.example/"),
    ],
)  # fmt: skip
def test_the_base_url_is_found(
    files: dict[str, bytes], base: str, tmp_path: Path
) -> None:
    """From robots.txt, else from the first URL in a sitemap, else localhost."""
    write(tmp_path, **files)
    assert FolderFetcher(tmp_path).base_url == base


def test_the_base_url_does_not_come_from_outside(tmp_path: Path) -> None:
    """Links that lead out of the folder are not followed for it either."""
    write(tmp_path, secret_xml=LOC, site__a_txt=b"nothing")
    (tmp_path / "site" / "sitemap.xml").symlink_to(tmp_path / "secret.xml")
    assert FolderFetcher(tmp_path / "site").base_url == "http://localhost/"


def test_a_folder_or_a_base_that_is_none_is_misuse(tmp_path: Path) -> None:
    """It is told at once, and the message names what reads a file."""
    (tmp_path / "file").write_bytes(b"")
    for name in ("file", "nothing"):
        with pytest.raises(NotADirectoryError, match=r"read\(\)"):
            FolderFetcher(tmp_path / name)
    for base in ("site.example", "ftp://site.example/", "https://", "/folder"):
        with pytest.raises(ValueError, match="base_url must be an http or https URL"):
            FolderFetcher(tmp_path, base)


URL = "https://example.org/sitemap.xml"
BODY = urlset("https://example.org/")
TOLD = {"etag": '"1"', "last-modified": "Sat, 01 Nov 2025 00:00:00 GMT"}


async def fetch_page(
    fetcher: Fetcher, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    async with fetcher.open(URL, headers=headers) as response:
        read: Response = response
        return read.status, b"".join([piece async for piece in read.chunks()])


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (None, (200, BODY)),
        ({"Accept": "*/*"}, (200, BODY)),
        ({"If-None-Match": '"1"'}, (304, b"")),
        ({"if-modified-since": TOLD["last-modified"]}, (304, b"")),
        ({"If-None-Match": '"0"'}, (200, BODY)),
    ],
)
async def test_a_version_that_one_has_is_not_sent_again(
    asked: dict[str, str] | None, answer: tuple[int, bytes]
) -> None:
    """304 and no body for who names the version that is stored; the page itself stays whole."""
    fetcher = MemoryFetcher({URL: StoredResponse(URL, BODY, headers=TOLD)})
    assert await fetch_page(fetcher, asked) == answer
    assert await fetch_page(fetcher) == (200, BODY)
    assert fetcher.requested == [URL, URL]


async def test_bytes_have_no_version_and_what_is_not_stored_is_a_404() -> None:
    """A page without headers is always sent, whatever is asked."""
    assert await fetch_page(MemoryFetcher({URL: BODY}), {"If-None-Match": "*"}) == (
        200,
        BODY,
    )
    with pytest.raises(FetchError, match="404"):
        await fetch_page(MemoryFetcher({}), {"If-None-Match": "*"})
