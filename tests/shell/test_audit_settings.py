"""The settings of a project: files that say what the command line does not."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Severity
from sitemapreader._cli.commands.audit import SETTINGS, read_settings
from sitemapreader._cli.parser import UsageError
from sitemapreader.audit import AuditOptions

if TYPE_CHECKING:
    from pathlib import Path


def read(folder: Path, **given: Any) -> tuple[Namespace, dict[str, dict[str, Any]]]:
    arguments = Namespace(
        **dict.fromkeys(name.replace("-", "_") for name in SETTINGS) | given
    )
    return arguments, read_settings(folder, arguments)


def test_settings_of_a_project(tmp_path: Path) -> None:
    """pyproject.toml has a table of settings; sitemapreader.toml, and the shell, go before it."""
    assert read(tmp_path)[0].ignore is None
    (tmp_path / "pyproject.toml").write_text(
        '[tool.sitemapreader.audit]\nignore = ["url-*"]\nfail-on = "warning"\nrobots = "A,B"\n'
        'severity = { url-asset = "error" }\n'
        'figures = { stale_years = 5, session_parameters = ["x"] }\n'
    )
    arguments, tables = read(tmp_path)
    assert (arguments.ignore, arguments.fail_on) == (("url-*",), "warning")
    assert arguments.robots == ("A", "B")
    assert tables["severity"] == {"url-asset": Severity.ERROR}
    figures = AuditOptions(**tables["figures"])
    assert (figures.stale_years, figures.session_parameters) == (5, ("x",))
    assert read(tmp_path, ignore=())[0].ignore == ()
    (tmp_path / "sitemapreader.toml").write_text('[audit]\nselect = ["urls"]\n')
    arguments, _ = read(tmp_path)
    assert (arguments.select, arguments.ignore) == (("urls",), None)


BAD_SETTINGS = {
    "ingore = []": "did you mean ignore",
    "ignore = 1": "must be a text",
    'fail-on = "errors"': "there is no fail-on 'errors'",
    'severity = "error"': "must be a table",
    'severity = { url-asset = "grave" }': "there is no severity 'grave'",
    "figures = { stale_year = 1 }": "did you mean stale_years",
    "figures = { stale_years = -1 }": "a number from 0 to",
    'figures = { session_parameters = "sid" }': "as a list",
    "figures = { asset_suffixes = [1] }": "a list of words",
    "figures = { now = 9999-12-31T23:59:59-12:00 }": "out of range",
    'rules = "a\\u0000b"': "null (byte|character)",
    'rules = "../rules"': "not in this folder: name it on the command line with --rules",
    'urls = "/etc/hosts"': "not in this folder: name it on the command line with --urls",
    'baseline = "link/b.json"': "not in this folder: name it on the command line with --baseline",
    "audit = 5": "audit must be a table",
    f"x = {'9' * 5_000}": "digits",
    f"x = {'[' * 9_999}": "nested too deep",
}


@pytest.mark.cases(30)
@pytest.mark.parametrize("line", BAD_SETTINGS)
def test_settings_that_are_none(line: str, tmp_path: Path) -> None:
    """A key or value that cannot be meant is an error, which names the file and what to write."""
    (tmp_path / "link").symlink_to(tmp_path.parent)
    head = "" if line.startswith("audit") else "[audit]\n"
    (tmp_path / "sitemapreader.toml").write_text(f"{head}{line}\n")
    with pytest.raises(UsageError, match=BAD_SETTINGS[line]) as raised:
        read(tmp_path)
    assert "sitemapreader.toml" in str(raised.value)
