"""Outputs of the commands: entries in a format, or lines of text."""

from __future__ import annotations

import array
import asyncio
import os
import select
import stat
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.cli.parser import UsageError
from sitemapreader.event_loop import run_in_daemon
from sitemapreader.output import FILE_FORMATS, FORMATS, SUFFIXES, open_output
from sitemapreader.output.sink import Encoder, Output

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Sequence

    from sitemapreader.output.counts import UrlCounts

AnyOutput = TypeVar("AnyOutput", bound=Output)
STANDARD_OUTPUT = "-"
_FORMATS = (*FORMATS, *FILE_FORMATS)
_KNOWN_SUFFIXES = {*_FORMATS, "gz", "html", "json", "ndjson", "ods", "xls", "xml", "zip", "zst"}
"""Suffixes that name a format, whether it can be written or not."""


class LineWriter(Output):
    """An output of whole lines of text."""

    def __init__(self, path: str | None) -> None:
        super().__init__(path, Encoder())

    def write_text(self, text: str) -> None:
        """Write lines; raise OSError."""
        self.put(text.encode(self.encoding, "backslashreplace"))


@asynccontextmanager
async def opened(output: AnyOutput) -> AsyncIterator[AnyOutput]:
    """Enter an output, and leave it; a named pipe may wait for its reader meanwhile.

    A signal leaves what was written until then: a note of the exception says where.
    """
    await run_in_daemon(output.__enter__)
    try:
        yield output
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and (part := output.keep()):
            error.add_note(f"what was written until then is in {part}")
        output.__exit__(type(error), error, error.__traceback__)
        raise
    await run_in_daemon(partial(output.__exit__, None, None, None))


async def write_to(output: Output, write: Callable[[], object]) -> None:
    """Write to an output: in a thread, where that may wait for a reader without limit."""
    # So the walks go on until their channels are full, and a signal ends the program at once. A
    # terminal shows progress and messages as well: what is written there is written in turn. So is
    # what is redirected into a file: a thread for each batch takes a third of the program's time.
    if output.is_replaced or (output.descriptor >= 0 and not is_pipe(output)):
        write()
    else:
        await run_in_daemon(write)


# -- options


def open_entries(arguments: argparse.Namespace, counts: UrlCounts | None = None) -> Output:
    """Return the output for entries, or for their counts.

    Raises UsageError for options that contradict it.
    """
    form, header = find_output_format(arguments), arguments.header
    if counts is not None:
        if arguments.fields is not None:
            raise UsageError("--count-by prints two columns: leave out --fields")
        if form == "atom":
            raise UsageError("--count-by prints a table: choose csv, tsv, jsonl or parquet")
        form, header = ("tsv", False) if form == "urls" else (form, header)
    elif form == "atom" and not arguments.changes:
        raise UsageError(
            "--format atom is a feed of changes: urls writes it with --changes and --state FILE"
        )
    if form == "parquet":  # pyarrow's own allocator keeps 20 MB more
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        return open_output(
            get_output_path(arguments),
            form,
            fields=arguments.fields,
            null_terminated=arguments.null,
            header=header,
            bom=arguments.bom,
            columns=None if counts is None else counts.columns,
            has_sites=is_for_many(arguments),
        )
    except (ValueError, ModuleNotFoundError) as error:
        raise UsageError(str(error)) from None


def is_for_many(arguments: argparse.Namespace) -> bool:
    """Return whether there may be several sources."""
    return arguments.input_file is not None or len(arguments.sources) > 1


def get_output_path(arguments: argparse.Namespace) -> str | None:
    """Return the path of the output file; `None` for standard output."""
    path: str | None = arguments.output
    return None if path == STANDARD_OUTPUT else path


def find_output_format(arguments: argparse.Namespace, formats: Sequence[str] = _FORMATS) -> str:
    """Return the format of `--format` or of the file's suffix, else the first one.

    Raises UsageError for the suffix of another format.
    """
    if arguments.format:
        return str(arguments.format)
    name = (arguments.output or "").lower()
    if "csv" in formats:  # tables and lines of entries may be compressed; trees are not
        name = name.removesuffix(".gz")
    suffix = Path(name).suffix.removeprefix(".")
    form = SUFFIXES.get(f".{suffix}", suffix)
    if form not in formats and suffix in _KNOWN_SUFFIXES:
        raise UsageError(
            f"-o: .{suffix} cannot be written: end the name with .{', .'.join(formats[1:])} "
            "or .txt, or choose a format with --format"
        )
    return form if form in formats else formats[0]


# -- pipes

GRACE_SECONDS = 0.2
"""How long to wait at the end for a reader that exits early, as `head` does: one that wants more
stays until end of file."""


def is_pipe(output: Output) -> bool:
    """Return whether an output is lost if its reader dies."""
    mode = os.fstat(output.descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def wait_for_reader(pipe: int) -> None:
    """Wait until the reader of a pipe has taken everything, and has stayed for more.

    Raises BrokenPipeError: it has gone away.
    """
    pause, rounds = 0.001, 10
    while rounds:
        if _is_abandoned(pipe):
            raise BrokenPipeError
        if _holds_bytes(pipe):
            pause = min(2 * pause, 0.1)
        else:
            pause, rounds = GRACE_SECONDS / 10, rounds - 1
        await asyncio.sleep(pause)


def _holds_bytes(pipe: int) -> bool:
    """Return whether a pipe has unread bytes; False if the system cannot tell."""
    count = array.array("i", [0])
    with suppress(ImportError, OSError):  # Windows, which has none of these; a socket
        import fcntl  # noqa: PLC0415 (see above)
        import termios  # noqa: PLC0415 (the same)

        fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0] > 0 and stat.S_ISFIFO(os.fstat(pipe).st_mode)


def _is_abandoned(pipe: int) -> bool:
    """Return whether every reader has closed its end."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(pipe, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
