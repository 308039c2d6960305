"""The release: what is in its two files, and that the usual installers take it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sitemapreader
from sitemapreader._cli.commands import COMMANDS
from tests.support import package

DIST = os.environ.get("RELEASE_DIST")
"""Where `.ci/run` has built the two files; there none of these tests may be skipped."""
NAME = f"sitemapreader-{sitemapreader.__version__}"
MAN = f"{NAME}.data/data/share/man/man1"
PAGES_OF_COMMANDS = [f"sitemapreader-{name}" for name in COMMANDS]
LEFT_OUT = {".gitattributes"}


def run(*words: str | Path, **variables: str) -> str:
    """Run a program; return what it prints."""
    environment = {**os.environ, **variables, "PYTHONPATH": ""}
    done = subprocess.run(
        words,
        cwd=package.ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    words_of_failure = ("onnection", "No matching dist")
    if not DIST and any(word in done.stderr + done.stdout for word in words_of_failure):
        pytest.skip("no registry of packages")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the two files, if that was not done."""
    if DIST:
        return Path(DIST)
    pytest.importorskip("build", reason="no build: pip install build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ".")
    return folder


def test_the_wheel(built: Path) -> None:
    """It has the package, its manual pages and metadata, and nothing else."""
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        about = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    facts = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    expected = {
        path.relative_to(package.ROOT).as_posix()
        for path in package.PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    pages = {f"{MAN}/{page}.1" for page in ("sitemapreader", *PAGES_OF_COMMANDS)}
    assert names == expected | pages | {f"{NAME}.dist-info/{fact}" for fact in facts}
    assert f"\nVersion: {sitemapreader.__version__}\n" in about
    changes = (package.ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## [{sitemapreader.__version__}]" in changes


def test_the_manual_pages(built: Path) -> None:
    """A page has the name, the words and the options of its command."""
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        page = wheel.read(f"{MAN}/sitemapreader-why.1").decode()
    assert (
        "sitemapreader why \\- explain why a URL is in no sitemap of its site\n" in page
    )
    assert r"\fB\-\-visits\fR" in page


@pytest.mark.skipif(not (package.ROOT / ".git").exists(), reason="no clone")
def test_the_source_distribution(built: Path) -> None:
    """It has all that is committed, so that its tests can be run, and its metadata."""
    with tarfile.open(built / f"{NAME}.tar.gz") as source:
        names = {name.removeprefix(f"{NAME}/") for name in source.getnames()}
    committed = set(run("git", "ls-files").split("\n")) - {""}
    assert names == (committed - LEFT_OUT) | {"PKG-INFO"}


def test_twine_takes_both(built: Path) -> None:
    """`twine check --strict` finds no fault in the metadata."""
    pytest.importorskip("twine", reason="no twine: pip install twine")
    said = run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir())
    assert said.count("PASSED") == 2


@pytest.mark.parametrize("installer", ["uvx", "pipx"])  # which asks pip
def test_an_installer_takes_the_wheel(
    built: Path, installer: str, tmp_path: Path
) -> None:
    """In an empty environment, the first command reads the site of the README."""
    wheel = built / f"{NAME}-py3-none-any.whl"
    if installer == "uvx":
        if shutil.which("uvx") is None:
            pytest.skip("no uvx: pip install uv")
        said = run("uvx", "--from", wheel, "sitemapreader", "testdata/site", "-q")
    else:
        pytest.importorskip("pipx", reason="no pipx: pip install pipx")
        places = {
            "PIPX_HOME": str(tmp_path / "home"),
            "PIPX_BIN_DIR": str(tmp_path / "bin"),
        }
        run(sys.executable, "-m", "pipx", "install", "-q", wheel, **places)
        said = run(tmp_path / "bin" / "sitemapreader", "testdata/site", "-q")
    assert len(said.split()) == 43
