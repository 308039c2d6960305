"""Outputs: standard output, or files that appear when they are complete.

An encoder turns records into bytes, a sink writes the bytes; an output is a sink with an encoder.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sitemapreader.models import UrlEntry
    from sitemapreader.rows import OutputRows, SiteRows

_PART = ".part"
_NAME_BYTES = 255 - len(_PART)
"""What file systems leave of a name."""
_ATOMIC_BYTES = getattr(select, "PIPE_BUF", 512)
"""What a pipe takes in one piece (POSIX, write); 512 at least."""
_WRITE = os.O_WRONLY | getattr(os, "O_BINARY", 0)
_GZIP_WBITS = 31
"""What zlib takes for "with gzip's header and trailer"."""


_AT_ONCE = 100
"""Records that wait to be written together."""


class Sink:
    """A destination for whole records.

    A file is written as `FILE.part` beside it, and renamed by `commit`; what a killed run has left
    there is replaced, and a second run that writes the same file at the same time is refused. Pipes
    and devices are written to directly. `with` commits, or rolls back after an exception. Methods
    raise OSError.

    Args:
        path: of the file; `None` is standard output.
        end: the end of each record; `None` for bytes without records.
    """

    def __init__(self, path: str | None, end: bytes | None = b"\n") -> None:
        self.encoding = find_encoding(path)
        self.written = 0
        """How many bytes were written."""
        self.name = path or "standard output"
        self._end = end
        self._path = None if path is None else Path(path).resolve()  # a link stays one
        self._temporary: Path | None = None
        self._descriptor = -1

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is None:
                self.commit()
        finally:
            self.rollback()

    def open(self) -> None:
        """Open standard output, the pipe or device, or a temporary file."""
        if self._path is None:
            sys.stdout.flush()
            self._descriptor = sys.stdout.fileno()
        elif self._path.exists():
            self._open_existing(self._path)
        else:
            self._open_temporary(self._path)

    def commit(self) -> None:
        """Rename the temporary file to its name, in place of an older file."""
        for temporary, path in self.prepare():
            temporary.replace(path)
        self._temporary = None

    def prepare(self) -> list[tuple[Path, Path]]:
        """Bring the file to the disk; return its two paths if it must be renamed."""
        if self._temporary is None or self._path is None:
            return []
        if self._descriptor >= 0:
            os.fsync(self._descriptor)  # the content must be on the disk before the name
        if os.name == "nt":  # Windows renames no open file; elsewhere the lock lasts until the end
            self._close()
        return [(self._temporary, self._path)]

    def keep(self) -> Path | None:
        """Close the file; return where what was written stays, if it is text."""
        if self._temporary is None or self._end is None or not self.written:
            return None
        temporary, self._temporary = self._temporary, None
        self._close()
        return temporary

    def rollback(self) -> None:
        """Close the file, and remove it unless it was committed."""
        try:
            self._close()
        finally:
            if self._temporary:
                self._temporary.unlink(missing_ok=True)
                self._temporary = None

    def put(self, data: bytes) -> None:
        """Write records without buffering."""
        if self._temporary or self._end is None:
            write_all(self._descriptor, data)
        else:
            write_records(self._descriptor, data, self._end)
        self.written += len(data)

    @property
    def is_replaced(self) -> bool:
        """Whether it is a file that appears when it is complete: no pipe, no device."""
        return self._temporary is not None

    @property
    def descriptor(self) -> int:
        """The descriptor of the open file; below 0 if none is open."""
        return self._descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if self._path is not None and descriptor >= 0:
            os.close(descriptor)

    def _open_existing(self, path: Path) -> None:
        """Open a pipe or device; for a regular file, a temporary one in its place."""
        self._descriptor = os.open(path, _WRITE)  # a named pipe waits for its reader
        mode = os.fstat(self._descriptor).st_mode
        if stat.S_ISREG(mode):
            self._close()
            self._open_temporary(path, stat.S_IMODE(mode))

    def _open_temporary(self, path: Path, mode: int = 0o666) -> None:
        """Open a new file beside `path`, with the rights of `mode` less the umask."""
        name = os.fsdecode(os.fsencode(path.name)[:_NAME_BYTES])
        temporary = path.with_name(f"{name}{_PART}")
        while self._temporary is None:
            try:
                descriptor = os.open(temporary, _WRITE | os.O_CREAT | os.O_EXCL, mode)
            except FileExistsError:
                _remove_abandoned(temporary)
                continue
            if _is_locked(descriptor, temporary):
                self._descriptor, self._temporary = descriptor, temporary
            else:  # another run took it for abandoned
                os.close(descriptor)


def _remove_abandoned(path: Path) -> None:
    """Remove what a killed run has left; raise BlockingIOError if a run is writing it."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        if _is_locked(descriptor, path):
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, path: Path) -> bool:
    """Lock an open file; return whether it still has its name.

    Raises BlockingIOError if another run has locked it.
    """
    try:
        import fcntl  # noqa: PLC0415 (Windows has none; there an open file cannot be removed)

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, "another run is writing it") from None
    except (ImportError, OSError):  # Windows, or a file system without locks
        pass
    try:
        return Path(path).stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def find_encoding(path: str | None) -> str:
    """Return the encoding of text in a file, or on standard output for `None`."""
    return "utf-8" if path else (sys.stdout.encoding or "utf-8")


def write_records(descriptor: int, data: bytes, end: bytes) -> None:
    """Write whole records, in portions that a pipe takes completely or not at all."""
    # A signal may end a write that waits for its reader; it must not leave half a record behind.
    start = 0
    while start < len(data):
        stop = data.rfind(end, start, start + _ATOMIC_BYTES) + 1
        if not stop:  # a record that is longer
            stop = data.find(end, start) + 1 or len(data)
        write_all(descriptor, data[start:stop])
        start = stop


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in as many calls as the system needs."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def abandon_standard_output() -> None:
    """Redirect standard output to nowhere, so that exiting writes nothing to it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


# -- outputs


class Encoder:
    """A format: turns records into bytes."""

    def begin(self) -> bytes:
        """Return the bytes before all records, such as a header."""
        return b""

    def encode(self, rows: OutputRows) -> bytes:
        """Return the bytes of these records, or those that are complete by now."""
        raise NotImplementedError

    def end(self) -> bytes:
        """Return the remaining bytes and those after all records."""
        return b""

    def finish(self) -> Iterator[bytes]:
        """Yield what `end` returns, in pieces."""
        yield self.end()

    def close(self) -> None:
        """Free what the encoder holds; it is used no more."""


class GzipEncoder(Encoder):
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


class Output(Sink):
    """A file or stream for entries, made by `open_output` and entered with `with`.

    A file appears when it is complete: it is written as `FILE.part`, renamed when the context is
    left, and removed if it is left with an exception. Pipes and devices are written to directly.
    Its `name` is what to call it in a message.
    """

    def __init__(self, path: str | None, encoder: Encoder, end: bytes | None) -> None:
        super().__init__(path, end)
        self._waiting: list[Any] = []
        self._encoder = encoder
        self._is_ended = False

    def open(self) -> None:
        """Open it, and write what stands before all records."""
        super().open()
        try:
            self.put(self._encoder.begin())
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        """End the file and rename it, unless that was done, or it was discarded."""
        if not self._is_ended:
            super().commit()

    def prepare(self) -> list[tuple[Path, Path]]:
        """Write the end; return the temporary and the final path, to be renamed.

        Leaving the context then writes nothing more.
        """
        if self._is_ended:
            return []
        self._is_ended = True
        self.write_records([])
        for piece in self._encoder.finish():
            self.put(piece)
        return super().prepare()

    def rollback(self) -> None:
        """Free the encoder; then as any sink."""
        self._encoder.close()
        super().rollback()

    def discard(self) -> None:
        """Leave the file of this name as it is, or as absent as it is."""
        self._is_ended = True
        self.rollback()

    def write(self, entries: UrlEntry | Iterable[UrlEntry] | SiteRows) -> None:
        """Write one entry or several; text formats write whole lines.

        Raises:
            OSError: they cannot be written.
            TypeError: they are not entries; nothing of them is written.
        """
        if rows := _list_entries(entries):
            self.put(self._encoder.encode(rows))

    def add(self, record: object) -> None:
        """Write a record of `open_output(columns=)`, now or with the next ones."""
        self._waiting.append(record)
        if len(self._waiting) >= _AT_ONCE:
            self.write_records([])

    def write_records(self, records: list[Any]) -> None:
        """Write records of `open_output(columns=)`, those of `add` before them."""
        waiting, self._waiting = self._waiting, []
        if waiting or records:
            self.put(self._encoder.encode(waiting + records))


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
