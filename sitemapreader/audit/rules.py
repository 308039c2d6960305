"""The rules: files with queries, the table of all codes, and their words."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.models import (
    AuditInputError,
    AuditOptions,
    AuditRule,
    Category,
    Need,
    NotRun,
)
from sitemapreader.audit.report import count_units, show_number
from sitemapreader.errors import suggest
from sitemapreader.issues import IssueCode, Severity
from sitemapreader.outcomes import show_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable

_CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_HEADER_LINE = re.compile(r"--(?: (?P<key>[a-z][a-z-]*):(?=\s|$))?\s*(?P<text>.*)")
"""A key has one blank before it; a continuation line has more."""
_REQUIRED = ("title", "severity")
_KEYS = frozenset(
    {
        *_REQUIRED,
        *("unit", "needs", "detects", "meaning", "advice", "source", "search-console", "cause"),
    }
)


class RuleFileError(AuditInputError):
    """The file of a rule has no header, or an unknown word in it."""


@attrs.frozen
class SqlRule:
    """A rule with its query."""

    rule: AuditRule
    query: str


def parse_rule(text: str, code: str, category: Category) -> SqlRule:
    """Parse the file of a rule; raise RuleFileError."""
    header: dict[str, list[str]] = {}
    lines = text.lstrip("\ufeff").splitlines()
    key = ""
    while lines and (match := _HEADER_LINE.fullmatch(lines[0])):
        del lines[0]
        key = match["key"] or key
        header.setdefault(key, []).append(match["text"].strip())
    values = {key: " ".join(parts) for key, parts in header.items()}
    _check_header(values, code)
    query = "\n".join(lines).strip().rstrip(";")
    if not query:
        raise RuleFileError("there is no query below the header: write one SELECT")
    return SqlRule(
        AuditRule(
            code=code,
            category=category,
            severity=Severity[values["severity"].upper()],
            title=values["title"],
            unit=values.get("unit", "URLs"),
            detects=values.get("detects", ""),
            meaning=values.get("meaning", ""),
            advice=values.get("advice", ""),
            sources=_split(values.get("source", "")),
            needs=tuple(map(Need, _split(values.get("needs", "")))),
            known_as=values.get("search-console", ""),
            causes=_split(values.get("cause", "")),
        ),
        query,
    )


def _check_header(values: dict[str, str], code: str) -> None:
    if not _CODE.fullmatch(code):
        raise RuleFileError(
            f"{code!r} is not a valid code: name the file in lower case, as my-rule.sql"
        )
    for name in _REQUIRED:
        if not values.get(name):
            raise RuleFileError(f"the header has no {name}: begin the file with `-- {name}: ...`")
    for name in values.keys() - _KEYS - {""}:
        raise RuleFileError(f"{name!r} is not a header key: use {', '.join(sorted(_KEYS))}")
    severities = [severity.name.lower() for severity in Severity]
    if values["severity"] not in severities:
        raise RuleFileError(
            f"{values['severity']!r} is not a severity: write {', '.join(severities)}"
        )
    for need in _split(values.get("needs", "")):
        if need not in set(Need):
            raise RuleFileError(f"unknown need {need!r}: write {', '.join(Need)}")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@cache
def load_rules() -> tuple[SqlRule, ...]:
    """Return the rules of the package, by category and code."""
    root = files("sitemapreader.audit").joinpath("rules")
    by_folder = {category.name.lower(): category for category in Category}
    rules = [
        parse_rule(file.read_text("utf-8"), file.name.removesuffix(".sql"), by_folder[folder.name])
        for folder in root.iterdir()
        for file in _sql_files(folder)
    ]
    return tuple(sorted(rules, key=lambda each: (each.rule.category.place, each.rule.code)))


def _sql_files(folder: Traversable) -> Iterator[Traversable]:
    return (file for file in folder.iterdir() if file.name.endswith(".sql"))


def read_own_rules(folder: str | os.PathLike[str]) -> tuple[list[SqlRule], dict[str, str]]:
    """Read the rules of a user's folder, and what is wrong with files that are none.

    Raises AuditInputError: it cannot be read, or has no file that ends with .sql.
    """
    rules, broken = [], {}
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".sql")
    except OSError as error:
        raise AuditInputError(f"the rules in {folder} cannot be read: {error.strerror}") from None
    if not paths:
        raise AuditInputError(f"there is no rule in {folder}: its files must end with .sql")
    for path in paths:
        try:
            rules.append(parse_rule(path.read_text("utf-8"), path.stem, Category.CUSTOM))
        except (RuleFileError, OSError, UnicodeDecodeError) as error:
            broken[path.stem] = str(error)
    return rules, broken


# -- the Issue codes as rules

_TABLE = tomllib.loads(files("sitemapreader.audit").joinpath("issues.toml").read_text("utf-8"))
_CODES = {str(code): code for code in IssueCode}
ABOUT_US, _OF_ANSWERS, _OF_ROBOTS = (
    frozenset(_CODES[code] for code in _TABLE[name].split())
    for name in ("about-us", "of-answers", "of-robots")
)
ISSUES = {_CODES[code]: texts for code, texts in _TABLE["codes"].items()}
"""What is said of a code in an audit: "severity", "what", "meaning", "advice", "known-as"."""
_PROTOCOL = "https://www.sitemaps.org/protocol.html"
_ROBOTS = "https://www.rfc-editor.org/rfc/rfc9309"
_NOT_ACCUSED = "This says what was not read, and why; the site is not accused."


def make_issue_rule(code: IssueCode) -> AuditRule:
    """Return the rule for an Issue code."""
    is_about_us, own = code in ABOUT_US, ISSUES.get(code, {})
    severity = Severity.INFO if is_about_us else code.severity
    if "severity" in own:
        severity = Severity[own["severity"].upper()]
    needs = (Need.FETCH,) * (code in _OF_ANSWERS) + (Need.ROBOTS,) * (code in _OF_ROBOTS)
    title, advice = (f"{text[0].upper()}{text[1:]}" for text in (code.meaning, code.advice))
    return AuditRule(
        code=str(code),
        category=Category.READING,
        severity=severity,
        title=title,
        unit="places",
        detects=own.get("what", f"{title}."),
        meaning=own.get("meaning", _NOT_ACCUSED if is_about_us else _MEANINGS[severity]),
        advice=own.get("advice", f"{advice}."),
        sources=(_ROBOTS if "robots" in code else _PROTOCOL,),
        needs=needs,
        known_as=own.get("known-as", ""),
        causes=_split(own.get("cause", "")),
    )


_MEANINGS = {
    Severity.ERROR: "Search engines lose something by it, or refuse the sitemap.",
    Severity.WARNING: "Other readers may lose something by it; this one repaired it.",
    Severity.INFO: "It costs nothing, and shows that the generator could take more care.",
}


def list_rules(own: Iterable[AuditRule] = ()) -> dict[str, AuditRule]:
    """Return all rules by code: Issues, the package's rules and the user's."""
    issues = map(make_issue_rule, IssueCode)
    return {rule.code: rule for rule in (*issues, *(each.rule for each in load_rules()), *own)}


def select_rules(
    rules: Mapping[str, AuditRule], select: Sequence[str], ignore: Sequence[str]
) -> dict[str, AuditRule]:
    """Return the selected rules (all by default) without the ignored ones.

    Words are codes, categories, or prefixes that end with `*`. Raises AuditInputError for others;
    it names the nearest known one.
    """
    selected = set().union(*(match_codes(rules, word) for word in select)) if select else set(rules)
    ignored = set().union(*(match_codes(rules, word) for word in ignore))
    return {code: rule for code, rule in rules.items() if code in selected - ignored}


def match_codes(rules: Mapping[str, AuditRule], word: str) -> set[str]:
    """Return the codes that a word means; raise AuditInputError if there is none."""
    if word in rules:
        return {word}
    if word.endswith("*"):
        found = {code for code in rules if code.startswith(word[:-1])}
    else:
        found = {code for code, rule in rules.items() if rule.category.lower() == word.lower()}
    if not found:
        categories = [category.lower() for category in Category]
        hint = suggest_word(word, [*rules, *categories])
        raise AuditInputError(f"there is no rule, category or prefix {word!r}:{hint}")
    return found


def suggest_word(word: str, known: Iterable[str]) -> str:
    """Return words that name the known one that is nearest, or how to list all."""
    return suggest(word, known, " `sitemapreader audit --list-rules` lists all codes")


@attrs.frozen
class RulePlan:
    """The rules that an audit is to run."""

    chosen: Mapping[str, AuditRule]
    """Code -> rule, Issues included."""
    queries: tuple[SqlRule, ...]
    """The chosen rules that have a query."""
    severities: Mapping[str, Severity]
    """Code -> severity of the settings."""
    broken: tuple[NotRun, ...]
    """Chosen rules of the user's own whose files are none."""


def plan_rules(
    folder: str | os.PathLike[str] | None,
    select: Sequence[str],
    ignore: Sequence[str],
    severities: Mapping[str, Severity],
    figures: AuditOptions,
) -> RulePlan:
    """Return the rules to run, with the figures of this audit in their texts.

    `folder` has rules of the user's own. Raises AuditInputError if a word means no rule, or the
    folder cannot be read.
    """
    own, faults = ([], {}) if folder is None else read_own_rules(folder)
    broken = {
        code: NotRun(AuditRule(code, Category.CUSTOM, Severity.ERROR, code, "URLs"), why, True)
        for code, why in faults.items()
    }
    names = [each.rule for each in own] + [each.rule for each in broken.values()]
    packaged = list_rules()
    if clash := sorted(rule.code for rule in names if rule.code in packaged):
        raise AuditInputError(f"there is a rule {clash[0]!r} already: give yours another name")
    everything = list_rules(names)
    for code in severities:
        if code not in everything:
            raise AuditInputError(
                f"severity: there is no rule {code!r}:{suggest_word(code, everything)}"
            )
    chosen = {
        code: attrs.evolve(rule, detects=fill_figures(rule.detects, figures))
        for code, rule in select_rules(everything, select, ignore).items()
    }
    return RulePlan(
        chosen,
        tuple(
            attrs.evolve(each, rule=chosen[each.rule.code])
            for each in (*load_rules(), *own)
            if each.rule.code in chosen
        ),
        severities,
        tuple(each for code, each in broken.items() if code in chosen),
    )


_FIGURE = re.compile(r"`([a-z_]+)`")
_UNITS = ("seconds", "minutes", "hours", "years")
_MOST_WORDS = 7
"""Words of a figure that a text names; the rest is counted."""


def fill_figures(text: str, figures: AuditOptions, *, named: bool = False) -> str:
    """Replace the figures that a text names in backticks by their values.

    With `named`, the name stays behind the value: for those who may change it.
    """

    def show(match: re.Match[str]) -> str:
        value = getattr(figures, match[1], None)
        if value is None:
            return match[0]
        return _show_figure(match[1], value) + (f" ({match[0]})" if named else "")

    return _FIGURE.sub(show, text)


def _show_figure(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        more = f" and {len(value) - _MOST_WORDS} others" if len(value) > _MOST_WORDS else ""
        return ", ".join(value[:_MOST_WORDS]) + more
    unit = name.rpartition("_")[2]
    if unit in ("share", "overlap"):
        return f"{value:.0%}"
    if unit == "bytes":
        return show_bytes(value)
    return count_units(value, unit) if unit in _UNITS else show_number(value)


_NEEDS = {
    "robots": "a robots.txt that was read",
    "site": "the URL of a site",
    "fetch": "answers of a server",
    "complete": "a walk that read all",
    "urls": "`--urls`",
    "pages": "`--pages`",
    "was": "`--was`",
    "folder": "a built folder",
    "overlap": "a list that knows most of the URLs",
}
_WIDTH = 88


def sort_rules(rules: Iterable[AuditRule]) -> list[AuditRule]:
    """Return rules by category, the gravest first."""
    return sorted(rules, key=lambda each: (each.category.place, -each.severity, each.code))


def format_rules(rules: Iterable[AuditRule]) -> str:
    """Return a list of rules, by category."""
    lines = []
    for category, group in groupby(sort_rules(rules), lambda rule: rule.category):
        lines.append(f"{category}")
        lines += [
            f"  {each.code:<30} {each.severity.name.lower():<8} {each.title}" for each in group
        ]
    return "\n".join(lines) + "\n"


def explain_rule(rule: AuditRule) -> str:
    """Return what a rule means, in a few lines."""
    lines = [f"{rule.code}: {rule.title} ({rule.category}, {rule.severity.name.lower()})"]
    lines += [
        fill(
            f"{name}: {text}",
            _WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, text in describe_rule(rule)
    ]
    return "\n".join(lines) + "\n"


def describe_rule(rule: AuditRule) -> Iterator[tuple[str, str]]:
    """Yield what is to be said of a rule, each part with its name."""
    if rule.detects:
        yield "hits when", fill_figures(rule.detects, AuditOptions(), named=True)
    if rule.meaning:
        yield "why", rule.meaning
    if rule.advice:
        yield "do", rule.advice
    if rule.needs:
        yield "needs", ", ".join(_NEEDS[need] for need in rule.needs)
    if rule.known_as:
        yield "Search Console calls it", rule.known_as
    if rule.sources:
        yield "source", ", ".join(rule.sources)
