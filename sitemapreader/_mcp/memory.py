"""The folder in which `changes` remembers sites, and its bound.

Each site has a state and a file of findings. Its first line has the moment of the last call, and
each other line has a row, with the moment at which it was found.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.urls import host_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path

MAX_FOLDER_BYTES = 512 * 1024 * 1024
"""Size of all files of `changes`. It is enough for five million URLs of 100 bytes each."""
_OWN_NAME = re.compile(
    r"([a-z0-9._-]{0,60}-[0-9a-f]{16})\.(?:jsonl|part|next|db(?:-wal|-shm)?)"
)
"""Name of a file of this server; its first group is the name of a site."""


_KEPT_DAYS = 90
"""Days after which findings are removed."""
_MOMENT = "found_at"


def open_private(path: Path) -> FileIO:
    """Open a file of rows to append to, which only its owner may read, as a state."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab", 0)


def keep_findings(
    rows: Path,
    part: Path,
    moment: datetime,
) -> None:
    """Add the rows of a finished call to the earlier ones, and remove the oldest."""
    now = moment.isoformat(timespec="microseconds")
    oldest = (moment - timedelta(days=_KEPT_DAYS)).isoformat(timespec="microseconds")
    following = rows.with_suffix(".next")
    following.unlink(missing_ok=True)
    with open_private(following) as file, part.open("rb") as new:
        file.write(json.dumps({_MOMENT: now}).encode() + b"\n")
        for row in _read_rows(rows):
            if row.get(_MOMENT, "") >= oldest:
                file.write(json.dumps(row).encode() + b"\n")
        for line in new:
            row = json.loads(line) | {_MOMENT: now}
            file.write(json.dumps(row).encode() + b"\n")
    following.replace(rows)
    part.unlink()


def read_findings(rows: Path, since: datetime | None) -> Iterator[dict[str, str]]:
    """Yield the rows that were found since a moment, or by the last call for `None`."""
    if since is None:
        first = next(_read_lines_of(rows), {}).get(_MOMENT, "")
    else:
        first = since.astimezone(UTC).isoformat(timespec="microseconds")
    return (row for row in _read_rows(rows) if row.get(_MOMENT, "") >= first)


def _read_rows(path: Path) -> Iterator[dict[str, str]]:
    return islice(_read_lines_of(path), 1, None)


def _read_lines_of(path: Path) -> Iterator[dict[str, str]]:
    if path.exists():
        with path.open("rb") as file:
            yield from map(json.loads, file)


@attrs.define
class SiteMemory:
    """Memory of sites: for each a state, and the rows of its last result.

    Above the bound, sites whose last call is oldest are removed. The next call for such a site is a
    first call again.
    """

    folder: Path
    _used: Counter[str] = attrs.field(factory=Counter)
    """Name of a site -> number of calls that use its files now."""

    def find_rows(self, site: str) -> Path:
        """Return the file of a site's last rows; its state has the same name."""
        url = url_key(site).encode("utf-8", "surrogatepass")
        key = blake2b(url, digest_size=8).hexdigest()
        name = re.sub("[^a-z0-9.-]", "_", host_of(site))[:60]
        return self.folder / f"{name}-{key}.jsonl"

    @contextmanager
    def use(self, rows: Path) -> Iterator[None]:
        """Keep the files of a site while a call uses them; make room before."""
        self._forget_oldest()
        self._used[rows.stem] += 1
        try:
            yield
        finally:
            self._used[rows.stem] -= 1

    def _forget_oldest(self) -> None:
        """Remove the files of the oldest unused sites until the rest is within the bound."""
        files: dict[str, list[Path]] = defaultdict(list)
        sizes: Counter[str] = Counter()
        used_at: dict[str, float] = defaultdict(float)
        for path in self.folder.iterdir():
            if match := _OWN_NAME.fullmatch(path.name):
                site = match[1]
                status = path.stat()
                files[site].append(path)
                sizes[site] += status.st_size
                used_at[site] = max(used_at[site], status.st_mtime)
        for site in sorted(files, key=used_at.__getitem__):
            if sizes.total() <= MAX_FOLDER_BYTES:
                break
            if not self._used[site]:
                del sizes[site]
                for path in files[site]:
                    path.unlink(missing_ok=True)
