"""The set of URLs that were seen: exact where it matters, small, and quick at every step."""

from __future__ import annotations

import gc
import random
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import is_below

from sitemapreader.walker import filters
from sitemapreader.walker.filters import SeenKeys


@given(st.lists(st.text(max_size=3)))
def test_it_is_a_set(texts: list[str]) -> None:
    """Adding tells what a set of Python's would tell, surrogates and empty texts included."""
    keys, known = SeenKeys(), set[str]()
    for text in texts:
        assert keys.add(text) is (text not in known)
        known.add(text)
    assert len(keys) == len(known)


def test_a_hundred_thousand() -> None:
    """No URL of many is taken for another, before and after the tables have grown."""
    keys = SeenKeys()
    urls = [f"https://example.org/{n}" for n in range(100_000)]
    assert all(keys.add(url) for url in urls)
    random.Random(1).shuffle(urls)
    assert not any(keys.add(url) for url in urls)
    assert len(keys) == 100_000


def test_bytes_a_url() -> None:
    """A URL takes 11 to 16 bytes, at every size that is no handful."""
    keys = SeenKeys()
    for number in range(300_000):
        keys.add(str(number))
        if number > 100_000 and number % 10_000 == 0:
            size = sum(sys.getsizeof(table) for table in keys._tables)
            assert 10 < size / number < 18


@pytest.mark.slow
def test_no_step_takes_long() -> None:
    """Growing never holds up an event loop: one table of a thousand grows at a time."""

    def longest() -> float:
        keys = SeenKeys()
        steps = []
        for number in range(200_000):
            begin = time.thread_time()
            keys.add(str(number))
            steps.append(time.thread_time() - begin)
        return max(steps)

    gc.collect()
    gc.disable()  # a collection of all that the other tests have left is no step of ours
    try:
        assert is_below(0.02, longest)
    finally:
        gc.enable()


@pytest.mark.parametrize("value", [0, 1, -1, 2**64 - 1, -(2**63), 2**70])
def test_any_hash(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts whose hashes are odd, or all the same, are found again."""
    monkeypatch.setattr(filters, "_choose_hash", lambda: lambda _: value)
    keys = SeenKeys()
    assert keys.add("a")
    assert not keys.add("a")


def test_one_table_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that all fall into one table, and into one slot of it, are kept apart."""
    monkeypatch.setattr(filters, "_choose_hash", lambda: lambda text: 1_024 * 720 * int(text))
    keys = SeenKeys()
    assert all(keys.add(str(number)) for number in range(1, 300))
    assert not any(keys.add(str(number)) for number in range(1, 300))


def test_without_a_keyed_hash_of_pythons_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python's hash is no keyed one of 64 bits, another one is used."""

    class Info:
        width = 32
        algorithm = "fnv"

    monkeypatch.setattr(sys, "hash_info", Info)
    one, other = SeenKeys(), SeenKeys()
    assert one.add("\ud800a")
    assert not one.add("\ud800a")
    assert one.add("b")
    assert one._hash("a") != other._hash("a")
    assert 0 <= one._hash("a") < 2**64
