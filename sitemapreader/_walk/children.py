"""The children of one document: added to the frontier at once, or when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.counts import inflect
from sitemapreader._types.dates import is_since
from sitemapreader._types.issues import IssueCode, without_userinfo
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._types.outcomes import (
    NOT_DUE,
    NOT_FOLLOWED,
    NOT_MODIFIED,
    Document,
    Status,
    make_document,
)
from sitemapreader._types.urls import url_key
from sitemapreader._walk.queue import rank_newest

if TYPE_CHECKING:
    from datetime import datetime

    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap


class Children:
    """The children of one document: added to the frontier at once, or when it ends."""

    # With order="newest" children are held because the newest may be the last one. Those of an
    # index in an index are held until its bytes are known to be new: an index with relative
    # children that lists itself under ever longer URLs has no end.

    def __init__(
        self,
        walk: WalkParts,
        sitemap: Sitemap,
        document: Document,
    ) -> None:
        self._context = walk.context
        self._config = walk.config
        self._frontier = walk.frontier
        self._sitemap = sitemap
        self._document = document
        self._number = 0
        self.are_wanted = False
        """True if `follow` was called for them."""
        self._held: list[SitemapEntry] = []
        # Also where some rank before others: the last child may be the first.
        is_sorted = self._config.follow.order == "newest" or bool(
            walk.frontier.queue.ranks
        )
        self._is_held = sitemap.parent is not None or is_sorted
        self._cycles: set[str] = set()
        """Keys of the document and those above it that it lists."""
        self._skipped: dict[IssueCode, tuple[str, int]] = {}
        """Why children were skipped -> the first one, and how many."""

    async def add(self, entries: list[SitemapEntry]) -> None:
        """Add children to the frontier, or hold them until the document ends."""
        for entry in entries:
            await self._context.loop_share.yield_if_due()
            self._number += 1
            if len(entry.loc) > MAX_URL_CHARS:  # too long for any server
                self._skip(entry, IssueCode.CHILD_URL_TOO_LONG)
            elif self._number > self._context.limits.children:
                self._skip(entry, IssueCode.BUDGET_CHILDREN)
            elif self._is_held:
                self._hold(entry)
            else:
                await self._add(entry)

    def _hold(self, entry: SitemapEntry) -> None:
        """Hold a child until the document ends, if there is memory for its URL."""
        key = url_key(entry.loc)
        if self._frontier.space.reserve(entry.loc, key):
            self._held.append(entry)
        else:
            self._skip(entry, IssueCode.BUDGET_MEMORY)

    async def end(self, digest: bytes | None) -> None:
        """Add the held children, and report the skipped ones.

        `digest` is that of the document's bytes if it is an index.
        """
        digests = self._frontier.digests
        is_duplicate = self._sitemap.parent is not None and digest in digests
        if self._held and is_duplicate:
            await self.report(IssueCode.DUPLICATE_DOCUMENT)
        if digest is not None:
            digests.add(digest)
        for entry in self._take_held():
            await self._context.loop_share.yield_if_due()
            key = url_key(entry.loc)
            self._frontier.space.free(entry.loc, key)
            if is_duplicate:
                self._frontier.skip_unqueued(entry, IssueCode.DUPLICATE_DOCUMENT)
            else:
                await self._add(entry)
        for code, (first, number) in self._skipped.items():
            said = f"{number} {inflect(number, 'children')}"
            await self.report(code, first, value=said)

    def _take_held(self) -> list[SitemapEntry]:
        """Return the held children; of the undated ones, the last first."""
        if self._config.follow.order == "document":
            return self._held
        dated: list[SitemapEntry] = []
        undated: list[SitemapEntry] = []
        for entry in self._held:
            if entry.lastmod is None:
                undated.append(entry)
            else:
                dated.append(entry)
        undated.reverse()
        return sorted(dated + undated, key=rank_newest)

    async def report(
        self,
        code: IssueCode,
        url: str | None = None,
        *,
        value: str | None = None,
    ) -> None:
        """Report an Issue of the document."""
        document = self._document
        await self._context.report_code(
            code, document.final_url, document, url=url, value=value
        )

    async def _add(self, entry: SitemapEntry) -> None:
        """Put a child in the frontier, or skip it with its reason."""
        frontier = self._frontier
        sitemap = self._sitemap
        bare_url = without_userinfo(entry.loc)
        if bare_url != entry.loc:
            await self.report(IssueCode.USERINFO_REMOVED, bare_url)
            entry = attrs.evolve(entry, loc=bare_url)
        key = url_key(entry.loc)
        if sitemap.descends_from(key):
            await self._report_cycle(entry, key)
        elif frontier.find(key) is not None:
            return  # another index lists the same document
        elif sitemap.depth >= self._context.limits.depth:
            self._skip(entry, IssueCode.BUDGET_DEPTH)
        elif entry.via is Via.PAGE:
            frontier.skip_unqueued(entry, IssueCode.FEED_HAS_MORE)
            await self.report(IssueCode.FEED_HAS_MORE, entry.loc)
        elif reason := self._find_skip_reason(entry):
            frontier.skip_unqueued(entry, reason)
        elif frontier.idle and key in frontier.idle:
            frontier.skip_unqueued(entry, NOT_DUE)
        else:
            frontier.add_child(entry, key, sitemap)

    async def _report_cycle(self, entry: SitemapEntry, key: str) -> None:
        """Report a child that is the document itself, or an index above it."""
        await self.report(IssueCode.CYCLE, entry.loc)
        if key in self._cycles:
            return
        self._cycles.add(key)
        document = make_document(entry)
        report = self._context.report
        report.end_document(document, Status.SKIPPED, IssueCode.CYCLE)

    def _find_skip_reason(self, child: SitemapEntry) -> str:
        """Return why a child is not wanted, or ""."""
        follow = self._config.follow
        since = self._config.selection.since
        if follow.prune and is_dated_before(child, since):
            return NOT_MODIFIED
        if follow.only is None or self.are_wanted or follow.only(child):
            return ""
        return NOT_FOLLOWED

    def _skip(self, entry: SitemapEntry, code: IssueCode) -> None:
        """Skip a child because of a limit, which is reported at the end."""
        url = entry.loc[:MAX_URL_CHARS]
        first, number = self._skipped.get(code, (url, 0))
        self._skipped[code] = (first, number + 1)
        if code is IssueCode.CHILD_URL_TOO_LONG:  # counted, and not kept
            self._frontier.skipped.unnamed[code] += 1
        else:
            self._frontier.skip_unqueued(entry, code)


def is_dated_before(entry: SitemapEntry, moment: datetime | None) -> bool:
    """Return whether an index dates a sitemap before a moment; False if one is missing."""
    if entry.lastmod is None or moment is None:
        return False
    return not is_since(entry.lastmod, entry.lastmod_text, moment)
