"""The scripts and jobs of docs/ci.md do what the page says, run as a shell would run them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from tests.support import commands, package, pages
from tests.support.builds import FOLDER, unpack

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PAGE = package.ROOT / "docs" / "ci.md"
STAND_INS = {
    "make": "rm -rf public && cp -r built public",
    "pip": "true",
}
"""What the page calls, besides this program -> a script in its place."""


class Project:
    """A repository with a built site, and what a build server knows of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        unpack(FOLDER / "eleventy.txt", folder / "built")
        tools = folder / "tools"
        tools.mkdir()
        commands.write_program(tools)
        for name, script in STAND_INS.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        self.summary = folder / "summary"
        self._environment = os.environ | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def hide_a_page(self) -> None:
        """Build a page anew that keeps itself out of the index, and is listed."""
        page = self.folder / "built" / "about" / "index.html"
        head, title, rest = page.read_text().partition("<title>")
        page.write_text(f"{head}<meta name=robots content=noindex>{title}{rest}")

    def run(self, script: str) -> int:
        """Run a script as build servers do: the first command that fails ends it."""
        command = ["bash", "-eo", "pipefail", "-c", script]
        run = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            check=False,
        )
        assert b"Traceback" not in run.stderr, run.stderr
        return run.returncode

    def run_job(self, event: str) -> int:
        """Run the steps of the GitHub job that an event has."""
        (job,) = read_yaml(0)["jobs"].values()
        for step in job["steps"]:
            wanted = step.get("if", "").partition(" == ")[2].strip("'")
            if (
                "run" in step
                and wanted in ("", event)
                and (code := self.run(step["run"]))
            ):
                return code
        return 0

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def read_yaml(number: int) -> Any:
    yaml = pytest.importorskip("yaml", reason="no yaml: pip install -e '.[docs]'")
    return yaml.safe_load(pages.blocks(PAGE, "yaml")[number].code)


def read_junit(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 (our own file)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_each_recipe_of_a_build_is_a_workflow() -> None:
    """Its YAML runs the command that is shown above it, after the build."""
    page = package.ROOT / "docs" / "builds.md"
    shells = [block.code.splitlines() for block in pages.blocks(page, "sh")[1:]]
    yaml = pytest.importorskip("yaml", reason="no yaml: pip install -e '.[docs]'")
    workflows = [yaml.safe_load(each.code) for each in pages.blocks(page, "yaml")]
    assert len(shells) == len(workflows) == 10
    for (build, audit), workflow in zip(shells, workflows, strict=True):
        steps = workflow["jobs"]["sitemap"]["steps"]
        runs = [step["run"] for step in steps if "run" in step]
        assert audit.startswith("sitemapreader audit ")
        if not build.endswith("&"):  # a server is audited where it lives
            assert runs[-2:] == [build, audit]


def test_a_plain_shell(project: Project) -> None:
    """A fault stops the script with 5, and each file says what it is."""
    script = pages.blocks(PAGE, "sh")[0].code
    project.hide_a_page()
    assert project.run(script) == 5
    assert "page-noindex" in project.read("report.md")
    (run,) = json.loads(project.read("audit.sarif"))["runs"]
    assert "page-noindex" in {each["ruleId"] for each in run["results"]}
    failed = read_junit(project.read("junit.xml")).iterfind(".//testcase[failure]")
    assert "page-noindex" in {case.get("name") for case in failed}


def test_only_what_is_new(project: Project) -> None:
    """The first run passes and is remembered; a new fault stops the next one, and is not."""
    script = pages.blocks(PAGE, "sh")[1].code
    assert project.run(script) == 0
    last = project.read("last.json")
    project.hide_a_page()
    assert project.run(script) == 5
    assert project.read("last.json") == last
    assert "page-noindex" in project.read("audit.json")


def test_github(project: Project) -> None:
    """A sound push keeps its report; a new fault fails, and without a report any fault does."""
    assert project.run_job("push") == 0
    assert "page-noindex" not in project.summary.read_text()
    last = project.read("last.json")
    project.hide_a_page()
    assert project.run_job("push") == 5
    assert project.read("last.json") == last
    assert project.run_job("pull_request") == 5
    (project.folder / "last.json").unlink()
    assert project.run_job("pull_request") == 5
    assert "page-noindex" in project.summary.read_text()
    uploaded = [
        step["with"]["sarif_file"]
        for step in read_yaml(0)["jobs"]["audit"]["steps"]
        if "sarif" in step.get("uses", "")
    ]
    assert [json.loads(project.read(name))["version"] for name in uploaded] == ["2.1.0"]


def test_gitlab(project: Project) -> None:
    """A sound build passes, and the file that GitLab reads is JUnit."""
    job = read_yaml(1)["audit"]
    assert project.run("\n".join(job["script"])) == 0
    assert (
        read_junit(project.read(job["artifacts"]["reports"]["junit"])).tag
        == "testsuites"
    )
