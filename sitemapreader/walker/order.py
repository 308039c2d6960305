"""In which order the sitemaps that wait are taken: as they were listed, or the newest first."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from sitemapreader.models import Via

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader.models import SitemapEntry

Order: TypeAlias = Literal["document", "newest"]
"""As sitemaps are listed, or by the lastmod that their index gives, the newest first."""

Rank: TypeAlias = tuple[int, float]
T = TypeVar("T")


def _rank_by_document(entry: SitemapEntry) -> Rank:
    del entry
    return 0, 0.0


def _rank_by_lastmod(entry: SitemapEntry) -> Rank:
    """Rank what no index lists first, for it leads to the rest; undated children last."""
    if entry.lastmod is not None:
        return 1, -entry.lastmod.timestamp()
    return (2 if entry.via is Via.INDEX else 0), 0.0


_RANKS: dict[Order, Callable[[SitemapEntry], Rank]] = {
    "document": _rank_by_document,
    "newest": _rank_by_lastmod,
}


class SitemapQueue(Generic[T]):
    """Items that wait, each with its sitemap; the one to be taken next comes out first.

    Items of equal rank come out in the order in which they were put in. At most `capacity` of them
    wait; a quarter more where a new one may come before others.
    """

    def __init__(self, order: Order, capacity: int) -> None:
        self._rank = _RANKS[order]
        self._capacity = capacity
        # Sorting out what is surplus by the bulk costs no more an item than adding one.
        self._most = capacity if order == "document" else capacity + capacity // 4
        self._heap: list[tuple[Rank, int, T]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, entry: SitemapEntry, item: T) -> list[T]:
        """Add an item; return those for which there is no room, the last to be taken."""
        heapq.heappush(self._heap, (self._rank(entry), next(self._numbers), item))
        if len(self._heap) <= self._most:
            return []
        self._heap.sort()  # a sorted list is a heap
        surplus = [surplus for _, _, surplus in self._heap[self._capacity :]]
        del self._heap[self._capacity :]
        return surplus

    def pop(self) -> T:
        """Remove and return the item to be taken next; raise IndexError if there is none."""
        return heapq.heappop(self._heap)[2]
