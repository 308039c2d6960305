"""The options of all commands, in groups that a command takes or leaves.

An option that is not given is `None`, and what it governs keeps the default that the library has.
Letters are curl's where curl has the same thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sitemapreader
from sitemapreader.cli.argument_types import (
    parse_base_url,
    parse_count,
    parse_delay,
    parse_depth,
    parse_fields,
    parse_header,
    parse_pattern,
    parse_proxy,
    parse_seconds,
    parse_since,
)
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.output import FORMATS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from sitemapreader.cli.parser import Parser

    Add = Callable[..., argparse.Action]

PARALLEL = 8
"""Sites that are read at once."""
STANDARD_INPUT = "-"
LIST_FORMATS = ("urls", "jsonl")
TREE_FORMATS = ("tree", "json")
SHELLS = ("bash", "zsh", "fish", "tcsh")
TOPICS = ("urls", "discover", "tree", "read", "state", "completion")


# -- options that more than one group has


def _add_list(add: Add) -> None:
    add(
        "-i",
        "--input-file",
        metavar="FILE",
        help="read sites and sitemaps from FILE, one a line; - is standard input",
    )


def _add_base(add: Add) -> None:
    add(
        "--base-url",
        type=parse_base_url,
        metavar="URL",
        help="URL that a folder or file stands for",
    )


def _add_since(add: Add) -> None:
    add(
        "--since",
        type=parse_since,
        metavar="WHEN",
        help="only what changed since: 2026-01-31, 7d, 12h, 2w",
    )
    add(
        "--undated",
        choices=("keep", "drop"),
        help="what --since does with URLs without lastmod and news date (default: keep)",
    )


def _add_format(add: Add, names: Sequence[str]) -> None:
    add("--format", choices=names, help=f"how (default: by the suffix of -o, else {names[0]})")


def _add_file(add: Add) -> None:
    add("-o", "--output", metavar="FILE", help="where to (default, or -: standard output)")


# -- the groups


def add_sources(parser: Parser) -> None:
    """Add what is to be read: sites and the rest."""
    group = parser.add_argument_group("what to read")
    group.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="site, sitemap, page, folder or file"
    )
    _add_list(group.add_argument)
    kind = group.add_mutually_exclusive_group()
    kind.add_argument("--site", action="store_true", help="take every URL for a site")
    kind.add_argument("--sitemap", action="store_true", help="take every URL for a sitemap")
    _add_base(group.add_argument)


def add_sites(parser: Parser) -> None:
    """Add sites."""
    add = parser.add_argument_group("what to read").add_argument
    add("sources", nargs="*", metavar="SITE", help="site, such as example.org")
    _add_list(add)


def add_files(parser: Parser) -> None:
    """Add files."""
    add = parser.add_argument_group("what to read").add_argument
    add(
        "sources",
        nargs="*",
        metavar="FILE",
        default=[STANDARD_INPUT],
        help="sitemap, compressed or not; - is standard input (the default)",
    )
    _add_base(add)


def add_selection(parser: Parser) -> None:
    """Add which URLs are wanted."""
    add = parser.add_argument_group("which URLs").add_argument
    _add_since(add)
    add(
        "--include",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="only URLs that one of these is found in (may be repeated)",
    )
    add(
        "--exclude",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="no URL that one of these is found in (may be repeated)",
    )
    add("--limit", type=parse_count, metavar="N", help="stop after N URLs")
    add("--unique", action="store_true", help="print each URL once")


def add_age(parser: Parser) -> None:
    """Add how old a sitemap may be."""
    _add_since(parser.add_argument_group("which URLs").add_argument)


def add_output(parser: Parser) -> None:
    """Add where entries go, and how."""
    add = parser.add_argument_group("output").add_argument
    _add_format(add, FORMATS)
    add(
        "--fields",
        type=parse_fields,
        metavar="NAME,...",
        help="only these fields, in this order, such as loc,lastmod or loc,date,title",
    )
    add("-0", "--null", action="store_true", help="end each URL with NUL, as xargs -0 wants it")
    add(
        "--no-header",
        dest="header",
        action="store_false",
        help="leave out the first line of csv and tsv, to write >> FILE behind others",
    )
    _add_file(add)


def add_state(parser: Parser) -> None:
    """Add what is remembered from one run to the next."""
    add = parser.add_argument_group("what is remembered").add_argument
    add(
        "--state",
        metavar="FILE",
        help="remember in FILE what was read: the next run prints what is in sitemaps that have "
        "changed since, and goes on where this one was killed",
    )
    add(
        "--changes",
        action="store_true",
        help="with --state: only URLs that are new, or whose record has changed",
    )
    add(
        "--removed",
        action="store_true",
        help="with --changes: at the end those that are listed no more; needs a format that has "
        "the field `change`, such as jsonl",
    )


def add_state_file(parser: Parser) -> None:
    """Add a state file."""
    add = parser.add_argument_group("what to show").add_argument
    add("file", metavar="FILE", help="what --state was given")
    add(
        "--removed",
        action="store_true",
        help="only the URLs that the last run with --changes found to be gone, one a line",
    )


def add_list_output(parser: Parser) -> None:
    """Add where sitemaps go, and how."""
    add = parser.add_argument_group("output").add_argument
    _add_format(add, LIST_FORMATS)
    _add_file(add)


def add_tree_output(parser: Parser) -> None:
    """Add where a tree goes, and how."""
    add = parser.add_argument_group("output").add_argument
    _add_format(add, TREE_FORMATS)
    _add_file(add)


def add_search(parser: Parser) -> None:
    """Add how sitemaps are looked for."""
    add = parser.add_argument_group("where to look").add_argument
    add(
        "--probe",
        choices=("auto", "always", "never"),
        help="try the well-known paths: if nothing else answers (auto, the default), always, never",
    )
    add("--feeds", action="store_true", default=None, help="take the start page's feeds as well")
    add("--no-robots", action="store_true", help="fetch what robots.txt disallows, too")


def add_formats(parser: Parser) -> None:
    """Add what is read besides sitemaps and feeds."""
    add = parser.add_argument_group("formats").add_argument
    add(
        "--html-sitemap",
        dest="extra_formats",
        action="append_const",
        const="html",
        help="read pages that are named as sitemaps, here or by the site: their links to the same "
        "site; without it a page is where to look for sitemaps",
    )
    add(
        "--llms",
        dest="extra_formats",
        action="append_const",
        const="llms",
        help="read llms.txt, and look for one: its links to the same site",
    )


def add_reach(parser: Parser) -> None:
    """Add how far a walk goes."""
    add = parser.add_argument_group("how far").add_argument
    add(
        "--depth",
        type=parse_depth,
        metavar="N",
        help=f"indexes inside indexes (default: {Limits().depth})",
    )
    add(
        "--order",
        choices=("document", "newest"),
        help="which sitemaps of an index first: as listed (document, the default), or the newest "
        "by its lastmod, so that --limit gives what is new",
    )
    add(
        "--hosts",
        choices=("host", "site", "any"),
        help="sitemaps on the same host, the same site (the default), or any",
    )
    add(
        "--follow",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="of what an index lists, only sitemaps in whose URL one of these is found (may be "
        "repeated)",
    )
    add(
        "--no-follow",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="of what an index lists, no sitemap in whose URL one of these is found (may be "
        "repeated)",
    )


def add_network(parser: Parser) -> None:
    """Add how the network is used."""
    defaults = FetchOptions()
    add = parser.add_argument_group("network").add_argument
    add(
        "-c",
        "--concurrency",
        type=parse_count,
        metavar="N",
        help=f"documents of one site at once (default: {int(defaults.concurrency)}; "
        f"never more than {int(defaults.per_host)} from one host)",
    )
    add(
        "--parallel",
        type=parse_count,
        default=PARALLEL,
        metavar="N",
        help=f"sites at once (default: {PARALLEL})",
    )
    add(
        "--delay",
        dest="delay_seconds",
        type=parse_delay,
        metavar="SECONDS",
        help="wait between two requests to one host; robots.txt can ask for more",
    )
    add(
        "-m",
        "--timeout",
        type=parse_seconds,
        metavar="SECONDS",
        help=f"give a document up after so long (default: {defaults.total_seconds:g}, "
        f"and {defaults.headers_seconds:g} for its first byte)",
    )
    add(
        "-x",
        "--proxy",
        type=parse_proxy,
        metavar="URL",
        help="HTTP proxy; none is taken from the environment",
    )
    add(
        "-A",
        "--user-agent",
        metavar="NAME",
        help="who asks, and whose rules in robots.txt are kept to; recommended: your crawler with "
        f"a page about it, 'NewsBot/2.1 (+https://...)' (default: {defaults.user_agent})",
    )
    add(
        "-H",
        "--header",
        dest="headers",
        type=parse_header,
        action="append",
        metavar="'NAME: VALUE'",
        help="send to the sites named here, and no others (may be repeated)",
    )
    add(
        "-u",
        "--user",
        metavar="USER[:PASSWORD]",
        help="log in to the sites named here, and no others; asks for a missing password",
    )
    add(
        "--allow-network",
        dest="allow_networks",
        action="append",
        metavar="NETWORK",
        help="may be connected to although not public, such as 10.0.0.0/8 (may be repeated)",
    )
    add(
        "--allow-port",
        dest="allow_ports",
        type=parse_count,
        action="append",
        metavar="PORT",
        help="may be connected to besides 80, 443 and those named here (may be repeated)",
    )


def add_messages(parser: Parser) -> None:
    """Add what is said on standard error."""
    add = parser.add_argument_group("messages").add_argument
    add(
        "-q",
        "--quiet",
        action="store_true",
        help="print nothing on standard error but the error that ends the program",
    )
    add("-v", "--verbose", action="store_true", help="say what was odd without being wrong, too")


def add_standard(parser: Parser) -> None:
    """Add what every command has."""
    add = parser.add_argument_group("general").add_argument
    add("-h", "--help", action="help", help="show this help")
    add(
        "--version",
        action="version",
        version=f"sitemapreader {sitemapreader.__version__}",
        help="show the version",
    )


def add_shell(parser: Parser) -> None:
    """Add a shell."""
    add = parser.add_argument_group("what to write").add_argument
    add("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def add_topic(parser: Parser) -> None:
    """Add a command whose help is wanted."""
    add = parser.add_argument_group("what to show").add_argument
    add("topic", nargs="?", choices=TOPICS, metavar="COMMAND", help=f"one of {', '.join(TOPICS)}")
