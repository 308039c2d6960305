"""Lists of hosts on the storage: every host once, a registrable domain in one partition."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pytest

from sitemapreader import FetchOptions, SiteTask
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.distributed.planning import (
    begin_run,
    choose_partition,
    count_partitions,
    find_dropped_options,
    hash_site,
    make_url,
    read_partition_hosts,
)
from sitemapreader.distributed.storage import SUCCESS, OutputError, Storage

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.distributed.planning import ScaleRun


def read_all(output: Path, run: ScaleRun) -> list[list[str]]:
    storage = Storage(str(output))
    return [read_partition_hosts(storage, run, each) for each in range(run.partitions)]


def test_every_host_is_in_one_partition(tmp_path: Path) -> None:
    """Each host is in one partition, which is that of its domain, beside the others of it."""
    hosts = [
        f"{label}.d{number}.co.uk"
        for number in range(300)
        for label in ("www", "shop", "m")
    ]
    random.Random(1).shuffle(hosts)
    for partitions in (1, 64):
        output = tmp_path / str(partitions)
        found = read_all(output, begin_run(str(output), hosts, partitions=partitions))
        assert sorted(chain(*found)) == sorted(hosts)
        domains = [host.split(".")[1] for part in found for host in part]
        assert sum(one != other for one, other in pairwise(domains)) == 299


def test_more_partitions_than_files(tmp_path: Path) -> None:
    """Several of many partitions are in one file of the list, each with its own hosts."""
    output, hosts = str(tmp_path), [f"d{number}.example" for number in range(9)]
    run = begin_run(output, hosts, partitions=1_024)
    assert len(Storage(output).list(run.listed)) == 256
    chosen = {choose_partition(hash_site(make_url(host)), 1_024) for host in hosts}
    parts = [read_partition_hosts(Storage(output), run, each) for each in chosen]
    assert sorted(chain(*parts)) == hosts
    assert len(chosen) > 5


def test_a_host_named_twice_counts_once(tmp_path: Path) -> None:
    """Spellings of one URL are one host; http and https are two, and so are two paths."""
    hosts = [
        "EXAMPLE.org",
        "https://example.org/",
        "example.org:443",
        "http://example.org/",
        "a.b",
    ]
    run = begin_run(str(tmp_path), [*hosts, "https://example.org/blog/"])
    assert len(list(chain(*read_all(tmp_path, run)))) == 4


def test_a_login_is_not_written_into_the_output(tmp_path: Path) -> None:
    """A host with a login is listed without it, under the name that its outcome has."""
    hosts = [
        "https://u:secret@example.org/",
        "u:secret@example.net",
        "http://u:secret@[::1",
    ]
    run = begin_run(str(tmp_path), hosts)
    names = ["example.net", "http://[::1", "https://example.org/"]
    assert sorted(chain(*read_all(tmp_path, run))) == names
    assert [SiteTask(name).outcome_name for name in names] == names


def test_hosts_stay_where_they_are(tmp_path: Path) -> None:
    """In every version a host lies in the same partition, beside its state, of the same list."""
    run = begin_run(
        str(tmp_path), [f"{letter}.example" for letter in "abcdefgh"], partitions=4
    )
    assert run.listed == "lists/8-eae20c7e65ba6245-4"
    assert ["".join(host[0] for host in part) for part in read_all(tmp_path, run)] == [
        "fe", "c", "ghd", "ab"
    ]  # fmt: skip


def test_the_same_list_is_written_once(tmp_path: Path) -> None:
    """The order of a list makes no difference to where it lies; a host more does."""
    hosts = [f"www.d{number}.com" for number in range(50)]
    first = begin_run(str(tmp_path), hosts)
    assert first.previous is None
    assert begin_run(str(tmp_path), hosts[::-1]) == first
    with pytest.raises(OutputError, match="has another list"):
        begin_run(str(tmp_path), [*hosts, "one.more"])


def test_the_number_of_partitions_never_changes(tmp_path: Path) -> None:
    """State lies by partition, so a longer list keeps them, and another number is refused."""
    run = begin_run(str(tmp_path), ["a.example"], partitions=4)
    Storage(str(tmp_path)).create(f"{run.folder}/_SUCCESS.json", b"{}")
    hosts = [f"d{number}.com" for number in range(5_000)]
    assert begin_run(str(tmp_path), hosts).partitions == 4
    with pytest.raises(OutputError, match="cannot be changed"):
        begin_run(str(tmp_path), hosts, partitions=8)


def test_an_impossible_output_is_refused(tmp_path: Path) -> None:
    """Only powers of two up to 65,536 are taken, and lists with a host; else nothing is written."""
    for partitions in (0, 3, -4, 1 << 20):
        with pytest.raises(ValueError, match="power of two"):
            begin_run(str(tmp_path / "out"), ["example.org"], partitions=partitions)
    with pytest.raises(OutputError, match="empty"):
        begin_run(str(tmp_path / "out"), ["# nothing", ""])
    assert not (tmp_path / "out").exists()


TEXT = "".join(f"d{number}.com\n" for number in range(1_000)).encode()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("gz", gzip.compress(TEXT)),
        pytest.param("xz", lzma.compress(TEXT), marks=pytest.mark.slow),
        pytest.param("bz2", bz2.compress(TEXT), marks=pytest.mark.slow),
    ],
)
def test_a_damaged_list_is_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    """A compressed list that is cut, or has a wrong bit, makes no output and says so."""
    path, output = tmp_path / f"hosts.{suffix}", tmp_path / "out"
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 0xFF
    for wrong in (content[: len(content) // 2], bytes(damaged)):
        path.write_bytes(wrong)
        with pytest.raises(OutputError, match="cannot be read to its end"):
            begin_run(str(output), path)
        assert not output.exists()
    path.write_bytes(content)
    assert begin_run(str(output), path).hosts == 1_000


@pytest.mark.parametrize(
    ("hosts", "partitions"),
    [
        (1, 1),
        (127, 1),
        (128, 2),
        (191, 2),
        (192, 4),
        (1_023, 16),
        (1_024, 16),
        (32_000, 16),
        (32_001, 32),
        (64_001, 64),
        (10**9, 65_536),
    ],
)
def test_how_many_partitions_suit_a_list(hosts: int, partitions: int) -> None:
    """Each has 64 hosts at least, up to 16 of them; then 2,000 at most."""
    assert count_partitions(hosts) == partitions


def test_options_that_only_the_run_before_had_are_told(tmp_path: Path) -> None:
    """The first run has none before it; of the next, what is not given again is told."""
    output, storage = str(tmp_path), Storage(str(tmp_path))
    known = ScaleOptions(fetch=FetchOptions(user_agent="me/1", per_host=3))
    first = begin_run(output, ["a.example"], known)
    assert (first.number, first.previous) == (1, None)
    assert (first.full, first.retry, first.only_failed) == (False, False, False)
    assert find_dropped_options(output, first) == {}
    storage.create(SUCCESS.format(run=first.folder), b"")
    agent = FetchOptions(user_agent="me/2")
    second = begin_run(output, None, ScaleOptions(fetch=agent))
    assert (second.number, second.previous) == (2, first.folder)
    assert find_dropped_options(output, second) == {"per_host": 3}
    assert begin_run(output) == second
