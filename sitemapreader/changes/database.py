"""The state file on disk: one writer at a time, checked for damage.

A file of ours that is damaged when it is opened is quarantined, and a new one begun
(`state-replaced`); anyone else's is refused. Damage that is found later raises StateError. The file
is then quarantined when it is closed, so that the next walk reads everything again.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import stat
import threading
import zlib
from contextlib import closing, contextmanager, suppress
from enum import IntEnum, StrEnum
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sitemapreader._event_loop import run_in_thread
from sitemapreader._types.errors import StateError
from sitemapreader._types.urls import url_key
from sitemapreader._walk.memory import ChangeStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

T = TypeVar("T")
Connection: TypeAlias = sqlite3.Connection
Values: TypeAlias = "Mapping[str, Any]"
"""The values of the named parameters of a statement."""

VERSION = 21
"""Version of a state's tables. Files of earlier versions are replaced, of later ones refused."""
_APPLICATION_ID = 0x534D5244
"""In the header of our files: https://www.sqlite.org/fileformat.html, 1.3.12."""
CHECKED_BYTES = 64 * 1024 * 1024
"""Larger files have only their header checked when they are opened: a full check of this size takes
0.2 s."""
_CACHE_KIB = 8_192
_PAGE_BYTES = 8_192
"""A tenth faster than 4,096 where a walk writes all its URLs."""
_FREED_PAGES = 2_500
"""Number of pages that are freed when a file is closed: 20 MB, in 50 ms."""
_WAIT_SECONDS = 0.25
"""Time that SQLite waits for another program's lock, in which the event loop is blocked."""
_ATTACHED = ("", "-wal", "-shm")
_DAMAGE = frozenset(
    {
        *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR),
        *(sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG),
    }
)
"""SQLite's errors of a damaged file; all others are of the disk and the system."""


_BULK = re.compile(r"CREATE TABLE (url|stretch|log) ")
_COLUMN = re.compile(
    r"^    (\w+) (INTEGER|REAL|TEXT|BLOB)( NOT NULL)?\b(?! PRIMARY)", re.MULTILINE
)


class UrlKind(IntEnum):
    """The `kind` of a row of `url`; a script writes `KIND_LIST` for the number of `LIST`."""

    LIST = 0
    """A list has it, or has lost it."""
    WINDOW = 1
    """A window has it; with `lost_stamp`, it has left the window."""
    DELETED = 2
    """Its record says that it was deleted."""
    UNLISTED = 3
    """It is unlisted, and stays until it is delivered as unlisted."""
    DELIVERED = 4
    """It was delivered as unlisted."""


class EntryMark(StrEnum):
    """The mark of an entry in `log`; a script writes `MARK_SENT` for the byte of `SENT`."""

    SENT = "s"
    """It was delivered with this record, now or before."""
    WITHHELD = "w"
    """`unique` has withheld it."""
    SENT_OTHERWISE = "o"
    """It was delivered with another record only."""
    UNSENT = "u"
    """It was never delivered."""
    DELETED = "d"
    """Its record says that it was deleted."""
    DELETED_UNKNOWN = "n"
    """The same, and the state did not know it."""


_SQL_BY_WORD = {f"KIND_{each.name}": str(each.value) for each in UrlKind} | {
    f"MARK_{each.name}": f"x'{each.encode().hex()}'" for each in EntryMark
}
"""Word of a script -> the same in SQL."""


class DamageError(Exception):
    """A state file with content that no walk can have written."""


class Guard:
    """A context in which errors of the database, the disk and damaged rows become StateError.

    One thread at a time is in it, and may enter it again. It is a class, because a walk enters it
    for each statement, and a generator takes five times as long.

    Attributes:
        is_damaged: True once an error has meant that the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.is_damaged = False
        self._path = path
        # SQLite calls `inflate` while it holds its own lock: two threads would stop each other.
        self._thread_lock = threading.RLock()

    def __enter__(self) -> None:
        self._thread_lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread_lock.release()
        if error is None:
            return
        self.is_damaged |= is_damage(error)
        known = (sqlite3.Error, DamageError, UnicodeDecodeError, OSError)
        if isinstance(error, known) and not isinstance(error, StateError):
            raise _make_state_error(self._path, error) from error


def _make_state_error(path: Path, error: Exception) -> StateError:
    """Return the StateError of another error, with its remedy."""
    if isinstance(error, OSError):
        return StateError(path, error.strerror or str(error))
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        detail = f"{error}: another program is writing it: wait until it ends, then walk again"
        return StateError(path, detail, is_locked=True)
    if is_damage(error):
        advice = "the next walk replaces it"
    else:
        advice = "remove the cause, and walk again"
    return StateError(path, f"{error}: {advice}")


def is_damage(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, means that a file is damaged."""
    if isinstance(error, StateError):
        return is_damage(error.__cause__)
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, sqlite3.OperationalError) and code is None:
        return "decode" in str(error)  # how Python reports text that is no UTF-8
    return (
        isinstance(error, DamageError | UnicodeDecodeError)
        or (code or 0) & 0xFF in _DAMAGE
    )


_OPEN: dict[tuple[asyncio.AbstractEventLoop, Path], StateFile] = {}
"""The files that walks of this process share, by event loop."""


class StateFile(ChangeStore):
    """An open state file, to be closed by `close`, or shared by several walks.

    Attributes:
        path: the file.
        connection: in autocommit; a change of several rows begins a transaction.
        quarantined_as: new path of an unusable file that was in its place.
        walk_lock: no other walk reads or writes the file while it is held.
        users: keys of the walks and runs that keep the file open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.quarantined_as: Path | None = None
        self.walk_lock = asyncio.Lock()
        self.users: set[str] = set()
        self._is_held = False
        self._guard = Guard(path)
        with self._guard:
            if path.exists() and not path.is_file():
                if path.is_dir():
                    what = "folder"
                else:
                    what = "device or a pipe"
                raise StateError(path, f"this is a {what}: name a file")
            _refuse_foreign(path)
            self._lock = _lock_state(path)
            try:
                self.connection = self._open()
                self._identity = _identify_file(path)
            except BaseException:
                self._lock.close()
                raise

    def _open(self) -> Connection:
        try:
            return _open_checked(self.path)
        except (DamageError, UnicodeDecodeError, sqlite3.Error) as error:
            if not is_damage(error):
                raise
            self.quarantined_as = _quarantine(self.path)
            return _open_checked(self.path)

    @classmethod
    def share(cls, path: Path, user: str) -> StateFile:
        """Open a file, or share it with the walks of this event loop that have it open.

        Raises StateError: it cannot be used, another process or thread writes it, or another walk
            has the same site.
        """
        key = (asyncio.get_running_loop(), path.absolute())
        file = _OPEN.get(key) or cls(path)
        if user in file.users:
            raise _make_lock_error(path)
        _OPEN[key] = file
        file.users.add(user)
        return file

    def release(self, user: str) -> None:
        """End a use; the last one closes the file."""
        self.users.discard(user)
        if not self.users:
            keys = [key for key, file in _OPEN.items() if file is self]
            for key in keys:
                # by itself: the working directory may be another one now
                del _OPEN[key]
            self.close()

    async def query(self, query: Callable[[Connection], T]) -> T:
        """Return the result of a short function of the connection."""
        async with self.walk_lock:
            return self.query_now(query)

    def query_now(self, query: Callable[[Connection], T]) -> T:
        """Do the same without waiting for other walks."""
        with self._guard:
            return query(self.connection)

    async def find_rows(self, sql: str, values: Any) -> list[Any]:
        """Return all rows of a query."""
        return await self.query(lambda db: db.execute(sql, values).fetchall())

    async def work(self, change: Callable[[Connection], T], name: str) -> T:
        """Do work on a site in one transaction; in a thread, unless the site is small."""
        async with self.walk_lock:
            do = partial(self.change_now, change)
            sql = read_script("large.sql")
            is_large = partial(read_value, sql=sql, values=[name])
            if self.query_now(is_large):
                return await run_in_thread(do, self.connection.interrupt)
            return do()

    def change_now(self, change: Callable[[Connection], T]) -> T:
        """Do the same now: commit all that it changes, or nothing if it raises."""
        self._check_held()
        # SQLite would go on writing to a file that is not there any more.
        if _identify_file(self.path) != self._identity:
            raise StateError(
                self.path,
                "the file was replaced or removed during the walk, so the rest was not recorded: "
                "walk again",
            )
        with self._guard:
            self.connection.execute("SAVEPOINT part")
            try:
                result = change(self.connection)
                self.connection.execute("RELEASE part")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK TO part")
                    self.connection.execute("RELEASE part")
                raise
            return result

    def close(self) -> None:
        """Close the file and release its lock."""
        with suppress(sqlite3.Error):  # what was committed is in the file
            # the room of what was merged is given back
            if not self.connection.in_transaction:
                self.connection.executescript(
                    f"PRAGMA incremental_vacuum({_FREED_PAGES})"
                )
        with suppress(sqlite3.Error):
            self.connection.close()
        with suppress(OSError):  # then the next walk finds it as it is
            if self._guard.is_damaged:
                _quarantine(self.path)
            elif _identify_file(self.path) != self._identity:
                # SQLite leaves the log of a file that was moved away, and would bring it into the
                # one that has taken its place.
                for suffix in _ATTACHED[1:]:
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._lock.close()

    async def hold_back(self) -> bool:
        """Hold back all changes from now on, as `hold` does."""
        async with self.walk_lock:
            self.hold()
        return True

    async def publish(self, files: Iterable[tuple[Path, Path]], *, holds: bool) -> None:
        """Commit the held changes, as `commit_held` does; hold the next ones too if it `holds`."""
        async with self.walk_lock:
            self.commit_held(files)
            if holds:
                self.hold()

    def hold(self) -> None:
        """Hold back all changes from now on, until `commit_held`; closing drops them.

        Raises StateError: another run of this process holds back its changes.
        """
        if self._is_held:
            raise StateError(
                self.path,
                "another run is writing it together with its files: wait until it ends, "
                "or choose another file",
                is_locked=True,
            )
        with self._guard:
            self.connection.execute("BEGIN IMMEDIATE")
        self._is_held = True

    def commit_held(self, files: Iterable[tuple[Path, Path]]) -> None:
        """Rename files, then commit the changes that were held back.

        A kill in between leaves the new files and the former state: the next run repeats their
        entries, and none is lost. Each file has its temporary and its final path.

        Raises StateError or OSError; then the state knows nothing of the run.
        """
        self._check_held()
        for temporary, path in files:
            temporary.replace(path)
            _sync_folder(path.parent)
        with self._guard:
            self.connection.execute("COMMIT")
        self._is_held = False

    def _check_held(self) -> None:
        """Raise StateError if SQLite has dropped the changes that are held back."""
        # A full disk or an interrupt can undo the whole transaction, not only its savepoint
        # (https://www.sqlite.org/lang_transaction.html, section 3). Later changes would then be
        # committed at once, without the files.
        if self._is_held and not self.connection.in_transaction:
            raise StateError(
                self.path,
                "an error has undone the changes of this run: run the same command again",
            )


@contextmanager
def open_reader(path: Path) -> Iterator[Connection]:
    """Open a state file for reading only, even while a walk writes it."""
    with Guard(path):
        if not path.is_file():
            if path.exists():
                what = "this is not a file"
            else:
                what = "no such file"
            raise StateError(path, f"{what}: a walk with `state` makes one")
        _refuse_foreign(path)
        opened = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
        with closing(opened) as connection:
            if not _check_file(connection, path):
                raise StateError(path, "nothing was written to it yet")
            connection.execute("PRAGMA query_only = ON")
            yield connection


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; `None` if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _refuse_foreign(path: Path) -> None:
    """Raise StateError for a file that is neither empty nor ours."""
    # What damage has left of a file of ours has its header, or its lock beside it.
    with suppress(FileNotFoundError):
        with path.open("rb") as file:
            header = file.read(100)
        is_ours = int.from_bytes(header[68:72], "big") == _APPLICATION_ID
        if header and not is_ours and not _name_lock(path).exists():
            raise StateError(path, "this is not a state of walks: name another file")


def _name_lock(path: Path) -> Path:
    return path.with_name(f"{path.name}-lock")


def _lock_state(path: Path) -> Connection:
    """Lock a state file; the lock ends with the process, even if that is killed."""
    lock_path = _name_lock(path)
    if not os.path.lexists(lock_path):
        _create(lock_path)
    found = lock_path.lstat()
    # nothing is ever written to it
    if not stat.S_ISREG(found.st_mode) or found.st_size:
        raise StateError(
            path, f"{lock_path.name} beside it is not a lock of this program: remove it"
        )
    lock = sqlite3.connect(
        lock_path, timeout=0, isolation_level=None, check_same_thread=False
    )
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise _make_lock_error(path) from None
    return lock


def _make_lock_error(path: Path) -> StateError:
    """Return the error of a file that another walk writes."""
    said = "another walk is writing it: wait until it ends, or choose another file"
    return StateError(path, said, is_locked=True)


def _create(path: Path) -> None:
    """Create an empty file that only its owner can read, unless it exists."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, as far as the system can."""
    if os.name == "posix":  # Windows opens no folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _open_checked(path: Path) -> Connection:
    _create(path)
    connection = sqlite3.connect(
        path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        if not _check_file(connection, path):
            # before there is a log: the file itself says whose it is
            _create_tables(connection)
        connection.create_function("inflate", 1, _inflate)
        # Once: SQLite prepares all statements anew when another one takes its place.
        connection.create_function("url_key", 1, url_key, deterministic=True)
        connection.execute("PRAGMA journal_mode = WAL")
        # Each commit outlives the process. What a power failure takes back, since SQLite moved its
        # log into the file, is delivered again, as everything is that was not written down.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = FILE")
        connection.executescript(read_script("work_tables.sql"))
    except BaseException:
        connection.close()
        raise
    return connection


def _inflate(packed: bytes) -> str:
    return zlib.decompress(packed).decode("ascii")


def _check_file(connection: Connection, path: Path) -> bool:
    """Return whether a file has tables, which are ours.

    Raises DamageError, or StateError for a newer format.
    """
    application_id = read_value(connection, "PRAGMA application_id")
    version = read_value(connection, "PRAGMA user_version")
    tables = read_value(connection, "SELECT count(*) FROM sqlite_schema")
    if not (application_id or version or tables):
        return False
    if application_id != _APPLICATION_ID:
        raise DamageError("it is the database of another program")
    if version < VERSION:
        raise DamageError("an earlier sitemapreader wrote it")
    if version > VERSION:
        raise StateError(
            path,
            f"a newer sitemapreader wrote it (format {version}, here {VERSION}): "
            "upgrade, or choose another file",
        )
    if path.stat().st_size <= CHECKED_BYTES:
        said = read_value(connection, "PRAGMA integrity_check(1)")
        if said != "ok":
            raise DamageError(said)
    return True


def read_value(db: Connection, sql: str, values: Any = ()) -> Any:
    """Return the first value of the first row of a query; `None` if there is no row."""
    found = db.execute(sql, values).fetchone()
    return found and found[0]


def read_values(db: Connection, sql: str, values: Any = ()) -> list[Any]:
    """Return the first value of each row of a query."""
    return [row[0] for row in db.execute(sql, values)]


@cache
def read_script(name: str) -> str:
    """Return the text of a file of SQL, with numbers for the names of kinds and marks."""
    text = files(__package__).joinpath(name).read_text("utf-8")
    return re.sub(r"\b(?:KIND|MARK)_[A-Z_]+", lambda word: _SQL_BY_WORD[word[0]], text)


def _create_tables(connection: Connection) -> None:
    """Create the tables in an empty file, in one transaction."""
    check = r"\g<0> CHECK (lower('\2') = typeof(\1) OR \1 IS NULL)"
    # It is checked when the file is opened; in the large tables it would cost a third of a walk.
    script = ";".join(
        part if _BULK.search(part) else _COLUMN.sub(check, part)
        for part in read_script("schema.sql").split(";")
    )
    connection.executescript(
        f"PRAGMA page_size = {_PAGE_BYTES};\nPRAGMA auto_vacuum = INCREMENTAL;\n"
        f"BEGIN IMMEDIATE;\n{script}\n"
        f"PRAGMA application_id = {_APPLICATION_ID};\nPRAGMA user_version = {VERSION};\nCOMMIT;"
    )


def _quarantine(path: Path) -> Path:
    """Rename a file and its logs to the first free `.corrupt-N`; return the new path."""
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    for suffix in _ATTACHED:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(
                aside.with_name(aside.name + suffix)
            )
    return aside
