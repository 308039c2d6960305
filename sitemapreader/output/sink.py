"""Sinks for bytes: standard output, or a file that appears when it is complete."""

from __future__ import annotations

import os
import secrets
import select
import stat
import sys
from pathlib import Path
from typing import Self

_ATOMIC_BYTES = getattr(select, "PIPE_BUF", 512)
"""What a pipe takes in one piece (POSIX, write); 512 at least."""
_WRITE = os.O_WRONLY | getattr(os, "O_BINARY", 0)


class Sink:
    """A destination for whole records.

    A file is written under a temporary name beside its own, and renamed by `commit`. Pipes and
    devices are written to directly. `with` commits, or rolls back after an exception. Methods raise
    OSError.

    Args:
        path: of the file; `None` is standard output.
        end: the end of each record; `None` for bytes without records.

    Attributes:
        encoding: the encoding of its text.
        is_writing: whether a write is under way; a pipe may keep it waiting for its reader.
        name: its name in messages.
        written: how many bytes were written.
    """

    def __init__(self, path: str | None, end: bytes | None = b"\n") -> None:
        self.encoding = "utf-8" if path else (sys.stdout.encoding or "utf-8")
        self.is_writing = False
        self.written = 0
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
        """Close the file; return its two paths if it must be renamed."""
        if self._temporary is None or self._path is None:
            return []
        if self._descriptor >= 0:
            os.fsync(self._descriptor)  # the content must be on the disk before the name
        self._close()
        return [(self._temporary, self._path)]

    def rollback(self) -> None:
        """Close the file, and remove it unless it was committed."""
        try:
            self._close()
        finally:
            if self._temporary:
                self._temporary.unlink(missing_ok=True)
                self._temporary = None

    def write(self, data: bytes) -> None:
        """Write records without buffering."""
        self.is_writing = True
        try:
            if self._temporary or self._end is None:
                write_all(self._descriptor, data)
            else:
                write_records(self._descriptor, data, self._end)
            self.written += len(data)
        finally:
            self.is_writing = False

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
        self.is_writing = True  # a named pipe waits for its reader
        try:
            self._descriptor = os.open(path, _WRITE)
        finally:
            self.is_writing = False
        mode = os.fstat(self._descriptor).st_mode
        if stat.S_ISREG(mode):
            self._close()
            self._open_temporary(path, stat.S_IMODE(mode))

    def _open_temporary(self, path: Path, mode: int = 0o666) -> None:
        """Open a new file beside `path`, with the rights of `mode` less the umask."""
        temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
        self._descriptor = os.open(temporary, _WRITE | os.O_CREAT | os.O_EXCL, mode)
        self._temporary = temporary


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, which appears when it is complete; raise OSError."""
    with Sink(os.fspath(path), end=None) as sink:
        sink.write(data)


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
