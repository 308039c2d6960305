"""Tasks of the event loop: how they are ended, and what ended a group of them."""

from __future__ import annotations

import asyncio


async def end_task(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, even if this task is cancelled too."""
    task.cancel()
    interruption = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            interruption = error
    if interruption is not None:
        raise interruption


def find_first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of a group, which ended the work."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
