"""A bounded run of the fuzzer, which by itself is run for a million inputs."""

from __future__ import annotations

from random import Random
from unittest import mock

from sitemapreader._read.stats import ReadStats
from tests.slow.fuzz.target import Fuzzer
from tests.support.scale import SCALE

COUNT = 1_000 * SCALE
MAX_MS = 10_000
"""A busy machine is no fault."""


def test_damaged_documents() -> None:
    """Many damaged documents keep the laws."""
    assert list(Fuzzer(MAX_MS).run(Random(1), COUNT)) == []


def test_the_fuzzer_finds_what_is_wrong() -> None:
    """With a reader that drops an entry in silence, it fails, and gives a small input."""
    count_entries = ReadStats.count_entries

    def miscount(stats: ReadStats, count: int = 1) -> None:
        count_entries(stats, count + (stats.records == 2))

    with mock.patch.object(ReadStats, "count_entries", miscount):
        data, fault = next(Fuzzer(MAX_MS).run(Random(1), 200))
    assert "seen" in fault
    assert len(data) < 1_000
