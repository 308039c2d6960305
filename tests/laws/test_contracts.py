"""The boundaries of the rooms hold: the contracts of pyproject.toml, as `lint-imports` has them."""

from __future__ import annotations

import subprocess
import sys
import tomllib

from tests.support.package import ROOT


def test_every_contract_is_kept() -> None:
    """The imports of the package, indirect ones included, break none of the contracts."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(contracts) == 7
    assert f"Contracts: {len(contracts)} kept, 0 broken." in done.stdout, done.stdout
