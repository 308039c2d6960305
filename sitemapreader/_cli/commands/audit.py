"""`sitemapreader audit`: the sitemaps of a site, judged; `compare`: two audits."""

from __future__ import annotations

import asyncio
from argparse import ArgumentTypeError
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._cli.config import STANDARD_OUTPUT, make_keywords
from sitemapreader._cli.console import (
    Console,
    RunSummary,
    describe_unused,
    show_progress,
)
from sitemapreader._cli.options import COMPARE_FORMATS
from sitemapreader._cli.parser import (
    ALL_READ,
    FOUND,
    NO_URL,
    NOTHING_FETCHED,
    UsageError,
    name_options,
    usage_errors,
)
from sitemapreader._cli.process import (
    LineWriter,
    opened,
    print_text,
    run_process,
    write_to,
)
from sitemapreader._cli.run import NO_SOURCE, refuse_base_url
from sitemapreader._cli.settings import check_names
from sitemapreader._many.sources import (
    STANDARD_INPUT,
    InvalidSiteError,
    SiteTask,
    UnreadableError,
    check_task,
    open_pieces,
)
from sitemapreader._types.counts import count_units
from sitemapreader._types.errors import name_extra
from sitemapreader._types.issues import Severity
from sitemapreader._types.urls import path_of
from sitemapreader.audit.compare import (
    compare_audits,
    compare_losses,
    format_differences,
)
from sitemapreader.audit.models import (
    AuditInputError,
    AuditOptions,
    RuleSettings,
    is_url_list,
)
from sitemapreader.audit.report import (
    find_audit_format,
    find_hits_suffix,
    is_grave,
    is_page_file,
    is_workbook,
)
from sitemapreader.audit.report.outcome import ExitCode, Outcome, find_outcome
from sitemapreader.audit.rules import (
    explain_rule,
    format_rules,
    list_rules,
    match_codes,
)
from sitemapreader.output import write_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Awaitable, Callable

    from sitemapreader._types.outcomes import Document
    from sitemapreader.audit import Audit
    from sitemapreader.audit.values import Rule
    from sitemapreader.pages import PageVisit


_FILE_OPTIONS = ("rules", "baseline", "urls")
_SEVERITIES = {each.name.lower(): each for each in Severity}


def _check_tables(
    tables: dict[str, dict[str, Any]],
) -> tuple[dict[str, Severity], dict[str, Any]]:
    """Return the severities and the figures of the settings.

    Raises UsageError if they make no sense.
    """
    with usage_errors(ArgumentTypeError, ArithmeticError, TypeError, ValueError):
        check_names("severity", tables["severity"].values(), _SEVERITIES)
        check_names("figure", tables["figures"], attrs.fields_dict(AuditOptions))
        AuditOptions(**tables["figures"]).make_parameters(datetime.now(UTC))
    severities = {code: _SEVERITIES[word] for code, word in tables["severity"].items()}
    return severities, tables["figures"]


# -- the command


def run_audit(arguments: argparse.Namespace) -> int:
    """Audit the source, write the outputs, and return the exit code."""
    if arguments.list_rules:
        return print_text(format_rules(list_rules().values()))
    with usage_errors(AuditInputError):
        if arguments.explain:
            rules = list_rules()
            codes = sorted(match_codes(rules, arguments.explain, "explain"))
            return print_text(
                "\n".join(explain_rule(_speak(rules[code])) for code in codes)
            )
        if arguments.source is None:
            raise UsageError(
                "no source was given: name a site, a sitemap, a folder or a file"
            )
        from sitemapreader.audit import audit  # noqa: PLC0415 (`--explain` needs no DuckDB)

        work = _AuditCommand(arguments, audit)
    return run_process(work.run, work.lines.name, work.console)


def _speak(rule: Rule) -> Rule:
    """Return a rule whose advice names options of the shell, not arguments of Python."""
    return attrs.evolve(rule, advice=name_options(rule.advice))


def _find_format(path: str) -> str:
    """Return the format of a report by its name; raise UsageError.

    Raises ModuleNotFoundError for a workbook without the extra: not after the audit.
    """
    if is_workbook(path):
        with name_extra("xlsx needs", "xlsx"):
            import_module("xlsxwriter")
        return "xlsx"
    with usage_errors(AuditInputError, begin="-o: "):
        return find_audit_format(path)


def _list_default_outputs(arguments: argparse.Namespace) -> list[str]:
    """Return standard output, unless only the exit code is wanted."""
    if arguments.quiet and arguments.format is None:
        return []
    return [STANDARD_OUTPUT]


class _AuditCommand:
    """One run of the command."""

    def __init__(
        self, arguments: argparse.Namespace, audit: Callable[..., Awaitable[Audit]]
    ) -> None:
        self._arguments = arguments
        self._audit = audit
        outputs = arguments.output or _list_default_outputs(arguments)
        files = [each for each in outputs if each != STANDARD_OUTPUT]
        self._page_files = [each for each in files if is_page_file(each)]
        self._files = {
            each: _find_format(each) for each in files if each not in self._page_files
        }
        if arguments.hits:
            find_hits_suffix(arguments.hits)
        self._is_printed = STANDARD_OUTPUT in outputs
        is_visited = arguments.pages or arguments.was
        if self._page_files and not is_visited and not self._has_folder():
            raise UsageError(
                f"{self._page_files[0]} has a row for each visited page: add --pages N or all"
            )
        if not self._is_printed and arguments.format not in (
            None,
            *self._files.values(),
        ):
            raise UsageError(
                f"--format is for standard output, but the report goes to {outputs[0]}: "
                "leave out --format, or add -o -"
            )
        self._summary = RunSummary()
        self.console = Console(
            quiet=arguments.quiet,
            verbose=arguments.verbose,
            has_file=not self._is_printed,
        )
        self.lines = LineWriter(None)
        settings = arguments.settings
        with usage_errors(UsageError, begin=f"{settings.file}: "):
            severities, chosen_figures = _check_tables(settings.tables)
        word = arguments.fail_on or "error"
        if arguments.write_baseline:
            written = Path(arguments.write_baseline).resolve()
            known = Path(arguments.baseline or written).resolve()
            if known == written:
                word = "never"  # all hits are known from now on
                if not known.exists():
                    arguments.baseline = None  # the settings name what this run makes
        self._fail_on = _SEVERITIES.get(word)
        if arguments.page_seed is not None and arguments.pages in (None, 0, "all"):
            raise UsageError("--page-seed requires --pages N: all pages are no sample")
        figures = {
            "robots": arguments.robots,
            "examples": arguments.examples,
            "page_seed": arguments.page_seed,
        }
        names = ("base_url", "database", "pages", "was", "since_audit", *_FILE_OPTIONS)
        self._passed: dict[str, Any] = {
            **make_keywords(arguments),
            "on_document": self._count_document,
            "on_page": self._count_page,
            "figures": AuditOptions(
                **chosen_figures
                | {name: each for name, each in figures.items() if each}
            ),
            "select": arguments.select or (),
            "ignore": arguments.ignore or (),
            **{name: getattr(arguments, name) for name in names},
            "rules": RuleSettings(folder=arguments.rules, severities=severities),
        }
        self._source = self._find_source()

    def _has_folder(self) -> bool:
        return Path(path_of(self._arguments.source)).is_dir()

    def _find_source(self) -> SiteTask | Path:
        """Return the URL with its kind, or the path."""
        text = self._arguments.source
        path = Path(path_of(text))
        if text == STANDARD_INPUT or path.exists():
            return path
        if self._arguments.base_url:
            raise UsageError(refuse_base_url([text]))
        try:
            checked = check_task(text)
        except InvalidSiteError as error:
            raise UsageError(f"{str(error)!r} {NO_SOURCE}") from None
        return SiteTask(checked.login or checked.url, self._arguments.kind or "auto")

    async def run(self) -> int:
        """Audit, write, and return the exit code."""
        try:
            result = await self._judge()
        except AuditInputError as error:
            raise UsageError(self._name_settings(str(error))) from None
        except asyncio.CancelledError as error:
            error.add_note(
                "no report was written: to get one, limit the audit with --max-time"
            )
            raise
        except (UnreadableError, OSError) as error:  # standard input; the database
            self.console.print_error(str(error))
            if isinstance(error, UnreadableError):
                return NOTHING_FETCHED
            return NO_URL
        with result:
            arguments = self._arguments
            result.facts.allow_losses(arguments.allow_loss or ())
            for host in result.facts.unused_hosts:
                self.console.print_line(describe_unused(host))
            form: dict[str, Any] = {
                "fail_on": self._fail_on,
                "title": arguments.title or "",
            }
            if self._is_printed:
                text = result.format(arguments.format or "text", **form)
                async with opened(self.lines):
                    await write_to(self.lines, self.lines.write_text, text)
            if not self._is_printed or arguments.format not in (None, "text"):
                # nothing else tells a person why the exit code is 5
                *_, end = result.format("text", **form).rpartition("\n\n")
                for line in end.splitlines():
                    self.console.print_line(line)
            writers: dict[str | None, Callable[[str], object]] = {
                arguments.write_baseline: partial(self._write_baseline, result),
                arguments.hits: result.write_hits,
                **dict.fromkeys(self._files, partial(result.write, **form)),
                **dict.fromkeys(self._find_page_files(result), result.write_pages),
            }
            written = [
                _write_file(path, write, self.console)
                for path, write in writers.items()
                if path
            ]
            if all(written):
                return find_outcome(result.findings, result.facts, self._fail_on).code
            return NO_URL

    async def _judge(self) -> Audit:
        """Return the result, which names options of the shell, not arguments of Python."""
        source = self._source
        with TemporaryDirectory(prefix="sitemapreader-") as folder:
            if source == Path(STANDARD_INPUT):
                source = await _copy_standard_input(Path(folder))
            async with (
                self._open_fetcher() as network,
                show_progress(self.console, self._summary),
            ):
                result = await self._audit(source, **self._passed | network)
        facts = result.facts
        if source != self._source:
            name = "standard input"
            facts.source = name
            facts.files = dict.fromkeys(facts.files, name)
        facts.passed = [_speak(rule) for rule in facts.passed]
        for left_out in facts.not_run:
            left_out.reason = name_options(left_out.reason)
            left_out.rule = _speak(left_out.rule)
        for finding in result.findings:
            finding.rule = _speak(finding.rule)
        return result

    @asynccontextmanager
    async def _open_fetcher(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the arguments of a fetcher that the progress can ask; none for a folder."""
        if not isinstance(self._source, SiteTask):
            yield {}
            return
        from sitemapreader.fetch.http import HttpFetcher  # noqa: PLC0415 (aiohttp takes 150 ms)

        options = self._passed["options"]
        async with HttpFetcher(options, limits=self._passed["limits"]) as fetcher:
            self._summary.fetcher = fetcher
            yield {"fetcher": fetcher, "options": None}

    def _name_settings(self, text: str) -> str:
        """Put the settings file before an error about an option that it has set."""
        settings = self._arguments.settings
        table = "`severities`:"
        if text.startswith(table):
            return f"{settings.file}: [audit.severity]{text.removeprefix(table)}"
        for name, value in settings.values.items():
            is_set = getattr(self._arguments, name, None) == value
            if is_set and text.startswith(f"`{name}`:"):
                return f"{settings.file}: {text}"
        return text

    def _write_baseline(self, result: Audit, path: str) -> None:
        """Write a baseline, and print how many hits it has."""
        number = result.write_baseline(path)
        self.console.print_line(f"{path}: {count_units(number, 'hits')} written")

    def _find_page_files(self, result: Audit) -> list[str]:
        """Return the files that get a row for each page; without a page print a message."""
        if result.facts.pages is not None or result.facts.old_pages is not None:
            return self._page_files
        for path in self._page_files:
            self.console.print_error(
                f"{path} was not written, because no page was visited"
            )
        return []

    def _count_page(self, _: PageVisit) -> None:
        self._summary.pages += 1

    def _count_document(self, document: Document) -> None:
        self._summary.statuses[document.status] += 1
        self._summary.sums["bytes_raw"] += document.bytes_raw
        self._summary.printed += document.listed


async def _copy_standard_input(folder: Path) -> Path:
    """Copy standard input into a file of a folder; raise UnreadableError."""
    path = folder / "standard-input"
    async with open_pieces(STANDARD_INPUT) as pieces:
        with path.open("wb") as copy:
            async for piece in pieces:
                copy.write(piece)
    return path


def _write_file(path: str, write: Callable[[str], object], console: Console) -> bool:
    """Write a file; print a message and return False if that fails."""
    try:
        write(path)
    except OSError as error:
        console.print_error(f"cannot write to {path}: {error.strerror or error}")
        return False
    return True


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the differences; return whether some are grave enough."""
    path = arguments.output or STANDARD_OUTPUT
    name = arguments.format or "text"
    try:
        if path != STANDARD_OUTPUT and arguments.format is None:
            name = find_audit_format(path, COMPARE_FORMATS)
        text, severities, outcome = _compare(arguments, name)
    except AuditInputError as error:
        raise UsageError(name_options(str(error))) from None
    if path != STANDARD_OUTPUT:
        data = text.encode("utf-8", "backslashreplace")
        is_written = _write_file(path, partial(write_file, data=data), Console())
        code = ALL_READ if is_written else NO_URL
    elif arguments.output or _list_default_outputs(arguments):
        code = print_text(text)
    else:
        code = ALL_READ
    if code != ALL_READ:
        return code
    if not outcome.is_whole:
        Console().print_line(f"{arguments.after}: {outcome.reason}")
    is_worse = arguments.fail_on != "never" and any(
        is_grave(each, arguments.fail_on) for each in severities
    )
    if is_worse and outcome.code != NOTHING_FETCHED:
        return FOUND
    return outcome.code


def _compare(
    arguments: argparse.Namespace, name: str
) -> tuple[str, list[str], Outcome]:
    """Return the comparison in a format, the severities of worse findings, and the outcome."""
    before = arguments.before
    after = arguments.after
    if is_url_list(before) and is_url_list(after):
        with name_extra("a comparison of lists needs", "audit"):
            from sitemapreader.audit.lists import compare_lists, format_list  # noqa: PLC0415
        found = compare_lists(before, after, was=arguments.was)
        read = Outcome(ExitCode.PASSED, "both lists were read")
        return format_list(name, found), [found.severity] * bool(found.severity), read
    differences = compare_audits(before, after, was=arguments.was)
    severities = [each.severity for each in differences if each.is_worse]
    return (
        format_differences(name, differences),
        severities,
        compare_losses(before, after),
    )
