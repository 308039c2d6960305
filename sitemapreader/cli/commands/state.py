"""`sitemapreader state`: the content of a state file."""

from __future__ import annotations

from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING

from sitemapreader.cli.console import Console
from sitemapreader.cli.output import LineWriter, opened, write_to
from sitemapreader.cli.parser import ALL_READ, PARTIAL
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.summary import DocumentCount, describe_unknown_removals
from sitemapreader.issues import excerpt
from sitemapreader.output.text import escape_urls
from sitemapreader.state import DocumentState, SiteState, State
from sitemapreader.state.rows import as_moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from sitemapreader.state.schedule import PlannedDocument


_LINES_AT_ONCE = 500
_MAX_NAME = 500


_NOTHING_DUE = "nothing is planned: only runs with --changes record what a schedule needs"


def run_state(arguments: argparse.Namespace) -> int:
    """Print the sites, the removed URLs or what is due, and return the exit code."""
    state, lines, console = State(arguments.file), LineWriter(None), Console()

    async def work() -> int:
        if arguments.plan:
            planned = state.plan(arguments.plan)
            text = format_plan(planned, as_moment(state.clock()))
            if not planned:
                console.print_line(_NOTHING_DUE)
        else:
            text = format_removed(state) if arguments.removed else format_state(state)
        async with opened(lines):
            while part := "".join(islice(text, _LINES_AT_ONCE)):
                await write_to(lines, partial(lines.write_text, part))
        return print_unknown(state, console) if arguments.removed else ALL_READ

    return run_process(work, lines.name, console)


def format_removed(state: State) -> Iterator[str]:
    """Yield the removed URLs as lines."""
    for loc in state.removed():
        yield f"{escape_urls([loc])[0]}\n"


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


def print_unknown(state: State, console: Console) -> int:
    """Print the documents whose removed URLs are unknown; return the exit code."""
    documents = DocumentCount()
    for url, why in state.removals_unknown():
        documents.add(f"{escape_urls([url])[0]} ({why})")
    if documents.number:
        console.print_line(describe_unknown_removals(documents))
    unknown = [site for site in state.sites() if site.removed is None]
    for site in unknown:
        why = "did not compare: use --changes" if site.finished else "was interrupted: run it again"
        console.print_line(
            f"{excerpt(site.name, _MAX_NAME)}: removed URLs are unknown, the last run {why}"
        )
    return PARTIAL if documents.number or unknown else ALL_READ


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
        removed = "" if site.removed is None else f", {site.removed} URLs removed"
        if site.unknown:
            removed += f" (unknown for {site.unknown} documents)"
        yield f"  walked {site.walked:%Y-%m-%d %H:%M} UTC, {how}{removed}\n"
    urls = f", {site.urls} URLs to compare with" if site.urls else ""
    yield f"  {site.documents} documents{urls}\n"


def _format_document(document: DocumentState) -> str:
    status = document.status or "being read"
    reason = f" ({document.reason})" if document.reason else ""
    count = f"{document.children} sitemaps" if document.children else f"{document.listed} URLs"
    read = f", {document.read_at:%Y-%m-%d %H:%M}" if document.read_at else ""
    return f"    {escape_urls([document.url])[0]}: {count}, {status}{excerpt(reason)}{read}\n"
