"""What the library's messages call its arguments in the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.options import OPTIONS
from sitemapreader.options import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIBRARY_ONLY = ("Limits", "min_bytes_per_second")
"""Prefixes of arguments that have no option in the shell."""
_ARGUMENT = re.compile(r"`([^`]+)`")
_VALUE = re.compile(r'(\w+)=(?:True|False|"(\w+)"|\{"(\w+)"\})')


def _list_names() -> Iterator[tuple[str, str]]:
    for option in (each for group in OPTIONS.values() for each in group):
        if not option.name.startswith("--"):
            continue
        of_limits = option.key in attrs.fields_dict(Limits)
        yield f"Limits.{option.key}" if of_limits else option.key, option.name
        if option.repeats and isinstance(option.const, str):
            yield f"{option.key}:{option.const}", option.name
        yield from ((said, option.name) for said in option.says)


_NAMES = dict(_list_names())
"""An argument, or an argument and a value of it -> the option of the shell."""


def name_options(text: str) -> str:
    """Replace the arguments of the library that a text names by options of the shell."""
    return _ARGUMENT.sub(_name_option, text)


def _name_option(match: re.Match[str]) -> str:
    said = match[1]
    if said in _NAMES:
        return _NAMES[said]
    if value := _VALUE.fullmatch(said):
        name, word, member = value.groups()
        if option := _NAMES.get(f"{name}:{member}" if member else name):
            return f"{option} {word}" if word else option
    if said.startswith(_LIBRARY_ONLY):
        return f"{said} (in Python; no option does it)"
    return match[0]
