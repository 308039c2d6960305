"""A state file on disk: opened by one writer at a time, and never trusted to be whole.

Every damage ends in one of two ways. Found when the file is opened, the file is put aside and a new
one begun (`state-replaced`). Found later, StateError is raised, and the file is put aside when it
is closed, so that the next walk reads all anew.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from sitemapreader.errors import StateError
from sitemapreader.state import schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECKED_BYTES = 64 * 1024 * 1024
"""A file up to this size is checked as a whole when it is opened, which takes up to 0.2 s; of a
larger one only the header and the tables. Rows that decide what is read have seals of their own."""
_CACHE_KIB = 16_384
_HEADER = b"SQLite format 3\0"
_ATTACHED = ("", "-wal", "-shm")
_HARMLESS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""What SQLite reports of the disk and the system; all else, our statements being right, is the
file's fault."""


class DamageError(Exception):
    """A state file holds what no walk has written; the message says what."""


@contextmanager
def wrap_errors(path: Path) -> Iterator[None]:
    """Turn what the database, the disk or a damaged row raises into StateError."""
    try:
        yield
    except (sqlite3.Error, DamageError, UnicodeDecodeError) as error:
        advice = (
            "the next walk replaces it" if is_damage(error) else "remove the cause, and walk again"
        )
        raise StateError(path, f"{error}: {advice}") from error
    except OSError as error:
        raise StateError(path, error.strerror or str(error)) from error


def is_damage(error: BaseException | None) -> bool:
    """Tell whether an error, or what caused it, says that a file is damaged."""
    if isinstance(error, StateError):
        return is_damage(error.__cause__)
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)  # None: the module's own, not SQLite's
        if code is None:
            # Python reports text that is no UTF-8 in this way.
            return isinstance(error, sqlite3.OperationalError) and "decode" in str(error)
        return code & 0xFF not in _HARMLESS
    return isinstance(error, DamageError | UnicodeDecodeError)


class StateFile:
    """An open state file, to be closed by `close`.

    Attributes:
        path: where it is.
        connection: in autocommit; what changes more than one row begins a transaction.
        quarantined_as: what an unusable file that was in its place is called now.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.quarantined_as: Path | None = None
        self._is_damaged = False
        self._is_closed = False
        with wrap_errors(path):
            if path.is_dir():
                raise StateError(path, "this is a folder: name a file in it")
            self._lock = _lock(path)
            try:
                self.connection = self._open()
                self._identity = _identify(path)
            except BaseException:
                self._lock.close()
                raise

    def close(self) -> None:
        """Close the file and let the next one write; may be called again."""
        with suppress(sqlite3.Error):  # what was committed is in the file
            self.connection.close()
        if not self._is_closed:
            self._is_closed = True
            self._clean_up()
        self._lock.close()

    def _clean_up(self) -> None:
        """See to it that the next walk does not open what this one cannot have written."""
        with suppress(OSError):  # then the next walk finds it as it is
            if self._is_damaged:
                quarantine(self.path)
            elif _identify(self.path) != self._identity:
                # SQLite leaves the log of a file that was moved away, and would bring it into the
                # one that has taken its place.
                for suffix in _ATTACHED[1:]:
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn what the file's content or the disk raises into StateError; remember damage."""
        try:
            with wrap_errors(self.path):
                yield
        except StateError as error:
            self._is_damaged |= is_damage(error)
            raise

    def sync(self) -> None:
        """Bring what was committed onto the disk, and the log back to its beginning.

        It has a connection of its own, so that it can be called from another thread while this one
        goes on writing. https://www.sqlite.org/wal.html, section 3.4
        """
        with self.guard():
            # SQLite would go on writing to a file that is not there any more, and another
            # connection would bring its log into the file that has taken its place.
            if _identify(self.path) != self._identity:
                raise StateError(
                    self.path,
                    "it was replaced or removed during the walk, so nothing more is remembered: "
                    "walk again",
                )
            with closing(sqlite3.connect(self.path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _open(self) -> sqlite3.Connection:
        try:
            return _open_checked(self.path)
        except (DamageError, UnicodeDecodeError, sqlite3.Error) as error:
            if not is_damage(error):
                raise
            self.quarantined_as = quarantine(self.path)
            return _open_checked(self.path)


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a state file to look at it; somebody may be writing it meanwhile."""
    with wrap_errors(path):
        if not path.is_file():
            what = "this is no file" if path.exists() else "no such file"
            raise StateError(path, f"{what}: a walk with `state` makes one")
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA query_only = ON")
            _check_kind(connection, path, may_be_empty=False)
            _check_tables(connection)
        except (DamageError, UnicodeDecodeError, sqlite3.Error) as error:
            connection.close()
            if not is_damage(error):
                raise
            raise StateError(path, f"this is no state file ({error})") from error
        except BaseException:
            connection.close()
            raise
        return connection


def _identify(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one in its place; `None` if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _lock(path: Path) -> sqlite3.Connection:
    """Take the lock of a state file; it ends with the process, however that ends."""
    lock_path = path.with_name(path.name + "-lock")
    _create(lock_path)
    if lock_path.stat().st_size:  # nothing is ever written to it: it may be no database
        os.truncate(lock_path, 0)
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
    _check_header(path)
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


def _check_header(path: Path) -> None:
    """Raise DamageError for a header that SQLite would take for another program's, or read-only."""
    with path.open("rb") as file:
        header = file.read(100)
    if not header:
        return
    if not header.startswith(_HEADER):
        raise DamageError("it is no SQLite file")
    # https://www.sqlite.org/fileformat.html, 1.3: the version that writes it, and that reads it
    if len(header) < 100 or not {*header[18:20]} <= {1, 2}:
        raise DamageError("its header is damaged")


def _check_kind(connection: sqlite3.Connection, path: Path, *, may_be_empty: bool) -> None:
    """Raise DamageError for what is no state of ours, StateError for that of a newer version."""
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    version = schema.read_version(connection)
    if may_be_empty and (version, kind, tables) == (0, 0, 0):
        return
    if kind != schema.APPLICATION_ID:
        raise DamageError("it is the database of another program")
    if not version:
        raise DamageError("its version is damaged")
    if version > len(schema.STEPS):
        raise StateError(
            path,
            f"a newer sitemapreader wrote it (format {version}, here {len(schema.STEPS)}): "
            "upgrade, or give another file",
        )
    if path.stat().st_size <= CHECKED_BYTES:
        (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if said != "ok":
            raise DamageError(said)


def _check_tables(connection: sqlite3.Connection) -> None:
    if not schema.is_whole(connection):
        raise DamageError("tables are missing, or others than those of a state")


def quarantine(path: Path) -> Path:
    """Rename a file and what belongs to it to the first free `.corrupt-N`; nothing is deleted."""
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    for suffix in _ATTACHED:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside
