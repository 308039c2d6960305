"""`sitemapreader tree`: the sitemaps of sites, each below the one that lists it."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.commands.branches import write_json
from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.options import TREE_FORMATS
from sitemapreader.cli.runner import SourceRunner, make_sources
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.sources import (
    FileSource,
    Result,
    Source,
    UnknownSourceError,
    make_source,
    make_web_source,
)
from sitemapreader.cli.summary import RunSummary
from sitemapreader.cli.writer import Lines, format_of, path_of
from sitemapreader.document_tree import build_tree, draw_tree

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Print the trees; return the exit code."""
    config, form = RunConfig.of(arguments), format_of(arguments, TREE_FORMATS)
    console, lines, summary = Console.of(arguments), Lines(path_of(arguments)), RunSummary()

    async def visit(source: Source, result: Result) -> None:
        async with aclosing(source.open(result)) as batches:
            async for batch in batches:
                summary.printed += len(batch)
        if form == "json":
            text = write_json(source.label, build_tree(result.documents))
        else:
            text = draw_tree(source.label, result.documents, in_ascii=not lines.can_draw)
        console.make_room()
        lines.write("".join(text))

    async def work() -> int:
        with lines:
            await runner.run()
        console.summarize(summary)
        return summary.exit_code()

    runner = SourceRunner(
        arguments,
        console,
        summary,
        named=make_sources(
            arguments, partial(make_rooted_source, arguments=arguments, config=config)
        ),
        make_listed=partial(make_web_source, arguments=arguments, config=config),
        visit=visit,
    )
    return run_process(work, lines, console)


def make_rooted_source(text: str, arguments: argparse.Namespace, config: RunConfig) -> Source:
    """Tell what a word names that can have sitemaps below it; raise UnknownSourceError."""
    source = make_source(text, arguments, config)
    if isinstance(source, FileSource):
        raise UnknownSourceError(
            f"{source.label} is a single file: give its URL, or the folder that it is in"
        )
    return source
