"""`sitemapreader completion`: what a shell needs to complete the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.process import print_text
from sitemapreader.cli.shells import SHELLS

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    return print_text(SHELLS[arguments.shell]())
