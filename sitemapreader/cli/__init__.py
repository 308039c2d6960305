"""The command line: results go to standard output, messages to standard error.

The arguments are parsed here. The module of the chosen command does the work, and is imported only
then, which keeps `--help` fast.
"""

from __future__ import annotations

import sys

from sitemapreader.cli.commands.table import choose_command
from sitemapreader.cli.exit_codes import INTERRUPTED
from sitemapreader.cli.parser import UsageError


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    command, rest = choose_command(sys.argv[1:] if argv is None else argv)
    parser = command.make_parser()
    arguments = parser.parse(rest)
    if sys.stdout is None and getattr(arguments, "output", None) in (None, "-"):
        parser.error("standard output is closed: open it, or write to a file with -o")
    try:
        return command.load()(arguments)
    except UsageError as error:
        parser.error(str(error))
    except KeyboardInterrupt:  # before `run_process` has set its handlers
        return INTERRUPTED
