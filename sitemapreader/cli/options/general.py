"""Options of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sitemapreader

if TYPE_CHECKING:
    from sitemapreader.cli.parser import Parser


def add_messages(parser: Parser) -> None:
    """Add the verbosity of messages."""
    add = parser.add_argument_group("messages").add_argument
    add(
        "-q",
        "--quiet",
        action="store_true",
        help="print nothing on standard error except the error that ends the program",
    )
    add("-v", "--verbose", action="store_true", help="also print Issues of severity info")


def add_standard(parser: Parser) -> None:
    """Add the options of every command."""
    add = parser.add_argument_group("general").add_argument
    add("-h", "--help", action="help", help="show this help")
    add(
        "--version",
        action="version",
        version=f"sitemapreader {sitemapreader.__version__}",
        help="show the version",
    )
