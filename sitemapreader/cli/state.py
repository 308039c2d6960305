"""`sitemapreader state`: what a state file holds."""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING

from sitemapreader.cli.console import Console
from sitemapreader.cli.exit_codes import ALL_READ
from sitemapreader.cli.outlet import Lines
from sitemapreader.cli.process import run_process
from sitemapreader.issues import excerpt
from sitemapreader.output.clean import clean_urls
from sitemapreader.state import State

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.state.state import DocumentState, SiteState

_LINES_AT_ONCE = 500
_MAX_NAME = 500


def run(arguments: argparse.Namespace) -> int:
    """Print what is there; return the exit code."""
    state, lines = State(arguments.file), Lines(None)

    async def work() -> int:
        text = write_removed(state) if arguments.removed else describe(state)
        with lines:
            while part := "".join(islice(text, _LINES_AT_ONCE)):
                lines.write(part)
        return ALL_READ

    return run_process(work, lines, Console())


def write_removed(state: State) -> Iterator[str]:
    """Write the URLs that are gone."""
    for loc in state.removed():
        yield f"{clean_urls([loc])[0]}\n"


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
            how = "stopped, and will be gone on with"
        removed = "" if site.removed is None else f", {site.removed} URLs removed"
        yield f"  walked {site.walked:%Y-%m-%d %H:%M} UTC, {how}{removed}\n"
    urls = f", {site.urls} URLs to compare with" if site.urls else ""
    yield f"  {site.documents} documents{urls}\n"


def _document_line(document: DocumentState) -> str:
    status = document.status or "being read"
    reason = f" ({document.reason})" if document.reason else ""
    count = f"{document.children} sitemaps" if document.children else f"{document.listed} URLs"
    read = f", {document.read_at:%Y-%m-%d %H:%M}" if document.read_at else ""
    return f"    {clean_urls([document.url])[0]}: {count}, {status}{excerpt(reason)}{read}\n"
