"""The Issues of the walk as findings."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sitemapreader.audit.judging.reasons import ABOUT_US
from sitemapreader.audit.models import MAX_PLACES, Example, Finding, NotRun, Place
from sitemapreader.issues import IssueCode, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.audit.judging.runner import RuleRunner
    from sitemapreader.audit.models import AuditRule

_MAY_BE_EXCUSED = (IssueCode.HTTP_STATUS, IssueCode.ROBOTS_UNREACHABLE)
"""Issues that may come from a site that refuses us, or from the network: no fault of the site."""
_COUNTS = """
SELECT issue_count.code, document.url, sum(issue_count.count), any_value(issue_count.document),
       coalesce(bool_or(document.is_excused), false)
FROM issue_count LEFT JOIN document ON document.id = issue_count.document
WHERE issue_count.code <> 'empty'
   OR (document.via = 'index' AND document.news = 0 AND NOT contains(lower(document.url), 'news'))
GROUP BY issue_count.code, document.url
ORDER BY issue_count.code, sum(issue_count.count) DESC, document.url
"""
_EXAMPLES = """
SELECT coalesce(issue.url, ''), coalesce(issue.value, ''), coalesce(document.url, ''), issue.line
FROM issue LEFT JOIN document ON document.id = issue.document
WHERE issue.code = $code
ORDER BY document.url, issue.line, issue.url, issue.value
LIMIT $limit
"""
_LINES = """
SELECT document.url, min(issue.line) FROM issue JOIN document ON document.id = issue.document
WHERE issue.code = $code GROUP BY document.url
"""
_HITS = """
SELECT $rule_code AS code, coalesce(issue.url, '') AS url, coalesce(issue.value, '') AS detail,
       document.url AS document
FROM issue LEFT JOIN document ON document.id = issue.document
WHERE issue.code = $rule_code
"""


def add_issues(
    runner: RuleRunner,
    database: AuditDatabase,
    rules: Mapping[str, AuditRule],
    examples: int,
) -> None:
    """Add a finding, a pass or a rule not run for each selected Issue code.

    Args:
        runner: takes them.
        database: has the Issues.
        rules: the selected rules.
        examples: how many a finding shows.
    """
    counted: dict[str, list[tuple[str, int, int | None, bool]]] = defaultdict(list)
    for code, url, count, number, is_excused in database.ask(_COUNTS):
        counted[code].append((url or "", int(count), number, is_excused))
    for code in IssueCode:
        if code not in rules:
            continue
        rule, places = rules[code], counted.get(code, [])
        accused = [place for place in places if not (code in _MAY_BE_EXCUSED and place[3])]
        is_refused = code is IssueCode.NO_SITEMAP and _is_refused(counted)
        if not places:
            if code not in ABOUT_US:
                runner.add_pass(rule)
        elif is_refused:
            runner.not_run.append(
                NotRun(rule, "the site refused to be searched, or did not answer")
            )
        else:
            severity = rule.severity if accused else Severity.INFO
            database.hit_queries[code] = _HITS, {"rule_code": str(code)}
            runner.add_finding(
                _make_finding(rule, severity, accused or places, database, examples),
                {number: count for _, count, number, _ in accused or places if number is not None},
            )


def _is_refused(counted: Mapping[str, list[tuple[str, int, int | None, bool]]]) -> bool:
    """Return whether the site or the network may have kept sitemaps from us."""
    return any(
        code in ABOUT_US or any(is_excused for _, _, _, is_excused in places)
        for code, places in counted.items()
    )


def _make_finding(
    rule: AuditRule,
    severity: Severity,
    places: list[tuple[str, int, int | None, bool]],
    database: AuditDatabase,
    examples: int,
) -> Finding:
    rows = database.ask(_EXAMPLES, code=rule.code, limit=examples)
    lines = dict(database.ask(_LINES, code=rule.code))
    named = [Place(url, count, line=lines.get(url)) for url, count, _, _ in places if url]
    return Finding(
        rule,
        severity,
        count=sum(count for _, count, _, _ in places),
        places=tuple(named[:MAX_PLACES]),
        places_total=len(named),
        examples=tuple(Example(*row) for row in rows),
    )
