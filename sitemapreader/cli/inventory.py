"""What a parser knows of its options, as values: for help in other forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.commands import COMMANDS, DEFAULT, PROGRAM

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.cli.commands import Command

__all__ = ["COMMANDS", "DEFAULT", "PROGRAM", "Group", "Option", "list_groups", "list_options"]


@attrs.frozen
class Option:
    """An option, or what stands without one.

    Attributes:
        flags: the short one first; none for what stands without one.
        value: what to call its value, "" if it takes none.
        choices: the values that it can have, where they can be listed.
        is_repeatable: whether it may be given more than once.
        help: what it does.
    """

    flags: tuple[str, ...]
    value: str
    choices: tuple[str, ...]
    is_repeatable: bool
    help: str

    @property
    def takes_file(self) -> bool:
        """Whether its value can be the name of a file."""
        return self.value in ("FILE", "SOURCE")


@attrs.frozen
class Group:
    """Options that belong together."""

    title: str
    options: tuple[Option, ...]


def list_groups(command: Command) -> Iterator[Group]:
    """Yield the groups of a command's options that have any."""
    parser = command.make_parser()
    for group in parser._action_groups:  # noqa: SLF001 (argparse has no public list of them)
        actions = group._group_actions  # noqa: SLF001 (the same)
        if actions:
            yield Group(group.title or "", tuple(map(_read, actions)))


def list_options(command: Command) -> list[Option]:
    """Return all options of a command."""
    return [option for group in list_groups(command) for option in group.options]


def _read(action: argparse.Action) -> Option:
    takes_value = action.nargs != 0
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return Option(
        tuple(sorted(action.option_strings, key=len)),
        metavar if takes_value else "",
        tuple(map(str, action.choices or ())),
        type(action).__name__ == "_AppendAction",
        action.help or "",
    )
