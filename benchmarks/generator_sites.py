"""Publishing software that builds small sites: its table, its installation, its builds.

The table is `generators.toml`. Everything is installed in one folder: packages of PyPI in a virtual
environment, those of npm beside the site, and those of Debian, with all that they need, in a root
directory of their own.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TABLE = Path(__file__).with_suffix("").parent / "generators.toml"
SECONDS = 1_200
"""Limit for one command: an installation downloads some hundred packages."""
_SHOWN = 300
"""Characters of a message that a failed command leaves."""
_NICE = ("nice", "-n", "19")
_QUIET = {
    "ASTRO_TELEMETRY_DISABLED": "1",
    "CI": "1",
    "DO_NOT_TRACK": "1",
    "LANG": "C.UTF-8",
    "NEXT_TELEMETRY_DISABLED": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "TZ": "UTC",
}


class GeneratorError(Exception):
    """A command that failed; the message is the end of its output."""


def _order(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(words)


def _collect(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(paths)


@attrs.frozen
class Generator:
    """A row of the table: one generator with its site.

    Attributes:
        registry: pypi, npm or debian.
        packages: what is installed, with versions.
        build: commands that build the site.
        output: the built folder, relative to the files.
        base: URL of the built folder on its site.
        pages: paths below the base that are published and to be listed.
        files: path -> content of a file.
        later: the same for the second state; an empty content removes the file.
        added, changed, removed: pages that differ in the second state.
        dated_by_build: pages whose date is that of the build, so that the clock decides whether
            they have changed.
        true: rules of the audit that hit rightly -> the reason.
    """

    name: str
    title: str
    registry: str
    packages: tuple[str, ...] = attrs.field(converter=_order)
    build: tuple[str, ...] = attrs.field(converter=_order)
    output: str
    base: str
    pages: frozenset[str] = attrs.field(converter=_collect)
    files: Mapping[str, str]
    later: Mapping[str, str]
    added: frozenset[str] = attrs.field(converter=_collect)
    changed: frozenset[str] = attrs.field(converter=_collect)
    removed: frozenset[str] = attrs.field(converter=_collect)
    dated_by_build: frozenset[str] = attrs.field(converter=_collect, factory=frozenset)
    true: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def version(self) -> str:
        """The version of its first package."""
        return self.packages[0].rpartition("@")[2].rpartition("=")[2].partition("+")[0]

    def find_urls(self, paths: frozenset[str]) -> set[str]:
        """Return the URLs of some paths."""
        return {self.base + path for path in paths}


def load_generators() -> dict[str, Generator]:
    """Return the table, by name."""
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return {name: Generator(name, **row) for name, row in table.items()}


class Workshop(NamedTuple):
    """A place where a generator is installed.

    Attributes:
        site: folder for the files of the site.
        prefix: words before each command.
        path: value of PATH.
    """

    site: Path
    prefix: tuple[str, ...]
    path: str

    def run(self, command: str) -> None:
        """Run a command beside the files of the site; raise GeneratorError."""
        _run([*self.prefix, *shlex.split(command)], self.site, self.path)


def install(generator: Generator, cache: Path) -> Workshop:
    """Install a generator below a folder, unless it is there; raise GeneratorError."""
    folder = cache / generator.name
    mark, wanted = folder / "installed.json", json.dumps(generator.packages)
    is_there = mark.is_file() and mark.read_text() == wanted
    if not is_there:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    workshop = _INSTALLERS[generator.registry](generator, folder, is_there)
    mark.write_text(wanted)
    return workshop


def build(generator: Generator, workshop: Workshop, *files: Mapping[str, str]) -> Path:
    """Write files, build the site, and return the built folder; raise GeneratorError."""
    for written in files:
        for name, content in written.items():
            path = workshop.site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.lstrip("\n"), "utf-8")
            if not content:
                path.unlink()
    output = workshop.site / generator.output
    shutil.rmtree(output, ignore_errors=True)
    for command in generator.build:
        workshop.run(command)
    if not output.is_dir():
        raise GeneratorError(f"there is no {generator.output}")
    return output


def _run(command: list[str], folder: Path, path: str = os.defpath) -> None:
    environment = {
        **_QUIET,
        "PATH": f"{path}:{os.environ['PATH']}",
        "HOME": str(folder),
    }
    given = {
        name: value for name, value in os.environ.items() if "proxy" in name.lower()
    }
    try:
        ended = subprocess.run(
            [*_NICE, *command],
            cwd=folder,
            env=given | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GeneratorError(str(error)) from None
    if ended.returncode:
        said = (ended.stderr + ended.stdout).decode("utf-8", "replace")
        raise GeneratorError(f"{command[0]}: {' '.join(said.split())[-_SHOWN:]}")


# -- the registries


def _install_from_pypi(generator: Generator, folder: Path, is_there: bool) -> Workshop:
    venv = folder / "venv"
    if not is_there:
        _run([sys.executable, "-m", "venv", str(venv)], folder)
        _run([str(venv / "bin" / "pip"), "install", "-q", *generator.packages], folder)
    return _make_workshop(folder / "site", (), str(venv / "bin"))


def _install_from_npm(generator: Generator, folder: Path, is_there: bool) -> Workshop:
    # Hexo finds its plugins in package.json, and all look for node_modules above the site.
    site = folder / "site"
    if not is_there:
        site.mkdir()
        (site / "package.json").write_text('{"private": true}')
        _run(["npm", "install", "--silent", "--save-exact", *generator.packages], site)
    return _make_workshop(site, (), str(site / "node_modules" / ".bin"))


def _install_from_debian(
    generator: Generator, folder: Path, is_there: bool
) -> Workshop:
    root, archives = folder / "root", folder / "archives"
    if not is_there:
        (archives / "partial").mkdir(parents=True)
        options = {
            "Dir::State::status": os.devnull,  # nothing counts as installed
            "Dir::Cache::archives": str(archives),
            "Debug::NoLocking": "1",
        }
        words = [
            word
            for name, value in options.items()
            for word in ("-o", f"{name}={value}")
        ]
        get = [
            "apt-get",
            "-y",
            "--download-only",
            "--no-install-recommends",
            *words,
            "install",
        ]
        _run([*get, *generator.packages], folder)
        for archive in sorted(archives.glob("*.deb")):
            _run(["dpkg", "-x", str(archive), str(root)], folder)
        (root / "dev").mkdir(exist_ok=True)
        (root / "dev" / "null").touch()
    # The program sees the directory as its machine; a name space makes its user root of that.
    enter = ("unshare", "--map-root-user", f"--root={root}", "--wd=/site")
    return _make_workshop(root / "site", enter, os.defpath)


def _make_workshop(site: Path, prefix: tuple[str, ...], path: str) -> Workshop:
    site.mkdir(exist_ok=True)
    return Workshop(site, prefix, path)


_INSTALLERS: dict[str, Callable[[Generator, Path, bool], Workshop]] = {
    "pypi": _install_from_pypi,
    "npm": _install_from_npm,
    "debian": _install_from_debian,
}
