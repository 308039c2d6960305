"""The files that a command reads and writes: none is named twice."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sitemapreader.cli.options import list_options
from sitemapreader.cli.parser import UsageError

if TYPE_CHECKING:
    import argparse

_STANDARD = ("-", os.devnull)
_UPDATED = ("--baseline", "--write-baseline")
"""A file that is read whole before it is written."""


def check_files(command: str, arguments: argparse.Namespace) -> None:
    """Raise UsageError for an output that is read, or written, otherwise."""
    known: dict[object, str] = {}
    options = [option for _, group in list_options(command) for option in group if option.file]
    for option in sorted(options, key=lambda option: option.file):  # what is read comes first
        given = getattr(arguments, option.key)
        for path in given if isinstance(given, list) else [given]:
            if not path or path in _STANDARD:
                continue
            file = _identify(path)
            other = known.get(file, "")
            if other and option.file == "written" and (other, option.name) != _UPDATED:
                what = other if other.startswith("-") else "what is read"
                said = f"{option.name} {path}: {what} is the same file; name another one"
                raise UsageError(said)
            known[file] = option.name


def _identify(path: str) -> object:
    """Return what is the same for all names of a file: links lead to one."""
    try:
        status = os.stat(path)  # noqa: PTH116 (texts that are no path are given, too)
    except (OSError, ValueError):  # it does not exist yet, or is the URL of a site
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
