"""The walk as its consumer sees it: a context manager, a stream and a report."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from sitemapreader.discovery.context import Batch, Budget, UrlAllowance, WalkContext, borrow_fetcher
from sitemapreader.event_loop import contain
from sitemapreader.fetch.client import Fetcher, make_client
from sitemapreader.issues import IssueCode, make_issue, show_url
from sitemapreader.models import Change, Event, UrlEntry, Via
from sitemapreader.report import Report
from sitemapreader.walker.config import WalkConfig, choose_waits
from sitemapreader.walker.runner import WalkRunner
from sitemapreader.walker.stream import (
    ENTRIES,
    EVENTS,
    LISTS,
    ROWS,
    BlockingStream,
    Channel,
    TaskStream,
    Usage,
    view_records,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import pyarrow as pa

    from sitemapreader.fetch.client import Client
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.readers.robots import Robots
    from sitemapreader.rows import Rows
    from sitemapreader.state import State
    from sitemapreader.walker.state_writer import Delivery, StateWriter

BUFFERED_EVENTS = 8_192
"""Events that wait for the consumer before the readers must wait; about 3 MB."""
_REMOVED_AT_ONCE = 500
_BYTES_PER_EVENT = 256
"""Markup of an ordinary event; a larger one counts as several, as it takes more memory."""


class Walk(TaskStream[Batch]):
    """The stream of one walk; made by `walk`, and entered with `async with`, once.

    Iterate it for the entries, one by one; `batches` gives them in lists as they come, `events`
    with everything else in between. A walk has one kind of loop; one that was left is gone on with.
    Several documents are read at once, so their entries come interleaved; those of one document
    come in its order.

    Leaving the context, early or not, ends all tasks of the walk.

    Attributes:
        report: the outcome of each document, and all Issues; final when the context is left.
    """

    def __init__(
        self,
        config: WalkConfig,
        *,
        fetcher: Fetcher | None,
        limits: Limits,
        options: FetchOptions,
        buffered: int = BUFFERED_EVENTS,
    ) -> None:
        self.report = Report(limits.documents, config.on_document)
        self._config = config
        self._fetcher = fetcher
        self._limits = limits
        self._options = choose_waits(config, options)
        self._runner: WalkRunner | None = None
        self._writer: StateWriter | None = None
        usage = Usage("walk", "async with walk(...)", "entries: async for entry in entries")
        super().__init__(usage, Channel(buffered), gathers=config.state is None)

    def search_only(self) -> None:
        """Take the URL of the site for a page, not for a sitemap; call it before entering."""
        if self._config.search is not None:
            search = attrs.evolve(self._config.search, is_page=True)
            self._config = attrs.evolve(self._config, search=search)

    def __repr__(self) -> str:
        return f"<Walk {self.describe('async with')}>"

    def describe(self, keyword: str) -> str:
        """Return in one line what is walked, and how far; `keyword` is how to enter it."""
        what = show_url(self._find_name())
        if not self._usage.is_entered:
            return f"{what}: not entered, use it with `{keyword}`"
        how = "over" if self._usage.is_left else "under way"
        return f"{what}: {how}, {self.report.entries} URLs, {self.pending} sitemaps to read"

    def _find_name(self) -> str:
        """Return the URL that stands for the walk: of the site, or of the first sitemap."""
        search = self._config.search
        return search.site if search else self._config.sitemaps[0].loc

    @property
    def pending(self) -> int:
        """The number of sitemaps known so far that have no outcome yet, for progress bars."""
        return 0 if self._runner is None else self._runner.pending

    # -- the consumer's side

    def __aiter__(self) -> AsyncIterator[UrlEntry]:
        return self._read(ENTRIES)

    def batches(self) -> AsyncIterator[list[UrlEntry]]:
        """Yield the entries in lists, as they are read; no list is empty."""
        return self._read(LISTS)

    def record_batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Yield the entries as Arrow's record batches, with the documented columns.

        Each has some thousand rows; with a state, as many as were read at once, because asking for
        the next one acknowledges it. Entries without extensions become rows without becoming
        objects. Needs the extra `arrow`.
        """
        return self._read(view_records())

    def rows(self) -> AsyncIterator[Rows]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        return self._read(ROWS)

    def events(self) -> AsyncIterator[Event]:
        """Yield entries, found sitemaps and Issues, in the order in which they are met."""
        return self._read(EVENTS)

    async def settle(self) -> None:
        """End the walk at a limit: the consumer has handled all batches that it was given."""
        await self.stop()
        if self._writer is not None:
            taken = self._channel.taken
            rest = self._channel.drain()
            is_all = all(isinstance(batch, tuple) for batch in rest)
            await self._writer.stop(self._channel.offered if is_all else taken)

    async def wait_for_consumer(self) -> None:
        """Wait until the consumer has handled all that there is, and asks for more."""
        await self._channel.wait_until_dry()

    def robots_of(self, url: str) -> Robots | None:
        """Return the robots.txt of a URL's origin if the walk has fetched it, else `None`.

        Of many or large ones, only those that were used last are kept.
        """
        return None if self._runner is None else self._runner.robots_of(url)

    def removed(self) -> Iterator[str]:
        """Yield the URLs that the sitemaps which were read do not list any more.

        See `removals_unknown` for the sitemaps that were not read.

        Raises:
            ValueError: it is not known: it takes `changes=True`, and a walk that is at its end
                (`report.removed` is not `None`).
        """
        state, writer = self._get_settled_state()
        return state.removed(writer.name) if self._usage.is_left else writer.list_removed()

    def removals_unknown(self) -> Iterator[tuple[str, str]]:
        """Yield the sitemaps whose removals are unknown, and why.

        `State.removals_unknown` names the reasons. Raises ValueError as `removed` does.
        """
        state, writer = self._get_settled_state()
        if self._usage.is_left:
            return state.removals_unknown(writer.name)
        return writer.list_unknown()

    def _get_settled_state(self) -> tuple[State, StateWriter]:
        state, writer = self._config.state, self._writer
        if state is None or writer is None or self.report.removed is None:
            raise ValueError(
                "what was removed is known only at the end of a walk with changes=True: "
                "iterate it to its end, until report.removed is not None"
            )
        return state, writer

    def deliver_through(self, delivery: Delivery) -> None:
        """Acknowledge batches when `delivery` says that they have arrived.

        Without this, asking for the next batch acknowledges the previous one. Without a state, this
        does nothing.
        """
        self._get_task()
        if self._writer is not None:
            self._writer.delivery = delivery

    # -- the walk's side

    async def _run(self) -> None:
        try:
            await contain(self._begin)
        except Exception:
            self.report.note_fault()
            raise
        finally:
            self.report.tally.end()

    async def _begin(self) -> None:
        async with borrow_fetcher(self._fetcher, self._options, self._limits) as fetcher:
            urls = self._config.max_urls
            limits, end = self._limits, self._config.max_time
            limits = limits if end is None else end.shorten(limits)
            budget = Budget(limits, UrlAllowance(urls) if isinstance(urls, int) else urls)
            self._channel.pause = budget.paused
            hosts, agent = self._config.map_hosts, self._options.user_agent
            context = WalkContext(
                client=self._keep(make_client(fetcher, agent, hosts)),
                options=self._options,
                limits=limits,
                budget=budget,
                report=self.report,
                emit=partial(_put_batch, self._channel),
                extra_formats=self._config.extra_formats,
                keeps_deleted=self._config.changes,
                base_url=self._config.base_url,
            )
            for url in self._list_named() if self._config.trusted else ():
                context.client.trust(url)
            for name, target in hosts.names:
                issue = make_issue(IssueCode.HOST_MAPPED, url=name, value=target)
                await context.report_issue(issue)
            try:
                await self._walk(context)
            finally:
                budget.close()

    def _keep(self, client: Client) -> Client:
        """Return the client; in rounds one that keeps what changes seldom."""
        if self._writer is None or self._config.revisit is None:
            return client
        from sitemapreader.walker.kept import KeptClient  # noqa: PLC0415 (few walks are rounds)

        return KeptClient(client, self._writer)

    async def _walk(self, context: WalkContext) -> None:
        writer = self._writer
        self._runner = runner = WalkRunner(context, self._config, writer)
        if writer is None:
            await runner.run()
            return
        await writer.begin()
        report = self.report
        report.resumed = writer.is_resumed
        if writer.quarantined_as:
            await context.report_issue(
                make_issue(IssueCode.STATE_REPLACED, value=writer.quarantined_as)
            )
        if self._config.removed:  # what an earlier one could not, because it was killed
            await self._tell_removed(context, writer)
        await runner.run()
        if context.budget.exhausted is IssueCode.BUDGET_URLS:  # the next walk resumes this one
            await writer.stop(await self._channel.wait_until_dry())
            return
        removals = await writer.finish(
            complete=report.complete, listed=runner.listed(), knows_all=runner.knows_all()
        )
        if removals is None:
            return
        report.removed, report.left = removals.urls, removals.left
        report.removals_unknown = removals.unknown
        for shrunk in removals.shrunk:
            said = f"{shrunk.kept} URLs listed, {shrunk.lost} missing"
            await context.report_issue(make_issue(IssueCode.SHRUNK, shrunk.url, value=said))
        if self._config.removed:
            await self._tell_removed(context, writer)
            await writer.settle(await self._channel.wait_until_dry())

    async def _tell_removed(self, context: WalkContext, writer: StateWriter) -> None:
        """Deliver the removed URLs of the last walk that are not delivered yet."""
        gone = writer.list_removed(is_untold=True)
        while True:
            async with writer.turn():  # another site's walk may be judged in a thread meanwhile
                locs = list(islice(gone, _REMOVED_AT_ONCE))
            if not locs:
                return
            await context.emit([UrlEntry(loc, change=Change.REMOVED) for loc in locs])
            await writer.tell(locs[-1])

    def _list_named(self) -> Iterator[str]:
        """Yield the URLs that the caller named."""
        if self._config.search is not None:
            yield self._config.search.site
        for entry in self._config.sitemaps:
            if entry.via is Via.GIVEN:
                yield entry.loc
        yield from self._config.logins

    def _open(self) -> None:
        if self._config.state is not None:
            from sitemapreader.walker.state_writer import (  # noqa: PLC0415 (few walks have one)
                StateWriter,
            )

            self._writer = StateWriter(self._config.state, self._config, self._channel)
        self.report.tally.begin(self._find_name(), counts_changes=self._config.changes)
        if self._config.search is not None:
            self.report.tally.homes = set()

    async def _close(self) -> None:
        if self._writer is not None:
            await self._writer.close()

    async def _acknowledge(self) -> None:
        if self._writer is not None:
            await self._writer.acknowledge()


async def _put_batch(channel: Channel[Batch], batch: Batch, size: int = 0) -> None:
    await channel.put(batch, max(len(batch), size // _BYTES_PER_EVENT))


class BlockingWalk(BlockingStream[Batch]):
    """The stream of one walk, in a thread; made by `walk_sync`, entered once.

    Iterate it for the entries, one by one; the other loops are those of `Walk`, of which it has one
    kind. Leaving the context, early or not, ends all tasks of the walk and its thread.

    Attributes:
        report: the outcome of each document, and all Issues; final when the context is left.
    """

    def __init__(self, walk: Walk) -> None:
        self.report: Report = walk.report
        self._walk = walk
        loop = "entries: for entry in entries"
        super().__init__(walk, Usage("walk", "with walk_sync(...)", loop))

    def __repr__(self) -> str:
        return f"<BlockingWalk {self._walk.describe('with')}>"

    def __iter__(self) -> Iterator[UrlEntry]:
        return self._read(ENTRIES)

    def batches(self) -> Iterator[list[UrlEntry]]:
        """Yield the entries in lists, as they are read; no list is empty."""
        return self._read(LISTS)

    def record_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries as record batches of Arrow; see `Walk.record_batches`."""
        return self._read(view_records())

    def rows(self) -> Iterator[Rows]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        return self._read(ROWS)

    def events(self) -> Iterator[Event]:
        """Yield entries, found sitemaps and Issues, in the order in which they are met."""
        return self._read(EVENTS)

    def removed(self) -> Iterator[str]:
        """Yield the URLs that no sitemap lists any more; see `Walk.removed`."""
        return self._walk.removed()

    def removals_unknown(self) -> Iterator[tuple[str, str]]:
        """Yield the sitemaps whose removals are unknown; see `Walk.removals_unknown`."""
        return self._walk.removals_unknown()
