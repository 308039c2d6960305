"""Parsers of arguments: wrong ones are answered in two lines, with what to write instead."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, NoReturn

from sitemapreader.issues import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_MESSAGE = 2_000
"""Characters of a message; its text may come from anywhere."""
_NEGATIVE = re.compile(r"-\d")


class UsageError(ValueError):
    """The arguments cannot be meant; the message says what to write instead."""


class Parser(argparse.ArgumentParser):
    """A parser whose options may stand anywhere, and whose messages are safe for a terminal."""

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Read the arguments, or end the program with a message."""
        arguments, unknown = self.parse_known_intermixed_args(list(self._join_values(words)))
        if unknown:
            # not what is behind a "=": it may be a password
            names = [word.partition("=")[0] for word in unknown if word.startswith("-")]
            if not names:
                self.error(f"nothing is done with {' '.join(unknown)}; see {self.prog} --help")
            known = [flag for action in self.list_actions() for flag in action.option_strings]
            hint = suggest(names[0], known)
            self.error(f"unknown option: {' '.join(names)};{hint} see {self.prog} --help")
        return arguments

    def list_actions(self) -> list[argparse.Action]:
        """Return all that the parser knows, options and what stands without one."""
        return list(self._actions)

    def _join_values(self, words: list[str]) -> Iterator[str]:
        """Yield the words, with values such as -1 joined to the option that they are meant for.

        argparse takes them for options.
        """
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
        """Refuse a value that is no choice of an option, and name the one that is like it."""
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        hint = suggest(str(value), choices)
        raise argparse.ArgumentError(
            action, f"there is no {value!r}:{hint} choose from {', '.join(choices)}"
        )

    def error(self, message: str) -> NoReturn:
        """Print a line of usage and a message, and exit with 2."""
        super().error(excerpt(message, MAX_MESSAGE))


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a question that names what a word may be meant for, or ""."""
    from difflib import get_close_matches  # noqa: PLC0415 (only where something is wrong)

    close = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" did you mean {close[0]}?" if close else ""
