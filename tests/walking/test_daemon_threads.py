"""Threads for work that nothing can interrupt."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sitemapreader._event_loop import repeat_in_thread, run_aside, run_in_daemon


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


def test_work_is_repeated_until_its_context_is_left() -> None:
    """It is done in a thread of its own, not before the time is over, and not afterwards."""
    threads: list[threading.Thread] = []
    done = threading.Event()

    def work() -> None:
        threads.append(threading.current_thread())
        if len(threads) == 3:
            done.set()

    with repeat_in_thread(work, 0.001):
        assert done.wait(60)
    (thread,) = set(threads)
    assert thread is not threading.current_thread()
    assert (thread.daemon, thread.is_alive()) == (True, False)
    threads.clear()
    with repeat_in_thread(work, 3_600):
        pass
    assert threads == []


async def test_a_large_document_is_read_beside_the_loop() -> None:
    """One of 16 KiB is read at once, and a byte more is left to a thread."""
    here = threading.current_thread()
    for size, is_here in ((0, True), (16_384, True), (16_385, False)):
        thread = await run_aside(threading.current_thread, size)
        assert (thread is here) is is_here
