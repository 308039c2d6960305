"""`sitemapreader completion`: scripts for shells.

shtab writes the scripts for shells from the parsers. What it cannot express is added here: without
a command the default command is assumed, in bash and fish a source may stand in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.commands import COMMANDS, DEFAULT, PROGRAM
from sitemapreader.cli.parser import Parser
from sitemapreader.cli.runtime import print_text

if TYPE_CHECKING:
    import argparse

_FILE_NAMES = ("FILE", "SOURCE")
"""Metavars of arguments that may be files."""
_BASH_FILES = """\
_sitemapreader_files() {
  compgen -f -- "$1"
}"""
_FILES = {
    # shtab's own function for bash splits names at blanks
    "bash": "_sitemapreader_files",
    "zsh": "_files",
    "fish": "(__fish_complete_path (commandline -ct))",
    "tcsh": "f",
    "preamble": {"bash": _BASH_FILES},
}
_BASH = "_shtab_sitemapreader_pos_0_COMPGEN=_sitemapreader_files"
_FISH = """
complete -c sitemapreader \\
  -n '_shtab_sitemapreader_using; and test $_shtab_sitemapreader_npos -eq 0' \\
  -a '(__fish_complete_path (commandline -ct))'"""


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    return print_text(f"{write_completion(arguments.shell)}\n")


def write_completion(shell: str) -> str:
    """Return the script for a shell."""
    import shtab  # noqa: PLC0415 (no other command needs it)

    root = Parser(prog=PROGRAM, add_help=False)
    commands = root.add_subparsers()
    for command in COMMANDS.values():
        what = command.purpose
        parser = commands.add_parser(command.name, help=what, description=what, add_help=False)
        _add_options(parser, command.name)
    if shell != "zsh":  # whose script offers either commands or arguments
        _add_options(root, DEFAULT.name)
    script = shtab.complete(root, shell, preamble=_BASH if shell == "bash" else "")
    return script + _FISH if shell == "fish" else script


def _add_options(parser: Parser, command: str) -> None:
    parser.add_options(command)
    for action in parser.list_actions():
        if action.metavar in _FILE_NAMES:
            setattr(action, "complete", _FILES)  # noqa: B010 (shtab reads it)
