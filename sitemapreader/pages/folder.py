"""The pages of a built folder: which file answers for a URL.

It is decided as a host decides it, without a request, before a site is deployed. The folder is
listed once; the case of a name counts on every disk, for it counts on the host.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote_to_bytes

import attrs

from sitemapreader.errors import Redirect
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.fetch.urls import APART
from sitemapreader.pages.visit import MAX_REDIRECTS, PageVisit
from sitemapreader.readers.pages.facts import read_page
from sitemapreader.readers.pages.links import MAX_PAGE_BYTES
from sitemapreader.urls import origin_of, parse_url, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# -- `_redirects` and `_headers`, in which a folder tells its host what to answer

MAX_LINES = 10_000
"""Lines of one file that are read."""
_STATUSES = frozenset({200, 301, 302, 303, 307, 308, 404, 410})
_STATUS = re.compile(r"(\d{3})(!?)")
_AMBIGUOUS = re.compile(r"\*.*\*|:[A-Za-z]\w*[^/]*[:*]|\*[^/]*:[A-Za-z]")
"""A path that no host knows, with two `*` or two placeholders in a segment, takes for ever."""
_NOTHING = re.compile(r"(?!)")
_PLACEHOLDER = re.compile(r"\*|:([A-Za-z]\w*)")


@attrs.frozen
class HostRedirect:
    """What one line of `_redirects` answers.

    Attributes:
        status: 200 rewrites, 301 to 308 redirect, 404 and 410 have no page.
        target: a path or a URL.
        is_forced: whether it goes before a file of that path.
    """

    status: int
    target: str
    is_forced: bool


@attrs.frozen
class _Pattern:
    """A path with `*` or `:name` in it."""

    number: int
    regex: re.Pattern[str]
    answer: HostRedirect

    def answer_to(self, path: str) -> HostRedirect | None:
        if (match := self.regex.fullmatch(path)) is None:
            return None
        parts = {"splat": "", **match.groupdict()}
        target = re.sub(
            r":([A-Za-z]\w*)", lambda name: parts.get(name[1], name[0]) or "", self.answer.target
        )
        return attrs.evolve(self.answer, target=target)


class HostRedirects:
    """The rules of a `_redirects` file, of which the first that matches counts.

    Lines with a condition (a country, a language, a parameter) are skipped: what they answer
    depends on who asks.
    """

    def __init__(self, text: str = "") -> None:
        self._exact: dict[str, tuple[int, HostRedirect]] = {}
        self._patterns: list[_Pattern] = []
        for number, line in enumerate(_lines(text)):
            if rule := _parse_redirect(line):
                path, answer = rule
                if _PLACEHOLDER.search(path):
                    self._patterns.append(_Pattern(number, _compile(path), answer))
                else:
                    self._exact.setdefault(path, (number, answer))

    @property
    def answers_all(self) -> bool:
        """Whether every path has an answer, as in an application of one page."""
        found = self.find("/any-path-at-all/of-this-site")
        return found is not None and found.status == 200

    def find(self, path: str) -> HostRedirect | None:
        """Return the answer to a decoded path; a slash at its end says nothing."""
        path = "/" + path.strip("/")
        number, answer = self._exact.get(path, (MAX_LINES, None))
        for pattern in self._patterns:
            if pattern.number > number:
                break
            if found := pattern.answer_to(path):
                return found
        return answer


class HostHeaders:
    """The rules of a `_headers` file, all of which count that match."""

    def __init__(self, text: str = "") -> None:
        self._rules: list[tuple[re.Pattern[str], list[tuple[str, str]]]] = []
        for line in _lines(text):
            if not line[0].isspace():
                path = re.sub(r"^https?://[^/]*", "", line.strip()) or "/"
                self._rules.append((_compile("/" + path.strip("/")), []))
            elif self._rules and ":" in line:
                name, _, value = line.partition(":")
                self._rules[-1][1].append((name.strip().lower(), value.strip()))
        self._rules = [rule for rule in self._rules if rule[1]]

    def find(self, path: str) -> list[tuple[str, str]]:
        """Return names, in lower case, and values of the headers of a path."""
        path = "/" + path.strip("/")
        return [
            header for regex, headers in self._rules if regex.fullmatch(path) for header in headers
        ]


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines()[:MAX_LINES]:
        if line.strip() and not line.lstrip().startswith("#"):
            yield line


def _parse_redirect(line: str) -> tuple[str, HostRedirect] | None:
    """Return the path and the answer of a line; `None` where it has a condition."""
    path, *rest = line.partition(" #")[0].split()
    if not path.startswith("/") or not rest or not rest[0].startswith(("/", "http")):
        return None
    status = _STATUS.fullmatch(rest[1]) if len(rest) == 2 else None
    if len(rest) > 2 or (len(rest) == 2 and status is None):
        return None
    number = int(status[1]) if status else 301
    if number not in _STATUSES:
        return None
    return "/" + path.strip("/"), HostRedirect(number, rest[0], bool(status and status[2]))


def _compile(path: str) -> re.Pattern[str]:
    """Return the expression of a path: `*` is anything, `:name` one segment."""
    if _AMBIGUOUS.search(path):
        return _NOTHING
    parts, position, names = [], 0, set()
    for match in _PLACEHOLDER.finditer(path):
        parts.append(re.escape(path[position : match.start()]))
        name = match[1] or "splat"
        body = "[^/]+" if match[1] else ".*"
        parts.append(f"(?P<{name}>{body})" if name not in names else body)
        names.add(name)
        position = match.end()
    source = "".join(parts) + re.escape(path[position:])
    # `/a/*` answers for `/a` too
    return re.compile(re.sub(r"/(\(\?P<splat>\.\*\))$", r"(?:/\1)?", source), re.DOTALL)


# -- the folder

_PAGE = re.compile(rb".*\.html?", re.DOTALL)
_MAX_HOST_FILE_BYTES = 1_000 * MAX_LINES
_REWRITERS = frozenset({b".htaccess", b"web.config", b"_worker.js", b"staticwebapp.config.json"})
"""Files that make a host answer for URLs without a file; what they say is not read."""
_SITEMAP = re.compile(rb"(?:.*/)?[^/]*sitemap[^/]*\.xml(?:\.gz)?", re.DOTALL | re.IGNORECASE)
# Error and offline pages, searches, indexes of words, and files that prove who owns the site.
_NO_PAGE = re.compile(
    rb"(?:.*/)?(?:(?:404|50x|5\d\d|offline|search|genindex(?:-\w+)?|[a-z]+-modindex)(?:/index)?"
    rb"\.html?|google[0-9a-f]{16}\.html|yandex_\w+\.html)",
    re.DOTALL | re.IGNORECASE,
)


class PageFolder:
    """The files of a built site by the URLs that they answer.

    Args:
        folder: the output of a generator.
        base_url: the URL of the folder on the site; found as `FolderFetcher` finds it.
        text: whether the text of pages is hashed, which takes most of the time.

    Raises:
        NotADirectoryError: `folder` is not a directory.
        ValueError: `base_url` is not an http or https URL.
    """

    def __init__(
        self, folder: str | Path, base_url: str | None = None, *, text: bool = False
    ) -> None:
        fetcher = FolderFetcher(folder, base_url)
        self.base_url = fetcher.base_url
        self._folder = fetcher.folder
        self._has_text = text
        self._origin = origin_of(self.base_url)
        base = parse_url(self.base_url)
        self._prefix = unquote_to_bytes(base.raw_path if base else "/")
        self._files = frozenset(_list_files(self._folder))
        self._redirects = HostRedirects(self._read_host_file("_redirects"))
        self._headers = HostHeaders(self._read_host_file("_headers"))

    @property
    def may_answer_more(self) -> bool:
        """Whether a server's own rules may answer for URLs without a file."""
        return not _REWRITERS.isdisjoint(self._files)

    @property
    def answers_all(self) -> bool:
        """Whether `_redirects` answers for every URL."""
        return self._redirects.answers_all

    def visit(self, url: str) -> PageVisit:
        """Return what a URL will answer."""
        asked, redirects = url.partition("#")[0], list[Redirect]()
        while True:
            if origin_of(asked) != self._origin:
                return PageVisit(url, asked, tuple(redirects))
            status, target = self._answer(asked)
            if status < 300 or status >= 400:
                return self._read(url, asked, redirects, target, status)
            following = resolve(asked, target)
            redirects.append(Redirect(asked, following or target, status))
            if following is None or len(redirects) > MAX_REDIRECTS:
                error = "redirects in a circle, or too many" if following else "redirect to no URL"
                return PageVisit(url, asked, tuple(redirects), error=error)
            asked = following

    def list_pages(self) -> Iterator[tuple[str, str]]:
        """Yield file and URL of each page, but for those that no sitemap lists."""
        for name in sorted(self._files):
            folders, _, last = name.rpartition(b"/")
            is_hidden = any(part[:1] in b"_." for part in folders.split(b"/") if part)
            if is_hidden or not _PAGE.fullmatch(last.lower()) or _NO_PAGE.fullmatch(name):
                continue
            path = folders + b"/" * bool(folders) if last.startswith(b"index.") else name
            yield os.fsdecode(name), self.base_url + quote_from_bytes(path)

    def list_sitemaps(self) -> Iterator[tuple[str, str]]:
        """Yield file and URL of each file that is named as a sitemap."""
        for name in sorted(self._files):
            if _SITEMAP.fullmatch(name):
                yield os.fsdecode(name), self.base_url + quote_from_bytes(name)

    def _answer(self, url: str) -> tuple[int, str]:
        """Return the status of a URL, and its file or the target of its redirect."""
        parsed = parse_url(url)
        path = unquote_to_bytes(parsed.raw_path) if parsed else b"/"
        text = path.decode("utf-8", "replace")
        rule = self._redirects.find(text)
        file = self._find_file(path)
        if rule is None or (file is not None and not rule.is_forced):
            return (200, os.fsdecode(file)) if file is not None else (404, "")
        if rule.status != 200:
            return rule.status, rule.target if rule.status < 400 else ""
        target = resolve(url, rule.target) or ""
        if origin_of(target) != self._origin:
            return 200, ""  # a proxy: what it answers is another server's
        rewritten = parse_url(target)
        file = self._find_file(unquote_to_bytes(rewritten.raw_path) if rewritten else b"/")
        return (200, os.fsdecode(file)) if file is not None else (404, "")

    def _find_file(self, path: bytes) -> bytes | None:
        """Return the file of a decoded path; a slash at its end leads to an index alone."""
        if not (path + b"/").startswith(self._prefix):
            return None
        name = path[len(self._prefix) :].lstrip(b"/")
        bare = name.rstrip(b"/")
        folder = bare + b"/" if bare else b""
        names = [folder + b"index.html", folder + b"index.htm"]
        if bare and bare == name:
            names = [name, name + b".html", name + b".htm", *names]
        return next((each for each in names if each in self._files), None)

    def _read(
        self, url: str, final: str, redirects: list[Redirect], file: str, status: int
    ) -> PageVisit:
        visit = PageVisit(url, final, tuple(redirects), status, file=file)
        if not file:
            return visit
        parsed = parse_url(final)
        found = (
            self._headers.find(unquote_to_bytes(parsed.raw_path).decode("utf-8", "replace"))
            if parsed
            else []
        )
        headers: dict[str, str] = {}
        for name, value in found:
            comma = "\n" if name in APART else ", "
            headers[name] = f"{headers[name]}{comma}{value}" if name in headers else value
        if not file.lower().endswith((".html", ".htm")):
            headers.setdefault("content-type", "application/octet-stream")
        try:
            with (self._folder / file).open("rb") as opened:
                data = opened.read(MAX_PAGE_BYTES + 1)
        except OSError as error:  # it was there when the folder was listed
            return attrs.evolve(visit, status=None, error=error.strerror or str(error))
        facts = read_page(data, final, headers, text=self._has_text)
        return attrs.evolve(visit, headers=headers, facts=facts)

    def _read_host_file(self, name: str) -> str:
        if name.encode() in self._files:  # not a pipe, nor a link out of the folder
            with suppress(OSError), (self._folder / name).open("rb") as file:
                return file.read(_MAX_HOST_FILE_BYTES).decode("utf-8", "replace")
        return ""


def visit_folder(
    folder: str | Path, urls: Iterable[str], base_url: str | None = None
) -> Iterator[PageVisit]:
    """Yield what each URL will answer once a built folder is deployed.

    Args:
        folder: the output of a generator, with all its pages.
        urls: of the site.
        base_url: the URL of the folder on the site.

    Raises:
        NotADirectoryError: `folder` is not a directory.
        ValueError: `base_url` is not an http or https URL.
    """
    return map(PageFolder(folder, base_url).visit, urls)


def _list_files(root: Path) -> Iterator[bytes]:
    """Yield the files below a folder, relative to it; links out of it are left out."""
    folders = [(root, b"")]
    while folders:
        folder, prefix = folders.pop()
        # a folder may be gone, too deep, or not for us
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                name = prefix + os.fsencode(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append((folder / entry.name, name + b"/"))
                elif _is_file_within(entry, root):
                    yield name


def _is_file_within(entry: os.DirEntry[str], root: Path) -> bool:
    if not entry.is_symlink():
        return entry.is_file()
    try:  # a link may lead in a circle
        target = Path(entry.path).resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return target.is_file() and target.is_relative_to(root)
