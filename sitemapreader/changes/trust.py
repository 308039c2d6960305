"""DocumentTrust: the belief of a walk about a document before its request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader._types.dates import is_over
from sitemapreader._types.models import Via
from sitemapreader._types.outcomes import BodyDigest
from sitemapreader._types.urls import folder_of
from sitemapreader._walk.download import KnownVersion
from sitemapreader.changes.rows import as_moment, write_lastmod
from sitemapreader.fetch.validators import make_validators

if TYPE_CHECKING:
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.changes.rows import DocumentRow
    from sitemapreader.changes.state_writer import StateWriter


class DocumentTrust:
    """The trust in the state about a document, its index and its server.

    Attributes:
        is_covered: True if the earlier filters delivered all entries that pass now.
        is_dated: True if the date in its index is the one under which it was read.
    """

    def __init__(
        self,
        row: DocumentRow,
        writer: StateWriter,
        sitemap: Sitemap,
    ) -> None:
        self._row = row
        self._writer = writer
        self._sitemap = sitemap
        self.is_covered = row.filters is None or _covers(
            row.filters, self.mark_filters(row.final_url)
        )
        if writer.run.saves:  # a walk without `changes` has not saved what it delivered
            self.is_covered &= bool(row.is_saved) or row.digest is None
        self.is_dated = self._compare_lastmod()

    def mark_filters(self, final_url: str) -> str:
        """Return the filters of the walk for the document, as text."""
        loc = self._sitemap.entry.loc
        folders = (*self._sitemap.scope, folder_of(loc), folder_of(final_url))
        return self._writer.settings.selection.mark_filters(folders)

    @property
    def is_current(self) -> bool:
        """True if its index shows that it is unchanged."""
        writer = self._writer
        age = writer.clock() - (self._row.read_at or 0)
        return (
            self._is_usable
            and writer.settings.follow.prune
            and self.is_dated
            and 0 <= age < writer.trust_seconds
            and writer.run.chosen is None  # what is due is asked for
            and self._believes(lies=self._row.lastmod_lies)
            and not self._sitemap.leads_up(self._row.final_url)
        )

    @property
    def known_version(self) -> KnownVersion:
        """The version that the response is compared with."""
        row = self._row
        if not self._is_usable:
            return KnownVersion()
        if self._believes(lies=row.etag_lies):
            headers = make_validators(row.etag, row.last_modified)
        else:
            headers = {}
        if row.size is None or row.digest is None:
            return KnownVersion(headers, row.final_url)
        return KnownVersion(headers, row.final_url, BodyDigest(row.size, row.digest))

    @property
    def _is_usable(self) -> bool:
        return bool(self._row.complete) and self.is_covered

    def _believes(self, *, lies: int) -> bool:
        """Return whether a word of the index or the server is believed; not one that has lied."""
        run = self._writer.run
        row = self._row
        is_old = run.begin_stamp - row.read_stamp >= run.distrust_after
        return not (lies or is_old or row.url in run.unverified)

    def _compare_lastmod(self) -> bool:
        # Not if the child was read within the day, the minute or the second of its lastmod: it may
        # have been written again after that.
        entry = self._sitemap.entry
        row = self._row
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or write_lastmod(entry) != row.lastmod
            or row.read_at is None
        ):
            return False
        text = entry.lastmod_text or ""
        return is_over(entry.lastmod, text, as_moment(row.read_at))


def _covers(earlier: str, present: str) -> bool:
    """Return whether all that passes the present filters passed the earlier ones."""
    # A later `since` passes less, so one that moves with the days needs nothing read again.
    before, others = earlier.split(" ")
    now, same = present.split(" ")
    return others == same and before <= now
