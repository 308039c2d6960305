"""The folder in which `changes` remembers sites, and its bound.

Of each site there are a state and the findings of the calls: a line with the moment of the last
call, and a row a line with the moment in which it was found.
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
"""All files of `changes`. A state takes some 100 bytes a URL: this is enough for five million."""
_OURS = re.compile(
    r"([a-z0-9._-]{0,60}-[0-9a-f]{16})\.(?:jsonl|part|next|db(?:-wal|-shm)?)"
)
"""Name of a file of ours; the first group is its site's. No other file is removed."""


_KEPT_DAYS = 90
"""Days for which findings are kept."""
_MOMENT = "found_at"


def open_private(path: Path) -> FileIO:
    """Open a file of rows to append to, which only its owner may read, as a state."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab", 0)


def keep_findings(rows: Path, part: Path, moment: datetime) -> None:
    """Add the rows of a finished call to the earlier ones, and forget the oldest."""
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

    Beyond the bound the sites are forgotten that were not asked for longest. The next call for one
    of them is the first call again.
    """

    folder: Path
    _used: Counter[str] = attrs.field(factory=Counter)
    """Names of sites -> calls that use their files now."""

    def find_rows(self, site: str) -> Path:
        """Return the file of a site's last rows; its state has the same name."""
        key = blake2b(
            url_key(site).encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest()
        return (
            self.folder
            / f"{re.sub('[^a-z0-9.-]', '_', host_of(site))[:60]}-{key}.jsonl"
        )

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
        files = defaultdict(list)
        for path in self.folder.iterdir():
            if match := _OURS.fullmatch(path.name):
                files[match[1]].append((path, path.stat()))
        total = sum(stat.st_size for site in files.values() for _, stat in site)

        def find_age(site: str) -> float:
            return max(stat.st_mtime for _, stat in files[site])

        for site in sorted(files, key=find_age):
            if total <= MAX_FOLDER_BYTES:
                break
            if not self._used[site]:
                for path, stat in files[site]:
                    path.unlink(missing_ok=True)
                    total -= stat.st_size
