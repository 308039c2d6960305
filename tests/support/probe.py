"""A task beside the work on an event loop, which measures how long that holds the loop."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

NAP_SECONDS = 0.001


class Probe:
    """Another task on the event loop, which measures how long it must wait.

    Attributes:
        gap: the longest time that it had to wait for its turn, in seconds.
        held: the most that the loop's own thread computed in such a wait, which neither other
            programs nor other threads lengthen.
    """

    def __init__(self) -> None:
        self.gap = self.held = 0.0

    async def run(self) -> None:
        """Sleep for a moment again and again, and record the delays."""
        while True:
            wall, own = time.perf_counter(), time.thread_time()
            await asyncio.sleep(NAP_SECONDS)
            self.gap = max(self.gap, time.perf_counter() - wall - NAP_SECONDS)
            self.held = max(self.held, time.thread_time() - own)


async def measure_hold(work: Awaitable[object]) -> float:
    """Return the CPU seconds for which some work holds the event loop at most."""
    probe = Probe()
    watching = asyncio.create_task(probe.run())
    try:
        await work
        await asyncio.sleep(NAP_SECONDS)  # the last wait ends, too
    finally:
        watching.cancel()
    return probe.held
