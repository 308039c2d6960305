"""Where results go: entries in one of the formats, or lines of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from sitemapreader.cli.parser import UsageError
from sitemapreader.output import FORMATS, SUFFIXES, open_output
from sitemapreader.output.sink import Sink

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import TracebackType

    from sitemapreader.output import Output

STANDARD_OUTPUT = "-"
_KNOWN_SUFFIXES = {
    *FORMATS,
    *("gz", "html", "json", "ndjson", "ods", "xls", "xlsx", "xml", "zip", "zst"),
}
"""Suffixes that name a format, whether it can be written or not."""
_NUL_FORMATS = ("urls", "jsonl")
_HEADER_FORMATS = ("csv", "tsv")


def open_entries(arguments: argparse.Namespace) -> Output:
    """Return where entries go; raise UsageError if they cannot go there so."""
    path, form = get_output_path(arguments), find_output_format(arguments)
    _check_format(arguments, form)
    try:
        return open_output(
            path,
            form,
            fields=arguments.fields,
            null_terminated=arguments.null,
            header=arguments.header,
        )
    except (ValueError, ModuleNotFoundError) as error:
        raise UsageError(str(error)) from None


def _check_format(arguments: argparse.Namespace, form: str) -> None:
    """Raise UsageError for an option that a format has no use for."""
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


def get_output_path(arguments: argparse.Namespace) -> str | None:
    """Return the file that is written; `None` for standard output."""
    path: str | None = arguments.output
    return None if path == STANDARD_OUTPUT else path


def find_output_format(arguments: argparse.Namespace, formats: Sequence[str] = FORMATS) -> str:
    """Return which of some formats is written: as asked for, or as the file's suffix says.

    Raises UsageError for a suffix that says something else.
    """
    name = (arguments.output or "").lower()
    if "csv" in formats:  # tables and lines of entries may be compressed; trees are not
        name = name.removesuffix(".gz")
    suffix = Path(name).suffix.removeprefix(".")
    form = SUFFIXES.get(f".{suffix}", suffix)
    if not arguments.format and form not in formats and suffix in _KNOWN_SUFFIXES:
        raise UsageError(
            f"-o: nothing is written as .{suffix}: end the name with .{', .'.join(formats[1:])} "
            "or .txt, or say with --format what is meant"
        )
    return str(arguments.format or (form if form in formats else formats[0]))


class LineWriter:
    """Takes text in whole lines.

    Attributes:
        name: what to call it in a message.
    """

    def __init__(self, path: str | None) -> None:
        self._sink = Sink(path)
        self.name = self._sink.name

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way; it may wait for its reader as long as that likes."""
        return self._sink.is_writing

    @property
    def can_draw(self) -> bool:
        """Whether the encoding has the characters that trees are drawn with."""
        try:
            "├└│─".encode(self._sink.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def __enter__(self) -> Self:
        self._sink.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._sink.__exit__(kind, error, traceback)

    def write(self, text: str) -> None:
        """Write lines. Raises OSError."""
        self._sink.write(text.encode(self._sink.encoding, "backslashreplace"))
