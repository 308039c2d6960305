"""`sitemapreader completion`: scripts for shells.

shtab writes the scripts for shells from the parsers. What it cannot express is added here: without
a command the default command is assumed, in bash and fish a source may stand in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader._cli.commands import COMMANDS, DEFAULT, PROGRAM
from sitemapreader._cli.parser import Parser
from sitemapreader._cli.process import print_text

if TYPE_CHECKING:
    import argparse

_FISH_FILES = "(__fish_complete_path (commandline -ct))"
_FILE_ARGUMENTS = {
    # shtab's own function for bash splits names at blanks
    "bash": "_sitemapreader_files",
    "zsh": "_files",
    "fish": _FISH_FILES,
    "tcsh": "f",
    "preamble": {"bash": '_sitemapreader_files() {\n  compgen -f -- "$1"\n}'},
}
"""Completion of arguments that may be files."""
_BASH = "_shtab_sitemapreader_pos_0_COMPGEN=_sitemapreader_files"
_FISH = f"""
complete -c sitemapreader \\
  -n '_shtab_sitemapreader_using; and test $_shtab_sitemapreader_npos -eq 0' \\
  -a '{_FISH_FILES}'"""


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    import shtab  # noqa: PLC0415 (no other command needs it)

    shell = arguments.shell
    root = Parser(prog=PROGRAM, add_help=False)
    commands = root.add_subparsers()
    # whose script has either commands or arguments
    parsers = [(root, DEFAULT)] * (shell != "zsh")
    for command in COMMANDS.values():
        said: Any = {"help": command.purpose, "description": command.purpose}
        parsers.append(
            (commands.add_parser(command.name, add_help=False, **said), command)
        )
    for parser, command in parsers:
        parser.add_options(command.name)
        for action in parser.list_actions():
            if action.metavar in ("FILE", "SOURCE", "BEFORE", "AFTER"):
                setattr(action, "complete", _FILE_ARGUMENTS)  # noqa: B010 (shtab reads it)
    script = shtab.complete(root, shell, preamble=_BASH if shell == "bash" else "")
    return print_text(script + (_FISH if shell == "fish" else "") + "\n")
