"""`sitemapreader discover`: the sitemaps of sites."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.options.output import LIST_FORMATS
from sitemapreader.cli.runner import SourceRunner, make_sources
from sitemapreader.cli.runtime import run_sources
from sitemapreader.cli.sources import SourceResult, check_site, parse_source_url
from sitemapreader.cli.summary import RunSummary
from sitemapreader.cli.writer import LineWriter, find_output_format, get_output_path
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.outcomes import has_errors
from sitemapreader.output.text import escape_urls
from sitemapreader.urls import host_of
from sitemapreader.walker import discover

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.fetch.client import Fetcher
    from sitemapreader.models import SitemapEntry
    from sitemapreader.options import FetchOptions


@attrs.frozen
class Site:
    """A site to search."""

    label: str
    host: str
    url: str
    options: FetchOptions
    fetcher: Fetcher | None = None
    trusted: bool = True


def format_url(_: Site, entry: SitemapEntry) -> str:
    """Format a sitemap as its URL."""
    return f"{escape_urls([entry.loc])[0]}\n"


def format_json(site: Site, entry: SitemapEntry) -> str:
    """Format a sitemap as a JSON object."""
    row = {"loc": entry.loc, "via": entry.via, "sitemap": entry.sitemap or None, "site": site.url}
    return f"{json.dumps(row)}\n"


LINE_FORMATTERS: dict[str, Callable[[Site, SitemapEntry], str]] = {
    "urls": format_url,
    "jsonl": format_json,
}
"""Name of a format -> function that formats a sitemap as a line."""


def run(arguments: argparse.Namespace) -> int:
    """Print the sitemaps and return the exit code."""
    config = RunConfig.from_arguments(arguments)
    console, lines, summary = (
        Console.from_arguments(arguments),
        LineWriter(get_output_path(arguments)),
        RunSummary("sitemaps"),
    )
    write = LINE_FORMATTERS[find_output_format(arguments, LIST_FORMATS)]

    async def visit(site: Site, result: SourceResult) -> None:
        found = await discover(
            site.url,
            fetcher=site.fetcher,
            options=site.options,
            limits=config.limits,
            trusted=site.trusted,
            **config.search,
        )
        result.issues += found.issues
        result.counts += found.counts
        result.documents += found.documents
        result.statuses.update(document.status for document in found.documents)
        result.entries = len(found.sitemaps)
        result.answered = any(document.is_answered for document in found.documents)
        result.complete = not has_errors(found.counts)
        summary.printed += len(found.sitemaps)
        console.clear_for_results()
        lines.write("".join(write(site, entry) for entry in found.sitemaps))

    runner = SourceRunner(
        arguments,
        console,
        summary,
        named=make_sources(arguments, partial(make_site, config=config)),
        make_listed=partial(make_web_site, config=config, trusted=False),
        visit=visit,
    )
    return run_sources(runner.run, lines, console, summary)


def make_site(text: str, config: RunConfig) -> Site:
    """Make the site that a word names; raise UnknownSourceError."""
    if not os.path.isdir(text):  # noqa: PTH112 (pathlib's raises for a URL of some length)
        return make_web_site(text, config)
    fetcher = FolderFetcher(text)
    return Site(text, "", fetcher.base_url, config.options, fetcher)


def make_web_site(text: str, config: RunConfig, *, trusted: bool = True) -> Site:
    """Make the site for a URL, with or without a scheme; raise UnknownSourceError."""
    if trusted:
        url, options = parse_source_url(text, config)
    else:
        url, options = check_site(text).url, config.options
    return Site(url, host_of(url), url, options, trusted=trusted)
