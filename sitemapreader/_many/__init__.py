"""Many sites in one stream, by one fetcher: once, or in rounds without end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from sitemapreader._many.run import SITES_AT_ONCE, OnSite, SiteBatch, SiteRun
from sitemapreader._many.sources import (
    FileFetcher,
    InvalidSiteError,
    Sites,
    SiteTask,
    check_task,
)
from sitemapreader._types.models import Change
from sitemapreader._types.options import SITE_SECONDS
from sitemapreader._types.urls import url_key
from sitemapreader._walk.config import SharedArguments, refuse_unknown
from sitemapreader._walk.context import UrlAllowance
from sitemapreader._walk.stream import StreamNames, View
from sitemapreader.changes.schedule import HOUR

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator
    from pathlib import Path

    from sitemapreader._types.models import UrlEntry
    from sitemapreader._types.outcomes import SiteOutcome
    from sitemapreader._types.rows import Rows
    from sitemapreader.changes import State

__all__ = [
    "SiteRun",
    "SiteTask",
    "Watch",
    "walk_many",
    "walk_many_sync",
    "watch",
]


_RUN_ARGUMENTS = ("at_once", "site_seconds", "on_site")
"""Arguments of a run over many sites that a walk has not."""


def walk_many(
    sites: Sites,
    *,
    at_once: int = SITES_AT_ONCE,
    site_seconds: float | None = SITE_SECONDS,
    on_site: OnSite | None = None,
    **arguments: Unpack[SharedArguments],
) -> SiteRun:
    """Walk over the sitemaps of many sites at once.

    ```python
    async with walk_many(open("hosts.txt"), probe="few", state="all.db") as run:
        async for site, entries in run.batches():
            print(site, len(entries))
    for outcome in run.outcomes:
        print(outcome.site, outcome.status, outcome.reason)
    ```

    Without `await`, write `with walk_many_sync(...)` and `for`: the walks then run in a thread of
    their own, which also reads `sites` and calls `on_site`.

    Args:
        sites: URLs, names of hosts or objects of `SiteTask`, from any iterable or async iterable.
            It is read only as fast as sites are walked, and never as a whole. If it is not a list
            or another collection, it is read in a thread, because it may wait. A site named twice
            is read once, if fewer than five million others come between. A URL may lead to a site
            or to a sitemap. Other texts get an outcome, too.
        at_once: number of sites that are read at the same time. Sites of one registrable domain
            wait for each other.
        site_seconds: time limit of one site, without the time for which you hold it up (unless you
            block the event loop: `walk_many_sync` has one of its own). The URLs read until then are
            kept. `None` leaves it to `limits`.
        on_site: function that gets the `SiteOutcome` of each site when it is known. Outcomes are
            then not kept in `SiteRun.outcomes`. It must not block. An exception that it raises ends
            the run, which raises it.
        arguments: all other arguments of `walk`, for each site; a `state` is one file for all, and
            `max_urls` is for each site. `revisit` is for all together: a site without a due
            document gets no request (`not-due`). The sites are not `trusted` unless you say so:
            connections go only to public addresses and the ports 80 and 443, and
            `FetchOptions.allow_networks` and `allow_ports` open more.

    One fetcher serves all sites. A bug that ends the walk over one site does not end the others.
    Raises the errors of `walk`.
    """
    known = {*_RUN_ARGUMENTS, *SharedArguments.__annotations__}
    refuse_unknown("walk_many", arguments, known)
    if isinstance(sites, str | bytes):
        raise TypeError(
            "sites must be a list: write walk_many([url]), not walk_many(url)"
        )
    return SiteRun(
        sites, at_once=at_once, site_seconds=site_seconds, on_site=on_site, **arguments
    )


walk_many_sync = walk_many
"""The same function: what it returns is entered with `with` or with `async with`."""


# -- in rounds

MOST_AN_HOUR = 3600
_WATCH_ARGUMENTS = {"changes", "unlisted", "gone", "revisit"}
"""Arguments of `walk_many` that a watch chooses itself."""
_REQUESTS_A_PAGE = 3
"""Requests for one page at most: a control page is requested before and after it."""


def watch(
    sites: Collection[str | SiteTask],
    *,
    state: str | Path | State,
    pace: float = 6.0,
    tick_seconds: float = 60.0,
    kinds: Collection[str] = ("new", "gone"),
    initial: bool = False,
    **arguments: Any,
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
        kinds: kinds of changes to deliver: "new", "gone", "unlisted", "changed". Without "gone" no
            page is requested; else pages are an eighth of all requests at most.
        initial: True to deliver all URLs of a site when it is read for the first time.
        arguments: the arguments of `walk_many`, except `changes`, `unlisted`, `gone` and `revisit`.
            `max_time` is the time to watch, and `on_site` is called for each site of each round.

    Each round is a run of `walk_many` with `revisit`: a failure does not delay others, and
    its document is due again later. The request for the next entry acknowledges the earlier ones.
    Raises the errors of `walk_many`, and StateError if another run writes the state.
    """
    for name, value, most in (
        ("pace", pace, MOST_AN_HOUR),
        ("tick_seconds", tick_seconds, 24 * HOUR),
    ):
        if not 0 < value <= most:
            raise ValueError(
                f"`{name}` must be above 0 and at most {most:g}, got {value!r}"
            )
    known = [str(each) for each in Change]
    if isinstance(kinds, str) or not kinds or not {*kinds} <= {*known}:
        if isinstance(kinds, str):
            given = kinds
        else:
            given = ", ".join(map(str, kinds))
        raise ValueError(f"`kinds` must be a list of {', '.join(known)}, got {given!r}")
    known_arguments = {*_RUN_ARGUMENTS, *SharedArguments.__annotations__, "pace"}
    refuse_unknown("watch", arguments, known_arguments)
    if named := arguments.keys() & _WATCH_ARGUMENTS:
        raise TypeError(f"watch has no argument {min(named)!r}: use `kinds` and `pace`")
    return Watch(
        _name_sites(sites),
        pace=pace,
        tick_seconds=tick_seconds,
        kinds=frozenset(map(str, kinds)),
        initial=initial,
        state=state,
        **arguments,
    )


def _name_sites(sites: Collection[str | SiteTask]) -> dict[str, str | SiteTask]:
    """Return the sites by their names in the state; raise ValueError for anything else."""
    if isinstance(sites, str | bytes):
        raise TypeError(
            "sites must be a list: write watch([url], ...), not watch(url, ...)"
        )
    named = {}
    for given in sites:
        try:
            checked = check_task(given)
        except InvalidSiteError as error:
            raise ValueError(
                f"{str(error)!r} is neither an http(s) URL nor a host"
            ) from None
        if isinstance(checked.fetcher, FileFetcher):
            said = f"{checked.name} is a single file: name its site, or the folder that holds it"
            raise ValueError(said)  # noqa: TRY004 (it is what the name stands for)
        named[url_key(checked.url)] = given
    if not named:
        raise ValueError("no site was given: name one to watch")
    return named


_ENTRY_VIEW: View[SiteBatch, UrlEntry] = View(
    lambda batches: (entry for batch in batches for entry in batch.rows)
)


class Watch(SiteRun):
    """The changes of sites as they are found; made by `watch`, entered once.

    It is a run over many sites that makes its rounds without end. Iterate it for the entries; or
    `batches` gives them by site.
    """

    names = StreamNames("watch", "watch(...)", "changes: async for entry in changes")

    def __init__(
        self,
        sites: dict[str, str | SiteTask],
        *,
        pace: float,
        tick_seconds: float,
        kinds: frozenset[str],
        initial: bool,
        **arguments: Any,
    ) -> None:
        chosen = {"changes": True, "unlisted": Change.UNLISTED in kinds, "revisit": 1}
        chosen["gone"] = int(Change.GONE in kinds)
        super().__init__(sites.values(), **{"unique": True, **arguments, **chosen})
        self._user = "watch"
        self._listeners.append(self._count)
        self._named = sites
        self._tick_seconds = tick_seconds
        self._kinds = kinds
        self._initial = initial
        self._silent: set[str] = set()
        """The sites that are read for the first time, without delivering their entries."""
        self._most = pace * len(sites)
        self._left = self._most
        """Requests that may be made now; below 0 if more were made."""
        self._pages_left = 0.0
        """Requests for pages that may be made now."""
        assert self._state is not None  # noqa: S101 (the argument of `watch`)
        self._clock = self._state.clock
        self._counted_at = self._clock()

    def __aiter__(self) -> AsyncIterator[UrlEntry]:
        return self._read(_ENTRY_VIEW)

    def __iter__(self) -> Iterator[UrlEntry]:
        return iter(self._read(_ENTRY_VIEW))

    # -- the watch's side

    async def _walk_all(self) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < self._end:
            await self._make_round()
            await asyncio.sleep(
                min(self._tick_seconds, max(0.0, self._end - loop.time()))
            )

    async def _make_round(self) -> None:
        """Walk over the sites that are due or unknown."""
        now = self._clock()
        # a clock may be set back
        earned = max(0.0, now - self._counted_at) / HOUR * self._most
        self._counted_at = now
        self._left = min(self._most, self._left + earned)
        if Change.GONE in self._kinds:
            most_pages = max(_REQUESTS_A_PAGE, self._most / 8)
            self._pages_left = min(most_pages, self._pages_left + earned / 8)
        pages = UrlAllowance(most := self._pages_left // _REQUESTS_A_PAGE)
        self._config = attrs.evolve(self._config, gone=pages)
        room = max(0, int(self._left))
        self._plan = await self._ask("plan_sites", room, names=self._named)
        unread = await self._ask("find_unscheduled", self._named)
        self._silent = {
            check_task(self._named[name]).name
            for name, was_read in unread.items()
            if not was_read and not self._initial
        }
        await self._walk_sites([self._named[name] for name in {**self._plan, **unread}])
        self._pages_left -= _REQUESTS_A_PAGE * (most - pages.left)

    def _choose(self, site: str, rows: Rows) -> Rows:
        wanted = [] if site in self._silent else rows
        return [entry for entry in wanted if str(entry.change) in self._kinds]

    def _count(self, outcome: SiteOutcome) -> None:
        """Count the requests for a site; no more are owed than an hour's."""
        self._left = max(-self._most, self._left - outcome.requests)
