"""The commands: a table, and how one is chosen and its parser made."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli import options
from sitemapreader.cli.exit_codes import MEANINGS
from sitemapreader.cli.usage import Parser

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "sitemapreader"
SOURCES = """\
A SOURCE is a site (https://example.org), the URL of a sitemap or of a page below which to look,
a folder that holds a site, or a file that is one sitemap; `-` is standard input. Without a scheme,
as in example.org or localhost:8443/map.xml, https is meant; a file of that name goes first."""
WALKING = (options.add_search, options.add_reach, options.add_network, options.add_messages)


@attrs.frozen
class Command:
    """One command: what it is for, and the groups of options that it takes.

    Its work is `run` in the module of its name, imported once its arguments are read.
    """

    name: str
    purpose: str
    groups: tuple[Callable[[Parser], None], ...]

    def make_parser(self, *, prog: str = "") -> Parser:
        """Describe the arguments."""
        parser = Parser(
            prog=prog or f"{PROGRAM} {self.name}",
            description=f"{self.purpose[0].upper()}{self.purpose[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            allow_abbrev=False,
        )
        for add in (*self.groups, options.add_standard):
            add(parser)
        return parser

    def load(self) -> Callable[[argparse.Namespace], int]:
        """Import what does the work."""
        work: Callable[[argparse.Namespace], int]
        work = import_module(f"sitemapreader.cli.{self.name}").run
        return work


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "urls",
            "print every URL that sites publish in their sitemaps",
            (
                options.add_sources,
                options.add_selection,
                options.add_memory,
                options.add_output,
                *WALKING,
            ),
        ),
        Command(
            "discover",
            "find the sitemaps of sites, and read none of them",
            (
                options.add_sites,
                options.add_list_output,
                options.add_search,
                options.add_network,
                options.add_messages,
            ),
        ),
        Command(
            "tree",
            "show the sitemaps of sites, and what became of each",
            (options.add_sources, options.add_age, options.add_tree_output, *WALKING),
        ),
        Command(
            "read",
            "print every URL in sitemaps that are at hand, without any network",
            (
                options.add_files,
                options.add_selection,
                options.add_output,
                options.add_messages,
            ),
        ),
        Command("state", "show what a state file holds", (options.add_state_file,)),
        Command("completion", "print the completion of a shell", (options.add_shell,)),
        Command("man", "print the manual page", ()),
    )
}
"""By name; the first one is meant where none is named."""
DEFAULT = next(iter(COMMANDS.values()))


@attrs.frozen
class WithoutName(Command):
    """The default command, whose help is that of the program."""

    def make_parser(self, *, prog: str = PROGRAM) -> Parser:
        """Describe the arguments, and name the commands."""
        parser = super().make_parser(prog=prog)
        parser.usage = f"{PROGRAM} [COMMAND] [OPTION]... SOURCE..."
        width = max(map(len, COMMANDS)) + 2
        listed = "\n".join(f"  {c.name:{width}}{c.purpose}" for c in COMMANDS.values())
        width = max(map(len, MEANINGS)) + 2
        codes = "\n".join(f"  {code:{width}}{what}" for code, what in MEANINGS.items())
        parser.description = (
            f"{parser.description}\n\ncommands (`{PROGRAM} COMMAND --help` tells more; "
            f"{DEFAULT.name} is meant if none is named):\n{listed}\n\n{SOURCES}"
        )
        parser.epilog = f"exit codes:\n{codes}"
        return parser


def choose_command(words: list[str]) -> tuple[Command, list[str]]:
    """Return the command that the first word names, or else the default one, and the other words.

    A file that is called as a command is can be named `./urls`.
    """
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]], words[1:]
    return WithoutName(DEFAULT.name, DEFAULT.purpose, DEFAULT.groups), words
