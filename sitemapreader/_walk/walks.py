"""The walk as its consumer sees it: a context manager, a stream and a report."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._event_loop import contain
from sitemapreader._types.counts import count_units, inflect
from sitemapreader._types.issues import IssueCode, show_url
from sitemapreader._types.models import Change, Event, UrlEntry
from sitemapreader._types.options import check_count
from sitemapreader._types.urls import host_of
from sitemapreader._walk.config import borrow_fetcher, check_asking
from sitemapreader._walk.context import (
    Batch,
    UrlAllowance,
    WalkContext,
)
from sitemapreader._walk.memory import WalkMemory
from sitemapreader._walk.parts import build_parts
from sitemapreader._walk.report import Report
from sitemapreader._walk.runner import WalkRunner
from sitemapreader._walk.stream import (
    ENTRIES,
    EVENTS,
    LISTS,
    ROWS,
    Channel,
    Loop,
    PromptChannel,
    TaskStream,
    pick_rows,
    view_records,
)
from sitemapreader.fetch.client import reads_files

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator

    import pyarrow as pa

    from sitemapreader._read.robots import Robots
    from sitemapreader._types.rows import Rows
    from sitemapreader._walk.config import WalkConfig
    from sitemapreader._walk.memory import (
        GonePage,
        RemovalKind,
        Removals,
        UnlistedUrl,
    )
    from sitemapreader._walk.parts import WalkParts

BUFFERED_EVENTS = 8_192
"""Events that wait for the consumer before the readers must wait; about 3 MB."""


class Walk(TaskStream[Batch]):
    """The stream of one walk; made by `walk`, and entered once.

    With `async with`, its loops are `async for`. With `with`, they are `for`, and the walk runs in
    a thread of its own.

    Iterate it for the entries, one by one; `batches` gives them in lists as they come, `events`
    with everything else in between. A walk supports one kind of loop: if you leave it, a second one
    resumes it. Several documents are read at once, so their entries come interleaved; those of one
    document come in its order.

    Leaving the context, early or not, ends all tasks of the walk.

    Attributes:
        report: the outcome of each document, and all Issues; final when the context is left.
    """

    def __init__(
        self, config: WalkConfig, channel: Channel[Batch] | None = None
    ) -> None:
        self.report = Report(
            config.limits.documents, config.on_document, config.on_issue
        )
        self._config = config
        self._parts: WalkParts | None = None
        self._memory = WalkMemory()
        self._lent = AsyncExitStack()
        self._delivered_unlisted = 0
        channel = channel or PromptChannel(BUFFERED_EVENTS)
        super().__init__(channel, gathers=config.state is None)

    def search_only(self) -> None:
        """Take the URL of the site for a page, not for a sitemap; call it before entering."""
        search = attrs.evolve(self._config.search, is_page=True)
        self._config = attrs.evolve(self._config, search=search)

    def __repr__(self) -> str:
        what = show_url(self.name)
        if not self.is_entered:
            return f"<Walk {what}: not entered, use it with `async with` or `with`>"
        how = "over" if self.is_left else "under way"
        urls = count_units(self.report.entries, "URLs")
        pending = count_units(self.pending, "sitemaps")
        return f"<Walk {what}: {how}, {urls}, {pending} to read>"

    @property
    def name(self) -> str:
        """The URL that stands for the walk: of the site, or of the first sitemap."""
        config = self._config
        return config.site or config.sitemaps[0].loc

    @property
    def pending(self) -> int:
        """The number of sitemaps known so far that have no outcome yet, for progress bars."""
        if self._parts is None:
            return 0
        return len(self._parts.frontier.queue)

    @property
    def awaited_hosts(self) -> list[str]:
        """The hosts whose responses are awaited or being read, for progress bars."""
        if self._parts is None:
            return []
        hosts = set(map(host_of, self._parts.context.opened))
        hosts.discard("")
        return sorted(hosts)

    # -- the consumer's side

    def __aiter__(self) -> AsyncIterator[UrlEntry]:
        return self._read(ENTRIES)

    def __iter__(self) -> Iterator[UrlEntry]:
        return iter(self._read(ENTRIES))

    def batches(self) -> Loop[list[UrlEntry]]:
        """Yield the entries in lists, as they are read; no list is empty."""
        return self._read(LISTS)

    def record_batches(self) -> Loop[pa.RecordBatch]:
        """Yield the entries as Arrow's record batches, with the documented columns.

        Each has some thousand rows; with a state, as many as were read at once, because asking for
        the next one acknowledges it. Entries without extensions become rows without becoming
        objects. Needs the extra `arrow`.
        """
        from sitemapreader._columns import COLUMNS  # noqa: PLC0415 (few need it)

        return self._read(view_records(pick_rows, COLUMNS))

    def rows(self) -> Loop[Rows]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        return self._read(ROWS)

    def events(self) -> Loop[Event]:
        """Yield entries, found sitemaps and Issues, in the order in which they are met."""
        return self._read(EVENTS)

    def robots_of(self, url: str) -> Robots | None:
        """Return the robots.txt of a URL's origin if the walk has fetched it, else `None`.

        Of many or large ones, only those that were used last are kept.
        """
        if self._parts is None:
            return None
        return self._parts.rules.robots.find_cached(url)

    def unlisted(self) -> Iterator[UnlistedUrl]:
        """Yield the URLs that became unlisted, each once.

        No document that the site names lists them, and every document of the site was read on two
        days since (`State(confirm_after=)`). Asking for the next one acknowledges one.

        Raises:
            ValueError: it is not known: it takes `Changes`, the end of the walk
                (`report.unlisted` is not `None`), and its context.
        """
        self._check_settled()
        while rows := self._memory.find_removals_now("unlisted"):
            yield from self._yield_each("unlisted", rows)

    def gone(self, limit: int = 1_000) -> Loop[GonePage]:
        """Request the pages of missing URLs; yield the gone ones, each once.

        A URL is missing when a document that listed it lacks it: it need not be unlisted.

        Only the status is requested. A page is gone if it responds with 404 or 410 in two walks
        that are `confirm_after` apart, each time beside listed neighbours that live. Every other
        page is requested again by later walks, after 1, 2, 4 ... 32 days; a gone one once more
        after three weeks. robots.txt, Crawl-delay and `max_time` hold as for sitemaps.

        Args:
            limit: how many pages to request; the ones that responded with 404 before come first.

        Raises ValueError as `unlisted` does, and with `map_hosts`.
        """
        check_count("limit", limit, 0)
        found = self._find_gone(limit)

        async def fill() -> bool:
            self._check_settled()
            check_asking(self._config)
            self.report.gone = self.report.gone or 0
            rows = await anext(found, None)
            if rows is None:
                return False
            self.cursor.items = self._yield_each("gone", rows)
            return True

        return Loop(self, fill)

    async def _find_gone(
        self, limit: int | UrlAllowance
    ) -> AsyncGenerator[Removals, None]:
        """Yield gone pages, repeating each until it has been delivered."""
        parts = self._parts
        assert parts is not None  # noqa: S101 (the walk has ended)
        if isinstance(limit, int):
            allowance = UrlAllowance(limit)
        else:
            allowance = limit
        asking = self._memory.check_pages(parts.context, parts.pages, allowance)
        async with aclosing(asking):
            async for _ in asking:
                while rows := await self._memory.find_removals("gone"):
                    yield rows
        returned = await self._memory.find_removals("returned")
        self.report.returned = len(returned)

    def _yield_each(
        self, kind: RemovalKind, rows: Removals
    ) -> Generator[Any, None, None]:
        """Yield rows; record each as delivered when the next one is requested."""
        delivered: list[bytes] = []
        try:
            for key, row in rows:
                if kind == "gone" and self.report.gone is not None:
                    self.report.gone += 1
                elif kind == "unlisted":
                    self._note_unlisted(1)
                yield row
                delivered.append(key)
        finally:
            self._memory.mark_delivered(kind, delivered)

    def _note_unlisted(self, number: int) -> None:
        """Count delivered URLs; an interrupted walk may have left more than this one found."""
        self._delivered_unlisted += number
        known = self.report.unlisted or 0
        self.report.unlisted = max(known, self._delivered_unlisted)

    def _check_settled(self) -> None:
        """Raise ValueError if it is not known yet which URLs are unlisted."""
        if self.is_left or self.report.unlisted is None:
            raise ValueError(
                "unlisted URLs are known only at the end of a walk with state=Changes(...): "
                "iterate it to its end inside its `with`. After that, use State.unlisted and "
                "State.gone"
            )

    # -- the walk's side

    async def _fill_channel(self) -> None:
        try:
            await contain(self._begin)
        except Exception:
            # a bug, or what a function of the caller raised: it is not complete
            self.report.note_fault()
            raise
        finally:
            self.report.tally.end()

    async def _begin(self) -> None:
        """Make the parts of the walk, and walk with them."""
        config = self._config
        async with AsyncExitStack() as stack:
            borrowed = borrow_fetcher(config)
            fetcher = await stack.enter_async_context(borrowed)
            parts = build_parts(
                config,
                fetcher,
                self.report,
                self._channel,
                self._memory,
            )
            self._parts = parts
            client = parts.context.client
            # the consumer may still fetch
            self._lent.callback(client.end_trust)
            self._lent.callback(parts.context.budget.end)
            if config.trusted:
                named = {*config.named, *config.logins}
                for url in named - config.files:
                    client.trust(url)
            await self._walk(parts)
            if not reads_files(fetcher):
                await self._report_mapped(parts.context)
            if config.changes:  # pages are asked later
                self._lent.push_async_exit(stack.pop_all())

    async def _report_mapped(self, context: WalkContext) -> None:
        """Report the mapped hosts from which something was requested."""
        urls = (document.url for document in self.report.documents)
        for name, target in self._config.map_hosts.list_used(urls):
            await context.report_code(IssueCode.HOST_MAPPED, url=name, value=target)

    async def _walk(self, parts: WalkParts) -> None:
        """Walk from the beginning, or from where the last walk was interrupted."""
        context = parts.context
        memory = self._memory
        report = self.report
        runner = WalkRunner(parts)
        resumption = await memory.begin()
        report.resumed = resumption.is_resumed
        if resumption.replaced:
            await context.report_code(
                IssueCode.STATE_REPLACED, value=resumption.replaced
            )
        await runner.run(resumption)
        # the next walk resumes this one
        if context.budget.exhausted is IssueCode.BUDGET_URLS:
            await memory.stop()
            return
        found = await memory.finish(runner.ending.describe)
        if found is None:
            return
        report.unlisted = found.unlisted
        report.waiting = found.waiting
        report.waits_for = found.waits_for
        report.waits_until = found.waits_until
        report.left = found.left
        for url, lost, still_listed in found.shrunk:
            said = (
                f"{still_listed} {inflect(still_listed, 'URLs')} listed, {lost} missing"
            )
            await context.report_code(IssueCode.SHRUNK, url, value=said)
        await self._deliver_removals(context)

    async def _deliver_removals(self, context: WalkContext) -> None:
        """Deliver unlisted, gone and returned URLs, if the caller wants them."""
        if self._config.unlisted:
            while rows := await self._memory.find_removals("unlisted"):
                await self._deliver(context, "unlisted", Change.UNLISTED, rows)
                self._note_unlisted(len(rows))
        if self._config.gone:
            self.report.gone = 0
            found = self._find_gone(self._config.gone)
            async with aclosing(found) as pages:
                async for rows in pages:
                    await self._deliver(context, "gone", Change.GONE, rows)
                    self.report.gone += len(rows)
            while rows := await self._memory.find_removals("returned"):
                await self._deliver(context, "returned", Change.NEW, rows)

    async def _deliver(
        self,
        context: WalkContext,
        kind: RemovalKind,
        change: Change,
        rows: Removals,
    ) -> None:
        """Deliver URLs, and record that they have arrived."""
        keys = []
        entries = []
        for key, row in rows:
            entry = UrlEntry(row.loc, sitemap=row.document, change=change)
            keys.append(key)
            entries.append(entry)
        await context.emit(entries)
        await self._channel.wait_until_dry()
        self._memory.mark_delivered(kind, keys)

    def _open(self) -> None:
        config = self._config
        if config.state is not None:
            self._memory = config.state.open_memory(config, self._channel)
            self.use_store(self._memory.store)
        tally = self.report.tally
        tally.begin(config.name or self.name, counts_changes=config.changes)
        tally.home = host_of(config.site).removeprefix("www.")

    async def _close(self) -> None:
        await self._lent.aclose()
        # a loop over pages that are gone was left
        if isinstance(self.cursor.items, GeneratorType):
            self.cursor.items.close()
        await self._memory.close()

    async def _acknowledge(self) -> None:
        await self._memory.acknowledge(self._channel.taken)
