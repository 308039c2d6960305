"""`sitemapreader state`: the content of a state file."""

from __future__ import annotations

from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING

from sitemapreader.cli.console import Console
from sitemapreader.cli.output import LineWriter, opened, write_to
from sitemapreader.cli.parser import ALL_READ, PARTIAL
from sitemapreader.cli.runtime import run_process
from sitemapreader.issues import excerpt
from sitemapreader.output.text import escape_urls
from sitemapreader.state import DocumentState, SiteState, State
from sitemapreader.state.rows import as_moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from sitemapreader.state.pages import GonePage, UnlistedUrl
    from sitemapreader.state.schedule import PlannedDocument


_LINES_AT_ONCE = 500
_MAX_NAME = 500


_NOTHING_DUE = "nothing is planned: only runs with --changes record what a schedule needs"


def run_state(arguments: argparse.Namespace) -> int:
    """Print the sites, some of their URLs, or what is due; return the exit code."""
    state, lines, console = State(arguments.file), LineWriter(None), Console()

    async def work() -> int:
        if arguments.plan:
            planned = state.plan(arguments.plan)
            text = format_plan(planned, as_moment(state.clock()))
            if not planned:
                console.print_line(_NOTHING_DUE)
        else:
            text = format_state(state)
            if arguments.unlisted or arguments.gone:
                text = format_urls(state.gone() if arguments.gone else state.unlisted())
        async with opened(lines):
            while part := "".join(islice(text, _LINES_AT_ONCE)):
                await write_to(lines, partial(lines.write_text, part))
        if arguments.unlisted or arguments.gone:
            return print_waiting(state, console)
        return ALL_READ

    return run_process(work, lines.name, console)


def format_urls(rows: Iterable[UnlistedUrl | GonePage]) -> Iterator[str]:
    """Yield their URLs as lines."""
    for row in rows:
        yield f"{escape_urls([row.loc])[0]}\n"


def format_plan(planned: Iterable[PlannedDocument], now: datetime) -> Iterator[str]:
    """Yield a line for each document: its URL, from when it is due, and why."""
    for each in planned:
        lastmods = f", lastmods {each.lastmods}" if each.lastmods else ""
        due = "" if each.due <= now else f"not before {each.due:%Y-%m-%d %H:%M} UTC, "
        yield (
            f"{escape_urls([each.url])[0]}: {due}{each.waiting:.2g} waiting,"
            f" {24 * each.rate:.2g} URLs new or gone a day,"
            f" asked {each.asked_at:%Y-%m-%d %H:%M} UTC{lastmods}\n"
        )


def print_waiting(state: State, console: Console) -> int:
    """Say of which sites not all is known that is unlisted; return the exit code."""
    unknown = False
    for site in state.sites():
        name = excerpt(site.name, _MAX_NAME)
        if site.unlisted is None:
            unknown = True
            why = "did not compare: use --changes" if site.finished else "was interrupted"
            console.print_line(f"{name}: the last run {why}")
        elif site.waiting:
            console.print_line(
                f"{name}: {site.waiting} more URLs wait for another day, or for a sitemap that "
                "cannot be read"
            )
    return PARTIAL if unknown else ALL_READ


def format_state(state: State) -> Iterator[str]:
    """Yield lines about each site and its documents."""
    sites = {site.name: site for site in state.sites()}
    for name, documents in groupby(state.documents(), lambda document: document.site):
        yield from _format_site(sites.pop(name))
        for document in documents:
            yield _format_document(document)
    for site in sites.values():
        yield from _format_site(site)


def _format_site(site: SiteState) -> Iterator[str]:
    yield f"{excerpt(site.name, _MAX_NAME)}\n"
    if site.walked is not None:
        how = "complete" if site.complete else "not complete"
        if site.finished is None:
            how = "interrupted, will be resumed"
        unlisted = "" if site.unlisted is None else f", {site.unlisted} URLs unlisted"
        if site.waiting:
            unlisted += f", {site.waiting} waiting"
        yield f"  walked {site.walked:%Y-%m-%d %H:%M} UTC, {how}{unlisted}\n"
    urls = f", {site.urls} URLs to compare with" if site.urls else ""
    yield f"  {site.documents} documents{urls}\n"


def _format_document(document: DocumentState) -> str:
    status = document.status or "being read"
    reason = f" ({document.reason})" if document.reason else ""
    count = f"{document.children} sitemaps" if document.children else f"{document.listed} URLs"
    read = f", {document.read_at:%Y-%m-%d %H:%M}" if document.read_at else ""
    return f"    {escape_urls([document.url])[0]}: {count}, {status}{excerpt(reason)}{read}\n"
