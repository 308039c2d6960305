"""Options that name what to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.options.types import parse_base_url, parse_shard

if TYPE_CHECKING:
    import argparse

    from sitemapreader.cli.parser import Add, Parser

STANDARD_INPUT = "-"
SHELLS = ("bash", "zsh", "fish", "tcsh")


def add_sources(parser: Parser) -> None:
    """Add the sources: sites, sitemaps, folders and files."""
    group = parser.add_argument_group("what to read")
    group.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="site, sitemap, page, folder or file"
    )
    _add_list(group.add_argument)
    add_kind(group)
    add_base_url(group.add_argument)


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
    add_base_url(add)


def add_many(parser: Parser) -> None:
    """Add the options for lists of sites."""
    add = parser.add_argument_group("many sites").add_argument
    add(
        "--report",
        metavar="FILE",
        help="write one row for each site, how it ended and why: FILE ends with .jsonl, .csv or "
        ".parquet",
    )
    add(
        "--shard",
        type=parse_shard,
        metavar="K/N",
        help="read only the K-th of N parts of the sites, such as 3/16: for several machines; "
        "sites of one registrable domain are in one part",
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


def add_shell(parser: Parser) -> None:
    """Add the shell to complete for."""
    add = parser.add_argument_group("what to write").add_argument
    add("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def add_kind(group: argparse._ArgumentGroup) -> None:
    """Add what a URL is: a site or a sitemap."""
    kind = group.add_mutually_exclusive_group()
    kind.add_argument("--site", action="store_true", help="treat URLs as sites")
    kind.add_argument("--sitemap", action="store_true", help="treat URLs as sitemaps")


def add_base_url(add: Add) -> None:
    """Add the URL of a folder or file."""
    add(
        "--base-url",
        type=parse_base_url,
        metavar="URL",
        help="URL at which the folder or file would be served",
    )


def _add_list(add: Add) -> None:
    add(
        "-i",
        "--input-file",
        metavar="FILE",
        help="read sites and sitemaps from FILE, one a line; - is standard input",
    )
