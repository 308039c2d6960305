"""Argument parsers; an error takes two lines and says what to write instead."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from sitemapreader.errors import suggest
from sitemapreader.issues import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Add: TypeAlias = "Callable[..., argparse.Action]"
"""Adds an option to a group: the method `add_argument` of the group."""

MAX_MESSAGE = 2_000
"""Characters of a message, which may quote foreign text."""
_NEGATIVE = re.compile(r"-\d")


class UsageError(ValueError):
    """Arguments that make no sense; the message says what to write instead."""


class Parser(argparse.ArgumentParser):
    """A parser that takes options anywhere, and escapes its messages for a terminal."""

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Parse the arguments, or exit with a message."""
        arguments, unknown = self.parse_known_intermixed_args(list(self._join_values(words)))
        if unknown:
            # only what stands before "=": the value may be a password
            names = [word.partition("=")[0] for word in unknown if word.startswith("-")]
            if not names:
                single = (each.metavar for each in self.list_actions() if each.nargs == "?")
                name = next(map(str, filter(None, single)), "")
                hint = f" it takes one {name}, so run it once for each;" if name else ""
                self.error(
                    f"unexpected argument: {' '.join(unknown)};{hint} see {self.prog} --help"
                )
            known = [flag for action in self.list_actions() for flag in action.option_strings]
            hint = suggest(names[0], known)
            self.error(f"unknown option: {' '.join(names)};{hint} see {self.prog} --help")
        return arguments

    def list_actions(self) -> list[argparse.Action]:
        """Return the options and the positional arguments."""
        return list(self._actions)

    def _join_values(self, words: list[str]) -> Iterator[str]:
        """Yield the words, with values such as -1 joined to the option before them."""
        # argparse would take such a value for an option
        takers = {
            flag
            for action in self.list_actions()
            if action.type is not None and action.nargs != 0
            for flag in action.option_strings
        }
        before: str | None = None
        is_open = True
        for word in words:
            if before is not None:
                is_value = is_open and before in takers and _NEGATIVE.match(word)
                is_open = is_open and before != "--"
                if is_value:
                    yield f"{before}={word}" if before.startswith("--") else before + word
                    before = None
                    continue
                yield before
            before = word
        if before is not None:
            yield before

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a value that is not among the choices, and suggest the closest one."""
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        hint = suggest(str(value), choices)
        raise argparse.ArgumentError(
            action, f"unknown value {value!r}:{hint} choose from {', '.join(choices)}"
        )

    def error(self, message: str) -> NoReturn:
        """Print the usage and a message, and exit with 2."""
        super().error(excerpt(message, MAX_MESSAGE))
