"""`sitemapreader scale`: many hosts into Parquet files, on many cores or machines."""

from __future__ import annotations

import io
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader import distributed
from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.output import LineWriter
from sitemapreader.cli.parser import (
    ALL_READ,
    NO_URL,
    NOTHING_FETCHED,
    PARTIAL,
    SIGNALLED,
    USAGE,
    UsageError,
    name_options,
)
from sitemapreader.cli.runtime import SIGNALS
from sitemapreader.event_loop import repeat_in_thread
from sitemapreader.issues import IssueCode, excerpt
from sitemapreader.many.sources import STANDARD_INPUT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import FrameType

    from sitemapreader.distributed import Commit, ScaleRun, Totals

STATUS = "status"
"""Word in place of the list of hosts: show a run instead of running."""
_READ = ("complete", "unchanged", "partial")
_NOT_READ = ("partial", "none", "failed", "error")
_MAX_FAILURES = 5
_MAX_REASONS = 3
_HAVE_OPTION = (IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT, IssueCode.TIMEOUT)
"""Issues whose advice names an option of this command."""


class _StoppedError(BaseException):
    """A signal arrived."""


def run_scale(arguments: argparse.Namespace) -> int:
    """Read the hosts, or show a run, and return the exit code."""
    console = Console(quiet=arguments.quiet, verbose=arguments.verbose)
    try:
        if arguments.list == STATUS:
            return _show_status(arguments)
        return _read_hosts(arguments, console)
    except distributed.OutputError as error:
        console.print_error(str(error))
        return USAGE
    except OSError as error:
        if error.filename is not None and error.filename == str(
            Path(arguments.list or "").resolve()
        ):
            console.print_error(f"cannot read {arguments.list}: {error.strerror}")
            return USAGE
        console.print_error(f"cannot read the list, or write {arguments.output}: {error}")
        return NO_URL


def _read_hosts(arguments: argparse.Namespace, console: Console) -> int:
    """Read the hosts and return the exit code."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise _StoppedError(number)

    for number in SIGNALS:
        signal.signal(number, stop)
    try:
        run = _begin(arguments, console)
        read = _read_shard if arguments.shard else _read_on_cluster
        totals = read(arguments, console, run)
    except _StoppedError as stopped:
        number = stopped.args[0]
        console.print_line(
            f"stopped by {signal.Signals(number).name}: "
            "run the same command again, which reads what is missing"
        )
        return SIGNALLED + int(number)
    for line in describe_totals(totals):
        console.print_line(line)
    return _find_exit_code(totals)


def _begin(arguments: argparse.Namespace, console: Console) -> ScaleRun:
    hosts = arguments.list
    given = {} if arguments.parallel is None else {"hosts_at_once": arguments.parallel}
    try:
        fetch = RunConfig.from_arguments(arguments).options
        options = distributed.ScaleOptions(fetch=fetch, revisit=arguments.revisit_all, **given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if hosts == STANDARD_INPUT:
        hosts = io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "replace")
    listed = None if hosts is None else distributed.plan(hosts, arguments.output)
    run = distributed.begin_run(
        arguments.output, listed, options, full=arguments.full, retry=arguments.retry
    )
    missing = len(distributed.find_missing(arguments.output, run))
    if missing < len(run.partitions):
        console.print_line(
            f"continuing {run.folder} with its options: {missing} of {len(run.partitions)} "
            "partitions are missing"
        )
    return run


def _read_on_cluster(arguments: argparse.Namespace, console: Console, run: ScaleRun) -> Totals:
    from sitemapreader.distributed.cluster import (  # noqa: PLC0415 (Dask)
        open_client,
        read_run,
    )

    progress = RunProgress(console, distributed.status(arguments.output))
    with open_client(arguments.scheduler, arguments.workers) as client, progress.remind():
        if client.dashboard_link:
            console.print_line(f"dashboard: {client.dashboard_link}")
        return read_run(client, arguments.output, run, progress.show)


def _read_shard(arguments: argparse.Namespace, console: Console, run: ScaleRun) -> Totals:
    number, shards = arguments.shard
    output = arguments.output
    missing = distributed.find_missing(output, run)
    mine = [partition for partition in missing if partition % shards == number]
    totals = attrs.evolve(run.begin_totals(), partitions=len(mine))
    progress = RunProgress(console, totals)

    def show(commit: Commit) -> None:
        nonlocal totals
        totals = totals.add(commit)
        progress.show(totals)

    with progress.remind():
        distributed.run_partitions(output, run.folder, mine, on_commit=show)
    if distributed.find_missing(output, run):
        return distributed.status(output)
    return distributed.finish(output, run)


def _show_status(arguments: argparse.Namespace) -> int:
    """Print the sums of the last run, or with `--failed` its hosts that failed."""
    totals = distributed.status(arguments.output)
    with LineWriter(None) as lines:
        if arguments.failed:
            for row in distributed.iterate_statuses(arguments.output):
                if row["status"] in _NOT_READ:
                    lines.write_text(_describe_host(row))
        else:
            lines.write_text("".join(f"{line}\n" for line in describe_totals(totals)))
    return _find_exit_code(totals)


def _describe_host(row: dict[str, Any]) -> str:
    due = f", due again {row['not_before']:%Y-%m-%d}" if row["not_before"] else ""
    return f"{excerpt(row['site'])}\t{row['status']}\t{row['reason']}{due}\n"


class RunProgress:
    """Lines about a run: one every few seconds, one a minute if no partition ends."""

    SECONDS = 5.0
    SILENT_SECONDS = 60.0

    def __init__(self, console: Console, first: Totals) -> None:
        self._console = console
        self._first = first
        self._totals = first
        self._began = self._shown = self._changed = time.monotonic()

    def show(self, totals: Totals) -> None:
        """Print the sums so far, if it is time for that and something is missing."""
        self._totals, self._changed = totals, time.monotonic()
        self._show_after(self.SECONDS)

    def remind(self) -> AbstractContextManager[None]:
        """Say what is waited for whenever nothing was printed for long."""
        seconds = self.SILENT_SECONDS
        return repeat_in_thread(partial(self._show_after, seconds), seconds / 10)

    def _show_after(self, silence: float) -> None:
        totals, now = self._totals, time.monotonic()
        if now - self._shown < silence or totals.committed == totals.partitions:
            return
        self._shown = now
        seconds = now - self._began
        done = totals.committed - self._first.committed
        rate = (totals.urls - self._first.urls) / seconds
        left = ""
        if done:
            minutes = (totals.partitions - totals.committed) * seconds / done / 60
            left = f", about {minutes:.0f} min left"
        if now - self._changed >= self.SILENT_SECONDS:
            left = f"; none ended for {now - self._changed:.0f} s, waiting for slow hosts"
        failed = sum(totals.statuses.get(status, 0) for status in ("failed", "error"))
        self._console.print_line(
            f"{totals.committed}/{totals.partitions} partitions, {totals.hosts:,} hosts "
            f"({failed:,} failed), {totals.urls:,} URLs, {rate:,.0f}/s{left}"
        )


def describe_totals(totals: Totals) -> Iterator[str]:
    """Yield the lines that sum up a run."""
    hosts = ", ".join(f"{number:,} {status}" for status, number in sorted(totals.statuses.items()))
    unlisted = f" and {totals.unlisted:,} unlisted ones" if totals.unlisted else ""
    state = "finished" if totals.finished else "not finished: run the same again"
    yield (
        f"{totals.run}: {totals.urls:,} URLs{unlisted} of {totals.hosts:,} hosts "
        f"({hosts or 'none yet'}); {totals.committed} of {totals.partitions} partitions, {state}"
    )
    for reason, number in _rank(totals.reasons)[:_MAX_REASONS]:
        yield f"not read: {number:,} {reason}{_explain(reason)}"
    if len(totals.reasons) > _MAX_REASONS:
        others = ", ".join(f"{n:,} {reason}" for reason, n in _rank(totals.reasons)[_MAX_REASONS:])
        yield f"not read: {others}; `scale status --failed` names the hosts"
    if totals.put_off:
        yield (
            f"{totals.put_off:,} hosts are not due yet, as they failed or have no sitemap: "
            "--retry reads them now"
        )
    for partition, reason in sorted(totals.failures.items())[:_MAX_FAILURES]:
        yield f"partition {partition} could not be committed: {reason}"
    if len(totals.failures) > _MAX_FAILURES:
        yield f"and {len(totals.failures) - _MAX_FAILURES} more partitions"


def _rank(reasons: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda each: (-each[1], each[0]))


def _explain(reason: str) -> str:
    """Return what an Issue means, and which option of this command helps."""
    code = next((code for code in IssueCode if code == reason), None)
    if code is None:
        return ""
    return f": {code.meaning}" + (f": {name_options(code.advice)}" if code in _HAVE_OPTION else "")


def _find_exit_code(totals: Totals) -> int:
    """Return the exit code by the rules of docs/exit-codes.md."""
    if totals.failures:
        return PARTIAL
    found = sum(totals.statuses.get(status, 0) for status in _READ)
    if not found and totals.finished:
        return NO_URL if totals.statuses.get("none") else NOTHING_FETCHED
    lost = any(totals.statuses.get(status) for status in _NOT_READ)
    return PARTIAL if lost else ALL_READ
