"""The table of commands, their parsers and their help."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from textwrap import dedent, fill, indent
from typing import TYPE_CHECKING

import attrs

from sitemapreader._cli.parser import MEANINGS, Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PROGRAM = "sitemapreader"
SOURCES = """\
A SOURCE is a site (https://example.org), the URL of a sitemap or of a page to
search from, a folder that holds a site, or a file that is one sitemap; `-` is
standard input. Without a scheme, as in example.org or localhost:8443/map.xml,
https is assumed, unless a file has that name."""


_COMMANDS = r"""
urls SOURCE...
  print every URL that sites publish in their sitemaps
  sitemapreader example.org
      every URL of a site, one a line
  sitemapreader https://example.org/blog/ --since 7d
      URLs below a path that changed in the last week
  sitemapreader -i sites.txt --unique -o urls.csv
      many sites, each URL once, as a table
  sitemapreader example.org --no-follow 'atom|rss' --exclude '\.pdf$'
      some sitemaps of a site, and some URLs of these
  sitemapreader example.org --state site.db --changes >> new.txt
      new URLs since the last run; the first run prints everything
discover SITE...
  find the sitemaps of sites without reading them
  sitemapreader discover example.org
      the sitemaps of a site, one a line
  sitemapreader discover -i sites.txt --format jsonl
      the sitemaps of many sites, and how each was found
why URL...
  explain why a URL is in no sitemap of its site
  sitemapreader why https://example.org/trails/sea-wall
      listed or not, where, in which spelling, and the response of the page
  sitemapreader why https://example.org/trails/sea-wall --since 7d
      the same, with a filter that may exclude it
newest SITE
  print the newest URLs of a site, from as few sitemaps as possible
  sitemapreader newest example.org -n 20
      the 20 newest URLs; exits with 3 if there may be newer ones
watch SITE... --state FILE
  print what is new or gone on sites as it is found, until Ctrl-C
  sitemapreader watch example.org --state site.db
      moment, kind and URL of each change; the first reading prints nothing
  sitemapreader watch -i sites.txt --state all.db --pace 4 --for 8h >> new.tsv
      many sites with four requests an hour each, for a working day
tree SOURCE...
  show the sitemaps of sites, and the outcome of each
  sitemapreader tree example.org
      each sitemap below the one that lists it
read [FILE]...
  print every URL in local sitemaps, without using the network
  sitemapreader read *.xml.gz -o urls.csv
      files, as a table
  curl -s https://example.org/sitemap-birds.xml.gz | sitemapreader read
      the output of another program, compressed or not
audit SOURCE
  judge the sitemaps of a site by rules
  sitemapreader audit example.org
      what is wrong with the sitemaps of a site
  sitemapreader audit example.org -o report.html --hits hits.csv
      a report to look at, and all hits
  sitemapreader audit ./public --base-url https://example.org --fail-on warning
      in CI, before deployment, without the network
  sitemapreader audit example.org --urls gsc.csv --select comparison
      compared with the URLs that Search Console knows
compare BEFORE AFTER
  compare the reports of two audits, or two lists of URLs
  sitemapreader compare last.json today.json
      which findings are new, worse, better or fixed
  sitemapreader compare last.json today.json --format markdown --fail-on warning
      for a pull request; exits with 5 if warnings are new or worse
  sitemapreader compare october.csv november.csv
      which URLs came and went, and which dates have changed
submit SITE --state FILE --key-file FILE
  report the changes of your site to search engines, with IndexNow
  sitemapreader submit example.org --state s.db --key-file key.txt
      what is new, changed or gone since the last run; none in the first run
scale [HOSTS] -o FOLDER
  read the sitemaps of many hosts into Parquet files, on many cores
  sitemapreader scale hosts.txt -o crawl/
      every URL of every host, on all cores
  sitemapreader scale -o crawl/
      tomorrow: only what has changed
  sitemapreader scale hosts.txt -o s3://bucket/crawl --shard 3/16
      the third of 16 jobs of an array
  sitemapreader scale status -o crawl/ --failed
      which hosts were not read, and why
state FILE
  show the content of a state file
  sitemapreader state site.db
      each site and each of its sitemaps
  sitemapreader state site.db --unlisted
      the URLs that no sitemap lists any more
identity KEY_FILE
  make the key of your crawler's signed requests, and print its directory
  sitemapreader identity key.pem --sign-as https://bot.example
      make the key if there is none, and print what to serve there
  sitemapreader example.org --sign-key key.pem --sign-as https://bot.example
      sign each request with it
mcp FOLDER
  serve agents over standard input and output, with the protocol MCP
  sitemapreader mcp ~/.sitemapreader
      the command of the server, for the settings of an agent
completion SHELL
  print a completion script for a shell
  eval "$(sitemapreader completion bash)"
      bash or zsh, in ~/.bashrc or ~/.zshrc
  sitemapreader completion fish | source
      fish, in ~/.config/fish/config.fish
"""
"""Name and operands of each command, the default one first; below them purpose and examples."""
_MODULES = {
    "newest": "urls",
    "read": "urls",
    "discover": "sitemaps",
    "tree": "sitemaps",
    "compare": "audit",
}
"""Name of a command -> the module of its function, where that is called otherwise."""
EXTRAS = {
    "audit": "audit",
    "compare": "audit",
    "identity": "signing",
    "mcp": "mcp",
    "scale": "distributed",
}
"""Name of a command -> the extra that it needs."""


@attrs.frozen
class Command:
    """A command: its purpose and its examples."""

    name: str
    operands: str
    purpose: str
    examples: str

    def make_parser(self, *, is_program: bool = False) -> Parser:
        """Make the parser; the program's own also shows commands and exit codes."""
        if is_program:
            prog, command = (PROGRAM, " [COMMAND]")
        else:
            prog, command = (f"{PROGRAM} {self.name}", "")
        parser = Parser(
            prog=prog,
            usage=f"{prog}{command} [OPTION]... {self.operands}",
            description=f"{self.purpose[0].upper()}{self.purpose[1:]}.",
            example=self.examples.split("\n")[0],
            epilog=f"examples:\n{indent(self.examples, '  ')}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            allow_abbrev=False,
        )
        if is_program:
            commands = _show_table(
                (each.name, each.purpose) for each in COMMANDS.values()
            )
            parser.description = (
                f"{parser.description}\n\ncommands (see `{PROGRAM} COMMAND --help`; "
                f"{self.name} is the default):\n{commands}\n\n{SOURCES}"
            )
            others = ", ".join(name for name in COMMANDS if name != self.name)
            parser.commands = fill(f"commands: {self.name} (the default), {others}", 79)
            parser.epilog = (
                f"{parser.epilog}\n\nexit codes:\n{_show_table(MEANINGS.items())}"
            )
        parser.add_options(self.name)
        return parser

    def load(self) -> Callable[[argparse.Namespace], int]:
        """Import the module of the command and return the function that does the work."""
        module = import_module(f"{__name__}.{_MODULES.get(self.name, self.name)}")
        work: Callable[[argparse.Namespace], int] = getattr(module, f"run_{self.name}")
        return work


def _list_commands() -> Iterator[Command]:
    for part in re.split(r"\n(?=\S)", _COMMANDS.strip()):
        head, purpose, examples = part.split("\n", 2)
        name, _, operands = head.partition(" ")
        yield Command(name, operands, purpose.strip(), dedent(examples))


COMMANDS = {command.name: command for command in _list_commands()}
"""Name of a command -> the command; the first is the default."""
DEFAULT = next(iter(COMMANDS.values()))


def _show_table(rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"  {name:{width}}{what}" for name, what in rows)
