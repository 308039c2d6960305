"""watch: what is new and gone on sites, as it is found, in rounds without end."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sitemapreader.discovery.context import UrlAllowance
from sitemapreader.many import walk_many
from sitemapreader.many.run import SITE_LISTS, SiteBatch
from sitemapreader.many.sources import FileFetcher, InvalidSiteError, SiteTask, check_task
from sitemapreader.models import Change
from sitemapreader.state import State
from sitemapreader.state.database import StateFile
from sitemapreader.state.schedule import find_unscheduled, plan_sites
from sitemapreader.urls import url_key
from sitemapreader.walker.config import SharedArguments, refuse_unknown
from sitemapreader.walker.stream import Channel, TaskStream, View

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Collection
    from pathlib import Path

    from sitemapreader.models import UrlEntry
    from sitemapreader.outcomes import SiteOutcome

HOUR = 3600.0
MOST_AN_HOUR = 3600
_USER = "watch"
_OWN = {"changes", "unlisted", "gone", "revisit"}
"""Arguments of `walk_many` that a watch chooses itself."""
_REQUESTS_A_PAGE = 3
"""At most: a control page is asked before and after it."""


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
    """Watch sites: deliver what is new or gone as it is found, until you leave.

    ```python
    async with watch(["example.org"], state="all.db") as changes:
        async for entry in changes:
            print(entry.change, entry.loc)
    ```

    Args:
        sites: URLs, names of hosts or objects of `SiteTask`, as of `walk_many`; no single files.
        state: what remembers them; written by this watch alone while it lasts.
        pace: requests an hour for each site, on average over all: those in which more news is
            expected get more. What was not spent is saved for an hour at most.
        tick_seconds: how long to wait between two rounds.
        kinds: which changes are delivered: "new", "gone", "unlisted", "changed". Without "gone"
            no page is asked; else they are an eighth of all requests at most.
        initial: whether all URLs of a site are delivered when it is read for the first time.
        arguments: those of `walk_many`, without `changes`, `unlisted`, `gone` and `revisit`;
            `max_time` is for how long to watch, and `on_site` is called for each site of each
            round.

    Each round is a run of `walk_many` with `revisit`: a failure is no reason to wait, and what
    failed is due again later. Asking for more acknowledges what was delivered before. Raises what
    `walk_many` raises; StateError when it is entered and another run writes the state.
    """
    for name, value, most in (
        ("pace", pace, MOST_AN_HOUR),
        ("tick_seconds", tick_seconds, 24 * HOUR),
    ):
        if not 0 < value <= most:
            raise ValueError(f"`{name}` must be above 0, and {most:g} at most, not {value!r}")
    known = [str(each) for each in Change]
    if isinstance(kinds, str) or not kinds or not {*kinds} <= {*known}:
        given = kinds if isinstance(kinds, str) else ", ".join(map(str, kinds))
        raise ValueError(f"`kinds` is a list of some of {', '.join(known)}, not {given!r}")
    own = {"at_once", "site_seconds", "on_site"}
    refuse_unknown("watch", arguments.keys() - SharedArguments.__annotations__.keys() - own)
    if named := arguments.keys() & _OWN:
        raise TypeError(f"watch has no argument {min(named)!r}: see `kinds` and `pace`")
    return Watch(
        _name_sites(sites),
        state if isinstance(state, State) else State(state),
        pace=pace,
        tick_seconds=tick_seconds,
        kinds=frozenset(map(str, kinds)),
        initial=initial,
        arguments=arguments,
    )


def _name_sites(sites: Collection[str | SiteTask]) -> dict[str, str | SiteTask]:
    """Return name in the state -> the site; raise ValueError for what is none."""
    if isinstance(sites, str | bytes):
        raise TypeError("sites must be several: write watch([url], ...), not watch(url, ...)")
    named = {}
    for given in sites:
        try:
            checked = check_task(given)
        except InvalidSiteError as error:
            raise ValueError(f"{str(error)!r} is neither an http(s) URL nor a host") from None
        if isinstance(checked.task.fetcher, FileFetcher):
            said = f"{checked.name} is a single file: name its site, or the folder that holds it"
            raise ValueError(said)  # noqa: TRY004 (it is what the name stands for)
        named[url_key(checked.url)] = given
    if not named:
        raise ValueError("there is nothing to watch: name a site")
    return named


_ENTRIES: View[SiteBatch, UrlEntry] = View(
    lambda batches: (entry for batch in batches for entry in batch.rows)
)


class Watch(TaskStream[SiteBatch]):
    """The changes of sites as they are found; made by `watch`, entered once.

    Iterate it for the entries; or `batches` gives them by site.
    """

    noun, maker, loop = "watch", "watch(...)", "changes: async for entry in changes"

    def __init__(
        self,
        sites: dict[str, str | SiteTask],
        state: State,
        *,
        pace: float,
        tick_seconds: float,
        kinds: frozenset[str],
        initial: bool,
        arguments: dict[str, Any],
    ) -> None:
        self._sites, self._state = sites, state
        self._tick_seconds, self._kinds, self._initial = tick_seconds, kinds, initial
        self._most = pace * len(self._sites)
        self._left = self._most
        """Requests that may be made now; below 0 if more were made."""
        self._pages_left = 0.0
        """Requests for pages that may be made now."""
        self._counted_at = state.clock()
        max_time = arguments.pop("max_time", None)
        self._seconds = max_time.total_seconds() if max_time else math.inf
        self._on_site = arguments.pop("on_site", None)
        self._arguments: dict[str, Any] = {
            "unique": True,
            **arguments,
            "state": state,
            "changes": True,
            "unlisted": str(Change.UNLISTED) in kinds,
            "on_site": self._count,
        }
        walk_many([], revisit=1, max_time=max_time, **self._arguments)  # raises for what is wrong
        self._file: StateFile | None = None
        super().__init__(Channel(1), gathers=False)

    def batches(self) -> AsyncIterator[tuple[str, list[UrlEntry]]]:
        """Yield a site, as it was given, and a list of entries that is not empty."""
        return self._read(SITE_LISTS)

    def __aiter__(self) -> AsyncIterator[UrlEntry]:
        return self._read(_ENTRIES)

    # -- the watch's side

    def _open(self) -> None:
        self._file = StateFile.share(self._state.path, _USER)

    async def _close(self) -> None:
        if self._file is not None:
            self._file.release(_USER)

    async def _acknowledge(self) -> None:
        if self._last is not None:
            self._last.handled.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        while (seconds := end - loop.time()) >= 1e-6:  # less is a timedelta of nothing
            async with aclosing(self._ask(seconds)) as found:
                async for site, entries in found:
                    batch = SiteBatch(site, entries)
                    await self._channel.put(batch, len(entries))
                    await batch.handled.wait()  # before the state hears of it
            await asyncio.sleep(min(self._tick_seconds, max(0.0, end - loop.time())))

    async def _ask(self, seconds: float) -> AsyncGenerator[tuple[str, list[UrlEntry]], None]:
        """Make a round over the sites of which something is due, or nothing is known."""
        assert self._file is not None  # noqa: S101 (it was entered)
        now = self._state.clock()
        earned = max(0.0, now - self._counted_at) / HOUR * self._most  # a clock may be set back
        self._counted_at = now
        self._left = min(self._most, self._left + earned)
        if Change.GONE in self._kinds:
            most_pages = max(_REQUESTS_A_PAGE, self._most / 8)
            self._pages_left = min(most_pages, self._pages_left + earned / 8)
        pages = UrlAllowance(most := self._pages_left // _REQUESTS_A_PAGE)
        room = max(0, int(self._left))
        due = await self._file.ask(lambda db: plan_sites(db, room, now, self._sites))
        unread = await self._file.ask(lambda db: find_unscheduled(db, self._sites, now))
        chosen = {name: self._sites[name] for name in {**due, **unread}}
        if not chosen:
            return
        silent = {
            check_task(self._sites[name]).name
            for name, was_read in unread.items()
            if not was_read and not self._initial
        }
        async with walk_many(
            list(chosen.values()),
            revisit=max(1, room),
            max_time=None if seconds == math.inf else timedelta(seconds=seconds),
            **{**self._arguments, "gone": pages},
        ) as run:
            async for site, entries in run.batches():
                wanted = [entry for entry in entries if str(entry.change) in self._kinds]
                if wanted and site not in silent:
                    yield site, wanted
        self._pages_left -= _REQUESTS_A_PAGE * (most - pages.left)

    def _count(self, outcome: SiteOutcome) -> None:
        """Count the requests for a site; no more are owed than an hour's."""
        self._left = max(-self._most, self._left - outcome.requests)
        if self._on_site is not None:
            self._on_site(outcome)
