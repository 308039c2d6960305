"""The facts of an audit, which a report shows besides the findings."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

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
    from typing import Any

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.audit.runner import RuleRunner

_ALIKE = ("lastmod-all-equal", "lastmod-is-build-time")
"""Rules whose hits are sitemaps with dates that say nothing."""
_TOTALS = """
SELECT (SELECT count(*) FROM url_row),
       (SELECT count(*) FROM url_row) - (SELECT count(*) - count(DISTINCT key) FROM repeated),
       (SELECT count(lastmod) FROM url_row), (SELECT count(*) FROM image),
       (SELECT count(*) FROM video), (SELECT count(*) FROM news),
       (SELECT count(hreflang) FROM alternate)
"""
COUNT_READ = """
SELECT count(*) FROM document
WHERE role = 'sitemap' AND status IN ('complete', 'partial', 'unchanged')
"""
_LOST = """
SELECT count(*) FROM document
WHERE role = 'sitemap' AND via <> 'well-known'
  AND (status IN ('failed', 'partial') OR (status = 'skipped' AND is_excused))
"""
_DOCUMENTS_HIT = """
SELECT document.id FROM ({query}) AS hit JOIN document ON document.url = hit.document
"""
_MONTHS = """
SELECT date_trunc('month', lastmod)::DATE AS month, count(*),
       count(*) FILTER (document IN (SELECT unnest($alike::UINTEGER[]))),
       count(*) FILTER (lastmod > $now + to_hours($future_hours))
FROM url_row WHERE lastmod IS NOT NULL GROUP BY month ORDER BY month
"""
_SECTIONS = """
SELECT host_of(prefix) AS host, path_of(prefix) AS path, sum(urls)::UBIGINT AS urls
FROM folder GROUP BY host, path ORDER BY urls DESC, host, path LIMIT $limit
"""
_NAMES = """
SELECT regexp_extract(substr(path_of(key), 1 + length($path)), '^\\pL+[-_.]?') AS word,
       count(*)::UBIGINT AS urls
FROM url WHERE host_of(key) = $host AND path_of(folder_of(key)) = $path
GROUP BY word HAVING word <> '' AND urls >= $least ORDER BY urls DESC, word LIMIT $limit
"""
"""Words with which many names in one folder begin, with the mark behind them."""
_FLAT_SHARE = 0.5
"""A folder with more of the URLs is divided by names."""
_MAX_NAMES = 20
_HOSTS = """
SELECT scheme || '://' || host AS origin, sum(urls)::UBIGINT AS urls
FROM host GROUP BY origin ORDER BY urls DESC, origin LIMIT $limit
"""
_LANGUAGES = """
WITH own AS (
    SELECT url, min(hreflang) AS page_language FROM hreflang_link
    WHERE page = target AND hreflang <> 'x-default' GROUP BY url
), counted AS (
    SELECT page_language, count(*) AS pages FROM own GROUP BY page_language
), pairs AS (
    SELECT DISTINCT page, target FROM hreflang_link
)
SELECT own.page_language, l.hreflang, any_value(counted.pages), count(DISTINCT l.url),
       count(DISTINCT l.url) FILTER (back.page IS NOT NULL)
FROM own JOIN hreflang_link l ON l.url = own.url
JOIN counted ON counted.page_language = own.page_language
LEFT JOIN pairs back ON back.page = l.target AND back.target = l.page
GROUP BY own.page_language, l.hreflang
ORDER BY any_value(counted.pages) DESC, own.page_language, count(DISTINCT l.url) DESC, l.hreflang
"""
_DOCUMENTS = """
SELECT d.id, d.url, coalesce(p.url, d.parent), d.role, coalesce(d.format, ''), d.status, d.reason,
       d.http_status, d.listed, d.children, d.bytes_raw, d.bytes_inflated, d.dated, d.newest,
       d.lastmod
FROM document d LEFT JOIN document p ON p.id = d.parent_id AND p.id <> d.id
ORDER BY d.children > 0 DESC, d.role, d.listed DESC, d.url
LIMIT $limit
"""


def gather_facts(
    database: AuditDatabase,
    runner: RuleRunner,
    parameters: Mapping[str, object],
    **head: Any,
) -> Facts:
    """Return the facts.

    Args:
        database: after the rules have run.
        runner: has run them.
        parameters: those of the rules.
        head: fields of `Facts` that the database does not know.
    """
    totals = ("urls", "distinct", "dated", "images", "videos", "news", "alternates")
    counted = dict(zip(totals, database.ask(_TOTALS)[0], strict=True))
    sections = [
        SectionCount(host, path or "/", urls)
        for host, path, urls in database.ask(_SECTIONS, limit=MAX_SECTIONS)
    ]
    if sections and sections[0].urls > _FLAT_SHARE * counted["urls"]:
        sections[:1] = _divide_by_names(database, sections[0])
    hosts = [HostCount(*row) for row in database.ask(_HOSTS, limit=MAX_HOSTS)]
    languages, left_out = _choose_languages([LanguagePair(*r) for r in database.ask(_LANGUAGES)])
    return Facts(
        **head,
        **counted,
        statuses=dict(
            database.ask("SELECT status, count(*) FROM document GROUP BY status ORDER BY status")
        ),
        sitemaps=database.ask(COUNT_READ)[0][0],
        sitemaps_not_read=database.ask(_LOST)[0][0],
        months=tuple(_count_months(database, parameters)),
        sections=tuple(sections),
        sections_others=counted["urls"] - sum(section.urls for section in sections),
        hosts=tuple(hosts),
        hosts_others=counted["urls"] - sum(host.urls for host in hosts),
        languages=languages,
        languages_others=left_out,
        documents=tuple(_list_documents(database, runner.hits)),
        documents_total=database.ask("SELECT count(*) FROM document")[0][0],
        passed=tuple(runner.passed),
        not_run=tuple(runner.not_run),
    )


def _divide_by_names(database: AuditDatabase, section: SectionCount) -> list[SectionCount]:
    """Return the pages of a folder in groups of names that begin alike, and the rest."""
    least = max(2, section.urls // 50)
    where = {"host": section.host, "path": section.path}
    groups = [
        SectionCount(section.host, f"{section.path}{word}*", urls)
        for word, urls in database.ask(_NAMES, **where, least=least, limit=_MAX_NAMES)
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
            rows = database.ask(_DOCUMENTS_HIT.format(query=query), **passed)
            alike |= {number for (number,) in rows}
    now = {name: parameters[name] for name in ("now", "future_hours")}
    for row in database.ask(_MONTHS, alike=sorted(alike), **now):
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
    rows = database.ask(_DOCUMENTS, limit=MAX_DOCUMENTS)
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
