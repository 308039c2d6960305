"""Advice on extras: the command that fits how this copy was installed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.request import pathname2url

import package
import pytest

from sitemapreader.installation import advise_extra

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def install(folder: Path, origin: dict[str, object] | None) -> None:
    """Write what pip leaves behind when it has installed the package."""
    info = folder / "sitemapreader-9.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sitemapreader\nVersion: 9.9\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin), "utf-8")


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'sitemapreader[arrow]'"),
        ({"url": "file://HERE", "dir_info": {"editable": True}}, "pip install -e 'PATH[arrow]'"),
        (
            {"url": "file://HERE", "dir_info": {}},
            "pip install 'sitemapreader[arrow] @ file://HERE'",
        ),
        (
            {"url": "file://HERE", "archive_info": {"hash": "sha256=00"}},
            "pip install 'sitemapreader[arrow] @ file://HERE'",
        ),
        (
            {"url": "https://a.example/r.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"pip install 'sitemapreader[arrow] @ git+https://a.example/r.git@{COMMIT}'",
        ),
    ],
)
def test_the_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: dict[str, object] | None,
    command: str,
) -> None:
    """The command names the index, the folder, the file or the repository that it came from."""
    source = tmp_path / "my sources"
    source.mkdir()
    here = pathname2url(str(source))
    if origin is not None:
        origin = origin | {"url": str(origin["url"]).replace("HERE", here)}
    install(tmp_path / "site", origin)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    command = command.replace("HERE", here).replace("PATH", str(source))
    assert advise_extra("arrow") == f"the extra `arrow` brings it: {command}"


def test_sources_that_are_gone_or_were_never_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a place to install from again, only the extra is named."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    said = "the extra `pandas` brings it, or install that alone"
    assert advise_extra("pandas") == said
    install(tmp_path, {"url": "file:///no/such/folder", "dir_info": {}})
    assert advise_extra("pandas") == said


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
