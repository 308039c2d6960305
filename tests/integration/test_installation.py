"""What works without the extras, and what names them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import package

if TYPE_CHECKING:
    from pathlib import Path


def test_parquet_without_pyarrow(tmp_path: Path) -> None:
    """The program says it in one line, as wrong usage, where pyarrow cannot be imported."""
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError('no', name='pyarrow')\n")
    words = [sys.executable, "-m", "sitemapreader", "testdata/site", "--format", "parquet"]
    done = subprocess.run(
        words,
        cwd=package.ROOT,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "need pyarrow; the extra `arrow` brings it" in done.stderr.splitlines()[-1]
    assert len(done.stderr.splitlines()) == 2


def test_names_that_need_an_extra_are_there_without_it(tmp_path: Path) -> None:
    """`import *`, `inspect` and `pydoc` work in a plain installation; a call names the extra."""
    for name in ("pyarrow", "pandas"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('no', name='{name}')\n")
    code = (
        "import inspect, pydoc, sitemapreader\n"
        "from sitemapreader import *\n"
        "assert len(inspect.getmembers(sitemapreader)) > 60\n"
        "assert 'to_dataframe' in pydoc.render_doc(sitemapreader)\n"
        "for call in (to_arrow, to_dataframe, read_batches):\n"
        "    assert 'extra' in inspect.getdoc(call)\n"
        "    try:\n"
        "        call('https://example.org/')\n"
        "    except ModuleNotFoundError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=package.ROOT,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    assert [line.count("brings it") for line in done.stdout.splitlines()] == [1, 1, 1]
