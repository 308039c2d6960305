"""The visits of an audit: a sample of pages, and a verdict over their responses."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing, suppress
from functools import partial
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import attrs

from sitemapreader import read
from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import excerpt
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.urls import origin_of, url_key
from sitemapreader.audit.database import AuditDatabase, read_queries, write_literal
from sitemapreader.audit.models import LEAST_SHARE, MAX_HITS, Need, estimate_rate
from sitemapreader.audit.values import OldFolder, PageTally
from sitemapreader.fetch import FolderFetcher
from sitemapreader.pages import (
    HTML_TYPES,
    PageFacts,
    PageFolder,
    PageVisit,
    find_fault,
    find_soft_errors,
    make_up_path,
    page_type_of,
    visit_pages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemapreader._types.options import FetchOptions
    from sitemapreader.audit.models import AuditOptions
    from sitemapreader.fetch import Fetcher

_PAGE_QUERIES = read_queries("pages")
_DRAWING = read_queries("sample")
_VISITS_AT_ONCE = 500
_MARKING = (
    "describe_pages",
    "join_sample",
    "add_crawled",
    "join_listed",
    "mark_gates",
    "mark_languages",
    "mark_refused",
    "mark_network",
)
"""Queries up to the judgement of error pages, in their order."""
_JUDGING = (
    "mark_hidden",
    "find_targets",
    "find_canonical_faults",
    "add_canonical_hits",
    "add_unlisted",
    "find_indexed",
    "add_alternates",
    "find_fates",
    "forget_alike",
)
TARGET_RULES = frozenset(
    {
        "page-canonical-broken",
        "page-canonical-elsewhere",
        "page-canonical-leads-on",
        "page-canonical-offsite",
        "page-canonical-variant",
        "hreflang-target-broken",
        "hreflang-target-not-indexed",
        "hreflang-target-not-listed",
        "was-target-wrong",
    }
)
"""Rules about pages that a page or a list names, whether they are listed or not."""
_NEEDS = {"listed": Need.PAGES, "old": Need.WAS}
_TABLES = {"listed": "url", "old": "(SELECT rowid AS id, * FROM old)"}


def draw_sample(
    database: AuditDatabase,
    number: int | None,
    seed: int = 0,
    kind: str = "listed",
) -> None:
    """Fill the table `sample` with "listed" or "old" pages.

    They stand in their turn. Any prefix of the turns is a sample as well, so that visits may end at
    any time. Without a `number` all pages are in it.
    """
    is_old = kind == "old"
    database.ask("DELETE FROM sample WHERE is_old = $is_old", is_old=is_old)
    if number != 0:
        draw = _DRAWING["draw"].format(_DRAWING[kind], _TABLES[kind])
        most = 2**31 - 1 if number is None else number
        database.ask(draw, number=most, seed=str(seed), is_old=is_old)


def count_pages(database: AuditDatabase, kind: str = "listed") -> PageTally | None:
    """Return how many "listed" or "old" pages were visited; `None` if none was to be.

    Of all that were reached in time, robots.txt may have kept some from being visited. Not all
    that were visited were judged; `not_judged` says why, and `exact` whether all pages were. Of
    `sampled` pages, `bound` is the share that a fault may have at most which none of them has, of
    `population` pages: all but those of folders and sitemaps in which none could be judged.
    `sample` are the pages that were judged, if not all were, and not more than a report names.
    """
    wanted, reached, visited, judged, reasons = _ask_tally(database, kind)
    if not wanted:
        return None
    total = database.ask_value(_PAGE_QUERIES[kind])
    is_old = kind == "old"
    is_sampled = database.ask_value(_PAGE_QUERIES["is_sampled"], is_old=is_old)
    rate = estimate_rate(database.ask(_PAGE_QUERIES["drawn"], is_old=is_old))
    sample = None
    if judged < total and judged <= MAX_HITS:
        sample = database.ask_column(_PAGE_QUERIES["judged"].format(f"is_{kind}"))
    return PageTally(
        listed=int(total),
        reached=reached,
        visited=visited,
        judged=judged,
        not_judged=reasons,
        exact=judged == total,
        sampled=is_sampled,
        bound=rate.high if rate and rate.high and is_sampled else None,
        population=rate.population if rate else 0,
        sample=sample,
    )


def _ask_tally(
    database: AuditDatabase, kind: str
) -> tuple[int, int, int, int, dict[str, int]]:
    """Return the wanted, reached, visited and judged pages, and why others were not judged."""
    query = _PAGE_QUERIES["tally"].format(f"is_{kind}")
    *counts, reasons = database.ask(query)[0]
    return *counts, reasons or {}


def describe_pages(database: AuditDatabase) -> dict[str, Any]:
    """Return the report's facts about visited pages and the old site, by their names."""
    compared = None
    if database.has_earlier:
        # pages that have a text in this audit and in the earlier one
        compared = database.ask_value(_PAGE_QUERIES["compared"])
    if not database.ask("SELECT 1 FROM page LIMIT 1"):
        return {"compared_pages": compared}
    return {
        "pages": count_pages(database),
        "old_pages": count_pages(database, "old"),
        "old_folders": [
            OldFolder(**row) for row in database.ask_rows(_PAGE_QUERIES["fates"])
        ],
        "compared_pages": compared,
    }


_LEAST_PAGES = 0.5
"""Pages for each URL below which a folder with files for few URLs is one of sitemaps only."""
_TRIED = 1_000
"""URLs of a large folder that are looked up first: a folder of sitemaps is soon known."""
_MAX_UNNAMED = 100
"""Sitemaps of a folder that are read, although nothing names them."""


@attrs.define
class SiteVisits:
    """The visits of one audit: `visit` fills the table of pages, `judge` completes it.

    Attributes:
        missing: needs of rules that the visits do not meet, with the reason.
    """

    _database: AuditDatabase
    _figures: AuditOptions
    _pages: int | Literal["all"] | None
    """Number of pages to visit; `None`: no page of a site, and all of a folder."""
    _has_old: bool
    """True if the old URLs are visited as well, all or as many."""
    _has_text: bool
    """True if the texts of a folder's files are to be compared."""
    _has_targets: bool = True
    """True if a rule judges pages that visited pages name, and that no sitemap lists."""
    _on_page: Callable[[PageVisit], object] | None = None
    missing: dict[Need, str] = attrs.field(init=False)
    _probes: dict[str, PageVisit] = attrs.field(factory=dict, init=False)
    """Folder -> the visit of a made-up path in it."""

    def __attrs_post_init__(self) -> None:
        self.missing = {
            Need.PAGES: "no page was visited: pass a number with `pages`, such as 400",
            Need.WAS: "there are no old URLs: pass the old sitemap with `was`",
        }

    @property
    def has_number(self) -> bool:
        """True if some or all pages are to be visited because the caller says so."""
        return self._pages not in (None, 0)

    async def visit(
        self,
        fetcher: Fetcher,
        network: FetchOptions,
        trusted: Iterable[str],
        *,
        until: float,
        is_http: bool,
    ) -> None:
        """Visit pages of a site, and a made-up one in each large folder of it.

        They end `until` a time of `monotonic`. What robots.txt disallows need not be listed in a
        folder. Without `is_http` pages are files of the fetcher's folder.
        """
        wanted: dict[str, int | None] = {"listed": 0, "old": 0}
        number = None
        if isinstance(self._pages, int):
            number = self._pages
        if not is_http or self._pages is not None:
            wanted["listed"] = number
        if self._has_old:
            wanted["old"] = number
        why = ""
        if isinstance(fetcher, FolderFetcher) and self._pages is None and not is_http:
            why = self._try_folder(fetcher)
        for kind, most in wanted.items():
            draw_sample(
                self._database, 0 if why else most, int(self._figures.page_seed), kind
            )
        if not why and any(most != 0 for most in wanted.values()):
            if isinstance(fetcher, FolderFetcher):
                why = self._look_up(fetcher)
            else:
                await self._request(fetcher, network, trusted, until)
        for kind, most in wanted.items():
            if most != 0:
                self._record(kind, why)

    def judge(self, start: str) -> None:
        """Judge a site by all its visits together, and by the visits of a crawl file."""
        database = self._database
        has_crawl = bool(database.ask("SELECT 1 FROM crawled LIMIT 1"))
        if has_crawl:
            if Need.PAGES in self.missing:
                self.missing[Need.VISITS] = (
                    "a crawl does not report this: visit pages with `pages`"
                )
            self._record("listed", "")
        met = [kind for kind, need in _NEEDS.items() if need not in self.missing]
        has_input = {
            "add_crawled": has_crawl,
            "find_fates": "old" in met,
            "forget_alike": database.has_earlier,
        }
        if met:
            database.ask(
                _PAGE_QUERIES["define_start"].format(write_literal(url_key(start)))
            )
            for name in _MARKING:
                if has_input.get(name, True):
                    database.ask(_PAGE_QUERIES[name])
            self._mark_soft_errors()
            self._mark_faults()
            for name in _JUDGING:
                if has_input.get(name, True):
                    database.ask(_PAGE_QUERIES[name])
        for kind in met:
            self._doubt_few(kind)

    def _doubt_few(self, kind: str) -> None:
        """Record that too few of the reached pages could be judged.

        What was not reached says nothing: any beginning of the visits is a sample.
        """
        wanted, all_reached, _, judged, not_judged = _ask_tally(self._database, kind)
        if not wanted:
            return
        reached = all_reached - not_judged.get("elsewhere", 0)
        if 2 * judged < max(reached, 1):
            said = ", ".join(
                f"{reason} {count}" for reason, count in not_judged.items()
            )
            pages = count_units(all_reached, "pages")
            why = f"only {judged} of {pages} could be judged ({said})"
            if 2 * not_judged.get("robots", 0) > all_reached:
                why += (
                    ": to request what robots.txt disallows, pass "
                    "`FetchOptions(respect_robots=False)`"
                )
            self._record(kind, why)

    def _mark_soft_errors(self) -> None:
        """Mark the pages that respond as a made-up path does."""
        rows = self._database.ask(
            _PAGE_QUERIES["list_texts"], has_probes=bool(self._probes)
        )
        found = find_soft_errors(self._probes, [_restore_visit(*row) for row in rows])
        self._database.ask(
            _PAGE_QUERIES["mark_soft_errors"], locs=sorted(found.urls) or [""]
        )
        if found.distrusted:
            folder, *others = found.distrusted
            more = ""
            if others:
                more = f" and {count_units(len(others), 'more folders')}"
            self.missing[Need.PROBES] = (
                f"every path in {folder}{more} has the same text, because a browser "
                "renders these pages or all are errors"
            )

    def _mark_faults(self) -> None:
        """Mark the first fault of each page; pages with equal responses have one."""
        self._database.ask(_PAGE_QUERIES["mark_empty"])
        for response in self._database.ask_rows(_PAGE_QUERIES["list_responses"]):
            if fault := find_fault(**response):
                self._database.ask(
                    _PAGE_QUERIES["mark_fault"], fault=str(fault), **response
                )

    def _record(self, kind: str, why: str) -> None:
        """Record why pages of a kind cannot be judged; "" if they can."""
        self.missing.pop(_NEEDS[kind], None)
        if why:
            self.missing[_NEEDS[kind]] = why

    async def _request(
        self,
        fetcher: Fetcher,
        network: FetchOptions,
        trusted: Iterable[str],
        until: float,
    ) -> None:
        figures = self._figures
        database = self._database
        largest = database.ask_column(
            _PAGE_QUERIES["largest_folders"], limit=int(figures.page_probes)
        )
        probes = {make_up_path(folder): folder for folder in largest}
        urls = [*probes, *database.ask_column(_PAGE_QUERIES["list_sample"])]
        until = min(until, monotonic() + figures.page_seconds)
        request = partial(
            visit_pages,
            fetcher=fetcher,
            slow_seconds=figures.slow_page_seconds,
            robots=database.robots,
            network=network,
            trusted=tuple(trusted),
            respect_robots=network.respect_robots,
        )
        visits = request(urls, seconds=until - monotonic(), probes=probes)
        visited: list[PageVisit] = []
        is_probed = False
        async with aclosing(visits):
            async for visit in visits:
                if folder := probes.get(visit.url):
                    self._probes[folder] = visit
                    is_probed |= visit.not_judged is None
                else:
                    visited.append(visit)
                    if self._on_page is not None:
                        self._on_page(visit)
                if len(visited) >= _VISITS_AT_ONCE:
                    self._insert(visited)
                    visited.clear()
        self._insert(visited)
        if not is_probed:
            self.missing[Need.PROBES] = "no made-up path got a response"
        if targets := self._list_targets():
            left = max(until - monotonic(), 0.0)
            async with aclosing(request(targets, seconds=left)) as visits:
                self._insert_targets([each async for each in visits])

    def _list_targets(self) -> list[str]:
        """Return URLs that visited pages name as canonical or version, and nothing lists."""
        if not self._has_targets:
            return []
        most = int(self._figures.page_targets)
        return self._database.ask_column(_PAGE_QUERIES["list_targets"], limit=most)

    def _insert_targets(self, visits: Iterable[PageVisit]) -> None:
        """Insert visits of pages that are only named, without the pages that they name."""
        rows = [self._describe(each) | {"is_named": True} for each in visits]
        if rows:
            self._database.insert_dicts("page", rows)

    def _insert(self, visits: Iterable[PageVisit]) -> None:
        """Insert visits, some at a time."""
        visits = iter(visits)
        while batch := list(islice(visits, _VISITS_AT_ONCE)):
            self._database.insert_dicts(
                "page", [self._describe(each) for each in batch]
            )
            self._database.insert_rows(
                "page_alternate",
                [row for each in batch for row in _list_alternates(each)],
            )

    def _describe(self, visit: PageVisit) -> dict[str, Any]:
        """Return the row of a visit for the robots of this audit."""
        return _describe_visit(visit, [each.lower() for each in self._figures.robots])

    def _try_folder(self, folder: FolderFetcher) -> str:
        """Return why a large folder is not a built site, by a few URLs; or ""."""
        urls = self._database.ask_column(
            _PAGE_QUERIES["list_tried"], limit=_TRIED, least=10 * _TRIED
        )
        if not urls:
            return ""
        fitting = self._find_fitting(folder, urls)
        site = PageFolder(folder.folder, fitting or folder.base_url)
        found = _count_files(site, urls)
        if found >= LEAST_SHARE / 2 * len(urls):
            return ""
        if any(site.list_pages()):  # to count different URLs takes a while
            total = self._database.ask_value(_PAGE_QUERIES["listed"])
            if _has_pages(site, total):
                return ""
        return _say_unbuilt(found, len(urls))

    def _look_up(self, folder: FolderFetcher) -> str:
        """Look up files of a built folder; return why there is nothing to look up, or ""."""
        database = self._database
        site = PageFolder(folder.folder, folder.base_url, text=self._has_text)
        urls = database.ask_column(_PAGE_QUERIES["list_listed"])
        old = database.ask_column(_PAGE_QUERIES["list_old"])
        self._insert(map(site.visit, urls))
        files = database.ask_column("SELECT file FROM page WHERE file <> ''")
        found = len(files)
        if fitting := self._find_fitting(folder, urls):
            found = _count_files(PageFolder(folder.folder, fitting), urls)
        has_files = found >= LEAST_SHARE * len(urls)
        if self._pages is None and not has_files and not _has_pages(site, len(urls)):
            database.ask("DELETE FROM page")
            return _say_unbuilt(found, len(urls))
        base = urlsplit(folder.base_url)
        there = (
            urlsplit(loc)._replace(scheme=base.scheme, netloc=base.netloc)
            for loc in old
        )
        # the folder will answer for the old host as well
        self._insert(
            attrs.evolve(site.visit(url.geturl()), url=loc)
            for url, loc in zip(there, old, strict=True)
        )
        if not isinstance(self._pages, int):
            known = {*files, *self._read_unnamed(site, folder, {*urls})}
            self._insert(
                visit
                for file, url in site.list_pages()
                if _name(file) not in known
                and url not in old
                and not self._is_refused(url)
                # a file that a forced line of `_redirects` hides is no page
                and (visit := site.visit(url)).file == file
            )
        self._insert_targets(
            visit
            for visit in map(site.visit, self._list_targets())
            if not visit.not_judged
        )
        is_whole = site.base_url.count("/") == 3
        place = (site.base_url, url_key(site.base_url), fitting)
        row = (*place, site.may_answer_more, site.answers_all, is_whole)
        database.insert_rows("built", [row])
        self._probes = site.error_pages
        if not self._probes:
            self.missing[Need.PROBES] = (
                "the folder has no 404.html to compare pages with"
            )
        return ""

    def _find_fitting(self, folder: FolderFetcher, urls: list[str]) -> str:
        """Return the URL of a folder on the host of most listed URLs, or else of named sitemaps.

        "" if any of them is below the URL that the folder has.
        """
        base = url_key(folder.base_url)
        named = urls or self._list_named(origin_of(folder.base_url))
        if not named or any(f"{url_key(url)}/".startswith(base) for url in named):
            return ""
        origins = Counter(map(origin_of, named))
        ((origin, _),) = origins.most_common(1)
        return PageFolder(folder.folder, origin).find_base_url()

    def _list_named(self, base: str) -> list[str]:
        """Return the sitemaps that the indexes of a folder name, or its robots.txt."""
        robots = self._database.robots.get(base)
        children = self._database.ask_column(_PAGE_QUERIES["list_children"])
        if children or robots is None:
            return children
        return [each.loc for each in robots.sitemaps]

    def _is_refused(self, url: str) -> bool:
        """Return whether robots.txt disallows a page, which then need not be listed."""
        rules = self._database.robots.get(origin_of(url))
        return rules is not None and any(
            rules.find_refusal(url, agent) for agent in self._figures.robots
        )

    def _read_unnamed(
        self,
        site: PageFolder,
        folder: FolderFetcher,
        listed: set[str],
    ) -> set[str]:
        """Insert the sitemaps that nothing names; return the files of their pages."""
        known = {*self._database.ask_column("SELECT key FROM document")}
        files: set[str] = set()
        unread = (
            (file, url)
            for file, url in site.list_sitemaps()
            if url_key(url) not in known
        )
        for file, url in islice(unread, _MAX_UNNAMED):
            with suppress(OSError), (folder.folder / file).open("rb") as opened:
                locs = {
                    entry.loc
                    for entry in read(opened, url)
                    if isinstance(entry, UrlEntry)
                }
                added = (
                    {_name(site.visit(loc).file) for loc in locs - listed}
                    - files
                    - {""}
                )
                if added:  # else a copy, as sitemap.xml.gz beside sitemap.xml
                    self._database.insert_rows("unnamed", [(url, len(added))])
                    files |= added
        return files


def _name(file: str) -> str:
    """Return the name of a file as the table of pages has it: it need not be UTF-8."""
    return file.encode("utf-8", "backslashreplace").decode()


def _describe_visit(visit: PageVisit, robots: Iterable[str]) -> dict[str, Any]:
    """Return the row of a visit, without the columns that follow from others."""
    facts = visit.facts or PageFacts(visit.final_url)
    final_key = url_key(visit.final_url)
    # the first that is another page, or the first
    canonical = next(
        (url for url in facts.canonicals if url_key(url) != final_key),
        next(iter(facts.canonicals), None),
    )
    seconds, target = facts.refresh or (None, None)
    noindex = facts.find_noindex(*robots)
    line_of = facts.lines.get
    is_html = page_type_of(visit.headers.get("content-type")) in HTML_TYPES
    versions = (line for *_, line in _list_alternates(visit) if line)
    return {
        "loc": visit.url,
        "file": _name(visit.file),
        "may_redirect": visit.may_redirect,
        "final_url": visit.final_url,
        "status": visit.status,
        "error": visit.error,
        "not_judged": visit.not_judged and str(visit.not_judged),
        "statuses": " ".join(str(each.status) for each in visit.redirects),
        "chain": ", ".join(
            f"{each.status} to {each.target}" for each in visit.redirects
        ),
        "seconds": visit.seconds,
        "is_html": visit.facts is not None and is_html,
        "title": facts.title,
        "is_noindex": noindex is not None,
        "noindex": noindex and _show_noindex(*noindex, line_of(noindex)),
        "noindex_line": noindex and line_of(noindex),
        "canonical": canonical,
        "canonical_line": canonical and line_of(("canonical", canonical)),
        "canonicals": len({*map(url_key, facts.canonicals)}),
        "refresh_seconds": seconds,
        "refresh_url": target,
        "refresh_line": target and line_of(("refresh", target)),
        "alternate_line": min(versions, default=None),
        "modified": facts.modified and facts.modified.replace(tzinfo=None),
        "text_hash": facts.text_hash,
        "template_hash": facts.template_hash,
        "says_missing": facts.says_missing,
        "shows": facts.shows,
        "missing_words": " ".join(facts.missing_words) or None,
        "is_notice": facts.is_notice,
    }


def _show_noindex(bot: str, directive: str, line: int | None) -> str:
    """Return the directive that forbids indexing, and where it stands; headers have no line."""
    said = excerpt(directive)
    if line is not None:
        return f"meta {excerpt(bot)}: {said}"
    if bot in ("robots", "*"):
        return f"X-Robots-Tag: {said}"
    return f"X-Robots-Tag: {excerpt(bot)}: {said}"


def _restore_visit(
    loc: str,
    final_url: str,
    status: int,
    file: str,
    text_hash: str | None,
    template_hash: str | None,
    says_missing: bool | None,
    missing_words: str | None,
    is_notice: bool | None,
) -> PageVisit:
    """Return a visit with the texts that its row has."""
    facts = PageFacts(
        final_url,
        text_hash=text_hash,
        template_hash=template_hash,
        says_missing=bool(says_missing),
        missing_words=frozenset((missing_words or "").split()),
        is_notice=bool(is_notice),
    )
    return PageVisit(loc, final_url, status=status, facts=facts, file=file)


def _list_alternates(
    visit: PageVisit,
) -> Iterator[tuple[str, str, str, str, int | None]]:
    """Yield the key of a page, and of each version that it names the code, key and line.

    The code comes in lower case, and as it is written.
    """
    if visit.facts is not None:
        for code, url in visit.facts.alternates:
            line = visit.facts.lines.get((f"alternate {code}", url))
            yield url_key(visit.url), code.lower(), code, url_key(url), line


def _count_files(site: PageFolder, urls: Iterable[str]) -> int:
    return sum(bool(site.visit(url).file) for url in urls)


def _has_pages(site: PageFolder, listed: int) -> bool:
    """Return whether a folder has about as many pages as this many URLs, as a built site has."""
    return sum(1 for _ in site.list_pages()) >= max(1, _LEAST_PAGES * listed)


def _say_unbuilt(found: int, tried: int) -> str:
    return (
        f"the folder has files for {found} of {count_units(tried, 'URLs')}: "
        "this does not look like a site build"
    )
