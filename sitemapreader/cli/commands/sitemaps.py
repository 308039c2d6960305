"""`sitemapreader discover` and `tree`: the sitemaps of sites."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from sitemapreader.cli.options import LIST_FORMATS, TREE_FORMATS
from sitemapreader.cli.output import LineWriter, find_output_format, get_output_path, write_to
from sitemapreader.cli.run import SourceRun, find_rooted, print_lines
from sitemapreader.output.text import escape_urls
from sitemapreader.views import DocumentNode, build_tree, draw_tree

if TYPE_CHECKING:
    import argparse

    from sitemapreader.many.visitor import SiteWalk
    from sitemapreader.models import SitemapEntry


def run_discover(arguments: argparse.Namespace) -> int:
    """Print the sitemaps and return the exit code."""
    form = find_output_format(arguments, LIST_FORMATS)
    run = SourceRun(arguments, what="sitemaps", find=find_rooted)
    lines = LineWriter(get_output_path(arguments))

    async def print_site(site: SiteWalk) -> None:
        run.summary.printed += len(site.sitemaps)
        run.console.clear_for_results()
        if form == "urls":
            texts = escape_urls([entry.loc for entry in site.sitemaps.values()])
        else:
            texts = [_write_json(site.url, entry) for entry in site.sitemaps.values()]
        await write_to(lines, partial(lines.write_text, "".join(f"{each}\n" for each in texts)))

    async def search() -> None:
        sites = run.walk(on_end=print_site)
        sites.find_only()
        async with sites:
            async for _ in sites.rows():
                pass

    return print_lines(run, lines, search)


def _write_json(site: str, entry: SitemapEntry) -> str:
    row = {"loc": entry.loc, "via": entry.via, "sitemap": entry.sitemap or None, "site": site}
    return json.dumps(row)


def run_tree(arguments: argparse.Namespace) -> int:
    """Print the trees and return the exit code."""
    form = find_output_format(arguments, TREE_FORMATS)
    run = SourceRun(arguments, find=find_rooted)
    lines = LineWriter(get_output_path(arguments))

    async def draw(site: SiteWalk) -> None:
        if site.walk is None:
            return
        documents = site.walk.report.documents
        if form == "json":
            roots = [_format_node(root) for root in build_tree(documents)]
            text = [json.dumps({"source": site.name, "sitemaps": roots}) + "\n"]
        else:
            text = list(draw_tree(site.name, documents, in_ascii=not lines.can_draw))
        run.console.clear_for_results()
        await write_to(lines, partial(lines.write_text, "".join(text)))

    async def read() -> None:
        async with run.walk(on_end=draw) as sites:
            async for _, rows in sites.rows():
                run.summary.printed += len(rows)

    return print_lines(run, lines, read)


def _format_node(node: DocumentNode) -> dict[str, Any]:
    return node.document.to_dict() | {"sitemaps": [_format_node(child) for child in node.children]}
