"""Threads for work that nothing can interrupt."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from sitemapreader import event_loop
from sitemapreader.event_loop import run_in_daemon


async def test_one_thread_serves_work_after_work() -> None:
    """A thousand waits in turn start no thousand threads, and each gets its own result."""
    names: set[int] = set()

    def work(number: int) -> int:
        names.add(threading.get_ident())
        return number

    for number in range(1_000):
        assert await run_in_daemon(partial(work, number)) == number
    assert len(names) < 10


async def test_a_fault_is_raised_where_it_is_awaited() -> None:
    """The thread goes on with other work."""

    def fail() -> None:
        raise OSError("full")

    for _ in range(3):
        with pytest.raises(OSError, match="full"):
            await run_in_daemon(fail)
    assert await run_in_daemon(lambda: 1) == 1


async def test_work_that_is_left_holds_up_no_other() -> None:
    """What was cancelled keeps its thread, and other work gets another one."""
    end = threading.Event()
    task = asyncio.create_task(asyncio.wait_for(run_in_daemon(end.wait), 0.05))
    with pytest.raises(TimeoutError):
        await task
    assert await run_in_daemon(lambda: 1) == 1
    end.set()


async def test_a_thread_without_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of it after a while, and later work gets a new one."""
    monkeypatch.setattr(event_loop, "_IDLE_SECONDS", 0.01)
    threads = {await run_in_daemon(threading.current_thread) for _ in range(3)}
    for thread in threads:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()
    assert await run_in_daemon(lambda: 1) == 1
