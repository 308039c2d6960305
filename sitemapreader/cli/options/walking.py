"""Options that select URLs and limit the walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.options.types import (
    parse_count,
    parse_depth,
    parse_pattern,
    parse_seconds,
    parse_since,
    parse_until,
)
from sitemapreader.options import SITE_SECONDS, Limits

if TYPE_CHECKING:
    from sitemapreader.cli.parser import Add, Parser


def add_selection(parser: Parser) -> None:
    """Add the filters of URLs."""
    add = parser.add_argument_group("which URLs").add_argument
    _add_since(add)
    add(
        "--include",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="only URLs that contain a match (may be repeated)",
    )
    add(
        "--exclude",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="no URLs that contain a match (may be repeated)",
    )
    add("--limit", type=parse_count, metavar="N", help="stop after N URLs")
    add("--unique", action="store_true", help="print each URL once")


def add_age(parser: Parser) -> None:
    """Add the filters by date."""
    _add_since(parser.add_argument_group("which URLs").add_argument)


def _add_since(add: Add) -> None:
    add(
        "--since",
        type=parse_since,
        metavar="WHEN",
        help="only URLs changed since a date, or within a time: 2026-01-31, 30m, 12h, 7d, 2w",
    )
    add(
        "--until",
        type=parse_until,
        metavar="WHEN",
        help="only URLs last changed until a date (that day included), or longer ago than a time",
    )
    add(
        "--undated",
        choices=("keep", "drop"),
        help="what --since and --until do with URLs that have no lastmod or news date (default: "
        "keep; the summary counts them)",
    )


def add_search(parser: Parser) -> None:
    """Add the ways of discovery."""
    add = parser.add_argument_group("where to look").add_argument
    add(
        "--probe",
        choices=("auto", "few", "always", "deep", "never"),
        help="when to try the well-known paths: auto (the default), if nothing else is found; few, "
        "the same with two paths; always; deep, always, and those of the site's platform; never",
    )
    add(
        "--feeds",
        action="store_true",
        default=None,
        help="read the feeds of the start page as well",
    )
    add("--no-robots", action="store_true", help="also fetch what robots.txt disallows")


def add_formats(parser: Parser) -> None:
    """Add the formats besides sitemaps and feeds."""
    add = parser.add_argument_group("formats").add_argument
    add(
        "--html-sitemap",
        dest="extra_formats",
        action="append_const",
        const="html",
        help="read the links to the same site in HTML pages that are named as sitemaps "
        "(default: pages are only searched for sitemaps)",
    )
    add(
        "--llms",
        dest="extra_formats",
        action="append_const",
        const="llms",
        help="find llms.txt, and read its links to the same site",
    )


def add_reach(parser: Parser) -> None:
    """Add the scope and the order of a walk."""
    add = parser.add_argument_group("how far").add_argument
    add(
        "--depth",
        type=parse_depth,
        metavar="N",
        help=f"levels of indexes inside indexes (default: {Limits().depth})",
    )
    add(
        "--site-timeout",
        dest="walk_seconds",
        type=parse_seconds,
        metavar="SECONDS",
        help="longest time for one site; what was read until then is printed "
        f"(default: {SITE_SECONDS:g} for each of several sites, a day for a single one)",
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
        help="only sitemaps of an index whose URL contains a match (may be repeated)",
    )
    add(
        "--no-follow",
        type=parse_pattern,
        action="append",
        metavar="REGEX",
        help="no sitemaps of an index whose URL contains a match (may be repeated)",
    )
