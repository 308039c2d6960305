"""The list of hosts of an output, in files by partition."""

from __future__ import annotations

import gzip
import re
import tempfile
import zlib
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import fsspec

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
"""Most files of a list; a worker reads one of them for each partition in it."""
_HASH_BITS = 64
_VERSION = 3
"""Of the layout of an output."""
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


def check_partitions(value: Any) -> int:
    """Return a number of partitions; raise ValueError if that cannot be."""
    if isinstance(value, int) and 1 <= value <= MAX_PARTITIONS and value.bit_count() == 1:
        return value
    raise ValueError(f"partitions must be a power of two up to {MAX_PARTITIONS}, not {value!r}")


@attrs.frozen
class HostList:
    """A list of hosts that lies on the storage.

    Attributes:
        folder: where it lies; named by what it holds, so that the same list is written once.
        hosts: how many lines it has.
        partitions: how many partitions the output has.
    """

    folder: str = attrs.field(validator=attrs.validators.matches_re(r"lists/[0-9a-f-]+"))
    hosts: int = attrs.field(validator=attrs.validators.instance_of(int))
    partitions: int = attrs.field(converter=check_partitions)

    def name_file(self, partition: int) -> str:
        """Return the file that holds the hosts of a partition."""
        files = min(self.partitions, LIST_FILES)
        return f"{self.folder}/{partition * files // self.partitions:02x}.gz"


def hash_site(url: str) -> int:
    """Return 64 bits for the registrable domain of a URL, the same on every machine."""
    return _hash_text(site_of(host_of(url)) or url)


def _hash_text(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=_HASH_BITS // 8).digest(), "big")


def choose_partition(hashed: int, partitions: int) -> int:
    """Return the partition of a hash: its first bits, so that partitions sort by hash."""
    return hashed >> (_HASH_BITS - (partitions.bit_length() - 1))


def count_partitions(hosts: int) -> int:
    """Return how many partitions suit so many hosts: a power of two."""
    few = min(hosts // _FEWEST_HOSTS, _FEWEST_PARTITIONS)
    wanted = max(1, -(-hosts // HOSTS_PER_PARTITION), few)
    return min(1 << (wanted - 1).bit_length(), MAX_PARTITIONS)


def plan(
    hosts: str | Path | Iterable[str], output: str, *, partitions: int | None = None
) -> HostList:
    """Write a list of hosts, by partition; create the layout if there is none.

    Args:
        hosts: hosts or URLs, or a file of them, one a line, with `#` comments; any URL that fsspec
            opens, compressed or not. One that is named twice is read once. Logins are left out.
        output: a folder, or a URL that fsspec knows.
        partitions: a power of two; by default about one for 2,000 hosts. It is fixed when the
            output is made, because the state of a host is stored there.

    Raises OutputError for a file that cannot be read and an output that cannot hold it, ValueError
    for a number of partitions that makes no sense, and OSError from the storage.
    """
    if partitions is not None:
        check_partitions(partitions)
    storage = Storage(output)
    lines = _read_lines(str(hosts)) if isinstance(hosts, (str, Path)) else hosts
    with tempfile.TemporaryDirectory(prefix="sitemapreader-plan-") as folder:
        buckets = [Path(folder, f"{number:02x}") for number in range(LIST_FILES)]
        found, total = _fill_buckets(_clean_hosts(lines), buckets)
        if not found:
            raise OutputError("the list of hosts is empty: write one host or URL a line")
        fixed = _fix_layout(storage, partitions or count_partitions(found))
        if partitions not in (None, fixed):
            raise OutputError(
                f"{storage.output} has {fixed} partitions, which cannot be changed: leave "
                "`partitions` out, or choose another output"
            )
        listed = HostList(f"lists/{found}-{total:016x}", found, fixed)
        if storage.read(f"{listed.folder}/complete") is None:
            _write_list(storage, listed, buckets)
    return listed


def _fix_layout(storage: Storage, suggested: int) -> int:
    """Return the output's number of partitions; fix the suggested one if new."""

    def read(said: Any) -> int:
        if said["version"] != _VERSION:
            path = f"{storage.output}/{LAYOUT}"
            raise OutputError(f"{path} is not of this version: choose another output")
        return check_partitions(said["partitions"])

    storage.create(LAYOUT, write_json({"version": _VERSION, "partitions": suggested}))
    return storage.load(LAYOUT, read) or suggested  # of the first process that was here


def read_partition_hosts(storage: Storage, listed: HostList, partition: int) -> list[str]:
    """Return the hosts of a partition, each once, grouped by registrable domain."""
    path = listed.name_file(partition)
    try:
        lines = gzip.decompress(storage.read(path) or b"?").decode().splitlines()
        found = [(int(hashed, 16), site) for hashed, site in (line.split("\t") for line in lines)]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise OutputError(
            f"{storage.output}/{path} cannot be read ({error}): run the same again, or choose "
            "another output"
        ) from None
    here = sorted(p for p in found if choose_partition(p[0], listed.partitions) == partition)
    return list({url_key(make_url(site)): site for _, site in here}.values())


def make_url(host: str) -> str:
    """Return the URL of a line of a list: https, unless it says something else."""
    return host if has_web_scheme(host) else f"https://{host}"


def _read_lines(path: str) -> Iterator[str]:
    try:
        with fsspec.open(
            path, "rt", encoding="utf-8-sig", errors="replace", compression="infer"
        ) as file:
            yield from file
    except Exception as error:  # each decompressor has errors of its own
        raise OutputError(f"{path} cannot be read to its end: {error}") from None


def _clean_hosts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = _COMMENT.sub("", " ".join(line.split()))[: MAX_URL_CHARS + 1]
        text = text.encode("utf-8", "replace").decode()
        if text:
            # A login would be written into the output, and its host has another name in outcomes.
            yield name_site(text) if "@" in text else text


def _fill_buckets(hosts: Iterable[str], buckets: list[Path]) -> tuple[int, int]:
    """Write hosts into files by their hash; return their number and sum."""
    found = total = 0
    with ExitStack() as stack:
        files = [stack.enter_context(gzip.open(each, "wt", 1, "utf-8")) for each in buckets]
        for host in hosts:
            hashed = hash_site(make_url(host))
            files[choose_partition(hashed, LIST_FILES)].write(f"{hashed:016x}\t{host}\n")
            found, total = found + 1, (total + _hash_text(url_key(make_url(host)))) % 2**_HASH_BITS
    return found, total


def _write_list(storage: Storage, listed: HostList, buckets: list[Path]) -> None:
    """Write the files of a list, then the file that says they are complete."""
    each = LIST_FILES // min(listed.partitions, LIST_FILES)
    for first in range(0, LIST_FILES, each):
        local = buckets[0].with_name("list.gz")  # gzip takes one file after the other as one
        local.write_bytes(b"".join(path.read_bytes() for path in buckets[first : first + each]))
        storage.upload(local, f"{listed.folder}/{first // each:02x}.gz")
    storage.create(f"{listed.folder}/complete", b"")
