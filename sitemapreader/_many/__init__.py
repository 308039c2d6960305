"""Many sites in one stream, by one fetcher: once, or in endless rounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs

from sitemapreader._api import open_changes, open_state
from sitemapreader._many.run import PLACEHOLDER_SITE, SiteBatch, SiteRun
from sitemapreader._many.sources import (
    FileFetcher,
    InvalidSiteError,
    SiteTask,
    check_task,
)
from sitemapreader._types.arguments import Changes
from sitemapreader._types.dates import HOUR
from sitemapreader._types.fields import NESTED_ARGUMENTS
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.models import Change
from sitemapreader._types.urls import url_key
from sitemapreader._walk.config import make_config
from sitemapreader._walk.context import UrlAllowance
from sitemapreader._walk.stream import StreamNames, View, without_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from sitemapreader._many.run import OnSite
    from sitemapreader._many.sources import Sites
    from sitemapreader._types.arguments import (
        Follow,
        KnownState,
        Memory,
        Sample,
        Search,
        TakeChild,
    )
    from sitemapreader._types.dates import When
    from sitemapreader._types.models import UrlEntry
    from sitemapreader._types.options import FetchOptions, Limits
    from sitemapreader._types.outcomes import SiteOutcome
    from sitemapreader._types.rows import Rows
    from sitemapreader._walk.config import OnDocument, OnIssue, WalkConfig
    from sitemapreader._walk.selection import Patterns, Scope, Undated
    from sitemapreader.changes import State
    from sitemapreader.fetch.client import Fetcher

__all__ = [
    "SiteRun",
    "SiteTask",
    "Watch",
    "walk_many",
    "walk_many_sync",
    "watch",
    "watch_sync",
]


@answer_keywords()
def walk_many(
    sites: Sites,
    *,
    on_site: OnSite | None = None,
    since: When | None = None,
    until: When | None = None,
    undated: Undated = "keep",
    include: Patterns = (),
    exclude: Patterns = (),
    language: str | Iterable[str] = (),
    unique: bool = False,
    scope: Scope = "keep",
    sample: int | Sample | None = None,
    search: Search | None = None,
    follow: Follow | TakeChild | None = None,
    state: Memory = None,
    on_document: OnDocument | None = None,
    on_issue: OnIssue | None = None,
    trusted: bool = False,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
) -> SiteRun:
    """Walk over the sitemaps of many sites at once.

    ```python
    async with walk_many(open("hosts.txt"), state="all.db") as run:
        async for site, entries in run.batches():
            print(site, len(entries))
    for outcome in run.outcomes:
        print(outcome.site, outcome.status, outcome.reason)
    ```

    Args:
        sites: URLs, names of hosts or objects of `SiteTask`, from any iterable or async iterable.
            It is read only as fast as sites are walked, and never as a whole. If it is not a list
            or another collection, it is read in a thread, because it may wait. A site named twice
            is read once, if fewer than five million others come between. A URL may lead to a site
            or to a sitemap. Other texts get an outcome, too.
        on_site: function that gets the `SiteOutcome` of each site when it is known. Outcomes are
            then not kept in `SiteRun.outcomes`. It must not block. An exception that it raises ends
            the run, which raises it.
        since: as in `walk`, for each site; and so are the next ones.
        until: as in `walk`.
        undated: as in `walk`.
        include: as in `walk`.
        exclude: as in `walk`.
        language: as in `walk`.
        unique: as in `walk`.
        scope: as in `walk`.
        sample: as in `walk`: a sample of each site.
        search: as in `walk`.
        follow: as in `walk`.
        state: as in `walk`, one file for all sites. `revisit` of `Changes` is for all together: a
            site without a due document gets no request ("not-due").
        on_document: as in `walk`; `Document.site` is the site.
        on_issue: as in `walk`; `Issue.site` is the site.
        trusted: True if you trust the sites. By default connections go only to public addresses
            and the ports 80 and 443; `allow_networks` and `allow_ports` of `options` open more.
        fetcher: as in `walk`: one for all sites.
        limits: as in `walk`, for each site. `site_seconds` is the time of each site, `max_time`
            that of the whole run, and `sites_at_once` the number of sites read at the same time.
        options: as in `walk`.

    One fetcher serves all sites. A bug that ends the walk over one site does not end the others.
    Raises the errors of `walk`.
    """
    if isinstance(sites, str | bytes):
        raise TypeError(
            "sites must be a list: write walk_many([url]), not walk_many(url)"
        )
    opened, changes = open_changes(state)
    config = make_config(
        PLACEHOLDER_SITE,
        state=opened,
        changes=changes,
        since=since,
        until=until,
        undated=undated,
        include=include,
        exclude=exclude,
        language=language,
        unique=unique,
        scope=scope,
        sample=sample,
        search=search,
        follow=follow,
        on_document=on_document,
        on_issue=on_issue,
        trusted=trusted,
        fetcher=fetcher,
        limits=limits,
        options=options,
    )
    return SiteRun(sites, config, opened, on_site=on_site)


walk_many_sync = without_async(walk_many)


# -- in rounds

MAX_PACE = 3600
INITIAL = "initial"
"""Kind of the URLs of a site that is read for the first time."""
_REQUESTS_A_PAGE = 3
"""Largest number of requests for one page: a control page is requested before and after it."""


@answer_keywords(
    {
        **NESTED_ARGUMENTS,
        **dict.fromkeys(("changes", "unlisted", "gone"), "kinds=..., of the changes"),
        "revisit": "pace=..., the requests an hour",
    }
)
def watch(
    sites: Collection[str | SiteTask],
    *,
    state: str | Path | KnownState,
    pace: float = 6.0,
    tick_seconds: float = 60.0,
    kinds: Collection[str] = ("new", "gone"),
    on_site: OnSite | None = None,
    since: When | None = None,
    undated: Undated = "keep",
    include: Patterns = (),
    exclude: Patterns = (),
    language: str | Iterable[str] = (),
    scope: Scope = "keep",
    search: Search | None = None,
    follow: Follow | TakeChild | None = None,
    on_document: OnDocument | None = None,
    trusted: bool = False,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
) -> Watch:
    """Watch sites: deliver new and gone URLs as they are found, until you leave.

    ```python
    async with watch(["example.org"], state="all.db") as changes:
        async for entry in changes:
            print(entry.change, entry.loc)
    ```

    Args:
        sites: URLs, names of hosts or objects of `SiteTask`, as of `walk_many`; no single files.
        state: memory of the sites; only this watch writes it while it lasts.
        pace: requests an hour for each site, on average over all: sites with more expected news get
            more. Unused requests are saved for an hour at most.
        tick_seconds: seconds between two rounds.
        kinds: kinds of changes to deliver: "new", "gone", "unlisted", "changed"; and "initial", all
            URLs of a site that is read for the first time. Without "gone" no page is requested;
            else pages are an eighth of all requests at most.
        on_site: as in `walk_many`, for each site of each round.
        since: as in `walk`; and so are the next ones.
        undated: as in `walk`.
        include: as in `walk`.
        exclude: as in `walk`.
        language: as in `walk`.
        scope: as in `walk`.
        search: as in `walk`.
        follow: as in `walk`.
        on_document: as in `walk`.
        trusted: as in `walk_many`.
        fetcher: as in `walk`.
        limits: as in `walk_many`; `max_time` is the time to watch.
        options: as in `walk`.

    Each round is a run of `walk_many` with `revisit`: a failure does not delay others, and
    its document is due again later. The request for the next entry acknowledges the earlier ones.
    Raises the errors of `walk_many`, and StateError if another run writes the state.
    """
    for name, value, maximum in (
        ("pace", pace, MAX_PACE),
        ("tick_seconds", tick_seconds, 24 * HOUR),
    ):
        if not 0 < value <= maximum:
            raise ValueError(
                f"`{name}` must be above 0 and at most {maximum:g}, got {value!r}"
            )
    checked_kinds = _check_kinds(kinds)
    named_sites = _name_sites(sites)
    opened = open_state(state)
    config = make_config(
        PLACEHOLDER_SITE,
        state=opened,
        changes=Changes(
            opened,
            unlisted=Change.UNLISTED in checked_kinds,
            gone=int(Change.GONE in checked_kinds),
            revisit=1,
        ),
        unique=True,
        since=since,
        undated=undated,
        include=include,
        exclude=exclude,
        language=language,
        scope=scope,
        search=search,
        follow=follow,
        on_document=on_document,
        trusted=trusted,
        fetcher=fetcher,
        limits=limits,
        options=options,
    )
    return Watch(
        named_sites,
        config,
        opened,
        on_site=on_site,
        pace=pace,
        tick_seconds=tick_seconds,
        kinds=checked_kinds,
    )


watch_sync = without_async(watch)


def _check_kinds(kinds: Collection[str]) -> frozenset[str]:
    """Return kinds of changes; raise ValueError for other texts."""
    choices = [*map(str, Change), INITIAL]
    names = frozenset(map(str, kinds))
    if isinstance(kinds, str) or not names or not names.issubset(choices):
        argument = kinds
        if not isinstance(kinds, str):
            argument = ", ".join(map(str, kinds))
        raise ValueError(
            f"`kinds` must be a list of {', '.join(choices)}, got {argument!r}"
        )
    return names


def _name_sites(sites: Collection[str | SiteTask]) -> dict[str, str | SiteTask]:
    """Return the sites by their names in the state; raise ValueError for other texts."""
    if isinstance(sites, str | bytes):
        raise TypeError(
            "sites must be a list: write watch([url], ...), not watch(url, ...)"
        )
    named_sites = {}
    for site in sites:
        try:
            task = check_task(site)
        except InvalidSiteError as error:
            raise ValueError(
                f"{str(error)!r} is neither an http(s) URL nor a host"
            ) from None
        if isinstance(task.fetcher, FileFetcher):
            raise ValueError(  # noqa: TRY004 (the name has the right type)
                f"{task.name} is a single file: name its site, or the folder that holds it"
            )
        named_sites[url_key(task.url)] = site
    if not named_sites:
        raise ValueError("no site was given: name one to watch")
    return named_sites


def _iterate_entries(batches: list[SiteBatch]) -> Iterator[UrlEntry]:
    for batch in batches:
        yield from batch.rows


_ENTRY_VIEW: View[SiteBatch, UrlEntry] = View(_iterate_entries)


class RequestBudget:
    """The requests that a watch may make now: saved for an hour at most, and owed as long."""

    def __init__(self, an_hour: float, clock: Callable[[], float]) -> None:
        self._an_hour = an_hour
        self._clock = clock
        self._counted_at = clock()
        self._left = an_hour
        """Requests that may be made now; below 0 if more were made."""
        self._pages_left = 0.0
        """Requests for pages that may be made now."""

    @property
    def requests(self) -> int:
        """Number of requests that may be made now."""
        return max(0, int(self._left))

    @property
    def pages(self) -> float:
        """Number of pages that may be requested now."""
        return self._pages_left // _REQUESTS_A_PAGE

    def earn(self, *, asks_pages: bool) -> None:
        """Add the requests of the time since the last call."""
        now = self._clock()
        # a clock may be set back
        earned = max(0.0, now - self._counted_at) / HOUR * self._an_hour
        self._counted_at = now
        self._left = min(self._an_hour, self._left + earned)
        if asks_pages:
            most = max(_REQUESTS_A_PAGE, self._an_hour / 8)
            self._pages_left = min(most, self._pages_left + earned / 8)

    def spend(self, requests: int) -> None:
        """Count requests; no more are owed than an hour's."""
        self._left = max(-self._an_hour, self._left - requests)

    def spend_pages(self, pages: float) -> None:
        """Count pages that were requested."""
        self._pages_left -= _REQUESTS_A_PAGE * pages


class Watch(SiteRun):
    """The changes of sites as they are found; made by `watch`, entered once.

    It is a run over many sites with endless rounds. Iterate it for the entries, or iterate
    `batches` to get them by site.
    """

    user = "watch"
    names = StreamNames("watch", "watch(...)", "changes: async for entry in changes")

    def __init__(
        self,
        sites: dict[str, str | SiteTask],
        config: WalkConfig,
        state: State,
        *,
        on_site: OnSite | None,
        pace: float,
        tick_seconds: float,
        kinds: frozenset[str],
    ) -> None:
        super().__init__(sites.values(), config, state, on_site=on_site)
        self._listeners.append(self._spend)
        self._named_sites = sites
        self._tick_seconds = tick_seconds
        self._kinds = kinds
        self._silent: set[str] = set()
        """The sites that are read for the first time, without delivering their entries."""
        self._budget = RequestBudget(pace * len(sites), state.clock)

    def __aiter__(self) -> AsyncIterator[UrlEntry]:
        return self._read(_ENTRY_VIEW)

    def __iter__(self) -> Iterator[UrlEntry]:
        return iter(self._read(_ENTRY_VIEW))

    # -- the watch's side

    async def _walk_all(self) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < self._limits.end:
            await self._make_round()
            seconds = max(0.0, self._limits.end - loop.time())
            await asyncio.sleep(min(self._tick_seconds, seconds))

    async def _make_round(self) -> None:
        """Walk over the sites that are due or unknown."""
        self._budget.earn(asks_pages=Change.GONE in self._kinds)
        page_count = self._budget.pages
        pages = UrlAllowance(page_count)
        self._config = attrs.evolve(self._config, gone=pages)
        schedule = self._schedule
        await schedule.make_plan(self._budget.requests, self._named_sites)
        unread = await schedule.find_unread(self._named_sites)
        self._silent = set()
        if INITIAL not in self._kinds:
            for name, was_read in unread.items():
                if not was_read:
                    self._silent.add(check_task(self._named_sites[name]).name)
        due = {**(schedule.plan or {}), **unread}
        await self._walk_sites([self._named_sites[name] for name in due])
        self._budget.spend_pages(page_count - pages.left)

    def _choose(self, site: str, rows: Rows) -> Rows:
        if site in self._silent:
            return []
        return [entry for entry in rows if str(entry.change) in self._kinds]

    def _spend(self, outcome: SiteOutcome) -> None:
        self._budget.spend(outcome.requests)
