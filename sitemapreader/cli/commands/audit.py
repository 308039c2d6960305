"""`sitemapreader audit`: the sitemaps of a site, judged; `compare`: two audits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.compare import Trend, compare_audits, format_differences
from sitemapreader.audit.models import AuditInputError, AuditRule
from sitemapreader.audit.options import AuditOptions, AuditSettings, find_settings
from sitemapreader.audit.report import find_audit_format, find_hits_suffix
from sitemapreader.audit.rules import explain_rule, format_rules, list_rules, match_codes
from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console, show_progress
from sitemapreader.cli.output import STANDARD_OUTPUT, LineWriter, opened, write_to
from sitemapreader.cli.parser import (
    ALL_READ,
    FOUND,
    NO_URL,
    NOTHING_FETCHED,
    PARTIAL,
    UsageError,
    name_options,
)
from sitemapreader.cli.run import NO_SOURCE
from sitemapreader.cli.runtime import print_text, run_process
from sitemapreader.cli.summary import RunSummary
from sitemapreader.issues import Severity
from sitemapreader.many.sources import (
    STANDARD_INPUT,
    InvalidSiteError,
    UnreadableError,
    check_task,
    open_pieces,
)
from sitemapreader.urls import parse_url, path_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Iterator

    from sitemapreader.audit.result import Audit
    from sitemapreader.outcomes import Document


def run_audit(arguments: argparse.Namespace) -> int:
    """Audit the source, write the outputs, and return the exit code."""
    if arguments.list_rules:
        return print_text(format_rules(list_rules().values()))
    try:
        if arguments.explain:
            return print_text(_explain(arguments.explain))
        if arguments.source is None:
            raise UsageError("there is no source: name a site, a sitemap, a folder or a file")
        from sitemapreader.audit import audit  # noqa: PLC0415 (`--explain` needs no DuckDB)

        work = _AuditCommand(arguments, find_settings(Path.cwd()), audit)
    except AuditInputError as error:
        raise UsageError(str(error)) from None
    return run_process(work.run, work.lines.name, work.console)


def _explain(word: str) -> str:
    rules = list_rules()
    return "\n".join(explain_rule(_speak(rules[code])) for code in sorted(match_codes(rules, word)))


def _speak(rule: AuditRule) -> AuditRule:
    """Return a rule whose advice names options of the shell, not arguments of Python."""
    return attrs.evolve(rule, advice=name_options(rule.advice))


class _AuditCommand:
    """One run of the command."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        settings: AuditSettings,
        audit: Callable[..., Awaitable[Audit]],
    ) -> None:
        self._arguments = arguments
        self._settings = settings
        self._audit = audit
        outputs = [STANDARD_OUTPUT] if arguments.output is None else arguments.output
        files = [path for path in outputs if path != STANDARD_OUTPUT]
        self._files = {path: find_audit_format(path) for path in files}
        if arguments.hits:
            find_hits_suffix(arguments.hits)
        self._title = arguments.title or ""
        self._is_printed = len(files) < len(outputs)
        if (
            arguments.format
            and not self._is_printed
            and {*self._files.values()} != {arguments.format}
        ):
            raise UsageError(
                f"--format is that of standard output, and the suffix of {files[0]} that of the "
                "file: leave --format out, or add -o -"
            )
        self._summary = RunSummary()
        self.console = Console(
            quiet=arguments.quiet, verbose=arguments.verbose, has_file=not self._is_printed
        )
        self.lines = LineWriter(None)
        config = RunConfig.from_arguments(arguments)
        figures = {"robots": self._choose("robots"), "examples": arguments.examples}
        self._passed: dict[str, Any] = {
            **config.walk,
            "options": config.options,
            "limits": config.limits,
            "on_document": self._count_document,
            "severities": settings.severity,
            "figures": AuditOptions(
                **{**settings.figures, **{name: each for name, each in figures.items() if each}}
            ),
            "select": self._choose("select") or (),
            "ignore": self._choose("ignore") or (),
            "base_url": arguments.base_url,
            "database": arguments.database,
            "pages": arguments.pages,
            "was": arguments.was,
            "since_audit": arguments.since_audit,
            **{name: self._choose(name) for name in ("urls", "rules", "baseline")},
        }
        self._source = self._find_source(config)

    def _choose(self, name: str) -> Any:
        """Return an option of the command line, or that of the settings."""
        given = getattr(self._arguments, name)
        return getattr(self._settings, name) if given is None else given

    def _find_source(self, config: RunConfig) -> str | Path:
        """Return the URL or path; a login in a URL becomes a header."""
        text = self._arguments.source
        path = Path(path_of(text))
        if text == STANDARD_INPUT or path.exists():
            return path
        try:
            checked = check_task(text)
        except InvalidSiteError as error:
            raise UsageError(f"{str(error)!r} {NO_SOURCE}") from None
        if login := parse_url(checked.login):
            self._passed["options"] = config.with_login(login.user, login.password)
        if self._arguments.kind:
            self._passed["is_sitemap"] = self._arguments.kind == "sitemap"
        return checked.url

    async def run(self) -> int:
        """Audit, write, and return the exit code."""
        source = self._source
        with TemporaryDirectory(prefix="sitemapreader-") as folder:
            if source == Path(STANDARD_INPUT):
                source = Path(folder) / "standard-input"
                try:
                    await _copy_standard_input(source)
                except UnreadableError as error:
                    self.console.print_error(str(error))
                    return NOTHING_FETCHED
            async with show_progress(self.console, self._summary):
                try:
                    result = await self._audit(source, **self._passed)
                except AuditInputError as error:
                    raise UsageError(str(error)) from None
                except OSError as error:  # the database
                    self.console.print_error(str(error))
                    return NO_URL
        if source != self._source:
            name = "standard input"
            result.facts |= {"source": name, "files": dict.fromkeys(result.facts.files, name)}
        _speak_of_options(result)
        with result:
            if self._is_printed:
                name = self._arguments.format or "text"
                text = result.format(name, self._fail_on, title=self._title)
                async with opened(self.lines):
                    await write_to(self.lines, partial(self.lines.write_text, text))
            written = [self._write_file(*output) for output in self._list_files(result)]
            return self._find_exit_code(result) if all(written) else NO_URL

    def _list_files(self, result: Audit) -> Iterator[tuple[str, Callable[[str], object]]]:
        for path, form in self._files.items():
            yield path, partial(result.write, format=form, fail_on=self._fail_on, title=self._title)
        if self._arguments.hits:
            yield self._arguments.hits, result.write_hits
        if self._arguments.write_baseline:
            yield self._arguments.write_baseline, result.write_baseline

    def _write_file(self, path: str, write: Callable[[str], object]) -> bool:
        """Write a file; print a message and return False if that fails."""
        try:
            write(path)
        except OSError as error:
            self.console.print_error(f"cannot write to {path}: {error.strerror or error}")
            return False
        return True

    @property
    def _fail_on(self) -> Severity | None:
        """The severity from which on findings fail; `None`: none does."""
        word = self._arguments.fail_on or self._settings.fail_on
        if self._arguments.write_baseline or word == "never":  # written, they are known
            return None
        return Severity[word.upper()]

    def _find_exit_code(self, result: Audit) -> int:
        if not any(document.is_answered for document in result.report.documents):
            return NOTHING_FETCHED
        fail_on = self._fail_on
        if fail_on is not None and any(
            finding.severity >= fail_on and finding.new != 0 for finding in result.findings
        ):
            return FOUND
        if not result.facts.urls:
            return NO_URL
        is_broken = any(each.is_error for each in result.facts.not_run)
        return ALL_READ if result.facts.complete and not is_broken else PARTIAL

    def _count_document(self, document: Document) -> None:
        self._summary.statuses[document.status] += 1
        self._summary.sums["bytes_raw"] += document.bytes_raw


def _speak_of_options(result: Audit) -> None:
    """Let a result name options of the shell, not arguments of Python."""
    facts = result.facts
    result.findings = tuple(attrs.evolve(f, rule=_speak(f.rule)) for f in result.findings)
    facts["passed"] = [_speak(rule) for rule in facts.passed]
    facts["not_run"] = [
        attrs.evolve(each, rule=_speak(each.rule), reason=name_options(each.reason))
        for each in facts.not_run
    ]


async def _copy_standard_input(path: Path) -> None:
    """Copy standard input into a file; raise UnreadableError."""
    async with open_pieces(STANDARD_INPUT) as pieces:
        with path.open("wb") as copy:
            async for piece in pieces:
                copy.write(piece)


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the differences; return whether some are grave enough."""
    try:
        differences = compare_audits(arguments.before, arguments.after)
    except AuditInputError as error:
        raise UsageError(str(error)) from None
    code = print_text(format_differences(arguments.format, differences))
    if code != ALL_READ or arguments.fail_on == "never":
        return code
    least = Severity[arguments.fail_on.upper()]
    is_worse = any(
        each.trend in (Trend.NEW, Trend.WORSE) and each.severity >= least for each in differences
    )
    return FOUND if is_worse else ALL_READ
