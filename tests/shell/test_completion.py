"""Completion, in real shells at a real terminal: what they insert when a key asks for it."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import run

from sitemapreader.cli.commands import COMMANDS
from sitemapreader.cli.options import SHELLS

if TYPE_CHECKING:
    from collections.abc import Iterator

pty = pytest.importorskip("pty", reason="no pseudo-terminals: run it on Linux or macOS")
BIN = Path(sys.executable).parent
pytestmark = pytest.mark.skipif(
    not (BIN / "sitemapreader").exists(),
    reason="no sitemapreader beside this Python: pip install -e .",
)
ALL_IN_ZSH = """
autoload -U compinit; compinit -u -D; zle -C all complete-word _generic; bindkey '^Xa' all
zstyle ':completion:all::::' completer _all_matches _complete
zstyle ':completion:all:*' insert true
unsetopt zle_bracketed_paste
eval "$(sitemapreader completion zsh)"
"""
STARTS = {
    "bash": (["--noprofile", "--norc", "-i"], 'eval "$(sitemapreader completion bash)"', "\x1b*"),
    "zsh": (["-f", "-i"], "; ".join(ALL_IN_ZSH.split("\n")[1:-1]), "\x18a"),
}
"""Shell -> its arguments, a line that loads the script, and the key that inserts all offers."""


class Shell:
    """An interactive shell in a folder, and its user."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        arguments, load, self._key = STARTS[name]
        self._ours, theirs = pty.openpty()
        environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "", "HOME": ""}
        self._process = subprocess.Popen(
            [name, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environment | {"HOME": str(folder.parent)},
            start_new_session=True,
        )
        os.close(theirs)
        self._count = 0
        self._run(load)

    def close(self) -> None:
        """Leave."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def complete(self, line: str) -> list[str]:
        """Return the words of a command line after all offers for its last one were inserted."""
        shown = self._run(f"{line}{self._key}", "\x01printf '<%s>\\n' ")
        words = re.findall(r"^<(.*)>\r?$", shown, re.MULTILINE)
        return words[len(line.split()) - (not line.endswith(" ")) :]

    def _run(self, line: str, before: str = "") -> str:
        """Type a line, and `before` at its beginning; return what is shown until it is done."""
        self._count += 1
        os.write(self._ours, f"{line}{before}\r".encode())
        os.write(self._ours, f"echo done'-'{self._count}.\r".encode())
        text, end = "", time.monotonic() + 60
        while f"done-{self._count}." not in text and time.monotonic() < end:
            if select.select([self._ours], [], [], 0.2)[0]:
                text += os.read(self._ours, 65_536).decode()
        assert f"done-{self._count}." in text, text
        return text


@pytest.fixture(scope="module", params=sorted(STARTS))
def shell(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    """Start a shell in a folder with two files, one of which has a blank in its name."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param}: apt-get install {request.param}")
    folder = tmp_path_factory.mktemp(request.param) / "here"
    folder.mkdir()
    (folder / "my site.xml").touch()
    (folder / "map.xml").touch()
    started = Shell(request.param, folder)
    yield started
    started.close()


FILES = {"map.xml", "my site.xml"}


DEFAULT = {
    "sitemapreader ": FILES | COMMANDS.keys(),
    "sitemapreader m": {*FILES, "mcp"},
    "sitemapreader my": {"my site.xml"},
    "sitemapreader --fo": {"--follow", "--format"},
    "sitemapreader --format ": {"urls", "jsonl", "csv", "tsv", "parquet", "atom", "xlsx"},
    "sitemapreader example.org --format cs": {"csv"},
    "sitemapreader example.org --no-": {"--no-follow", "--no-header", "--no-robots"},
    "sitemapreader example.org m": {*FILES, "mcp"},
    "sitemapreader -q -o m": FILES,
    "sitemapreader read map.xml m": FILES,
}
"""Without a command the options of the default one are meant, and any number of files."""
OFFERS = {
    "sitemapreader tr": {"tree"},
    "sitemapreader tree --format ": {"tree", "json"},
    "sitemapreader tree example.org --de": {"--delay", "--depth"},
    "sitemapreader discover --probe ": {"auto", "few", "always", "deep", "never"},
    "sitemapreader state m": FILES,
    "sitemapreader completion ": set(SHELLS),
}
"""Commands, options of the command that is meant, values and files, each a word of its own."""


IN_FISH = [
    f"sitemapreader {rest}"
    for rest in ("m", "--fo", "example.org --format cs", "tr", "tree --format ", "completion ")
]


@pytest.mark.parametrize("line", [*DEFAULT, *OFFERS])
def test_what_a_shell_offers(shell: Shell, line: str) -> None:
    """Shtab's script for zsh completes the options of the command that is named, and no others."""
    if shell.name == "zsh" and line in DEFAULT:
        pytest.skip("zsh completes no options before a command")
    assert set(shell.complete(line)) == (DEFAULT | OFFERS)[line]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish: apt-get install fish")
@pytest.mark.parametrize("line", IN_FISH)
def test_what_fish_offers(tmp_path: Path, line: str) -> None:
    """Fish offers the same, asked by its own command for that."""
    for name in FILES:
        (tmp_path / name).touch()
    (tmp_path / "script").write_text(run("completion", "fish").stdout, "utf-8")
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source script; complete -C '{line}'"],  # noqa: S607 (where it lies is its business)
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = {offer.partition("\t")[0].replace("\\ ", " ") for offer in done.stdout.splitlines()}
    assert found - {"script"} == (DEFAULT | OFFERS)[line]


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_loads(name: str, tmp_path: Path) -> None:
    """The shell itself finds no fault in its script."""
    script = run("completion", name)
    assert (script.returncode, script.stderr) == (0, "")
    if shutil.which(name) is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    (tmp_path / "script").write_text(script.stdout, "utf-8")
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"], "tcsh": ["-f"]}[name]
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
