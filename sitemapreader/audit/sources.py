"""The sources of an audit: the site, its old one, and where in files the hits are."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote
from xml.sax.saxutils import escape

import attrs

from sitemapreader.audit.known import Known, UrlList, is_list
from sitemapreader.audit.models import AuditInputError, Example, Finding, Place
from sitemapreader.errors import FetchError
from sitemapreader.fetch import FolderFetcher
from sitemapreader.issues import show_url
from sitemapreader.many.sources import SiteTask
from sitemapreader.readers.reader import SitemapReader
from sitemapreader.urls import has_web_scheme, origin_of, parse_url
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.audit.database import AuditDatabase
    from sitemapreader.walker.config import WalkArguments
    from sitemapreader.walker.walks import Walk

T = TypeVar("T", Place, Example)

_START_BYTES = 65_536
_ROWS_AT_ONCE = 20_000
_GZIP_MAGIC = b"\x1f\x8b"
_BEHIND_A_URL = b"<]\"' \t\r\n"


def find_source(
    source: str | Path, base_url: str | None = None, *, is_sitemap: bool | None = None
) -> SiteTask:
    """Return how to read a URL, folder or file; raise AuditInputError.

    `is_sitemap` is whether a URL is that of a sitemap or of a site, where that is known.
    """
    text = str(source)
    if isinstance(source, str) and has_web_scheme(text):
        if parse_url(text) is None:
            raise AuditInputError(f"{show_url(text)!r} is not a URL that can be requested")
        name = show_url(text)
        if is_sitemap is None:
            return SiteTask(text, name=name)
        return SiteTask(text, "sitemap" if is_sitemap else "site", name=name)
    path = Path(source)
    if path.is_dir():
        folder = FolderFetcher(path, base_url)
        return SiteTask(folder.base_url, "site", fetcher=folder, name=text)
    if path.is_file():  # its folder may have the children of an index
        files = FolderFetcher(path.parent, base_url or _find_base_url(path))
        return SiteTask(files.base_url + quote(path.name), "sitemap", fetcher=files, name=text)
    raise AuditInputError(
        f"{show_url(text)!r} is neither an http(s) URL nor a file or folder that exists"
    )


def open_walk(source: SiteTask, arguments: WalkArguments) -> Walk:
    """Return the walk over a source; it or `arguments` have a fetcher."""
    is_sitemap = source.kind == "sitemap"
    passed: WalkArguments = {
        **arguments,
        "fetcher": source.fetcher or arguments.get("fetcher"),
        "sitemaps": [source.url] if is_sitemap else (),
    }
    entries = walk(None if is_sitemap else source.url, **passed)
    if source.kind == "site":
        entries.search_only()
    return entries


def _find_base_url(path: Path) -> str:
    """Return the origin of the first URL in a sitemap, or ""."""
    reader = SitemapReader("")
    try:
        with path.open("rb") as file:
            events = reader.feed(file.read(_START_BYTES))
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    events += reader.close()
    locs = (event.loc for event in events if not hasattr(event, "code"))
    first = next(locs, "")
    return origin_of(first)


@attrs.frozen
class OldSite:
    """Where the URLs of the old site are: in a list, or in the sitemaps of `task`."""

    source: Known
    task: SiteTask | None = None

    @property
    def is_http(self) -> bool:
        """Whether its sitemaps are requested from a server."""
        return self.task is not None and self.task.fetcher is None

    @classmethod
    def find(cls, source: Known) -> OldSite:
        """Return how to read a list, URL, folder or file; raise AuditInputError."""
        if not isinstance(source, str | os.PathLike) or is_list(source):
            return cls(source)
        return cls(source, find_source(source if isinstance(source, str) else Path(source)))

    async def load(self, database: AuditDatabase, arguments: WalkArguments) -> bool:
        """Insert the URLs, and return whether all sitemaps were read.

        `arguments` are those of a walk. Raises AuditInputError if there are no URLs.
        """
        urls = UrlList(database, "old")
        if self.task is None:
            await database.run_in_thread(lambda: urls.load(self.source))
            return True
        locs: list[str] = []
        # Its own sitemaps are meant, whatever hosts stand for it in the audit.
        async with open_walk(self.task, {**arguments, "map_hosts": {}}) as entries:
            async for entry in entries:
                locs.append(entry.loc)
                if len(locs) >= _ROWS_AT_ONCE:
                    urls.add(locs)
                    locs.clear()
        urls.add(locs)
        urls.end(f"the old site {self.task.name}")
        return entries.report.complete


def locate_findings(
    findings: Iterable[Finding], folder: FolderFetcher
) -> tuple[list[Finding], dict[str, str]]:
    """Find the lines of hits that stand in a file, and the files of their sitemaps."""
    findings = list(findings)
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        hits: list[Place | Example] = [*finding.places, *finding.examples]
        for hit in hits:
            wanted[hit.document] |= {hit.url} if hit.url and hit.line is None else set()
    files = {folder.base_url: _name_path(folder.folder)}
    lines: dict[tuple[str, str], int] = {}
    for document, urls in wanted.items():
        try:
            path = folder.find_file(document)
            files[document] = _name_path(path)
            lines |= {(document, url): n for url, n in _find_lines(path, urls).items()}
        except (FetchError, OSError):
            continue  # it is in no file, or gone meanwhile

    def add_lines(hits: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(
            attrs.evolve(hit, line=hit.line or lines.get((hit.document, hit.url))) for hit in hits
        )

    found = [
        attrs.evolve(each, places=add_lines(each.places), examples=add_lines(each.examples))
        for each in findings
    ]
    return found, files


def _name_path(path: Path) -> str:
    here = Path(os.path.realpath("."))
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _find_lines(path: Path, urls: Iterable[str]) -> dict[str, int]:
    """Return the first line of each URL that stands in a file, escaped for XML or not."""
    content = path.read_bytes()
    if content.startswith(_GZIP_MAGIC):
        return {}
    ends = {
        url: min(filter(None, (_find_end(content, form) for form in {url, escape(url)})), default=0)
        for url in urls
    }
    return {url: content.count(b"\n", 0, end) + 1 for url, end in ends.items() if end}


def _find_end(content: bytes, text: str) -> int:
    """Return where a URL ends that does not begin a longer one; 0 if it is not there."""
    wanted, end = text.encode("utf-8", "surrogatepass"), 0
    while (at := content.find(wanted, end)) >= 0:
        end = at + len(wanted)
        if end == len(content) or content[end] in _BEHIND_A_URL:
            return end
    return 0
