"""Entries in, a file or a stream out: an encoder makes bytes of them, a sink takes the bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.sink import Sink


_GZIP_WBITS = 31
"""What zlib takes for "with gzip's header and trailer"."""


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


class GzipEncoder:
    """Another encoder's bytes, as a gzip stream (RFC 1952)."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._gzip = zlib.compressobj(wbits=_GZIP_WBITS)

    def begin(self) -> bytes:
        """Return the first compressed bytes."""
        return self._gzip.compress(self._encoder.begin())

    def encode(self, entries: list[UrlEntry]) -> bytes:
        """Return what is compressed by now, which may be nothing."""
        return self._gzip.compress(self._encoder.encode(entries))

    def end(self) -> bytes:
        """Return the rest of the stream."""
        return self._gzip.compress(self._encoder.end()) + self._gzip.flush()


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

    @property
    def descriptor(self) -> int:
        """The file that is open for it, for who wants to know what it is."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._sink.write(self._encoder.end())
                self._sink.commit()
        finally:
            self._sink.rollback()

    def write(self, entries: UrlEntry | Iterable[UrlEntry]) -> None:
        """Write one entry or several; those of a text as whole lines, at once.

        Raises:
            OSError: they cannot be written.
            TypeError: they are no entries; nothing of them is written.
        """
        if entries := _list_entries(entries):
            self._sink.write(self._encoder.encode(entries))


def _list_entries(given: object) -> list[UrlEntry]:
    """Return what was given as a list, checked."""
    from sitemapreader.models import UrlEntry  # noqa: PLC0415 (the package has to import quickly)

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
