"""`sitemapreader submit`: sends the changes of a site to search engines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader._bytes.lines import iterate_lines
from sitemapreader._cli.parser import NO_URL, NOTHING_FETCHED, UsageError, usage_errors
from sitemapreader._cli.process import LineWriter, opened, run_process
from sitemapreader._cli.run import SourceRun, find_rooted
from sitemapreader._types.counts import count_units, inflect
from sitemapreader.output.text import escape_urls
from sitemapreader.recipes.indexnow import (
    ENDPOINT,
    WORDS,
    IndexNowError,
    submit_changes,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.recipes.indexnow import Submission

_LINE_CHARS = 1_024


def run_submit(arguments: argparse.Namespace) -> int:
    """Submit the changes and return the exit code."""
    run = SourceRun(arguments, find=find_rooted)
    lines = LineWriter(None)
    (task,) = run.named
    del run.keywords["limits"]  # the fetcher's, of which no option here is one
    if task.fetcher is not None:
        raise UsageError(
            f"{task.name} is on this machine: name the public URL of the site"
        )
    try:
        pieces = [Path(arguments.key_file).read_bytes()]
    except OSError as error:
        said = f"--key-file: {arguments.key_file} cannot be read: {error.strerror}"
        raise UsageError(said) from None
    key = "\n".join(iterate_lines(pieces, _LINE_CHARS)).strip()

    def show(urls: list[str]) -> None:
        lines.write_lines(escape_urls(urls))

    async def work() -> int:
        async with opened(lines):
            try:
                with usage_errors(ValueError, begin="--key-file: "):
                    done = await submit_changes(
                        task.url,
                        state=arguments.state_file,
                        key=key,
                        endpoint=arguments.endpoint or ENDPOINT,
                        submit_all=arguments.submit_all,
                        dry_run=show if arguments.dry_run else None,
                        **run.keywords,
                    )
            except IndexNowError as error:
                done = error.submission
        run.summary.printed = done.report.entries
        code = run.finish_alone(done.report)
        for line in _describe_submission(
            done, "would be " if arguments.dry_run else ""
        ):
            run.console.print_line(line)
        for refusal in done.errors.values():
            run.console.print_error(str(refusal))
            if refusal.status:
                code = NO_URL
            else:
                code = NOTHING_FETCHED
        return code

    return run_process(work, lines.name, run.console)


def _describe_submission(done: Submission, would_be: str) -> Iterator[str]:
    count = done.counts
    if count["recorded"]:
        recorded = count_units(count["recorded"], "URLs")
        yield (
            f"first run: {recorded} {would_be}recorded. None is submitted, because "
            "IndexNow is for changes. To submit all, remove the state and add --all"
        )
        return
    new = count["new"] + count["changed"]
    yield f"{would_be}submitted: {new} new or changed {inflect(new, 'URLs')}, {count['gone']} gone"
    for status in sorted(done.requests.keys() & {200, 202}):  # the others are errors
        number = done.requests[status]
        yield f"{number} {inflect(number, 'requests')} with status {status}: {WORDS[status]}"
    if count["foreign"]:
        yield (
            f"skipped {count['foreign']} {inflect(count['foreign'], 'URLs')} of other sites. "
            "If they are yours, submit each site, or add --hosts any"
        )
    if count["unusable"]:
        unusable = count_units(count["unusable"], "entries")
        yield f"skipped {unusable} without an http(s) URL"
