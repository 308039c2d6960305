"""Sitemaps that cannot be fetched yet, because their host is left alone for a while."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.fetch.breaker import HostBreaker
    from sitemapreader.walker.frontier import Job


class ParkedJobs:
    """Jobs that wait for their hosts, each origin's in a queue of its own."""

    def __init__(self, breaker: HostBreaker) -> None:
        self._breaker = breaker
        self._queues: dict[str, deque[Job]] = {}

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def park(self, job: Job) -> None:
        """Put a job behind the others of its host."""
        self._queues.setdefault(origin_of(job.entry.loc), deque()).append(job)

    def park_first(self, job: Job) -> None:
        """Put a job before the others of its host."""
        self._queues.setdefault(origin_of(job.entry.loc), deque()).appendleft(job)

    def pop_ready(self) -> Job | None:
        """Remove and return a job whose host may be asked again or is given up, if there is one."""
        for origin, queue in self._queues.items():
            if self._breaker.find_reason(origin) or not self._breaker.get_wait(origin):
                job = queue.popleft()
                if not queue:
                    del self._queues[origin]
                return job
        return None

    def get_wait(self) -> float | None:
        """Return the seconds until a host may be asked again; `None` if that is not known."""
        waits = map(self._breaker.get_wait, self._queues)
        return min((wait for wait in waits if wait < float("inf")), default=None)

    def drain(self) -> Iterator[Job]:
        """Remove and yield all jobs."""
        while self._queues:
            _, queue = self._queues.popitem()
            yield from queue
