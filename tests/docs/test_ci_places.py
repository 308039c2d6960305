"""The action for GitHub and the hooks for pre-commit, in a planted repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import package
from tests.support.commands import write_program

if TYPE_CHECKING:
    from pathlib import Path

yaml = pytest.importorskip("yaml", reason="no yaml: pip install pyyaml")

ACTION = package.ROOT / ".github" / "actions" / "audit"
HOOKS = package.ROOT / ".pre-commit-hooks.yaml"
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{}\n</urlset>'
GOOD = URLSET.format("<url><loc>https://example.org/</loc></url>")
BAD = URLSET.format("<url><loc>https://example.org/?a=1&b=2</loc></url>")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash"),
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with a built site that is in order."""
    built = tmp_path / "repository" / "public"
    built.mkdir(parents=True)
    (built / "index.html").write_text("<title>Start</title><p>A page of a site.")
    (built / "sitemap.xml").write_text(GOOD)
    return built.parent


def run_steps(
    repository: Path, inputs: dict[str, str]
) -> tuple[int, dict[str, str], list[str]]:
    """Run the steps of the action as a runner does.

    Returns:
        the code of the last one; the outputs; the arguments of pip.
    """
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    values = {
        f"inputs.{name}": each.get("default") for name, each in action["inputs"].items()
    }
    values |= {f"inputs.{name}": text for name, text in inputs.items()}
    values["github.action_path"] = str(ACTION)
    programs = repository.parent / "programs"
    programs.mkdir(exist_ok=True)
    write_program(programs)
    # which tells its arguments, and starts pip as it was told to, but has it install nothing
    (programs / "python").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{programs}/pip.txt\n'
        f'exec {sys.executable} $(echo " $*" | sed "s/ install.*//") --version'
        f" >{programs}/version.txt\n"
    )
    (programs / "python").chmod(0o755)
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "outputs.txt"}
    places = {name: str(repository.parent / file) for name, file in files.items()}
    code = 0
    for step in [
        each for each in action["runs"]["steps"] if "run" in each and not code
    ]:
        given = {
            name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text)
            for name, text in step.get("env", {}).items()
        }
        assert "${{" not in step["run"]
        path = f"{programs}:{os.environ['PATH']}"
        # as a runner starts `shell: bash`
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment = {**os.environ, **places, **given, "PATH": path}
        code = subprocess.run(
            words, cwd=repository, env=environment, check=False
        ).returncode
    outputs = dict(
        line.split("=", 1)
        for line in (repository.parent / "outputs.txt").read_text().split()
    )
    return code, outputs, (programs / "pip.txt").read_text().split("\n")


def list_places(sarif: Any) -> set[str]:
    """Return the paths that the results of a SARIF file name."""
    return {
        place["physicalLocation"]["artifactLocation"]["uri"]
        for result in sarif["runs"][0]["results"]
        for place in result["locations"]
    }


def test_the_action(repository: Path) -> None:
    """A faulty sitemap fails the step; SARIF names its file, and the summary the finding."""
    inputs = {
        "source": "public",
        "base-url": "https://example.org/",
        "fail-on": "warning",
    }
    assert run_steps(repository, inputs)[:2] == (0, {"exit-code": "0"})
    (repository / "public" / "sitemap.xml").write_text(BAD)
    code, outputs, installed = run_steps(
        repository, inputs | {"options": "--select url-*,Reading"}
    )
    assert (code, outputs) == (5, {"exit-code": "5"})
    places = list_places(json.loads((repository / "sitemaps.sarif").read_text()))
    assert places == {"public/sitemap.xml"}
    assert all((repository / place).is_file() for place in places)
    assert "`bare-ampersand`" in (repository.parent / "summary.md").read_text()
    folder, _, extra = installed[5].partition("[")
    assert (os.path.realpath(folder), extra) == (str(package.ROOT.resolve()), "audit]")


@pytest.mark.parametrize(
    "name", ["pip/__main__.py", "pip.py", "logging.py", "pathlib/__init__.py"]
)
def test_nothing_of_the_checkout_is_executed(repository: Path, name: str) -> None:
    """A file of a pull request that has the name of a module is not run in its place."""
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text(
        f"open({str(repository / 'hacked')!r}, 'w').close()\n"
    )
    inputs = {"source": "public", "base-url": "https://example.org/"}
    code, _, installed = run_steps(repository, inputs)
    assert (code, installed[2:4]) == (0, ["pip", "install"])
    assert (
        (repository.parent / "programs" / "version.txt").read_text().startswith("pip ")
    )
    assert not (repository / "hacked").exists()


def test_an_action_of_others_is_named_by_its_commit() -> None:
    """What a tag names today may be something else tomorrow."""
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    used = [step["uses"] for step in action["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.search("@[0-9a-f]{40}$", each) for each in used)


def test_a_source_that_is_none(repository: Path) -> None:
    """A folder that the build has not written fails the step; a hostile name is no script."""
    inputs = {"source": "dist; touch hacked; $(touch hacked)"}
    assert run_steps(repository, inputs)[:2] == (2, {"exit-code": "2"})
    assert not (repository / "hacked").exists()


def run_hook(
    repository: Path, name: str, *files: str
) -> subprocess.CompletedProcess[str]:
    """Run the words of a hook, as pre-commit does."""
    (hook,) = [each for each in yaml.safe_load(HOOKS.read_text()) if each["id"] == name]
    programs = repository.parent / "programs"
    programs.mkdir(exist_ok=True)
    write_program(programs)
    return subprocess.run(
        [*shlex.split(hook["entry"]), *hook.get("args", ()), *files],
        cwd=repository,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_hooks(repository: Path) -> None:
    """A sitemap that is in order passes; a faulty one fails, also among others."""
    (repository / "sitemap bad.xml").write_text(BAD)
    good = "public/sitemap.xml"
    done = run_hook(repository, "sitemaps", "sitemap bad.xml", good)
    assert (done.returncode, done.stdout.count("[bare-ampersand]")) == (5, 1)
    assert "Sitemaps of public/sitemap.xml" in done.stdout
    assert run_hook(repository, "built-site").returncode == 0
    (repository / good).write_text(BAD)
    assert run_hook(repository, "built-site").returncode == 5


def test_pre_commit_takes_the_hooks() -> None:
    """The list of hooks is one that pre-commit takes, with the extra; its files are sitemaps."""
    pytest.importorskip("pre_commit", reason="no pre-commit: pip install pre-commit")
    words = [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    assert subprocess.run(words, check=False, capture_output=True).returncode == 0
    sitemaps, folder = yaml.safe_load(HOOKS.read_text())
    for name, is_one in {
        "sitemap.xml": 1,
        "a/sitemap-old.txt.gz": 1,
        "b/map.xml": 0,
    }.items():
        assert bool(re.search(sitemaps["files"], name)) is bool(is_one)
    assert (
        sitemaps["additional_dependencies"]
        == folder["additional_dependencies"]
        == [".[audit]"]
    )
