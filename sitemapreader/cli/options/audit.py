"""Options of `sitemapreader audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.options.sources import add_base_url, add_kind
from sitemapreader.cli.options.types import parse_count, parse_fields

if TYPE_CHECKING:
    from sitemapreader.cli.parser import Parser


AUDIT_FORMATS = ("text", "json", "sarif", "html")
FAIL_ON = ("error", "warning", "info", "never")


def add_audit_source(parser: Parser) -> None:
    """Add the source, and what to compare it with."""
    group = parser.add_argument_group("what to audit")
    add = group.add_argument
    add("source", nargs="?", metavar="SOURCE", help="site, sitemap, folder or file")
    add_kind(group)
    add_base_url(add)
    add(
        "--urls",
        metavar="FILE",
        help="known URLs to compare with, from a crawl, a log or Search Console: text, CSV, TSV, "
        "JSON lines or Parquet, by the suffix",
    )


def add_rules(parser: Parser) -> None:
    """Add the choice of rules, and what they mean for the exit code."""
    add = parser.add_argument_group("rules").add_argument
    add(
        "--select",
        type=parse_fields,
        metavar="CODE,...",
        help="only these rules: codes, categories (hreflang) or prefixes (url-*)",
    )
    add(
        "--ignore",
        type=parse_fields,
        metavar="CODE,...",
        help="not these rules; wins over --select",
    )
    add(
        "--fail-on",
        choices=FAIL_ON,
        help="exit with 5 for findings of this severity or above (default: error)",
    )
    add(
        "--robots",
        type=parse_fields,
        metavar="NAME,...",
        help="robots whose rules in robots.txt are judged (default: Googlebot)",
    )
    add("--rules", metavar="FOLDER", help="more rules: files of SQL")
    add("--baseline", metavar="FILE", help="known hits: only new ones cause exit code 5")
    add("--write-baseline", metavar="FILE", help="write the hits as a baseline")
    add("--list-rules", action="store_true", help="list all rules")
    add("--explain", metavar="CODE", help="show what a rule means")


def add_audit_output(parser: Parser) -> None:
    """Add the outputs."""
    add = parser.add_argument_group("output").add_argument
    add(
        "-o",
        "--output",
        action="append",
        metavar="FILE",
        help="file to write; its suffix is the format: .html .json .sarif .txt (may be repeated)",
    )
    add("--format", choices=AUDIT_FORMATS, help="format on standard output (default: text)")
    add("--examples", type=parse_count, metavar="N", help="hits to show for a rule (default: 20)")
    add(
        "--hits",
        metavar="FILE",
        help="write all hits: .parquet, .csv, .jsonl, or the last two with .gz",
    )
    add("--database", metavar="FILE", help="keep the DuckDB database of the audit")
