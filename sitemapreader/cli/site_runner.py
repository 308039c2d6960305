"""Runner of a command's sites in one `walk_many`; files and folders run beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader.cli.runner import SourceRunner
from sitemapreader.cli.sources import FileSource, FolderSource, SiteSource, SourceResult
from sitemapreader.cli.writer import is_for_many
from sitemapreader.issues import IssueCode
from sitemapreader.many.api import walk_many
from sitemapreader.many.task import hide_login
from sitemapreader.options import SITE_SECONDS
from sitemapreader.outcomes import SiteOutcome, SiteStatus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from sitemapreader.cli.config import RunConfig
    from sitemapreader.many.plan import SiteWalk
    from sitemapreader.many.run import SiteRun
    from sitemapreader.many.task import SiteTask
    from sitemapreader.rows import Rows
    from sitemapreader.walker.state_writer import Delivery

Source: TypeAlias = FileSource | FolderSource | SiteSource


@attrs.frozen(eq=False)
class SiteRunner(SourceRunner[Source]):
    """A run over sites, sitemaps, folders and files.

    Sources on disk are read one after another, in their order; `visit` does that.

    Attributes:
        config: the arguments of the walks.
        handle: called with each list of entries of a site.
        on_end: called with the result and the outcome of each source.
        make_delivery: makes what knows which batches have left the output; may return `None`.
    """

    config: RunConfig
    handle: Callable[[str, Rows], None]
    on_end: Callable[[SourceResult, SiteOutcome], None] = attrs.field(default=lambda *_: None)
    make_delivery: Callable[[], Delivery | None] = attrs.field(default=lambda: None)
    _results: dict[SiteWalk, SourceResult] = attrs.field(factory=dict, init=False)

    def make_run(self) -> SiteRun:
        """Return the run over all sites, to be entered and given to `read_sites`."""
        config = self.config
        arguments: Any = config.walk | {"options": config.options, "limits": config.limits}
        run = walk_many(
            self._list_tasks(),
            at_once=getattr(self.arguments, "parallel", 1),
            site_seconds=self._choose_seconds(),
            **arguments,
        )
        run.report_to(self)
        return run

    def _choose_seconds(self) -> float | None:
        """Return how long each site may take, if no option says it."""
        is_given = getattr(self.arguments, "walk_seconds", None) is not None
        return None if is_given or not is_for_many(self.arguments) else SITE_SECONDS

    async def run(self) -> None:
        """Read every source."""
        async with self.show(), self.make_run() as run:
            await self.read_sites(run)

    async def read_sites(self, run: SiteRun) -> None:
        """Handle the entries of all sites."""
        async for site, rows in run.rows():
            self.handle(site, rows)

    async def _list_tasks(self) -> AsyncGenerator[SiteTask, None]:
        """Yield the sites; read files and folders on the way."""
        async for source in self.list_sources():
            if isinstance(source, SiteSource):
                yield source.task
            else:
                await self.read(source)

    def end(self, label: str, result: SourceResult) -> None:
        """Add the result of a source on disk."""
        SourceRunner.end(self, label, result)
        self.on_end(result, result.make_outcome(label))

    def end_unknown(self, line: str) -> None:
        """Record an outcome for a line that is not a site."""
        code = str(IssueCode.INVALID_URL)
        outcome = SiteOutcome(hide_login(line), SiteStatus.FAILED, code)
        self.on_end(SourceResult(complete=False), outcome)

    # -- what the run tells

    def note_begin(self, site: SiteWalk) -> None:
        """Show the progress of a site."""
        result = self._results.get(site)
        if result is None:
            result = self._results[site] = SourceResult()
            self.summary.running.add(result)
        result.walk = site.walk
        delivery = self.make_delivery()
        if delivery is not None and site.walk is not None:
            site.walk.deliver_through(delivery)

    def note_end(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        """Print the Issues of a site, and add its result to the summary."""
        result = self._results.pop(site, None) or SourceResult()
        self.summary.running.discard(result)
        result.walk = None
        if site.walk is not None:
            result.add(site.walk.report)
            result.entries = outcome.entries
            result.removals_unknown += site.removals_unknown
        if outcome.status is SiteStatus.ERROR:
            self.console.print_line(f"{site.name}: a bug ended the walk ({outcome.reason})")
            result.complete = False
        if not self.summary.limit_reached:  # else it was left because enough was read
            SourceRunner.end(self, site.name, result)
        self.on_end(result, outcome)
