"""A uniform sample of URLs, the same in whatever order they come."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from sitemapreader.rows import Rows, get_column, select_rows
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from sitemapreader.models import UrlEntry

_MOST_KEY_BYTES = 64
_NO_RANK = 2**64


class Sample:
    """The URLs of the smallest keyed hashes, each once.

    The hash of a URL is its rank. So each set of as many URLs is as likely as any other, a sample
    of samples is one of the whole, and the first of a sample are a smaller one.

    Attributes:
        total: how many URLs it was drawn from; those that are listed twice count twice.
    """

    def __init__(self, number: int, seed: int) -> None:
        self.total = 0
        self._number = number
        self._hash = blake2b(digest_size=8, key=str(seed).encode()[:_MOST_KEY_BYTES])
        self._most = _NO_RANK
        self._kept: dict[int, tuple[str, UrlEntry]] = {}

    def add(self, rows: Rows, site: str = "") -> None:
        """Draw from further entries."""
        self.total += len(rows)
        ranks = [self._rank(loc) for loc in get_column(rows, "loc")]
        marks = [rank < self._most for rank in ranks]
        if not any(marks):
            return
        low = (rank for rank in ranks if rank < self._most)
        for rank, entry in zip(low, list(select_rows(rows, marks)), strict=True):
            known = self._kept.get(rank)
            if known is None or _order(entry) < _order(known[1]):
                self._kept[rank] = site, entry
        if len(self._kept) > 2 * self._number:
            self._trim()

    def _rank(self, loc: str) -> int:
        digest = self._hash.copy()
        digest.update(url_key(loc).encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest(), "big")

    def _trim(self) -> None:
        ranks = sorted(self._kept)[: self._number]
        self._kept = {rank: self._kept[rank] for rank in ranks}
        if len(ranks) == self._number:
            self._most = ranks[-1] + 1

    def list_entries(self) -> list[tuple[str, UrlEntry]]:
        """Return the sample, each entry with its site, in the order of their ranks."""
        self._trim()
        return list(self._kept.values())


def _order(entry: UrlEntry) -> tuple[str, str, str]:
    """Return by what one of several records of a URL is chosen."""
    return entry.sitemap, entry.loc, entry.lastmod_text or ""
