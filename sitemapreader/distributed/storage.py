"""Files of an output, in a local folder or an object store, through fsspec.

```text
layout.json                           how many partitions; never changes
lists/<hosts>-<hash>/00.gz ...        the hosts, by partition
runs/0001/run.json                    the list, the options, the run before
          tries/p-00042/<token>       made when an attempt begins
          urls/p-00042-<token>-0.parquet
          state/p-00042-<token>.db.gz     the memory of a partition, until the next run has one
          status/p-00042.parquet      the commit: names the attempt that counts
          _SUCCESS.json               all partitions are committed, all else is removed
```

Files that several processes may write at once are created, never replaced: `Storage.create` makes a
file only if it does not exist, and returns whether it did.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

from sitemapreader.errors import SitemapReaderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

LAYOUT = "layout.json"
RUN = "runs/{:04}"
SUCCESS = "{run}/_SUCCESS.json"
PARTITION = "p-{:05}"
TRIES = "{run}/tries"
URLS = "{run}/urls/p-{partition:05}-{token}-{number}.parquet"
STATUS = "{run}/status/p-{partition:05}.parquet"
STATE = "{run}/state/p-{partition:05}-{token}.db.gz"
"""Paths; `run` is the folder of a run."""


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

    def create(self, path: str, data: bytes) -> bool:
        """Write a whole file unless its name exists; return whether this call made it.

        On a disk it is linked to its name when all of it is there. S3 and other object stores
        refuse the second of two such requests (`If-None-Match: *`). A request whose answer was lost
        is repeated, and then refused by what it has made itself: False may be said of one's own
        file, so read it before you believe that it is another's.
        """
        full = f"{self._root}/{path}"
        with suppress(FileExistsError):
            if not self._is_local:
                self._files.pipe_file(full, data, mode="create")
                return True
            with _aside(full) as temporary:
                temporary.write_bytes(data)
                _sync(temporary)
                os.link(temporary, full)
                return True
        return False

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

    def read(self, path: str) -> bytes | None:
        """Return a file; `None` if there is none."""
        try:
            content: bytes = self._files.cat_file(f"{self._root}/{path}")
        except FileNotFoundError:
            return None
        return content

    def load(self, path: str, make: Callable[[Any], T]) -> T | None:
        """Return what a function makes of a JSON file; `None` if there is none.

        Raises OutputError: the file is damaged.
        """
        content = self.read(path)
        try:
            return None if content is None else make(json.loads(content))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise OutputError(
                f"{self.output}/{path} is damaged ({error!r}): restore it, or choose another output"
            ) from None

    def list(self, folder: str) -> list[str]:
        """Return the sorted names in a folder."""
        full = f"{self._root}/{folder}"
        try:
            found = self._files.ls(full, detail=False)
        except FileNotFoundError:
            return []
        names = (name.rstrip("/") for name in found)
        return sorted(name.rpartition("/")[2] for name in names if name != full)

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{path}")


def write_json(content: object) -> bytes:
    """Return an object as the bytes of a small file that people may read."""
    return json.dumps(content, indent=1).encode() + b"\n"


@contextmanager
def _aside(full: str) -> Iterator[Path]:
    """Give a path where a file may be written; remove what is left there."""
    path = Path(full)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file is on the disk: a commit must not outlive what it names."""
    with path.open("rb+") as file:  # Windows flushes only what may be written to
        os.fsync(file.fileno())
