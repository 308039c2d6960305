"""The frontier: all sitemaps that a walk knows. Its queue has the ones that wait."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import FRONTIER_BYTES_PER_DOCUMENT
from sitemapreader._types.outcomes import EXPECTED_SKIPS, LEFT_EARLY, Document
from sitemapreader._types.urls import is_file_url, origin_of, url_key
from sitemapreader._walk.sitemap import Sitemap
from sitemapreader._walk.states import SitemapState

if TYPE_CHECKING:
    from sitemapreader._walk.queue import SitemapQueue


class UrlSpace:
    """The memory for the URLs of a walk's sitemaps."""

    def __init__(self, capacity: int) -> None:
        self._bytes_left = capacity

    def reserve(self, url: str, key: str) -> bool:
        """Reserve memory for a URL and its key; return whether there is enough."""
        size = _size_of(url, key)
        if size > self._bytes_left:
            return False
        self._bytes_left -= size
        return True

    def free(self, url: str, key: str) -> None:
        """Give back the memory of a URL and its key."""
        self._bytes_left += _size_of(url, key)


def _size_of(url: str, key: str) -> int:
    """Return the bytes of a URL and its key, which are often one text."""
    # Python takes four bytes for each character of a text with an emoji, so `len` is too little.
    size = sys.getsizeof(url)
    if key is not url:
        size += sys.getsizeof(key)
    return size


class SkippedSitemaps:
    """The sitemaps that are not read; of more than `capacity`, only the number is remembered.

    Attributes:
        named: key of the URL -> the sitemap, and why it is skipped.
        unnamed: reason -> number of the ones that are not remembered.
        asked: key of the URL -> the document of one that was requested before its host was paused.
    """

    def __init__(self, capacity: int, space: UrlSpace) -> None:
        self.named: dict[str, tuple[SitemapEntry, str]] = {}
        self.unnamed: Counter[str] = Counter()
        self.asked: dict[str, Document] = {}
        self._capacity = capacity
        self._space = space

    def add(
        self,
        key: str,
        entry: SitemapEntry,
        reason: str,
    ) -> None:
        """Remember a sitemap, unless it is known."""
        if key in self.named:
            return
        has_room = len(self.named) < self._capacity
        if has_room and self._space.reserve(entry.loc, key):
            shared_reason = sys.intern(str(reason))
            self.named[key] = (entry, shared_reason)
        else:
            self.unnamed[reason] += 1


class Frontier:
    """The sitemaps of a walk, each URL once.

    `capacity` sitemaps wait at most. As many skipped ones are remembered, further ones only
    counted. All URLs together are bounded in bytes.
    """

    def __init__(
        self,
        queue: SitemapQueue,
        capacity: int,
        site: str,
    ) -> None:
        self.queue = queue
        self.space = UrlSpace(capacity * FRONTIER_BYTES_PER_DOCUMENT)
        self.skipped = SkippedSitemaps(capacity, self.space)
        self.false_dates: dict[str, str] = {}
        """URL of an index -> a sitemap in it that has newer URLs than its date there."""
        self.digests: set[bytes] = set()
        """Digests of the bytes of the indexes that were read."""
        self.idle: frozenset[str] = frozenset()
        """Keys of URLs of children that this walk ignores."""
        self._site = site
        self._capacity = capacity
        self._sitemaps: dict[str, Sitemap] = {}
        """Key of a URL, also after redirects -> the sitemap that is read there."""

    def find(self, key: str) -> Sitemap | None:
        """Return the sitemap that is, will be or was read at the URL with this key."""
        return self._sitemaps.get(key)

    def add_root(self, entry: SitemapEntry) -> None:
        """Add a sitemap that no index lists, unless it is known."""
        names = (self._site, entry.sitemap)
        sitemap = Sitemap(entry, url_key(entry.loc))
        sitemap.named_by = tuple(url for url in names if origin_of(url))
        # https://www.sitemaps.org/protocol.html#sitemaps_cross_submits: the proof of a whole host
        if entry.via is Via.ROBOTS and not is_file_url(entry.sitemap):
            sitemap.scope = (f"{origin_of(entry.sitemap)}/",)
        if not entry.via.is_guess:
            sitemap.aliases = tuple(map(url_key, sitemap.named_by))
        self._add(sitemap)

    def add_child(self, entry: SitemapEntry, key: str, parent: Sitemap) -> None:
        """Add a sitemap of an index, by the key of its URL, unless it is known."""
        sitemap = Sitemap(entry, key, parent, scope=parent.scope)
        self._add(sitemap)

    def _add(self, sitemap: Sitemap) -> None:
        """Put a sitemap in the queue unless it is known, or skip it if there is no room."""
        key = sitemap.key
        url = sitemap.entry.loc
        if key in self._sitemaps:
            return
        skipped = self.skipped
        if not self.queue.has_room(self._capacity):
            self.skip_unqueued(sitemap.entry, IssueCode.BUDGET_DOCUMENTS)
            return
        has_memory = key in skipped.named or self.space.reserve(url, key)
        if not has_memory:
            skipped.unnamed[IssueCode.BUDGET_MEMORY] += 1
            return
        self._sitemaps[key] = sitemap
        skipped.named.pop(key, None)
        self.queue.add(sitemap)

    def register_redirect(self, sitemap: Sitemap, url: str) -> bool:
        """Record where redirects led; return whether another sitemap is read at that URL.

        One that only waits to be read there becomes a duplicate of this one.
        """
        key = sitemap.key
        if url != sitemap.entry.loc:
            key = url_key(url)
        known = self._sitemaps.get(key, sitemap)
        if known is not sitemap and known.duplicate_of is None:
            if not known.state.is_queued:
                _merge(sitemap, known)
                return True
            _merge(known, sitemap)
            known.resolve(is_sitemap=False)
        self._sitemaps[key] = sitemap
        sitemap.aliases += (key,)
        return False

    def skip_unqueued(self, entry: SitemapEntry, reason: str) -> None:
        """Record that a listed sitemap is not read; it never gets a state."""
        key = url_key(entry.loc)
        if key not in self._sitemaps:
            self.skipped.add(key, entry, reason)

    def skip_queued(self, sitemap: Sitemap, reason: str) -> None:
        """Skip a sitemap that waits or was taken."""
        key = sitemap.key
        sitemap.enter(SitemapState.SKIPPED)
        del self._sitemaps[key]
        if sitemap.document is not None:
            self.skipped.asked[key] = sitemap.document
        self.space.free(sitemap.entry.loc, key)
        self.skip_unqueued(sitemap.entry, reason)
        sitemap.resolve(is_sitemap=False)

    def list_wanted(self) -> dict[str, bool]:
        """Return the key of each sitemap -> whether it was wanted.

        Without the guesses that are none, and the duplicates that an earlier walk has read. Not
        wanted is what the caller or robots.txt excludes.
        """
        read = {
            key: True
            for key, sitemap in self._sitemaps.items()
            if key == sitemap.key and sitemap.is_named_or_found
        }
        # No loss waits for the next page of a feed, which is a window with or without it.
        left = {
            key: reason not in EXPECTED_SKIPS
            for key, (_, reason) in self.skipped.named.items()
            if reason != IssueCode.FEED_HAS_MORE
        }
        return read | left

    async def take(self) -> Sitemap | None:
        """Return the next sitemap to read, until `release`; `None` when none waits."""
        return await self.queue.take(self.skip_queued)

    def release(self, sitemap: Sitemap) -> None:
        """End the work on a sitemap that was taken."""
        state = sitemap.state
        if state is SitemapState.TAKEN:  # the walk was left before its request
            self.skip_queued(sitemap, LEFT_EARLY)
        elif not (state.is_end or state.is_queued):
            sitemap.enter(SitemapState.LEFT)
        if not state.is_queued:
            sitemap.resolve(is_sitemap=False)
        self.queue.release(sitemap)

    def end(self, reason: str) -> None:
        """Skip all sitemaps that wait, and ask for no more workers."""
        for sitemap in self.queue.end():
            self.skip_queued(sitemap, reason)


def _merge(sitemap: Sitemap, other: Sitemap) -> None:
    """Leave the document of a sitemap to another one; one that waits then has no outcome."""
    sitemap.duplicate_of = other
    sitemap.enter(SitemapState.DUPLICATE)
