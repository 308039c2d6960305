"""Files of an output, in a local folder or an object store, through fsspec.

```text
lists/<hosts>-<hash>-<partitions>/00.gz ...    the hosts, by partition
runs/0001/run.json                    the list, the partitions, the options
          tries/p-00042/<token>       made when an attempt begins
          urls/p-00042-<token>-0.parquet
          state/p-00042-<token>.db.gz     the memory of a partition, until the next run has one
          status/p-00042.parquet      the commit: names the attempt that counts
          _SUCCESS.json               all partitions are committed, all else is removed
```

Files are created, never replaced: several processes may write one at once.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

from sitemapreader._types.errors import SitemapReaderError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

RUN = "runs/{:04}"
SUCCESS = "{run}/_SUCCESS.json"
PARTITION = "p-{:05}"
TRIES = "{run}/tries"
URLS = "{run}/urls/p-{partition:05}-{token}-{number}.parquet"
STATUS = "{run}/status/p-{partition:05}.parquet"
STATE = "{run}/state/p-{partition:05}-{token}.db.gz"
"""Paths; `run` is the folder of a run."""


class OutputError(SitemapReaderError):
    """An output that cannot be used: the message says what to do."""


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

    def create(self, path: str, data: bytes | Path) -> None:
        """Write bytes or a local file, unless the name exists.

        On a disk it is linked to its name when all of it is there. S3 and other object stores
        refuse the second of two such requests (`If-None-Match: *`). Whose file it is only reading
        it tells: a request whose answer was lost is repeated, and refused by what it has made.
        """
        full = f"{self._root}/{path}"
        with suppress(FileExistsError):
            if self._is_local:
                _create_local(Path(full), data)
            elif isinstance(data, bytes):
                self._files.pipe_file(full, data, mode="create")
            else:
                self._files.put_file(str(data), full, mode="create")

    def download(self, path: str, local: Path) -> None:
        """Copy a file to the local disk; raise FileNotFoundError if there is none."""
        self._files.get_file(f"{self._root}/{path}", str(local))

    def read(self, path: str) -> bytes | None:
        """Return a file; `None` if there is none."""
        with suppress(FileNotFoundError):
            return bytes(self._files.cat_file(f"{self._root}/{path}"))
        return None

    def load(self, path: str, make: Callable[[Any], T]) -> T | None:
        """Parse a JSON file with a function; return `None` if there is none.

        Raises OutputError: the file is damaged.
        """
        content = self.read(path)
        try:
            if content is None:
                return None
            return make(json.loads(content))
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise OutputError(
                f"{self.output}/{path} is damaged or of another version ({error!r}): restore "
                "it, or choose another output"
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


def _create_local(path: Path, data: bytes | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    source = io.BytesIO(data) if isinstance(data, bytes) else data.open("rb")
    try:
        with source, aside.open("wb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())  # a commit must not outlive what it names
        os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)
