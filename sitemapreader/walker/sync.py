"""The walk for code without `await`, with its event loop in a thread of its own.

So it works inside a running event loop as well, as in a notebook. The thread reads no further than
the channel of the walk has room, until the consumer pulls the batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sitemapreader.event_loop import LoopThread
from sitemapreader.rows import Rows, join_rows
from sitemapreader.walker.streams import ROWS_AT_ONCE, BatchCursor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    import pyarrow as pa

    from sitemapreader.documents.context import Batch
    from sitemapreader.models import Event, UrlEntry
    from sitemapreader.report import Report
    from sitemapreader.walker.walk import Walk


class BlockingWalk:
    """The stream of one walk, in a thread; made by `walk_sync`, entered once.

    Iterate it for the entries, one by one; `batches` gives them in lists as they come, `events`
    with everything else in between. These can be mixed: each resumes where the other stopped.

    Leaving the context, early or not, ends all tasks of the walk and its thread.

    Attributes:
        report: the outcome of each document, and all Issues; final when the context is left.
    """

    def __init__(self, walk: Walk) -> None:
        self.report: Report = walk.report
        self._walk = walk
        self._thread = LoopThread(walk)
        self._is_left = False
        self._coming: Future[list[Batch]] | None = None
        self._batches: list[Batch] = []  # reversed: the next one is last
        self._cursor = BatchCursor.at_start(None)

    def __repr__(self) -> str:
        return f"<BlockingWalk {self._walk.describe('with')}>"

    def __enter__(self) -> Self:
        self._thread.begin("a walk is walked once: call walk_sync(...) again for another one")
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._is_left = True
        self._thread.end(error)

    # -- the consumer's side

    def __iter__(self) -> Iterator[UrlEntry]:
        self._check()
        return self._iterate()

    def batches(self) -> Iterator[list[UrlEntry]]:
        """Yield the entries in lists, as they are read; no list is empty."""
        self._check()
        return self._iterate_batches()

    def record_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries as record batches of Arrow; see `Walk.record_batches`."""
        from sitemapreader.output.arrow import make_batch  # noqa: PLC0415 (takes 0.1 s)

        self._check()
        return map(make_batch, self._gather_rows())

    def rows(self) -> Iterator[Rows]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        self._check()
        return self._iterate_rows()

    def events(self) -> Iterator[Event]:
        """Yield entries, found sitemaps and Issues, in the order in which they are met."""
        self._check()
        return self._iterate_events()

    def removed(self) -> Iterator[str]:
        """Yield the URLs that no sitemap lists any more; see `Walk.removed`."""
        return self._walk.removed()

    def removals_unknown(self) -> Iterator[tuple[str, str]]:
        """Yield the sitemaps whose removals are unknown; see `Walk.removals_unknown`."""
        return self._walk.removals_unknown()

    def _iterate(self) -> Iterator[UrlEntry]:
        more = True
        while more:
            cursor = self._cursor
            yield from cursor.entries
            if cursor is self._cursor:
                more = self._pull()

    def _iterate_batches(self) -> Iterator[list[UrlEntry]]:
        more = True
        while more:
            if batch := list(self._cursor.entries):
                yield batch
            else:
                more = self._pull()

    def _iterate_rows(self) -> Iterator[Rows]:
        more = True
        while more:
            if rows := self._cursor.take_rows():
                yield rows
            else:
                more = self._pull()

    def _gather_rows(self) -> Iterator[Rows]:
        """Yield entries, as many at once as are there, up to the size of a record batch."""
        parts, size, more = list[Rows](), 0, True
        while more:
            if rows := self._cursor.take_rows():
                parts.append(rows)
                size += len(rows)
            if parts and (not self._batches or size >= ROWS_AT_ONCE):
                yield join_rows(parts)
                parts, size = [], 0
            else:
                more = self._pull()

    def _iterate_events(self) -> Iterator[Event]:
        more = True
        while more:
            cursor = self._cursor
            yield from cursor.entries
            yield from cursor.others
            if cursor is self._cursor:
                more = self._pull()

    def _pull(self) -> bool:
        """Move the cursor to the next batch; return whether there was one."""
        if not self._batches:
            self._check()
            if self._coming is None:  # else Ctrl-C interrupted the wait for it
                self._coming = self._thread.call(self._walk.next_batches())
            self._batches = self._coming.result()[::-1]
            self._coming = None
        batch = self._batches.pop() if self._batches else None
        self._cursor = BatchCursor.at_start(batch)
        return batch is not None

    def _check(self) -> None:
        if not self._thread.is_begun:
            raise TypeError(
                "a walk has a thread and sockets to close, so enter it first: "
                "`with walk_sync(...) as entries: for entry in entries: ...`"
            )
        if self._is_left:
            raise ValueError("the walk is over: iterate it inside `with walk_sync(...)`")
