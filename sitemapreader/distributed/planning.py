"""The list of hosts of an output, sorted by partition."""

from __future__ import annotations

import re
import tempfile
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader.distributed.storage import LAYOUT, OutputError, Storage, write_json
from sitemapreader.many import name_site
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.urls import has_web_scheme, host_of, site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HOSTS_PER_PARTITION = 2_000
_FEWEST_HOSTS = 64
"""Hosts of a partition in a small list, about: as many as one process reads at once."""
_FEWEST_PARTITIONS = 16
"""Partitions of a list that has the hosts for them, so that a few cores have something to do."""
MAX_PARTITIONS = 65_536
LIST_FILES = 256
"""Most files of a list: what one of them holds must fit in memory while it is sorted."""
_HASH_BITS = 64


def hash_site(url: str) -> int:
    """Return 64 bits for the registrable domain of a URL, the same on every machine."""
    return hash_text(site_of(host_of(url)) or url)


def hash_text(text: str) -> int:
    """Return 64 bits for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=_HASH_BITS // 8).digest(), "big")


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


def name_list_file(folder: str, partition: int, partitions: int) -> str:
    """Return the file of a list that holds the hosts of a partition."""
    files = min(partitions, LIST_FILES)
    return f"{folder}/{partition * files // partitions:02x}.parquet"


LIST_SCHEMA = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("site", pa.string(), nullable=False),
    ]
)
_ROWS_PER_GROUP = 8_192
"""Rows that a worker reads to find those of its partition."""
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


@attrs.frozen
class HostList:
    """A list of hosts that lies on the storage, sorted by partition.

    Attributes:
        folder: where it lies; named by what it holds, so that the same list is written once.
        hosts: how many different hosts it has.
        partitions: how many partitions the output has.
    """

    folder: str
    hosts: int
    partitions: int


def plan(
    hosts: str | Path | Iterable[str], output: str, *, partitions: int | None = None
) -> HostList:
    """Write a list of hosts, sorted by partition; create the layout if there is none.

    Args:
        hosts: hosts or URLs, or a file of them, one a line, with `#` comments; any URL that fsspec
            opens, compressed or not. One that is named twice counts once. Logins are left out.
        output: a folder, or a URL that fsspec knows.
        partitions: a power of two; by default about one for 2,000 hosts. It is fixed when the
            output is made, because the state of a host is stored there.

    Raises OutputError for an output that cannot hold it, ValueError for a number of partitions that
    makes no sense, and OSError for a file that cannot be read.
    """
    if partitions is not None and not is_partition_count(partitions):
        raise ValueError(
            f"partitions must be a power of two up to {MAX_PARTITIONS}, not {partitions}"
        )
    storage = Storage(output)
    with tempfile.TemporaryDirectory(prefix="sitemapreader-plan-") as folder:
        buckets = [Path(folder, f"{number:02x}") for number in range(LIST_FILES)]
        _fill_buckets(_read_hosts(hosts), buckets)
        found, total = 0, 0
        for bucket in buckets:
            count, mixed = _sort_bucket(bucket)
            found, total = found + count, (total + mixed) % 2**64
        if not found:
            raise OutputError("the list of hosts is empty: write one host or URL a line")
        fixed = _fix_layout(storage, partitions or count_partitions(found), partitions)
        listed = HostList(f"lists/{found}-{total:016x}", found, fixed)
        if storage.read(f"{listed.folder}/list.json") is None:
            _write_list(storage, listed, buckets, Path(folder))
    return listed


def load_list(storage: Storage, folder: str) -> HostList:
    """Return a list that `plan` has written; raise OutputError if it is not there."""
    content = storage.read_json(f"{folder}/list.json", hosts=int)
    if content is None:
        raise OutputError(f"{storage.output} has no {folder}: give the list of hosts")
    if not is_partition_count(content.get("partitions")):
        raise OutputError(f"{storage.output}/{folder}/list.json is damaged: choose another output")
    return HostList(folder, content["hosts"], content["partitions"])


def read_partition_hosts(storage: Storage, listed: HostList, partition: int) -> list[str]:
    """Return the hosts of a partition, grouped by registrable domain."""
    path = name_list_file(listed.folder, partition, listed.partitions)
    with storage.open(path) as file:
        try:
            rows = pq.read_table(
                file,
                schema=LIST_SCHEMA,
                columns=["site"],
                filters=[("partition", "=", partition)],
            )
            sites: list[str] = rows["site"].to_pylist()
        except (OSError, pa.ArrowException, LookupError, ValueError) as error:
            raise OutputError(
                f"{storage.output}/{path} cannot be read ({error}): run the same again, or choose "
                "another output"
            ) from None
    return sites


def count_layout_partitions(storage: Storage) -> int | None:
    """Return how many partitions an output has; `None` if there is no output yet."""
    layout = storage.read_json(LAYOUT)
    if layout is None:
        return None
    if layout.get("version") != 1 or not is_partition_count(layout.get("partitions")):
        raise OutputError(
            f"{storage.output}/{LAYOUT} is not of this version: choose another output"
        )
    partitions: int = layout["partitions"]
    return partitions


def _fix_layout(storage: Storage, suggested: int, wanted: int | None) -> int:
    """Return the number of partitions of the output; fix the suggested one if new."""
    write = write_json({"version": 1, "partitions": suggested})
    if count_layout_partitions(storage) is None:
        storage.create(LAYOUT, write)  # another process may be first
    partitions = count_layout_partitions(storage)
    if partitions is None or (wanted is not None and partitions != wanted):
        raise OutputError(
            f"{storage.output} has {partitions} partitions, which cannot be changed: leave "
            "`partitions` out, or choose another output"
        )
    return partitions


def _read_hosts(hosts: str | Path | Iterable[str]) -> Iterator[str]:
    if isinstance(hosts, (str, Path)):
        yield from _clean_hosts(_read_lines(str(hosts)))
    else:
        yield from _clean_hosts(hosts)


def _read_lines(path: str) -> Iterator[str]:
    try:
        with fsspec.open(
            path, "rt", encoding="utf-8-sig", errors="replace", compression="infer"
        ) as file:
            yield from file
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # each decompressor has errors of its own
        raise OutputError(f"{path} cannot be read to its end: {error}") from None


def _clean_hosts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = _COMMENT.sub("", " ".join(line.split()))[: MAX_URL_CHARS + 1]
        text = text.encode("utf-8", "replace").decode()
        if text:
            # A login would be written into the output, and its host has another name in outcomes.
            yield name_site(text) if "@" in text else text


def _fill_buckets(hosts: Iterable[str], buckets: list[Path]) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="utf-8")) for path in buckets]
        for host in hosts:
            url = make_url(host)
            hashed = hash_site(url)
            files[choose_partition(hashed, LIST_FILES)].write(f"{hashed:016x}\t{host}\n")


def make_url(host: str) -> str:
    """Return the URL of a line of a list: https, unless it says something else."""
    return host if has_web_scheme(host) else f"https://{host}"


def _sort_bucket(bucket: Path) -> tuple[int, int]:
    """Sort the lines of a file, drop repeats; return their number and their sum."""
    rows: dict[str, tuple[str, str]] = {}
    with bucket.open(encoding="utf-8") as file:
        for line in file:
            hashed, _, host = line.rstrip("\n").partition("\t")
            rows.setdefault(url_key(make_url(host)), (hashed, host))
    lines = sorted(rows.values())
    with bucket.open("w", encoding="utf-8") as file:
        file.writelines(f"{hashed}\t{host}\n" for hashed, host in lines)
    return len(rows), sum(hash_text(key) for key in rows) % 2**64


def _write_list(storage: Storage, listed: HostList, buckets: list[Path], folder: Path) -> None:
    """Write the files of a list, then the file that says they are complete."""
    files = min(listed.partitions, LIST_FILES)
    each = LIST_FILES // files
    for number in range(files):
        local = folder / "list.parquet"
        with pq.ParquetWriter(local, LIST_SCHEMA, compression="zstd") as writer:
            for bucket in buckets[number * each : (number + 1) * each]:
                _append_rows(writer, bucket, listed.partitions)
        storage.upload(local, f"{listed.folder}/{number:02x}.parquet")
    content = {"hosts": listed.hosts, "partitions": listed.partitions}
    storage.create(f"{listed.folder}/list.json", write_json(content))


def _append_rows(writer: pq.ParquetWriter, bucket: Path, partitions: int) -> None:
    with bucket.open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    table = pa.table(
        {
            "partition": pa.array(
                [choose_partition(int(hashed, 16), partitions) for hashed, _ in rows], pa.int32()
            ),
            "site": [host for _, host in rows],
        },
        LIST_SCHEMA,
    )
    writer.write_table(table, row_group_size=_ROWS_PER_GROUP)
