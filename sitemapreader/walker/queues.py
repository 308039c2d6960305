"""The queues of waiting sitemaps: by order, or until their host may be asked."""

# Python's garbage collector now and then goes through every object of the process, in one piece,
# and holds the event loop meanwhile: 90 ms with the frontier of a large index, when ten thousand
# sitemaps were five objects each. It passes over plain tuples of texts and numbers. Therefore what
# waits is packed into them.

from __future__ import annotations

import heapq
import sys
from collections import deque
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from sitemapreader.models import SitemapEntry, Via
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sitemapreader.fetch.retries import HostBreaker

Order: TypeAlias = Literal["document", "newest"]
"""As sitemaps are listed; or the newest first, by the lastmod in their index."""

Rank: TypeAlias = tuple[int, float]
PackedEntry: TypeAlias = tuple[str, datetime | None, str, str, str | None, bool]
"""The fields of a SitemapEntry, in their order."""
T = TypeVar("T")


def pack_entry(entry: SitemapEntry) -> PackedEntry:
    """Pack a sitemap into a tuple that the garbage collector passes over."""
    via, text = entry.via.value, entry.lastmod_text
    return entry.loc, entry.lastmod, via, entry.sitemap, text, entry.is_archive


def unpack_entry(packed: PackedEntry) -> SitemapEntry:
    """Return the sitemap that was packed."""
    loc, lastmod, via, sitemap, text, is_archive = packed
    return SitemapEntry(loc, lastmod, Via(via), sitemap, text, is_archive)


def size_of(url: str) -> int:
    """Return the bytes of a URL as listed and of its key."""
    # Python takes four bytes for each character of a text with an emoji, so `len` is too little.
    key = url_key(url)
    size = sys.getsizeof(url)
    return size if key is url else size + sys.getsizeof(key)


def _rank_by_document(entry: SitemapEntry) -> Rank:
    del entry
    return 0, 0.0


def _rank_by_lastmod(entry: SitemapEntry) -> Rank:
    """Rank roots first, because they lead to the children; and undated children last."""
    if entry.lastmod is not None:
        return 1, -entry.lastmod.timestamp()
    return (2 if entry.via in (Via.INDEX, Via.PAGE) else 0), 0.0


_RANKS: dict[Order, Callable[[SitemapEntry], Rank]] = {
    "document": _rank_by_document,
    "newest": _rank_by_lastmod,
}


class SitemapQueue(Generic[T]):
    """A priority queue of items, each with its sitemap.

    Items of equal rank come out in the order in which they were added. The queue holds at most
    `capacity` items; a quarter more where a new item may come before others.
    """

    def __init__(self, order: Order, capacity: int) -> None:
        self._rank = _RANKS[order]
        self._capacity = capacity
        # Sorting costs as much as adding an item only if much surplus is removed at once.
        self._most = capacity if order == "document" else capacity + capacity // 4
        self._heap: list[tuple[int, float, int, T]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, entry: SitemapEntry, item: T) -> list[T]:
        """Add an item; return the last items in the order if there is no room for them."""
        heapq.heappush(self._heap, (*self._rank(entry), next(self._numbers), item))
        if len(self._heap) <= self._most:
            return []
        self._heap.sort()  # a sorted list is a heap
        surplus = [item for *_, item in self._heap[self._capacity :]]
        del self._heap[self._capacity :]
        return surplus

    def pop(self) -> T:
        """Remove and return the first item; raise IndexError if there is none."""
        return heapq.heappop(self._heap)[-1]


class ParkedItems(Generic[T]):
    """Items whose host must not be asked for a while, in one queue for each origin."""

    def __init__(self, breaker: HostBreaker) -> None:
        self._breaker = breaker
        self._queues: dict[str, deque[T]] = {}

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def park(self, url: str, item: T) -> None:
        """Put an item behind the others of its host."""
        self._queues.setdefault(origin_of(url), deque()).append(item)

    def park_first(self, url: str, item: T) -> None:
        """Put an item before the others of its host."""
        self._queues.setdefault(origin_of(url), deque()).appendleft(item)

    def pop_ready(self) -> T | None:
        """Remove and return an item whose host may be asked again, or is given up."""
        for origin, queue in self._queues.items():
            if self._breaker.find_reason(origin) or not self._breaker.get_wait(origin):
                item = queue.popleft()
                if not queue:
                    del self._queues[origin]
                return item
        return None

    def get_wait(self) -> float | None:
        """Return the seconds until a host may be asked again; `None` if unknown."""
        waits = map(self._breaker.get_wait, self._queues)
        return min((wait for wait in waits if wait < float("inf")), default=None)

    def drain(self) -> Iterator[T]:
        """Remove and yield all items."""
        while self._queues:
            _, queue = self._queues.popitem()
            yield from queue
