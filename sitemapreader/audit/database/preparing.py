"""Columns and tables that rules need, computed from the rows of the walk.

SQL does what SQL can express; the rest - robots.txt, language codes, hosts - is Python, for the
values that occur, each once.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from sitemapreader.audit.database.connection import quote_text
from sitemapreader.audit.database.languages import is_news_language, judge_hreflang
from sitemapreader.documents.download import is_absent
from sitemapreader.errors import FetchError
from sitemapreader.fetch.body import read_body
from sitemapreader.issues import IssueCode
from sitemapreader.options import ROBOTS_MAX_BYTES
from sitemapreader.outcomes import Role, Status
from sitemapreader.readers.robots.parser import parse_robots
from sitemapreader.readers.robots.rules import Robots
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.fetch import Fetcher
    from sitemapreader.walker.walk import Walk

MAX_FETCHED = 20
"""Origins whose robots.txt is fetched besides those of the walk: the ones with most URLs."""
_ORIGINS = """
SELECT origin FROM (
    SELECT scheme || '://' || host AS origin FROM url
    UNION ALL
    SELECT regexp_extract(lower(loc), '^https?://[^/?#@]+') FROM image
) WHERE origin <> '' GROUP BY origin ORDER BY count(*) DESC, origin LIMIT $limit
"""


def list_known_robots(walk: Walk, *, is_http: bool) -> dict[str, Robots]:
    """Return what a walk knows: origin -> its robots.txt, if it was read to its end.

    A server without one allows everything; a folder without one says nothing about the site.
    """
    known = {}
    for document in walk.report.documents:
        if document.role is Role.ROBOTS and (is_http or document.status is Status.COMPLETE):
            robots = walk.robots_of(document.url)
            if robots is not None and robots.complete:
                known[origin_of(document.url)] = robots
    return known


async def fetch_robots(
    database: AuditDatabase, fetcher: Fetcher, known: dict[str, Robots]
) -> dict[str, Robots]:
    """Return the robots.txt of other origins with URLs or images, unless it fails."""
    fetched: dict[str, Robots] = {}
    for (origin,) in database.ask(_ORIGINS, limit=MAX_FETCHED + len(known)):
        if origin not in known and len(fetched) < MAX_FETCHED:
            robots = await _fetch(f"{origin}/robots.txt", fetcher)
            if robots is not None:
                fetched[origin] = robots
    return fetched


async def _fetch(url: str, fetcher: Fetcher) -> Robots | None:
    """Return a robots.txt, empty where there is none; `None` if that is unknown."""
    try:
        async with fetcher.open(url) as response:
            body = await read_body(response, 2 * ROBOTS_MAX_BYTES)
            return parse_robots(body, response.url)
    except FetchError as error:
        return Robots(url) if is_absent(error) else None


_ROWS_AT_ONCE = 200_000
_MAX_PIECES = 500
"""A robots.txt with more of them is asked for every URL."""

_RANK_DOCUMENTS = """
UPDATE document SET rank = r.rank
FROM (SELECT id, row_number() OVER (ORDER BY url, role) AS rank FROM document) r
WHERE r.id = document.id
"""
_COUNT_URLS = """
UPDATE document SET urls = s.urls, dated = s.dated, newest = s.newest
FROM (
    SELECT document, count(*) AS urls, count(lastmod) AS dated,
           max(lastmod) FILTER (lastmod <= $now) AS newest
    FROM url_row GROUP BY document
) s WHERE s.document = document.id
"""
_FIND_COMMON = """
UPDATE document SET common_lastmod = c.most.lastmod, common_count = c.most.n
FROM (
    SELECT document, max({'n': n, 'lastmod': lastmod}) AS most
    FROM (
        SELECT document, lastmod, count(*) AS n FROM url_row
        WHERE lastmod IS NOT NULL GROUP BY document, lastmod
    ) GROUP BY document
) c WHERE c.document = document.id
"""
_COUNT_NEWS = """
UPDATE document SET news = n.news
FROM (SELECT document, count(*) AS news FROM news GROUP BY document) n
WHERE n.document = document.id
"""
_FILL_ZEROS = """
UPDATE document SET urls = coalesce(urls, 0), dated = coalesce(dated, 0),
                    common_count = coalesce(common_count, 0), news = coalesce(news, 0)
"""
_FIND_REPEATED = """
CREATE TABLE repeated AS
WITH folds AS MATERIALIZED (
    SELECT id, hash(without_slash(bare_host(after_scheme(loc)))) AS folded
    FROM url_row WHERE is_simple
    UNION ALL
    SELECT id, hash(
        bare_host(host) || lower(without_slash(path_of(key))) || without_extras(query_of(key))
    )
    FROM unusual_url
), members AS (
    SELECT id, folded FROM folds
    WHERE folded IN (SELECT folded FROM folds GROUP BY folded HAVING count(*) > 1)
)
SELECT u.id, u.loc, u.key, u.document, u.scheme, u.lastmod, u.lastmod_text, folded,
       starts_with(u.host, 'www.') AS has_www,
       path_of(u.key) <> '/' AND ends_with(path_of(u.key), '/') AS has_slash,
       rtrim(path_of(u.key), '/') AS bare_path,
       CASE WHEN without_extras(query_of(u.key)) = query_of(u.key) THEN ''
            ELSE query_of(u.key) END AS extra,
       place_of(d.rank, u.position) AS place
FROM members JOIN url u USING (id) LEFT JOIN document d ON d.id = u.document
"""
_DEFINE_EXTRAS = """
CREATE OR REPLACE MACRO without_extras(query) AS
    CASE WHEN query = '' THEN ''
         ELSE ltrim(regexp_replace(regexp_replace(query, {}, '', 'g'), {}, '', 'g'), '&') END
"""
_LINK_LANGUAGES = """
CREATE TABLE hreflang_link AS
SELECT a.url, a.document, a.hreflang, hash(u.key) AS page, hash(a.key) AS target,
       place_of(d.rank, u.position) AS place
FROM alternate a JOIN url u ON u.id = a.url LEFT JOIN document d ON d.id = a.document
WHERE a.hreflang IS NOT NULL
"""

_COUNT_FOLDERS = """
INSERT INTO folder
SELECT document, folder_of(key) AS prefix, count(*)
FROM url GROUP BY document, prefix
"""
_COUNT_HOSTS = """
SELECT document, scheme_of(prefix) AS scheme, host_of(prefix) AS host, sum(urls)::UBIGINT
FROM folder GROUP BY document, scheme, host
"""

_BLOCKED_SITE = """
INSERT INTO robots_hit
SELECT $agent, 'site', $origin || '/', document FROM robots
WHERE origin = $origin AND (is_searched OR $refused > 0) AND $refused = (
    SELECT coalesce(sum(urls), 0) FROM host WHERE scheme || '://' || host = $origin
)
"""
"""A site that is searched, or has URLs here, none of which is allowed."""

_STAGING = frozenset({"staging", "stage", "dev", "test", "uat", "preprod"})
_HIDDEN_SUFFIXES = frozenset(
    {"local", "test", "internal", "localhost", "localdomain", "lan", "home", "corp", "invalid"}
)


def prepare(
    database: AuditDatabase,
    parameters: Mapping[str, object],
    robots: Mapping[str, Robots],
    agents: Iterable[str],
) -> None:
    """Fill the columns and tables that are computed from others.

    Args:
        database: with the walk in it.
        parameters: those of the rules.
        robots: origin -> its robots.txt, if it was read to its end.
        agents: robots whose rules are judged.
    """
    database.ask(_COUNT_URLS, now=parameters["now"])
    for statement in (_RANK_DOCUMENTS, _FIND_COMMON, _COUNT_NEWS, _FILL_ZEROS):
        database.ask(statement)
    extras = (parameters[name] for name in ("tracking", "session"))
    database.ask(_DEFINE_EXTRAS.format(*(quote_text(str(extra)) for extra in extras)))
    database.ask(_FIND_REPEATED)
    database.ask(_LINK_LANGUAGES)
    _prepare_hosts(database)
    _prepare_languages(database)
    _prepare_robots(database, robots, tuple(agents))


def _prepare_hosts(database: AuditDatabase) -> None:
    database.ask(_COUNT_FOLDERS)
    rows = []
    for document, scheme, host, urls in database.ask(_COUNT_HOSTS):
        hidden, is_staging = judge_host(host)
        rows.append(
            {
                "document": document,
                "scheme": scheme,
                "host": host,
                "urls": urls,
                "hidden": hidden,
                "is_staging": is_staging,
            }
        )
    database.insert_rows("host", rows)


def judge_host(host: str) -> tuple[str, bool]:
    """Return why nobody can reach a host, or "", and whether its name is the reason."""
    name = re.sub(r":\d+$", "", host)
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        labels = name.rstrip(".").split(".")
        if labels[-1] in _HIDDEN_SUFFIXES or len(labels) == 1:
            return f"{name} is not a public name", False
        if labels[0] in _STAGING and len(labels) > 2:
            return f"{name} is not a production host", True
        return "", False
    return f"{name} is a literal address", False


def _prepare_languages(database: AuditDatabase) -> None:
    codes = database.ask(
        "SELECT hreflang FROM alternate WHERE hreflang IS NOT NULL"
        " UNION SELECT lower(language) FROM news WHERE language IS NOT NULL"
    )
    rows = []
    for (code,) in codes:
        is_valid, hint = judge_hreflang(code)
        rows.append(
            {
                "code": code,
                "is_valid": is_valid,
                "hint": hint,
                "is_language": is_news_language(code),
            }
        )
    database.insert_rows("language", rows)


def _prepare_robots(
    database: AuditDatabase, robots: Mapping[str, Robots], agents: tuple[str, ...]
) -> None:
    documents = database.ask(
        "SELECT scheme_of(key) || '://' || host_of(key), id, children, via IS NOT NULL"
        " FROM document WHERE role = 'robots' AND status IN ('complete', 'partial')"
    )
    rows = [
        {"origin": origin, "document": number, "sitemaps": sitemaps, "is_searched": is_searched}
        for origin, number, sitemaps, is_searched in documents
    ]
    known = {row["origin"] for row in rows}
    rows += [
        {
            "origin": origin,
            "document": None,
            "sitemaps": len(each.sitemaps),
            "is_searched": False,
        }
        for origin, each in robots.items()
        if origin not in known
    ]
    database.insert_rows("robots", rows)
    for origin, each in robots.items():
        _find_cross_submits(database, origin, each)
        for agent in agents:
            refused = _find_disallowed(database, origin, each, agent)
            pages = {each.find_refusal(f"{origin}/{path}", agent) for path in ("", "any/other")}
            if pages == {IssueCode.ROBOTS_DISALLOWED}:
                database.ask(_BLOCKED_SITE, origin=origin, agent=agent, refused=refused)


def _find_cross_submits(database: AuditDatabase, origin: str, robots: Robots) -> None:
    """Find the sitemaps that a robots.txt lists: they may list URLs of its host."""
    host = origin.partition("://")[2]
    keys = [url_key(entry.loc) for entry in robots.sitemaps]
    database.ask(
        "INSERT INTO cross_submit SELECT $host, id FROM document"
        " WHERE key IN (SELECT unnest($keys)) OR final_key IN (SELECT unnest($keys))"
        " OR parent_id IN (SELECT id FROM document WHERE key IN (SELECT unnest($keys)))",
        host=host,
        keys=keys,
    )


_LAST_NUMBER = "SELECT greatest((SELECT max(id) FROM url_row), (SELECT max(id) FROM document))"
_CANDIDATES = {
    "url": (
        "SELECT loc, document FROM url WHERE id > $after AND id <= $until"
        " AND starts_with(key, $scheme || '://' || $host || '/')"
        " AND CASE WHEN is_simple THEN regexp_matches(loc, $pieces)"
        " ELSE may_have(loc, $pieces) END"
    ),
    "image": (
        "SELECT loc, document FROM image WHERE url > $after AND url <= $until"
        " AND starts_with(lower(loc), $scheme || '://' || $host || '/')"
        " AND may_have(loc, $pieces)"
    ),
    "sitemap": (
        "SELECT url, id FROM document WHERE id > $after AND id <= $until"
        " AND role = 'sitemap' AND via IN ('robots', 'index')"
        " AND scheme_of(key) = $scheme AND host_of(key) = $host AND may_have(url, $pieces)"
    ),
}


def _find_disallowed(database: AuditDatabase, origin: str, robots: Robots, agent: str) -> int:
    """Insert the URLs that a robots.txt disallows; return how many pages there are.

    Pieces of the rules find candidates; the rules themselves then judge these.
    """
    pieces = robots.list_disallowed_pieces(agent)
    if not pieces:
        return 0
    # RE2 takes the pieces at once
    words = [""] if len(pieces) > _MAX_PIECES else [re.escape(piece) for piece in pieces]
    scheme, _, host = origin.partition("://")
    passed = {"scheme": scheme, "host": host, "pieces": "|".join(words)}
    last = database.ask(_LAST_NUMBER)[0][0] or 0
    pages = 0
    for kind, query in _CANDIDATES.items():
        agent_of_kind = f"{agent}-Image {agent}" if kind == "image" else agent
        for after in range(0, last, _ROWS_AT_ONCE):
            batch = database.ask(query, **passed, after=after, until=after + _ROWS_AT_ONCE)
            hits = [
                {"robot": agent, "kind": kind, "url": loc, "document": document}
                for loc, document in batch
                if robots.find_refusal(loc, agent_of_kind) is IssueCode.ROBOTS_DISALLOWED
            ]
            database.insert_rows("robots_hit", hits)
            pages += len(hits) * (kind == "url")
    return pages
