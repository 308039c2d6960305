"""The options of all commands, in groups that a command combines.

An option that is not given is `None`, which keeps the library's default. Short options are those of
curl where curl has the same option.
"""

from __future__ import annotations

from functools import partial
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
    parse_shard,
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
"""Sites that are read at once, by default."""
STANDARD_INPUT = "-"
LIST_FORMATS = ("urls", "jsonl")
TREE_FORMATS = ("tree", "json")
SHELLS = ("bash", "zsh", "fish", "tcsh")


# -- options that more than one group has


def _add_list(add: Add) -> None:
    add(
        "-i",
        "--input-file",
        metavar="FILE",
        help="read sites and sitemaps from FILE, one a line; - is standard input",
    )


def _add_shard(add: Add) -> None:
    add(
        "--shard",
        type=parse_shard,
        metavar="K/N",
        help="read only the K-th of N parts of the sites, such as 3/16: for several machines; "
        "sites of one registrable domain are in one part",
    )


def _add_base(add: Add) -> None:
    add(
        "--base-url",
        type=parse_base_url,
        metavar="URL",
        help="URL at which the folder or file would be served",
    )


def _add_since(add: Add) -> None:
    add(
        "--since",
        type=parse_since,
        metavar="WHEN",
        help="only URLs changed since: 2026-01-31, 7d, 12h, 2w",
    )
    add(
        "--undated",
        choices=("keep", "drop"),
        help="what --since does with URLs that have no lastmod or news date (default: keep)",
    )


def _add_format(add: Add, names: Sequence[str]) -> None:
    add("--format", choices=names, help=f"format (default: by the suffix of -o, else {names[0]})")
    add("-o", "--output", metavar="FILE", help="file to write (default, or -: standard output)")


def add_requests(add: Add) -> None:
    """Add how requests are made."""
    defaults = FetchOptions()
    add(
        "--delay",
        dest="delay_seconds",
        type=parse_delay,
        metavar="SECONDS",
        help="wait between two requests to one host; robots.txt may demand more",
    )
    add(
        "-m",
        "--timeout",
        type=parse_seconds,
        metavar="SECONDS",
        help=f"longest time for one document (default: {defaults.total_seconds:g}, "
        f"and {defaults.headers_seconds:g} for its first byte)",
    )
    add(
        "-x",
        "--proxy",
        type=parse_proxy,
        metavar="URL",
        help="HTTP proxy; the environment is not consulted",
    )
    add(
        "-A",
        "--user-agent",
        metavar="NAME",
        help="User-Agent header, and the name whose rules in robots.txt are obeyed; recommended: "
        f"your crawler and a page about it, 'NewsBot/2.1 (+https://...)' "
        f"(default: {defaults.user_agent})",
    )


def add_allowed(add: Add) -> None:
    """Add what may be connected to besides public addresses."""
    add(
        "--allow-network",
        dest="allow_networks",
        action="append",
        metavar="NETWORK",
        help="allow a network that is not public, such as 10.0.0.0/8 (may be repeated)",
    )
    add(
        "--allow-port",
        dest="allow_ports",
        type=parse_count,
        action="append",
        metavar="PORT",
        help="allow a port besides 80, 443 and those of the sources (may be repeated)",
    )


# -- the groups


def add_sources(parser: Parser) -> None:
    """Add the sources: sites, sitemaps, folders and files."""
    group = parser.add_argument_group("what to read")
    group.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="site, sitemap, page, folder or file"
    )
    _add_list(group.add_argument)
    kind = group.add_mutually_exclusive_group()
    kind.add_argument("--site", action="store_true", help="treat every URL as a site")
    kind.add_argument("--sitemap", action="store_true", help="treat every URL as a sitemap")
    _add_base(group.add_argument)


def add_many(parser: Parser) -> None:
    """Add the options for lists of sites."""
    add = parser.add_argument_group("many sites").add_argument
    add(
        "--report",
        metavar="FILE",
        help="write one row for each site, how it ended and why: FILE ends with .jsonl, .csv or "
        ".parquet",
    )
    _add_shard(add)


def add_sites(parser: Parser) -> None:
    """Add the sites."""
    add = parser.add_argument_group("what to read").add_argument
    add("sources", nargs="*", metavar="SITE", help="site, such as example.org")
    _add_list(add)


def add_files(parser: Parser) -> None:
    """Add the files."""
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
    """Add the filters of URLs."""
    add = parser.add_argument_group("which URLs").add_argument
    _add_since(add)
    add(
        "--include",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="only URLs in which one of these is found (may be repeated)",
    )
    add(
        "--exclude",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="no URL in which one of these is found (may be repeated)",
    )
    add("--limit", type=parse_count, metavar="N", help="stop after N URLs")
    add("--unique", action="store_true", help="print each URL once")


def add_age(parser: Parser) -> None:
    """Add the filters by date."""
    _add_since(parser.add_argument_group("which URLs").add_argument)


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
        help="with --changes: finally print the URLs that are no longer listed; needs a format "
        "with the field `change`, such as jsonl",
    )


def add_state_file(parser: Parser) -> None:
    """Add the state file to show."""
    add = parser.add_argument_group("what to show").add_argument
    add("file", metavar="FILE", help="file that --state wrote")
    add(
        "--removed",
        action="store_true",
        help="print only the URLs that the last run with --changes found removed, one a line",
    )


def _add_lines(formats: Sequence[str], parser: Parser) -> None:
    _add_format(parser.add_argument_group("output").add_argument, formats)


add_list_output = partial(_add_lines, LIST_FORMATS)
"""Add the output of sitemaps."""
add_tree_output = partial(_add_lines, TREE_FORMATS)
"""Add the output of a tree."""


def add_search(parser: Parser) -> None:
    """Add the ways of discovery."""
    add = parser.add_argument_group("where to look").add_argument
    add(
        "--probe",
        choices=("auto", "few", "always", "never"),
        help="try the well-known paths: if nothing else is found (auto, the default), the two "
        "likeliest then (few), always, never",
    )
    add(
        "--feeds",
        action="store_true",
        default=None,
        help="read the feeds of the start page as well",
    )
    add("--no-robots", action="store_true", help="fetch also what robots.txt disallows")


def add_formats(parser: Parser) -> None:
    """Add the formats besides sitemaps and feeds."""
    add = parser.add_argument_group("formats").add_argument
    add(
        "--html-sitemap",
        dest="extra_formats",
        action="append_const",
        const="html",
        help="read HTML pages that are given or listed as sitemaps: their links to the same site "
        "(default: a page is only searched for sitemaps)",
    )
    add(
        "--llms",
        dest="extra_formats",
        action="append_const",
        const="llms",
        help="find and read llms.txt: its links to the same site",
    )


def add_reach(parser: Parser) -> None:
    """Add the scope and the order of a walk."""
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
        help="order of the sitemaps of an index: as listed (document, the default), or the newest "
        "lastmod first, so that --limit prints new URLs",
    )
    add(
        "--hosts",
        choices=("host", "site", "any"),
        help="read sitemaps on the same host, on the same site (the default), or on any host",
    )
    add(
        "--follow",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="only sitemaps of an index in whose URL one of these is found (may be repeated)",
    )
    add(
        "--no-follow",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="no sitemap of an index in whose URL one of these is found (may be repeated)",
    )


def add_network(parser: Parser) -> None:
    """Add the options of fetching."""
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
    add_requests(add)
    add(
        "-H",
        "--header",
        dest="headers",
        type=parse_header,
        action="append",
        metavar="'NAME: VALUE'",
        help="header for the sites named here, and no others (may be repeated)",
    )
    add(
        "-u",
        "--user",
        metavar="USER[:PASSWORD]",
        help="login for the sites named here, and no others; prompts for a missing password",
    )
    add_allowed(add)


def add_messages(parser: Parser) -> None:
    """Add the verbosity of messages."""
    add = parser.add_argument_group("messages").add_argument
    add(
        "-q",
        "--quiet",
        action="store_true",
        help="print nothing on standard error but the error that ends the program",
    )
    add("-v", "--verbose", action="store_true", help="print Issues of severity info, too")


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


def add_shell(parser: Parser) -> None:
    """Add the shell to complete for."""
    add = parser.add_argument_group("what to write").add_argument
    add("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
