"""The run of the rules over the database: findings, and the facts of a report."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import duckdb

from sitemapreader.audit.database import DISK_ERRORS, AuditDatabase, read_queries
from sitemapreader.audit.models import (
    MAX_DOCUMENTS,
    MAX_HOSTS,
    MAX_LANGUAGES,
    MAX_PLACES,
    MAX_SECTIONS,
    DocumentFact,
    Example,
    Facts,
    Finding,
    HostCount,
    LanguagePair,
    MonthCount,
    Need,
    NotRun,
    Place,
    SectionCount,
)
from sitemapreader.audit.rates import Stratum, estimate_rate
from sitemapreader.audit.rules import ABOUT_US, SqlRule
from sitemapreader.issues import IssueCode, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sitemapreader.audit.models import AuditRule, Rate
    from sitemapreader.report import Report

_QUERIES, _PAGE_QUERIES = read_queries("runner"), read_queries("pages")
_SAMPLED = ("pages", "old URLs")
"""Units of which a sample may have been visited."""
_MAY_BE_EXCUSED = (IssueCode.HTTP_STATUS, IssueCode.ROBOTS_UNREACHABLE)
"""Issues that may come from a site that refuses us, or from the network: no fault of the site."""


def find_missing(
    database: AuditDatabase,
    report: Report,
    *,
    is_http: bool,
    is_site: bool,
    has_known: bool,
    least_overlap: float,
    unvisited: Mapping[Need, str],
) -> dict[Need, str]:
    """Return the needs of rules that are not met, each with the reason and what to do.

    `unvisited` are those that visits of pages do not meet; `is_site` is whether a site was
    searched, and not a sitemap given; `least_overlap` is the share of the URLs that a list of known
    ones must have.
    """
    missing = dict(unvisited)
    if Need.PAGES in missing or not database.ask("SELECT 1 FROM built"):
        missing[Need.FOLDER] = "no built folder was looked through: give one, with all its pages"
    if not is_http:
        missing[Need.FETCH] = "sitemaps were read from files: give the URL of the site"
    if not database.ask("SELECT 1 FROM robots LIMIT 1"):
        missing[Need.ROBOTS] = missing[Need.SITE] = _explain_robots(database)
    elif not is_site or not database.ask("SELECT 1 FROM robots WHERE is_searched LIMIT 1"):
        missing[Need.SITE] = "a sitemap was given: give the URL of the site"
    if not report.complete:
        lost = database.ask(_QUERIES["lost"])[0][0]
        what = f"{lost} sitemaps are missing, or parts of them" if lost else "see the findings"
        missing[Need.COMPLETE] = f"not everything was read: {what}"
    if not has_known:
        missing[Need.KNOWN] = "there is no list of known URLs: give one with `urls`"
    else:
        urls, known = database.ask(_QUERIES["overlap"])[0]
        if known < least_overlap * urls:
            missing[Need.OVERLAP] = (
                f"only {known} of {urls} URLs are in the list of known URLs: it is too small to "
                f"call the others orphans, for which it has to have {least_overlap:.0%}"
            )
    return missing


def _explain_robots(database: AuditDatabase) -> str:
    why = database.ask(_QUERIES["unread_robots"])
    if not why:
        return "no robots.txt was looked for: give the URL of the site"
    return f"no robots.txt was read ({' '.join(str(part) for part in why[0] if part)})"


class _DocumentHits(NamedTuple):
    """How many hits of a rule one document has, and the first of them."""

    document: int | None
    number: int
    first: list[dict[str, str]]


class _CountedIssue(NamedTuple):
    """How often one document has an Issue; "" and `None` where that is not known."""

    url: str
    number: int
    document: int | None
    is_excused: bool


@attrs.define
class RuleRunner:
    """Runner of rules on a filled database."""

    _database: AuditDatabase
    _parameters: dict[str, object]
    _examples: int
    _missing: Mapping[Need, str]
    _severities: Mapping[str, Severity]
    findings: list[Finding] = attrs.field(factory=list, init=False)
    passed: list[AuditRule] = attrs.field(factory=list, init=False)
    not_run: list[NotRun] = attrs.field(factory=list, init=False)
    hits: Counter[int] = attrs.field(factory=Counter, init=False)
    """Number of a document -> hits in it, of all rules."""
    _has_sitemaps: bool = attrs.field(init=False)
    _looked_at: dict[str, int] = attrs.field(init=False)
    _urls: dict[int | None, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._has_sitemaps = self._database.ask(_QUERIES["has_sitemaps"])[0][0]
        self._looked_at = dict(self._database.ask(_QUERIES["looked_at"]))
        self._urls = dict(self._database.ask("SELECT id, url FROM document"))

    def run(self, rules: Sequence[SqlRule]) -> None:
        """Run the rules; one that fails is not run, and hides no other."""
        able = [each for each in rules if not self._lacks_input(each.rule)]
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
                _QUERIES["list_hits"].format(each.query),
                passed | {"rule_code": each.rule.code},
            )
            self._add_result(each, hits, passed)

    def _lacks_input(self, rule: AuditRule) -> bool:
        """Record a rule as not run if one of its needs is not met."""
        reason = next((self._missing[need] for need in rule.needs if need in self._missing), "")
        if reason:
            self.not_run.append(NotRun(rule, reason))
        return bool(reason)

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
        """Return the hits by document, those with most hits first."""
        if counted == 0:
            return []
        query = _QUERIES["count_hits"].format(rule.query)
        shown = {"examples_shown": max(1, self._examples)}
        hits = [_DocumentHits(*row) for row in self._database.ask(query, **passed, **shown)]
        return sorted(hits, key=lambda hit: (-hit.number, self._urls.get(hit.document, "")))

    def _add_result(
        self, rule: SqlRule, hits: list[_DocumentHits], passed: dict[str, object]
    ) -> None:
        if not hits:
            self._add_pass(rule.rule)
            return
        severity = rule.rule.severity
        if " AS severity" in rule.query:  # each hit has its own
            graded = self._database.ask(f"SELECT DISTINCT severity FROM ({rule.query})", **passed)
            severity = max(Severity[name.upper()] for (name,) in graded)
        places = {
            hit.document: Place(
                self._urls.get(hit.document, ""), hit.number, hit.first[0]["url"] or ""
            )
            for hit in hits
            if hit.document is not None
        }
        finding = Finding(
            rule.rule,
            severity,
            count=sum(hit.number for hit in hits),
            of=self._looked_at.get(rule.rule.unit, 0),
            places=tuple(places.values()),
            examples=tuple(self._choose_examples(hits)),
            rate=self._estimate(rule, passed) if rule.rule.unit in _SAMPLED else None,
        )
        self._add_finding(finding, {number: place.count for number, place in places.items()})

    def _estimate(self, rule: SqlRule, passed: dict[str, object]) -> Rate | None:
        """Return the rate of all pages, if some were not judged."""
        query = _PAGE_QUERIES["strata"].format(rule.query)
        rows = self._database.ask(query, **passed, is_old=rule.rule.unit == "old URLs")
        rate = estimate_rate(Stratum(*row) for row in rows)
        return None if rate is None or rate.low == rate.high else rate

    def _add_pass(self, rule: AuditRule) -> None:
        """Add a rule that did not hit: it has passed, if it had anything to look at."""
        if self._lacks_input(rule):
            return
        if self._has_sitemaps:
            self.passed.append(rule)
        else:
            self.not_run.append(NotRun(rule, "no sitemap was read"))

    def _add_finding(self, finding: Finding, hits: Mapping[int, int]) -> None:
        """Add a finding that names all its places; `hits` are by number of the document."""
        self.findings.append(
            attrs.evolve(
                finding,
                severity=self._severities.get(finding.code, finding.severity),
                places=finding.places[:MAX_PLACES],
                places_total=len(finding.places),
            )
        )
        self.hits.update(hits)

    def add_issues(self, rules: Mapping[str, AuditRule]) -> None:
        """Add a finding, a pass or a rule not run for each selected Issue code."""
        counted: dict[str, list[_CountedIssue]] = defaultdict(list)
        for code, *place in self._database.ask(_QUERIES["count_issues"]):
            counted[code].append(_CountedIssue(*place))
        # the site or the network may have kept sitemaps from us
        is_refused = any(
            code in ABOUT_US or any(place.is_excused for place in places)
            for code, places in counted.items()
        )
        for code in IssueCode:
            if code not in rules:
                continue
            if places := counted.get(code):
                self._add_issue(rules[code], code, places, is_refused=is_refused)
            elif code not in ABOUT_US:
                self._add_pass(rules[code])

    def _add_issue(
        self, rule: AuditRule, code: IssueCode, places: list[_CountedIssue], *, is_refused: bool
    ) -> None:
        if code is IssueCode.NO_SITEMAP and is_refused:
            reason = "the site refused to be searched, or did not answer"
            self.not_run.append(NotRun(rule, reason))
            return
        accused = [place for place in places if not (code in _MAY_BE_EXCUSED and place.is_excused)]
        places = accused or places
        lines = dict(self._database.ask(_QUERIES["issue_lines"], code=code))
        shown = self._database.ask(_QUERIES["issue_examples"], code=code, limit=self._examples)
        finding = Finding(
            rule,
            rule.severity if accused else Severity.INFO,
            count=sum(place.number for place in places),
            places=tuple(
                Place(place.url, place.number, line=lines.get(place.url))
                for place in places
                if place.url
            ),
            examples=tuple(Example(*row) for row in shown),
        )
        self._database.hit_queries[code] = _QUERIES["list_issues"], {"rule_code": str(code)}
        hits = {each.document: each.number for each in places if each.document is not None}
        self._add_finding(finding, hits)

    def _choose_examples(self, hits: Iterable[_DocumentHits]) -> list[Example]:
        """Return the first hits, in turn from the sitemaps that have most."""
        ranked = [
            (rank, Example(each["url"] or "", each["detail"] or "", self._urls.get(document, "")))
            for document, _, first in hits
            for rank, each in enumerate(first)
        ]
        ranked.sort(key=lambda item: item[0])
        return [example for _, example in ranked[: self._examples]]


# -- the facts, which a report shows besides the findings

_ALIKE = ("lastmod-all-equal", "lastmod-is-build-time")
"""Rules whose hits are sitemaps with dates that say nothing."""
_FLAT_SHARE = 0.5
"""A folder with more of the URLs is divided by names."""
_MAX_NAMES = 20
_FACT_QUERIES = read_queries("facts")


def gather_facts(
    database: AuditDatabase,
    runner: RuleRunner,
    parameters: Mapping[str, object],
    **head: Any,
) -> Facts:
    """Return the facts; `head` are the fields that the database does not know."""
    counted = dict(database.ask(_FACT_QUERIES["totals"]))
    sections = [
        SectionCount(host, path or "/", urls)
        for host, path, urls in database.ask(_FACT_QUERIES["sections"], limit=MAX_SECTIONS)
    ]
    if sections and sections[0].urls > _FLAT_SHARE * counted["urls"]:
        sections[:1] = _divide_by_names(database, sections[0])
        sections.sort(key=lambda section: -section.urls)
    hosts = [HostCount(*row) for row in database.ask(_FACT_QUERIES["hosts"], limit=MAX_HOSTS)]
    languages, left_out = _choose_languages(
        [LanguagePair(*r) for r in database.ask(_FACT_QUERIES["languages"])]
    )
    return Facts(
        **head,
        **counted,
        statuses=dict(database.ask(_FACT_QUERIES["statuses"])),
        months=tuple(_count_months(database, parameters)),
        sections=tuple(sections),
        sections_others=counted["urls"] - sum(section.urls for section in sections),
        hosts=tuple(hosts),
        hosts_others=counted["urls"] - sum(host.urls for host in hosts),
        languages=languages,
        languages_others=left_out,
        documents=tuple(_list_documents(database, runner.hits)),
        passed=tuple(runner.passed),
        not_run=tuple(runner.not_run),
    )


def _divide_by_names(database: AuditDatabase, section: SectionCount) -> list[SectionCount]:
    """Return the pages of a folder in groups of names that begin alike, and the rest."""
    least = max(2, section.urls // 50)
    where = {"host": section.host, "path": section.path}
    groups = [
        SectionCount(section.host, f"{section.path}{word}*", urls)
        for word, urls in database.ask(
            _FACT_QUERIES["names"], **where, least=least, limit=_MAX_NAMES
        )
    ]
    rest = section.urls - sum(group.urls for group in groups)
    return [*groups, attrs.evolve(section, urls=rest)] if rest else groups


def _count_months(
    database: AuditDatabase, parameters: Mapping[str, object]
) -> Iterator[MonthCount]:
    alike: set[int] = set()
    for code in _ALIKE:
        if code in database.hit_queries:
            query, passed = database.hit_queries[code]
            of_hits = f"SELECT id FROM document WHERE url IN (SELECT document FROM ({query}))"
            alike |= {number for (number,) in database.ask(of_hits, **passed)}
    now = {name: parameters[name] for name in ("now", "future_hours")}
    for row in database.ask(_FACT_QUERIES["months"], alike=sorted(alike), **now):
        yield MonthCount(*row)


def _choose_languages(pairs: list[LanguagePair]) -> tuple[tuple[LanguagePair, ...], int]:
    """Return the pairs of the most frequent languages, and how many are left out."""
    languages = list(dict.fromkeys(pair.page for pair in pairs))
    languages += [pair.target for pair in pairs if pair.target not in languages]
    names = list(dict.fromkeys(languages))
    kept = {*names[:MAX_LANGUAGES], "x-default"}
    chosen = tuple(pair for pair in pairs if pair.page in kept and pair.target in kept)
    return chosen, max(0, len(set(names) - kept))


def _list_documents(database: AuditDatabase, hits: Mapping[int, int]) -> Iterator[DocumentFact]:
    """Yield the documents, each behind the one that lists it."""
    below = defaultdict(list)
    rows = database.ask(_FACT_QUERIES["documents"], limit=MAX_DOCUMENTS)
    known = {row[1] for row in rows}
    for number, *row in rows:
        document = DocumentFact(*(*row, hits.get(number, 0)))
        below[document.parent if document.parent in known else ""].append(document)
    stack = [(0, each) for each in below.pop("", [])[::-1]]
    while stack or below:
        if not stack:  # documents that list each other: begin anywhere
            stack = [(0, each) for each in below.pop(next(iter(below)))[::-1]]
        depth, document = stack.pop()
        yield attrs.evolve(document, depth=depth)
        stack += [(depth + 1, each) for each in below.pop(document.url, [])[::-1]]
