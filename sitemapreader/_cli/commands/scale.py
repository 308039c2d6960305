"""`sitemapreader scale`: many hosts into Parquet files, on many cores or machines."""

from __future__ import annotations

import json
import signal
import sys
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sitemapreader import distributed
from sitemapreader._bytes.lines import iterate_lines
from sitemapreader._cli.config import make_keywords
from sitemapreader._cli.console import Console
from sitemapreader._cli.parser import (
    ALL_READ,
    CLOSED_PIPE,
    NO_URL,
    NOTHING_FETCHED,
    PARTIAL,
    SIGNALLED,
    USAGE,
    UsageError,
    name_options,
    usage_errors,
)
from sitemapreader._cli.process import SIGNALS, LineWriter
from sitemapreader._event_loop import repeat_in_thread
from sitemapreader._many.sources import STANDARD_INPUT
from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import IssueCode, excerpt
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader.distributed import cluster, planning

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import FrameType

    from sitemapreader.distributed import ScaleRun, Totals

STATUS_WORD = "status"
"""Word in place of the list of hosts: show a run instead of running."""
_READ_WORDS = ("complete", "unchanged", "partial")
_NOT_READ = ("partial", "none", "failed", "error")
_PROGRESS_SECONDS = 30.0
"""Between two lines about a run that goes on."""
_MAX_SAID = 5
"""Reasons, and partitions that failed, that the summary names."""
_HAVE_OPTION = (IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT, IssueCode.TIMEOUT)
"""Issues whose advice names an option of this command."""


class _StoppedError(BaseException):
    """A signal arrived."""


def run_scale(arguments: argparse.Namespace) -> int:
    """Read the hosts, or show a run, and return the exit code."""
    console = Console(quiet=arguments.quiet, verbose=arguments.verbose)
    try:
        if arguments.list == STATUS_WORD:
            return _show_status(arguments)
        if arguments.format == "json":
            raise UsageError("--format json requires the word status")
        return _list_hosts(arguments, console)
    except distributed.OutputError as error:
        console.print_error(str(error))
        return USAGE
    except _StoppedError as stopped:
        number = stopped.args[0]
        console.print_line(
            f"stopped by {signal.Signals(number).name}: run the same command again to read the rest"
        )
        return SIGNALLED + int(number)
    except BrokenPipeError:
        return CLOSED_PIPE
    except OSError as error:
        console.print_error(f"cannot use {arguments.output}: {error.strerror or error}")
        return NO_URL


def _list_hosts(arguments: argparse.Namespace, console: Console) -> int:
    """Read the hosts and return the exit code."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise _StoppedError(number)

    for number in SIGNALS:
        signal.signal(number, stop)
    workers = 1 if arguments.shard else arguments.workers or 0
    try:
        opening = cluster.open_client(arguments.scheduler, workers)
    except (OSError, ValueError) as error:
        said = f"there is no scheduler at {arguments.scheduler}: {error}"
        raise UsageError(said) from None
    run = _begin(arguments, console)
    known = deque([distributed.status(arguments.output)], maxlen=1)
    with (
        repeat_in_thread(
            lambda: console.print_line(describe_progress(known[-1])), _PROGRESS_SECONDS
        ),
        opening as client,
    ):
        if client.dashboard_link:
            console.print_line(f"dashboard: {client.dashboard_link}")
        shard = arguments.shard or (0, 1)
        totals = cluster.read_run(client, arguments.output, run, known.append, shard)
    for line in describe_totals(totals):
        console.print_line(line)
    return _exit_code_of_run(totals)


def _begin(arguments: argparse.Namespace, console: Console) -> ScaleRun:
    hosts = arguments.list
    output = arguments.output
    if arguments.parallel is None:
        given: dict[str, Any] = {}
    else:
        given = {"hosts_at_once": arguments.parallel}
    with usage_errors(ValueError):
        if arguments.confirm_after is not None:
            given["confirm_seconds"] = arguments.confirm_after.total_seconds()
        given |= {"revisit": arguments.revisit_all, "gone": arguments.gone_pages}
        fetch = make_keywords(arguments)["options"]
        options = distributed.ScaleOptions(fetch=fetch, **given)
    if hosts == STANDARD_INPUT:
        if sys.stdin is None:
            raise UsageError("standard input is closed: name a file with the list")
        hosts = iterate_lines(sys.stdin.buffer, MAX_URL_CHARS + 1)
    run = distributed.begin_run(
        output,
        hosts,
        options,
        full=arguments.full,
        retry=arguments.retry,
        only_failed=arguments.only_failed,
    )
    missing = len(distributed.find_missing(output, run))
    if missing < run.partitions:
        console.print_line(
            f"continuing {run.folder} with its options: {missing} of "
            f"{count_units(run.partitions, 'partitions')} to read"
        )
    elif dropped := _name_dropped_options(output, run):
        console.print_line(
            f"{run.previous} had {', '.join(dropped)}, and this run has not: options are not "
            "remembered, so repeat what it needs"
        )
    return run


def _name_dropped_options(output: str, run: ScaleRun) -> list[str]:
    """Return the options that only the run before had, as words of this command."""
    words = []
    for name, value in planning.find_dropped_options(output, run).items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words += [name_options(f"`{name}={each}`") for each in values]
    # one option may set several limits
    return [word for word in dict.fromkeys(words) if word.startswith("--")]


def _show_status(arguments: argparse.Namespace) -> int:
    """Print the sums of the last run, or with `--failed` its hosts that failed."""
    totals = distributed.status(arguments.output)
    is_json = arguments.format == "json"
    with LineWriter(None, is_array=is_json and arguments.failed) as lines:
        if arguments.failed:
            for row in distributed.iterate_statuses(arguments.output):
                if row["status"] in _NOT_READ:
                    text = (
                        f"{json.dumps(row, default=datetime.isoformat)}\n"
                        if is_json
                        else _describe_host(row)
                    )
                    lines.write_text(text)
        elif is_json:
            lines.write_text(f"{json.dumps(totals.to_dict(), indent=1)}\n")
        else:
            shown = [*describe_totals(totals)]
            if rate := totals.hosts_per_second:
                shown.append(f"{rate:,.3g} hosts a second since the run began")
            lines.write_lines(shown)
    return _exit_code_of_run(totals)


def _describe_host(row: dict[str, Any]) -> str:
    if row["not_before"]:
        due = f", due again {row['not_before']:%Y-%m-%d}"
    else:
        due = ""
    return f"{excerpt(row['site'])}\t{row['status']}\t{row['reason']}{due}\n"


def describe_progress(totals: Totals) -> str:
    """Return a line about a run that goes on."""
    rate = totals.hosts_per_second
    failed = totals.statuses["failed"] + totals.statuses["error"]
    return (
        f"{totals.committed}/{count_units(totals.partitions, 'partitions')}, "
        f"{count_units(totals.hosts, 'hosts')} "
        f"({failed:,} failed), {count_units(totals.urls, 'URLs')}"
        f"{f', {rate:,.3g} hosts/s' if rate else ''}"
    )


def _count_hosts(totals: Totals) -> str:
    """Return the number of hosts, and of how many if there are more."""
    if totals.listed > totals.hosts:
        listed = count_units(totals.listed, "hosts")
        return f"{totals.hosts:,} of {listed}"
    return count_units(totals.hosts, "hosts")


def describe_totals(totals: Totals) -> Iterator[str]:
    """Yield the lines that sum up a run."""
    hosts = ", ".join(
        f"{number:,} {status}" for status, number in sorted(totals.statuses.items())
    )
    if totals.finished:
        state = "finished"
    else:
        state = "not finished: run the same command again"
    others = {"unlisted": totals.unlisted, "gone": totals.gone}
    more = "".join(
        f" and {number:,} {what}" for what, number in others.items() if number
    )
    yield (
        f"{totals.run}: {count_units(totals.urls, 'URLs')}{more} of "
        f"{_count_hosts(totals)} "
        f"({hosts or 'no partition is complete yet'}); "
        f"{totals.committed} of {count_units(totals.partitions, 'partitions')}, {state}"
    )
    reasons = sorted(totals.reasons.items(), key=lambda each: (-each[1], each[0]))
    for reason, number in reasons[:_MAX_SAID]:
        yield f"not read: {number:,} {reason}{_explain_run(reason)}"
    if len(reasons) > _MAX_SAID:
        yield "not read for other reasons: `scale status --failed` lists the hosts"
    if totals.skipped:
        yield (
            f"skipped {count_units(totals.skipped, 'hosts')}, because they were "
            "not due: --retry reads these, too"
        )
    if totals.put_off:
        yield (
            f"not due at the next run: {count_units(totals.put_off, 'hosts')} that "
            "failed or have no sitemap: `scale status --failed` names the dates"
        )
    for partition, reason in sorted(totals.failures.items())[:_MAX_SAID]:
        yield f"partition {partition} could not be committed: {reason}"
    if len(totals.failures) > _MAX_SAID:
        unnamed = len(totals.failures) - _MAX_SAID
        yield f"and {count_units(unnamed, 'more partitions')}"


def _explain_run(reason: str) -> str:
    """Return the meaning of an Issue, and the option of this command that helps."""
    code = next((code for code in IssueCode if code == reason), None)
    if code is None:
        return ""
    return f": {code.meaning}" + (
        f": {name_options(code.advice)}" if code in _HAVE_OPTION else ""
    )


def _exit_code_of_run(totals: Totals) -> int:
    """Return the exit code by the rules of docs/exit-codes.md."""
    if totals.failures:
        return PARTIAL
    found = sum(totals.statuses[status] for status in _READ_WORDS)
    if not found and totals.finished:
        if totals.statuses["none"]:
            return NO_URL
        return NOTHING_FETCHED
    lost = any(totals.statuses[status] for status in _NOT_READ)
    return PARTIAL if lost else ALL_READ
