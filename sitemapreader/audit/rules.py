"""The rules: files with queries, the table of all codes, and their words."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.counts import count_units
from sitemapreader._types.habits import suggest
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.outcomes import show_bytes
from sitemapreader._types.patterns import compile_pattern
from sitemapreader.audit.models import (
    SEVERITIES,
    AuditInputError,
    AuditOptions,
    Category,
    Need,
    make_rule,
    split_words,
)
from sitemapreader.audit.values import NotRun, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sitemapreader._types.arguments import FilePath
    from sitemapreader._types.issues import Severity

_CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_HEADER_LINE = re.compile(r"--(?: (?P<key>[a-z][a-z-]*):(?=\s|$))?\s*(?P<text>.*)")
"""A key has one blank before it; a continuation line has more."""
_KEYS = (
    "title",
    "severity",
    "unit",
    "needs",
    "detects",
    "meaning",
    "advice",
    "source",
    "search-console",
    "cause",
)


def parse_rule(
    text: str,
    code: str,
    category: Category,
) -> tuple[Rule, str]:
    """Return a rule and its query, as its file says; raise AuditInputError."""
    values: dict[str, str] = {}
    lines = text.lstrip("\ufeff").splitlines()
    key = ""
    while lines and (match := _HEADER_LINE.fullmatch(lines[0])):
        del lines[0]
        key = match["key"] or key
        values[key] = f"{values.get(key, '')} {match['text'].strip()}".strip()
    values.pop("", None)
    _check_header(values, code)
    query = "\n".join(lines).strip().rstrip(";")
    if not query:
        raise AuditInputError("there is no query below the header: write one SELECT")
    severity = values.pop("severity")
    title = values.pop("title")
    return make_rule(code, category, severity, title, **values), query


def _check_header(values: Mapping[str, str], code: str) -> None:
    if not _CODE.fullmatch(code):
        raise AuditInputError(
            f"{code!r} is not a valid code: name the file in lower case, as my-rule.sql"
        )
    for name in ("title", "severity"):
        if not values.get(name):
            raise AuditInputError(
                f"the header has no {name}: begin the file with `-- {name}: ...`"
            )
    for what, words, known in (
        ("header key", values, _KEYS),
        ("severity", [values["severity"]], SEVERITIES),
        ("need", split_words(values.get("needs", "")), tuple(Need)),
    ):
        if wrong := [word for word in words if word not in known]:
            raise AuditInputError(
                f"{wrong[0]!r} is not a {what}: write {', '.join(known)}"
            )


@cache
def load_rules() -> tuple[tuple[Rule, str], ...]:
    """Return the rules of the package and their queries, by category and code."""
    root = files("sitemapreader.audit").joinpath("rules")
    return tuple(
        parse_rule(file.read_text("utf-8"), file.name.removesuffix(".sql"), category)
        for category in Category
        if (folder := root.joinpath(category.name.lower())).is_dir()
        for file in sorted(folder.iterdir(), key=lambda each: each.name)
        if file.name.endswith(".sql")
    )


def read_own_rules(
    folder: FilePath,
) -> tuple[list[tuple[Rule, str]], dict[str, str]]:
    """Read the rules of a user's folder, and the errors of files that are not rules.

    Raises AuditInputError: it cannot be read, or has no file that ends with .sql.
    """
    rules = []
    broken = {}
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".sql")
    except OSError as error:
        raise AuditInputError(
            f"`rules`: {folder} cannot be read: {error.strerror}"
        ) from None
    if not paths:
        raise AuditInputError(
            f"there is no rule in {folder}: its files must end with .sql"
        )
    for path in paths:
        try:
            rules.append(
                parse_rule(path.read_text("utf-8"), path.stem, Category.CUSTOM)
            )
        except (OSError, ValueError) as error:
            broken[path.stem] = str(error)
    return rules, broken


# -- the Issue codes as rules

_TABLE = tomllib.loads(
    files("sitemapreader.audit").joinpath("issues.toml").read_text("utf-8")
)
ISSUE_CODES = {str(code): code for code in IssueCode}
ABOUT_US, _OF_ANSWERS, _OF_ROBOTS = (
    frozenset(ISSUE_CODES[code] for code in _TABLE[name].split())
    for name in ("about-us", "of-answers", "of-robots")
)
ISSUES = {ISSUE_CODES[code]: texts for code, texts in _TABLE["codes"].items()}
"""Texts of a code in an audit: "severity", "what", "meaning", "advice", "known-as"."""
_PROTOCOL = "https://www.sitemaps.org/protocol.html"
_ROBOTS = "https://www.rfc-editor.org/rfc/rfc9309"
_NOT_ACCUSED = "This explains what was not read; it is not a fault of the site."


@cache
def make_issue_rule(code: IssueCode) -> Rule:
    """Return the rule for an Issue code."""
    is_about_us = code in ABOUT_US
    own = ISSUES.get(code, {})
    severity = own.get(
        "severity", "info" if is_about_us else code.severity.name.lower()
    )
    needs = [Need.FETCH] * (code in _OF_ANSWERS) + [Need.ROBOTS] * (code in _OF_ROBOTS)
    title, advice = (
        f"{text[0].upper()}{text[1:]}" for text in (code.meaning, code.advice)
    )
    texts = {
        "detects": own.get("what", f"{title}."),
        "meaning": own.get(
            "meaning", _NOT_ACCUSED if is_about_us else _SEVERITY_MEANINGS[severity]
        ),
        "advice": own.get("advice", f"{advice}."),
        "source": _ROBOTS if "robots" in code else _PROTOCOL,
        "needs": ",".join(needs),
        "search-console": own.get("known-as", ""),
        "cause": own.get("cause", ""),
    }
    return make_rule(str(code), Category.READING, severity, title, "places", **texts)


_SEVERITY_MEANINGS = {
    "error": "Search engines lose data because of it, or refuse the sitemap.",
    "warning": "Other readers may lose data because of it; this reader repaired it.",
    "info": "It loses no data, but the generator could be improved.",
}


def list_rules(own: Iterable[Rule] = ()) -> dict[str, Rule]:
    """Return all rules by code: Issues, the package's rules and the user's."""
    issues = map(make_issue_rule, IssueCode)
    return {
        rule.code: rule for rule in (*issues, *(rule for rule, _ in load_rules()), *own)
    }


def match_codes(
    rules: Mapping[str, Rule],
    word: str,
    argument: str = "select",
) -> set[str]:
    """Return the codes that a word of an argument means; raise AuditInputError for none."""
    if word in rules:
        return {word}
    if word.endswith("*"):
        found = {code for code in rules if code.startswith(word[:-1])}
    else:
        found = {
            code
            for code, rule in rules.items()
            if rule.category.lower() == word.lower()
        }
    if not found:
        is_prefix = word and sum(code.startswith(word) for code in rules) > 1
        names = [*rules, *map(str.lower, Category)]
        if is_prefix:
            hint = f" did you mean {word}*?"
        else:
            hint = suggest(word, names, _HINT)
        raise AuditInputError(
            f"`{argument}`: there is no rule, category or prefix {word!r}:{hint}"
        )
    return found


_HINT = " `sitemapreader audit --list-rules` lists all codes"


@attrs.frozen
class RulePlan:
    """The rules that an audit is to run."""

    chosen: Mapping[str, Rule]
    """Code -> rule, Issues included."""
    queries: Mapping[str, str]
    """Code -> query, of the chosen rules that have one."""
    severities: Mapping[str, str]
    """Code -> severity of the settings."""
    ignored: Mapping[str, list[re.Pattern[str]]]
    """Code -> patterns of the URLs whose hits do not count."""
    broken: list[NotRun]
    """Chosen rules of the user's own whose files are none."""


def plan_rules(
    folder: FilePath | None,
    select: Sequence[str],
    ignore: Sequence[str],
    severities: Mapping[str, Severity],
    figures: AuditOptions,
) -> RulePlan:
    """Return the rules to run, with the figures of this audit in their texts.

    `folder` has rules of the user's own. `select` and `ignore`, which wins, are codes, categories,
    or prefixes that end with `*`. A word of `ignore` may go on with a colon and a pattern: then
    only the hits of the URLs that match it are ignored. Raises AuditInputError if a word means no
    rule, with the nearest that does, or if the folder cannot be read.
    """
    own: list[tuple[Rule, str]] = []
    faults: dict[str, str] = {}
    if folder is not None:
        own, faults = read_own_rules(folder)
    broken = [make_rule(code, Category.CUSTOM, "error", code) for code in faults]
    packaged = list_rules()
    names = [rule for rule, _ in own] + broken
    if clash := sorted(rule.code for rule in names if rule.code in packaged):
        raise AuditInputError(
            f"there is a rule {clash[0]!r} already: give yours another name"
        )
    rules = list_rules(names)
    for code in severities:
        if code not in rules:
            hint = suggest(code, rules, _HINT)
            raise AuditInputError(f"`severities`: there is no rule {code!r}:{hint}")
    if select:
        selected = set().union(*(match_codes(rules, word, "select") for word in select))
    else:
        selected = {*rules}
    ignored = defaultdict[str, list[re.Pattern[str]]](list)
    for word in ignore:
        name, colon, pattern = word.partition(":")
        codes = match_codes(rules, name, "ignore")
        if not colon:
            selected -= codes
            continue
        for code in codes:
            ignored[code].append(_compile_ignored(word, pattern))
    chosen = {
        code: attrs.evolve(rule, detects=fill_figures(rule.detects, figures))
        for code, rule in rules.items()
        if code in selected
    }
    return RulePlan(
        chosen,
        {
            rule.code: query
            for rule, query in (*load_rules(), *own)
            if rule.code in chosen
        },
        {code: each.name.lower() for code, each in severities.items()},
        ignored,
        [
            NotRun(rule=rule, reason=faults[rule.code], is_error=True)
            for rule in broken
            if rule.code in chosen
        ],
    )


def _compile_ignored(word: str, pattern: str) -> re.Pattern[str]:
    """Return the pattern of URLs in a word of `ignore`; raise AuditInputError."""
    if not pattern:
        raise AuditInputError(
            f"`ignore`: {word!r} ends with a colon: write a pattern of URLs behind it, as in "
            f"{word}/en/*, or leave it out"
        )
    try:
        return compile_pattern(pattern)
    except ValueError as error:
        raise AuditInputError(f"`ignore`: {error}") from None


_FIGURE = re.compile(r"`([a-z_]+)`")
_TIME_UNITS = ("seconds", "minutes", "hours", "years")
_MOST_WORDS = 7
"""Words of a figure that a text names; the rest is counted."""


def fill_figures(
    text: str,
    figures: AuditOptions,
    *,
    named: bool = False,
) -> str:
    """Replace the figures that a text names in backticks by their values.

    With `named`, the name stays after the value: for those who may change it.
    """

    def show(match: re.Match[str]) -> str:
        value = getattr(figures, match[1], None)
        if value is None:
            return match[0]
        return _show_figure(match[1], value) + (f" ({match[0]})" if named else "")

    return _FIGURE.sub(show, text)


def _show_figure(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        if len(value) > _MOST_WORDS:
            more = f" and {len(value) - _MOST_WORDS} others"
        else:
            more = ""
        return ", ".join(value[:_MOST_WORDS]) + more
    unit = name.rpartition("_")[2]
    if unit in ("share", "overlap"):
        return f"{value:.0%}"
    if unit == "bytes":
        return show_bytes(value)
    if unit in _TIME_UNITS:
        return count_units(value, unit)
    return f"{value:,}"


_WIDTH = 88


def sort_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules by category, the gravest first."""
    categories = list(Category)

    def place(rule: Rule) -> tuple[int, int, str]:
        return (
            categories.index(Category(rule.category)),
            SEVERITIES.index(rule.severity),
            rule.code,
        )

    return sorted(rules, key=place)


def format_rules(rules: Iterable[Rule]) -> str:
    """Return a list of rules, by category."""
    lines = []
    for category, group in groupby(sort_rules(rules), lambda rule: rule.category):
        lines.append(category)
        lines += [
            f"  {each.code:<30} {each.severity:<8} {each.title}" for each in group
        ]
    return "\n".join(lines) + "\n"


def explain_rule(rule: Rule) -> str:
    """Explain a rule in a few lines."""
    wrapper = TextWrapper(
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    parts = {
        "hits when": fill_figures(rule.detects, AuditOptions(), named=True),
        "why": rule.meaning,
        "do": rule.advice,
        "needs": ", ".join(need.meaning for need in Need if need in rule.needs),
        "Search Console calls it": rule.known_as,
        "source": ", ".join(rule.sources),
    }
    lines = [f"{rule.code}: {rule.title} ({rule.category}, {rule.severity})"]
    lines += [wrapper.fill(f"{name}: {text}") for name, text in parts.items() if text]
    return "\n".join(lines) + "\n"
