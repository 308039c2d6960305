"""`sitemapreader why`: why a URL is in no sitemap of its site."""

from __future__ import annotations

import json
from sys import maxsize
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from sitemapreader._cli.config import find_output_format, get_output_path, make_keywords
from sitemapreader._cli.console import Console
from sitemapreader._cli.options import WHY_FORMATS
from sitemapreader._cli.parser import (
    ALL_READ,
    NO_URL,
    PARTIAL,
    UsageError,
    name_options,
    usage_errors,
)
from sitemapreader._cli.process import LineWriter, opened, run_process, write_to
from sitemapreader._cli.run import NO_SOURCE, read_lines
from sitemapreader._many.sources import (
    InvalidSiteError,
    UnreadableError,
    find_source,
    open_pieces,
)
from sitemapreader._types.urls import has_web_scheme, host_of
from sitemapreader.changes import State
from sitemapreader.output import make_columns, open_output
from sitemapreader.output.text import SEPARATORS
from sitemapreader.presence import Verdict, iterate_explanation, why

if TYPE_CHECKING:
    import argparse

    from sitemapreader.output.sink import Output
    from sitemapreader.presence import Explanation

_ARGUMENTS = (
    "since",
    "until",
    "undated",
    "include",
    "exclude",
    "language",
    "follow",
)
"""Keywords of a walk that `why` takes as well."""
_COLUMNS = make_columns(
    {
        "url": str,
        "verdict": str,
        "causes": str,
        "message": str,
        "sitemap": str,
        "record": int | None,
        "line": int | None,
        "other_url": str,
    },
    urls={"url", "sitemap", "other_url"},
)
"""Columns of a table."""


def run_why(arguments: argparse.Namespace) -> int:
    """Explain each URL and return the exit code: 0 listed, 1 not listed, 3 unknown."""
    keywords = _make_keywords(arguments)
    base = keywords.get("site", "")
    for url in arguments.urls:
        resolved = _resolve_path(base, url)
        if not (has_web_scheme(resolved) and host_of(resolved)):
            raise UsageError(
                f"{url!r} is not an http(s) URL: write https://example.org/page"
            )
    if not arguments.urls and not arguments.input_file:
        raise UsageError("no URL was given: name one, or a list of URLs with -i FILE")
    form = find_output_format(arguments, WHY_FORMATS)
    path = get_output_path(arguments)
    if form in SEPARATORS:
        output = open_output(path, form, columns=_COLUMNS)
    else:
        output = LineWriter(path, is_array=form == "json")

    async def work() -> int:
        urls = [*arguments.urls, *await _read_lists(arguments.input_file or [])]
        urls = [_resolve_path(base, url) for url in urls]
        explanations = await why(urls, **keywords)
        async with opened(output):
            await _write_explanations(output, explanations, form)
        return _choose_exit_code(explanations)

    return run_process(work, output.name, Console())


async def _write_explanations(
    output: Output, explanations: list[Explanation], form: str
) -> None:
    """Write the explanations in a format."""
    if not isinstance(output, LineWriter):
        rows = list(map(_make_row, explanations))
        await write_to(output, output.write_records, rows)
        return
    told: set[str] = set()
    for explanation in explanations:
        if form == "text":
            text = _format_text(explanation, told)
        else:
            text = _format_json(explanation)
        await write_to(output, output.write_text, text)


def _make_keywords(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `why`; raise UsageError for a wrong combination."""
    walk_keywords = make_keywords(arguments)
    keywords = {
        name: walk_keywords[name] for name in _ARGUMENTS if name in walk_keywords
    }
    keywords["options"] = walk_keywords["options"]
    visits = arguments.max_visits
    if visits == "all":
        keywords["max_visits"] = maxsize
    else:
        keywords["max_visits"] = visits
    if arguments.state_file:
        keywords["state"] = State(arguments.state_file)
    if arguments.inside:
        try:
            task = find_source(arguments.inside, trusted=True)
        except InvalidSiteError as error:
            raise UsageError(f"--in: {str(error)!r} {NO_SOURCE}") from None
        keywords["site"] = task.url
        if task.fetcher is not None:  # a folder or a file, which answers for no page
            keywords |= {"fetcher": task.fetcher, "max_visits": 0}
            del keywords["options"]
    return keywords


async def _read_lists(paths: list[str]) -> list[str]:
    """Read the URLs of lists; raise UsageError for one that cannot be read."""
    urls = []
    for path in paths:
        with usage_errors(UnreadableError):
            async with open_pieces(path) as pieces:
                urls += [line async for line in read_lines(pieces)]
    return urls


def _resolve_path(base: str, url: str) -> str:
    """Return a URL as it is, or a path as a URL of the site of `--in`."""
    return urljoin(base, url) if url.startswith("/") else url


def _make_row(explanation: Explanation) -> tuple[Any, ...]:
    """Return the cells of a table: all causes, and the first places that they name."""
    causes = explanation.causes
    place = next((each for each in causes if each.sitemap), None)
    return (
        explanation.url,
        str(explanation.verdict),
        " ".join(dict.fromkeys(each.code for each in causes)),
        "; ".join(name_options(each.message) for each in causes),
        place.sitemap if place else "",
        place.record if place else None,
        place.line if place else None,
        next((each.url for each in causes if each.url), ""),
    )


def _format_text(explanation: Explanation, told: set[str]) -> str:
    return "".join(
        f"{name_options(line)}\n" for line in iterate_explanation(explanation, told)
    )


def _format_json(explanation: Explanation) -> str:
    return f"{json.dumps(explanation.to_dict())}\n"


def _choose_exit_code(explanations: list[Explanation]) -> int:
    """Return the code of the least certain answer."""
    verdicts = {explanation.verdict for explanation in explanations}
    if Verdict.UNKNOWN in verdicts:
        return PARTIAL
    if Verdict.NOT_LISTED in verdicts:
        return NO_URL
    return ALL_READ
