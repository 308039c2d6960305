"""`sitemapreader discover`: the sitemaps of sites."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.options import LIST_FORMATS
from sitemapreader.cli.output import LineWriter, find_output_format, get_output_path, write_to
from sitemapreader.cli.run import SourceRun, print_lines
from sitemapreader.cli.summary import SourceResult
from sitemapreader.many.sources import SiteTask, check_task, find_domain, find_folder
from sitemapreader.output.text import escape_urls
from sitemapreader.report import Report
from sitemapreader.urls import parse_url
from sitemapreader.walker import discover
from sitemapreader.walker.filters import RecentKeys

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.many.sources import CheckedTask
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
    run = SourceRun(arguments, what="sitemaps", find=_find_site)
    lines = LineWriter(get_output_path(arguments))
    config, summary = run.config, run.summary
    room = asyncio.Semaphore(arguments.parallel)
    turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def search(checked: CheckedTask, domain: str) -> None:
        async with turns[domain]:
            try:
                await search_site(checked)
            finally:
                room.release()

    async def search_site(checked: CheckedTask) -> None:
        login = parse_url(checked.login) if checked.login else None
        found = await discover(
            checked.url,
            fetcher=checked.task.fetcher,
            options=config.with_login(login.user, login.password) if login else config.options,
            limits=config.limits,
            trusted=bool(checked.task.trusted) or checked.task.fetcher is not None,
            **config.search,
        )
        summary.printed += len(found.sitemaps)
        run.console.clear_for_results()
        text = "".join(write(checked.url, entry) for entry in found.sitemaps)
        await write_to(lines, partial(lines.write_text, text))
        report = Report(0)
        report.entries = len(found.sitemaps)
        report.issues += found.issues
        report.counts += found.counts
        report.documents += found.documents
        report.statuses.update(document.status for document in found.documents)
        run.end(checked.name, SourceResult(report))

    async def search_all() -> None:
        seen = RecentKeys()
        async with asyncio.TaskGroup() as tasks, aclosing(run.list_tasks()) as given:
            async for task in given:
                if isinstance(task, str):
                    run.report_line(task)
                elif not seen.add(check_task(task).key):
                    summary.repeated += 1
                else:
                    await room.acquire()
                    checked = check_task(task)
                    tasks.create_task(search(checked, await find_domain(checked)))

    return print_lines(run, lines, search_all)


def _find_site(text: str, _: argparse.Namespace) -> SiteTask:
    """Return the site that a word names: a folder, or a URL."""
    return find_folder(text) or SiteTask(_with_scheme(text), trusted=True)


def _with_scheme(text: str) -> str:
    checked = check_task(text)
    return checked.login or checked.url
