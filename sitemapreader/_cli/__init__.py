"""The command line: results go to standard output, messages to standard error.

The arguments are parsed here. The module of the chosen command does the work, and is imported only
then, which keeps `--help` fast.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

_HELP = {"-h", "--help", "--version"}


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return _run_command(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:  # before `run_process` has set its handlers
        return 128 + signal.SIGINT


def _is_here() -> bool:
    """Return whether the current folder exists, which names of files are relative to."""
    try:
        os.getcwd()  # noqa: PTH109 (`Path.cwd` is the same, and is imported later)
    except FileNotFoundError:
        return False
    return True


def _print_doubts(doubts: list[str], quiet: bool) -> None:
    if doubts:
        from sitemapreader._cli.console import Console  # noqa: PLC0415 (rare)

        for doubt in doubts:
            Console(quiet=quiet).print_line(doubt)


def _run_command(argv: list[str]) -> int:
    # imported here, because Ctrl-C may come meanwhile
    from sitemapreader._cli.commands import COMMANDS, DEFAULT, EXTRAS  # noqa: PLC0415 (see above)
    from sitemapreader._cli.parser import (  # noqa: PLC0415 (the same)
        UsageError,
        check_files,
        list_doubts,
        name_options,
    )
    from sitemapreader._cli.settings import Settings, read_settings  # noqa: PLC0415 (the same)
    from sitemapreader._types.errors import advise_extra  # noqa: PLC0415 (the same)

    # to name a file called `urls`, write ./urls
    is_named = argv[:1] != [] and argv[0] in COMMANDS
    command = COMMANDS[argv[0]] if is_named else DEFAULT
    parser = command.make_parser(is_program=not is_named)
    words = argv[1:] if is_named else argv
    settings = Settings()
    if not _HELP & {*words} and command.name != "completion":
        try:
            settings = read_settings(command.name, Path())
        except UsageError as error:
            parser.error(str(error))
    arguments = parser.parse(words, settings.values)
    arguments.settings = settings
    if sys.stdout is None and getattr(arguments, "output", None) in (None, "-"):
        parser.error("standard output is closed: open it, or write to a file with -o")
    try:
        check_files(command.name, arguments)
        _print_doubts(list_doubts(command.name, arguments), bool(arguments.quiet))
        work = command.load()
        # what is imported stays: no collection need look at it, which took a fifth of a short run
        gc.freeze()
        return work(arguments)
    except UsageError as error:
        parser.error(name_options(str(error)))
    except FileNotFoundError:
        if _is_here():
            raise
        parser.error("the current folder was removed: change to one that exists")
    except ModuleNotFoundError as error:
        if command.name not in EXTRAS:
            raise
        parser.error(
            f"{command.name} needs {error.name}; {advise_extra(EXTRAS[command.name])}"
        )
