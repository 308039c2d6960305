"""DocumentReading: the reading of a document by a walk, as columns of its row in the state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sitemapreader._types.dates import is_over, parse_lastmod
from sitemapreader._types.issues import without_userinfo
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.outcomes import (
    FINISHED_STATUSES,
    READ_STATUSES,
    BodyDigest,
    Document,
    Status,
    count_flaws,
)
from sitemapreader._types.rows import get_column
from sitemapreader._walk.memory import LastReading
from sitemapreader.changes.law import Evidence, date_outcome, weigh
from sitemapreader.changes.rows import Flaws, write_lastmod
from sitemapreader.fetch.validators import choose_validators, is_older, read_age

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemapreader._types.rows import Rows
    from sitemapreader.changes.rows import DocumentRow, WalkRun


class DocumentReading:
    """The reading of a document in one walk.

    Attributes:
        headers: the headers of the response whose body is read.
        asked_at: when it was requested, in seconds since 1970.
    """

    def __init__(
        self,
        row: DocumentRow,
        run: WalkRun,
        entry: SitemapEntry,
        asked_at: float,
    ) -> None:
        self.headers: Mapping[str, str] = {}
        self.asked_at = asked_at
        self._row = row
        self._run = run
        self._entry = entry
        self._children: list[tuple[str, str | None]] = []
        self._newest = ""

    @property
    def age(self) -> int:
        """Age of the response in a cache, in nanoseconds."""
        return round(read_age(self.headers) * 1e9)

    @property
    def stamp(self) -> int:
        """The date of the reading, as a number of a run."""
        return self._run.stamp - self.age

    def add_children(self, entries: Iterable[SitemapEntry]) -> None:
        """Add children of the document, without passwords."""
        self._children += [
            (without_userinfo(each.loc), write_lastmod(each)) for each in entries
        ]

    def add_entries(self, rows: Rows) -> None:
        """Note the newest lastmod, as text: W3C dates sort so."""
        texts = [
            text
            for text in get_column(rows, "lastmod_text")
            if text and text[0] in "12"
        ]
        self._newest = max([self._newest, *texts])

    def list_columns(
        self,
        document: Document,
        body: BodyDigest | None,
        *,
        is_dated: bool,
        is_window: bool,
        filters: str | None,
    ) -> dict[str, Any]:
        """Return how the document ended, and the result of its request.

        `body` is `None` without a response; after a 304 it is a digest of no bytes. `is_dated` says
        that the date in its index had not changed, and `filters` are those that kept something
        back.
        """
        status = document.status
        evidence = weigh(self._run, self._row, document)
        found: dict[str, Any] = {
            "status": str(status),
            "reason": str(document.reason),
            "http_status": document.http_status,
        }
        if body is not None and status in FINISHED_STATUSES:
            found |= self._list_validators(document)
        if body is not None and status in READ_STATUSES:
            found |= self._list_content(document, body, evidence)
            found |= self._list_lies(found, body, is_dated=is_dated)
            found |= {"filters": filters, "is_window": int(is_window)}
        may_differ = body is None or status is not Status.UNCHANGED
        return found | date_outcome(
            self._run,
            self._row,
            evidence,
            age=self.age,
            may_differ=may_differ,
            flaws=self._row.flaws.add(count_flaws(document), self._run.stamp),
        )

    def _list_validators(self, document: Document) -> dict[str, Any]:
        etag, date = choose_validators(
            _as_text(document.etag), document.last_modified, self.headers
        )
        if document.status is Status.UNCHANGED:
            etag = etag or self._row.etag
            date = date or self._row.last_modified
        return {
            "etag": etag,
            "last_modified": _as_text(date),
            "lastmod": write_lastmod(self._entry),
            "read_at": self.asked_at - read_age(self.headers),
        }

    def _list_content(
        self,
        document: Document,
        body: BodyDigest,
        evidence: Evidence,
    ) -> dict[str, Any]:
        children = self._children
        flaws = self._row.flaws.add(count_flaws(document), self._run.stamp)
        if evidence is Evidence.FULL:
            flaws = Flaws(flaws.last, flaws.last)
        if evidence is not Evidence.FULL:  # children behind the error are still listed
            known = dict(self._row.child_list)
            children = list((known | dict(children)).items())
        return {
            "last_flaws": flaws.last,
            "known_flaws": flaws.known,
            "flawed_stamp": flaws.since,
            "complete": int(document.status is Status.COMPLETE),
            "is_saved": int(self._run.has_changes or not document.listed),
            "final_url": document.final_url,
            "format": _as_text(document.format),
            "size": body.size,
            "digest": body.digest,
            "entries": document.listed,
            "children": document.children,
            "child_list": json.dumps(children) if children else None,
        }

    def _list_lies(
        self,
        found: Mapping[str, Any],
        body: BodyDigest,
        *,
        is_dated: bool,
    ) -> dict[str, int]:
        """Return whether its validators and its lastmod missed a change, now or before."""
        row = self._row
        has_changed = bool(row.complete) and row.digest != body.digest
        before = row.etag or row.last_modified
        is_same = before is not None and before == (
            found["etag"] or found["last_modified"]
        )
        newest = parse_lastmod(self._newest)
        # A file with entries that are newer than itself has a date that was made up.
        is_made_up = newest is not None and is_older(self.headers, newest)
        # The date of its newest page stays the same when an older or undated one is added, and an
        # older date was false already.
        lastmod = self._entry.lastmod
        is_of_newest = (
            lastmod is not None
            and newest is not None
            and (
                lastmod == newest
                or is_over(lastmod, self._entry.lastmod_text or "", newest)
            )
        )
        return {
            "etag_lies": int(row.etag_lies or (has_changed and is_same) or is_made_up),
            "lastmod_lies": int(
                row.lastmod_lies or (has_changed and is_dated) or is_of_newest
            ),
        }


def make_last_reading(row: DocumentRow, run: WalkRun) -> LastReading:
    """Return the last reading of a document, as its row has it."""
    if row.format is not None and row.format.is_feed:
        via = Via.PAGE
    else:
        via = Via.INDEX
    children = [
        SitemapEntry(
            loc, parse_lastmod(mark or ""), via, row.final_url, lastmod_text=mark
        )
        for loc, mark in row.child_list
    ]
    was_read_now = row.seen_stamp >= run.begin_stamp and row.status in READ_STATUSES
    return LastReading(
        was_read=row.digest is not None,
        has_records=bool(children or row.entries),
        final_url=row.final_url,
        format=row.format,
        etag=row.etag,
        last_modified=row.last_modified,
        listed=row.entries if was_read_now else 0,
        digest=row.digest,
        children=children,
    )


def _as_text(value: str | None) -> str | None:
    """Return a plain str of an enum or text; a header may have invalid characters."""
    if value is None:
        return None
    return str(value).encode("utf-8", "replace").decode()
