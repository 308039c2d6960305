"""`sitemapreader state`: what a state file holds."""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING

from sitemapreader.cli.console import Console
from sitemapreader.cli.exit_codes import ALL_READ, PARTIAL
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.summary import DocumentCount, describe_unknown_removals
from sitemapreader.cli.writer import LineWriter
from sitemapreader.issues import excerpt
from sitemapreader.output.escaping import escape_urls
from sitemapreader.state import State

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.state.state import DocumentState, SiteState

_LINES_AT_ONCE = 500
_MAX_NAME = 500


def run(arguments: argparse.Namespace) -> int:
    """Print what is there; return the exit code."""
    state, lines, console = State(arguments.file), LineWriter(None), Console()

    async def work() -> int:
        text = write_removed(state) if arguments.removed else describe(state)
        with lines:
            while part := "".join(islice(text, _LINES_AT_ONCE)):
                lines.write(part)
        return report_unknown(state, console) if arguments.removed else ALL_READ

    return run_process(work, lines, console)


def write_removed(state: State) -> Iterator[str]:
    """Write the URLs that are gone."""
    for loc in state.removed():
        yield f"{escape_urls([loc])[0]}\n"


def report_unknown(state: State, console: Console) -> int:
    """Say of what it is not known which URLs are gone; return the exit code."""
    documents = DocumentCount()
    for url in state.removals_unknown():
        documents.add(escape_urls([url])[0])
    if documents.number:
        console.print_line(describe_unknown_removals(documents))
    unknown = [site for site in state.sites() if site.removed is None]
    for site in unknown:
        why = "did not compare: use --changes" if site.finished else "was stopped: run it again"
        console.print_line(f"{excerpt(site.name, _MAX_NAME)}: nothing is known, its last run {why}")
    return PARTIAL if documents.number or unknown else ALL_READ


def describe(state: State) -> Iterator[str]:
    """Describe each site, and each of its documents."""
    sites = {site.name: site for site in state.sites()}
    for name, documents in groupby(state.documents(), lambda document: document.site):
        yield from _site_lines(sites.pop(name))
        for document in documents:
            yield _document_line(document)
    for site in sites.values():
        yield from _site_lines(site)


def _site_lines(site: SiteState) -> Iterator[str]:
    yield f"{excerpt(site.name, _MAX_NAME)}\n"
    if site.walked is not None:
        how = "complete" if site.complete else "not complete"
        if site.finished is None:
            how = "stopped, to be resumed"
        removed = "" if site.removed is None else f", {site.removed} URLs removed"
        if site.unknown:
            removed += f" (not known of {site.unknown} documents)"
        yield f"  walked {site.walked:%Y-%m-%d %H:%M} UTC, {how}{removed}\n"
    urls = f", {site.urls} URLs to compare with" if site.urls else ""
    yield f"  {site.documents} documents{urls}\n"


def _document_line(document: DocumentState) -> str:
    status = document.status or "being read"
    reason = f" ({document.reason})" if document.reason else ""
    count = f"{document.children} sitemaps" if document.children else f"{document.listed} URLs"
    read = f", {document.read_at:%Y-%m-%d %H:%M}" if document.read_at else ""
    return f"    {escape_urls([document.url])[0]}: {count}, {status}{excerpt(reason)}{read}\n"
