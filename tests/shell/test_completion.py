"""Completion, in the shells themselves: what they offer when a key asks for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from sitemapreader._cli.commands import COMMANDS
from sitemapreader._cli.options import SHELLS
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"map.xml", "my site.xml"}


DEFAULT = {
    "sitemapreader ": FILES | COMMANDS.keys(),
    "sitemapreader m": {*FILES, "mcp"},
    "sitemapreader my": {"my site.xml"},
    "sitemapreader --fo": {"--follow", "--format"},
    "sitemapreader --format ": {
        "urls",
        "json",
        "jsonl",
        "csv",
        "tsv",
        "parquet",
        "atom",
        "xlsx",
    },
    "sitemapreader example.org --format cs": {"csv"},
    "sitemapreader example.org --no-": {
        "--no-follow",
        "--no-header",
        "--no-prune",
        "--no-robots",
    },
    "sitemapreader example.org m": {*FILES, "mcp"},
    "sitemapreader -q -o m": FILES,
    "sitemapreader read map.xml m": FILES,
}
"""Without a command the options of the default one are meant, and any number of files."""
OFFERS = {
    "sitemapreader tr": {"tree"},
    "sitemapreader tree --format ": {"tree", "json"},
    "sitemapreader tree example.org --de": {"--delay", "--depth"},
    "sitemapreader discover --probe ": {"auto", "few", "always", "never"},
    "sitemapreader state m": FILES,
    "sitemapreader completion ": set(SHELLS),
}
"""Commands, options of the command that is meant, values and files, each a word of its own."""
ASKING = {
    "bash": """source ./script; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_sitemapreader; printf '%s\\n' "${{COMPREPLY[@]}}" """,
    "fish": "source script; complete -C '{line}'",
}
"""What asks a shell for its offers, as the key does."""
IN_FISH = (
    "m",
    "--fo",
    "example.org --format cs",
    "tr",
    "tree --format ",
    "completion ",
)


@pytest.mark.parametrize("shell", ASKING)
def test_what_a_shell_offers(shell: str, tmp_path: Path) -> None:
    """A name with a blank is one offer; a word that is begun is completed as an empty one is."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}: apt-get install {shell}")
    for name in FILES:
        (tmp_path / name).touch()
    (tmp_path / "script").write_text(run("completion", shell).stdout, "utf-8")
    lines = (
        [f"sitemapreader {rest}" for rest in IN_FISH]
        if shell == "fish"
        else DEFAULT | OFFERS
    )
    for line in lines:
        words = " ".join(f"'{word}'" for word in line.split(" "))
        done = subprocess.run(
            [shell, "-c", ASKING[shell].format(words=words, line=line)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        found = {
            offer.partition("\t")[0].replace("\\ ", " ")
            for offer in done.stdout.splitlines()
        }
        assert found - {"script"} == (DEFAULT | OFFERS)[line], line


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_loads(name: str, tmp_path: Path) -> None:
    """The shell itself finds no fault in its script."""
    script = run("completion", name)
    assert (script.returncode, script.stderr) == (0, "")
    if shutil.which(name) is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    (tmp_path / "script").write_text(script.stdout, "utf-8")
    quiet = {
        "bash": ["--norc"],
        "zsh": ["-f"],
        "fish": ["--no-config"],
        "tcsh": ["-f"],
    }[name]
    before = "autoload -U compinit; compinit -u -D; " if name == "zsh" else ""
    load = 'eval "$(cat ./script)"' if name == "zsh" else "source ./script"
    done = subprocess.run(
        [name, *quiet, "-c", f"{before}{load}"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
