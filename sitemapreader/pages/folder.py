"""The pages of a built folder: the file that belongs to a URL.

It is decided as a host decides it, without a request, before a site is deployed. The folder is
listed once; the case of a name counts on every disk, for it counts on the host.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

import attrs

from sitemapreader._read import read
from sitemapreader._read.html import MAX_PAGE_BYTES
from sitemapreader._types.errors import Redirect
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.urls import (
    ERROR_PATH,
    host_of,
    origin_of,
    parse_url,
    resolve,
)
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.fetch.urls import read_headers
from sitemapreader.pages.client import MAX_REDIRECTS
from sitemapreader.pages.facts import read_page
from sitemapreader.pages.soft_404 import find_folder, list_long_words, make_up_path
from sitemapreader.pages.visit import NotJudged, PageVisit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Header: TypeAlias = tuple[bytes, bytes]

# -- `_redirects` and `_headers`, in which a folder tells its host what to answer

MAX_LINES = 10_000
"""Lines of one file that are read."""
_REDIRECT = re.compile(
    r"\s*+/(\S*)\s++((?:/|http)\S*+)(?:\s++(200|30[12378]|404|410)(!?))?\s*+(?:(?<=\s)#.*)?"
)
"""Path, target, status, force.

A line with a condition (a country, a language, a parameter) is none: it depends on who asks."""
_AMBIGUOUS = re.compile(r"\*.*\*|:[A-Za-z][^/]*[:*]|\*[^/]*:[A-Za-z]", re.DOTALL)
"""A path that no host knows, with two `*` or two placeholders in a segment, takes for ever."""
_NEVER_MATCHES = re.compile(r"(?!)")
_PLACEHOLDER = re.compile(r"\*|:([A-Za-z]\w*)")


class HostRedirect(NamedTuple):
    """The response that one line of `_redirects` defines."""

    number: int
    """Number of the line."""
    status: int
    """200 rewrites, 301 to 308 redirect, 404 and 410 have no page."""
    target: str
    """A path or a URL."""
    is_forced: bool
    """True if it goes before a file of that path."""


class HostRedirects:
    """The rules of a `_redirects` file: the first one that matches counts."""

    def __init__(self, text: str = "") -> None:
        self._plain: dict[str, HostRedirect] = {}
        self._patterns: list[tuple[re.Pattern[str], HostRedirect]] = []
        for number, line in enumerate(_lines(text)):
            found = _REDIRECT.fullmatch(line)
            if found is None:
                continue
            path = _trim_path(found[1])
            rule = HostRedirect(
                number,
                status=int(found[3] or 301),
                target=found[2],
                is_forced=bool(found[4]),
            )
            if _PLACEHOLDER.search(path):
                pattern = _compile(path)
                self._patterns.append((pattern, rule))
            else:
                self._plain.setdefault(path, rule)

    def find(self, path: str) -> HostRedirect | None:
        """Return the response to a decoded path; a slash at its end does not count."""
        path = _trim_path(path)
        plain = self._plain.get(path)
        for regex, rule in self._patterns:
            if plain and plain.number < rule.number:
                break
            match = regex.fullmatch(path)
            if match:
                target = _fill(rule.target, match.groupdict())
                return rule._replace(target=target)
        return plain


class HostHeaders:
    """The rules of a `_headers` file: all that match count."""

    def __init__(self, text: str = "") -> None:
        self._rules: list[tuple[re.Pattern[str], list[Header]]] = []
        for line in _lines(text):
            name, colon, value = line.partition(":")
            if not line[0].isspace():
                path = re.sub(r"^https?://[^/]*", "", line.strip())
                pattern = _compile(_trim_path(path))
                self._rules.append((pattern, []))
            elif self._rules and colon:
                headers = self._rules[-1][1]
                name = name.strip()
                header = (name.encode(), value.encode())
                headers.append(header)

    def find(self, path: str) -> dict[str, str]:
        """Return the headers of a decoded path, as a response has them."""
        path = _trim_path(path)
        return read_headers(
            header
            for regex, headers in self._rules
            if regex.fullmatch(path)
            for header in headers
        )


def _trim_path(path: str) -> str:
    """Return a path without a slash at its end."""
    return "/" + path.strip("/")


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines()[:MAX_LINES]:
        written = line.lstrip()
        if written and not written.startswith("#"):
            yield line


def _fill(target: str, parts: dict[str, str | None]) -> str:
    parts = {"splat": "", **parts}
    return _PLACEHOLDER.sub(lambda name: parts.get(name[1], name[0]) or "", target)


def _compile(path: str) -> re.Pattern[str]:
    """Return the expression of a path: `*` is anything, `:name` one segment."""
    source = re.escape(path).replace(r"\*", "(?P<splat>.*)")
    source = re.sub(r":([A-Za-z]\w*)", r"(?P<\1>[^/]+)", source)
    # `/a/*` answers for `/a` too
    source = re.sub(r"/(\(\?P<splat>\.\*\))$", r"(?:/\1)?", source)
    with suppress(re.error):  # two placeholders of one name
        if _AMBIGUOUS.search(path):
            return _NEVER_MATCHES
        return re.compile(source, re.DOTALL)
    return _NEVER_MATCHES


# -- the folder


class FolderResponse(NamedTuple):
    """The response that a host gives for a URL of the folder."""

    status: int
    target: str
    """The file, or the target of a redirect; "" without one."""
    may_redirect: bool = False
    """True if most hosts redirect to the URL with a slash at its end, and this one is unknown."""


_SLASH_STATUSES = {
    ".github.io": 301,
    ".gitlab.io": 302,
    ".netlify.app": 301,
    ".pages.dev": 308,
    ".vercel.app": None,
}
"""End of a host's name -> status with which it adds the slash of a folder; `None`: it adds none."""
_PAGES_OF_GITHUB = frozenset({b"CNAME", b".nojekyll"})
"""Files that only a folder for GitHub Pages has, which may have a host name of its own."""
_INDEXES = (b"index.html", b"index.htm")
"""Files of a folder that answer for it, the first before the second."""
_PAGE = re.compile(rb".*\.html?", re.DOTALL)
_MAX_HOST_FILE_BYTES = 1_000 * MAX_LINES
_REWRITERS = frozenset(
    {b".htaccess", b"web.config", b"_worker.js", b"staticwebapp.config.json"}
)
"""Files that make a host answer for URLs without a file; their content is not read."""
_SITEMAP = re.compile(
    rb"(?:.*/)?[^/]*sitemap[^/]*\.xml(?:\.gz)?",
    re.DOTALL | re.IGNORECASE,
)
_HIDDEN_FOLDER = re.compile(rb"(?:\A|/)[_.][^/]*/")
# Error and offline pages, searches, indexes of words, and files that prove who owns the site.
_NO_PAGE = re.compile(
    rb"(?:.*/)?(?:(?:404|50x|5\d\d|offline|search|genindex(?:-\w+)?|[a-z]+-modindex)(?:/index)?"
    rb"\.html?|google[0-9a-f]{16}\.html|yandex_\w+\.html)",
    re.DOTALL | re.IGNORECASE,
)

_SITEMAPS_TRIED = 20
"""Sitemaps of a folder that are read to find its URL."""
_LISTED_TRIED = 1_000
"""URLs of them that are looked up."""


class PageFolder:
    """The files of a built site by their URLs.

    Args:
        folder: the output of a generator.
        base_url: the URL of the folder on the site; found as `FolderFetcher` finds it.
        text: whether the text of all pages is hashed, which takes most of the time; else it is
            that of pages that may have the text of an error page.

    Raises:
        NotADirectoryError: `folder` is not a directory.
        ValueError: `base_url` is not an http or https URL.
    """

    def __init__(
        self,
        folder: str | Path,
        base_url: str | None = None,
        *,
        text: bool = False,
    ) -> None:
        fetcher = FolderFetcher(folder, base_url)
        self.base_url = fetcher.base_url
        self._folder = fetcher.folder
        self._has_text = text
        self._origin = origin_of(self.base_url)
        self._prefix = _path_of(self.base_url)
        self._files = frozenset(_list_files(self._folder))
        self._redirects = HostRedirects(self._read_host_file("_redirects"))
        self._headers = HostHeaders(self._read_host_file("_headers"))
        self._known_host = self._find_known_host()

    def _find_known_host(self) -> str:
        """Return the end of the host's name in `_SLASH_STATUSES`; "" for an unknown host."""
        host = host_of(self.base_url)
        for known_host in _SLASH_STATUSES:
            if host.endswith(known_host):
                return known_host
        if _PAGES_OF_GITHUB.isdisjoint(self._files):
            return ""
        return ".github.io"

    @property
    def may_answer_more(self) -> bool:
        """True if a server's own rules may answer for URLs without a file."""
        return self.answers_all or not _REWRITERS.isdisjoint(self._files)

    @property
    def answers_all(self) -> bool:
        """True if every path has a response, as in an application of one page."""
        found = self._redirects.find("/any-path-at-all/of-this-site")
        return found is not None and found.status == 200

    def visit(self, url: str) -> PageVisit:
        """Return the response that a URL will have."""
        asked = url.partition("#")[0]
        if origin_of(asked) != self._origin:
            return PageVisit(url, asked, not_judged=NotJudged.ELSEWHERE)
        redirects: tuple[Redirect, ...] = ()
        while origin_of(asked) == self._origin:
            response = self._answer(asked)
            if response.status not in range(300, 400):
                visit = PageVisit(
                    url,
                    asked,
                    redirects,
                    response.status,
                    file=response.target,
                    may_redirect=response.may_redirect,
                )
                return self._read(visit)
            target = resolve(asked, response.target)
            redirect = Redirect(asked, target or response.target, response.status)
            redirects += (redirect,)
            if target is None:
                error = "a redirect to something that is not a URL"
                return PageVisit(url, asked, redirects, error=error)
            if len(redirects) > MAX_REDIRECTS:
                error = "a redirect loop, or too many redirects"
                return PageVisit(url, asked, redirects, error=error)
            asked = target
        return PageVisit(url, asked, redirects)

    def list_pages(self) -> Iterator[tuple[str, str]]:
        """Yield file and URL of each page, except pages that no sitemap has to list."""
        for name in sorted(self._files):
            last = name.rpartition(b"/")[2]
            if not _PAGE.fullmatch(last.lower()):
                continue
            if _NO_PAGE.fullmatch(name) or _HIDDEN_FOLDER.search(name):
                continue
            path = name
            if last.startswith(b"index."):
                path = name.removesuffix(last)
            yield os.fsdecode(name), self.base_url + quote_from_bytes(path)

    @cached_property
    def error_pages(self) -> dict[str, PageVisit]:
        """Folder -> the response to a made-up path in it, of the top and of languages."""
        visits: dict[str, PageVisit] = {}
        for name in sorted(map(os.fsdecode, self._files)):
            if not name.endswith((".html", ".htm")):
                continue
            if ERROR_PATH.match(f"/{name}"):
                language = name.partition("404")[0]
                folder = find_folder(self.base_url + language)
                url = make_up_path(folder)
                visit = PageVisit(url, url, status=404, file=name)
                visit = self._read(visit, text=True)
                visits.setdefault(folder, visit)
        return visits

    @cached_property
    def _error_words(self) -> list[list[bytes]]:
        """Some words of each error page, in lower case."""
        found = []
        for visit in self.error_pages.values():
            with suppress(OSError):  # it was there when the folder was listed
                data = self._read_data(visit.file)
                words = list_long_words(data)
                if words:
                    found.append(words)
        return found

    def list_sitemaps(self) -> Iterator[tuple[str, str]]:
        """Yield file and URL of each file that is named as a sitemap."""
        for name in sorted(self._files):
            if _SITEMAP.fullmatch(name):
                yield os.fsdecode(name), self.base_url + quote_from_bytes(name)

    def _answer(self, url: str) -> FolderResponse:
        """Return the response of the host to a URL.

        A line of `_redirects` goes before a file if it is forced, or if it says how the host comes
        from the URL of a folder without a slash to the index of that folder.
        """
        path = _path_of(url)
        file = self._find_file(path, self._prefix)
        lacks_slash = _lacks_slash(path, file)
        rule = self._redirects.find(path.decode("utf-8", "replace"))
        if rule:
            target = resolve(url, rule.target) or ""
            is_own = origin_of(target) == self._origin
            found = ""
            if is_own:
                target_path = _path_of(target)
                found = self._find_file(target_path, self._prefix)
            leads_to_index = lacks_slash and found == file
            if not file or rule.is_forced or leads_to_index:
                if rule.status >= 400:
                    return FolderResponse(rule.status, "")
                if rule.status != 200:
                    return FolderResponse(rule.status, rule.target)
                if not is_own:
                    return FolderResponse(200, "")  # a proxy: another server responds
                return _serve(found)
        slash_status = _SLASH_STATUSES.get(self._known_host)
        if lacks_slash and slash_status:
            parts = urlsplit(url)
            target = parts._replace(path=f"{parts.path}/").geturl()
            return FolderResponse(slash_status, target)
        return _serve(file, may_redirect=lacks_slash and not self._known_host)

    def find_base_url(self) -> str:
        """Return the URL of the folder, below which its files match the listed URLs.

        A project page, such as `https://user.github.io/project/`, is built without its path. So
        the folders that all listed URLs share are tried, and the one below which most of them have
        a file is taken: `base_url`, if no other has more.
        """
        urls = islice(self._list_urls(), _LISTED_TRIED)
        paths = [_path_of(url) for url in urls]
        pages = sum(1 for _ in self.list_pages())
        best = self._prefix
        most = self._count_files(paths, best)
        for prefix in _list_shared_folders(paths):
            found = self._count_files(paths, prefix)
            # A start page alone answers for a URL of any depth.
            is_start_page = found == 1 and pages > 1
            if found > most and not is_start_page:
                best = prefix
                most = found
        if best == self._prefix:
            return self.base_url
        return self._origin + quote_from_bytes(best)

    def _list_urls(self) -> Iterator[str]:
        """Yield URLs of this origin that sitemaps of the folder list."""
        for file, url in islice(self.list_sitemaps(), _SITEMAPS_TRIED):
            with suppress(OSError), (self._folder / file).open("rb") as opened:
                for entry in islice(read(opened, url), _LISTED_TRIED):
                    if not isinstance(entry, UrlEntry):
                        continue
                    if origin_of(entry.loc) == self._origin:
                        yield entry.loc

    def _count_files(self, paths: Iterable[bytes], prefix: bytes) -> int:
        """Return how many files answer for some paths if the folder is below a prefix."""
        files = {self._find_file(path, prefix) for path in paths}
        files.discard("")
        return len(files)

    def _find_file(self, path: bytes, prefix: bytes) -> str:
        """Return the file of a decoded path; a slash at its end leads to an index alone."""
        if not (path + b"/").startswith(prefix):
            return ""
        name = path[len(prefix) :].lstrip(b"/")
        folder = name.rstrip(b"/") + b"/"
        indexes = [folder + index for index in _INDEXES]
        names = [index.lstrip(b"/") for index in indexes]
        if name and not name.endswith(b"/"):
            names = [name, name + b".html", name + b".htm", *names]
        for name in names:
            if name in self._files:
                return os.fsdecode(name)
        return ""

    def _read(self, visit: PageVisit, *, text: bool = False) -> PageVisit:
        if not visit.file:
            return visit
        path = _path_of(visit.final_url)
        path_text = path.decode("utf-8", "replace")
        headers = self._headers.find(path_text)
        if not visit.file.lower().endswith((".html", ".htm")):
            headers.setdefault("content-type", "application/octet-stream")
        try:
            data = self._read_data(visit.file)
        except OSError as error:  # it was there when the folder was listed
            reason = error.strerror or str(error)
            return attrs.evolve(visit, status=None, error=reason)
        has_text = text or self._has_text or self._may_be_error(data)
        facts = read_page(data, visit.final_url, headers, text=has_text)
        return attrs.evolve(visit, headers=headers, facts=facts)

    def _read_data(self, name: str) -> bytes:
        with (self._folder / name).open("rb") as opened:
            return opened.read(MAX_PAGE_BYTES + 1)

    def _may_be_error(self, data: bytes) -> bool:
        """Return whether a page has enough words of an error page for its text to be compared."""
        lower = data.lower()
        for words in self._error_words:
            found = [word for word in words if word in lower]
            if 2 * len(found) >= len(words):
                return True
        return False

    def _read_host_file(self, name: str) -> str:
        if name.encode() in self._files:  # not a pipe, nor a link out of the folder
            with suppress(OSError), (self._folder / name).open("rb") as file:
                return file.read(_MAX_HOST_FILE_BYTES).decode("utf-8", "replace")
        return ""


def _serve(file: str, *, may_redirect: bool = False) -> FolderResponse:
    """Return the response with a file; "" is none."""
    if file:
        return FolderResponse(200, file, may_redirect)
    return FolderResponse(404, "")


def _lacks_slash(path: bytes, file: str) -> bool:
    """Return whether a path without a slash at its end has the index of a folder as its file."""
    index = os.fsencode(file).rpartition(b"/")[2]
    if index not in _INDEXES:
        return False
    return not path.endswith((b"/", b"/" + index))


def _list_shared_folders(paths: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the folders that all paths are in, or are themselves, the shortest first."""
    prefix = b"/"
    split_paths = [path.strip(b"/").split(b"/") for path in paths]
    for names in zip(*split_paths, strict=False):
        if len(set(names)) > 1:
            break
        prefix += names[0] + b"/"
        yield prefix


def _path_of(url: str) -> bytes:
    parsed = parse_url(url)
    if parsed:
        return unquote_to_bytes(parsed.raw_path)
    return b"/"


def _list_files(root: Path) -> Iterator[bytes]:
    """Yield the files below a folder, relative to it; links out of it are left out."""
    folders = [""]
    while folders:
        prefix = folders.pop()
        # a folder may be gone, too deep, or not for us
        with suppress(OSError), os.scandir(root / prefix) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/")
                elif entry.is_file(follow_symlinks=False) or _is_file_within(
                    root, root / name
                ):
                    yield os.fsencode(name)


def _is_file_within(root: Path, link: Path) -> bool:
    return link.is_file() and link.resolve().is_relative_to(root)
