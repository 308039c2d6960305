"""`sitemapreader discover` and `tree`: the sitemaps of sites."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sitemapreader._cli.config import find_output_format, get_output_path
from sitemapreader._cli.options import LIST_FORMATS, TREE_FORMATS
from sitemapreader._cli.process import LineWriter
from sitemapreader._cli.run import SourceRun, find_rooted, print_lines
from sitemapreader._types.issues import show_url
from sitemapreader._walk.report import Tree, build_tree
from sitemapreader.output.text import escape_urls

if TYPE_CHECKING:
    import argparse

    from sitemapreader._many.run import SiteWalk


def run_discover(arguments: argparse.Namespace) -> int:
    """Print the sitemaps and return the exit code."""
    form = find_output_format(arguments, LIST_FORMATS)
    run = SourceRun(arguments, noun="sitemaps", find=find_rooted)
    lines = LineWriter(get_output_path(arguments), is_array=form == "json")

    async def print_site(site: SiteWalk) -> None:
        entries = site.sitemaps.values()
        run.summary.printed += len(entries)
        if form == "urls":
            texts = escape_urls([entry.loc for entry in entries])
        else:
            texts = [
                json.dumps(
                    {
                        "loc": e.loc,
                        "via": e.via,
                        "sitemap": e.sitemap or None,
                        "site": site.url,
                    }
                )
                for e in entries
            ]
        await run.write_lines(lines, texts)

    async def search() -> None:
        site_run = run.make_site_run(on_end=print_site)
        site_run.find_only()
        async with site_run:
            async for _ in site_run.rows():
                pass

    return print_lines(run, lines, search)


def run_tree(arguments: argparse.Namespace) -> int:
    """Print the trees and return the exit code."""
    form = find_output_format(arguments, TREE_FORMATS)
    run = SourceRun(arguments, find=find_rooted)
    lines = LineWriter(get_output_path(arguments))

    async def draw(site: SiteWalk) -> None:
        if site.walk is None:
            return
        report = site.walk.report
        if form == "json":
            sitemaps = _format_tree(build_tree(report.documents))
            texts = [json.dumps({"source": site.name, "sitemaps": sitemaps})]
        else:
            in_ascii = not lines.encoding.lower().startswith("utf")
            texts = [
                show_url(site.name),
                *report.tree(in_ascii=in_ascii).splitlines()[1:],
            ]
        await run.write_lines(lines, texts)

    async def read() -> None:
        async with run.make_site_run(on_end=draw) as site_run:
            async for _, rows in site_run.rows():
                run.summary.printed += len(rows)

    return print_lines(run, lines, read)


def _format_tree(tree: Tree) -> list[dict[str, Any]]:
    return [
        document.to_dict() | {"sitemaps": _format_tree(below)}
        for document, below in tree
    ]
