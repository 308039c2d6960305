"""RunPlan: how the sites of a run are walked, and who is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import attrs

from sitemapreader.walker.config import SharedArguments

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterable, Callable, Iterable

    from sitemapreader.fetch.client import Fetcher
    from sitemapreader.many.task import SiteTask
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.rows import SiteRows
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.walks import Walk

Sites: TypeAlias = "Iterable[str | SiteTask] | AsyncIterable[str | SiteTask]"
"""URLs, hosts or tasks; read as there is work, and never held as a whole."""
OnSite: TypeAlias = "Callable[[SiteOutcome], object]"
"""Called with the outcome of each site when it is known."""


class RunArguments(SharedArguments, total=False):
    """The keyword arguments of `walk_many`, for `walk_many_sync`.

    A test compares names and types with the signature of `walk_many`, which explains them.
    """

    at_once: int
    site_seconds: float | None
    on_site: OnSite | None


@attrs.define(eq=False)
class SiteBatch:
    """Entries on their way to the consumer, with their site."""

    rows: SiteRows
    handled: asyncio.Event | None = None
    """Set when the consumer asks for more; `None` if no walk waits for that."""

    def __len__(self) -> int:
        return len(self.rows)


@attrs.define(eq=False)
class SiteWalk:
    """A site of a run, while it is walked and when it has ended.

    Attributes:
        name: the site, as it was given.
        walk: its walk; `None` for what is not a URL.
        handed: the last entries that were given to the consumer.
        is_slow: whether it has given its place among those at once to another site.
        removals_unknown: documents whose removed URLs are unknown, if removed ones are delivered.
    """

    name: str
    walk: Walk | None = None
    handed: SiteBatch | None = None
    is_slow: bool = False
    removals_unknown: list[str] = attrs.field(factory=list)

    @property
    def is_handled(self) -> bool:
        """Whether the consumer has handled all entries that it was given."""
        last = self.handed
        return last is None or last.handled is None or last.handled.is_set()


class RunWatcher(Protocol):
    """A follower of the walks of a run: the shell, for its messages and its progress."""

    def note_begin(self, site: SiteWalk) -> None:
        """Record that a site is walked, before its first entry."""
        ...

    def note_end(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        """Record the outcome of a site."""
        ...


@attrs.frozen(kw_only=True)
class RunPlan:
    """How the sites of a run are walked.

    Attributes:
        config: the arguments of each walk but its site, which `SiteVisitor` sets.
        at_once: how many sites are read at the same time.
        fetcher: opens URLs for all walks; `None` for one of the run's own.
        limits: how much is read of one site.
        options: how the network is used.
        on_site: called with each outcome.
    """

    config: WalkConfig
    at_once: int
    fetcher: Fetcher | None
    limits: Limits
    options: FetchOptions
    on_site: OnSite | None = None
