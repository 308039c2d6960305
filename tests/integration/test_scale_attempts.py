"""Attempts at a partition: one at a time, as far as anybody can see."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest
from timing import retried

from sitemapreader.distributed.attempts import LostLeaseError, PartitionAttempt
from sitemapreader.distributed.storage import Storage

if TYPE_CHECKING:
    from pathlib import Path

LEASE_SECONDS = 0.4


def make_storage(folder: Path) -> Storage:
    return Storage(str(folder / token_hex(4)))  # another one each time a test is tried


def begin(storage: Storage) -> PartitionAttempt:
    return PartitionAttempt.begin(storage, "runs/0001", 7, LEASE_SECONDS)


@retried
async def test_a_later_attempt_waits_until_an_earlier_one_has_ended(tmp_path: Path) -> None:
    """Three attempts at once work one after another, in the order of their numbers."""
    storage, order = make_storage(tmp_path), []
    attempts = [begin(storage) for _ in range(3)]

    async def work(attempt: PartitionAttempt) -> None:
        order.append(f"{attempt.number} begins")
        await asyncio.sleep(LEASE_SECONDS * 1.5)  # longer than a lease: it is renewed meanwhile
        order.append(f"{attempt.number} ends")

    await asyncio.gather(*(attempt.hold(work(attempt)) for attempt in reversed(attempts)))
    assert order == [f"{number} {what}" for number in (1, 2, 3) for what in ("begins", "ends")]
    assert [attempt.died for attempt in attempts] == [0, 0, 0]


@retried
async def test_an_attempt_that_died_is_not_waited_for_longer_than_its_lease(tmp_path: Path) -> None:
    """Attempts that are not renewed count as dead, and are counted."""
    storage = make_storage(tmp_path)
    begin(storage)
    begin(storage)
    attempt = begin(storage)
    await attempt.hold(asyncio.sleep(0))
    assert (attempt.number, attempt.died) == (3, 2)


@retried
async def test_an_attempt_that_failed_did_not_die(tmp_path: Path) -> None:
    """An error ends an attempt, is raised as it is, and is nothing to blame a host for."""
    storage = make_storage(tmp_path)
    first = begin(storage)

    async def fail() -> None:
        raise OSError("the storage is away")

    with pytest.raises(OSError, match="the storage"):
        await first.hold(fail())
    second = begin(storage)
    await second.hold(asyncio.sleep(0))
    assert second.died == 0


@retried
async def test_an_attempt_that_could_not_be_renewed_stops(tmp_path: Path) -> None:
    """Who has slept through its lease does not go on beside a later attempt."""
    storage = make_storage(tmp_path)
    attempt = begin(storage)
    attempt._renewed -= 10 * LEASE_SECONDS  # as after a sleep of the machine
    with pytest.raises(LostLeaseError):
        await attempt.hold(asyncio.sleep(60))


STUCK = """
import asyncio
from sitemapreader.distributed.attempts import kill_when_stuck

async def main():
    async with kill_when_stuck(0.3):
        await asyncio.sleep(1)  # a loop that turns is left alone
        print("turned", flush=True)
        "a" * 10**7
        __import__("re").match("(a+)+$", "a" * 64 + "b")

asyncio.run(main())
"""


def test_a_stuck_process_is_killed() -> None:
    """An event loop that does not turn ends its process, though it holds the interpreter's lock."""
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "turned\n"
    assert done.returncode == 1
    assert "Timeout" in done.stderr
