"""`sitemapreader discover`: the sitemaps of sites."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.options import LIST_FORMATS
from sitemapreader.cli.output import LineWriter, find_output_format, get_output_path, write_to
from sitemapreader.cli.run import SourceRun, find_rooted, print_lines
from sitemapreader.output.text import escape_urls

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.many.visitor import SiteWalk
    from sitemapreader.models import SitemapEntry


def _format_url(_: str, entry: SitemapEntry) -> str:
    return f"{escape_urls([entry.loc])[0]}\n"


def _format_json(site: str, entry: SitemapEntry) -> str:
    row = {"loc": entry.loc, "via": entry.via, "sitemap": entry.sitemap or None, "site": site}
    return f"{json.dumps(row)}\n"


_FORMATTERS: dict[str, Callable[[str, SitemapEntry], str]] = {
    "urls": _format_url,
    "jsonl": _format_json,
}
"""Name of a format -> function that formats a sitemap of a site as a line."""


def run_discover(arguments: argparse.Namespace) -> int:
    """Print the sitemaps and return the exit code."""
    write = _FORMATTERS[find_output_format(arguments, LIST_FORMATS)]
    run = SourceRun(arguments, what="sitemaps", find=find_rooted)
    lines = LineWriter(get_output_path(arguments))

    async def print_site(site: SiteWalk) -> None:
        run.summary.printed += len(site.sitemaps)
        run.console.clear_for_results()
        text = "".join(write(site.url, entry) for entry in site.sitemaps.values())
        await write_to(lines, partial(lines.write_text, text))

    async def search() -> None:
        sites = run.walk(on_end=print_site)
        sites.find_only()
        async with sites:
            async for _ in sites.rows():
                pass

    return print_lines(run, lines, search)
