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

Content = TypeVar("Content")

RUN = "runs/{:04}"
SUCCESS = "{run}/_SUCCESS.json"
PARTITION = "p-{:05}"
TRIES = "{run}/tries"
URLS = "{run}/urls/p-{partition:05}-{token}-{number}.parquet"
STATUS = "{run}/status/p-{partition:05}.parquet"
STATE = "{run}/state/p-{partition:05}-{token}.db.gz"
"""Paths; `run` is the folder of a run."""


class OutputError(SitemapReaderError):
    """An output that cannot be used; the message has the remedy."""


class Storage:
    """The folder of an output; paths are relative to it, with `/`.

    Each call sees what other processes have written: nothing is cached. Raises what fsspec raises,
    which is OSError in the common cases.

    Attributes:
        output: its URL, or its absolute path, because workers have other working folders.
    """

    def __init__(self, output: str) -> None:
        self._files, root = fsspec.core.url_to_fs(output, use_listings_cache=False)
        self._root = root.rstrip("/")
        self._is_local = isinstance(self._files, LocalFileSystem)
        self.output = output
        if self._is_local:
            self.output = self._root

    def create(self, path: str, data: bytes | Path) -> None:
        """Write bytes or a local file, unless the name exists.

        On a disk the file is linked to its name when it is complete. S3 and other object stores
        refuse the second of two such requests (`If-None-Match: *`). Read the file to see who made
        it: if the response to a request is lost, the request is repeated, and then refused because
        of the file that it has created itself.
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

    def load(self, path: str, make: Callable[[Any], Content]) -> Content | None:
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
            paths = self._files.ls(full, detail=False)
        except FileNotFoundError:
            return []
        paths = [path.rstrip("/") for path in paths]
        return sorted(path.rpartition("/")[2] for path in paths if path != full)

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{path}")


def _create_local(path: Path, data: bytes | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        if isinstance(data, bytes):
            part.write_bytes(data)
        else:
            shutil.copyfile(data, part)
        with part.open("r+b") as file:
            os.fsync(file.fileno())  # a commit must not outlive the files that it names
        os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
