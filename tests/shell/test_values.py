"""Values of options: what is read from each text, up to its bounds, and what is refused."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader._cli import types

if TYPE_CHECKING:
    from collections.abc import Callable

END_OF_JANUARY = datetime(2026, 2, 1, tzinfo=UTC) - timedelta.resolution
READ: dict[Callable[[str], Any], dict[str, Any]] = {
    types.parse_until_option: {
        "2026-01-31": END_OF_JANUARY,
        "2026-01": END_OF_JANUARY,
        "2026": datetime(2027, 1, 1, tzinfo=UTC) - timedelta.resolution,
        "2026-01-31T12:00:00Z": datetime(2026, 1, 31, 12, tzinfo=UTC),
    },
    types.parse_duration: {
        "90": timedelta(seconds=90),
        "0.5s": timedelta(seconds=0.5),
        "30m": timedelta(minutes=30),
        "2d": timedelta(days=2),
        "1w": timedelta(days=7),
    },
    types.parse_patience: {"0": timedelta(0), "1": timedelta(seconds=1)},
    types.parse_whole_number: {"1": 1, "999999999999999": 999_999_999_999_999},
    types.parse_depth: {"1": 1, str(types.MAX_DEPTH): types.MAX_DEPTH},
    types.parse_seconds: {"0.001": 0.001, "1e300": 1e300},
    types.parse_delay: {"0": 0.0, "1e300": 1e300},
    types.parse_pages: {"all": "all", "0": 0, "999999999999999": 999_999_999_999_999},
    types.parse_ports: {
        "1": range(1, 2),
        "65535": range(65_535, 65_536),
        "8000-8009": range(8_000, 8_010),
        "80-80": range(80, 81),
    },
    types.parse_shard: {"1/1": (0, 1), "1/16": (0, 16), "16/16": (15, 16)},
    types.parse_header: {"a:b:c": ("a", "b:c"), " a : b ": ("a", "b"), "a:": ("a", "")},
    types.parse_pair: {"a=b=c": ("a", "b=c")},
    types.parse_proxy: {
        "a.example": "http://a.example",
        "https://a.example": "https://a.example",
        "environment": "environment",
    },
    types.parse_file: {"a": "a", "a/file:b": "a/file:b", "-": "-"},
}
REFUSED: dict[Callable[[str], Any], list[str]] = {
    types.parse_until_option: ["yesterday", "", "2026-13"],
    types.parse_duration: ["0", "0s", "-5", "", "m", "1e999", "nan", "1y"],
    types.parse_patience: ["00", "-1"],
    types.parse_whole_number: ["0", "-1", "1000000000000000", "1.5", ""],
    types.parse_depth: ["0", str(types.MAX_DEPTH + 1)],
    types.parse_seconds: ["0", "inf", "nan", "-1"],
    types.parse_delay: ["-0.001", "inf", "nan"],
    types.parse_pages: ["-1", "1000000000000000", "some"],
    types.parse_ports: ["0", "65536", "65535-65536", "9-8", "0-9", "a", "-"],
    types.parse_shard: ["3", "17/16", "0/3", "1/0", "/3", "3/"],
    types.parse_header: ["a", ": b", " : b", "a: b\nc: d"],
    types.parse_pair: ["a", "a=", "=b", ""],
    types.parse_base_url: ["a.example", "ftp://a.example/", "https://"],
    types.parse_file: ["", "file:a", "file:///a", "https://a.example/b"],
}


@pytest.mark.cases(30)
@pytest.mark.parametrize("parse", READ, ids=lambda parse: parse.__qualname__)
def test_what_is_read(parse: Callable[[str], Any], subtests: pytest.Subtests) -> None:
    """Each text is read as what it means, also the smallest and the largest one."""
    for text, value in READ[parse].items():
        with subtests.test(text):
            assert parse(text) == value


@pytest.mark.cases(30)
@pytest.mark.parametrize("parse", REFUSED, ids=lambda parse: parse.__qualname__)
def test_what_is_refused(
    parse: Callable[[str], Any], subtests: pytest.Subtests
) -> None:
    """What lies beyond a bound, or is another thing, is refused with what to write."""
    for text in REFUSED[parse]:
        with (
            subtests.test(text),
            pytest.raises(ArgumentTypeError, match=r"write|header|must"),
        ):
            parse(text)
