"""Options for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.options.types import (
    parse_count,
    parse_delay,
    parse_header,
    parse_proxy,
    parse_seconds,
)
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from sitemapreader.cli.parser import Add, Parser

PARALLEL = 8
"""Sites that are read at once, by default."""


def add_network(parser: Parser) -> None:
    """Add the options of fetching."""
    defaults = FetchOptions()
    add = parser.add_argument_group("network").add_argument
    add(
        "-c",
        "--concurrency",
        type=parse_count,
        metavar="N",
        help=f"documents of one site at once (default: {defaults.concurrency}; "
        f"never more than {defaults.per_host} from one host)",
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


def add_requests(add: Add) -> None:
    """Add the options of requests."""
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
    """Add the networks and ports that are allowed besides the public ones."""
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
