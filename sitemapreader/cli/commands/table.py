"""The table of commands, their parsers and their help."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.exit_codes import MEANINGS
from sitemapreader.cli.options import audit, general, network, output, scale, sources, walking
from sitemapreader.cli.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROGRAM = "sitemapreader"
SOURCES = """\
A SOURCE is a site (https://example.org), the URL of a sitemap or of a page to search from,
a folder that holds a site, or a file that is one sitemap; `-` is standard input. Without a scheme,
as in example.org or localhost:8443/map.xml, https is assumed, unless a file has that name."""
WALKING = (
    walking.add_search,
    walking.add_formats,
    walking.add_reach,
    network.add_network,
    general.add_messages,
)


@attrs.frozen
class Command:
    """A command: its purpose and its options.

    The function `run` in the module of the same name does the work.

    Attributes:
        name: first word of the command line.
        operands: positional arguments in the usage line.
        purpose: what the command does, beginning with a verb.
        groups: functions that add groups of options.
        examples: purpose of an example -> its command line.
    """

    name: str
    operands: str
    purpose: str
    groups: tuple[Callable[[Parser], None], ...]
    examples: dict[str, str]

    def make_parser(self, *, prog: str = "") -> Parser:
        """Make the parser of the arguments."""
        prog = prog or f"{PROGRAM} {self.name}"
        parser = Parser(
            prog=prog,
            usage=f"{prog} [OPTION]... {self.operands}",
            description=f"{self.purpose[0].upper()}{self.purpose[1:]}.",
            epilog=self._show_examples(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            allow_abbrev=False,
        )
        for add in (*self.groups, general.add_standard):
            add(parser)
        return parser

    def _show_examples(self) -> str:
        shown = "\n".join(f"  {line}\n      {what}" for what, line in self.examples.items())
        return f"examples:\n{shown}"

    def load(self) -> Callable[[argparse.Namespace], int]:
        """Import the module of the command and return its function `run`."""
        work: Callable[[argparse.Namespace], int]
        work = import_module(f"sitemapreader.cli.commands.{self.name}").run
        return work


def _add_topic(parser: Parser) -> None:
    """Add the command to describe."""
    topics = [name for name in COMMANDS if name != "help"]
    add = parser.add_argument_group("what to show").add_argument
    add("topic", nargs="?", choices=topics, metavar="COMMAND", help=f"one of {', '.join(topics)}")


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "urls",
            "SOURCE...",
            "print every URL that sites publish in their sitemaps",
            (
                sources.add_sources,
                walking.add_selection,
                output.add_state,
                output.add_output,
                sources.add_many,
                *WALKING,
            ),
            {
                "every URL of a site, one a line": "sitemapreader example.org",
                "what changed in the last week, below a path": (
                    "sitemapreader https://example.org/blog/ --since 7d"
                ),
                "many sites, each URL once, as a table": (
                    "sitemapreader -i sites.txt --unique -o urls.csv"
                ),
                "thousands of sites in one table, and their outcomes in another": (
                    "sitemapreader -i sites.txt --parallel 64 -o urls.parquet "
                    "--report sites.parquet"
                ),
                "some sitemaps of a site, and some URLs of these": (
                    r"sitemapreader example.org --no-follow 'atom|rss' --exclude '\.pdf$'"
                ),
                "what is new since the last run; the first run prints everything": (
                    "sitemapreader example.org --state site.db --changes >> new.txt"
                ),
                "ten URLs of a site behind a login, with all fields": (
                    'sitemapreader -u "reader:$PASSWORD" https://example.org --limit 10 '
                    "--format jsonl"
                ),
            },
        ),
        Command(
            "discover",
            "SITE...",
            "find the sitemaps of sites without reading them",
            (
                sources.add_sites,
                output.add_list_output,
                walking.add_search,
                walking.add_formats,
                network.add_network,
                general.add_messages,
            ),
            {
                "the sitemaps of a site, one a line": "sitemapreader discover example.org",
                "the sitemaps of many sites, and how each was found": (
                    "sitemapreader discover -i sites.txt --format jsonl"
                ),
            },
        ),
        Command(
            "tree",
            "SOURCE...",
            "show the sitemaps of sites, and the outcome of each",
            (sources.add_sources, walking.add_age, output.add_tree_output, *WALKING),
            {
                "each sitemap below the one that lists it": "sitemapreader tree example.org",
                "the same as JSON, with all figures": (
                    "sitemapreader tree example.org -o tree.json"
                ),
            },
        ),
        Command(
            "read",
            "[FILE]...",
            "print every URL in local sitemaps, without using the network",
            (
                sources.add_files,
                walking.add_formats,
                walking.add_selection,
                output.add_output,
                general.add_messages,
            ),
            {
                "the output of another program, compressed or not": (
                    "curl -s https://example.org/sitemap-birds.xml.gz | sitemapreader read"
                ),
                "files, as a table": "sitemapreader read *.xml.gz -o urls.csv",
            },
        ),
        Command(
            "audit",
            "SOURCE",
            "judge the sitemaps of a site by rules",
            (
                audit.add_audit_source,
                audit.add_rules,
                audit.add_audit_output,
                *WALKING,
            ),
            {
                "what is wrong with the sitemaps of a site": "sitemapreader audit example.org",
                "a report to look at, and all hits": (
                    "sitemapreader audit example.org -o report.html --hits hits.csv"
                ),
                "in CI, before deployment, without the network": (
                    "sitemapreader audit ./public --base-url https://example.org --fail-on warning"
                ),
                "compared with what Search Console knows": (
                    "sitemapreader audit example.org --urls gsc.csv --select comparison"
                ),
            },
        ),
        Command(
            "scale",
            "[HOSTS] -o FOLDER",
            "read the sitemaps of many hosts into Parquet files, on many cores or machines",
            (
                scale.add_hosts,
                scale.add_workers,
                scale.add_strangers,
                general.add_messages,
            ),
            {
                "every URL of every host, on all cores": "sitemapreader scale hosts.txt -o crawl/",
                "tomorrow: only what has changed": "sitemapreader scale -o crawl/",
                "the third of 16 jobs of an array": (
                    "sitemapreader scale hosts.txt -o s3://bucket/crawl --shard 3/16"
                ),
                "which hosts were not read, and why": (
                    "sitemapreader scale status -o crawl/ --failed"
                ),
            },
        ),
        Command(
            "state",
            "FILE",
            "show the content of a state file",
            (sources.add_state_file,),
            {
                "each site and each of its sitemaps": "sitemapreader state site.db",
                "the URLs that are no longer listed": "sitemapreader state site.db --removed",
            },
        ),
        Command(
            "completion",
            "SHELL",
            "print a completion script for a shell",
            (sources.add_shell,),
            {
                "bash or zsh, in ~/.bashrc or ~/.zshrc": (
                    'eval "$(sitemapreader completion bash)"'
                ),
                "fish, in ~/.config/fish/config.fish": ("sitemapreader completion fish | source"),
            },
        ),
        Command(
            "help",
            "[COMMAND]",
            "show the help of the program, or of a command",
            (_add_topic,),
            {"the options of discover": "sitemapreader help discover"},
        ),
    )
}
"""Name of a command -> the command; the first is the default."""
DEFAULT = next(iter(COMMANDS.values()))


@attrs.frozen
class Program(Command):
    """The default command when it is not named; its help is that of the program."""

    def make_parser(self, *, prog: str = PROGRAM) -> Parser:
        """Make the parser, whose help lists the commands and the exit codes."""
        parser = super().make_parser(prog=prog)
        parser.usage = f"{PROGRAM} [COMMAND] [OPTION]... {self.operands}"
        commands = _show_table((each.name, each.purpose) for each in COMMANDS.values())
        parser.description = (
            f"{parser.description}\n\ncommands (see `{PROGRAM} help COMMAND`; "
            f"{DEFAULT.name} is the default):\n{commands}\n\n{SOURCES}"
        )
        parser.epilog = f"{parser.epilog}\n\nexit codes:\n{_show_table(MEANINGS.items())}"
        return parser


PROGRAM_COMMAND = Program(*attrs.astuple(DEFAULT, recurse=False))


def _show_table(rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"  {name:{width}}{what}" for name, what in rows)


def choose_command(words: list[str]) -> tuple[Command, list[str]]:
    """Return the command of the first word, or the default, and the other words.

    A file with the name of a command can be written `./urls`.
    """
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]], words[1:]
    return PROGRAM_COMMAND, words
