"""Entries by date: since and until in every kind of moment, and what is said of those kept."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import commands
import pytest
from walking import ROBOTS, Pages, urlset, walk_all

from sitemapreader import UrlEntry, read, walk

if TYPE_CHECKING:
    from pathlib import Path

TOP = "https://example.org/sitemap.xml"
NOW = datetime.now(UTC)
DAYS = {
    "old": "2019-12-31",
    "eve": "2020-01-30T23:59:00Z",
    "day": "2020-01-31",
    "noon": "2020-01-31T12:00:00Z",
    "next": "2020-02-01T00:00:00Z",
    "yesterday": (NOW - timedelta(days=1)).isoformat(),
    "future": (NOW + timedelta(days=40)).isoformat(),
}
BODY = urlset(
    *((f"https://example.org/{name}", day) for name, day in DAYS.items()),
    "https://example.org/undated",
)
PAGES: Pages = {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: BODY}


def names(locs: list[str]) -> list[str]:
    return [loc.rpartition("/")[2] for loc in locs]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"since": date(2020, 1, 31)}, "day noon next yesterday future undated"),
        ({"since": datetime(2020, 1, 31, 11)}, "day noon next yesterday future undated"),  # noqa: DTZ001
        ({"since": timedelta(days=7)}, "yesterday future undated"),
        ({"until": date(2020, 1, 31)}, "old eve day noon undated"),
        ({"until": datetime(2020, 1, 31, tzinfo=UTC)}, "old eve day undated"),
        ({"until": timedelta(days=7)}, "old eve day noon next undated"),
        ({"until": timedelta(0), "undated": "drop"}, "old eve day noon next yesterday"),
        ({"since": date(2020, 1, 31), "until": date(2020, 1, 31)}, "day noon undated"),
    ],
)
async def test_since_and_until(arguments: dict[str, Any], expected: str) -> None:
    """A moment, a day in UTC, or a time before now bounds the dates on either side."""
    walked = await walk_all(PAGES, **arguments)
    assert names(walked.locs) == expected.split()
    kept = expected.split()
    counts = walked.report.undated, walked.report.future
    assert counts == (kept.count("undated"), kept.count("future"))


async def test_nothing_is_counted_without_them() -> None:
    """Only who asks for dates is told of entries without one."""
    walked = await walk_all(PAGES)
    assert len(walked.locs) == 8
    assert (walked.report.undated, walked.report.future) == (0, 0)


def test_read_takes_the_same_moments() -> None:
    """One document is filtered by a day or a time before now, too."""
    for since in (timedelta(days=7), NOW.date() - timedelta(days=7)):
        entries = [entry.loc for entry in read(BODY, since=since) if isinstance(entry, UrlEntry)]
        assert names(entries) == ["yesterday", "future", "undated"]


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("value", ["2020-01-31", 7, True])
def test_what_is_no_moment(name: str, value: object) -> None:
    """Text and numbers are refused, with what to write instead."""
    arguments: Any = {name: value}
    with pytest.raises(TypeError, match=r"write since=date\(2026, 1, 31\) or since=timedelta"):
        walk("https://example.org/", **arguments)


@pytest.fixture(params=["folder", "file"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "robots.txt").write_bytes(f"Sitemap: {TOP}".encode())
    (tmp_path / "site" / "sitemap.xml").write_bytes(BODY)
    return "site" if request.param == "folder" else "site/sitemap.xml"


@pytest.mark.parametrize(
    ("words", "expected", "said"),
    [
        ("--since 7d", "yesterday future undated", "1 URLs without a date"),
        ("--since 2w --undated drop", "yesterday future", "0 URLs without a date"),
        ("--until 2020-01", "old eve day noon undated", "1 URLs without a date"),
        ("--since 2020-01-31 --until 2020-01-31", "day noon undated", "1 URLs without"),
        ("--until 2019 --undated drop", "old", ""),
        ("", " ".join([*DAYS, "undated"]), ""),
    ],
)
def test_in_the_shell(source: str, tmp_path: Path, words: str, expected: str, said: str) -> None:
    """The summary counts what --since and --until kept without knowing, and in the future."""
    ran = commands.run(source, *words.split(), cwd=tmp_path)
    assert names(ran.stdout.splitlines()) == expected.split()
    lines = [line for line in ran.stderr.splitlines() if "kept by date: " in line]
    assert len(lines) == bool(said)
    if lines:
        future = expected.split().count("future")
        assert said in lines[0]
        assert lines[0].endswith(f"{future} with one in the future")


@pytest.mark.parametrize("word", ["7x", "soon", "7 days"])
def test_a_unit_that_does_not_exist(source: str, tmp_path: Path, word: str) -> None:
    """The message shows every unit."""
    ran = commands.run(source, "--since", word, cwd=tmp_path)
    assert ran.returncode == 2
    assert "(30m, 12h, 7d, 2w)" in ran.stderr
