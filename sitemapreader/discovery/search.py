"""Where a site's sitemaps are: robots.txt, the well-known paths, and what its start page links to.

The search asks whoever does it to try what it finds: a walk reads on where `discover` only looks,
so nothing is fetched twice. It goes from what a site says to what one can guess, and stops where
something answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from sitemapreader.discovery.arguments import check_paths, check_url, one_of
from sitemapreader.errors import FetchError
from sitemapreader.issues import make_issue
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.readers.hints import read_html, read_link_header
from sitemapreader.report import Document, Role, Status, issue_of
from sitemapreader.urls import parse_url, url_key
from sitemapreader.visits.bodies import charset_of, fetch_whole

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from sitemapreader.discovery.permissions import Permissions
    from sitemapreader.visits.trip import Trip

    TryEntries = Callable[[Sequence[SitemapEntry]], Awaitable[bool]]
    """Tries sitemaps that a site names, or one that was guessed; tells whether any is one."""

Probe: TypeAlias = Literal["auto", "always", "never"]
"""Whether well-known paths are tried: if nothing else answers, in any case, or not."""

WELL_KNOWN_PATHS = (
    "sitemap.xml",
    "sitemap_index.xml",
    "sitemap-index.xml",
    "wp-sitemap.xml",
    "sitemap.xml.gz",
    "sitemap_index.xml.gz",
    "sitemap/sitemap.xml",
    "sitemap/index.xml",
    "sitemap/sitemap-index.xml",
    "sitemap.txt",
    "sitemap_news.xml",
    "news-sitemap.xml",
    "sitemap.php",
    "sitemap",
    "admin/config/search/xmlsitemap",
)
"""Where sitemaps lie that nobody names, the likeliest first."""
MAX_PAGE_BYTES = 262_144
"""As much of a start page as is looked through; its head is at the beginning."""


def _site(value: str) -> str:
    return check_url("site", value).partition("#")[0]


@attrs.frozen(kw_only=True, eq=False)
class Search:
    """How a site is searched for sitemaps: see `discover`.

    Raises TypeError or ValueError for what cannot be meant.
    """

    site: str = attrs.field(converter=_site)
    probe: Probe = attrs.field(default="auto", validator=one_of(Probe))
    extra_paths: tuple[str, ...] = attrs.field(default=(), converter=check_paths)
    feeds: bool = False
    respect_robots: bool = True

    def __attrs_post_init__(self) -> None:
        if self.extra_paths and self.probe == "never":
            raise ValueError("extra_paths are not tried with probe='never': leave one of them out")


async def search_site(
    search: Search, trip: Trip, permissions: Permissions, try_entries: TryEntries
) -> bool:
    """Search a site, and have what is found tried; tell whether any of it is a sitemap."""
    try:
        robots = await permissions.robots_of(search.site, Via.GIVEN)
    except FetchError as error:  # the budget
        await trip.note(make_issue(error.code, search.site))
        return False
    found = await try_entries(
        [SitemapEntry(line.url, via=Via.ROBOTS, sitemap=robots.url) for line in robots.sitemaps]
    )
    may_probe = robots.complete or not search.respect_robots
    if may_probe and (search.probe == "always" or (search.probe == "auto" and not found)):
        found |= await _probe(search, try_entries)
    wants_page = search.feeds or search.probe == "always" or not found
    if wants_page and not permissions.is_silent(search.site):
        found |= await try_entries(await _read_page(search, trip))
    return found


async def _probe(search: Search, try_entries: TryEntries) -> bool:
    """Try one path after the other, until one is a sitemap."""
    for url in list_probes(search.site, search.extra_paths):
        if await try_entries([SitemapEntry(url, via=Via.WELL_KNOWN)]):
            return True
    return False


def list_probes(site: str, extra_paths: Sequence[str] = ()) -> list[str]:
    """Return the URLs to try: below the site's own path first, then at the root."""
    parsed = parse_url(site)
    if parsed is None:
        return []
    folder, _, last = parsed.raw_path.rpartition("/")
    if last and "." not in last:  # `/blog` is a folder as `/blog/` is; `/index.html` is none
        folder = f"{folder}/{last}"
    bases = [str(parsed.with_path(path, encoded=True)) for path in (f"{folder}/", "/")]
    paths = (*extra_paths, *WELL_KNOWN_PATHS)
    return list(dict.fromkeys(base + path for base in bases for path in paths))


async def _read_page(search: Search, trip: Trip) -> list[SitemapEntry]:
    """Return the sitemaps that the start page names, in its header first."""
    document = Document(search.site, role=Role.PAGE, via=Via.GIVEN)
    with trip.report.following(document):
        try:
            page = await fetch_whole(trip, search.site, MAX_PAGE_BYTES)
        except FetchError as error:
            document.http_status, document.tries = error.http_status, error.tries
            await trip.note(issue_of(error, document), document)
            trip.report.end(document, Status.FAILED, str(error.code))
            return []
        document.final_url, document.http_status = page.url, page.status
        document.tries = page.tries
        document.bytes_raw, document.bytes_inflated = page.raw_bytes, len(page.data)
        entries: dict[str, SitemapEntry] = {}
        header, charset = page.headers.get("link", ""), charset_of(page.headers)
        for entry in (
            *read_link_header(header, page.url, feeds=search.feeds),
            *read_html(page.data, page.url, charset=charset, feeds=search.feeds),
        ):
            entries.setdefault(url_key(entry.loc), entry)
        document.children = len(entries)
        if page.fault is not None:
            await trip.note(issue_of(page.fault, document), document)
        status = Status.COMPLETE if page.fault is None else Status.PARTIAL
        trip.report.end(document, status, str(page.fault.code) if page.fault else "")
        return list(entries.values())
