"""One sitemap of a walk: who names it, its state, and its document."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.urls import is_file_url, url_key
from sitemapreader._walk.states import SitemapLife, SitemapState

if TYPE_CHECKING:
    from sitemapreader._types.models import SitemapEntry
    from sitemapreader._types.outcomes import Document


# Ten thousand of these wait where an index is large, and Python's garbage collector goes through
# all of them in one piece: so each is one object besides its entry, and makes others when needed.
@attrs.define(eq=False, weakref_slot=False)
class Sitemap(SitemapLife):
    """One sitemap that a walk reads, will read or has read."""

    entry: SitemapEntry
    key: str
    """Its URL, as `url_key` writes it."""
    parent: Sitemap | None = None
    """The index that lists it."""
    named_by: tuple[str, ...] = ()
    """The URLs that led to the sitemap, if no index lists it."""
    scope: tuple[str, ...] = ()
    """URL prefixes that its entries may have, besides its own folder's: the sites whose
    robots.txt names it or its index."""
    aliases: tuple[str, ...] = ()
    """The keys of its URLs after redirects, and of its parent if that was not an index."""
    document: Document | None = None
    """Its document, from its first request."""
    duplicate_of: Sitemap | None = None
    """The sitemap that reads the same document, after a redirect."""
    was_read_before: bool = False
    """True if an earlier walk has read it, and this one does not: that reading is reused, or the
    sitemap is a duplicate."""
    is_sitemap: bool | None = attrs.field(default=None, init=False)
    """None as long as its content has not been seen."""
    _known: asyncio.Event | None = attrs.field(default=None, init=False)

    @property
    def depth(self) -> int:
        """The number of indexes above it."""
        if self.parent is None:
            return 0
        return self.parent.depth + 1

    @property
    def referrers(self) -> tuple[str, ...]:
        """The URLs that led to the sitemap, the nearest last; a file of the caller is no place."""
        parent = self.parent
        if parent is None or is_file_url(parent.entry.loc):
            return self.named_by
        return (*parent.referrers, parent.entry.loc, self.entry.sitemap)

    @property
    def is_named_or_found(self) -> bool:
        """False for a skipped guess, and for a duplicate that an earlier walk has read."""
        if self.state is SitemapState.DUPLICATE:
            return not self.was_read_before
        if self.state is SitemapState.SKIPPED:
            return not self.entry.via.is_guess
        return True

    def resolve(self, *, is_sitemap: bool) -> None:
        """Record whether it is a sitemap; later calls are ignored."""
        if self.is_sitemap is None:
            self.is_sitemap = is_sitemap
            if self._known is not None:
                self._known.set()

    async def wait_until_known(self) -> bool:
        """Wait until it is known whether this is a sitemap, and return that."""
        if self.is_sitemap is None:
            self._known = self._known or asyncio.Event()
            await self._known.wait()
        if self.duplicate_of is not None:
            return await self.duplicate_of.wait_until_known()
        return bool(self.is_sitemap)

    def leads_up(self, url: str) -> bool:
        """Return whether redirects to a URL lead back to a parent of the sitemap."""
        if url == self.entry.loc:  # nearly always
            return False
        key = url_key(url)
        return key != self.key and self.descends_from(key)

    def descends_from(self, key: str) -> bool:
        """Return whether `key` is of this sitemap or of an index above it."""
        sitemap: Sitemap | None = self
        while sitemap is not None:
            if key == sitemap.key or key in sitemap.aliases:
                return True
            sitemap = sitemap.parent
        return False
