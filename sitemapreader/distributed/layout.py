"""The paths of an output, and the partition of each host.

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
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b

from sitemapreader.errors import SitemapReaderError
from sitemapreader.urls import host_of, site_of

LAYOUT = "layout.json"
SUCCESS = "_SUCCESS.json"
ATTEMPTS = "attempts"
HOSTS_PER_PARTITION = 2_000
_FEWEST_HOSTS = 64
"""Hosts of a partition in a small list, about: as many as one process reads at once."""
_FEWEST_PARTITIONS = 16
"""Partitions of a list that has the hosts for them, so that a few cores have something to do."""
MAX_PARTITIONS = 65_536
LIST_FILES = 256
"""Most files of a list: what one of them holds must fit in memory while it is sorted."""
_HASH_BITS = 64


class OutputError(SitemapReaderError):
    """An output that cannot be used as it is: the message says what to do."""


def hash_site(url: str) -> int:
    """Return 64 bits for the registrable domain of a URL, the same on every machine."""
    return hash_text(site_of(host_of(url)) or url)


def hash_text(text: str) -> int:
    """Return 64 bits for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=_HASH_BITS // 8).digest(), "big")


def write_json(content: object) -> bytes:
    """Return an object as the bytes of a small file that people may read."""
    return json.dumps(content, indent=1).encode() + b"\n"


def choose_partition(hashed: int, partitions: int) -> int:
    """Return the partition of a hash: its first bits, so that partitions sort by hash."""
    return hashed >> (_HASH_BITS - (partitions.bit_length() - 1))


def count_partitions(hosts: int) -> int:
    """Return how many partitions suit so many hosts: a power of two."""
    wanted = max(
        1,
        -(-hosts // HOSTS_PER_PARTITION),
        min(hosts // _FEWEST_HOSTS, _FEWEST_PARTITIONS),
    )
    return min(1 << (wanted - 1).bit_length(), MAX_PARTITIONS)


def is_partition_count(value: object) -> bool:
    """Return whether an output may have so many partitions."""
    return isinstance(value, int) and 1 <= value <= MAX_PARTITIONS and value.bit_count() == 1


def name_list(number: int) -> str:
    """Return the folder of a list of hosts."""
    return f"lists/{number:04}"


def name_list_file(folder: str, partition: int, partitions: int) -> str:
    """Return the file of a list that holds the hosts of a partition."""
    files = min(partitions, LIST_FILES)
    return f"{folder}/{partition * files // partitions:02x}.parquet"


def name_run(number: int) -> str:
    """Return the folder of a run."""
    return f"runs/{number:04}"


def name_partition(partition: int) -> str:
    """Return the name of a partition in all paths."""
    return f"p-{partition:05}"


def name_commit(run: str, partition: int) -> str:
    """Return the path of a partition's commit."""
    return f"{run}/commits/{name_partition(partition)}.json"


def name_attempts(run: str, partition: int) -> str:
    """Return the folder of a partition's attempts."""
    return f"{run}/{ATTEMPTS}/{name_partition(partition)}"


def name_state_folder(partition: int) -> str:
    """Return the folder of a partition's states."""
    return f"state/{name_partition(partition)}"


_STATE_FOLDER = re.compile(r"p-\d{5}")
_WRITTEN = re.compile(r"p-\d{5}-\d{4,}(?:-\d{4,})?\.parquet|(\d{4,})-\d{4,}\.db\.zst")
"""Names of files that attempts write; the group is the run of a state."""


def is_state_folder(name: str) -> bool:
    """Return whether a name in `state` is that of a partition."""
    return bool(_STATE_FOLDER.fullmatch(name))


def is_written_by(name: str, run: str) -> bool:
    """Return whether an attempt of a run, or a state of an earlier one, has this name."""
    found = _WRITTEN.fullmatch(name)
    return found is not None and int(found[1] or 0) <= int(run.rpartition("/")[2])


_COMMIT = re.compile(r"p-(\d{5})\.json")


def partition_of_commit(name: str) -> int | None:
    """Return the partition of the name of a commit; `None` for another file."""
    found = _COMMIT.fullmatch(name)
    return int(found[1]) if found else None
