"""Files of an output, in a local folder or an object store, through fsspec.

```text
layout.json                           how many partitions; never changes
lists/0001/00.parquet ...             hosts, sorted by partition
runs/0001/run.json                    the list, the options, the run before
          attempts/p-00042/0003       made when an attempt begins
          urls/p-00042-0003-0000.parquet
          status/p-00042-0003.parquet
          commits/p-00042.json        names the files of the attempt that counts
          _SUCCESS.json               all partitions are committed, all else is removed
state/p-00042/0001-0003.db.zst        the memory of a partition after a run
```

Files that several processes may write at once are created, never replaced: `Storage.create` makes a
file only if it does not exist, and returns whether it did.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from sitemapreader.errors import SitemapReaderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


LAYOUT = "layout.json"
RUN = "runs/{:04}"
SUCCESS = "{run}/_SUCCESS.json"
PARTITION = "p-{:05}"
ATTEMPTS = "{run}/attempts"
COMMITS = "{run}/commits"
COMMIT = "{run}/commits/p-{partition:05}.json"
URLS = "{run}/urls/p-{partition:05}-{attempt:04}-{number:04}.parquet"
STATUS = "{run}/status/p-{partition:05}-{attempt:04}.parquet"
STATE = "state/p-{partition:05}/{number:04}-{attempt:04}.db.zst"
"""Paths: `run` is the folder of a run, and the number of a state that of its run."""


class OutputError(SitemapReaderError):
    """An output that cannot be used as it is: the message says what to do."""


class Storage:
    """The folder of an output; paths are relative to it, with `/`.

    Each call sees what other processes have written: nothing is cached. Raises what fsspec raises,
    which is OSError in the common cases.

    Attributes:
        output: its URL, or its absolute path: workers begin in other folders.
    """

    def __init__(self, output: str) -> None:
        self._files, root = fsspec.core.url_to_fs(output, use_listings_cache=False)
        self._root = root.rstrip("/")
        self._is_local: bool = isinstance(self._files, LocalFileSystem)
        self.output = self._root if self._is_local else output

    def url(self, path: str) -> str:
        """Return the URL or path by which other programs open the file."""
        full = f"{self._root}/{path}"
        return full if self._is_local else self._files.unstrip_protocol(full)

    def create(self, path: str, data: bytes) -> bool:
        """Write a whole file unless its name exists; return whether this call made it.

        On a disk it is linked to its name when all of it is there. S3 and other object stores
        refuse the second of two such requests (`If-None-Match: *`).
        """
        full = f"{self._root}/{path}"
        if not self._is_local:
            try:
                self._files.pipe_file(full, data, mode="create")
            except FileExistsError:
                return False
            return True
        with _aside(full) as temporary:
            temporary.write_bytes(data)
            _sync(temporary)
            try:
                os.link(temporary, full)
            except FileExistsError:
                return False
        return True

    def upload(self, local: Path, path: str) -> None:
        """Copy a local file to a new name, so that it is there whole or not at all."""
        full = f"{self._root}/{path}"
        if not self._is_local:
            self._files.put_file(str(local), full)
            return
        with _aside(full) as temporary:
            shutil.copyfile(local, temporary)
            _sync(temporary)
            temporary.replace(full)

    def download(self, path: str, local: Path) -> None:
        """Copy a file to the local disk; raise FileNotFoundError if there is none."""
        self._files.get_file(f"{self._root}/{path}", str(local))

    def open(self, path: str) -> Any:
        """Open a file for reading bytes; the result is a context manager that can seek."""
        return self._files.open(f"{self._root}/{path}", "rb")

    def read(self, path: str) -> bytes | None:
        """Return the content of a small file; `None` if there is none."""
        try:
            content: bytes = self._files.cat_file(f"{self._root}/{path}")
        except FileNotFoundError:
            return None
        return content

    def read_json(self, path: str, **kinds: Any) -> dict[str, Any] | None:
        """Return the object in a small JSON file; `None` if there is no file.

        Args:
            path: of the file.
            kinds: fields that it must have -> their types.

        Raises OutputError: the file is damaged.
        """
        content = self.read(path)
        if content is None:
            return None
        try:
            values: Any = json.loads(content)
            wrong = [name for name, kind in kinds.items() if not isinstance(values[name], kind)]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            reason = repr(error)
        else:
            if isinstance(values, dict) and not wrong:
                return values
            reason = f"wrong values of {', '.join(wrong)}" if wrong else "no object"
        raise OutputError(
            f"{self.output}/{path} is damaged ({reason}): restore it, or choose another output"
        )

    def is_link(self, path: str) -> bool:
        """Return whether a path on the local disk goes through a symbolic link."""
        if not self._is_local:
            return False
        root = Path(self._root)
        return (root / path).resolve() != root.resolve() / path

    def list(self, folder: str) -> list[str]:
        """Return the sorted names in a folder, without files that are still being written."""
        full = f"{self._root}/{folder}"
        try:
            found = self._files.ls(full, detail=False)
        except FileNotFoundError:
            return []
        names = (name.rstrip("/").rpartition("/")[2] for name in found if name.rstrip("/") != full)
        return sorted(name for name in names if not name.endswith(_ASIDE))

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; ignore those that do not exist."""
        for path in paths:
            try:
                self._files.rm_file(f"{self._root}/{path}")
            except FileNotFoundError:
                continue

    def remove_leftovers(self, folder: str) -> None:
        """Remove half-written files of writers that were killed, once the run is over."""
        if self._is_local and not self.is_link(folder):
            for path in Path(f"{self._root}/{folder}").rglob(f"*.{'[0-9a-f]' * 8}{_ASIDE}"):
                path.unlink(missing_ok=True)


def write_json(content: object) -> bytes:
    """Return an object as the bytes of a small file that people may read."""
    return json.dumps(content, indent=1).encode() + b"\n"


_ASIDE = ".part"
"""End of the name of a file that is being written."""


@contextmanager
def _aside(full: str) -> Iterator[Path]:
    """Give a path where a file may be written; remove what is left there."""
    path = Path(full)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_ASIDE}")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file is on the disk: a commit must not outlive what it names."""
    with path.open("rb+") as file:  # Windows flushes only what may be written to
        os.fsync(file.fileno())
