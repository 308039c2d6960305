"""`sitemapreader tree`: the sitemaps of sites, as trees."""

from __future__ import annotations

import json
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.options.output import TREE_FORMATS
from sitemapreader.cli.runner import make_sources
from sitemapreader.cli.runtime import run_sources
from sitemapreader.cli.site_runner import SiteRunner
from sitemapreader.cli.sources import (
    FileSource,
    FolderSource,
    Source,
    SourceResult,
    UnknownSourceError,
    make_site_source,
    make_source,
)
from sitemapreader.cli.summary import RunSummary
from sitemapreader.cli.writer import LineWriter, find_output_format, get_output_path
from sitemapreader.views import build_tree, draw_tree

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.rows import Rows
    from sitemapreader.views import DocumentNode


def run(arguments: argparse.Namespace) -> int:
    """Print the trees and return the exit code."""
    config, form = RunConfig.from_arguments(arguments), find_output_format(arguments, TREE_FORMATS)
    console, lines, summary = (
        Console.from_arguments(arguments),
        LineWriter(get_output_path(arguments)),
        RunSummary(),
    )

    async def visit(source: Source, result: SourceResult) -> None:
        if isinstance(source, FolderSource):
            async with aclosing(source.open(result)) as batches:
                async for batch in batches:
                    count(source.label, batch)

    def count(_: str, rows: Rows) -> None:
        summary.printed += len(rows)

    def draw(result: SourceResult, outcome: SiteOutcome) -> None:
        if form == "json":
            text = format_json(outcome.site, build_tree(result.documents))
        else:
            text = draw_tree(outcome.site, result.documents, in_ascii=not lines.can_draw)
        console.clear_for_results()
        lines.write("".join(text))

    runner = SiteRunner(
        arguments,
        console,
        summary,
        named=make_sources(
            arguments, partial(make_rooted_source, arguments=arguments, config=config)
        ),
        make_listed=partial(make_site_source, arguments=arguments, trusted=False),
        visit=visit,
        config=config,
        handle=count,
        on_end=draw,
    )
    return run_sources(runner.run, lines, console, summary)


def make_rooted_source(text: str, arguments: argparse.Namespace, config: RunConfig) -> Source:
    """Make a source that can have child sitemaps; raise UnknownSourceError."""
    source = make_source(text, arguments, config)
    if isinstance(source, FileSource):
        raise UnknownSourceError(
            f"{source.label} is a single file: give its URL, or the folder that contains it"
        )
    return source


def format_json(label: str, roots: list[DocumentNode]) -> Iterator[str]:
    """Yield a tree as one JSON object on one line."""
    yield json.dumps({"source": label, "sitemaps": [_format_node(root) for root in roots]}) + "\n"


def _format_node(node: DocumentNode) -> dict[str, Any]:
    return node.document.to_dict() | {"sitemaps": [_format_node(child) for child in node.children]}
