"""The visits of an audit: pages of the sample, and made-up ones beside them."""

from __future__ import annotations

from contextlib import aclosing, suppress
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from sitemapreader.audit.database import read_queries
from sitemapreader.audit.pages.sample import draw_sample
from sitemapreader.audit.pages.table import PageTable
from sitemapreader.models import UrlEntry
from sitemapreader.pages import PageFolder, VisitOptions, visit_pages
from sitemapreader.readers import read
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemapreader.audit.database import AuditDatabase
    from sitemapreader.audit.options import AuditOptions
    from sitemapreader.fetch import Fetcher
    from sitemapreader.fetch.local import FolderFetcher
    from sitemapreader.options import FetchOptions
    from sitemapreader.readers.robots import Robots

_LEAST_SHARE = 0.1
"""A folder with files for fewer of its URLs is one of sitemaps, not a built site."""
_MAX_UNNAMED = 100
"""Sitemaps of a folder that are read, although nothing names them."""
_ALL = 2**31 - 1
_QUERIES = read_queries("pages")


async def visit_site(
    database: AuditDatabase,
    number: int | None,
    fetcher: Fetcher,
    figures: AuditOptions,
    *,
    robots: Mapping[str, Robots],
    network: FetchOptions,
    trusted: Iterable[str],
) -> None:
    """Visit pages of a site, and a made-up one in each large folder of it.

    Args:
        database: with the URLs of the walk.
        number: how many pages; `None` for all.
        fetcher: of the walk.
        figures: `page_seconds`, `page_seed`, `page_probes` and `slow_page_seconds`.
        robots: origin -> its robots.txt, of those that were read.
        network: how many failures of a host are too many.
        trusted: URLs that the caller named.
    """
    draw_sample(database, number or _ALL, int(figures.page_seed))
    options = VisitOptions(figures.page_seconds, figures.slow_page_seconds)
    table = PageTable(database, figures.robots)
    largest = database.ask(_QUERIES["largest_folders"], limit=int(figures.page_probes))
    probes = [_make_up(folder) for (folder,) in largest]
    urls = [*probes, *(loc for (loc,) in database.ask(_QUERIES["list_sample"]))]
    visits = visit_pages(
        urls, fetcher, options, robots=robots, network=network, trusted=tuple(trusted)
    )
    made_up = frozenset(probes)
    async with aclosing(visits):
        async for visit in visits:
            if visit.url in made_up:
                table.add_probe(visit)
            else:
                table.add(visit)
    table.flush()


def visit_built(
    database: AuditDatabase,
    number: int | None,
    folder: FolderFetcher,
    figures: AuditOptions,
    *,
    robots: Mapping[str, Robots],
    is_asked: bool,
) -> str:
    """Look up pages of a built folder; return why there is nothing to look up, or "".

    Args:
        database: with the URLs of the walk.
        number: how many pages; `None` for all.
        folder: with the files.
        figures: `page_seed`.
        robots: origin -> its robots.txt; what it disallows need not be listed.
        is_asked: whether the caller said that the folder has pages.
    """
    draw_sample(database, number or _ALL, int(figures.page_seed))
    site = PageFolder(folder.folder, folder.base_url)
    table = PageTable(database, figures.robots)
    visits = [site.visit(loc) for (loc,) in database.ask(_QUERIES["list_sample"])]
    found = sum(bool(visit.file) for visit in visits)
    if not is_asked and found < _LEAST_SHARE * len(visits):
        return f"the folder has files for {found} of {len(visits)} URLs: it is no built site"
    for visit in visits:
        table.add(visit)
    table.flush()
    listed = {visit.file for visit in visits}
    if number is None:
        listed |= _read_unnamed(database, site, folder, {visit.url for visit in visits})
        for file, url in site.list_pages():
            rules = robots.get(origin_of(url))
            refused = rules is not None and any(
                rules.find_refusal(url, agent) for agent in figures.robots
            )
            if file not in listed and not refused:
                table.add(site.visit(url))
        table.flush()
    may_answer = site.may_answer_more or site.answers_all
    is_whole = site.base_url.count("/") == 3
    database.insert_rows("built", [(may_answer, site.answers_all, is_whole)])
    return ""


def _read_unnamed(
    database: AuditDatabase, site: PageFolder, folder: FolderFetcher, listed: set[str]
) -> set[str]:
    """Insert the sitemaps that nothing names; return the files of their pages."""
    known = {key for (key,) in database.ask("SELECT key FROM document")}
    files: set[str] = set()
    unread = ((file, url) for file, url in site.list_sitemaps() if url_key(url) not in known)
    for file, url in islice(unread, _MAX_UNNAMED):
        with suppress(OSError), (folder.folder / file).open("rb") as opened:
            locs = {entry.loc for entry in read(opened, url) if isinstance(entry, UrlEntry)}
            added = {site.visit(loc).file for loc in locs - listed} - files - {""}
            if added:  # else a copy, as sitemap.xml.gz beside sitemap.xml
                database.insert_rows("unnamed", [(url, len(added))])
                files |= added
    return files


def _make_up(folder: str) -> str:
    """Return a path that no site has; the same in each audit."""
    return f"{folder}sitemapreader-{blake2b(folder.encode(), digest_size=6).hexdigest()}"
