"""The command line: URLs on standard output as they come, everything else on standard error.

Arguments are read here and nothing more is imported for it, so that `--help` is quick; the work is
done in `dump`.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

from sitemapreader import __version__

EPILOG = """\
A SOURCE is a site (https://example.org), the URL of a sitemap or of a page below which to look,
a folder that holds a site, or a file that is one sitemap; `-` is standard input.

exit codes:
  0  all was read             3  URLs were printed, and something failed
  1  no URL was found         4  nothing could be fetched
  2  wrong usage              129, 130, 141, 143  stopped by a signal or a closed pipe
"""
_SPANS = {"d": "days", "h": "hours", "m": "minutes", "w": "weeks"}


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    arguments = make_parser().parse_args(argv)
    from sitemapreader.cli.dump import run  # noqa: PLC0415 (not imported for --help)

    return run(arguments)


def make_parser() -> argparse.ArgumentParser:
    """Describe the arguments."""
    parser = argparse.ArgumentParser(
        prog="sitemapreader",
        description="Print every URL that a site publishes in its sitemaps.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("sources", nargs="+", metavar="SOURCE", help="site, sitemap, page, folder or file")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--site", action="store_true", help="take every URL for a site")
    kind.add_argument("--sitemap", action="store_true", help="take every URL for a sitemap")
    add(
        "--since",
        type=parse_since,
        metavar="WHEN",
        help="only what changed since: 2026-01-31, 7d, 12h",
    )
    add("--unique", action="store_true", help="print each URL once")
    add("--format", choices=("urls", "jsonl"), default="urls", help="how (default: urls)")
    add("-o", "--output", metavar="FILE", help="where to (default: standard output)")
    add("--base-url", metavar="URL", help="URL that a folder or file stands for")
    add("--no-robots", action="store_true", help="fetch what robots.txt disallows, too")
    add("-q", "--quiet", action="store_true", help="say nothing on standard error")
    add("-v", "--verbose", action="store_true", help="say what was odd without being wrong, too")
    add("--version", action="version", version=f"sitemapreader {__version__}")
    return parser


def parse_since(text: str) -> datetime:
    """Read a date, or a span before now such as `7d`."""
    number, unit = text[:-1], text[-1:]
    if number.isascii() and number.isdigit() and unit in _SPANS:
        try:
            return datetime.now(UTC) - timedelta(**{_SPANS[unit]: int(number)})
        except OverflowError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is longer ago than there are dates"
            ) from None
    from sitemapreader.dates import parse_lastmod  # noqa: PLC0415 (not imported for --help)

    moment = parse_lastmod(text)
    if moment is None:
        raise argparse.ArgumentTypeError(f"{text!r}: write a date (2026-01-31) or a span (7d, 12h)")
    return moment
