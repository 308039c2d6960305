"""The rules in words: a list, one of them, and the page of the documentation."""

from __future__ import annotations

from itertools import groupby
from textwrap import fill
from typing import TYPE_CHECKING

from sitemapreader.audit.models import Category
from sitemapreader.audit.options import AuditOptions, fill_figures
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader.audit.models import AuditRule

_NAMES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}
_NEEDS = {
    "robots": "a robots.txt that was read",
    "site": "the URL of a site",
    "fetch": "answers of a server",
    "complete": "a walk that read all",
    "urls": "`--urls`",
    "overlap": "a list that knows most of the URLs",
}
_WIDTH = 88


def sort_rules(rules: Iterable[AuditRule]) -> list[AuditRule]:
    """Return rules by category, the gravest first."""
    order = list(Category)
    return sorted(rules, key=lambda each: (order.index(each.category), -each.severity, each.code))


def format_rules(rules: Iterable[AuditRule]) -> str:
    """Return a list of rules, by category."""
    lines = []
    for category, group in groupby(sort_rules(rules), lambda rule: rule.category):
        lines.append(f"{category}")
        lines += [f"  {each.code:<30} {_NAMES[each.severity]:<8} {each.title}" for each in group]
    return "\n".join(lines) + "\n"


def explain_rule(rule: AuditRule) -> str:
    """Return what a rule means, in a few lines."""
    lines = [f"{rule.code}: {rule.title} ({rule.category}, {_NAMES[rule.severity]})"]
    lines += [
        fill(
            f"{name}: {text}",
            _WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, text in _describe(rule)
    ]
    return "\n".join(lines) + "\n"


def _describe(rule: AuditRule) -> Iterator[tuple[str, str]]:
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


def write_page(rules: Iterable[AuditRule]) -> str:
    """Return the page of rules of the documentation, in Markdown."""
    parts = []
    for category, group in groupby(sort_rules(rules), lambda rule: rule.category):
        parts.append(f"## {category}\n")
        for rule in group:
            parts.append(f"### `{rule.code}`\n\n**{rule.title}** ({_NAMES[rule.severity]})\n")
            parts.append(
                "\n".join(
                    f"- {name[0].upper()}{name[1:]}: {_protect(text)}"
                    for name, text in _describe(rule)
                )
                + "\n"
            )
    return "\n".join(parts)


def _protect(text: str) -> str:
    """Escape what Markdown would take for markup outside of code."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)
