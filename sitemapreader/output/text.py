"""Entries as text, one record a line: bare URLs, JSON lines, CSV, TSV."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from sitemapreader.output import jsonl, tables
from sitemapreader.output.clean import clean_urls
from sitemapreader.output.sink import Sink

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.schema import Column

    Write = Callable[[list[UrlEntry]], str]


def open_text(path: str | None, format: str, columns: Sequence[Column], end: str) -> TextOutput:  # noqa: A002 (as in open_output)
    """Return an output of lines that end with `end`."""
    if format == "urls":
        return TextOutput(path, lambda entries: write_urls(entries, end), end)
    if format == "jsonl":
        return TextOutput(path, jsonl.make_writer(columns, end), end)
    join = tables.JOINS[format]
    head = join([tuple(column.name for column in columns)])
    return TextOutput(path, tables.make_writer(columns, join), end, head)


def write_urls(entries: list[UrlEntry], end: str) -> str:
    """Write the locs; characters that would break a line are percent-encoded."""
    return end.join([*clean_urls([entry.loc for entry in entries]), ""])


class TextOutput:
    """An output of lines; made by `open_output`.

    What the encoding of standard output lacks is written with backslashes.

    Attributes:
        name: what to call it in a message.
    """

    def __init__(self, path: str | None, write: Write, end: str, head: str = "") -> None:
        self._sink = Sink(path, end.encode())
        self._write = write
        self._head = head
        self._stack = ExitStack()
        self.name = self._sink.name

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way, which may wait for a reader as long as that likes."""
        return self._sink.is_writing

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._sink)
            self._send(self._head)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def write(self, entries: list[UrlEntry]) -> None:
        """Write entries, each as a whole line. Raises OSError."""
        if entries:
            self._send(self._write(entries))

    def _send(self, text: str) -> None:
        self._sink.write(text.encode(self._sink.encoding, "backslashreplace"))
