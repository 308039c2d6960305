"""The visits of an audit: a sample of pages, and what they say together."""

from __future__ import annotations

from contextlib import aclosing, suppress
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import attrs

from sitemapreader.audit.database import AuditDatabase, read_queries
from sitemapreader.audit.models import Need, Row, write_literal
from sitemapreader.audit.preparing import (
    is_language_switch,
    leads_to_login,
    name_difference,
)
from sitemapreader.audit.rates import Stratum, estimate_rate
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.models import UrlEntry
from sitemapreader.pages import (
    HTML_TYPES,
    PageFacts,
    PageFolder,
    PageVisit,
    VisitOptions,
    page_type_of,
    visit_pages,
)
from sitemapreader.readers import read
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemapreader.audit.options import AuditOptions
    from sitemapreader.fetch import Fetcher
    from sitemapreader.options import FetchOptions
    from sitemapreader.readers.robots import Robots

_QUERIES, _DRAWING = read_queries("pages"), read_queries("sample")
_ROWS_AT_ONCE = 500
_OF_THE_PAGE = (
    *("title", "is_noindex", "canonical", "canonical_key", "canonicals", "canonical_differs_by"),
    *("refresh_seconds", "refresh_url", "refresh_key", "modified", "text_hash"),
    *("noindex_line", "canonical_line", "refresh_line", "alternate_line"),
)
"""Columns of what a page says of itself."""
_TEMPORARY = frozenset({302, 303, 307})


class PageTable:
    """The rows of visits on their way into the database; `flush` writes the last ones."""

    def __init__(self, database: AuditDatabase, robots: Iterable[str]) -> None:
        self._database = database
        self._robots = tuple(robot.lower() for robot in robots)
        self._pages: list[dict[str, Any]] = []
        self._alternates: list[tuple[str, str, str]] = []

    def add_probe(self, visit: PageVisit) -> None:
        """Add the answer to a made-up path."""
        facts, final = visit.facts, url_key(visit.final_url)
        if visit.not_judged is None and visit.status == 200:
            folder = visit.url[: visit.url.rindex("/") + 1]
            is_moved = final != url_key(visit.url)
            text_hash = facts.text_hash if facts and not is_moved else None  # else a real page's
            row = (url_key(folder), final if is_moved else None, text_hash)
            self._database.insert_rows("probe", [row])

    def add(self, visit: PageVisit) -> None:
        """Add the visit of a page."""
        key, final_key = url_key(visit.url), url_key(visit.final_url)
        kind = page_type_of(visit.headers.get("content-type"))
        statuses = [each.status for each in visit.redirects]
        self._pages.append(
            {
                "loc": visit.url,
                "key": key,
                # a name need not be UTF-8
                "file": visit.file.encode("utf-8", "backslashreplace").decode(),
                "final_url": visit.final_url,
                "final_key": final_key,
                "status": visit.status,
                "error": visit.error,
                "not_judged": visit.not_judged and str(visit.not_judged),
                "statuses": " ".join(map(str, statuses)),
                "is_temporary": bool(statuses) and _TEMPORARY.issuperset(statuses),
                "switches_language": bool(statuses)
                and is_language_switch(visit.url, visit.final_url),
                "leads_to_login": leads_to_login(visit.url, visit.final_url),
                "differs_by": name_difference(key, final_key),
                "seconds": visit.seconds,
                "is_html": visit.facts is not None and kind in HTML_TYPES,
                **self._describe(visit.facts, final_key),
            }
        )
        if visit.facts is not None:
            self._alternates += [
                (key, code, target)
                for code, url in visit.facts.alternates
                if (target := url_key(url)) not in (key, final_key)
            ]
        if len(self._pages) >= _ROWS_AT_ONCE:
            self.flush()

    def _describe(self, facts: PageFacts | None, final_key: str) -> dict[str, Any]:
        """Return the columns of what a page says of itself."""
        if facts is None:
            return dict.fromkeys(_OF_THE_PAGE)
        keys = {url_key(url): url for url in reversed(facts.canonicals)}
        # the first that is another page, or the first
        key = next((each for each in map(url_key, facts.canonicals) if each != final_key), None)
        if key is None and keys:
            key = final_key
        seconds, target = facts.refresh or (None, None)
        noindex = facts.find_noindex(*self._robots)
        line_of = facts.lines.get
        values = (
            *(facts.title, noindex is not None),
            *(key and keys[key], key, len(keys), key and name_difference(final_key, key)),
            *(
                seconds,
                target,
                target and url_key(target),
                facts.modified and facts.modified.replace(tzinfo=None),
            ),
            facts.text_hash,
            *(noindex and line_of(noindex), key and line_of(("canonical", keys[key]))),
            target and line_of(("refresh", target)),
            min(
                (line for (name, _), line in facts.lines.items() if name == "alternate"),
                default=None,
            ),
        )
        return dict(zip(_OF_THE_PAGE, values, strict=True))

    def flush(self) -> None:
        """Write what is left."""
        self._database.insert_dicts("page", self._pages)
        self._database.insert_rows("page_alternate", self._alternates)
        self._pages.clear()
        self._alternates.clear()


# -- what visits say together


def judge_pages(database: AuditDatabase, start: str) -> None:
    """Find what visits say together: gates, silent hosts, faults and fates.

    `start` is the URL of the site.
    """
    database.ask(_QUERIES["define_start"].format(write_literal(url_key(start))))
    for name in (
        *("join_sample", "add_crawled", "join_listed", "mark_gates", "mark_languages"),
        *("mark_refused", "mark_network", "distrust_probes", "find_soft_errors", "find_faults"),
        *("find_fates", "forget_alike"),
    ):
        database.ask(_QUERIES[name])


def describe_doubt(database: AuditDatabase, kind: str = "listed") -> str:
    """Return why the rules about pages cannot be run, or "" if half could be judged."""
    tally = count_pages(database, kind)
    # What was not reached says nothing: any beginning of the visits is a sample.
    if tally is None or 2 * tally.judged >= max(tally.visited, 1):
        return ""
    said = ", ".join(f"{reason} {count}" for reason, count in tally.not_judged.items())
    return f"only {tally.judged} of {tally.visited} pages could be judged ({said})"


def count_pages(database: AuditDatabase, kind: str = "listed") -> Row | None:
    """Return how many "listed" or "old" pages were visited; `None` if none was to be.

    Not all that were visited were judged; `not_judged` says why, and `exact` whether all pages
    were. `bound` is the share of all pages that a fault may have at most which none of them has.
    """
    query = _QUERIES["tally"].format(f"is_{kind}")
    wanted, visited, judged, reasons = database.ask(query)[0]
    if not wanted:
        return None
    (total,) = database.ask(_QUERIES[kind])[0]
    rate = estimate_rate([Stratum(int(total), judged, 0)])
    is_exact = judged == total
    return Row(
        listed=int(total),
        visited=visited,
        judged=judged,
        not_judged=reasons or {},
        exact=is_exact,
        bound=None if rate is None or is_exact else rate.high,
    )


def count_compared(database: AuditDatabase) -> int:
    """Return how many pages have a text in this audit and in the earlier one."""
    return int(database.ask(_QUERIES["compared"])[0][0])


def count_fates(database: AuditDatabase) -> list[Row]:
    """Return what became of the pages in each folder of the old site."""
    return database.ask_rows(_QUERIES["fates"])


# -- the visits

_TABLES = {"listed": "url", "old": "(SELECT rowid AS id, * FROM old)"}


def draw_sample(
    database: AuditDatabase, number: int | None, seed: int = 0, kind: str = "listed"
) -> int:
    """Fill the table `sample` with "listed" or "old" pages; return how many there are.

    They stand in their turn. Any prefix of the turns is a sample as well, so that visits may end at
    any time. Without a `number` all pages are in it.
    """
    is_old = kind == "old"
    database.ask("DELETE FROM sample WHERE is_old = $is_old", is_old=is_old)
    if number != 0:
        draw = _DRAWING["draw"].format(_DRAWING[kind], _TABLES[kind])
        most = 2**31 - 1 if number is None else number
        database.ask(draw, number=most, seed=str(seed), is_old=is_old)
    counted = database.ask("SELECT count(*) FROM sample WHERE is_old = $is_old", is_old=is_old)
    return int(counted[0][0])


_LEAST_SHARE = 0.1
"""A folder with files for fewer of its URLs is one of sitemaps, not a built site."""
_TRIED = 1_000
"""URLs of a large folder that are looked up first: a folder of sitemaps is soon known."""
_MAX_UNNAMED = 100
"""Sitemaps of a folder that are read, although nothing names them."""
_NEEDS = {"listed": Need.PAGES, "old": Need.WAS}


@attrs.define
class SiteVisits:
    """The visits of one audit: `visit` fills the table of pages, `judge` completes it.

    Attributes:
        missing: needs of rules that the visits do not meet, with the reason.
    """

    _database: AuditDatabase
    _figures: AuditOptions
    _pages: int | Literal["all"] | None
    """How many; `None` for none of a site, and all of a folder."""
    _has_old: bool
    """Whether the old URLs are visited as well, all or as many."""
    _has_text: bool
    """Whether the texts of a folder's files are to be compared."""
    missing: dict[Need, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.missing = {
            Need.PAGES: "no page was visited: give a number of them with `pages`, such as 400",
            Need.WAS: "there are no old URLs: give the old sitemap with `was`",
        }
        if self._has_old and self._pages == 0:
            self.missing[Need.WAS] = "no old URL was visited: give another number with `pages`"

    async def visit(
        self,
        fetcher: Fetcher,
        robots: Mapping[str, Robots],
        network: FetchOptions,
        trusted: Iterable[str],
        *,
        is_http: bool,
    ) -> None:
        """Visit pages of a site, and a made-up one in each large folder of it.

        `robots` are those that were read, by origin: what they disallow is not visited, and need
        not be listed in a folder. Without `is_http` pages are files of the fetcher's folder.
        """
        number = None if self._pages == "all" else self._pages
        wanted = {
            "listed": 0 if is_http and self._pages is None else number,
            "old": number if self._has_old else 0,
        }
        why = ""
        if isinstance(fetcher, FolderFetcher) and self._pages is None and not is_http:
            why = self._try_folder(fetcher)
        for kind, most in wanted.items():
            draw_sample(self._database, 0 if why else most, int(self._figures.page_seed), kind)
        if not why and any(most != 0 for most in wanted.values()):
            if isinstance(fetcher, FolderFetcher):
                why = self._look_up(fetcher, robots)
            else:
                await self._request(fetcher, robots, network, trusted)
        for kind, most in wanted.items():
            if most != 0:
                self._record(kind, why)

    def judge(self, start: str) -> None:
        """Find what the visits, and those of a crawl file, say together about a site."""
        if self._database.ask("SELECT 1 FROM crawled LIMIT 1"):
            self._record("listed", "")
        met = [kind for kind, need in _NEEDS.items() if need not in self.missing]
        if met:
            judge_pages(self._database, start)
        for kind in met:
            self._record(kind, describe_doubt(self._database, kind))

    def _record(self, kind: str, why: str) -> None:
        """Record why pages of a kind cannot be judged; "" if they can."""
        self.missing.pop(_NEEDS[kind], None)
        if why:
            self.missing[_NEEDS[kind]] = why

    async def _request(
        self,
        fetcher: Fetcher,
        robots: Mapping[str, Robots],
        network: FetchOptions,
        trusted: Iterable[str],
    ) -> None:
        figures = self._figures
        options = VisitOptions(figures.page_seconds, figures.slow_page_seconds)
        table = PageTable(self._database, figures.robots)
        largest = self._database.ask(_QUERIES["largest_folders"], limit=int(figures.page_probes))
        probes = [_make_up(folder) for (folder,) in largest]
        urls = [*probes, *(loc for (loc,) in self._database.ask(_QUERIES["list_sample"]))]
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

    def _try_folder(self, folder: FolderFetcher) -> str:
        """Return why a large folder is no built site, by a few URLs; or ""."""
        urls = self._database.ask(_QUERIES["list_tried"], limit=_TRIED, least=10 * _TRIED)
        site = PageFolder(folder.folder, folder.base_url)
        found = sum(bool(site.visit(loc).file) for (loc,) in urls)
        return _say_unbuilt(found, len(urls)) if found < _LEAST_SHARE / 2 * len(urls) else ""

    def _look_up(self, folder: FolderFetcher, robots: Mapping[str, Robots]) -> str:
        """Look up files of a built folder; return why there is nothing to look up, or ""."""
        database = self._database
        site = PageFolder(folder.folder, folder.base_url, text=self._has_text)
        base = urlsplit(folder.base_url)
        table = PageTable(database, self._figures.robots)
        urls = [loc for (loc,) in database.ask(_QUERIES["list_listed"])]
        listed, found = set[str](), 0
        for loc in urls:
            visit = site.visit(loc)
            table.add(visit)
            listed.add(visit.file)
            found += bool(visit.file)
        table.flush()
        if self._pages is None and found < _LEAST_SHARE * len(urls):
            database.ask("DELETE FROM page")
            return _say_unbuilt(found, len(urls))
        old = [loc for (loc,) in database.ask(_QUERIES["list_old"])]
        for loc in old:
            # The folder will answer for the old host as well.
            there = urlsplit(loc)._replace(scheme=base.scheme, netloc=base.netloc).geturl()
            table.add(attrs.evolve(site.visit(there), url=loc))
        if not isinstance(self._pages, int):
            listed |= _read_unnamed(database, site, folder, set(urls))
            known = set(old)
            for file, url in site.list_pages():
                rules = robots.get(origin_of(url))
                refused = rules is not None and any(
                    rules.find_refusal(url, agent) for agent in self._figures.robots
                )
                if file not in listed and url not in known and not refused:
                    table.add(site.visit(url))
        table.flush()
        may_answer = site.may_answer_more or site.answers_all
        is_whole = site.base_url.count("/") == 3
        database.insert_rows("built", [(may_answer, site.answers_all, is_whole)])
        return ""


def _say_unbuilt(found: int, tried: int) -> str:
    return f"the folder has files for {found} of {tried} URLs: it is no built site"


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
