"""Progress and results at one terminal: the bar makes room only for what is shown there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from commands import serving

pytest.importorskip("pty", reason="no pseudo-terminals: run it on Linux or macOS")
from test_cli_terminal import answer_slowly, sitting_at

if TYPE_CHECKING:
    from pathlib import Path

CLEARED = re.compile(r"\r {20,}\r")
END = r"1000 URLs; documents: 12 complete"


@pytest.mark.parametrize("stdout", [True, False], ids=["terminal", "pipe"])
@pytest.mark.slow
def test_the_bar_stays_where_results_go_elsewhere(tmp_path: Path, stdout: bool) -> None:
    """With -o FILE, or a pipe, the bar is taken away once, at the end."""
    output = tmp_path / "urls.txt"
    words = ["-o", str(output)] if stdout else []
    with serving(answer_slowly) as (url,), sitting_at(url, *words, stdout=stdout) as seat:
        terminal, process = seat
        if process.stdout is not None:
            assert len(process.stdout.read().split()) == 1000
        text = terminal.watch(until=END)
        assert process.wait(60) == 0
    assert len(re.findall(r" documents \|", text)) >= 3
    assert len(CLEARED.findall(text)) <= 2, repr(text)
    if stdout:
        assert len(output.read_text("utf-8").split()) == 1000


@pytest.mark.slow
def test_the_bar_makes_room_for_results() -> None:
    """With the URLs at the same terminal it is taken away for each batch of them."""
    with serving(answer_slowly) as (url,), sitting_at(url, stdout=True) as (terminal, process):
        text = terminal.watch(until=END)
        assert process.wait(60) == 0
    assert len(CLEARED.findall(text)) > 3
