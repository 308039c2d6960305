"""`sitemapreader help`: the help of the program, or of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.commands.table import COMMANDS, PROGRAM_COMMAND
from sitemapreader.cli.runtime import print_text

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Print the help and return the exit code."""
    command = COMMANDS[arguments.topic] if arguments.topic else PROGRAM_COMMAND
    return print_text(command.make_parser().format_help())
