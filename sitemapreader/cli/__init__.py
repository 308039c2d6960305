"""The command line: results on standard output as they come, everything else on standard error.

Arguments are read here and nothing more is imported for it, so that `--help` is quick; the work of
a command is done in the module of its name. The exit codes are in `exit_codes`.
"""

from __future__ import annotations

import sys

from sitemapreader.cli.commands.table import choose_command
from sitemapreader.cli.exit_codes import INTERRUPTED
from sitemapreader.cli.parser import UsageError


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    command, rest = choose_command(sys.argv[1:] if argv is None else argv)
    parser = command.make_parser()
    arguments = parser.parse(rest)
    if sys.stdout is None and getattr(arguments, "output", None) in (None, "-"):
        parser.error("standard output is closed: open it, or write to a file with -o")
    try:
        return command.load()(arguments)
    except UsageError as error:
        parser.error(str(error))
    except KeyboardInterrupt:  # before there is any work that could be stopped
        return INTERRUPTED
