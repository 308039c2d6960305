"""`sitemapreader tree`: the sitemaps of sites, as trees."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from sitemapreader.cli.options import TREE_FORMATS
from sitemapreader.cli.output import LineWriter, find_output_format, get_output_path, write_to
from sitemapreader.cli.run import SourceRun, find_rooted, print_lines
from sitemapreader.views import build_tree, draw_tree

if TYPE_CHECKING:
    import argparse

    from sitemapreader.many.visitor import SiteWalk
    from sitemapreader.views import DocumentNode


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
