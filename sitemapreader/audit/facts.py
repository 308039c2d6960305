"""The facts of an audit, which a report shows besides the findings."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.database import AuditDatabase, read_queries
from sitemapreader.audit.models import (
    MAX_DOCUMENTS,
    MAX_HOSTS,
    MAX_LANGUAGES,
    MAX_SECTIONS,
    DocumentFact,
    Facts,
    HostCount,
    LanguagePair,
    MonthCount,
    SectionCount,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemapreader.audit.runner import RuleRunner

_ALIKE = ("lastmod-all-equal", "lastmod-is-build-time")
"""Rules whose hits are sitemaps with dates that say nothing."""
_FLAT_SHARE = 0.5
"""A folder with more of the URLs is divided by names."""
_MAX_NAMES = 20
_QUERIES = read_queries("facts")


def gather_facts(
    database: AuditDatabase,
    runner: RuleRunner,
    parameters: Mapping[str, object],
    **head: Any,
) -> Facts:
    """Return the facts; `head` are the fields that the database does not know."""
    counted = dict(database.ask(_QUERIES["totals"]))
    sections = [
        SectionCount(host, path or "/", urls)
        for host, path, urls in database.ask(_QUERIES["sections"], limit=MAX_SECTIONS)
    ]
    if sections and sections[0].urls > _FLAT_SHARE * counted["urls"]:
        sections[:1] = _divide_by_names(database, sections[0])
        sections.sort(key=lambda section: -section.urls)
    hosts = [HostCount(*row) for row in database.ask(_QUERIES["hosts"], limit=MAX_HOSTS)]
    languages, left_out = _choose_languages(
        [LanguagePair(*r) for r in database.ask(_QUERIES["languages"])]
    )
    return Facts(
        **head,
        **counted,
        statuses=dict(database.ask(_QUERIES["statuses"])),
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
        for word, urls in database.ask(_QUERIES["names"], **where, least=least, limit=_MAX_NAMES)
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
    for row in database.ask(_QUERIES["months"], alike=sorted(alike), **now):
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
    rows = database.ask(_QUERIES["documents"], limit=MAX_DOCUMENTS)
    known = {row[1] for row in rows}
    for number, *row in rows:
        document = DocumentFact(*(*row, hits.get(number, 0)))
        below[document.parent if document.parent in known else ""].append(document)
    stack = below.pop("", [])[::-1]
    while stack or below:
        if not stack:  # documents that list each other: begin anywhere
            stack = below.pop(next(iter(below)))[::-1]
        document = stack.pop()
        yield document
        stack += below.pop(document.url, [])[::-1]
