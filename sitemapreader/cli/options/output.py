"""Options for the output and the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.options.types import parse_fields
from sitemapreader.output import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.cli.parser import Add, Parser

LIST_FORMATS = ("urls", "jsonl")
TREE_FORMATS = ("tree", "json")


def add_output(parser: Parser) -> None:
    """Add the output of entries."""
    add = parser.add_argument_group("output").add_argument
    _add_format(add, FORMATS)
    add(
        "--fields",
        type=parse_fields,
        metavar="NAME,...",
        help="write only these fields, in this order, such as loc,lastmod or loc,date,title",
    )
    add(
        "-0",
        "--null",
        action="store_true",
        help="end each record with NUL instead of a newline, for xargs -0",
    )
    add(
        "--no-header",
        dest="header",
        action="store_false",
        help="omit the first line of csv and tsv, to append with >> FILE",
    )


def add_state(parser: Parser) -> None:
    """Add the state and the comparison with it."""
    add = parser.add_argument_group("state").add_argument
    add(
        "--state",
        metavar="FILE",
        help="remember in FILE what was read: the next run prints only the URLs of sitemaps that "
        "have changed, and resumes this run if it was interrupted",
    )
    add(
        "--changes",
        action="store_true",
        help="with --state: print only URLs that are new, or whose record has changed",
    )
    add(
        "--removed",
        action="store_true",
        help="with --changes: at the end, print the URLs that are no longer listed; needs a format "
        "with the field `change`, such as jsonl",
    )


def add_list_output(parser: Parser) -> None:
    """Add the output of sitemaps."""
    _add_format(parser.add_argument_group("output").add_argument, LIST_FORMATS)


def add_tree_output(parser: Parser) -> None:
    """Add the output of a tree."""
    _add_format(parser.add_argument_group("output").add_argument, TREE_FORMATS)


def _add_format(add: Add, names: Sequence[str]) -> None:
    add("--format", choices=names, help=f"format (default: by the suffix of -o, else {names[0]})")
    add("-o", "--output", metavar="FILE", help="file to write (default, or -: standard output)")
