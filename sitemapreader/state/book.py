"""The state of one site, as one walk has it open."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from sitemapreader.state import listing, run
from sitemapreader.state.account import Account
from sitemapreader.state.file import StateFile, explaining
from sitemapreader.state.known import Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_COLUMNS = ", ".join(field.name for field in attrs.fields(Known))


class Book:
    """The state of one site, open for one walk.

    Attributes:
        renamed: what an unusable file in its place is called now.
        run: the walk.
    """

    def __init__(self, path: Path, site: str, options: bytes, *, lists: bool) -> None:
        self._path = path
        self._options = options
        self._file = StateFile(path)
        self.renamed = self._file.renamed
        self._db = self._file.connection
        try:
            with explaining(path):
                self._db.execute("INSERT OR IGNORE INTO site (name) VALUES (?)", (site,))
                (number,) = self._db.execute(
                    "SELECT id FROM site WHERE name = ?", (site,)
                ).fetchone()
        except BaseException:
            self._file.close()
            raise
        self.run = run.Run(number, lists)

    def close(self) -> None:
        """Close the file; may be called again."""
        self._file.close()

    def sync(self) -> None:
        """Bring what was committed onto the disk; may be called from another thread."""
        self._file.sync()

    def interrupt(self) -> None:
        """End what goes on in another thread; it is undone."""
        self._db.interrupt()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that is written inside at once, or nothing of it."""
        with explaining(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def begin(self) -> None:
        """Go on with the walk that was stopped, or begin a new one. May take long."""
        with self.transaction():
            self.run = run.begin(self._db, self.run, self._options)

    def finish(self, *, complete: bool, listed: Iterable[str]) -> int | None:
        """End the walk; return how many URLs are gone, if that is known. May take long.

        `listed` are the URLs (as `url_key` writes them) of all documents that the site still has.
        """
        with self.transaction():
            return run.finish(self._db, self.run, complete=complete, listed=listed)

    def open_account(self, url: str) -> Account:
        """Return the account of a document, by its `url_key`; it is enrolled if it is new."""
        with explaining(self._path):
            sql = f"SELECT {_COLUMNS} FROM document WHERE site = ? AND url = ?"
            row = self._db.execute(sql, (self.run.site, url)).fetchone()
            if row is None:
                self._db.execute(
                    "INSERT INTO document (site, url) VALUES (?, ?)", (self.run.site, url)
                )
                row = self._db.execute(sql, (self.run.site, url)).fetchone()
            return Account(self._file, self.run, Known(*row))

    def delivered(self) -> Iterator[list[str]]:
        """Yield the URLs that this walk had handed over before it was stopped."""
        with explaining(self._path):
            rows = self._db.execute("SELECT locs FROM delivered WHERE run = ?", (self.run.id,))
            for (locs,) in rows:
                yield listing.unpack_locs(locs)
