"""The Output: an encoder turns entries into bytes, a sink writes the bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.sink import Sink
    from sitemapreader.rows import OutputRows, SiteRows


_GZIP_WBITS = 31
"""What zlib takes for "with gzip's header and trailer"."""


_AT_ONCE = 100
"""Records that wait to be written together."""


class Encoder(Protocol):
    """A format: turns entries into bytes."""

    def begin(self) -> bytes:
        """Return the bytes before all entries, such as a header."""
        ...

    def encode(self, rows: OutputRows) -> bytes:
        """Return the bytes of these entries, or those that are complete by now."""
        ...

    def end(self) -> bytes:
        """Return the remaining bytes and those after all entries."""
        ...


class GzipEncoder:
    """An encoder that compresses the bytes of another one with gzip (RFC 1952)."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._gzip = zlib.compressobj(wbits=_GZIP_WBITS)

    def begin(self) -> bytes:
        """Return the first compressed bytes."""
        return self._gzip.compress(self._encoder.begin())

    def encode(self, rows: OutputRows) -> bytes:
        """Return the bytes that are compressed by now; often none."""
        return self._gzip.compress(self._encoder.encode(rows))

    def end(self) -> bytes:
        """Return the rest of the stream."""
        return self._gzip.compress(self._encoder.end()) + self._gzip.flush()


class Output:
    """A file or stream for entries, made by `open_output` and entered with `with`.

    A file appears when it is complete: it is written under a temporary name beside its own, renamed
    when the context is left, and removed if it is left with an exception. Pipes and devices are
    written to directly.

    Attributes:
        name: what to call it in a message.
    """

    def __init__(self, sink: Sink, encoder: Encoder) -> None:
        self._waiting: list[Any] = []
        self.name = sink.name
        self._sink = sink
        self._encoder = encoder
        self._is_ended = False

    @property
    def is_replaced(self) -> bool:
        """Whether it is a file that appears when it is complete: no pipe, no device."""
        return self._sink.is_replaced

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way; a pipe may keep it waiting for its reader."""
        return self._sink.is_writing

    @property
    def descriptor(self) -> int:
        """The descriptor of the open file; below 0 if none is open."""
        return self._sink.descriptor

    @property
    def written(self) -> int:
        """How many bytes were written."""
        return self._sink.written

    def __enter__(self) -> Self:
        self._sink.open()
        try:
            self._sink.write(self._encoder.begin())
        except BaseException:
            self._sink.rollback()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is None and not self._is_ended:
                self.prepare()
                self._sink.commit()
        finally:
            self._sink.rollback()

    def prepare(self) -> list[tuple[Path, Path]]:
        """Write the end; return the temporary and the final path, to be renamed.

        Leaving the context then writes nothing more.
        """
        if self._is_ended:
            return []
        self._is_ended = True
        self._write_waiting()
        self._sink.write(self._encoder.end())
        return self._sink.prepare()

    def discard(self) -> None:
        """Leave the file of this name as it is, or as absent as it is."""
        self._is_ended = True
        self._sink.rollback()

    def write(self, entries: UrlEntry | Iterable[UrlEntry] | SiteRows) -> None:
        """Write one entry or several; text formats write whole lines.

        Raises:
            OSError: they cannot be written.
            TypeError: they are not entries; nothing of them is written.
        """
        if rows := _list_entries(entries):
            self._sink.write(self._encoder.encode(rows))

    def add(self, record: object) -> None:
        """Write a record of `open_output(columns=)`, now or with the next ones."""
        self._waiting.append(record)
        if len(self._waiting) >= _AT_ONCE:
            self._write_waiting()

    def _write_waiting(self) -> None:
        records, self._waiting = self._waiting, []
        if records:
            self._sink.write(self._encoder.encode(records))


def _list_entries(given: object) -> OutputRows:
    """Return one entry or several as a list; raise TypeError for other values."""
    from sitemapreader.models import UrlEntry  # noqa: PLC0415 (the same)
    from sitemapreader.rows import EntryColumns, SiteRows  # noqa: PLC0415 (importing has to be fast)

    if isinstance(given, EntryColumns | SiteRows):
        return given
    if isinstance(given, UrlEntry):
        return [given]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"write takes a UrlEntry or several, not {type(given).__name__}")
    entries: list[UrlEntry] = given if isinstance(given, list) else list(given)
    kinds = set(map(type, entries))
    if wrong := [kind for kind in kinds if not issubclass(kind, UrlEntry)]:
        raise TypeError(
            f"write takes a UrlEntry or several, and one is {wrong[0].__name__}: "
            "of events, choose those that are UrlEntry"
        )
    return entries
