"""Runs on a cluster, as far as its client is asked: which partitions, and what becomes of them."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import distributed
from sitemapreader.distributed.cluster import read_run
from sitemapreader.distributed.planning import begin_run
from sitemapreader.distributed.runs import find_missing
from tests.scale.test_runs import HOSTS, commit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Future:
    """What is to be done, and when it is over: what has been done, or why not."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.status = "pending"
        self.is_released = False
        self._work = work
        self._ended: Any = None

    def do(self) -> Future:
        try:
            self._ended = self._work()
            self.status = "finished"
        except OSError as error:
            self._ended = error
            self.status = "error"
        return self

    def result(self) -> Any:
        assert self.status == "finished"
        return self._ended

    def exception(self) -> Any:
        return self._ended if self.status == "error" else None

    def release(self) -> None:
        self.is_released = True


class Client:
    """A client of a cluster without workers: it commits partitions itself, but for some."""

    def __init__(self, *broken: int) -> None:
        self.broken = broken
        self.asked: list[int] = []
        self.futures: list[Future] = []

    def map(self, read: Any, partitions: list[int], **how: Any) -> list[Future]:
        assert how == {"pure": False, "retries": 5}
        output, folder = read.args
        self.asked = [*partitions]
        self.futures = [
            Future(lambda number=number: self.commit(output, folder, number))  # type: ignore[misc]
            for number in partitions
        ]
        return self.futures

    def commit(self, output: str, folder: str, number: int) -> Any:
        if number in self.broken:
            raise OSError(f"{number} is broken")
        run: Any = SimpleNamespace(folder=folder)
        return commit(output, run, number)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for Dask, which takes a second to import: what is asked for is done in turn."""
    stand_in = SimpleNamespace(as_completed=partial(map, Future.do))
    monkeypatch.setitem(sys.modules, "distributed", stand_in)


def test_a_run_with_a_client(tmp_path: Path) -> None:
    """All partitions are read, each is told, and the run is finished."""
    client: Any = Client()
    told: list[tuple[int, int, bool]] = []

    def tell(totals: distributed.Totals) -> None:
        told.append((totals.committed, totals.urls, totals.finished))

    totals = distributed.run(
        HOSTS, str(tmp_path), client=client, partitions=4, on_progress=tell
    )
    assert client.asked == [0, 1, 2, 3]
    assert told == [(number, 100 * number, False) for number in (1, 2, 3, 4)]
    assert (totals.finished, totals.urls, totals.failures) == (True, 400, {})
    assert all(future.is_released for future in client.futures)
    again: Any = Client()
    totals = distributed.run(None, str(tmp_path), client=again)
    assert again.asked == [3, 2, 1, 0]  # the slowest first
    assert (totals.run, totals.committed) == ("runs/0002", 4)


def test_partitions_that_fail(tmp_path: Path) -> None:
    """They are named with their errors, and are the only ones that the same call reads again."""
    client: Any = Client(1, 2)
    totals = distributed.run(HOSTS, str(tmp_path), client=client, partitions=4)
    assert (totals.finished, totals.committed) == (False, 2)
    assert totals.failures == {
        number: f"OSError('{number} is broken')" for number in (1, 2)
    }
    again: Any = Client()
    totals = distributed.run(None, str(tmp_path), client=again)
    assert again.asked == [1, 2]
    assert (totals.finished, totals.run, totals.urls) == (True, "runs/0001", 400)


def test_shards_of_a_run(tmp_path: Path) -> None:
    """Each reads its part, and the one that commits the last partition finishes the run."""
    output = str(tmp_path)
    run = begin_run(output, HOSTS, partitions=4)
    for number, (asked, missing) in enumerate((([1, 3], [0, 2]), ([0, 2], []))):
        client: Any = Client()
        totals = read_run(client, output, run, shard=(1 - number, 2))
        assert (client.asked, find_missing(output, run)) == (asked, missing)
        assert totals.finished is (missing == [])
