"""An audit as text, for a terminal: one line a finding, and what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sitemapreader.audit.figures import count_units
from sitemapreader.issues import Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemapreader.audit.models import Example, Facts, Finding

_EXAMPLES = 3
"""Examples of a finding; the other formats have more."""
_MAX_TEXT = 200
_MAX_WHY = 500
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
    sitemaps = count_units(facts.sitemaps, "sitemaps")
    found = f"{count_units(facts.urls, 'URLs')} in {sitemaps}; {complete}"
    yield found if facts.sitemaps else "no sitemap was read"


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
    reasons = Counter(each.reason for each in facts.not_run if not each.is_error)
    why = "; ".join(f"{number} as {reason}" for reason, number in reasons.items())
    if not facts.sitemaps:
        why = ""  # all of them, for one reason
    not_run = f"{len(facts.not_run)} not run" + (f": {why}" if why else "")
    yield f"{hits}; {len(facts.passed)} rules passed, {excerpt(not_run, _MAX_WHY)}"
    for each in facts.not_run:
        if each.is_error:
            yield f"broken: {each.rule.code}: {excerpt(each.reason, _MAX_TEXT)}"
