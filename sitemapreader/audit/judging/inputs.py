"""The needs of rules, and why an audit cannot meet some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.models import Need

if TYPE_CHECKING:
    from sitemapreader.audit.database.connection import AuditDatabase
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
