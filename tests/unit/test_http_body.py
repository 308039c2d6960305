"""The watch over a body, on scripted pieces: nothing here needs a network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import retried

from sitemapreader.errors import FetchError
from sitemapreader.fetch.answers import Body, DeadlineClock
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

CUT = FetchError(IssueCode.BODY_CUT, "http://site.example/")


class Script:
    """A Source that plays pieces, faults and silences (seconds); `rest` is left at a fault."""

    def __init__(self, acts: Iterable[bytes | float | FetchError], rest: bytes = b"") -> None:
        self._acts = list(acts)
        self._rest = rest
        self._is_left = False

    async def read(self) -> bytes:
        act = self._acts.pop(0) if self._acts else b""
        if isinstance(act, bytes):
            return act
        self._is_left = True
        if isinstance(act, FetchError):
            raise act
        await asyncio.sleep(act)
        return await self.read()

    def is_complete(self) -> bool:
        return not self._acts

    def take_buffered(self) -> bytes:
        return self._rest if self._is_left else b""


def make_body(source: Script, max_bytes: int = 1000, **options: float) -> Body:
    chosen = FetchOptions(**options)  # type: ignore[arg-type]
    clock = DeadlineClock(chosen.total_seconds)
    return Body(source, "http://x/", clock=clock, options=chosen, max_bytes=max_bytes)


async def drain(body: Body) -> tuple[bytes, str | None]:
    delivered = b""
    try:
        while piece := await body.next_piece():
            delivered += piece
    except FetchError as error:
        return delivered, error.code
    return delivered, None


@given(st.lists(st.binary(min_size=1, max_size=9), max_size=9), st.integers(1, 40), st.booleans())
def test_a_body_is_its_pieces_up_to_the_limit(
    pieces: list[bytes], max_bytes: int, cut: bool
) -> None:
    """However it is cut into pieces, all of it comes out, or as many bytes as are allowed."""
    whole = b"".join(pieces)
    acts: list[bytes | float | FetchError] = [*pieces, CUT] if cut else [*pieces]
    delivered, code = asyncio.run(drain(make_body(Script(acts), max_bytes)))
    assert delivered == whole[:max_bytes]
    expected = IssueCode.BODY_CUT if cut else None
    assert code == (IssueCode.TOO_LARGE if len(whole) > max_bytes else expected)


async def test_what_is_left_at_a_fault_comes_before_it() -> None:
    """What had arrived when a read failed is the last piece."""
    assert await drain(make_body(Script([b"a", CUT], b"bc"))) == (b"abc", IssueCode.BODY_CUT)
    body = make_body(Script([b"a", 60.0], b"bc"), idle_seconds=0.01)
    assert await drain(body) == (b"abc", IssueCode.STALLED)


async def test_the_limit_counts_for_what_is_left_too() -> None:
    """The last piece is cut like any other."""
    body = make_body(Script([b"a", CUT], b"bc"), max_bytes=2)
    assert await drain(body) == (b"ab", IssueCode.TOO_LARGE)


@retried
async def test_silence_and_the_whole_time() -> None:
    """Which of the two was reached first is what is told."""
    body = make_body(Script([b"a", 60.0]), idle_seconds=0.01, total_seconds=60)
    assert await drain(body) == (b"a", IssueCode.STALLED)
    body = make_body(Script([b"a", 60.0]), idle_seconds=60, total_seconds=0.01)
    assert await drain(body) == (b"a", IssueCode.TIMEOUT)


@pytest.mark.parametrize(
    ("acts", "code"),
    [
        ([b"ab", 0.05, b"c", b"d"], IssueCode.TOO_SLOW),
        ([b"ab", 0.05, b"c"], None),
        ([b"ab", 0.05, b"x" * 500, b"d"], None),
        ([b"ab", 0.001, b"c", b"d"], None),
    ],
    ids=["slow", "slow-but-complete", "fast", "within-the-grace"],
)
@retried
async def test_the_pace(acts: list[bytes | float], code: IssueCode | None) -> None:
    """Too slow is what comes below the rate after the grace, and still has more to come."""
    body = make_body(Script(acts), slow_grace_seconds=0.03, min_bytes_per_second=1000)
    whole = b"".join(act for act in acts if isinstance(act, bytes))
    delivered, found = await drain(body)
    assert found == code
    assert delivered == (whole if code is None else whole[:-1])


@retried
async def test_a_clock_stands_still_while_nobody_waits() -> None:
    """It counts waits only, and is over when they add up to the whole."""
    clock = DeadlineClock(0.05)
    await clock.wait(asyncio.sleep(0.01), 1)
    before = clock.waited
    await asyncio.sleep(0.1)
    assert clock.waited == before >= 0.01
    assert not clock.is_over
    with pytest.raises(TimeoutError, match=r"nothing for 0\.0\d+ s"):
        await clock.wait(asyncio.sleep(60), 60)
    assert clock.is_over


async def test_a_clock_lets_a_time_out_of_the_work_through() -> None:
    """A TimeoutError with something to say is not made a vaguer one."""

    async def fail() -> None:
        raise TimeoutError("connecting took too long")

    with pytest.raises(TimeoutError, match="connecting took too long"):
        await DeadlineClock(60).wait(fail(), 60)
