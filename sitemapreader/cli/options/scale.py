"""Options of `sitemapreader scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.options.network import add_allowed, add_requests
from sitemapreader.cli.options.types import parse_count, parse_shard

if TYPE_CHECKING:
    from sitemapreader.cli.parser import Parser


def add_hosts(parser: Parser) -> None:
    """Add the list of many hosts, and which part of it to read."""
    add = parser.add_argument_group("what to read").add_argument
    add(
        "list",
        nargs="?",
        metavar="HOSTS",
        help="file of hosts and URLs, one a line, or its URL; - is standard input (default: the "
        "list of the last run); the word status shows the last run",
    )
    add("--full", action="store_true", help="forget what was read: write every URL of every host")
    add("--retry", action="store_true", help="read also hosts that failed and are not due yet")
    add("--failed", action="store_true", help="with status: print the hosts that were not read")


def add_workers(parser: Parser) -> None:
    """Add the output of many hosts, and the workers that read them."""
    group = parser.add_argument_group("output and workers")
    add = group.add_argument
    add(
        "-o",
        "--output",
        required=True,
        metavar="FOLDER",
        help="folder to write, or its URL, such as s3://bucket/crawl",
    )
    kind = group.add_mutually_exclusive_group()
    kind.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="scheduler of a Dask cluster, such as tls://10.0.0.5:8786",
    )
    kind.add_argument(
        "--workers",
        type=parse_count,
        metavar="N",
        help="processes on this machine (default: one for each core)",
    )
    kind.add_argument(
        "--shard",
        type=parse_shard,
        metavar="K/N",
        help="read the Kth of N parts in this process, without a cluster",
    )
    add(
        "--parallel",
        type=parse_count,
        metavar="N",
        help="hosts that one process reads at once (default: 64)",
    )


def add_strangers(parser: Parser) -> None:
    """Add the options of fetching from untrusted hosts."""
    add = parser.add_argument_group("network").add_argument
    add_requests(add)
    add_allowed(add)
