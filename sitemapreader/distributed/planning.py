"""The planning of runs: the lists of hosts of an output, and the runs over them."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
import zlib
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import fsspec

from sitemapreader import SiteTask
from sitemapreader._bytes.lines import iterate_lines
from sitemapreader._types.counts import count_units
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._types.urls import has_web_scheme, host_of, site_of, trim, url_key
from sitemapreader.distributed.options import RUN_ARGUMENTS, ScaleOptions
from sitemapreader.distributed.storage import RUN, SUCCESS, OutputError, Storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HOSTS_PER_PARTITION = 2_000
_FEWEST_HOSTS = 64
"""Approximate hosts of a partition in a small list: one process reads this many at once."""
_FEWEST_PARTITIONS = 16
"""Partitions of a list that has enough hosts, so that a few cores have work."""
MAX_PARTITIONS = 65_536
LIST_FILES = 256
"""Largest number of files of a list; a worker reads one file for each partition in it."""
_HOSTS_PIECE_BYTES = 65_536
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


def check_partitions(value: Any) -> int:
    """Return a valid number of partitions; raise ValueError for other values."""
    is_power = isinstance(value, int) and value.bit_count() == 1
    if is_power and 1 <= value <= MAX_PARTITIONS:
        return int(value)
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
    partitions = max(
        1,
        min(hosts // _FEWEST_HOSTS, _FEWEST_PARTITIONS),
        -(-hosts // HOSTS_PER_PARTITION),
    )
    return min(1 << (partitions - 1).bit_length(), MAX_PARTITIONS)


def write_list(
    storage: Storage,
    hosts: str | Path | Iterable[str],
    partitions: int | None,
) -> dict[str, Any]:
    """Write a list of hosts by partition; return its fields of a `ScaleRun`."""
    if isinstance(hosts, (str, Path)):
        lines: Iterable[str] = _read_hosts(str(hosts))
    else:
        lines = hosts
    with tempfile.TemporaryDirectory(prefix="sitemapreader-plan-") as folder:
        buckets = [Path(folder, f"{number:02x}") for number in range(LIST_FILES)]
        count, checksum = _fill_buckets(_clean_hosts(lines), buckets)
        if not count:
            raise OutputError(
                "the list of hosts is empty: write one host or URL a line"
            )
        partitions = partitions or count_partitions(count)
        listed = f"lists/{count}-{checksum % 2**64:016x}-{partitions}"
        existing = storage.list(listed)
        buckets_per_file = max(1, LIST_FILES // partitions)
        for number, start in enumerate(range(0, LIST_FILES, buckets_per_file)):
            name = f"{number:02x}.gz"
            if name not in existing:
                # gzip files, joined together, are one gzip file
                part = buckets[start : start + buckets_per_file]
                content = b"".join(path.read_bytes() for path in part)
                storage.create(f"{listed}/{name}", content)
    return {"listed": listed, "hosts": count, "partitions": partitions}


def read_partition_hosts(
    storage: Storage,
    run: ScaleRun,
    partition: int,
) -> list[str]:
    """Return the hosts of a partition, each once, grouped by registrable domain."""
    files = min(run.partitions, LIST_FILES)
    path = f"{run.listed}/{partition * files // run.partitions:02x}.gz"
    try:
        lines = gzip.decompress(storage.read(path) or b"?").decode().splitlines()
        sites: list[tuple[str, str]] = []
        for line in lines:
            hashed, site = line.split("\t")
            if choose_partition(hashed, run.partitions) == partition:
                sites.append((hashed, site))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise OutputError(
            f"{storage.output}/{path} cannot be read ({error}): run the same again, or choose "
            "another output"
        ) from None
    unique = {url_key(make_url(site)): site for _, site in sorted(sites)}
    return list(unique.values())


def make_url(host: str) -> str:
    """Return the URL of a line of a list; a host without a scheme gets https."""
    if has_web_scheme(host):
        return host
    return f"https://{host}"


def _read_hosts(path: str) -> Iterator[str]:
    try:
        with fsspec.open(path, "rb", compression="infer") as file:
            pieces = iter(partial(file.read, _HOSTS_PIECE_BYTES), b"")
            yield from iterate_lines(pieces, MAX_URL_CHARS + 1)
    except Exception as error:  # each decompressor has its own errors
        raise OutputError(f"{path} cannot be read to its end: {error}") from None


def _clean_hosts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = _COMMENT.sub("", " ".join(trim(line).split()))
        host = text[: MAX_URL_CHARS + 1].encode("utf-8", "replace").decode()
        if "@" in host:
            # A login would be written into the output, and outcomes name the host without it.
            host = SiteTask(host).outcome_name
        if host:
            yield host


def _fill_buckets(hosts: Iterable[str], buckets: list[Path]) -> tuple[int, int]:
    """Write hosts into files by their hash; return their number and a checksum."""
    count = 0
    checksum = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(gzip.open(path, "wt", 1, "utf-8")) for path in buckets
        ]
        for host in hosts:
            url = make_url(host)
            hashed = hash_site(url)
            file = files[choose_partition(hashed, LIST_FILES)]
            file.write(f"{hashed}\t{host}\n")
            count += 1
            checksum += int(_hash_text(url_key(url)), 16)
    return count, checksum


# -- runs


@attrs.frozen(kw_only=True)
class ScaleRun:
    """The facts that all workers of a run share; its `run.json` never changes.

    Attributes:
        folder: its folder in the output; ends with its number.
        listed: the folder of its list, named by a hash of the hosts, so that it is written once.
        hosts: how many lines the list has.
        partitions: how many partitions the output has.
        options: how hosts are read.
        full: whether it forgets the state: every URL is read and delivered again.
        retry: whether it reads hosts that are not due yet, because they failed.
        only_failed: whether it reads nothing but the hosts that were not read completely.
        begun: the moment when it began, as text.
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
    only_failed: bool = False
    begun: str = ""

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


@answer_keywords(RUN_ARGUMENTS)
def begin_run(
    output: str,
    hosts: str | Path | Iterable[str] | None = None,
    options: ScaleOptions = ScaleOptions(),  # noqa: B008 (a frozen value)
    *,
    partitions: int | None = None,
    full: bool = False,
    retry: bool = False,
    only_failed: bool = False,
) -> ScaleRun:
    """Return the run that is not finished, or begin the next one.

    Workers that call this at the same time get the same run. An unfinished run continues with the
    arguments with which it began.

    Args:
        output: a folder, or a URL that fsspec knows.
        hosts: hosts or URLs, or a file of them, one a line, with `#` comments; any URL that fsspec
            opens, compressed or not. A host that is named twice is read once. Logins are removed.
            `None` for the list of the run before.
        options: how hosts are read.
        partitions: a power of two; by default about one for 2,000 hosts. The first run fixes it,
            because the state of a host is stored there.
        full: forget the state.
        retry: read also hosts that are not due.
        only_failed: read nothing but the hosts that the run before did not read completely, due or
            not, and those that it did not have.

    Raises OutputError for a list that cannot be read, an output that cannot hold it, and one whose
    run is not finished and has another list; ValueError for a number of partitions that makes no
    sense; OSError from the storage.
    """
    storage = Storage(output)
    last = find_last(storage)
    if partitions is not None:
        check_partitions(partitions)
    if last is not None:
        if partitions not in {None, last.partitions}:
            raise OutputError(
                f"{storage.output} has {count_units(last.partitions, 'partitions')}, which "
                "cannot be changed: leave `partitions` out, or choose another output"
            )
        partitions = last.partitions
    if hosts is not None:
        listed = write_list(storage, hosts, partitions)
    elif last:
        names = ("listed", "hosts", "partitions")
        listed = {name: getattr(last, name) for name in names}
    else:
        raise OutputError(f"{storage.output} has no list of hosts yet: name one")
    if last and storage.read(SUCCESS.format(run=last.folder)) is None:
        if listed["listed"] != last.listed:
            raise OutputError(
                f"{last.folder} in {storage.output} is not finished and has another list of hosts: "
                "finish it first, without a list, then pass the new list"
            )
        return last
    number = 1
    if last is not None:
        number = last.number + 1
    folder = RUN.format(number)
    content = listed | {
        "full": full,
        "retry": retry,
        "only_failed": only_failed,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": options.to_json(),
    }
    # another worker may create the file first
    storage.create(f"{folder}/run.json", json.dumps(content, indent=1).encode())
    return load_run(storage, folder)


def find_dropped_options(output: str, run: ScaleRun) -> dict[str, Any]:
    """Return the options of fetching that only the run before had, and their values there."""
    if run.previous is None:
        return {}
    before = _find_run(Storage(output), run.previous)
    if before is None:
        return {}
    present = run.options.to_json()["fetch"]
    former = before.options.to_json()["fetch"]
    return {name: value for name, value in former.items() if name not in present}


def find_last(storage: Storage) -> ScaleRun | None:
    """Return the last run that has begun; `None` if there is none."""
    numbers = sorted(int(name) for name in storage.list("runs") if name.isdecimal())
    # The folder of a run may exist before its file does.
    for number in reversed(numbers):
        run = _find_run(storage, RUN.format(number))
        if run is not None:
            return run
    return None


def _find_run(storage: Storage, folder: str) -> ScaleRun | None:
    return storage.load(f"{folder}/run.json", partial(_make_run, folder))


def _make_run(folder: str, content: dict[str, Any]) -> ScaleRun:
    """Return a run from the JSON of its file."""
    options = ScaleOptions.from_json(content.pop("options"))
    return ScaleRun(folder=folder, options=options, **content)


def load_run(storage: Storage, folder: str) -> ScaleRun:
    """Load the `run.json` of a run; raise OutputError if it is missing or invalid."""
    run = _find_run(storage, folder)
    if run is None:
        raise OutputError(
            f"{storage.output} has no {folder}: every worker must reach it, so on several machines "
            "the output is a shared folder or a URL such as s3://bucket/crawl"
        )
    return run
