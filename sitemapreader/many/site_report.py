"""The report of a run: a file with one row a site, how it ended and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from sitemapreader.many.outcome_rows import REPORT_FORMATS, OutcomeEncoder
from sitemapreader.output.sink import Sink

if TYPE_CHECKING:
    from sitemapreader.outcomes import SiteOutcome

_BUFFERED = 100


class SiteReport:
    """A file of outcomes, which appears under its name when it is complete."""

    def __init__(self, sink: Sink | None, encoder: OutcomeEncoder) -> None:
        self._sink = sink
        self._encoder = encoder
        self._outcomes: list[SiteOutcome] = []
        self._is_ended = False

    def __enter__(self) -> Self:
        if self._sink is not None:
            self._sink.open()
            self._sink.write(self._encoder.begin())
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if self._sink is None:
            return
        try:
            if error is None and not self._is_ended:
                self.prepare()
                self._sink.commit()
        finally:
            self._sink.rollback()

    def add(self, outcome: SiteOutcome) -> None:
        """Write a row, now or with the next ones."""
        if self._sink is not None:
            self._outcomes.append(outcome)
            if len(self._outcomes) >= _BUFFERED:
                self._write()

    def prepare(self) -> list[tuple[Path, Path]]:
        """Write the end; return the temporary and the final path, to be renamed."""
        if self._sink is None:
            return []
        self._is_ended = True
        self._write()
        self._sink.write(self._encoder.end())
        return self._sink.prepare()

    def _write(self) -> None:
        if self._sink is not None and self._outcomes:
            self._sink.write(self._encoder.encode(self._outcomes))
            self._outcomes = []


def open_report(path: str | None) -> SiteReport:
    """Return the report for a path, to be entered; without a path it writes nothing.

    Raises ValueError: the name has no suffix of a format.
    """
    if path is None:
        return SiteReport(None, OutcomeEncoder("jsonl"))
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in REPORT_FORMATS:
        formats = ", .".join(REPORT_FORMATS)
        raise ValueError(f"the name of a report ends with .{formats}, unlike {path!r}")
    return SiteReport(Sink(path, end=None), OutcomeEncoder(form))
