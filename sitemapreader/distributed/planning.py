"""The planning of runs: the lists of hosts of an output, and the runs over them."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
import zlib
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import fsspec

from sitemapreader import SiteTask
from sitemapreader._bytes.lines import iterate_lines
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._types.urls import has_web_scheme, host_of, site_of, trim, url_key
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.storage import RUN, SUCCESS, OutputError, Storage

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
_HOSTS_PIECE_BYTES = 65_536
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


def check_partitions(value: Any) -> int:
    """Return a number of partitions; raise ValueError if that cannot be."""
    if (
        isinstance(value, int)
        and 1 <= value <= MAX_PARTITIONS
        and value.bit_count() == 1
    ):
        return value
    raise ValueError(
        f"partitions must be a power of two up to {MAX_PARTITIONS}, got {value!r}"
    )


def hash_site(url: str) -> str:
    """Return 16 digits for the registrable domain of a URL, the same on every machine."""
    return _hash_text(site_of(host_of(url)) or url)


def _hash_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def choose_partition(hashed: str, partitions: int) -> int:
    """Return the partition of a hash: its first bits, so that partitions sort by hash."""
    return int(hashed[:4], 16) * partitions // MAX_PARTITIONS


def count_partitions(hosts: int) -> int:
    """Return how many partitions suit this many hosts: a power of two."""
    few = min(hosts // _FEWEST_HOSTS, _FEWEST_PARTITIONS)
    wanted = max(1, -(-hosts // HOSTS_PER_PARTITION), few)
    return min(1 << (wanted - 1).bit_length(), MAX_PARTITIONS)


def write_list(
    storage: Storage, hosts: str | Path | Iterable[str], partitions: int | None
) -> dict[str, Any]:
    """Write a list of hosts by partition; return its fields of a `ScaleRun`."""
    lines = _read_hosts(str(hosts)) if isinstance(hosts, (str, Path)) else hosts
    with tempfile.TemporaryDirectory(prefix="sitemapreader-plan-") as folder:
        buckets = [Path(folder, f"{number:02x}") for number in range(LIST_FILES)]
        found, total = _fill_buckets(_clean_hosts(lines), buckets)
        if not found:
            raise OutputError(
                "the list of hosts is empty: write one host or URL a line"
            )
        partitions = partitions or count_partitions(found)
        listed = f"lists/{found}-{total % 2**64:016x}-{partitions}"
        there = storage.list(listed)
        files = min(partitions, LIST_FILES)
        each = LIST_FILES // files
        for number in range(files):
            if (name := f"{number:02x}.gz") not in there:
                pieces = (path.read_bytes() for path in buckets[number * each :][:each])
                # gzip takes one file after the other as one
                storage.create(f"{listed}/{name}", b"".join(pieces))
    return {"listed": listed, "hosts": found, "partitions": partitions}


def read_partition_hosts(storage: Storage, run: ScaleRun, partition: int) -> list[str]:
    """Return the hosts of a partition, each once, grouped by registrable domain."""
    files = min(run.partitions, LIST_FILES)
    path = f"{run.listed}/{partition * files // run.partitions:02x}.gz"
    try:
        lines = gzip.decompress(storage.read(path) or b"?").decode().splitlines()
        pairs = (
            (hashed, site) for hashed, site in (line.split("\t") for line in lines)
        )
        here = sorted(
            p for p in pairs if choose_partition(p[0], run.partitions) == partition
        )
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise OutputError(
            f"{storage.output}/{path} cannot be read ({error}): run the same again, or choose "
            "another output"
        ) from None
    return list({url_key(make_url(site)): site for _, site in here}.values())


def make_url(host: str) -> str:
    """Return the URL of a line of a list: https, unless it says something else."""
    if has_web_scheme(host):
        return host
    return f"https://{host}"


def _read_hosts(path: str) -> Iterator[str]:
    try:
        with fsspec.open(path, "rb", compression="infer") as file:
            yield from iterate_lines(
                iter(partial(file.read, _HOSTS_PIECE_BYTES), b""), MAX_URL_CHARS + 1
            )
    except Exception as error:  # each decompressor has errors of its own
        raise OutputError(f"{path} cannot be read to its end: {error}") from None


def _clean_hosts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = _COMMENT.sub("", " ".join(trim(line).split()))[: MAX_URL_CHARS + 1]
        text = text.encode("utf-8", "replace").decode()
        if text:
            # A login would be written into the output, and its host has another name in outcomes.
            yield SiteTask(text).outcome_name if "@" in text else text


def _fill_buckets(hosts: Iterable[str], buckets: list[Path]) -> tuple[int, int]:
    """Write hosts into files by their hash; return their number and sum."""
    found = total = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(gzip.open(each, "wt", 1, "utf-8")) for each in buckets
        ]
        for host in hosts:
            hashed = hash_site(make_url(host))
            files[choose_partition(hashed, LIST_FILES)].write(f"{hashed}\t{host}\n")
            found = found + 1
            total = total + int(_hash_text(url_key(make_url(host))), 16)
    return found, total


# -- runs


@attrs.frozen(kw_only=True)
class ScaleRun:
    """The facts that all workers of a run share; its `run.json` never changes.

    Attributes:
        folder: its folder in the output; ends with its number.
        listed: the folder of its list, named by what that holds, so that it is written once.
        hosts: how many lines the list has.
        partitions: how many partitions the output has.
        options: how they are read.
        full: whether it forgets the state: every URL is read and delivered again.
        retry: whether it reads hosts that are not due yet, because they failed.
    """

    folder: str
    listed: str = attrs.field(
        validator=attrs.validators.matches_re(r"lists/[0-9a-f-]+")
    )
    hosts: int = attrs.field(validator=attrs.validators.instance_of(int))
    partitions: int = attrs.field(converter=check_partitions)
    options: ScaleOptions
    full: bool = False
    retry: bool = False

    @property
    def number(self) -> int:
        """1 for the first run of an output."""
        return int(self.folder.rpartition("/")[2])

    @property
    def previous(self) -> str | None:
        """Folder of the run before, which this one continues; `None` of the first."""
        if self.number > 1:
            return RUN.format(self.number - 1)
        return None


def begin_run(
    output: str,
    hosts: str | Path | Iterable[str] | None = None,
    options: ScaleOptions = ScaleOptions(),  # noqa: B008 (a frozen value)
    *,
    partitions: int | None = None,
    full: bool = False,
    retry: bool = False,
) -> ScaleRun:
    """Return the run that is not finished, or begin the next one.

    Workers that call this at the same time get the same run. One that is not finished continues as
    it began: the other arguments are for a new one.

    Args:
        output: a folder, or a URL that fsspec knows.
        hosts: hosts or URLs, or a file of them, one a line, with `#` comments; any URL that fsspec
            opens, compressed or not. One that is named twice is read once. Logins are left out.
            `None` for the list of the run before.
        options: how hosts are read.
        partitions: a power of two; by default about one for 2,000 hosts. The first run fixes it,
            because the state of a host is stored there.
        full: forget the state.
        retry: read also hosts that are not due.

    Raises OutputError for a list that cannot be read, an output that cannot hold it, and one whose
    run is not finished and has another list; ValueError for a number of partitions that makes no
    sense; OSError from the storage.
    """
    storage = Storage(output)
    last = find_last(storage)
    fixed = last.partitions if last else partitions
    if partitions is not None and check_partitions(partitions) != fixed:
        raise OutputError(
            f"{storage.output} has {fixed} partitions, which cannot be changed: leave "
            "`partitions` out, or choose another output"
        )
    if hosts is not None:
        listed = write_list(storage, hosts, fixed)
    elif last:
        listed = {
            name: getattr(last, name) for name in ("listed", "hosts", "partitions")
        }
    else:
        raise OutputError(f"{storage.output} has no list of hosts yet: name one")
    if last and storage.read(SUCCESS.format(run=last.folder)) is None:
        if listed["listed"] != last.listed:
            raise OutputError(
                f"{last.folder} in {storage.output} is not finished and has another list of hosts: "
                "finish it first, without a list, then pass the new list"
            )
        return last
    folder = RUN.format(last.number + 1 if last else 1)
    content = listed | {"full": full, "retry": retry, "options": options.to_json()}
    # another worker may be first
    storage.create(f"{folder}/run.json", json.dumps(content, indent=1).encode())
    return load_run(storage, folder)


def find_last(storage: Storage) -> ScaleRun | None:
    """Return the last run that has begun; `None` if there is none."""
    numbers = sorted(int(name) for name in storage.list("runs") if name.isdecimal())
    # The folder of one that is beginning may be there before its file is.
    begun = (_find_run(storage, RUN.format(number)) for number in reversed(numbers))
    return next(filter(None, begun), None)


def _find_run(storage: Storage, folder: str) -> ScaleRun | None:
    def make(said: dict[str, Any]) -> ScaleRun:
        options = ScaleOptions.from_json(said.pop("options"))
        return ScaleRun(folder=folder, options=options, **said)

    return storage.load(f"{folder}/run.json", make)


def load_run(storage: Storage, folder: str) -> ScaleRun:
    """Load the `run.json` of a run; raise OutputError if it is missing or invalid."""
    run = _find_run(storage, folder)
    if run is None:
        raise OutputError(
            f"{storage.output} has no {folder}: every worker must reach it, so on several machines "
            "the output is a shared folder or a URL such as s3://bucket/crawl"
        )
    return run
