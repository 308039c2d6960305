"""An audit as text, for a terminal: one line a finding, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.figures import count_units
from sitemapreader.issues import Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemapreader.audit.models import Example, Facts, Finding

_EXAMPLES = 3
"""Examples of a finding; the other formats have more."""
_MAX_CODES = 6
"""Rules that are named for each reason why they were not run; the rest is counted."""
_MAX_TEXT = 200
_NAMES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def format_audit(findings: Sequence[Finding], facts: Facts) -> str:
    """Return the findings, the gravest first, and what was not run."""
    lines = [*_describe_site(facts), ""]
    for finding in findings:
        lines += [*_describe_finding(finding, facts), ""]
    return "\n".join([*lines, *_summarize(findings, facts)]) + "\n"


def _describe_site(facts: Facts) -> Iterator[str]:
    yield f"Sitemaps of {excerpt(facts.source, _MAX_TEXT)}"
    complete = "everything was read" if facts.complete else "not everything was read"
    documents = count_units(facts.documents_total, "documents")
    yield f"{count_units(facts.urls, 'URLs')} in {documents}; {complete}"


def _describe_finding(finding: Finding, facts: Facts) -> Iterator[str]:
    rule = finding.rule
    new = "" if finding.new is None else f", {finding.new:,} new"
    # "1 of 3,000 URLs", but "1 host"
    hits = f"{finding.count:,} of {count_units(finding.of, rule.unit)}"
    if not finding.of:
        hits = count_units(finding.count, rule.unit)
    yield f"{_NAMES[finding.severity]}: {rule.title} [{rule.code}]"
    yield f"    {hits}{new}. {rule.advice}"
    for example in finding.examples[:_EXAMPLES]:
        yield f"    - {_describe_example(example, facts)}"
    if finding.count > _EXAMPLES and finding.examples:
        yield f"    - and {finding.count - len(finding.examples[:_EXAMPLES]):,} more"


def _describe_example(example: Example, facts: Facts) -> str:
    document = facts.files.get(example.document, example.document)
    parts = [example.url or document, example.detail and f"({example.detail})"]
    if document and example.document != (example.url or example.document):
        line = "" if example.line is None else f", line {example.line}"
        parts.append(f"in {document}{line}")
    return " ".join(excerpt(part, _MAX_TEXT) for part in parts if part)


def _summarize(findings: Sequence[Finding], facts: Facts) -> Iterator[str]:
    counts = [
        f"{number} {name}{'s' * (number != 1)}"
        for severity, name in _NAMES.items()
        if (number := sum(finding.severity is severity for finding in findings))
    ]
    hits = ", ".join(counts) or "no findings"
    yield f"{hits}; {len(facts.passed)} rules passed, {len(facts.not_run)} not run"
    by_reason: dict[str, list[str]] = {}
    for each in facts.not_run:
        by_reason.setdefault(each.reason, []).append(each.rule.code)
    for reason, codes in by_reason.items():
        named = ", ".join(codes[:_MAX_CODES])
        more = f" and {len(codes) - _MAX_CODES} more" if len(codes) > _MAX_CODES else ""
        yield f"not run, because {excerpt(reason, _MAX_TEXT)}: {named}{more}"
