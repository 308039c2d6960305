"""Outputs: standard output, or files that appear when they are complete.

An encoder turns records into bytes; an output writes the bytes where they belong.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sitemapreader._columns import Column
    from sitemapreader._types.models import UrlEntry
    from sitemapreader._types.rows import OutputRows, SiteRows

_PART_SUFFIX = ".part"
_NAME_BYTES = 255 - len(_PART_SUFFIX)
"""Longest file name on common file systems."""
_ATOMIC_BYTES = getattr(select, "PIPE_BUF", 512)
"""Bytes that a pipe takes in one piece (POSIX, write); 512 at least."""
_WRITE = os.O_WRONLY | getattr(os, "O_BINARY", 0)
_IS_DELIVERED = (
    "it exists, and a run with a state writes each URL once: name another file, "
    "or move it away"
)
_GZIP_WBITS = 31
"""Value with which zlib writes gzip's header and trailer."""
_CLOSED = -1
"""Value in place of the descriptor of a file that is not open."""


class Encoder:
    """A format: turns records into bytes.

    Attributes:
        head: the bytes before all records, such as a header.
        keeps_older: True if the records of an existing file are kept.
    """

    head = b""
    keeps_older = False

    def encode(self, rows: OutputRows) -> bytes:
        """Return the bytes of these records, as far as they are complete."""
        raise NotImplementedError

    def begin_sheet(self, name: str, columns: Sequence[Column]) -> None:
        """Begin a sheet of a workbook, with columns of its own."""
        raise TypeError(
            f"the sheet {name!r} with {len(columns)} columns needs a workbook: "
            "end the name with .xlsx"
        )

    def end(self) -> Iterable[bytes]:
        """Return the remaining bytes and the end of the file, in pieces."""
        return ()

    def close(self) -> None:
        """Free the resources of the encoder; it is used no more."""


class GzipEncoder(Encoder):
    """An encoder that compresses the bytes of another one with gzip (RFC 1952)."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._gzip = zlib.compressobj(wbits=_GZIP_WBITS)
        self.head = self._gzip.compress(encoder.head)

    def encode(self, rows: OutputRows) -> bytes:
        """Return the bytes that are compressed so far; often none."""
        data = self._encoder.encode(rows)
        return self._gzip.compress(data)

    def end(self) -> list[bytes]:
        """Return the rest of the stream."""
        rest = self._encoder.end()
        pieces = [self._gzip.compress(piece) for piece in rest]
        return [*pieces, self._gzip.flush()]


class ArrayEncoder(Encoder):
    """An encoder that joins the lines of another one, which are JSON, to one array."""

    head = b"[\n"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._has_values = False

    def encode(self, rows: OutputRows) -> bytes:
        """Return the values, and the comma before them if others were there."""
        lines = self._encoder.encode(rows)
        return self.join(lines)

    def join(self, lines: bytes) -> bytes:
        """Return whole lines as values of the array."""
        values = lines.removesuffix(b"\n").replace(b"\n", b",\n")
        if self._has_values:
            return b",\n" + values
        self._has_values = True
        return values

    def end(self) -> list[bytes]:
        """Return the end of the array."""
        if self._has_values:
            return [b"\n]\n"]
        return [b"]\n"]


class Output:
    """A file or stream for entries, made by `open_output` and entered with `with`.

    A file is written as `FILE.part` in the same folder, renamed when the context is left, and
    removed if it is left with an exception. The `FILE.part` of a killed run is replaced; a second
    run into the same file is refused. Pipes and devices are written to directly. Methods raise
    OSError.

    Args:
        path: of the file; `None` is standard output.
        encoder: its format.
        end: the end of each record; `None` for bytes without records.
    """

    def __init__(
        self,
        path: str | None,
        encoder: Encoder,
        end: bytes | None = b"\n",
    ) -> None:
        self.encoding = find_encoding(path)
        self.written = 0
        """Number of bytes that were written after the head."""
        self.name = path or "standard output"
        self.descriptor = _CLOSED
        """Descriptor of the open file; below 0 if none is open."""
        self._end = end
        if path is None:
            self._path = None
        else:
            self._path = Path(path).absolute()
        self._temporary: Path | None = None
        self._encoder = encoder
        self._is_ended = False

    def __enter__(self) -> Self:
        """Open standard output, the pipe or device, or a temporary file, and begin it."""
        try:
            if self._path is None:
                sys.stdout.flush()
                self.descriptor = sys.stdout.fileno()
            elif self._path.exists():
                self._open_existing(self._path)
            else:
                self._open_temporary(self._path)
            self._send(self._encoder.head)
        except BaseException:
            self.rollback()
            raise
        return self

    def __exit__(
        self,
        error_type: object,
        error: BaseException | None,
        traceback: object,
    ) -> None:
        try:
            if error is None:
                for temporary, path in self.prepare():
                    temporary.replace(path)
        finally:
            self.rollback()

    def check_new(self) -> None:
        """Raise FileExistsError if the records of an existing file would be replaced.

        A walk with a state delivers each record once, so those of an earlier run do not come again.
        """
        path = self._path
        if path is None or self._encoder.keeps_older:
            return
        if path.is_file() and path.stat().st_size:
            raise FileExistsError(errno.EEXIST, _IS_DELIVERED, self.name)

    def begin_sheet(self, name: str, columns: Sequence[Column]) -> None:
        """Begin a sheet of a workbook, with columns of its own; TypeError for other formats."""
        self._encoder.begin_sheet(name, columns)

    def prepare(self) -> list[tuple[Path, Path]]:
        """Bring the file to the disk; return its two paths if it must be renamed.

        Leaving the context then writes nothing more.
        """
        if self._is_ended:
            return []
        self._is_ended = True
        for piece in self._encoder.end():
            self.put(piece)
        if self._temporary is None or self._path is None:
            return []
        os.fsync(self.descriptor)  # the content must be on the disk before the name
        # Windows renames no open file; on other systems the lock must last until the end.
        if os.name == "nt":
            self._close()
        return [(self._temporary, self._path)]

    def keep(self) -> Path | None:
        """Keep the written part, if it is text; return its path."""
        temporary = self._temporary
        if temporary is None or self._end is None:
            return None
        if not self.written:
            return None
        self._close()
        self._temporary = None
        return temporary

    def discard(self) -> None:
        """Remove the written part; an older file of this name stays."""
        self._is_ended = True
        self.rollback()

    def rollback(self) -> None:
        """Close the file, and remove it unless it was renamed."""
        self._encoder.close()
        # A renamed file has left this name, which may belong to the file of the next run by now.
        temporary = self._temporary
        self._temporary = None
        is_there = temporary and _is_at(temporary, self.descriptor)
        try:
            self._close()
        finally:
            if temporary and is_there:
                temporary.unlink(missing_ok=True)

    def write(self, entries: UrlEntry | Iterable[UrlEntry] | SiteRows) -> None:
        """Write one entry or several; text formats write whole lines.

        Raises:
            OSError: they cannot be written.
            TypeError: they are not entries; nothing of them is written.
        """
        if rows := _check_rows(entries):
            self.put(self._encoder.encode(rows))

    def add(self, record: object) -> None:
        """Write a record of `open_output(columns=)`."""
        self.write_records([record])

    def write_records(self, records: list[Any]) -> None:
        """Write records of `open_output(columns=)`."""
        if records:
            self.put(self._encoder.encode(records))

    def put(self, data: bytes) -> None:
        """Write bytes without buffering; if the output has records, they are whole ones."""
        self._send(data)
        self.written += len(data)

    @property
    def waits_for_reader(self) -> bool:
        """True for a named pipe, which cannot be opened before another program reads it."""
        return self._path is not None and self._path.is_fifo()

    @property
    def is_replaced(self) -> bool:
        """True for a file, which appears when it is complete; False for a pipe or device."""
        return self._temporary is not None

    def _send(self, data: bytes) -> None:
        if self._temporary or self._end is None:
            write_all(self.descriptor, data)
        else:
            write_whole_records(self.descriptor, data, self._end)

    def _close(self) -> None:
        descriptor = self.descriptor
        self.descriptor = _CLOSED
        if self._path is not None and descriptor >= 0:
            os.close(descriptor)

    def _open_existing(self, path: Path) -> None:
        """Open a pipe or device; for a regular file, a temporary one in its place."""
        self.descriptor = os.open(path, _WRITE)  # a named pipe waits for its reader
        mode = os.fstat(self.descriptor).st_mode
        if stat.S_ISREG(mode):
            self._close()
            self._open_temporary(path, stat.S_IMODE(mode))

    def _open_temporary(self, path: Path, mode: int = 0o666) -> None:
        """Open a new file beside `path`, with the rights of `mode` less the umask."""
        # The target of a link is replaced, so that the link stays. (A link to a pipe, such as
        # /dev/stdout, resolves to a path that does not exist, and is opened elsewhere.)
        path = path.resolve()
        self._path = path
        name_bytes = os.fsencode(path.name)
        name = os.fsdecode(name_bytes[:_NAME_BYTES])
        temporary = path.with_name(f"{name}{_PART_SUFFIX}")
        if os.path.lexists(temporary):
            _remove_abandoned(temporary)
        flags = _WRITE | os.O_CREAT | os.O_EXCL
        self.descriptor = os.open(temporary, flags, mode)
        self._temporary = temporary
        _lock_file(self.descriptor, temporary)


def _remove_abandoned(path: Path) -> None:
    """Remove a killed run's file; raise BlockingIOError if a run is writing it."""
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if os.name == "nt" or not stat.S_ISREG(mode):
            path.unlink()  # Windows refuses this while another run has the file open
            return
        with path.open("rb") as file:
            _lock_file(file.fileno(), path)
            path.unlink()


def _lock_file(descriptor: int, path: Path) -> None:
    """Lock an open file; raise BlockingIOError if another run has locked it."""
    try:
        import fcntl  # noqa: PLC0415 (Windows has none)

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = _is_at(path, descriptor)
    except BlockingIOError:
        is_ours = False
    except (ImportError, OSError):  # Windows, or a file system without locks
        is_ours = True
    if not is_ours:
        raise BlockingIOError(errno.EAGAIN, "another run is writing it")


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether an open file still has its name."""
    try:
        named = path.stat()
        return os.path.samestat(named, os.fstat(descriptor))
    except OSError:  # or it is closed
        return False


def find_encoding(path: str | None) -> str:
    """Return the encoding of text in a file, or on standard output for `None`."""
    if path:
        return "utf-8"
    return sys.stdout.encoding or "utf-8"


def write_whole_records(
    descriptor: int,
    data: bytes,
    end: bytes,
) -> None:
    """Write whole records, in portions that a pipe takes completely or not at all."""
    # A signal may end a write that waits for its reader; it must not leave half a record behind.
    start = 0
    while start < len(data):
        limit = start + _ATOMIC_BYTES
        stop = data.rfind(end, start, limit) + 1
        if not stop:  # a record that is longer
            stop = data.find(end, start) + 1 or len(data)
        write_all(descriptor, data[start:stop])
        start = stop


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in as many calls as the system needs."""
    remaining = memoryview(data)
    while remaining:
        written = os.write(descriptor, remaining)
        remaining = remaining[written:]


def _check_rows(value: object) -> OutputRows:
    """Return one entry or several as a list; raise TypeError for other values."""
    from sitemapreader._types.models import UrlEntry  # noqa: PLC0415 (importing has to be fast)
    from sitemapreader._types.rows import EntryColumns, SiteRows  # noqa: PLC0415 (the same)

    if isinstance(value, EntryColumns | SiteRows):
        return value
    if isinstance(value, UrlEntry):
        return [value]
    expected = "write takes one UrlEntry or several (leave out other events)"
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{expected}, got {type(value).__name__}")
    entries: list[UrlEntry] = list(value)
    for event_type in set(map(type, entries)):
        if not issubclass(event_type, UrlEntry):
            raise TypeError(f"{expected}, got {event_type.__name__}")
    return entries
