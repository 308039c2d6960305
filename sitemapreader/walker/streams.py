"""WalkStreams: the loops over the batches of a walk, which share one cursor."""

from __future__ import annotations

import asyncio
from itertools import chain
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from sitemapreader.rows import Rows, join_rows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator

    import pyarrow as pa

    from sitemapreader.documents.context import Batch
    from sitemapreader.issues import Issue
    from sitemapreader.models import Event, SitemapEntry, UrlEntry

T = TypeVar("T")

ROWS_AT_ONCE = 8_192
"""Rows of a record batch, unless there are no more; about 3 MB as entries."""


@attrs.define(eq=False)
class BatchCursor:
    """The position of the consumer in a batch; all loops over a walk share it.

    A loop that finds another cursor than the one it read from was overtaken by another loop.
    """

    others: Iterator[SitemapEntry | Issue]
    _rows: Rows
    _entries: Iterator[UrlEntry] | None = None

    @classmethod
    def at_start(cls, batch: Batch | None) -> Self:
        """Return the cursor at the start of a batch."""
        if batch is None or isinstance(batch, tuple):
            return cls(iter(batch or ()), [])
        return cls(iter(()), batch)

    @property
    def entries(self) -> Iterator[UrlEntry]:
        """The iterator over the entries of the batch."""
        if self._entries is None:
            self._entries = iter(self._rows)
            self._rows = []
        return self._entries

    def take_rows(self) -> Rows:
        """Remove and return the entries that no loop has read yet, by columns if possible."""
        if self._entries is None:
            rows, self._rows = self._rows, []
            return rows
        return list(self._entries)


class WalkStreams:
    """The loops over the batches of a walk. Each resumes where another one stopped.

    Args:
        get_batch: returns the next batch; `None` at the end.
        raise_fault: raises the bug that ended the walk, if one did.
        gathers: whether rows may wait for others to come into one record batch.
    """

    def __init__(
        self,
        get_batch: Callable[[], Awaitable[Batch | None]],
        raise_fault: Callable[[], Awaitable[None]],
        *,
        gathers: bool,
    ) -> None:
        self._get_batch = get_batch
        self._raise_fault = raise_fault
        self._gathers = gathers
        self._cursor = BatchCursor.at_start(None)
        self._open: dict[str, AsyncGenerator[Any, None]] = {}

    def open(self, name: str, start: Callable[[Self], AsyncGenerator[T, None]]) -> AsyncIterator[T]:
        """Return the one generator of its kind, so that another loop can resume it."""
        stream = self._open.get(name)
        if stream is None or _is_over(stream):
            stream = self._open[name] = start(self)
        return stream

    async def close(self) -> None:
        """Close all generators, but the one that runs."""
        for stream in self._open.values():
            if not _is_running(stream):
                await stream.aclose()

    def iterate_entries(self) -> AsyncGenerator[UrlEntry, None]:
        """Return a generator of the entries, one by one."""
        return self._iterate(lambda cursor: cursor.entries)

    async def iterate_batches(self) -> AsyncGenerator[list[UrlEntry], None]:
        """Yield the entries in lists."""
        more = True
        while more:
            if batch := list(self._cursor.entries):
                yield batch
            else:
                more = await self._pull()

    async def iterate_record_batches(
        self, make_batch: Callable[[Rows], pa.RecordBatch]
    ) -> AsyncGenerator[pa.RecordBatch, None]:
        """Yield the entries in record batches that `make_batch` makes."""
        # With a state rows must not wait for others: asking for more acknowledges those before.
        enough = ROWS_AT_ONCE if self._gathers else 1
        parts, is_over = list[Rows](), False
        while not is_over:
            try:
                while not is_over and sum(map(len, parts)) < enough:
                    if rows := self._cursor.take_rows():
                        parts.append(rows)
                    else:
                        batch = await self._get_batch()
                        self._cursor = BatchCursor.at_start(batch)
                        is_over = batch is None
            except asyncio.CancelledError:  # perhaps a timeout: another loop may go on
                self._cursor = BatchCursor.at_start(join_rows(parts))
                raise
            if parts:
                rows, parts = join_rows(parts), []
                yield make_batch(rows)
        await self._raise_fault()

    async def iterate_rows(self) -> AsyncGenerator[Rows, None]:
        """Yield the entries, by columns where the reader gives columns."""
        more = True
        while more:
            if rows := self._cursor.take_rows():
                yield rows
            else:
                more = await self._pull()

    def iterate_events(self) -> AsyncGenerator[Event, None]:
        """Return a generator of entries, found sitemaps and Issues."""
        return self._iterate(lambda cursor: chain(cursor.entries, cursor.others))

    async def _iterate(self, read: Callable[[BatchCursor], Iterator[T]]) -> AsyncGenerator[T, None]:
        """Yield what `read` returns for each batch, until another loop overtakes this one."""
        more = True
        while more:
            cursor = self._cursor
            for event in read(cursor):
                yield event
            if cursor is self._cursor:
                more = await self._pull()

    async def _pull(self) -> bool:
        """Move the cursor to the next batch; return whether there was one."""
        batch = await self._get_batch()
        if batch is None:
            await self._raise_fault()
        self._cursor = BatchCursor.at_start(batch)
        return batch is not None


def _is_running(stream: AsyncGenerator[Any, None]) -> bool:
    return isinstance(stream, AsyncGeneratorType) and stream.ag_running


def _is_over(stream: AsyncGenerator[Any, None]) -> bool:
    """Return whether a generator has ended, in any way: then it has no frame."""
    return isinstance(stream, AsyncGeneratorType) and stream.ag_frame is None
