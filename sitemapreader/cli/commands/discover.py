"""`sitemapreader discover`: where the sitemaps of sites are."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.options import LIST_FORMATS
from sitemapreader.cli.runner import SourceRunner, make_sources
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.sources import Result, read_url
from sitemapreader.cli.summary import RunSummary
from sitemapreader.cli.writer import Lines, format_of, path_of
from sitemapreader.discovery import discover
from sitemapreader.fetch.folder import FolderFetcher
from sitemapreader.output.escaping import clean_urls
from sitemapreader.report import has_errors
from sitemapreader.urls import host_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.fetch import Fetcher
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


def url_of(_: Site, entry: SitemapEntry) -> str:
    """Write the URL of a sitemap."""
    return f"{clean_urls([entry.loc])[0]}\n"


def json_of(site: Site, entry: SitemapEntry) -> str:
    """Write a sitemap as a JSON object."""
    row = {"loc": entry.loc, "via": entry.via, "sitemap": entry.sitemap or None, "site": site.url}
    return f"{json.dumps(row)}\n"


LINES: dict[str, Callable[[Site, SitemapEntry], str]] = {"urls": url_of, "jsonl": json_of}
"""Name of a format -> what makes a line of a sitemap."""


def run(arguments: argparse.Namespace) -> int:
    """Print the sitemaps; return the exit code."""
    config = RunConfig.of(arguments)
    console, lines, summary = (
        Console.of(arguments),
        Lines(path_of(arguments)),
        RunSummary("sitemaps"),
    )
    write = LINES[format_of(arguments, LIST_FORMATS)]

    async def visit(site: Site, result: Result) -> None:
        found = await discover(
            site.url,
            fetcher=site.fetcher,
            options=site.options,
            limits=config.limits,
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
        console.make_room()
        lines.write("".join(write(site, entry) for entry in found.sitemaps))

    async def work() -> int:
        with lines:
            await runner.run()
        console.summarize(summary)
        return summary.exit_code()

    runner = SourceRunner(
        arguments,
        console,
        summary,
        named=make_sources(arguments, partial(make_site, config=config)),
        make_listed=partial(make_web_site, config=config),
        visit=visit,
    )
    return run_process(work, lines, console)


def make_site(text: str, config: RunConfig) -> Site:
    """Return the site that a word names; raise UnknownSourceError."""
    if not os.path.isdir(text):  # noqa: PTH112 (pathlib's raises for a URL of some length)
        return make_web_site(text, config)
    fetcher = FolderFetcher(text)
    return Site(text, "", fetcher.base_url, config.options, fetcher)


def make_web_site(text: str, config: RunConfig) -> Site:
    """Return the site that a URL is, with a scheme or without; raise UnknownSourceError."""
    url, options = read_url(text, config)
    return Site(url, host_of(url), url, options)
