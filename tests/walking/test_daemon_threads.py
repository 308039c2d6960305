"""Threads for work that nothing can interrupt."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sitemapreader._event_loop import run_in_daemon


def test_work_that_is_left_holds_up_nothing() -> None:
    """What was cancelled goes on alone, past the end of the event loop, and says nothing."""
    end, ended = threading.Event(), threading.Event()

    def wait() -> None:
        end.wait()
        ended.set()

    async def leave() -> int:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_in_daemon(wait), 0.05)
        return await run_in_daemon(lambda: 1)

    assert asyncio.run(leave()) == 1
    end.set()
    assert ended.wait(10)
