"""The run of the rules over the database."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import attrs
import duckdb

from sitemapreader.audit.database.connection import DISK_ERRORS
from sitemapreader.audit.models import MAX_PLACES, Example, Finding, NotRun, Place
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.audit.judging.rule_files import SqlRule
    from sitemapreader.audit.models import AuditRule, Need

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
