"""Standard error: messages of a line, Issues, progress, the summary of a run."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import attrs

from sitemapreader._cli.parser import (
    ALL_READ,
    MAX_MESSAGE,
    NO_URL,
    NOTHING_FETCHED,
    PARTIAL,
    USAGE,
    name_options,
)
from sitemapreader._log import LOGGER
from sitemapreader._types.counts import inflect
from sitemapreader._types.issues import Issue, IssueCode, Severity, excerpt
from sitemapreader._types.outcomes import (
    EXPECTED_SKIPS,
    FILTERED,
    FINISHED_STATUSES,
    NOT_MODIFIED,
    NOTHING_LOST,
    SAME_LASTMOD,
    Role,
    Status,
    is_known,
    show_bytes,
)
from sitemapreader._types.urls import url_key
from sitemapreader._walk.report import Report

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Collection, Iterator
    from datetime import datetime

    from sitemapreader._many.run import SiteWalk
    from sitemapreader._types.models import Change
    from sitemapreader.fetch.http import HttpFetcher


class Console:
    """Standard error: escaped messages of one line each, and the progress.

    Args:
        quiet: print nothing but the error that ends the program, and what was not read.
        verbose: print Issues of severity INFO as well.
        has_file: whether results go to a file, and not to the same terminal.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        verbose: bool = False,
        has_file: bool = False,
    ) -> None:
        # the parent process may have closed it
        self._is_open = sys.stderr is not None
        self.shows_progress = self._is_open and not quiet and sys.stderr.isatty()
        self._is_quiet = quiet
        self._min_severity = Severity.WARNING
        if verbose:
            self._min_severity = Severity.INFO
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._shows_results = is_terminal and not has_file
        self._drawn = ""

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Self:
        """Make the console with the verbosity of the options."""
        has_file = arguments.output not in (None, "-")
        return cls(quiet=arguments.quiet, verbose=arguments.verbose, has_file=has_file)

    def draw(self, line: str) -> None:
        """Draw the progress in place of the last one; "" erases it."""
        if line or self._drawn:
            end = "" if line else "\r"
            sys.stderr.write(f"\r{line:{len(self._drawn)}}{end}")
            sys.stderr.flush()
        self._drawn = line

    def clear_for_results(self) -> None:
        """Erase the progress if results are about to be written to the same terminal."""
        if self._shows_results:
            self.draw("")

    def print_line(self, text: str) -> None:
        """Print a line, unless `--quiet` was given."""
        if not self._is_quiet:
            self.print_error(text)

    def print_error(self, text: str) -> None:
        """Print a line about the error that ends the program, even with `--quiet`."""
        if self._is_open:
            self.draw("")
            # in one write, because other processes may write to the same stream
            sys.stderr.write(f"sitemapreader: {excerpt(text, MAX_MESSAGE)}\n")

    def print_issues(self, report: Report, source: str) -> None:
        """Print a line for each kind of Issue of each document.

        It has the first Issue, and the number of the others; INFO only with `--verbose`. An
        unreachable robots.txt is not reported beside the error that caused it, nor that a site
        which is down has no sitemap.
        """
        failed: set[str] = set()
        groups: dict[tuple[IssueCode, str], list[Issue]] = {}
        for issue in report.issues:
            groups.setdefault((issue.code, issue.sitemap), []).append(issue)
            if issue.severity is Severity.ERROR:
                failed.add(issue.sitemap)
        group_counts = Counter(code for code, _ in groups)
        # Issues above the limit of a document are only counted
        uncounted = report.counts - Counter(issue.code for issue in report.issues)
        for (code, sitemap), issues in groups.items():
            if code is IssueCode.ROBOTS_UNREACHABLE and sitemap in failed:
                continue
            if code is IssueCode.NO_SITEMAP and report.outcome.reason != code:
                continue
            if code.severity >= self._min_severity:
                others = len(issues) - 1
                if group_counts[code] == 1:
                    others += uncounted.pop(code, 0)
                self._print_issue(issues[0], sitemap or source, others)
        for code, number in uncounted.items():
            if code.severity >= self._min_severity:
                severity = code.severity.name.lower()
                self.print_line(
                    f"{severity} {code}: {source}: and {number} more of these"
                )

    def _print_issue(
        self,
        issue: Issue,
        location: str,
        others: int,
    ) -> None:
        if issue.line:
            location += f":{issue.line}"
        note = ""
        if others:
            note = f" (and {others} more)"
        self.print_line(
            f"{issue.severity.name.lower()} {issue.code}: {location}: "
            f"{describe_issue(issue, note)}"
        )

    def print_summary(self, summary: RunSummary) -> None:
        """Print the summary of the run; with `--quiet`, only if something was not read."""
        if self._is_quiet and summary.find_exit_code() == ALL_READ:
            return
        for line in summary.format_lines():
            self.print_error(line)


def describe_issue(issue: Issue, note: str) -> str:
    """Return the message of an Issue, with the URL and the text that it is about."""
    meaning = name_options(issue.code.meaning)
    subject = [issue.url or "", name_options(issue.value or "")]
    if any(subject):
        meaning += f" [{' '.join(filter(None, subject))}]"
    return f"{meaning}{note}: {name_options(issue.code.advice)}"


# -- progress

SECONDS = 0.2
"""Seconds between two updates."""
_PATIENCE_SECONDS = 3.0
"""Seconds without any progress after which the host that is waited for is named."""
_FALLBACK_WIDTH = 80


@asynccontextmanager
async def show_progress(console: Console, summary: RunSummary) -> AsyncIterator[None]:
    """Print long waits within this context, and the progress if there is a terminal."""
    task = None
    warnings = WarningHandler(console)
    LOGGER.addHandler(warnings)
    if console.shows_progress:
        task = asyncio.create_task(
            _draw_progress(console, summary), name="sitemapreader.progress"
        )
    try:
        yield
    finally:
        LOGGER.removeHandler(warnings)
        if task is not None:
            task.cancel()
            console.draw("")


class WarningHandler(logging.Handler):
    """Handler of the package's logger, which prints its warnings: long waits for a host."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning; errors have lines of their own."""
        if record.levelno == logging.WARNING:
            self._console.print_line(record.getMessage())


async def _draw_progress(console: Console, summary: RunSummary) -> None:
    progress = Progress(summary, time.monotonic())
    while True:
        await asyncio.sleep(SECONDS)
        width = _find_width() - 1
        console.draw(progress.write(time.monotonic(), width))


@attrs.define
class Progress:
    """The progress of a run, as a line of text."""

    _summary: RunSummary
    _began: float
    _changed_at: float = 0.0
    _figures: tuple[int, ...] = ()

    def write(self, now: float, width: int) -> str:
        """Return the line of a moment, without the parts that it has no room for."""
        summary = self._summary
        seconds = now - self._began
        minutes, rest = divmod(round(seconds), 60)
        done, total = summary.count_documents()
        received = summary.count_bytes()
        parts = [
            f"{summary.printed:,} {summary.noun}",
            f"{done}/{total} {inflect(total, 'documents')}",
            f"{summary.printed / seconds:,.0f}/s",
            show_bytes(received),
            f"{minutes}:{rest:02}",
        ]
        last_figures = self._figures
        self._figures = (summary.printed, summary.pages, done, received)
        if self._figures != last_figures:
            self._changed_at = now
        elif now - self._changed_at > _PATIENCE_SECONDS:
            parts[:0] = summary.name_awaited()
        if summary.is_for_many:
            parts.insert(0, f"sources done: {summary.done:,}")
        if summary.pages:
            parts.insert(0, f"pages visited: {summary.pages:,}")
        line = ", ".join(parts)
        if len(line) > width:
            return line[:width].rpartition(",")[0]
        return line


def _find_width() -> int:
    """Return the columns of the terminal; some say that they have none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _FALLBACK_WIDTH
    except (OSError, ValueError):
        return _FALLBACK_WIDTH


# -- the summary

_MAX_NAMED_FAILURES = 10
"""Documents, or failed sources, that are named for each reason; others are only counted."""
_MAX_NAMED_SKIPS = 3
"""Sitemaps that `--since` skipped and the summary names."""
_SUMMED = (
    "undated",
    "future",
    "without_language",
    "sampled_from",
    "unlisted",
    "waiting",
    "gone",
    "bytes_raw",
)
"""Figures of reports that are added up."""


@attrs.define(eq=False)
class RunSummary:
    """The sums over all sources, the exit code and the last lines of the run."""

    noun: str = "URLs"
    """Noun for the things that `printed` counts, in the plural."""
    is_for_many: bool = False
    allowed_losses: frozenset[str] = frozenset()
    """Reasons for a loss that do not change the exit code."""
    printed: int = 0
    pages: int = 0
    """Number of pages that an audit has visited."""
    removed: Counter[Change] = attrs.field(factory=Counter)
    """Numbers of unlisted and of gone URLs among the printed ones."""
    unknown: int = 0
    """Lines of a list that are not a source."""
    repeated: int = 0
    limit_reached: bool = False
    is_cut: bool = False
    """True if the time was over before all sources were begun."""
    done: int = 0
    """Finished sources, failed ones included; the next two are about their documents."""
    statuses: Counter[Status] = attrs.field(factory=Counter)
    sums: Counter[str] = attrs.field(factory=Counter)
    running: Collection[SiteWalk] = ()
    unused_hosts: dict[str, None] = attrs.field(factory=dict)
    """Hosts of `--map-host` from which no document was requested."""
    fetcher: HttpFetcher | None = None
    """The fetcher of an audit, whose walk is not in `running`."""
    _failed: int = 0
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _waited: tuple[str, str | None, datetime | None] = ("", None, None)
    """A document that missing URLs wait for; why it was not read, or `None`."""
    _named_dated: dict[str, list[str]] = attrs.field(factory=dict)
    """Reason of sitemaps that are not read because of their date in an index -> some of them."""
    _dated: Counter[str] = attrs.field(factory=Counter)
    """The same -> number of all of them."""
    _left_out: Counter[str] = attrs.field(factory=Counter)
    _lost: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """Status and reason -> number of lost sources or documents; the next one names the first."""
    _named_losses: dict[tuple[str, str], list[str]] = attrs.field(factory=dict)

    def add(self, site: SiteWalk, report: Report) -> None:
        """Add a source that has ended, and its report."""
        documents = report.documents
        is_found = bool(report.entries or site.sitemaps) or _has_unwanted(report)
        is_whole = not site.children and not site.fault
        is_complete = is_whole and report.complete
        losses = report.losses
        is_allowed = is_whole and bool(losses) and losses <= self.allowed_losses
        self.done += 1
        self.sums.update({name: getattr(report, name) or 0 for name in _SUMMED})
        self.sums["filtered"] += sum(document.filtered for document in documents)
        for issue in report.issues:
            if issue.code is IssueCode.HOST_MAPPED:
                self.unused_hosts.pop(issue.url or "", None)
        self._answered |= any(document.is_answered for document in documents)
        self._found |= is_found
        self._complete &= is_complete or is_allowed
        self.statuses += report.statuses
        for left_out_reason, number in report.left_out.items():
            if left_out_reason in EXPECTED_SKIPS:
                self._left_out[left_out_reason] += number
        for reason in (NOT_MODIFIED, SAME_LASTMOD):
            urls = [each.url for each in documents if each.reason == reason]
            self._dated[reason] += len(urls)
            named = self._named_dated.setdefault(reason, [])
            named += urls[: _MAX_NAMED_SKIPS - len(named)]
        if report.waiting and not any(self._waited):
            reasons = {
                url_key(document.url): str(document.reason)
                for document in documents
                if document.status not in FINISHED_STATUSES
            }
            unread = reasons.get(report.waits_for)
            self._waited = (report.waits_for, unread, report.waits_until)
        if not is_complete:
            self._add_losses(site, report, is_found=is_found)
        # above its limit a report counts skipped documents without listing them
        listed = Counter(
            document.reason for document in documents if document.is_left_out
        )
        for lost_reason, number in (report.left_out - listed).items():
            if lost_reason not in NOTHING_LOST:
                self._lost["not read", lost_reason] += number

    def _add_losses(
        self,
        site: SiteWalk,
        report: Report,
        *,
        is_found: bool,
    ) -> None:
        """Add the lost documents of a source, or the source itself."""
        reason = report.outcome.reason
        if not reason:
            reason = "unfetched children" if site.children else "cannot be read"
        lost = [document for document in report.documents if document.is_lost]
        if not is_found:
            # the source itself is named in any case
            lost = [
                document
                for document in lost
                if document.role is Role.SITEMAP and document.url != site.name
            ]
            self._failed += 1
            if self.is_for_many or not lost:
                self._add_loss("failed", reason, site.name)
        elif not lost:
            self._add_loss("read in part", reason, site.name)
        for document in lost:
            status = "not read"
            if document.status is Status.PARTIAL:
                status = "read in part"
            self._add_loss(status, document.reason, document.url)

    def _add_loss(
        self,
        status: str,
        reason: str,
        url: str,
    ) -> None:
        self._lost[status, reason] += 1
        urls = self._named_losses.setdefault((status, reason), [])
        if len(urls) < _MAX_NAMED_FAILURES:
            urls.append(url)

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents are finished, and how many are known so far."""
        walks = [site.walk for site in self.running if site.walk is not None]
        done = self.statuses.total()
        done += sum(walk.report.statuses.total() for walk in walks)
        return done, done + sum(walk.pending for walk in walks)

    def count_bytes(self) -> int:
        """Return how many bytes were received for finished documents."""
        walks = (site.walk for site in self.running if site.walk is not None)
        return self.sums["bytes_raw"] + sum(walk.report.bytes_raw for walk in walks)

    def name_awaited(self) -> list[str]:
        """Name the host that is waited for, and the number of others, in a list; or none."""
        hosts: set[str] = set()
        for site in self.running:
            if site.walk is not None:
                hosts.update(site.walk.awaited_hosts)
        if self.fetcher is not None:
            hosts.update(self.fetcher.awaited_hosts)
        if not hosts:
            return []
        text = f"waiting for {excerpt(min(hosts))}"
        if len(hosts) > 1:
            text += f" and {len(hosts) - 1} more"
        return [text]

    @property
    def _is_begun(self) -> bool:
        """True if there was a source to read."""
        return bool(self.done or self.limit_reached or self.is_cut)

    def find_exit_code(self) -> int:
        """Return the exit code by the rules of docs/exit-codes.md."""
        if not self._is_begun:
            if self.unknown:
                return USAGE
            return NO_URL
        if not self.limit_reached and not self._answered:
            return NOTHING_FETCHED
        if not self.limit_reached and not self._found:
            return NO_URL
        if self._complete and not self.unknown and not self.is_cut:
            return ALL_READ
        return PARTIAL

    def format_lines(self) -> Iterator[str]:
        """Yield the last lines of the run: the results, the unread sitemaps, and the reasons."""
        if self._is_begun:
            yield self._format_count()
            yield from self._format_asked()
            yield from self._format_lost()
        elif not self.unknown:
            yield "the list names no source"

    def _format_asked(self) -> Iterator[str]:
        sums = self.sums
        if sums["filtered"] and not self.printed:
            yield f"excluded {sums['filtered']} {inflect(sums['filtered'], 'URLs')}: your filters"
        if number := sums["without_language"]:
            urls = inflect(number, "URLs")
            yield (
                f"excluded {number} {urls} without a language (add the code und to --language "
                "to keep them)"
            )
        kept = []
        if undated := sums["undated"]:
            urls = inflect(undated, "URLs")
            kept.append(
                f"{undated} {urls} without a date (--undated drop excludes them)"
            )
        if future := sums["future"]:
            kept.append(f"{future} {inflect(future, 'URLs')} with a date in the future")
        if kept:
            yield f"kept {' and '.join(kept)}"
        if self._left_out:
            yield f"skipped as configured: {_count_each(self._left_out)}"
        yield from map(describe_unused, self.unused_hosts)
        for reason, what in (
            (NOT_MODIFIED, "as older than --since"),
            (SAME_LASTMOD, "as unchanged"),
        ):
            if named := self._named_dated.get(reason):
                urls = ", ".join(named)
                if number := self._dated[reason] - len(named):
                    urls += f" and {number} more"
                yield (
                    f"skipped {what} according to their index (its dates are often stale): {urls}"
                    " (--no-prune reads them)"
                )

    def _format_lost(self) -> Iterator[str]:
        for (status, reason), number in sorted(self._lost.items()):
            named_urls = self._named_losses.get((status, reason), [])
            urls = ", ".join(named_urls) or "too many to name"
            if named_urls and number > len(named_urls):
                urls += f" and {number - len(named_urls)} more"
            yield f"{status}: {number} {reason}: {urls}"
        if waiting := self.sums["waiting"]:
            yield describe_waiting(waiting, *self._waited)
        if self.is_cut:
            yield "skipped the rest of the list: --max-time was reached"
        if self.repeated:
            yield f"skipped {self.repeated} {inflect(self.repeated, 'sources')}: duplicate"
        if self.unknown:
            sources = inflect(self.unknown, "sources")
            yield f"skipped {self.unknown} {sources} named above: not a site, or not readable"

    def _format_count(self) -> str:
        sampled = self.sums["sampled_from"]
        if sampled:
            line = f"{self.printed:,} of {sampled:,}"
        else:
            line = f"{self.printed}"
        if self.removed:  # a URL that is unlisted and gone was printed twice
            line += f" {inflect(self.printed, 'changes')} ({_count_each(self.removed)})"
        else:
            line += f" {inflect(self.printed, self.noun)}"
        if self.done > 1:
            line += f" from {self.done} sources"
            if self._failed:
                line += f" ({self._failed} failed)"
        if self.statuses:
            line += f"; documents: {_count_each(self.statuses)}"
        return line


def describe_unused(host: str) -> str:
    """Return a message about a mapped host that no URL was on."""
    return f"not used: --map-host {host}, because no URL of this host was requested"


def describe_waiting(
    number: int,
    waits_for: str = "",
    reason: str | None = None,
    until: datetime | None = None,
) -> str:
    """Return a message about URLs that are missing, and not unlisted yet.

    Args:
        number: how many there are.
        waits_for: document that they wait for; "" for the search of the site.
        reason: why it was not read, "" if that is not known; `None` if it was read.
        until: when a walk can prove that they are unlisted, at the earliest; `None` if that is not
            known.
    """
    urls = inflect(number, "URLs")
    if reason is not None:
        why = f"{waits_for} may list them, and was not read"
        if reason:
            why += f" ({reason})"
        why += (
            ": run on seven different days, or remove it from robots.txt or its index"
        )
    elif waits_for:
        why = f"a later walk must read {waits_for} again"
    else:
        why = "a later walk must confirm it"
    if reason is None and until is not None:
        why += f", after {until:%Y-%m-%d %H:%M} UTC at the earliest"
    return f"not unlisted yet: {number} {urls}, because {why}"


def _count_each(counts: Counter[Any]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def _has_unwanted(report: Report) -> bool:
    """Return whether URLs or documents are known, or were excluded by a filter."""
    if any(document.listed or is_known(document) for document in report.documents):
        return True
    return any(report.left_out[reason] for reason in FILTERED)


def take_report(site: SiteWalk) -> Report:
    """Return the summary of a source that has ended."""
    if site.walk is None:
        report = Report(0)
    else:
        report = site.walk.report
    if site.file is not None:  # its URL is not known, so its scope is not known either
        report.issues = [
            issue for issue in report.issues if issue.code != IssueCode.OUT_OF_SCOPE
        ]
        del report.counts[IssueCode.OUT_OF_SCOPE]
        for issue in report.issues:
            if issue.sitemap == site.file.url:
                issue.sitemap = ""
        if site.fault:
            report.documents = []
        for document in report.documents:
            document.url = site.name
        report.left_out.clear()
    return report
