"""What the audit imports is imported by its command alone: it would cost the others 0.3 s."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = """
import sys
from contextlib import suppress
from sitemapreader.cli import main
from sitemapreader.cli.commands.table import COMMANDS
for name, command in COMMANDS.items():
    if name != "audit":
        command.load()
        with suppress(SystemExit):
            main([name, "--help"])
with suppress(SystemExit):
    main(["--help"])
heavy = ("sitemapreader.audit", "duckdb", "jinja2", "pandas")
print(*(name for name in sys.modules if name.startswith(heavy)), file=sys.stderr)
"""
AUDIT = """
import sys
from sitemapreader.audit import audit_sync
with audit_sync("s.xml", urls=["https://a.example/"]) as result:
    result.format("html")
print("duckdb" in sys.modules, "pandas" in sys.modules)
"""


def run_fresh(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has imported nothing."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def test_other_commands_import_nothing_of_the_audit(tmp_path: Path) -> None:
    """All other commands, and the help of each, leave the audit and its libraries alone."""
    done = run_fresh(COMMANDS, tmp_path)
    assert "usage: sitemapreader tree" in done.stdout
    assert done.stderr.split() == []


def test_an_audit_imports_no_pandas(tmp_path: Path) -> None:
    """Tables are filled without pandas, which takes 45 MB and 0.3 s where it is installed."""
    (tmp_path / "s.xml").write_text("<urlset><url><loc>https://a.example/%41</loc></url></urlset>")
    assert run_fresh(AUDIT, tmp_path).stdout.split() == ["True", "False"]
