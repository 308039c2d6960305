"""What writing Parquet imports: not pandas, which pyarrow takes 45 MB and 0.3 s to look at."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")

PROGRAM = """
import sys
from datetime import UTC, datetime
from sitemapreader import Image, News, UrlEntry, open_output
from sitemapreader.rows import EntryColumns

day, locs = datetime(2026, 1, 1, tzinfo=UTC), [f"https://a.example/{n}" for n in range(3)]
texts = ["2026-01-01", "2026-01-01T00:00:00Z", None]
entry = UrlEntry("https://a.example/", day, "daily", 0.5)
other = UrlEntry("https://a.example/2", None, images=(Image("i.jpg"),), news=News("n"))
with open_output(sys.argv[1]) as output:
    output.write([entry, other, entry])
with open_output(sys.argv[1]) as output:
    output.write(EntryColumns(locs, locs, [day, day, None], lastmod_text=texts))
print("pyarrow" in sys.modules, "pandas" in sys.modules)
"""


def test_writing_parquet_imports_no_pandas(tmp_path: Path) -> None:
    """Entries of all kinds, and columns, become Parquet; pandas may be installed or not."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "x.parquet")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"]
