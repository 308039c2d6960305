"""`sitemapreader state`: the content of a state file."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from sitemapreader._cli.console import Console, describe_waiting
from sitemapreader._cli.parser import ALL_READ, PARTIAL
from sitemapreader._cli.process import LineWriter, opened, run_process, write_to
from sitemapreader._columns.json import to_json
from sitemapreader._types.counts import count_units, inflect
from sitemapreader._types.issues import excerpt
from sitemapreader._types.outcomes import FINISHED_STATUSES
from sitemapreader._walk.memory import explain_no_status
from sitemapreader.changes import DocumentState, SiteState, State
from sitemapreader.changes.rows import as_moment
from sitemapreader.output.text import escape_urls

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from sitemapreader.changes import GonePage, UnlistedUrl
    from sitemapreader.changes.schedule import PlannedDocument

_PRINTED_AT_ONCE = 500
_MAX_NAME = 500
_NOTHING_DUE = (
    "nothing is planned, because no run used --changes: only such a run makes a plan"
)


def run_state(arguments: argparse.Namespace) -> int:
    """Print the sites, some of their URLs, or the due documents; return the exit code."""
    state = State(arguments.file)
    lines = LineWriter(None, is_array=arguments.format == "json")
    console = Console()
    is_json = arguments.format in ("jsonl", "json")
    is_list = arguments.unlisted or arguments.gone

    async def work() -> int:
        text: Iterator[str]
        if arguments.plan:
            planned = state.plan(arguments.plan)
            if is_json:
                text = map(_format_row, planned)
            else:
                text = format_plan(planned, as_moment(state.clock()))
            if not planned:
                console.print_line(_NOTHING_DUE)
        elif is_list:
            rows: Iterable[UnlistedUrl | GonePage]
            if arguments.gone:
                rows = state.gone()
            else:
                rows = state.unlisted()
            if arguments.unlisted and is_json:
                rows = chain(rows, state.waiting())
            text = map(_format_row if is_json else _format_loc, rows)
        else:
            text = map(_format_row if is_json else _format_state, list_state(state))
        async with opened(lines):
            while part := "".join(islice(text, _PRINTED_AT_ONCE)):
                await write_to(lines, lines.write_text, part)
        if is_list:
            return print_missing(state, console, is_gone=arguments.gone)
        return ALL_READ

    return run_process(work, lines.name, console)


def _format_loc(row: UnlistedUrl | GonePage) -> str:
    return f"{escape_urls([row.loc])[0]}\n"


def _format_row(row: object) -> str:
    return f"{to_json(row)}\n"


def format_plan(planned: Iterable[PlannedDocument], now: datetime) -> Iterator[str]:
    """Yield a line for each document: its URL, from when it is due, and why."""
    for each in planned:
        if each.due <= now:
            due = ""
        else:
            due = f"not before {each.due:%Y-%m-%d %H:%M} UTC, "
        yield (
            f"{escape_urls([each.url])[0]}: {due}{each.news_waiting:.2g} URL-hours of news waiting,"
            f" {24 * each.rate:.2g} URLs new or gone a day,"
            f" requested {each.asked_at:%Y-%m-%d %H:%M} UTC\n"
        )


def print_missing(state: State, console: Console, *, is_gone: bool) -> int:
    """Name the sites with unconfirmed removals or unproven pages; return the exit code.

    `is_gone` is True for a list of the pages that are gone: it has nothing to do with what waits to
    be unlisted.
    """
    code = ALL_READ
    waited, unproven = _group_missing(state)
    unread = {
        (document.site, document.url): document.reason
        for document in state.documents()
        if waited and document.status not in FINISHED_STATUSES
    }
    for site in state.sites():
        name = excerpt(site.name, _MAX_NAME)
        if site.unlisted is None:
            code = PARTIAL
            if site.finished:
                why = "did not compare: use --changes"
            else:
                why = "was interrupted"
            console.print_line(f"{name}: the last run {why}")
        elif is_gone:
            if site.dead_once_due:
                console.print_line(f"{name}: {_describe_dead_once(site)}")
        elif site.waiting:
            console.print_line(f"{name}: {_describe_wait(site, waited, unread)}")
        for reason, number in sorted(unproven[site.name].items()):
            console.print_line(
                f"{name}: no status of {count_units(number, 'missing URLs')} ({reason}): "
                f"{explain_no_status(reason)}"
            )
    return code


def _group_missing(
    state: State,
) -> tuple[dict[str, UnlistedUrl], dict[str, Counter[str]]]:
    """Return by site a URL that waits, and how many pages have no status, by reason."""
    unproven: dict[str, Counter[str]] = defaultdict(Counter)
    waited: dict[str, UnlistedUrl] = {}
    for row in chain(state.unlisted(), state.waiting()):
        if row.no_status:
            unproven[row.site][row.no_status] += 1
        if row.waits_for:
            known = waited.setdefault(row.site, row)
            # a document says more than the site
            if known.waits_for == row.site != row.waits_for:
                waited[row.site] = row
    return waited, unproven


def _describe_dead_once(site: SiteState) -> str:
    pages = count_units(site.dead_once, "pages")
    return (
        f"not gone yet: {pages} responded with 404 or 410, and must do so again after"
        f" {site.dead_once_due:%Y-%m-%d %H:%M} UTC"
    )


def _describe_wait(
    site: SiteState,
    waited: Mapping[str, UnlistedUrl],
    unread: Mapping[tuple[str, str], str],
) -> str:
    """Return a message about the URLs of a site that wait to be unlisted."""
    number = site.waiting or 0
    row = waited.get(site.name)
    if row is None or row.waits_for is None:
        return describe_waiting(number)
    if row.waits_for == site.name:
        return describe_waiting(number, until=row.waits_until)
    reason = unread.get((site.name, row.waits_for))
    return describe_waiting(number, row.waits_for, reason, row.waits_until)


def list_state(state: State) -> Iterator[SiteState | DocumentState]:
    """Yield each site and then its documents."""
    sites = {site.name: site for site in state.sites()}
    for name, group in groupby(state.documents(), lambda document: document.site):
        yield sites.pop(name)
        yield from group
    yield from sites.values()


def _format_state(row: SiteState | DocumentState) -> str:
    if isinstance(row, SiteState):
        return "".join(_format_site(row))
    return _format_document(row)


def _format_site(site: SiteState) -> Iterator[str]:
    yield f"{excerpt(site.name, _MAX_NAME)}\n"
    if site.walked is not None:
        how = "complete" if site.complete else "not complete"
        if not site.finished:
            how = "interrupted, will be resumed"
        numbers = {
            "unlisted": site.unlisted,
            "gone": site.gone or None,
            "waiting": site.waiting or None,
        }
        known = "".join(
            f", {number} {what}"
            for what, number in numbers.items()
            if number is not None
        )
        yield f"  walked {site.walked:%Y-%m-%d %H:%M} UTC, {how}{known}\n"
    if site.urls:
        urls = f", {site.urls} {inflect(site.urls, 'URLs')} to compare with"
    else:
        urls = ""
    yield f"  {site.documents} {inflect(site.documents, 'documents')}{urls}\n"


def _format_document(document: DocumentState) -> str:
    status = document.status or "not read"
    reason = f" ({document.reason})" if document.reason else ""
    number = document.children or document.listed
    count = f"{number} {inflect(number, 'sitemaps' if document.children else 'URLs')}"
    if document.read_at:
        read = f", {document.read_at:%Y-%m-%d %H:%M}"
    else:
        read = ""
    return f"    {escape_urls([document.url])[0]}: {count}, {status}{excerpt(reason)}{read}\n"
