"""What the hosts of the repository and of the package read: workflows, forms, and facts."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement

import sitemapreader
from sitemapreader._cli.commands import COMMANDS
from tests.support import package

if TYPE_CHECKING:
    from pathlib import Path

yaml = pytest.importorskip("yaml", reason="no yaml: pip install pyyaml")

PLACE = package.ROOT / ".github"
WORKFLOWS = sorted((PLACE / "workflows").glob("*.yml"))
FORMS = sorted((PLACE / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
PROJECT = tomllib.loads((package.ROOT / "pyproject.toml").read_text("utf-8"))
RELATIVE_LINK = re.compile(r"\]\((?!https?:)")


def list_steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def publish(text: str) -> str:
    """Return the README as the package index shows it."""
    readme = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for each in readme["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_is_there(path: Path) -> None:
    """Its actions are named by their commits, and its scripts can be executed."""
    steps = list_steps(yaml.safe_load(path.read_text("utf-8")))
    actions = [step["uses"] for step in steps if "uses" in step]
    assert all(re.search("@[0-9a-f]{40}$", action) for action in actions)
    scripts = [step["run"].split()[0] for step in steps if "run" in step]
    assert scripts
    assert all(os.access(package.ROOT / script, os.X_OK) for script in scripts)


def test_ci_tries_the_lowest_and_the_newest_versions() -> None:
    """The matrix has each word of .ci/versions, and the oldest and newest Python promised."""
    workflow = yaml.safe_load((PLACE / "workflows" / "ci.yml").read_text("utf-8"))
    tried = workflow["jobs"]["versions"]["strategy"]["matrix"]["include"]
    script = (package.ROOT / ".ci" / "versions").read_text("utf-8")
    words = set(re.findall(r"^        (\w+)\)", script, re.MULTILINE))
    assert {each["name"] for each in tried} == words
    python = {each["name"]: each["python"] for each in tried}
    promised = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", classifier)
    ]
    assert [python["lowest"], python["newest"]] == [promised[0], promised[-1]]
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_can_be_filled_in(path: Path) -> None:
    """It has a name and fields of their own, and says what it needs."""
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    names = [field["id"] for field in form["body"]]
    assert len(names) == len(set(names))
    assert {field["type"] for field in form["body"]} <= {"input", "textarea"}
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_facts_are_those_of_the_package() -> None:
    """Version and licence of the citation and of the server for agents are the package's."""
    citation = yaml.safe_load((PLACE / "CITATION.cff").read_text("utf-8"))
    server = json.loads((PLACE / "server.json").read_text("utf-8"))
    (wheel,) = server["packages"]
    versions = {citation["version"], server["version"], wheel["version"]}
    assert versions == {sitemapreader.__version__}
    assert citation["license"] == PROJECT["project"]["license"]
    assert wheel["identifier"] == PROJECT["project"]["name"]
    assert len(server["description"]) <= 100


def test_the_extra_all_has_every_extra_of_users() -> None:
    """What is only for developers is not among them, and docs/start.md lists the others."""
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    users = {*extras} - {"all", "bench", "dev", "docs"}
    assert Requirement(everything).extras == users
    start = (package.ROOT / "docs" / "start.md").read_text("utf-8")
    assert {*re.findall(r"^\| `(\w+)` \|", start, re.MULTILINE)} >= {*users, "all"}


def test_the_server_for_agents_starts_with_the_words_that_are_published() -> None:
    """The arguments are those of the command, and the extras exist."""
    (wheel,) = json.loads((PLACE / "server.json").read_text("utf-8"))["packages"]
    command, folder = wheel["packageArguments"]
    parser = COMMANDS[command["value"]].make_parser(is_program=False)
    given = parser.parse([folder["valueHint"]])
    assert str(getattr(given, folder["valueHint"])) == folder["valueHint"]
    (installed,) = wheel["runtimeArguments"]
    extras = re.fullmatch(r"sitemapreader\[([\w,]+)\]", installed["value"])
    assert extras
    assert (
        set(extras[1].split(",")) <= PROJECT["project"]["optional-dependencies"].keys()
    )


def test_no_next_generation_of_aiohttp_is_installed() -> None:
    """We use names of aiohttp that are not promised, so a version 4 has to be tried first."""
    dependencies = map(Requirement, PROJECT["project"]["dependencies"])
    (aiohttp,) = [each for each in dependencies if each.name == "aiohttp"]
    assert aiohttp.specifier.contains("3.99")
    assert not aiohttp.specifier.contains("4.0")


def test_no_link_of_the_readme_is_relative_on_the_package_index() -> None:
    """A relative link keeps its words there, and a picture of the repository is left out."""
    text = (package.ROOT / "README.md").read_text("utf-8")
    published = publish(text)
    assert len(RELATIVE_LINK.findall(text)) > 20
    assert not RELATIVE_LINK.search(published)
    assert "<img" in text
    assert "<img" not in published
    for words in re.findall(r"\[([^\]]+)\]\((?!https?:)", text):
        assert words in published


def test_pictures_of_the_readme_are_there() -> None:
    """Each has words for those who do not see it, and a file."""
    text = (package.ROOT / "README.md").read_text("utf-8")
    pictures = re.findall(r'<img width="\d+%" src="([^"]+)" alt="[^"]{40,}">', text)
    assert len(pictures) == text.count("<img") == 2
    assert all((package.ROOT / picture).is_file() for picture in pictures)
