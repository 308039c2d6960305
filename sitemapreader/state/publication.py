"""Publication: files get their names and a state is committed, both or neither.

A journal beside the state names the files before the first is renamed. The next user of the state
finds the journal after a kill, and undoes renames that the state does not have.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_SUFFIX = "-output"


@attrs.frozen
class PublishedFile:
    """A file under its temporary name, and what is done with it.

    Attributes:
        temporary: where it was written.
        path: the name that it gets.
        backup: where a file that had that name is kept until the state is committed.
    """

    temporary: Path
    path: Path
    backup: Path

    def rename(self) -> None:
        """Give the file its name; keep the one that had it."""
        with suppress(FileNotFoundError):
            try:
                os.link(self.path, self.backup)
            except OSError:
                if not self.path.exists():
                    raise
                self.path.replace(self.backup)  # the file system has no links
        self.temporary.replace(self.path)

    def undo(self) -> None:
        """Restore the former files."""
        if self.backup.exists():
            self.backup.replace(self.path)
        elif not self.temporary.exists():  # it was renamed, and there was none before
            self.path.unlink(missing_ok=True)
        self.temporary.unlink(missing_ok=True)

    def finish(self) -> None:
        """Remove the former file."""
        self.backup.unlink(missing_ok=True)


class Publication:
    """Files that are renamed together with the commit of a state.

    Attributes:
        token: names this publication in the state.
    """

    def __init__(self, journal: Path, files: list[PublishedFile], token: str) -> None:
        self.token = token
        self._journal = journal
        self._files = files

    @classmethod
    def begin(cls, state: Path, files: Iterable[tuple[Path, Path]]) -> Self:
        """Write the journal of files, each with its temporary and its final path."""
        token = secrets.token_hex(8)
        listed = [
            PublishedFile(temporary, path, path.with_name(f".{path.name[:40]}.{token}.old"))
            for temporary, path in files
        ]
        rows = [[str(f.temporary), str(f.path), str(f.backup)] for f in listed]
        journal = _journal_of(state)
        with journal.open("w", encoding="utf-8") as written:
            json.dump({"token": token, "files": rows}, written)
            written.flush()
            os.fsync(written.fileno())
        return cls(journal, listed, token)

    def rename(self) -> None:
        """Give all files their names."""
        for file in self._files:
            file.rename()

    def undo(self) -> None:
        """Restore the former files, and end the publication."""
        for file in self._files:
            file.undo()
        self._journal.unlink(missing_ok=True)

    def finish(self) -> None:
        """Remove the former files, and end the publication."""
        for file in self._files:
            file.finish()
        self._journal.unlink(missing_ok=True)


def recover(state: Path, connection: sqlite3.Connection) -> None:
    """Finish or undo a publication that a kill has interrupted."""
    journal = _journal_of(state)
    try:
        written = json.loads(journal.read_bytes())
        files = [PublishedFile(*map(Path, row)) for row in written["files"]]
        token = str(written["token"])
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):  # killed while it was written: nothing was renamed
        journal.unlink(missing_ok=True)
        return
    publication = Publication(journal, files, token)
    sql = "SELECT 1 FROM published WHERE token = ?"
    if connection.execute(sql, (token,)).fetchone():
        publication.finish()
    else:
        publication.undo()


def _journal_of(state: Path) -> Path:
    return state.with_name(state.name + _SUFFIX)
