"""The files that a command reads and writes: none is named twice."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.cli.options import list_options
from sitemapreader.cli.parser import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.cli.options import Option

_STANDARD = ("-", os.devnull)
_UPDATED = ("--baseline", "--write-baseline")
"""A file that is read whole before it is written."""
_REPORTS = (b"\n<testsuites ", b"default-src 'none'; style-src 'sha256-")
_HEAD_BYTES = 2_048
"""What stands at the beginning of a report in XML or HTML, and where."""
_DOCUMENT = re.compile(r"robots\.txt|sitemap.*\.txt|.*\.(x?html?|xml)(\.gz)?", re.IGNORECASE)
"""Names that a walk over a folder may read."""


def check_files(command: str, arguments: argparse.Namespace) -> None:
    """Raise UsageError for an output that is read, or written, otherwise."""
    options = [option for _, group in list_options(command) for option in group]
    given = list(_list_files(options, "read", arguments))
    read = {_identify(path): option for option, path in given}
    folders = [Path(path).resolve() for _, path in given if os.path.isdir(path)]  # noqa: PTH112 (pathlib's raises for some texts)
    written: dict[str | tuple[int, int], Option] = {}
    for option, path in _list_files(options, "written", arguments):
        file = _identify(path)
        other = written.get(file) or read.get(file)
        if other is not None and (other.name, option.name) != _UPDATED:
            what = other.name if other.name.startswith("-") else "what is read"
            raise UsageError(f"{option.name} {path}: {what} is the same file; name another one")
        written[file] = option
        if _DOCUMENT.fullmatch(Path(path).name) and Path(path).is_file() and not _is_report(path):
            for folder in folders:
                if Path(path).resolve().is_relative_to(folder):
                    raise UsageError(
                        f"{option.name} {path}: it is a document of the folder that is read; name"
                        " a file outside of it"
                    )


def _is_report(path: str) -> bool:
    """Return whether a file is the report of an earlier audit."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return any(mark in head for mark in _REPORTS)


def _list_files(
    options: list[Option], use: str, arguments: argparse.Namespace
) -> Iterator[tuple[Option, str]]:
    """Yield the files of this use that the arguments name."""
    for option in options:
        given = getattr(arguments, option.key) if option.file == use else None
        paths = given if isinstance(given, list) else [given]
        yield from ((option, path) for path in paths if path and path not in _STANDARD)


def _identify(path: str) -> str | tuple[int, int]:
    """Return what is the same for all names of a file: links lead to one."""
    try:
        status = os.stat(path)  # noqa: PTH116 (texts that are no path are given, too)
    except (OSError, ValueError):  # it does not exist yet, or is the URL of a site
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
