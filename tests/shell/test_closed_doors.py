"""Commands in a folder that was removed, and with a standard input that is closed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

NOWHERE = "http://127.0.0.1:9/"


def slow(*values: str) -> ParameterSet:
    """Mark a case that only the slow suite tries: each starts a process."""
    return pytest.param(*values, marks=pytest.mark.slow)


def run_by_shell(script: str, folder: Path) -> tuple[int, str]:
    """Run a script of sh, in which `$0` is the command; return its code and messages."""
    program = f"{sys.executable} -m sitemapreader"
    words = ["sh", "-c", script.replace("$0", program)]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "audit .",
        "state site.db",
        slow(f"audit {NOWHERE} --database a.duckdb"),
        slow(f"urls {NOWHERE} --state site.db"),
        slow("compare a.json b.json"),
        slow("mcp folder"),
    ],
)
def test_a_folder_that_was_removed(words: str, tmp_path: Path) -> None:
    """A command whose files would be in a folder that is gone says so, without a traceback."""
    code, said = run_by_shell(
        f"mkdir here && cd here && rmdir ../here && $0 {words}", tmp_path
    )
    assert code == 2
    assert "Traceback" not in said
    assert (
        "the current folder was removed" in said or "No such file or directory" in said
    )


@pytest.mark.parametrize(
    "words", ["completion bash", slow(f"newest {NOWHERE}"), slow(f"discover {NOWHERE}")]
)
def test_what_needs_no_folder_works_without_one(words: str, tmp_path: Path) -> None:
    """A command that names no file works in a folder that was removed."""
    code, said = run_by_shell(
        f"mkdir here && cd here && rmdir ../here && $0 {words}", tmp_path
    )
    assert code in (0, 4)
    assert "Traceback" not in said
    assert "removed" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mcp folder", "standard input or output is closed"),
        ("urls -i -", "cannot read standard input: it is closed"),
        slow("scale - -o out", "standard input is closed: name a file"),
        slow("audit -", "standard input"),
        slow("discover -i -", "cannot read standard input: it is closed"),
        slow(f"urls {NOWHERE} -u me", "no terminal can ask for one"),
    ],
)
def test_a_standard_input_that_is_closed(
    words: str, expected: str, tmp_path: Path
) -> None:
    """A command that would read standard input says that it is closed, without a traceback."""
    code, said = run_by_shell(f"$0 {words} <&-", tmp_path)
    assert code in (2, 4)
    assert "Traceback" not in said
    assert expected in said
