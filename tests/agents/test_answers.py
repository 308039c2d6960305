"""Answers of the server for agents: the rows that fit, and whether these are all."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if find_spec("mcp") is None:  # an extra; what is tested imports it
    pytest.skip("no mcp: pip install mcp", allow_module_level=True)

from sitemapreader._mcp.memory import SiteMemory
from sitemapreader._mcp.tools import _MAX_ROW_BYTES, ToolAnswer

if TYPE_CHECKING:
    from pathlib import Path

MORE = "there are more rows than fit in the result"


def rows(count: int, chars: int = 1) -> list[dict[str, Any]]:
    """Make rows, each `chars` characters long as JSON."""
    return [{"u": f"{number:0{chars - 9}}"} for number in range(count)]


@pytest.mark.parametrize(
    ("count", "limit", "offset", "taken", "following"),
    [
        (0, 3, 0, (0, 0), None),
        (3, 3, 0, (0, 3), None),
        (4, 3, 0, (0, 3), 3),
        (4, 3, 1, (1, 4), None),
        (9, 3, 3, (3, 6), 6),
        (2, 3, 5, (0, 0), None),
    ],
)
def test_the_rows_that_were_asked_for(
    count: int, limit: int, offset: int, taken: tuple[int, int], following: int | None
) -> None:
    """They begin at the offset, and the answer says where the next ones do, if there are any."""
    listed = rows(count, 12)
    answer = ToolAnswer(site="https://a.example/").fill(listed, limit, offset)
    assert answer.rows == listed[slice(*taken)]
    assert (answer.next_offset, answer.complete) == (following, following is None)
    assert answer.reason == (MORE if following else "")


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_rows_of_any_size(*, more: int, fits: bool) -> None:
    """So many bytes fit in a result, to the byte; what is left out does not count."""
    most = _MAX_ROW_BYTES
    listed: list[Any] = [None, *rows(1, most // 2), None]
    listed += rows(1, most - most // 2 + more)
    answer = ToolAnswer(site="https://a.example/").fill(listed, 9, 0)
    assert (len(answer.rows), answer.complete) == (2 if fits else 1, fits)
    assert answer.next_offset == (None if fits else 1)


@pytest.mark.parametrize(
    ("were_complete", "said"),
    [
        ([True, True], "nothing was read in this call"),
        ([], "nothing was read in this call"),
        (
            [True, False],
            "nothing was read in this call, and the last one did not read all",
        ),
    ],
)
def test_what_an_earlier_call_has_read(were_complete: list[bool], said: str) -> None:
    """An answer from memory is as complete as what was read for it."""
    sites: Any = [SimpleNamespace(complete=each) for each in were_complete]
    answer = ToolAnswer(site="https://a.example/")
    answer.remember(sites)
    assert (answer.reason, answer.complete) == (said, all(were_complete))


def test_the_files_of_a_site(tmp_path: Path) -> None:
    """They have a name that shows the host, is never too long, and is another for each URL."""
    memory = SiteMemory(tmp_path)
    names = [
        memory.find_rows(url).name
        for url in (
            "https://A_b.example/",
            "https://a_b.example:443/#x",
            "http://a_b.example/",
        )
    ]
    assert names[0] == names[1] != names[2]
    assert re.fullmatch(r"a_b\.example-[0-9a-f]{16}\.jsonl", names[0])
    long = memory.find_rows(f"https://{'a' * 63}.example/").name
    assert re.fullmatch(r"a{60}-[0-9a-f]{16}\.jsonl", long)


def test_the_files_of_a_site_in_use_are_kept(tmp_path: Path) -> None:
    """Where too much is remembered they go when the last call that uses them has ended."""
    memory = SiteMemory(tmp_path)
    used, other = (memory.find_rows(f"https://{name}.example/") for name in "ab")
    for number, path in enumerate((used, other), 1):
        path.touch()
        os.truncate(path, 300 * 1024 * 1024)  # a hole, which takes no room
        os.utime(path, (number, number))
    with memory.use(other):  # there is room for one of them, and for it no other goes
        assert (used.exists(), other.exists()) == (False, True)
    used.touch()
    os.truncate(used, 300 * 1024 * 1024)
    os.utime(used, (3, 3))
    with memory.use(used), memory.use(used):
        assert (used.exists(), other.exists()) == (True, False)
    os.truncate(used, 600 * 1024 * 1024)
    with memory.use(used):
        assert not used.exists()
    used.touch()
    with memory.use(used):
        os.truncate(used, 600 * 1024 * 1024)
        with memory.use(other):
            assert used.exists()
    with memory.use(other):
        assert not used.exists()
