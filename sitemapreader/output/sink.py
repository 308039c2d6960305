"""Where lines go: standard output as they come, or a file that is whole once it is there."""

from __future__ import annotations

import os
import select
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

if TYPE_CHECKING:
    from types import TracebackType


_ATOMIC_BYTES = getattr(select, "PIPE_BUF", 512)
"""What a pipe takes in one piece (POSIX, write); 512 at least."""


class Sink:
    """Takes whole lines of text.

    A file is written under a temporary name beside it and renamed at the end, so that one that
    exists is whole; leaving with an exception removes it. What is no regular file, such as a pipe
    or a device, is written to directly. Raises OSError.

    Attributes:
        is_writing: whether a write is under way; it may wait for a reader as long as that likes.
        name: what to call it in a message.
    """

    def __init__(self, path: str | None) -> None:
        self.is_writing = False
        self.name = path or "standard output"
        self._path = None if path is None else Path(path)
        self._temporary: Path | None = None
        self._file: BinaryIO = sys.stdout.buffer
        self._encoding = "utf-8" if path else (sys.stdout.encoding or "utf-8")

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        if self._path.exists() and not stat.S_ISREG(self._path.stat().st_mode):
            self._file = self._path.open("wb")
            return self
        handle, name = tempfile.mkstemp(
            prefix=f".{self._path.name}.", suffix=".part", dir=self._path.parent
        )
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "wb")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._path is None:
            return
        try:
            self._file.close()
            if self._temporary and kind is None:
                self._temporary.chmod(0o666 & ~_umask())
                self._temporary.replace(self._path)
                self._temporary = None
        finally:
            if self._temporary:
                self._temporary.unlink(missing_ok=True)

    def write(self, text: str) -> None:
        """Write lines and flush them; what the encoding lacks is written with backslashes."""
        data = text.encode(self._encoding, "backslashreplace")
        self.is_writing = True
        if self._path is None:
            write_lines(self._file.fileno(), data)
        else:
            self._file.write(data)
            self._file.flush()
        self.is_writing = False


def write_lines(descriptor: int, data: bytes) -> None:
    """Write whole lines, as many at once as a pipe takes whole or not at all.

    A signal may end a write that waits for its reader; it must not leave half a line behind.
    """
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _ATOMIC_BYTES) + 1
        if not end:  # a line that is longer
            end = data.find(b"\n", start) + 1 or len(data)
        while start < end:
            start += os.write(descriptor, data[start:end])


def abandon_standard_output() -> None:
    """Point standard output nowhere, so that nothing is written to it when the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
