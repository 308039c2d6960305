"""The command line: results on standard output as they come, everything else on standard error.

Arguments are read here and nothing more is imported for it, so that `--help` is quick; the work of
a command is done in the module of its name. Exit codes:

```
0  all was read             3  URLs were printed, and something failed
1  no URL was found, or     4  nothing could be fetched
   the output not written   129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM
2  wrong usage              141  the reader of the output went away
```
"""

from __future__ import annotations

import sys

from sitemapreader.cli.commands import choose_command
from sitemapreader.cli.usage import UsageError

INTERRUPTED = 130


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
