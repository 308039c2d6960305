"""Outputs of the commands: entries in a format, or lines of text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sitemapreader.cli.parser import UsageError
from sitemapreader.output import FORMATS, SUFFIXES, open_output
from sitemapreader.output.sink import Sink

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from sitemapreader.output.sink import Output

STANDARD_OUTPUT = "-"
_KNOWN_SUFFIXES = {
    *FORMATS,
    *("gz", "html", "json", "ndjson", "ods", "xls", "xlsx", "xml", "zip", "zst"),
}
"""Suffixes that name a format, whether it can be written or not."""
_NUL_FORMATS = ("urls", "jsonl")
_HEADER_FORMATS = ("csv", "tsv")


def open_entries(arguments: argparse.Namespace) -> Output:
    """Open the output for entries; raise UsageError for options that contradict it."""
    path, form = get_output_path(arguments), find_output_format(arguments)
    _check_format(arguments, form)
    if form == "parquet":  # pyarrow's own allocator keeps 20 MB more
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        return open_output(
            path,
            form,
            fields=arguments.fields,
            null_terminated=arguments.null,
            header=arguments.header,
            has_sites=is_for_many(arguments),
        )
    except (ValueError, ModuleNotFoundError) as error:
        raise UsageError(str(error)) from None


def _check_format(arguments: argparse.Namespace, form: str) -> None:
    """Raise UsageError for an option that does not apply to the format."""
    if arguments.null and form not in _NUL_FORMATS:
        raise UsageError(
            f"-0 is for --format {' or '.join(_NUL_FORMATS)}: records of {form} cannot end with NUL"
        )
    if not arguments.header and form not in _HEADER_FORMATS:
        raise UsageError(
            f"--no-header is for --format {' or '.join(_HEADER_FORMATS)}: {form} has no header"
        )
    if form == "urls" and arguments.fields is not None and list(arguments.fields) != ["loc"]:
        raise UsageError(
            "--fields: --format urls has no field but loc; use --format jsonl, csv or tsv"
        )


def is_for_many(arguments: argparse.Namespace) -> bool:
    """Return whether there may be several sources."""
    return getattr(arguments, "input_file", None) is not None or len(arguments.sources) > 1


def get_output_path(arguments: argparse.Namespace) -> str | None:
    """Return the path of the output file; `None` for standard output."""
    path: str | None = arguments.output
    return None if path == STANDARD_OUTPUT else path


def find_output_format(arguments: argparse.Namespace, formats: Sequence[str] = FORMATS) -> str:
    """Return the format of `--format` or of the file's suffix, else the first one.

    Raises UsageError for the suffix of another format.
    """
    name = (arguments.output or "").lower()
    if "csv" in formats:  # tables and lines of entries may be compressed; trees are not
        name = name.removesuffix(".gz")
    suffix = Path(name).suffix.removeprefix(".")
    form = SUFFIXES.get(f".{suffix}", suffix)
    if not arguments.format and form not in formats and suffix in _KNOWN_SUFFIXES:
        raise UsageError(
            f"-o: .{suffix} cannot be written: end the name with .{', .'.join(formats[1:])} "
            "or .txt, or choose a format with --format"
        )
    return str(arguments.format or (form if form in formats else formats[0]))


class LineWriter:
    """An output of whole lines of text.

    Attributes:
        name: name in messages.
    """

    def __init__(self, path: str | None) -> None:
        self._sink = Sink(path)
        self.name = self._sink.name

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way, which may wait for its reader without limit."""
        return self._sink.is_writing

    @property
    def can_draw(self) -> bool:
        """Whether the encoding has the characters in which trees are drawn."""
        try:
            "├└│─".encode(self._sink.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def __enter__(self) -> Self:
        self._sink.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._sink.__exit__(kind, error, traceback)

    @property
    def is_replaced(self) -> bool:
        """Whether it is a file that appears when it is complete: no pipe, no device."""
        return self._sink.is_replaced

    @property
    def written(self) -> int:
        """How many bytes were written."""
        return self._sink.written

    def discard(self) -> None:
        """Leave the file of this name as it is, or as absent as it is."""
        self._sink.rollback()

    def write(self, text: str) -> None:
        """Write lines; raise OSError."""
        self._sink.write(text.encode(self._sink.encoding, "backslashreplace"))
