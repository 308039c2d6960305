"""The visits of an audit: pages of the sample, and made-up ones beside them."""

from __future__ import annotations

import re
from contextlib import aclosing
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemapreader.audit.database import read_queries
from sitemapreader.audit.models import PageTally
from sitemapreader.audit.pages.sample import draw_sample
from sitemapreader.audit.preparing import judge_hreflang
from sitemapreader.models import UrlEntry
from sitemapreader.pages import (
    HTML_TYPES,
    PageFolder,
    PageVisit,
    VisitOptions,
    page_type_of,
    visit_pages,
)
from sitemapreader.readers import read
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sitemapreader.audit.database import AuditDatabase
    from sitemapreader.audit.options import AuditOptions
    from sitemapreader.fetch import Fetcher
    from sitemapreader.fetch.local import FolderFetcher
    from sitemapreader.options import FetchOptions
    from sitemapreader.readers.robots import Robots

_ROWS_AT_ONCE = 500
_LOGIN = re.compile(r"/(?:log-?in|sign-?in|sso|auth|oauth2?)(?=[/.]|$)", re.IGNORECASE)
_TEMPORARY = frozenset({302, 303, 307})
_LEAST_SHARE = 0.1
"""A folder with files for fewer of its URLs is one of sitemaps, not a built site."""
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
    table = _PageTable(database, figures.robots)
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
    table.end()


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
    table = _PageTable(database, figures.robots)
    visits = [site.visit(loc) for (loc,) in database.ask(_QUERIES["list_sample"])]
    found = sum(bool(visit.file) for visit in visits)
    if not is_asked and found < _LEAST_SHARE * len(visits):
        return f"the folder has files for {found} of {len(visits)} URLs: it is no built site"
    for visit in visits:
        table.add(visit)
    table.end()
    listed = {visit.file for visit in visits}
    if number is None:
        listed |= _read_unnamed(database, site, folder)
        for file, url in site.list_pages():
            rules = robots.get(origin_of(url))
            refused = rules is not None and any(
                rules.find_refusal(url, agent) for agent in figures.robots
            )
            if file not in listed and not refused:
                table.add_unlisted(site.visit(url))
        table.end()
    may_answer = site.may_answer_more or site.answers_all
    database.ask("INSERT INTO built SELECT $more, $all", more=may_answer, all=site.answers_all)
    return ""


_ALL = 2**31 - 1
_MAX_UNNAMED = 100
"""Sitemaps of a folder that are read, although nothing names them."""


def _read_unnamed(database: AuditDatabase, site: PageFolder, folder: FolderFetcher) -> set[str]:
    """Insert the sitemaps that nothing names; return the files of their pages."""
    known = {key for (key,) in database.ask("SELECT key FROM document")}
    files: set[str] = set()
    unread = ((file, url) for file, url in site.list_sitemaps() if url_key(url) not in known)
    for file, url in islice(unread, _MAX_UNNAMED):
        with (folder.folder / file).open("rb") as opened:
            locs = [entry.loc for entry in read(opened, url) if isinstance(entry, UrlEntry)]
        if locs:
            database.insert_rows("unnamed", [(url, len(locs))])
            files |= {site.visit(loc).file for loc in locs}
    return files


def _make_up(folder: str) -> str:
    """Return a path that no site has; the same in each audit."""
    return f"{folder}sitemapreader-{blake2b(folder.encode(), digest_size=6).hexdigest()}"


class _PageTable:
    """The rows of visits on their way into the database."""

    def __init__(self, database: AuditDatabase, robots: Iterable[str]) -> None:
        self._database = database
        self._robots = tuple(robot.lower() for robot in robots)
        self._rows: dict[str, list[tuple[Any, ...]]] = {"visit": [], "page_alternate": []}

    def add(self, visit: PageVisit) -> None:
        """Add the visit of a listed URL."""
        self._append(visit, is_listed=True)

    def add_unlisted(self, visit: PageVisit) -> None:
        """Add a page that no sitemap lists."""
        self._append(visit, is_listed=False)

    def add_probe(self, visit: PageVisit) -> None:
        """Add the answer to a made-up path."""
        facts, final = visit.facts, url_key(visit.final_url)
        if visit.not_judged is None and visit.status == 200:
            folder = visit.url[: visit.url.rindex("/") + 1]
            is_moved = final != url_key(visit.url)
            row = (url_key(folder), final if is_moved else None, facts and facts.text_hash)
            self._database.insert_rows("probe", [row])

    def _append(self, visit: PageVisit, *, is_listed: bool) -> None:
        key, final_key = url_key(visit.url), url_key(visit.final_url)
        self._rows["visit"].append(
            (
                visit.url,
                key,
                is_listed,
                visit.file,
                visit.final_url,
                final_key,
                visit.status,
                visit.error,
                visit.not_judged and str(visit.not_judged),
                " ".join(str(each.status) for each in visit.redirects),
                bool(visit.redirects) and all(e.status in _TEMPORARY for e in visit.redirects),
                bool(visit.redirects) and is_language_switch(visit.url, visit.final_url),
                bool(_LOGIN.search(urlsplit(visit.final_url).path))
                and not _LOGIN.search(urlsplit(visit.url).path),
                name_difference(key, final_key),
                visit.seconds,
                *self._describe(visit, final_key),
            )
        )
        if visit.facts is not None:
            own = (key, final_key)
            self._rows["page_alternate"] += [
                (key, code, target)
                for code, url in visit.facts.alternates
                if (target := url_key(url)) not in own
            ]
        if len(self._rows["visit"]) >= _ROWS_AT_ONCE:
            self._flush()

    def _describe(self, visit: PageVisit, final_key: str) -> Iterator[Any]:
        """Yield what the page says of itself, in the order of the columns."""
        facts = visit.facts
        kind = page_type_of(visit.headers.get("content-type"))
        yield facts is not None and kind in HTML_TYPES
        if facts is None:
            yield from (None,) * 10
            return
        others = [url for url in facts.canonicals if url_key(url) != final_key]
        chosen = others[0] if others else next(iter(facts.canonicals), None)
        yield facts.title
        yield facts.is_noindex(*self._robots)
        yield chosen
        yield chosen and url_key(chosen)
        yield len({url_key(url) for url in facts.canonicals})
        yield None if chosen is None else name_difference(final_key, url_key(chosen))
        yield facts.refresh and facts.refresh[0]
        yield facts.refresh and facts.refresh[1]
        yield facts.modified and facts.modified.replace(tzinfo=None)
        yield facts.text_hash

    def _flush(self) -> None:
        for table, rows in self._rows.items():
            if rows:
                self._database.insert_rows(table, rows)
                rows.clear()

    def end(self) -> None:
        """Write what is left."""
        self._flush()


def name_difference(key: str, other: str) -> str:
    """Return by what alone two keys differ: "https", "www", "slash", "case", or ""."""
    forms = {
        "https": lambda text: text.partition("://")[2],
        "www": lambda text: text.replace("://www.", "://", 1),
        "slash": lambda text: text.rstrip("/"),
        "case": str.lower,
    }
    if key != other:
        for name, form in forms.items():
            if form(key) == form(other):
                return name
    return ""


def is_language_switch(url: str, final: str) -> bool:
    """Return whether a redirect only adds or swaps a segment that is a language."""
    one, other = urlsplit(url), urlsplit(final)
    if one.netloc.lower() != other.netloc.lower():
        return False
    before = [part for part in one.path.lower().split("/") if part]
    after = [part for part in other.path.lower().split("/") if part]
    for place, segment in enumerate(after):
        if judge_hreflang(segment)[0] and segment != "x-default":
            rest = after[:place] + after[place + 1 :]
            added = rest == before
            swapped = rest == before[:place] + before[place + 1 :] and (
                place < len(before) and judge_hreflang(before[place])[0]
            )
            if added or swapped:
                return True
    return False


def describe_doubt(database: AuditDatabase) -> str:
    """Return why the rules about pages cannot be run, or "" if half could be judged."""
    tally = count_pages(database)
    if tally is None or 2 * tally.judged >= tally.visited:
        return ""
    said = ", ".join(f"{reason} {count}" for reason, count in tally.not_judged.items())
    return f"only {tally.judged} of {tally.visited} pages could be judged ({said})"


def count_pages(database: AuditDatabase) -> PageTally | None:
    """Return how many pages were visited; `None` if none was."""
    visited, judged, reasons = database.ask(_QUERIES["tally"])[0]
    if not visited:
        return None
    (listed,) = database.ask(_QUERIES["listed"])[0]
    return PageTally(int(listed), visited, judged, reasons or {}, exact=judged == listed)


def judge_pages(database: AuditDatabase) -> None:
    """Find what visits say together: gates, hosts that hardly answer, and faults."""
    for name in (
        *("add_crawled", "join_visits", "mark_gates", "mark_languages", "mark_refused"),
        *("mark_network", "distrust_probes", "find_faults"),
    ):
        database.ask(_QUERIES[name])
