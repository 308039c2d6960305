"""Parsers of arguments, and what is wrong with arguments."""

from __future__ import annotations

import argparse
from typing import NoReturn

from sitemapreader.issues import excerpt

MAX_SAID = 2_000
"""Characters of a message; its text may come from anywhere."""


class UsageError(ValueError):
    """The arguments cannot be meant; the message says what to write instead."""


class Parser(argparse.ArgumentParser):
    """A parser whose options may stand anywhere, and whose messages are safe for a terminal."""

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Read the arguments, or end the program with a message."""
        arguments, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            # not what is behind a "=": it may be a password
            names = " ".join(word.partition("=")[0] for word in unknown)
            self.error(f"unknown option: {names}; see {self.prog} --help")
        return arguments

    def error(self, message: str) -> NoReturn:
        """Print usage and a message, and exit with 2."""
        super().error(excerpt(message, MAX_SAID))
