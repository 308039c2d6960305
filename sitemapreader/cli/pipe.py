"""Delivery through a pipe: batches count only when their reader has handled them.

A batch of a walk with a state counts as delivered when enough bytes were written after it that its
reader must have handled it. At the end of a walk it counts when the reader has read everything and
is still alive. docs/state.md gives the reasons and the limits.
"""

from __future__ import annotations

import array
import asyncio
import os
import select
import socket
import stat
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitemapreader.output.sink import Output

PIPE_BYTES = 65_536
"""Capacity of a pipe where the system does not report it: Linux's default (pipe(7))."""
READER_BYTES = 131_072
"""Bytes that a reader may have read and not handled: the largest common buffer (cat's)."""
GRACE_SECONDS = 0.2
"""How long to wait at the end for a reader that exits early, as `head` does.

A reader that wants more stays until end of file."""
_STALLED_SECONDS = 60.0
"""A live reader that reads nothing for so long is trusted to read the rest."""
_WORKED_ON_SECONDS = 10.0
"""Bytes that a live reader has read so long ago count as handled."""
_GONE = getattr(select, "POLLERR", 0) | getattr(select, "POLLHUP", 0)


class PipeDelivery:
    """The delivery of an output that is a pipe or a socket.

    It is a `walker.state_writer.Delivery`.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._pipe = output.descriptor
        self._window = _capacity(self._pipe) + READER_BYTES
        self._begin = output.written
        self._waiting: deque[tuple[int, int, float]] = deque()
        self._arrived = 0

    def note(self, taken: int) -> None:
        """Record that this many batches of the walk have been written."""
        self._waiting.append((taken, self._output.written, time.monotonic()))

    def arrived(self) -> int:
        """Return how many batches count as delivered."""
        waiting, written = self._waiting, self._output.written
        while waiting and waiting[0][1] <= written - self._window:
            self._arrived = waiting.popleft()[0]
        long_ago = time.monotonic() - _WORKED_ON_SECONDS
        if waiting and waiting[0][2] < long_ago and not is_abandoned(self._pipe):
            taken = written - count_unread(self._pipe)
            while waiting and waiting[0][2] < long_ago and waiting[0][1] <= taken:
                self._arrived = waiting.popleft()[0]
        return self._arrived

    async def settle(self) -> None:
        """Wait until the reader has read everything; raise BrokenPipeError if it exits."""
        if self._output.written == self._begin:
            return
        await self._wait_until_taken()
        end = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < end:
            self._check_reader()
            await asyncio.sleep(GRACE_SECONDS / 20)
        self._check_reader()

    async def _wait_until_taken(self) -> None:
        before, since, pause = 0, time.monotonic(), 0.001
        while unread := count_unread(self._pipe):
            self._check_reader()
            if unread != before:
                before, since = unread, time.monotonic()
            elif time.monotonic() - since > _STALLED_SECONDS:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)

    def _check_reader(self) -> None:
        if is_abandoned(self._pipe):
            raise BrokenPipeError


def follow_output(output: Output) -> PipeDelivery | None:
    """Return the delivery of an output; `None` for a file, where written is delivered."""
    mode = os.fstat(output.descriptor).st_mode
    return PipeDelivery(output) if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None


def _capacity(descriptor: int) -> int:
    """Return how many bytes the pipe or socket can hold."""
    if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            # the receiving end has a buffer of its own, whose size cannot be queried
            return 2 * connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    try:
        import fcntl  # noqa: PLC0415 (Windows has none)

        return fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
    except (ImportError, AttributeError, OSError):  # not Linux
        return PIPE_BYTES


def count_unread(descriptor: int) -> int:
    """Return how many unread bytes a pipe holds; 0 if the system cannot tell."""
    try:
        import fcntl  # noqa: PLC0415 (Windows has none)
        import termios  # noqa: PLC0415 (the same)
    except ImportError:
        return 0
    count = array.array("i", [0])
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]


def is_abandoned(descriptor: int) -> bool:
    """Return whether every reader has closed its end."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & _GONE for _, event in poll.poll(0))
