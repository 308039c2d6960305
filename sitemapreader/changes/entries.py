"""The entries of one document: the ones delivered before, and the rows of the others."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.models import Change
from sitemapreader._types.rows import EntryColumns, get_column, select_rows
from sitemapreader.changes.database import EntryMark
from sitemapreader.changes.rows import (
    as_moment,
    find_own_records,
    find_records,
    find_removed,
    has_record,
    hash_records,
    hash_url,
    load_batches,
    pack,
    save_batch,
    save_seen,
)
from sitemapreader.changes.stretches import DocumentStretches, ListedEntries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sitemapreader._types.rows import Rows
    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.reading import DocumentReading
    from sitemapreader.changes.rows import DocumentRow
    from sitemapreader.changes.state_writer import StateWriter
    from sitemapreader.changes.stretches import StretchPart

_COMPARED_URLS = 2_000
"""Number of URLs of a document whose second record is not another change; they take 0.2 MB,
and a walk reads several documents at once."""
_NEWS_LAST = timedelta(days=3)
"""A news sitemap lists articles of the last two days (Google's guidelines); one that keeps older
ones is a list."""


class UnsentEntries:
    """The entries of a document that a walk without `changes` has not delivered yet.

    Attributes:
        has_batches: True if the table `batch` has some of them.
        is_withheld: True if filters or a limit kept one back.
        news: how many are new; 0, because nothing is compared.
        is_recent: True if all are recent news; False, because nothing is compared.
    """

    news = 0
    is_recent = False

    def __init__(
        self,
        db: Connection,
        row: DocumentRow,
        writer: StateWriter,
    ) -> None:
        self.is_withheld = False
        self._row = row
        self._writer = writer
        self._selected = 0
        self._sent: frozenset[bytes] = frozenset()
        if writer.run.is_resumed:
            self._sent = load_batches(db, row)
        self.has_batches = bool(self._sent)

    async def select(self, rows: Rows) -> Rows:
        """Return the entries that the walk has not delivered before it was interrupted."""
        if self._sent:
            keys = map(hash_url, get_column(rows, "loc"))
            rows = select_rows(rows, [key not in self._sent for key in keys])
        self._selected = len(rows)
        return rows

    async def record(
        self,
        passed: Rows,
        unique: Rows,
        sent: int,
    ) -> None:
        """Save that the first `sent` of `unique` are delivered, once that is acknowledged."""
        del passed
        self.is_withheld |= sent < self._selected
        self.has_batches = True
        await _save_sent(self._writer, self._row, unique[:sent])

    async def end(self) -> None:
        """Save nothing more."""


@attrs.define(eq=False)
class _Compared:
    """Entries of a document that were compared with the state.

    Attributes:
        entries: all of them.
        changes: the change of each; `None` for one that is known.
        deleted: the places of those whose record says that their URL was deleted.
        places: the indexes of the entries to deliver, if they pass the filters.
        parts: all of them, by stretches.
    """

    entries: ListedEntries
    changes: Sequence[Change | None] = ()
    deleted: Sequence[int] = ()
    places: Sequence[int] = ()
    parts: Sequence[StretchPart] = ()

    def find_place(self, loc: str) -> int:
        """Return the place of an offered entry by its URL, which is the same object."""
        locs = self.entries.locs
        return next(place for place in self.places if locs[place] is loc)

    def mark(self, passed: Rows, unique: Rows) -> str:
        """Return the marks of the entries, as a text of a letter each."""
        marks: list[str] = [EntryMark.SENT] * len(self.entries.keys)
        for place in self.deleted:
            if self.changes[place] is Change.NEW:
                marks[place] = EntryMark.DELETED_UNKNOWN
            else:
                marks[place] = EntryMark.DELETED
        if len(unique) == len(self.places):  # most often
            return "".join(marks)
        # What `unique` drops was handed over by another document: it counts as sent.
        are_passed = {*map(id, get_column(passed, "loc"))}
        are_unique = {*map(id, get_column(unique, "loc"))}
        for place in self.places:
            number = id(self.entries.locs[place])
            if number in are_unique:
                continue
            if number in are_passed:
                marks[place] = EntryMark.WITHHELD
            elif self.changes[place] is Change.NEW:
                marks[place] = EntryMark.UNSENT
            else:
                marks[place] = EntryMark.SENT_OTHERWISE
        return "".join(marks)


class ChangedEntries:
    """The entries of a document that differ from the state, for `changes`.

    Attributes:
        has_batches: False, because the table `log` has them.
        is_withheld: True if filters or a limit kept one back.
        news: how many were delivered as new.
        is_recent: True if all are recent news.
    """

    has_batches = False

    def __init__(
        self,
        row: DocumentRow,
        writer: StateWriter,
        reading: DocumentReading,
    ) -> None:
        self.is_withheld = False
        self.news = 0
        self.is_recent = True
        self._row = row
        self._writer = writer
        self._reading = reading
        self._compared = _Compared(ListedEntries())
        self._offered: set[bytes] = set()
        self._stretches = DocumentStretches(row)

    async def select(self, rows: Rows) -> Rows:
        """Return the entries that are new or have another record; set their `change`."""
        recent = as_moment(self._reading.asked_at) - _NEWS_LAST
        self.is_recent &= all(
            each.news and (each.date or recent) >= recent for each in rows
        )
        keys = [*map(hash_url, get_column(rows, "loc"))]
        if self._reading.age:
            find = partial(
                find_removed, row=self._row, keys=keys, reading=self._reading.stamp
            )
            removed = await self._writer.file.query(find)
            is_there = [key not in removed for key in keys]
            rows = select_rows(rows, is_there)
            keys = list(compress(keys, is_there))
        entries = ListedEntries(get_column(rows, "loc"), keys, hash_records(rows))
        # What a record says of itself happened since some day; this, since the last walk. What it
        # says was deleted is delivered at the end of the walk.
        said = get_column(rows, "change")
        deleted = [n for n, change in enumerate(said) if change is Change.UNLISTED]
        if deleted or self._writer.run.is_new:
            parts = self._stretches.leave(entries)
        else:
            split = partial(self._stretches.split, entries=entries)
            parts = await self._writer.file.query(split)
        changes = await self._compare(entries, parts)
        marks = [change is not None for change in changes]
        for place in deleted:
            marks[place] = False
        places = [*compress(range(len(marks)), marks)]
        offered = select_rows(rows, marks)
        found = [changes[place] for place in places]
        if isinstance(offered, EntryColumns):
            offered.change = found
        else:
            for entry, change in zip(offered, found, strict=True):
                entry.change = change
        self._compared = _Compared(entries, changes, deleted, places, parts)
        return offered

    async def _compare(
        self,
        entries: ListedEntries,
        parts: Sequence[StretchPart],
    ) -> list[Change | None]:
        """Return the change of each record; several records of a URL are one."""
        keys = entries.keys
        changes: list[Change | None] = [Change.NEW] * len(keys)
        if not self._writer.run.is_new:
            find = partial(self._find_changes, entries=entries, parts=parts)
            changes = await self._writer.file.query(find)
        if len(self._offered) >= _COMPARED_URLS:
            return changes
        for place, change in enumerate(changes):
            if change is not None and keys[place] in self._offered:
                changes[place] = None
            elif change is not None:
                self._offered.add(keys[place])
        return changes

    def _find_changes(
        self,
        db: Connection,
        entries: ListedEntries,
        parts: Sequence[StretchPart],
    ) -> list[Change | None]:
        """Return the change of each record since the earlier readings of all documents."""
        row = self._row
        keys = entries.keys
        records = entries.records
        changes: list[Change | None] = [None] * len(keys)
        unknown: list[int] = []
        for part in parts:
            if not part.stretch:
                unknown.extend(range(part.start, part.stop))
        own: Mapping[bytes, bytes | None] = {}
        if row.is_saved and unknown:  # most of it is listed as before
            own = find_own_records(db, row, [keys[place] for place in unknown])
        others = [place for place in unknown if own.get(keys[place]) != records[place]]
        known = find_records(db, row, [keys[place] for place in others])
        for place in others:
            listed = known.get(keys[place], {})
            changes[place] = _compare_record(listed, row.id or 0, records[place])
        return changes

    async def record(
        self,
        passed: Rows,
        unique: Rows,
        sent: int,
    ) -> None:
        """Save the entries of the last `select` when they are acknowledged.

        `passed` has the entries that passed the filters, and `unique` the ones of them whose URL no
        earlier one has. The first `sent` of `unique` were delivered.
        """
        compared = self._compared
        self.is_withheld |= sent < len(compared.places)
        if self._writer.settings.selection.unique:
            await _save_sent(self._writer, self._row, unique[:sent])
        self.news += get_column(unique[:sent], "change").count(Change.NEW)
        number = len(compared.entries.keys)
        if sent < len(unique):  # the next walk begins with this one
            number = compared.find_place(get_column(unique, "loc")[sent])
        marks = compared.mark(passed, unique)
        for part in compared.parts:
            if part.start < number:
                self._stretches.add(part, compared.entries, marks, number)
        await self._save()

    async def end(self) -> None:
        """Save the last entries, when the document has ended."""
        self._stretches.end()
        await self._save()

    async def _save(self) -> None:
        seen, logged = self._stretches.take_seen()
        if seen or logged:
            stamp = self._reading.stamp
            await self._writer.commit_on_ack(
                lambda db: save_seen(db, self._row, stamp, seen, logged)
            )


async def _save_sent(
    writer: StateWriter,
    row: DocumentRow,
    sent: Rows,
) -> None:
    """Save delivered entries once they are acknowledged, in case the walk is interrupted."""
    locs = get_column(sent, "loc")
    packed = None
    if writer.settings.selection.unique:
        packed = pack(locs)
    await writer.commit_on_ack(lambda db: save_batch(db, row, locs, packed))


def _compare_record(
    known: dict[int, bytes | None],
    document: int,
    record: bytes,
) -> Change | None:
    # Two sitemaps often say different things of one page, so the document's own record of a URL
    # counts. Another's counts only where this one has none, as when a URL has moved.
    own = known.get(document)
    others = [own] if own else known.values()
    if any(each is not None and has_record(each, record) for each in others):
        return None
    is_known = any(known[number] is not None for number in known if number > 0)
    return Change.CHANGED if is_known else Change.NEW
