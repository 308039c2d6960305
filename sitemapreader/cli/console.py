"""Standard error: Issues, the progress, the summary, and the exit code of a run.

Memory grows only with the names of failed sources, up to `_MAX_SOURCES`.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

import attrs

from sitemapreader.cli.output import get_output_path
from sitemapreader.cli.parser import (
    ALL_READ,
    MAX_MESSAGE,
    NO_URL,
    NOTHING_FETCHED,
    PARTIAL,
    USAGE,
    name_options,
)
from sitemapreader.issues import Issue, IssueCode, Severity, excerpt
from sitemapreader.outcomes import ASKED_FOR, NOTHING_LOST, Role, Status, is_known
from sitemapreader.report import Report

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Collection, Iterator

    from tqdm import tqdm

    from sitemapreader.many.visitor import SiteWalk

_UNREACHED = frozenset({IssueCode.CONNECT, IssueCode.DNS, IssueCode.TIMEOUT})
_OF_SITES = (IssueCode.OUT_OF_SCOPE,)
"""Issues that say nothing about a file alone."""
_MAX_DOCUMENTS = 3
"""Documents named for each reason; the rest is only counted."""
_MAX_SOURCES = 1_000
"""Failed sources that are named; the rest is only counted."""


@attrs.define
class DocumentCount:
    """How many documents were lost for one reason, and the URLs of the first."""

    number: int = 0
    first: list[str] = attrs.field(factory=list)

    def add(self, url: str) -> None:
        """Count a document, and keep its URL if it is among the first."""
        self.number += 1
        if len(self.first) < _MAX_DOCUMENTS:
            self.first.append(url)

    def __str__(self) -> str:
        if not self.first:
            return "too many to name"
        more = self.number - len(self.first)
        return ", ".join(self.first) + (f" and {more} more" if more else "")


@attrs.define(eq=False)
class RunSummary:
    """The sums over all sources, the exit code and the last lines of the run."""

    what: str = "URLs"
    """Noun for what `printed` counts, in the plural."""
    is_for_many: bool = False
    printed: int = 0
    unknown: int = 0
    """Lines of a list that are not a source."""
    repeated: int = 0
    limit_reached: bool = False
    done: int = 0
    """Finished sources, failed ones included; the next two are about their documents."""
    statuses: Counter[Status] = attrs.field(factory=Counter)
    bytes_raw: int = 0
    running: Collection[SiteWalk] = ()
    _failed: list[tuple[str, str]] = attrs.field(factory=list)
    _failed_unnamed: int = 0
    _reasons: set[str] = attrs.field(factory=set)
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _left_out: Counter[str] = attrs.field(factory=Counter)
    _lost: dict[tuple[str, str], DocumentCount] = attrs.field(factory=dict)
    _removals_unknown: DocumentCount = attrs.field(factory=DocumentCount)
    _undated: int = 0
    _future: int = 0

    sampled_from: int = 0
    removed: int = 0
    is_cut: bool = False
    """Whether the time was over before all sources were begun."""

    def add(self, site: SiteWalk, report: Report) -> None:
        """Add a source that has ended, and what is reported of it."""
        documents, label = report.documents, site.name
        found = bool(report.entries or site.sitemaps) or any(map(is_known, documents))
        complete = report.complete and not site.children and not site.fault
        self.done += 1
        self._undated += report.undated
        self._future += report.future
        self.sampled_from += report.sampled_from or 0
        self.removed += report.removed or 0
        self._answered |= any(document.is_answered for document in documents)
        self._found |= found
        self._complete &= complete
        self.statuses += report.statuses
        self._left_out += Counter({r: n for r, n in report.left_out.items() if r in ASKED_FOR})
        for url in site.removals_unknown:
            self._removals_unknown.add(url)
        has_failed = not found and not complete
        if has_failed:
            self._add_failed(label, _find_reason(site, report))
        elif not complete and not any(each.is_lost for each in documents):
            self._count("read in part", _find_reason(site, report)).add(label)
        for document in documents:
            self.bytes_raw += document.bytes_raw
            # a failed source is named anyway
            is_source = document.role is not Role.SITEMAP or document.url == label
            if document.is_lost and not (has_failed and is_source):
                self._reasons.add(document.reason)
                how = "read in part" if document.status is Status.PARTIAL else "not read"
                self._count(how, document.reason).add(document.url)
        # beyond its limit a report counts skipped documents without listing them
        counted = Counter(each.reason for each in documents if each.is_left_out)
        for reason, number in (report.left_out - counted).items():
            if reason not in NOTHING_LOST:
                self._count("not read", reason).number += number

    def _count(self, how: str, reason: str) -> DocumentCount:
        return self._lost.setdefault((how, reason), DocumentCount())

    def _add_failed(self, label: str, reason: str) -> None:
        self._reasons.add(reason)
        if len(self._failed) < _MAX_SOURCES:
            self._failed.append((label, reason))
        else:
            self._failed_unnamed += 1

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents are finished, and how many are known so far."""
        walks = [site.walk for site in self.running if site.walk is not None]
        done = self.statuses.total() + sum(walk.report.statuses.total() for walk in walks)
        return done, done + sum(walk.pending for walk in walks)

    def count_bytes(self) -> int:
        """Return how many bytes were received for finished documents."""
        walks = (site.walk for site in self.running if site.walk is not None)
        return self.bytes_raw + sum(walk.report.bytes_raw for walk in walks)

    def find_exit_code(self) -> int:
        """Return the exit code by the rules of docs/exit-codes.md."""
        if self.unknown and not self.done:
            return USAGE
        if not self.limit_reached and not self._answered:
            return NOTHING_FETCHED
        if not self.limit_reached and not self._found:
            return NO_URL
        is_all = self._complete and not self.unknown and not self.is_cut
        return ALL_READ if is_all else PARTIAL

    def has_unreached(self) -> bool:
        """Return whether a host could not be reached, as happens behind a proxy."""
        return not self._reasons.isdisjoint(_UNREACHED)

    def format_lines(self) -> Iterator[str]:
        """Yield the last lines of the run: what was printed, what was not read, and why."""
        if self.unknown and not self.done:
            return
        failed = len(self._failed) + self._failed_unnamed
        line = (
            f"{self.printed:,} of {self.sampled_from:,}" if self.sampled_from else f"{self.printed}"
        )
        line += f" {self.what if self.printed != 1 else self.what.removesuffix('s')}"
        if self.done > 1:
            line += f" from {self.done} sources"
        if self.done > 1 and failed:
            line += f", {failed} of which failed"
        text = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        yield line + (f"; documents: {text}" if text else "")
        if self._undated or self._future:
            yield (
                f"kept by date: {self._undated} URLs without a date (--undated drop leaves them "
                f"out), {self._future} with one in the future"
            )
        if self._left_out:
            text = ", ".join(
                f"{count} {reason}" for reason, count in sorted(self._left_out.items())
            )
            yield f"left out as asked: {text}"
        for (how, reason), lost in sorted(self._lost.items()):
            yield f"{how}: {lost.number} {reason}: {lost}"
        if self._removals_unknown.number:
            yield describe_unknown_removals(self._removals_unknown)
        if self.is_cut:
            yield "not read: further sources of the list, because --max-time was over"
        if self.repeated:
            yield f"duplicate sources skipped: {self.repeated}"
        yield from self._format_failed()

    def _format_failed(self) -> Iterator[str]:
        if self.is_for_many or not self._lost:
            for label, reason in self._failed:
                yield f"failed: {label} ({reason})"
        if self.unknown:
            yield f"not read: {self.unknown} named above, which are not sites or cannot be opened"
        if self._failed_unnamed:
            yield f"failed: {self._failed_unnamed} more sources, each named above with its error"


def describe_unknown_removals(documents: DocumentCount) -> str:
    """Return a line about the documents whose removed URLs are unknown."""
    return (
        f"removed URLs are unknown for {documents.number} sitemaps; their URLs count as not "
        f"removed: {documents}"
    )


def _find_reason(site: SiteWalk, report: Report) -> str:
    """Return the reason why a source failed: its last error, if there is one."""
    errors = [issue.code for issue in report.issues if issue.code.severity is Severity.ERROR]
    lost = [document.reason for document in report.documents if document.is_lost]
    other = "sitemaps that it lists" if site.children else "cannot be read"
    return str((errors[-1:] or lost[:1] or [other])[0])


def take_report(site: SiteWalk) -> Report:
    """Return what is reported of a source that has ended."""
    report = Report(0) if site.walk is None else site.walk.report
    if site.file is not None:  # nobody knows its URL, and nothing around it was meant
        report.issues = [each for each in report.issues if each.code not in _OF_SITES]
        for code in _OF_SITES:
            del report.counts[code]
        for issue in report.issues:
            issue.sitemap = "" if issue.sitemap == site.file.url else issue.sitemap
        report.documents = [] if site.fault else report.documents
        for document in report.documents:
            document.url = site.name
        report.statuses.clear()
        report.left_out.clear()
    return report


# -- messages

_NAMED_BRIEFLY = frozenset(
    {IssueCode.ROBOTS_DISALLOWED, IssueCode.ROBOTS_TOO_COMPLEX, IssueCode.CROSS_HOST_CHILD}
)
"""Issues of which a document may have one for each of its sitemaps, or each probed path."""
_MAX_NAMED = 3


class Console:
    """Standard error: messages of one line each, escaped for a terminal.

    Attributes:
        shows_progress: whether progress is shown: standard error is a terminal, without `-q`.
        erase_progress: called before a message or a result is written to the terminal.
    """

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, has_file: bool = False
    ) -> None:
        is_open = sys.stderr is not None  # whoever started the program may have closed it
        self.shows_progress = is_open and not quiet and sys.stderr.isatty()
        self.erase_progress: Callable[[], None] | None = None
        self._is_quiet = quiet
        self._is_open = is_open
        self._least = Severity.INFO if verbose else Severity.WARNING
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._shows_results = is_terminal and not has_file

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Self:
        """Make the console with the verbosity that the options ask for."""
        has_file = get_output_path(arguments) is not None
        return cls(quiet=arguments.quiet, verbose=arguments.verbose, has_file=has_file)

    def clear_for_results(self) -> None:
        """Erase the progress if results are about to be written to the same terminal."""
        if self.erase_progress is not None and self._shows_results:
            self.erase_progress()

    def print_line(self, text: str) -> None:
        """Print a line, unless `--quiet` was given."""
        if not self._is_quiet:
            self.print_error(text)

    def print_error(self, text: str) -> None:
        """Print a line about the error that ends the program, even with `--quiet`."""
        if not self._is_open:
            return
        if self.erase_progress is not None:
            self.erase_progress()
        print(f"sitemapreader: {excerpt(text, MAX_MESSAGE)}", file=sys.stderr)  # noqa: T201 (its job)

    def print_issue(self, issue: Issue, source: str, more: int = 0) -> None:
        """Print an Issue (INFO only with `--verbose`); `more` are only counted."""
        if issue.severity < self._least:
            return
        place = issue.sitemap or source
        place += f":{issue.line}" if issue.line else ""
        said = describe_issue(issue, f" (and {more} more)" if more else "")
        self.print_line(f"{issue.severity.name.lower()} {issue.code}: {place}: {said}")

    def print_issues(self, report: Report, source: str) -> None:
        """Print the Issues of a source, then how many more there were of each code.

        Of a code that is no error one is printed for each document, with the number of the others;
        of those in `_NAMED_BRIEFLY` a few. An unreachable robots.txt is not reported beside the
        error that caused it.
        """
        issues = report.issues
        failed = {issue.sitemap for issue in issues if issue.severity is Severity.ERROR}
        groups: dict[tuple[IssueCode, str], list[Issue]] = {}
        for issue in issues:
            groups.setdefault((issue.code, issue.sitemap), []).append(issue)
        places = Counter(code for code, _ in groups)
        left = report.counts - Counter(issue.code for issue in issues)
        for (code, place), same in groups.items():
            if code is IssueCode.ROBOTS_UNREACHABLE and place in failed:
                continue
            named, more = same, 0
            if code in _NAMED_BRIEFLY:
                named = same[:_MAX_NAMED]
                left[code] += len(same) - len(named)
            elif code.severity is not Severity.ERROR:
                named = same[:1]
                more = len(same) - 1 + (left.pop(code, 0) if places[code] == 1 else 0)
            for issue in named:
                self.print_issue(issue, source, more)
        for code, number in left.items():
            if number and code.severity >= self._least:
                self.print_line(
                    f"{code.severity.name.lower()} {code}: {source}: and {number} more of these"
                )

    def print_summary(self, summary: RunSummary) -> None:
        """Print the summary of the run."""
        for line in summary.format_lines():
            self.print_line(line)


def describe_issue(issue: Issue, others: str = "") -> str:
    """Return the message of an Issue, with the URL and the text that it is about."""
    about = " ".join(part for part in (issue.url, issue.value) if part)
    meaning, advice = (name_options(text) for text in (issue.code.meaning, issue.code.advice))
    return f"{meaning}{f' [{about}]' if about else ''}{others}: {advice}"


# -- progress

SECONDS = 0.2
"""Seconds between two updates."""
LINE = "{n_fmt}/{total_fmt} documents |{bar:20}| {desc} [{elapsed}]"


@asynccontextmanager
async def show_progress(console: Console, summary: RunSummary) -> AsyncIterator[None]:
    """Show the progress within this context, if standard error is a terminal."""
    if not console.shows_progress:
        yield
        return
    bar = _make_bar()
    console.erase_progress = bar.clear
    task = asyncio.create_task(_refresh(bar, summary), name="sitemapreader.progress")
    try:
        yield
    finally:
        task.cancel()
        console.erase_progress = None
        bar.clear()  # `close` does not erase a bar that only `refresh` has drawn
        bar.close()


def _make_bar() -> tqdm[None]:
    from tqdm import tqdm  # noqa: PLC0415 (imported only if somebody watches)

    tqdm.set_lock(
        threading.RLock()
    )  # the default lock works across processes and costs a semaphore
    tqdm.monitor_interval = 0  # no monitor thread: `_refresh` updates the bar
    return tqdm(
        total=0,
        file=sys.stderr,
        bar_format=LINE,
        delay=SECONDS,  # the totals are not known yet
        leave=False,
        dynamic_ncols=True,
    )


async def _refresh(bar: tqdm[None], summary: RunSummary) -> None:
    while True:
        await asyncio.sleep(SECONDS)
        done, known = summary.count_documents()
        rate = summary.printed / max(bar.format_dict["elapsed"], SECONDS)
        size = bar.format_sizeof(summary.count_bytes(), "B", 1024)
        text = f"{summary.printed:,} {summary.what}, {rate:,.0f}/s, {size}"
        if summary.is_for_many:
            text = f"{summary.done:,} {'source' if summary.done == 1 else 'sources'} done, {text}"
        bar.n, bar.total = done, known
        bar.desc = text
        bar.refresh()
