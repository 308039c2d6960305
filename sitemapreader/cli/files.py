"""Files and standard input in pieces, without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import sys
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.options.sources import STANDARD_INPUT
from sitemapreader.event_loop import run_in_daemon

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

PIECE_BYTES = 65_536
MAX_LINE_BYTES = 65_536
"""Line of a list of sites: the longest URL that is requested."""
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


class UnreadableError(Exception):
    """A file cannot be read; the message names the file and the reason."""

    def __init__(self, path: str, error: OSError) -> None:
        name = "standard input" if path == STANDARD_INPUT else path
        super().__init__(f"cannot read {name}: {error.strerror or error}")


@asynccontextmanager
async def open_pieces(path: str) -> AsyncIterator[AsyncGenerator[bytes, None]]:
    """Open a file, or standard input, and return an iterator over its pieces.

    Raises:
        UnreadableError: on opening, or while the pieces are read.
    """
    descriptor = _open(path)
    try:
        yield _iter_pieces(path, descriptor)
    finally:
        if path != STANDARD_INPUT:
            os.close(descriptor)


def _open(path: str) -> int:
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.fileno()
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UnreadableError(path, error) from None


async def _iter_pieces(path: str, descriptor: int) -> AsyncGenerator[bytes, None]:
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    while True:
        try:
            piece = _read_piece(descriptor) if is_file else await _read_in_thread(descriptor)
        except OSError as error:
            raise UnreadableError(path, error) from None
        if not piece:
            return
        yield piece
        await asyncio.sleep(0)  # a regular file never waits: let other tasks and signals run


def _read_piece(descriptor: int) -> bytes:
    return os.read(descriptor, PIECE_BYTES)


async def _read_in_thread(descriptor: int) -> bytes:
    """Read the next piece in a thread, because a pipe may deliver nothing for an hour."""
    # Not from `sys.stdin`, whose lock the interpreter would wait for at exit.
    return await run_in_daemon(partial(_read_piece, descriptor))


async def read_lines(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[str, None]:
    """Yield the lines of a list, without comments and blank lines; cut overlong lines."""
    rest = b""
    is_first = True
    async for piece in pieces:
        *lines, rest = (rest + piece).splitlines(keepends=True) or [b""]
        if rest.endswith(b"\n"):
            lines.append(rest)
            rest = b""
        rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            if text := _clean_line(line, is_first=is_first):
                yield text
            is_first = False
    if text := _clean_line(rest, is_first=is_first):
        yield text


def _clean_line(line: bytes, *, is_first: bool) -> str:
    text = line[:MAX_LINE_BYTES].decode("utf-8-sig" if is_first else "utf-8", "replace").strip()
    return _COMMENT.sub("", text).rstrip()  # the # of a fragment has no blank before it
