"""`sitemapreader submit`: what has changed on a site, for search engines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console, RunSummary
from sitemapreader.cli.parser import NO_URL, NOTHING_FETCHED, UsageError
from sitemapreader.cli.process import LineWriter, opened, run_process
from sitemapreader.cli.run import find_sources
from sitemapreader.many.visitor import SiteWalk
from sitemapreader.output.text import escape_urls
from sitemapreader.recipes.indexnow import ENDPOINT, WORDS, IndexNowError, submit_changes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.recipes.indexnow import Submission


def run_submit(arguments: argparse.Namespace) -> int:
    """Submit the changes and return the exit code."""
    config = RunConfig.from_arguments(arguments)
    console = Console(quiet=arguments.quiet, verbose=arguments.verbose)
    (task,) = find_sources(arguments)
    if task.fetcher is not None:
        raise UsageError(f"{task.name} is on this machine: name the site, as others see it")
    try:
        key = Path(arguments.key_file).read_text("utf-8-sig", "replace").strip()
    except OSError as error:
        said = f"--key-file: {arguments.key_file} cannot be read: {error.strerror}"
        raise UsageError(said) from None
    lines, summary = LineWriter(None), RunSummary()

    async def work() -> int:
        async with opened(lines):
            try:
                done = await submit_changes(
                    task.url,
                    state=arguments.state_file,
                    key=key,
                    endpoint=arguments.endpoint or ENDPOINT,
                    submit_all=arguments.submit_all,
                    dry_run=(lambda urls: lines.write_lines(escape_urls(urls)))
                    if arguments.dry_run
                    else None,
                    options=config.options,
                    **config.walk,
                )
            except IndexNowError as error:
                console.print_error(str(error))
                return NO_URL if error.status else NOTHING_FETCHED
            except ValueError as error:
                raise UsageError(f"--key-file: {error}") from None
        summary.printed = done.report.entries
        summary.add(SiteWalk(task.url), done.report)
        console.print_issues(done.report, task.url)
        console.print_summary(summary)
        for line in _describe(done, "would be " if arguments.dry_run else ""):
            console.print_line(line)
        return summary.find_exit_code()

    return run_process(work, lines.name, console)


def _describe(done: Submission, would_be: str) -> Iterator[str]:
    count = done.counts
    if count["recorded"]:
        yield (
            f"first run: {count['recorded']} URLs {would_be or 'are '}recorded, and none is "
            "submitted, as IndexNow is for changes; to submit all, remove the state and add --all"
        )
        return
    new = count["new"] + count["changed"]
    yield f"{would_be}submitted: {new} new or changed URLs, {count['gone']} gone ones"
    for status, number in sorted(done.requests.items()):
        yield f"{number} requests were answered with {status}: {WORDS[status]}"
    if count["unusable"]:
        yield f"not submitted: {count['unusable']} that are no URLs of the web"
