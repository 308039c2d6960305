"""What is imported, and when: nothing that a piece of work does not need, and what is missing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import package

if TYPE_CHECKING:
    from pathlib import Path

READ = """
from sitemapreader import read
list(read(b"<urlset><url><loc>https://a.example/</loc></url></urlset>", "https://a.example/s.xml"))
"""
FILES = """
from contextlib import suppress
from sitemapreader import walk_sync
from sitemapreader._cli import main
from pathlib import Path
Path("s.xml").write_text("<urlset><url><loc>https://a.example/</loc></url></urlset>")
with suppress(SystemExit):
    main(["--quiet", "s.xml"])
with suppress(SystemExit):
    main(["--quiet", "."])
with walk_sync(Path("s.xml")) as entries:
    assert len(list(entries)) == 1
"""
FILE = """
from contextlib import suppress
from sitemapreader._cli import main
from pathlib import Path
Path("s.xml").write_text("<urlset><url><loc>https://a.example/</loc></url></urlset>")
with suppress(SystemExit):
    main(["--quiet", "s.xml"])
"""
COMMANDS = """
from contextlib import suppress
from sitemapreader._cli import main
from sitemapreader._cli.commands import COMMANDS
for name, command in COMMANDS.items():
    if name not in ("audit", "compare", "scale"):  # they are made of what their extra brings
        command.load()
    with suppress(SystemExit):
        main([name, "--help"])
with suppress(SystemExit):
    main(["--help"])
"""
AUDIT = """
from sitemapreader.audit import audit_sync
record = "<loc>https://a.example/%41</loc><lastmod>2026-01-01T00:00:00Z</lastmod>"
open("s.xml", "w").write(f"<urlset><url>{record}</url></urlset>")
with audit_sync("s.xml", urls=["https://a.example/"]) as result:
    result.format("html")
"""
PARQUET = """
from datetime import UTC, datetime
from sitemapreader import UrlEntry
from sitemapreader.output import open_output
from sitemapreader.records import Image, News
from sitemapreader._types.rows import EntryColumns
day, locs = datetime(2026, 1, 1, tzinfo=UTC), [f"https://a.example/{n}" for n in range(3)]
texts = ["2026-01-01", "2026-01-01T00:00:00Z", None]
entry = UrlEntry("https://a.example/", day, "daily", 0.5)
other = UrlEntry("https://a.example/2", None, images=(Image("i.jpg"),), news=News("n"))
with open_output("x.parquet") as output:
    output.write([entry, other, entry])
with open_output("x.parquet") as output:
    output.write(EntryColumns(locs, locs, [day, day, None], lastmod_text=texts))
"""
NEEDED: dict[str, tuple[str, str, str]] = {
    "reading, of the network (7 MB)": (
        READ,
        "",
        "asyncio aiohttp socket ssl http.client",
    ),
    "files and folders, of HTTP (0.1 s)": (
        FILES,
        "",
        "aiohttp sqlite3 tomllib",
    ),
    "a file, a parser of URLs (14 ms)": (
        FILE,
        "",
        "aiohttp sqlite3 tomllib yarl",
    ),
    "commands, of an audit (0.3 s)": (
        COMMANDS,
        "",
        "sitemapreader.audit duckdb jinja2 pandas mcp",
    ),
    "an audit and Parquet, pandas (45 MB), which pyarrow looks for": (
        AUDIT + PARQUET,
        "duckdb",
        "pandas",
    ),
}
"""What is done, and which modules it must not import -> the program, what it needs, and these."""


def run_fresh(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has imported nothing."""
    command = [sys.executable, "-c", f"import sys\n{code}"]
    return subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("what", NEEDED)
def test_nothing_is_imported_that_is_not_needed(what: str, tmp_path: Path) -> None:
    """No module is imported in vain, also not by another one, installed or not."""
    code, library, unneeded = NEEDED[what]
    if library:
        pytest.importorskip(library, reason=f"no {library}: pip install {library}")
    listing = "\nprint(*sys.modules, file=sys.stderr)"
    done = run_fresh(code + listing, tmp_path)
    assert done.returncode == 0, done.stderr
    imported = set(done.stderr.split())
    assert not library or library in imported
    assert imported.isdisjoint(unneeded.split())


def test_parquet_without_pyarrow(tmp_path: Path) -> None:
    """The program says it in one line, as wrong usage, where pyarrow cannot be imported."""
    (tmp_path / "pyarrow.py").write_text(
        "raise ModuleNotFoundError('no', name='pyarrow')\n"
    )
    words = [
        sys.executable,
        "-m",
        "sitemapreader",
        "testdata/site",
        "--format",
        "parquet",
    ]
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
        (tmp_path / f"{name}.py").write_text(
            f"raise ModuleNotFoundError('no', name='{name}')\n"
        )
    code = (
        "import inspect, pydoc, sitemapreader, sitemapreader.tables\n"
        "from sitemapreader import *\n"
        "from sitemapreader.tables import *\n"
        "assert len(inspect.getmembers(sitemapreader)) > 42\n"
        "assert 'walk_many' in pydoc.render_doc(sitemapreader)\n"
        "assert 'to_dataframe' in pydoc.render_doc(sitemapreader.tables)\n"
        "for call in (to_dataframe, read_batches):\n"
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
    assert [line.count("brings it") for line in done.stdout.splitlines()] == [1, 1]
