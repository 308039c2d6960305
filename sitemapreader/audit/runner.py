"""The run of the rules over the database, and what they find."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import attrs
import duckdb

from sitemapreader.audit.database.connection import DISK_ERRORS
from sitemapreader.audit.issues import ABOUT_US
from sitemapreader.audit.models import MAX_PLACES, Example, Finding, Need, NotRun, Place
from sitemapreader.issues import IssueCode, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.audit.models import AuditRule
    from sitemapreader.audit.rules import SqlRule
    from sitemapreader.report import Report

_LOST = """
SELECT count(*) FROM document
WHERE role = 'sitemap' AND (status IN ('failed', 'partial') OR (status = 'skipped' AND is_excused))
"""
_OVERLAP = "SELECT count(*), count(*) FILTER (key IN (SELECT key FROM known)) FROM url"


def find_missing(
    database: AuditDatabase,
    report: Report,
    *,
    is_http: bool,
    is_site: bool,
    has_known: bool,
    least_overlap: float,
) -> dict[Need, str]:
    """Return the needs that are not met, each with the reason and what to do.

    Args:
        database: with the walk in it.
        report: of the walk.
        is_http: whether sitemaps came from servers.
        is_site: whether a site was searched, and not a sitemap given.
        has_known: whether a list of known URLs was given.
        least_overlap: share of the URLs that the list must know.
    """
    missing = {}
    if not is_http:
        missing[Need.FETCH] = "sitemaps were read from files: give the URL of the site"
    if not database.ask("SELECT 1 FROM robots LIMIT 1"):
        missing[Need.ROBOTS] = missing[Need.SITE] = _explain_robots(database)
    elif not database.ask("SELECT 1 FROM robots WHERE is_searched LIMIT 1"):
        missing[Need.SITE] = "a sitemap was given: give the URL of the site"
    if not is_site:
        missing.setdefault(Need.SITE, "a sitemap was given: give the URL of the site")
    if not report.complete:
        lost = database.ask(_LOST)[0][0]
        what = f"{lost} sitemaps are missing, or parts of them" if lost else "see the findings"
        missing[Need.COMPLETE] = f"not everything was read: {what}"
    if not has_known:
        missing[Need.KNOWN] = "there is no list of known URLs: give one with `urls`"
    elif reason := _check_overlap(database, least_overlap):
        missing[Need.OVERLAP] = reason
    return missing


def _explain_robots(database: AuditDatabase) -> str:
    why = database.ask("SELECT reason, http_status FROM document WHERE role = 'robots' LIMIT 1")
    if not why:
        return "no robots.txt was looked for: give the URL of the site"
    reason, status = why[0]
    return f"no robots.txt was read ({' '.join(str(part) for part in (reason, status) if part)})"


def _check_overlap(database: AuditDatabase, least: float) -> str:
    urls, known = database.ask(_OVERLAP)[0]
    if known >= least * urls:
        return ""
    return (
        f"only {known} of {urls} URLs are in the list of known URLs: it is too small to call "
        f"the others orphans, for which it has to have {least:.0%}"
    )


_LOOKED_AT = {
    "URLs": "SELECT count(*) FROM url_row",
    "sitemaps": "SELECT count(*) FROM document WHERE role = 'sitemap' AND final_url <> ''",
    "indexes": "SELECT count(*) FROM document WHERE format = 'sitemapindex'",
    "images": "SELECT count(*) FROM image",
    "videos": "SELECT count(*) FROM video",
    "links": "SELECT count(*) FROM alternate WHERE hreflang IS NOT NULL",
    "known URLs": "SELECT count(*) FROM known",
}
"""Unit of a rule -> how many of them there are."""
_ALL_HITS = "SELECT $rule_code AS code, hit.url, hit.detail, document.url AS document"
_JOIN_DOCUMENT = "LEFT JOIN document ON document.id = hit.document"


class _DocumentHits(NamedTuple):
    """How many hits of a rule one document has, and the first of them."""

    document: int | None
    number: int
    first: list[dict[str, str]]


@attrs.define
class RuleRunner:
    """Runner of rules on a filled database.

    Attributes:
        findings: of the rules that hit.
        passed: rules that did not.
        not_run: rules that could not run, with the reason.
        hits: number of a document -> hits in it, of all rules.
    """

    _database: AuditDatabase
    _parameters: dict[str, object]
    _examples: int
    _missing: Mapping[Need, str]
    _severities: Mapping[str, Severity]
    _has_sitemaps: bool = attrs.field(kw_only=True)
    findings: list[Finding] = attrs.field(factory=list, init=False)
    passed: list[AuditRule] = attrs.field(factory=list, init=False)
    not_run: list[NotRun] = attrs.field(factory=list, init=False)
    hits: Counter[int] = attrs.field(factory=Counter, init=False)
    _looked_at: dict[str, int] = attrs.field(factory=dict, init=False)
    _urls: dict[int, str] = attrs.field(factory=dict, init=False)

    def run(self, rules: Sequence[SqlRule]) -> None:
        """Run the rules; one that fails is not run, and hides no other."""
        able = [each for each in rules if not self._lacks_input(each.rule)]
        self._urls = dict(self._database.ask("SELECT id, url FROM document"))
        counts = dict[str, int]()
        for table in sorted({each.table for each in able if each.table}):
            counts |= self._scan(table, [each for each in able if each.table == table])
        for each in able:
            passed = each.choose_parameters(self._parameters)
            try:
                hits = self._count_hits(each, passed, counts.get(each.rule.code))
            except duckdb.Error as error:
                if isinstance(error, (*DISK_ERRORS, duckdb.InterruptException)):
                    raise  # the disk or the caller, not the rule
                self.not_run.append(NotRun(each.rule, f"its query failed: {error}", is_error=True))
                continue
            self._database.hit_queries[each.rule.code] = (
                f"{_ALL_HITS} FROM ({each.query}) AS hit {_JOIN_DOCUMENT}",
                passed | {"rule_code": each.rule.code},
            )
            self._add_result(each, hits, passed)

    def _lacks_input(self, rule: AuditRule) -> bool:
        """Record a rule as not run if one of its needs is not met."""
        reason = self._find_missing(rule)
        if reason:
            self.not_run.append(NotRun(rule, reason))
        return bool(reason)

    def _find_missing(self, rule: AuditRule) -> str:
        return next((self._missing[need] for need in rule.needs if need in self._missing), "")

    def _scan(self, table: str, rules: Sequence[SqlRule]) -> dict[str, int]:
        """Count the hits of all rules about single URLs of a table, in one scan.

        If that fails, one of them is broken: then each is counted by itself.
        """
        columns = ", ".join(f"count(*) FILTER ({each.where})" for each in rules)
        passed = {
            k: v for each in rules for k, v in each.choose_parameters(self._parameters).items()
        }
        try:
            counted = self._database.ask(f"SELECT {columns} FROM {table}", **passed)
        except (duckdb.BinderException, duckdb.ParserException, duckdb.ConversionException):
            return {}
        return {each.rule.code: n for each, n in zip(rules, counted[0], strict=True)}

    def _count_hits(
        self, rule: SqlRule, passed: dict[str, object], counted: int | None
    ) -> list[_DocumentHits]:
        """Return the hits by document, with the first ones of each."""
        if counted == 0:
            return []
        query = (
            "SELECT hit.document, count(*),"
            " min({'url': hit.url, 'detail': hit.detail::VARCHAR}, $examples_shown)"
            f" FROM ({rule.query}) AS hit GROUP BY hit.document"
        )
        shown = {"examples_shown": max(1, self._examples)}
        return [_DocumentHits(*row) for row in self._database.ask(query, **passed, **shown)]

    def _add_result(
        self, rule: SqlRule, hits: list[_DocumentHits], passed: dict[str, object]
    ) -> None:
        if not hits:
            self.add_pass(rule.rule)
            return
        hits.sort(key=lambda hit: (-hit.number, self._url_of(hit.document)))
        places = [hit for hit in hits if hit.document is not None]
        finding = Finding(
            rule.rule,
            self._find_severity(rule, passed),
            count=sum(hit.number for hit in hits),
            of=self._count_looked_at(rule.rule.unit),
            places=tuple(
                Place(self._url_of(hit.document), hit.number, hit.first[0]["url"] or "")
                for hit in places[:MAX_PLACES]
            ),
            places_total=len(places),
            examples=tuple(self._choose_examples(hits)),
        )
        self.add_finding(
            finding, {hit.document: hit.number for hit in places if hit.document is not None}
        )

    def add_pass(self, rule: AuditRule) -> None:
        """Add a rule that did not hit: it has passed, if it had anything to look at."""
        if reason := self._find_missing(rule):
            self.not_run.append(NotRun(rule, reason))
        elif not self._has_sitemaps:
            self.not_run.append(NotRun(rule, "no sitemap was read"))
        else:
            self.passed.append(rule)

    def add_finding(self, finding: Finding, hits: Mapping[int, int]) -> None:
        """Add a finding; `hits` are by number of the document."""
        severity = self._severities.get(finding.code, finding.severity)
        self.findings.append(attrs.evolve(finding, severity=severity))
        self.hits.update(hits)

    def _find_severity(self, rule: SqlRule, passed: dict[str, object]) -> Severity:
        """Return the severity: the gravest of its hits, or the rule's."""
        if " AS severity" not in rule.query:
            return rule.rule.severity
        graded = self._database.ask(f"SELECT DISTINCT severity FROM ({rule.query})", **passed)
        return max(Severity[name.upper()] for (name,) in graded)

    def _choose_examples(self, hits: Iterable[_DocumentHits]) -> list[Example]:
        """Return the first hits, in turn from the sitemaps that have most."""
        ranked = [
            (
                rank,
                number,
                Example(each["url"] or "", each["detail"] or "", self._url_of(hit.document)),
            )
            for number, hit in enumerate(hits)
            for rank, each in enumerate(hit.first)
        ]
        ranked.sort(key=lambda item: item[:2])
        return [example for _, _, example in ranked[: self._examples]]

    def _count_looked_at(self, unit: str) -> int:
        if unit not in self._looked_at:
            query = _LOOKED_AT.get(unit)
            self._looked_at[unit] = self._database.ask(query)[0][0] if query else 0
        return self._looked_at[unit]

    def _url_of(self, document: int | None) -> str:
        return "" if document is None else self._urls.get(document, "")


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
