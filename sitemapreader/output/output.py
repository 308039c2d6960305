"""Entries in, a file or a stream out: an encoder makes bytes of them, a sink takes the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.sink import Sink


class Encoder(Protocol):
    """One format: what it writes first, for entries, and last."""

    def begin(self) -> bytes:
        """Return what stands before all entries."""
        ...

    def encode(self, entries: list[UrlEntry]) -> bytes:
        """Return what these entries are, or what has become ready."""
        ...

    def end(self) -> bytes:
        """Return what is left, and what stands behind all entries."""
        ...


class Output:
    """Where entries are written to, in one format; made by `open_output`, entered with `with`.

    A file is whole once it is there: it is written under a temporary name beside its own, renamed
    when the context is left, and removed if it is left with an exception. Pipes and devices are
    written to directly.

    Attributes:
        name: what to call it in a message.
    """

    def __init__(self, sink: Sink, encoder: Encoder) -> None:
        self.name = sink.name
        self._sink = sink
        self._encoder = encoder

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way, which may wait for a reader as long as that likes."""
        return self._sink.is_writing

    def __enter__(self) -> Self:
        self._sink.open()
        try:
            self._sink.write(self._encoder.begin())
        except BaseException:
            self._sink.discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._sink.write(self._encoder.end())
                self._sink.keep()
        finally:
            self._sink.discard()

    def write(self, entries: list[UrlEntry]) -> None:
        """Write entries; those of a text as whole lines, at once. Raises OSError."""
        if entries:
            self._sink.write(self._encoder.encode(entries))
