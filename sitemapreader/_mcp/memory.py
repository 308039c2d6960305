"""The folder in which `changes` remembers sites, and its bound."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.urls import host_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_FOLDER_BYTES = 512 * 1024 * 1024
"""All files of `changes`. A state takes some 100 bytes a URL: this is enough for five million."""
_OURS = re.compile(r"([a-z0-9._-]{0,60}-[0-9a-f]{16})\.(?:jsonl|part|db(?:-wal|-shm)?)")
"""Name of a file of ours; the first group is its site's. No other file is removed."""


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
