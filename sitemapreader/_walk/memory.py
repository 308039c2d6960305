"""The seam between a walk and the memory of walks.

A walk asks a `WalkMemory` what earlier walks have read, and tells it what was delivered. The one
here remembers nothing: a walk without a state takes the same way. `State.open_memory` makes one of
a state, which overrides it. Nothing else of a walk knows what a state is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from sitemapreader._types.issues import IssueCode
from sitemapreader._walk.context import ResponseCache
from sitemapreader._walk.download import KnownVersion

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Callable,
        Collection,
        Iterable,
        Mapping,
    )
    from datetime import datetime
    from pathlib import Path

    from sitemapreader._types.models import Format, SitemapEntry
    from sitemapreader._types.outcomes import BodyDigest, Document, Status
    from sitemapreader._types.rows import Rows
    from sitemapreader._walk.context import UrlAllowance, WalkContext
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.pages.client import PageClient

# -- what is exchanged


@attrs.frozen
class Resumption:
    """The state that earlier walks leave to this one.

    Attributes:
        is_resumed: whether the walk goes on where another one was interrupted.
        replaced: path of an unusable file that was in the place of the state, or "".
        delivered: URLs that the interrupted walk delivered, for `unique`.
        idle: keys of URLs of sitemaps that this walk ignores.
        ranks: key of a URL -> rank of the sitemap, the lowest first; below 0 for indexes.
    """

    is_resumed: bool = False
    replaced: str = ""
    delivered: Collection[str] = ()
    idle: frozenset[str] = frozenset()
    ranks: Mapping[str, float] = attrs.field(factory=dict)


@attrs.frozen
class LastReading:
    """The last reading of a document.

    Attributes:
        was_read: whether there is one.
        has_records: whether it listed anything.
        final_url: its address then, after redirects.
        format: its format.
        etag: validator, as sent.
        last_modified: the other validator.
        listed: how many URLs it listed, if this walk read it before it was interrupted.
        digest: hash of its bytes.
        children: the sitemaps that it listed.
    """

    was_read: bool = False
    has_records: bool = False
    final_url: str = ""
    format: Format | None = None
    etag: str | None = None
    last_modified: str | None = None
    listed: int = 0
    digest: bytes | None = None
    children: Collection[SitemapEntry] = ()


@attrs.frozen
class WalkEnd:
    """The end of a walk.

    Attributes:
        complete: whether it read everything.
        listed: key of the URL of each sitemap that was named or found -> whether it was wanted.
        knows_all: whether the site has no other sitemaps than these and those below them.
        is_cut: whether a limit ended it before all were requested.
        names_none: True if everything that could name a sitemap was read, and names none that
            can be read.
        naming_flaws: how many lines of robots.txt may hide a sitemap.
        skipped: key of the URL of each sitemap that was skipped -> the reason.
    """

    complete: bool
    listed: Mapping[str, bool]
    knows_all: bool
    is_cut: bool
    names_none: bool = False
    naming_flaws: int = 0
    skipped: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Findings:
    """The findings of a walk about URLs that documents no longer list.

    Attributes:
        unlisted: how many became unlisted.
        waiting: how many may become so later.
        waits_for: document that the longest-missing URL waits for; "" if there is none.
        waits_until: when a walk can prove that this URL is unlisted, at the earliest; `None` if
            there is none.
        left: how many left a window.
        shrunk: documents that lost more than half: their URLs, how many URLs they lost, and how
            many they still list.
        new_losses: number of a document -> how many URLs it lost in this walk.
    """

    unlisted: int
    waiting: int
    waits_for: str
    waits_until: datetime | None
    left: int
    shrunk: tuple[tuple[str, int, int], ...]
    new_losses: Mapping[int, int]


DEAD_NEIGHBOR = "dead-neighbor"
NO_NEIGHBOR = "no-neighbor"
_NO_STATUS = {code.value: code.meaning for code in IssueCode} | {
    DEAD_NEIGHBOR: "a listed page beside it returned 404 or 410, so its own proves nothing",
    NO_NEIGHBOR: "no listed page beside it could be opened, so its own status proves nothing",
}


def explain_no_status(code: str) -> str:
    """Return the meaning of a value of `UnlistedUrl.no_status`."""
    return _NO_STATUS.get(code, code)


@attrs.frozen
class UnlistedUrl:
    """A URL that was delivered, and that no document lists any more.

    Attributes:
        loc: the URL.
        since: when the first reading without it began.
        document: the last document that listed it.
        why: "missing" (the document was read without it), "unnamed" (nothing names the document any
            more) or "deleted" (its record says so).
        site: the name of the site in the state: the same URL may be listed by another one.
        asked_at: when its page was last due for a request; `None` if that is still to come.
        http_status: the status of the page; `None` if `no_status` says why.
        no_status: why there is an `asked_at` and no `http_status`: "dead-neighbor" (a listed page
            beside it responds with 404 or 410, so that its own status would prove nothing),
            "no-neighbor" (no listed page beside it lives), or the code of the Issue that kept it
            from being requested or from responding, such as "robots-disallowed"; else `None`.
        redirects_to: the URL to which its page redirects, if `http_status` is of a redirect (301,
            302, 303, 307, 308). That URL was not requested.
        waits_for: for a URL that waits to be unlisted, the document that has to be read before;
            `None` for one that is unlisted.
        waits_until: when a walk that reads that document can prove that the URL is unlisted, at the
            earliest: by the `confirm_after` of the last walk. `None` for one that is unlisted.
    """

    loc: str
    since: datetime
    document: str
    why: str
    site: str
    asked_at: datetime | None
    http_status: int | None
    waits_for: str | None = None
    no_status: str | None = None
    redirects_to: str | None = None
    waits_until: datetime | None = None


@attrs.frozen
class GonePage:
    """A page that is gone: its URL is missing, and it responded with 404 or 410 in two walks.

    The URL need not be unlisted.

    Attributes:
        loc: the URL.
        document: the last document that listed it.
        http_status: what its page answered: 404 or 410.
        asked_at: when.
        missing_since: as `UnlistedUrl.since`.
        site: as `UnlistedUrl.site`.
    """

    loc: str
    document: str
    http_status: int
    asked_at: datetime
    missing_since: datetime
    site: str


RemovalKind: TypeAlias = Literal["unlisted", "gone", "returned"]
"""Kind of a removal: no document lists the URL, its page is gone, or it lives again."""
Removals: TypeAlias = "list[tuple[bytes, Any]]"
"""Removals: values as above, by keys in the memory."""

# -- the memory; the methods here remember nothing, and `changes` overrides them

# ruff: noqa: ARG002 (so they use no argument)


class ChangeStore:
    """Store that holds back all changes of a run until its files are written."""

    async def hold_back(self) -> bool:
        """Hold back changes until `publish`; return whether there are any to hold back."""
        return False

    async def publish(
        self,
        files: Iterable[tuple[Path, Path]],
        *,
        holds: bool,
    ) -> None:
        """Rename files, then commit the held changes; hold the next ones too if it `holds`."""


class DocumentMemory:
    """The memory of one document, and the additions of this walk.

    Attributes:
        settled: the outcome of a document that is not asked for; else `None`.
        known_version: the version that its response is compared with, if it is requested.
        batch_entries: how many entries are delivered and acknowledged together.
        needs_digest: whether the bytes of a list are hashed.
    """

    settled: tuple[Status, str] | None = None
    known_version = KnownVersion()
    batch_entries = sys.maxsize
    needs_digest = False

    @property
    def last_reading(self) -> LastReading:
        """Its last reading: the format, the children, where redirects led."""
        return LastReading()

    def receive(self, headers: Mapping[str, str]) -> None:
        """Take the headers of the response whose body is read now."""

    def add_children(self, entries: Iterable[SitemapEntry]) -> None:
        """Remember children of the document."""

    async def select(self, rows: Rows) -> Rows:
        """Return the entries that are delivered if they pass the filters; note their change."""
        return rows

    async def record(
        self,
        passed: Rows,
        unique: Rows,
        sent: int,
    ) -> None:
        """Remember the entries of the last `select` once they are acknowledged.

        `passed` has the entries that passed the filters, and `unique` the ones of them whose URL no
        earlier one has. The first `sent` of `unique` were delivered.
        """

    async def finish(
        self,
        document: Document,
        body: BodyDigest | None,
        *,
        is_window: bool,
    ) -> None:
        """Remember the outcome once it is acknowledged; `body` if there was a response."""


class WalkMemory(ResponseCache):
    """The memory of one walk."""

    @property
    def store(self) -> ChangeStore:
        """The store of its changes."""
        return ChangeStore()

    async def begin(self) -> Resumption:
        """Begin a walk, or resume an interrupted one."""
        return Resumption()

    async def open(self, sitemap: Sitemap) -> DocumentMemory:
        """Return the memory of a document."""
        return DocumentMemory()

    async def acknowledge(self, batches: int) -> None:
        """Record that the consumer has handled this many batches."""

    async def stop(self) -> None:
        """Let any later walk resume this one, which a limit of URLs has stopped."""

    async def finish(self, describe: Callable[[], WalkEnd]) -> Findings | None:
        """End the walk when the consumer has all; return the missing URLs, with `changes`."""
        return None

    async def find_removals(self, kind: RemovalKind) -> Removals:
        """Return some of the removals that were not delivered."""
        return []

    def find_removals_now(self, kind: RemovalKind) -> Removals:
        """Return some of them, without waiting for other walks."""
        return []

    def mark_delivered(self, kind: RemovalKind, keys: Collection[bytes]) -> None:
        """Record that the removals were delivered."""

    async def check_pages(
        self,
        context: WalkContext,
        pages: PageClient,
        allowance: UrlAllowance,
    ) -> AsyncGenerator[None, None]:
        """Check the pages of missing URLs; yield at first and between them."""
        for _ in ():
            yield

    async def close(self) -> None:
        """End the use of the memory."""
