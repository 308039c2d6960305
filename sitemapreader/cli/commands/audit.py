"""`sitemapreader audit`: the sitemaps of a site, judged; `compare`: two audits."""

from __future__ import annotations

import tomllib
from argparse import ArgumentTypeError
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.compare import Trend, compare_audits, format_differences
from sitemapreader.audit.models import AuditInputError, AuditOptions, Row
from sitemapreader.audit.report import find_audit_format, find_hits_suffix, is_failure
from sitemapreader.audit.rules import explain_rule, format_rules, list_rules, match_codes
from sitemapreader.cli.config import STANDARD_OUTPUT, RunConfig
from sitemapreader.cli.console import Console, RunSummary, show_progress
from sitemapreader.cli.options import list_options
from sitemapreader.cli.parser import (
    ALL_READ,
    FOUND,
    NO_URL,
    NOTHING_FETCHED,
    PARTIAL,
    UsageError,
    name_options,
)
from sitemapreader.cli.process import LineWriter, opened, print_text, run_process, write_to
from sitemapreader.cli.run import NO_SOURCE
from sitemapreader.errors import suggest
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
    from collections.abc import Awaitable, Callable, Iterable

    from sitemapreader.audit import Audit
    from sitemapreader.cli.options import Option
    from sitemapreader.outcomes import Document


# -- the settings of a project

FILES = (("sitemapreader.toml", ("audit",)), ("pyproject.toml", ("tool", "sitemapreader", "audit")))
"""Names of the files, and the table in each; the first that has the table is read."""
SETTINGS = ("select", "ignore", "robots", "fail-on", "rules", "baseline", "urls")
"""Options that a file may set; those of the command line go before them."""
_FILE_SETTINGS = ("rules", "baseline", "urls")


def read_settings(folder: Path, arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Set what the arguments lack by settings; return severities and figures.

    Raises UsageError for settings that make no sense.
    """
    tables: dict[str, dict[str, Any]] = {"severity": {}, "figures": {}}
    options = {each.name: each for _, group in list_options("audit") for each in group}
    for file, keys in FILES:
        try:
            table = _read_table(folder / file, keys)
            for name, value in table.items():
                if name in tables:
                    tables[name] = _SHAPES[name](value)
                else:
                    _set(arguments, options.get(f"--{name}"), name, value, folder)
        except (ArgumentTypeError, OSError, OverflowError, TypeError, ValueError) as error:
            raise UsageError(f"{file}: {error}") from None
        if table:
            break
    return tables


def _read_table(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    try:
        table: Any = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except RecursionError:
        raise ArgumentTypeError("it cannot be read: it is too deep") from None
    for key in keys:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise ArgumentTypeError(f"{'.'.join(keys)} must be a table")
    return table


def _set(
    arguments: argparse.Namespace, option: Option | None, name: str, value: Any, folder: Path
) -> None:
    """Give an argument the value that its option makes of a text, or of several words."""
    if option is None or name not in SETTINGS:
        known = (*SETTINGS, *_SHAPES)
        hint = suggest(name, known, f" choose from {', '.join(known)}")
        raise ArgumentTypeError(f"there is no setting {name!r}:{hint}")
    text = ",".join(value) if isinstance(value, list) else value
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{name} must be a text, not {value!r}")
    # SECURITY: who may write the settings, as with a pull request, may not read other files.
    if name in _FILE_SETTINGS and not (folder / text).resolve().is_relative_to(folder.resolve()):
        raise ArgumentTypeError(
            f"{name}: {text!r} is not in this folder: name it on the command line with --{name}"
        )
    if option.choices and text not in option.choices:
        raise ArgumentTypeError(f"{name}: there is no {text!r}: write {', '.join(option.choices)}")
    if getattr(arguments, option.key) is None:
        setattr(arguments, option.key, option.type(text) if option.type else text)


def _read_severities(table: Any) -> dict[str, Severity]:
    words = {severity.name.lower(): severity for severity in Severity}
    if not isinstance(table, dict):
        raise ArgumentTypeError("severity must be a table of codes, such as url-asset = 'info'")
    for code, word in table.items():
        if word not in words:
            raise ArgumentTypeError(
                f"severity of {code}: there is no {word!r}: write {', '.join(words)}"
            )
    return {code: words[word] for code, word in table.items()}


def _read_figures(table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise ArgumentTypeError("figures must be a table, such as stale_years = 5")
    known = attrs.fields_dict(AuditOptions)
    for name in table.keys() - known:
        raise ArgumentTypeError(f"figures: there is no {name!r}:{suggest(name, known)}")
    AuditOptions(**table).make_parameters(datetime.now(UTC))
    return table


_SHAPES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "severity": _read_severities,
    "figures": _read_figures,
}


# -- the command


def run_audit(arguments: argparse.Namespace) -> int:
    """Audit the source, write the outputs, and return the exit code."""
    if arguments.list_rules:
        return print_text(format_rules(list_rules().values()))
    try:
        if arguments.explain:
            rules = list_rules()
            codes = sorted(match_codes(rules, arguments.explain))
            return print_text("\n".join(explain_rule(_speak(rules[code])) for code in codes))
        if arguments.source is None:
            raise UsageError("there is no source: name a site, a sitemap, a folder or a file")
        from sitemapreader.audit import audit  # noqa: PLC0415 (`--explain` needs no DuckDB)

        work = _AuditCommand(arguments, audit)
    except AuditInputError as error:
        raise UsageError(str(error)) from None
    return run_process(work.run, work.lines.name, work.console)


def _speak(rule: Row) -> Row:
    """Return a rule whose advice names options of the shell, not arguments of Python."""
    return Row(rule, advice=name_options(rule.advice))


class _AuditCommand:
    """One run of the command."""

    def __init__(
        self, arguments: argparse.Namespace, audit: Callable[..., Awaitable[Audit]]
    ) -> None:
        self._arguments, self._audit = arguments, audit
        outputs = arguments.output or [STANDARD_OUTPUT]
        self._files = {each: find_audit_format(each) for each in outputs if each != STANDARD_OUTPUT}
        if arguments.hits:
            find_hits_suffix(arguments.hits)
        self._is_printed = STANDARD_OUTPUT in outputs
        if not self._is_printed and arguments.format not in (None, *self._files.values()):
            raise UsageError(
                f"--format is that of standard output, and the suffix of {outputs[0]} that of the "
                "file: leave --format out, or add -o -"
            )
        self._summary = RunSummary()
        self.console = Console(
            quiet=arguments.quiet, verbose=arguments.verbose, has_file=not self._is_printed
        )
        self.lines = LineWriter(None)
        tables = read_settings(Path.cwd(), arguments)
        word = arguments.fail_on or "error"
        # the severity from which on findings fail; none does: what is written is known
        is_never = word == "never" or arguments.write_baseline
        self._fail_on = None if is_never else Severity[word.upper()]
        figures = {"robots": arguments.robots, "examples": arguments.examples}
        config = RunConfig.from_arguments(arguments)
        self._passed: dict[str, Any] = {
            **config.walk,
            "options": config.options,
            "limits": config.limits,
            "on_document": self._count_document,
            "severities": tables["severity"],
            "figures": AuditOptions(
                **tables["figures"] | {name: each for name, each in figures.items() if each}
            ),
            "select": arguments.select or (),
            "ignore": arguments.ignore or (),
            **{
                name: getattr(arguments, name)
                for name in ("base_url", "database", "pages", "was", "since_audit")
            },
            **{name: getattr(arguments, name) for name in _FILE_SETTINGS},
        }
        self._source = self._find_source(config)

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
            try:
                if source == Path(STANDARD_INPUT):
                    source = await _copy_standard_input(Path(folder))
                async with show_progress(self.console, self._summary):
                    result = await self._audit(source, **self._passed)
            except AuditInputError as error:
                raise UsageError(str(error)) from None
            except (UnreadableError, OSError) as error:  # standard input; the database
                self.console.print_error(str(error))
                return NOTHING_FETCHED if isinstance(error, UnreadableError) else NO_URL
        if source != self._source:
            name = "standard input"
            result.facts |= {"source": name, "files": dict.fromkeys(result.facts.files, name)}
        _speak_of_options(result)
        with result:
            arguments = self._arguments
            form: dict[str, Any] = {"fail_on": self._fail_on, "title": arguments.title or ""}
            if self._is_printed:
                text = result.format(arguments.format or "text", **form)
                async with opened(self.lines):
                    await write_to(self.lines, partial(self.lines.write_text, text))
            outputs: list[tuple[str | None, Callable[[str], object]]] = [
                *((path, partial(result.write, **form)) for path in self._files),
                (arguments.hits, result.write_hits),
                (arguments.write_baseline, result.write_baseline),
            ]
            written = [self._write_file(path, write) for path, write in outputs if path]
            return self._find_exit_code(result) if all(written) else NO_URL

    def _write_file(self, path: str, write: Callable[[str], object]) -> bool:
        """Write a file; print a message and return False if that fails."""
        try:
            write(path)
        except OSError as error:
            self.console.print_error(f"cannot write to {path}: {error.strerror or error}")
            return False
        return True

    def _find_exit_code(self, result: Audit) -> int:
        if not any(document.is_answered for document in result.report.documents):
            return NOTHING_FETCHED
        least = self._fail_on.name.lower() if self._fail_on else None
        if any(is_failure(each, least) for each in result.findings):
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
    facts["passed"] = [_speak(rule) for rule in facts.passed]
    for each in (*result.findings, *facts.not_run):
        each["rule"] = _speak(each.rule)
    for each in facts.not_run:
        each["reason"] = name_options(each.reason)


async def _copy_standard_input(folder: Path) -> Path:
    """Copy standard input into a file of a folder; raise UnreadableError."""
    path = folder / "standard-input"
    async with open_pieces(STANDARD_INPUT) as pieces:
        with path.open("wb") as copy:
            async for piece in pieces:
                copy.write(piece)
    return path


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the differences; return whether some are grave enough."""
    try:
        differences = compare_audits(arguments.before, arguments.after)
    except AuditInputError as error:
        raise UsageError(str(error)) from None
    code = print_text(format_differences(arguments.format, differences))
    if code != ALL_READ or arguments.fail_on == "never":
        return code
    is_worse = any(
        each.trend in (Trend.NEW, Trend.WORSE)
        and is_failure(Row(each, new=None), arguments.fail_on)
        for each in differences
    )
    return FOUND if is_worse else ALL_READ
