"""Sites without a network: FolderFetcher serves a directory, MemoryFetcher a dict."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import asynccontextmanager, suppress
from email.utils import formatdate
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import attrs

from sitemapreader._bytes.codings import decode_start
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import ROBOTS_MAX_BYTES
from sitemapreader._types.urls import origin_of, parse_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

CHUNK_BYTES = 65_536
FALLBACK_BASE_URL = "http://localhost/"

_MAX_FILES = 10_000
_MAX_READ = 100
"""Limits of the search for a first URL: files that are listed, and files that are read."""
_MAX_FOLDERS = 1_000
"""Limit of the search for a folder with a sitemap."""
_NOT_BUILDS = (".git", "node_modules")
"""Folders that no generator writes to, and that have many others."""
_SITEMAP_NAME = re.compile(r"(wp-)?sitemap([_-]index)?\.xml(\.gz)?")
_PAGES = (".html", ".htm")
"""Suffixes that hosts add to the path of a page: `/about` is `about.html`."""
# A Sitemap line of a robots.txt, or the URL of an entry
_FIRST_URL = re.compile(
    rb"^(?:\xef\xbb\xbf)?[ \t]*site-?map[ \t]*:[ \t]*(https?://\S+)"
    rb"|<(?:\w{1,40}:)?loc>\s{0,99}(?:<!\[CDATA\[\s{0,99})?(https?://[^\s<\]]+)",
    re.IGNORECASE | re.MULTILINE,
)


@attrs.frozen
class FileResponse:
    """A Response whose body is a file."""

    url: str
    chunks: Callable[[], AsyncIterator[bytes]]
    headers: Mapping[str, str] = attrs.field(factory=dict)
    status: int = 200


async def read_file(url: str, file: IO[bytes]) -> AsyncIterator[bytes]:
    """Yield an open file in pieces; raise FetchError, BODY_CUT, if it cannot be read."""
    try:
        while piece := file.read(CHUNK_BYTES):
            yield piece
            await asyncio.sleep(0)  # lets other tasks run between two pieces
    except OSError as error:
        raise FetchError(IssueCode.BODY_CUT, url, str(error)) from error


@asynccontextmanager
async def open_file(url: str, path: Path) -> AsyncIterator[FileResponse]:
    """Open a file as the response to a request for `url`; raise FetchError if that fails."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise not_found(url, f"404, {error.strerror or error}") from error
    with file:
        about = os.fstat(file.fileno())
        headers = {
            "content-length": str(about.st_size),
            "last-modified": formatdate(about.st_mtime, usegmt=True),
        }
        yield FileResponse(url, partial(read_file, url, file), headers)


class FolderFetcher:
    """Fetcher of the files below a folder, under their URLs on the site.

    `base_url` is the URL of the folder. By default it is the origin of the first absolute Sitemap
    line in `robots.txt`, else of the first `<loc>` in an XML file of the folder (gzipped or not),
    else `http://localhost/`. Other URLs, and files that are outside of the folder once symbolic
    links are resolved, are a 404.

    A file with the query in its name is preferred (`list.xml?page=2`, as wget writes it) to one
    without it. The URL of a folder returns its `index.html`, and `/about` returns `about.html`.

    Raises:
        NotADirectoryError: `folder` is not a directory.
        ValueError: `base_url` is not an http or https URL.
    """

    is_local = True

    def __init__(self, folder: str | Path, base_url: str | None = None) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise NotADirectoryError(
                f"{folder} is not a folder: to read one file, use read()"
            )
        self.base_url = _check_base(base_url or self._find_base_url())

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[FileResponse]:
        """Open the file of a URL; `headers` are ignored.

        Raises:
            FetchError: HTTP_STATUS 404, there is no such file.
        """
        del headers
        try:
            path = self.find_file(url)
        except OSError as error:  # a name that is too long, for example
            raise not_found(url, f"404, {error.strerror or error}") from error
        async with open_file(url.partition("#")[0], path) as response:
            yield response

    def find_file(self, url: str) -> Path:
        """Return the file of a URL; raise FetchError if there is none."""
        for name in self._list_names(url):
            path = self.folder / os.fsdecode(name)
            candidates = [path]
            if path.name:
                candidates += [path.with_name(path.name + page) for page in _PAGES]
            candidates += [path / f"index{page}" for page in _PAGES]
            for candidate in candidates:
                if candidate.is_file() and self._holds(candidate):
                    return candidate
        raise not_found(url, "404, no such file")

    def find_build(self) -> str:
        """Return the path of a folder below that has a sitemap, the nearest one; or "".

        A build has one at its root, and its sources are around it.
        """
        folders = [self.folder]
        for folder in islice(
            folders, _MAX_FOLDERS
        ):  # those below are appended meanwhile
            with suppress(OSError):
                for path in sorted(islice(folder.iterdir(), _MAX_FILES)):
                    if _SITEMAP_NAME.fullmatch(path.name) and folder != self.folder:
                        return _show_folder(folder)
                    is_left = path.is_symlink() or path.name in _NOT_BUILDS
                    if path.is_dir() and not is_left:
                        folders.append(path)
        return ""

    def _list_names(self, url: str) -> tuple[bytes, ...]:
        """Return the relative paths that a URL may refer to, percent-decoded."""
        parsed = parse_url(url)
        base = parse_url(self.base_url)
        if parsed is None or base is None or parsed.origin() != base.origin():
            raise not_found(url, "404, not part of the folder")
        path = unquote_to_bytes(parsed.raw_path)
        prefix = unquote_to_bytes(base.raw_path)
        if not (path + b"/").startswith(prefix):
            raise not_found(url, "404, not part of the folder")
        path = path[len(prefix) :].strip(b"/")
        query = parsed.raw_query_string.encode()
        if not query:
            return (path,)
        return (path + b"?" + query, path + b"?" + unquote_to_bytes(query), path)

    def _holds(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.folder)

    def _find_base_url(self) -> str:
        """Return the origin of the first Sitemap line, or else of the first `<loc>`."""
        files = islice(self.folder.rglob("*"), _MAX_FILES)
        documents = [
            path for path in files if path.name.lower().endswith((".xml", ".xml.gz"))
        ]
        # names with "sitemap" first, then paths with fewer folders
        documents.sort(
            key=lambda path: ("sitemap" not in path.name.lower(), len(path.parts), path)
        )
        for path in (self.folder / "robots.txt", *documents[:_MAX_READ]):
            with suppress(OSError):
                if path.is_file() and self._holds(path):
                    origin = origin_of(_read_first_url(path))
                    if origin:
                        return origin
        return FALLBACK_BASE_URL


def _show_folder(folder: Path) -> str:
    """Return the path of a folder, as one would type it here."""
    here = Path.cwd().resolve()
    if folder.is_relative_to(here):
        return f"./{folder.relative_to(here).as_posix()}"
    return str(folder)


def _read_first_url(path: Path) -> str:
    """Return the first Sitemap line or `<loc>` of a file, or ""."""
    with path.open("rb") as file:
        data = file.read(ROBOTS_MAX_BYTES)
    match = _FIRST_URL.search(decode_start(data, (), ROBOTS_MAX_BYTES))
    if match is None:
        return ""
    url: bytes = match[1] or match[2]
    return url.decode("utf-8", "replace")


def _check_base(url: str) -> str:
    parsed = parse_url(url)
    if parsed is None:
        raise ValueError(f"base_url must be an http or https URL, got {url!r}")
    base = str(parsed.with_query(None).with_fragment(None).with_user(None))
    if base.endswith("/"):
        return base
    return f"{base}/"


def not_found(url: str, detail: str = "404") -> FetchError:
    """Return the error for a URL that is not served."""
    return FetchError(IssueCode.HTTP_STATUS, url, detail, http_status=404)


# -- a dict of bytes, for tests without ports and patches


@attrs.define
class StoredResponse:
    """A Response whose body is in memory; another `url` than the requested one is a redirect."""

    url: str
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    chunk_bytes: int = 65_536
    tries: int = 1
    """Number of requests for it."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces."""
        for start in range(0, len(self.body), self.chunk_bytes):
            yield self.body[start : start + self.chunk_bytes]


class MemoryFetcher:
    """Fetcher from `{url: bytes | StoredResponse | exception}`; every other URL is a 404.

    A conditional request for a stored response with an `etag` or `last-modified` (in lower case)
    gets 304 without a body if it names that version.

    Attributes:
        pages: the responses by URL.
        requested: the requested URLs, in order.
    """

    def __init__(self, pages: Mapping[str, bytes | StoredResponse | Exception]) -> None:
        self.pages = pages
        self.requested: list[str] = []

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Give the response that is stored under `url`, or raise the stored exception."""
        self.requested.append(url)
        page = self.pages.get(url)
        if page is None:
            raise not_found(url)
        if isinstance(page, Exception):
            raise page
        if isinstance(page, StoredResponse):
            response = page
        else:
            response = StoredResponse(url, page)
        if headers and _is_unchanged(headers, response.headers):
            response = attrs.evolve(response, status=304, body=b"")
        yield response


def _is_unchanged(headers: Mapping[str, str], stored: Mapping[str, str]) -> bool:
    """Return whether the validators of a request match the stored ones."""
    headers = {name.lower(): text for name, text in headers.items()}
    # RFC 9110, section 13.2.2: then the date does not count
    if "if-none-match" in headers:
        return headers["if-none-match"] == stored.get("etag")
    if "if-modified-since" in headers:
        return headers["if-modified-since"] == stored.get("last-modified")
    return False
