"""BlockingSiteRun: a run over many sites for code without `await`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sitemapreader.event_loop import LoopThread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from os import PathLike

    import pyarrow as pa

    from sitemapreader.many.run import SiteRun
    from sitemapreader.models import UrlEntry
    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.rows import Rows


class BlockingSiteRun:
    """The walks over many sites, in a thread; made by `walk_many_sync`, entered once.

    Attributes:
        outcomes: one for each site that was begun; complete when the context is left.
    """

    def __init__(self, run: SiteRun) -> None:
        self.outcomes: list[SiteOutcome] = run.outcomes
        self._run = run
        self._thread = LoopThread(run)
        self._coming: Future[tuple[str, Rows] | None] | None = None

    @property
    def repeated(self) -> int:
        """How many sites were named before, and not read again."""
        return self._run.repeated

    def __enter__(self) -> Self:
        self._thread.begin("a run is made once: call walk_many_sync(...) again for another one")
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._thread.end(error)

    def batches(self) -> Iterator[tuple[str, list[UrlEntry]]]:
        """Yield a site, as it was given, and a list of its entries; see `SiteRun.batches`."""
        return ((site, list(rows)) for site, rows in self.rows())

    def rows(self) -> Iterator[tuple[str, Rows]]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        if not self._thread.is_begun:
            raise TypeError(
                "a run has a thread and sockets to close, so enter it first: "
                "`with walk_many_sync(...) as run: for site, entries in run.batches(): ...`"
            )
        return self._iterate()

    def record_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow's record batches; see `SiteRun.record_batches`."""
        from sitemapreader.output.arrow import collect_batches  # noqa: PLC0415 (needs pyarrow)

        return collect_batches(self.rows(), gathers=self._run.gathers)

    def write(
        self, path: str | PathLike[str], *, report: str | PathLike[str] | None = None
    ) -> None:
        """Write all entries and outcomes into files; see `SiteRun.write`."""
        self._thread.call(self._run.write(path, report=report)).result()

    def _iterate(self) -> Iterator[tuple[str, Rows]]:
        while True:
            if self._coming is None:  # else Ctrl-C interrupted the wait for it
                self._coming = self._thread.call(self._run.next_rows())
            rows = self._coming.result()
            self._coming = None
            if rows is None:
                return
            yield rows
