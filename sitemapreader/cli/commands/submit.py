"""`sitemapreader submit`: what has changed on a site, for search engines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.output import LineWriter, opened, write_to
from sitemapreader.cli.parser import NO_URL, NOTHING_FETCHED, UsageError
from sitemapreader.cli.run import find_sources
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.summary import RunSummary
from sitemapreader.many.visitor import SiteWalk
from sitemapreader.output.text import escape_urls
from sitemapreader.recipes.indexnow import (
    ENDPOINT,
    IndexNowError,
    KeyFileError,
    read_key,
    submit_changes,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.recipes.indexnow import SubmissionResult

_ANSWERS = {
    200: "accepted",
    202: "accepted; the service still checks the key, and drops the URLs if it does not find it",
}


def run_submit(arguments: argparse.Namespace) -> int:
    """Submit the changes and return the exit code."""
    config = RunConfig.from_arguments(arguments)
    console = Console(quiet=arguments.quiet, verbose=arguments.verbose)
    (task,) = find_sources(arguments)
    if task.fetcher is not None:
        raise UsageError(f"{task.name} is on this machine: name the site, as others see it")
    try:
        key = read_key(arguments.key_file)
    except ValueError as error:
        raise UsageError(f"--key-file: {error}") from None
    lines, summary = LineWriter(None), RunSummary()

    async def preview(urls: list[str]) -> None:
        text = "".join(f"{url}\n" for url in escape_urls(urls))
        await write_to(lines, partial(lines.write_text, text))

    async def work() -> int:
        async with opened(lines):
            try:
                result = await submit_changes(
                    task.url,
                    state=arguments.state_file,
                    key=key,
                    endpoint=arguments.endpoint or ENDPOINT,
                    submit_all=arguments.submit_all,
                    preview=preview if arguments.dry_run else None,
                    options=config.options,
                    **config.walk,
                )
            except IndexNowError as error:
                console.print_error(str(error))
                has_answer = error.status or isinstance(error, KeyFileError)
                return NO_URL if has_answer else NOTHING_FETCHED
        summary.printed = result.report.entries
        summary.add(SiteWalk(task.url), result.report)
        console.print_issues(result.report, task.url)
        console.print_summary(summary)
        for line in _describe(result, is_preview=arguments.dry_run):
            console.print_line(line)
        if arguments.submit_all and result.report.complete and not result.submitted:
            files = f"{arguments.state_file} and {arguments.state_file}.submitted"
            console.print_line(f"--all is for a first run: {_BEGIN_ANEW} {files}")
        return summary.find_exit_code()

    return run_process(work, lines.name, console)


_BEGIN_ANEW = "to submit all URLs, remove"


def _describe(result: SubmissionResult, *, is_preview: bool) -> Iterator[str]:
    if result.recorded:
        are = "would be" if is_preview else "are"
        yield (
            f"first run: {result.recorded} URLs {are} recorded, and none is submitted, because "
            f"IndexNow is for changes; the next run submits these ({_BEGIN_ANEW} the state and "
            "add --all)"
        )
        return
    said = "would be submitted" if is_preview else "submitted"
    yield f"{said}: {result.submitted} new or changed URLs, {result.removed} removed ones"
    for status, number in sorted(result.requests.items()):
        yield f"{number} requests were answered with {status}: {_ANSWERS.get(status, 'refused')}"
    if result.unusable:
        yield f"not submitted: {result.unusable} that are no URLs of the web"
