"""`sitemapreader completion`: completion scripts for shells.

shtab writes the scripts from the parsers. This module adds what shtab cannot express: a source may
stand in the place of a command, and without a command the default command is assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import shtab

from sitemapreader.cli.commands.table import COMMANDS, DEFAULT, PROGRAM
from sitemapreader.cli.options.general import add_standard
from sitemapreader.cli.parser import Parser
from sitemapreader.cli.runtime import print_text

if TYPE_CHECKING:
    import argparse

    from sitemapreader.cli.commands.table import Command

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
_ZSH = f"""\
functions[_sitemapreader_named]=$functions[_shtab_sitemapreader_commands]
_shtab_sitemapreader_commands() {{
  _sitemapreader_named
  _files
}}
for _name in {" ".join(COMMANDS)}; do
  _name=_shtab_sitemapreader_${{_name}}_options
  # shtab completes only the first of several sources
  set -A $_name "${{(@P)_name/#\\(\\*\\)::/*:}}"
done
functions[_sitemapreader_complete]=$functions[_shtab_sitemapreader]
_shtab_sitemapreader() {{
  local -a known=({" ".join(COMMANDS)})
  if [[ $words[2] == -* ]] || (( CURRENT > 2 && ! $known[(Ie)$words[2]] )); then
    words=($words[1] {DEFAULT.name} "${{(@)words[2,-1]}}")
    (( CURRENT += 1 ))
  fi
  _sitemapreader_complete
}}"""

_PREAMBLES = {"bash": _BASH, "zsh": _ZSH}
_FISH = """
complete -c sitemapreader \\
  -n '_shtab_sitemapreader_using; and test $_shtab_sitemapreader_npos -eq 0' \\
  -a '(__fish_complete_path (commandline -ct))'"""


def run(arguments: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    return print_text(f"{write_completion(arguments.shell)}\n")


def write_completion(shell: str) -> str:
    """Return the script for a shell."""
    root = Parser(prog=PROGRAM, add_help=False)
    commands = root.add_subparsers()
    for command in COMMANDS.values():
        purpose = command.purpose
        parser = commands.add_parser(
            command.name, help=purpose, description=purpose, add_help=False
        )
        _add_arguments(parser, command)
    if shell != "zsh":  # in zsh, _ZSH inserts the default command
        _add_arguments(root, DEFAULT)
    script = shtab.complete(root, shell, preamble=_PREAMBLES.get(shell, ""))
    return script + _FISH if shell == "fish" else script


def _add_arguments(parser: Parser, command: Command) -> None:
    for add in (*command.groups, add_standard):
        add(parser)
    for action in parser.list_actions():
        if action.metavar in _FILE_NAMES:
            setattr(action, "complete", _FILES)  # noqa: B010 (shtab reads it)
