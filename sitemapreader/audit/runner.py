"""The run of the rules: they fill a table of places, which is then asked."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import duckdb

from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.outcomes import ABSENT_STATUSES, RECORD_ERRORS
from sitemapreader.audit.database import (
    DISK_ERRORS,
    AuditDatabase,
    fill_values,
    read_queries,
)
from sitemapreader.audit.models import (
    FOREMOST,
    LINK_UNITS,
    MAX_HITS,
    MAX_PLACES,
    PAGE_UNITS,
    SEVERITIES,
    Category,
    Need,
    estimate_rate,
)
from sitemapreader.audit.rules import ABOUT_US, ISSUE_CODES, RulePlan
from sitemapreader.audit.values import (
    DocumentFacts,
    FaultyPages,
    Finding,
    Hit,
    HostCount,
    LanguagePair,
    Month,
    NotRun,
    Place,
    Rate,
    Rule,
    Section,
    SharedHits,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from sitemapreader import Report

T = TypeVar("T")

_QUERIES, _PAGES, _FACTS = (read_queries(name) for name in ("runner", "pages", "facts"))
_SAMPLED = {"pages": False, "old URLs": True}
"""Unit that may have been sampled -> whether it is of the old site."""
_UNITS_OF_PAGES = {
    "pages": LINK_UNITS | {"pages", "URLs"},
    "old URLs": frozenset({"old URLs"}),
}
"""Unit of visited pages -> units of rules that find faults of single ones."""
_OF_SITEMAPS = ("sitemaps", "indexes")
"""Units that stand for the URLs in them."""
_MAY_BE_EXCUSED = (IssueCode.HTTP_STATUS, IssueCode.ROBOTS_UNREACHABLE)
"""Issues that may come from a site that refuses us, or from the network: no fault of the site."""
_BROKEN_LINE = "robots-sitemap-broken"
"""Rule about missing sitemaps of robots.txt, which Issues then need not repeat."""
_NO_ROBOTS_FILE = "the folder has no robots.txt"
_HIT_CODES = "SELECT DISTINCT code FROM place"
_ALIKE = 0.9
"""More than this share of hits at pages that another rule hits is one fault seen twice."""


_NO_ALTERNATES = {
    True: "no sitemap has links to other languages: visit pages with `pages` to read theirs",
    False: "no sitemap, and no visited page that may be indexed, has links to other languages",
}
"""Why links to other languages are unknown, by whether the pages are unknown, too."""


_NEEDED_TABLES = {
    Need.FOLDER: "built",
    Need.BASE: "(SELECT 1 FROM built UNION ALL SELECT 1 FROM stand_in)",
}
"""Need -> the table that has a row only if it is fulfilled."""


_HOSTS_WITH_RULES = {
    Need.URL_ROBOTS: ("URLs", "judged_urls"),
    Need.IMAGE_ROBOTS: ("images", "judged_images"),
}
"""Need of a robots.txt -> what its host has, and the query whether one was read, or none needed."""


def find_unmet_needs(
    database: AuditDatabase,
    report: Report,
    unvisited: Mapping[Need, str],
    least_overlap: float,
) -> tuple[dict[Need, str], str]:
    """Return the unmet needs of rules, each with the reason and the remedy.

    The second text is what rules do not know that need all sitemaps, and run without those that do
    not exist. `unvisited` are needs that visits of pages do not meet; `least_overlap` is the share
    of the URLs that a list of known ones must have.
    """
    missing = dict(unvisited) | {
        need: "no built folder was read: pass one, with all its pages"
        for need, table in _NEEDED_TABLES.items()
        if not database.ask(f"SELECT 1 FROM {table}")
    }
    doubt = ""
    if not database.is_http:
        missing[Need.FETCH] = "sitemaps were read from files: pass the URL of the site"
    missing |= _find_unread_robots(database)
    if not report.complete:
        doubt, lost = _explain_loss(database)
        if lost:
            missing[Need.COMPLETE] = f"not everything was read: {lost}"
    if not database.ask("SELECT 1 FROM alternate WHERE hreflang IS NOT NULL LIMIT 1"):
        missing[Need.HREFLANG] = _NO_ALTERNATES[Need.PAGES in missing]
    if not database.ask("SELECT 1 FROM known LIMIT 1"):
        missing[Need.KNOWN] = "there is no list of known URLs: pass one with `urls`"
        return missing, doubt
    urls, in_list = database.ask(_QUERIES["overlap"])[0]
    if in_list < least_overlap * urls:
        missing[Need.OVERLAP] = (
            f"the list of known URLs has only {in_list} of {count_units(urls, 'URLs')}: to call "
            f"the others orphans, it must have {least_overlap:.0%}"
        )
    return missing, doubt


def _find_unread_robots(database: AuditDatabase) -> dict[Need, str]:
    """Return the needs of a robots.txt that are not met, each with the reason."""
    missing = {}
    if not database.ask("SELECT 1 FROM robots WHERE is_searched LIMIT 1"):
        missing[Need.SITE] = _explain_robots(database)
        if not database.ask("SELECT 1 FROM robots LIMIT 1"):
            missing[Need.ROBOTS] = missing[Need.SITE]
    for need, (noun, query) in _HOSTS_WITH_RULES.items():
        if not database.ask_value(_QUERIES[query]):
            missing[need] = f"no robots.txt of a host of {noun} was read"
    return missing


def _explain_loss(database: AuditDatabase) -> tuple[str, str]:
    """Return the doubts because of missing sitemaps and records, or the other losses."""
    passed = [*map(str, RECORD_ERRORS)]
    lost, gone, errors, records = database.ask(_QUERIES["lost"], of_records=passed)[0]
    if lost:
        return "", f"all or parts of {count_units(lost, 'sitemaps')} could not be read"
    if errors or not (gone or records):
        return "", "see the findings"
    doubts = []
    if gone:
        was = "was" if gone == 1 else "were"
        doubts.append(f"{count_units(gone, 'sitemaps')} {was} not found")
    if records:
        doubts.append(f"{count_units(records, 'records')} could not be read")
    return f"{' and '.join(doubts)}, and may list some of these URLs", ""


def _explain_robots(database: AuditDatabase) -> str:
    """Return why the robots.txt of the site was not read."""
    found = database.ask(_QUERIES["unread_robots"])
    if not found:
        return (
            "a sitemap was given, so no robots.txt was read: pass the URL of the site"
        )
    reason, status = found[0]
    if status in ABSENT_STATUSES:
        if database.is_http:
            return f"the site has no robots.txt ({status})"
        below = database.ask_column("SELECT base_url FROM built WHERE NOT is_whole")
        if below:
            return f"the folder is at {below[0]}, and its host has the robots.txt"
        return _NO_ROBOTS_FILE
    return f"no robots.txt was read ({' '.join(str(part) for part in (reason, status) if part)})"


@attrs.define
class RuleRunner:
    """Runner of rules on a filled database.

    `missing` are needs that are not met, with the reason; `doubt` is what is not known by rules
    that need all sitemaps.
    """

    _database: AuditDatabase
    _plan: RulePlan
    _parameters: dict[str, object]
    _examples: int
    _missing: Mapping[Need, str]
    _doubt: str = ""
    passed: list[Rule] = attrs.field(factory=list, init=False)
    not_run: list[NotRun] = attrs.field(factory=list, init=False)
    ignored: dict[str, int] = attrs.field(factory=dict, init=False)
    """Code -> number of hits that are left out by their URLs."""

    def run(self) -> None:
        """Run the rules; one that fails is not run, and hides no other."""
        self.not_run += self._plan.broken
        self._place_issues(max(1, self._examples))
        for code, query in self._plan.queries.items():
            rule = self._plan.chosen[code]
            if self._lacks_input(rule, {*self._missing} - {Need.PROBES}):
                continue
            try:
                own = fill_values(query, self._parameters)
                own = self._leave_ignored(code, own)
                hits = self._database.define_rule(code, own)
                if rule.category == Category.CUSTOM:  # it may read what others hit
                    self._database.show_rules()
                # most rules hit nothing, and to say so takes half as long
                if not self._database.is_small or self._database.ask(
                    f"FROM ({own}) LIMIT 1"
                ):
                    is_named = self._database.is_small or rule.unit in PAGE_UNITS
                    self._database.ask(
                        _QUERIES["place_hits"].format(code, hits),
                        most=MAX_HITS if is_named else max(1, self._examples),
                    )
                if code in ISSUE_CODES:  # the walk has found more of it
                    issues = _QUERIES["view_issue"].format(code)
                    both = f"FROM ({hits}) UNION ALL BY NAME FROM ({issues})"
                    self._database.define_rule(code, both)
            except duckdb.Error as error:
                if isinstance(error, (*DISK_ERRORS, duckdb.InterruptException)):
                    raise  # the disk or the caller, not the rule
                self._database.drop_rule(code)
                self._leave_out(rule, f"its query failed: {error}", is_error=True)
        self._database.ask(_QUERIES["forget_ignored"])
        if self._database.is_kept:
            self._database.show_rules()
        self._sort_out()

    def _leave_ignored(self, code: str, query: str) -> str:
        """Return the query of a rule without the hits that do not count."""
        if code not in self._plan.ignored:
            return query
        hits = self._database.define_rule(code, query)
        number = self._ignore_hits(code, hits)
        if not number:
            return query
        self.ignored[code] = self.ignored.get(code, 0) + number
        return _QUERIES["split_hits"].format(code, hits, "NOT")

    def _ignore_hits(self, code: str, hits: str) -> int:
        """Note the URLs whose hits of a rule do not count; return how many these are."""
        places = self._database.ask_column(_QUERIES["list_places"].format(hits))
        patterns = self._plan.ignored[code]
        self._database.insert_rows(
            "ignored",
            [
                (code, place)
                for place in places
                if any(pattern.search(place) for pattern in patterns)
            ],
        )
        query = _QUERIES["split_hits"].format(code, hits, "")
        return int(self._database.ask_value(f"SELECT count(*) FROM ({query})"))

    def _ignore_issues(self, code: str) -> None:
        """Forget the Issues that do not count, as far as they are kept."""
        hits = f"SELECT rowid AS id, * FROM issue WHERE code = '{code}'"
        number = self._ignore_hits(code, hits)
        if number:
            self.ignored[code] = number
            query = _QUERIES["split_hits"].format(code, hits, "")
            for name in ("ignore_counts", "ignore_issues"):
                self._database.ask(_QUERIES[name].format(query))
            self._database.ask("DELETE FROM issue_count WHERE count = 0")

    def _leave_out(
        self,
        rule: Rule,
        reason: str,
        *,
        is_error: bool = False,
    ) -> None:
        """Record why a rule was not run, and how to make it run."""
        self.not_run.append(NotRun(rule=rule, reason=reason, is_error=is_error))

    def _lacks_input(self, rule: Rule, missing: Collection[Need]) -> bool:
        """Record a rule as not run if one of its needs is missing."""
        reasons = {
            str(need): why for need, why in self._missing.items() if need in missing
        }
        reason = next((reasons[need] for need in rule.needs if need in reasons), "")
        if reason:
            self._leave_out(rule, reason)
        return bool(reason)

    def _judges(self, code: str) -> bool:
        """Return whether a rule is chosen, and all that it needs is there."""
        rule = self._plan.chosen.get(code)
        return rule is not None and self._missing.keys().isdisjoint(rule.needs)

    def _place_issues(self, most: int) -> None:
        """Place the Issues of the walk, as if each code were a rule."""
        for code in self._plan.ignored.keys() & ISSUE_CODES.keys():
            self._ignore_issues(code)
        ask = self._database.ask
        chosen = self._plan.chosen
        codes = [code for code in chosen if code in ISSUE_CODES]
        is_refused = self._database.ask_value(
            _QUERIES["refused"], about_us=[*map(str, ABOUT_US)]
        )
        absent = str(IssueCode.NO_SITEMAP)
        found = ask("SELECT 1 FROM issue_count WHERE code = $code", code=absent)
        if is_refused and found and absent in codes:
            codes.remove(absent)
            self._leave_out(
                chosen[absent], "the site refused the search, or did not respond"
            )
        is_told = self._judges(_BROKEN_LINE)
        if is_told and found and absent in codes and ask("FROM broken_line LIMIT 1"):
            codes.remove(absent)
            self._leave_out(
                chosen[absent], "robots.txt names a sitemap that cannot be read"
            )
        passed = {
            "codes": codes,
            "excusable": [*map(str, _MAY_BE_EXCUSED)],
            "is_told": is_told,
            "most": most,
        }
        ask(_QUERIES["place_issues"], **passed)
        for code in self._database.ask_column(_HIT_CODES):
            self._database.define_rule(code, _QUERIES["view_issue"].format(code))

    def _sort_out(self) -> None:
        """Record the rules without a hit: they have passed, if they had any input."""
        nothing = self._database.ask_value(_QUERIES["nothing_read"])
        known = {*self._database.ask_column(_HIT_CODES)}
        known |= {each.rule.code for each in self.not_run}
        for code, rule in self._plan.chosen.items():
            if (
                code in known
                or code in ABOUT_US
                or self._lacks_input(rule, self._missing)
            ):
                continue
            if nothing:
                self._leave_out(rule, f"no {nothing} was read")
            else:
                self.passed.append(rule)

    def find(self) -> list[Finding]:
        """Return the findings, the gravest first; the ones that it causes follow each."""
        looked_at = dict(self._database.ask(_QUERIES["looked_at"]))
        places = self._group_rows("places", Place, MAX_PLACES)
        hits = self._group_rows("hits", Hit, MAX_HITS)
        found = {}
        for row in self._database.ask_rows(_QUERIES["findings"]):
            hit = _HitCount(**row)
            code = hit.code
            rule = self._plan.chosen[code]
            rate = self._estimate(rule.unit, code)
            unit = rule.unit
            if unit == "URLs" and code in ISSUE_CODES:
                unit = "records"  # because a dropped record has no URL
            found[code] = Finding(
                rule=rule,
                severity=self._plan.severities.get(code)
                or hit.severity
                or rule.severity,
                count=hit.count,
                of=looked_at.get(unit, 0),
                places=places[code],
                places_total=hit.places_total,
                examples=hits[code][: self._examples],
                hits=hits[code],
                rate=rate,
                urls=_count_urls(rule, hit, rate, looked_at["URLs"]),
                doubt=self._find_doubt(rule),
            )
        return self._group_causes(found)

    def _group_rows(
        self,
        name: str,
        kind: Callable[..., T],
        most: int,
    ) -> defaultdict[str, list[T]]:
        """Return the values of a query, at most `most` of each rule, by its code."""
        groups = defaultdict[str, list[T]](list)
        for row in self._database.ask_rows(_QUERIES[name], most=most):
            groups[row.pop("code")].append(kind(**row))
        return groups

    def _find_doubt(self, rule: Rule) -> str:
        """Return the doubt about a rule that hit although an input was missing."""
        if Need.PROBES in rule.needs:
            return self._missing.get(Need.PROBES, "")
        if Need.COMPLETE in rule.needs:
            return self._doubt
        return ""

    def _estimate(self, unit: str, *codes: str) -> Rate | None:
        """Return the rate of all pages that any of some rules hits, if pages were sampled."""
        if unit not in _SAMPLED:
            return None
        is_old = _SAMPLED[unit]
        is_sampled = self._database.ask_value(_PAGES["is_sampled"], is_old=is_old)
        if not is_sampled:
            return None
        query = _PAGES["strata"].format(self._database.query_page_hits(codes))
        rate = estimate_rate(self._database.ask(query, is_old=is_old))
        if rate is None or rate.low == rate.high:
            return None
        return rate

    def _hits_of(self, codes: Collection[str]) -> str:
        """Return a query of the URLs that any of some rules hits."""
        self._database.show_rules(*codes)
        return " UNION ".join(f'SELECT url FROM rule."{code}"' for code in codes)

    def count_faulty(
        self, findings: Iterable[Finding], unit: str
    ) -> FaultyPages | None:
        """Return how many pages have an error or a warning, and the rate of all pages.

        Rules about URLs, links, images and videos count beside those about pages. A link whose
        fault is that of another page is no fault of its own. `None` if no page was judged, or no
        rule ran that could say so.
        """
        judged = dict(self._database.ask(_QUERIES["looked_at"]))[unit]
        units = _UNITS_OF_PAGES[unit]
        mild = SEVERITIES[-1]
        can_say = any(
            (self._plan.severities.get(rule.code) or rule.severity) != mild
            for rule in self.passed
            if rule.unit == unit
        )
        codes = sorted(
            each.rule.code
            for each in findings
            if each.severity != mild
            and each.rule.unit in units
            and not (each.cause and each.rule.unit in LINK_UNITS)
        )
        if not judged or not (can_say or codes):
            return None
        if not codes:
            return FaultyPages(count=0, of=judged)
        query = _PAGES["count_faulty"].format(self._database.query_page_hits(codes))
        return FaultyPages(
            count=self._database.ask_value(query, is_old=_SAMPLED[unit]),
            of=judged,
            rate=self._estimate(unit, *codes),
        )

    def _group_causes(self, found: dict[str, Finding]) -> list[Finding]:
        """Return the findings in their order, each cause before its consequences.

        The gravest come first, and of these the ones with most URLs that are wrong. Notes about
        what was not read come last.
        """
        nearest = {code: self._find_cause(each, found) for code, each in found.items()}
        categories = list(Category)
        for code, each in found.items():
            each.cause = _find_first(code, nearest)
            if each.cause:
                each.also = []

        def rank(each: Finding) -> tuple[object, ...]:
            is_about_us = each.rule.code in ABOUT_US
            return (
                SEVERITIES.index(each.severity),
                each.rule.code not in FOREMOST,
                is_about_us,
                -each.urls,
                categories.index(Category(each.rule.category)),
                each.rule.code,
            )

        ranked = sorted(found.values(), key=rank)
        return [
            each
            for first in ranked
            if not first.cause
            for each in (
                first,
                *(other for other in ranked if other.cause == first.rule.code),
            )
        ]

    def _find_cause(self, finding: Finding, found: Mapping[str, Finding]) -> str:
        """Return the rule that is as grave and hits the same pages, or "".

        If several rules hit most of them together, it is the one that hits most. What each of them
        hits is noted in the finding, whatever its gravity.
        """
        causes = [code for code in map(str, finding.rule.causes) if code in found]
        if foremost := [code for code in FOREMOST if code in causes]:
            return foremost[0]
        shares = {code: self._find_share(finding, found, code) for code in causes}
        finding.also = [
            SharedHits(code=code, count=count)
            for code, (count, _) in shares.items()
            if count
        ]
        grave = {
            code: share
            for code, share in shares.items()
            if share[0] and self._is_as_grave(found[code], finding)
        }
        for code, (count, hits) in grave.items():
            if count > _ALIKE * hits:
                return code
        if grave:
            count, hits = self._find_share(finding, found, *grave)
            if count > _ALIKE * hits:
                return max(grave, key=grave.__getitem__)
        return ""

    @staticmethod
    def _is_as_grave(cause: Finding, finding: Finding) -> bool:
        grade = SEVERITIES.index
        return grade(cause.severity) <= grade(finding.severity)

    def _find_share(
        self,
        finding: Finding,
        found: Mapping[str, Finding],
        *codes: str,
    ) -> tuple[int, int]:
        """Return how many hits are on pages that any of some rules hits, and out of how many."""
        own = str(finding.rule.code)
        self._database.show_rules(own)
        is_of_links = finding.rule.unit in LINK_UNITS
        query = _QUERIES["shared"].format(own, self._hits_of(codes), is_of_links)
        count, hits = self._database.ask(query)[0]
        if not hits:  # it is about whole sitemaps
            hits = finding.urls
            count = min(hits, sum(found[code].urls for code in codes))
        return int(count), int(hits)


@attrs.frozen(kw_only=True)
class _HitCount:
    """The hits of a rule in numbers, as the database has them."""

    code: str
    count: int
    places_total: int
    severity: str | None
    urls_of_places: int | None
    is_unread: bool | None
    has_urls: bool | None
    entries: int | None


def _count_urls(
    rule: Rule,
    hit: _HitCount,
    rate: Rate | None,
    urls: int,
) -> int:
    """Return how many URLs are wrong; of sitemaps these are all that they list."""
    if rate is not None:
        return max(hit.count, round(rate.share * rate.population))
    if rule.category != Category.READING:
        if rule.unit in _OF_SITEMAPS:
            return hit.urls_of_places or 0
        return hit.count
    if hit.entries or hit.has_urls:
        return hit.entries or hit.count
    if hit.is_unread or not hit.places_total:
        return max(urls, 1)  # nobody knows how much is in what was not read
    return hit.urls_of_places or 0


def _find_first(code: str, nearest: Mapping[str, str]) -> str:
    """Return the first of the causes of a rule; "" without one, or in a loop."""
    first = nearest[code]
    seen = {code}
    while first and nearest[first]:
        if first in seen:
            return ""
        seen.add(first)
        first = nearest[first]
    return first


# -- the facts, which a report shows besides the findings


def gather_facts(
    database: AuditDatabase, parameters: Mapping[str, object]
) -> dict[str, Any]:
    """Return the facts of a site from the database, by name; docs/audit.md lists them."""
    ask_rows = database.ask_rows
    counted: dict[str, int] = dict(database.ask(_FACTS["totals"]))
    sections = [Section(**row) for row in ask_rows(_FACTS["sections"])]
    hosts = [HostCount(**row) for row in ask_rows(_FACTS["hosts"])]
    now = {name: parameters[name] for name in ("now", "future_hours")}
    has_languages = database.ask("SELECT 1 FROM hreflang_link LIMIT 1")
    languages = []
    if has_languages:
        languages = [LanguagePair(**row) for row in ask_rows(_FACTS["languages"])]
    shown = {each.page for each in languages}
    shown |= {each.target for each in languages} - {"x-default"}
    languages_others = database.ask_value(_FACTS["languages_others"], shown=len(shown))
    return {
        **counted,
        "statuses": dict(database.ask(_FACTS["statuses"])),
        "months": [Month(**row) for row in ask_rows(_FACTS["months"], **now)],
        "sections": sections,
        "sections_others": counted["urls"] - sum(section.urls for section in sections),
        "hosts": hosts,
        "hosts_others": counted["urls"] - sum(host.urls for host in hosts),
        "languages": languages,
        "languages_others": languages_others,
        "documents": list(_order_documents(ask_rows(_FACTS["documents"]))),
    }


def _order_documents(rows: Iterable[dict[str, Any]]) -> Iterator[DocumentFacts]:
    """Yield the documents, each with its depth below the one that lists it."""
    below = defaultdict[str, list[DocumentFacts]](list)
    documents = [
        DocumentFacts(**{name: row[name] for name in row.keys() - {"id"}})
        for row in rows
    ]
    known = {each.url for each in documents}
    for each in documents:
        below[each.parent if each.parent in known else ""].append(each)
    stack = [(0, each) for each in below.pop("", [])[::-1]]
    while stack:
        depth, each = stack.pop()
        each.depth = depth
        yield each
        stack += [(depth + 1, child) for child in below.pop(each.url, [])[::-1]]
