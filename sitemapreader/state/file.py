"""A state file on disk: opened by one writer at a time, and never trusted to be whole."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sitemapreader.errors import StateError
from sitemapreader.state import schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECKED_BYTES = 64 * 1024 * 1024
"""A file up to this size is checked as a whole when it is opened, which takes up to 0.2 s; of a
larger one only the header and the tables."""
_CACHE_KIB = 16_384
_HEADER = b"SQLite format 3\0"
_ATTACHED = ("", "-wal", "-shm")


class _UnusableError(Exception):
    """A file that is no state of ours, or a broken one."""


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn what the database or the disk raises into StateError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StateError(
            path, f"{error}; if it stays so, remove the file and start over"
        ) from error
    except OSError as error:
        raise StateError(path, error.strerror or str(error)) from error


class StateFile:
    """An open state file; made by `open_file`, to be closed by `close`.

    Attributes:
        path: where it is.
        connection: in autocommit; what changes more than one row begins a transaction.
        renamed: what an unusable file that was in its place is called now.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.renamed: Path | None = None
        with explaining(path):
            if path.is_dir():
                raise StateError(path, "this is a folder: name a file in it")
            self._lock = _lock(path)
            try:
                self.connection = self._open()
            except BaseException:
                self._lock.close()
                raise

    def close(self) -> None:
        """Close the file and let the next one write; may be called again."""
        with suppress(sqlite3.Error):  # what was committed is in the file
            self.connection.close()
        self._lock.close()

    def sync(self) -> None:
        """Bring what was committed onto the disk, and the log back to its beginning.

        It has a connection of its own, so that it can be called from another thread while this one
        goes on writing. https://www.sqlite.org/wal.html, section 3.4
        """
        with explaining(self.path):
            connection = sqlite3.connect(self.path)
            try:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                connection.close()

    def _open(self) -> sqlite3.Connection:
        try:
            return _open_checked(self.path)
        except (_UnusableError, sqlite3.DatabaseError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise  # a full disk, a missing right: not the file's fault
            self.renamed = _put_aside(self.path)
            return _open_checked(self.path)


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a state file to look at it; somebody may be writing it meanwhile."""
    with explaining(path):
        if not path.is_file():
            what = "this is no file" if path.exists() else "no such file"
            raise StateError(path, f"{what}: a walk with `state` makes one")
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA query_only = ON")
            _check_kind(connection, path, may_be_empty=False)
        except (_UnusableError, sqlite3.DatabaseError) as error:
            connection.close()
            raise StateError(path, f"this is no state file ({error})") from error
        except BaseException:
            connection.close()
            raise
        return connection


def _lock(path: Path) -> sqlite3.Connection:
    """Take the lock of a state file; it ends with the process, however that ends."""
    lock_path = path.with_name(path.name + "-lock")
    _create(lock_path)
    lock = sqlite3.connect(lock_path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise StateError(
            path, "another walk is writing it: wait for its end, or give this one another file"
        ) from None
    except BaseException:
        lock.close()
        raise
    return lock


def _create(path: Path) -> None:
    """Make an empty file that only its owner can read, if there is none."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _open_checked(path: Path) -> sqlite3.Connection:
    _create(path)
    with path.open("rb") as file:
        if file.read(len(_HEADER)) not in (b"", _HEADER):
            raise _UnusableError("it is no SQLite file")
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _check_kind(connection, path, may_be_empty=True)
        connection.execute("PRAGMA journal_mode = WAL")
        # Each commit outlives the process; `sync`, once a second, lets it outlive the machine. What
        # a power failure takes back is delivered again, as everything is that was not written down.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = FILE")
        schema.migrate(connection)
        _check_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path, *, may_be_empty: bool) -> None:
    """Raise _UnusableError for what is no state of ours, StateError for that of a newer version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if may_be_empty and (version, kind, tables) == (0, 0, 0):
        return
    if kind != schema.APPLICATION_ID:
        raise _UnusableError("it is the database of another program")
    if version > len(schema.STEPS):
        raise StateError(
            path,
            f"a newer sitemapreader wrote it (format {version}, here {len(schema.STEPS)}): "
            "upgrade, or give another file",
        )
    if path.stat().st_size <= CHECKED_BYTES:
        (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if said != "ok":
            raise _UnusableError(said)


def _check_tables(connection: sqlite3.Connection) -> None:
    if not schema.is_whole(connection):
        raise _UnusableError("tables are missing")


def _put_aside(path: Path) -> Path:
    """Rename a file and what belongs to it to the first free `.corrupt-N`; nothing is deleted."""
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    for suffix in _ATTACHED:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside
